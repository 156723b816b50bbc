"""Figures drawn into given axes, figures and subfigures; figures that show themselves."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from armdyn import Robot, Trajectory, scale_to_limits, simulate, time_optimal
from armdyn.report import (
    ReportError,
    plot_arm,
    plot_contributions,
    plot_dynamic_ellipsoid,
    plot_ellipsoids,
    plot_energy,
    plot_path_speed,
    plot_rotor_error,
    plot_run,
    plot_scaling,
    plot_strobe,
    plot_tip,
    plot_trajectory,
)
from golden_messages import golden_error

ROBOT = Robot.load("planar")
MOTION = Trajectory.quintic([0.1, 0.4], [0.9, -0.6], 1.0)
Q = [0.3, 0.8]


@pytest.fixture(scope="module")
def timed():
    return scale_to_limits(ROBOT, MOTION), time_optimal(ROBOT, MOTION, grid=50)


@pytest.fixture(scope="module")
def run():
    return simulate(ROBOT, Q, [0, 0], 0.1, progress=False)


def plots(timed, run):
    """Each plot as a function of its axes, with the number of its panels."""
    return {
        "arm": (1, lambda **o: plot_arm(ROBOT, Q, **o)),
        "strobe": (1, lambda **o: plot_strobe(ROBOT, MOTION, **o)),
        "trajectory": (4, lambda **o: plot_trajectory(ROBOT, MOTION, **o)),
        "tip": (3, lambda **o: plot_tip(ROBOT, MOTION, **o)),
        "contributions": (2, lambda **o: plot_contributions(ROBOT, MOTION, **o)),
        "scaling": (2, lambda **o: plot_scaling(ROBOT, MOTION, *timed, **o)),
        "path speed": (2, lambda **o: plot_path_speed(ROBOT, timed[1], **o)),
        "energy": (1, lambda **o: plot_energy(run, **o)),
        "ellipsoids": (1, lambda **o: plot_ellipsoids(ROBOT, Q, **o)),
        "dynamic ellipsoid": (1, lambda **o: plot_dynamic_ellipsoid(ROBOT, Q, **o)),
        "rotor error": (2, lambda **o: plot_rotor_error(ROBOT, MOTION, **o)),
        "run": (4, lambda **o: plot_run(run, **o)),
        "run with a target": (5, lambda **o: plot_run(run, Q, **o)),
    }


def curves(panels):
    """What lies in panels: their labels, and the data of their curves, without lines of two points."""
    return [
        (
            panel.get_ylabel(),
            [tuple(np.asarray(x.get_ydata(), float)) for x in panel.lines if len(x.get_xdata()) > 2],
        )
        for panel in panels
    ]


def test_given_axes_show_the_curves_of_a_figure_of_its_own(timed, run):
    for name, (count, plot) in plots(timed, run).items():
        figure = Figure(figsize=(10, 12), layout="constrained")
        panels = figure.subplots(count + 1, 1)
        assert plot(ax=panels[:count] if count > 1 else panels[0]) is figure, name
        assert not panels[count].lines, name
        assert not figure.legends, name
        if count > 1:  # a drawing of an arm takes the proportions of its axes
            assert curves(panels[:count]) == curves(plot().axes), name
        assert all(panel.lines for panel in panels[:count]), name
        assert len(figure.axes) == count + 1, name


def test_subfigures_get_the_panels_and_the_legend(timed, run):
    every = plots(timed, run)
    for name in ("arm", "tip", "scaling", "dynamic ellipsoid", "run with a target"):
        count, plot = every[name]
        figure = Figure(figsize=(14, 8), layout="constrained")
        left, right = figure.subfigures(1, 2)
        assert plot(ax=left) is figure, name
        assert (len(left.axes), len(right.axes)) == (count, 0), name
        assert len(left.legends) == len(plot().legends), name
        assert figure.legends == [], name
    figure.canvas.draw()


def test_wrong_axes_are_refused():
    figure = Figure()
    panels = figure.subplots(2, 2)
    with pytest.raises(ReportError, match=r"^ax: this plot has 3 panels, found 4 axes$"):
        plot_tip(ROBOT, MOTION, ax=panels)
    with pytest.raises(ReportError, match=r"^ax: this plot has 1 panel, found 2 axes$"):
        plot_arm(ROBOT, Q, ax=panels[0])
    with golden_error(ReportError):
        plot_arm(ROBOT, Q, ax=figure)
    for wrong in ("left", 3, [panels[0, 0], "x", panels[0, 1]], {"a": 1}, []):
        with golden_error(ReportError):
            plot_tip(ROBOT, MOTION, ax=wrong)
    gone = figure.add_subplot()
    gone.remove()
    with golden_error(ReportError):
        plot_arm(ROBOT, Q, ax=gone)


def test_drawings_in_given_axes_keep_their_proportions():
    figure = Figure(figsize=(9, 3))
    panel = figure.add_axes((0.1, 0.1, 0.8, 0.8))
    plot_arm(ROBOT, Q, ax=panel)
    box = panel.get_window_extent()
    width, height = np.ptp(panel.get_xlim()), np.ptp(panel.get_ylim())
    assert width / height == pytest.approx(box.width / box.height)


def test_notebooks_get_an_image_and_its_size():
    figure = plot_arm(ROBOT, Q)
    data, size = figure._repr_png_()
    assert data.startswith(b"\x89PNG")
    assert size["width"] == round(96 * figure.get_size_inches()[0])
    assert int.from_bytes(data[16:20], "big") in range(2 * size["width"] - 2, 2 * size["width"] + 3)
    assert data == figure._repr_png_()[0]


WINDOWS = """
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

shown = []

class Manager(FigureManagerBase):
    def show(self):
        shown.append(self.canvas.figure)

    @classmethod
    def pyplot_show(cls, *, block=None):
        shown.append(block)

class FigureCanvas(FigureCanvasAgg):
    manager_class = Manager

FigureManager = Manager
"""
SHOWN = """
import sys, types, warnings
warnings.simplefilter("error")
import matplotlib
from armdyn import Robot
from armdyn.report import plot_arm

robot = Robot.load("planar")
figures = [plot_arm(robot, [0.1, 0.2]) for _ in range(22)]  # more than pyplot keeps without a warning
assert "matplotlib.pyplot" not in sys.modules
matplotlib.use("module://windows")
figure = figures[0]
figure.show()
import windows
from matplotlib import pyplot
assert windows.shown == [figure, None], windows.shown
assert pyplot.get_fignums() == [1]
figure.show(block=False)  # the window that is open, again
assert windows.shown[2:] == [figure, False]
assert pyplot.get_fignums() == [1]
pyplot.close(figure)
assert pyplot.get_fignums() == []
figure.show()
assert pyplot.get_fignums() == [1]
pyplot.close("all")
figure.savefig(sys.argv[1])

matplotlib.use("agg")
try:
    figures[1].show()
except UserWarning as warning:
    assert "the backend 'agg' of matplotlib has no windows" in str(warning), warning
else:
    raise SystemExit("no warning")
figures[1].show(warn=False)

displayed = []  # a notebook
ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
ipython.get_ipython = lambda: types.SimpleNamespace(kernel=1)
display.display = displayed.append
sys.modules.update({"IPython": ipython, "IPython.display": display})
figures[1].show()
assert displayed == [figures[1]]
assert pyplot.get_fignums() == []
"""


@pytest.mark.slow
def test_figures_show_themselves_and_pyplot_forgets_windows_that_are_closed(tmp_path):
    (tmp_path / "windows.py").write_text(WINDOWS)
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{SHOWN}"
    path = tmp_path / "arm.svg"
    run = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert path.read_text().startswith("<?xml")
