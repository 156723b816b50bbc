"""Units of recorded channels: what a unit is worth in SI, and which channels it may stand for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from armdyn.expression import shown
from armdyn.identification.checks import check
from armdyn.identification.errors import IdentificationError

Units: TypeAlias = Mapping[str, Any]  # by channel: a name or a factor to SI, or one for each column

CHANNELS = ("t", "q", "qd", "qdd", "tau", "motor_position", "motor_torque", "current")

_TIME = {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0}
_ANGLE = {"rad": 1.0, "mrad": 1e-3, "deg": np.pi / 180, "turn": 2 * np.pi}
_LENGTH = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6}
_TORQUE = {"Nm": 1.0, "mNm": 1e-3, "kNm": 1e3, "Ncm": 1e-2, "Nmm": 1e-3}
_FORCE = {"N": 1.0, "mN": 1e-3, "kN": 1e3}
_CURRENT = {"A": 1.0, "mA": 1e-3}


def _rates(base: dict[str, float], power: int) -> dict[str, float]:
    ends = ("/s",) if power == 1 else ("/s2", "/s^2", "/s**2")
    found = {f"{name}{end}": factor for name, factor in base.items() for end in ends}
    if power == 1 and "turn" in base:
        found["rpm"] = 2 * np.pi / 60
    return found


_SAME = {
    "degree": "deg", "degrees": "deg", "°": "deg", "rev": "turn", "revolution": "turn", "turns": "turn",
    "revolutions": "turn", "radian": "rad", "radians": "rad", "second": "s", "seconds": "s", "μs": "us",
    "µs": "us", "μm": "um", "µm": "um", "metre": "m", "meter": "m", "metres": "m", "meters": "m", "amp": "A",
}  # fmt: skip

# What a channel is a measure of: of joints that turn, then of joints that slide.
KINDS: dict[str, dict[str, dict[str, float]]] = {
    "t": {"time": _TIME},
    "q": {"revolute": _ANGLE, "prismatic": _LENGTH},
    "qd": {"revolute": _rates(_ANGLE, 1), "prismatic": _rates(_LENGTH, 1)},
    "qdd": {"revolute": _rates(_ANGLE, 2), "prismatic": _rates(_LENGTH, 2)},
    "tau": {"revolute": _TORQUE, "prismatic": _FORCE},
    "motor_position": {"revolute": _ANGLE},
    "motor_torque": {"revolute": _TORQUE},
    "current": {"current": _CURRENT},
}


def factor(channel: str, unit: Any) -> tuple[float, str]:
    """What one unit of a channel is in SI, and the kind of joint that it is for ("" where any)."""
    if isinstance(unit, int | float | np.number) and not isinstance(unit, bool):
        value = float(unit)
        if not np.isfinite(value) or value == 0:
            raise IdentificationError(
                f"units: {channel}: found {value:g}; a factor to SI is not 0 and finite"
            )
        return value, ""
    kinds = KINDS[channel]
    name = _plain(unit) if isinstance(unit, str) else None
    for kind, table in kinds.items():
        if name in table:
            return table[name], kind if kind in ("revolute", "prismatic") else ""
    allowed = ", ".join(dict.fromkeys(name for table in kinds.values() for name in table))
    raise IdentificationError(
        f"units: {channel}: found {shown(unit)}; allowed: {allowed}, or a factor to SI as a number"
    )


def _plain(unit: str) -> str:
    """The name of a unit in the spelling of the tables."""
    text = re.sub(r"[\s·*⋅]", "", unit.strip()) if "**" not in unit else unit.replace(" ", "")
    text = text.replace("²", "2")
    first, slash, rest = text.partition("/")
    return _SAME.get(first, _SAME.get(first.lower(), first)) + slash + rest


def known(channel: str, unit: str) -> bool:
    """Whether a text from a header is a unit of the channel."""
    try:
        factor(channel, unit)
    except IdentificationError:
        return False
    return True


def factors(channel: str, unit: Any, width: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Factors (width,) to SI and kinds of joints, from one unit or one for each column."""
    several = isinstance(unit, Sequence | np.ndarray) and not isinstance(unit, str)
    each = list(unit) if several else [unit] * width
    if len(each) != width:
        raise IdentificationError(f"units: {channel}: found {len(each)} units for {width} columns")
    found = [factor(channel, x) for x in each]
    return np.array([value for value, _ in found]), tuple(kind for _, kind in found)


def checked_units(units: Any) -> dict[str, Any]:
    if units is None:
        return {}
    if not isinstance(units, Mapping):
        raise IdentificationError(
            f"units: found {shown(units)}; a mapping such as {{'q': 'deg'}} is expected"
        )
    for channel in units:
        check.one_of("units", channel, *CHANNELS)
    return dict(units)
