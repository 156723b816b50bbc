"""An ellipsoid's card: its centre and axes, and how it looks along the axes of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from matplotlib.figure import Figure

from armdyn.analysis.ellipsoid import Ellipsoid
from armdyn.report.figures.drawing import GREY, curve, styled
from armdyn.report.notebook.cards import framed, picture
from armdyn.report.page.markup import Markup, facts
from armdyn.report.page.numbers import Amount
from armdyn.report.page.tables import Heading, TableCell, table

_AROUND = np.linspace(0, 2 * np.pi, 181)
_PLANES = 3  # that are drawn


def ellipsoid_card(e: Ellipsoid) -> Markup:
    """Of several, shapes and the range of their axes; of one, the numbers and a picture."""
    title = f"Ellipsoid, {e.kind.replace('_', ' ')}"
    if e.lengths.ndim > 1:
        finite = e.lengths[np.isfinite(e.lengths)]
        spread = f"{finite.min():.3g} to {finite.max():.3g}" if finite.size else "infinite"
        entries = [("ellipsoids", f"{e.lengths.shape[:-1]}, {', '.join(e.names)}"), ("semi-axes", spread)]
        return framed(title, e.description, facts(entries))
    parts = [_axes(e)]
    if e.m > 1 and np.isfinite(e.lengths).all():
        planes = list(combinations(range(e.m), 2))[:_PLANES]
        parts.insert(0, picture(_projections(e, planes), "the ellipsoid's outline", 12 * len(planes)))
    return framed(title, e.description, *parts)


def _axes(e: Ellipsoid) -> Markup:
    headings: list[Heading] = ["", "length", *(("direction", name) for name in e.names)]
    rows: list[tuple[TableCell, ...]] = [("centre", "", *(Amount(float(x), 3) for x in e.centre))]
    for k in range(e.m):
        direction = (Amount(float(x), 3) for x in e.axes[:, k])
        rows.append((f"semi-axis {k + 1}", Amount(float(e.lengths[k]), 3), *direction))
    return table(headings, rows)


@styled
def _projections(e: Ellipsoid, planes: Sequence[tuple[int, int]]) -> Figure:
    """The ellipsoid seen along each axis: its shadow on the plane of the two others."""
    figure = Figure(figsize=(2.4 * len(planes), 2.4), layout="constrained")
    shape = (e.axes * e.lengths**2) @ e.axes.T
    for axis, (i, j) in zip(figure.subplots(1, len(planes), squeeze=False)[0], planes, strict=True):
        values, vectors = np.linalg.eigh(shape[np.ix_((i, j), (i, j))])
        half = vectors * np.sqrt(np.clip(values, 0, None))
        edge = e.centre[[i, j], None] + half @ np.array([np.cos(_AROUND), np.sin(_AROUND)])
        curve(axis, edge[0], edge[1], 1, linestyle="-")
        axis.plot(*e.centre[[i, j]], marker="+", color=GREY)
        axis.set_aspect("equal", adjustable="datalim")
        axis.set_xlabel(e.names[i])
        axis.set_ylabel(e.names[j])
    return figure
