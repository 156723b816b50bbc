"""What figures of curves share: thinned curves, labels at their ends, arrows, and how joints are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.transforms import Affine2D, ScaledTranslation, Transform, blended_transform_factory
from scipy.optimize import isotonic_regression

from armdyn.drawing.style import CAUSE_COLOURS, COLOURS, DASHES, GREY, Dash, readable
from armdyn.robot import Robot
from armdyn.robot.joints import UNITS, Units, joint_units

# A sum, behind its parts.
TOTAL: dict[str, Any] = {"color": "#c4c4c4", "linestyle": "-", "lw": 4.0, "zorder": 1.5}
_STRETCHES = 400  # of a curve on paper, each drawn by its extremes
_DISTINCT = 3  # curves up to which all are labelled at their ends, also where they meet
_LEADER, _SAMPLE = 7.0, 27.0  # points: how long leader lines and samples of lines are
_GAP = 10.0  # points, the least between two labels
_AIR = 0.06  # of their height, above and below curves


def colour(k: int) -> str:
    return COLOURS[k % len(COLOURS)]


def dash(k: int) -> Dash:
    return DASHES[k % len(DASHES)]


def curve(panel: Axes, t: np.ndarray, y: np.ndarray, k: int, label: str = "", **options: Any) -> Line2D:
    """Curve number k: its own colour and dash."""
    shown = {"color": colour(k), "linestyle": dash(k), **options}
    kept = thinned(y, 2 * _STRETCHES + 2, 4 * _STRETCHES)
    (line,) = panel.plot(t[kept], y[kept], label=label, **shown)
    return line


def cause_look(name: str, k: int) -> dict[str, Any]:
    """How curve number k, torques by a cause, is drawn: "inertia, joint 2" has the colour of inertia."""
    return {"color": CAUSE_COLOURS.get(name.partition(",")[0], GREY), "linestyle": dash(k)}


def thinned(y: np.ndarray, most: int, unless: int | None = None) -> np.ndarray:
    """Indices of at most `most` points of a curve y (N,) that look like all: both ends, and extremes.

    Of each stretch of the curve the least and the greatest are kept, and where it has a gap (NaN), one of
    that. Curves of up to `unless` points stay as they are.
    """
    count = len(y)
    if count <= (most if unless is None else unless):
        return np.arange(count)
    whole = bool(np.isfinite(y).all())
    edges = np.linspace(0, count, (most - 2) // (2 if whole else 3) + 1).astype(int)
    kept = [0, count - 1]
    for a, b in pairwise(edges.tolist()):
        known = a + (np.arange(b - a) if whole else np.flatnonzero(np.isfinite(y[a:b])))
        if len(known):
            kept += [int(known[y[known].argmin()]), int(known[y[known].argmax()])]
        if len(known) < b - a:
            kept.append(a + int(np.flatnonzero(~np.isfinite(y[a:b]))[0]))
    return np.unique(kept)


def few(
    count: int, most: int, also: Sequence[int] | np.ndarray = (), unless: int | None = None
) -> np.ndarray:
    """Indices of at most `most` of `count` points, evenly taken, and `also` some; all of up to `unless`."""
    if count <= (most if unless is None else unless):
        return np.arange(count)
    evenly = np.linspace(0, count - 1, most - len(also)).astype(int)
    return np.unique([*evenly, *also])


def arrow(panel: Axes, start: np.ndarray, end: np.ndarray, zorder: float, **options: Any) -> None:
    properties = {"color": GREY, "lw": 1.0, "shrinkA": 0, "shrinkB": 0, **options}
    properties["arrowstyle"] = "-|>,head_length=0.35,head_width=0.16"
    panel.annotate(
        "",
        (float(end[0]), float(end[1])),
        xytext=(float(start[0]), float(start[1])),
        zorder=zorder,
        arrowprops=properties,
    )


def end_labels(panel: Axes, lines: Sequence[Line2D]) -> None:
    """Write each line's label at its right end, in its colour; labels that would touch are moved apart.

    Where many are moved, a piece of each line stands before its label: without colours the leader lines
    alone would not tell which is which. The panel's limits must be final.
    """
    height = panel.get_window_extent().height / panel.figure.dpi * 72
    low, high = panel.get_ylim()
    per_point = (high - low) / height
    ends = [float(np.asarray(line.get_ydata())[-1]) for line in lines]
    places = spread(np.array(ends) / per_point, _GAP, low / per_point, high / per_point) * per_point
    sampled = len(lines) > 3 and float(np.abs(places - ends).max()) > 0.3 * _GAP * per_point
    beside = _right_of(panel)
    for line, end, place in zip(lines, ends, places, strict=True):
        leader = Line2D([0.0, _LEADER], [end, place], color=line.get_color(), lw=0.5)
        pieces = [leader]
        if sampled:
            pieces.append(Line2D([], []))
            pieces[-1].update_from(line)
            pieces[-1].set_data([_LEADER, _LEADER + _SAMPLE], [place, place])
        for piece in pieces:
            piece.set(transform=beside, clip_on=False, solid_capstyle="butt")
            panel.add_artist(piece)
        panel.annotate(
            str(line.get_label()),
            (_LEADER + (_SAMPLE + 4 if sampled else 2), float(place)),
            xycoords=beside,
            color=readable(str(line.get_color())),
            va="center",
            fontsize=8.5,
            annotation_clip=False,
        )


def _right_of(panel: Axes) -> Transform:
    """Points of paper to the right of the panel, over data."""
    points = Affine2D().scale(1 / 72) + panel.figure.dpi_scale_trans
    edge = ScaledTranslation(1, 0, panel.transAxes)  # type: ignore[arg-type]  # any transform does
    return blended_transform_factory(points + edge, panel.transData)


def spread(positions: np.ndarray, gap: float, low: float = -np.inf, high: float = np.inf) -> np.ndarray:
    """The positions nearest to these, in the same order, at least `gap` apart and between low and high.

    Labels that would touch share their mean. Where there is no room between the two bounds, the lower one
    holds.
    """
    if not len(positions):
        return np.zeros(0)
    order, ranks = np.argsort(positions, kind="stable"), gap * np.arange(len(positions))
    placed = isotonic_regression(positions[order] - ranks).x
    result = np.empty(len(positions))
    result[order] = np.maximum(np.minimum(placed, high - ranks[-1]), low) + ranks
    return result


def padded(panel: Axes) -> None:
    """Some air above and below the curves; a panel of constants gets a height too."""
    low, high = panel.dataLim.y0, panel.dataLim.y1
    if not np.isfinite([low, high]).all():
        low, high = 0.0, 0.0
    size = high - low
    if size <= 1e-9 * max(abs(low), abs(high), 1e-9):
        size = max(abs(high), 1.0)
    panel.set_ylim(low - _AIR * size, high + _AIR * size)


def framed(panel: Axes, label: str, title: str = "") -> None:
    """A panel of curves over its whole width: what is drawn upwards, its zero line, its title."""
    panel.set_ylabel(label)
    panel.margins(x=0)
    padded(panel)
    zero_line(panel.axhline)
    if title:
        panel.set_title(title, parse_math=False)


def zero_line(line: Callable[..., Any]) -> None:
    """A thin line at zero, by `axhline` or `axvline` of a panel."""
    line(0, color="#9a9a9a", lw=0.7, zorder=1.2)


def finish(panel: Axes, lines: Sequence[Line2D], label: str, title: str = "") -> None:
    """A panel whose lines are labelled at their ends."""
    framed(panel, label, title)
    ends = [float(np.asarray(line.get_ydata())[-1]) for line in lines]
    low, high = panel.get_ylim()
    if len(lines) <= _DISTINCT or np.ptp(ends) > 0.02 * (high - low):  # many that meet say nothing there
        end_labels(panel, lines)


def limit_lines(panel: Axes, bound: float, shade: str = GREY) -> bool:
    """Both limits, where the torques come near enough for the lines to be in sight; whether any is."""
    if not np.isfinite(bound):
        return False
    low, high = panel.get_ylim()
    before = len(panel.lines)
    for value in (bound, -bound):
        if 1.4 * low - 0.4 * high < value < 1.4 * high - 0.4 * low:
            panel.axhline(value, color=shade, lw=0.9, zorder=1.4)
            low, high = min(low, value * 1.05), max(high, value * 1.05)
    panel.set_ylim(low, high)
    return len(panel.lines) > before


# ---- how joints are called ------------------------------------------------------------------------------


@dataclass(frozen=True)
class JointKind:
    """The joints of one kind and their units."""

    name: str
    joints: tuple[int, ...]
    units: Units


def joint_kinds(robot: Robot) -> list[JointKind]:
    """The kinds of joints a robot has, revolute first."""
    kinds = [link.joint for link in robot.model.coordinates]
    of = {name: tuple(i for i, kind in enumerate(kinds) if kind == name) for name in UNITS}
    return [JointKind(name, joints, UNITS[name]) for name, joints in of.items() if joints]


def effort_label(robot: Robot, joint: int) -> str:
    """ "torque [N m]" or "force [N]"."""
    units = joint_units(robot, joint)
    return f"{units.effort} [{units.torque}]"


def joint_label(robot: Robot, joint: int) -> str:
    return f"joint {joint + 1}" if robot.n <= 3 else str(joint + 1)


def joint_title(robot: Robot, joint: int) -> str:
    """The joint's number and its link."""
    return titled("joint", joint, robot.model.coordinates[joint].joint_label)


def titled(kind: str, k: int, name: str, line: int = 40) -> str:
    """Number k of a kind, counted from 0, and, where the figures' font has its letters, its link.

    A title of more letters than a line has stands in two; of a long name the middle is left out, as robots
    with two arms tell their joints apart at both ends.
    """
    if not (name.isprintable() and all(ord(c) < 0x250 for c in name)):
        return f"{kind} {k + 1}"
    most = min(line, 32)
    shown = name if len(name) <= most else f"{name[: most // 2]}…{name[most // 2 + 1 - most :]}"
    title = f"{kind} {k + 1}, {shown}"
    return title if len(title) <= line else f"{kind} {k + 1}\n{shown}"
