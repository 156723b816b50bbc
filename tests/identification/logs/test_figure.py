"""The figure of a log shows what is used and marks what is not."""

import numpy as np

from armdyn.report import ReportError, plot_log
from golden_messages import golden_error
from recordings import arm, changed, edited, recording


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_a_clean_log_has_no_marks():
    figure = plot_log(recording(), arm())
    assert legend(figure) == ["used"]
    assert len(figure.axes) == 6
    assert figure.axes[3].get_ylabel() == "force [N]"


def test_repairs_are_marked_where_they_are():
    log = edited(recording(), "tau", [300, 301], np.nan, 1)
    log = edited(log, "q", 700, np.nan, 2)
    log = edited(log, "tau", 1200, 1e4, 0)
    kept = np.r_[:1500, 1700:2000]
    log = changed(log, **{name: getattr(log, name)[kept] for name in log.channels})
    figure = plot_log(log, arm())
    assert legend(figure) == ["used", "recorded", "position interpolated", "torque not used", "gap"]
    crosses = {
        k: line.get_xdata()
        for k, axes in enumerate(figure.axes)
        for line in axes.lines
        if line.get_marker() == "x"
    }
    np.testing.assert_allclose(crosses[1], log.t[[700, 1200]])
    np.testing.assert_allclose(crosses[3], log.t[[300, 301, 700]])
    np.testing.assert_allclose(crosses[5], log.t[[700]])
    circles = {
        k: line.get_xdata()
        for k, axes in enumerate(figure.axes)
        for line in axes.lines
        if line.get_marker() == "o"
    }
    assert [len(circles[k]) for k in (0, 2, 4)] == [0, 0, 1]


def test_what_is_no_log_is_refused():
    with golden_error(ReportError):
        plot_log(3, arm())
