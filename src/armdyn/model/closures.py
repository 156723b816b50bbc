"""Closures: joints that close chains, and linear relations between joints.

Relations Σ c_j q_j = offset are solved for as many joints as there are relations. The joints that are left,
in the robot's order, are the independent coordinates x: q = S x + s₀.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from armdyn.expression import ZERO, Expression
from armdyn.model.errors import ModelError
from armdyn.model.friction import Row
from armdyn.model.parts import Transform
from armdyn.names import listed, one_line

# ------------------------------------------------------------------------------------------------------------
# Closed chains: two links of the tree, joined by a further joint.
#
# Frame a on one link and frame b on the other are tied by rows of
#
#     R_aᵀ(p_b − p_a) = 0 (x, y, z)    and    the rotation vector of R_aᵀR_b, to first order (x, y, z).
#
# A revolute joint about the frames' z leaves the last row out, a spherical joint the last three. Not all
# rows are independent: `ChosenCoordinates` says which are kept and which joints follow, found once from
# assembled postures.


ClosingKind: TypeAlias = Literal["revolute", "spherical", "fixed", "point"]
CLOSING_KINDS: tuple[ClosingKind, ...] = get_args(ClosingKind)
ROWS: dict[ClosingKind, tuple[int, ...]] = {
    "revolute": (0, 1, 2, 3, 4),
    "spherical": (0, 1, 2),
    "point": (0, 1, 2),  # another word for it
    "fixed": (0, 1, 2, 3, 4, 5),
}


@dataclass(frozen=True)
class ClosingJoint:
    """A joint that closes a chain, between frames on two links (the base may be one of them)."""

    between: tuple[str, str]
    at: tuple[Transform, Transform]
    joint: ClosingKind

    @property
    def label(self) -> str:
        return f"{self.between[0]} - {self.between[1]}"


@dataclass(frozen=True)
class ChosenCoordinates:
    """The coordinates that were chosen for a robot with closed chains.

    Positions are those of the joints that no relation eliminates, in their order, then of elastic motors.
    """

    free: tuple[int, ...]  # which positions are the coordinates
    rows: tuple[
        tuple[int, ...], ...
    ]  # of each closing joint, which of its rows are kept: as many as joints follow, or more
    posture: tuple[float, ...]  # all positions of a posture in which the chains are closed
    redundant: int = 0  # how many rows follow from the others
    size: float = 1.0  # about the largest length in the robot [m]: what lengths are measured in beside angles


# ------------------------------------------------------------------------------------------------------------
# Linear relations between joints.


_CONTRADICTS = 1e-9  # rad or m: what relations may be off by, where positions are rounded


@dataclass(frozen=True)
class Relation:
    """Σ c_j q_j = offset, joints by the names of their links.

    It is solved for the first passive joint named in it; where none is passive, for the first one named.
    """

    coefficients: tuple[tuple[str, Expression], ...]
    offset: Expression = ZERO


@dataclass(frozen=True)
class Dependence:
    """q = S x + s₀: how every moving joint follows from the independent ones."""

    independent: tuple[int, ...]  # which moving joints are the coordinates
    rows: tuple[Row, ...]  # S by rows, one a moving joint: (coordinate, factor)
    offsets: tuple[Expression, ...]  # s₀


_Sum = tuple[dict[str, Expression], Expression]  # Σ c_j q_j + constant


def solve_relations(
    joints: Sequence[str],
    relations: Sequence[Relation],
    value: Callable[[object], float | None],
    passive: Collection[str] = (),
) -> Dependence:
    """Eliminate one joint a relation, passive ones first; `value` gives numbers where symbols have them.

    A passive joint is a coordinate only if the relations leave no choice.
    """
    solved: dict[str, _Sum] = {}
    for k, relation in enumerate(relations):
        where = f"closure {k + 1}: relation"
        terms, constant = _reduced(where, relation, solved, joints)
        pivot = _pivot(relation, terms, passive)
        found = _solved(where, pivot, terms, constant, value)
        solved = {name: _substituted(old, {pivot: found}) for name, old in solved.items()}
        solved[pivot] = found
    independent = [name for name in joints if name not in solved]
    if not independent:
        raise ModelError("closure: the relations leave no joint free to move")
    number = {name: i for i, name in enumerate(independent)}
    own: dict[str, _Sum] = {name: ({name: Expression.of(1)}, ZERO) for name in independent}
    sums = [(own | solved)[name] for name in joints]
    return Dependence(
        tuple(joints.index(name) for name in independent),
        tuple(tuple(sorted((number[name], c) for name, c in terms.items())) for terms, _ in sums),
        tuple(constant for _, constant in sums),
    )


def settled(
    relations: Sequence[Relation],
    positions: Mapping[str, Expression],
    value: Callable[[object], float | None],
    passive: Collection[str] = (),
) -> tuple[dict[str, Expression], tuple[Relation, ...]]:
    """All joints that stand still once some are held at `positions`, and the relations between the others.

    Positions that contradict a relation are refused.
    """
    standing = dict(positions)
    while True:
        held: dict[str, _Sum] = {name: ({}, x) for name, x in standing.items()}
        solved: dict[str, _Sum] = {}
        left: list[Relation] = []
        for k, relation in enumerate(relations):
            where = f"closure {k + 1}: relation"
            own = _substituted((dict(relation.coefficients), -relation.offset), held)
            terms, constant = _substituted(own, solved)
            if not terms:
                _refuse_contradiction(where, relation, constant, value)
                continue
            touched = any(name in standing for name, _ in relation.coefficients)
            left.append(Relation(tuple(own[0].items()), -own[1]) if touched else relation)
            pivot = _pivot(relation, terms, passive)
            found = _solved(where, pivot, terms, constant, value)
            solved = {name: _substituted(old, {pivot: found}) for name, old in solved.items()}
            solved[pivot] = found
        further = {name: constant for name, (terms, constant) in solved.items() if not terms}
        if not further:
            return standing, tuple(left)
        standing |= further


def _refuse_contradiction(
    where: str, relation: Relation, off: Expression, value: Callable[[object], float | None]
) -> None:
    number = value(off)
    if not off.is_zero and (number is None or abs(number) > _CONTRADICTS):
        names = listed([name for name, _ in relation.coefficients])
        raise ModelError(f"{where}: these positions of {names} contradict it, by {off}")


def _reduced(where: str, relation: Relation, solved: dict[str, _Sum], joints: Sequence[str]) -> _Sum:
    """A relation as a sum that is zero, in joints that those before it leave free."""
    for name, _ in relation.coefficients:
        if name not in joints:
            names = listed(joints)
            raise ModelError(f"{where}: found '{one_line(name)[:60]}'; moving links: {names}")
    terms, constant = _substituted((dict(relation.coefficients), -relation.offset), solved)
    if not terms:
        reason = "follows from those before it" if constant.is_zero else "contradicts those before it"
        raise ModelError(f"{where}: it {reason}")
    return terms, constant


def _pivot(relation: Relation, terms: dict[str, Expression], passive: Collection[str]) -> str:
    """The joint that a relation is solved for: a passive one if there is one, else the first one named.

    What the relation does not name itself comes last: it stands there for joints solved before.
    """
    named = [name for name, _ in relation.coefficients if name in terms]
    candidates = [*named, *(name for name in terms if name not in named)]
    return next((name for name in candidates if name in passive), candidates[0])


def _solved(
    where: str,
    pivot: str,
    terms: dict[str, Expression],
    constant: Expression,
    value: Callable[[object], float | None],
) -> _Sum:
    """The joint that a relation is solved for, as a sum of the others and a constant."""
    c = terms[pivot]
    if value(c) == 0:
        raise ModelError(f"{where}: the coefficient of '{one_line(pivot)[:60]}' is {str(c)[:60]}, which is 0")
    return {name: -x / c for name, x in terms.items() if name != pivot}, -constant / c


def _substituted(total: _Sum, solved: dict[str, _Sum]) -> _Sum:
    """A sum with joints replaced by their solutions."""
    terms: dict[str, Expression] = {}
    constant = total[1]
    for name, c in total[0].items():
        inner, shift = solved.get(name, ({name: Expression.of(1)}, ZERO))
        for other, k in inner.items():
            terms[other] = terms.get(other, ZERO) + c * k
        constant = constant + c * shift
    return {name: c for name, c in terms.items() if not c.is_zero}, constant


def sum_text(terms: Sequence[tuple[str, object]], offset: Expression = ZERO) -> str:
    """Σ c·name + offset, as it is written."""
    parts = []
    for name, factor in terms:
        c = Expression.of(factor)
        sign, size = ("-", -c) if c.terms[0][1] < 0 else ("+", c)
        text = str(size) if len(c.terms) == 1 else f"({size})"
        parts.append(f"{sign} {name}" if size == 1 else f"{sign} {text}*{name}")
    if not offset.is_zero or not parts:
        parts.append(f"- {-offset}" if offset.terms and offset.terms[0][1] < 0 else f"+ {offset}")
    first = parts[0].removeprefix("+ ").replace("- ", "-", 1)
    return " ".join([first, *parts[1:]])
