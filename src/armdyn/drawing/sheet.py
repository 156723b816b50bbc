"""Sheets: a new figure with panels, or the panels that a caller gives (`ax=`)."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, TypeAlias

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure, SubFigure
from matplotlib.transforms import Bbox

from armdyn.drawing.errors import ReportError
from armdyn.drawing.style import STYLE, WIDTH

# ---- `Drawing`: a matplotlib figure that shows itself in windows and notebooks; pyplot does not keep it ---


_SHARP = 2  # pixels of a notebook's picture for each pixel of its place


class Drawing(Figure):
    """A figure as the plots of armdyn return it.

    pyplot knows it only while its window is open: thousands can be made, and none has to be closed.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        FigureCanvasSVG(self)

    def show(self, warn: bool = True, *, block: bool | None = None) -> None:
        """Show the figure: in a window of matplotlib's backend, or below the cell of a notebook.

        As `matplotlib.pyplot.show`, this waits in a script until the windows are closed; `block=False` goes
        on at once. Without a backend that has windows, it warns (unless `warn` is False) and does nothing.
        """
        from matplotlib import pyplot  # loads a backend: only when something is to be shown

        backend = _backend(pyplot)
        if _has_windows(backend):
            self._open(backend)
            pyplot.show(block=block)
        elif not _shown_in_notebook(self) and warn:
            name = mpl.get_backend()
            hint = "matplotlib.use('qtagg') or another of its backends opens windows; savefig writes a file"
            warnings.warn(f"the backend '{name}' of matplotlib has no windows: {hint}", stacklevel=2)

    def _open(self, backend: Any) -> None:
        """A window of its own, which pyplot lists until it is closed."""
        from matplotlib._pylab_helpers import Gcf

        if self.canvas.manager is None or self.canvas.manager not in Gcf.figs.values():
            manager = backend.FigureCanvas.new_manager(self, max(Gcf.figs, default=0) + 1)
            Gcf._set_new_active_manager(manager)
        manager = self.canvas.manager
        if manager is not None:
            manager.show()

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """How notebooks show it: an image and its size on the page."""
        width, height = (round(96 * x) for x in self.get_size_inches())
        stream = BytesIO()
        with mpl.rc_context(rc=STYLE):
            self.savefig(stream, format="png", dpi=96 * _SHARP)
        return stream.getvalue(), {"width": width, "height": height}


def _backend(pyplot: Any) -> Any:
    """The module of the backend in use; the first call chooses one, as pyplot does."""
    from matplotlib.backends.registry import backend_registry

    pyplot.get_backend()
    return backend_registry.load_backend_module(mpl.get_backend())  # type: ignore[no-untyped-call]


def _has_windows(backend: Any) -> bool:
    manager = getattr(getattr(backend, "FigureCanvas", None), "manager_class", FigureManagerBase)
    return bool(manager.show is not FigureManagerBase.show)


def _shown_in_notebook(figure: Figure) -> bool:
    """Below the cell, where this is a notebook; whether it is."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return False
    from IPython.display import display

    display(figure)
    return True


# ---- sheets: a new figure with panels, or the panels that a caller gives (`ax=`) --------------------------


# Where a plot is drawn: None makes a new figure. Axes, as many as the plot has panels; or an empty figure or
# subfigure, which gets the panels.
Given: TypeAlias = Axes | Sequence[Axes] | np.ndarray | Figure | SubFigure | None


@dataclass(frozen=True)
class Sheet:
    """A figure and the panels of a plot, row by row, `columns` in a row."""

    figure: Figure  # what the plot returns: the whole figure, also where only a part of it is drawn
    panels: tuple[Axes, ...]
    columns: int
    place: Figure | SubFigure | None  # what the panels fill; None where they were given
    wide: bool = False  # whether the last panel has the room of all below it and beside it

    @property
    def rows(self) -> list[tuple[Axes, ...]]:
        """The panels, row by row."""
        starts = range(0, len(self.panels), self.columns)
        return [self.panels[k : k + self.columns] for k in starts]

    def under(self, label: str) -> None:
        """What the panels have to the right: below the lowest of each column, below each one given."""
        last = len(self.rows[-1]) if self.wide else self.columns
        first = len(self.panels) - last if self.place is not None else 0
        for panel in self.panels[max(first, 0) :]:
            panel.set_xlabel(label)
            panel.tick_params(labelbottom=True)

    def legend(self, handles: Sequence[Artist], ncols: int = 1, **options: Any) -> None:
        """A legend below the panels; in the last panel where panels were given."""
        if self.place is not None:
            self.place.legend(handles=handles, loc="outside lower center", ncols=ncols, **options)
        else:
            self.panels[-1].legend(handles=handles, loc="best", **options)


def sheet(
    height: float,
    rows: int = 1,
    columns: int = 1,
    *,
    ax: Given = None,
    used: int | None = None,
    wide: bool = False,
    **options: Any,
) -> Sheet:
    """Panels (rows, columns) on a new figure of the common width, without pyplot; or those of `ax`.

    `used` is how many of them a plot needs, row by row; the others stay empty, or with `wide`
    the last one takes their room. The height is in inches.
    """
    count = rows * columns if used is None else used
    if ax is None:
        figure = Drawing(figsize=(WIDTH, height), layout="constrained")
        return Sheet(figure, _divided(figure, rows, columns, count, wide, options), columns, figure, wide)
    if isinstance(ax, Figure | SubFigure):
        if ax.axes:
            raise ReportError("ax: this figure has panels already; give its axes, or an empty figure")
        return Sheet(whole(ax), _divided(ax, rows, columns, count, wide, options), columns, ax, wide)
    panels = given_axes(ax, count)
    return Sheet(whole(panels[0].figure), panels, columns, None)


def sheet_of(count: int, most: int, around: float, height: float, *, ax: Given, **options: Any) -> Sheet:
    """Panels row by row, at most so many in a row; a row has this height, the figure `around` more [in]."""
    columns = min(count, most)
    rows = -(-count // columns)
    return sheet(around + height * rows, rows, columns, ax=ax, used=count, **options)


def _divided(
    place: Figure | SubFigure, rows: int, columns: int, used: int, wide: bool, options: dict[str, Any]
) -> tuple[Axes, ...]:
    grid = place.subplots(rows, columns, squeeze=False, **options)
    panels: list[Axes] = list(grid.ravel())
    if wide and used < len(panels):
        for panel in panels[used - 1 :]:
            panel.remove()
        whole_grid = place.axes[0].get_gridspec()
        if whole_grid is not None:
            cells = whole_grid[rows - 1, (used - 1) % columns :]
            return (*panels[: used - 1], place.add_subplot(cells, sharex=panels[0]))
    for panel in panels[used:]:
        panel.set_axis_off()
    return tuple(panels[:used])


def given_axes(ax: Any, count: int) -> tuple[Axes, ...]:
    """The axes that a caller gave, checked: one, or a sequence or array of them."""
    known = isinstance(ax, Axes | np.ndarray) or (isinstance(ax, Sequence) and not isinstance(ax, str))
    found = list(np.ravel(np.asarray(ax, object))) if known else []
    if not known or not all(isinstance(panel, Axes) for panel in found):
        wanted = "axes, a sequence of axes, a figure or a subfigure of matplotlib"
        kinds = ", ".join(sorted({type(x).__name__ for x in found})) or type(ax).__name__
        raise ReportError(f"ax: expected {wanted}, found {kinds}")
    if len(found) != count:
        panels = "1 panel" if count == 1 else f"{count} panels"
        raise ReportError(f"ax: this plot has {panels}, found {len(found)} axes")
    return tuple(found)


def whole(place: Figure | SubFigure | None) -> Figure:
    """The figure that something belongs to."""
    if place is None:
        raise ReportError("ax: these axes belong to no figure any more")
    while isinstance(place, SubFigure):
        place = place.figure
    return place


# ---- a figure on a narrow screen: its panels one below the other, or drawn again ---------------------------

Box: TypeAlias = tuple[
    float, float, float, float
]  # of a figure, from its upper left corner: x, y, width, height
_AIR = 2.0  # points around a part
NARROW = 4.2  # inches: the width of a figure of one column that is drawn again for a narrow screen


def panels_for_narrow(figure: Figure) -> list[Box]:
    """The panels of a figure that was drawn, row by row, then the columns of its legend, in points.

    A panel's part is as wide as its column, so that those of a column stay in line. None of a figure that
    cannot be divided: one column, a panel below several, a bar of colours.
    """
    panels = [(panel, panel.get_subplotspec()) for panel in figure.axes if panel.axison]
    cells = [cell.colspan for _, cell in panels if cell is not None]
    if len(cells) < len(panels) or any(len(x) > 1 for x in cells) or len({x.start for x in cells}) < 2:
        return []
    with mpl.rc_context(rc=STYLE):  # it decides how many ticks there are
        renderer = figure._get_renderer()  # type: ignore[attr-defined]
        extents = [panel.get_tightbbox(renderer) or panel.bbox for panel, _ in panels]
    column = {
        x.start: Bbox.union([e for e, y in zip(extents, cells, strict=True) if y.start == x.start])
        for x in cells
    }
    found = [
        _box(figure, Bbox([[column[x.start].x0, e.y0], [column[x.start].x1, e.y1]]))
        for e, x in zip(extents, cells, strict=True)
    ]
    for legend in figure.legends:
        whole, texts = legend.get_window_extent(renderer), legend.get_texts()
        sample = (
            (legend.handlelength + legend.handletextpad) * float(texts[0].get_fontsize()) * figure.dpi / 72
        )
        places = [text.get_window_extent(renderer) for text in texts]
        for start in sorted({round(x.x0) for x in places}):
            end = max(x.x1 for x in places if round(x.x0) == start)
            found.append(_box(figure, Bbox([[start - sample, whole.y0], [end, whole.y1]])))
    return found


def narrowed(figure: Figure) -> bool:
    """Make a figure of one column of panels narrow, its legend in fewer columns; whether it is such a one."""
    cells = [panel.get_subplotspec() for panel in figure.axes if panel.axison]
    if not cells or any(cell is None or cell.get_geometry()[1] > 1 for cell in cells):
        return False
    width, height = figure.get_size_inches()
    with mpl.rc_context(rc=STYLE):
        for legend in list(figure.legends):
            renderer = figure._get_renderer()  # type: ignore[attr-defined]
            room = legend.get_window_extent(renderer).width / figure.dpi
            handles: list[Any] = legend.legend_handles
            labels = [text.get_text() for text in legend.get_texts()]
            columns = max(1, int(legend._ncols * 0.95 * NARROW / room))  # type: ignore[attr-defined]
            if room < 0.95 * NARROW:
                continue
            legend.remove()
            place: Any = {"loc": "outside lower center", "ncols": columns}
            figure.legend(handles, labels, handlelength=legend.handlelength, **place)
            height += 0.2 * (-(-len(labels) // columns) - 1)
        figure.set_size_inches(min(width, NARROW), height)
    return True


def _box(figure: Figure, x: Bbox) -> Box:
    """In points, with some air."""
    point, height = 72 / figure.dpi, float(figure.get_size_inches()[1]) * 72
    left, top = x.x0 * point - _AIR, height - x.y1 * point - _AIR
    return left, top, x.width * point + 2 * _AIR, x.height * point + 2 * _AIR
