// The page of a study: its designs as lines and as points, what is asked of them, and the best of them.

const data = JSON.parse(document.getElementById("live-data").textContent);
const count = data.rows, columns = data.columns.map(read);
const LEVELS = 160, NONE = 255; // heights at which lines of very many designs begin and end
const FEW = 3000; // designs up to which each is a line or a disc of its own
const SETTLED = 150; // [ms] without another change, before the front is sought again
const state = {
  axes: data.axes, ranges: new Map(), goals: new Map(data.goals), best: data.best,
  x: data.scatter[0], y: data.scatter[1], colour: data.scatter[2], picked: -1,
};
const found = { inside: new Uint8Array(count), done: new Uint32Array(0), failed: new Uint32Array(0), front: new Uint32Array(0) };
let version = 0, wanted = false, waiting = 0;

// ---- columns -------------------------------------------------------------------------------------------------

/** Numbers of a column, or places in its list of labels; a number that is none is NaN. */
function read(column, index) {
  const text = atob(column.values), bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = text.charCodeAt(i);
  const values = column.single ? new Float32Array(bytes.buffer) : new Float64Array(bytes.buffer);
  column.values = "";
  let low = Infinity, high = -Infinity;
  for (const x of values) { if (x < low) low = x; if (x > high) high = x; }
  if (column.labels) { low = -0.5; high = column.labels.length - 0.5; }
  else if (!(high > low)) { const middle = high === low ? low : 0, away = Math.abs(middle) || 1; low = middle - away; high = middle + away; }
  return { ...column, index, values, low, high, level: null };
}

/** Where the values of a column are between its least and its greatest, 0 to LEVELS - 1. */
function levels(column) {
  if (!column.level) {
    const { values, low, high } = column, scale = (LEVELS - 1) / (high - low);
    column.level = new Uint8Array(count);
    for (let r = 0; r < count; ++r) column.level[r] = values[r] === values[r] ? Math.round((values[r] - low) * scale) : NONE;
  }
  return column.level;
}

const label = (column, x, digits = 4) => (column.labels ? column.labels[Math.round(x)] ?? "" : Number.isFinite(x) ? shown(x, digits) : "–");

/** The same at an end of an axis: without zeros behind the point, and 0 for what is as good as that there. */
const end = (column, x) => trimmed(label(column, !column.labels && Math.abs(x) < 1e-4 * (column.high - column.low) ? 0 : x));
const trimmed = text => (/^−?[\d.]+$/.test(text) && text.includes(".") ? text.replace(/\.?0+$/, "") : text);

/** A number in a field: five digits. */
const field = x => String(Number(x.toPrecision(5)));

// ---- which designs are inside the ranges, which of them are best ---------------------------------------------

/** Designs inside all ranges, finished and failed ones; without ranges all that were run. */
function select() {
  const ranges = [...state.ranges].map(([k, [low, high]]) => [columns[k].values, low, high]);
  const outcome = columns[data.outcome].values, done = [], failed = [];
  for (let r = 0; r < count; ++r) {
    let inside = 1;
    for (const [values, low, high] of ranges) if (!(values[r] >= low && values[r] <= high)) { inside = 0; break; }
    found.inside[r] = inside;
    if (inside && outcome[r] !== data.waiting) (outcome[r] === 0 ? done : failed).push(r);
  }
  Object.assign(found, { done: Uint32Array.from(done), failed: Uint32Array.from(failed) });
  ++version;
}

/** Designs of `list` that no other one beats, ordered by the first objective: as good in all, better in one. */
function paretoFront(list, goals) {
  const costs = goals.map(([k, sign]) => { const { values } = columns[k]; return r => sign * values[r]; });
  const points = [];
  for (const r of list) {
    const point = costs.map(cost => cost(r));
    if (point.every(Number.isFinite)) points.push([r, point]);
  }
  points.sort(([r, a], [s, b]) => { for (let k = 0; k < a.length; ++k) if (a[k] !== b[k]) return a[k] - b[k]; return r - s; });
  return (goals.length < 3 ? swept(points, goals.length) : compared(points)).map(([r]) => r);
}

/** Of one or two objectives: going up in the first, each as good as all before it in the second, or equal. */
function swept(points, size) {
  let least = Infinity, last = null;
  return points.filter(([, point]) => {
    const equal = last && point.every((x, k) => x === last[k]);
    if (equal) return true;
    if (size === 1 ? last : !(point[1] < least)) return false;
    [least, last] = [point[1], point];
    return true;
  });
}

/** Of more: what beats a point stands before it. What beat the last one is tried first. */
function compared(points) {
  const front = [], tried = [];
  let last = null;
  for (const one of points) {
    const [, point] = one;
    if (last && point.every((x, k) => x === last[k])) { front.push(one); continue; }
    const at = tried.findIndex(other => other.every((x, k) => x <= point[k]));
    if (at > 0) [tried[at], tried[at >> 1]] = [tried[at >> 1], tried[at]];
    if (at >= 0) continue;
    last = point;
    tried.push(point);
    front.push(one);
  }
  return front;
}

/** The best designs: of one objective those with the best values, of several some all along the front. */
function bestDesigns() {
  const goals = [...state.goals];
  if (!goals.length) return [];
  if (goals.length === 1) {
    const [[k, sign]] = goals, { values } = columns[k];
    const finite = found.done.filter(r => Number.isFinite(values[r]));
    return [...finite.sort((r, s) => sign * (values[r] - values[s]) || r - s).subarray(0, state.best)];
  }
  const m = found.front.length, n = Math.min(state.best, m);
  return Array.from({ length: n }, (_, i) => found.front[n < 2 ? 0 : Math.floor(i * (m - 1) / (n - 1))]);
}

function seek() {
  found.front = state.goals.size ? Uint32Array.from(paretoFront(found.done, [...state.goals])) : new Uint32Array(0);
  ++version;
  showBest();
  refresh();
}

// ---- drawing -------------------------------------------------------------------------------------------------

const layers = new Map(); // pictures that stay until what they show changes

function layer(name, key, width, height, draw) {
  const kept = layers.get(name);
  if (kept && kept.key === key) return kept.sheet;
  const sheet = Object.assign(document.createElement("canvas"), { width, height });
  draw(sheet.getContext("2d"));
  layers.set(name, { key, sheet });
  return sheet;
}

/** A canvas at the resolution of the screen; its context, and its size in pixels of the page. */
function prepared(canvas) {
  const box = canvas.getBoundingClientRect(), fine = Math.min(devicePixelRatio || 1, 2);
  const width = Math.round(box.width * fine), height = Math.round(box.height * fine);
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d");
  context.setTransform(fine, 0, 0, fine, 0, 0);
  context.clearRect(0, 0, box.width, box.height);
  return { context, width: box.width, height: box.height };
}

const parsed = new Map();
/** A colour of the style as [red, green, blue], 0 to 255. */
function rgb(name) {
  const text = styled(name);
  if (!parsed.has(text)) {
    const digits = text.slice(1).length === 3 ? [...text.slice(1)].map(c => c + c) : text.slice(1).match(/../g);
    parsed.set(text, digits.map(two => parseInt(two, 16)));
  }
  return parsed.get(text);
}

function write(context, text, x, y, { colour = "--soft", align = "left", size = 11, widest = 0, weight = 400, halo = false } = {}) {
  Object.assign(context, { font: `${weight} ${size}px system-ui, sans-serif`, textAlign: align, fillStyle: styled(colour) });
  let cut = text;
  while (widest && cut.length > 1 && context.measureText(cut).width > widest) cut = `${cut.slice(0, cut.endsWith("…") ? -2 : -1)}…`;
  if (halo) {
    Object.assign(context, { strokeStyle: styled("--paper"), lineWidth: 3, lineJoin: "round" });
    context.strokeText(cut, x, y);
  }
  context.fillText(cut, x, y);
}

function segment(context, x0, y0, x1, y1, colour, wide = 1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  Object.assign(context, { strokeStyle: styled(colour), lineWidth: wide });
  context.stroke();
}

// ---- lines across all axes -------------------------------------------------------------------------------------

const lines = make("canvas", { className: "lines", tabIndex: 0, role: "img" });
const TOP = 56, BOTTOM = 24, SIDE = 44, WIDTH = 64; // [px] around the axes, and from one to the next at least

function frameOfLines() {
  const box = lines.getBoundingClientRect(), n = state.axes.length;
  const gap = n > 1 ? (box.width - 2 * SIDE) / (n - 1) : 0;
  const xs = state.axes.map((_, i) => (n > 1 ? SIDE + i * gap : box.width / 2));
  const bottom = box.height - BOTTOM, span = bottom - TOP;
  const y = (k, x) => bottom - span * (x - columns[k].low) / (columns[k].high - columns[k].low);
  const value = (k, at) => columns[k].low + (bottom - at) / span * (columns[k].high - columns[k].low);
  return { xs, gap, top: TOP, bottom, span, y, value, width: box.width, height: box.height };
}

/** Each design as a line; where a number is missing, it has a gap. */
function strokes(context, list, frame, colour, alpha, wide = 1) {
  context.beginPath();
  for (const r of list) {
    let before = false;
    state.axes.forEach((k, i) => {
      const x = columns[k].values[r], there = x === x;
      if (there) { if (before) context.lineTo(frame.xs[i], frame.y(k, x)); else context.moveTo(frame.xs[i], frame.y(k, x)); }
      before = there;
    });
  }
  Object.assign(context, { strokeStyle: styled(colour), lineWidth: wide, globalAlpha: alpha, lineJoin: "round" });
  context.stroke();
  context.globalAlpha = 1;
}

/** Very many lines: how many cross each pixel. Those with ends at the same heights are counted as one. */
function density(context, list, frame, colour, strength) {
  const width = Math.round(frame.width), height = Math.round(frame.height), [r0, g0, b0] = rgb(colour);
  const sums = new Float32Array(width * height), pairs = new Uint32Array(LEVELS * LEVELS);
  for (let i = 0; i + 1 < state.axes.length; ++i) {
    const a = levels(columns[state.axes[i]]), b = levels(columns[state.axes[i + 1]]);
    pairs.fill(0);
    for (const r of list) if (a[r] !== NONE && b[r] !== NONE) ++pairs[a[r] * LEVELS + b[r]];
    const from = Math.round(frame.xs[i]), steps = Math.round(frame.xs[i + 1]) - from, size = frame.span / (LEVELS - 1);
    for (let p = 0; p < pairs.length; ++p) {
      const many = pairs[p];
      if (!many) continue;
      let y = frame.bottom - size * Math.floor(p / LEVELS) + 0.5;
      const rise = (frame.bottom - size * (p % LEVELS) + 0.5 - y) / steps;
      for (let s = 0, at = from; s < steps; ++s, ++at, y += rise) sums[(y | 0) * width + at] += many;
    }
  }
  const image = context.createImageData(width, height), pixels = image.data, scale = strength * frame.span / list.length;
  for (let p = 0; p < sums.length; ++p) {
    if (!sums[p]) continue;
    const x = scale * sums[p];
    pixels[4 * p] = r0; pixels[4 * p + 1] = g0; pixels[4 * p + 2] = b0; pixels[4 * p + 3] = 30 + 225 * x / (1 + x);
  }
  context.putImageData(image, 0, 0);
}

/** Lines of many designs as a picture of their own. */
function manyLines(name, list, frame, colour, strength, wide) {
  const key = [frame.width, frame.height, state.axes, styled(colour), name === "all" ? 0 : version, list.length].join("|");
  if (list.length > FEW) {
    return layer(name, key, Math.round(frame.width), Math.round(frame.height), context => density(context, list, frame, colour, strength));
  }
  const fine = Math.min(devicePixelRatio || 1, 2), alpha = Math.min(1, Math.max(0.08, 25 * strength / Math.sqrt(list.length || 1) / 3));
  return layer(name, key, Math.round(frame.width * fine), Math.round(frame.height * fine), context => {
    context.scale(fine, fine);
    strokes(context, list, frame, colour, alpha, wide);
  });
}

const everything = Uint32Array.from({ length: count }, (_, r) => r);

function drawLines() {
  const { context } = prepared(lines), frame = frameOfLines(), ranged = state.ranges.size > 0;
  const put = sheet => context.drawImage(sheet, 0, 0, frame.width, frame.height);
  if (ranged) put(manyLines("all", everything, frame, "--unlit", 0.25, 1));
  if (found.done.length) put(manyLines("done", found.done, frame, "--accent", 0.6, 1.1));
  if (found.failed.length && failing.checked) put(manyLines("failed", found.failed, frame, "--over", 0.5, 1.1));
  if (state.goals.size > 1) put(manyLines("front", found.front.length > FEW ? found.front.slice(0, FEW) : found.front, frame, "--front", 0.8, 1.2));
  state.axes.forEach((k, i) => drawAxis(context, frame, k, i));
  if (state.picked >= 0) strokes(context, [state.picked], frame, "--ink", 1, 2.6);
}

function drawAxis(context, frame, k, i) {
  const column = columns[k], x = frame.xs[i], range = state.ranges.get(k), sign = state.goals.get(k);
  segment(context, x, frame.top, x, frame.bottom, "--soft", 1.2);
  if (column.labels && column.labels.length < 13) {
    column.labels.forEach((text, c) => {
      segment(context, x - 3, frame.y(k, c), x + 3, frame.y(k, c), "--soft");
      const [beside, align] = i && i === state.axes.length - 1 ? [-10, "right"] : [10, "left"];
      write(context, text, x + beside, frame.y(k, c) + 4, { widest: Math.max(30, frame.gap - 14), colour: "--ink", align, halo: true });
    });
  } else {
    write(context, end(column, column.high), x, frame.top - 6, { align: "center" });
    write(context, end(column, column.low), x, frame.bottom + 14, { align: "center" });
  }
  const name = `${sign ? (sign > 0 ? "↓ " : "↑ ") : ""}${column.name}`, staggered = frame.gap < 110 && state.axes.length > 2;
  const room = (staggered ? 2 : 1) * frame.gap - 10 || frame.width;
  const half = Math.min(room / 2, name.length * 3.6), middle = Math.max(half + 2, Math.min(frame.width - half - 2, x)); // inside the picture
  write(context, name, middle, frame.top - (staggered && i % 2 === 0 ? 37 : 22), { align: "center", size: 12, colour: "--ink", weight: 500, widest: Math.max(room, 40) });
  if (!range) return;
  const [high, low] = [Math.max(frame.top - 4, frame.y(k, range[1])), Math.min(frame.bottom + 4, frame.y(k, range[0]))];
  Object.assign(context, { fillStyle: styled("--accent"), strokeStyle: styled("--accent"), lineWidth: 1.5, globalAlpha: 0.25 });
  context.fillRect(x - 8, high, 16, low - high);
  context.globalAlpha = 1;
  context.strokeRect(x - 8, high, 16, low - high);
  if (column.labels) return;
  if (Number.isFinite(range[1])) write(context, label(column, range[1]), x + 11, high + 4, { colour: "--accent", weight: 600, halo: true });
  if (Number.isFinite(range[0])) write(context, label(column, range[0]), x + 11, low + 4, { colour: "--accent", weight: 600, halo: true });
}

/** What is at a point: the name of an axis, an axis with its range, or nothing. */
function atLines(event) {
  const box = lines.getBoundingClientRect(), frame = frameOfLines(), x = event.clientX - box.left, y = event.clientY - box.top;
  let i = 0;
  frame.xs.forEach((at, j) => { if (Math.abs(at - x) < Math.abs(frame.xs[i] - x)) i = j; });
  const near = Math.abs(frame.xs[i] - x) <= Math.min(20, frame.gap / 2.5 || 20), k = state.axes[i];
  if (y < frame.top - 18) return { part: "name", i, k, x, y, frame };
  if (!near) return { part: "", i, k, x, y, frame };
  const range = state.ranges.get(k);
  if (range) {
    const [high, low] = [frame.y(k, Math.min(range[1], columns[k].high)), frame.y(k, Math.max(range[0], columns[k].low))];
    if (Math.abs(y - high) < 6) return { part: "high", i, k, x, y, frame };
    if (Math.abs(y - low) < 6) return { part: "low", i, k, x, y, frame };
    if (y > high && y < low) return { part: "range", i, k, x, y, frame };
  }
  return { part: "axis", i, k, x, y, frame };
}

function listenToLines() {
  let held = null;
  lines.addEventListener("pointerdown", event => {
    const at = atLines(event);
    held = { ...at, from: at.y, before: state.ranges.get(at.k), moved: false };
    lines.setPointerCapture(event.pointerId);
  });
  lines.addEventListener("pointermove", event => {
    if (!held) {
      lines.style.cursor = { name: "grab", axis: "crosshair", range: "move", high: "ns-resize", low: "ns-resize" }[atLines(event).part] ?? "pointer";
      return;
    }
    const box = lines.getBoundingClientRect(), { k, frame } = held;
    const y = Math.max(frame.top, Math.min(frame.bottom, event.clientY - box.top)), x = event.clientX - box.left;
    if (Math.hypot(x - held.x, event.clientY - box.top - held.y) > 3) held.moved = true;
    if (!held.moved) return;
    if (held.part === "name") { moveAxis(k, x, frame); return; }
    if (held.part === "axis") setRange(k, ...[held.from, y].map(at => frame.value(k, at)).sort((a, b) => a - b));
    if (held.part === "high") setRange(k, held.before[0], Math.max(held.before[0], frame.value(k, y)));
    if (held.part === "low") setRange(k, Math.min(held.before[1], frame.value(k, y)), held.before[1]);
    if (held.part === "range") {
      const by = frame.value(k, y) - frame.value(k, held.from);
      setRange(k, held.before[0] + by, held.before[1] + by);
    }
  });
  for (const name of ["pointerup", "pointercancel"]) {
    lines.addEventListener(name, () => {
      if (held && !held.moved && held.part === "axis") setRange(held.k);
      if (held && !held.moved && held.part === "") pick(nearestLine(held));
      held = null;
    });
  }
  lines.addEventListener("keydown", event => {
    if (event.key !== "Escape") return;
    clearRanges();
    event.preventDefault();
  });
}

function moveAxis(k, x, frame) {
  const others = state.axes.filter(other => other !== k);
  const place = frame.xs.filter((at, i) => state.axes[i] !== k && at < x).length;
  const axes = [...others.slice(0, place), k, ...others.slice(place)];
  if (axes.join() !== state.axes.join()) { state.axes = axes; refresh(); }
}

/** The design whose line passes a point closest. */
function nearestLine({ x, y, frame }) {
  const i = Math.max(0, Math.min(frame.xs.length - 2, frame.xs.filter(at => at <= x).length - 1)), part = (x - frame.xs[i]) / (frame.gap || 1);
  const [k, l] = [state.axes[i], state.axes[i + 1] ?? state.axes[i]];
  let best = -1, least = 8;
  for (const r of shownDesigns()) {
    const away = Math.abs(frame.y(k, columns[k].values[r]) * (1 - part) + frame.y(l, columns[l].values[r]) * part - y);
    if (away < least) [best, least] = [r, away];
  }
  return best;
}

function* shownDesigns() {
  yield* found.done;
  if (failing.checked) yield* found.failed;
}

// ---- two columns against each other -----------------------------------------------------------------------------

const scatter = make("canvas", { className: "scatter", tabIndex: 0, role: "img" });
const readout = make("p", { className: "readout" });
let rubber = null; // the rectangle that is being drawn

function frameOfScatter() {
  const box = scatter.getBoundingClientRect(), [left, right, top, bottom] = [58, box.width - 14, 24, box.height - 38];
  const [h, v] = [columns[state.x], columns[state.y]], edge = column => (column.labels ? 0 : 0.03 * (column.high - column.low));
  const [x0, x1, y0, y1] = [h.low - edge(h), h.high + edge(h), v.low - edge(v), v.high + edge(v)];
  return {
    left, right, top, bottom, width: box.width, height: box.height,
    x: a => left + (right - left) * (a - x0) / (x1 - x0), y: b => bottom - (bottom - top) * (b - y0) / (y1 - y0),
    atX: x => x0 + (x - left) / (right - left) * (x1 - x0), atY: y => y0 + (bottom - y) / (bottom - top) * (y1 - y0),
  };
}

/** 256 colours from the least to the greatest, or those of kinds. */
function shades() {
  const stops = ["--scale-0", "--scale-1", "--scale-2"].map(rgb);
  return Array.from({ length: 256 }, (_, i) => {
    const at = i / 127.5, k = Math.min(1, Math.floor(at));
    return stops[k].map((x, c) => x + (stops[k + 1][c] - x) * (at - k));
  });
}

/** The colour of each design: [red, green, blue]. */
function colouring() {
  if (state.colour < 0) { const one = rgb("--accent"); return () => one; }
  const column = columns[state.colour], { values, low, high, labels } = column;
  if (labels) { const kinds = Array.from({ length: 9 }, (_, k) => rgb(`--part-${k}`)); return r => kinds[values[r] % 9] ?? kinds[8]; }
  const table = shades(), none = rgb("--soft");
  return r => table[Math.round(255 * (values[r] - low) / (high - low))] ?? none;
}

function drawPoints(context, frame, fine) {
  const width = Math.round(frame.width * fine), height = Math.round(frame.height * fine);
  const image = context.createImageData(width, height), pixels = new Uint32Array(image.data.buffer);
  const xs = columns[state.x].values, ys = columns[state.y].values, colour = colouring();
  const size = Math.max(1, Math.round(fine * (count > 20000 ? 1.5 : count > FEW ? 2.5 : 5)));
  const jitter = k => (columns[k].labels ? r => 0.7 * ((r * 0.6180339887) % 1 - 0.5) : () => 0);
  const [jx, jy] = [jitter(state.x), jitter(state.y)];
  const spot = (r, [red, green, blue], alpha) => {
    const x = Math.round(frame.x(xs[r] + jx(r)) * fine - size / 2), y = Math.round(frame.y(ys[r] + jy(r)) * fine - size / 2);
    if (!(x >= 0 && y >= 0 && x + size < width && y + size < height)) return;
    const word = (alpha << 24 | blue << 16 | green << 8 | red) >>> 0;
    for (let j = 0; j < size; ++j) {
      const cut = size > 3 && (j === 0 || j === size - 1) ? 1 : 0; // rounder
      pixels.fill(word, (y + j) * width + x + cut, (y + j) * width + x + size - cut);
    }
  };
  if (state.ranges.size) { const grey = rgb("--unlit"); for (let r = 0; r < count; ++r) if (!found.inside[r]) spot(r, grey, 255); }
  for (const r of found.done) spot(r, colour(r), count > FEW ? 190 : 230);
  if (failing.checked) { const one = rgb("--over"); for (const r of found.failed) spot(r, one, 220); }
  context.putImageData(image, 0, 0);
}

function drawScatter() {
  const { context } = prepared(scatter), frame = frameOfScatter(), fine = Math.min(devicePixelRatio || 1, 2);
  ticks(columns[state.x], (frame.right - frame.left) / 90).forEach(([x, text]) => {
    segment(context, frame.x(x), frame.top, frame.x(x), frame.bottom, "--line", 0.8);
    write(context, text, frame.x(x), frame.bottom + 14, { align: "center", widest: 90 });
  });
  ticks(columns[state.y], (frame.bottom - frame.top) / 50).forEach(([y, text]) => {
    segment(context, frame.left, frame.y(y), frame.right, frame.y(y), "--line", 0.8);
    write(context, text, frame.left - 6, frame.y(y) + 4, { align: "right", widest: 50 });
  });
  write(context, columns[state.x].name, (frame.left + frame.right) / 2, frame.height - 6, { align: "center", size: 12, colour: "--ink", weight: 500 });
  write(context, columns[state.y].name, 6, 13, { size: 12, colour: "--ink", weight: 500, widest: frame.width - 12 });
  const key = [frame.width, frame.height, state.x, state.y, state.colour, failing.checked, styled("--accent"), version].join("|");
  context.drawImage(layer("points", key, Math.round(frame.width * fine), Math.round(frame.height * fine), sheet => drawPoints(sheet, frame, fine)),
    0, 0, frame.width, frame.height);
  const ring = (r, colour, radius, wide) => {
    context.beginPath();
    context.arc(frame.x(columns[state.x].values[r]), frame.y(columns[state.y].values[r]), radius, 0, 7);
    Object.assign(context, { strokeStyle: styled(colour), lineWidth: wide });
    context.stroke();
  };
  if (state.goals.size) for (const r of found.front.subarray(0, FEW)) ring(r, "--front", 3.5, 1.6);
  if (state.picked >= 0) ring(state.picked, "--ink", 6, 2.4);
  if (rubber) {
    const [x0, y0, x1, y1] = rubber;
    Object.assign(context, { strokeStyle: styled("--accent"), lineWidth: 1.2 });
    context.strokeRect(Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0), Math.abs(y1 - y0));
  }
}

/** Round values, and how they are written. */
function ticks(column, many) {
  if (column.labels) return column.labels.map((text, k) => [k, text]).slice(0, 40);
  const rough = (column.high - column.low) / Math.max(2, many), power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find(x => x * power >= rough) ?? 10), out = [];
  for (let k = Math.ceil(column.low / step); k * step <= column.high; ++k) out.push([k * step, shown(k * step, 4, 1e-9 * step)]);
  return out.map(([x, text]) => [x, trimmed(text)]);
}

function nearestPoint(event) {
  const box = scatter.getBoundingClientRect(), frame = frameOfScatter(), at = [event.clientX - box.left, event.clientY - box.top];
  let best = -1, least = 12;
  for (const r of shownDesigns()) {
    const away = Math.hypot(frame.x(columns[state.x].values[r]) - at[0], frame.y(columns[state.y].values[r]) - at[1]);
    if (away < least) [best, least] = [r, away];
  }
  return best;
}

function listenToScatter() {
  const place = event => { const box = scatter.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  scatter.addEventListener("pointerdown", event => { rubber = [...place(event), ...place(event)]; scatter.setPointerCapture(event.pointerId); });
  scatter.addEventListener("pointermove", event => {
    if (rubber) { rubber = [rubber[0], rubber[1], ...place(event)]; refresh(); return; }
    const r = nearestPoint(event), [h, v] = [columns[state.x], columns[state.y]];
    readout.textContent = r < 0 ? READOUT : `case ${r}: ${h.name} = ${label(h, h.values[r])}, ${v.name} = ${label(v, v.values[r])}`;
  });
  for (const name of ["pointerup", "pointercancel"]) {
    scatter.addEventListener(name, event => {
      if (!rubber) return;
      const [x0, y0, x1, y1] = rubber, frame = frameOfScatter();
      rubber = null;
      if (Math.hypot(x1 - x0, y1 - y0) < 5) { pick(nearestPoint(event)); return; }
      const ends = (at, one, other) => [at(one), at(other)].sort((a, b) => a - b);
      setRange(state.x, ...ends(frame.atX, x0, x1));
      if (state.y !== state.x) setRange(state.y, ...ends(frame.atY, y0, y1));
    });
  }
  scatter.addEventListener("keydown", event => { if (event.key === "Escape") clearRanges(); });
}

// ---- fields ------------------------------------------------------------------------------------------------------

const READOUT = "Drag over points to keep these; click one to see all of it.";
const whole = x => String(x).replace(/\B(?=(\d{3})+$)/g, "\u202f");
const said = make("p", { className: "said", role: "status" });
const chips = make("div", { className: "chips" });
const failing = make("input", { type: "checkbox", checked: true });
const goalList = make("div", { className: "chips" });
const bestTable = make("div", { className: "scroll table", tabIndex: 0 });
const picture = make("div", { className: "picked" });
const scale = make("div", { className: "scale" });
const fields = columns.map(() => null);

function choice(text, among, at, act) {
  const select = make("select", { "aria-label": text }, ...among.map(([value, name]) => make("option", { value, textContent: name })));
  select.value = String(at);
  select.addEventListener("change", () => act(Number(select.value)));
  return select;
}

function button(text, title, act, className = "") {
  const made = make("button", { type: "button", textContent: text, title, className });
  if (title !== text) made.setAttribute("aria-label", title);
  made.addEventListener("click", act);
  return made;
}

/** The rows of the table of columns: whether each has an axis, and its range. */
function columnRow(column) {
  const { index: k, name } = column;
  const axis = make("input", { type: "checkbox", checked: state.axes.includes(k), "aria-label": `Axis for ${name}` });
  axis.addEventListener("change", () => {
    state.axes = axis.checked ? [...state.axes, k] : state.axes.filter(other => other !== k);
    refresh();
  });
  const ends = ["from", "to"].map((word, side) => {
    const entry = make("input", { type: "number", step: "any", "aria-label": `${name} ${word}`, placeholder: field(side ? column.high : column.low) });
    entry.addEventListener("change", () => {
      const range = [...(state.ranges.get(k) ?? [-Infinity, Infinity])];
      range[side] = entry.value === "" ? (side ? Infinity : -Infinity) : entry.valueAsNumber;
      setRange(k, ...(range.every(x => !Number.isFinite(x)) ? [] : range));
    });
    return entry;
  });
  fields[k] = { axis, ends };
  const kind = { case: "case", result: "result", outcome: "" }[column.kind];
  return make("tr", {}, make("th", { scope: "row", textContent: name }), make("td", { textContent: kind }), make("td", {}, axis),
    ...(column.labels ? [make("td", { colSpan: 2, textContent: "text" })] : ends.map(entry => make("td", {}, entry))));
}

/** Without numbers: none. */
function setRange(k, low, high) {
  if (low === undefined) state.ranges.delete(k);
  else state.ranges.set(k, [low, high]);
  changed();
}

function clearRanges() {
  state.ranges.clear();
  changed();
}

function changed() {
  select();
  showRanges();
  clearTimeout(waiting);
  waiting = setTimeout(seek, SETTLED);
  refresh();
}

function showRanges() {
  const chip = ([k, [low, high]]) => {
    const column = columns[k], names = column.labels?.filter((_, c) => c >= low && c <= high);
    const between = names ? names.join(", ") || "none" : !Number.isFinite(low) ? `≤ ${label(column, high)}`
      : !Number.isFinite(high) ? `≥ ${label(column, low)}` : `${label(column, low)} to ${label(column, high)}`;
    return make("span", { className: "chip" }, `${column.name}: ${between} `, button("×", `Remove the range of ${column.name}`, () => setRange(k)));
  };
  chips.replaceChildren(...[...state.ranges].map(chip));
  if (state.ranges.size > 1) chips.append(button("Remove all ranges", "Remove all ranges", clearRanges, "plain"));
  columns.forEach((column, k) => fields[k]?.ends.forEach((entry, side) => {
    const x = state.ranges.get(k)?.[side];
    if (document.activeElement !== entry) entry.value = x === undefined || !Number.isFinite(x) ? "" : field(x);
  }));
}

function setGoal(k, sign) {
  if (sign) state.goals.set(k, sign); else state.goals.delete(k);
  showGoals();
  seek();
}

function showGoals() {
  const numeric = columns.filter(column => !column.labels && !state.goals.has(column.index));
  const add = make("select", { "aria-label": "Add an objective" }, make("option", { value: "", textContent: "Add an objective …" }));
  for (const [sign, word] of [[1, "least"], [-1, "greatest"]]) {
    add.append(make("optgroup", { label: word }, ...numeric.map(column => make("option", { value: `${sign * (column.index + 1)}`, textContent: `${word} ${column.name}` }))));
  }
  add.addEventListener("change", () => { const x = Number(add.value); if (x) setGoal(Math.abs(x) - 1, Math.sign(x)); });
  const chip = ([k, sign]) => make("span", { className: "chip" },
    button(sign > 0 ? "↓ least" : "↑ greatest", `Objective ${columns[k].name}: ${sign > 0 ? "least; press for greatest" : "greatest; press for least"}`, () => setGoal(k, -sign), "turn"),
    ` ${columns[k].name} `, button("×", `Remove the objective ${columns[k].name}`, () => setGoal(k, 0)));
  goalList.replaceChildren(...[...state.goals].map(chip), add);
}

/** The text of the robot file of a case: that of the study, with the numbers of this case. */
const robotFile = r => data.robot.pieces.map((piece, i) => (i % 2 ? String(columns[piece].values[r]) : piece)).join("");

function save(r) {
  const address = URL.createObjectURL(new Blob([robotFile(r)], { type: "application/toml" }));
  const link = make("a", { href: address, download: `${data.stem}-${r}.toml` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

const fileButton = r => (data.robot ? [button("Robot file", `Robot file of case ${r}`, () => save(r))] : []);

function showBest() {
  const best = bestDesigns(), goals = [...state.goals.keys()];
  const others = columns.filter(column => column.kind === "case" && column.varies && !goals.includes(column.index)).slice(0, 8);
  const shownColumns = [...goals.map(k => columns[k]), ...others];
  const head = make("tr", {}, ...["case", ...(data.robot ? [""] : []), ...shownColumns.map(column => column.name)].map((name, i) =>
    make("th", { scope: "col", textContent: name, className: i ? "n" : "" })));
  const body = best.map(r => {
    const show = button(String(r), `Show case ${r}`, () => pick(r), "pick");
    show.setAttribute("aria-pressed", String(r === state.picked));
    return make("tr", {}, make("th", { scope: "row" }, show), ...fileButton(r).map(one => make("td", {}, one)),
      ...shownColumns.map(column => make("td", { className: "n", textContent: label(column, column.values[r], 4) })));
  });
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
  const why = !goals.length ? "Add an objective: what should be least, or greatest?" : best.length ? "" : "No design is inside the ranges with a number for every objective.";
  bestTable.replaceChildren(...(why ? [make("p", { textContent: why })] : [table]));
}

function pick(r) {
  state.picked = r;
  showPicked();
  for (const one of bestTable.querySelectorAll(".pick")) one.setAttribute("aria-pressed", String(one.textContent === String(r)));
  refresh();
}

function showPicked() {
  const r = state.picked;
  if (r < 0) { picture.replaceChildren(); return; }
  const facts = columns.filter(column => column.kind !== "outcome").map(column =>
    make("div", {}, make("dt", { textContent: column.name }), make("dd", { textContent: label(column, column.values[r], 6) })));
  const outcome = columns[data.outcome], why = outcome.values[r] ? [make("p", { className: "why", textContent: outcome.labels[outcome.values[r]] })] : [];
  picture.replaceChildren(
    make("div", { className: "tools" }, make("h3", { textContent: `Case ${r}` }), ...fileButton(r), button("×", "Close this case", () => pick(-1))),
    ...why, make("dl", { className: "facts" }, ...facts));
}

function showScale() {
  const column = columns[state.colour];
  if (!column) { scale.replaceChildren(); return; }
  if (column.labels) {
    scale.replaceChildren(...column.labels.slice(0, 12).map((text, k) => make("span", {}, make("i", { style: `background: var(--part-${k % 9})` }), text)));
    return;
  }
  scale.replaceChildren(label(column, column.low), make("i", { className: "ramp" }), label(column, column.high));
}

function build() {
  const names = columns.map(column => [column.index, column.name]);
  const axisChoice = (text, key) => make("label", {}, `${text} `, choice(text, key === "colour" ? [[-1, "none"], ...names] : names, state[key], k => {
    state[key] = k;
    showScale();
    refresh();
  }));
  const many = make("input", { type: "number", min: 1, max: 1000, value: state.best, "aria-label": "How many designs are listed" });
  many.addEventListener("change", () => { state.best = Math.max(1, Math.min(1000, Math.round(many.valueAsNumber) || 1)); many.value = state.best; showBest(); });
  const fails = data.failed ? [make("label", { className: "check" }, failing, ` ${data.failed === 1 ? "the failing design" : `${whole(data.failed)} failing designs`}`)] : [];
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...["column", "", "axis", "from", "to"].map(text => make("th", { scope: "col", textContent: text })))),
    make("tbody", {}, ...columns.map(columnRow)));
  failing.addEventListener("change", refresh);
  document.getElementById("live-part").append(
    make("p", { textContent: "Each line is a design. Drag along an axis to keep a range of it, drag its name to move it; click a line to see all of it." }),
    make("div", { className: "tools" }, said, ...fails), chips,
    make("div", { className: "scroll", tabIndex: -1 }, lines),
    make("details", {}, make("summary", { textContent: "Axes and ranges" }), make("div", { className: "scroll" }, table)),
    make("div", { className: "pair" },
      make("div", {}, make("h3", { textContent: "Two columns" }),
        make("div", { className: "tools start" }, axisChoice("Across", "x"), axisChoice("Up", "y"), axisChoice("Colour", "colour")), scatter, scale, readout),
      make("div", {}, make("h3", { textContent: "The best designs" }), goalList,
        make("p", { className: "small", textContent: "Of one objective the best values; of several, designs all along the Pareto front: no other one inside the ranges is as good in all and better in one." }),
        bestTable, make("label", { className: "small" }, "Listed at most ", many), picture)));
  for (const id of ["live", "live-link"]) document.getElementById(id).hidden = false;
}

// ---- what is shown -----------------------------------------------------------------------------------------------

function refresh() {
  if (wanted) return;
  wanted = true;
  requestAnimationFrame(() => { wanted = false; draw(); });
}

function draw() {
  colours.clear();
  lines.style.minWidth = `${2 * SIDE + WIDTH * (state.axes.length - 1)}px`;
  const front = state.goals.size > 1 ? `; ${whole(found.front.length)} on the Pareto front` : "";
  const kept = found.done.length + found.failed.length, later = data.notRun ? `; ${whole(data.notRun)} not run yet` : "";
  said.textContent = `${whole(kept)} of ${whole(count - data.notRun)} designs${state.ranges.size ? " inside the ranges" : ""}${front}${later}`;
  lines.setAttribute("aria-label", `Lines of ${kept} designs across ${state.axes.map(k => columns[k].name).join(", ")}`);
  scatter.setAttribute("aria-label", `${columns[state.y].name} over ${columns[state.x].name} of ${kept} designs`);
  drawLines();
  drawScatter();
}

readout.textContent = READOUT;
build();
listenToLines();
listenToScatter();
addEventListener("resize", refresh);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", refresh);
select();
showGoals();
showScale();
seek();

// For those who want the numbers.
globalThis.armdyn = {
  columns: columns.map(column => column.name),
  values: name => columns.find(column => column.name === name).values,
  inside: () => [...found.done, ...found.failed].sort((a, b) => a - b),
  front: () => [...found.front],
  best: bestDesigns,
  robotFile,
  /** Keeps a range of a column, draws at once, and says how long that took [ms]. */
  keep: (name, low, high) => {
    const start = performance.now();
    setRange(columns.findIndex(column => column.name === name), low, high);
    draw();
    return performance.now() - start;
  },
  drawn: new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())))),
};
