"""The parameter vector: its table, and how it is read from and written to mechanisms and models.

`TABLE` has one row for each kind of parameter: its symbol, what has it and which number of that it is. The
names are promises to users: a symbol and the number of the joint, counted from one. A block's parameters
stand together, joint by joint. First, for every joint, those of (7.77) with Fv and Fs: the augmented link
about its frame's origin, the rotor of the motor that drives the joint, friction. Then, where the robot has
them: Coulomb asymmetry of joints, friction of motors that turn with several joints, offsets, Stribeck levels,
cubic coefficients, load coefficients; stiffness and stiffness·rest of springs at joints; stiffness, then
damping of elastic transmissions; stiffness and preload of springs between points; rotor inertia and friction
of idlers, the motors of fixed joints that other joints spin. Springs between points and idlers are numbered
as such. (Stribeck velocities are fixed, as geometry is.) The torque is linear in all parameters but the load
coefficients: |τ_r|, which these multiply, depends on the others. The regressor's column of a load coefficient
is zero.

A further parameter is a row here and its column in `dynamics/regressor.py` (and `dynamics/energy.py` if it
stores energy). Those of friction come from `TERMS` of `model/friction.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from armdyn.expression import ZERO, Expression
from armdyn.model.errors import ModelError
from armdyn.model.friction import NO_FRICTION, TERMS, FrictionCoefficients, Surface
from armdyn.model.inertia import ENTRIES, Inertia
from armdyn.model.mechanism import Mechanism, Spring, Strut
from armdyn.model.parts import JointSpring, Link, PointSpring
from armdyn.model.robot_model import (
    RobotModel,
    damping,
    has_idler_friction,
    has_motor_friction,
    idlers,
    joint_friction,
    lower,
)
from armdyn.model.vector import Scalar

Part: TypeAlias = Literal["body", "rotor", "joint", "motor", "spring", "elastic", "damper", "strut", "idler"]


@dataclass(frozen=True)
class ParameterKind:
    """A row of the table."""

    symbol: str  # m of m1
    part: (
        Part  # the augmented link; the joint's rotor; friction of the joint, or of its coupled motor; springs
    )
    entry: str  # an entry of `Inertia`, the rotor's inertia, a term of friction, or a number of a spring

    @property
    def is_linear(self) -> bool:
        """Whether torques are linear in it: they are not in the coefficients of load friction."""
        return not (self.entry in TERMS and TERMS[self.entry].is_loaded)


_EVERYWHERE = ("viscous", "coulomb")  # friction that every joint and coupled motor has a parameter of
_JOINT = {name: ParameterKind(term.symbol, "joint", name) for name, term in TERMS.items()}
_FURTHER = [kind for name, kind in _JOINT.items() if name not in (*_EVERYWHERE, "asymmetry")]
_AT_MOTORS = [(term.symbol, name) for name, term in TERMS.items() if term.at_motors]

TABLE: tuple[tuple[ParameterKind, ...], ...] = (
    (
        *(ParameterKind(entry, "body", entry) for entry in ENTRIES),
        ParameterKind("Im", "rotor", "inertia"),
        *(_JOINT[name] for name in _EVERYWHERE),
    ),
    (_JOINT["asymmetry"],),
    tuple(ParameterKind(f"{symbol}m", "motor", name) for symbol, name in _AT_MOTORS),
    *((kind,) for kind in _FURTHER),
    (ParameterKind("Ks", "spring", "stiffness"), ParameterKind("Kr", "spring", "moment")),
    (ParameterKind("Ke", "elastic", "stiffness"),),
    (ParameterKind("De", "damper", "viscous"),),
    (ParameterKind("Kp", "strut", "stiffness"), ParameterKind("Pp", "strut", "preload")),
    (
        ParameterKind("Imi", "idler", "inertia"),
        *(ParameterKind(f"{symbol}i", "idler", name) for symbol, name in _AT_MOTORS),
    ),
)
SPRINGS = ("spring", "elastic", "strut")  # parts that store energy in a posture, whatever gravity is
KINDS = {kind.symbol: kind for block in TABLE for kind in block}
_SYMBOLS = {(kind.part, kind.entry): kind.symbol for kind in KINDS.values()}


class Parameter(NamedTuple):
    """An entry of the vector: a kind of parameter, by its symbol, and a joint, counted from zero."""

    symbol: str
    joint: int

    @property
    def name(self) -> str:
        return f"{self.symbol}{self.joint + 1}"

    @property
    def kind(self) -> ParameterKind:
        return KINDS[self.symbol]


Layout: TypeAlias = tuple[Parameter, ...]


def symbol(part: Part, entry: str) -> str:
    """Symbol of the parameter that is this entry of a part."""
    return _SYMBOLS[part, entry]


# ---- what a robot has --------------------------------------------------------------------------------------


def layout(model: RobotModel) -> Layout:
    """The parameters of a robot, in the order of the vector."""
    always, *others = TABLE
    frictions = [joint_friction(model, link) for link in model.moving]
    coupled = [has_motor_friction(model, link) for link in model.moving]
    elastic = [link in model.elastic for link in model.moving]
    has: dict[Part, Callable[[ParameterKind, int], bool]] = {
        "joint": lambda kind, j: not frictions[j][kind.entry].is_zero,
        "motor": lambda kind, j: coupled[j] and _rubs_by(kind, model.moving[j]),
        "spring": lambda _, j: not model.moving[j].spring.is_zero,
        "elastic": lambda _, j: elastic[j],
        "damper": lambda _, j: elastic[j] and not damping(model.moving[j]).is_zero,
    }
    joints = range(len(model.moving))
    found = [Parameter(kind.symbol, joint) for joint in joints for kind in always]
    for block in others:
        if block[0].part == "strut":
            found += [Parameter(kind.symbol, i) for i in range(len(model.springs)) for kind in block]
        elif block[0].part == "idler":
            found += [
                Parameter(kind.symbol, i)
                for i, link in enumerate(idlers(model))
                for kind in block
                if kind.entry == "inertia" or (has_idler_friction(model, link) and _rubs_by(kind, link))
            ]
        else:
            found += [Parameter(kind.symbol, j) for j in joints for kind in block if has[kind.part](kind, j)]
    return tuple(found)


def _rubs_by(kind: ParameterKind, link: Link) -> bool:
    """Whether a motor that has friction has a parameter of this term."""
    assert link.motor is not None
    return kind.entry in _EVERYWHERE or not link.motor.friction[kind.entry].is_zero


def parameter_names(model: RobotModel) -> tuple[str, ...]:
    return tuple(parameter.name for parameter in layout(model))


# ---- mechanisms --------------------------------------------------------------------------------------------


def parameter_values(mechanism: Mechanism) -> dict[Parameter, Scalar]:
    """Every parameter of a mechanism over its own scalar; of a joint without a rotor there is no Im."""
    return {
        Parameter(_SYMBOLS[part, entry], joint): x
        for part, joint, entries in _parts(mechanism)
        for entry, x in entries.items()
        if (part, entry) in _SYMBOLS
    }


def _parts(mechanism: Mechanism) -> Iterator[tuple[Part, int, dict[str, Scalar]]]:
    """Parts that have parameters, each with its joint and its numbers by entry."""
    for joint, body in enumerate(mechanism.bodies):
        yield "body", joint, dict(zip(ENTRIES, body.inertia.entries, strict=True))
    for rotor in mechanism.rotors:
        yield rotor.part, rotor.joint, {"inertia": rotor.inertia}
    for surface in mechanism.friction:
        yield surface.part, surface.joint, surface.coefficients
    for spring in mechanism.springs:
        yield spring.part, spring.joint, {"stiffness": spring.stiffness, "moment": spring.moment}
    for strut in mechanism.struts:
        yield "strut", strut.number, {"stiffness": strut.stiffness, "preload": strut.preload}


def parameter_vector(mechanism: Mechanism, layout: Sequence[Parameter]) -> list[Scalar]:
    """The parameters of a mechanism in the order of its model's layout."""
    values = parameter_values(mechanism)
    return [values.get(parameter, 0) for parameter in layout]


def mechanism_with(mechanism: Mechanism, values: Sequence[Scalar], layout: Sequence[Parameter]) -> Mechanism:
    """The mechanism with other parameters, in any scalar; those not in the layout are zero."""
    given: dict[tuple[str, int], Scalar] = dict(zip(layout, values, strict=True))

    def value(part: Part, entry: str, joint: int) -> Scalar:
        return given.get((_SYMBOLS.get((part, entry), ""), joint), 0)

    def surface(old: Surface) -> Surface:
        return old.with_coefficients({name: value(old.part, name, old.joint) for name in TERMS})

    def spring(old: Spring) -> Spring:
        k, moment = (value(old.part, entry, old.joint) for entry in ("stiffness", "moment"))
        return replace(old, stiffness=k, moment=moment)

    def strut(old: Strut) -> Strut:
        k, preload = (value("strut", entry, old.number) for entry in ("stiffness", "preload"))
        return replace(old, stiffness=k, preload=preload)

    joints = range(len(mechanism.bodies))
    bodies = [Inertia.of([value("body", entry, j) for entry in ENTRIES]) for j in joints]
    return replace(
        mechanism,
        bodies=tuple(replace(old, inertia=x) for old, x in zip(mechanism.bodies, bodies, strict=True)),
        rotors=tuple(replace(old, inertia=value(old.part, "inertia", old.joint)) for old in mechanism.rotors),
        friction=tuple(surface(old) for old in mechanism.friction),
        springs=tuple(spring(old) for old in mechanism.springs),
        struts=tuple(strut(old) for old in mechanism.struts),
    )


# ---- models ------------------------------------------------------------------------------------------------


def with_parameters(model: RobotModel, values: Sequence[Expression]) -> RobotModel:
    """The robot whose parameter vector is `values`.

    Motors keep their masses, positions and transverse inertias, and fixed links their bodies: what of the
    new values these do not explain goes to the moving links, so the vector is met exactly.
    """
    wanted = layout(model)
    if len(values) != len(wanted):
        raise ModelError(f"parameters: expected {len(wanted)} parameters ({model.name}), found {len(values)}")
    given = dict(zip(wanted, values, strict=True))
    links = {link.name: link for link in model.links}
    for joint, link in enumerate(model.moving):
        links[link.name] = _with_motor(model, joint, link, given)
    for i, link in enumerate(idlers(model)):
        links[link.name] = _with_idler(i, link, given)
    bare = replace(model, links=tuple(_bare(links[link.name]) for link in model.links))
    rest = lower(bare, lambda x: x)
    target = mechanism_with(rest, values, wanted)
    for joint, link in enumerate(model.moving):
        own, already = target.friction[joint].coefficients, rest.friction[joint].coefficients
        links[link.name] = replace(
            links[link.name],
            inertia=target.bodies[joint].inertia - rest.bodies[joint].inertia,
            friction=FrictionCoefficients.of(
                {name: own[name] - already[name] for name in TERMS},
                link.friction.stribeck_velocity,
                link.friction.width,
            ),
            spring=_joint_spring(model, joint, given),
        )
    return replace(
        model,
        links=tuple(links[link.name] for link in model.links),
        springs=tuple(_point_spring(i, spring, given) for i, spring in enumerate(model.springs)),
        derived=True,
    )


def _joint_spring(model: RobotModel, joint: int, given: dict[Parameter, Expression]) -> JointSpring:
    """The spring at a joint: its rest is moment/stiffness."""
    own = model.moving[joint].spring
    stiffness, moment = (Parameter(symbol("spring", entry), joint) for entry in ("stiffness", "moment"))
    if stiffness not in given:
        return own
    if given[stiffness].is_zero:
        if not given[moment].is_zero:
            raise ModelError(
                f"{moment.name} is {given[moment]}, but {stiffness.name} is 0: a spring without stiffness "
                "has no torque; 0 is allowed"
            )
        return replace(own, stiffness=ZERO)
    return JointSpring(given[stiffness], given[moment] / given[stiffness])


def _point_spring(number: int, own: PointSpring, given: dict[Parameter, Expression]) -> PointSpring:
    """A spring that had no force of its own gets another rest length, if it can have one; others a force."""
    k, preload = (given[Parameter(symbol("strut", entry), number)] for entry in ("stiffness", "preload"))
    if own.force.is_zero and not k.is_zero:
        rest = preload / k
        if rest.number is None or rest.number >= 0:
            return replace(own, stiffness=k, rest=rest)
    return replace(own, stiffness=k, force=k * own.rest - preload)


def _bare(link: Link) -> Link:
    """A moving link without inertia and friction of its own."""
    return link if link.joint == "fixed" else replace(link, inertia=Inertia(), friction=NO_FRICTION)


def _with_motor(model: RobotModel, joint: int, link: Link, given: dict[Parameter, Expression]) -> Link:
    """The link with the inertia of its motor's rotor, friction that its motor has for itself, elasticity."""
    inertia = Parameter(symbol("rotor", "inertia"), joint)
    motor = link.motor
    if motor is None or model.rotors == "none":
        if not given[inertia].is_zero:
            raise ModelError(
                f"{inertia.name} is {given[inertia]}, but joint {joint + 1} ('{link.name}') has no rotor; "
                "0 is allowed"
            )
        return link
    at_motor = {p.kind.entry: x for p, x in given.items() if p.joint == joint and p.kind.part == "motor"}
    friction = FrictionCoefficients.of(at_motor, width=motor.friction.width) if at_motor else motor.friction
    stiffness = given.get(Parameter(symbol("elastic", "stiffness"), joint), motor.stiffness)
    damper = given.get(Parameter(symbol("damper", "viscous"), joint), motor.damping)
    motor = replace(motor, axial=given[inertia], friction=friction, stiffness=stiffness, damping=damper)
    return replace(link, motor=motor)


def _with_idler(number: int, link: Link, given: dict[Parameter, Expression]) -> Link:
    """The fixed link with the rotor inertia and friction of its motor."""
    assert link.motor is not None
    own = {p.kind.entry: x for p, x in given.items() if p.joint == number and p.kind.part == "idler"}
    motor = replace(link.motor, axial=own.pop("inertia"))
    friction = FrictionCoefficients.of(own, width=motor.friction.width) if own else motor.friction
    return replace(link, motor=replace(motor, friction=friction))
