"""What a page shows and sends: number fields, readings (HTML written anew when it changes), files.

A page sends what was typed into a number field as text, when Enter is pressed or the field is left
(`page.js`). Here it is read as an expression, brought within the field's limits, shown in every page and
taken. What is refused is said in one sentence, and the field goes back. Sliders and the arrows of fields send
numbers, which go the same way.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from math import floor, inf, isfinite, log10, pi
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from armdyn.expression import ArmdynError, parse
from armdyn.expression.parser import DEGREES
from armdyn.names import one_line
from armdyn.report.page import Markup, tag
from armdyn.workbench.moment import Holder, ViewError

Value = float | tuple[float, ...]
Limits = tuple[float, float]
_DECIMALS = 9  # after the point; fields show no more than a number has, and four digits of a small one
_ROUNDING = 1e-14  # of a slider's ends: what is less is 0
_LONGEST = 200  # characters of what is typed
_NOTHING = Markup("")


@dataclass(frozen=True)
class FieldUnits:
    """In what pages show angles and lengths; everything else, and all that is computed, is in SI units."""

    degrees: bool = False
    millimetres: bool = False

    def of(self, unit: str) -> tuple[str, float]:
        """What a unit such as "rad/s" is shown in, and how many of that it is."""
        if self.degrees and unit.startswith("rad"):
            return "°" + unit.removeprefix("rad"), 180 / pi
        if self.millimetres and (unit == "m" or unit.startswith("m/")):
            return "m" + unit, 1000.0
        return unit, 1.0


CHOICES = {
    "radians, metres": FieldUnits(),
    "degrees, metres": FieldUnits(degrees=True),
    "degrees, millimetres": FieldUnits(True, True),
    "radians, millimetres": FieldUnits(millimetres=True),
}


class NumberField:
    """A number of the page, or three side by side; of a slider, both it and the number beside it.

    `change` is called with every new value that comes from a page, and may refuse it. What is typed beyond
    `limits`, without them those of the handle, is brought to the limit. With `limits`, a slider shows values
    beyond its ends by growing, as long as they last. `value` is in the field's `unit`, what pages show and
    what is typed in the unit that was chosen for it.
    """

    def __init__(
        self,
        bench: Holder,
        handle: Any,
        unit: str,
        change: Callable[[Any], None] | None,
        limits: Callable[[], Limits] | None,
    ) -> None:
        self._bench, self.handle, self.unit = bench, handle, unit
        self._change, self._limits = change, limits
        self._ends = (handle.min, handle.max) if limits is not None else None
        self._step, self._said = handle.step, (str(handle.label), handle.hint)
        self._held: Value = handle.value
        self._shown, self._factor = unit, 1.0  # the unit in the page, and how many of it are one
        if (shown := self._without_rounding(handle.value)) != handle.value:
            handle.value = shown
        self._fit_decimals(shown)
        handle.on_update(self._sent)

    @property
    def value(self) -> Any:
        """What it shows, in its own unit: a number, or a tuple of them."""
        return self._held

    def show(self, value: Value) -> None:
        """Show a value in every page."""
        shown = self._without_rounding(times(value, self._factor))
        self._fit_decimals(shown)
        if self._ends is not None and not isinstance(value, tuple):
            low, high = (x * self._factor for x in (min(self._ends[0], value), max(self._ends[1], value)))
            if (self.handle.min, self.handle.max) != (low, high):
                self.handle.min, self.handle.max = low, high
        self._held, self.handle.value = value, shown

    def switch(self, units: FieldUnits) -> None:
        """Show it in other units."""
        shown, factor = units.of(self.unit)
        if shown == self._shown:
            return
        self._shown, self._factor = shown, factor
        label, hint = (text and text.replace(f"[{self.unit}]", f"[{shown}]") for text in self._said)
        if self.handle.label != label:
            self.handle.label = label
        self.handle.hint = hint
        self.handle.step = float(f"{self._step * factor:.0e}") if factor != 1 else self._step
        self.show(self._held)

    def type(self, place: int, text: str) -> None:
        """Take what was typed, in a row of several numbers at a place."""
        before = self._held
        number = self._within(place, self._read(text))
        if isinstance(before, tuple):
            value: Value = tuple(number if i == place else x for i, x in enumerate(before))
        else:
            value = number
        self.show(value)
        self._take(before, value)

    def _sent(self, event: Any) -> None:
        """A number from a slider or an arrow; not what `show` shows."""
        if event.client is not None:
            before, self._held = self._held, times(self.handle.value, 1 / self._factor)
            self._bench.guard(self._take, before, self._held)

    def _take(self, before: Value, value: Value) -> None:
        try:
            if not all(map(isfinite, each_number(value))):
                raise ViewError(f"{self._name}: expected a number, found {value}")
            if self._change is not None:
                self._change(value)
        except ArmdynError:
            self.show(before)
            raise

    # ---- reading -------------------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        return str(one_line(self.handle.label))

    def _read(self, text: str) -> float:
        """The number of a text; a decimal comma will do, and what word processors make of a minus sign."""
        plain = text.replace("−", "-").replace("–", "-")
        plain = plain.replace(",", ".") if plain.count(",") == 1 else plain
        angle = not self.unit or self.unit.startswith("rad")
        shown = one_line(text[:_LONGEST])
        if DEGREES.search(plain) and not angle:
            raise ViewError(f"{self._name}: expected a number in {self._shown}, found the angle '{shown}'")
        is_angle = DEGREES.search(plain) or (angle and "pi" in plain)  # in radians, whatever the page shows
        try:
            return parse(plain, (), _LONGEST).value() / (1.0 if is_angle else self._factor)
        except ArmdynError:
            such = "-0.5, 1e-3 or pi/2" if not angle else "-0.5, 1e-3, pi/2 or 90deg"
            raise ViewError(f"{self._name}: expected a number such as {such}, found '{shown}'") from None

    def _within(self, place: int, number: float) -> float:
        """The number, or the limit that it is beyond; the page is told."""
        low, high = self._bounds(place)
        if low <= number <= high:
            return number
        found = low if number < low else high
        unit = f" {self._shown}" if self._shown else ""
        numbers = [f"{x * self._factor:.6g}{unit}" for x in (number, found)]
        text = f"{numbers[0]} is beyond {numbers[1]}, the limit: set to that."
        if self._shown == "rad" and isfinite(found):
            text += " Degrees are written 90deg."
        self._bench.tell(self._name, text, "orange")
        return found

    def _bounds(self, place: int) -> Limits:
        if self._limits is not None:
            return self._limits()
        ends = (self.handle.min, self.handle.max)
        low, high = (x[place] if isinstance(x, tuple) else x for x in ends)
        part = 1 / self._factor
        return (-inf if low is None else part * float(low), inf if high is None else part * float(high))

    def _without_rounding(self, shown: Value) -> Value:
        """What a slider shows of a value: 0 where it is no more than rounding beside the slider's ends."""
        if self._ends is None or isinstance(shown, tuple):
            return shown
        return shown if abs(shown) > _ROUNDING * self._factor * max(map(abs, self._ends)) else 0.0

    def _fit_decimals(self, value: Value) -> None:
        """So many decimals that a small number shows four digits."""
        least = min((abs(x) for x in each_number(value) if x and isfinite(x)), default=1.0)
        decimals = max(_DECIMALS, 4 - floor(log10(least)))
        if self.handle.precision != decimals:
            self.handle.precision = decimals


def each_number(value: Value) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (value,)


def times(value: Value, factor: float) -> Value:
    if factor == 1:
        return value
    return tuple(factor * x for x in value) if isinstance(value, tuple) else factor * value


class Fields:
    """All number fields of a page: what is typed into one goes to it, one after the other, in order.

    The page's script says other things on the same line: `hear` has them heard.
    """

    def __init__(self, bench: Holder, title: str = "") -> None:
        self._bench, self._title = bench, title
        self._fields: dict[str, NumberField] = {}
        self._listeners: dict[str, Callable[..., None]] = {}
        self._titles: list[tuple[Any, str]] = []
        self.units = FieldUnits()
        self._worker = ThreadPoolExecutor(1, "armdyn view: fields")
        self._line: Any = bench.gui.add_text("typed", "")
        self._line.on_update(self._heard)

    @property
    def html(self) -> str:
        """What tells the page's script where to write; the field that it writes into is not shown."""
        uuid = self._line._impl.uuid  # viser has no other name for a field in the page
        style = f'div:has(> div > div > p > label[for="{uuid}"]) {{ display: none }}'
        mark = tag("i", hidden="", data_armdyn="typed", data_uuid=uuid, data_title=self._title)
        return f"<style>{style}</style>{mark}"

    def add(
        self,
        handle: Any,
        unit: str = "",
        change: Callable[[Any], None] | None = None,
        limits: Callable[[], Limits] | None = None,
    ) -> NumberField:
        """Make a field of a handle of viser's: a number, a vector or a slider."""
        field = NumberField(self._bench, handle, unit, change, limits)
        self._fields[handle._impl.uuid] = field
        return field

    def title(self, folder: Any) -> None:
        """Have the units in the title of a folder, as in "Positions [rad]", follow those of the page."""
        self._titles.append((folder, str(folder.label)))

    def switch(self, units: FieldUnits) -> None:
        """Show angles and lengths in other units, in every page."""
        self.units = units
        for field in list(self._fields.values()):
            field.switch(units)
        for folder, title in self._titles:
            head, _, unit = title.removesuffix("]").rpartition("[")
            folder.label = f"{head}[{' or '.join(units.of(x)[0] for x in unit.split(' or '))}]"

    def hear(self, name: str, listener: Callable[..., None]) -> None:
        """Have `listener` called with a page (viser's client) and what numbers it says with a name."""
        self._listeners[name] = listener

    def close(self) -> None:
        self._worker.shutdown(wait=False, cancel_futures=True)

    async def _heard(self, event: Any) -> None:
        """In viser's loop, so that each message is seen; one that is not of our script is nobody's."""
        if event.client is None:
            return
        try:
            name, *said, _ = json.loads(self._line.value)
            listener, field = self._listeners.get(name), self._fields.get(name)
        except (ValueError, TypeError, RecursionError):
            return
        if self._bench.closed:
            return
        if listener is not None and all(type(x) in (int, float) and isfinite(x) for x in said):
            self._worker.submit(self._bench.guard, self._told, listener, event.client, said)
        elif field is not None and len(said) == 2:
            place, text = said
            if isinstance(place, int) and 0 <= place < 3 and isinstance(text, str):
                self._worker.submit(self._bench.guard, field.type, place, text)

    def _told(self, listener: Callable[..., None], client: Any, said: list[float]) -> None:
        try:
            signature(listener).bind(client, *said)
        except TypeError:  # not of our script: more or less than was to be said
            return
        listener(client, *said)


# ---- readings ----------------------------------------------------------------------------------------------


def four_digits(x: float, least: float = 0.0) -> str:
    """A number of a reading, with a real minus sign; a dash for what is no number, 0 up to `least`."""
    if not isfinite(x):
        return "–"
    return f"{x:.4g}".replace("-", "−") if abs(x) > least else "0"


def note(text: str, **attributes: str) -> Markup:
    """A sentence below fields or tables."""
    return tag("div", text, **{"class_": "ad-note", **attributes})


class Reading:
    """A place in the panel that is being built, for markup whose names are escaped.

    viser sends plain strings only, and shows HTML as it is: so nothing but `Markup` comes in here.
    """

    def __init__(self, bench: Holder, markup: Markup = _NOTHING) -> None:
        self._handle = bench.gui.add_html(str.__str__(markup))

    def show(self, markup: Markup = _NOTHING) -> None:
        if not isinstance(markup, Markup):
            raise TypeError(f"expected Markup, found {type(markup).__name__}")
        text = str.__str__(markup)
        if text != self._handle.content:
            self._handle.content = text

    @contextmanager
    def meanwhile(self, markup: Markup) -> Iterator[None]:
        """Something else while it lasts. If it fails, what was there before comes back."""
        before = self._handle.content
        self.show(markup)
        try:
            yield
        except BaseException:
            if self._handle.content == str.__str__(markup):
                self._handle.content = before
            raise


# ---- files that a page sends, kept in a folder of their own while they are read ---------------------------

Found = TypeVar("Found")
_LARGEST_FILE = 256 * 2**20  # bytes


def read_upload(file: Any, read: Callable[[Path], Found]) -> Found:
    """What `read` makes of an uploaded file. Errors name the file as the page did."""
    name = one_line(file_name(file))
    if len(file.content) > _LARGEST_FILE:
        raise ViewError(f"{name}: it has {len(file.content)} bytes; at most {_LARGEST_FILE} can be uploaded")
    with tempfile.TemporaryDirectory(prefix="armdyn_") as folder:
        path = Path(folder) / f"upload{suffix(file)}"
        path.write_bytes(file.content)
        try:
            return read(path)
        except ArmdynError as error:
            text = str(error).replace(str(path), name).replace(path.name, name)
            raise ViewError(text if name in text else f"{name}: {text}") from None


def file_name(file: Any) -> str:
    """Without folders, as browsers send it."""
    return PurePosixPath(str(file.name).replace("\\", "/")).name or "file"


def suffix(file: Any) -> str:
    """ ".csv", ".toml" and the like, in small letters; nothing else of a name becomes part of a path."""
    found = PurePosixPath(file_name(file)).suffix.lower()
    return found if found[1:].isalnum() and found.isascii() else ""
