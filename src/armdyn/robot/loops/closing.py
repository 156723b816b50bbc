"""Loops as functions of arrays: gaps, Jacobian, and the damped search for postures that close them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from armdyn.dynamics.constraints.loops import Following, gaps
from armdyn.model.mechanism import Mechanism
from armdyn.model.robot_model import RobotModel
from armdyn.program import Program, record
from armdyn.program.evaluate import as_function

CLOSED = 1e-11  # of the robot's size: gaps less than this are closed
ITERATIONS = 200


@dataclass(frozen=True)
class Closed:
    """The loops of a model as functions of all positions y (samples, positions), by the evaluator.

    Rows are in units of the robot's size, so that lengths and angles compare.
    """

    model: RobotModel
    mechanism: Mechanism

    @staticmethod
    def of(model: RobotModel) -> Closed:
        """With all rows of the loops."""
        return Closed(model, replace(model, choice=None).mechanism)

    @property
    def positions(self) -> int:
        return self.mechanism.positions

    @cached_property
    def size(self) -> float:
        """A length of the robot's: the largest distance between two joints, or of a loop's frame [m]."""
        found = [p for body in self.mechanism.bodies for p in (body.p_before, body.p_after)]
        found += [p for loop in self.mechanism.loops for p in loop.p]
        return max(*(float(np.linalg.norm(np.array(p, float))) for p in found), 1e-6)

    @cached_property
    def units(self) -> np.ndarray:
        """(positions,): what a position is measured in for comparison: 1 rad, or the robot's size."""
        kinds = [link.joint for link in self.model.positions]
        return np.array([1.0 if kind == "revolute" else self.size for kind in kinds])

    @cached_property
    def scales(self) -> np.ndarray:
        """(rows,): what the rows of gaps are measured in."""
        kept = [i for loop in self.mechanism.loops for i in loop.kept]
        return np.array([self.size if i < 3 else 1.0 for i in kept])

    @cached_property
    def _run(self) -> Any:
        return as_function(self._program())

    def _program(self) -> Program:
        rows, n = len(self.scales), self.positions

        def function(y: list[Any]) -> Any:
            found = Following(self.mechanism, y)
            pairs = list(zip(self.mechanism.loops, found.chains, strict=True))
            gap = [x for loop, chains in pairs for x in gaps(loop, *chains)]
            # where a revolute or fixed joint would be upside down, its rows are zero too
            upright = [
                sum(a.R[k][2] * b.R[k][2] for k in range(3)) if 3 in loop.kept else 1
                for loop, (a, b) in pairs
            ]
            return gap, found.A, upright

        outputs = [("gaps", (rows,)), ("A", (rows, n)), ("upright", (len(self.mechanism.loops),))]
        return record(function, [("y", n)], outputs)

    def __call__(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gaps (samples, rows), A (samples, rows, positions) over units, and cosines (samples, loops)."""
        gap, A, upright = self._run(np.atleast_2d(y))
        A = A.reshape(len(A), len(self.scales), self.positions)
        return gap / self.scales, A * self.units / self.scales[:, None], upright

    def near(self, y: np.ndarray, fixed: np.ndarray | None = None) -> tuple[np.ndarray, bool]:
        """The posture that closes the loops near y, by damped steps; and whether it does.

        `fixed` says which positions stay as they are.
        """
        free = np.ones(self.positions, bool) if fixed is None else ~fixed
        y, damping = np.array(y, float), 1e-3
        gap, A, upright = (x[0] for x in self(y))
        for _ in range(ITERATIONS):
            if np.abs(gap).max() < CLOSED:
                break
            J = A[:, free]
            step = -J.T @ np.linalg.solve(J @ J.T + damping * np.eye(len(J)), gap)
            trial = y.copy()
            trial[free] += step * self.units[free]
            new_gap, new_A, new_upright = (x[0] for x in self(trial))
            if np.linalg.norm(new_gap) < np.linalg.norm(gap):
                y, gap, A, upright, damping = trial, new_gap, new_A, new_upright, max(damping * 0.1, 1e-15)
            else:
                damping *= 10
                if damping > 1e6:
                    break
        return y, bool(np.abs(gap).max() < CLOSED and (upright > 0).all())

    def gap_text(self, y: np.ndarray) -> str:
        """Which loop gapes most at a posture, and how far."""
        gap = self(y)[0][0]
        owner = [k for k, loop in enumerate(self.mechanism.loops) for _ in loop.kept]
        worst = owner[int(np.abs(gap).argmax())]
        own = [abs(g * s) for g, s, k in zip(gap, self.scales, owner, strict=True) if k == worst]
        lengths = np.linalg.norm(own[: sum(i < 3 for i in self.mechanism.loops[worst].kept)])
        turns = np.linalg.norm(own[sum(i < 3 for i in self.mechanism.loops[worst].kept) :])
        text = f"{lengths:.3g} m" + (f" and {turns:.3g} rad" if turns > 0 else "")
        return f"the loop '{self.model.loops[worst].label}' stays open by {text}"
