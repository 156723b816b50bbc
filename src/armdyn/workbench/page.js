// What armdyn adds to viser's page. It runs before anything of viser's does.
"use strict";
{
  // viser's page keeps the messages of all fields and handles in one place for 50 ms and sends the last of them: what
  // another field said meanwhile is lost. Nothing in viser sets this, and the same wait is used nowhere else there; so
  // timers of 50 ms end when the event that set them has been dealt with.
  const later = window.setTimeout;
  window.setTimeout = (run, wait, ...more) => {
    if (wait !== 50) return later(run, wait, ...more);
    queueMicrotask(() => run(...more));
    return 0;
  };

  // A page that draws without a graphics card says so. The names are those of programs that draw on the processor;
  // smooth edges cost it a quarter of its time.
  const gl = document.createElement("canvas").getContext("webgl2");
  const said = gl && gl.getExtension("WEBGL_debug_renderer_info");
  const renderer = said ? gl.getParameter(said.UNMASKED_RENDERER_WEBGL) : "";
  if (/swiftshader|llvmpipe|softpipe|software|basic render/i.test(renderer)) {
    const plain = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, options) {
      return plain.call(this, kind, /^webgl/.test(kind) ? { ...options, antialias: false } : options);
    };
    fetch("UNAIDED");
  }
  if (gl) gl.getExtension("WEBGL_lose_context")?.loseContext();

  // ---- number fields ----------------------------------------------------------------------------------------------
  //
  // viser takes every keystroke for a value: "-0" on the way to "-0.5" is 0, and its sign is gone. Here what is typed
  // stays in the field until Enter is pressed or the field is left. Then the text goes to the server, which reads it,
  // and the field shows the value that holds: the one from before until the server sends another. Escape drops it.

  const NUMBER = ".mantine-NumberInput-input";
  const native = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
  let draft = null; // the field in somebody's hands: its text from before, and the value that it would show by now

  const isNumber = (at) => at instanceof HTMLInputElement && at.matches(NUMBER);

  /** From now on the field keeps its text: values and carets that the page sets, as while the arm moves, wait. */
  function begin(field, text) {
    const here = { field, text, held: text, plain: Object.getOwnPropertyDescriptor(field, "value") };
    const set = (value) => { here.held = value; };
    Object.defineProperty(field, "value", { configurable: true, get: () => native.get.call(field), set });
    field.setSelectionRange = () => {};
    draft = here;
  }

  /** Also what stood there before, typed anew: the value may have gone on, as while the arm moves. */
  const isTyped = () => "draft" in draft.field.dataset;

  /** The field shows the value that holds. */
  function end() {
    const { field, held, plain } = draft;
    draft = null;
    delete field.value;
    delete field.setSelectionRange;
    delete field.dataset.draft;
    if (plain) Object.defineProperty(field, "value", plain);
    field.value = held;
  }

  const rowOf = (label) => label?.closest(".mantine-Flex-root");

  /** Let go of the field, and send what was typed, by the field of viser's that the server listens to. */
  function commit() {
    const field = draft.field, text = isTyped() ? field.value.trim() : "";
    end();
    let row = field.parentElement, label = null;
    while (row && !(label = row.querySelector("label[for]"))) row = row.parentElement;
    const uuid = document.querySelector("[data-armdyn=typed]")?.dataset.uuid;
    const line = rowOf(document.querySelector(`label[for="${uuid}"]`))?.querySelector("input");
    if (!text || !label || !line) return;
    const place = [...row.querySelectorAll(NUMBER)].indexOf(field);
    native.set.call(line, JSON.stringify([label.htmlFor, place, text, Math.random()])); // never twice the same
    line.dispatchEvent(new Event("input", { bubbles: true }));
  }

  /** What steps from the value that holds, such as an arrow: it does so only where nothing was typed. */
  function step(event) {
    if (!isTyped()) return end();
    commit();
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  const on = (kind, listen) => document.addEventListener(kind, listen, true); // before viser's own listeners

  function take(field) {
    if (!isNumber(field) || draft?.field === field || field.disabled) return;
    if (draft) commit();
    begin(field, field.value);
  }

  on("focusin", (event) => take(event.target));
  on("focusout", (event) => { if (draft?.field === event.target) commit(); });
  on("input", (event) => {
    if (!isNumber(event.target)) return;
    event.stopImmediatePropagation();
    if (draft?.field !== event.target) begin(event.target, event.target.defaultValue);
    event.target.dataset.draft = "";
  });
  on("change", (event) => { if (isNumber(event.target)) event.stopImmediatePropagation(); });
  on("keydown", (event) => {
    if (!isNumber(event.target) || event.isComposing) return;
    const here = draft?.field === event.target;
    if (event.key === "ArrowUp" || event.key === "ArrowDown") { if (here) step(event); }
    else if (event.key === "Enter") { if (here) commit(); }
    else if (event.key === "Escape") { if (here) end(); }
    else if (event.key !== "Tab") take(event.target);
  });
  on("pointerdown", (event) => {
    if (event.target === document.activeElement) take(event.target);
    else if (draft?.field.closest(".mantine-NumberInput-root")?.contains(event.target)) {
      if (event.target !== draft.field) step(event); // the buttons beside the field
    }
  });
}
