"""Gradients with JAX: many motions, each bent until it takes the least torque.

A motion goes from one posture to another through a posture in the middle, which is free. `robot.jax` gives
the torques as a pure function, so JAX differentiates the effort of a whole motion with respect to that
posture, for all motions at once: jit(vmap(grad(effort))).
"""

import numpy as np

from armdyn import Robot

try:
    import jax
    import jax.numpy as jnp
except ModuleNotFoundError:
    raise SystemExit('This example needs JAX: pip install "armdyn[jax]"') from None

jax.config.update("jax_enable_x64", True)  # else JAX computes in float32

MOTIONS, STEPS, RATE = 200, 60, 0.02  # rad a step
DURATION = 1.0  # s
TIME = np.linspace(0, 1, 41)[:, None]  # as a part of the duration
QUINTIC = (
    10 * TIME**3 - 15 * TIME**4 + 6 * TIME**5,
    30 * (TIME - TIME**2) ** 2,
    60 * TIME - 180 * TIME**2 + 120 * TIME**3,
)
BUMP = (  # zero at both ends with two derivatives, one in the middle
    64 * (TIME - TIME**2) ** 3,
    192 * (TIME - TIME**2) ** 2 * (1 - 2 * TIME),
    384 * (TIME - TIME**2) * (1 - 5 * TIME + 5 * TIME**2),
)


def main() -> None:
    robot = Robot.load("rmit2r")
    torques = robot.jax("inverse_dynamics")

    def motion(bend: jax.Array, start: jax.Array, end: jax.Array) -> list[jax.Array]:
        """Positions, velocities and accelerations (instants, n); `bend` is added in the middle."""
        parts = zip(QUINTIC, BUMP, strict=True)
        q, qd, qdd = ((a * (end - start) + b * bend) / DURATION**k for k, (a, b) in enumerate(parts))
        return [start + q, qd, qdd]

    def effort(bend: jax.Array, start: jax.Array, end: jax.Array) -> jax.Array:
        """The mean square of the torques [(N m)²]."""
        return (torques(*motion(bend, start, end)) ** 2).sum(-1).mean()

    rng = np.random.default_rng(4)
    start, end = rng.uniform(-2, 2, (2, MOTIONS, robot.n))
    bend = jnp.zeros((MOTIONS, robot.n))
    efforts, slopes = jax.jit(jax.vmap(effort)), jax.jit(jax.vmap(jax.grad(effort)))

    # One gradient by hand: of |τ|² it is 2 τ (∂τ/∂q b + ∂τ/∂q̇ ḃ + ∂τ/∂q̈ b̈) with the bump b.
    q, qd, qdd = (np.asarray(x) for x in motion(bend[0], start[0], end[0]))
    by = robot.inverse_dynamics_derivatives(q, qd, qdd)
    change = sum(D * (b / DURATION**k)[:, None] for k, (D, b) in enumerate(zip(by, BUMP, strict=True)))
    by_hand = np.einsum("ti,tij->tj", 2 * robot.inverse_dynamics(q, qd, qdd), change).mean(axis=0)
    print(
        "gradient of JAX and by our own derivatives agree:", np.allclose(slopes(bend, start, end)[0], by_hand)
    )

    straight = efforts(bend, start, end)
    for _ in range(STEPS):  # all motions together, each by RATE downhill
        slope = slopes(bend, start, end)
        bend = bend - RATE * slope / jnp.linalg.norm(slope, axis=-1, keepdims=True)
    saved = 1 - efforts(bend, start, end) / straight
    print(f"{MOTIONS} motions, {STEPS} steps: effort less by {100 * float(jnp.median(saved)):.0f} % (median)")


if __name__ == "__main__":
    main()
