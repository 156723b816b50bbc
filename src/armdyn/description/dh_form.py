"""Denavit–Hartenberg parameters of any serial chain: a row a joint, and where each DH frame lies.

Between two joints stands a constant transform. The common normal splits it into a part that commutes with the
joint before, Tx(a) Rx(α), and a part that commutes with the joint behind. So θ and d of a row are sums of two
parts, and the joint variables stay what they were.

Where the convention leaves a choice: a robot that is in the convention keeps its table. Otherwise the base
frame and the frame of the tip's link are kept where they can be frames of the table; d is 0 between parallel
axes, which moves the offset to the next joint; x points so that θ is 0 or at most a quarter turn;
and the axis of a sliding joint, of which only the direction matters, passes through the origin of the next
frame, or through the tip.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias

from armdyn.description.frames import PARTS, PI, angle_of, wrapped
from armdyn.expression import ONE, ZERO, Atom, Expression, MissingValueError
from armdyn.expression.expression import Monomial
from armdyn.model.errors import ModelError
from armdyn.model.parts import Link, Transform, X, Z
from armdyn.model.robot_model import Converter, Places, RobotModel, places_of
from armdyn.model.vector import Matrix, Vector, rotation_about, transpose, vector
from armdyn.names import listed, quoted

# ------------------------------------------------------------------------------------------------------------
# Angles by their cosine and sine, exact where these are; and numbers rounded to what a double holds.


@dataclass(frozen=True)
class Angle:
    """Cosine and sine, and the angle itself where it is known exactly."""

    c: Expression
    s: Expression
    known: Expression | None

    @staticmethod
    def of(angle: Expression) -> Angle:
        return Angle(angle.cos(), angle.sin(), angle)

    @staticmethod
    def from_pair(c: Expression, s: Expression) -> Angle:
        """The angle whose cosine and sine these are: a multiple of π/12, or one of those inside them."""
        found = angle_of(c, s)
        return Angle(c, s, None if found is None else wrapped(found))

    @property
    def value(self) -> Expression:
        """The angle; in decimals where it is not known exactly. Symbols must not be in it then."""
        if self.known is not None:
            return self.known
        return Expression.of(math.atan2(self.s.value(), self.c.value()))

    def __add__(self, other: Angle) -> Angle:
        if self.known is not None and other.known is not None:
            return Angle.of(wrapped(self.known + other.known))
        return Angle.from_pair(self.c * other.c - self.s * other.s, self.s * other.c + self.c * other.s)

    def __neg__(self) -> Angle:
        return Angle(self.c, -self.s, None if self.known is None else wrapped(-self.known))

    def about(self, axis: Vector) -> Transform:
        """The rotation by it about x, y or z."""
        return Transform(rotation_about(axis, self.c, self.s))


NO_ANGLE = Angle(ONE, ZERO, ZERO)
HALF_TURN = Angle(-ONE, ZERO, PI)


def rounded(x: object) -> Expression:
    """A number in decimals, noise below 1e-15 dropped.

    Symbols and functions of them stay; their factors become decimals.
    """
    sums: dict[Monomial, Fraction] = {}
    for monomial, coefficient in Expression.of(x).terms:
        kept = tuple((atom, e) for atom, e in monomial if _holds_symbols(atom))
        for atom, e in monomial:
            if not _holds_symbols(atom):
                coefficient *= Fraction(Expression({((atom, 1),): Fraction(1)}).value()) ** e
        sums[kept] = sums.get(kept, Fraction(0)) + coefficient
    large = {m: float(c) for m, c in sums.items() if abs(c) >= Fraction(1, 10**15)}
    return Expression({m: Expression.of(c).number or Fraction(0) for m, c in large.items()})


def _holds_symbols(atom: Atom) -> bool:
    return atom.kind == "symbol" or (atom.argument is not None and bool(atom.argument.symbols()))


def inverse(T: Transform) -> Transform:
    """The inverse of a rigid transform."""
    R = transpose(T.R)
    (x, y, z) = (sum((r * p for r, p in zip(row, T.p, strict=True)), ZERO) for row in R)
    return Transform(R, (-x, -y, -z))


# ------------------------------------------------------------------------------------------------------------
# A robot as a serial chain: its joints with z as their axes, and the constant transforms between them.


_LONG = 60  # terms in the entries of a rotation or of a vector, beyond which they are taken in decimals


@dataclass(frozen=True)
class Pose:
    """A transform, and whether its numbers are exact."""

    T: Transform = Transform()
    exact: bool = True

    def then(self, model: RobotModel, *transforms: Transform) -> Pose:
        """Further transforms behind it; in decimals where exact numbers grow long."""
        found = self
        for T in transforms:
            found = shortened(Pose(found.T @ T, found.exact), model)
        return found

    def inverted(self) -> Pose:
        return Pose(inverse(self.T), self.exact)


def shortened(pose: Pose, model: RobotModel) -> Pose:
    """The pose, in decimals where numbers are not exact or too long."""
    entries = [x for row in pose.T.R for x in row]
    if pose.exact and _terms(entries) <= _LONG and _terms(pose.T.p) <= _LONG:
        return pose
    R = vector(vector(rounded(known(model, x)) for x in row) for row in pose.T.R)
    return Pose(Transform(R, vector(rounded(x) for x in pose.T.p)), exact=False)


def known(model: RobotModel, x: object) -> float:
    """The value of an entry that decides which way an axis points."""
    try:
        return model.number(x)
    except MissingValueError as error:
        raise ModelError(
            f"dh: the directions of the joints' axes depend on symbols without a value ({error})"
        ) from None


def _terms(entries: Iterable[object]) -> int:
    return sum(len(x.terms) for x in entries if isinstance(x, Expression))


@dataclass(frozen=True)
class SerialChain:
    """base · steps[0] · joint 1 · steps[1] · joint 2 … joint n · steps[n] = frame of the tip's link."""

    model: RobotModel
    links: tuple[Link, ...]  # those that move, in the order of the chain
    steps: tuple[Pose, ...]
    joints: tuple[Pose, ...]  # the moving joint frame, z its axis, in the frame of its link
    tool: Transform  # the tip frame behind the last step

    def moved(self, i: int, v: Vector) -> SerialChain:
        """The chain with the frame of joint i (from 1) moved by v, which a sliding joint allows."""
        there, back = Transform.translation(*v), Transform.translation(*(-x for x in v))
        steps, joints = list(self.steps), list(self.joints)
        behind = steps[i]
        steps[i - 1] = steps[i - 1].then(self.model, there)
        steps[i] = shortened(Pose(back @ behind.T, behind.exact), self.model)
        joints[i - 1] = joints[i - 1].then(self.model, there)
        return replace(self, steps=tuple(steps), joints=tuple(joints))


def chain_of(model: RobotModel) -> SerialChain:
    """The chain; a robot that branches into several moving links is refused."""
    places = places_of(model, Converter(lambda x: x))
    _refuse_branches(model, places)
    turns = [_to_axis(link.axis) for link in model.moving]
    steps, joints = [], []
    before = Pose()  # the link's frame in that of its joint
    for link, turn in zip(model.moving, turns, strict=True):
        _, place = places[link.parent]
        steps.append(before.then(model, place, link.before, turn))
        joints.append(Pose(inverse(link.after)).then(model, turn))
        before = joints[-1].inverted()
    (body, place), tool = places[model.tip], model.tool
    if body != len(model.moving) - 1:  # the tip is not at the end of the chain
        place = tool = Transform()
    return SerialChain(model, model.moving, (*steps, before.then(model, place)), tuple(joints), tool)


def _refuse_branches(model: RobotModel, places: Places) -> None:
    children: dict[int, list[str]] = {}
    for link in model.moving:
        children.setdefault(places[link.parent][0], []).append(link.name)
    for body, names in children.items():
        if len(names) > 1:
            where = quoted(model.root if body < 0 else model.moving[body].name)
            raise ModelError(
                f"dh: the robot branches at {where}, which carries the moving links {listed(names)}; "
                "a Denavit-Hartenberg table describes one chain"
            )


def _to_axis(axis: Vector) -> Transform:
    """A rotation that takes z to a unit vector, with entries that are exact where those of the vector are."""
    x, y, z = map(Expression.of, axis)
    rest = 1 - z * z
    if rest.is_zero:
        return Transform() if z == 1 else HALF_TURN.about(X)
    if z.value() < 0:
        return _to_axis((-x, -y, -z)) @ HALF_TURN.about(X)
    k = (1 - z) / rest  # 1 / (1 + z)
    R: Matrix = ((1 - k * x * x, -k * x * y, x), (-k * x * y, 1 - k * y * y, y), (-x, -y, z))
    return Transform(R)


# ------------------------------------------------------------------------------------------------------------
# The common normal of two joint axes: any rigid transform as Rz(β) Tz(b) Tx(a) Rx(α) Rz(γ) Tz(c).
#
# The transform leads from a frame whose z is one axis to a frame whose z is the next. Exact where its
# entries decide; where they do not, in decimals, with what is below `TOLERANCE` taken as zero.


TOLERANCE = 1e-9  # rad or m: what counts as parallel, or as zero, where the description is not exact
_LONGEST_ROOT = 1000
_NEAR = 1e-12  # rad: how far a decimal angle may be from a multiple of π/12 that it is
_QUARTER = Angle.of(PI / 2)


@dataclass(frozen=True)
class Normal:
    """Rz(beta) Tz(b) Tx(a) Rx(alpha) Rz(gamma) Tz(c), and how much of it is free to choose."""

    beta: Angle
    b: Expression
    a: Expression
    alpha: Angle
    gamma: Angle
    c: Expression
    parallel: bool = False  # b is free
    coaxial: bool = False  # beta is free, too
    exact: bool = True
    tolerated: bool = False  # something small was taken as zero

    def flipped(self) -> Normal:
        """The normal with x the other way."""
        return replace(
            self,
            beta=self.beta + HALF_TURN,
            a=-self.a,
            alpha=self.alpha if self.parallel else -self.alpha,
            gamma=self.gamma + HALF_TURN,
        )

    def turned(self, by: Angle) -> Normal:
        """The normal of coaxial joints with x turned about z."""
        return replace(self, beta=self.beta + by, gamma=self.gamma + (by if self._is_opposed else -by))

    def slid(self, by: Expression) -> Normal:
        """The normal of parallel axes, moved along z."""
        return replace(self, b=self.b + by, c=self.c + (by if self._is_opposed else -by))

    @property
    def _is_opposed(self) -> bool:
        return self.alpha == HALF_TURN


class Decisions:
    """Decisions on what is zero and which way axes point, with the values of a robot's symbols."""

    def __init__(self, model: RobotModel) -> None:
        self.model = model
        self.exact = True  # whether all was decided exactly since it was last set
        self.tolerated = False  # whether something small was taken as zero since then

    def number(self, x: object) -> float:
        return known(self.model, x)

    def is_zero(self, x: object) -> bool:
        exact = Expression.of(x)
        if exact.is_zero:
            return True
        value = self.model.value(exact)
        small = value is not None and abs(value) < TOLERANCE
        self.exact = self.exact and not small
        self.tolerated = self.tolerated or small
        return small

    def sign(self, x: Expression) -> float:
        """A number with the sign of x; with free symbols, the sign of the first term."""
        value = self.model.value(x)
        return float(x.terms[0][1]) if value is None else value

    def all_zero(self, *entries: object) -> bool:
        return all(self.is_zero(x) for x in entries)

    def direction(self, u: Expression, v: Expression) -> Angle:
        """The angle of a vector in the plane, or of its opposite, whichever needs no root."""
        if self.is_zero(u):
            return _QUARTER
        if self.is_zero(v):
            return NO_ANGLE
        length = _root(u * u + v * v)
        found = None if length is None else Angle.from_pair(u / length, v / length)
        if found is not None and (found.known is not None or not (found.c.symbols() | found.s.symbols())):
            return found
        self.exact = False
        return self.decimal(u, v)

    def decimal(self, c: object, s: object) -> Angle:
        """An angle in decimals, but a multiple of π/12 where it cannot be told from one."""
        angle = math.atan2(self.number(s), self.number(c))
        turns = round(angle / (math.pi / 12))
        if abs(angle - turns * math.pi / 12) < _NEAR:
            return Angle.of(PI * Fraction(turns, 12))
        return Angle.of(Expression.of(angle))


def common_normal(decide: Decisions, step: Pose) -> Normal:
    """The decomposition; of parallel axes, the normal through the first frame's origin."""
    decide.exact, decide.tolerated = step.exact, False
    R = [[Expression.of(x) for x in row] for row in step.T.R]
    p = [Expression.of(x) for x in step.T.p]
    found = _normal(decide, R, p) if step.exact else None
    if found is not None and decide.exact:
        return found
    R = [[rounded(decide.number(x)) for x in row] for row in R]
    found = _normal(decide, R, p, in_decimals=True)
    assert found is not None
    a, b, c = rounded(found.a), rounded(found.b), rounded(found.c)
    return replace(found, a=a, b=b, c=c, exact=False, tolerated=decide.tolerated)


def _normal(
    decide: Decisions,
    R: Sequence[Sequence[Expression]],
    p: Sequence[Expression],
    in_decimals: bool = False,
) -> Normal | None:
    """The common normal; None where exact numbers do not give it."""
    z = [row[2] for row in R]
    parallel = decide.all_zero(z[0], z[1])
    coaxial = parallel and decide.all_zero(p[0], p[1])
    along = (p[0], p[1]) if parallel else (-z[1], z[0])
    if coaxial:
        beta = NO_ANGLE
    else:
        beta = decide.decimal(*along) if in_decimals else decide.direction(*along)
    x, y = (beta.c, beta.s), (-beta.s, beta.c)
    sine = -(y[0] * z[0] + y[1] * z[1])
    cosine_gamma, sine_gamma = x[0] * R[0][0] + x[1] * R[1][0], -(x[0] * R[0][1] + x[1] * R[1][1])
    across = y[0] * p[0] + y[1] * p[1]
    if parallel:
        alpha = NO_ANGLE if decide.number(z[2]) > 0 else HALF_TURN
        b, c = ZERO, p[2] if alpha is NO_ANGLE else -p[2]
    else:
        if not in_decimals and len(sine.terms) != 1:
            return None
        alpha = decide.decimal(z[2], sine) if in_decimals else Angle.from_pair(z[2], sine)
        c = -across / (Expression.of(decide.number(sine)) if in_decimals else sine)
        b = p[2] - c * z[2]
    gamma = (decide.decimal if in_decimals else Angle.from_pair)(cosine_gamma, sine_gamma)
    if any(angle.known is None and angle.c.symbols() | angle.s.symbols() for angle in (alpha, gamma)):
        return None
    a = ZERO if coaxial else x[0] * p[0] + x[1] * p[1]
    return Normal(beta, b, a, alpha, gamma, c, parallel, coaxial)


def _root(x: Expression) -> Expression | None:
    """The root of a square that is short: of a number, or of one term with even powers."""
    if x.number is not None:
        root = x.sqrt()
        radicals = [atom.argument.number for atom in root.atoms() if atom.argument is not None]
        return root if math.prod(int(r or 1) for r in radicals) <= _LONGEST_ROOT else None
    if len(x.terms) != 1:
        return None
    monomial, coefficient = x.terms[0]
    if coefficient < 0 or any(exponent % 2 for _, exponent in monomial):
        return None
    factor = _root(Expression.of(coefficient))
    if factor is None:
        return None
    return factor * Expression({tuple((a, e // 2) for a, e in monomial): Fraction(1)})


# ------------------------------------------------------------------------------------------------------------
# The table of the whole chain.


Convention: TypeAlias = Literal["dh", "mdh"]
_STEEP = 1e-3  # rad: axes closer to parallel have a common normal far away


@dataclass(frozen=True)
class FoundRow:
    """One joint: Rz(θ) Tz(d) Tx(a) Rx(α), in modified DH Rx(α) Tx(a) Rz(θ) Tz(d) with the a and α before."""

    a: Expression
    alpha: Angle
    d: Expression
    theta: Angle


@dataclass(frozen=True)
class DhForm:
    """A chain in DH: the rows, the frames, and what had to be decided in floating point."""

    rows: tuple[FoundRow, ...]
    base: Pose
    frames: tuple[Pose, ...]  # of the moving links
    notes: tuple[str, ...] = ()


def dh_form(model: RobotModel, convention: Convention) -> DhForm:
    """The table of a chain and its frames."""
    chain = chain_of(model)
    decide = Decisions(model)
    own = _own_rows(chain, convention)
    if own is not None:
        return DhForm(own, Pose(), tuple(Pose() for _ in own))
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
    before = start or _NOTHING
    if convention == "mdh":  # each row has a and α of the normal before its joint
        shifted = [before, *chosen[:-1]]
        rows = [replace(row, a=n.a, alpha=n.alpha) for row, n in zip(rows, shifted, strict=True)]
    return DhForm(tuple(rows), base, frames, tuple(_notes(chain, normals, decide)))


def _placed(pose: Pose, normal: Normal, T: Transform) -> Pose:
    """The pose that the normal's transform leads to."""
    return Pose(pose.T @ T, pose.exact and normal.exact)


# ---- a robot that is in the convention ---------------------------------------------------------------------


def _own_rows(chain: SerialChain, convention: Convention) -> tuple[FoundRow, ...] | None:
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


def _row(pose: Pose, convention: Convention) -> FoundRow | None:
    """A transform as that of one row, exactly; None where it is not."""
    parts = PARTS[convention](pose.T) if pose.exact else None
    if parts is None:
        return None
    alpha, theta = Angle.from_pair(*parts.alpha), Angle.from_pair(*parts.theta)
    return FoundRow(parts.a, alpha, parts.d, theta) if _tame(theta, alpha) else None


def _tame(*angles: Angle) -> bool:
    """True if angles can be written down: exactly, or at least as decimals."""
    return all(angle.known is not None or not (angle.c.symbols() | angle.s.symbols()) for angle in angles)


# ---- any other robot ---------------------------------------------------------------------------------------


_NOTHING = Normal(NO_ANGLE, ZERO, ZERO, NO_ANGLE, NO_ANGLE, ZERO)


def _normals(
    chain: SerialChain, decide: Decisions, convention: Convention
) -> tuple[SerialChain, list[Normal]]:
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


def _slider_moved(chain: SerialChain, i: int, h: Expression, convention: Convention) -> SerialChain:
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


def _start(chain: SerialChain, convention: Convention) -> Normal | None:
    """The transform before joint 1 where the base frame stays; None where another has to be chosen."""
    pose = chain.steps[0]
    if convention == "mdh":
        row = _row(pose, "mdh")
        if row is None:
            return None
        return replace(_NOTHING, a=row.a, alpha=row.alpha, gamma=row.theta, c=row.d)
    T = pose.T
    x, y, z = map(Expression.of, T.p)
    if not (pose.exact and _is_upright(T) and x.is_zero and y.is_zero):
        return None
    gamma = Angle.from_pair(Expression.of(T.R[0][0]), Expression.of(T.R[1][0]))
    return replace(_NOTHING, gamma=gamma, c=z) if _tame(gamma) else None


def _end(chain: SerialChain, convention: Convention) -> Normal | None:
    """The transform behind the last joint where the frame of the tip's link, z along its axis, is last."""
    row = _row(chain.steps[-1], "dh")
    if row is None or row.alpha != NO_ANGLE or (convention == "mdh" and not row.a.is_zero):
        return None
    return replace(_NOTHING, beta=row.theta, b=row.d, a=row.a)


def _rows(
    normals: list[Normal], start: Normal | None, end: Normal | None, decide: Decisions
) -> tuple[list[FoundRow], list[Normal]]:
    """θ and d of every joint with a and α behind it, and the normals as they were chosen."""
    before = start
    rows, chosen = [], []
    for k in range(len(normals) + 1):
        if k < len(normals):
            normal = _chosen(normals[k], before, decide)
        elif end is not None:
            normal = end
        elif before is None:
            normal = _NOTHING
        else:  # the last frame is free, too: no offsets
            normal = replace(_NOTHING, beta=-before.gamma, b=-before.c, exact=before.exact)
        theta = NO_ANGLE if before is None else before.gamma + normal.beta
        d = ZERO if before is None else before.c + normal.b
        if not (normal.exact and (before is None or before.exact)):
            d = rounded(d)
        rows.append(FoundRow(normal.a, normal.alpha, d, theta))
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
    """Transform from the joint to the frame, which standard DH has at the far end of the normal."""
    if convention == "mdh":
        return Transform()
    return Transform.translation(normal.a, 0, 0) @ normal.alpha.about(X)


def _notes(chain: SerialChain, normals: list[Normal], decide: Decisions) -> list[str]:
    """Notes on decisions by tolerance, and on axes that are nearly parallel."""
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
