"""The control laws over scalars: numbers, or recording scalars on their way to machine code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from armdyn.dynamics import friction_torques, inertia_matrix, inverse_dynamics, jacobian, jacobian_dot, pose
from armdyn.dynamics.adaptive import rigid_reference_torques
from armdyn.dynamics.forward import solve
from armdyn.dynamics.friction import has_load
from armdyn.dynamics.newton_euler import rigid_torques
from armdyn.expression.functions import select
from armdyn.model.friction import Row
from armdyn.model.mechanism import Mechanism
from armdyn.model.vector import Vector, add, cross, vector

FOLLOWERS = "followers"  # what programs of closed chains are given: the positions that follow
POSITIONS = "positions"  # and what laws are given there: all positions
CARRIED = "carried payload"  # what laws are given where the payload at the tip is an input
ALL_POSITIONS = "all positions, those that follow in loops among them [rad or m]"
LEAST = 1e-100  # of a smoothing: its square is positive still
Scalars: TypeAlias = list[Any]
Given: TypeAlias = Mapping[str, Scalars]


def posture(mechanism: Mechanism, q: Scalars, given: Given) -> Scalars:
    """Positions that the algorithms of a law's model take as q: with closed chains, all of them."""
    return given[POSITIONS] if mechanism.loops else q


def clipped(x: Any, most: float) -> Any:
    """x within ±most."""
    if np.isinf(most):
        return x
    if hasattr(x, "minimum"):
        return x.minimum(most).maximum(-most)
    return np.clip(x, -most, most)


def at_least(x: Any, least: float) -> Any:
    return x.maximum(least) if hasattr(x, "maximum") else np.maximum(x, least)


def shortened(v: Scalars, longest: float) -> Scalars:
    """The vector in its direction, no longer than `longest`."""
    if np.isinf(longest):
        return v
    square = at_least(dot(v, v), longest**2)
    length = square.sqrt() if hasattr(square, "sqrt") else np.sqrt(square)
    return [longest * x / length for x in v]


def smooth_sign(v: Any, row: Row, smoothing: Scalars) -> Any:
    """v/√(v² + v₀²) of a surface that turns with some joints; v₀ is the largest of |k_j| times theirs."""
    if not row:
        return 0
    least: Any = 0
    for j, k in row:
        own = abs(k) * smoothing[j]
        least = select(own - least, own, least)
    if any(not isinstance(k, int | float) for _, k in row):  # of a joint in a closed chain: may be zero
        least = least + LEAST
    square = v * v + least * least
    return v / (square.sqrt() if hasattr(square, "sqrt") else np.sqrt(square))


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    total: Any = 0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def feedback(q: Scalars, qd: Scalars, given: Given) -> Scalars:
    """K_P (q_d − q) + K_D (q̇_d − q̇); a target without a velocity rests."""
    still = [0] * len(q)
    terms = zip(
        given["stiffness"], given["target"], q, given["damping"], given.get("target_velocity", still), qd,
        strict=True,
    )  # fmt: skip
    return [kp * (r - x) + kd * (rd - xd) for kp, r, x, kd, rd, xd in terms]


def reference(q: Scalars, qd: Scalars, given: Given) -> tuple[Scalars, Scalars]:
    """q̇_r = q̇_d − Λ (q − q_d) and q̈_r = q̈_d − Λ (q̇ − q̇_d); a target without a velocity rests."""
    still = [0] * len(q)
    target = given["target"], given.get("target_velocity", still), given.get("target_acceleration", still)
    joints = list(zip(given["bandwidth"], q, qd, *target, strict=True))
    v = [rd - k * (x - r) for k, x, _, r, rd, _ in joints]
    return v, [rdd - k * (xd - rd) for k, _, xd, _, rd, rdd in joints]


def reference_torques(
    mechanism: Mechanism, q: Scalars, qd: Scalars, v: Scalars, a: Scalars, sliding: Scalars
) -> Scalars:
    """B q̈_r + C q̇_r + g + friction at q̇, dry friction by the velocities `sliding`; without load friction.

    With closed chains q are all positions, here and in `friction_apart`.
    """
    rigid = rigid_reference_torques(mechanism, q, qd, v, a)
    return [t + f for t, f in zip(rigid, friction_apart(mechanism, q, qd, sliding), strict=True)]


def friction_apart(
    mechanism: Mechanism, q: Scalars, qd: Scalars, sliding: Scalars, rigid: Scalars | None = None
) -> Scalars:
    """Friction that is smooth at q̇, and dry friction at velocities `sliding`."""
    smooth = replace(mechanism, friction=tuple(f.smooth for f in mechanism.friction))
    dry = replace(mechanism, friction=tuple(f.dry for f in mechanism.friction))
    found = friction_torques(smooth, qd, q=q), friction_torques(dry, sliding, rigid=rigid, q=q)
    return [a + b for a, b in zip(*found, strict=True)]


def computed_torque(
    mechanism: Mechanism, full: Mechanism | None, q: Scalars, qd: Scalars, given: Given
) -> Scalars:
    """Inverse dynamics of the acceleration asked for; `full` has the dry friction to compensate."""
    still = [0] * len(q)
    ahead = given.get("target_acceleration", still)
    asked = [a + f for a, f in zip(ahead, feedback(q, qd, given), strict=True)]
    y = posture(mechanism, q, given)
    tau = inverse_dynamics(mechanism, y, qd, asked)
    if full is None or "target_velocity" not in given:
        return tau
    dry = replace(full, friction=tuple(f.dry for f in full.friction))
    rigid = rigid_torques(mechanism, y, qd, asked) if has_load(dry) else None
    friction = friction_torques(dry, given["target_velocity"], rigid=rigid, q=y)
    return [t + f for t, f in zip(tau, friction, strict=True)]


def operational(
    mechanism: Mechanism,
    q: Scalars,
    qd: Scalars,
    given: Given,
    rows: Sequence[int],
    furthest: float,
    damped: float,
    threshold: float,
) -> Scalars:
    """Jᵀ Λ (ẍ_c − J̇ q̇) + C q̇ + F_v q̇ + g, and in the null space B times a braking acceleration a.

    `rows` are the directions controlled, of x y z and the turns about them. With J̄ = B⁻¹ Jᵀ Λ the null-space
    torque is (1 − Jᵀ J̄ᵀ) B a = B a − Jᵀ Λ J a.
    """
    y = posture(mechanism, q, given)
    J_full, Jd_full = jacobian(mechanism, y), jacobian_dot(mechanism, y, qd)
    J, Jd = [J_full[k] for k in rows], [Jd_full[k] for k in rows]
    B = inertia_matrix(mechanism, y)
    spread = solve(B, J)  # the columns of B⁻¹ Jᵀ
    M = [[dot(row, column) for column in spread] for row in J]
    braking = _braking(q, qd, given)
    asked = _tip_acceleration(mechanism, y, [dot(row, qd) for row in J], given, rows, furthest)
    wanted = [a - dot(row, qd) - dot(j, braking) for a, row, j in zip(asked, Jd, J, strict=True)]
    extra = damping(M, rows, damped, threshold)
    m = len(rows)
    (force,) = solve([[M[i][j] + (extra[i] if i == j else 0) for j in range(m)] for i in range(m)], [wanted])
    bias = inverse_dynamics(mechanism, y, qd, [0] * mechanism.n)
    return [
        dot([J[k][i] for k in range(m)], force) + bias[i] + dot(B[i], braking) for i in range(mechanism.n)
    ]


def _tip_acceleration(
    mechanism: Mechanism, q: Scalars, speed: Scalars, given: Given, rows: Sequence[int], furthest: float
) -> Scalars:
    """ẍ_d + K_D (ẋ_d − ẋ) + K_P e in the directions of `rows`."""
    T = pose(mechanism, q)
    error = shortened([x - T[i][3] for i, x in enumerate(given["position"])], furthest)
    error += _turn(T, given["rotation"]) if "rotation" in given else [0] * 3
    ahead = [*given["position_acceleration"], 0, 0, 0]
    target_speed = [*given["position_velocity"], 0, 0, 0]
    gains = zip(rows, speed, given["stiffness"], given["damping"], strict=True)
    return [ahead[k] + kd * (target_speed[k] - x) + kp * error[k] for k, x, kp, kd in gains]


def _turn(T: Sequence[Sequence[Any]], R: Scalars) -> Scalars:
    """½ Σ axis × target axis: the turn that is missing, for small ones."""
    total: Vector = (0, 0, 0)
    for k in range(3):
        axis = vector(T[i][k] for i in range(3))
        total = add(total, cross(axis, vector(R[3 * i + k] for i in range(3))))
    return [x / 2 for x in total]


def _braking(q: Scalars, qd: Scalars, given: Given) -> Scalars:
    """The acceleration wanted in the null space of the tip."""
    braking = [-(k * x) for k, x in zip(given["null_damping"], qd, strict=True)]
    if "posture" not in given:
        return braking
    drawn = zip(braking, given["null_stiffness"], given["posture"], q, strict=True)
    return [b + k * (r - x) for b, k, r, x in drawn]


def damping(M: Sequence[Sequence[Any]], rows: Sequence[int], damped: float, threshold: float) -> Scalars:
    """Damping of the diagonal of M near a singularity: mean · damped · (1 − v/threshold)² if v is less.

    The means of M's diagonal are of displacements and of turns apart, as their units differ. v = 1/trace(M⁻¹)
    with M divided by them lies between the least eigenvalue and an m-th of it. The damping fades in without a
    jump. (`analysis.operational` damps single directions by singular values, which a recorded law lacks.)
    """
    m = len(rows)
    means: Scalars = [0] * m
    for linear in (True, False):
        group = [i for i, k in enumerate(rows) if (k < 3) == linear]
        for i in group:
            means[i] = sum((M[j][j] for j in group[1:]), M[group[0]][group[0]]) / len(group)
    lifted = [[M[i][j] + (1e-9 * means[i] if i == j else 0) for j in range(m)] for i in range(m)]
    inverse = solve(lifted, [[1 if i == j else 0 for i in range(m)] for j in range(m)])
    lack = 1 - 1 / (threshold * dot([inverse[i][i] for i in range(m)], means))
    lack = at_least(lack, 0.0)
    return [mean * damped * (lack * lack) for mean in means]
