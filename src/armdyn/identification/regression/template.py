"""The robot whose parameters are estimated: the description's, with the terms that a log likely needs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from armdyn.expression import ZERO, Expression
from armdyn.model import RobotModel
from armdyn.model.friction import Friction
from armdyn.model.lowering import is_coupled, joint_friction
from armdyn.model.parameters import Parameter, layout, symbol
from armdyn.model.parts import Link, Motor
from armdyn.model.vector import apply
from armdyn.robot import Robot

_ONE = Expression.of(1)  # stands for a coefficient until it is estimated, so that the robot has it


@dataclass(frozen=True)
class FrictionTerms:
    """Which terms of friction the joints have beyond viscous, Coulomb and offset.

    `stribeck` (n,) are the velocities of the Stribeck term, one a coordinate, NaN where it has none.
    """

    stribeck: np.ndarray
    cubic: np.ndarray  # (n,) bool


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


def make_template(robot: Robot, terms: FrictionTerms | None = None, add: bool = True) -> Template:
    """With rotors (gear 1), viscous, Coulomb and offset terms where the description has none, and `terms`.

    A motor that turns with several joints gets friction of its own. A joint that follows others keeps what it
    has: its friction and rotor count at the coordinates. A joint with a spring gets no offset.
    """
    model = _with_rotors(robot) if add else robot.model
    coordinates = {link.name: i for i, link in enumerate(robot.model.coordinates)}
    links = []
    for link in model.links:
        i = coordinates.get(link.name)
        if i is not None:
            link = _with_friction(model, link, terms, i, add)
        links.append(link)
    full = Robot(replace(model, links=tuple(links), derived=True))
    known = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    return Template(full, np.array([known.get(x, 0.0) for x in full.parameter_names]), _added(robot, full))


def _with_rotors(robot: Robot) -> RobotModel:
    """With a rotor for each coordinate: that of its motor, and where it has none one of gear 1."""
    model = robot.model
    # Without a single rotor nothing is known of their carriers and axes: rotors are then only reflected.
    none = model.rotors == "none" or all(link.motor is None for link in model.moving)
    own = {link.name for link in model.coordinates if link.motor is None}
    links = tuple(replace(link, motor=_motor(link)) if link.name in own else link for link in model.links)
    return replace(model, links=links, rotors="reflected" if none else model.rotors)


def _motor(link: Link) -> Motor:
    """On the parent, about the joint's axis. The bodies are not looked at: an estimate may be impossible."""
    return Motor(link.parent, apply(link.before.R, link.axis), gear=_ONE, axial=_ONE)


def _with_friction(model: RobotModel, link: Link, terms: FrictionTerms | None, i: int, add: bool) -> Link:
    """The link with a nonzero coefficient for each term that is estimated."""
    own = replace(link.friction, load=ZERO)  # torques are not linear in it
    if add:
        has = joint_friction(model, link)
        if has["offset"].is_zero and link.spring.is_zero:  # else stiffness·rest of the spring is an offset
            own = replace(own, offset=_ONE)
        link = replace(link, motor=_rubbing(link.motor))
    if terms is not None:
        if np.isfinite(terms.stribeck[i]):
            velocity = Expression.of(float(terms.stribeck[i]))
            own = replace(own, stribeck=_ONE, stribeck_velocity=velocity)
        if terms.cubic[i]:
            own = replace(own, cubic=_ONE)
    return replace(link, friction=own)


def _rubbing(motor: Motor | None) -> Motor | None:
    """A motor that turns with several joints, with friction at its shaft."""
    if motor is None or not is_coupled(motor) or not motor.friction.is_zero:
        return motor
    return replace(motor, friction=Friction(viscous=_ONE, coulomb=(_ONE, -_ONE)))


def _added(robot: Robot, full: Robot) -> tuple[str, ...]:
    """Parameters whose value the description leaves out or says is zero, of the kinds that are added."""
    known = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    kinds = {symbol("rotor", "inertia"), symbol("motor", "viscous"), symbol("motor", "coulomb")} | {
        symbol("joint", term) for term in ("viscous", "coulomb", "offset", "stribeck", "cubic")
    }
    driven = [link.motor is not None for link in full.model.moving]
    found = [p for p in layout(full.model) if p.symbol in kinds and not known.get(p.name)]
    return tuple(p.name for p in found if p.kind.part != "rotor" or driven[p.joint])
