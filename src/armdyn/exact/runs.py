"""Runs of parallel axes, and the sums of angles in which long runs are computed.

Along a run of parallel axes every direction turns by the sum of the angles so far. In cosines and sines of
single angles cos(q_1 + … + q_k) has 2^(k−1) terms; in those of the sums themselves it is one generator, and
cos(q_i + … + q_k) = cos(φ_k − φ_{i−1}) has two terms. So runs of more than `SHORT` joints are computed in
the sums φ_k, which keeps equations of planar chains polynomial in the number of joints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter

from armdyn.expression import Expression
from armdyn.model.mechanism import FIXED_BASE, Mechanism
from armdyn.model.vector import apply, apply_transposed

SHORT = 3  # joints of a run that is computed in single angles
Run = tuple[int, ...]  # joints, counted from zero


def parallel_runs(exact: Mechanism, joints: Sequence[str]) -> list[Run]:
    """Runs of consecutive revolute joints with parallel, equally directed axes; single joints too.

    Where joints are related, cosines belong to coordinates, and each is a run of its own.
    """
    if exact.rows:
        return [(i,) for i, joint in enumerate(joints) if joint == "revolute"]
    runs: list[list[int]] = []
    run_of: dict[int, list[int]] = {}
    for i, body in enumerate(exact.bodies):
        if body.joint != "revolute":
            continue
        run = run_of.get(body.parent)
        if run is not None and run[-1] == body.parent and _parallel(exact, i):
            run.append(i)
        else:
            run = [i]
            runs.append(run)
        run_of[i] = run
    return [tuple(run) for run in runs]


def _parallel(exact: Mechanism, i: int, sign: int = 1) -> bool:
    body = exact.bodies[i]
    if body.parent == FIXED_BASE:
        return False
    parent = exact.bodies[body.parent]
    here = apply(body.R_before, body.axis)
    there = apply_transposed(parent.R_after, parent.axis)
    return all(Expression.of(a) == sign * Expression.of(b) for a, b in zip(here, there, strict=True))


def related_runs(exact: Mechanism, joints: Sequence[str]) -> list[Run]:
    """Runs of coordinates of related joints whose angles occur in sums of multiples.

    These are coordinates that turn one joint together, or joints whose axes are parallel; a coordinate alone
    if it turns a joint by a multiple, or two with parallel axes.
    """
    runs: list[set[int]] = []
    for i, row in enumerate(exact.rows):
        body = exact.bodies[i]
        if body.joint != "revolute":
            continue
        together = {k for k, _ in row}
        several = len(row) > 1 or any(Expression.of(c) not in (1, -1) for _, c in row)
        on_turning = body.parent != FIXED_BASE and exact.bodies[body.parent].joint == "revolute"
        if on_turning and (_parallel(exact, i) or _parallel(exact, i, -1)):
            together |= {k for k, _ in exact.rows[body.parent]}
            several = True
        if several:
            touched = [run for run in runs if run & together]
            runs = [run for run in runs if run not in touched]
            runs.append(together.union(*touched))
    turning = [tuple(k for k in sorted(run) if joints[k] == "revolute") for run in runs]
    return sorted(run for run in turning if run)


def summed_angles(n: int, runs: Sequence[Run]) -> list[Run]:
    """For each of n joints, those whose angles add up to the angle of its generators c1_2_3 and s1_2_3.

    That is the joint alone, or in a long run all joints up to it.
    """
    summed: list[Run] = [(i,) for i in range(n)]
    for run in runs:
        if len(run) > SHORT:
            for k, i in enumerate(run):
                summed[i] = run[: k + 1]
    return summed


def picking(indices: Sequence[int]) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    """Takes these entries of a tuple, as a tuple."""
    if len(indices) > 1:
        return itemgetter(*indices)
    return lambda m: tuple(m[k] for k in indices)
