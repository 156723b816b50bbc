// The arm on a canvas: triangles with a depth for every pixel, and an outline where the depth jumps.

class Solids {
  constructor(arm) {
    this.solids = arm.solids.map(solid => ({
      ...solid,
      colour: [1, 3, 5].map(k => parseInt(solid.colour.slice(k, k + 2), 16)),
      vertices: Float32Array.from(solid.vertices, x => x * arm.unit),
      triangles: Uint32Array.from(solid.triangles),
      flat: new Float32Array(solid.vertices.length),
    }));
    this.sheet = document.createElement("canvas");
    this.jump = 0.04 * arm.size; // more than across a rod [m]
  }

  /** Pixels, and how many pixels of the screen they are side by side. */
  resize(width, height, wide) {
    this.wide = wide;
    if (this.sheet.width === width && this.sheet.height === height) return;
    Object.assign(this.sheet, { width, height });
    this.context = this.sheet.getContext("2d");
    this.image = this.context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.depth = new Float32Array(width * height).fill(-Infinity);
    this.box = [Infinity, -Infinity, Infinity, -Infinity]; // of corners: x from and to, y from and to
  }

  /** Everything at the poses of the bodies, on a sheet that other canvases can draw. */
  draw(poses, camera, ink) {
    const { width, height } = this.sheet;
    this.clear();
    const axes = camera.axes, scale = camera.scale(width, height);
    const middle = axes.map(axis => dot(axis, camera.centre));
    for (const solid of this.solids) {
      this.flatten(solid, poses, axes, scale, middle, width, height);
      this.fill(solid);
    }
    this.outline(ink, this.jump * scale, Math.max(1, Math.round(width / this.wide)));
    this.context.clearRect(0, 0, width, height);
    const { left, right, top, bottom } = this.used();
    this.context.putImageData(this.image, 0, 0, left, top, right - left, bottom - top);
    return this.sheet;
  }

  /** Nothing on the sheet; only what was used is wiped. */
  clear() {
    const { left, right, top, bottom } = this.used(), { width } = this.sheet;
    for (let row = top; row < bottom; ++row) {
      this.pixels.fill(0, row * width + left, row * width + right);
      this.depth.fill(-Infinity, row * width + left, row * width + right);
    }
    this.box = [Infinity, -Infinity, Infinity, -Infinity];
  }

  /** The part of the sheet that has corners of triangles in it, in pixels; y goes down. */
  used() {
    const { width, height } = this.sheet, [low, high, below, above] = this.box;
    const within = (x, most) => Math.max(0, Math.min(most, x));
    return {
      left: within(Math.floor(low) - 1, width), right: within(Math.ceil(high) + 1, width),
      top: within(height - Math.ceil(above) - 1, height), bottom: within(height - Math.floor(below) + 1, height),
    };
  }

  /** Corners as pixels and depth; y still goes up. */
  flatten({ vertices, flat, body }, poses, axes, scale, middle, width, height) {
    const m = [], at = 16 * body;
    for (let row = 0; row < 3; ++row) {
      const axis = axes[row];
      for (let k = 0; k < 4; ++k) {
        const column = axis[0] * poses[at + k] + axis[1] * poses[at + 4 + k] + axis[2] * poses[at + 8 + k];
        m.push(scale * (k < 3 ? column : column - middle[row]));
      }
    }
    m[3] += width / 2;
    m[7] += height / 2;
    let [low, high, below, above] = this.box;
    for (let k = 0; k < vertices.length; k += 3) {
      const x = vertices[k], y = vertices[k + 1], z = vertices[k + 2];
      const across = m[0] * x + m[1] * y + m[2] * z + m[3], up = m[4] * x + m[5] * y + m[6] * z + m[7];
      if (across < low) low = across;
      if (across > high) high = across;
      if (up < below) below = up;
      if (up > above) above = up;
      flat[k] = across;
      flat[k + 1] = up;
      flat[k + 2] = m[8] * x + m[9] * y + m[10] * z + m[11];
    }
    this.box = [low, high, below, above];
  }

  fill({ flat, triangles, colour }) {
    for (let k = 0; k < triangles.length; k += 3) {
      const a = 3 * triangles[k], b = 3 * triangles[k + 1], c = 3 * triangles[k + 2];
      const ux = flat[b] - flat[a], uy = flat[b + 1] - flat[a + 1], uz = flat[b + 2] - flat[a + 2];
      const vx = flat[c] - flat[a], vy = flat[c + 1] - flat[a + 1], vz = flat[c + 2] - flat[a + 2];
      const nz = ux * vy - uy * vx;
      if (!(nz > 1e-9)) continue; // turned away
      const nx = uy * vz - uz * vy, ny = uz * vx - ux * vz, size = Math.hypot(nx, ny, nz);
      const light = 0.6 + 0.4 * Math.max(0, (-0.35 * nx + 0.55 * ny + 0.76 * nz) / size);
      const shade = 0xff000000 | (colour[2] * light) << 16 | (colour[1] * light) << 8 | (colour[0] * light);
      this.triangle(flat, a, b, c, -nx / nz, -ny / nz, shade >>> 0);
    }
  }

  /** One triangle, row by row; depth grows by dx to the right and by dy upwards. */
  triangle(p, a, b, c, dx, dy, shade) {
    const { width, height } = this.sheet, { depth, pixels } = this;
    let t;
    if (p[b + 1] < p[a + 1]) { t = a; a = b; b = t; }
    if (p[c + 1] < p[a + 1]) { t = a; a = c; c = t; }
    if (p[c + 1] < p[b + 1]) { t = b; b = c; c = t; }
    const ax = p[a], ay = p[a + 1], bx = p[b], by = p[b + 1], cx = p[c], cy = p[c + 1];
    const first = Math.max(0, Math.ceil(ay - 0.5)), last = Math.min(height - 1, Math.ceil(cy - 0.5) - 1);
    for (let row = first; row <= last; ++row) {
      const y = row + 0.5;
      const long = ax + (cx - ax) * (y - ay) / (cy - ay);
      const short = y < by ? ax + (bx - ax) * (y - ay) / (by - ay) : bx + (cx - bx) * (y - by) / (cy - by);
      const from = Math.max(0, Math.ceil(Math.min(long, short) - 0.5));
      const to = Math.min(width - 1, Math.ceil(Math.max(long, short) - 0.5) - 1);
      let at = (height - 1 - row) * width + from;
      let z = p[a + 2] + dx * (from + 0.5 - ax) + dy * (y - ay);
      for (let x = from; x <= to; ++x, ++at, z += dx) {
        if (z > depth[at]) { depth[at] = z; pixels[at] = shade; }
      }
    }
  }

  /** Ink on what is seen, as wide as `line`, where it ends or something far behind it begins. */
  outline(ink, jump, line) {
    const { width, height } = this.sheet, { depth, pixels } = this, down = line * width;
    const { left, right, top, bottom } = this.used();
    for (let row = Math.max(top, line); row < Math.min(bottom, height - line); ++row) {
      const end = row * width + Math.min(right, width - line);
      for (let at = row * width + Math.max(left, line); at < end; ++at) {
        const z = depth[at];
        if (z === -Infinity) continue;
        const behind = Math.min(depth[at - line], depth[at + line], depth[at - down], depth[at + down]);
        if (z - behind > jump) pixels[at] = ink;
      }
    }
  }
}
