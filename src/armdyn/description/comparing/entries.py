"""Entries of robot files that are compared: their names, units, what they are where they are missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from armdyn.description.exporting.numbers import written
from armdyn.description.reader import LONGEST
from armdyn.expression import Expression, parse
from armdyn.model.robot_model import BASE
from armdyn.output import one_line

Entry = int | float | str | bool | None
_MISSING = {  # what a missing key means, where that is a number
    **dict.fromkeys(("mass", "transverse", "theta"), 0),
    **dict.fromkeys(("viscous", "coulomb", "offset", "level", "cubic", "load"), 0),
    **dict.fromkeys(("stiffness", "rest", "force", "damping", "guess"), 0),
    **dict.fromkeys(("xx", "xy", "xz", "yy", "yz", "zz", "x", "y", "z", "roll", "pitch", "yaw"), 0),
    "torque_constant": 1,
}
_LISTS = {  # the names of the entries of lists
    **dict.fromkeys(("xyz", "com", "first_moment", "axis", "gravity", "at.1", "at.2"), ("x", "y", "z")),
    "motor.position": ("x", "y", "z"),
    "rpy": ("roll", "pitch", "yaw"),
    "limits.position": ("lower", "upper"),
    "coulomb": ("forward", "backward"),
}
_UNITS = {
    **dict.fromkeys(("mass", "motor.mass"), "kg"),
    **dict.fromkeys(("a", "d", "com", "xyz", "motor.position"), "m"),
    **dict.fromkeys(("alpha", "theta", "rpy"), "rad"),
    **dict.fromkeys(("inertia", "motor.inertia"), "kg m²"),
    **dict.fromkeys(("at.1.rpy", "at.2.rpy"), "rad"),
    **dict.fromkeys(("at.1.rotation", "at.2.rotation"), ""),
    **dict.fromkeys(("at", "rest"), "m"),
    "stiffness": "N/m",
    "force": "N",
    "first_moment": "kg m",
    "gravity": "m/s²",
    "motor.torque_constant": "N m/A",
    "motor.limits.torque": "N m",
    "motor.limits.velocity": "rad/s",
    "motor.limits.current": "A",
}
TEXTS = (
    "name",
    "joint",
    "joint_name",
    "parent",
    "carrier",
    "tip",
    "rotors",
    "relation",
    "about",
    "between",
    "loop",
)
_JOINT_UNITS = {  # of turning and of sliding joints
    "limits.position": ("rad", "m"),
    "limits.velocity": ("rad/s", "m/s"),
    "limits.acceleration": ("rad/s²", "m/s²"),
    "limits.jerk": ("rad/s³", "m/s³"),
    "limits.torque": ("N m", "N"),
    "motor.friction.viscous": ("N m s/rad", "N m s/rad"),
    "motor.friction.coulomb": ("N m", "N m"),
    "friction.viscous": ("N m s/rad", "N s/m"),
    "friction.coulomb": ("N m", "N"),
    "friction.offset": ("N m", "N"),
    "friction.stribeck.level": ("N m", "N"),
    "friction.stribeck.velocity": ("rad/s", "m/s"),
    **dict.fromkeys(("spring.stiffness", "motor.stiffness"), ("N m/rad", "N/m")),
    **dict.fromkeys(("spring.rest", "guess"), ("rad", "m")),
    "motor.damping": ("N m s/rad", "N s/m"),
    "friction.cubic": ("N m s³/rad³", "N s³/m³"),
}


@dataclass(frozen=True)
class Change:
    """One entry that differs: where it is, its key in the robot file, its values; None: not there.

    `where, key, old, new = change` takes it apart.
    """

    where: str  # "robot", "link 'forearm'", "symbol 'a1'", "closure 1"
    key: str  # "mass", "inertia.zz", "motor.gear"; empty where all of it is new or gone
    old: Entry
    new: Entry
    unit: str = field(default="", compare=False)
    values: tuple[float | None, float | None] = field(default=(None, None), compare=False)  # of numbers

    def __iter__(self) -> Iterator[Entry]:
        return iter((self.where, self.key, self.old, self.new))

    def __str__(self) -> str:
        if not self.key:
            return one_line(f"{self.where}: {'removed' if self.new is None else 'added'}")
        a, b = self.values
        digits = "r" if a is not None and b is not None and f"{a:.6g}" == f"{b:.6g}" else "g"
        if a is not None and a == b:
            digits = "all"
        old, new = _shown(self.old, a, self.unit, digits), _shown(self.new, b, self.unit, digits)
        key = "" if self.key == "value" else f"{self.key} "
        return one_line(f"{self.where}: {key}{old} -> {new}{_percent(a, b)}")


def exactly(x: int | float | str) -> Expression:
    return parse(x, None, LONGEST) if isinstance(x, str) else Expression.of(x)


def compared(where: str, old: dict[str, Entry], new: dict[str, Entry], joint: str) -> Iterator[Change]:
    motors = [any(key.startswith("motor.") for key in part) for part in (old, new)]
    if motors[0] != motors[1]:
        yield Change(f"{where}: motor", "", *(("motor", None) if motors[0] else (None, "motor")))
        old, new = ({k: x for k, x in part.items() if not k.startswith("motor.")} for part in (old, new))
    for key in sorted({*old, *new}, key=[*new, *old].index):
        a, b = (part.get(key, _default(key)) for part in (old, new))
        if a != b:
            yield Change(where, key, a, b, _unit(key, joint))


def flat(table: Mapping[str, Any], path: str = "") -> dict[str, Entry]:
    """{"inertia": {"zz": 1}, "com": [0, 0, 1]} as {"inertia.zz": 1, "com.x": 0, …}."""
    found: dict[str, Entry] = {}
    for key, value in table.items():
        name = f"{path}{key}"
        if isinstance(value, Mapping):
            found |= flat(value, f"{name}.")
        elif isinstance(value, list):
            names = _LISTS.get(name) or _LISTS.get(key) or range(1, len(value) + 1)
            found |= flat(dict(zip(map(str, names), value, strict=True)), f"{name}.")
        elif name == "motor.inertia":
            found["motor.inertia.axial"] = value
        elif key == "coulomb":
            found |= {f"{name}.forward": value, f"{name}.backward": _negative(value)}
        else:
            found[name] = value
    return found


def _negative(value: Any) -> Entry:
    return written(-exactly(value))


def _default(key: str) -> Entry:
    if key in ("physical", "actuated"):
        return True
    if key in ("inertia.about", "base.name", "motor.stiffness"):
        return {"inertia.about": "com", "base.name": BASE, "motor.stiffness": None}[key]
    parts = key.split(".")
    if "limits" in parts[:2]:
        return None
    found = [_MISSING[part] for part in parts[-2:] if part in _MISSING]
    return found[0] if found and "axis" not in parts else None


def _unit(key: str, joint: str) -> str:
    parts = key.split(".")
    for name in (".".join(parts[:3]), ".".join(parts[:2]), parts[0], parts[-2] if len(parts) > 1 else ""):
        if name in _JOINT_UNITS:
            return _JOINT_UNITS[name][joint == "prismatic"]
        if name in _UNITS:
            return _UNITS[name]
    return ""


def _shown(x: Entry, value: float | None, unit: str, digits: str) -> str:
    """A text in quotes; a number with its unit; an expression with its value, where it has one.

    `digits`: "g", six of them; "r", all that a float has; "all", those of the exact number.
    """
    behind = f" {unit}" if unit else ""
    if x is None or isinstance(x, bool) or x == "free":
        return "(none)" if x is None else str(x).lower()
    text = str(x) if len(str(x)) <= 60 else str(x)[:57] + "..."
    if value is None:
        return f"'{text}'"
    number = f"{value:.6g}" if digits == "g" else repr(value)
    if not isinstance(x, str):
        return f"{number}{behind}"
    if exactly(x).symbols():
        return f"'{text}' = {number}{behind}"
    return f"{text if digits == 'all' or 'pi' in x else number}{behind}"


def _percent(old: float | None, new: float | None) -> str:
    """The change in per cent, of numbers other than zero."""
    change = 100 * (new - old) / old if old and new else 0.0
    return f" ({change:+.3g} %)" if change else ""
