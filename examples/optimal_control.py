"""Optimal control with CasADi: swing an arm up on the least energy, with motors too weak to lift it straight.

`robot.casadi` gives the arm's accelerations as a CasADi function. Multiple shooting: states and torques of
all intervals are unknown, and each interval must lead to the next. IPOPT finds them, with CasADi's
derivatives.
"""

import numpy as np

from armdyn import Robot, simulate

try:
    import casadi
except ModuleNotFoundError:
    raise SystemExit('This example needs CasADi: pip install "armdyn[casadi]"') from None

DURATION, INTERVALS, STEPS = 2.0, 40, 5  # s; torques are constant within an interval of STEPS steps
LIMIT = np.array([15.0, 8.0])  # N m; holding the arm level takes 43 and 9
START, END = np.array([-np.pi / 2, 0.0]), np.array([np.pi / 2, 0.0])  # hanging, upright


def next_state(robot: Robot) -> casadi.Function:
    """The state at the end of an interval, by Runge–Kutta steps of fourth order."""
    accelerations = robot.casadi("forward_dynamics")
    x, tau = casadi.SX.sym("x", 2 * robot.n), casadi.SX.sym("tau", robot.n)
    h, at = DURATION / INTERVALS / STEPS, x

    def rate(at: casadi.SX) -> casadi.SX:
        return casadi.vertcat(at[robot.n :], accelerations(at[: robot.n], at[robot.n :], tau))

    for _ in range(STEPS):
        k1 = rate(at)
        k2 = rate(at + h / 2 * k1)
        k3 = rate(at + h / 2 * k2)
        k4 = rate(at + h * k3)
        at = at + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return casadi.Function("next_state", [x, tau], [at])


def solved(robot: Robot) -> np.ndarray:
    """The torques (INTERVALS, n) whose squares add up to the least: what the windings turn into heat."""
    problem = casadi.Opti()
    x, tau = problem.variable(2 * robot.n, INTERVALS + 1), problem.variable(robot.n, INTERVALS)
    problem.minimize(casadi.sumsqr(tau) * DURATION / INTERVALS)
    problem.subject_to(x[:, 1:] == next_state(robot).map(INTERVALS)(x[:, :-1], tau))
    problem.subject_to(x[:, 0] == np.append(START, np.zeros(robot.n)))
    problem.subject_to(x[:, -1] == np.append(END, np.zeros(robot.n)))
    for torque, limit in zip(casadi.vertsplit(tau), LIMIT, strict=True):
        problem.subject_to(problem.bounded(-limit, torque, limit))
    way = np.linspace(START, END, INTERVALS + 1).T
    problem.set_initial(x, np.vstack([way, np.zeros_like(way)]))
    problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "max_iter": 500})
    return np.array(problem.solve().value(tau)).T


def main() -> None:
    robot = Robot.load("rmit2r")
    tau = solved(robot)
    print(
        f"heat, as the integral of the squared torques: {(tau**2).sum() * DURATION / INTERVALS:.0f} (N m)^2 s"
    )
    print("largest torques [N m]:", np.round(abs(tau).max(axis=0), 2))
    print("torques that hold the arm level [N m]:", np.round(robot.gravity([0, 0]), 2))

    # The same torques in our own simulation, interval by interval, end where they should.
    q, qd = START, np.zeros(robot.n)
    for torque in tau:
        run = simulate(robot, q, qd, DURATION / INTERVALS, torque)
        q, qd = run.q[-1], run.qd[-1]
    print(
        "simulated, the arm ends upright:",
        np.allclose(q, END, atol=0.02),
        "and at rest:",
        np.allclose(qd, 0, atol=0.1),
    )
    print("ends at", np.round(q, 4), "rad with", np.round(qd, 4), "rad/s")


if __name__ == "__main__":
    main()
