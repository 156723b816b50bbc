"""Closures over any scalar: linear relations between joints, and closed chains.

Relations give joints q = S y of the positions y. Closed chains tie the positions y to the coordinates x.

Frame a of a closing joint sits on one body, frame b on another (`model/closures.py`). In the axes of a, the
gap is R_aᵀ(p_b − p_a) over the rotation from a to b, and A is the Jacobian of the rows kept. With the
positions y split into coordinates x and those that follow,

    A ẏ = 0    ẏ = S ẋ    ÿ = S ẍ + Ṡ ẋ    Ṡ ẋ: −A_d⁻¹ Ȧ ẏ in what follows, 0 in the coordinates.

All of it holds where the chains are closed. Joints that carry both frames move neither against the other and
are left out of A.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import Any, Literal, ParamSpec, TypeVar

from armdyn.dynamics.kinematics import BaseFrame, ancestors, base_frames, joint_frames, pose_of
from armdyn.expression.functions import half, select, sqrt
from armdyn.model.friction import along
from armdyn.model.mechanism import Closing, Mechanism
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

# ------------------------------------------------------------------------------------------------------------
# Small linear systems over any scalar, solved by orthogonal columns; there may be more rows than columns.
#
# A = V R with orthogonal columns v_k of V and a unit upper triangular R: Gram and Schmidt, modified, without
# square roots. It needs no exchange of rows, so it can be recorded, and is as accurate as elimination that
# exchanges them. Rows in different units have scales: the columns are those of D A.


Column = list[Scalar]


@dataclass(frozen=True)
class Orthogonal:
    """A factorised matrix with at least as many rows as columns, to solve with."""

    V: list[Column]  # by columns
    R: list[list[Scalar]]  # R[k][j] for j > k
    inverse: list[Scalar]  # 1/(v_k · v_k)
    margins: list[Scalar]  # (v_k · v_k)/(a_k · a_k): the squared sine of a column against those before it
    scales: list[Scalar]  # of the rows: the diagonal of D

    @staticmethod
    def of(columns: Sequence[Sequence[Scalar]], scales: Sequence[Scalar]) -> Orthogonal:
        left = [_times(scales, column) for column in columns]
        squares = [inner(column, column) for column in left]
        size = len(left)
        V: list[Column] = []
        R: list[list[Scalar]] = [[0] * size for _ in range(size)]
        inverse: list[Scalar] = []
        margins: list[Scalar] = []
        for k in range(size):
            v = left[k]
            square = inner(v, v)
            inverse.append(1 / square)
            margins.append(square / squares[k])
            V.append(v)
            for j in range(k + 1, size):
                R[k][j] = inner(v, left[j]) * inverse[k]
                left[j] = _less(left[j], R[k][j], v)
        return Orthogonal(V, R, inverse, margins, list(scales))

    def solve(self, b: Sequence[Scalar]) -> Column:
        """x with A x = b; where b is out of reach, with the least squares of D (A x − b)."""
        rest, x = _times(self.scales, b), []
        for v, inverse in zip(self.V, self.inverse, strict=True):
            x.append(inner(v, rest) * inverse)
            rest = _less(rest, x[-1], v)
        for k in reversed(range(len(x))):
            for j in range(k + 1, len(x)):
                x[k] = x[k] - self.R[k][j] * x[j]
        return x

    def solve_transposed(self, b: Sequence[Scalar]) -> Column:
        """x with Aᵀ x = b; of several, the one with the least D⁻¹ x."""
        w = list(b)
        for k in range(len(w)):
            for i in range(k):
                w[k] = w[k] - self.R[i][k] * w[i]
        x: Column = [0] * len(self.scales)
        for v, w_k, inverse in zip(self.V, w, self.inverse, strict=True):
            x = _less(x, -(w_k * inverse), v)
        return _times(self.scales, x)


def turned(columns: Sequence[Sequence[Scalar]]) -> Scalar:
    """The sign of a square matrix's determinant, 1 or −1, by reflections (Householder), without exchanges.

    Each reflection takes a column onto an axis, on the side where nothing cancels. 1 if there are more rows.
    """
    if len(columns) < len(columns[0]):
        return 1
    left = [list(column) for column in columns]
    found: Scalar = 1
    while left:
        first, *others = left
        side = select(-first[0], -1, 1)
        found = found * side
        if not others:
            break
        length = sqrt(inner(first, first))
        w = [first[0] + side * length, *first[1:]]
        scale = 1 / (length * (length + side * first[0]))
        left = [_less(column, inner(w, column) * scale, w)[1:] for column in others]
    return found


def inner(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def _times(scales: Sequence[Scalar], b: Sequence[Scalar]) -> Column:
    return [s * x for s, x in zip(scales, b, strict=True)]


def _less(a: Sequence[Scalar], factor: Scalar, b: Sequence[Scalar]) -> Column:
    return [x - factor * y for x, y in zip(a, b, strict=True)]


# ------------------------------------------------------------------------------------------------------------
# Closures over any scalar: linear relations between joints, and closed chains.


# ------------------------------------------------------------------------------------------------------------
# Linear relations between joints: q = S y, and torques by joint summed up as torques by position, Sᵀτ.


def joint_values(mechanism: Mechanism, x: Sequence[Scalar]) -> list[Scalar]:
    """S x: values of all joints, from those of the positions."""
    return [along(row, x) for row in mechanism.rows] if mechanism.rows else list(x)


def by_position(mechanism: Mechanism, by_joint: Sequence[Any]) -> list[Any]:
    """Sᵀ times torques or another row of numbers by joint, or times the rows of a matrix."""
    if not mechanism.rows:
        return list(by_joint)
    total: list[Any] = [0] * mechanism.positions
    for row, x in zip(mechanism.rows, by_joint, strict=True):
        for k, factor in row:
            total[k] = _sum(total[k], factor, x)
    return total


def _sum(total: Any, factor: Scalar, x: Any) -> Any:
    if not isinstance(x, list):
        return total + factor * x
    entries = total if isinstance(total, list) else [0] * len(x)
    return [t + factor * y for t, y in zip(entries, x, strict=True)]


# ------------------------------------------------------------------------------------------------------------
# Closed chains: the gaps at closing joints, and how the joints that follow move with the coordinates.


Rows = list[list[Scalar]]


@dataclass(frozen=True)
class Following:
    """A mechanism with closed chains at a posture: how all positions move with the coordinates."""

    mechanism: Mechanism
    y: Sequence[Scalar]  # all positions, chains closed

    @cached_property
    def dependent(self) -> list[int]:
        """The positions that follow."""
        return [i for i in range(self.mechanism.positions) if i not in self.mechanism.free]

    @cached_property
    def frames(self) -> list[BaseFrame]:
        return base_frames(self.mechanism, joint_frames(self.mechanism, joint_values(self.mechanism, self.y)))

    @cached_property
    def chains(self) -> list[tuple[Branch, Branch]]:
        """Chains to frames a and b of each closing joint, from the body that carries both."""
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
        """Factors of the rows that make lengths comparable with angles; 1 where there are lengths alone."""
        rows = [(loop.weight, i) for loop in self.mechanism.loops for i in loop.kept]
        turns = any(i >= 3 for _, i in rows)
        return [weight if turns and i < 3 else 1 for weight, i in rows]

    @cached_property
    def factor(self) -> Orthogonal:
        """A_d factorised, to solve with."""
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
        """Gaps at the closing joints, row by row."""
        pairs = zip(self.mechanism.loops, self.chains, strict=True)
        return [gap for loop, chains in pairs for gap in gaps(loop, *chains)]

    def closed(self) -> list[Scalar]:
        """The positions that follow after one step of Newton's method that closes the chains."""
        off = self.factor.solve([-gap for gap in self.gaps])
        return [self.y[d] + x for d, x in zip(self.dependent, off, strict=True)]

    @cached_property
    def S(self) -> Rows:
        """ẏ_d = S ẋ: a row for each position that follows."""
        columns = [self.factor.solve([-row[i] for row in self.A]) for i in self.mechanism.free]
        return [list(row) for row in zip(*columns, strict=True)]

    def velocities(self, xd: Sequence[Scalar]) -> list[Scalar]:
        """Velocities S ẋ of all positions."""
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
        """Values of all positions, from q; q, q̇; q, q̇, q̈; or q, q̇, q̇_r, q̈_r of the coordinates."""
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
class Branch:
    """The joints that move a frame of a closing joint against the other, from the base on, in the world."""

    joints: list[tuple[int, bool, BaseFrame]]  # index, whether it turns, where it is
    R: Matrix  # of the frame
    p: Vector

    def column(self, turns: bool, frame: BaseFrame) -> tuple[Vector, Vector]:
        """Velocity of the frame, linear and angular, per unit speed of a joint."""
        return (cross(frame.z, sub(self.p, frame.c)), frame.z) if turns else (frame.z, ZERO3)


def chains_of(mechanism: Mechanism, frames: Sequence[BaseFrame], loop: Closing) -> tuple[Branch, Branch]:
    paths = [ancestors(mechanism, body) for body in loop.tied]
    common = set(paths[0]) & set(paths[1])
    found = []
    for body, path, R, p in zip(loop.tied, paths, loop.R, loop.p, strict=True):
        R_0, p_0 = pose_of(mechanism, frames, body)
        own = [
            (j, mechanism.bodies[j].joint == "revolute", frames[j]) for j in reversed(path) if j not in common
        ]
        found.append(Branch(own, multiply(R_0, R), add(p_0, apply(R_0, p))))
    return found[0], found[1]


def gaps(loop: Closing, a: Branch, b: Branch) -> list[Scalar]:
    """The rows kept of a closing joint, which are zero where it is closed [m, and rotation to first order].

    Without the third row of the rotation, the other two are those of b's z axis: it may point along a's.
    """
    x, y, z = apply_transposed(a.R, sub(b.p, a.p))
    R = multiply(transpose(a.R), b.R)
    if 5 in loop.kept:
        turn = [half(R[2][1] - R[1][2]), half(R[0][2] - R[2][0]), half(R[1][0] - R[0][1])]
    else:
        turn = [-R[1][2], R[0][2], 0]
    return [[x, y, z, *turn][i] for i in loop.kept]


def jacobian_rows(loop: Closing, a: Branch, b: Branch, joints: int) -> Rows:
    """A of a closing joint, over joints: how frame b moves against frame a, in the axes of a."""
    axes = transpose(a.R)
    rows: Rows = [[0] * joints for _ in loop.kept]
    for sign, chain in ((-1, a), (1, b)):
        for j, turns, frame in chain.joints:
            column = chain.column(turns, frame)
            for row, i in zip(rows, loop.kept, strict=True):
                row[j] = sign * dot(axes[i % 3], column[i // 3])
    return rows


def jacobian_rate_rows(loop: Closing, a: Branch, b: Branch, qd: Sequence[Scalar], joints: int) -> Rows:
    """Ȧ of a closing joint at velocities q̇ that keep it closed, up to terms that vanish for these."""
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


def _swept(chain: Branch, qd: Sequence[Scalar]) -> tuple[Vector, Vector, list[tuple[Vector, Vector]]]:
    """ω and ṗ of a frame against the body that carries both; for each joint ω before it, ċ of its point."""
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
    """Numbers of coordinates and of positions that follow, in the order of positions."""
    first, others = iter(free), iter(dependent)
    return [next(first) if i in mechanism.free else next(others) for i in range(mechanism.positions)]


# ------------------------------------------------------------------------------------------------------------
# Closures applied around algorithms: an algorithm knows joints only, its callers coordinates.
#
# With relations q = S x + s₀ the joints follow from the coordinates x (s₀ is part of the mechanism's
# frames). Then
#
#     q̇ = S ẋ    q̈ = S ẍ    τ_x = Sᵀτ    B_x = SᵀB S    C_x = SᵀC S    J_x = J S    Y_x = SᵀY.
#
# With closed chains S depends on the posture (`closures.py`): q̈ = S ẍ + Ṡ ẋ, the rest stays, and q is that
# of all positions, with the chains closed. C and J̇ have a term with Ṡ of their own.
#
# `of_joints` puts this around an algorithm. Without closures it does nothing; in recorded and exact form it
# adds the sums and products of S and no more.


P = ParamSpec("P")
T = TypeVar("T")
Gives = Literal["torques", "square", "squares", "columns", "anything"]


def of_joints(variables: int, gives: Gives) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Makes an algorithm over joints callable with coordinates.

    Its first argument is the mechanism; the next `variables` are q, q̇, q̈ of the joints, or q, q̇, q̇_r,
    q̈_r if there are four. `gives` says what it returns: torques (or rows of a matrix by joint), a square
    matrix, several of these, columns by joint, or anything that has no index of a joint.
    """

    def around(algorithm: Callable[P, T]) -> Callable[P, T]:
        @wraps(algorithm)
        def called(*args: Any, **others: Any) -> Any:
            mechanism = args[0]
            if not mechanism.rows and not mechanism.loops:
                return algorithm(*args, **others)
            values: Sequence[Any] = args[1 : 1 + variables]
            following = Following(mechanism, args[1]) if mechanism.loops else None
            if following is not None:
                values = following.moved(values)
            joints = [joint_values(mechanism, x) for x in values]
            arguments: Any = (freed(mechanism), *joints, *args[1 + variables :])
            found: Any = algorithm(*arguments, **others)
            if gives == "squares":
                return tuple(_on_both_sides(mechanism, following, matrix) for matrix in found)
            if gives == "square":
                return _on_both_sides(mechanism, following, found)
            if gives == "torques":
                found = _gathered(mechanism, following, found)
            if gives == "columns":
                found = [_gathered(mechanism, following, row) for row in found]
            return found

        return called

    return around


def freed(mechanism: Mechanism) -> Mechanism:
    """The mechanism with every joint a coordinate, and without friction, which acts on coordinates."""
    if not mechanism.rows and not mechanism.loops:
        return mechanism
    return replace(mechanism.without_loops(), rows=(), friction=())


def _on_both_sides(mechanism: Mechanism, following: Following | None, matrix: Any) -> list[list[Any]]:
    """Sᵀ M S."""
    return [_gathered(mechanism, following, row) for row in _gathered(mechanism, following, matrix)]


def _gathered(mechanism: Mechanism, following: Following | None, by_joint: Sequence[Any]) -> list[Any]:
    """Sᵀ times torques, or times the rows of a matrix."""
    found = by_position(mechanism, by_joint)
    if following is None:
        return found
    if not isinstance(found[0], list):
        return following.gathered(found)
    return [list(row) for row in zip(*map(following.gathered, zip(*found, strict=True)), strict=True)]
