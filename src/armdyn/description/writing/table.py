"""The table of a robot file, from a RobotModel; it reads as an equal robot."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import fields
from fractions import Fraction
from typing import Any, Literal

from armdyn.description.frames import FORMULAS, PARTS, angle_of, rpy_of, unit_vector, whole_ratios
from armdyn.description.robot_file import build
from armdyn.description.source import MAX_PRODUCTS, DescriptionError
from armdyn.expression import (
    ArmdynError,
    Expression,
    ExpressionError,
    MissingValueError,
    decimal_places,
    exact_float,
    limited,
)
from armdyn.expression.expression import Atom, Monomial
from armdyn.expression.parser import MAX_EXPONENT
from armdyn.model import impossible_bodies
from armdyn.model.closures import ClosingJoint, Relation
from armdyn.model.edit import Namer, Placement, by_position
from armdyn.model.friction import NO_FRICTION, FrictionCoefficients
from armdyn.model.inertia import TENSOR_KEYS, Inertia
from armdyn.model.parts import NO_SPRING, Limits, Link, Motor, MotorLimits, PointSpring, Transform, Z
from armdyn.model.robot_model import BASE, RobotModel
from armdyn.model.vector import IDENTITY, ZERO3, Vector, apply
from armdyn.names import quoted

# ------------------------------------------------------------------------------------------------------------
# Exact numbers as a robot file writes them: 2, 0.4318, "1/3", "pi/2", "l1 - a1".


Written = int | float | str
_LONGEST_INTEGER = 10**15
_MOST_DECIMALS = 60
_LONGEST_DIGITS = 250  # of a whole number
_LONGEST = 10**_LONGEST_DIGITS
_LEAST, _MOST = 1e-299, 1e299  # of decimals that are surely read
_SHORT_DENOMINATOR = 1000  # of a denominator that is written behind a product


def written(x: object) -> Written:
    """A number as a table has it: an integer, a float that is read as exactly this decimal, or a text."""
    exact = Expression.of(x)
    number = exact.number
    return text_of(exact) if number is None else _number(number)


def written_all(entries: Iterable[object]) -> list[Written]:
    return [written(x) for x in entries]


def text_of(x: Expression) -> str:
    """An expression as a text that reads as the same expression."""
    text = ""
    positive = next((term for term in x.terms if term[1] > 0), None)  # which reads best in front
    for monomial, coefficient in sorted(x.terms, key=lambda term: term is not positive):
        sign = (" - " if coefficient < 0 else " + ") if text else ("-" if coefficient < 0 else "")
        text += sign + _term(monomial, abs(coefficient))
    return text or "0"


def _term(monomial: Monomial, coefficient: Fraction) -> str:
    """A product; where the factor is a simple fraction, its denominator stands at the end: pi/2, a1/3."""
    n, d = coefficient.numerator, coefficient.denominator
    constant = bool(monomial) and all(atom.kind in ("pi", "sqrt") for atom, _ in monomial)
    behind = (
        1 < d < _SHORT_DENOMINATOR
        and n < _SHORT_DENOMINATOR
        and bool(monomial)
        and (constant or decimal_places(coefficient) is None)
    )
    factors = [_atom(atom) + (f"**{e}" if e != 1 else "") for atom, k in monomial for e in _powers(k)]
    front = Fraction(n) if behind else coefficient
    if front != 1 or not factors:
        factors.insert(0, str(_number(front)))
    return "*".join(factors) + (f"/{d}" if behind else "")


def _atom(atom: Atom) -> str:
    if atom.argument is None:
        return atom.name
    return f"{'inv' if atom.kind == 'inverse' else atom.kind}({text_of(atom.argument)})"


def _powers(exponent: int) -> list[int]:
    """An exponent as a sum of such that the reader takes."""
    sign, rest = (1 if exponent > 0 else -1), abs(exponent)
    parts = []
    while rest:
        parts.append(sign * min(rest, MAX_EXPONENT))
        rest -= abs(parts[-1])
    return parts


def _number(x: Fraction) -> Written:
    if x.denominator == 1 and abs(x) < _LONGEST_INTEGER:
        return int(x)
    decimal = exact_float(x)
    return _fraction_text(x) if decimal is None or not _LEAST <= abs(decimal) <= _MOST else decimal


def _fraction_text(x: Fraction) -> str:
    """1/3, or a decimal of many digits where that is shorter."""
    ratio = _whole(x.numerator) + (f"/{_whole(x.denominator)}" if x.denominator != 1 else "")
    places = decimal_places(x)
    if not places or places >= _MOST_DECIMALS:
        return ratio
    digits = f"{abs(x.numerator) * 10**places // x.denominator:0{places + 1}d}"
    text = f"{'-' if x < 0 else ''}{digits[:-places]}.{digits[-places:]}"
    return text if len(text) <= len(ratio) else ratio


def _whole(n: int) -> str:
    """A whole number; one longer than what is read as a number, as a sum of such."""
    if abs(n) < _LONGEST:
        return str(n)
    front, rest = divmod(abs(n), _LONGEST)
    text = f"{_whole(front)}*1e{_LONGEST_DIGITS}" + (f" + {rest}" if rest else "")
    return f"{'-' if n < 0 else ''}({text})"


# ------------------------------------------------------------------------------------------------------------
# The table of a robot.


Convention = Literal["dh", "mdh", "frames"]
Table = dict[str, Any]
_SHORT = 30  # characters: bodies with longer numbers are written about the origin where that is shorter


def table_of(model: RobotModel) -> Table:
    """The robot as the table of a robot file: standard or modified DH where all links have it, else frames.

    Numbers are integers, floats and texts, so the table can also be written as JSON. The robot that is read
    from the table is equal to the one given; if that cannot be, this is refused.
    """
    table = plain_table(model)
    try:
        with limited(MAX_PRODUCTS):
            same = build(table, model.name) == model
    except ArmdynError as error:
        raise DescriptionError(f"this robot cannot be written as a robot file: {error}") from None
    if not same:
        part = _lost(model, build(table, model.name))
        raise DescriptionError(f"this robot cannot be written as a robot file: {part} would change")
    return table


def plain_table(
    model: RobotModel, convention: Convention | None = None, about_origin: Collection[str] | None = None
) -> Table:
    """The same without the check, in a given convention.

    Bodies are about their centres of mass where that is exact, but those of the links `about_origin` are not;
    None: nor where it takes long numbers.
    """
    convention = convention or convention_of(model)
    table: Table = {"name": model.name, "convention": convention}
    if model.root != BASE or model.base != Transform():
        named = {"name": model.root} if model.root != BASE else {}
        table["base"] = named | (_pose(model.base) if model.base != Transform() else {})
    table["gravity"] = written_all(model.gravity)
    table["rotors"] = model.rotors
    if model.tip != model.links[-1].name:
        table["tip"] = model.tip
    if model.tool != Transform():
        table["tool"] = _pose(model.tool)
    if model.derived:
        table["derived"] = True
    if _is_impossible(model):
        table["physical"] = False
    if model.symbols:
        table["symbols"] = {name: "free" if x is None else written(x) for name, x in model.symbols}
    parents = (model.root, *(link.name for link in model.links))
    table["link"] = [
        _link(model, link, before, convention, about_origin)
        for link, before in zip(model.links, parents, strict=False)
    ]
    if model.relations or model.loops:
        table["closure"] = [*map(_relation, model.relations), *map(_loop, model.loops)]
    if model.springs:
        table["spring"] = [_point_spring(spring) for spring in model.springs]
    return table


def convention_of(model: RobotModel) -> Convention:
    """Standard DH where all links are so described, else modified DH, else frames."""
    if all(_dh_row(link, "dh") for link in model.links):
        return "dh"
    return "mdh" if all(_dh_row(link, "mdh") for link in model.links) else "frames"


def placement_of(model: RobotModel) -> Placement:
    """Placement of links with their lengths named: a2 and d3 of a DH table, else px2, py2 and pz2.

    In modified DH the row of joint i has a before it, Craig's a_{i-1}.
    """
    convention = convention_of(model)

    def by_row(link: Link, i: int, name: Namer) -> tuple[Transform, Transform]:
        row = _dh_row(link, convention)
        assert row is not None
        row["a"] = name(row["a"], f"a{i if convention == 'dh' else i - 1}")
        row["d"] = name(row["d"], f"d{i}")
        before, _, after = FORMULAS[convention](**row)
        return before, after

    return by_position if convention == "frames" else by_row


def _is_impossible(model: RobotModel) -> bool:
    try:
        return any(True for _ in impossible_bodies(model))
    except ExpressionError:  # said when the table is read
        return False


def _lost(model: RobotModel, other: RobotModel) -> str:
    """Name of the part of a robot that is not the same after reading it back."""
    for link, read in zip(model.links, other.links, strict=False):
        for key in ("before", "axis", "after", "inertia", "friction", "limits", "motor", "spring", "guess"):
            if getattr(link, key) != getattr(read, key):
                return f"link {quoted(link.name)}: {key}"
    keys = [field.name for field in fields(model) if field.compare and field.name != "links"]
    return next(key for key in (*keys, "links") if getattr(model, key) != getattr(other, key))


# ---- links -------------------------------------------------------------------------------------------------


def _link(
    model: RobotModel, link: Link, before: str, convention: Convention, about_origin: Collection[str] | None
) -> Table:
    table: Table = {"name": link.name}
    if link.parent != before:
        table["parent"] = link.parent
    table["joint"] = link.joint
    if link.joint_name:
        table["joint_name"] = link.joint_name
    table |= _placement(link, convention) | _body(model, link, about_origin)
    if link.friction != NO_FRICTION:
        table["friction"] = _friction(link.friction)
    if link.limits != Limits():
        table["limits"] = _limits(link.limits)
    if link.spring != NO_SPRING:
        table["spring"] = {"stiffness": written(link.spring.stiffness)}
        if not link.spring.rest.is_zero:
            table["spring"]["rest"] = written(link.spring.rest)
    if not link.actuated:
        table["actuated"] = False
    if not link.guess.is_zero:
        table["guess"] = written(link.guess)
    if link.motor is not None:
        table["motor"] = _motor(link, link.motor)
    return table


def _placement(link: Link, convention: Convention) -> Table:
    row = _dh_row(link, convention)
    if row is not None:
        return {key: written(x) for key, x in row.items()}
    table: Table = {"origin": _pose(link.before)}
    if link.joint != "fixed" or link.axis != Z:
        table["axis"] = written_direction(link.axis)
    if link.after != Transform():
        table["after"] = _pose(link.after)
    return table


def _dh_row(link: Link, convention: Convention) -> dict[str, Expression] | None:
    """a, alpha, d, theta of a link, if they are exact and the link is placed by this convention."""
    if convention == "frames":
        return None
    parts = PARTS[convention](link.after if convention == "dh" else link.before)
    if parts is None:
        return None
    alpha, theta = angle_of(*parts.alpha), angle_of(*parts.theta)
    if alpha is None or theta is None:
        return None
    row = {"a": parts.a, "alpha": alpha, "d": parts.d, "theta": theta}
    return row if FORMULAS[convention](**row) == (link.before, link.axis, link.after) else None


def _pose(T: Transform) -> Table:
    """Position, and the orientation by angles; by its matrix where there are no exact ones."""
    table: Table = {"xyz": written_all(T.p)}
    if T.R != IDENTITY:
        rpy = rpy_of(T.R)
        table |= {"rotation": [written_all(row) for row in T.R]} if rpy is None else {"rpy": written_all(rpy)}
    return table


def written_direction(axis: Vector) -> list[Written]:
    """A direction, in small whole numbers where there are any."""
    try:
        whole = [Expression.of(n) for n in whole_ratios([Expression.of(x) for x in axis]) or ()]
    except (ExpressionError, MissingValueError):  # a symbol in it has no value
        whole = []
    return written_all(whole if whole and unit_vector(whole) == axis else axis)


def _motor(link: Link, motor: Motor) -> Table:
    table: Table = {}
    if motor.carrier != link.parent:
        table["carrier"] = motor.carrier
    table["gear"] = written(motor.gear)
    table["inertia"] = (
        written(motor.axial)
        if motor.transverse.is_zero
        else {"axial": written(motor.axial), "transverse": written(motor.transverse)}
    )
    if not motor.mass.is_zero:
        table["mass"] = written(motor.mass)
    if motor.position != ZERO3:
        table["position"] = written_all(motor.position)
    if motor.carrier != link.parent or motor.axis != apply(link.before.R, link.axis):
        table["axis"] = written_direction(motor.axis)
    if motor.coupling:
        table["coupling"] = {name: written(k) for name, k in motor.coupling}
    if motor.friction != NO_FRICTION:
        table["friction"] = _friction(motor.friction)
    if motor.torque_constant != 1:
        table["torque_constant"] = written(motor.torque_constant)
    if motor.stiffness is not None:
        table["stiffness"] = written(motor.stiffness)
    if not motor.damping.is_zero:
        table["damping"] = written(motor.damping)
    if motor.limits != MotorLimits():
        table["limits"] = _limits(motor.limits)
    return table


def _friction(friction: FrictionCoefficients) -> Table:
    table: Table = {}
    for key, x in friction.table.items():
        if isinstance(x, dict):
            table[key] = {name: written(entry) for name, entry in x.items()}
        elif isinstance(x, list):
            table[key] = written_all(x)
        elif not x.is_zero:
            table[key] = written(x)
    return table


def _limits(limits: Limits | MotorLimits) -> Table:
    """Those that are given; a range of positions is two numbers."""
    given = {key: x for key, x in vars(limits).items() if x is not None}
    return {key: written_all(x) if isinstance(x, tuple) else written(x) for key, x in given.items()}


# ---- closures and springs ----------------------------------------------------------------------------------


def _relation(relation: Relation) -> Table:
    table: Table = {"relation": {name: written(c) for name, c in relation.coefficients}}
    return table if relation.offset.is_zero else table | {"offset": written(relation.offset)}


def _loop(loop: ClosingJoint) -> Table:
    table: Table = {"between": list(loop.between)}
    if loop.at != (Transform(), Transform()):
        table["at"] = [_pose(T) for T in loop.at]
    return table | {"joint": loop.joint}


def _point_spring(spring: PointSpring) -> Table:
    """Table of a spring without numbers that are zero; a spring without force still says its stiffness."""
    table: Table = {"name": spring.name} if spring.name else {}
    table |= {"between": list(spring.between), "at": [written_all(p) for p in spring.at]}
    numbers = {"stiffness": spring.stiffness, "rest": spring.rest, "force": spring.force}
    given = {key: written(x) for key, x in numbers.items() if not x.is_zero}
    if "stiffness" not in given and ("rest" in given or "force" not in given):
        given = {"stiffness": 0} | given
    return table | given


# ---- bodies ------------------------------------------------------------------------------------------------


def _body(model: RobotModel, link: Link, about_origin: Collection[str] | None) -> Table:
    """Mass, com and the tensor about it; where that is not exact or long, all about the frame's origin."""
    if link.inertia == Inertia():
        return {}
    by_moment = _about_origin(link.inertia)
    if about_origin is not None and link.name in about_origin:
        return by_moment
    by_com = _about_com(model, link.inertia)
    if by_com is None or (about_origin is None and _length(by_com) > max(_SHORT, _length(by_moment))):
        return by_moment
    return by_com


def _about_origin(inertia: Inertia) -> Table:
    table: Table = {"mass": written(inertia.mass)}
    if inertia.moment != ZERO3:
        table["first_moment"] = written_all(inertia.moment)
    entries = _entries(inertia.tensor)
    return table | ({"inertia": {"about": "origin"} | entries} if entries else {})


def _about_com(model: RobotModel, inertia: Inertia) -> Table | None:
    """Table about the com; None where the mass is zero, or where reading it would not give equal entries."""
    mass = Expression.of(inertia.mass)
    com, tensor = inertia.moment, inertia.tensor
    if com != ZERO3:
        if model.value(mass) == 0:
            return None
        try:
            com, tensor = inertia.com, inertia.tensor_at_com
            for x in (*com, *tensor):
                model.value(x)
        except ExpressionError:  # too large, or it divides by zero with the symbols' values
            return None
        if Inertia.at_com(mass, com, tensor) != inertia:
            return None
    table: Table = {"mass": written(mass)}
    if not mass.is_zero:
        table["com"] = written_all(com)
    entries = _entries(tensor)
    return table | ({"inertia": entries} if entries else {})


def _entries(tensor: tuple[Any, ...]) -> Table:
    pairs = zip(TENSOR_KEYS, map(Expression.of, tensor), strict=True)
    return {key: written(x) for key, x in pairs if not x.is_zero}


def _length(table: Table) -> int:
    """Length of the longest number of a body."""
    moments = table["com"] if "com" in table else table.get("first_moment", [])
    return max(len(str(x)) for x in (*moments, *table.get("inertia", {}).values(), table["mass"]))
