"""Lines and circles of the tip once more, in balls of 60 digits: what the joints of a motion truly do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx

from armdyn import Robot
from armdyn.analysis.task import TipTask
from armdyn.program import Program

BITS = 200
STEPS = 4  # of Newton's method from a posture good to ten digits
OPERATIONS: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "sin": lambda a: a.sin(),
    "cos": lambda a: a.cos(),
    "sqrt": lambda a: a.sqrt(),
}


def run(program: Program, q: list[arb]) -> list[arb]:
    """The results of a program of one input."""
    values: list[arb] = []
    for node in program.nodes:
        if node[0] == "const":
            values.append(arb(node[1]))
        elif node[0] == "input":
            values.append(q[node[1]])
        else:
            values.append(OPERATIONS[node[0]](*(values[a] for a in node[1:])))
    return [values[k] for k in program.results]


@dataclass(frozen=True)
class ExactPath:
    """The tip's way from its pose at q0: along `way` (3,), or by up to `angle` around an `axis` and `centre`.

    u goes from 0 to 1. Orientation, where it counts, is kept.
    """

    robot: Robot
    task: TipTask
    q0: np.ndarray
    way: np.ndarray | None = None
    centre: np.ndarray | None = None
    axis: np.ndarray | None = None
    angle: float = 0.0

    def slopes(self, u: float, near: np.ndarray) -> tuple[list[arb], list[arb]]:
        """Posture and dq/du of the arm that is at the posture `near` (n,), up to rounding, at u."""
        before, ctx.prec = ctx.prec, BITS
        try:
            start, position = self._at([arb(x) for x in self.q0])[0], arb(u)
            target, slope = self._place(start, position)
            q = [arb(x) for x in near]
            for _ in range(STEPS):
                q = [x.mid() for x in q]  # a ball would grow with every step
                pose, J = self._at(q)
                move = self._solved(J, self._missing(pose, start, target))
                q = [a + b for a, b in zip(q, move, strict=True)]
            q = [x.mid() for x in q]
            return q, self._solved(self._at(q)[1], slope)
        finally:
            ctx.prec = before

    def pose(self, u: float) -> np.ndarray:
        """The tip's pose (4, 4) at u, rounded."""
        start = self._at([arb(x) for x in self.q0])[0]
        found = np.array([float(x) for x in start]).reshape(4, 4)
        found[:3, 3] = [float(x) for x in self._place(start, arb(u))[0]]
        return found

    def rows(self, u: float) -> list[arb]:
        """The tip's slope at u, position over orientation."""
        return self._place(self._at([arb(x) for x in self.q0])[0], arb(u))[1]

    def _at(self, q: list[arb]) -> tuple[list[arb], list[list[arb]]]:
        """The pose (16 numbers) and the Jacobian's columns."""
        n = self.robot.n
        pose, jacobian = self._programs
        J = run(jacobian, q)
        return run(pose, q), [J[k::n] for k in range(n)]

    def _place(self, start: list[arb], u: arb) -> tuple[list[arb], list[arb]]:
        """Where the tip is at u, and the six rows of its slope."""
        p, zero = [start[3], start[7], start[11]], [arb(0)] * 3
        if self.way is not None:
            way = [arb(x) for x in self.way]
            return [a + u * b for a, b in zip(p, way, strict=True)], way + zero
        assert self.centre is not None
        assert self.axis is not None
        axis = [arb(x) for x in self.axis]
        length = sum((x * x for x in axis), arb(0)).sqrt()
        axis = [x / length for x in axis]
        side = cross(axis, [a - arb(b) for a, b in zip(p, self.centre, strict=True)])
        inward, angle = cross(axis, side), arb(self.angle)
        sine, cosine = (angle * u).sin(), (angle * u).cos()
        place = [a + sine * b + (1 - cosine) * c for a, b, c in zip(p, side, inward, strict=True)]
        return place, [angle * (cosine * b + sine * c) for b, c in zip(side, inward, strict=True)] + zero

    def _missing(self, pose: list[arb], start: list[arb], target: list[arb]) -> list[arb]:
        """From a pose to the target's position and the start's orientation, to first order."""
        gap = [a - b for a, b in zip(target, (pose[3], pose[7], pose[11]), strict=True)]
        turn = [arb(0)] * 3
        for k in range(3):
            columns = [[x[k], x[k + 4], x[k + 8]] for x in (pose, start)]
            turn = [a + b / 2 for a, b in zip(turn, cross(*columns), strict=True)]
        return gap + turn

    def _solved(self, columns: list[list[arb]], rows: list[arb]) -> list[arb]:
        """The least joint motion with these rows: Jᵀ (J Jᵀ)⁻¹ x on rows of J that are independent."""
        kept = self._independent
        J = arb_mat([[column[i] for column in columns] for i in kept])
        x = (J * J.transpose()).solve(arb_mat([[rows[i]] for i in kept]))
        return [y for row in (J.transpose() * x).tolist() for y in row]

    @cached_property
    def _programs(self) -> tuple[Program, Program]:
        return self.robot.program("pose"), self.robot.program("jacobian")

    @cached_property
    def _independent(self) -> list[int]:
        """As many rows of the task as its rank, chosen at an ordinary posture."""
        J = self.robot.jacobian(np.random.default_rng(5).uniform(-1, 1, self.robot.n))
        chosen: list[int] = []
        for i in range(6 if self.task.turns else 3):
            sigma = np.linalg.svd(J[[*chosen, i]], compute_uv=False)
            if len(chosen) < len(sigma) and sigma[-1] > 1e-6 and len(sigma) == len(chosen) + 1:
                chosen.append(i)
        return chosen


def cross(a: list[arb], b: list[arb]) -> list[arb]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
