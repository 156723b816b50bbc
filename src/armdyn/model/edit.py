"""Robots made from robots: with a payload, with every number a symbol, with symbols replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, cast

from armdyn.expression import Expression, shown
from armdyn.model.arguments import number, table, three
from armdyn.model.errors import ModelError
from armdyn.model.friction import SINGLE, Friction
from armdyn.model.inertia import TENSOR_KEYS, Inertia, tensor
from armdyn.model.parameters import symbol
from armdyn.model.parts import Link, Motor, Transform
from armdyn.model.robot_model import RobotModel, listed
from armdyn.model.vector import Scalar, Vector, vector


def payload(mass: object, com: object, inertia: object) -> Inertia:
    """A body from what a caller gives: mass, centre of mass, and entries of the tensor about it by name."""
    entries = table("payload: inertia", inertia, TENSOR_KEYS)
    moments = tensor(number(f"payload: inertia.{key}", entries.get(key, 0)) for key in TENSOR_KEYS)
    return Inertia.at_com(number("payload: mass", mass), three("payload: com", com), moments)


def with_payload(model: RobotModel, load: Inertia, link: str | None = None) -> RobotModel:
    """The robot with a body fixed to its tip frame, or to the frame of the named link."""
    name: object = model.tip if link is None else link
    if not isinstance(name, str) or name not in (model.root, *model.index):
        raise ModelError(f"payload: no link {shown(name)}; links: {listed(list(model.index))}")
    if name == model.root:
        raise ModelError("payload: the base does not move; name a link")
    placed = load.placed(model.tool.R, model.tool.p) if link is None else load
    links = tuple(
        replace(part, inertia=part.inertia + placed) if part.name == name else part for part in model.links
    )
    return replace(model, links=links, derived=True)


def symbolic(model: RobotModel, zeros: Literal["given", "free"] = "given") -> RobotModel:
    """The same robot with every number of its description a symbol that has that number as its value.

    Structure stays: zeros, directions, and orientations (an angle is in the equations by its cosine and sine,
    which are exact constants already). With `zeros = "free"` the inertial parameters that are zero become
    symbols as well.
    """
    naming = _Naming(model, zeros == "free")
    links = tuple(_symbolic_link(naming, i + 1, link) for i, link in enumerate(model.links))
    gravity = vector(
        naming.signed(x, "g" if i == _first(model.gravity) else f"g{'xyz'[i]}")
        for i, x in enumerate(model.gravity)
    )
    tool = Transform(model.tool.R, naming.vector(model.tool.p, "t{axis}"))
    return replace(
        model, links=links, gravity=gravity, tool=tool, symbols=(*model.symbols, *naming.new.items())
    )


def substitute(model: RobotModel, values: Mapping[str, Expression]) -> RobotModel:
    """The robot with symbols replaced by expressions, exactly, wherever they occur."""
    return cast(RobotModel, _mapped(model, lambda x: x.substitute(values)))


def _mapped(part: Any, function: Callable[[Expression], Expression]) -> Any:
    """A part of a model with a function applied to every exact number in it."""
    if isinstance(part, Expression):
        return function(part)
    if isinstance(part, tuple):
        return tuple(_mapped(x, function) for x in part)
    if is_dataclass(part) and not isinstance(part, type):
        return type(part)(**{f.name: _mapped(getattr(part, f.name), function) for f in fields(part)})
    return part


def _first(v: Vector) -> int:
    return next((i for i, x in enumerate(v) if not Expression.of(x).is_zero), 0)


class _Naming:
    """Gives a number a name of its own; leaves zeros and what already has symbols alone."""

    def __init__(self, model: RobotModel, inertial_zeros: bool) -> None:
        self.taken = {name for name, _ in model.symbols}
        self.new: dict[str, Expression | None] = {}
        self.inertial_zeros = inertial_zeros
        self.ordinal = {link.name: i + 1 for i, link in enumerate(model.links)}

    def __call__(self, x: Scalar, name: str, zero: bool = False) -> Expression:
        value = Expression.of(x)
        if value.symbols() or (value.is_zero and not zero):
            return value
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        self.new[name] = value
        return Expression.symbol(name)

    def signed(self, x: Scalar, name: str) -> Expression:
        """A negative number becomes minus a positive symbol: gravity prints as −g."""
        number = Expression.of(x).number
        return -self(-number, name) if number is not None and number < 0 else self(x, name)

    def vector(self, v: Vector, pattern: str, zero: bool = False) -> Vector:
        return vector(self(x, pattern.format(axis=a), zero) for x, a in zip(v, "xyz", strict=True))

    def inertia(self, body: Inertia, i: int) -> Inertia:
        free = self.inertial_zeros
        mass = Expression.of(body.mass)
        massless = mass.is_zero and all(Expression.of(h).is_zero for h in body.moment)
        keys = TENSOR_KEYS
        com = body.moment if massless else body.com if not mass.is_zero else None
        if com is None:  # a first moment without mass: only the linear form can say it
            moment = self.vector(body.moment, f"mc{{axis}}{i}", free)
            entries = tensor(self(x, f"I{k}{i}", free) for x, k in zip(body.tensor, keys, strict=True))
            return Inertia(self(mass, f"m{i}", free), moment, entries)
        about_com = body.tensor if massless else body.tensor_at_com
        return Inertia.at_com(
            self(mass, f"m{i}", free),
            self.vector(com, f"c{{axis}}{i}", free),
            tensor(self(x, f"I{k}{i}", free) for x, k in zip(about_com, keys, strict=True)),
        )

    def friction(self, f: Friction, suffix: str) -> Friction:
        forward, backward = f.coulomb
        if f.coefficients["asymmetry"].is_zero:
            coulomb = self(forward, f"{symbol('joint', 'coulomb')}{suffix}")
            pair = (coulomb, -coulomb)
        else:
            pair = (self(forward, f"Fp{suffix}"), self(backward, f"Fn{suffix}"))
        single = {name: self(getattr(f, name), f"{symbol('joint', name)}{suffix}") for name in SINGLE}
        return Friction(coulomb=pair, **single)

    def motor(self, motor: Motor, i: int) -> Motor:
        return replace(
            motor,
            gear=self(motor.gear, f"kr{i}"),
            axial=self(motor.axial, f"Im{i}"),
            transverse=self(motor.transverse, f"It{i}"),
            mass=self(motor.mass, f"mm{i}"),
            position=self.vector(motor.position, f"pm{{axis}}{i}"),
            coupling=tuple((name, self(k, f"k{i}_{self.ordinal[name]}")) for name, k in motor.coupling),
            friction=self.friction(motor.friction, f"m{i}"),
        )


def _symbolic_link(naming: _Naming, i: int, link: Link) -> Link:
    return replace(
        link,
        before=Transform(link.before.R, naming.vector(link.before.p, f"p{{axis}}{i}")),
        after=Transform(link.after.R, naming.vector(link.after.p, f"p{{axis}}{i}")),
        inertia=naming.inertia(link.inertia, i),
        friction=naming.friction(link.friction, f"{i}"),
        motor=None if link.motor is None else naming.motor(link.motor, i),
    )


def declared(model: RobotModel, used: Sequence[Expression]) -> RobotModel:
    """The model with the symbols in `used` declared, new ones as free."""
    known = {name for name, _ in model.symbols}
    new = sorted({name for x in used for name in x.symbols()} - known)
    return replace(model, symbols=(*model.symbols, *((name, None) for name in new)))
