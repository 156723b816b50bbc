// Torques of a joint as a bar: parts side by side, positive ones to the right, limits and the sum on them.
//
// Bars can be compared. Those of joints with a limit are parts of it: all limits stand at one place. Those without have
// one scale for each unit. Where a bar goes beyond, the scale of all others grows with it.

const scales = new Map();  // by unit, in it; "limit": in limits, one at least

class Bar {
  constructor(joint) {
    this.joint = joint;
    this.parts = data.parts.map((name, k) => make("i", { className: `part part-${k}`, title: name }));
    this.total = make("b", { className: "total" });
    this.limits = [-1, 1].map(() => make("u", { className: "limit" }));
    this.track = make("div", { className: "track" }, ...this.parts, ...this.limits, this.total);
    this.output = make("output", { className: "torque" });
    this.node = make("div", { className: "bar" }, this.track, this.output);
    this.kind = joint.limit ? "limit" : joint.units[3];
    this.one = joint.limit || 1;
    if (!scales.has(this.kind)) scales.set(this.kind, joint.limit ? 1 : 1e-9);
  }

  /** What half the width stands for. */
  get scale() { return this.one * scales.get(this.kind); }

  /** How far the parts reach to either side, for a scale that holds all along a motion. */
  reach(parts, i) {
    let [low, high] = [0, 0];
    for (let k = 0; k < causes; ++k) {
      const x = parts[k * n + i];
      if (x > 0) high += x; else if (x < 0) low -= x;
    }
    return Math.max(low, high);
  }

  foresee(parts, i) { this.grow(scales, this.reach(parts, i)); }

  grow(all, reach) { all.set(this.kind, Math.max(all.get(this.kind), reach / this.one)); }

  /** `all` are the scales of this state: those of the motion, or more. */
  show(parts, total, i, all) {
    const { limit, units } = this.joint;
    const scale = 1.06 * this.one * all.get(this.kind);
    const share = x => 50 * x / scale;
    let [low, high] = [0, 0];
    this.parts.forEach((node, k) => {
      const x = parts[k * n + i];
      const start = x > 0 ? high : low + x;
      if (x > 0) high += x; else if (x < 0) low += x;
      node.style.left = `${50 + share(start)}%`;
      node.style.width = `${Math.abs(share(x))}%`;
    });
    this.total.style.left = `${50 + share(total[i])}%`;
    this.limits.forEach((node, k) => {
      node.hidden = limit === null;
      node.style.left = `${50 + share((2 * k - 1) * (limit ?? 0))}%`;
    });
    const beyond = limit !== null && Math.abs(total[i]) > limit;
    this.node.classList.toggle("beyond", beyond);
    const used = limit ? ` (${Math.round(100 * Math.abs(total[i]) / limit)} %)` : "";
    this.output.value = `${shown(total[i], 3, 1e-9 * this.scale)} ${units[3]}${used}`;
    this.output.title = limit === null ? "" : `limit ${shown(limit)} ${units[3]}`;
    this.output.dataset.value = String(total[i]);
  }
}
