"""Labels of drawings: on no other label, on no link, inside of the paper; drawings fill their paper."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from armdyn import Robot, Trajectory
from armdyn.description import bundled_robots
from armdyn.drawing.canvas import Label, Places, text_size, through
from armdyn.report import plot_arm, plot_dynamic_ellipsoid, plot_ellipsoids, plot_strobe
from arms import in_suites

SOME = ("panda", "planar", "scara", "puma560")  # the rest: slow
LINK = 2.0  # points: lines of this width or more are links


def drawn(name):
    """The drawings of a robot, in a posture and along a motion that are none in particular."""
    robot = Robot.load(name)
    q = np.linspace(0.3, 0.9, robot.n)
    if (choice := robot.model.choice) is not None:
        q = np.array(choice.posture)[list(choice.free)]
    for joint, link in enumerate(robot.model.coordinates):
        if link.joint == "prismatic":
            q[joint] = 0.4
    yield plot_arm(robot, q)
    if name in SOME:
        yield plot_strobe(robot, Trajectory.quintic(q, q + 0.8, 1.0), 4)
        yield plot_dynamic_ellipsoid(robot, q)
    if name == "panda":
        yield plot_ellipsoids(robot, q)


def boxes(figure):
    """Corners (2, 2) of all labels, in pixels, by text and number."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    (panel,) = figure.axes
    panel.apply_aspect()
    texts = [text for text in panel.texts if text.get_text()]
    found = {}
    for k, text in enumerate(texts):  # not of the annotation: that has its line too
        text.update_positions(renderer)
        text.update_bbox_position_size(renderer)
        patch = text.get_bbox_patch()
        box = patch.get_window_extent(renderer) if patch else Text.get_window_extent(text, renderer)
        found[k, text.get_text()] = box.get_points()
    return found


def links(figure):
    """Segments (S, 2, 2) of all links, in pixels."""
    (panel,) = figure.axes
    thick = [line for line in panel.lines if line.get_linewidth() >= LINK and len(line.get_xdata()) > 1]
    found = [panel.transData.transform(line.get_xydata()) for line in thick]
    return np.array([[a, b] for points in found for a, b in pairwise(points)])


@pytest.mark.parametrize("name", in_suites(bundled_robots(), ("planar", "puma560", "four_bar")))
def test_labels_of_bundled_robots_touch_neither_each_other_nor_links_nor_the_edge(name):
    for figure in drawn(name):
        found = boxes(figure)
        assert found
        for (one, a), (other, b) in combinations(found.items(), 2):
            apart = (a[1] <= b[0] + 0.5).any() or (b[1] <= a[0] + 0.5).any()
            assert apart, f"{one} lies on {other}"
        corners = np.array(list(found.values()))
        segments = links(figure)
        on = through(segments, np.full(len(segments), 1.0), corners).sum(1)
        assert on.max() == 0, [key for key, length in zip(found, on, strict=True) if length]
        width, height = figure.get_size_inches() * figure.dpi
        assert (corners[:, 0] >= 0).all()
        assert (corners[:, 1] <= [width, height]).all()


@pytest.mark.parametrize("name", ["puma560", "planar", "pendulum", "cartesian"])
def test_the_arm_fills_its_drawing(name):
    """In one direction it reaches from edge to edge, but for room for labels; in the other where it can."""
    robot = Robot.load(name)
    figure = plot_arm(robot, np.full(robot.n, 0.4))
    boxes(figure)
    panel = figure.axes[0].get_window_extent()
    reach = np.ptp(links(figure).reshape(-1, 2), axis=0)
    share = reach / [panel.width, panel.height]
    assert share.max() > 0.6
    size = figure.get_size_inches()
    assert share.min() > 0.4 or size[0] < 3.3 or size[1] < 2.2, "it is as narrow as a figure may be"
    assert size[0] <= 7.2
    assert size[1] <= 5.2


def test_places_are_found_beside_a_line_and_beside_other_labels():
    places = Places(np.zeros(2), np.array([200.0, 200.0]))
    places.line(np.array([[100.0, 0.0], [100.0, 200.0]]), 5.0)
    labels = [places.add(Label(np.array([100.0, 100.0]), np.array([20.0, 10.0]), (12, 20))) for _ in range(3)]
    places.settle()
    assert all(label.settled for label in labels)
    for one, other in combinations(labels, 2):
        assert (np.abs(one.middle - other.middle) >= [20, 10]).any()
    for label in labels:
        assert abs(label.middle[0] - 100) >= 12.5
        assert np.linalg.norm(label.offset) < 40


def test_a_label_without_room_says_so():
    places = Places(np.zeros(2), np.array([30.0, 30.0]))
    label = places.add(Label(np.array([15.0, 15.0]), np.array([50.0, 10.0]), (10,)))
    places.settle()
    assert not label.settled


def test_lengths_inside_of_a_box():
    box = np.array([[[0.0, 0.0], [10.0, 10.0]]])
    segments = np.array([[[-5, 5], [15, 5]], [[2, 2], [2, 4]], [[11, 0], [11, 9]], [[-5, -5], [20, 20.0]]])
    assert np.allclose(through(segments, np.zeros(4), box), [[10, 2, 0, 10 * np.sqrt(2)]])
    assert np.allclose(through(segments, np.full(4, 1.5), box)[0, 2], 9)


def test_text_is_as_wide_as_it_is_drawn():
    figure = plot_arm(Robot.load("planar"), [0.1, 0.2])
    renderer = FigureCanvasAgg(figure).get_renderer()
    for words in ("least joint accelerations", "M1", "0.2 m"):
        text = figure.text(0, 0, words, fontsize=8.5, family="DejaVu Sans")
        width = text.get_window_extent(renderer).width / figure.dpi * 72
        assert width <= text_size(words, 8.5)[0] * 1.03 <= 1.2 * width
