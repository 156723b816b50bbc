"""A slider for each joint's position, velocity and acceleration; and the wrench at the tip."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import ceil, inf, isfinite, pi
from time import monotonic
from typing import Any

import numpy as np

from armdyn.names import one_line
from armdyn.report.page import tag
from armdyn.robot.joints import joint_units
from armdyn.workbench.bench import Bench
from armdyn.workbench.charts import joint_title
from armdyn.workbench.fields import CHOICES, NumberField, Reading
from armdyn.workbench.moment import Moment

_SPEED, _ACCELERATION = 3.0, 10.0  # what sliders span where there are no limits [rad/s or m/s, and /s²]
_STEPS = 2000
_RESTING = 0.4  # s without a move after which a slider is in nobody's hand
_OF = {"q": "position", "qd": "velocity", "qdd": "acceleration"}
_ROWS = (("q", "Positions"), ("qd", "Velocities"), ("qdd", "Accelerations"))


@dataclass(frozen=True)
class Span:
    """What a slider spans, and its step."""

    least: float
    most: float

    @property
    def step(self) -> float:
        """A round number, some thousandth of the span."""
        return float(10.0 ** np.floor(np.log10((self.most - self.least) / _STEPS)) * 2)


def add(bench: Bench) -> None:
    following = FollowingSliders(bench)
    units: Any = bench.gui.add_dropdown("Units", tuple(CHOICES), hint="Of all fields and curves")

    def switch(_event: Any) -> None:
        bench.fields.switch(CHOICES[units.value])
        bench.change()

    units.on_update(switch)
    kinds = [joint_units(bench.robot, joint) for joint in range(bench.robot.n)]
    for name, title in _ROWS:
        unit = " or ".join(dict.fromkeys(getattr(kind, _OF[name]) for kind in kinds))
        with bench.gui.add_folder(f"{title} [{unit}]", expand_by_default=name == "q") as folder:
            bench.fields.title(folder)
            for joint in range(bench.robot.n):
                following.sliders[name, joint] = _slider(bench, following, name, joint)
            if name != "q":
                rest = {name: np.zeros(bench.robot.n), "time": None}
                bench.button("Set all to zero", partial(bench.change, **rest))
    bench.on_calm(following)  # moving a slider costs the page as much as bars do
    names = [following.sliders["q", joint].handle._impl.uuid for joint in range(bench.robot.n)]
    Reading(bench, tag("i", hidden="", data_armdyn="positions", data_uuids=" ".join(names)))
    _wrench(bench)


def limits(bench: Bench, name: str, joint: int) -> tuple[float, float]:
    """What a joint may have: infinite where it has no limit, whatever the slider spans."""
    given = bench.limits
    if name == "q":
        return float(given.lower[joint]), float(given.upper[joint])
    most = float((given.velocity if name == "qd" else given.acceleration)[joint])
    return (-most, most) if most > 0 else (-inf, inf)


def span(bench: Bench, name: str, joint: int) -> Span:
    """Within the joint's limits; where it has none, a turn or 2 m, or more if the arm stands farther off."""
    low, high = limits(bench, name, joint)
    if name != "q":
        most = high if high < inf else _SPEED if name == "qd" else _ACCELERATION
        return Span(-most, most)
    room = pi if joint_units(bench.robot, joint).position == "rad" else 1.0
    start = float(bench.moment.q[joint])
    if not isfinite(low) and not isfinite(high):
        room *= max(1, ceil(abs(start) / room))
        low, high = -room, room
    elif not isfinite(high):
        high = low + 2 * room * max(1, ceil((start - low) / (2 * room)))
    elif not isfinite(low):
        low = high - 2 * room * max(1, ceil((high - start) / (2 * room)))
    return Span(low, high) if high > low else Span(low - 1e-6, low + 1e-6)


def _slider(bench: Bench, following: FollowingSliders, name: str, joint: int) -> NumberField:
    units = joint_units(bench.robot, joint)
    unit = str(getattr(units, _OF[name]))
    link = bench.robot.model.coordinates[joint]
    moves = "" if link.joint_label == link.name else f", which moves '{one_line(link.name)}'"
    spanned, value = span(bench, name, joint), float(getattr(bench.moment, name)[joint])
    slider: Any = bench.gui.add_slider(
        joint_title(bench.robot, joint),
        min=spanned.least,
        max=spanned.most,
        step=spanned.step,
        initial_value=float(np.clip(value, spanned.least, spanned.most)),
        hint=f"{name} of joint {joint + 1}{moves} [{unit}]",
    )

    def move(new: float) -> None:
        following.touch(name, joint)
        bench.move(name, joint, new)

    return bench.fields.add(slider, unit, move, lambda: limits(bench, name, joint))


class FollowingSliders:
    """Sliders stand where the arm does: after a motion, a dragged tip, another page.

    A slider in somebody's hand is left alone until it rests: a state that comes back is older than it is. One
    that must show more than it spans, such as an arm that fell through its limits, grows meanwhile.
    """

    def __init__(self, bench: Bench) -> None:
        self.sliders: dict[tuple[str, int], NumberField] = {}
        self._touched: dict[tuple[str, int], float] = {}  # when a page moved it last
        self._look_again = bench.later(bench.again)

    def touch(self, name: str, joint: int) -> None:
        self._touched[name, joint] = monotonic()

    def __call__(self, moment: Moment) -> None:
        for (name, joint), slider in self.sliders.items():
            value = float(getattr(moment, name)[joint])
            if abs(value - slider.value) <= 1e-12 * max(1.0, abs(value)):
                continue
            if monotonic() - self._touched.get((name, joint), -inf) < _RESTING:
                self._look_again(_RESTING)
            else:
                slider.show(value)


# ---- what the tip exerts on its surroundings --------------------------------------------------------------

_HINT = "What the tip exerts on its surroundings, in the axes of the world"


def _wrench(bench: Bench) -> None:
    typed: np.ndarray | None = None  # what the fields last gave

    def changed(_new: Any) -> None:
        nonlocal typed
        found = np.array([x for field in fields for x in field.value], float)
        typed = found if found.any() else None
        bench.change(wrench=typed)

    def clear() -> None:
        nonlocal typed
        typed = np.zeros(6)  # not None: the fields have to follow
        bench.change(wrench=None)

    def field(name: str, unit: str) -> NumberField:
        label, hint = f"{name} [{unit}]", f"{_HINT} [{unit}]"
        handle = bench.gui.add_vector3(label, (0.0, 0.0, 0.0), step=1.0, hint=hint)
        return bench.fields.add(handle, unit, changed)

    with bench.gui.add_folder("Wrench at the tip", expand_by_default=False):
        fields = [field("force", "N"), field("moment", "N m")]
        bench.button("No wrench", clear)

    def follow(shown: Moment) -> None:
        """Fields show wrenches that came from elsewhere; what is being typed stays as it is."""
        if shown.wrench is typed or shown.wrench is not bench.moment.wrench:
            return
        wrench = np.zeros(6) if shown.wrench is None else shown.wrench
        for row, part in zip(fields, (wrench[:3], wrench[3:]), strict=True):
            values = tuple(float(x) for x in part)
            if tuple(row.value) != values:
                row.show(values)

    bench.on_moment(follow)
