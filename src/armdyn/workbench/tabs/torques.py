"""Torques as bars: one row for each joint or motor, split by cause, against its limit.

Bars can be compared: either each is a part of its limit, all limits at one place, or all of one unit have one
scale.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.model import ModelError
from armdyn.model.robot_model import driven_positions
from armdyn.names import one_line
from armdyn.report.page import Markup, join, tag
from armdyn.robot.drives import Drives
from armdyn.robot.joints import UNITS, torque_unit
from armdyn.workbench.bench import Bench
from armdyn.workbench.charts import COLOURS
from armdyn.workbench.fields import Reading, four_digits, note
from armdyn.workbench.moment import Moment

# Torques as bars: one row for each joint or motor, split by cause, against its limit.

_NO_MOTORS = "The description of this robot has no motors: the torques at the joints are all there is to say."
_COUPLING = (
    "Rotor coupling: what spinning rotors add because the links that carry them turn. A model that has k²Iₘ "
    "on the diagonal alone leaves it out."
)
_TOO_LARGE = "–: the values are too large to compute with."
_JOINTS, _MOTORS = "Joints", "Motors"
_TO_LIMITS, _TO_VALUES = "to limits", "to values"
_FEW = 8  # rows up to which numbers stand below the bars without being asked for
_ROUND = (1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)  # what scales may end with
_MARGIN = 1.04  # beyond the end of a scale, so that marks at it are seen
_ROUNDING = 1e-12  # of the largest torques, or of those for an acceleration of 1: what is less is zero


@dataclass(frozen=True, eq=False)
class BarRow:
    """A line of bars."""

    name: str
    parts: np.ndarray  # by cause, as in `COLOURS`
    total: float
    limit: float  # infinite for none
    unit: str
    notes: Sequence[str] = ()
    over: bool = False  # beyond a limit of its own that is not that of torque
    data: tuple[tuple[str, str], ...] = ()  # attributes, for whoever reads the page

    @property
    def reach(self) -> float:
        """How far its bar goes to either side: the sum of its positive parts or of its negative ones."""
        if not self.is_known:
            return 0.0
        return float(max(self.parts.clip(0).sum(), -self.parts.clip(max=0).sum(), abs(self.total)))

    @property
    def is_known(self) -> bool:
        """Whether it can be drawn: velocities of 1e200 rad/s have no torques that a computer can write."""
        return bool(np.isfinite(self.total) and np.isfinite(self.parts).all())

    @property
    def is_limited(self) -> bool:
        return 0 < self.limit < np.inf


def scales(rows: Sequence[BarRow], to_limits: bool) -> list[float]:
    """What half the width of each row stands for [its unit].

    To limits, it is the limit, or the same multiple of it in all rows where one goes beyond. To values, and
    in rows without a limit, it is one number for all rows of a unit. Scales are round, so they seldom change.
    """
    limited = [row for row in rows if to_limits and row.is_limited]
    part = _rounded_up(max([1.0, *(row.reach / row.limit for row in limited)]))
    reach: dict[str, float] = {}
    for row in rows:
        if row not in limited:
            reach[row.unit] = max(reach.get(row.unit, 1e-6), row.reach)
    return [part * row.limit if row in limited else _rounded_up(reach[row.unit]) for row in rows]


def _rounded_up(x: float) -> float:
    """The next number with few digits."""
    power = 10.0 ** np.floor(np.log10(x))
    return float(power * next(y for y in _ROUND if y * power >= x * (1 - 1e-9)))


def add(bench: Bench) -> None:
    side: Any = bench.gui.add_dropdown(
        "Torques at", (_JOINTS, _MOTORS), hint="What the joints need, or what the motors give at their shafts"
    )
    scale: Any = bench.gui.add_dropdown(
        "Bars", (_TO_LIMITS, _TO_VALUES), hint="Each as a part of its limit, or all of one unit on one scale"
    )
    hint = "Every cause of every torque, and the sum"
    numbers: Any = bench.gui.add_checkbox("Numbers", bench.robot.n <= _FEW, hint=hint)
    reading, below = Reading(bench), Reading(bench)

    def found(moment: Moment) -> tuple[list[BarRow], list[str], bool]:
        rows, remarks = motor_rows(moment) if side.value == _MOTORS else joint_rows(bench, moment)
        return rows, remarks, scale.value == _TO_LIMITS

    def show(moment: Moment) -> None:
        rows, _, to_limits = found(moment)
        limited = any(row.is_limited for row in rows)
        if scale.visible != limited:
            scale.visible = limited
        reading.show(bars(rows, to_limits))

    def show_below(moment: Moment) -> None:
        rows, remarks, to_limits = found(moment)
        said = said_of(moment, rows, to_limits, remarks)
        below.show(join([said, by_cause(rows)]) if numbers.value else said)

    for choice in (side, scale, numbers):
        choice.on_update(lambda _: bench.change())
    bench.on_moment(show)
    bench.on_calm(show_below)


# ---- rows --------------------------------------------------------------------------------------------------


def joint_rows(bench: Bench, moment: Moment) -> tuple[list[BarRow], list[str]]:
    """A row for each coordinate, then, where more joints are driven than there are coordinates, for these."""
    robot, parts, least = moment.robot, _parts(moment), _least(moment)
    rows = []
    for joint, link in enumerate(robot.model.coordinates):
        tau = float(moment.tau[joint])
        rows.append(
            BarRow(
                f"{joint + 1} {one_line(link.joint_label)}",
                _rounded(parts[:, joint], least),
                0.0 if abs(tau) <= least else tau,
                float(bench.limits.torque[joint]),
                torque_unit(robot, joint),
                data=(("data_joint", str(joint + 1)), ("data_tau", repr(tau))),
            )
        )
    remarks = _undriven(moment, least)
    extra = _redundant_drives(moment, least)
    if extra:
        remarks.append("More joints are driven than move by themselves: below, the least torques that do it.")
    return rows + extra, remarks


def _redundant_drives(moment: Moment, least: float) -> list[BarRow]:
    """All driven joints of a closed chain that has more of them than coordinates."""
    model = moment.robot.model
    links = [model.positions[i] for i in driven_positions(model)] if model.loops else []
    if len(links) <= model.n:
        return []
    rows, nothing = [], np.zeros(len(COLOURS))
    torques = np.asarray(moment.subject.runs.actuator_torques(moment.q, moment.tau))
    for link, tau in zip(links, torques.tolist(), strict=True):
        most = np.inf if link.limits.torque is None else model.number(link.limits.torque)
        name, total = f"drive {one_line(link.joint_label)}", 0.0 if abs(tau) <= least else tau
        rows.append(BarRow(name, nothing, total, most, UNITS[link.joint].torque))
    return rows


def _undriven(moment: Moment, least: float) -> list[str]:
    """Where the state needs a torque on a passive joint or the link of an elastic one that no motor gives."""
    robot, tau = moment.robot, moment.tau
    try:
        held, passive = robot.drives.loose, robot.drives.passive
        given = robot.drives.given @ tau if robot.model.elastic or passive else tau
    except ModelError:  # the transmission is singular: what motors give is not known
        return []
    remarks = []
    for i in np.flatnonzero(np.abs(tau - given) > least).tolist():
        name = _link_name(moment, i)
        what = "a passive joint" if i in passive else "the link of an elastic joint"
        if i in held:
            text = f"No motor acts on '{name}', {what}: "
            remarks.append(text + "the arm stays in this state only if the torque is 0 there.")
        else:
            text = f"The motors coupled to '{name}', {what}, give "
            text += f"{given[i]:.4g} {torque_unit(robot, i)} there: "
            remarks.append(text + "the arm stays in this state only if the torque is that.")
    return remarks


def motor_rows(moment: Moment) -> tuple[list[BarRow], list[str]]:
    """A row for each motor; none, and why, where torques at shafts mean nothing."""
    drives = moment.robot.drives
    if not any(drives.geared):
        return [], [_NO_MOTORS]
    try:
        P = drives.to_motors
    except ModelError as error:
        return [], [one_line(str(error))]
    parts = _parts(moment) @ P.T
    torque, speed = P @ moment.tau, drives.transmission @ moment.qd
    least = _least(moment) * float(np.abs(P).max())
    torque[np.abs(torque) <= least] = 0.0
    rows = [
        BarRow(
            f"{i + 1} {one_line(name)}",
            _rounded(parts[:, i], least),
            float(torque[i]),
            float(drives.limits.torque[i]),
            drives.units[i].torque,
            _motor_notes(drives, i, float(torque[i]), float(speed[i])),
            abs(speed[i]) > drives.limits.velocity[i],
            (("data_motor", str(i + 1)), ("data_torque", repr(float(torque[i])))),
        )
        for i, name in enumerate(drives.names)
    ]
    what = {
        i: "a passive joint" if i in drives.passive else "the link of an elastic joint" for i in drives.loose
    }
    return rows, [f"No motor acts on '{_link_name(moment, i)}', {text}." for i, text in what.items()]


def _motor_notes(drives: Drives, i: int, torque: float, speed: float) -> list[str]:
    """Speed, power, current; and what of its limits the motor uses."""
    notes = [] if drives.geared[i] else ["no motor: the joint's own"]
    notes.append(_of(speed, drives.limits.velocity[i], drives.units[i].velocity))
    notes.append(f"{four_digits(torque * speed)} W")
    if drives.constant_given[i]:
        notes.append(_of(torque / drives.torque_constant[i], drives.limits.current[i], "A"))
    return notes


def _of(x: float, most: float, unit: str) -> str:
    """A number, and its limit where it has one."""
    if not np.isfinite(most):
        return f"{four_digits(x)} {unit}"
    return f"{four_digits(x)} of {most:.4g} {unit}" + (", exceeded" if abs(x) > most else "")


def _link_name(moment: Moment, joint: int) -> str:
    return one_line(moment.robot.model.coordinates[joint].name)


def _parts(moment: Moment) -> np.ndarray:
    """(causes, n), in the order of `COLOURS`."""
    return np.array([moment.parts.parts[name] for name in COLOURS])


def _least(moment: Moment) -> float:
    """What torques must exceed to be more than rounding [N m or N]."""
    B = np.asarray(moment.subject.runs.inertia(moment.q, parameters=moment.subject.parameters))
    return _ROUNDING * float(max(np.abs(_parts(moment)).sum(0).max(), np.abs(B).max()))


def _rounded(parts: np.ndarray, least: float) -> np.ndarray:
    return np.where(np.abs(parts) <= least, 0.0, parts)


# ---- as HTML -----------------------------------------------------------------------------------------------


def bars(rows: Sequence[BarRow], to_limits: bool) -> Markup:
    """The rows."""
    spans = scales(rows, to_limits)
    lines = [_row(row, _MARGIN * span) for row, span in zip(rows, spans, strict=True)]
    return tag("div", *lines, class_="ad-bars", data_armdyn="torques")


def said_of(moment: Moment, rows: Sequence[BarRow], to_limits: bool, remarks: Iterable[str]) -> Markup:
    """What stands below the rows: remarks, the key to their colours and marks, energies."""
    used = [name for k, name in enumerate(COLOURS) if any(row.parts[k] for row in rows)]
    unknown = [] if all(row.is_known for row in rows) else [_TOO_LARGE]
    found = [note(remark) for remark in (*remarks, *unknown)]
    found += [_key(used, rows, scales(rows, to_limits), to_limits), _sums(moment)]
    if "rotor coupling" in used:
        found.append(tag("div", _COUPLING, class_="ad-note ad-soft"))
    return join(found)


def by_cause(rows: Sequence[BarRow]) -> Markup:
    """A table of the parts in numbers: a row for each cause, a column for each joint or motor."""
    used = [(k, name) for k, name in enumerate(COLOURS) if any(row.parts[k] for row in rows)]
    if not used or not all(row.is_known for row in rows):
        return Markup("")
    units = dict.fromkeys(row.unit for row in rows)
    heads = (tag("th", row.name.split(" ")[0], title=row.name) for row in rows)
    head = tag("tr", tag("th", f"[{' or '.join(units)}]"), *heads)
    body = [
        tag(
            "tr",
            tag("td", tag("i", style=f"background:{COLOURS[name]}"), name),
            *(tag("td", _number(row, float(row.parts[k]))) for row in rows),
        )
        for k, name in used
    ]
    body.append(tag("tr", tag("td", "sum"), *(tag("td", tag("b", _number(row))) for row in rows)))
    return tag("div", tag("table", head, *body, class_="ad-table"), class_="ad-causes", data_armdyn="causes")


def _row(row: BarRow, span: float) -> Markup:
    marks = [tag("u", style="left:50%"), *(_stacked(row.parts, span, row.unit) if row.is_known else ())]
    beyond = row.is_known and abs(row.total) > row.limit
    if row.limit <= span:
        marks += [
            tag("s", style=f"left:{_place(x, span)}", title=f"limit: {row.limit:.4g} {row.unit}")
            for x in (-row.limit, row.limit)
        ]
    if row.is_known:
        marks.append(tag("b", style=f"left:{_place(row.total, span)}"))
    cells = [
        tag("div", row.name, class_="ad-name", title=row.name),
        tag("div", *marks, class_="ad-track"),
        tag("div", _value(row), class_=f"ad-value{' ad-beyond' if beyond else ''}"),
    ]
    notes = list(row.notes)
    if beyond:
        notes.append(f"limit {row.limit:.4g} {row.unit}, exceeded by {_excess(row)}")
    if notes:
        cells.append(tag("div", " · ".join(notes), class_="ad-more"))
    over = " ad-over" if beyond or row.over else ""
    return tag("div", *cells, class_=f"ad-row{over}", data_says=_said(row), **dict(row.data))


def _value(row: BarRow) -> Markup:
    """The sum, and which part of the limit it is."""
    number = tag("span", f"{_number(row)} {row.unit}")
    return join([number, tag("small", share)]) if (share := _share(row)) else number


def _number(row: BarRow, part: float | None = None) -> str:
    """The sum or a part of it, to five digits of the limit: more would be noise beside it."""
    x = row.total if part is None else part
    size = max(abs(row.total), row.limit if row.is_limited else 0.0)
    if not (np.isfinite(x) and 0 < size < np.inf):
        return four_digits(x)
    return four_digits(round(x, max(0, 4 - int(np.floor(np.log10(size))))))


def _share(row: BarRow) -> str:
    return f"{100 * abs(row.total) / row.limit:.0f} %" if row.is_limited and row.is_known else ""


def _said(row: BarRow) -> str:
    """The same in short."""
    return " · ".join(filter(None, (f"{_number(row)} {row.unit}", _share(row))))


def _excess(row: BarRow) -> str:
    return f"{100 * (abs(row.total) / row.limit - 1):.3g} %" if row.limit else f"{abs(row.total):.3g}"


def _stacked(parts: np.ndarray, span: float, unit: str) -> list[Markup]:
    """Parts side by side from the middle: positive ones to the right, negative ones to the left."""
    found, ends = [], {True: 0.0, False: 0.0}
    for name, part in zip(COLOURS, parts.tolist(), strict=True):
        if not part:
            continue
        start = ends[part > 0]
        ends[part > 0] = start + part
        left, right = sorted((start, start + part))
        place = f"left:{_place(left, span)};width:{50 * (right - left) / span:.3f}%"
        style = f"{place};background:{COLOURS[name]}"
        found.append(tag("i", style=style, title=f"{name}: {four_digits(part)} {unit}"))
    return found


def _place(x: float, span: float) -> str:
    return f"{50 + 50 * min(max(x / span, -1.0), 1.0):.3f}%"


def _key(names: Iterable[str], rows: Sequence[BarRow], spans: Sequence[float], to_limits: bool) -> Markup:
    """What colours and marks mean, and how far the scale goes."""
    found = [tag("span", tag("i", style=f"background:{COLOURS[name]}"), name) for name in names]
    if rows:
        found.append(tag("span", tag("b"), "sum"))
    if any(row.limit <= _MARGIN * span for row, span in zip(rows, spans, strict=True)):
        found.append(tag("span", tag("s"), "limit"))
    ends = set()
    for row, span in zip(rows, spans, strict=True):
        if not row.reach and not row.is_limited:
            continue  # its scale shows nothing
        limited = to_limits and row.is_limited
        ends.add(f"±{100 * span / row.limit:.4g} % of the limit" if limited else f"±{span:.4g} {row.unit}")
    found += [tag("span", f"scale: {' and '.join(sorted(ends))}", class_="ad-soft")] if ends else []
    return tag("div", *found, class_="ad-key")


def _sums(moment: Moment) -> Markup:
    """Power and energies."""
    kinetic, potential = moment.energies
    entries = (("power", moment.power, "W"), ("kinetic", kinetic, "J"), ("potential", potential, "J"))
    found = (
        tag("span", tag("small", name), f" {four_digits(x)} {unit}", data_sum=name, data_value=repr(x))
        for name, x, unit in entries
    )
    return tag("div", *found, class_="ad-sums")
