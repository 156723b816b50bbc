"""Charts: panels one above the other over the same time, as data and as markup; those of a motion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from armdyn.drawing.curves import thinned
from armdyn.drawing.style import CAUSE_COLOURS
from armdyn.expression import ArmdynError
from armdyn.motion.loads import Loaded
from armdyn.motion.motion import STEP
from armdyn.motion.motor_loads import MotorLoads
from armdyn.motion.timing.limits import limits_for
from armdyn.motion.trajectory import Samples, Trajectory
from armdyn.names import one_line
from armdyn.report.page import Markup, join, tag
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits, joint_units
from armdyn.workbench.fields import FieldUnits, four_digits
from armdyn.workbench.moment import EditedRobot

_POINTS = 600  # points of a curve
BLUE, ORANGE, GREY = "var(--ad-blue)", "var(--ad-orange)", "#888888"  # of panels.css, light or dark


@dataclass(frozen=True, eq=False)
class Line:
    """A curve: values y (N,), or of all joints (N, n), at instants t (N,), which do not decrease [s]."""

    t: np.ndarray
    y: np.ndarray
    label: str
    colour: str = BLUE
    dashed: bool = False
    width: float = 1.6  # pixels


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves with one scale. The value beside the cursor is that of the first line."""

    title: str
    unit: str
    lines: tuple[Line, ...]
    bounds: tuple[float, ...] = ()  # limits, drawn as dashed lines where they are finite and in reach
    height: int = 56  # pixels

    @property
    def span(self) -> tuple[float, float]:
        """What the panel shows: all curves, zero, and bounds that are not far off."""
        values = np.concatenate([np.atleast_1d(line.y) for line in self.lines])
        values = values[np.isfinite(values)]
        low, high = (min(0.0, float(values.min())), max(0.0, float(values.max()))) if len(values) else (0, 0)
        reach = max(high - low, 1e-12)
        for bound in self.bounds:
            if np.isfinite(bound) and low - 1.5 * reach <= bound <= high + 1.5 * reach:
                low, high = min(low, bound), max(high, bound)
        room = 0.06 * (high - low) or 1.0
        return low - room, high + room

    def in_units(self, unit: str, factor: float) -> Panel:
        """The same in another unit, of which `factor` are one of its own."""
        if factor == 1:
            return self
        lines = tuple(replace(line, y=factor * line.y) for line in self.lines)
        return replace(self, unit=unit, lines=lines, bounds=tuple(factor * x for x in self.bounds))

    def value(self, time: float) -> float:
        """Of the first line."""
        line = self.lines[0]
        return float(np.interp(time, line.t, line.y))


@dataclass(frozen=True, eq=False)
class Chart:
    """`duration` [s] is what the axis of time covers; `marks` are instants drawn as thin lines."""

    panels: tuple[Panel, ...]
    duration: float
    marks: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()

    def in_units(self, units: FieldUnits) -> Chart:
        """The same with angles and lengths in the units of the page."""
        return replace(self, panels=tuple(panel.in_units(*units.of(panel.unit)) for panel in self.panels))

    @property
    def key(self) -> dict[str, tuple[str, bool]]:
        """Label -> colour and whether it is dashed, of all lines; nothing if there is only one kind."""
        lines = [line for panel in self.panels for line in panel.lines]
        found = {line.label: (line.colour, line.dashed) for line in lines}
        return found if len(found) > 1 else {}


# ---- as markup: SVG that stretches with its panel, and a cursor that lies over it -------------------------
#
# The curves are sent once. The cursor is markup of its own, laid over the curves by the style sheet, so that
# moving it sends a line and a few numbers. The page's script says values under the mouse, goes to the time of
# a click and enlarges what is dragged over: variables of the style sheet say which part of the time is shown.


_HEAD, _GAP = 18, 8  # pixels: above a panel's curves, and below
_WIDTH = 1000.0  # of the drawing, which is stretched


def curves(chart: Chart) -> Markup:
    """All panels, the axis of time and the key."""
    plots = (_plot(chart, panel) for panel in chart.panels)
    notes = (tag("div", note, class_="ad-note") for note in chart.notes)
    return join(
        [
            tag(
                "div",
                *plots,
                _axis(chart.duration),
                class_="ad-plots",
                data_armdyn="curves",
                data_duration=repr(chart.duration),
            ),
            _key(chart),
            *notes,
        ]
    )


def cursor(chart: Chart, time: float | None, name: str) -> Markup:
    """What moves: a line at the time and the values there. It has no height of its own."""
    clock = _clock(chart, time, name)
    if time is None:
        return clock
    top, found = 0, []
    for panel in chart.panels:
        low, high = panel.span
        value = panel.value(time)
        text = f"{four_digits(value, 1e-9 * (high - low))} {panel.unit}"  # 0 below what can be seen
        found.append(tag("span", text, style=f"top:{top}px"))
        top += _HEAD + panel.height + _GAP
    left = min(time / chart.duration, 1.0) if chart.duration > 0 else 0.0
    line = tag("b", style=f"left:{_place(left)};height:{top}px")
    return join([clock, tag("div", tag("div", line, *found), class_="ad-cursor")])


def _clock(chart: Chart, time: float | None, name: str) -> Markup:
    shown = "arm is elsewhere" if time is None else f"{time:.3f} s"
    return tag(
        "div",
        tag("span", one_line(name), class_="ad-name", title=one_line(name)),
        tag("span", shown, class_="ad-value"),
        class_="ad-clock",
        data_armdyn="clock",
        data_time="" if time is None else repr(time),
    )


def _plot(chart: Chart, panel: Panel) -> Markup:
    low, high = panel.span
    title = one_line(panel.title)
    drawn = [_rule(low, high, 0.0, "ad-zero")]
    drawn += [_mark(chart, t) for t in chart.marks]
    drawn += [_rule(low, high, x, "ad-bound") for x in panel.bounds if low <= x <= high]
    drawn += [_curve(chart, line, low, high) for line in reversed(panel.lines)]
    picture = tag(
        "svg", *drawn, viewBox=f"0 0 {_WIDTH:g} 100", preserveAspectRatio="none", role="img", aria_label=title
    )
    ends = [
        tag("span", f"{x:.3g}".replace("-", "−"), class_=f"ad-{end}")
        for x, end in ((high, "high"), (low, "low"))
    ]
    return tag(
        "div",
        tag("div", title, *_limit(panel), class_="ad-plot-head", title=title),
        tag(
            "div",
            picture,
            *ends,
            class_="ad-plot-area",
            style=f"height:{panel.height}px",
            data_low=repr(low),
            data_high=repr(high),
            data_unit=panel.unit,
        ),
        class_="ad-plot",
    )


def _limit(panel: Panel) -> list[Markup]:
    """Limits in words: a far one is not in the picture."""
    known = [x for x in panel.bounds if np.isfinite(x)]
    if not known:
        return []
    text = f"±{known[-1]:.4g}" if len(known) == 2 and known[0] == -known[1] else _range(panel.bounds)
    return [tag("em", f"limit {text}")]


def _range(bounds: tuple[float, ...]) -> str:
    return " to ".join(f"{x:.4g}" if np.isfinite(x) else "…" for x in bounds)


def _curve(chart: Chart, line: Line, low: float, high: float) -> Markup:
    rows = thinned(line.y, _POINTS)
    t, y = line.t[rows], line.y[rows]
    x = _WIDTH * t / (chart.duration or 1.0)
    down = 100 * (high - y) / (high - low)
    pairs = zip(x.tolist(), down.tolist(), strict=True)
    path, pen = [], "M"
    for a, b in pairs:
        if not np.isfinite(b):
            pen = "M"  # a gap
            continue
        path.append(f"{pen}{a:.1f} {b:.2f}")
        pen = "L"
    dashes = {"stroke_dasharray": "4 3"} if line.dashed else {}
    return tag(
        "path",
        d="".join(path),
        style=f"stroke:{line.colour};stroke-width:{line.width:g}",
        fill="none",
        data_label=line.label,
        vector_effect="non-scaling-stroke",
        **dashes,
    )


def _rule(low: float, high: float, y: float, kind: str) -> Markup:
    down = f"{100 * (high - y) / (high - low):.2f}"
    return tag(
        "line", x1="0", x2=f"{_WIDTH:g}", y1=down, y2=down, class_=kind, vector_effect="non-scaling-stroke"
    )


def _mark(chart: Chart, t: float) -> Markup:
    x = f"{_WIDTH * t / (chart.duration or 1.0):.1f}"
    return tag("line", x1=x, x2=x, y1="0", y2="100", class_="ad-mark", vector_effect="non-scaling-stroke")


def _axis(duration: float) -> Markup:
    """Round instants below the last panel."""
    if not duration > 0:
        return tag("div", class_="ad-axis")
    rough = duration / 5
    scale = 10.0 ** np.floor(np.log10(rough))
    step = scale * next(x for x in (1, 2, 5, 10) if x * scale >= rough * (1 - 1e-9))
    ticks = np.arange(0, duration * 0.94, step)
    found = [tag("span", f"{t:.6g}", style=f"left:{_place(t / duration)}") for t in ticks.tolist()]
    return tag("div", *found, tag("span", "s", class_="ad-unit"), class_="ad-axis")


def _place(part: float) -> str:
    """Where a part of the time stands, when some of the time is shown enlarged."""
    return f"clamp(-2%,calc(({part:.5f} - var(--ad-from,0))/var(--ad-span,1)*100%),102%)"


def _key(chart: Chart) -> Markup:
    found = (
        tag(
            "span", tag("i", style=f"background:{colour}", class_="ad-dashed" if dashed else "ad-solid"), name
        )
        for name, (colour, dashed) in chart.key.items()
    )
    return tag("div", *found, class_="ad-key")


# ---- charts of a motion: torques, by cause, at the motors; positions, velocities, accelerations -----------


COLOURS = {name: f"var(--part-{k})" for k, name in enumerate(CAUSE_COLOURS)}  # light or dark

_MOST, _FEW = 20_000, 2_000  # instants at which curves are computed, and torques by cause
TALL = 240  # pixels
BY_CAUSE = "Torques by cause"
Plotted: TypeAlias = Literal["torque", "position", "velocity", "acceleration"]
_STATES: tuple[Plotted, ...] = ("position", "velocity", "acceleration")


@dataclass(frozen=True, eq=False)
class ShownMotion:
    """A motion with its name in the key."""

    label: str
    motion: Trajectory
    colour: str = BLUE
    dashed: bool = False

    def samples(self, most: int = _MOST) -> Samples:
        return self.motion.samples(max(self.motion.step or STEP, self.motion.duration / most))

    def line(self, t: np.ndarray, y: np.ndarray) -> Line:
        return Line(t, y, self.label, self.colour, self.dashed)


def motion_charts(robot: Robot, motions: Sequence[tuple[str, Trajectory]]) -> dict[str, Callable[..., Chart]]:
    """Charts by title, of motions with their names: functions of the subject, a joint and a wrench.

    The first is the one that is played; another one is drawn dashed, in grey.
    """
    shown = [ShownMotion(*motions[0]), *(ShownMotion(*other, GREY, True) for other in motions[1:])]

    def of(chart: Callable[..., Chart], *further: Any) -> Callable[..., Chart]:
        return lambda subject, joint, wrench: chart(shown, subject, joint, wrench, *further)

    found = {"Torques": of(_torques), BY_CAUSE: of(_by_cause)}
    if any(link.motor is not None for link in robot.model.links):
        found["Torques at the motors"] = of(_at_motors)
    for k, title in enumerate(("Positions", "Velocities", "Accelerations")):
        found[title] = of(_states, k)
    return found


def torques_of(subject: EditedRobot, motion: Trajectory, at: Samples, wrench: Any = None) -> np.ndarray:
    """(N, n): `inverse_dynamics` at samples, each with what the arm carries; nothing is compiled."""

    def torques(robot: Robot, *states: np.ndarray) -> np.ndarray:
        return subject.bare.carrying(robot).torques(*states, wrench)

    return motion.loaded(subject.bare.robot).evaluate(torques, at.t, at.q, at.qd, at.qdd)


def bounds_of(robot: Robot, quantity: Plotted) -> tuple[np.ndarray, np.ndarray]:
    """(n,) each: from below and above; infinite for none. Those of torques have limits of motors in them."""
    limits = joint_limits(robot)
    if quantity == "position":
        return limits.lower, limits.upper
    most: np.ndarray = getattr(limits, quantity)
    if quantity == "torque":
        with suppress(ArmdynError):
            most = limits_for(robot).torque.bound[: robot.n]
    return -most, most


def joint_title(robot: Robot, joint: int) -> str:
    return one_line(f"{joint + 1} {robot.model.coordinates[joint].joint_label}")


def joint_panels(
    robot: Robot, quantity: Plotted, curves: Sequence[Line], bounded: bool = True
) -> tuple[Panel, ...]:
    """A panel for each joint, with its columns of curves y (N, n), and its limits where it is `bounded`."""
    low, high = bounds_of(robot, quantity)
    return tuple(
        Panel(
            joint_title(robot, j),
            getattr(joint_units(robot, j), quantity),
            tuple(replace(line, y=line.y[:, j]) for line in curves),
            (float(low[j]), float(high[j])) if bounded else (),
        )
        for j in range(robot.n)
    )


def _chart(shown: list[ShownMotion], panels: Iterable[Panel]) -> Chart:
    main = shown[0].motion
    marks = Loaded(None, main.loads, main.duration).boundaries.tolist()  # type: ignore[arg-type]
    notes = ("Dotted: a load is picked up or put down.",) if marks else ()
    return Chart(tuple(panels), max(one.motion.duration for one in shown), tuple(marks), notes)


def _torques(shown: list[ShownMotion], subject: EditedRobot, _joint: int, wrench: Any) -> Chart:
    found = [(one, at := one.samples(), torques_of(subject, one.motion, at, wrench)) for one in shown]
    curves = [one.line(at.t, tau) for one, at, tau in found]
    return _chart(shown, joint_panels(subject.bare.robot, "torque", curves))


def _by_cause(shown: list[ShownMotion], subject: EditedRobot, joint: int, wrench: Any) -> Chart:
    """Of one joint; of the motion that is played alone."""
    one, bare = shown[0], subject.bare
    at = one.samples(_FEW)

    def split(robot: Robot, *states: np.ndarray) -> np.ndarray:
        parts = bare.carrying(robot).causes(*states, wrench).parts
        return np.column_stack([parts[name][:, joint] for name in COLOURS])

    found = one.motion.loaded(bare.robot).evaluate(split, at.t, at.q, at.qd, at.qdd)
    parts = dict(zip(COLOURS, found.T, strict=True))
    lines = [Line(at.t, np.sum(list(parts.values()), axis=0), "torque", "currentColor", width=2.2)]
    lines += [Line(at.t, y, name, COLOURS[name]) for name, y in parts.items() if np.any(y)]
    bound = float(bounds_of(bare.robot, "torque")[1][joint])
    unit = joint_units(bare.robot, joint).torque
    panel = Panel(joint_title(bare.robot, joint), unit, tuple(lines), (-bound, bound), TALL)
    return _chart(shown[:1], [panel])


def _at_motors(shown: list[ShownMotion], subject: EditedRobot, _joint: int, wrench: Any) -> Chart:
    found = []
    for one in shown:
        at = one.samples()
        tau = torques_of(subject, one.motion, at, wrench)
        found.append((one, MotorLoads.from_torques(subject.bare.robot, at.t, at.qd, tau)))
    first = found[0][1]
    panels = []
    for i, name in enumerate(first.names):
        title = f"motor {i + 1} {name}" if first.geared[i] else f"{name} (driven directly)"
        lines = tuple(one.line(loads.t, loads.torque[:, i]) for one, loads in found)
        most = float(first.limits.torque[i])
        panels.append(Panel(title, first.units[i].torque, lines, (-most, most)))
    return _chart(shown, panels)


def _states(shown: list[ShownMotion], subject: EditedRobot, _joint: int, _wrench: Any, kind: int) -> Chart:
    found = [(one, one.samples()) for one in shown]
    curves = [one.line(at.t, (at.q, at.qd, at.qdd)[kind]) for one, at in found]
    return _chart(shown, joint_panels(subject.bare.robot, _STATES[kind], curves))
