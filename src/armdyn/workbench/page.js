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

  // A page that draws without a graphics card says so to the server, which leaves out reflections: there they take
  // seconds to compute, so the picture that viser has for them is not read either. viser would warn of it in a box over
  // the picture; the workbench says it beside its buttons there. The names are those of programs that draw on the
  // processor; smooth edges cost it a quarter of its time.
  const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;
  const gl = document.createElement("canvas").getContext("webgl2");
  const said = gl && gl.getExtension("WEBGL_debug_renderer_info");
  const unaided = Boolean(said && SOFTWARE.test(gl.getParameter(said.UNMASKED_RENDERER_WEBGL)));
  if (unaided) {
    const plain = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, options) {
      return plain.call(this, kind, /^webgl/.test(kind) ? { ...options, antialias: false } : options);
    };
    for (const { prototype } of [WebGLRenderingContext, WebGL2RenderingContext]) {
      const parameter = prototype.getParameter;
      prototype.getParameter = function (name) {
        const found = parameter.call(this, name);
        return name === said.UNMASKED_RENDERER_WEBGL ? "the processor" : found;
      };
    }
    const read = window.fetch;
    window.fetch = (from, ...more) =>
      /^data:image\/jpeg/.test(from?.url ?? from) ? new Promise(() => {}) : read(from, ...more);
    read("UNAIDED");

    // viser draws frame after frame for a quarter of a second after all that changes the scene, in case some of it comes
    // late. On the processor that takes the time of all else, and sliders move once a frame. So one frame is drawn, and
    // another when nothing came for a while; viser draws one a second in any case. It shows its insides for its tests.
    const LATE = 300; // ms
    let seen = null;
    const plainly = (mutable) => {
      let all = mutable.requestRender, timer = 0;
      const one = () => {
        const state = mutable.scene?.__r3f?.root?.getState?.();
        return state?.invalidate ? state.invalidate() : all();
      };
      const ask = () => {
        one();
        clearTimeout(timer);
        timer = later(one, LATE);
      };
      Object.defineProperty(mutable, "requestRender", { get: () => ask, set: (given) => { all = given; } });
    };
    Object.defineProperty(window, "__viserMutable", {
      configurable: true, // viser deletes it
      get: () => seen,
      set: (mutable) => {
        if (mutable !== seen) plainly(mutable);
        seen = mutable;
      },
    });
  }
  if (gl) gl.getExtension("WEBGL_lose_context")?.loseContext();

  // ---- light or dark: as the system, or as somebody chose for this page -----------------------------------------------

  const system = matchMedia("(prefers-color-scheme: dark)");
  const html = document.documentElement;
  const SCHEME = "data-mantine-color-scheme";
  let chosen = sessionStorage.getItem("armdyn-scheme");

  function paint() {
    const wanted = chosen ?? (system.matches ? "dark" : "light");
    if (html.getAttribute(SCHEME) !== wanted) html.setAttribute(SCHEME, wanted);
  }
  system.addEventListener("change", paint);
  new MutationObserver(paint).observe(html, { attributes: true, attributeFilter: [SCHEME] });
  paint();

  // ---- the server is gone: viser's page fades without a word ----------------------------------------------------------

  const GONE = "The workbench has ended: nobody answers. Open it again with armdyn view; this page then comes back.";
  let gone = 0, banner = null;

  function connected(is) {
    clearTimeout(gone);
    if (is) { banner?.remove(); banner = null; }
    else gone = later(() => {
      banner ??= document.body.appendChild(Object.assign(document.createElement("div"), { className: "ad-gone" }));
      banner.setAttribute("role", "alert");
      banner.textContent = GONE;
    }, 1500);
  }

  const Plain = window.Worker; // viser's WebSocket lives in one
  window.Worker = class extends Plain {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", ({ data }) => {
        if (data?.type === "connected") connected(true);
        if (data?.type === "closed") connected(false);
      });
    }
  };

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
  const channel = () => document.querySelector("[data-armdyn=typed]")?.dataset.uuid;

  /** Tell the server something, by the field of viser's that it listens to. */
  function send(...message) {
    const line = rowOf(document.querySelector(`label[for="${channel()}"]`))?.querySelector("input");
    if (!line) return;
    native.set.call(line, JSON.stringify([...message, Math.random()])); // never twice the same
    line.dispatchEvent(new Event("input", { bubbles: true }));
  }

  /** Let go of the field, and send what was typed. */
  function commit() {
    const field = draft.field, text = isTyped() ? field.value.trim() : "";
    end();
    let row = field.parentElement, label = null;
    while (row && !(label = row.querySelector("label[for]"))) row = row.parentElement;
    if (text && label) send(label.htmlFor, [...row.querySelectorAll(NUMBER)].indexOf(field), text);
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

  // ---- the scene: fitted to the window until somebody looks around, and buttons over it -------------------------------

  let looked = false, fitted = "", windowed = ""; // whether somebody moved the camera; for which picture it was placed
  let sized = null, waits = 0;
  const resized = new ResizeObserver(() => settle(100));

  function fit(anyway) {
    const canvas = document.querySelector("canvas[data-engine]"), box = canvas?.getBoundingClientRect();
    if (!box?.width || !channel()) return;
    tools(box);
    const shape = [channel(), Math.round(box.width), Math.round(box.height)].join();
    if (sized !== canvas) resized.observe(sized = canvas);
    if (windowed !== `${channel()} ${innerWidth}`) {
      windowed = `${channel()} ${innerWidth}`;
      send("window", innerWidth);
    }
    if (anyway) looked = false;
    if (looked || (!anyway && shape === fitted)) return;
    fitted = shape;
    send("fit", Math.round(box.width), Math.round(box.height));
  }

  let bar = null;
  function tools(box) {
    if (!bar) {
      bar = document.createElement("div");
      bar.className = "ad-tools";
      const button = (text, hint, press) => {
        const made = Object.assign(document.createElement("button"), { type: "button", textContent: text, title: hint });
        made.addEventListener("click", press);
        bar.append(made);
      };
      button("Fit view", "The whole arm in view, whatever posture it takes", () => fit(true));
      button("Light or dark", "Of this page; without a choice as the system has it", () => {
        chosen = html.getAttribute(SCHEME) === "dark" ? "light" : "dark";
        sessionStorage.setItem("armdyn-scheme", chosen);
        paint();
      });
      if (unaided) {
        const text = "This browser draws on the processor: pictures come less often, numbers keep up";
        bar.append(Object.assign(document.createElement("span"), { textContent: "no graphics card", title: text }));
      }
      document.body.append(bar);
    }
    bar.style.left = `${box.left + 10}px`;
    bar.style.top = `${box.bottom - 40}px`;
    const back = document.querySelector("[data-dock-root]")?.parentElement?.parentElement;
    back?.classList.add("ad-back"); // behind the picture, which viser paints as it believes the page to be
    back?.parentElement?.classList.add("ad-page");
  }

  for (const kind of ["pointerdown", "wheel"])
    on(kind, (event) => { if (event.target instanceof HTMLCanvasElement) looked = true; });
  addEventListener("resize", () => settle(200));

  // ---- what the page lacks: names for fields that screen readers say, torques beside sliders --------------------------

  function settle(wait) {
    if (waits) return;
    waits = later(() => {
      waits = 0;
      for (const label of document.querySelectorAll("label[for]")) {
        const fields = [...(rowOf(label)?.querySelectorAll("input:not([type=hidden]), [role=slider]") ?? [])];
        const numbers = fields.filter((field) => field.matches(NUMBER));
        for (const field of fields) {
          const axis = numbers.length > 1 ? ` ${"xyz"[numbers.indexOf(field)]}` : "";
          const name = label.textContent + axis;
          if (field.getAttribute("aria-label") !== name) field.setAttribute("aria-label", name);
        }
      }
      const title = document.querySelector("[data-armdyn=typed]")?.dataset.title;
      if (title && document.title !== title) document.title = title;
      fit(false);
    }, wait);
  }

  /** The torque of each joint, beside the slider of its position: style sheets show it where bars are out of sight.
   * And whether the arm stands at a time of the motion. */
  function beside() {
    const uuids = document.querySelector("[data-armdyn=positions]")?.dataset.uuids.split(" ") ?? [];
    const rows = [...document.querySelectorAll("[data-armdyn=torques] [data-joint]")];
    if (!rows.length) // torques at the motors are shown
      for (const label of document.querySelectorAll("label[data-torque]")) delete label.dataset.torque;
    for (const row of rows) {
      const label = document.querySelector(`label[for="${uuids[row.dataset.joint - 1]}"]`);
      const text = row.dataset.says;
      if (label && label.dataset.torque !== text) label.dataset.torque = text;
      label?.classList.toggle("ad-beyond", row.classList.contains("ad-over"));
    }
    const hand = document.querySelector("[data-armdyn=hand]")?.dataset;
    const row = rowOf(document.querySelector(`label[for="${hand?.uuid}"]`));
    row?.classList.toggle("ad-elsewhere", "elsewhere" in hand);
  }

  /** What a field says of itself stands beside its panel: over the picture, not over the field above. */
  function aside() {
    for (const tip of document.querySelectorAll(".mantine-Tooltip-tooltip:not([data-aside])")) {
      const field = document.querySelector(`[aria-describedby~="${tip.id}"]`) ?? hovered;
      const panel = field?.closest(".mantine-ScrollArea-root, .mantine-Paper-root")?.getBoundingClientRect();
      if (!panel) continue;
      const box = field.getBoundingClientRect(), right = panel.left > innerWidth - panel.right;
      tip.dataset.aside = "";
      tip.style.width = "max-content";
      tip.style.maxWidth = "15rem";
      tip.style.setProperty("--ad-x", `${right ? panel.left - 8 : panel.right + 8}px`);
      tip.style.setProperty("--ad-y", `${box.top + box.height / 2}px`);
      tip.style.setProperty("--ad-shift", right ? "-100%" : "0");
    }
  }
  // On a telephone readings are folded below the controls: opened, they come into view.
  on("click", (event) => {
    if (!event.target.closest?.('[aria-label^="Expand panel"]')) return;
    const strip = () => document.querySelector('[aria-label^="Collapse panel"]')?.parentElement;
    for (const wait of [350, 1000]) // while it unfolds, and when it has
      later(() => strip()?.scrollIntoView({ block: "start", behavior: "smooth" }), wait);
  });

  let hovered = null;
  on("pointerover", (event) => { hovered = event.target instanceof Element ? event.target : null; });

  let framed = 0;
  const watch = new MutationObserver(() => {
    settle(250);
    framed ||= requestAnimationFrame(() => { framed = 0; beside(); renewed(); aside(); });
  });
  addEventListener("DOMContentLoaded", () => watch.observe(document.body, { subtree: true, childList: true }));

  on("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || (draft && isTyped())) return;
    if (event.target.matches?.("input, textarea") && !isNumber(event.target)) return;
    event.preventDefault();
    if (draft) end();
    send(event.shiftKey ? "redo" : "undo");
  });

  // ---- curves: values under the mouse, a click goes to a time, a part that is dragged over is enlarged ----------------

  const seen = { from: 0, span: 1, duration: null }; // of the time: what is shown
  const points = new WeakMap(); // of a path, as [x, y] in thousandths of the time and hundredths of the height
  const hint = Object.assign(document.createElement("div"), { className: "ad-tip", hidden: true });
  const band = Object.assign(document.createElement("div"), { className: "ad-band", hidden: true });
  let pressed = null; // where the mouse went down: the curves and the part of the time

  const plotsAt = (target) => target.closest?.("[data-armdyn=curves]");

  function show(plots, from, span) {
    Object.assign(seen, { from, span, duration: plots.dataset.duration });
    html.style.setProperty("--ad-from", from);
    html.style.setProperty("--ad-span", span);
    for (const svg of plots.querySelectorAll("svg")) svg.setAttribute("viewBox", `${1000 * from} 0 ${1000 * span} 100`);
    if (span === 1 && !plots.dataset.enlarged) return;
    plots.dataset.enlarged = "yes";
    const duration = Number(plots.dataset.duration), rough = (span * duration) / 5;
    const size = 10 ** Math.floor(Math.log10(rough)), step = size * [1, 2, 5, 10].find((x) => x * size >= rough);
    const ticks = [];
    for (let k = Math.ceil((from * duration) / step); k * step <= (from + 0.94 * span) * duration; k++) {
      const tick = document.createElement("span");
      tick.textContent = Number((k * step).toPrecision(6));
      tick.style.left = `${(100 * ((k * step) / duration - from)) / span}%`;
      ticks.push(tick);
    }
    const axis = plots.querySelector(".ad-axis"), unit = axis.querySelector(".ad-unit");
    axis.replaceChildren(...ticks, unit);
  }

  /** Curves that were sent anew, as when the robot was changed: enlarged as before, whole if it is another motion. */
  function renewed() {
    const plots = document.querySelector("[data-armdyn=curves]");
    if (!plots || plots.dataset.seen) return;
    plots.dataset.seen = "yes";
    const same = seen.duration === plots.dataset.duration;
    show(plots, same ? seen.from : 0, same ? seen.span : 1);
  }

  /** The part of the time (0 to 1) at a place of the window. */
  function partAt(plots, x) {
    const box = plots.querySelector(".ad-plot-area").getBoundingClientRect();
    return Math.min(Math.max(seen.from + (seen.span * (x - box.left)) / box.width, 0), 1);
  }

  function valueAt(path, part) {
    if (!points.has(path))
      points.set(path, path.getAttribute("d").split(/(?=[ML])/).map((x) => x.slice(1).split(" ").map(Number)));
    const known = points.get(path), x = 1000 * part, k = known.findIndex((point) => point[0] >= x);
    if (k < 0) return known.at(-1)?.[1];
    const [a, b] = [known[Math.max(k - 1, 0)], known[k]];
    return b[0] > a[0] ? a[1] + ((b[1] - a[1]) * (x - a[0])) / (b[0] - a[0]) : b[1];
  }

  function say(event, plots) {
    const part = partAt(plots, event.clientX), lines = [`${(part * plots.dataset.duration).toPrecision(4)} s`];
    const area = event.target.closest(".ad-plot")?.querySelector(".ad-plot-area");
    const paths = area?.querySelectorAll("path") ?? [];
    for (const path of paths) {
      const { low, high, unit } = area.dataset, down = valueAt(path, part);
      const value = high - ((high - low) * down) / 100, least = 1e-4 * (high - low);
      const shown = Math.abs(value) < least ? "0" : Number(value.toPrecision(4)).toString().replace("-", "−");
      if (Number.isFinite(down)) lines.splice(1, 0, `${paths.length > 1 ? `${path.dataset.label}: ` : ""}${shown} ${unit}`);
    }
    hint.textContent = lines.join("\n");
    if (!hint.isConnected) document.body.append(hint, band);
    hint.hidden = false;
    const left = event.clientX + 14, width = hint.offsetWidth;
    hint.style.left = `${left + width < innerWidth ? left : event.clientX - width - 14}px`;
    hint.style.top = `${event.clientY + 14}px`;
  }

  function drawBand(plots, x) {
    const box = plots.getBoundingClientRect(), ends = [pressed.x, x].sort((a, b) => a - b);
    band.hidden = ends[1] - ends[0] < 6;
    const place = { left: ends[0], width: ends[1] - ends[0], top: box.top, height: box.height };
    for (const [name, value] of Object.entries(place)) band.style[name] = `${value}px`;
  }

  on("pointermove", (event) => {
    const plots = pressed?.plots ?? plotsAt(event.target);
    if (!plots) hint.hidden = true;
    else say(event, plots);
    if (pressed) drawBand(pressed.plots, event.clientX);
  });
  on("pointerdown", (event) => {
    const plots = event.button ? null : plotsAt(event.target);
    if (plots) pressed = { plots, x: event.clientX };
  });
  on("pointerup", (event) => {
    if (!pressed) return;
    const { plots, x } = pressed, ends = [x, event.clientX].map((at) => partAt(plots, at)).sort((a, b) => a - b);
    pressed = null;
    band.hidden = true;
    if (Math.abs(event.clientX - x) < 6) send("seek", ends[0] * plots.dataset.duration);
    else if (ends[1] - ends[0] > 1e-3) show(plots, ends[0], ends[1] - ends[0]);
  });
  on("pointercancel", () => { pressed = null; band.hidden = hint.hidden = true; });
  on("dblclick", (event) => { if (plotsAt(event.target)) show(plotsAt(event.target), 0, 1); });
}
