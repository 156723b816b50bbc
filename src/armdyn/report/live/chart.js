// The torques of one joint over the motion, with a line where the motion is.

class Chart {
  constructor(canvas, used) { Object.assign(this, { canvas, used, joint: 0 }); }

  /** The curves of a joint: (samples) by cause, and their sum. */
  curves(run) {
    return [...this.used.map(k => run.map(one => one.parts[k * n + this.joint])), run.map(one => one.total[this.joint])];
  }

  draw(run, times, now, onMotion) {
    const box = this.canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
    const width = Math.round(box.width * ratio), height = Math.round(box.height * ratio);
    if (!width || !height) return;
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, box.width, box.height);
    const curves = this.curves(run), { limit, units } = data.joints[this.joint];
    let low = 0, high = 0;
    for (const curve of curves) for (const y of curve) { if (y < low) low = y; else if (y > high) high = y; }
    if (limit !== null && limit < 1.7 * Math.max(high, -low)) { high = Math.max(high, limit); low = Math.min(low, -limit); }
    if (!(high > low)) { low = -1; high = 1; }
    this.area = { left: 4, right: box.width - 4, top: 18, bottom: box.height - 16 };
    const { left, right, top, bottom } = this.area, end = times[times.length - 1];
    const X = t => left + (right - left) * t / end, Y = y => bottom - (bottom - top) * (y - low) / (high - low);
    const line = (points, colour, wide, dash = []) => {
      context.beginPath();
      points.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
      context.strokeStyle = colour;
      context.lineWidth = wide;
      context.setLineDash(dash);
      context.stroke();
    };
    line([[left, Y(0)], [right, Y(0)]], styled("--line"), 1);
    if (limit !== null) {
      for (const y of [limit, -limit]) {
        if (y <= high && y >= low) line([[left, Y(y)], [right, Y(y)]], styled("--over"), 1, [4, 3]);
      }
    }
    curves.forEach((curve, c) => {
      const sum = c === curves.length - 1;
      const colour = sum ? styled("--ink") : styled(`--part-${this.used[c]}`);
      line(curve.map((y, k) => [X(times[k]), Y(y)]), colour, sum ? 1.8 : 1.2);
    });
    context.globalAlpha = onMotion ? 1 : 0.35;
    line([[X(now), top], [X(now), bottom]], styled("--accent"), 1.5);
    context.globalAlpha = 1;
    context.setLineDash([]);
    context.fillStyle = styled("--soft");
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "left";
    context.fillText(`${shown(high)} ${units[3]}`, left, 11);
    context.fillText(`${shown(low)} ${units[3]}`, left, box.height - 4);
    context.textAlign = "right";
    context.fillText(`${shown(end)} s`, right, box.height - 4);
  }

  /** The share of the motion at a place on the screen. */
  share(event) {
    const box = this.canvas.getBoundingClientRect();
    const { left, right } = this.area ?? { left: 0, right: box.width };
    return Math.max(0, Math.min(1, (event.clientX - box.left - left) / (right - left)));
  }
}
