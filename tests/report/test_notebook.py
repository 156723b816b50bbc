"""Values in a notebook: each shows itself, needs nothing else, breaks no cell, loads nothing unasked."""

import doctest
import inspect
import pickle
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import armdyn
from armdyn import (
    Robot,
    Trajectory,
    dynamic_manipulability,
    force_ellipsoid,
    motor_loads,
    scale_to_limits,
    simulate,
    time_optimal,
    velocity_ellipsoid,
)
from armdyn.display import Shown, shown_or_none
from armdyn.report.notebook import CARDS, ROWS, card
from one_joint import one_joint
from page_checks import check_card

MOTION = Trajectory.trapezoidal([0, 0], [1, -0.5], duration=0.5, acceleration_time=0.15)


@pytest.fixture(scope="module")
def planar():
    return Robot.load("planar")


def free_arm(n=1):
    """An arm whose mass has no value, and whose name is markup."""
    rod = {"joint": "revolute", "a": 1, "alpha": 0, "d": 0, "mass": "m", "inertia": {"zz": 1}}
    top = {"name": "<b>free</b>", "convention": "dh", "gravity": [0, 0, 0], "symbols": {"m": "free"}}
    return Robot.from_dict({**top, "link": [{**rod, "name": f"rod {i}"} for i in range(n)]})


def test_a_robot_shows_its_joints_with_units_and_the_arm(planar):
    found = check_card(Robot.load("stanford")._repr_html_(), pictures=1)
    for wanted in ("Stanford arm", "RRPRRR", "prismatic", "rad", "1.27 m", "mass [kg]"):
        assert wanted in found.words
    assert "torque [N m] link 1 revolute rad" in check_card(planar._repr_html_(), pictures=1).words


def test_a_robot_without_numbers_shows_its_joints_and_escapes_its_name():
    found = check_card(free_arm()._repr_html_(), pictures=0)
    assert "<b>free</b>" in found.words
    assert "Without a value: m" in found.words
    assert not found.all("b")


def test_long_tables_are_cut_and_say_so():
    found = check_card(free_arm(ROWS + 3)._repr_html_(), pictures=0)
    assert "and 3 more" in found.words
    assert len([x for x in found.all("th") if x["scope"] == "row"]) == ROWS


def test_a_trajectory_shows_its_curves():
    found = check_card(MOTION._repr_html_(), pictures=1)
    assert "trapezoidal, 2 joints, 0.5 s" in found.words
    check_card(Trajectory.quintic([0.0], [0.0], 1e-3)._repr_html_(), pictures=1)
    check_card(Trajectory.quintic(np.zeros(20), np.ones(20), 1.0)._repr_html_(), pictures=1)


def test_a_run_shows_its_curves_its_end_and_what_it_passed(planar):
    run = simulate(planar, [0.3, 0.2], [0, 0], 0.2)
    found = check_card(run._repr_html_(), pictures=1)
    assert "state completed" in found.words
    assert "0.2 s in 201 instants" in found.words
    many = simulate(planar, np.zeros((4, 2)), np.zeros((4, 2)), 0.1)
    assert "arms (4,); the first is shown" in check_card(many._repr_html_(), pictures=1).words


def test_scaled_and_fastest_motions_show_what_limits_them(planar):
    found = check_card(scale_to_limits(planar, MOTION)._repr_html_(), pictures=1)
    assert "limited by torque of joint 1 at 0 s" in found.words
    assert "factor c 1.477" in found.words
    easy = scale_to_limits(planar, MOTION, torque=[1e6, np.inf])
    assert "nothing: the motion was within its limits" in check_card(easy._repr_html_(), pictures=1).words
    fastest = time_optimal(one_joint(), Trajectory.quintic([0], [1], 3.0))
    assert "duration 1.6" in check_card(fastest._repr_html_(), pictures=1).words  # 2 √(2·1/3) s


def test_ellipsoids_show_their_axes_and_outlines(planar):
    found = check_card(velocity_ellipsoid(planar, [0.1, 0.9])._repr_html_(), pictures=1)
    assert "semi-axis 2" in found.words
    check_card(dynamic_manipulability(planar, [0.1, 0.9])._repr_html_(), pictures=1)
    space = velocity_ellipsoid(Robot.load("elbow"), [0.1, 0.9, 0.5])
    assert "semi-axis 3" in check_card(space._repr_html_(), pictures=1).words


def test_an_ellipsoid_without_bounds_and_many_ellipsoids_are_not_drawn(planar):
    stretched = force_ellipsoid(planar, [0.1, 0.0])
    assert not np.isfinite(stretched.lengths).all()
    assert "–" in check_card(stretched._repr_html_(), pictures=0).words
    many = velocity_ellipsoid(planar, np.ones((5, 2)))
    assert "ellipsoids (5,), x, y" in check_card(many._repr_html_(), pictures=0).words
    assert repr(many).endswith("(5,) of them>")


def test_base_parameters_show_their_combinations(planar):
    found = check_card(planar.base_parameters()._repr_html_(), pictures=0)
    assert "7 of 22 parameters, found in exact arithmetic" in found.words
    assert "value combination pi1" in found.words
    assert "value combination" not in check_card(free_arm().base_parameters()._repr_html_(), pictures=0).words


def test_symbols_stand_with_their_values(planar):
    words = check_card(planar._repr_html_(), pictures=1).words
    assert words.count("= 50") >= 2
    assert "mass [kg]" in words
    free = check_card(free_arm()._repr_html_(), pictures=0).words
    assert "= 50" not in free


def test_a_proof_shows_its_identities(planar):
    proof = planar.equations().prove()
    found = check_card(proof._repr_html_(), pictures=0)
    assert "Proved for two-link planar arm" in found.words
    assert len(found.all("li")) == len(proof.statements)
    assert repr(proof) == f"<Proof for 'two-link planar arm': {len(proof.statements)} identities>"


def test_equations_entries_and_matrices_are_typeset(planar):
    equations = planar.equations()
    for value in (equations, equations.B, equations.g, equations.g[1], equations.motor_torques()[0]):
        latex = value._repr_latex_()
        assert latex.startswith("$\\displaystyle ")
        assert latex.endswith("$")
        assert latex.count("{") == latex.count("}")
        page = value._repr_html_()  # without a network
        ET.fromstring(page)
        assert page.count("<math") == 1
    assert equations.g[1].mathml()[len("<math>") : -len("</math>")] in equations.g._repr_html_()
    assert equations.g[1].latex() in equations._repr_latex_()
    assert equations.g[1].latex() in equations.g.latex()
    assert equations.B.latex().count("&") == equations.n
    assert repr(equations) == "<Equations of 'two-link planar arm', 2 joints>"


def test_equations_too_long_to_read_show_their_form_and_size():
    equations = Robot.load("puma560").equations()
    assert r"\ddot q" in equations._repr_latex_()
    assert "6 joints, up to" in equations._repr_latex_()
    assert "6 joints, up to" in equations._repr_html_()
    for value in (equations.B, equations.tau[0]):
        assert value._repr_latex_() is None
        assert value._repr_html_() is None


def test_every_kind_with_a_card_asks_for_it():
    kinds = {kind.__name__: kind for kind in _subclasses(Shown)}
    for name in CARDS:
        assert kinds[name]._repr_html_ is Shown._repr_html_


def _subclasses(kind):
    for found in kind.__subclasses__():
        yield found
        yield from _subclasses(found)


def test_a_display_that_fails_leaves_the_text(monkeypatch, planar):
    def broken(robot):
        raise ZeroDivisionError

    assert shown_or_none(lambda: 1 / 0) is None
    monkeypatch.setitem(CARDS, "Robot", broken)
    assert planar._repr_html_() is None
    with pytest.raises(ZeroDivisionError):
        card(planar)
    monkeypatch.setitem(sys.modules, "armdyn.report.notebook", None)  # importing it fails
    assert planar._repr_html_() is None


def test_the_same_value_gives_the_same_card(planar):
    assert planar._repr_html_() == Robot.load("planar")._repr_html_()


@pytest.mark.slow
def test_nothing_is_drawn_before_a_notebook_asks():
    script = """
import sys
import xml.etree.ElementTree as ET
from armdyn import Robot, Trajectory
robot, motion = Robot.load("planar"), Trajectory.quintic([0, 0], [1, 1], 1.0)
repr(robot), repr(motion), dir(robot)
assert not {"matplotlib", "armdyn.report"} & set(sys.modules)
assert robot._repr_html_().startswith("<div")
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_names_that_are_completed_are_public(planar):
    for value in (planar, MOTION, velocity_ellipsoid(planar, [0.1, 0.9])):
        private = [name for name in dir(value) if name.startswith("_") and not name.endswith("__")]
        assert private == []
        assert {"__class__", "__repr__"} <= set(dir(value))
    assert {"inverse_dynamics", "load", "with_payload", "equations"} <= set(dir(planar))
    public = {name for name in dir(armdyn) if not name.startswith("__")}
    assert public == {*armdyn.__all__, *armdyn._FOLDERS}
    assert pickle.loads(pickle.dumps(planar)) == planar


def test_methods_have_a_docstring_and_a_signature(planar):
    for name in dir(Robot):
        member = getattr(Robot, name)
        if not name.startswith("_"):
            assert inspect.getdoc(member), name
            if callable(member):
                assert inspect.signature(member), name
    assert list(inspect.signature(planar.inverse_dynamics).parameters)[:4] == ["q", "qd", "qdd", "wrench"]


def test_the_examples_of_help_are_right():
    q = np.zeros(6)
    names = {"Robot": Robot, "Trajectory": Trajectory, "q": q, "qd": q, "qdd": q}
    tried = 0
    for thing in (armdyn, Robot, Robot.inverse_dynamics):
        test = doctest.DocTestParser().get_doctest(inspect.getdoc(thing), dict(names), str(thing), None, 0)
        assert test.examples
        tried += doctest.DocTestRunner().run(test).failed
    assert tried == 0


def test_help_leads_to_pages_that_exist(request):
    docs = request.config.rootpath / "docs"
    for thing, pages in (
        (armdyn, ("first-session.md", "notation.md")),
        (Robot, ("functions.md", "robots.md", "changing.md")),
        (Robot.inverse_dynamics, ("torques.md",)),
        (Robot.forward_dynamics, ("simulation.md",)),
    ):
        for page in pages:
            assert page in inspect.getdoc(thing)
            assert (docs / page).is_file()


def test_motor_loads_show_torque_and_speed(planar):
    found = check_card(motor_loads(planar, MOTION)._repr_html_(), pictures=1)
    assert "torque" in found.words
    assert "two-link planar arm, 0.5 s" in found.words
