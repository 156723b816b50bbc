"""The derivative recursion of inverse dynamics: proved over the exact ring, and equal to the tape."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

from armdyn import Robot, dynamics
from armdyn.dynamics.derivatives import regrouped
from armdyn.exact.basis import Basis, over_ring
from armdyn.exact.ring import Poly
from armdyn.model.mechanism import Place, unchanged
from armdyn.model.robot_model import lower
from armdyn.program import evaluate, jacobian
from armdyn.robot.functions import _slopes
from arms import (
    ROTORS,
    WITHOUT_LOOPS,
    Part,
    Plan,
    assert_same,
    generators,
    in_suites,
    law,
    model_of,
    models,
    plans,
    related,
    robots,
    state,
    table_of,
)
from branched_arms import dual_arm
from closed_chains import four_bar
from elastic_arms import elastic_robots
from friction_arms import rubbing
from spring_arms import sprung

STATE = ("q", "qd", "qdd")
WRENCH = [f"h{k + 1}" for k in range(12)]


# ---- proofs ------------------------------------------------------------------------------------------------


def over_symbols(model, places=1, plain=True):
    """A model over its exact ring, every parameter and every entry of two wrenches a generator.

    `plain`: with the number 0 where the ring has its zero, as recorded mechanisms have it.
    """
    basis = Basis(model)
    ring = basis.with_names([*(f"[{name}]" for name in basis.parameter_names), *WRENCH])
    named = [ring.gen(f"[{name}]") for name in basis.parameter_names]
    mechanism = over_ring(basis.exact, ring, named, basis.layout)
    mechanism = replace(mechanism, friction=(), springs=(), struts=())
    if plain:
        mechanism = mechanism.map(lambda x: 0 if isinstance(x, Poly) and not x else x, unchanged)
    if places == 2:
        first = Place(0, (ring.one, ring.one * 2, ring.one * 3))
        mechanism = replace(mechanism, places=(*mechanism.loaded, first))
    return ring, mechanism, [ring.gen(name) for name in WRENCH[: 6 * places]]


def prove(model, places=1, plain=True):
    """Entry by entry; the number of terms that were compared."""
    ring, mechanism, wrench = over_symbols(model, places, plain)
    variables = ring.joint_variables()
    torques = dynamics.rigid_torques(mechanism, *variables, wrench)
    found = dynamics.torque_derivatives(mechanism, *variables, wrench)
    terms = 0
    for i, torque in enumerate(ring.zero + x for x in torques):
        for j in range(mechanism.n):
            slopes = (torque.by_joint(j), torque.derivative(f"qd{j + 1}"), torque.derivative(f"qdd{j + 1}"))
            for name, matrix, slope in zip(STATE, found, slopes, strict=True):
                assert not ring.zero + matrix[i][j] - slope, f"d tau{i + 1}/d {name}{j + 1}"
                terms += len(slope)
    return terms


@law(models((1, 3), rotors=ROTORS), st.sampled_from([1, 2]), st.booleans(), examples=10, thorough=60)
def test_recursion_and_derivatives_of_exact_torques_of_rational_arms(model, places, plain):
    assert prove(model, places, plain) > 0


TREE = (
    Part("a", "base", "revolute", "c", ("b",), False),
    Part("b", "a", "prismatic", "base", ("c",), False),
    Part("c", "a", "revolute", "b", (), False),
)
CHAIN = (
    Part("a", "base", "revolute", "a", (), False),
    Part("b", "a", "revolute", "c", ("a", "c"), False),
    Part("c", "b", "prismatic", "a", (), False),
)


@pytest.mark.parametrize("parts", [TREE, CHAIN])
def test_recursion_and_derivatives_of_exact_torques_of_three_rational_joints(parts):
    assert prove(model_of(Plan(parts, "exact", "c", 5))) > 500


def aligned(joints, parents=None):
    """An arm with axes along x, y, z and quarter turns, and motors with any axes on any links."""
    axes, turns = ([0, 0, 1], [0, -1, 0], [1, 0, 0]), (["pi/2", 0, 0], [0, 0, 0], [0, "-pi/2", 0])
    names = ["base", *(f"link {i + 1}" for i in range(len(joints)))]
    links = []
    for i, joint in enumerate(joints):
        motor = {"carrier": names[-1 - i], "gear": 3 + i, "inertia": 1, "axis": [0, "3/5", "4/5"]}
        motor["coupling"] = {names[1 + (i + 1) % len(joints)]: 2} if i < 2 else {}
        place = {"xyz": ["1/2", "1/3", f"1/{5 + i}"], "rpy": turns[i % 3]}
        body = {"mass": 1, "com": ["1/7", "1/5", "1/3"], "inertia": {"xx": 2, "yy": 3, "zz": 4, "xy": 1}}
        parent = names[(parents or range(len(joints)))[i]]
        link = {"name": names[i + 1], "parent": parent, "joint": joint, "axis": axes[i % 3], "origin": place}
        links.append({**link, **body, "motor": motor})
    table = {"name": "aligned", "convention": "frames", "gravity": [1, 2, -9], "link": links}
    return Robot.from_dict(table).model


@pytest.mark.parametrize(
    ("joints", "parents"),
    [
        ("rr", None),
        ("rpr", None),
        ("prr", (0, 1, 1)),
        ("rrr", None),
        pytest.param("rrpr", None, marks=pytest.mark.slow),
        pytest.param("rrprr", (0, 1, 1, 3, 4), marks=pytest.mark.slow),
    ],
)
def test_recursion_and_derivatives_of_exact_torques_of_arms_with_plain_axes(joints, parents):
    kinds = {"r": "revolute", "p": "prismatic"}
    assert prove(aligned([kinds[x] for x in joints], parents), 2) > 30


SMALL = ("rp", "planar", "scara", "elastic_link", "palletizer")


@pytest.mark.parametrize("name", in_suites(WITHOUT_LOOPS, SMALL))
def test_recursion_and_derivatives_of_exact_torques_of_bundled_robots(name):
    """With their relations and elastic joints; all of their parameters are symbols."""
    assert prove(Robot.load(name).model) > 0


MODULE = sys.modules["armdyn.dynamics.derivatives"]


def no_forces_that_turn_with_the_body(patch):
    patch.setattr(MODULE, "_turned_with", lambda body, composite: composite.wrench(body.by_q))


def no_spin_of_rotors(patch):
    patch.setattr(MODULE, "_minus_cross", lambda a: ((0, 0, 0),) * 3)


def no_motors_on_carriers(patch):
    patch.setattr(MODULE, "_motors", lambda mechanism, bodies: [{} for _ in bodies])


def no_lever_of_wrenches(patch):
    patch.setattr(MODULE, "_outside", lambda *arguments: {})


def masses_that_go_to_the_parent_are_lost(patch):
    kind = MODULE.Mass
    patch.setattr(kind, "__add__", lambda a, b: a)


FAULTS = [
    no_forces_that_turn_with_the_body,
    no_spin_of_rotors,
    no_motors_on_carriers,
    no_lever_of_wrenches,
    masses_that_go_to_the_parent_are_lost,
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_recursion_and_a_failing_proof(fault, monkeypatch):
    model = aligned(["revolute", "revolute"])
    assert prove(model)
    fault(monkeypatch)
    with pytest.raises(AssertionError, match="d tau"):
        prove(model)


# ---- numbers -----------------------------------------------------------------------------------------------


def check(robot, rng, *optional):
    """The recursion's program, whatever takes fewer operations, against the tape's derivatives."""
    slopes = robot.program("inverse_dynamics_derivatives", optional)
    inputs = list(state(robot, rng, (3,)))
    values = {"wrench": rng.uniform(-9, 9, 6), "parameters": robot.parameters * rng.uniform(0.5, 2)}
    inputs += [values[name] for name in optional]
    expected = evaluate(jacobian(robot.program("inverse_dynamics", optional), STATE), *inputs)
    for a, b in zip(evaluate(slopes, *inputs), expected, strict=True):
        assert_same(a, b, 1e-12, np.abs(expected[0]).max())


@pytest.fixture(autouse=True)
def recursion_always(monkeypatch):
    monkeypatch.setattr("armdyn.robot.functions.SHORT_PATH", 0)


OPTIONAL = st.sampled_from([(), ("wrench",), ("parameters",), ("wrench", "parameters")])


@law(robots((1, 5), rotors=ROTORS), generators(), OPTIONAL, examples=4, thorough=60)
def test_recursion_and_tape(robot, rng, optional):
    check(robot, rng, *optional)


@law(rubbing((1, 3)), generators(), OPTIONAL, examples=3, thorough=40)
def test_recursion_and_tape_with_friction_of_all_kinds(robot, rng, optional):
    check(robot, rng, *optional)


@law(robots((1, 3)), generators(), OPTIONAL, st.integers(0, 999), examples=3, thorough=40)
def test_recursion_and_tape_with_springs(robot, rng, optional, seed):
    check(Robot(sprung(robot.model, seed, struts=3)), rng, *optional)


@law(robots((2, 4)), generators(), OPTIONAL, st.integers(0, 999), examples=3, thorough=40)
def test_recursion_and_tape_with_relations_and_springs(robot, rng, optional, seed):
    check(Robot(sprung(related(robot.model, seed), seed)), rng, *optional)


@law(elastic_robots((1, 3)), generators(), OPTIONAL, examples=3, thorough=40)
def test_recursion_and_tape_with_elastic_joints(robot, rng, optional):
    check(robot, rng, *optional)


def test_recursion_and_tape_with_a_base_at_an_angle():
    table = table_of(Plan(TREE, "exact", "b", 8))
    table["base"] = {"xyz": [1, 2, 3], "rpy": ["0.3", "-0.4", "1.1"]}
    check(Robot.from_dict(table), np.random.default_rng(0), "wrench")


def test_recursion_and_tape_with_wrenches_on_links():
    robot, rng = Robot.from_dict(table_of(Plan(TREE, "exact", "b", 9))), np.random.default_rng(1)
    q, qd, qdd = state(robot, rng)
    wrench = {"b": rng.uniform(-9, 9, 6), "c": rng.uniform(-9, 9, 6)}
    found = robot.inverse_dynamics_derivatives(q, qd, qdd, wrench)
    eye, h = np.eye(robot.n), 1e-5
    for j in range(robot.n):
        ahead = robot.inverse_dynamics(q + h * eye[j], qd, qdd, wrench)
        behind = robot.inverse_dynamics(q - h * eye[j], qd, qdd, wrench)
        assert_same(found[0][:, j], (ahead - behind) / (2 * h), 1e-8)


def test_recursion_and_tape_of_two_arms_on_a_torso():
    check(dual_arm("planar3"), np.random.default_rng(2), "wrench")


def test_loops_have_the_tape(monkeypatch):
    monkeypatch.setattr("armdyn.robot.functions.by_recursion", None)  # not called
    assert four_bar().program("inverse_dynamics_derivatives").operations > 0


def test_the_shorter_program_is_taken(monkeypatch):
    """The recursion for a chain, the tape for joints that are all on the base."""
    parts = tuple(Part(f"link {i}", "base", "revolute", None, (), False) for i in range(3))
    for robot in (Robot.load("elbow"), Robot.from_dict(table_of(Plan(parts, "exact", "link 0", 1)))):
        monkeypatch.setattr("armdyn.robot.functions.SHORT_PATH", 0)
        recursion = Robot(robot.model).program("inverse_dynamics_derivatives").operations
        _slopes.cache_clear()
        monkeypatch.setattr("armdyn.robot.functions.SHORT_PATH", 5)
        tape = jacobian(robot.program("inverse_dynamics"), STATE).operations
        found = Robot(robot.model).program("inverse_dynamics_derivatives").operations
        _slopes.cache_clear()
        assert found == min(recursion, tape)
        assert recursion != tape


# ---- regrouping --------------------------------------------------------------------------------------------


@law(plans((1, 4), rotors=ROTORS), examples=5)
def test_regrouped_bodies_and_what_their_joints_do_not_move(plan):
    """Nothing is left of it."""
    robot = Robot.from_dict(table_of(plan))
    mechanism = lower(robot.model, robot.model.number)
    for body, place in zip(mechanism.bodies, regrouped(mechanism), strict=True):
        z = np.array(body.R_after).T @ body.axis
        if body.joint == "revolute":
            left = [place.mass.m, z @ place.mass.h, z @ place.mass.J @ z]
        else:
            left = place.mass.J
        assert_same(left, np.zeros_like(left), 1e-13)
