"""What ties bodies together in MJCF: loops as equalities, springs between points as tendons, by sites.

Sites say where the two sides meet. An equality between bodies would take for granted that the loop is closed
at q = 0. A revolute joint is two points of its axis that stay together.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator

from armdyn.description.exporting.decimals import number_text, numbers_text
from armdyn.description.exporting.losses import names
from armdyn.description.exporting.quaternions import quaternion_text
from armdyn.description.exporting.xml_text import add
from armdyn.expression import Expression
from armdyn.model.closures.loops import Loop
from armdyn.model.closures.problems import spring_place
from armdyn.model.parts import Transform
from armdyn.model.robot_model import RobotModel
from armdyn.model.springs import PointSpring
from armdyn.model.vector import IDENTITY, ZERO3, Vector

APART = Expression.of(0.1)  # m, the two points of a revolute joint's axis
Section = Callable[[str], ET.Element]  # the element of this name in <mujoco>


def write_loop(i: int, loop: Loop, elements: dict[str, ET.Element], section: Section) -> None:
    """A weld, one point that stays together (spherical), or two of them (revolute)."""
    kind = "weld" if loop.joint == "fixed" else "connect"
    points: list[Vector] = [ZERO3, (0, 0, APART)] if loop.joint == "revolute" else [ZERO3]
    for k, point in enumerate(points):
        sites = []
        for side, link, T in zip("ab", loop.between, loop.at, strict=True):
            name = f"closure{i + 1}_{side}{k + 1}"
            _site(elements[link], name, T @ Transform(IDENTITY, point))
            sites.append(name)
        add(section("equality"), kind, site1=sites[0], site2=sites[1])


def write_spring(i: int, spring: PointSpring, elements: dict[str, ET.Element], section: Section) -> None:
    """A tendon between two points; nothing where `spring_losses` says so."""
    length = free_length(spring)
    if length is None:
        return
    tendon = add(
        section("tendon"),
        "spatial",
        name=spring.name or None,
        stiffness=number_text(spring.stiffness),
        springlength=number_text(length),
    )
    for side, link, p in zip("ab", spring.between, spring.at, strict=True):
        name = f"spring{i + 1}_{side}"
        _site(elements[link], name, Transform(IDENTITY, p))
        add(tendon, "site", site=name)


def _site(element: ET.Element, name: str, T: Transform) -> None:
    turned = [[Expression.of(x) for x in row] for row in T.R] != [list(row) for row in IDENTITY]
    quaternion = quaternion_text(T.R) if turned else None
    add(element, "site", name=name, pos=numbers_text(T.p), quat=quaternion)


def free_length(spring: PointSpring) -> Expression | None:
    """The length without force, rest − force/stiffness; None where a spring has none."""
    if spring.stiffness.is_zero:
        return None
    length = spring.rest - spring.force / spring.stiffness
    return length if length.value() >= 0 else None


def spring_losses(model: RobotModel) -> Iterator[str]:
    """Springs between points that no tendon can be."""
    unsaid = [spring_place(i, x) for i, x in enumerate(model.springs) if free_length(x) is None]
    if unsaid:
        reason = "their force would not vanish at any length"
        yield f"springs between points ({', '.join(unsaid)}) are left out: {reason}"


def guess_losses(model: RobotModel) -> Iterator[str]:
    if found := [link.joint_label for link in model.links if not link.guess.is_zero]:
        yield f"guesses of where loops are closed ({names(found)}) are left out"
