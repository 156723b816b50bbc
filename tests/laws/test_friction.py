"""Stribeck, cubic and load friction: torques, accelerations, regressor, derivatives, equations."""

import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
import sympy
from typer.testing import CliRunner

from armdyn import Equations, Robot, contributions, operational
from armdyn.cli import app
from armdyn.dynamics import (
    BaseMotion,
    articulated_is_possible,
    forward_dynamics,
    forward_dynamics_articulated,
)
from armdyn.dynamics.friction import friction_torques
from armdyn.expression import Expression
from armdyn.model import FrictionCoefficients, ModelError
from armdyn.model.closures import Relation
from armdyn.model.friction import TERMS
from armdyn.program import evaluate
from armdyn.robot.functions import FUNCTIONS
from arms import assert_same, exact_array, generators, law, robots, state
from friction_arms import friction_by_hand, of_kind, rubbing, rubbing_models, without_friction
from golden_messages import golden_error


@law(rubbing(couplings=False), generators(), examples=8)
def test_inverse_dynamics_and_friction_by_hand(robot, rng):
    q, qd, qdd = state(robot, rng, (3,))
    rigid = without_friction(robot).inverse_dynamics(q, qd, qdd)
    expected = rigid + friction_by_hand(robot, qd, rigid)
    assert_same(robot.inverse_dynamics(q, qd, qdd), expected)
    assert_same(robot.friction(qd), friction_by_hand(robot, qd, 0 * rigid))


@law(rubbing(), generators(), examples=8)
def test_forward_dynamics_undo_inverse_dynamics(robot, rng):
    q, qd, qdd = state(robot, rng, (3,))
    wrench = rng.standard_normal((3, 6))
    tau = robot.inverse_dynamics(q, qd, qdd, wrench)
    scale = np.linalg.cond(robot.inertia(q)).max()
    assert_same(robot.forward_dynamics(q, qd, tau, wrench), qdd, 1e-11 * scale)
    at_rest = robot.inverse_dynamics(q, 0 * qd, qdd, wrench)
    assert_same(robot.forward_dynamics(q, 0 * qd, at_rest, wrench), qdd, 1e-11 * scale)


@law(rubbing(motors="parent", couplings=False), generators(), examples=6)
def test_articulated_bodies_and_factorised_inertia(robot, rng):
    assert articulated_is_possible(robot.mechanism)
    q, qd, tau = (x.tolist() for x in state(robot, rng))
    both = [f(robot.mechanism, q, qd, tau) for f in (forward_dynamics, forward_dynamics_articulated)]
    assert_same(both[0], both[1], 1e-9)


@law(rubbing(), generators(), examples=8)
def test_regressor_times_parameters_and_torques_without_load_friction(robot, rng):
    q, qd, qdd = state(robot, rng, (3,))
    load = of_kind(robot, "Fl")
    assert load.sum() == robot.n
    Y = robot.regressor(q, qd, qdd)
    assert not Y[..., load].any()
    unloaded = robot.with_parameters(np.where(load, 0.0, robot.parameters))
    assert_same(Y @ robot.parameters, unloaded.inverse_dynamics(q, qd, qdd))
    linear = of_kind(robot, "Fst", "Fcu")
    assert (np.abs(Y[..., linear]).max((0, 1)) > 0).all()


@law(rubbing(), generators(), examples=8)
def test_other_parameters_and_a_robot_that_has_them(robot, rng):
    """The vector round-trips, Stribeck velocities stay, and kernels take it as an input."""
    q, qd, qdd = state(robot, rng, (3,))
    values = robot.parameters * rng.uniform(0.5, 1.2, len(robot.parameters))
    other = robot.with_parameters(values)
    assert_same(other.parameters, values)
    assert other.parameter_names == robot.parameter_names
    for old, new in zip(robot.model.moving, other.model.moving, strict=True):
        assert new.friction.stribeck_velocity == old.friction.stribeck_velocity
    assert_same(
        robot.inverse_dynamics(q, qd, qdd, parameters=values), other.inverse_dynamics(q, qd, qdd), 1e-10
    )


@law(rubbing((1, 3)), generators(), examples=4)
def test_derivatives_and_differences(robot, rng):
    q, qd, qdd = state(robot, rng)
    qd = qd + 0.1 * np.sign(qd)
    tau = robot.inverse_dynamics(q, qd, qdd)
    given, h = {"q": q, "qd": qd, "qdd": qdd, "tau": tau}, 1e-5

    def slope(function, inputs, by):
        def at(e):
            return function(*(given[x] + (e if x == by else 0) for x in inputs))

        columns = [
            (8 * (at(h * e) - at(-h * e)) - at(2 * h * e) + at(-2 * h * e)) / (12 * h)
            for e in np.eye(robot.n)
        ]
        return np.stack(columns, -1)

    found = robot.inverse_dynamics_derivatives(q, qd, qdd)
    for D, by in zip(found, ("q", "qd", "qdd"), strict=True):
        assert_same(D, slope(robot.inverse_dynamics, ("q", "qd", "qdd"), by), 1e-6)
    found = robot.forward_dynamics_derivatives(q, qd, tau)
    for D, by in zip(found, ("q", "qd", "tau"), strict=True):
        assert_same(D, slope(robot.forward_dynamics, ("q", "qd", "tau"), by), 1e-5)


@law(rubbing(), generators(), examples=6)
def test_contributions_add_up(robot, rng):
    q, qd, qdd = state(robot, rng, (3,))
    wrench = rng.standard_normal((3, 6))
    parts = contributions(robot, q, qd, qdd, wrench)
    assert_same(parts.total, robot.inverse_dynamics(q, qd, qdd, wrench), 1e-10)
    viscous = of_kind(robot, "Fvm", *(x.symbol for x in TERMS.values() if x.grows and not x.jumps))
    growing = robot.with_parameters(np.where(viscous, robot.parameters, 0.0))
    assert_same(parts.viscous, growing.friction(qd), 1e-10)


@law(rubbing(couplings=False), generators(), examples=6)
def test_moving_base_loads_joints(robot, rng):
    q, qd, qdd = state(robot, rng)
    base = BaseMotion(*rng.standard_normal((3, 3)))
    rigid = without_friction(robot).inverse_dynamics(q, qd, qdd, base=base)
    expected = rigid + friction_by_hand(robot, qd, rigid)
    assert_same(robot.inverse_dynamics(q, qd, qdd, base=base), expected)
    scale = max(1.0, float(np.linalg.cond(robot.inertia(q))))
    assert_same(robot.forward_dynamics(q, qd, expected, base=base), qdd, 1e-11 * scale)


@law(rubbing_models(), generators(), examples=8)
def test_equations_are_proved_and_give_the_same_numbers(model, rng):
    robot, equations = Robot(model), Equations(model)
    equations.prove()
    q, qd, qdd = state(robot, rng)
    assert_same(exact_array(equations, equations.tau, q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), 1e-9)
    assert_same(exact_array(equations, equations.regressor, q, qd, qdd), robot.regressor(q, qd, qdd), 1e-9)
    equations.latex(), equations.text(), equations.mathml(), equations.steps()


def test_symbolic_robot_and_its_friction():
    link = {"name": "arm", "joint": "revolute", "a": 1, "alpha": 0, "d": 0, "mass": 2, "com": [1, 0, 0]}
    friction = {"stribeck": {"level": 0.3, "velocity": 0.2}, "cubic": 0.01, "load": 0.1}
    table = {
        "name": "one",
        "convention": "dh",
        "gravity": [0, -10, 0],
        "link": [link | {"friction": friction}],
    }
    equations = Robot.from_dict(table).symbolic().equations()
    assert equations.friction[0] == "Fst1*bell1*sgn1 + Fcu1*qd1^3 + Fl1*absr1*sgn1"
    assert r"\exp(-\frac{\dot{\vartheta}_{1}^{2}}{v_{s1}^{2}})" in equations.latex()
    assert r"\left|\tau_{r1}\right|" in equations.latex()
    assert "bell1 = exp(-qd1**2/vs1**2)" in equations.text()
    handed = equations.sympy()
    v, level = handed.qd[0], handed.symbols["Fst1"]
    width = handed.symbols["vs1"]
    assert (
        sympy.simplify(handed.friction[0].coeff(level) - sympy.exp(-((v / width) ** 2)) * sympy.sign(v)) == 0
    )
    scope: dict = {}
    exec(equations.sympy_source(), scope)
    assert scope["friction"] == handed.friction


def _following(model, factor, velocity=1, **terms):
    """The second joint follows the first by a factor, both with the same friction."""
    first, second, *_ = (link.name for link in model.moving)
    friction = FrictionCoefficients.of(terms, Expression.of(velocity))
    links = tuple(
        replace(link, friction=friction) if link.name in (first, second) else link for link in model.links
    )
    row = ((second, Expression.of(1)), (first, Expression.of(-factor)))
    return replace(model, links=links, relations=(Relation(row),))


@law(robots((2, 3), couplings=False, friction=False), generators(), examples=6)
def test_stribeck_friction_of_a_joint_that_follows_another(robot, rng):
    """At the follower the speed is k q̇: the velocity seen from the coordinate is v/|k|."""
    model = _following(robot.model, -3, 0.5, stribeck=0.4, cubic=0.2)
    related = Robot(model)
    _, qd, _ = state(related, rng)
    v = qd[0]
    expected = np.sign(v) * (0.4 * np.exp(-((v / 0.5) ** 2)) + 3 * 0.4 * np.exp(-((3 * v / 0.5) ** 2)))
    expected += 0.2 * v**3 * (1 + 81)
    assert_same(related.friction(qd)[0], expected)
    with pytest.raises(ModelError, match=r"coordinate 1 .* velocities 0.5 and 0.166667"):
        related.mechanism.with_friction_by_coordinate()
    first = model.moving[0].name
    fits = replace(
        model,
        links=tuple(
            replace(x, friction=replace(x.friction, stribeck_velocity=Expression.of(1) / 6))
            if x.name == first
            else x
            for x in model.links
        ),
    )
    mechanism = Robot(fits).mechanism
    one = mechanism.with_friction_by_coordinate()
    assert_same(friction_torques(one, qd), friction_torques(mechanism, qd))


@law(robots((2, 3), couplings=False, friction=False), examples=3)
def test_load_friction_of_a_joint_that_follows_another_is_refused(robot):
    with golden_error(ModelError):
        _following(robot.model, 2, load=0.1)


@pytest.mark.parametrize("name", ["elbow", "scara"])
def test_operational_space_and_forward_dynamics(name):
    """Torques for a wanted acceleration of the tip give it back, load friction included."""
    table = Robot.load(name).to_dict()
    for link in table["link"]:
        link["friction"] = {"coulomb": 2, "stribeck": {"level": 1, "velocity": 0.4}, "cubic": 1, "load": 0.2}
    robot, rng = Robot.from_dict(table), np.random.default_rng(5)
    q, qd, tau0 = rng.uniform(0.3, 1, (3, robot.n)) * [1, -1, 1, -1][: robot.n]
    space = operational(robot, q, qd)
    xdd = rng.standard_normal(len(space.x))
    tau = space.torques(xdd, tau0=tau0)
    qdd = robot.forward_dynamics(q, qd, tau)
    assert_same(space.J_A @ qdd + space.Jdot_A @ qd, xdd, 1e-8)
    assert_same(space.acceleration(tau), xdd, 1e-8)
    assert_same(robot.inverse_dynamics(q, qd, qdd), tau, 1e-9)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler on this machine")
@pytest.mark.parametrize("scalar", ["double", "float"])
def test_exported_c_and_the_evaluator(tmp_path, scalar):
    """Every function of an arm with all terms: the exported test program compares with the evaluator."""
    table = Robot.load("planar").to_dict()
    for link in table["link"]:
        link["friction"] = {"coulomb": 2, "stribeck": {"level": 5, "velocity": 0.4}, "cubic": 3, "load": 0.2}
    Robot.from_dict(table).save(tmp_path / "arm.toml")
    options = ["-o", str(tmp_path), "--prefix", "arm", "--functions", "all"]
    options += ["--float"] if scalar == "float" else []
    done = CliRunner().invoke(app, ["export", "c", str(tmp_path / "arm.toml"), *options])
    assert done.exit_code == 0, done.output
    assert ("exp(" if scalar == "double" else "expf(") in (tmp_path / "arm.c").read_text()
    command = ["cc", "-std=c99", "-O1", "-Wall", "-Werror", "arm.c", "test_arm.c", "-lm", "-o", "test"]
    subprocess.run(command, cwd=tmp_path, check=True)
    ran = subprocess.run([tmp_path / "test"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    *results, largest, _verdict = ran.stdout.splitlines()
    assert sum(": ok" in line for line in results) == len(results) >= len(FUNCTIONS)
    assert largest.startswith("largest deviation")


@law(rubbing((1, 3)), generators(), examples=3)
def test_machine_code_and_the_evaluator(robot, rng):
    states = state(robot, rng, (11,))
    for name in ("inverse_dynamics", "forward_dynamics", "regressor", "forward_dynamics_derivatives"):
        compiled = getattr(robot, name)(*states)
        outputs = evaluate(robot.program(name), *states)
        for found, expected in zip(
            compiled if isinstance(compiled, tuple) else (compiled,), outputs, strict=True
        ):
            assert_same(found, expected, 1e-9)
