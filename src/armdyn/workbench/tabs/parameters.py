"""The robot's numbers as fields (payload, masses, friction, gears, symbols), and the robot that edits make.

Changes are kept as data and applied in a fixed order, whatever the order in which they were made: values of
symbols, entries of the description, then the payload on top. The Python lines say the same, step by step.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from math import floor, log10
from typing import Any, NamedTuple

from armdyn.description.robot_file import build
from armdyn.description.writing.table import written
from armdyn.expression import Expression
from armdyn.model.friction import FrictionCoefficients
from armdyn.model.inertia import TENSOR_KEYS
from armdyn.names import one_line
from armdyn.report.page import Markup, tag
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits
from armdyn.workbench.bench import Bench
from armdyn.workbench.fields import NumberField, Reading, Value, each_number
from armdyn.workbench.moment import EditedRobot, Moment, ViewError

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Quantity:
    """A number of a link that can be changed: where it stands in the link's table, and what it may be."""

    title: str
    unit: str
    path: tuple[str, ...]
    negative: bool = False  # whether it may be below zero
    meaning: str = ""


_LIMIT = "as far as the joint may go; 0: no limit"
QUANTITIES = {
    "torque limit": Quantity("Torque limits", "N m or N", ("limits", "torque"), meaning=_LIMIT),
    "speed limit": Quantity("Speed limits", "rad/s or m/s", ("limits", "velocity"), meaning=_LIMIT),
    "acceleration limit": Quantity(
        "Acceleration limits", "rad/s² or m/s²", ("limits", "acceleration"), meaning=_LIMIT
    ),
    "motor torque limit": Quantity(
        "Torque limits of motors", "N m", ("motor", "limits", "torque"), meaning="at the shaft; 0: no limit"
    ),
    "motor speed limit": Quantity(
        "Speed limits of motors",
        "rad/s",
        ("motor", "limits", "velocity"),
        meaning="at the shaft; 0: no limit",
    ),
    "mass": Quantity("Masses", "kg", ("mass",), meaning="of the link, without motors"),
    "com": Quantity("Centres of mass", "m", ("com",), True, "in the link's frame"),
    "viscous": Quantity(
        "Viscous friction", "N m s/rad or N s/m", ("friction", "viscous"), meaning="at the joint"
    ),
    "coulomb": Quantity("Coulomb friction", "N m or N", ("friction", "coulomb"), meaning="at the joint"),
    "motor viscous": Quantity(
        "Viscous friction at motors", "N m s/rad", ("motor", "friction", "viscous"), meaning="at the shaft"
    ),
    "motor coulomb": Quantity(
        "Coulomb friction at motors", "N m", ("motor", "friction", "coulomb"), meaning="at the shaft"
    ),
    "gear": Quantity(
        "Gear ratios", "motor per joint", ("motor", "gear"), True, "its sign counts; compiled anew"
    ),
    "rotor": Quantity("Rotor inertias", "kg m²", ("motor", "inertia"), meaning="about the motor's axis"),
}


@dataclass(frozen=True)
class TipPayload:
    """What the tip carries, in the tip frame: mass [kg], centre [m], tensor about it [kg m²]."""

    mass: float = 0.0
    com: tuple[float, ...] = (0.0, 0.0, 0.0)
    moments: tuple[float, ...] = (0.0, 0.0, 0.0)  # xx yy zz
    products: tuple[float, ...] = (0.0, 0.0, 0.0)  # xy xz yz

    @property
    def tensor(self) -> dict[str, float]:
        (xx, yy, zz), (xy, xz, yz) = self.moments, self.products
        return dict(zip(TENSOR_KEYS, (xx, xy, xz, yy, yz, zz), strict=True))

    @property
    def is_there(self) -> bool:
        """Whether it is more than a place for something."""
        return bool(self.mass) or any(self.tensor.values())

    @property
    def arguments(self) -> str:
        """As `with_payload` takes them."""
        entries = {key: x for key, x in self.tensor.items() if x}
        return f"{self.mass!r}, com={list(self.com)!r}" + (f", inertia={entries!r}" if entries else "")

    def on(self, robot: Robot) -> Robot:
        if not self.is_there:
            return robot
        entries = self.tensor
        return robot.with_payload(self.mass, self.com, entries if any(entries.values()) else None)


@dataclass(frozen=True)
class Edits:
    """Changes by hand. `entries` are by link (its place among `model.links`) and quantity."""

    symbols: tuple[tuple[str, float], ...] = ()
    entries: tuple[tuple[tuple[int, str], Value], ...] = ()
    payload: TipPayload = TipPayload()

    def with_symbol(self, name: str, value: float) -> Edits:
        return replace(self, symbols=tuple({**dict(self.symbols), name: value}.items()))

    def with_entry(self, robot: Robot, link: int, key: str, value: Value) -> Edits:
        """With another number of a link. Where a symbol stands in its place, the symbol's value changes."""
        value = tuple(map(float, value)) if isinstance(value, tuple) else float(value)
        quantity, least = QUANTITIES[key], min(each_number(value))
        if not quantity.negative and least < 0:
            name = one_line(robot.model.links[link].name)
            raise ViewError(f"{quantity.title}: '{name}': found {least:g}; zero or positive is allowed")
        if isinstance(value, float) and (symbol := symbol_of(robot, link, key)):
            return self.with_symbol(symbol, value)
        return replace(self, entries=tuple(sorted({**dict(self.entries), (link, key): value}.items())))

    def made(self, given: Robot) -> Robot:
        """The robot that they make of the given one."""
        return self.payload.on(self.bare(given))

    def bare(self, given: Robot) -> Robot:
        """The same without its payload."""
        found = given.with_symbols(dict(self.symbols)) if self.symbols else given
        if self.entries:
            table, _ = self._table(found)
            model = build(table, one_line(given.name))  # as from_dict, without the warnings that were given
            found = Robot(replace(model, source=given.model.source, remarks=given.model.remarks))
        return found

    def lines(self, given: Robot) -> list[str]:
        """The same as Python lines that change `robot`."""
        lines = []
        found = given
        if self.symbols:
            lines.append(f"robot = robot.with_symbols({dict(self.symbols)!r})")
            found = given.with_symbols(dict(self.symbols))
        if self.entries:
            lines.append("table = robot.to_dict()")
            for path, value in self._table(found)[1]:
                place = f"table{''.join(f'[{key!r}]' for key in path)}"
                lines.append(f"del {place}" if value is None else f"{place} = {value!r}")
            lines.append("robot = Robot.from_dict(table)")
        if self.payload.is_there:
            lines.append(f"robot = robot.with_payload({self.payload.arguments})")
        return lines

    def _table(self, robot: Robot) -> tuple[dict[str, Any], list[tuple[Path, Any]]]:
        """The table of the robot with the entries; and where what was put, None: taken away."""
        table, done = robot.to_dict(), list[tuple[Path, Any]]()

        def put(value: Any, *path: str | int) -> None:
            _put(table, path, value)
            done.append((path, value))

        for (link, key), value in self.entries:
            own, path = table["link"][link], list(QUANTITIES[key].path)
            if key in ("mass", "com"):
                for name, x in _about_com(robot, link, own).items():
                    put(x, "link", link, name)
            if key == "rotor" and isinstance(own["motor"]["inertia"], dict):
                path.append("axial")
            new: Any = list(value) if isinstance(value, tuple) else value
            if "limits" in path and not new:  # none
                if _at_or(own, path) is not None:
                    put(None, "link", link, *path)
                continue
            if path[-1] == "coulomb":
                new = _pair(_friction(robot, link, key), new)
            while len(path) > 1 and path[-2] not in _at(own, path[:-2]):  # missing tables are made whole
                new, path = {path[-1]: new}, path[:-1]
            put(new, "link", link, *path)
        return table, done


def _at(table: Any, path: Sequence[str | int]) -> Any:
    for key in path:
        table = table[key]
    return table


def _at_or(table: Any, path: Sequence[str]) -> Any:
    """What stands at a path; None where nothing does."""
    for key in path:
        table = table.get(key, {}) if isinstance(table, dict) else {}
    return table or None


def _put(table: Any, path: Sequence[str | int], value: Any) -> None:
    table = _at(table, path[:-1])
    if value is None:
        del table[path[-1]]
    else:
        table[path[-1]] = deepcopy(value)


def _about_com(robot: Robot, link: int, own: dict[str, Any]) -> dict[str, Any]:
    """The body of a link about its centre of mass, where its table has it about the frame's origin."""
    body = robot.model.links[link].inertia
    about_origin = own.get("inertia", {}).get("about") == "origin" or "first_moment" in own
    if not about_origin or Expression.of(body.mass).is_zero:
        return {}
    number = robot.model.number
    entries = {key: number(x) for key, x in zip(TENSOR_KEYS, body.tensor_at_com, strict=True)}
    gone = {"first_moment": None} if "first_moment" in own else {}
    return {**gone, "com": [number(x) for x in body.com], "inertia": entries}


def _friction(robot: Robot, link: int, key: str) -> FrictionCoefficients:
    """Of a link's joint, or of its motor."""
    part = robot.model.links[link]
    return part.motor.friction if part.motor and key.startswith("motor") else part.friction


def _pair(friction: FrictionCoefficients, level: float) -> Any:
    """Coulomb friction of a level; what it has more forward than backward stays."""
    shift = friction["asymmetry"]
    if shift.is_zero:
        return level
    exact = Expression.of(level)
    return [written(shift + exact), written(shift - exact)]


# ---- what a robot has --------------------------------------------------------------------------------------


def entry(robot: Robot, link: int, key: str) -> Expression | None:
    """The exact number of a link, of its motor or joint; None where there is none. `com` has three."""
    part, path = robot.model.links[link], QUANTITIES[key].path
    if key == "mass":
        return Expression.of(part.inertia.mass)
    if part.joint == "fixed" or ("motor" in path and part.motor is None):
        return None
    if "limits" in path:
        if part not in robot.model.coordinates or not part.actuated:
            return None
        limits: Any = part.limits if part.motor is None or "motor" not in path else part.motor.limits
        found = getattr(limits, path[-1])
        return Expression.of(0) if found is None else found
    if part.motor is not None and key in ("gear", "rotor"):
        return part.motor.gear if key == "gear" else part.motor.axial
    friction = _friction(robot, link, key)
    if key.startswith("motor") and friction.is_zero:
        return None
    return friction["viscous" if key.endswith("viscous") else "coulomb"]


def value_of(robot: Robot, link: int, key: str) -> Value | None:
    """The number, or of `com` the three; None where the link has no such thing."""
    if key == "com":
        body = robot.model.links[link].inertia
        if not robot.model.number(body.mass):
            return None
        return tuple(robot.model.number(x) for x in body.com)
    found = entry(robot, link, key)
    return None if found is None else robot.model.number(found)


def symbol_of(robot: Robot, link: int, key: str) -> str | None:
    """The symbol that stands in the place of a number by itself."""
    found = None if key == "com" else entry(robot, link, key)
    if found is None or len(found.symbols()) != 1:
        return None
    (name,) = found.symbols()
    return name if found == Expression.symbol(name) else None


# ---- the robot as it is edited by hand: changes come in as fast as somebody types, and take effect --------
#
# A change of the parameters (masses, payload, friction) takes effect at once, and one that no robot can have
# is refused at once. One that needs the robot compiled anew (gears, geometry) waits until no other comes for
# a moment, and for a computation that runs; nothing is lost meanwhile.


Change = Callable[[Edits], Edits]
_KEPT = 200  # changes that can be taken back
REST = 0.4  # s without another change, after which a robot is compiled


class Editor:
    """`edits` is what was asked for, which the robot shown may have to wait for; `change` changes it."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.edits, self.said = bench, Edits(), ""
        self._past, self._future = list[Edits](), list[Edits]()
        self.bare = bench.robot  # as asked for, without its payload
        self._given = bench.moment.subject
        self._lock = threading.RLock()
        self._waiting: threading.Timer | None = None
        self.news: Callable[[], None] = lambda: None  # called when the robot changed, and when it is compiled

    def change(self, to: Change) -> None:
        """Take a change: at once if it costs nothing, else when no other comes for a moment."""
        with self._lock:
            before, edits = self.edits, to(self.edits)
            self._go(edits)
            if edits != before:
                self._past = [*self._past[-_KEPT:], before]
                self._future.clear()

    def reset(self) -> None:
        """The robot as it was given."""
        self.change(lambda _: Edits())

    def undo(self, _client: Any = None) -> None:
        """Take back the last change."""
        self._turn(self._past, self._future, "undo")

    def redo(self, _client: Any = None) -> None:
        """Make the change again that was taken back last."""
        self._turn(self._future, self._past, "redo")

    def _turn(self, back: list[Edits], forth: list[Edits], what: str) -> None:
        with self._lock:
            if not back:
                raise ViewError(f"there is nothing to {what}: no number of the robot was changed")
            before = self.edits
            self._go(back[-1])
            back.pop()
            forth.append(before)

    def _go(self, edits: Edits) -> None:
        subject, bare = self._subject(edits), edits.bare(self.bench.given)
        self.edits, self.bare = edits, bare
        if subject.runs is subject.robot and subject.runs is not self._given.runs:
            self._wait()
        else:
            self._take(subject, "")

    def _subject(self, edits: Edits) -> EditedRobot:
        """What changes give. The given robot is compiled already, however often it comes back."""
        if edits == Edits():
            return self._given
        robot = edits.made(self.bench.given)
        back = self._given.changed(robot)
        return back if back.runs is self._given.runs else self.bench.moment.subject.changed(robot)

    def _take(self, subject: EditedRobot, said: str) -> None:
        """Show the robot with all that was asked for."""
        self._stop_waiting()
        known = {*self.bench.given.warnings, *self.bench.robot.warnings}
        for text in subject.robot.warnings:
            if text not in known:
                self.bench.tell("Looks wrong", text, "orange")
        self.bench.limits, self.bench.unladen = joint_limits(subject.robot), self.bare
        lines = *self.bench.loads, *self.edits.lines(self.bench.given)
        self.bench.script.say("robot", *lines, imports=["Robot"])
        self.bench.change(subject=subject)
        self.said = said
        self.news()

    # ---- what waits ---------------------------------------------------------------------------------------

    def _wait(self) -> None:
        self._stop_waiting()
        timer = threading.Timer(REST, lambda: self.bench.guard(self._settle, timer))
        self._waiting = timer
        timer.daemon = True
        timer.start()

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _settle(self, timer: threading.Timer) -> None:
        """Compile the robot that was asked for, as soon as no other job runs."""
        with self._lock:
            if self._waiting is not timer or self.bench.closed:
                return  # another change came when the time was just over
            self._waiting = None
            if self.bench.busy:
                self.said = "Waits for another computation …"
                self._wait()
                return
            self.said = "Compiling …"
            self.news()
            moment = replace(self.bench.moment, subject=self._subject(self.edits))
        if not self.bench.job("compile the robot", lambda: _compiled(moment), self._done):
            with self._lock:
                self._wait()

    def _done(self, found: tuple[EditedRobot, float]) -> None:
        """Take the compiled robot, with what came in the meantime; not if that needs yet another one."""
        compiled, seconds = found
        with self._lock:
            subject = compiled.changed(self.edits.made(self.bench.given))
            if subject.runs is compiled.runs:
                self._take(subject, f"Compiled anew in {seconds:.2g} s.")


def _compiled(moment: Moment) -> tuple[EditedRobot, float]:
    """The subject with everything compiled that the page shows, and how long that took [s]."""
    start = time.perf_counter()
    _ = moment.tau, moment.parts, moment.energies
    return moment.subject, time.perf_counter() - start


# ---- the tab ---------------------------------------------------------------------------------------------


class ShownField(NamedTuple):
    """A field, and what it shows of the robot."""

    field: NumberField
    read: Callable[[], Value | None]

    def follow(self) -> None:
        """Show what was asked for."""
        found = self.read()
        if found is None:
            return
        pairs = zip(each_number(found), each_number(self.field.value), strict=True)
        if any(abs(x - y) > 1e-12 * max(abs(x), abs(y)) for x, y in pairs):
            self.field.show(found)


def add(bench: Bench) -> None:
    editor, reading = Editor(bench), Reading(bench)
    turns = bench.gui.add_button_group("Changes", ("Undo", "Redo"), hint="Ctrl-Z and Ctrl-Shift-Z do it, too")
    turns.on_click(lambda _: bench.guard(editor.undo if turns.value == "Undo" else editor.redo))
    bench.fields.hear("undo", editor.undo)
    bench.fields.hear("redo", editor.redo)
    bench.button("Reset", editor.reset, hint="Back to the robot as it was loaded")
    fields = [*_payload(editor), *_quantities(editor), *_symbols(editor)]
    with bench.places["Torques"]:
        fields += _what_if(editor)

    def follow() -> None:
        for field in fields:
            field.follow()
        reading.show(_note(editor))

    editor.news = follow
    follow()


def _note(editor: Editor) -> Markup:
    """Which robot it is, and what became of the last change."""
    edits = editor.edits
    count = len(edits.symbols) + len(edits.entries) + edits.payload.is_there
    changes = "As loaded." if not count else f"{count} number{'s' if count > 1 else ''} changed."
    return tag(
        "div",
        tag("b", one_line(editor.bench.robot.name)),
        tag("div", f"{changes} {editor.said}"),
        class_="ad-note",
        data_armdyn="robot",
    )


# ---- folders -----------------------------------------------------------------------------------------------


def _payload(editor: Editor) -> Iterator[ShownField]:
    """Mass, centre and tensor of what the tip carries."""

    def field(label: str, hint: str, name: str, unit: str) -> ShownField:
        def change(new: Any) -> None:
            editor.change(lambda edits: replace(edits, payload=replace(edits.payload, **{name: new})))

        return _field(editor, label, hint, lambda: getattr(editor.edits.payload, name), change, unit)

    with editor.bench.gui.add_folder("More payload at the tip"):
        yield field("mass [kg]", "", "mass", "kg")
        yield field("centre [m]", "Where its centre of mass is, in the tip frame", "com", "m")
        with editor.bench.gui.add_folder("Its inertia", expand_by_default=False):
            hint = "Entries of the tensor about its centre of mass, axes of the tip frame [kg m²]"
            yield field("xx yy zz", hint, "moments", "kg m²")
            yield field("xy xz yz", hint, "products", "kg m²")


def _quantities(editor: Editor) -> Iterator[ShownField]:
    """A folder for each quantity that some link has."""
    robot = editor.bench.robot
    links = range(len(robot.model.links))
    for key, quantity in QUANTITIES.items():
        having = [link for link in links if value_of(robot, link, key) is not None]
        if not having:
            continue
        title = f"{quantity.title} [{_unit(editor, quantity.unit)}]"
        with editor.bench.gui.add_folder(title, expand_by_default=False) as folder:
            editor.bench.fields.title(folder)
            for link in having:
                yield _entry(editor, link, key)


def _unit(editor: Editor, unit: str) -> str:
    """Of "N m or N" what the robot's joints have."""
    turning, _, sliding = unit.partition(" or ")
    kinds = {link.joint for link in editor.bench.robot.model.moving}
    return turning if kinds == {"revolute"} else sliding or unit if kinds == {"prismatic"} else unit


def _entry(editor: Editor, link: int, key: str) -> ShownField:
    model, quantity = editor.bench.robot.model, QUANTITIES[key]
    part, name = model.links[link], one_line(model.links[link].name)
    label = name if part.joint == "fixed" else f"{model.moving.index(part) + 1} {name}"
    symbol = symbol_of(editor.bench.robot, link, key)
    hint = f"{quantity.title} of '{name}': {quantity.meaning}" + (f"; the symbol {symbol}" if symbol else "")

    def change(new: Value) -> None:
        editor.change(lambda edits: edits.with_entry(editor.bench.given, link, key, new))

    turning, _, sliding = quantity.unit.partition(" or ")
    unit = sliding or turning if part.joint == "prismatic" else turning
    # Of the link as it was asked for, without the payload, which is a body of its own.
    return _field(editor, label, hint, lambda: value_of(editor.bare, link, key), change, unit)


def _what_if(editor: Editor) -> list[ShownField]:
    """Beside the torques: payload, limits and gears as a whole, each joint's own in the tab of the robot."""
    given = editor.bench.given

    def load(new: float) -> None:
        editor.change(lambda edits: replace(edits, payload=replace(edits.payload, mass=new)))

    def scaled(label: str, keys: tuple[str, ...], hint: str) -> Iterator[ShownField]:
        found = {
            (link, key): float(value)
            for key in keys
            for link in range(len(given.model.links))
            if (value := value_of(given, link, key)) and not isinstance(value, tuple)
        }
        if not found:
            return

        def change(new: float) -> None:
            def to(edits: Edits) -> Edits:
                for (link, key), value in found.items():
                    edits = edits.with_entry(given, link, key, value * new / 100)
                return edits

            if new <= 0:
                raise ViewError(f"{label}: found {new:g}; more than 0 is allowed")
            editor.change(to)

        (link, key), value = next(iter(found.items()))

        def read() -> float:
            now = value_of(editor.bare, link, key)
            return round(100 * now / value, 9) if isinstance(now, float) else 100.0

        yield _field(editor, f"{label} [%]", hint, read, change, "%")

    with editor.bench.gui.add_folder("What if"):
        hint = "At the tip, beside what the description and --payload have there"
        payload = _field(editor, "+ payload [kg]", hint, lambda: editor.edits.payload.mass, load, "kg")
        limits = ("torque limit", "motor torque limit")
        return [
            payload,
            *scaled("torque limits", limits, "Of all joints and motors, of what the description says"),
            *scaled("gear ratios", ("gear",), "Of all motors, of what the description says"),
        ]


def _symbols(editor: Editor) -> Iterator[ShownField]:
    names = list(editor.bench.robot.symbols)  # all have values: see `view`
    if not names:
        return
    with editor.bench.gui.add_folder("Symbols of the description", expand_by_default=False):
        for name in names:
            yield _symbol(editor, name)


def _symbol(editor: Editor, name: str) -> ShownField:
    def change(new: float) -> None:
        editor.change(lambda edits: edits.with_symbol(name, new))

    hint = f"The value of {name}, wherever it stands in the description"
    return _field(editor, name, hint, lambda: editor.bare.symbols[name], change)


# ---- fields ------------------------------------------------------------------------------------------------


def _field(
    editor: Editor,
    label: str,
    hint: str,
    read: Callable[[], Value | None],
    change: Callable[[Any], None],
    unit: str = "",
) -> ShownField:
    """A field for one number, or for three."""
    value, gui = read(), editor.bench.gui
    assert value is not None
    add: Any = gui.add_vector3 if isinstance(value, tuple) else gui.add_number
    largest = max(map(abs, each_number(value)))
    size = floor(log10(largest)) if largest else 0
    handle = add(label, value, step=float(10.0 ** (size - 1)), hint=hint or None)
    return ShownField(editor.bench.fields.add(handle, unit, change), read)
