"""Which parameters a fit estimates; the others are known and keep the values of the description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from armdyn.expression import shown
from armdyn.identification.errors import IdentificationError
from armdyn.identification.regression.template import Template
from armdyn.model import RobotModel
from armdyn.model.friction import TERMS
from armdyn.model.parameters import SPRINGS, Parameter
from armdyn.robot import Robot

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
        """(p,) bool: the parameters that are estimated; the rotor of a joint without a motor is none."""
        there = np.array([_exists(template.robot.model, parameter) for parameter in template.layout])
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


def _exists(model: RobotModel, parameter: Parameter) -> bool:
    if parameter.kind.part != "rotor":
        return True
    return model.rotors != "none" and model.moving[parameter.joint].motor is not None


def free_parameters(robot: Robot, parameters: Any, template: Template) -> Free:
    """What `identify` was asked for: None (all), a group, or names and patterns."""
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
