"""Base parameters: known counts, numerical ranks, and the identities that make them what they are."""

import json
import os
import pickle
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from armdyn import BaseParameterWarning, Robot, backend
from armdyn.exact import SizeError
from armdyn.expression import ArmdynError, MissingValueError
from armdyn.model import Transform
from arms import ROTORS, WITHOUT_LOOPS, generators, in_suites, law, models, quietly, related, slowly, state
from arms_of_known_base import ROTORS as COLUMNS
from arms_of_known_base import TABLES, known_arm
from branched_arms import dual_arm
from friction_arms import rubbing_models
from golden_messages import golden_error, golden_warning

DATA = Path(os.environ.get("ARMDYN_DATA", Path(__file__).parents[3] / "shared" / "data"))
COUNTS = DATA / "reference" / "base_parameter_counts.json"


def numerical_rank(robot, columns, states=60):
    """Of the regressor at random states, columns scaled: nothing but the regressor is the package's."""
    rng = np.random.default_rng(5)
    q, qd, qdd = (rng.uniform(-x, x, (states, robot.n)) for x in (3, 3, 9))
    with backend("evaluator"):
        W = robot.regressor(q, qd, qdd).reshape(-1, len(robot.parameters))[:, columns]
    lengths = np.linalg.norm(W, axis=0)
    W = W[:, lengths > 1e-9 * lengths.max(initial=1)]
    if not W.size:
        return 0
    return int(np.linalg.matrix_rank(W / np.linalg.norm(W, axis=0), tol=1e-7 * np.sqrt(W.shape[1])))


def columns_of(base):
    return [p for p, name in enumerate(base.robot.parameter_names) if name not in base.left_out]


def assert_identities(base, rng):
    """matrix · right_inverse = 1, and Y π = Y_b π_b for any parameters that were not left out."""
    p = len(base.robot.parameter_names)
    assert base.matrix.shape == (len(base), p)
    assert base.right_inverse.shape == (p, len(base))
    assert np.array_equal(base.matrix @ base.right_inverse, np.eye(len(base)))
    pi = np.zeros(p)
    pi[columns_of(base)] = rng.normal(size=len(columns_of(base)))
    with backend("evaluator"):
        states = state(base.robot, rng, (8,))
        tau = base.robot.regressor(*states) @ pi
        reduced = base.regressor(*states)
    assert reduced.shape == (8, base.robot.n, len(base))
    scale = max(1.0, np.abs(tau).max(initial=0), np.abs(base.matrix @ pi).max(initial=0))
    assert np.abs(reduced @ (base.matrix @ pi) - tau).max(initial=0) < 1e-12 * scale * max(1, p / 10)


# ---- counts ------------------------------------------------------------------------------------------------


def arms_of(names):
    """Names and columns of the table; of the larger arms some are slow."""
    quick = {"UR5": ["turned"], "Stanford RRPRRR": ["turned"], "generic 7R": ["turned"]}
    quick |= {name: [] for name in ("iiwa / LWR 7R", "Panda 7R", "generic 6R")}
    return [
        pytest.param(name, rotors, marks=[] if rotors in quick.get(name, COLUMNS) else pytest.mark.slow)
        for name in names
        for rotors in COLUMNS
    ]


@pytest.fixture(scope="module")
def counts():
    if not COUNTS.exists():
        pytest.skip(f"no table of counts at {COUNTS}; ARMDYN_DATA says where the data are")
    return json.loads(COUNTS.read_text("utf-8"))


@pytest.mark.parametrize(("name", "rotors"), arms_of(TABLES))
def test_known_arms_have_the_known_counts(name, rotors, counts):
    base = known_arm(name, rotors).base_parameters()
    assert base.route == "exact"
    assert len(base) == counts[name][COLUMNS.index(rotors)]


@pytest.mark.parametrize(("name", "rotors"), arms_of(["generic 6R", "generic 7R"]))
def test_arms_in_general_position_have_the_known_counts_in_numbers(name, rotors, counts):
    base = known_arm(name, rotors).base_parameters(route="numeric")
    assert len(base) == counts[name][COLUMNS.index(rotors)]


@pytest.mark.slow
@pytest.mark.parametrize("rotors", COLUMNS)
def test_six_joints_in_general_position_have_the_known_counts_exactly(rotors, counts):
    base = known_arm("generic 6R", rotors).base_parameters(route="exact")
    assert len(base) == counts["generic 6R"][COLUMNS.index(rotors)]


def test_every_row_of_the_table_of_counts_is_tried(counts):
    assert set(counts) - {"meaning", "columns"} == {*TABLES, "generic 6R", "generic 7R"}


def test_rotor_turned_off_its_joint_axis_shows_one_more_parameter():
    puma = Robot.load("puma560").with_rotors("exact")
    turned = puma.with_motors({puma.joints[1]: {"axis": ["2/7", "3/7", "6/7"]}})
    assert len(puma.base_parameters()) == 40
    assert len(turned.base_parameters()) == 41
    assert "Im2" in puma.base_parameters().combined
    assert "Im2" in turned.base_parameters().alone


@law(models((1, 4), rotors=ROTORS), generators(), examples=20, thorough=100)
def test_exact_count_is_the_numerical_rank(model, rng):
    base = Robot(model).base_parameters(route="exact")
    assert len(base) == numerical_rank(base.robot, columns_of(base))
    assert_identities(base, rng)


@law(models((1, 3), rotors=ROTORS), generators(), examples=10)
def test_exact_count_with_friction_is_the_numerical_rank(model, rng):
    base = Robot(model).base_parameters(friction=True, route="exact")
    assert base.left_out == ()
    assert len(base) == numerical_rank(base.robot, columns_of(base))
    assert_identities(base, rng)


@law(rubbing_models((1, 3), rotors=ROTORS), generators(), examples=6, thorough=40)
def test_exact_count_with_stribeck_and_cubic_friction_is_the_numerical_rank(model, rng):
    """Load friction is left out, because the torque is not linear in it."""
    robot = Robot(model)
    base = robot.base_parameters(friction=True, route="exact")
    loads = tuple(name for name in robot.parameter_names if name.startswith("Fl"))
    assert base.left_out == loads
    assert loads
    assert len(base) == numerical_rank(robot, columns_of(base))
    assert_identities(base, rng)
    alone = [name for name in robot.parameter_names if name.startswith(("Fst", "Fcu"))]
    assert alone
    assert set(alone) <= set(base.alone)
    numeric = robot.base_parameters(friction=True, route="numeric")
    assert numeric.left_out == loads
    assert (numeric.leading, numeric.absent) == (base.leading, base.absent)


@law(models((2, 4)), st.integers(0, 10**6), generators(), examples=4, thorough=40)
def test_exact_count_of_related_joints_is_the_numerical_rank(model, seed, rng):
    """Joints follow by whole and broken factors; cos(q/2) and cos(q) are not independent."""
    base = Robot(related(model, seed)).base_parameters(friction=True)
    assert len(base) == numerical_rank(base.robot, columns_of(base))
    assert_identities(base, rng)


@pytest.mark.parametrize("name", [slowly("elbow"), slowly("puma560"), "scara"])
@pytest.mark.parametrize("friction", [False, True])
def test_routes_agree(name, friction):
    robot = Robot.load(name)
    exact = robot.base_parameters(friction=friction, route="exact")
    numeric = robot.base_parameters(friction=friction, route="numeric")
    assert (exact.route, numeric.route) == ("exact", "numeric")
    assert exact.leading == numeric.leading
    assert exact.absent == numeric.absent
    assert np.allclose(exact.matrix, numeric.matrix, rtol=1e-9, atol=1e-9)
    assert numeric.rank.gap > 1e9
    assert_identities(exact, np.random.default_rng(1))
    assert "Found in numbers: rank" in numeric.text()


@pytest.mark.slow
@pytest.mark.parametrize("name", in_suites(WITHOUT_LOOPS))
def test_routes_agree_on_every_bundled_robot(name):
    robot = quietly(lambda: Robot.load(name))
    exact, numeric = (robot.base_parameters(friction=True, route=route) for route in ("exact", "numeric"))
    assert (exact.leading, exact.absent) == (numeric.leading, numeric.absent)
    assert np.allclose(exact.matrix, numeric.matrix, rtol=1e-9, atol=1e-9)
    assert robot.base_parameters(friction=True).route == "exact"


@pytest.mark.parametrize("gravity", [[0, 0, 0], [0, "-g", 0], ["-g", 0, 0], [1, 2, 3]])
def test_counts_under_any_gravity_are_numerical_ranks(gravity):
    base = Robot.load("elbow").with_gravity(gravity).base_parameters()
    assert len(base) == numerical_rank(base.robot, columns_of(base))
    assert_identities(base, np.random.default_rng(2))


def test_where_the_base_stands_changes_nothing():
    robot = Robot.load("elbow")
    moved = replace(robot.model, base=Transform.translation(1, 2, 3))
    assert Robot(moved).base_parameters().combinations == robot.base_parameters().combinations


def test_tree_is_grouped_to_what_its_arms_share():
    base = dual_arm("scara").base_parameters()
    assert len(base) == numerical_rank(base.robot, columns_of(base))
    assert_identities(base, np.random.default_rng(3))
    left, right = "m3", "m7"  # the slides of both arms
    rows = [k for k in range(len(base)) if base.matrix[k, base.robot.parameter_names.index(left)]]
    assert any(base.matrix[k, base.robot.parameter_names.index(right)] for k in rows)


# ---- what is said about parameters -------------------------------------------------------------------------


@pytest.mark.parametrize(("zeros", "friction"), [("free", False), ("given", False), ("free", True)])
def test_every_parameter_has_one_place(zeros, friction):
    base = Robot.load("puma560").base_parameters(zeros, friction)
    groups = (base.absent, base.alone, base.combined, base.left_out)
    assert sorted(name for group in groups for name in group) == sorted(base.robot.parameter_names)
    names = base.robot.parameter_names
    for k, lead in enumerate(base.leading):
        assert base.matrix[k, names.index(lead)] == 1
        assert (lead in base.alone) == (np.count_nonzero(base.matrix[k]) == 1)
    for name in base.absent + base.left_out:
        assert not base.matrix[:, names.index(name)].any()
    assert base.names == tuple(f"pi{k + 1}" for k in range(len(base)))
    assert np.allclose(base.values, [base.robot.model.number(x) for x in base.expressions], rtol=1e-12)


def lift(**slide):
    """A vertical slide with a horizontal joint on it."""
    places = {
        "origin": {"xyz": [0, 0, 0], "rpy": [0, 0, 0]},
        "axis": [0, 0, 1],
        "mass": 3,
        "com": [0.1, 0, 0],
    }
    links = [
        {"name": "slide", "joint": "prismatic", **places, **slide},
        {"name": "arm", "joint": "revolute", **places, "friction": {"offset": 2}},
    ]
    table = {"name": "lift", "convention": "frames", "gravity": [0, 0, "-g"], "symbols": {"g": 9.81, "k": 20}}
    return Robot.from_dict({**table, "link": links})


def test_offset_of_a_slide_is_told_from_its_weight_by_its_inertia():
    base = lift(friction={"offset": 4}).base_parameters(friction=True)
    assert {"F01", "F02"} <= set(base.alone)
    assert "m1 + m2" in base.combinations


def test_offset_of_a_driven_slide_is_not_told_from_its_weight():
    """The rotor adds to the inertia: weight and offset are one, inertia and rotor are one."""
    base = lift(friction={"offset": 4}, motor={"gear": "k", "inertia": 0.01}).base_parameters(friction=True)
    assert "m1 + m2 + F01/g" in base.combinations
    assert "Im1 - F01/(g*k**2)" in base.combinations
    assert "F02" in base.alone
    assert len(base) == numerical_rank(base.robot, columns_of(base))


def test_offset_and_asymmetry_differ_at_rest_alone():
    base = lift(friction={"offset": 4, "coulomb": [3, -2]}).base_parameters(friction=True)
    assert "F01 + Fa1" in base.combinations


def test_friction_adds_to_what_is_there_without_it():
    robot = Robot.load("puma560")
    without, with_it = robot.base_parameters(), robot.base_parameters(friction=True)
    assert with_it.leading[: len(without)] == without.leading
    assert with_it.combinations[: len(without)] == without.combinations


# ---- equations ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "friction"), [("planar", True), ("elbow", True), ("pr", False), ("scara", True)]
)
def test_columns_of_the_regressor_are_the_combinations_exactly(name, friction):
    """Y_p = Σ_k c_kp Y_k for every parameter, as polynomials: so Y π = Y_b π_b."""
    robot = Robot.load(name)
    base = robot.base_parameters(friction=friction)
    equations, full = base.equations(), robot.equations()
    assert equations.regressor.shape == (robot.n, len(base))
    ring = full.basis.kinematic
    for p, parameter in enumerate(robot.parameter_names):
        if parameter in base.left_out:
            continue
        for i in range(robot.n):
            total = ring.zero
            for k, row in enumerate(base.grouping.rows):
                if p in row:
                    total = total + equations.regressor[i, k].poly * ring.constant(row[p])
            assert total == full.regressor[i, p].poly, (parameter, i)


def test_equations_print_base_parameters():
    equations = Robot.load("planar").base_parameters(zeros="given").equations()
    assert equations.regressor[1, 4] == "kr2*qdd1 + kr2**2*qdd2"
    assert "tau[2] = (qdd1 + qdd2)*pi3" in str(equations)
    assert r"\pi_{5}" in equations.latex()
    assert "$$" in equations.markdown()


def test_reduced_regressor_takes_fewer_operations():
    robot = Robot.load("puma560")
    assert robot.base_parameters().program.operations < 0.8 * robot.program("regressor").operations


def test_reduced_regressor_is_compiled_like_any_function():
    base = Robot.load("planar").base_parameters()
    q = np.linspace(0, 1, 10).reshape(5, 2)
    out = np.empty((5, 2, len(base)))
    assert base.regressor(q, q, q, out=out) is out
    assert np.allclose(out @ base.values, base.robot.inverse_dynamics(q, q, q), rtol=1e-12)
    again = pickle.loads(pickle.dumps(base))
    assert np.array_equal(again.regressor(q, q, q), out)


def test_symbols_without_values_give_equations_but_no_numbers():
    base = Robot.load("elbow").with_symbols(a2=None, kr1=None).base_parameters(zeros="given")
    assert len(base) == 9
    assert base.rank is None
    assert "a2*m3" in base.combinations[3]
    for ask in (lambda: base.matrix, lambda: base.regressor([0] * 3, [0] * 3, [0] * 3)):
        with golden_error(MissingValueError):
            ask()


def test_robot_without_any_parameter_has_no_base_parameters():
    place = {"origin": {"xyz": [0, 0, 0], "rpy": [0, 0, 0]}, "axis": [0, 0, 1]}
    links = [{"name": "a", "joint": "revolute", **place}]
    table = {"name": "nothing", "convention": "frames", "gravity": [0, 0, 0], "link": links}
    robot = quietly(lambda: Robot.from_dict(table))
    for route in ("exact", "numeric"):
        base = robot.base_parameters(zeros="given", route=route)
        assert len(base) == 0
        assert base.regressor([0.0], [1.0], [2.0]).shape == (1, 0)
    assert robot.base_parameters().alone == ("Izz1",)


# ---- doubts ------------------------------------------------------------------------------------------------


def test_symbol_with_a_special_value_is_warned_about():
    """A rotor that turns with its link, gear 1, cannot be told from the link; in general it can."""
    robot = Robot.load("planar").with_symbols(kr2=1)
    with golden_warning(BaseParameterWarning):
        base = robot.base_parameters()
    assert len(base) == 7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(robot.base_parameters(route="numeric")) == 6


def rounded(angle):
    """A PUMA with reflected rotors whose quarter turns are rounded."""
    table = known_arm("PUMA 560", "reflected").to_dict()
    for link in table["link"]:
        if link.get("alpha") in ("pi/2", "-pi/2"):
            link["alpha"] = angle if link["alpha"] == "pi/2" else -angle
    return quietly(lambda: Robot.from_dict(table))  # loading warns about them, too


@pytest.mark.slow
def test_rounded_angles_are_warned_about():
    robot = rounded(1.57079633)
    with pytest.warns(BaseParameterWarning, match="41 base parameters exactly.* but 40 in numbers.*snap"):
        robot.base_parameters()
    base = robot.base_parameters(route="numeric")
    assert len(base) == 40
    assert base.rank.gap > 1e4


def test_unclear_gap_is_warned_about_and_a_tolerance_decides():
    robot = rounded(1.57081)
    with pytest.warns(BaseParameterWarning, match="not clear in numbers"):  # with digits of noise
        robot.base_parameters(route="numeric")
    assert len(robot.base_parameters(route="numeric", tolerance=1e-4)) == 40


def test_what_is_too_large_for_the_exact_route_is_found_in_numbers():
    robot = known_arm("generic 7R", "none")
    assert robot.base_parameters().route == "numeric"
    with pytest.raises(SizeError):
        robot.base_parameters(route="exact")


@pytest.mark.parametrize(
    "wrong", [{"zeros": "none"}, {"friction": 1}, {"route": "svd"}, {"tolerance": 2}, {"tolerance": True}]
)
def test_wrong_arguments_are_refused(wrong):
    with pytest.raises(ArmdynError, match=next(iter(wrong))):
        Robot.load("pendulum").base_parameters(**wrong)
