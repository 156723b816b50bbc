// The robot: what it is (data), and what Python printed of it (printed).

const data = JSON.parse(document.getElementById("live-data").textContent);
const n = data.joints.length, causes = data.parts.length;
const TURN = 2 * Math.PI, SINGULAR = 1e-12;

/** All positions at the coordinates q, loops closed; null where they cannot be. */
function positions(q) {
  if (!data.loops) return Float64Array.from(q);
  const { posture, free, turning } = data.loops;
  const x = Float64Array.from(q, (value, i) => {
    const away = value - posture[free[i]];
    return turning[i] && Math.abs(away) > TURN ? value - TURN * Math.trunc(away / TURN) : value;
  });
  const y = new Float64Array(posture.length), state = new Float64Array(3);
  printed.assemble(x, Float64Array.from(posture), y, state);
  if (!(state[0] <= 0) || !(state[1] >= SINGULAR)) return null;
  free.forEach((at, i) => { y[at] = q[i]; });
  return y;
}

/** Torques by cause (causes × n, row by row) and their sum (n) at all positions y, with load number k. */
function torquesAt(y, qd, qdd, k = 0) {
  const parts = new Float64Array(causes * n), total = new Float64Array(n);
  printed.torques[k](y, qd, qdd, parts, total);
  return { parts, total };
}

/** Poses of the bodies, the base last: 4 × 4 each, row by row. */
function posesAt(y) {
  const out = new Float64Array(16 * data.arm.bodies);
  printed.poses(y, out);
  return out;
}

/** A point of a body in the world. */
function placed(poses, body, x, y, z) {
  const at = 16 * body;
  return [0, 4, 8].map(k => poses[at + k] * x + poses[at + k + 1] * y + poses[at + k + 2] * z + poses[at + k + 3]);
}
