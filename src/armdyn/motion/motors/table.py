"""Motor loads as a table: rows of numbers, and as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armdyn.motion.timing.exceeded import WITHIN
from armdyn.output import one_line

if TYPE_CHECKING:
    from armdyn.motion.motors.loads import MotorLoads

ROUNDING = 1e-9  # of the energy exchanged: what is less is nothing

_NUMBERS = (
    *("peak_torque", "peak_time", "rms_torque", "peak_speed", "peak_current", "rms_current"),
    *("peak_power", "mean_power", "energy", "energy_drawn"),
)


@dataclass(frozen=True)
class MotorRow:
    """One motor's line of a table; magnitudes at the shaft."""

    motor: str  # the link it drives
    geared: bool  # False: no motor in the description; the joint's own torque and speed
    torque_unit: str
    speed_unit: str
    peak_torque: float
    peak_time: float  # when the torque is largest [s]
    rms_torque: float
    torque_limit: float  # infinite for none
    peak_speed: float
    speed_limit: float
    peak_current: float  # A; NaN where the description has no torque constant
    rms_current: float  # A
    peak_power: float  # W
    mean_power: float  # W
    energy: float  # J, with recuperation
    energy_drawn: float  # J, without

    @classmethod
    def of(cls, loads: MotorLoads, i: int) -> MotorRow:
        """Motor i of one arm."""
        numbers = {name: float(getattr(loads, name)[i]) for name in _NUMBERS}
        if not loads.constant_given[i]:
            numbers |= {"peak_current": np.nan, "rms_current": np.nan}
        return cls(
            motor=loads.names[i],
            geared=loads.geared[i],
            torque_unit=loads.units[i].torque,
            speed_unit=loads.units[i].velocity,
            torque_limit=float(loads.limits.torque[i]),
            speed_limit=float(loads.limits.velocity[i]),
            **numbers,
        )

    @property
    def torque_share(self) -> float:
        """The largest torque in parts of its limit."""
        return self.peak_torque / self.torque_limit if self.peak_torque else 0.0

    @property
    def speed_share(self) -> float:
        """The largest speed in parts of its limit."""
        return self.peak_speed / self.speed_limit if self.peak_speed else 0.0

    def is_rounding(self, energy: float) -> bool:
        """Whether an energy is nothing, next to what the motor takes and gives back, but for rounding."""
        exchanged = 2 * self.energy_drawn - self.energy  # ∫ |P| dt
        return abs(energy) <= ROUNDING * exchanged


def cells_of(loads: MotorLoads) -> tuple[list[str], list[list[str]]]:
    """Headings and cells for the terminal; columns that say nothing for any motor are left out."""
    rows = loads.table()
    one = len({row.torque_unit for row in rows}) == 1
    torque, speed = [f" [{x}]" if one else "" for x in (rows[0].torque_unit, rows[0].speed_unit)]
    torques = [_with(row.peak_torque, row.torque_unit, one) for row in rows]
    speeds = [_with(row.peak_speed, row.speed_unit, one) for row in rows]
    columns = [
        ("motor of", [_name(row) for row in rows]),
        (f"peak torque{torque}", torques),
        ("at [s]", [_figure(row.peak_time) for row in rows]),
        ("of limit", [_percent(row.torque_share, row.torque_limit) for row in rows]),
        ("rms torque", [_figure(row.rms_torque) for row in rows]),
        (f"peak speed{speed}", speeds),
        ("of limit", [_percent(row.speed_share, row.speed_limit) for row in rows]),
        ("peak current [A]", [_figure(row.peak_current) for row in rows]),
        ("rms current", [_figure(row.rms_current) for row in rows]),
        ("peak power [W]", [_figure(row.peak_power) for row in rows]),
        ("mean power", [_energy(row, row.energy, row.mean_power) for row in rows]),
        ("energy [J]", [_energy(row, row.energy) for row in rows]),
        ("drawn [J]", [_energy(row, row.energy_drawn) for row in rows]),
    ]
    kept = [column for column in columns if any(column[1])]
    return [name for name, _ in kept], [list(row) for row in zip(*(cells for _, cells in kept), strict=True)]


def sentences(loads: MotorLoads) -> list[str]:
    """What is to be said about all motors of one arm together."""
    total, drawn, bus = (float(x) for x in (loads.total_energy, loads.total_drawn, loads.bus_energy))
    energies = f"{total:.5g} J with recuperation (energy), {drawn:.5g} J without (drawn)"
    bus_text = f"{bus:.5g} J on a common bus that stores nothing"
    text = [f"energy of all motors over {loads.duration:.6g} s: {energies}, {bus_text}"]
    if not all(loads.geared):
        text.append("joints without a motor count as driven directly")
    m, n = loads.robot.transmission.shape
    if m > n:
        shared = f"{m} motors drive {n} joint{'s' * (n > 1)}"
        text.append(f"{shared}: their torques are those with the least sum of squares")
    return text


def text_of(loads: MotorLoads) -> str:
    """The table in plain text, a line about all motors together, and the limits they exceed."""
    headings, rows = cells_of(loads)
    lines = [headings, *rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(headings))]
    made = [
        "  ".join(
            [line[0].ljust(widths[0]), *(x.rjust(w) for x, w in zip(line[1:], widths[1:], strict=True))]
        ).rstrip()
        for line in lines
    ]
    return "\n".join([*made, *sentences(loads), *(f"warning: {one}" for one in loads.exceeded)])


def _name(row: MotorRow) -> str:
    return one_line(row.motor) if row.geared else f"{one_line(row.motor)} (no motor)"


def _figure(x: float) -> str:
    """To five digits; empty for what is not known."""
    return "" if np.isnan(x) else f"{x:.5g}"


def _energy(row: MotorRow, energy: float, x: float | None = None) -> str:
    """An energy, or `x` that follows from it; zero for rounding errors."""
    return "0" if row.is_rounding(energy) else _figure(energy if x is None else x)


def _with(x: float, unit: str, one: bool) -> str:
    return _figure(x) if one else f"{_figure(x)} {unit}"


def _percent(share: float, limit: float) -> str:
    """A share of a limit, marked where it is more than all of it."""
    mark = " !" if share > 1 + WITHIN else ""
    return f"{100 * share:.3g} %{mark}" if np.isfinite(limit) else ""
