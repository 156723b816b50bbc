"""Any serial chain in Denavit–Hartenberg parameters: a row a joint, and where each DH frame lies.

Between two joints stands a constant transform; `normals` splits it into a part that commutes with the joint
before, Tx(a) Rx(α), and a part that commutes with the joint behind. So θ and d of a row are sums of two
parts, and the joint variables stay what they were.

Where the convention leaves a choice: a robot that is in the convention keeps its table. Otherwise the base
frame and the frame of the tip's link are kept where they can be frames of the table; d is 0 between parallel
axes, which moves the offset to the next joint; x points so that θ is 0 or at most a quarter turn;
and the axis of a sliding joint, of which only the direction matters, passes through the origin of the next
frame, or through the tip.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from armdyn.description import dh
from armdyn.description.conversion.angles import NO_ANGLE, Angle, inverse, rounded
from armdyn.description.conversion.chain import Chain, Pose, chain_of
from armdyn.description.conversion.normals import Decisions, Normal, common_normal
from armdyn.expression import ZERO, Expression
from armdyn.model.parts import Transform, X, Z
from armdyn.model.robot_model import RobotModel, quoted

Convention: TypeAlias = Literal["dh", "mdh"]
_STEEP = 1e-3  # rad: axes closer to parallel have a common normal far away


@dataclass(frozen=True)
class Row:
    """One joint: Rz(θ) Tz(d) Tx(a) Rx(α), in modified DH Rx(α) Tx(a) Rz(θ) Tz(d) with the a and α before."""

    a: Expression
    alpha: Angle
    d: Expression
    theta: Angle


@dataclass(frozen=True)
class Form:
    """A chain in DH: the rows, the frames, and what had to be decided in floating point."""

    rows: tuple[Row, ...]
    base: Pose
    frames: tuple[Pose, ...]  # of the moving links
    notes: tuple[str, ...] = ()


def dh_form(model: RobotModel, convention: Convention) -> Form:
    """The table of a chain and its frames."""
    chain = chain_of(model)
    decide = Decisions(model)
    own = _own_rows(chain, convention)
    if own is not None:
        return Form(own, Pose(), tuple(Pose() for _ in own))
    chain, normals = _normals(chain, decide, convention)
    start = _start(chain, convention)
    rows, chosen = _rows(normals, start, _end(chain, convention), decide)
    first = chosen[0]
    base = Pose()
    if start is None:
        base = _placed(chain.steps[0], first, _screw(first.beta, first.b))
    frames = tuple(
        _placed(joint, normal, _screw(normal.beta, normal.b) @ _reach(normal, convention))
        for joint, normal in zip(chain.joints, chosen, strict=True)
    )
    before = start.normal if start else _NOTHING
    if convention == "mdh":  # each row has a and α of the normal before its joint
        shifted = [before, *chosen[:-1]]
        rows = [replace(row, a=n.a, alpha=n.alpha) for row, n in zip(rows, shifted, strict=True)]
    return Form(tuple(rows), base, frames, tuple(_notes(chain, normals, decide)))


def _placed(pose: Pose, normal: Normal, T: Transform) -> Pose:
    """What the normal's transform leads to."""
    return Pose(pose.T @ T, pose.exact and normal.exact)


# ---- a robot that is in the convention ---------------------------------------------------------------------


def _own_rows(chain: Chain, convention: Convention) -> tuple[Row, ...] | None:
    """The rows of a robot whose links are placed by this convention; None for any other."""
    rows = []
    parent = chain.model.root
    for link in chain.links:
        used, idle = (link.after, link.before) if convention == "dh" else (link.before, link.after)
        row = _row(Pose(used), convention)
        upright = tuple(map(Expression.of, link.axis)) == tuple(map(Expression.of, Z))
        if row is None or not upright or idle != Transform() or link.parent != parent:
            return None
        rows.append(row)
        parent = link.name
    return tuple(rows)


def _row(pose: Pose, convention: Convention) -> Row | None:
    """A transform as that of one row, exactly; None where it is not."""
    parts = dh.PARTS[convention](pose.T) if pose.exact else None
    if parts is None:
        return None
    alpha, theta = Angle.from_pair(*parts.alpha), Angle.from_pair(*parts.theta)
    return Row(parts.a, alpha, parts.d, theta) if _tame(theta, alpha) else None


def _tame(*angles: Angle) -> bool:
    """Whether angles can be written down: exactly, or at least as decimals."""
    return all(angle.known is not None or not (angle.c.symbols() | angle.s.symbols()) for angle in angles)


# ---- any other robot ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _End:
    """What is left of the first or last transform where the base or tip frame is a frame of the table."""

    normal: Normal


_NOTHING = Normal(NO_ANGLE, ZERO, ZERO, NO_ANGLE, NO_ANGLE, ZERO)


def _normals(chain: Chain, decide: Decisions, convention: Convention) -> tuple[Chain, list[Normal]]:
    """The common normals of neighbours (first entry: joints 1 and 2), with sliding axes moved to the next."""
    n = len(chain.links)
    found: dict[int, Normal] = {}
    for i in range(n, 0, -1):  # the transform behind joint i
        if chain.links[i - 1].joint == "prismatic":
            ahead = found.get(i + 1)
            h = ahead.b if ahead is not None and not ahead.parallel else ZERO
            chain = _slider_moved(chain, i, h, convention)
        if i < n:
            found[i] = common_normal(decide, chain.steps[i])
    return chain, [found[i] for i in range(1, n)]


def _slider_moved(chain: Chain, i: int, h: Expression, convention: Convention) -> Chain:
    """The axis of sliding joint i through the point at height h on the next axis; of the first, if it can
    be, so that the base frame stays."""
    if i == 1 and convention == "mdh" and _row(chain.steps[0], "mdh"):
        return chain
    last = i == len(chain.links)
    behind = chain.steps[i].T @ (chain.tool if last else Transform.translation(0, 0, h))
    x, y = behind.p[0], behind.p[1]
    if i == 1 and convention == "dh" and _is_upright(chain.steps[0].T):
        back = inverse(chain.steps[0].T)
        x, y = back.p[0], back.p[1]
    return chain.moved(i, (x, y, ZERO))


def _is_upright(T: Transform) -> bool:
    return Expression.of(T.R[2][2]) == 1


def _start(chain: Chain, convention: Convention) -> _End | None:
    """What stands before joint 1 where the base frame stays; None where another has to be chosen."""
    pose = chain.steps[0]
    if convention == "mdh":
        row = _row(pose, "mdh")
        return (
            None
            if row is None
            else _End(replace(_NOTHING, a=row.a, alpha=row.alpha, gamma=row.theta, c=row.d))
        )
    T = pose.T
    x, y, z = map(Expression.of, T.p)
    if not (pose.exact and _is_upright(T) and x.is_zero and y.is_zero):
        return None
    gamma = Angle.from_pair(Expression.of(T.R[0][0]), Expression.of(T.R[1][0]))
    return _End(replace(_NOTHING, gamma=gamma, c=z)) if _tame(gamma) else None


def _end(chain: Chain, convention: Convention) -> _End | None:
    """What stands behind the last joint where the frame of the tip's link, z along the axis, is the last."""
    row = _row(chain.steps[-1], "dh")
    if row is None or row.alpha != NO_ANGLE or (convention == "mdh" and not row.a.is_zero):
        return None
    return _End(replace(_NOTHING, beta=row.theta, b=row.d, a=row.a))


def _rows(
    normals: list[Normal], start: _End | None, end: _End | None, decide: Decisions
) -> tuple[list[Row], list[Normal]]:
    """θ and d of every joint with a and α behind it, and the normals as they were chosen."""
    before = start.normal if start else None
    rows, chosen = [], []
    for k in range(len(normals) + 1):
        last = k == len(normals)
        if last and end is None:  # the last frame is free, too: no offsets
            normal = _NOTHING if before is None else replace(_NOTHING, beta=-before.gamma, b=-before.c)
            normal = replace(normal, exact=before is None or before.exact)
        elif last:
            assert end is not None
            normal = end.normal
        else:
            normal = _chosen(normals[k], before, decide)
        theta = NO_ANGLE if before is None else before.gamma + normal.beta
        d = ZERO if before is None else before.c + normal.b
        if not (normal.exact and (before is None or before.exact)):
            d = rounded(d)
        rows.append(Row(normal.a, normal.alpha, d, theta))
        chosen.append(normal)
        before = normal
    return rows, chosen


def _chosen(normal: Normal, before: Normal | None, decide: Decisions) -> Normal:
    """The normal with its free choices made: x, and where it stands on parallel axes."""
    theta = NO_ANGLE if before is None else before.gamma + normal.beta
    if normal.coaxial:
        normal = normal.turned(-theta)
    elif _is_better_flipped(normal, theta, before is None, decide):
        normal = normal.flipped()
    if normal.parallel and before is not None:
        normal = normal.slid(-(before.c + normal.b))
    return normal


def _is_better_flipped(normal: Normal, theta: Angle, is_free: bool, decide: Decisions) -> bool:
    """x so that θ is at most a quarter turn; where both ways do, so that a or else α is positive."""
    cosine = decide.model.value(theta.c) or 0.0
    if not is_free and abs(cosine) > 1e-9:
        return cosine < 0
    a, sine = decide.sign(normal.a), decide.sign(normal.alpha.s)
    return a < 0 or (a == 0 and sine < 0)


def _screw(angle: Angle, shift: Expression) -> Transform:
    return angle.about(Z) @ Transform.translation(0, 0, shift)


def _reach(normal: Normal, convention: Convention) -> Transform:
    """From the joint to the frame: standard DH has it at the far end of the normal."""
    if convention == "mdh":
        return Transform()
    return Transform.translation(normal.a, 0, 0) @ normal.alpha.about(X)


def _notes(chain: Chain, normals: list[Normal], decide: Decisions) -> list[str]:
    """Where decisions were by tolerance, and where axes are nearly parallel."""
    notes = []
    for here, there, normal in zip(chain.links, chain.links[1:], normals, strict=False):
        names = f"{quoted(here.joint_label)} and {quoted(there.joint_label)}"
        sine = abs(decide.model.value(normal.alpha.s) or 0.0)
        if not normal.exact:
            why = "what is below 1e-9 rad or m is taken as 0" if normal.tolerated else "it has no exact form"
            notes.append(f"the common normal of {names} is in decimals: {why}")
        if not normal.parallel and sine < _STEEP:
            notes.append(
                f"the axes of {names} are only {sine:.2g} rad from parallel, so their common normal is "
                "far away and the offsets d are large; an exact angle would make them parallel"
            )
    return notes
