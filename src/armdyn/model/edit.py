"""Robots made from robots: with a payload, with every number a symbol, with symbols replaced."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, cast

from armdyn.expression import ZERO, Expression, shown
from armdyn.model.arguments import number, numbers, plain, table, three
from armdyn.model.bodies import impossible_bodies
from armdyn.model.errors import ModelError
from armdyn.model.friction import SINGLE, Friction
from armdyn.model.inertia import TENSOR_KEYS, Inertia, Tensor, asymmetry, matrix_tensor, tensor
from armdyn.model.parameters import symbol
from armdyn.model.parts import Link, Motor, Transform
from armdyn.model.robot_model import RobotModel, listed
from armdyn.model.springs import JointSpring, PointSpring
from armdyn.model.vector import ZERO3, Scalar, Vector, vector

_LONGEST_NAME = 120


def payload(mass: object, com: object, inertia: object) -> Inertia:
    """A body from what a caller gives: mass, centre of mass, and the tensor about it.

    The tensor is a table of its entries by name, a symmetric 3×3 matrix, or six entries xx xy xz yy yz zz.
    In the place of the mass there may be a whole body, which `com` then moves. In the place of the centre of
    mass there may be the pose of the body's frame: its centre of mass is the origin there (a whole body has
    its own), and the tensor is in its axes.
    """
    if isinstance(mass, Inertia):
        return _placed_body(mass, com, inertia)
    m, entries = number("payload: mass", mass), _tensor(plain(inertia))
    if isinstance(com, Transform):
        return Inertia(m, ZERO3, entries).placed(com.R, com.p)
    return Inertia.at_com(m, three("payload: com", com), entries)


def _placed_body(body: Inertia, com: object, inertia: object) -> Inertia:
    if inertia is not None:
        raise ModelError("payload: inertia: the body given has its own; leave one of them out")
    exact = Inertia.of([Expression.of(x) for x in body.entries])
    if isinstance(com, Transform):
        return exact.placed(com.R, com.p)
    place = three("payload: com", com)
    if place != ZERO3 and exact.moment != ZERO3:
        raise ModelError("payload: com: the body given has its own; leave one of them out")
    return exact.translated(place)


def _tensor(inertia: Any) -> Tensor:
    where = "payload: inertia"
    if not isinstance(inertia, (list, tuple)):
        entries = table(where, inertia, TENSOR_KEYS)
        return tensor(number(f"{where}.{key}", entries.get(key, 0)) for key in TENSOR_KEYS)
    if len(inertia) == 6:
        return tensor(numbers(where, inertia, 6))
    if len(inertia) != 3:
        found = f"found a list of {len(inertia)}"
        raise ModelError(f"{where}: expected 3×3 or 6 numbers ({' '.join(TENSOR_KEYS)}), {found}")
    M = vector(three(f"{where}[{i}]", row) for i, row in enumerate(inertia))
    if uneven := asymmetry(M):
        raise ModelError(f"{where}: expected a symmetric matrix, but {uneven}")
    return matrix_tensor(M)


def with_payload(model: RobotModel, load: Inertia, link: str | None = None) -> RobotModel:
    """The robot with a body fixed to its tip frame, or to the frame of the named link."""
    name: object = model.tip if link is None else link
    if not isinstance(name, str) or name not in (model.root, *model.index):
        raise ModelError(f"payload: no link {shown(name)}; links: {listed(list(model.index))}")
    if name == model.root:
        raise ModelError("payload: the base does not move; name a link")
    if load == Inertia():
        return model
    placed = load.placed(model.tool.R, model.tool.p) if link is None else load
    links = tuple(
        replace(part, inertia=part.inertia + placed) if part.name == name else part for part in model.links
    )
    place = "" if name == model.tip else f" on '{name}'"
    return replace(model, name=_loaded_name(model.name, load, place), links=links, derived=True)


def _loaded_name(name: str, load: Inertia, place: str) -> str:
    """Of an "arm" the "arm with payload 2 kg", and of that the "arm with payload 2 kg and 1 kg"."""
    mass = Expression.of(load.mass)
    text = str(mass) if mass.number is None else f"{float(mass.number):.6g} kg"
    longer = f"{name}{' and ' if ' with payload ' in name else ' with payload '}{text}{place}"
    if len(longer) <= max(_LONGEST_NAME, len(name)):
        return longer
    more = " and more" if " with payload " in name else " with payload"
    return name if name.endswith(more) else name + more


def named(values: object, more: Mapping[str, Any]) -> dict[str, Any]:
    """Values by symbol: a table of them or None, and those given by keyword."""
    if values is not None and not isinstance(values, Mapping):
        raise ModelError(f"values: expected a table of symbols and their values, found {shown(values)}")
    return {**(values or {}), **more}


def with_symbols(model: RobotModel, values: Mapping[str, object]) -> RobotModel:
    """The robot with other values of its symbols.

    A number is the symbol's new value; None (or "free") takes its value away; an expression in other symbols
    stands in the symbol's place everywhere, and the symbol is gone.
    """
    known = dict(model.symbols)
    exact = _exact_values(values, known, known)
    constants = {name: x for name, x in exact.items() if x is None or not x.symbols()}
    changed = replace(model, symbols=tuple((known | constants).items()), choice=None)
    changed = with_expressions(
        changed, {name: x for name, x in exact.items() if x is not None and x.symbols()}
    )
    before = set(impossible_bodies(model))
    for problem in impossible_bodies(changed):
        if problem not in before:
            raise ModelError(f"{listed(list(values))}: {problem}")
    return changed


def replaced(model: RobotModel, values: Mapping[str, object]) -> RobotModel:
    """The robot with symbols replaced by numbers or expressions, which may have new symbols, free ones."""
    known = dict(model.symbols)
    exact = {name: x for name, x in _exact_values(values, known, None).items() if x is not None}
    return with_expressions(declared(model, list(exact.values())), exact)


def with_expressions(model: RobotModel, values: Mapping[str, Expression]) -> RobotModel:
    """The robot with symbols replaced, all at once; those that no value has in it are declared no more."""
    used = {name for x in values.values() for name in x.symbols()}
    kept = tuple((name, x) for name, x in model.symbols if name not in values or name in used)
    return replace(substitute(model, values), symbols=kept)


def _exact_values(
    values: Mapping[str, object], known: Mapping[str, object], allowed: Collection[str] | None
) -> dict[str, Expression | None]:
    """Values by symbol, exactly; `allowed` are the symbols that may stand in them, None: any."""
    found: dict[str, Expression | None] = {}
    for name, value in values.items():
        if name not in known:
            raise ModelError(f"{shown(name)} is not a symbol of the robot; its symbols: {_names(known)}")
        if value is None or (isinstance(value, str) and value == "free"):
            if allowed is None:
                raise ModelError(f"{name}: expected a number or an expression, found {shown(value)}")
            found[name] = None
            continue
        exact = found[name] = number(name, value)
        if allowed is not None and (new := sorted(exact.symbols() - set(allowed))):
            raise ModelError(f"{name}: '{new[0]}' is not a symbol of the robot; its symbols: {_names(known)}")
    return found


def _names(known: Mapping[str, object]) -> str:
    return listed(list(known)) or "none"


Namer = Callable[[Scalar, str], Expression]  # of a number: the symbol of this name that stands for it
Placement = Callable[[Link, int, Namer], tuple[Transform, Transform]]


def by_position(link: Link, i: int, name: Namer) -> tuple[Transform, Transform]:
    """How link i is placed, before and after its joint, with its positions named px1, py1, pz1."""

    def named(T: Transform) -> Transform:
        return Transform(T.R, vector(name(x, f"p{axis}{i}") for x, axis in zip(T.p, "xyz", strict=True)))

    return named(link.before), named(link.after)


def symbolic(
    model: RobotModel, zeros: Literal["given", "free"] = "given", placed: Placement = by_position
) -> RobotModel:
    """The same robot with every number of its description a symbol that has that number as its value.

    Structure stays: zeros, directions, and orientations (an angle is in the equations by its cosine and sine,
    which are exact constants already). With `zeros = "free"` the inertial parameters that are zero become
    symbols as well. `placed` names the lengths.
    """
    naming = _Naming(model, zeros == "free")
    links = tuple(_symbolic_link(naming, i + 1, link, placed) for i, link in enumerate(model.links))
    gravity = vector(
        naming.signed(x, "g" if i == _first(model.gravity) else f"g{'xyz'[i]}")
        for i, x in enumerate(model.gravity)
    )
    tool = Transform(model.tool.R, naming.vector(model.tool.p, "t{axis}"))
    springs = tuple(naming.point_spring(spring, i + 1) for i, spring in enumerate(model.springs))
    symbols = (*model.symbols, *naming.new.items())
    return replace(model, links=links, gravity=gravity, tool=tool, springs=springs, symbols=symbols)


def with_rigid_joints(model: RobotModel) -> RobotModel:
    """The same robot without elasticity: motors turn with their links."""

    def rigid(link: Link) -> Link:
        motor = link.motor and replace(link.motor, stiffness=None, damping=ZERO)
        return replace(link, motor=motor) if link.elastic else link

    return replace(model, links=tuple(rigid(link) for link in model.links))


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
        velocity = f.stribeck_velocity
        if not f.stribeck.is_zero:
            single["stribeck"] = self(f.stribeck, f"{symbol('joint', 'stribeck')}{suffix}")
            velocity = self(velocity, f"vs{suffix}")
        return Friction(coulomb=pair, stribeck_velocity=velocity, **single)

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
            stiffness=None if motor.stiffness is None else self(motor.stiffness, f"Ke{i}"),
            damping=self(motor.damping, f"De{i}"),
        )

    def joint_spring(self, spring: JointSpring, i: int) -> JointSpring:
        if spring.is_zero:
            return spring
        return JointSpring(self(spring.stiffness, f"Ks{i}"), self(spring.rest, f"qr{i}"))

    def point_spring(self, spring: PointSpring, i: int) -> PointSpring:
        a, b = spring.at
        return replace(
            spring,
            at=(self.vector(a, f"u{{axis}}{i}"), self.vector(b, f"v{{axis}}{i}")),
            stiffness=self(spring.stiffness, f"Kp{i}"),
            rest=self(spring.rest, f"lr{i}"),
            force=self(spring.force, f"fp{i}"),
        )


def _symbolic_link(naming: _Naming, i: int, link: Link, placed: Placement) -> Link:
    before, after = placed(link, i, naming)
    return replace(
        link,
        before=before,
        after=after,
        inertia=naming.inertia(link.inertia, i),
        friction=naming.friction(link.friction, f"{i}"),
        motor=None if link.motor is None else naming.motor(link.motor, i),
        spring=naming.joint_spring(link.spring, i),
    )


def declared(model: RobotModel, used: Sequence[Expression]) -> RobotModel:
    """The model with the symbols in `used` declared, new ones as free."""
    known = {name for name, _ in model.symbols}
    new = sorted({name for x in used for name in x.symbols()} - known)
    return replace(model, symbols=(*model.symbols, *((name, None) for name in new)))
