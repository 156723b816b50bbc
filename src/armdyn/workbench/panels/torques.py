"""Torques as bars: one row for each joint, split by cause, against the joint's limit."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from armdyn.output import one_line
from armdyn.report.page.markup import Markup, join, tag
from armdyn.robot.joints import torque_unit
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.bench.moment import Moment
from armdyn.workbench.panels.reading import Reading

# Colours that can be told apart without red and green (Okabe and Ito), by cause.
COLOURS = {
    "inertia": "#0072b2",
    "centrifugal": "#56b4e9",
    "Coriolis": "#009e73",
    "gravity": "#e69f00",
    "springs": "#b3a125",
    "viscous friction": "#cc79a7",
    "dry friction": "#8c510a",
    "rotor coupling": "#d55e00",
    "tip wrench": "#777777",
}


def add(bench: Bench) -> None:
    reading = Reading(bench)
    spans = np.zeros(bench.robot.n)  # N m: how much a row has room for; it grows and does not shrink at once

    def show(moment: Moment) -> None:
        nonlocal spans
        spans = np.maximum(0.98 * spans, room(bench, moment))
        reading.show(bars(bench, moment, spans))

    bench.on_moment(show)


def room(bench: Bench, moment: Moment) -> np.ndarray:
    """(n,): what a row must have room for [N m or N]: the positive parts, the negative ones, the limit."""
    parts = np.array(list(moment.parts.parts.values()))
    sums = np.maximum(np.clip(parts, 0, None).sum(0), -np.clip(parts, None, 0).sum(0))
    limits = np.where(np.isfinite(bench.limits.torque), bench.limits.torque, 0)
    return np.asarray(np.maximum(1.08 * np.maximum(sums, limits), 1e-6))


def bars(bench: Bench, moment: Moment, spans: np.ndarray) -> Markup:
    rows = (_row(bench, moment, joint, float(spans[joint])) for joint in range(bench.robot.n))
    used = [name for name, part in moment.parts.parts.items() if np.any(part)]
    return join([tag("div", *rows, class_="ad-bars", data_armdyn="torques"), _key(used)])


def _row(bench: Bench, moment: Moment, joint: int, span: float) -> Markup:
    tau, limit = float(moment.tau[joint]), float(bench.limits.torque[joint])
    name = f"{joint + 1} {one_line(bench.robot.model.coordinates[joint].name)}"
    parts = ((name, float(part[joint])) for name, part in moment.parts.parts.items())
    marks = [tag("u", style="left:50%"), *_stacked(parts, span)]
    if np.isfinite(limit):
        marks += [tag("s", style=f"left:{_place(x, span)}") for x in (-limit, limit)]
    marks.append(tag("b", style=f"left:{_place(tau, span)}"))
    over = " ad-over" if abs(tau) > limit else ""
    value = tag("div", f"{tau:.4g} {torque_unit(bench.robot, joint)}", class_=f"ad-value{over}")
    return tag(
        "div",
        tag("div", name, class_="ad-name", title=name),
        tag("div", *marks, class_="ad-track"),
        value,
        class_="ad-row",
        data_joint=str(joint + 1),
        data_tau=repr(tau),
    )


def _stacked(parts: Iterable[tuple[str, float]], span: float) -> list[Markup]:
    """Parts side by side from the middle: positive ones to the right, negative ones to the left."""
    found, ends = [], {True: 0.0, False: 0.0}
    for name, part in parts:
        if not part:
            continue
        start = ends[part > 0]
        ends[part > 0] = start + part
        left, right = sorted((start, start + part))
        style = (
            f"left:{_place(left, span)};width:{50 * (right - left) / span:.3f}%;background:{COLOURS[name]}"
        )
        found.append(tag("i", style=style, title=f"{name}: {part:.4g}"))
    return found


def _place(x: float, span: float) -> str:
    return f"{50 + 50 * np.clip(x / span, -1, 1):.3f}%"


def _key(names: Iterable[str]) -> Markup:
    found = (tag("span", tag("i", style=f"background:{COLOURS[name]}"), name) for name in names)
    return tag("div", *found, class_="ad-key")
