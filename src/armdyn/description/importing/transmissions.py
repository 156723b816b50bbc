"""The transmissions of a URDF -> motors of joints.

A reduction stands in the actuator, in the joint or in the transmission itself, by several names; Drake's
`gear_ratio` is another, and `rotor_inertia` is given with or without Drake's prefix. A file says neither
which link carries the motor nor how it spins, so the rotors of an imported robot are reflected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from armdyn.description.importing.tree import RawJoint, RawMotor, Remarks
from armdyn.description.importing.values import written
from armdyn.description.importing.xml_text import Element, short
from armdyn.expression import ONE, ZERO, Expression
from armdyn.model.robot_model import listed, quoted

_REDUCTIONS = ("mechanicalReduction", "mechanical_reduction", "gear_ratio")
_ROTORS = ("rotor_inertia",)
_CONSTANTS = ("motorTorqueConstant",)


def read_motors(root: Element, joints: Sequence[RawJoint], remarks: Remarks) -> list[RawJoint]:
    """The joints with the motors that transmissions give them."""
    kinds = {joint.name: joint.kind for joint in joints}
    found: dict[str, tuple[Element, RawMotor]] = {}
    fixed: list[str] = []
    for element in _transmissions(root):
        name = _joint_name(element, remarks)
        if name is None:
            continue
        if name not in kinds:
            text = f"there is no joint {quoted(name)}; the transmission is left out"
            remarks.warn(f"{element.where}: {text}")
            continue
        motor = _motor(element)
        if kinds[name] not in ("revolute", "prismatic"):
            fixed.append(name)
        elif name in found and found[name][1] != motor:
            first = found[name][0]
            raise element.error(
                f"joint {quoted(name)} has another transmission, in line {first.line}, with other numbers"
            )
        else:
            found.setdefault(name, (element, motor))
    remarks.group(fixed, "the transmission of a joint that does not turn or slide is left out")
    _say_what_motors_mean(found, remarks)
    return [replace(joint, motor=found[joint.name][1]) if joint.name in found else joint for joint in joints]


def _say_what_motors_mean(found: dict[str, tuple[Element, RawMotor]], remarks: Remarks) -> None:
    if not found:
        return
    unknown = [name for name, (_, motor) in found.items() if motor.axial.is_zero]
    if len(unknown) == len(found):
        remarks.note("the transmissions give no rotor inertia: rotors have none, and only gears are kept")
        return
    remarks.group(unknown, "the transmission gives no rotor inertia: the rotor has none")
    remarks.note(
        "the file says neither which links carry the motors nor how their rotors spin: rotors are "
        "'reflected', on the diagonal of the inertia matrix; with_motors puts carriers and axes in"
    )


def _transmissions(root: Element) -> Iterator[Element]:
    for element in root.children:
        if element.tag == "transmission":
            yield element
        elif element.tag == "ros2_control":
            yield from element.all("transmission")


def _joint_name(element: Element, remarks: Remarks) -> str | None:
    """The one joint that one actuator drives; None for what is more than that."""
    named = [child for child in element.all("joint") if child.attributes.get("name", "").strip()]
    names = list(dict.fromkeys(child.attributes["name"] for child in named))
    if len(names) == 1 and len(element.all("actuator")) <= 1:
        return names[0]
    kinds = [
        element.attributes.get("type", ""),
        *(child.text.strip() for child in element.all("type", "plugin")),
    ]
    kind = next((short(text) for text in kinds if text), "no type")
    drives = f"drives the joints {listed(names)}" if names else "names no joint"
    remarks.note(
        f"{element.where} ({kind}) {drives}: it is left out, as only one motor for one joint is read"
    )
    return None


def _motor(element: Element) -> RawMotor:
    gear = _agreed(element, _REDUCTIONS, ONE)
    if gear.is_zero:
        raise element.error("a reduction of 0; any other number is allowed, with its sign")
    axial = _agreed(element, _ROTORS, ZERO)
    if axial.value() < 0:
        raise element.error(f"a rotor inertia of {axial.value():g}; zero or positive is allowed")
    constant = _agreed(element, _CONSTANTS, ONE)
    if constant.value() <= 0:
        raise element.error(f"a torque constant of {constant.value():g}; a positive number is allowed")
    return RawMotor(gear, axial, constant)


def _agreed(element: Element, tags: Sequence[str], default: Expression) -> Expression:
    """The number that all elements of these names give, wherever they stand in a transmission."""
    places = [element, *element.all("actuator", "joint")]
    found = [child for place in places for child in place.children if child.tag.rpartition(":")[2] in tags]
    values = [written(child) for child in found]
    for child, value in zip(found, values, strict=True):
        if value != values[0]:
            raise child.error(
                f"{value.value():g} here, but <{short(found[0].tag)}> in line {found[0].line} gives "
                f"{values[0].value():g}"
            )
    return values[0] if values else default
