"""Figures: units on every axis, curves that are the data, lines that differ without colour."""

import re
import xml.etree.ElementTree as ET
from math import gcd

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from armdyn import (
    ArmdynError,
    Robot,
    contributions,
    motor_loads,
    rotor_error,
    scale_to_limits,
    simulate,
    time_optimal,
)
from armdyn.drawing.curves import joint_title, spread, titled
from armdyn.drawing.sheet import NARROW, narrowed, panels_for_narrow
from armdyn.drawing.style import CAUSE_COLOURS, COLOURS, DASHES, folding, svg
from armdyn.motion.trajectory import Trajectory
from armdyn.report import (
    ReportError,
    default_motion,
    plot_arm,
    plot_contributions,
    plot_dynamic_ellipsoid,
    plot_ellipsoids,
    plot_energy,
    plot_motor_loads,
    plot_path_speed,
    plot_rotor_error,
    plot_scaling,
    plot_strobe,
    plot_tip,
    plot_trajectory,
)
from golden_messages import golden_error

UNIT = re.compile(r"\[(rad|m|N m|N|s|J|%|1|1/s|rad/s|m/s|rad/s²|m/s²)\]")


@pytest.fixture(scope="module")
def planar():
    robot = Robot.load("planar")
    return robot, default_motion(robot).trajectory


@pytest.fixture(scope="module")
def mixed():
    """A revolute and a prismatic joint, no motors, no limits."""
    robot = Robot.load("rp")
    return robot, default_motion(robot).trajectory


def panels(figure):
    return [panel for panel in figure.axes if panel.axison]


def curves(panel):
    """Curves over time, without the line at zero."""
    return [line for line in panel.lines if len(line.get_xdata()) > 2]


def all_figures(robot, motion):
    q = motion(motion.duration / 2)[0]
    run = simulate(robot, q, np.zeros(robot.n), 0.1, progress=False)
    found = {
        "arm": plot_arm(robot, q),
        "strobe": plot_strobe(robot, motion),
        "trajectory": plot_trajectory(robot, motion),
        "tip": plot_tip(robot, motion),
        "contributions": plot_contributions(robot, motion),
        "dynamic ellipsoid": plot_dynamic_ellipsoid(robot, q),
        "ellipsoids": plot_ellipsoids(robot, q),
        "rotor error": plot_rotor_error(robot, motion),
        "energy": plot_energy(run),
        "scaling": plot_scaling(robot, motion),
        "motor loads": plot_motor_loads(motor_loads(robot, motion)),
    }
    if robot.model.moving[0].limits.torque is not None:
        fast = time_optimal(robot, motion, grid=50)
        found["path speed"] = plot_path_speed(robot, fast)
        found["scaling"] = plot_scaling(robot, motion, scale_to_limits(robot, motion), fast)
    return found


@pytest.mark.slow
def test_every_axis_has_a_unit_and_every_figure_is_an_svg(planar, mixed):
    for robot, motion in (planar, mixed):
        for name, figure in all_figures(robot, motion).items():
            assert isinstance(figure, Figure)
            root = ET.fromstring(svg(figure))
            assert root.tag.endswith("svg")
            bottom = panels(figure)
            assert bottom, name
            for panel in bottom:
                assert UNIT.search(panel.get_ylabel()) or "joint at" in panel.get_ylabel(), name
                labelled = panel.get_xlabel() or any(other.get_xlabel() for other in bottom)
                assert labelled, name
                if panel.get_xlabel():
                    assert UNIT.search(panel.get_xlabel()), name


def test_spatial_arms_have_a_scale_instead_of_axes():
    figure = plot_arm(Robot.load("elbow"), [0.3, 0.4, -0.9])
    assert panels(figure) == []
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert any(re.fullmatch(r"[\d.]+ m", text) for text in texts)
    assert {"1", "2", "3", "M1", "M2", "M3"} <= set(texts)


def test_curves_of_a_trajectory_are_its_samples_and_torques(planar):
    robot, motion = planar
    position, velocity, acceleration, torque = plot_trajectory(robot, motion).axes
    at = curves(torque)[0].get_xdata()
    assert (np.diff(at) == 0).sum() == 1  # both sides of the jump
    for panel, values in zip((position, velocity), motion(at), strict=False):
        for j, line in enumerate(curves(panel)):
            assert np.allclose(line.get_ydata(), values[:, j])
    assert np.ptp(curves(acceleration)[0].get_ydata()) == pytest.approx(2 * 4 * np.pi / 2 / 0.5**2)
    peak = max(np.abs(line.get_ydata()).max() for line in curves(torque))
    samples = motion.samples()
    assert peak == pytest.approx(np.abs(robot.inverse_dynamics(samples.q, samples.qd, samples.qdd)).max())


def test_robots_with_both_kinds_of_joints_have_a_column_for_each(mixed):
    robot, motion = mixed
    labels = [panel.get_ylabel() for panel in plot_trajectory(robot, motion).axes]
    assert labels == [
        "position [rad]",
        "position [m]",
        "velocity [rad/s]",
        "velocity [m/s]",
        "acceleration [rad/s²]",
        "acceleration [m/s²]",
        "torque [N m]",
        "force [N]",
    ]


def test_drawn_contributions_add_up_to_the_drawn_torque(planar):
    robot, motion = planar
    for panel in plot_contributions(robot, motion).axes:
        by_name = {line.get_label(): np.asarray(line.get_ydata()) for line in curves(panel)}
        total = by_name.pop("total")
        assert np.allclose(sum(by_name.values()), total, atol=1e-6 * np.abs(total).max())
    samples = motion.samples()
    parts = contributions(robot, samples.q, samples.qd, samples.qdd)
    assert {"inertia, joint 1", "gravity"} <= {name for name, _ in parts.at(0)}


def test_contributions_of_many_joints_are_added_by_kind():
    robot = Robot.load("scara")
    motion = default_motion(robot).trajectory
    figure = plot_contributions(robot, motion)
    assert panels(figure)[0].get_title(loc="left").startswith("joint 1")
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[0] == "total"
    assert "inertia" in labels
    for panel in panels(figure):
        names = [line.get_label() for line in curves(panel)]
        assert set(names) <= set(labels)


def test_lines_of_a_panel_differ_in_dash_and_colour(planar):
    robot, motion = planar
    for figure in (plot_trajectory(robot, motion), plot_contributions(robot, motion)):
        for panel in figure.axes:
            shown = [line for line in curves(panel) if line.get_label() != "total"]
            assert len({str(line._dash_pattern) for line in shown}) == len(shown)
            causes = [line.get_label().partition(", joint")[0] for line in shown]
            if causes[0] in CAUSE_COLOURS:  # a colour for each cause
                assert [line.get_color() for line in shown] == [CAUSE_COLOURS[name] for name in causes]
            else:
                assert len({line.get_color() for line in shown}) == len(shown)
    assert len(set(COLOURS)) == len(COLOURS)
    assert len({str(dash) for dash in DASHES}) == len(DASHES)
    assert gcd(len(COLOURS), len(DASHES)) == 1  # all pairs come up before one comes again


def test_scaled_torques_are_drawn_within_the_limit_lines(planar):
    robot, motion = planar
    slow = scale_to_limits(robot, motion)
    first = plot_scaling(robot, motion, slow).axes[0]
    given, scaled = curves(first)
    assert np.abs(given.get_ydata()).max() > 6000
    assert np.abs(scaled.get_ydata()).max() == pytest.approx(3000)
    levels = {float(line.get_ydata()[0]) for line in first.lines if len(line.get_xdata()) == 2}
    assert {3000.0, -3000.0} <= levels


def test_rotor_error_is_drawn_in_torque_and_percent(planar):
    robot, motion = planar
    absolute, percent = plot_rotor_error(robot, motion).axes
    samples = motion.samples()
    found = rotor_error(robot, samples.q, samples.qd, samples.qdd)
    for j in range(2):
        assert np.abs(curves(absolute)[j].get_ydata()).max() == pytest.approx(found.largest[j], rel=1e-3)
        assert np.abs(curves(percent)[j].get_ydata()).max() == pytest.approx(found.percent[j], rel=1e-3)


def test_redundant_arms_show_both_ellipsoids_and_say_which_is_which():
    robot = Robot.load("planar3")
    legend = plot_dynamic_ellipsoid(robot, [0.3, 0.8, 0.7], 100.0).legends[0]
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == [
        "least joint accelerations (7.148)",
        "the same without gravity",
        "all that the torques reach",
    ]
    assert legend.get_title().get_text() == "torques of norm 100 N m or N"


def test_no_force_ellipsoid_where_the_structure_bears_forces():
    stretched = plot_ellipsoids(Robot.load("planar"), [0.3, 0.0])
    assert [text.get_text() for text in stretched.legends[0].get_texts()] == ["velocity"]


@pytest.mark.slow
def test_the_same_figure_gives_the_same_bytes(planar):
    robot, motion = planar
    assert svg(plot_strobe(robot, motion)) == svg(plot_strobe(robot, motion))


def test_figures_neither_follow_nor_change_the_users_settings(planar):
    robot, motion = planar
    expected = svg(plot_tip(robot, motion))
    with mpl.rc_context({"font.size": 20, "lines.linewidth": 9, "axes.grid": False}):
        assert svg(plot_tip(robot, motion)) == expected
        assert (mpl.rcParams["font.size"], mpl.rcParams["axes.grid"]) == (20, False)


def test_names_the_font_lacks_are_left_out_of_titles():
    link = {"joint": "revolute", "a": 1, "alpha": 0, "d": 0, "theta": 0, "mass": 1}
    link["inertia"] = {"xx": 1, "yy": 1, "zz": 1}
    names = ["臂", "$x^2$", "n" * 80]
    robot = Robot.from_dict(
        {
            "name": "named",
            "convention": "dh",
            "gravity": [0, -9.81, 0],
            "link": [{"name": name, **link} for name in names],
        }
    )
    assert joint_title(robot, 0) == "joint 1"
    assert joint_title(robot, 1) == "joint 2, $x^2$"
    assert len(joint_title(robot, 2)) < 50
    motion = Trajectory.quintic([0, 0, 0], [1, 1, 1], 1.0)
    ET.fromstring(svg(plot_contributions(robot, motion)))


def test_labels_are_moved_apart_and_keep_their_order():
    rng = np.random.default_rng(3)
    for _ in range(50):
        wanted = rng.normal(size=6) * 5
        placed = spread(wanted, 2.0)
        order = np.argsort(wanted)
        assert (np.diff(placed[order]) >= 2.0 - 1e-9).all()
        assert abs(placed.sum() - wanted.sum()) < 1e-9
    assert np.allclose(spread(np.array([0.0, 10.0, 20.0]), 2.0), [0, 10, 20])
    inside = spread(np.zeros(3), 2.0, low=0.0, high=10.0)
    assert inside.min() == 0
    assert np.allclose(np.diff(np.sort(inside)), 2.0)


def test_each_timing_keeps_its_line_whichever_are_drawn(planar):
    """Captions call the motion as given dotted, the scaled one solid, the one in least time dashed."""
    robot, motion = planar
    slow, fast = scale_to_limits(robot, motion), time_optimal(robot, motion)

    def looks(figure):
        return {h.get_label().split(",")[0]: h.get_linestyle() for h in figure.legends[0].legend_handles}

    both = looks(plot_scaling(robot, motion, slow, fast))
    assert (both["scaled linearly"], both["least time"]) == ("-", "--")
    assert looks(plot_scaling(robot, motion, None, fast)).items() <= both.items()
    assert looks(plot_scaling(robot, motion, slow)).items() <= both.items()


@pytest.mark.parametrize("q", [[0.1], [0.1, 0.2, 0.3], [0.1, np.nan], [[0.1, 0.2]], "text", None, [0.1, 1j]])
@pytest.mark.parametrize("plot", [plot_arm, plot_ellipsoids, plot_dynamic_ellipsoid])
def test_what_is_no_posture_is_refused(planar, plot, q):
    with golden_error(ArmdynError):
        plot(planar[0], q)


@pytest.mark.parametrize(
    "plot", [plot_strobe, plot_trajectory, plot_tip, plot_contributions, plot_rotor_error, plot_scaling]
)
def test_what_is_no_motion_of_the_robot_is_refused(planar, plot):
    robot = planar[0]
    with golden_error(ArmdynError):
        plot(robot, Trajectory.cubic(np.zeros(3), np.ones(3), 1.0))
    with golden_error(ArmdynError):
        plot(robot, "motion.csv")


def test_other_wrong_arguments_are_refused(planar):
    robot, motion = planar
    for postures in (0, -1, 2.5):
        with golden_error(ReportError):
            plot_strobe(robot, motion, postures)
    for plot in (plot_trajectory, plot_contributions):
        with golden_error(ArmdynError):
            plot(robot, motion, [1, 2])
    with golden_error(ArmdynError):
        plot_path_speed(Robot.load("elbow"), time_optimal(robot, motion))
    many = simulate(robot, np.zeros((3, 2)), np.zeros(2), 0.01, method="rk4", progress=False)
    with golden_error(ReportError):
        plot_energy(many)


def test_labels_that_are_moved_away_have_a_piece_of_their_line(planar):
    """Many curves that end at one height: without it, only colours would tell them apart."""
    figure = plot_contributions(*planar)
    for panel in panels(figure):
        drawn = {line.get_label(): line._unscaled_dash_pattern for line in curves(panel)}
        pieces = [
            line for line in panel.artists + list(panel.lines) if tuple(line.get_xdata()) == (7.0, 34.0)
        ]
        heights = {line.get_ydata()[0]: line._unscaled_dash_pattern for line in pieces}
        labels = {text.get_text(): text.xy[1] for text in panel.texts if text.get_text()}
        assert labels.keys() == drawn.keys()
        assert {name: heights[y] for name, y in labels.items()} == drawn


def test_small_parts_are_one_curve_and_all_curves_add_up_to_the_torque(planar):
    robot, motion = planar
    for smallest in (0.0, 0.05, 0.3):
        figure = plot_contributions(robot, motion, smallest=smallest)
        for panel in figure.axes:
            drawn = {line.get_label(): line for line in curves(panel)}
            total = drawn.pop("total").get_ydata()
            np.testing.assert_allclose(sum(x.get_ydata() for x in drawn.values()), total, atol=1e-9 * 4000)
            gathered = drawn.pop("smaller parts", None)
            sizes = [np.abs(x.get_ydata()).max() for x in drawn.values()]
            if gathered is not None:
                assert min(sizes) >= smallest * max(np.abs(total).max(), *sizes) > 0
    every = plot_contributions(robot, motion, smallest=0).axes[0]
    assert len(curves(every)) > len(curves(plot_contributions(robot, motion, smallest=0.3).axes[0]))


def test_a_title_of_many_letters_stands_in_two_lines_and_keeps_both_ends():
    assert titled("joint", 2, "elbow") == "joint 3, elbow"
    assert titled("motor", 9, "right_upper_shoulder", 24) == "motor 10\nright_upper_shoulder"
    long = titled("motor", 0, "left_" + "x" * 60 + "_elbow", 24).split("\n")[1]
    assert len(long) == 24
    assert long.startswith("left_")
    assert long.endswith("_elbow")


def test_panels_of_a_figure_stand_below_each_other_in_a_narrow_place(planar):
    """Every panel and the legend lie in one part each; nothing is in the picture twice."""
    robot, motion = planar
    figure = plot_trajectory(robot, motion)
    text = svg(figure, themed=True)
    boxes = panels_for_narrow(figure)
    folded, width, height = folding(text, boxes)
    ET.fromstring(folded)
    assert len(boxes) == len(figure.axes) == 4
    assert width < 0.6 * 72 * figure.get_size_inches()[0]
    assert height > 72 * figure.get_size_inches()[1]
    assert len(folded) < len(text) + 1600
    assert folded.count('<use xlink:href="#figure_1"/>') == len(boxes)
    renderer, top = figure._get_renderer(), 72 * figure.get_size_inches()[1]
    for panel in figure.axes:
        extent = panel.get_tightbbox(renderer)
        x0, x1, y0, y1 = (72 / figure.dpi * v for v in (extent.x0, extent.x1, extent.y0, extent.y1))
        inside = [x <= x0 and x1 <= x + w and y <= top - y1 and top - y0 <= y + h for x, y, w, h in boxes]
        assert inside.count(True) == 1


def test_parts_of_a_legend_hold_their_own_text_only_in_a_narrow_place(planar):
    robot, motion = planar
    figure = plot_motor_loads(motor_loads(robot, motion))
    svg(figure)
    boxes = panels_for_narrow(figure)[len(figure.axes) :]
    renderer = figure._get_renderer()
    texts = [text.get_window_extent(renderer) for text in figure.legends[0].get_texts()]
    assert len(boxes) == len(texts) == 3
    for (x, _, width, _), (after, *_), text in zip(boxes, boxes[1:], texts, strict=False):
        point = 72 / figure.dpi
        assert x < point * text.x0 < point * text.x1 < x + width < after + 4  # the air of both


def test_a_figure_of_one_column_is_drawn_again_for_a_narrow_place(planar):
    robot, motion = planar
    figure = plot_scaling(robot, motion, scale_to_limits(robot, motion))
    svg(figure)
    assert panels_for_narrow(figure) == []
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert narrowed(figure)
    svg(figure)
    renderer, (legend,) = figure._get_renderer(), figure.legends
    assert [text.get_text() for text in legend.get_texts()] == labels
    assert figure.get_size_inches()[0] == NARROW
    for part in (legend.get_window_extent(renderer), *(p.get_tightbbox(renderer) for p in figure.axes)):
        assert part.x0 >= -1
        assert part.x1 <= NARROW * figure.dpi + 1
    assert not narrowed(plot_trajectory(robot, motion))
