"""Equations in given combinations of parameters, such as π_3 = I_2xx − I_2yy − a_2² m_3.

Each combination is solved for one of its symbols, which is replaced in the description; what the combinations
do not determine stays. If they are complete, the replaced symbols cancel from the equations by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from armdyn.expression import ArmdynError, Atom, Expression, parse
from armdyn.model import edit
from armdyn.model.lowering import lower
from armdyn.model.robot_model import RobotModel


class CombinationError(ArmdynError):
    """A combination cannot be solved for any of its symbols."""


def in_terms_of(model: RobotModel, combinations: Mapping[str, str]) -> RobotModel:
    """The robot described in new symbols, each standing for a combination of old ones."""
    known = dict(model.symbols)
    texts = {name: parse(text, known.keys()) for name, text in combinations.items()}
    for name in texts:
        if name in known or not name.isidentifier():
            raise CombinationError(f"'{name}' is not a new name; the robot has {', '.join(known)}")
    geometry = {
        symbol
        for x in lower(model, lambda x: x).scalars(parameters=False)
        if isinstance(x, Expression)
        for symbol in x.symbols()
    }
    solved: dict[str, Expression] = {}
    for name, combination in texts.items():
        others = [x for other, x in texts.items() if other != name]
        current = combination.substitute(solved)
        pivot, coefficient = _pivot(name, current, geometry | texts.keys(), others)
        rest = current - coefficient * Expression.symbol(pivot)
        value = (Expression.symbol(name) - rest) / coefficient
        solved = {old: x.substitute({pivot: value}) for old, x in solved.items()}
        solved[pivot] = value
    new = [(name, _value(model, combination)) for name, combination in texts.items()]
    changed = edit.substitute(model, solved)
    kept = [(name, value) for name, value in model.symbols if name not in solved]
    return replace(changed, symbols=(*kept, *new))


def _pivot(
    name: str, combination: Expression, excluded: set[str], others: list[Expression]
) -> tuple[str, Expression]:
    """The symbol to solve for: linear in it, with the simplest factor, and little used elsewhere."""
    candidates = []
    for symbol in sorted(combination.symbols() - excluded):
        atom = Atom("symbol", symbol)
        with_it = [(m, c) for m, c in combination.terms if atom in dict(m)]
        inside = any(a.argument and symbol in a.argument.symbols() for a in combination.atoms())
        if len(with_it) == 1 and dict(with_it[0][0])[atom] == 1 and not inside:
            monomial, c = with_it[0]
            coefficient = Expression({tuple((a, e) for a, e in monomial if a != atom): c})
            if coefficient.symbols() & excluded:
                continue
            used = sum(symbol in x.symbols() for x in others)
            candidates.append((len(coefficient.symbols()), used, symbol, coefficient))
    if not candidates:
        raise CombinationError(f"{name} = {combination}: it cannot be solved for any inertial symbol in it")
    _, _, symbol, coefficient = min(candidates, key=lambda c: c[:3])
    return symbol, coefficient


def _value(model: RobotModel, combination: Expression) -> Expression | None:
    """The exact value of a combination, None while a symbol in it is free."""
    values = {name: value for name, value in model.symbols if value is not None}
    return combination.substitute(values) if combination.symbols() <= values.keys() else None
