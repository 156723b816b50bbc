"""Robots of every kind are opened and moved, and no listener meets an error. Without a browser.

`Bench.guard` shows errors in the page and goes on: here they fail the test.
"""

import logging

import numpy as np
import pytest

from armdyn import Robot, bundled_robots
from arms import quietly
from elastic_arms import two_links
from waiting import wait_until

ODD = "<script>alert(1)</script>'\"\n\\ ${x} \u202e{é漢}"


def odd():
    """A robot whose every name may mean something to a page, a path or Python."""
    table = Robot.load("planar3").to_dict()
    table["name"] = ODD
    for link in table["link"]:
        link["name"] = f"{link['name']}/../{ODD}"
    return Robot.from_dict(table)


def chain(n, joint="revolute", mass=1.0):
    """n links of 0.2 m, one after the other, which swing in a vertical plane; without limits or motors."""
    body = {"mass": mass, "com": [0.1, 0, 0]} if mass else {}
    place = {"origin": {"xyz": [0.2, 0, 0], "rpy": [0, 0, 0]}, "axis": [0, 0, 1]}
    links = [{"name": f"link {k + 1}", "joint": joint, **place, **body} for k in range(n)]
    tool = {"xyz": [0.2, 0, 0]}
    table = {"name": f"chain of {n}", "convention": "frames", "gravity": [0, -9.81, 0], "tool": tool}
    return Robot.from_dict({**table, "link": links})


KINDS = {
    "odd names": odd,
    "1 joint": lambda: chain(1),
    "12 joints": lambda: chain(12),
    "1 slider": lambda: chain(1, joint="prismatic"),
    "no mass": lambda: chain(2, mass=0),
    "elastic": two_links,
    "another tip": lambda: Robot.load("puma560").with_tip("forearm"),
    "a payload": lambda: Robot.load("planar").with_payload(2.0),
    "rotors left out": lambda: Robot.load("planar").with_rotors("none"),
}
QUICK = ("1 slider",)


def cases():
    for name in (*KINDS, *bundled_robots()):
        yield name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)


class Restless:
    """Puts states and waits until every listener has seen them."""

    def __init__(self, bench):
        self.bench, self.seen = bench, []
        bench.on_moment(self.seen.append)

    def settle(self):
        wait_until(
            lambda: self.seen and self.seen[-1] is self.bench.moment, "the listeners to come to an end"
        )

    def everything_on(self):
        """All switches of the page, so that all is drawn and written."""
        from viser import GuiCheckboxHandle

        for handle in list(self.bench.gui._gui_input_handle_from_uuid.values()):
            if isinstance(handle, GuiCheckboxHandle):
                handle.value = True
        self.settle()

    def every_joint_to_its_ends(self):
        from armdyn.workbench.tabs.pose import span

        for joint in range(self.bench.robot.n):
            ends = [span(self.bench, name, joint) for name in ("q", "qd", "qdd")]
            for value in (ends[0].least, ends[0].most, self.bench.moment.q[joint]):
                self.bench.move("q", joint, value)
                self.settle()
            self.bench.move("qd", joint, ends[1].most)
            self.bench.move("qdd", joint, ends[2].least)
            self.settle()


@pytest.mark.parametrize("name", list(cases()))
def test_no_listener_meets_an_error(opened, caplog, name):
    robot = quietly(KINDS[name]) if name in KINDS else quietly(lambda: Robot.load(name))
    bench = opened(robot)
    notes = []
    bench.tell = lambda title, text, colour="blue": notes.append(f"{title}: {text}")
    user = Restless(bench)
    user.everything_on()
    user.every_joint_to_its_ends()
    bench.change(wrench=np.arange(6.0))
    user.settle()
    found = {"print": lambda *_: None}
    quietly(lambda: exec(bench.python(), found))
    np.testing.assert_allclose(found["tau"], bench.moment.tau, rtol=1e-9, atol=1e-9)
    assert not [note for note in notes if not note.startswith("Loops")], notes
    assert not [x.getMessage() for x in caplog.records if x.levelno >= logging.ERROR]


@pytest.mark.parametrize("name", ["planar", "pendulum", "scara"])
def test_the_arm_starts_within_its_sliders(opened, name):
    from armdyn.workbench.tabs.pose import span

    bench = opened(name)
    for joint, value in enumerate(bench.moment.q):
        ends = span(bench, "q", joint)
        assert ends.least <= value <= ends.most
