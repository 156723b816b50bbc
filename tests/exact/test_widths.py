"""Formulas that fit the page: rows measured by another typesetter, and whole again when put together."""

import re
from functools import cache

import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser

from armdyn import ArmdynError, Robot
from armdyn.exact.printing.mathml import MATHML
from armdyn.exact.printing.printer import Printer
from armdyn.exact.printing.styles import LATEX, TEXT, in_em, latex_width, rows
from commands import refused, run
from golden_messages import golden_error

BODY = {"mass": 5, "com": [0.1, 0.2, 0.3], "inertia": {"xx": 1, "yy": 2, "zz": 1.5, "xy": 0.1, "xz": 0.2}}
TURNED = {"joint": "revolute", "a": 0.5, "alpha": 0, "d": 0} | BODY
THREE = {
    "name": "3R",
    "convention": "dh",
    "gravity": [0, 0, -9.81],
    "link": [TURNED | {"alpha": "pi/2", "a": 0, "d": 0.4}, TURNED, TURNED],
}
ROBOTS = {
    "planar3": lambda: Robot.load("planar3"),
    "scara": lambda: Robot.load("scara"),
    "3R": lambda: Robot.from_dict(THREE).symbolic(),
    "puma560": lambda: Robot.load("puma560"),
}
ALL = ["planar3", "scara", "3R", pytest.param("puma560", marks=pytest.mark.slow)]


@cache
def equations(name):
    return ROBOTS[name]().equations()


_MATPLOTLIB = MathTextParser("path")


def set_by_matplotlib(formula):
    """The width in centimetres in Computer Modern of 10 pt."""
    plain = re.sub(r"\\[bB]igg?[lr]", "", formula).replace(r"\tfrac", r"\frac")
    font = FontProperties(size=10, math_fontfamily="cm")
    return _MATPLOTLIB.parse(f"${plain}$", 72, font)[0] / 72 * 2.54


def by_the_table(formula):
    return latex_width(formula) / in_em("10cm") * 10


def blocks(latex):
    """Of each align*, its rows as (left, right)."""
    for block in re.findall(r"\\begin\{align\*\}\n(.*?)\n\\end\{align\*\}", latex, re.DOTALL):
        yield [tuple(x.strip() for x in row.split("&")) for row in block.split(" \\\\\n")]


@pytest.mark.parametrize("width", [16, 8.8])
@pytest.mark.parametrize("name", ALL)
def test_no_row_is_wider_than_asked(name, width):
    """All rows by the table, and the widest of them by matplotlib, whose subscripts are narrower."""
    found = []
    for block in blocks(equations(name).latex(width=f"{width}cm")):
        left = max((x for x, _ in block), key=by_the_table)
        found += [(by_the_table(left) + by_the_table(right), left, right) for _, right in block]
    widest = sorted(found, reverse=True)[:4]
    assert 0.75 * width < widest[0][0] <= width
    for size, left, right in widest:
        typeset = set_by_matplotlib(f"{left} {right}")
        assert typeset <= width
        assert 0.97 < size / typeset < 1.3


def test_rows_in_a_fragment_are_whole_formulas():
    r"""TeX refuses \left without \right in a row; brackets that are broken have a size of their own."""
    latex = equations("3R").latex(width="8.8cm")
    assert r"\bigl(" in latex
    for block in blocks(latex):
        for _, right in block:
            assert right.count(r"\left") == right.count(r"\right")
            assert right.count("{") == right.count("}")
        sizes = " ".join(right for _, right in block)
        assert re.findall(r"\\(\w+)l\(", sizes).count("big") == re.findall(r"\\(\w+)r\)", sizes).count("big")


@pytest.mark.parametrize("style", [LATEX, MATHML, TEXT])
def test_broken_rows_put_together_are_the_sum(style):
    printer = Printer(equations("3R").basis, style)
    for entry in equations("3R").tau:
        terms = printer.parts(entry)
        broken = list(rows(terms, style, 25 if style is not TEXT else 60))
        assert len(broken) > 5
        whole, joined = style.sum(terms), broken[0].text
        for row in broken[1:]:
            joined += ("" if style is MATHML else " ") + row.text
        for text in (
            r"\left",
            r"\right",
            *(rf"\{size}{x}" for size in ("bigg", "Bigg", "big", "Big") for x in "lr"),
        ):
            whole, joined = whole.replace(text, ""), joined.replace(text, "")
        for text in ("<mrow>", "</mrow>", " "):
            whole, joined = whole.replace(text, ""), joined.replace(text, "")
        assert joined == whole


@pytest.mark.parametrize("width", ["16", "3cm", "-5cm", "1 furlong", 16, None])
def test_a_width_is_a_length(width):
    with golden_error(ArmdynError):
        equations("planar3").latex(width=width)


def test_the_command_line_takes_a_width(monkeypatch, capsys):
    planar = Robot.load("planar").equations()
    assert run("derive", "planar", "--latex") == planar.latex()
    assert run("derive", "planar", "--latex", "--width", "88mm") == planar.latex(width="8.8cm")
    base = ("base", "planar", "--equations", "--markdown")
    assert run(*base, "--width", "3.5in").count("\n") > run(*base).count("\n")
    said = refused(monkeypatch, capsys, "derive", "planar", "--width", "9cm")
    assert "--width is for --latex and --markdown" in said
