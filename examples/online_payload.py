"""A payload found while the arm moves, sample by sample."""

import numpy as np

from armdyn import OnlineFit, Robot


def main() -> None:
    robot = Robot.load("planar")
    real = robot.with_payload(20.0, [0.1, 0, 0])  # what the controller does not know
    t = np.arange(0, 3, 1e-3)[:, None]
    phase = np.array([0.0, 1.0])
    q, qd, qdd = np.sin(2 * t + phase), 2 * np.cos(2 * t + phase), -4 * np.sin(2 * t + phase)
    tau = real.inverse_dynamics(q, qd, qdd) + np.random.default_rng(0).normal(0, 5, q.shape)

    fit = OnlineFit(robot, "payload")
    for k, sample in enumerate(zip(q, qd, tau, strict=True), start=1):
        fit.update(*sample)  # positions, velocities, torques: one turn of a control loop
        if k % 1000 == 0:
            print(f"{k / 1000:.0f} s: {fit.parameters[0]:.0f} kg")
    print("not shown by this motion:", *fit.not_shown)
    heavy = fit.robot.inverse_dynamics(q, qd, qdd) - real.inverse_dynamics(q, qd, qdd)
    print("the same torques, within 1 %:", abs(heavy).max() < 0.01 * abs(tau).max())


if __name__ == "__main__":
    main()
