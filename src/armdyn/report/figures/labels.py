"""How figures call joints and what they do: kinds, units, titles."""

from __future__ import annotations

from dataclasses import dataclass

from armdyn.robot import Robot
from armdyn.robot.joints import UNITS, Units, joint_units


@dataclass(frozen=True)
class Kind:
    """The joints of one kind and their units."""

    name: str
    joints: tuple[int, ...]
    units: Units


def joint_kinds(robot: Robot) -> list[Kind]:
    """The kinds of joints a robot has, revolute first."""
    kinds = [link.joint for link in robot.model.coordinates]
    of = {name: tuple(i for i, kind in enumerate(kinds) if kind == name) for name in UNITS}
    return [Kind(name, joints, UNITS[name]) for name, joints in of.items() if joints]


def effort_label(robot: Robot, joint: int) -> str:
    """ "torque [N m]" or "force [N]"."""
    units = joint_units(robot, joint)
    return f"{units.effort} [{units.torque}]"


def joint_label(robot: Robot, joint: int) -> str:
    return f"joint {joint + 1}" if robot.n <= 3 else str(joint + 1)


def joint_title(robot: Robot, joint: int) -> str:
    """The joint's number and its link."""
    return titled("joint", joint, robot.model.coordinates[joint].joint_label)


def titled(kind: str, k: int, name: str) -> str:
    """Number k of a kind, counted from 0, and, where the figures' font has its letters, its link."""
    drawable = name.isprintable() and all(ord(c) < 0x250 for c in name)
    shown = name if len(name) <= 32 else name[:31] + "…"
    return f"{kind} {k + 1}, {shown}" if drawable else f"{kind} {k + 1}"
