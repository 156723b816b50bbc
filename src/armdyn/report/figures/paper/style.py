"""How every figure looks: colours, line styles that survive a black-and-white copy, fonts, sizes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeAlias

import matplotlib as mpl
from matplotlib.figure import Figure

P = ParamSpec("P")
Dash: TypeAlias = Any  # what matplotlib takes for a line style

WIDTH = 7.2  # inches, of every figure: at 96 pixels an inch, the width of a column of text
INK = "#1a1a1a"
GREY = "#6b6b6b"
PALE = "#d8d8d8"

# Colours differ in lightness too. There is one more dash than colours: 72 curves before two look the same.
COLOURS = ("#1a1a1a", "#1668a8", "#c1440e", "#5d7f13", "#7d3f98", "#008577", "#8c6d1f", "#6b6b6b")
DASHES: tuple[Dash, ...] = (
    "-",
    (0, (6, 2)),
    (0, (1.2, 1.4)),
    (0, (7, 2, 1.2, 2)),
    (0, (3, 1.6)),
    (0, (7, 1.6, 1.2, 1.6, 1.2, 1.6)),
    (0, (10, 3)),
    (0, (2.5, 1.4, 1.2, 1.4)),
    (0, (12, 2, 3, 2)),
)

STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "mathtext.fontset": "dejavusans",
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "normal",
    "axes.labelsize": 9.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-4, 5),
    "text.color": INK,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.5,
    "lines.dash_capstyle": "butt",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handlelength": 3.2,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "figure.dpi": 96.0,
    "svg.fonttype": "path",
    "svg.hashsalt": "armdyn",
}


def styled(plot: Callable[P, Figure]) -> Callable[P, Figure]:
    """A plotting function whose figure looks the same whatever the user's matplotlib settings."""

    @wraps(plot)
    def with_style(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with mpl.rc_context():
            mpl.rcdefaults()
            mpl.rcParams.update(STYLE)
            return plot(*args, **kwargs)

    return with_style
