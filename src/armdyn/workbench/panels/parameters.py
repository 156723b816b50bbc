"""The robot's numbers as fields: payload, masses, friction, gears, symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import floor, log10
from typing import Any

from armdyn.output import one_line
from armdyn.report.page.markup import Markup, tag
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.bench.editor import Editor
from armdyn.workbench.bench.edits import QUANTITIES, Payload, Value, symbol_of, value_of
from armdyn.workbench.bench.fields import Field
from armdyn.workbench.panels.reading import Reading

_DIAGONAL, _PRODUCTS = (0, 3, 5), (1, 2, 4)  # of xx xy xz yy yz zz


@dataclass
class Shown:
    """A field, and what it shows of the robot."""

    field: Field
    read: Callable[[], Value | None]

    def follow(self) -> None:
        """Show what was asked for."""
        found, shown = self.read(), self.field.value
        if found is None:
            return
        pairs = zip(found, shown, strict=True) if isinstance(found, tuple) else ((found, shown),)
        if any(abs(x - y) > 1e-12 * max(abs(x), abs(y)) for x, y in pairs):
            self.field.show(found)


def add(bench: Bench) -> Editor:
    editor = Editor(bench)
    note = Reading(bench)
    button = bench.gui.add_button("Reset", hint="Back to the robot as it was loaded")
    fields = [*_payload(editor), *_quantities(editor), *_symbols(editor)]

    @button.on_click
    def _(_event: Any) -> None:
        bench.guard(editor.reset)

    def follow() -> None:
        for field in fields:
            field.follow()
        note.show(_note(editor))

    editor.on_news(follow)
    follow()
    return editor


def _note(editor: Editor) -> Markup:
    """Which robot it is, and what became of the last change."""
    edits = editor.edits
    count = len(edits.symbols) + len(edits.entries) + edits.payload.is_there
    changes = "As loaded." if not count else f"{count} number{'s' if count > 1 else ''} changed."
    return tag(
        "div",
        tag("b", one_line(editor.robot.name)),
        tag("div", f"{changes} {editor.said}"),
        class_="ad-note",
        data_armdyn="robot",
    )


# ---- folders -----------------------------------------------------------------------------------------------


def _payload(editor: Editor) -> Iterator[Shown]:
    """Mass, centre and tensor of what the tip carries."""

    def with_payload(change: Callable[[Payload, Any], Payload]) -> Callable[[Any], None]:
        return lambda new: editor.change(lambda edits: replace(edits, payload=change(edits.payload, new)))

    def with_entries(places: tuple[int, ...]) -> Callable[[Any], None]:
        def change(load: Payload, new: tuple[float, ...]) -> Payload:
            given = dict(zip(places, new, strict=True))
            return replace(load, tensor=tuple(given.get(i, x) for i, x in enumerate(load.tensor)))

        return with_payload(change)

    def entries(places: tuple[int, ...]) -> Callable[[], Value]:
        return lambda: tuple(editor.edits.payload.tensor[i] for i in places)

    with editor.bench.gui.add_folder("Payload at the tip"):
        mass = with_payload(lambda load, new: replace(load, mass=new))
        yield _field(editor, "mass [kg]", "", lambda: editor.edits.payload.mass, mass, "kg")
        com = with_payload(lambda load, new: replace(load, com=new))
        hint = "Where its centre of mass is, in the tip frame"
        yield _field(editor, "centre [m]", hint, lambda: editor.edits.payload.com, com, "m")
        with editor.bench.gui.add_folder("Its inertia", expand_by_default=False):
            hint = "Entries of the tensor about its centre of mass, axes of the tip frame [kg m²]"
            for label, places in (("xx yy zz", _DIAGONAL), ("xy xz yz", _PRODUCTS)):
                yield _field(editor, label, hint, entries(places), with_entries(places), "kg m²")


def _quantities(editor: Editor) -> Iterator[Shown]:
    """A folder for each quantity that some link has."""
    robot = editor.robot
    links = range(len(robot.model.links))
    for key, quantity in QUANTITIES.items():
        having = [link for link in links if value_of(robot, link, key) is not None]
        if not having:
            continue
        title = f"{quantity.title} [{_unit(editor, quantity.unit)}]"
        with editor.bench.gui.add_folder(title, expand_by_default=False):
            for link in having:
                yield _entry(editor, link, key)


def _unit(editor: Editor, unit: str) -> str:
    """Of "N m or N" what the robot's joints have."""
    turning, _, sliding = unit.partition(" or ")
    kinds = {link.joint for link in editor.robot.model.moving}
    return turning if kinds == {"revolute"} else sliding or unit if kinds == {"prismatic"} else unit


def _entry(editor: Editor, link: int, key: str) -> Shown:
    model, quantity = editor.robot.model, QUANTITIES[key]
    part, name = model.links[link], one_line(model.links[link].name)
    label = name if part.joint == "fixed" else f"{model.moving.index(part) + 1} {name}"
    symbol = symbol_of(editor.robot, link, key)
    hint = f"{quantity.title} of '{name}': {quantity.meaning}" + (f"; the symbol {symbol}" if symbol else "")

    def change(new: Value) -> None:
        editor.change(lambda edits: edits.with_entry(editor.bench.given, link, key, new))

    unit = quantity.unit.partition(" or ")[0]
    return _field(editor, label, hint, lambda: _link_value(editor, link, key), change, unit)


def _link_value(editor: Editor, link: int, key: str) -> Value | None:
    """Of the link as it was asked for, without the payload, which is a body of its own."""
    return value_of(editor.bare, link, key)


def _symbols(editor: Editor) -> Iterator[Shown]:
    names = [name for name, value in editor.robot.symbols.items() if value is not None]
    if not names:
        return
    with editor.bench.gui.add_folder("Symbols of the description", expand_by_default=False):
        for name in names:
            yield _symbol(editor, name)


def _symbol(editor: Editor, name: str) -> Shown:
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
) -> Shown:
    """A field for one number, or for three."""
    value, gui = read(), editor.bench.gui
    assert value is not None
    add: Any = gui.add_vector3 if isinstance(value, tuple) else gui.add_number
    largest = max(map(abs, value)) if isinstance(value, tuple) else abs(value)
    size = floor(log10(largest)) if largest else 0
    handle = add(label, value, step=float(10.0 ** (size - 1)), hint=hint or None)
    return Shown(editor.bench.fields.add(handle, unit, change), read)
