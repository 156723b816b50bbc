// Torques of a joint as a bar: parts side by side, positive ones to the right, limits and the sum on them.

class Bar {
  constructor(joint) {
    this.joint = joint;
    this.parts = data.parts.map((name, k) => make("i", { className: `part part-${k}`, title: name }));
    this.total = make("b", { className: "total" });
    this.limits = [-1, 1].map(() => make("u", { className: "limit" }));
    this.track = make("div", { className: "track" }, ...this.parts, ...this.limits, this.total);
    this.output = make("output", { className: "torque" });
    this.node = make("div", { className: "bar" }, this.track, this.output);
    this.scale = joint.limit ?? 0;
  }

  /** How far the parts reach to either side, for a scale that holds all along a motion. */
  reach(parts, i) {
    let [low, high] = [0, 0];
    for (let k = 0; k < causes; ++k) {
      const x = parts[k * n + i];
      if (x > 0) high += x; else if (x < 0) low -= x;
    }
    return Math.max(low, high);
  }

  foresee(parts, i) { this.scale = Math.max(this.scale, this.reach(parts, i)); }

  show(parts, total, i) {
    const { limit, units } = this.joint;
    const scale = 1.06 * Math.max(this.scale, this.reach(parts, i), 1e-9);
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
