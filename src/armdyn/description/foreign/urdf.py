"""Reads URDF. Visuals, collisions, sensors, meshes and what simulators add are not looked at.

What is read, and how:

- Order: links and joints depth first, the joints of one link in the order of the file.
- Numbers are the decimals that are written, exactly; so are angles, unless `snap` is asked for.
- `continuous` is revolute without limits of position. A `limit` that gives no range (URDF's default is 0 to
  0) sets none; an effort or velocity of 0 means that it is not known. Each is noted. Limits of 1e9 and more
  are none.
- `damping` is viscous friction, `friction` is Coulomb friction.
- A link without `inertial` has no mass. The base's own inertia does not matter and is not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from armdyn.description.foreign.tree import (
    Mimic,
    RawBody,
    RawJoint,
    RawKind,
    RawLink,
    RawMotor,
    RawTree,
    Remarks,
    snap_text,
    snapped_angle,
    snapped_direction,
)
from armdyn.description.foreign.xml_text import (
    UNLIMITED,
    Element,
    bound,
    name_of,
    needed,
    number,
    numbers,
    one,
    place_of,
    short,
    written,
)
from armdyn.description.frames import frame, unit_vector
from armdyn.description.plausibility import NEARLY
from armdyn.description.source import MAX_LINKS, Options
from armdyn.expression import ONE, ZERO, Expression
from armdyn.model.friction import NO_FRICTION, FrictionCoefficients
from armdyn.model.inertia import TENSOR_KEYS, tensor
from armdyn.model.parts import Limits, Transform, X
from armdyn.model.vector import IDENTITY, ZERO3, Matrix, Vector, vector
from armdyn.names import listed, quoted

# ------------------------------------------------------------------------------------------------------------
# Motors of joints, from transmissions.
#
# A reduction stands in the actuator, in the joint or in the transmission itself, by several names; Drake's
# `gear_ratio` is another, and `rotor_inertia` is given with or without Drake's prefix. A file says neither
# which link carries the motor nor how it spins, so the rotors of an imported robot are reflected.


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
    """The one joint that one actuator drives; None for a transmission of several."""
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


# ------------------------------------------------------------------------------------------------------------
# The tree of a file.


GRAVITY: Vector = (ZERO, ZERO, Expression.of(-9.81))
_KINDS: dict[str, RawKind] = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "floating": "floating",
    "planar": "planar",
}
XACRO = re.compile(r"\$[({]")
_SIMULATOR = ("gazebo",)  # what stands in these is not for us
_FORCES = ("force_element", "cable")


def read_urdf(root: Element, source: str, options: Options) -> RawTree:
    """The tree of a URDF document."""
    _refuse_xacro(root)
    return _UrdfReader(root, source, options).tree()


def _refuse_xacro(root: Element) -> None:
    """Refuse a file that xacro has not been run on, or not wholly."""
    advice = "left over from xacro; run xacro on the file first"
    for element in root.walk(skip=_SIMULATOR):
        if element.tag.startswith("xacro:"):
            raise element.error(advice)
        for name, value in element.attributes.items():
            if XACRO.search(value):
                raise element.error(f'{name}="{short(value)}": {advice}')
        if XACRO.search(element.text):
            raise element.error(f'"{short(element.text)}": {advice}')


@dataclass
class _UrdfReader:
    root: Element
    source: str
    options: Options
    remarks: Remarks = field(default_factory=Remarks)
    no_range: list[str] = field(default_factory=list)  # joints, for the notes that several share
    no_limit: list[str] = field(default_factory=list)
    unknown: dict[str, list[str]] = field(default_factory=lambda: {"effort": [], "velocity": []})
    near: list[str] = field(default_factory=list)  # where each angle stands that snap would change

    def tree(self) -> RawTree:
        name = self._name()
        for tag in ("link", "joint"):
            if (count := len(self.root.all(tag))) > MAX_LINKS:
                raise self.root.error(f"found {count} {tag}s; up to {MAX_LINKS} are allowed")
        links = [self._link(element) for element in self.root.all("link")]
        joints = [self._joint(element) for element in self.root.all("joint")]
        self._say_what_is_left_out()
        joints = read_motors(self.root, joints, self.remarks)
        return RawTree(name, self.source, links, joints, GRAVITY, self.remarks)

    def _name(self) -> str:
        """The robot's name; a repair calls it after its file."""
        if self.root.attributes.get("name", "").strip():
            return name_of(self.root)
        path = Path(self.source)
        name = path.stem if path.suffix else "robot"
        if not self.options.repair:
            raise self.root.error(
                f"the attribute name is missing or empty (repair=True calls it {quoted(name)})"
            )
        self.remarks.warn(f"{self.root.where}: the robot has no name and is called {quoted(name)}")
        return name

    def _say_what_is_left_out(self) -> None:
        say = self.remarks.group
        say(self.no_range, "the limit gives no range (or 0 to 0), so the position has no limit")
        say(self.no_limit, "there is no <limit>, so there are no limits")
        say(self.unknown["effort"], "effort 0 is taken for unknown: there is no limit of torque")
        say(self.unknown["velocity"], "velocity 0 is taken for unknown: there is no limit of velocity")
        if self.near:
            many = len(self.near) > 1
            count, them = f"{len(self.near)} angle{'s are' if many else ' is'}", "them" if many else "it"
            first = f"the first: {self.near[0]}" if many else self.near[0]
            self.remarks.note(
                f"{count} {NEARLY} and taken as given ({first}); "
                f"snap=True (--snap) makes {them} exact, which keeps equations short"
            )
        for element in self.root.children:
            if element.tag == "loop_joint":
                raise element.error(
                    "it closes a loop of links, which cannot be read; remove it to read a tree"
                )
        for tag in _FORCES:
            if found := self.root.all(tag):
                count = f" and {len(found) - 1} more" if len(found) > 1 else ""
                self.remarks.warn(f"{found[0].where}{count}: forces of <{tag}> are left out")

    # ---- links -----------------------------------------------------------------------------------------

    def _link(self, element: Element) -> RawLink:
        name = name_of(element)
        inertial = one(element, "inertial", self.remarks)
        body = None if inertial is None else self._body(inertial)
        return RawLink(name, body, place_of(element))

    def _body(self, element: Element) -> RawBody:
        origin = one(element, "origin", self.remarks)
        com, R = (ZERO3, IDENTITY) if origin is None else self._inertial_frame(origin)
        mass = number(needed(element, "mass", self.remarks), "value")
        entries = needed(element, "inertia", self.remarks)
        moments = tensor(number(entries, f"i{key}") for key in TENSOR_KEYS)
        return RawBody(mass, com, R, moments, place_of(entries))

    # ---- joints ----------------------------------------------------------------------------------------

    def _joint(self, element: Element) -> RawJoint:
        name, kind = name_of(element), name_of(element, "type")
        if kind not in _KINDS:
            raise element.error(f'type="{short(kind)}"; allowed: {", ".join(_KINDS)}')
        origin = one(element, "origin", self.remarks)
        moving = kind in ("revolute", "continuous", "prismatic")
        return RawJoint(
            name=name,
            kind=_KINDS[kind],
            parent=name_of(needed(element, "parent", self.remarks), "link"),
            child=name_of(needed(element, "child", self.remarks), "link"),
            origin=Transform() if origin is None else self._pose(origin),
            axis=self._axis(element) if moving else X,
            friction=_friction(element, self.remarks) if moving else NO_FRICTION,
            limits=self._limits(element, name, kind) if moving else Limits(),
            mimic=_mimic(element, self.remarks) if moving else None,
            place=place_of(element),
        )

    def _inertial_frame(self, element: Element) -> tuple[Vector, Matrix]:
        """Centre of mass and axes of the tensor; exact where the axes are those of the link, permuted.

        Other axes turn the tensor in floating-point numbers: exact ones would fill the equations with
        products of cosines.
        """
        xyz, rpy = self._position_and_angles(element)
        exact = all(angle.cos().number is not None for angle in rpy)
        return xyz, frame(xyz, rpy).R if exact else _float_rotation(rpy)

    def _pose(self, element: Element) -> Transform:
        return frame(*self._position_and_angles(element))

    def _position_and_angles(self, element: Element) -> tuple[Vector, Vector]:
        xyz = vector(numbers(element, "xyz", [ZERO] * 3))
        rpy = numbers(element, "rpy", [ZERO] * 3)
        exact = [snapped_angle(angle) for angle in rpy]
        if any(angle is not None for angle in exact):
            new = [old if angle is None else angle for old, angle in zip(rpy, exact, strict=True)]
            change = f'{element.where}: rpy="{short(element.attributes["rpy"])}"'
            if self.options.snap:
                self.remarks.note(f"{change}: {snap_text(rpy, new)}")
                rpy = new
            else:
                self.near += [change for angle in exact if angle is not None]
        return xyz, vector(rpy)

    def _axis(self, element: Element) -> Vector:
        axis = one(element, "axis", self.remarks)
        if axis is None:
            return X
        entries = numbers(axis, "xyz", list(map(Expression.of, X)))
        sizes = [abs(x.value()) for x in entries]
        if not any(sizes):
            raise axis.error('xyz="0 0 0": the axis of a joint must not be zero')
        if max(sizes) > 1e100 or min(size for size in sizes if size) < 1e-100:
            raise axis.error("the entries of an axis are 0 or between 1e-100 and 1e100 in size")
        if self.options.snap and (exact := snapped_direction(entries)) is not None:
            change = snap_text(entries, exact)
            self.remarks.note(f"{axis.where} of joint {quoted(element.attributes['name'])}: {change}")
            return exact
        if sum(size != 0 for size in sizes) == 1:
            return vector(
                Expression.of((x.number > 0) - (x.number < 0)) for x in entries if x.number is not None
            )
        return unit_vector(entries)

    def _limits(self, element: Element, name: str, kind: str) -> Limits:
        limit = one(element, "limit", self.remarks)
        if limit is None:
            if kind != "continuous":
                self.no_limit.append(name)
            return Limits()
        values: dict[str, Expression | None] = {}
        for key in ("effort", "velocity"):
            value = bound(limit, key)
            if value is not None and value.value() < 0:
                found = f'{key}="{short(limit.attributes[key])}"'
                self._leave_out(limit, f"{found}: a limit is zero or positive")
                value = None
            if value is not None and value.is_zero:
                self.unknown[key].append(name)
            endless = value is None or value.is_zero or value.value() >= UNLIMITED
            values[key] = None if endless else value
        position = self._range(limit, name) if kind != "continuous" else None
        return Limits(position, velocity=values["velocity"], torque=values["effort"])

    def _range(self, limit: Element, name: str) -> tuple[Expression, Expression] | None:
        given = [key for key in ("lower", "upper") if key in limit.attributes]
        low, high = (bound(limit, key) if key in given else ZERO for key in ("lower", "upper"))
        if low is None and high is None:
            return None
        if low is None or high is None:
            self._leave_out(limit, "one end of the range is infinite; both or none may be")
            return None
        if low.value() <= -UNLIMITED and high.value() >= UNLIMITED:
            return None
        if low.is_zero and high.is_zero:
            self.no_range.append(name)
            return None
        if low.value() > high.value():
            found = f"the range is {low.value():g} to {high.value():g}"
            self._leave_out(limit, f"{found}; the lower limit comes first")
            return None
        return low, high

    def _leave_out(self, limit: Element, reason: str) -> None:
        """A limit that cannot be: no motion depends on it, so a repair leaves it out."""
        if not self.options.repair:
            raise limit.error(f"{reason} (repair=True leaves the limit out)")
        self.remarks.warn(f"{limit.where}: {reason}: the limit is left out")


def _float_rotation(rpy: Vector) -> Matrix:
    """Rz(yaw) Ry(pitch) Rx(roll) in floating-point numbers."""
    from scipy.spatial.transform import Rotation  # not loaded with the package

    R = Rotation.from_euler("xyz", [angle.value() for angle in rpy]).as_matrix()
    return vector(vector(row) for row in R.tolist())


def _friction(element: Element, remarks: Remarks) -> FrictionCoefficients:
    dynamics = one(element, "dynamics", remarks)
    if dynamics is None:
        return NO_FRICTION
    values = [number(dynamics, key, ZERO) for key in ("damping", "friction")]
    for key, value in zip(("damping", "friction"), values, strict=True):
        if value.value() < 0:
            raise dynamics.error(f'{key}="{short(dynamics.attributes[key])}": friction is zero or positive')
    viscous, coulomb = values
    return FrictionCoefficients.of({"viscous": viscous, "coulomb": coulomb})


def _mimic(element: Element, remarks: Remarks) -> Mimic | None:
    mimic = one(element, "mimic", remarks)
    if mimic is None:
        return None
    return Mimic(name_of(mimic, "joint"), number(mimic, "multiplier", ONE), number(mimic, "offset", ZERO))
