"""Figures and the report of a fit: whole, the same every time, and they show what the fit has."""

import numpy as np
import pytest

from armdyn import report as pictures
from armdyn.drawing.style import svg
from armdyn.identification import identify
from armdyn.report import ReportError, write_fit_report
from armdyn.report.fit.estimates import friction_curves
from armdyn.report.fit.signals import signals, write_signals
from armdyn.report.fit.structure import advice, motion_text
from armdyn.report.fit.subject import FitSubject
from armdyn.report.report import FIT_SECTIONS
from fit_logs import moved, small_arm
from golden_messages import golden_error
from page_checks import check_card, check_page


@pytest.fixture(scope="module")
def arm():
    return small_arm()


@pytest.fixture(scope="module")
def logs(arm):
    short = {"exact": False, "duration": 7.0, "rate": 60.0}
    return moved(arm, 4, name="first", **short), moved(arm, 5, name="second", **short)


@pytest.fixture(scope="module")
def fit(arm, logs):
    return identify(arm, logs[0], validate=logs[1])


def test_report_is_whole(fit, logs, tmp_path):
    path = write_fit_report(fit, tmp_path / "fit.html", logs[0], validate=logs[1], date="2026-11-16")
    page = check_page(path.read_text("utf-8"))
    assert page.sections == [section.key for section in FIT_SECTIONS]
    assert "This is not possible" not in page.words
    assert len(page.all("img")) == 8
    for expected in (
        f"Torques depend on {len(fit.base)} combinations",
        "of the torques in validation",
        "2, slide",
    ):
        assert expected in page.words
    for expected in ("16 November 2026 · armdyn", "residual, training", "99 % interval"):
        assert expected in page.words


def test_fit_shows_itself_in_notebooks(fit):
    found = check_card(fit._repr_html_(), pictures=0)
    for expected in ("Fit of small arm", "error in validation", "std. error", "and 3 more"):
        assert expected in found.words
    assert fit.table()[0].name in found.words


@pytest.mark.slow
def test_figures_are_the_same_every_time(fit):
    assert svg(pictures.plot_correlation(fit)) == svg(pictures.plot_correlation(fit))


@pytest.mark.slow
def test_report_without_logs_has_what_the_fit_knows(fit, tmp_path):
    page = check_page(write_fit_report(fit, tmp_path / "fit.html").read_text("utf-8"))
    assert "there are no residuals to draw" in page.words
    assert len(page.all("img")) == 4


def test_report_of_exact_states_says_that_nothing_was_filtered(arm):
    log = moved(arm, 3, duration=6.0, rate=50.0)
    fit = identify(arm, log, friction="plain", damping=0.0)
    parts = write_signals(FitSubject.of(fit, log))
    assert "nothing was filtered" in parts[0]
    assert len(parts) == 2
    with golden_error(ReportError):
        pictures.plot_cutoffs(fit)


def test_friction_curve_goes_through_the_measured_points(fit, arm, logs):
    """Points minus curve are the residuals, but for what the filter does where the direction changes."""
    data = fit.compare(logs[0], (logs[0].t > 1) & (logs[0].t < 6))
    for curve in friction_curves(fit, data):
        there = np.interp(curve.speed, curve.grid, curve.curve)
        fast = np.abs(curve.speed) > 0.2 * np.abs(curve.speed).max()
        left = curve.torque[fast] - there[fast]
        assert np.median(np.abs(left)) < 0.3 * np.median(np.abs(there[fast]))
        assert dict(curve.coefficients)[f"Fv{curve.joint + 1}"] == pytest.approx(
            fit.x[fit.full_names.index(f"Fv{curve.joint + 1}")]
        )


def test_signals_are_those_of_the_fit(fit, logs):
    found = signals(fit, logs[0], 1)
    data = fit.compare(logs[0])[0]
    names = [signal.name for signal in found.signals]
    assert names == ["position", "velocity", "acceleration", "force"]
    np.testing.assert_allclose(found.signals[1].filtered, data.motion.qd[:, 1], atol=1e-9)
    np.testing.assert_allclose(found.signals[0].raw, logs[0].q[:, 1], atol=1e-9)
    assert found.cutoff == fit.model.problem.cutoff


def test_advice_for_a_joint_that_rested_is_to_move_it(arm):
    """And a fit to data in which it moved as well has the standard errors promised, or better."""
    still = moved(arm, 4, still=(2,))
    fit = identify(arm, still, friction="plain", damping=0.0)
    found = {x.name: x for x in advice(fit)}
    assert not found["Fv3"].shown
    assert found["Fv3"].joint == 2
    assert found["Fv3"].helps
    assert motion_text(fit, 2).startswith("joint 3 moving up to ")
    both = identify(arm, [still, moved(arm, 5, name="more")], friction="plain", damping=0.0)
    row = next(row for row in both.table() if row.name == "Fv3")
    assert row.shown
    assert row.standard_error < 3 * found["Fv3"].then


@pytest.mark.parametrize(
    "name", ["plot_prediction", "plot_residuals", "plot_friction", "plot_signals", "plot_estimates"]
)
def test_figures_refuse_what_is_no_fit_or_log(name, fit):
    if name != "plot_estimates":
        with pytest.raises(Exception, match=r"expected a Log|Log or a list"):
            getattr(pictures, name)(fit, 3)
    else:
        with golden_error(ReportError):
            pictures.plot_estimates(3)


def test_estimates_figure_names_every_base_parameter(fit):
    figure = pictures.plot_estimates(fit)
    names = [label.get_text() for panel in figure.axes for label in panel.get_yticklabels()]
    assert [name.split(" ")[0] for name in names] == list(fit.names)
    assert len(pictures.plot_correlation(fit).axes[0].get_yticklabels()) == len(fit.base)
