"""Figures for dark pages: the same picture in other colours, as easy to see as on white."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from armdyn import Robot
from armdyn.drawing.style import CAUSE_COLOURS, COLOURS, GREY, INK, cause_variables, dark, readable, svg
from armdyn.report import plot_arm
from armdyn.report.sections.live import PARTS

PAPER = "#17191c"


def luminance(shade):
    value = np.array([int(shade[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4) @ [
        0.2126,
        0.7152,
        0.0722,
    ]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("shade", [*COLOURS, GREY, INK])
def test_lines_and_words_are_as_easy_to_see_on_dark_paper_as_on_white(shade):
    """4.5 is what WCAG 2 asks of text."""
    on_white, on_dark = contrast(shade, "#ffffff"), contrast(dark(shade), PAPER)
    assert on_dark > 4.5
    assert on_dark == pytest.approx(on_white, rel=0.03) or on_dark > 12


def test_causes_have_colours_of_their_own_that_are_seen_on_white_and_on_dark():
    """3 : 1 is what WCAG 2 asks of graphics."""
    assert tuple(CAUSE_COLOURS) == PARTS
    for k, shade in enumerate(CAUSE_COLOURS.values()):
        assert contrast(shade, "#ffffff") >= 3
        assert contrast(dark(shade), PAPER) > 2.95
        assert f"--part-{k}:{shade};" in cause_variables()
        assert f"--part-{k}:{dark(shade)};" in cause_variables(night=True)
        assert contrast(readable(shade), "#ffffff") >= 4.5
    assert len({dark(shade) for shade in CAUSE_COLOURS.values()}) == len(PARTS)


def test_dark_colours_differ_from_each_other_and_white_becomes_paper():
    assert len({dark(shade) for shade in COLOURS}) == len(set(COLOURS))
    assert dark("#ffffff") == PAPER
    greys = [luminance(dark(f"#{v:02x}{v:02x}{v:02x}")) for v in range(0, 256, 15)]
    assert (np.diff(greys) <= 1e-9).all()  # what was lighter is darker


def test_a_themed_figure_is_the_same_picture_with_named_colours():
    figure = plot_arm(Robot.load("puma560"), [0.1, 0.8, -2.6, 0.2, 0.3, 0.4])
    plain, themed = svg(figure), svg(figure, themed=True)
    assert "<style>svg" not in plain
    assert svg(figure, themed=True) == themed
    ET.fromstring(themed)
    style = re.search(r"<style>(svg\{.*?)</style>", themed)[1]
    light, night = style.split("@media screen and (prefers-color-scheme:dark)")
    values = dict(re.findall(r"(--c\w+):(#\w{6});", light))
    other = dict(re.findall(r"(--c\w+):(#\w{6});", night))
    assert other == {name: dark(shade) for name, shade in values.items()}
    body = themed.replace(f"<style>{style}</style>", "")
    assert set(re.findall(r"var\((--c\w+)\)", body)) == set(values)
    assert not re.search(r"(fill|stroke): #", body)
    light_again = re.sub(r"var\((--c\w+)\)", lambda m: values[m[1]], body)
    assert re.findall(r' d="([^"]*)"', light_again)[1:] == re.findall(r' d="([^"]*)"', plain)[1:]
    assert "fill: #ffffff" in plain
