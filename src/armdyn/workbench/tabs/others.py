"""Other robots: opened in place of the one that is shown, or drawn beside it, with its torques and times."""

from __future__ import annotations

import threading
from itertools import zip_longest
from typing import Any

import numpy as np

from armdyn.description.source import bundled_robots
from armdyn.drawing.solids import solids
from armdyn.expression import ArmdynError
from armdyn.motion import Trajectory
from armdyn.names import one_line
from armdyn.report.page import Markup, join, tag
from armdyn.report.subject import shown_posture
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits, torque_unit
from armdyn.workbench.bench import QUIET, Bench
from armdyn.workbench.fields import Reading, file_name, four_digits, note, read_upload, suffix
from armdyn.workbench.moment import EditedRobot, Moment, ViewError
from armdyn.workbench.scene.arm import add_mesh, place, reached, rgb
from armdyn.workbench.tabs.motion import RESTS, least_text, share_text

_CHOOSE, _NONE, _AS_LOADED = "choose …", "none", "this one as it was loaded"
_KINDS = (".toml", ".json", ".urdf", ".xml", ".mjcf")
_APART = 1.25  # of the arms' size: how far the other one stands
_PALE = 0.45  # how much of its colour it keeps


def add(bench: Bench) -> None:
    with bench.gui.add_folder("Another robot", expand_by_default=False):
        _opening(bench)
    with bench.gui.add_folder("Beside it", expand_by_default=False):
        _comparing(bench)


# ---- in place of the one that is shown ---------------------------------------------------------------------


def _opening(bench: Bench) -> None:
    gui: Any = bench.gui
    bundled = gui.add_dropdown("Bundled", (_CHOOSE, *bundled_robots()))
    hint = "A robot file, URDF or MJCF; meshes beside it are not sent along: armdyn view FILE shows them"
    upload = gui.add_upload_button("Robot file", color=QUIET, icon="upload", hint=hint)

    def choose(event: Any) -> None:
        if event.client is None or bundled.value == _CHOOSE:
            return
        name, bundled.value = bundled.value, _CHOOSE
        bench.guard(lambda: bench.open_robot(Robot.load(name), name))

    bundled.on_update(choose)
    upload.on_upload(lambda _event: bench.guard(lambda: bench.open_robot(robot_of(upload.value), None)))


def robot_of(file: Any) -> Robot:
    """The robot of an uploaded file."""
    if suffix(file) not in _KINDS:
        raise ViewError(f"{one_line(file_name(file))}: expected a robot in {', '.join(_KINDS)}")
    return read_upload(file, Robot.load)


# ---- beside the one that is shown --------------------------------------------------------------------------


class RobotBeside:
    """Another arm, pale, at the side of the one that is shown; it moves with it if it has as many joints."""

    def __init__(self, bench: Bench, robot: Robot) -> None:
        self.subject, self._bench = EditedRobot.of(robot), bench
        self.same = robot.n == bench.robot.n
        self.drawn, self._frames = solids(robot), dict[int, Any]()
        self._posture = shown_posture(robot)
        apart = _APART * max(self.drawn.size, solids(bench.robot).size)
        shift = np.array([0.0, apart, 0.0])
        self._root = bench.scene.add_frame("/beside", show_axes=False, position=shift)
        bench.show_too(reached(robot, joint_limits(robot), self._posture, self.drawn) + shift)
        for k, solid in enumerate(self.drawn.solids):
            if solid.body not in self._frames:
                self._frames[solid.body] = bench.scene.add_frame(f"/beside/{solid.body + 1}", show_axes=False)
            colour = tuple(int(_PALE * x + (1 - _PALE) * 225) for x in rgb(solid.colour))
            add_mesh(bench, f"/beside/{solid.body + 1}/{k}", solid, color=colour, flat_shading=False)

    def follow(self, moment: Moment) -> Moment:
        """The other arm in the same state, or in its own posture at rest."""
        zeros, same = np.zeros(self.subject.robot.n), self.same
        q, qd, qdd = (moment.q, moment.qd, moment.qdd) if same else (self._posture, zeros, zeros)
        other = Moment(self.subject, q, qd, qdd, moment.wrench)
        with self._bench.server.atomic():
            for body, frame in self._frames.items():
                place(frame, other.poses[body])
        return other

    def remove(self) -> None:
        self._root.remove()
        self._bench.show_too(np.zeros((0, 3)))


def _comparing(bench: Bench) -> None:
    gui: Any = bench.gui
    choice = gui.add_dropdown("Robot", (_NONE, _AS_LOADED, *bundled_robots()))
    reading = Reading(bench)
    beside: RobotBeside | None = None
    asked: tuple[Any, ...] = ()  # of what the last answers are, or will be
    answers, one_at_a_time = Markup(""), threading.Lock()

    def answer() -> None:
        """Beside the page: least times take longer than a slider may wait."""
        nonlocal answers
        with one_at_a_time:
            now = asked
            if now and now[2] is beside:
                found = _answers(*now)
                if now is asked:
                    answers = found
                    bench.again()

    answer_later = bench.later(answer)

    def choose(event: Any) -> None:
        nonlocal beside
        if event.client is None:
            return
        chosen = str(choice.value)
        robot = None if chosen == _NONE else bench.given if chosen == _AS_LOADED else Robot.load(chosen)
        if beside is not None:
            beside.remove()
        beside = None if robot is None else RobotBeside(bench, robot)
        bench.change()

    def follow(moment: Moment) -> None:
        nonlocal answers, asked
        if beside is None:
            return reading.show()
        other = beside.follow(moment)
        if not beside.same:
            return reading.show(
                note(f"It has {other.robot.n} joints, not {moment.robot.n}: it stands by itself.")
            )
        now = moment.subject.bare, bench.motion, beside
        if any(x is not y for x, y in zip_longest(now, asked)):
            asked, answers = now, note("least times …")
            answer_later(RESTS)
        reading.show(join([_table(moment, other), answers]))
        return None

    choice.on_update(lambda event: bench.guard(choose, event))
    bench.on_picture(follow)


def _table(moment: Moment, other: Moment) -> Markup:
    """Torques of both in the same state."""
    head = tag("tr", *(tag("th", x) for x in ("joint", "this one", "beside it", "")))
    rows, least = [], 1e-12 * max(float(np.abs(x.tau).max()) for x in (moment, other))
    for j, link in enumerate(moment.robot.model.coordinates):
        values = (four_digits(float(x.tau[j]), least) for x in (moment, other))
        unit = tag("td", torque_unit(moment.robot, j))
        rows.append(
            tag(
                "tr",
                tag("td", f"{j + 1} {one_line(link.joint_label)}"),
                *(tag("td", x) for x in values),
                unit,
            )
        )
    return tag("table", head, *rows, class_="ad-table", data_armdyn="beside")


def _answers(subject: EditedRobot, motion: Trajectory, beside: RobotBeside) -> Markup:
    """How near both come to their limits along the motion, and their least times."""
    found = []
    for name, one in (("this one", subject), ("beside it", beside.subject)):
        try:
            said = [share_text(one, motion, None).text, least_text(one, motion, None)]
        except ArmdynError as error:  # as where its loops cannot be closed
            said = [f"not known for this motion: {one_line(str(error))}"]
        found.append(note(f"{name}: {'; '.join(filter(None, said))}"))
    return join(found)
