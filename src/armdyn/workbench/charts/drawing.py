"""Charts as markup: SVG that stretches with its panel, and a cursor that lies over it.

The curves are sent once. The cursor is markup of its own, laid over the curves by the style sheet, so that
moving it sends a line and a few numbers.
"""

from __future__ import annotations

import numpy as np

from armdyn.output import one_line
from armdyn.report.page.markup import Markup, join, tag
from armdyn.workbench.charts.chart import Chart, Line, Panel
from armdyn.workbench.charts.thinning import thinned

_HEAD, _GAP = 18, 8  # pixels: above a panel's curves, and below
_WIDTH = 1000.0  # of the drawing, which is stretched


def curves(chart: Chart) -> Markup:
    """All panels, the axis of time and the key."""
    plots = (_plot(chart, panel) for panel in chart.panels)
    notes = (tag("div", note, class_="ad-note") for note in chart.notes)
    return join(
        [
            tag("div", *plots, _axis(chart.duration), class_="ad-plots", data_armdyn="curves"),
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
        shown = 0.0 if abs(value) < 1e-9 * (high - low) else value  # below what can be seen
        text = f"{shown:.4g} {panel.unit}"
        found.append(tag("span", text, style=f"top:{top}px"))
        top += _HEAD + panel.height + _GAP
    left = 100 * min(time / chart.duration, 1.0) if chart.duration > 0 else 0.0
    line = tag("b", style=f"left:{left:.3f}%;height:{top}px")
    return join([clock, tag("div", tag("div", line, *found), class_="ad-cursor")])


def _clock(chart: Chart, time: float | None, name: str) -> Markup:
    shown = "posed by hand" if time is None else f"{time:.3f} s"
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
    ends = [tag("span", f"{x:.3g}", class_=f"ad-{end}") for x, end in ((high, "high"), (low, "low"))]
    return tag(
        "div",
        tag("div", title, *_limit(panel), class_="ad-plot-head", title=title),
        tag("div", picture, *ends, class_="ad-plot-area", style=f"height:{panel.height}px"),
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
    t, y = thinned(line.t, line.y)
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
    found = [tag("span", f"{t:.6g}", style=f"left:{100 * t / duration:.2f}%") for t in ticks.tolist()]
    return tag("div", *found, tag("span", "s", class_="ad-unit"), class_="ad-axis")


def _key(chart: Chart) -> Markup:
    found = (
        tag(
            "span", tag("i", style=f"background:{colour}", class_="ad-dashed" if dashed else "ad-solid"), name
        )
        for name, (colour, dashed) in chart.key.items()
    )
    return tag("div", *found, class_="ad-key")
