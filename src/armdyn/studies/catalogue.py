"""Catalogues of motors and gears: read from TOML, CSV or a table, and every pair of a motor and a gear.

Which keys there are, in which units, and what holds where they are left out, `MOTOR` and `GEAR` say.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from armdyn.description.reader import Reader
from armdyn.description.source import DescriptionError, parse_toml, read_text
from armdyn.expression import ExpressionError, shown
from armdyn.model.errors import plain
from armdyn.names import listed, one_line, quoted
from armdyn.studies.errors import StudyError

MOST = 100_000  # pairs


# ------------------------------------------------------------------------------------------------------------
# What a motor and a gear have.


class Key(NamedTuple):
    """A number of a motor or gear: what is in its place where it is not given, which are allowed, meaning."""

    default: float | None  # None: it has to be given
    allowed: str
    meaning: str


_INF = math.inf
_ALLOWED: dict[str, Callable[[float], bool]] = {
    "a positive number": lambda x: x > 0,
    "zero or a positive number": lambda x: x >= 0,
    "a number above 0 and up to 1": lambda x: 0 < x <= 1,
    "a number from 0 to 1": lambda x: 0 <= x <= 1,
}
_POSITIVE, _ZERO, _PART, _PART_OR_NONE = _ALLOWED

MOTOR: dict[str, Key] = {
    "mass": Key(None, _ZERO, "kg, of stator and rotor"),
    "inertia": Key(None, _POSITIVE, "kg m², of the rotor about its axis"),
    "transverse_inertia": Key(0.0, _ZERO, "kg m², of the rotor about axes across"),
    "continuous_torque": Key(None, _POSITIVE, "N m at the shaft for ever, at standstill"),
    "rated_torque": Key(_INF, _POSITIVE, "N m at the shaft for ever, at `rated_speed`; as at standstill"),
    "rated_speed": Key(0.0, _POSITIVE, "rad/s, of `rated_torque`"),
    "peak_torque": Key(None, _POSITIVE, "N m at the shaft for a short time"),
    "max_speed": Key(None, _POSITIVE, "rad/s"),
    "torque_constant": Key(None, _POSITIVE, "N m/A"),
    "voltage_constant": Key(_INF, _POSITIVE, "V s/rad; as `torque_constant`"),
    "resistance": Key(0.0, _ZERO, "Ω, of the winding"),
    "max_current": Key(_INF, _POSITIVE, "A, of motor or amplifier; any"),
    "thermal_time_constant": Key(_INF, _POSITIVE, "s; so long that the rms over the cycle counts"),
    "viscous": Key(0.0, _ZERO, "N m s/rad, friction of the motor at its shaft"),
    "coulomb": Key(0.0, _ZERO, "N m, friction of the motor at its shaft"),
    "brake_torque": Key(0.0, _ZERO, "N m at the shaft, that its brake holds; no brake"),
    "brake_mass": Key(0.0, _ZERO, "kg, of the brake"),
    "brake_inertia": Key(0.0, _ZERO, "kg m², of the brake's turning part"),
    "cost": Key(0.0, _ZERO, "in any unit"),
    "brake_cost": Key(0.0, _ZERO, "in the same unit"),
}
GEAR: dict[str, Key] = {
    "ratio": Key(None, _POSITIVE, "turns of the motor for one of the output"),
    "mass": Key(0.0, _ZERO, "kg"),
    "inertia": Key(0.0, _ZERO, "kg m², at the input"),
    "peak_torque": Key(None, _POSITIVE, "N m at the output, in every cycle"),
    "average_torque": Key(_INF, _POSITIVE, "N m at the output, mean by the cube (`life_exponent`); any"),
    "max_speed": Key(_INF, _POSITIVE, "rad/s at the input; any"),
    "average_speed": Key(_INF, _POSITIVE, "rad/s at the input, mean over the cycle; any"),
    "rated_torque": Key(_INF, _POSITIVE, "N m at the output, that `rated_life` is for"),
    "rated_speed": Key(0.0, _POSITIVE, "rad/s at the input, that `rated_life` is for"),
    "rated_life": Key(_INF, _POSITIVE, "h, the life L10 at rated torque and speed; without end"),
    "life_exponent": Key(3.0, _POSITIVE, "3 for balls (strain wave gears), 10/3 for rollers"),
    "efficiency": Key(1.0, _PART, "of the gear where the motor drives"),
    "back_efficiency": Key(_INF, _PART_OR_NONE, "where the load drives; 2 - 1/efficiency, or 0"),
    "viscous": Key(0.0, _ZERO, "N m s/rad, friction at the input that no load causes"),
    "coulomb": Key(0.0, _ZERO, "N m, friction at the input that no load causes"),
    "cost": Key(0.0, _ZERO, "in the same unit as that of motors"),
}


@dataclass(frozen=True)
class CatalogueMotor:
    """A motor of a catalogue: numbers at its shaft, in SI units; what they mean is in `MOTOR`."""

    name: str
    frame: str  # what gears are made to fit; "" fits those that name no frames
    mass: float
    inertia: float
    transverse_inertia: float
    continuous_torque: float
    rated_torque: float
    rated_speed: float
    peak_torque: float
    max_speed: float
    torque_constant: float
    voltage_constant: float
    resistance: float
    max_current: float
    thermal_time_constant: float
    viscous: float
    coulomb: float
    brake_torque: float
    brake_mass: float
    brake_inertia: float
    cost: float
    brake_cost: float


@dataclass(frozen=True)
class CatalogueGear:
    """A gear of a catalogue with one of its ratios; what the numbers mean is in `GEAR`."""

    name: str
    frames: tuple[str, ...]  # of the motors that fit; none named: all
    ratio: float
    mass: float
    inertia: float
    peak_torque: float
    average_torque: float
    max_speed: float
    average_speed: float
    rated_torque: float
    rated_speed: float
    rated_life: float
    life_exponent: float
    efficiency: float
    back_efficiency: float
    viscous: float
    coulomb: float
    cost: float


@dataclass(frozen=True)
class Pair:
    """A motor behind a gear, with the motor's brake or without."""

    motor: CatalogueMotor
    gear: CatalogueGear
    brake: bool = False

    @property
    def name(self) -> str:
        """Such as "S80 + W25-100", with the ratio last."""
        return f"{self.motor.name}{' with brake' if self.brake else ''} + {self.gear.name}-{self.ratio:g}"

    @property
    def ratio(self) -> float:
        """Turns of the motor for one of the gear's output."""
        return self.gear.ratio

    @property
    def mass(self) -> float:
        """Motor, gear and brake [kg]."""
        return self.motor.mass + self.gear.mass + self.brake * self.motor.brake_mass

    @property
    def inertia(self) -> float:
        """What turns with the motor's shaft [kg m²]: rotor, brake, the gear's input."""
        return self.motor.inertia + self.gear.inertia + self.brake * self.motor.brake_inertia

    @property
    def viscous(self) -> float:
        """Viscous friction of motor and gear at the shaft [N m s/rad]."""
        return self.motor.viscous + self.gear.viscous

    @property
    def coulomb(self) -> float:
        """Coulomb friction of motor and gear at the shaft [N m]."""
        return self.motor.coulomb + self.gear.coulomb

    @property
    def cost(self) -> float:
        """Motor, gear and brake, in the catalogue's unit."""
        return self.motor.cost + self.gear.cost + self.brake * self.motor.brake_cost

    def __str__(self) -> str:
        return self.name


# ------------------------------------------------------------------------------------------------------------
# A catalogue, and how it is read.


@dataclass(frozen=True)
class Catalogue:
    """Motors, gears with one ratio each, and the voltage of the bus that the motors are made for [V]."""

    name: str
    motors: tuple[CatalogueMotor, ...]
    gears: tuple[CatalogueGear, ...]
    voltage: float = math.inf  # infinite: not said

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Every motor with every gear that fits it."""
        return tuple(
            Pair(motor, gear)
            for motor in self.motors
            for gear in self.gears
            if not gear.frames or motor.frame in gear.frames
        )

    def pair(self, motor: str, gear: str, ratio: float | None = None, brake: bool = False) -> Pair:
        """The pair of these names; the ratio may be left out where the gear has one."""
        found = [
            pair
            for pair in self.pairs
            if (pair.motor.name, pair.gear.name) == (motor, gear) and ratio in (None, pair.ratio)
        ]
        if len(found) != 1:
            text = "" if ratio is None else f" {ratio:g}"
            raise StudyError(
                f"{self.name}: {len(found) or 'no'} pairs of {shown(motor)} and {shown(gear)}{text}; one is "
                f"expected; motors: {listed([x.name for x in self.motors])}; gears: "
                f"{listed([f'{x.name} {x.ratio:g}' for x in self.gears])}"
            )
        return Pair(found[0].motor, found[0].gear, brake)

    def __repr__(self) -> str:
        counts = f"motors {len(self.motors)}, gears by ratio {len(self.gears)}, pairs {len(self.pairs)}"
        return f"<Catalogue {quoted(self.name)}: {counts}>"


def bundled_catalogues() -> list[str]:
    """The names of the catalogues that come with the package."""
    folder = resources.files("armdyn.studies") / "bundled"
    return sorted(Path(f.name).stem for f in folder.iterdir() if f.name.endswith(".toml"))


def load_catalogue(
    catalogue: str
    | Path
    | Mapping[str, Any]
    | Catalogue
    | Sequence[str | Path | Mapping[str, Any] | Catalogue],
) -> Catalogue:
    """Motors and gears of a file (.toml, .csv), of a bundled catalogue by its name, or of a table.

    Several, in a list, are one: motors of one maker, gears of another. docs/drives.md lists the keys. Numbers
    may be expressions, such as "3000*pi/30" for 3000 revolutions a minute.
    """
    if isinstance(catalogue, Catalogue):
        found = catalogue
    elif isinstance(catalogue, list | tuple):
        if not catalogue:
            raise StudyError("catalogue: found none; name one or more")
        parts = [_read(x) for x in catalogue]
        found = Catalogue(
            ", ".join(x.name for x in parts),
            tuple(x for part in parts for x in part.motors),
            tuple(x for part in parts for x in part.gears),
            min((x.voltage for x in parts), default=math.inf),
        )
    else:
        found = _read(catalogue)
    return _checked(found)


def _checked(found: Catalogue) -> Catalogue:
    for kind, rows in (("motor", found.motors), ("gear", found.gears)):
        if not rows:
            raise StudyError(f"{found.name}: the catalogue has no {kind}; one or more are expected")
        keys = [(x.name, getattr(x, "ratio", 0.0)) for x in rows]
        if twice := next((key for key in keys if keys.count(key) > 1), None):
            ratio = f" with the ratio {twice[1]:g}" if twice[1] else ""
            raise StudyError(f"{found.name}: {kind} {quoted(twice[0])}{ratio} stands there twice")
    if not found.pairs:
        frames = sorted({x for gear in found.gears for x in gear.frames})
        raise StudyError(
            f"{found.name}: no gear fits any motor; frames of motors: "
            f"{listed(sorted({x.frame or 'none' for x in found.motors}))}; gears fit: {listed(frames)}"
        )
    if len(found.pairs) > MOST:
        raise StudyError(f"{found.name}: {len(found.pairs)} pairs; at most {MOST} are allowed")
    return found


def _read(source: object) -> Catalogue:
    if isinstance(source, Catalogue):
        return source
    if isinstance(source, Mapping):
        return _of_table(source, "catalogue")
    if not isinstance(source, str | Path):
        raise DescriptionError(
            f"catalogue: expected a path, a bundled name or a table, found {shown(source)}"
        )
    if source in bundled_catalogues():
        text = (resources.files("armdyn.studies") / "bundled" / f"{source}.toml").read_text("utf-8")
        return _of_table(parse_toml(text, str(source), "catalogue"), str(source))
    path = Path(source)
    try:
        text = read_text(path, "catalogue")
    except DescriptionError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DescriptionError(
            f"cannot read '{one_line(str(path))}' ({reason}); give a path to a catalogue (.toml, .csv) or a "
            f"bundled name: {', '.join(bundled_catalogues())}"
        ) from None
    if path.suffix.lower() == ".csv":
        return _of_csv(text, path)
    return _of_table(parse_toml(text, str(path), "catalogue"), str(path))


def _of_table(table: Mapping[str, Any], source: str) -> Catalogue:
    top = Reader(table, source, "", {})
    name = top.text("name", source)
    if "source" in top:
        top.text("source")
    voltage = _number(top, "voltage", Key(_INF, _POSITIVE, "V"))
    kinds: dict[str, list[Reader]] = {}
    for kind in ("motor", "gear"):
        rows = top.raw(kind, [])
        if not isinstance(rows, list | tuple):
            top.fail(kind, f"expected a list of tables [[{kind}]], found {shown(rows)}")
        kinds[kind] = [Reader(row, source, f"{kind}[{i + 1}]", {}) for i, row in enumerate(rows)]
    top.finish()
    motors = tuple(_motor(row) for row in kinds["motor"])
    return Catalogue(name, motors, tuple(gear for row in kinds["gear"] for gear in _gears(row)), voltage)


def _of_csv(text: str, path: Path) -> Catalogue:
    """A row for each motor, and for each gear with one ratio; the column `kind` says which."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    rows = csv.DictReader(lines, skipinitialspace=True)
    columns = [name.strip() for name in rows.fieldnames or ()]
    if twice := [name for name in columns if name and columns.count(name) > 1]:
        raise DescriptionError(f"{path}: there are two columns {shown(twice[0])}; one is expected")
    motors: list[CatalogueMotor] = []
    gears: list[CatalogueGear] = []
    for i, row in enumerate(rows):
        place = f"row {i + 1}"
        if None in row:
            raise DescriptionError(f"{path}: {place}: there are more cells than columns")
        cells = {key.strip(): x.strip() for key, x in row.items() if x is not None and x.strip()}
        reader = Reader(cells, str(path), place, {})
        if reader.choice("kind", ("motor", "gear")) == "motor":
            motors.append(_motor(reader))
        else:
            gears.extend(_gears(reader))
    return Catalogue(path.stem, tuple(motors), tuple(gears))


def _motor(reader: Reader) -> CatalogueMotor:
    name = reader.text("name")
    frame = str(reader.raw("frame", ""))
    numbers = {key: _number(reader, key, row) for key, row in MOTOR.items()}
    reader.finish()
    if ("rated_torque" in reader.table) != ("rated_speed" in reader.table):
        reader.fail("", "rated_torque and rated_speed go together; found one of them")
    for key, other in (("rated_torque", "continuous_torque"), ("voltage_constant", "torque_constant")):
        if numbers[key] == _INF:
            numbers[key] = numbers[other]
    if numbers["peak_torque"] < numbers["continuous_torque"]:
        reader.fail("peak_torque", f"found {numbers['peak_torque']:g}; it is below continuous_torque")
    if numbers["rated_torque"] > numbers["continuous_torque"]:
        reader.fail("rated_torque", f"found {numbers['rated_torque']:g}; it is above continuous_torque")
    return CatalogueMotor(name, frame, **numbers)


def _gears(reader: Reader) -> Iterator[CatalogueGear]:
    """A gear for each of its ratios; every key may be a list with one number for each."""
    name = reader.text("name")
    given = plain(reader.raw("frames", ()))
    frames = given.split() if isinstance(given, str) else given
    if not isinstance(frames, list | tuple):
        reader.fail("frames", f"expected a list of the frames that fit, found {shown(given)}")
    ratios = plain(reader.raw("ratio", example="a number, or a list of them"))
    count = len(ratios) if isinstance(ratios, list | tuple) else 1
    columns = {key: _numbers(reader, key, row, count) for key, row in GEAR.items()}
    reader.finish()
    for i in range(count):
        numbers = {key: column[i] for key, column in columns.items()}
        rated = [key for key in ("rated_torque", "rated_speed", "rated_life") if key in reader.table]
        if 0 < len(rated) < 3:
            reader.fail("", f"life takes rated_torque, rated_speed and rated_life; found {', '.join(rated)}")
        if numbers["back_efficiency"] == _INF:
            numbers["back_efficiency"] = max(0.0, 2 - 1 / numbers["efficiency"])
        yield CatalogueGear(name, tuple(map(str, frames)), **numbers)


def _numbers(reader: Reader, key: str, row: Key, count: int) -> list[float]:
    given = plain(reader.raw(key, ()))
    if not isinstance(given, list | tuple) or (given == () and key not in reader):
        return [_number(reader, key, row)] * count
    if len(given) != count:
        reader.fail(key, f"found {len(given)} numbers; one is expected, or one for each of {count} ratios")
    parts = [Reader({key: x}, reader.source, reader.path, {}) for x in given]
    return [_number(part, key, row) for part in parts]


def _number(reader: Reader, key: str, row: Key) -> float:
    reader.asked.add(key)
    if key not in reader.table and row.default is not None:
        return row.default
    try:
        found = float(reader.number(key).value())
    except ExpressionError as error:
        reader.fail(key, str(error))
    if not _ALLOWED[row.allowed](found):
        reader.fail(key, f"found {found:g}; {row.allowed} is expected")
    return found
