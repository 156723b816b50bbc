"""The two-link planar arm: derived, printed, proved, evaluated. Writes build/demo/planar.md.

The arm and its numbers are those of Siciliano, Sciavicco, Villani, Oriolo, "Robotics: Modelling, Planning and
Control" (Springer, 2009): the equations are its (7.82), the motion that of its example 7.2.

Run it with `make demo`, or `python examples/demo.py [folder]`.
"""

import sys
from dataclasses import dataclass
from math import acos, pi
from pathlib import Path

import numpy as np

from armdyn import Equations, Proof, Robot

FOLDER = Path(__file__).resolve().parent.parent / "build" / "demo"
DURATION = 0.5  # s
ROTATION = pi / 2  # rad, both joints
TIP = 0.2  # m: at the start the tip is at (0.2, 0), the elbow below
TIMES = (0.0, 0.1, 0.2, 0.3, 0.4)  # s


@dataclass(frozen=True)
class Sample:
    """The arm at one instant of the motion."""

    t: float
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray


def triangular(q0: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, velocity and acceleration (just after t) of the triangular velocity profile."""
    a = 4 * ROTATION / DURATION**2
    if t < DURATION / 2:
        return q0 + a * t**2 / 2, np.full(2, a * t), np.full(2, a)
    left = DURATION - t
    return q0 + ROTATION - a * left**2 / 2, np.full(2, a * left), np.full(2, -a)


def motion(robot: Robot) -> list[Sample]:
    """Torques along the motion of example 7.2; both links are 1 m long, so the start is a plain triangle."""
    q0 = np.array([-acos(TIP / 2), 2 * acos(TIP / 2)])
    samples = []
    for t in TIMES:
        q, qd, qdd = triangular(q0, t)
        samples.append(Sample(t, q, qd, robot.inverse_dynamics(q, qd, qdd)))
    return samples


def equations_of_motion(equations: Equations) -> str:
    """The rows of (7.82), from the text of all the equations."""
    blocks = equations.text().split("\n\n")
    return next(block for block in blocks if block.startswith("Equations of motion"))


def report(equations: Equations, proof: Proof, samples: list[Sample]) -> str:
    """The Markdown page: formulas, proof and numbers."""
    lines = [equations.markdown().rstrip(), "", "## Proof", ""]
    lines += [f"Proved for '{proof.robot}', as identities in all joint variables and parameters:", ""]
    lines += [f"- {s.text} ({s.terms} terms)" for s in proof.statements]
    lines += ["", "## Torques along the motion of example 7.2", ""]
    lines += [
        f"Both joints turn by π/2 in {DURATION} s with a triangular velocity profile.",
        f"At the start the tip is at ({TIP}, 0) m with the elbow below.",
        "The torques are those just after each instant.",
        "",
        "| t [s] | q₁ [rad] | q₂ [rad] | q̇₁ = q̇₂ [rad/s] | τ₁ [N m] | τ₂ [N m] |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for s in samples:
        numbers = [f"{x:.6f}" for x in (*s.q, s.qd[0])] + [f"{x:.4f}" for x in s.tau]
        lines.append(f"| {s.t:.1f} | " + " | ".join(numbers) + " |")
    return "\n".join(lines) + "\n"


def main(folder: Path = FOLDER) -> Path:
    """Derive, prove and evaluate; returns the path of the page it wrote."""
    robot = Robot.load("planar")
    equations = robot.equations()
    print(f"{robot.name}: {robot.n} joints, motors and gears included\n")
    print(equations_of_motion(equations))

    proof = equations.prove()
    print(f"\n{proof}")

    samples = motion(robot)
    print(f"\nExample 7.2: both joints by π/2 in {DURATION} s, from the lower elbow, tip at ({TIP}, 0) m")
    headings = ("t [s]", "q1 [rad]", "q2 [rad]", "qd1 = qd2", "tau1 [N m]", "tau2 [N m]")
    print("".join(f"{heading:>12}" for heading in headings))
    for s in samples:
        state = "".join(f"{x:12.6f}" for x in (*s.q, s.qd[0]))
        print(f"{s.t:12.1f}{state}{s.tau[0]:12.4f}{s.tau[1]:12.4f}")

    path = folder / "planar.md"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(report(equations, proof, samples), "utf-8")
    print(f"\nWrote formulas, proof and numbers to {path}")
    return path


if __name__ == "__main__":
    main(*(Path(folder) for folder in sys.argv[1:2]))
