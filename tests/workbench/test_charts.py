"""Curves: thinning keeps what matters, names are escaped, the cursor is sent alone."""

import numpy as np
import pytest

from armdyn.drawing.curves import thinned
from armdyn.workbench.charts import Chart, Line, Panel, cursor, curves


@pytest.mark.parametrize("count", [2, 600, 601, 5000, 100_003])
def test_thinning_keeps_ends_and_extremes(count):
    generator = np.random.default_rng(count)
    t, y = np.linspace(0, 7, count), generator.normal(size=count)
    y[generator.integers(count)] = 50.0
    y[generator.integers(count)] -= 60.0
    kept = thinned(y, 600)
    few_t, few = t[kept], y[kept]
    assert len(few) <= 600
    assert (few.min(), few.max()) == (y.min(), y.max())
    assert few_t[0] == t[0]
    assert few_t[-1] == t[-1]
    assert (np.diff(few_t) > 0).all()
    assert set(zip(few_t, few, strict=True)) <= set(zip(t, y, strict=True))


def test_thinning_keeps_gaps():
    t = np.linspace(0, 1, 9000)
    y = np.sin(9 * t)
    y[4000:5000] = np.nan
    kept = thinned(y, 600)
    few_t, few = t[kept], y[kept]
    assert len(few) <= 600
    assert np.isnan(few[(few_t > t[4100]) & (few_t < t[4900])]).all()
    assert np.nanmax(few) == np.nanmax(y)


def chart(title="1 link"):
    t = np.linspace(0, 2, 50)
    return Chart((Panel(title, "N m", (Line(t, t**2, "motion"),), (-3.0, 3.0)),), 2.0)


def test_names_are_escaped_in_curves_and_cursor():
    name = "<script>alert(1)</script>"
    assert "<script" not in curves(chart(name)) + cursor(chart(name), 0.5, name)
    assert "&lt;script" in curves(chart(name))


def test_the_cursor_has_the_time_with_all_digits_and_no_curve():
    time = 2 / 3
    markup = cursor(chart(), time, "x")
    assert f'data-time="{time!r}"' in markup
    line = chart().panels[0].lines[0]
    assert f"{np.interp(time, line.t, line.y):.4g} N m" in markup
    assert "<path" not in markup
    assert len(markup) < 600
    assert "arm is elsewhere" in cursor(chart(), None, "x")


def test_constant_and_empty_curves_can_be_drawn():
    t = np.array([0.0, 1.0])
    for y in (np.zeros(2), np.full(2, np.nan)):
        assert "ad-plot" in curves(Chart((Panel("x", "N", (Line(t, y, "a"),), (np.inf,)),), 1.0))
