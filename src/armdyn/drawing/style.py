"""How every figure looks: colours, line styles that survive black-and-white copies, fonts; and as SVG."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from io import BytesIO
from typing import Any, ParamSpec, TypeAlias

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from armdyn.progress import stage

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

# Torques by cause, in the order of `Contributions.parts`: one palette for figures, live reports and the
# workbench. Found by a search: as far apart as possible also for readers who see no red or no green, and none
# fainter than 3 : 1 on white.
CAUSE_COLOURS = {
    "inertia": "#3061b9",
    "centrifugal": "#2b96d6",
    "Coriolis": "#2f8768",
    "gravity": "#bc6b01",
    "springs": "#899a60",
    "viscous friction": "#b86ca9",
    "dry friction": "#6d311a",
    "rotor coupling": "#5d3880",
    "tip wrench": "#57605f",
}

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


# ---- as SVG, also with colours for dark pages ------------------------------------------------------------


_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}
_COLOUR = re.compile(r"(?<=[:\s\"])#[0-9a-f]{6}(?=[;\"\s])")
_DARK_PAPER, _DARK_INK = "#17191c", "#e4e5e7"  # of the page: what becomes of white and of black

# Björn Ottosson's OKLab (https://bottosson.github.io/posts/oklab/): lightness, and two axes of colour.
_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
_TO_RGB, _FROM_LAB = np.linalg.inv(_TO_LMS), np.linalg.inv(_TO_LAB)


@stage("drawing")
def svg(figure: Figure, themed: bool = False) -> str:
    """The figure as an SVG element: the same figure gives the same bytes, nothing refers outside.

    A `themed` one has no background, and other colours where its reader prefers dark pages.
    """
    stream = BytesIO()
    with mpl.rc_context(rc=STYLE):
        figure.savefig(
            stream, format="svg", metadata=_METADATA, facecolor="none" if themed else figure.get_facecolor()
        )
    text = stream.getvalue().decode()
    text = text[text.index("<svg") :]  # without the XML declaration and the address of a DTD
    return _themed(text) if themed else text


_GAP = 6.0  # points between parts that stand one below the other


def folding(text: str, boxes: Sequence[tuple[float, float, float, float]]) -> tuple[str, float, float]:
    """An SVG that shows its parts one below the other where its place is higher than wide; size of these.

    Parts are boxes (x, y, width, height) in it; they stand side by side as far as the widest one leaves room.
    Nothing is in it twice: the parts are views of the whole.
    """
    width, placed = max(box[2] for box in boxes), []
    x = y = row = 0.0
    for box in boxes:
        if x and x + box[2] > width:
            x, y, row = 0.0, y + row + _GAP, 0.0
        view = " ".join(f"{v:.2f}" for v in box)
        place = f'x="{x:.2f}" y="{y:.2f}" width="{box[2]:.2f}" height="{box[3]:.2f}"'
        placed.append(f'<svg {place} viewBox="{view}"><use xlink:href="#figure_1"/></svg>')
        x, row = x + box[2] + _GAP, max(row, box[3])
    height = y + row
    start, end = text.index(">") + 1, text.rindex("</svg>")
    found = re.search(r'viewBox="0 0 (\S+) (\S+)"', text[:start])
    assert found
    ratio = round(1000 * np.sqrt(width / height * float(found[1]) / float(found[2])))
    style = f"<style>.n{{display:none}}@media (max-aspect-ratio:{ratio}/1000)"
    style += "{.w{display:none}.n{display:inline}}</style>"
    head = re.sub(r' (width|height)="[^"]*"| viewBox="[^"]*"', "", text[:start])
    inside = f'<svg class="w" {found[0]}>{text[start:end]}</svg>'
    narrow = f'<svg class="n" viewBox="0 0 {width:.2f} {height:.2f}">{"".join(placed)}</svg>'
    return f"{head}{style}{inside}{narrow}</svg>", width, height


def _themed(text: str) -> str:
    """Colours become names, with one value for a light page and one for a dark page."""
    names = {shade: f"--c{shade[1:]}" for shade in sorted(set(_COLOUR.findall(text)))}
    light = "".join(f"{name}:{shade};" for shade, name in names.items())
    night = "".join(f"{name}:{dark(shade)};" for shade, name in names.items())
    style = f"<style>svg{{{light}}}@media screen and (prefers-color-scheme:dark){{svg{{{night}}}}}</style>"
    named = _COLOUR.sub(lambda found: f"var({names[found[0]]})", text)
    end = named.index(">") + 1
    return named[:end] + "\n " + style + named[end:]


def readable(shade: str) -> str:
    """The colour for words; grey where it is too pale for them, with less than the 4.5 : 1 of WCAG 2."""
    return shade if 1.05 / (_luminance(_rgb(shade)) + 0.05) >= 4.5 else GREY


def cause_variables(night: bool = False) -> str:
    """The colours of causes as variables of a style sheet, --part-0 and so on; those of a dark page."""
    shades = (dark(shade) if night else shade for shade in CAUSE_COLOURS.values())
    return "".join(f"--part-{k}:{shade};" for k, shade in enumerate(shades))


@lru_cache(maxsize=256)
def dark(shade: str) -> str:
    """The same hue for a dark page, in the same contrast to it as on white; none is lighter than its ink."""
    if shade == "#ffffff":
        return _DARK_PAPER
    paper, ink = _luminance(_rgb(_DARK_PAPER)), _luminance(_rgb(_DARK_INK))
    contrast = 1.05 / (_luminance(_rgb(shade)) + 0.05)  # of WCAG 2, against white
    wanted = min(contrast * (paper + 0.05) - 0.05, ink)
    _, *hue = _TO_LAB @ np.cbrt(_TO_LMS @ _rgb(shade))
    low, high = 0.0, 1.0
    for _ in range(30):
        lightness = (low + high) / 2
        found = _shown(lightness, np.array(hue))
        low, high = (lightness, high) if _luminance(found) < wanted else (low, lightness)
    return _hex(found)


def _rgb(shade: str) -> np.ndarray:
    """(3,): red, green and blue as amounts of light."""
    value = np.array(to_rgb(shade))
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def _luminance(rgb: np.ndarray) -> float:
    return float(np.array([0.2126, 0.7152, 0.0722]) @ rgb)


def _shown(lightness: float, hue: np.ndarray) -> np.ndarray:
    """A colour of OKLab as light, made less colourful until a screen can show it."""
    for share in np.linspace(1, 0, 41):
        rgb = (_TO_RGB @ (_FROM_LAB @ np.array([lightness, *(share * hue)])) ** 3).clip(-1, 2)
        if rgb.min() > -1e-4 and rgb.max() < 1 + 1e-4:
            break
    return np.asarray(rgb.clip(0, 1))


def _hex(linear: np.ndarray) -> str:
    value = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return to_hex(tuple(value))
