"""The two-link planar arm: derived, proved, moved, scaled to its motors; ends in a report, planar.html.

The arm and its numbers are those of Siciliano, Sciavicco, Villani, Oriolo, "Robotics: Modelling, Planning
and Control" (Springer, 2009): the equations are its (7.82), the motion that of its example 7.2, the limits
those of its problem 7.9.

Run it with `make demo`, or `python examples/demo.py [folder]`.
"""

import sys
from math import acos, pi
from pathlib import Path

import numpy as np

from armdyn import Equations, Robot, Trajectory, rotor_error, scale_to_limits, time_optimal
from armdyn.report import write_report

FOLDER = Path(__file__).resolve().parent.parent / "build" / "demo"
DURATION = 0.5  # s
TIP = 0.2  # m: at the start the tip is at (0.2, 0), the elbow below; both links are 1 m long
TIMES = (0.0, 0.1, 0.2, 0.3, 0.4)  # s


def equations_of_motion(equations: Equations) -> str:
    """The rows of (7.82), from the text of all the equations."""
    blocks = equations.text().split("\n\n")
    return next(block for block in blocks if block.startswith("Equations of motion"))


def print_torques(robot: Robot, motion: Trajectory) -> None:
    print(f"\nExample 7.2: both joints by π/2 in {DURATION} s, from the lower elbow, tip at ({TIP}, 0) m")
    headings = ("t [s]", "q1 [rad]", "q2 [rad]", "qd1 = qd2", "tau1 [N m]", "tau2 [N m]")
    print("".join(f"{heading:>12}" for heading in headings))
    for t in TIMES:
        q, qd, qdd = motion(t)
        tau = robot.inverse_dynamics(q, qd, qdd)
        state = "".join(f"{x:12.6f}" for x in (*q, qd[0]))
        print(f"{t:12.1f}{state}{tau[0]:12.4f}{tau[1]:12.4f}")


def print_scaling(robot: Robot, motion: Trajectory) -> None:
    slow, fast = scale_to_limits(robot, motion), time_optimal(robot, motion)
    print("\nProblem 7.9: no more than 3000 N m at either joint")
    print(f"  slowed down by one factor: c² = {slow.factor**2:.4f}, {slow.trajectory.duration:.5f} s")
    print(f"  least time on the same path: {fast.duration:.4f} s")


def main(folder: Path = FOLDER) -> Path:
    """Derive, prove, move, scale; returns the path of the report it wrote."""
    robot = Robot.load("planar")
    equations = robot.equations()
    print(f"{robot.name}: {robot.n} joints, motors and gears included\n")
    print(equations_of_motion(equations))
    print(f"\n{equations.prove()}")

    q0 = np.array([-acos(TIP / 2), 2 * acos(TIP / 2)])
    motion = Trajectory.triangular(q0, q0 + pi / 2, DURATION)
    print_torques(robot, motion)
    print_scaling(robot, motion)

    missed = rotor_error(robot, motion.q, motion.qd, motion.qdd)
    worst = int(missed.largest.argmax())
    print(
        f"\nThe usual diagonal rotor model would be wrong by up to {missed.largest[worst]:.1f} N m at joint "
        f"{worst + 1} here, {missed.percent[worst]:.1f} % of its largest torque"
    )

    folder.mkdir(parents=True, exist_ok=True)
    path = write_report(robot, folder / "planar.html", motion)
    print(f"\nWrote the report, one page for any browser: {path}")
    return path


if __name__ == "__main__":
    main(*(Path(folder) for folder in sys.argv[1:2]))
