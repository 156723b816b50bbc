"""The robot whose parameters are estimated: the description's, with the terms that a log likely needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import numpy as np

from armdyn.expression import ZERO, Expression, shown
from armdyn.identification.errors import IdentificationError
from armdyn.model import RobotModel
from armdyn.model.friction import TERMS, FrictionCoefficients, Surface
from armdyn.model.parameters import SPRINGS, Parameter, layout, symbol
from armdyn.model.parts import JointSpring, Link, Motor
from armdyn.model.robot_model import idlers, is_coupled, joint_friction
from armdyn.model.vector import apply
from armdyn.robot import Robot
from armdyn.robot.base_parameters import BaseParameters
from armdyn.robot.friction import speeds_of

_ONE = Expression.of(1)  # stands for a coefficient until it is estimated, so that the robot has it


@dataclass(frozen=True)
class FrictionTerms:
    """Which terms the coordinates have beyond viscous and Coulomb friction, (n,) each."""

    stribeck: np.ndarray  # velocities [rad/s or m/s]; NaN: without the term
    cubic: np.ndarray  # bool
    asymmetry: np.ndarray  # bool
    offset: np.ndarray  # bool
    load: np.ndarray  # Fl, known while the others are estimated: torques are not linear in it
    rotor: np.ndarray  # bool: a rotor of gear 1 where the description has no motor
    spring: np.ndarray  # bool: a spring; its stiffness·rest takes the place of the offset

    @staticmethod
    def plain(n: int) -> FrictionTerms:
        """With offsets and rotors alone."""
        no, yes = np.zeros(n, bool), np.ones(n, bool)
        return FrictionTerms(np.full(n, np.nan), no, no, yes, np.zeros(n), yes, no)


@dataclass(frozen=True)
class Template:
    """A robot with every term that is estimated, what it has beyond its description, and what was known."""

    robot: Robot  # its parameters stand for themselves: what matters is which there are
    prior: np.ndarray  # (p,) the description's values; zero for added terms
    added: tuple[str, ...]  # parameters that the description does not have

    @property
    def names(self) -> tuple[str, ...]:
        return self.robot.parameter_names

    @property
    def layout(self) -> tuple[Parameter, ...]:
        return layout(self.robot.model)

    @property
    def has_load(self) -> bool:
        """Whether it has load friction, whose coefficients are known."""
        linear = np.array([parameter.kind.is_linear for parameter in self.layout])
        return bool(self.prior[~linear].any())

    def values_of(self, known: Mapping[str, float]) -> np.ndarray:
        """(p,) of parameters by name; those that are not known are zero."""
        return np.array([known.get(name, 0.0) for name in self.names])

    @cached_property
    def base(self) -> BaseParameters:
        """The combinations of its parameters that torques can show."""
        return self.robot.base_parameters(friction=True, route="numeric")

    def with_widths(self, width: np.ndarray) -> Template:
        """With these widths (E,) of the sign of each surface, in the place of the description's."""
        return replace(self, robot=Robot(_with_widths(self.robot.model, width)))


def make_template(robot: Robot, terms: FrictionTerms | None = None, add: bool = True) -> Template:
    """With rotors (gear 1), viscous, Coulomb and offset terms where the description has none, and `terms`.

    `terms` take the place of the description's further terms, its offsets and load friction too. A motor that
    turns with several joints gets friction of its own. A joint that follows others keeps what it has: its
    friction and rotor count at the coordinates. A joint with a spring gets no offset.
    """
    model = _with_rotors(robot, terms) if add else robot.model
    coordinates = {link.name: i for i, link in enumerate(robot.model.coordinates)}
    links = []
    for link in model.links:
        i = coordinates.get(link.name)
        if i is not None:
            link = _with_friction(model, link, terms, i, add)
        links.append(link)
    full = Robot(replace(model, links=tuple(links), derived=True))
    known = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    prior = np.array([known.get(x, 0.0) for x in full.parameter_names])
    own = dict(zip(full.parameter_names, full.parameters, strict=True))
    for k, parameter in enumerate(layout(full.model)):
        if not parameter.kind.is_linear:
            prior[k] = own[parameter.name]
    return Template(full, prior, _added(robot, full))


def _with_rotors(robot: Robot, terms: FrictionTerms | None) -> RobotModel:
    """With a rotor for each coordinate: that of its motor, and where it has none one of gear 1, if wanted."""
    model = robot.model
    # Without a single rotor nothing is known of their carriers and axes: rotors are then only reflected.
    none = model.rotors == "none" or all(link.motor is None for link in model.moving)
    wanted = np.ones(robot.n, bool) if terms is None else terms.rotor
    pairs = zip(model.coordinates, wanted, strict=True)
    own = {link.name for link, rotor in pairs if link.motor is None and rotor}
    links = tuple(replace(link, motor=_motor(link)) if link.name in own else link for link in model.links)
    if model.rotors == "none":  # links are what they are without the masses of motors
        links = tuple(replace(link, motor=_light(link.motor)) for link in links)
    return replace(model, links=links, rotors="reflected" if none else model.rotors)


def _light(motor: Motor | None) -> Motor | None:
    return motor and replace(motor, mass=ZERO, transverse=ZERO)


def _motor(link: Link) -> Motor:
    """On the parent, about the joint's axis. The bodies are not looked at: an estimate may be impossible."""
    return Motor(link.parent, apply(link.before.R, link.axis), gear=_ONE, axial=_ONE)


def _with_friction(model: RobotModel, link: Link, terms: FrictionTerms | None, i: int, add: bool) -> Link:
    """The link with a nonzero coefficient for each term that is estimated, which torques are linear in."""
    own = link.friction
    if add:
        has = joint_friction(model, link)
        if terms is None and has["offset"].is_zero and link.spring.is_zero:
            own = own.replaced({"offset": _ONE})
        link = replace(link, motor=_rubbing(link.motor))
    if terms is not None:
        paced = bool(np.isfinite(terms.stribeck[i]))
        velocity = Expression.of(float(terms.stribeck[i])) if paced else None
        if terms.spring[i] and link.spring.is_zero:
            link = replace(link, spring=JointSpring(_ONE, _ONE))
        # Where a joint has a spring, its stiffness·rest is an offset.
        wanted = {"stribeck": paced, "offset": bool(terms.offset[i]) and link.spring.is_zero}
        wanted |= {"cubic": bool(terms.cubic[i]), "asymmetry": bool(terms.asymmetry[i])}
        chosen = {name: _ONE if x else ZERO for name, x in wanted.items()}
        own = own.replaced({**chosen, "load": Expression.of(float(terms.load[i]))}, velocity)
    return replace(link, friction=own)


def _with_widths(model: RobotModel, width: np.ndarray) -> RobotModel:
    """With the widths (E,) of all surfaces: of joints, and of motors that have one of their own."""
    numbers = [Expression.of(float(x)) for x in width]
    at_joint = {link.name: numbers[j] for j, link in enumerate(model.moving)}
    at_motor: dict[str, Expression] = {}
    for x, surface in zip(numbers, Robot(model).mechanism.friction, strict=True):
        owners = {"motor": model.moving, "idler": idlers(model)}.get(surface.part, ())
        at_motor |= {owners[surface.joint].name: x} if owners else {}

    def widened(link: Link) -> Link:
        motor = link.motor
        if motor is not None and link.name in at_motor:
            motor = replace(motor, friction=replace(motor.friction, width=at_motor[link.name]))
        own = replace(link.friction, width=at_joint.get(link.name, ZERO))
        return replace(link, friction=own, motor=motor)

    return replace(model, links=tuple(widened(link) for link in model.links))


def _rubbing(motor: Motor | None) -> Motor | None:
    """A motor that turns with several joints, with friction at its shaft."""
    if motor is None or not is_coupled(motor) or not motor.friction.is_zero:
        return motor
    return replace(motor, friction=FrictionCoefficients.of({"viscous": _ONE, "coulomb": _ONE}))


def _added(robot: Robot, full: Robot) -> tuple[str, ...]:
    """Parameters whose value the description leaves out or says is zero, of the kinds that are added."""
    known = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    kinds = {symbol("rotor", "inertia"), symbol("motor", "viscous"), symbol("motor", "coulomb")}
    kinds |= {symbol("joint", name) for name, term in TERMS.items() if not term.is_loaded}
    kinds |= {symbol("spring", "stiffness"), symbol("spring", "moment")}
    driven = [link.motor is not None for link in full.model.moving]
    found = [p for p in layout(full.model) if p.symbol in kinds and not known.get(p.name)]
    return tuple(p.name for p in found if p.kind.part != "rotor" or driven[p.joint])


# ------------------------------------------------------------------------------------------------------------
# Surfaces on which friction acts, as arrays.


@dataclass(frozen=True)
class Surfaces:
    """Where friction acts: joints, then motors that turn with several."""

    robot: Robot
    of: tuple[Surface, ...]
    rows: np.ndarray  # (E, positions): of positions, which without loops are the coordinates

    @staticmethod
    def of_robot(robot: Robot) -> Surfaces:
        found = robot.mechanism.friction
        rows = np.zeros((len(found), robot.mechanism.positions))
        for e, surface in enumerate(found):
            for j, k in surface.row:
                rows[e, j] = k
        return Surfaces(robot, found, rows)

    @cached_property
    def own(self) -> np.ndarray:
        """(n,): of each coordinate, the surface that is its joint."""
        model = self.robot.model
        motors = model.positions[len(model.positions) - len(model.elastic) :]
        names = [link.name for link in (*model.moving, *motors)]
        return np.array([names.index(link.name) for link in model.coordinates])

    @property
    def widths(self) -> np.ndarray:
        """(E,) of the smooth sign [rad/s or m/s]; 0: the sign itself."""
        return np.array([float(surface.width) for surface in self.of])

    def at(self, q: np.ndarray) -> np.ndarray:
        """Rows over coordinates: (E, n), with loops (..., E, n) at q (..., n)."""
        loops = self.robot.mechanism.loops
        return np.asarray(self.rows @ self.robot.assembly.rates(q)) if loops else self.rows

    def speeds(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """(…, E) at joint velocities (…, n)."""
        return speeds_of(self.at(q), qd)

    def columns(self, parameters: Sequence[Parameter]) -> list[tuple[int, int, str]]:
        """Place, surface and term of each parameter of friction."""
        joints = len(self.robot.mechanism.bodies)
        at_motor = {(s.part, s.joint): joints + k for k, s in enumerate(self.of[joints:])}
        found = []
        for p, parameter in enumerate(parameters):
            part, entry = parameter.kind.part, parameter.kind.entry
            if part in ("joint", "motor", "idler") and entry in TERMS:
                e = parameter.joint if part == "joint" else at_motor[part, parameter.joint]
                found.append((p, e, entry))
        return found


# ------------------------------------------------------------------------------------------------------------
# Which parameters a fit estimates; the others are known and keep the values of the description.


GROUPS = ("all", "inertia", "friction", "springs", "payload")


@dataclass(frozen=True)
class Free:
    """A group of parameters, or names and patterns such as Fv* and m6."""

    group: str = "all"
    patterns: tuple[str, ...] = ()

    @property
    def everything(self) -> bool:
        return not self.patterns and self.group == "all"

    @property
    def chooses_friction(self) -> bool:
        """Whether further terms of friction may be tried."""
        return not self.patterns and self.group in ("all", "friction")

    @property
    def adds(self) -> bool:
        """Whether terms are added that the description does not have."""
        return bool(self.patterns) or self.group in ("all", "friction")

    def mask(self, template: Template) -> np.ndarray:
        """(p,) bool: the parameters that are estimated; the rotor of a joint without a motor is none.

        Nor is a coefficient of load friction, which is known while the others are estimated.
        """
        model = template.robot.model
        there = np.array([exists(model, x) and x.kind.is_linear for x in template.layout])
        if self.patterns:
            named = [any(fnmatchcase(x, pattern) for pattern in self.patterns) for x in template.names]
            return np.asarray(there & named)
        tip = _tip_joint(template.robot.model) if self.group == "payload" else -1
        return np.asarray(there & [self._has(parameter, tip) for parameter in template.layout])

    def _has(self, parameter: Parameter, tip: int) -> bool:
        part = parameter.kind.part
        if self.group == "payload":
            return part == "body" and parameter.joint == tip
        parts: dict[str, tuple[str, ...]] = {
            "inertia": ("body", "rotor"),
            "friction": ("joint", "motor", "damper"),
            "springs": SPRINGS,
        }
        if part == "idler":
            part = "motor" if parameter.kind.entry in TERMS else "rotor"
        return self.group == "all" or part in parts[self.group]


def exists(model: RobotModel, parameter: Parameter) -> bool:
    """False for the rotor of a joint without a motor."""
    if parameter.kind.part != "rotor":
        return True
    return model.rotors != "none" and model.moving[parameter.joint].motor is not None


def free_parameters(robot: Robot, parameters: Any, template: Template) -> Free:
    """The parameters that `identify` was asked for: None (all), a group, or names and patterns."""
    if parameters is None:
        return Free()
    if isinstance(parameters, str):
        if parameters in GROUPS:
            return Free(parameters)
        parameters = [parameters]
    if not isinstance(parameters, Sequence) or not all(isinstance(x, str) for x in parameters):
        raise IdentificationError(
            f"parameters: found {shown(parameters)}; allowed: {', '.join(GROUPS)}, names and patterns"
        )
    if not len(parameters):
        raise IdentificationError("parameters: the list is empty; without it all are estimated")
    for pattern in parameters:
        if not any(fnmatchcase(name, pattern) for name in template.names):
            raise IdentificationError(
                f"parameters: {pattern!r} is none of {robot.name}; allowed: {', '.join(GROUPS)}, "
                f"names such as {template.names[0]} and patterns such as Fv*"
            )
    return Free(patterns=tuple(parameters))


def _tip_joint(model: RobotModel) -> int:
    """The joint that moves the tip."""
    name, moving = model.tip, {link.name: j for j, link in enumerate(model.moving)}
    parents = {link.name: link.parent for link in model.links}
    while name in parents:
        if name in moving:
            return moving[name]
        name = parents[name]
    raise IdentificationError("parameters: no joint moves the tip, so that torques show nothing of a payload")
