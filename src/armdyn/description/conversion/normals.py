"""The common normal of two joint axes: any rigid transform as Rz(β) Tz(b) Tx(a) Rx(α) Rz(γ) Tz(c).

The transform leads from a frame whose z is one axis to a frame whose z is the next. Exact where its entries
decide; where they do not, in decimals, with what is below `TOLERANCE` taken as zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from armdyn.description.angles import PI
from armdyn.description.conversion.angles import HALF_TURN, NO_ANGLE, Angle, rounded
from armdyn.description.conversion.chain import Pose, known
from armdyn.expression import ZERO, Expression
from armdyn.model.robot_model import RobotModel

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
        """With x the other way."""
        return replace(
            self,
            beta=self.beta + HALF_TURN,
            a=-self.a,
            alpha=self.alpha if self.parallel else -self.alpha,
            gamma=self.gamma + HALF_TURN,
        )

    def turned(self, by: Angle) -> Normal:
        """Of coaxial joints: with x turned about z."""
        return replace(self, beta=self.beta + by, gamma=self.gamma + (by if self._is_opposed else -by))

    def slid(self, by: Expression) -> Normal:
        """Of parallel axes: the normal moved along z."""
        return replace(self, b=self.b + by, c=self.c + (by if self._is_opposed else -by))

    @property
    def _is_opposed(self) -> bool:
        return self.alpha == HALF_TURN


class Decisions:
    """What is zero and which way things point, with the values of a robot's symbols."""

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
        """Something with its sign; of what has free symbols, that of its first term."""
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
    """None where exact numbers do not give it."""
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
    return (
        None
        if factor is None
        else factor * Expression({tuple((a, e // 2) for a, e in monomial): Fraction(1)})
    )
