"""Differences between two robots, in words and numbers: their tables, compared key by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from armdyn.description.reader import LONGEST
from armdyn.description.writing.table import Table, convention_of, plain_table, written, written_direction
from armdyn.expression import ArmdynError, Expression, parse
from armdyn.model.friction import SINGLE, TERMS
from armdyn.model.robot_model import BASE, RobotModel
from armdyn.names import one_line, quoted

# ------------------------------------------------------------------------------------------------------------
# Entries of robot files that are compared: names, units, and values where they are missing.


Entry = int | float | str | bool | None
_MISSING = {  # what a missing key means, where that is a number
    **dict.fromkeys(("mass", "transverse", "theta"), 0),
    **dict.fromkeys((*SINGLE, "coulomb", "level", "width"), 0),
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
_NAMES = ("name", "joint_name", "parent", "carrier", "tip", "between")
TEXTS = (*_NAMES, "joint", "rotors", "relation", "about", "loop")
_JOINT_UNITS = {  # of turning and of sliding joints
    "limits.position": ("rad", "m"),
    "limits.velocity": ("rad/s", "m/s"),
    "limits.acceleration": ("rad/s²", "m/s²"),
    "limits.jerk": ("rad/s³", "m/s³"),
    "limits.torque": ("N m", "N"),
    **{f"motor.friction.{name}": (term.unit("N m", "rad"),) * 2 for name, term in TERMS.items()},
    **{f"friction.{name}": (term.unit("N m", "rad"), term.unit("N", "m")) for name, term in TERMS.items()},
    "friction.stribeck.level": ("N m", "N"),
    "friction.stribeck.velocity": ("rad/s", "m/s"),
    "friction.width": ("rad/s", "m/s"),
    "motor.friction.width": ("rad/s", "rad/s"),
    **dict.fromkeys(("spring.stiffness", "motor.stiffness"), ("N m/rad", "N/m")),
    **dict.fromkeys(("spring.rest", "guess"), ("rad", "m")),
    "motor.damping": ("N m s/rad", "N s/m"),
}


@dataclass(frozen=True)
class Changed:
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


def compared(where: str, old: dict[str, Entry], new: dict[str, Entry], joint: str) -> Iterator[Changed]:
    motors = [any(key.startswith("motor.") for key in part) for part in (old, new)]
    if motors[0] != motors[1]:
        yield Changed(f"{where}: motor", "", *(("motor", None) if motors[0] else (None, "motor")))
        old, new = ({k: x for k, x in part.items() if not k.startswith("motor.")} for part in (old, new))
    for key in sorted({*old, *new}, key=[*new, *old].index):
        a, b = (part.get(key, _default(key)) for part in (old, new))
        if a != b:
            yield Changed(where, key, a, b, _unit(key, joint))


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


# ------------------------------------------------------------------------------------------------------------
# The comparison.


_PARTS = ("symbols", "link", "closure", "spring", "derived")  # of a robot, compared by themselves


@dataclass(frozen=True)
class Difference:
    """Differences between two robots; falsy when they are equal. `str` has a line for each change."""

    changes: tuple[Changed, ...]

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    def __iter__(self) -> Iterator[Changed]:
        return iter(self.changes)

    def __getitem__(self, i: int) -> Changed:
        return self.changes[i]

    def __str__(self) -> str:
        return "\n".join(map(str, self.changes)) or "the same robot"


def difference(old: RobotModel, new: RobotModel) -> Difference:
    """Changes from one robot to another.

    Links of the same name are the same link. So are two links at the same place whose names only one robot
    has: the link was renamed.
    """
    if old == new:
        return Difference(())
    renamed = _renamed(old, new)
    first, second = _tables(old, new, renamed)
    changes = [
        *_robot_changes(first, second, renamed),
        *_symbol_changes(first.get("symbols", {}), second.get("symbols", {})),
        *_link_changes(first, second, renamed),
        *_closure_changes(first, second, renamed),
        *_spring_changes(first, second, renamed),
    ]
    if not changes:  # a table of couplings has no order, the model has one
        changes = [Changed("robot", "order of couplings", "as in the first", "as in the second")]
    return Difference(tuple(_valued(change, old, new) for change in changes))


def _valued(change: Changed, old: RobotModel, new: RobotModel) -> Changed:
    if change.key.rpartition(".")[2] in TEXTS:
        return change
    return replace(change, values=(_number(change.old, old), _number(change.new, new)))


def _number(x: Entry, model: RobotModel) -> float | None:
    """The value of a number or of an expression in the robot's symbols; None if there is none."""
    if x is None or isinstance(x, bool):
        return None
    try:
        exact = exactly(x)
        return model.value(exact) if exact.symbols() <= dict(model.symbols).keys() else None
    except ArmdynError:
        return None


def _tables(old: RobotModel, new: RobotModel, renamed: Mapping[str, str]) -> tuple[Table, Table]:
    """Both robots in one convention, and each body in one form."""
    conventions = {convention_of(old), convention_of(new)}
    convention = conventions.pop() if len(conventions) == 1 else "frames"
    first, second = (plain_table(model, convention, ()) for model in (old, new))
    forms = _forms(first, renamed), _forms(second, {})
    unlike = {name for name in {*forms[0], *forms[1]} if forms[0].get(name) != forms[1].get(name)}
    unlike |= {name for name, now in renamed.items() if now in unlike}
    if unlike:
        first, second = (plain_table(model, convention, unlike) for model in (old, new))
    _write_axes(first, old, second, {now: name for name, now in renamed.items()})
    _write_axes(second, new, first, renamed)
    return first, second


def _write_axes(table: Table, model: RobotModel, other: Table, renamed: Mapping[str, str]) -> None:
    """Write out the axes of motors that the other robot's table has."""
    named = {
        renamed.get(link["name"], link["name"]) for link in other["link"] if "axis" in link.get("motor", {})
    }
    for entry, link in zip(table["link"], model.links, strict=True):
        if link.motor is not None and link.name in named:
            entry["motor"]["axis"] = written_direction(link.motor.axis)


def _renamed(old: RobotModel, new: RobotModel) -> dict[str, str]:
    """New names by old ones, of links at the same place whose names only one robot has, and of the base."""
    links = {
        a.name: b.name
        for a, b in zip(old.links, new.links, strict=False)
        if a.name not in new.index and b.name not in old.index and a.joint == b.joint
    }
    return links | ({} if old.root == new.root else {old.root: new.root})


def _forms(table: Table, renamed: Mapping[str, str]) -> dict[str, bool]:
    """True for each link, by name, whose body is given about the frame's origin."""
    return {
        renamed.get(link["name"], link["name"]): "first_moment" in link or "about" in link.get("inertia", {})
        for link in table["link"]
    }


# ---- robots and symbols ------------------------------------------------------------------------------------


def _robot_changes(old: Table, new: Table, renamed: Mapping[str, str]) -> Iterator[Changed]:
    tops = []
    for table, names in ((old, renamed), (new, {})):
        tip = table.get("tip", table["link"][-1]["name"])
        top = {key: x for key, x in table.items() if key not in _PARTS}
        tops.append(top | {"tip": names.get(tip, tip)})
    yield from compared("robot", flat(tops[0]), flat(tops[1]), "")


def _symbol_changes(old: Table, new: Table) -> Iterator[Changed]:
    for name in dict.fromkeys((*old, *new)):
        if name not in old or name not in new:
            yield Changed(f"symbol '{name}'", "", old.get(name), new.get(name))
        elif old[name] != new[name]:
            yield Changed(f"symbol '{name}'", "value", old[name], new[name])
    kept = [[name for name in table if name in old and name in new] for table in (old, new)]
    if kept[0] != kept[1]:
        yield Changed("robot", "order of symbols", ", ".join(kept[0]), ", ".join(kept[1]))


# ---- links -------------------------------------------------------------------------------------------------


def _link_changes(old: Table, new: Table, renamed: Mapping[str, str]) -> Iterator[Changed]:
    before = {renamed.get(link["name"], link["name"]): link for link in _complete(old, renamed)}
    after = {link["name"]: link for link in _complete(new, {})}
    for name, link in before.items():
        where = f"link {quoted(link['name'])}"
        if name not in after:
            yield Changed(where, "", link["joint"], None)
            continue
        if link["name"] != name:
            yield Changed(where, "name", link["name"], name)
        parts = [flat({key: x for key, x in part.items() if key != "name"}) for part in (link, after[name])]
        yield from compared(where, parts[0], parts[1], after[name]["joint"])
    for name, link in after.items():
        if name not in before:
            yield Changed(f"link {quoted(name)}", "", None, link["joint"])
    kept = [[name for name in part if name in before and name in after] for part in (before, after)]
    if kept[0] != kept[1]:
        yield Changed("robot", "order of links", ", ".join(kept[0]), ", ".join(kept[1]))


def _complete(table: Table, renamed: Mapping[str, str]) -> list[Table]:
    """The links with parents and carriers written out, and with the new names of renamed links."""
    links = []
    parent = table.get("base", {}).get("name", "base")
    for link in table["link"]:
        own = link.get("parent", parent)
        complete = link | {"parent": renamed.get(own, own)}
        if "motor" in link:
            carrier = link["motor"].get("carrier", own)
            motor = link["motor"] | {"carrier": renamed.get(carrier, carrier)}
            if "coupling" in motor:
                motor["coupling"] = {renamed.get(name, name): k for name, k in motor["coupling"].items()}
            complete["motor"] = motor
        links.append(complete)
        parent = link["name"]
    return links


def _closure_changes(old: Table, new: Table, renamed: Mapping[str, str]) -> Iterator[Changed]:
    parts = [
        [_tied(closure, names) for closure in table.get("closure", [])]
        for table, names in ((old, renamed), (new, {}))
    ]
    for i in range(max(map(len, parts))):
        a, b = (part[i] if i < len(part) else {} for part in parts)
        if "between" in a and "between" in b:
            yield from compared(f"closure {i + 1}", flat(a), flat(b), "")
            continue
        for key, name in (("relation", "relation"), ("between", "loop")):
            if a.get(key) != b.get(key):
                yield Changed(f"closure {i + 1}", name, a.get(key), b.get(key))


def _spring_changes(old: Table, new: Table, renamed: Mapping[str, str]) -> Iterator[Changed]:
    """Changes of springs. Those of one name are the same spring; without a name, those at the same place."""
    before, after = (
        {spring.get("name", i + 1): _tied(spring, names) for i, spring in enumerate(table.get("spring", []))}
        for table, names in ((old, renamed), (new, {}))
    )
    for name in dict.fromkeys((*before, *after)):
        where = f"spring {quoted(name) if isinstance(name, str) else name}"
        if name in before and name in after:
            yield from compared(where, flat(before[name]), flat(after[name]), "")
        else:
            gone, added = (part.get(name, {}).get("between") for part in (before, after))
            yield Changed(where, "", gone, added)
    kept = [[name for name in part if name in before and name in after] for part in (before, after)]
    if kept[0] != kept[1]:
        first, second = (", ".join(map(str, part)) for part in kept)
        yield Changed("robot", "order of springs", first, second)


def _tied(table: Table, renamed: Mapping[str, str]) -> Table:
    """A closure or a spring with what it ties as a text."""
    if "between" not in table:
        return {"relation": _relation(table, renamed)}
    return table | {"between": " - ".join(renamed.get(name, name) for name in table["between"])}


def _relation(closure: Table, renamed: Mapping[str, str]) -> str:
    terms = [f"({k})*'{renamed.get(name, name)}'" for name, k in closure["relation"].items()]
    return f"{' + '.join(terms)} = {closure.get('offset', 0)}"
