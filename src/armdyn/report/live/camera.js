// From where the arm is seen: a parallel projection that is turned about the vertical.

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = a => { const size = Math.hypot(...a); return a.map(x => x / size); };

class Camera {
  constructor({ towards, vertical, centre, radius, planar }) {
    Object.assign(this, { vertical, centre, radius, zoom: 1 });
    const start = Math.abs(vertical[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0];
    this.x = unit(start.map((v, i) => v - dot(start, vertical) * vertical[i]));
    this.y = cross(vertical, this.x);
    this.azimuth = Math.atan2(dot(towards, this.y), dot(towards, this.x)) - (planar ? 0.45 : 0);
    this.elevation = Math.asin(Math.max(-1, Math.min(1, dot(towards, vertical)))) + (planar ? 0.3 : 0);
    this.first = { azimuth: this.azimuth, elevation: this.elevation, zoom: 1 };
  }

  turn(azimuth, elevation) {
    this.azimuth += azimuth;
    this.elevation = Math.max(-1.5, Math.min(1.5, this.elevation + elevation));
  }

  magnify(factor) { this.zoom = Math.max(0.3, Math.min(8, this.zoom * factor)); }

  reset() { Object.assign(this, this.first); }

  /** Rows: to the right, up, towards the reader. */
  get axes() {
    const c = Math.cos(this.azimuth), s = Math.sin(this.azimuth);
    const ce = Math.cos(this.elevation), se = Math.sin(this.elevation);
    const level = this.x.map((x, i) => c * x + s * this.y[i]);
    const towards = level.map((v, i) => ce * v + se * this.vertical[i]);
    const right = cross(this.vertical, level);
    return [right, cross(towards, right), towards];
  }

  /** A function from points of the world to pixels [x, y, depth] of a sheet. */
  projection(width, height) {
    const [right, up, towards] = this.axes, scale = this.scale(width, height);
    const middle = [right, up, towards].map(axis => dot(axis, this.centre));
    return p => [
      width / 2 + scale * (dot(right, p) - middle[0]),
      height / 2 - scale * (dot(up, p) - middle[1]),
      scale * (dot(towards, p) - middle[2]),
    ];
  }

  /** Pixels for a metre. */
  scale(width, height) { return this.zoom * Math.min(width, height) / (2.08 * this.radius); }
}
