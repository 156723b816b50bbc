"""Torques, accelerations and energies for many states in one call.

Every numeric method takes arrays with the joints in the last axis and broadcasts over the axes before it.
"""

import numpy as np

from armdyn import Robot


def main() -> None:
    robot = Robot.load("puma560")
    rng = np.random.default_rng(7)
    q, qd, qdd = rng.uniform(-1, 1, (3, 2000, robot.n))  # 2000 states each

    tau = robot.inverse_dynamics(q, qd, qdd)
    back = robot.forward_dynamics(q, qd, tau)
    print("inverse dynamics", tau.shape, "and back, largest error", f"{abs(back - qdd).max():.1e}")

    # Leading axes are broadcast: 2000 postures against 3 speeds of the whole motion, without a loop.
    speeds = np.array([0.5, 1.0, 2.0])[:, None, None] * qd
    T, U = robot.kinetic_energy(q, speeds), robot.potential_energy(q)
    print("kinetic energies", T.shape, "potential energies", U.shape)

    # One posture, one call: the terms of B qdd + C qd + g + friction = tau.
    B, C, g = robot.inertia(q[0]), robot.coriolis(q[0], qd[0]), robot.gravity(q[0])
    rest = B @ qdd[0] + C @ qd[0] + g + robot.friction(qd[0])
    print("the terms add up:", np.allclose(rest, tau[0]))

    # `wrench` is what the tip exerts on its surroundings: 50 N downwards, as when pressing on a table.
    press = robot.inverse_dynamics(q, 0 * qd, 0 * qdd, wrench=[0, 0, -50, 0, 0, 0]) - robot.gravity(q)
    print("pressing adds Jᵀ h:", np.allclose(press, robot.jacobian(q)[:, 2] * -50))

    # The work of the torques goes into energy and friction; here over one small step.
    h = 1e-6
    energy = [
        robot.kinetic_energy(q + s * qd, qd + s * qdd) + robot.potential_energy(q + s * qd) for s in (-h, h)
    ]
    power = ((tau - robot.friction(qd)) * qd).sum(-1)
    print("power balance, largest error [W]:", f"{abs((energy[1] - energy[0]) / (2 * h) - power).max():.1e}")

    out = np.empty_like(tau)
    robot.inverse_dynamics(q, qd, qdd, out=out)  # no new array
    print("derivatives", [d.shape for d in robot.inverse_dynamics_derivatives(q[:10], qd[:10], qdd[:10])])


if __name__ == "__main__":
    main()
