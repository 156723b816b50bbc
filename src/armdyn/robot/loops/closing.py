"""Loops as functions of arrays: gaps, Jacobian, and the damped search for postures that close them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from armdyn.dynamics.closures import Following, gaps
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
            return *self.gaps(found), found.A

        outputs = [("gaps", (rows,)), ("upright", (len(self.mechanism.loops),)), ("A", (rows, n))]
        return record(function, [("y", n)], outputs)

    def gaps(self, following: Following) -> tuple[list[Any], list[Any]]:
        """All rows of the loops, and of each loop how upright it is.

        Where a revolute or fixed joint would be upside down, its rows are zero too.
        """
        pairs = list(zip(self.mechanism.loops, following.chains, strict=True))
        upright = []
        for loop, (a, b) in pairs:
            x, y, z = (sum(a.R[k][i] * b.R[k][i] for k in range(3)) for i in range(3))
            upright.append(x + y + z - 1 if 5 in loop.kept else z if 3 in loop.kept else 1)
        return [g for loop, chains in pairs for g in gaps(loop, *chains)], upright

    def __call__(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gaps (samples, rows), A (samples, rows, positions) over units, how upright (samples, loops)."""
        gap, upright, A = self._run(np.atleast_2d(y))
        A = A.reshape(len(A), len(self.scales), self.positions)
        return gap / self.scales, A * self.units / self.scales[:, None], upright

    def near(self, y: np.ndarray) -> tuple[np.ndarray, bool]:
        """The posture that closes the loops near y, by damped steps; and whether it does."""
        y, damping = np.array(y, float), 1e-3
        gap, A, upright = (x[0] for x in self(y))
        for _ in range(ITERATIONS):
            if np.abs(gap).max() < CLOSED:
                break
            step = -A.T @ np.linalg.solve(A @ A.T + damping * np.eye(len(A)), gap)
            trial = y + step * self.units
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
        gap, _, upright = (x[0] for x in self(y))
        if np.abs(gap).max() < CLOSED and (upright < 0).any():
            return f"the loop '{self.model.loops[int(upright.argmin())].label}' is closed upside down"
        owner = [k for k, loop in enumerate(self.mechanism.loops) for _ in loop.kept]
        worst = owner[int(np.abs(gap).argmax())]
        own = [abs(g * s) for g, s, k in zip(gap, self.scales, owner, strict=True) if k == worst]
        lengths = np.linalg.norm(own[: sum(i < 3 for i in self.mechanism.loops[worst].kept)])
        turns = np.linalg.norm(own[sum(i < 3 for i in self.mechanism.loops[worst].kept) :])
        text = f"{lengths:.3g} m" + (f" and {turns:.3g} rad" if turns > 0 else "")
        return f"the loop '{self.model.loops[worst].label}' stays open by {text}"


def least_follower(model: RobotModel, y: np.ndarray) -> tuple[float, str]:
    """The least squared sine of a joint that follows against the others, and which joint that is."""
    following = Following(model.mechanism, [float(v) for v in y])
    A = (np.array(following.columns, float) * np.array(following.scales, float)).T
    left = np.abs(np.diag(np.linalg.qr(A, mode="r")))
    margins = (left / np.maximum(np.linalg.norm(A, axis=0), 1e-300)) ** 2
    names = [link.joint_label for link in model.positions]
    worst = names[following.dependent[int(margins.argmin())]]
    moved = ", ".join(f"'{names[i]}'" for i in model.mechanism.free)
    return float(margins.min()), f"the joint '{worst}' does not follow from {moved}"
