// The page: the state of the arm, what changes it, and what shows it.

const motion = data.motion, arm = data.arm, samples = motion.t.length;
const INTRODUCTION = "Drag the picture to turn it, move the joints, or play the motion. Bars show what causes each "
  + "torque, the upright mark their sum, dashed lines the limits. The page computes all of this itself.";
const KINDS = [["q", "Position"], ["qd", "Velocity"], ["qdd", "Acceleration"]];
const state = { q: null, qd: null, qdd: null, y: null, load: 0, sample: 0, onMotion: true };
const camera = new Camera(arm), solids = new Solids(arm);
let kind = 0, playing = null, wanted = false;

// ---- the parts of the page -----------------------------------------------------------------------------------

const picture = make("canvas", { className: "scene", tabIndex: 0, role: "img" });
const message = make("p", { className: "message", role: "status" });
const tip = make("p", { className: "tip" });
const rows = data.joints.map(jointRow);
const places = motion.q.map(q => positions(q) ?? new Float64Array(q.length).fill(NaN));
const run = motionTorques();
const used = data.parts.map((_, k) => k).filter(isUsed);
const chart = new Chart(make("canvas", { className: "chart", role: "img" }), used);
const amounts = [...used, -1].map(amount);
const play = make("button", { type: "button", className: "play", textContent: "▶" });
const scrub = make("input", { type: "range", min: 0, max: samples - 1, step: 1, value: 0, className: "scrub" });
const clock = make("output", { className: "clock" });

function jointRow(joint, i) {
  const id = `live-joint-${i + 1}`;
  const pick = make("button", { type: "button", className: "pick", textContent: `${i + 1}  ${joint.name}` });
  const slider = make("input", { type: "range", id, className: "slider" });
  const entry = make("input", { type: "number", step: "any", className: "entry" });
  const measure = make("span", { className: "unit" });
  const bar = new Bar(joint);
  pick.title = "Show the torques of this joint over the motion";
  pick.addEventListener("click", () => { chart.joint = i; refresh(); });
  slider.addEventListener("input", () => set(i, slider.valueAsNumber));
  entry.addEventListener("change", () => enter(i, entry));
  const head = make("div", { className: "head" }, pick, make("span", { className: "value" }, entry, measure));
  return { pick, slider, entry, measure, bar, node: make("div", { className: "joint" }, head, slider, bar.node) };
}

/** A cause and its torque at the joint that is picked; -1 is the sum of all. */
function amount(k) {
  const mark = k < 0 ? make("b", { className: "total" }) : make("i", { className: `part-${k}` });
  const value = make("dd", {});
  return { k, value, node: make("div", {}, make("dt", {}, mark, k < 0 ? "sum" : data.parts[k]), value) };
}

function kindChoice() {
  const choices = KINDS.map(([key, name], k) => {
    const radio = make("input", { type: "radio", name: "live-kind", value: key, checked: k === 0 });
    radio.addEventListener("change", () => { kind = k; describe(); refresh(); });
    return make("label", {}, radio, make("span", { textContent: name }));
  });
  return make("div", { className: "kinds", role: "radiogroup", "aria-label": "What the sliders change" }, ...choices);
}

function button(text, title, act) {
  const found = make("button", { type: "button", textContent: text, title, "aria-label": title });
  found.addEventListener("click", act);
  return found;
}

function build() {
  const view = make("div", { className: "view" },
    button("+", "Larger", () => { camera.magnify(1.2); refresh(); }),
    button("−", "Smaller", () => { camera.magnify(1 / 1.2); refresh(); }),
    button("⟲", "As at first", () => { camera.reset(); refresh(); }));
  const stage = make("div", { className: "stage" }, picture, view, tip, message);
  const player = make("div", { className: "player" }, play, scrub, clock);
  const caption = make("p", { className: "chart-title" }), heading = make("p", { className: "chart-title" });
  chart.caption = caption;
  chart.heading = heading;
  const legend = make("dl", { className: "legend" }, ...amounts.map(({ node }) => node));
  const rest = button("At rest", "Set all velocities and accelerations to zero", () => {
    for (const key of ["qd", "qdd"]) state[key] = new Float64Array(n);
    leaveMotion();
  });
  const zero = make("div", { className: "tools" }, kindChoice(), rest);
  document.getElementById("live-part").append(
    make("p", { textContent: INTRODUCTION }),
    heading, legend,
    make("div", { className: "live-grid" },
      stage,
      make("div", { className: "live-motion" }, player, caption, chart.canvas),
      make("div", { className: "live-joints" }, zero, ...rows.map(row => row.node))));
  for (const id of ["live", "live-link"]) document.getElementById(id).hidden = false;
}

// ---- the state ---------------------------------------------------------------------------------------------------

/** Torques at every sample of the motion; bars get a scale that holds for all of them. */
function motionTorques() {
  return places.map((y, k) => {
    const found = torquesAt(y, motion.qd[k], motion.qdd[k], motion.load[k]);
    rows.forEach((row, i) => row.bar.foresee(found.parts, i));
    return found;
  });
}

/** Causes that are nothing all along the motion and in a few other states do not stand in the legend. */
function isUsed(k) {
  const ones = new Float64Array(n).fill(1), states = [...run, torquesAt(places[0], ones, ones)];
  return data.joints.some((_, i) => {
    const least = 1e-12 * Math.max(...states.map(found => Math.abs(found.total[i]) || 0));
    return states.some(found => Math.abs(found.parts[k * n + i]) > least);
  });
}

function goTo(sample) {
  Object.assign(state, { sample, onMotion: true, load: motion.load[sample] });
  for (const [key] of KINDS) state[key] = Float64Array.from(motion[key][sample]);
  state.y = places[sample];
  message.textContent = "";
  refresh();
}

/** A number in a field: five digits. */
const field = x => String(Number(x.toPrecision(5)));

/** What was typed: taken where it is in the range of the joint, as the field shows this range; refused elsewhere. */
function enter(i, entry) {
  const { ranges, units } = data.joints[i], name = `${KINDS[kind][1]} of joint ${i + 1}`;
  const typed = entry.valueAsNumber, [low, high] = ranges[kind];
  const value = [low, high].find(end => field(end) === String(typed)) ?? typed;
  if (value >= low && value <= high) { set(i, value); return; }
  const found = Number.isNaN(typed) ? `${name}: no number was given` : `${name}: ${typed} ${units[kind]} is out of range`;
  message.textContent = `${found}; ${field(low)} to ${field(high)} ${units[kind]} is allowed.`.replaceAll("-", "−");
  entry.value = field(state[KINDS[kind][0]][i]);
  refresh();
}

function set(i, value) {
  stop();
  message.textContent = "";
  const changed = Float64Array.from(state[KINDS[kind][0]]);
  changed[i] = value;
  if (kind === 0) {
    const y = positions(changed);
    if (!y) {
      message.textContent = "The loops cannot be closed there: the arm stays where it is.";
      refresh();
      return;
    }
    state.y = y;
  }
  state[KINDS[kind][0]] = changed;
  leaveMotion();
}

function leaveMotion() {
  stop();
  state.onMotion = false;
  refresh();
}

function start() {
  const from = state.sample >= samples - 1 ? 0 : motion.t[state.sample];
  playing = { from, since: performance.now() };
  Object.assign(play, { textContent: "❚❚" });
  play.setAttribute("aria-label", "Stop");
  requestAnimationFrame(step);
}

function step(now) {
  if (!playing) return;
  const t = playing.from + Math.max(0, now - playing.since) / 1000, end = motion.t[samples - 1];
  goTo(Math.min(samples - 1, Math.round((samples - 1) * t / end)));
  if (t >= end) stop(); else requestAnimationFrame(step);
}

function stop() {
  playing = null;
  play.textContent = "▶";
  play.setAttribute("aria-label", "Play the motion");
}

// ---- what is shown -----------------------------------------------------------------------------------------------

function refresh() {
  if (wanted) return;
  wanted = true;
  requestAnimationFrame(() => { wanted = false; draw(); });
}

/** A length in metres, to the millimetre. */
const metres = x => x.toFixed(3).replace(/^-(?=[0.]+$)/, "").replace("-", "−");

/** What sliders change: their ranges, units and names. */
function describe() {
  const [, name] = KINDS[kind];
  rows.forEach((row, i) => {
    const joint = data.joints[i], [low, high] = joint.ranges[kind];
    Object.assign(row.slider, { min: low, max: high, step: (high - low) / 1000 || "any" });
    const label = `${name} of joint ${i + 1}, ${joint.name}, in ${joint.units[kind]}`;
    row.slider.setAttribute("aria-label", label);
    row.entry.setAttribute("aria-label", label);
    row.measure.textContent = joint.units[kind];
  });
}

function draw() {
  colours.clear();
  const { parts, total } = torquesAt(state.y, state.qd, state.qdd, state.load);
  const poses = posesAt(state.y), values = state[KINDS[kind][0]];
  const all = new Map(scales);
  rows.forEach((row, i) => row.bar.grow(all, row.bar.reach(parts, i)));
  rows.forEach((row, i) => {
    row.slider.value = String(values[i]);
    if (document.activeElement !== row.entry) row.entry.value = field(values[i]);
    row.bar.show(parts, total, i, all);
    row.pick.setAttribute("aria-pressed", String(chart.joint === i));
  });
  const at = placed(poses, ...arm.tip);
  tip.textContent = `tip at ${at.map(metres).join(", ")} m`;
  picture.setAttribute("aria-label", `The arm in its posture; its ${tip.textContent}. Arrow keys turn it.`);
  scrub.value = String(state.sample);
  clock.value = `${motion.t[state.sample].toFixed(2)} s`;
  const joint = data.joints[chart.joint];
  for (const { k, value } of amounts) {
    const x = k < 0 ? total[chart.joint] : parts[k * n + chart.joint];
    value.textContent = `${shown(x, 3, 1e-9 * rows[chart.joint].bar.scale)} ${joint.units[3]}`;
  }
  chart.heading.textContent = `Joint ${chart.joint + 1}, ${joint.name}: its torque now, by cause`;
  chart.caption.textContent = `Torque of joint ${chart.joint + 1}, ${joint.name}, over the motion`;
  chart.canvas.setAttribute("aria-label", chart.caption.textContent);
  drawScene(poses, at);
  chart.draw(run, motion.t, motion.t[state.sample], state.onMotion);
}

function drawScene(poses, at) {
  const box = picture.getBoundingClientRect();
  if (!box.width) return;
  const fine = Math.min(Math.max(2, devicePixelRatio || 1), Math.sqrt(1.8e6 / (box.width * box.height)));
  const width = Math.round(box.width * fine), height = Math.round(box.height * fine);
  if (picture.width !== width || picture.height !== height) Object.assign(picture, { width, height });
  solids.resize(width, height, box.width);
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const sheet = solids.draw(poses, camera, dark ? 0xff9a948e : 0xff3a3634);
  const context = picture.getContext("2d"), flat = camera.projection(width, height);
  context.clearRect(0, 0, width, height);
  if (arm.grid) drawGround(context, flat, fine);
  context.drawImage(sheet, 0, 0);
  drawSprings(context, flat, poses, fine);
  drawPath(context, flat, at, fine);
  drawAxes(context, height, fine);
}

function stroke(context, points, colour, wide, dash = []) {
  context.beginPath();
  points.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
  Object.assign(context, { strokeStyle: colour, lineWidth: wide, lineJoin: "round", lineCap: "round" });
  context.setLineDash(dash);
  context.stroke();
}

/** Squares on the ground. */
function drawGround(context, flat, fine) {
  const { ground, up, step } = arm, first = Math.abs(up[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0];
  const u = unit(first.map((x, i) => x - dot(first, up) * up[i])), v = cross(up, u), cells = 6;
  const point = (a, b) => flat(ground.map((x, i) => x + step * (a * u[i] + b * v[i])));
  for (let k = -cells; k <= cells; ++k) {
    for (const ends of [[point(k, -cells), point(k, cells)], [point(-cells, k), point(cells, k)]]) {
      stroke(context, ends, styled("--line"), fine * (k ? 0.7 : 1.3));
    }
  }
}

function drawSprings(context, flat, poses, fine) {
  for (const ends of arm.struts) {
    const [a, b] = ends.map(end => flat(placed(poses, ...end)));
    const along = [b[0] - a[0], b[1] - a[1]], length = Math.hypot(...along);
    if (length < 1) continue;
    const across = [-along[1] / length, along[0] / length], turns = 12, points = [a];
    for (let k = 0; k <= turns; ++k) {
      const part = 0.15 + 0.7 * k / turns, off = k % turns ? (k % 2 ? 5 : -5) * fine : 0;
      points.push([a[0] + part * along[0] + off * across[0], a[1] + part * along[1] + off * across[1]]);
    }
    stroke(context, [...points, b], styled("--ink"), 1.2 * fine);
  }
}

/** The path of the tip over the motion, and the tip. */
function drawPath(context, flat, at, fine) {
  stroke(context, path.map(flat), styled("--accent"), 1.4 * fine, [5 * fine, 4 * fine]);
  const [x, y] = flat(at);
  context.beginPath();
  context.arc(x, y, 3.5 * fine, 0, 7);
  context.fillStyle = styled("--accent");
  context.fill();
}

/** The directions of the base's axes, in a corner. */
function drawAxes(context, height, fine) {
  const origin = [34 * fine, height - 34 * fine], length = 24 * fine, [right, up] = camera.axes;
  Object.assign(context, { font: `italic ${12 * fine}px system-ui, sans-serif`, textAlign: "center", textBaseline: "middle" });
  context.fillStyle = styled("--soft");
  ["x", "y", "z"].forEach((name, k) => {
    const axis = arm.base.map(row => row[k]), along = [dot(right, axis), -dot(up, axis)];
    if (Math.hypot(...along) < 0.15) return;
    stroke(context, [origin, along.map((x, i) => origin[i] + length * x)], styled("--soft"), 1.3 * fine);
    context.fillText(name, ...along.map((x, i) => origin[i] + (length + 9 * fine) * x));
  });
}

// ---- mouse, touch, keys ------------------------------------------------------------------------------------------

function listen() {
  const fingers = new Map();
  picture.addEventListener("pointerdown", event => {
    picture.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
  });
  picture.addEventListener("pointermove", event => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const apart = () => { const [a, b] = [...fingers.values()]; return Math.hypot(a[0] - b[0], a[1] - b[1]); };
    const far = fingers.size === 2 ? apart() : 0;
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
    if (far > 0) camera.magnify(apart() / far);
    else camera.turn((before[0] - event.clientX) * 0.01, (event.clientY - before[1]) * 0.01);
    refresh();
  });
  for (const end of ["pointerup", "pointercancel"]) picture.addEventListener(end, event => fingers.delete(event.pointerId));
  const keys = {
    ArrowLeft: () => camera.turn(0.1, 0), ArrowRight: () => camera.turn(-0.1, 0),
    ArrowUp: () => camera.turn(0, 0.1), ArrowDown: () => camera.turn(0, -0.1),
    "+": () => camera.magnify(1.1), "-": () => camera.magnify(1 / 1.1), Home: () => camera.reset(),
  };
  picture.addEventListener("keydown", event => {
    if (!(event.key in keys)) return;
    keys[event.key]();
    event.preventDefault();
    refresh();
  });
  play.addEventListener("click", () => (playing ? stop() : start()));
  scrub.addEventListener("input", () => { stop(); goTo(scrub.valueAsNumber); });
  const along = event => { stop(); goTo(Math.round((samples - 1) * chart.share(event))); };
  chart.canvas.addEventListener("pointerdown", event => { chart.canvas.setPointerCapture(event.pointerId); along(event); });
  chart.canvas.addEventListener("pointermove", event => { if (event.buttons) along(event); });
  addEventListener("resize", refresh);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", refresh);
}

const path = places.map(y => placed(posesAt(y), ...arm.tip));
scrub.setAttribute("aria-label", "Time of the motion");
build();
describe();
listen();
stop();
goTo(Math.round((samples - 1) / 2));

// For those who want the numbers: all of them are computed as the page does.
globalThis.armdyn = {
  data,
  positions,
  torques: (q, qd, qdd, load = 0) => { const y = positions(q); return y && torquesAt(y, qd, qdd, load); },
  poses: q => { const y = positions(q); return y && posesAt(y); },
};
