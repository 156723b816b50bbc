"""Springs in closed form: what is proved, equations and numbers, base parameters, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from armdyn import ArmdynError, Robot
from armdyn.exact import SpringError
from armdyn.expression import Expression
from armdyn.model.parts import JointSpring, PointSpring
from arms import ROTORS, assert_same, exact_array, generators, law, models, related, state
from golden_messages import golden_error
from spring_arms import sprung


def zero_length(model, seed):
    """With springs at joints and one between points that has neither rest length nor force."""
    found = sprung(model, seed, struts=2)
    return replace(found, springs=found.springs[1:])


@law(models((1, 3), rotors=ROTORS), generators(), examples=3)
def test_equations_with_springs_and_numbers(model, rng):
    """Everything is proved, and spring torques are those of the numeric function; related joints too."""
    model = zero_length(model, int(rng.integers(1000)))
    if len(model.moving) > 1 and rng.random() < 0.5:
        model = related(model, int(rng.integers(1000)), whole=True)
    robot = Robot(model)
    equations = robot.equations()
    assert len(equations.prove().statements) == 5
    q, qd, qdd = state(robot, rng)
    for terms, expected in (
        (equations.springs, robot.springs(q)),
        (equations.g, robot.gravity(q)),
        (equations.tau, robot.inverse_dynamics(q, qd, qdd)),
    ):
        assert_same(exact_array(equations, terms, q, qd, qdd, angles=True), expected, 1e-10)


@law(models((2, 3), rotors=("exact",)), generators(), examples=2, thorough=10)
def test_base_parameters_with_springs_at_joints(model, rng):
    """Exactly as many as in numbers; each stiffness is one by itself, and so is stiffness·rest."""
    robot = Robot(sprung(model, int(rng.integers(1000)), struts=0))
    exact = robot.base_parameters()
    assert exact.route == "exact"
    numeric = robot.base_parameters(route="numeric")
    assert len(exact) == len(numeric)
    springs = [name for name in robot.parameter_names if name[:2] in ("Ks", "Kr")]
    assert springs
    assert {name for name in springs if name.startswith("Ks")} <= set(exact.alone)
    q, qd, qdd = state(robot, rng, (4,))
    friction = robot.friction(qd)
    tau = robot.inverse_dynamics(q, qd, qdd) - friction
    assert_same(exact.regressor(q, qd, qdd) @ exact.values, tau, 1e-9)


def test_stiffness_times_rest_of_a_joint_and_its_offset_are_not_told_apart():
    model = Robot.load("planar").model
    links = [
        replace(
            link,
            spring=JointSpring(Expression.of(5), Expression.of(1)),
            friction=link.friction.replaced({"offset": 2}),
        )
        for link in model.links
    ]
    base = Robot(replace(model, links=tuple(links))).base_parameters(friction=True)
    assert "Kr1 - F01" in base.combinations
    assert "Ks2" in base.alone


def test_springs_between_points_take_the_numeric_route():
    robot = Robot(sprung(Robot.load("elbow").model, 3))
    base = robot.base_parameters()
    assert base.route == "numeric"
    assert {"Kp1", "Pp1", "Kp2", "Pp2"} <= {*base.alone, *base.combined}
    rng = np.random.default_rng(1)
    q, qd, qdd = state(robot, rng, (4,))
    tau = robot.inverse_dynamics(q, qd, qdd) - robot.friction(qd)
    assert_same(base.regressor(q, qd, qdd) @ base.values, tau, 1e-8)
    with golden_error(ArmdynError):
        robot.base_parameters(route="exact")
    with golden_error(ArmdynError):
        base.equations()


def test_a_spring_with_a_rest_length_has_no_closed_form_but_inertia_has():
    robot = Robot(sprung(Robot.load("planar").model, 1))
    equations = robot.equations()
    assert not equations.B[0, 0].is_zero
    for refused in (str, lambda e: e.prove(), lambda e: e.springs, lambda e: e.steps(), lambda e: e.tau):
        with golden_error(SpringError):
            refused(equations)


def two_springs():
    """The planar arm with a spring at its elbow, and a spring without rest length from a mast to its end."""
    model = Robot.load("planar").model
    first, second = model.links
    zero, one = Expression.of(0), Expression.of(1)
    mast = PointSpring(("base", second.name), ((zero, one, zero), (zero, zero, zero)), Expression.of(7))
    spring = JointSpring(Expression.of(20), Expression.of(0.5))
    return replace(model, links=(first, replace(second, spring=spring)), springs=(mast,))


def test_spring_terms_as_they_are_printed():
    equations = Robot(two_springs()).symbolic().equations()
    assert str(equations.springs[1]) == "Ks2*(q2 - qr2) - Kp1*a2*(a1*s2 + uy1*c12)"
    assert equations.springs[0] == "-Kp1*uy1*(a1*c1 + a2*c12)"
    text = equations.text()
    assert "Spring torques" in text
    assert "+ Ks2*(q2 - qr2)" in text
    assert r"K_{s2} \left(\vartheta_{2} - q_{r2}\right)" in equations.latex()
    assert "springs" in str(equations.prove())
    assert "tau2 = " in equations.steps()
    assert "[Ks2]*q2 - [Kr2]" in equations.steps()
    assert "<math" in equations.mathml()


def test_spring_terms_in_sympy():
    import sympy

    equations = Robot(two_springs()).symbolic().equations()
    handed = equations.sympy()
    q = dict(zip(handed.q, (0.3, -0.7), strict=True))
    values = {sympy.Symbol(name, real=True): x for name, x in equations.model.values.items()}
    found = np.array(handed.springs.subs(q | values), float)[:, 0]
    assert_same(found, Robot(two_springs()).springs([0.3, -0.7]), 1e-12)
    space: dict = {}
    exec(equations.sympy_source(), space)
    assert space["springs"] == handed.springs
    assert "springs" not in Robot.load("planar").equations().sympy_source()


def test_spring_terms_in_other_coordinates():
    """Absolute angles p1 = q1, p2 = q1 + q2; the forces are those of virtual work."""
    robot = Robot(two_springs())
    found = robot.equations().in_coordinates([[1, 0], [1, 1]]).springs
    q = np.array([0.3, -0.7])
    p = np.array([q[0], q.sum()])
    values = {"q1": p[0], "q2": p[1], "c1": np.cos(p[0]), "s1": np.sin(p[0])}
    values |= {"c2": np.cos(p[1]), "s2": np.sin(p[1]), **robot.model.values}
    joint = robot.springs(q)
    assert_same([x.value(values) for x in found], [joint[0] - joint[1], joint[1]], 1e-12)


@pytest.mark.parametrize(
    "J", [[[1, 0], [1, 1]], [["-a1*s1 - a2*s12", "-a2*s12"], ["a1*c1 + a2*c12", "a2*c12"]]]
)
def test_equations_in_other_coordinates_are_written_with_springs(J):
    equations = Robot(two_springs()).symbolic().equations()
    found = equations.in_coordinates(J)
    text = str(found)
    assert f"e[1] = {found.springs[0]}".split("(")[0].split("q")[0] in text
    assert ("g and e over det J" in text) == (J[0][0] != 1)
    if J[0][0] == 1:
        row = " ".join(text.split("tau[1]")[1].split("tau[2]")[0].split())
        assert row.endswith("+ Ks2*(qr2 + p1 - p2) + Kp1*a1*(a2*sin(p2 - p1) - uy1*c1)")
    for written in (found.latex(), found.markdown(), found.mathml()):
        assert "Spring torques" in written
    bare = Robot.load("planar").symbolic().equations().in_coordinates([[1, 0], [1, 1]])
    assert "Spring" not in str(bare)


def test_motor_coordinates_need_rigid_joints():
    equations = Robot.load("elastic_link").equations()
    for refused in (equations.in_motor_coordinates, equations.motor_torques):
        with golden_error(ArmdynError):
            refused()
