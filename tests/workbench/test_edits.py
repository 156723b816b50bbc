"""The robot changed by hand: what the changes make of it, what they cost, what the Python lines say."""

import contextlib
import io
import threading
from dataclasses import replace

import numpy as np
import pytest

import armdyn
from armdyn import Robot
from armdyn.expression import ArmdynError
from armdyn.kernels.llvm import machine
from armdyn.workbench.moment import EditedRobot, Moment
from armdyn.workbench.tabs import parameters as editor_module
from armdyn.workbench.tabs.parameters import QUANTITIES, Editor, Edits, TipPayload, symbol_of, value_of
from arms import assert_same, generators, law, quietly, robots, state
from closed_chains import five_bar
from elastic_arms import two_links
from golden_messages import golden_error
from waiting import wait_until

EMPTY = Edits()


def number(robot, name):
    return robot.parameters[robot.parameter_names.index(name)]


def some_edits(robot, rng):
    """A change of each kind that the robot can have, and a payload."""
    edits = EMPTY
    for key in QUANTITIES:
        for link in range(len(robot.model.links)):
            if value_of(robot, link, key) is not None and rng.random() < 0.6:
                new = tuple(rng.normal(size=3)) if key == "com" else float(rng.uniform(0.6, 2))
                edits = edits.with_entry(robot, link, key, new)
    return replace(edits, payload=TipPayload(0.7, (0.1, 0.2, 0.3), (0.1, 0.1, 0.1), (0, 0.01, 0)))


def said_by(lines, source):
    """The robot that Python lines make."""
    names = {"Robot": Robot, "robot": source}
    exec("\n".join(lines), names)
    return names["robot"]


@law(robots((1, 3)), generators(), examples=1, thorough=40)
def test_the_lines_make_the_same_robot(robot, rng):
    edits = some_edits(robot, rng)
    made = quietly(lambda: edits.made(robot))
    assert quietly(lambda: said_by(edits.lines(robot), robot)) == made
    for (link, key), value in edits.entries:
        bare = quietly(lambda: edits.bare(robot))
        assert_same(value_of(bare, link, key), value, 1e-12)


OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("palletizer", "elastic_link", "five_bar")]


@pytest.mark.parametrize("name", ["planar", *OTHERS])
def test_bundled_robots_too(name):
    robot = Robot.load(name)
    edits = some_edits(robot, np.random.default_rng(3))
    assert quietly(lambda: said_by(edits.lines(robot), robot)) == quietly(lambda: edits.made(robot))


def test_where_it_comes_from_is_kept():
    robot = Robot.load("puma560")
    edited = quietly(lambda: EMPTY.with_entry(robot, 1, "mass", 12.0).made(robot))
    assert edited.model.source == robot.model.source
    assert edited.name == robot.name


def test_a_body_about_the_origin_keeps_its_centre_of_mass():
    """Where a table has first moments, another mass would move the centre."""
    robot = Robot.load("planar3").with_payload(0.123456789, com=[0.1, 0.017, 0.03])
    assert "first_moment" in robot.to_dict()["link"][-1]
    before = value_of(robot, 2, "com")
    edited = EMPTY.with_entry(robot, 2, "mass", 4.0).made(robot)
    assert_same(value_of(edited, 2, "com"), before, 1e-12)
    assert value_of(edited, 2, "mass") == 4.0


def test_a_number_that_is_a_symbol_changes_the_symbol():
    robot = Robot.load("planar")
    assert symbol_of(robot, 0, "mass") == "ml1"
    edits = EMPTY.with_entry(robot, 0, "mass", 60.0)
    assert (edits.symbols, edits.entries) == ((("ml1", 60.0),), ())
    assert edits.made(robot) == robot.with_symbols(ml1=60.0)


def test_the_order_of_changes_does_not_matter():
    robot = Robot.load("planar")
    one = (
        EMPTY.with_symbol("a1", 1.2)
        .with_entry(robot, 0, "viscous", 3.0)
        .with_entry(robot, 1, "com", (1, 0, 0))
    )
    other = EMPTY.with_entry(robot, 1, "com", (1, 0, 0)).with_entry(robot, 0, "viscous", 3.0)
    assert one.made(robot) == other.with_symbol("a1", 1.2).made(robot)


def test_asymmetry_of_friction_stays():
    table = Robot.load("planar").to_dict()
    table["link"][0]["friction"] = {"coulomb": [3, -2]}
    robot = Robot.from_dict(table)
    edited = EMPTY.with_entry(robot, 0, "coulomb", 5.0).made(robot)
    assert (number(edited, "Fs1"), number(edited, "Fa1")) == (5.0, 0.5)


def test_a_gear_keeps_the_rotor():
    robot = Robot.load("puma560")
    edited = quietly(lambda: EMPTY.with_entry(robot, 0, "gear", -30.0).made(robot))
    assert edited.model.links[0].motor.axial == robot.model.links[0].motor.axial
    assert edited.transmission[0, 0] == -30


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda e, r: e.with_entry(r, 0, "mass", -1.0), "Masses: 'link 1': found -1; zero or positive"),
        (lambda e, r: e.with_entry(r, 1, "viscous", -2.0), "Viscous friction: 'link 2': found -2"),
        (lambda e, r: e.with_symbol("ml1", -3.0), "mass: found -3; a mass is zero or positive"),
        (lambda e, r: e.with_entry(r, 0, "gear", 0.0), "gear"),
        (lambda e, _: Edits(payload=TipPayload(-2.0)), "payload: mass: found -2; a mass is zero or positive"),
        (lambda e, _: Edits(payload=TipPayload(1.0, moments=(-1, 1, 1))), "none may be negative"),
    ],
)
def test_impossible_values_are_named(change, words):
    robot = Robot.load("planar")
    with pytest.raises(ArmdynError) as caught:
        change(EMPTY, robot).made(robot)
    assert words in str(caught.value)


# ---- what a change costs -----------------------------------------------------------------------------------


def test_masses_payload_and_friction_compile_nothing(monkeypatch):
    robot = quietly(lambda: Robot.load("puma560"))
    rng = np.random.default_rng(2)
    q, qd, qdd = state(robot, rng)
    first = EditedRobot.of(robot)
    moment = Moment(first, q, qd, qdd)
    _ = moment.tau, moment.parts, moment.energies

    def refuse(*_):
        raise AssertionError("something was compiled")

    monkeypatch.setattr(machine, "compile_ir", refuse)
    edits = EMPTY.with_entry(robot, 1, "mass", 9.0).with_entry(robot, 2, "coulomb", 7.0)
    edits = Edits((), edits.with_entry(robot, 0, "rotor", 3e-4).entries, TipPayload(2.0, (0, 0, 0.1)))
    edited = quietly(lambda: edits.made(robot))
    subject = first.changed(edited)
    assert subject.runs is robot
    moment = Moment(subject, q, qd, qdd)
    tau, total = moment.tau, moment.parts.total
    monkeypatch.undo()
    assert_same(tau, edited.inverse_dynamics(q, qd, qdd), 1e-12)
    assert_same(total, tau, 1e-12)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("planar", lambda e, r: e.with_entry(r, 0, "gear", 50.0)),
        ("planar", lambda e, r: e.with_symbol("a1", 1.3)),
        ("planar", lambda e, r: e.with_symbol("g", 1.62)),
    ],
)
def test_gears_geometry_and_gravity_need_another_program(name, change):
    robot = Robot.load(name)
    edited = change(EMPTY, robot).made(robot)
    subject = EditedRobot.of(robot).changed(edited)
    assert subject.runs is edited
    q, qd, qdd = state(robot, np.random.default_rng(0))
    assert_same(Moment(subject, q, qd, qdd).tau, edited.inverse_dynamics(q, qd, qdd), 1e-12)


def test_a_friction_parameter_that_goes_is_zero():
    """Without its asymmetry the vector is shorter than that of the robot that runs."""
    table = Robot.load("planar").to_dict()
    table["link"][0]["friction"] = {"coulomb": [3, -2]}
    robot = Robot.from_dict(table)
    table["link"][0]["friction"] = {"coulomb": 4}
    edited = Robot.from_dict(table)
    subject = EditedRobot.of(robot).changed(edited)
    assert subject.runs is robot
    states = ([0.1, 0.2], [1.0, -1.0], [0.0, 0.0])
    assert_same(Moment(subject, *map(np.array, states)).tau, edited.inverse_dynamics(*states), 1e-12)


# ---- in the workbench --------------------------------------------------------------------------------------


@pytest.fixture
def opened():
    """`opened(robot)`: a workbench without a page, and an editor of its robot."""
    benches = []

    def open_(robot):
        benches.append(quietly(lambda: armdyn.view(robot, port=0, browser=False)))
        bench = benches[-1]._bench
        notes = []
        bench.tell = lambda title, text, colour="blue": notes.append(f"{title}: {text}")
        return bench, Editor(bench), notes

    yield open_
    for bench in benches:
        bench.close()


def torques_of(text):
    """What the Python lines of a page compute."""
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        quietly(lambda: exec(text, names))
    return names["tau"], names["robot"]


@pytest.mark.slow
def test_the_python_lines_give_the_torques_shown(opened):
    bench, editor, notes = opened("planar")
    robot = bench.given
    bench.change(q=[0.4, -0.7], qd=[1.0, 2.0], qdd=[3.0, -1.0], wrench=np.array([1.0, 2, 3, 4, 5, 6]))
    editor.change(lambda e: e.with_entry(robot, 0, "mass", 61.25))
    editor.change(lambda e: e.with_entry(robot, 1, "viscous", 4.5))
    editor.change(lambda e: e.with_entry(robot, 1, "com", (-0.4, 0.1, 0.0)))
    editor.change(lambda e: replace(e, payload=TipPayload(3.3, (0.1, 0.0, 0.2))))
    tau, made = torques_of(bench.python())
    assert_same(tau, bench.moment.tau, 1e-12)
    assert made == bench.robot
    editor.change(lambda e: e.with_entry(robot, 0, "gear", 50.0))
    wait_until(lambda: "Compiled anew in" in editor.said)
    tau, made = torques_of(bench.python())
    assert_same(tau, bench.moment.tau, 1e-12)
    assert made == bench.robot
    assert made.transmission[0, 0] == 50
    assert not notes
    editor.reset()
    assert bench.robot is robot
    assert_same(torques_of(bench.python())[0], bench.moment.tau, 1e-12)


def test_an_impossible_value_is_refused_and_changes_nothing(opened):
    bench, editor, notes = opened("pendulum")
    robot = bench.given
    with golden_error(ArmdynError):
        editor.change(lambda e: e.with_symbol(symbol_of(robot, 0, "mass"), -5.0))
    assert (bench.robot, editor.edits) == (robot, EMPTY)
    assert not notes


@pytest.mark.slow
def test_only_the_last_gear_is_compiled_and_nothing_typed_meanwhile_is_lost(opened):
    bench, editor, _ = opened("pendulum")
    robot = bench.given
    for typed in (5.0, 50.0, 55.0):
        editor.change(lambda e, typed=typed: e.with_entry(robot, 0, "gear", typed))
    editor.change(lambda e: replace(e, payload=TipPayload(2.0)))
    wait_until(lambda: "Compiled anew in" in editor.said)
    assert bench.robot.transmission[0, 0] == 55
    assert bench.robot.name.endswith("with payload 2 kg")


@pytest.mark.slow
@pytest.mark.parametrize("make", [two_links, five_bar])
def test_elastic_and_closed_chains_are_edited_too(opened, make):
    robot = make()
    bench, editor, notes = opened(robot)
    editor.change(lambda e: e.with_entry(robot, 0, "mass", 3.5))
    editor.change(lambda e: replace(e, payload=TipPayload(1.5)))
    q, zeros = bench.moment.q, np.zeros(robot.n)
    assert_same(bench.moment.tau, bench.robot.inverse_dynamics(q, zeros, zeros), 1e-11)
    assert bench.moment.subject.runs is robot
    assert not notes


def test_a_reset_while_a_robot_is_compiled_stays(opened, monkeypatch):
    bench, editor, notes = opened("pendulum")
    going, begun = threading.Event(), threading.Event()
    compiled = editor_module._compiled

    def slowly(moment):
        begun.set()
        going.wait(60)
        return compiled(moment)

    monkeypatch.setattr(editor_module, "_compiled", slowly)
    editor.change(lambda e: e.with_entry(bench.given, 0, "gear", 60.0))
    assert begun.wait(60)
    editor.reset()
    going.set()
    wait_until(lambda: not bench.busy)
    assert bench.robot is bench.given
    assert editor.edits == EMPTY
    assert not notes


def test_a_change_waits_for_another_job_and_is_not_lost(opened):
    bench, editor, notes = opened("pendulum")
    going = threading.Event()
    assert bench.job("something long", lambda: going.wait(60), lambda _: None)
    editor.change(lambda e: e.with_entry(bench.given, 0, "gear", 60.0))
    wait_until(lambda: "Waits" in editor.said)
    assert bench.robot is bench.given
    going.set()
    wait_until(lambda: "Compiled anew in" in editor.said)
    assert bench.robot.transmission[0, 0] == 60
    assert not notes
