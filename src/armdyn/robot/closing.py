"""Closed chains as functions of arrays (gaps, Jacobian, a damped search), and what in them is independent."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from armdyn.dynamics.closures import Following, gaps
from armdyn.model.closures import ChosenCoordinates
from armdyn.model.errors import ModelError
from armdyn.model.mechanism import Mechanism
from armdyn.model.robot_model import RobotModel
from armdyn.names import listed
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


# ------------------------------------------------------------------------------------------------------------
# What is independent in a robot with loops, chosen once from assembled postures.
#
# Rows of the loops that follow from others are left out: a planar loop closed by a revolute joint has five
# rows of rank two. Of the joints, those that something drives become coordinates, in the order of the
# description, as far as the others can follow them.


ENOUGH = 0.5  # of what all rows are worth, rows that are kept should be
POSTURES = 40  # random assembled ones
STARTS = 60  # random ones, where the guess leads nowhere
WALK = 0.35  # how far random postures are apart [rad, or of the robot's size]
SINGULAR = 1e-11  # squared sine of a joint's column against the others, in the first posture
DEPENDENT = 1e-7  # of a column or row: what is left of it beside others, if less, is zero


def with_choice(model: RobotModel) -> RobotModel:
    """The model with what its loops leave free; as it is where there are none or symbols have no values."""
    if not model.loops or (model.choice is None and any(x is None for _, x in model.symbols)):
        return model
    try:
        found = model if model.choice else _chosen(model)
        _check_load_friction(found)
    except ModelError as problem:
        raise ModelError(f"{model.source or model.name}: {problem}") from None
    return found


def _chosen(model: RobotModel) -> RobotModel:
    closed = Closed.of(model)
    start = _assembled(closed)
    postures = _postures(closed, start)
    A = closed(postures)[1]
    ranks = [_rank(a) for a in A]
    rank = max(ranks)
    if ranks[0] < rank:
        raise ModelError(
            f"loops: at the posture {_text(model, start)} the loops are closed, but it is singular: "
            "the ways in which they can move part there. Give links a `guess` elsewhere"
        )
    if rank == closed.positions:
        fixed = listed([link.joint_label for link in model.links if link.joint == "fixed"])
        raise ModelError(f"loops: they leave no joint free to move{fixed and f'; fixed joints: {fixed}'}")
    dependent = _dependent(model, A, rank)
    rows = _rows(A[:, :, dependent], rank)
    free = tuple(i for i in range(closed.positions) if i not in dependent)
    size = 2.0 ** round(math.log2(closed.size))  # scaling by it rounds nothing
    kept = _by_loop(closed, rows)
    found = replace(
        model, choice=ChosenCoordinates(free, kept, tuple(start.tolist()), A.shape[1] - rank, size)
    )
    _check_start(found, start)
    return found


def _assembled(closed: Closed) -> np.ndarray:
    """A posture that closes the loops, near the guess."""
    guess = np.array([closed.model.number(link.guess) for link in closed.model.positions])
    nearest, found = closed.near(guess)
    if found:
        return nearest
    random = np.random.default_rng(0)
    for _ in range(STARTS):
        y, found = closed.near(guess + random.uniform(-np.pi, np.pi, len(guess)) * closed.units)
        if found:
            return _within_a_turn(closed, y, guess)
    raise ModelError(
        f"loops: no posture was found that closes them; nearest to the guess {closed.gap_text(nearest)}. "
        "Check lengths and frames, or give links a `guess`"
    )


def _within_a_turn(closed: Closed, y: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """The same posture with whole turns taken off, nearest to the guess; joints with relations stay."""
    turns = np.array([link.joint == "revolute" for link in closed.model.positions]) & (
        not closed.model.relations
    )
    return np.where(turns, y - 2 * np.pi * np.round((y - guess) / (2 * np.pi)), y)


def _postures(closed: Closed, start: np.ndarray) -> np.ndarray:
    """Assembled postures on ways that the mechanism can go: about the first, and straight on from there."""
    random = np.random.default_rng(1)
    found, last, way = [start], start, np.zeros(len(start))
    for k in range(4 * POSTURES):
        on = k % 2 and way.any()
        y = last if on else found[random.integers(len(found))]
        A = closed(y)[1][0]
        _, s, Vt = np.linalg.svd(A)
        rank = int((s > DEPENDENT * s[0]).sum())
        step = Vt[rank:].T @ (Vt[rank:] @ way if on else random.normal(size=len(y) - rank))
        length = np.abs(step).max() if len(step) else 0.0
        if not length:
            break
        part = 1.0 if on else random.uniform(0.2, 1)
        trial, fine = closed.near(y + WALK * part * step / length * closed.units)
        if fine and np.abs((trial - y) / closed.units).max() < 3 * WALK:
            if on or not way.any():
                last, way = trial, (trial - y) / closed.units
            found.append(trial)
        elif on:  # the other way
            last, way = start, -way
        if len(found) > POSTURES:
            break
    return np.array(found)


def _rank(A: np.ndarray) -> int:
    s = np.linalg.svd(A, compute_uv=False)
    return int((s > DEPENDENT * s[0]).sum())


def _dependent(model: RobotModel, A: np.ndarray, rank: int) -> list[int]:
    """Which positions follow: passive joints first, then driven ones from the last on.

    A column counts if, at most postures, it is not a combination of those taken already.
    """
    links = model.positions
    motors = range(len(links) - len(model.elastic), len(links))
    passive = [i for i, link in enumerate(links) if not link.actuated]
    driven = [i for i in range(len(links)) if i not in passive and i not in motors]
    taken: list[int] = []
    left = A.copy()
    for i in [*reversed(passive), *reversed(driven), *reversed(motors)]:
        if len(taken) == rank:
            break
        column = left[:, :, i]
        share = np.linalg.norm(column, axis=1) / np.maximum(np.linalg.norm(A[:, :, i], axis=1), 1e-300)
        if np.median(share) > DEPENDENT and np.linalg.norm(A[:, :, i]) > 0:
            taken.append(i)
            unit = column / np.maximum(np.linalg.norm(column, axis=1, keepdims=True), 1e-300)
            left -= unit[:, :, None] * np.einsum("sr,srp->sp", unit, left)[:, None, :]
    if len(taken) < rank:
        raise ModelError(
            "loops: which joints follow differs from posture to posture; "
            f"joints: {listed([link.joint_label for link in links])}"
        )
    return sorted(taken)


def _rows(A: np.ndarray, rank: int) -> list[int]:
    """As many rows as joints follow, each as far from those before it as can be, at most postures.

    Then rows are exchanged until they are nearly as good as all together, in every posture: such rows lose
    rank only where the mechanism does. If that is not to be had (Bennett's linkage), there are more of them.
    """
    chosen: list[int] = []
    left = A.copy()
    for _ in range(rank):
        shares = np.linalg.norm(left, axis=2)
        best = int(np.quantile(shares, 0.2, axis=0).argmax())
        chosen.append(best)
        unit = left[:, best] / np.maximum(np.linalg.norm(left[:, best], axis=1, keepdims=True), 1e-300)
        left -= np.einsum("srd,sd->sr", left, unit)[:, :, None] * unit[:, None, :]
    worth = _worth(A, chosen)
    while worth < ENOUGH:
        others = [row for row in range(A.shape[1]) if row not in chosen]
        trials = [[other if row == old else row for row in chosen] for old in chosen for other in others]
        best_worth, best_rows = max((_worth(A, rows), rows) for rows in trials)
        if best_worth <= worth:
            break
        worth, chosen = best_worth, best_rows
    while worth < ENOUGH:
        trials = [[*chosen, row] for row in range(A.shape[1]) if row not in chosen]
        worth, chosen = max((_worth(A, rows), rows) for rows in trials)
    return sorted(chosen)


def _worth(A: np.ndarray, rows: list[int]) -> float:
    """The least singular value of rows against that of all rows, in the posture where it is least."""
    whole, some = (np.linalg.svd(a, compute_uv=False)[:, -1] for a in (A, A[:, rows]))
    known = whole > DEPENDENT
    return float((some[known] / whole[known]).min(initial=1.0))


def _by_loop(closed: Closed, rows: list[int]) -> tuple[tuple[int, ...], ...]:
    """The rows chosen, loop by loop."""
    owners = [(k, i) for k, loop in enumerate(closed.mechanism.loops) for i in loop.kept]
    kept = [owners[row] for row in rows]
    return tuple(tuple(i for k, i in kept if k == loop) for loop in range(len(closed.mechanism.loops)))


def _check_start(model: RobotModel, start: np.ndarray) -> None:
    """Refuse a first posture in which joints do not follow: no way leads from there."""
    margin, stuck = least_follower(model, start)
    if not margin > SINGULAR:
        raise ModelError(
            f"loops: at the posture {_text(model, start)} the loops are closed, but it is singular: "
            f"{stuck}. Give links a `guess` elsewhere"
        )


def _check_load_friction(model: RobotModel) -> None:
    """Joints that follow have no torque of their own that load friction could depend on."""
    names = [link.name for link in model.coordinates]
    for link in model.moving:
        if link.name not in names and not link.friction["load"].is_zero:
            raise ModelError(
                f"link '{link.name}': friction.load: its joint follows others by a loop; "
                f"joints that may have load friction: {listed(names)}"
            )


def _text(model: RobotModel, y: np.ndarray) -> str:
    return ", ".join(f"{link.joint_label} = {x:.4g}" for link, x in zip(model.positions, y, strict=True))
