"""How figures call joints and what they do: kinds, units, titles."""

from __future__ import annotations

from dataclasses import dataclass

from armdyn.robot import Robot


@dataclass(frozen=True)
class Kind:
    """The joints of one kind and their units."""

    name: str
    joints: tuple[int, ...]
    position: str
    torque: str
    effort: str  # what a torque is called here

    @property
    def units(self) -> tuple[str, str, str, str]:
        """Of position, velocity, acceleration, torque."""
        return self.position, f"{self.position}/s", f"{self.position}/s²", self.torque


def joint_kinds(robot: Robot) -> list[Kind]:
    """The kinds of joints a robot has, revolute first."""
    of = {
        kind: tuple(i for i, link in enumerate(robot.model.moving) if link.joint == kind)
        for kind in ("revolute", "prismatic")
    }
    kinds = [
        Kind("revolute", of["revolute"], "rad", "N m", "torque"),
        Kind("prismatic", of["prismatic"], "m", "N", "force"),
    ]
    return [kind for kind in kinds if kind.joints]


def effort_label(robot: Robot, joint: int) -> str:
    """ "torque [N m]" or "force [N]"."""
    revolute = robot.model.moving[joint].joint == "revolute"
    return "torque [N m]" if revolute else "force [N]"


def joint_label(robot: Robot, joint: int) -> str:
    return f"joint {joint + 1}" if robot.n <= 3 else str(joint + 1)


def joint_title(robot: Robot, joint: int) -> str:
    """The joint's number and, where the figures' font has its letters, its link."""
    name = robot.model.moving[joint].name
    drawable = name.isprintable() and all(ord(c) < 0x250 for c in name)
    shown = name if len(name) <= 32 else name[:31] + "…"
    return f"joint {joint + 1}, {shown}" if drawable else f"joint {joint + 1}"
