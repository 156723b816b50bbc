"""Loops over any scalar: how far they gape, and how the joints that follow move with the coordinates.

Frame a of a loop sits on one body, frame b on another (`model/closures/loops.py`). In the axes of a, the gap
is R_aᵀ(p_b − p_a) over the rotation from a to b, and A is the Jacobian of the rows kept. With the positions y
split into coordinates x and those that follow,

    A ẏ = 0    ẏ = S ẋ    ÿ = S ẍ + Ṡ ẋ    Ṡ ẋ: −A_d⁻¹ Ȧ ẏ in what follows, 0 in the coordinates.

All of it holds where the loops are closed. Joints that carry both frames move neither against the other and
are left out of A.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from armdyn.dynamics.constraints.orthogonal import Orthogonal, inner, turned
from armdyn.dynamics.constraints.relations import by_position, joint_values
from armdyn.dynamics.kinematics import BaseFrame, ancestors, base_frames, joint_frames, pose_of
from armdyn.expression.functions import half, select
from armdyn.model.closures.loops import Closing
from armdyn.model.mechanism import Mechanism
from armdyn.model.vector import (
    ZERO3,
    Matrix,
    Scalar,
    Vector,
    add,
    apply,
    apply_transposed,
    cross,
    dot,
    multiply,
    scale,
    sub,
    transpose,
)

Rows = list[list[Scalar]]


@dataclass(frozen=True)
class Following:
    """A mechanism with loops at a posture: what all positions do for what the coordinates do."""

    mechanism: Mechanism
    y: Sequence[Scalar]  # all positions, loops closed

    @cached_property
    def dependent(self) -> list[int]:
        """The positions that follow."""
        return [i for i in range(self.mechanism.positions) if i not in self.mechanism.free]

    @cached_property
    def frames(self) -> list[BaseFrame]:
        return base_frames(self.mechanism, joint_frames(self.mechanism, joint_values(self.mechanism, self.y)))

    @cached_property
    def chains(self) -> list[tuple[Chain, Chain]]:
        """Of each loop, the joints from what carries both frames to frame a and to frame b."""
        return [chains_of(self.mechanism, self.frames, loop) for loop in self.mechanism.loops]

    @cached_property
    def A(self) -> Rows:
        """The Jacobian of the rows kept, over positions."""
        loops = zip(self.mechanism.loops, self.chains, strict=True)
        joints = len(self.mechanism.bodies)
        return [
            by_position(self.mechanism, row)
            for loop, chains in loops
            for row in jacobian_rows(loop, *chains, joints)
        ]

    @cached_property
    def columns(self) -> Rows:
        """A_d by columns: one for each position that follows."""
        return [[row[d] for row in self.A] for d in self.dependent]

    @cached_property
    def scales(self) -> list[Scalar]:
        """Of the rows, so that lengths compare with angles; 1 where there are lengths alone."""
        rows = [(loop.weight, i) for loop in self.mechanism.loops for i in loop.kept]
        turns = any(i >= 3 for _, i in rows)
        return [weight if turns and i < 3 else 1 for weight, i in rows]

    @cached_property
    def factor(self) -> Orthogonal:
        """A_d, ready to be solved with."""
        return Orthogonal.of(self.columns, self.scales)

    @cached_property
    def side(self) -> Scalar:
        """The least margin of A_d, with the sign of its determinant: zero where joints do not follow.

        Within a branch of postures it keeps its sign.
        """
        least = self.factor.margins[0]
        for x in self.factor.margins[1:]:
            least = select(least - x, x, least)
        return turned(self.columns) * least

    @cached_property
    def gaps(self) -> list[Scalar]:
        """How far the loops gape, row by row."""
        pairs = zip(self.mechanism.loops, self.chains, strict=True)
        return [gap for loop, chains in pairs for gap in gaps(loop, *chains)]

    def closed(self) -> list[Scalar]:
        """The positions that follow after one step of Newton's method that closes the loops."""
        off = self.factor.solve([-gap for gap in self.gaps])
        return [self.y[d] + x for d, x in zip(self.dependent, off, strict=True)]

    @cached_property
    def S(self) -> Rows:
        """ẏ_d = S ẋ: a row for each position that follows."""
        columns = [self.factor.solve([-row[i] for row in self.A]) for i in self.mechanism.free]
        return [list(row) for row in zip(*columns, strict=True)]

    def velocities(self, xd: Sequence[Scalar]) -> list[Scalar]:
        """S ẋ: of all positions."""
        return placed(self.mechanism, xd, [inner(row, xd) for row in self.S])

    def rate(self, yd: Sequence[Scalar], yd_r: Sequence[Scalar]) -> list[Scalar]:
        """Ṡ ẋ_r of all positions, at velocities ẏ, for ẏ_r = S ẋ_r."""
        joints = len(self.mechanism.bodies)
        by_joint, r_by_joint = (joint_values(self.mechanism, x) for x in (yd, yd_r))
        bias = [
            -inner(row, r_by_joint)
            for loop, chains in zip(self.mechanism.loops, self.chains, strict=True)
            for row in jacobian_rate_rows(loop, *chains, by_joint, joints)
        ]
        return placed(self.mechanism, [0] * self.mechanism.n, self.factor.solve(bias))

    def moved(self, values: Sequence[Sequence[Scalar]]) -> list[Sequence[Scalar]]:
        """q; q, q̇; q, q̇, q̈; or q, q̇, q̇_r, q̈_r of the coordinates, of all positions."""
        _, *rates = values
        found: list[Sequence[Scalar]] = [self.y]
        if len(rates) <= 1:
            return found + [self.velocities(x) for x in rates]
        *speeds, acceleration = rates
        found += [self.velocities(x) for x in speeds]
        bias = self.rate(found[1], found[-1])
        found.append([a + b for a, b in zip(self.velocities(acceleration), bias, strict=True)])
        return found

    def gathered(self, by_position: Sequence[Scalar]) -> list[Scalar]:
        """Sᵀ times torques over positions."""
        total = [by_position[i] for i in self.mechanism.free]
        for d, row in zip(self.dependent, self.S, strict=True):
            total = [t + k * by_position[d] for t, k in zip(total, row, strict=True)]
        return total


@dataclass(frozen=True)
class Chain:
    """The joints that move a frame of a loop against the other, from the base on, in the world."""

    joints: list[tuple[int, bool, BaseFrame]]  # index, whether it turns, where it is
    R: Matrix  # of the loop's frame
    p: Vector

    def column(self, turns: bool, frame: BaseFrame) -> tuple[Vector, Vector]:
        """What a joint does to the frame: linear, angular."""
        return (cross(frame.z, sub(self.p, frame.c)), frame.z) if turns else (frame.z, ZERO3)


def chains_of(mechanism: Mechanism, frames: Sequence[BaseFrame], loop: Closing) -> tuple[Chain, Chain]:
    paths = [ancestors(mechanism, body) for body in loop.tied]
    common = set(paths[0]) & set(paths[1])
    found = []
    for body, path, R, p in zip(loop.tied, paths, loop.R, loop.p, strict=True):
        R_0, p_0 = pose_of(mechanism, frames, body)
        own = [
            (j, mechanism.bodies[j].joint == "revolute", frames[j]) for j in reversed(path) if j not in common
        ]
        found.append(Chain(own, multiply(R_0, R), add(p_0, apply(R_0, p))))
    return found[0], found[1]


def gaps(loop: Closing, a: Chain, b: Chain) -> list[Scalar]:
    """The rows kept of a loop, which are zero where it is closed [m, and rotation to first order].

    Without the third row of the rotation, the other two are those of b's z axis: it may point along a's.
    """
    x, y, z = apply_transposed(a.R, sub(b.p, a.p))
    R = multiply(transpose(a.R), b.R)
    if 5 in loop.kept:
        turn = [half(R[2][1] - R[1][2]), half(R[0][2] - R[2][0]), half(R[1][0] - R[0][1])]
    else:
        turn = [-R[1][2], R[0][2], 0]
    return [[x, y, z, *turn][i] for i in loop.kept]


def jacobian_rows(loop: Closing, a: Chain, b: Chain, joints: int) -> Rows:
    """A of a loop, over joints: how frame b moves against frame a, in the axes of a."""
    axes = transpose(a.R)
    rows: Rows = [[0] * joints for _ in loop.kept]
    for sign, chain in ((-1, a), (1, b)):
        for j, turns, frame in chain.joints:
            column = chain.column(turns, frame)
            for row, i in zip(rows, loop.kept, strict=True):
                row[j] = sign * dot(axes[i % 3], column[i // 3])
    return rows


def jacobian_rate_rows(loop: Closing, a: Chain, b: Chain, qd: Sequence[Scalar], joints: int) -> Rows:
    """Ȧ of a loop at velocities q̇ that keep it closed, up to what is zero for such velocities."""
    axes = transpose(a.R)
    rows: Rows = [[0] * joints for _ in loop.kept]
    w_a, _, _ = _swept(a, qd)
    turning = [cross(w_a, axis) for axis in axes]
    for sign, chain in ((-1, a), (1, b)):
        _, pd, swept = _swept(chain, qd)
        for (j, turns, frame), (w, cd) in zip(chain.joints, swept, strict=True):
            zd = cross(w, frame.z)
            linear = zd
            if turns:
                linear = add(cross(zd, sub(chain.p, frame.c)), cross(frame.z, sub(pd, cd)))
            for row, i in zip(rows, loop.kept, strict=True):
                if i < 3:
                    row[j] = sign * dot(axes[i], linear)
                elif turns:
                    row[j] = sign * (dot(axes[i - 3], zd) + dot(turning[i - 3], frame.z))
    return rows


def _swept(chain: Chain, qd: Sequence[Scalar]) -> tuple[Vector, Vector, list[tuple[Vector, Vector]]]:
    """ω and ṗ of a loop's frame against what carries both; for each joint ω before it and ċ of its point."""
    w, v, at = ZERO3, ZERO3, ZERO3
    found = []
    for k, (j, turns, frame) in enumerate(chain.joints):
        cd = add(v, cross(w, sub(frame.c, at))) if k else ZERO3
        found.append((w, cd))
        at, v = frame.c, cd if turns else add(cd, scale(qd[j], frame.z))
        if turns:
            w = add(w, scale(qd[j], frame.z))
    pd = add(v, cross(w, sub(chain.p, at))) if chain.joints else ZERO3
    return w, pd, found


def placed(mechanism: Mechanism, free: Sequence[Scalar], dependent: Sequence[Scalar]) -> list[Scalar]:
    """Numbers of coordinates and of what follows, in the order of positions."""
    first, others = iter(free), iter(dependent)
    return [next(first) if i in mechanism.free else next(others) for i in range(mechanism.positions)]
