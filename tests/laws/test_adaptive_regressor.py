"""The regressor of adaptive control: Y π = B q̈_r + C q̇_r + g + friction, with the Christoffel C."""

import sys

import numpy as np
import pytest

import armdyn
from armdyn import Equations, Robot
from armdyn.exact.proof import ProofError
from arms import ROTORS, assert_same, generators, law, models, related, robots, slowly, state
from golden_messages import golden_error


def expected(robot, q, qd, qd_r, qdd_r):
    B, C = robot.inertia(q), robot.coriolis(q, qd)
    return np.einsum("...ij,...j->...i", B, qdd_r) + np.einsum("...ij,...j->...i", C, qd_r) + (
        robot.gravity(q) + robot.friction(qd)
    )  # fmt: skip


def motion(robot, rng, rows=()):
    q, qd, qdd_r = state(robot, rng, rows)
    return q, qd, rng.uniform(-3, 3, (*rows, robot.n)), qdd_r


def scale_of(robot, q, qd, qd_r, qdd_r):
    """The size of the terms that add up."""
    return float(np.abs(robot.adaptive_regressor(q, qd, qd_r, qdd_r) * robot.parameters).max())


@law(robots(rotors=ROTORS), generators(), examples=6, thorough=50)
def test_adaptive_regressor_and_the_terms_of_the_equations(robot, rng):
    at = motion(robot, rng)
    assert_same(
        robot.adaptive_regressor(*at) @ robot.parameters, expected(robot, *at), 1e-12, scale_of(robot, *at)
    )


@law(models((2, 5), rotors=ROTORS), generators(), examples=6, thorough=50)
def test_adaptive_regressor_of_arms_with_related_joints(model, rng):
    robot = Robot(related(model, int(rng.integers(2**31))))
    at = motion(robot, rng)
    assert_same(
        robot.adaptive_regressor(*at) @ robot.parameters, expected(robot, *at), 1e-12, scale_of(robot, *at)
    )


@law(robots(rotors=ROTORS), generators(), examples=6, thorough=50)
def test_adaptive_regressor_of_one_motion_is_the_regressor(robot, rng):
    q, qd, _, qdd = motion(robot, rng, (3,))
    assert_same(robot.adaptive_regressor(q, qd, qd, qdd), robot.regressor(q, qd, qdd), 1e-12)


@law(robots(rotors=ROTORS), generators(), examples=6, thorough=50)
def test_adaptive_regressor_is_linear_in_the_reference_and_symmetric_in_velocities(robot, rng):
    """Without gravity and friction; whatever the parameters, so column by column."""
    weightless = robot.with_gravity([0, 0, 0])
    bodies = [k for k, name in enumerate(robot.parameter_names) if not name.startswith("F")]
    q, u, v, a = motion(robot, rng)

    def Y(qd, qd_r, qdd_r):
        return weightless.adaptive_regressor(q, qd, qd_r, qdd_r)[:, bodies]

    assert_same(Y(u, v, 0 * a), Y(v, u, 0 * a), 1e-12)
    assert_same(Y(u, 2 * v, 3 * a), 2 * Y(u, v, 0 * a) + 3 * Y(u, 0 * v, a), 1e-12)


@pytest.mark.parametrize("name", [slowly("puma560"), slowly("panda"), slowly("stanford"), "scara"])
def test_compiled_and_evaluated_in_batches(name):
    robot, rng = Robot.load(name), np.random.default_rng(1)
    q, qd, qd_r, qdd_r = rng.uniform(-2, 2, (4, 5, 3, robot.n))
    compiled = robot.adaptive_regressor(q, qd[0], qd_r, qdd_r[:, :1])
    assert compiled.shape == (5, 3, robot.n, len(robot.parameters))
    with armdyn.backend("evaluator"):
        assert_same(compiled, robot.adaptive_regressor(q, qd[0], qd_r, qdd_r[:, :1]), 1e-13)
    at = q, np.broadcast_to(qd[0], q.shape), qd_r, np.broadcast_to(qdd_r[:, :1], q.shape)
    assert_same(compiled @ robot.parameters, expected(robot, *at), 1e-12)


def test_load_friction_is_excepted():
    table = {"joint": "revolute", "a": 1, "alpha": 0, "d": 0, "mass": 2, "com": [-0.4, 0, 0]}
    table["friction"] = {"viscous": 0.3, "coulomb": 0.2, "load": 0.1}
    robot = Robot.from_dict({"name": "one", "convention": "dh", "gravity": [0, -9.81, 0], "link": [table]})
    Y = robot.adaptive_regressor([0.3], [0.5], [0.7], [1.0])
    assert (Y[:, robot.parameter_names.index("Fl1")] == 0).all()
    assert_same(Y @ robot.parameters, expected(robot, [0.3], [0.5], [0.7], [1.0]))


# ---- the exact proof ---------------------------------------------------------------------------------------


def test_the_proof_says_it():
    said = str(Robot.load("puma560").equations().prove())
    assert "Slotine and Li's Y(q, q', v, a) pi is B a + C v + friction + g, column by column" in said


@pytest.mark.slow
@law(models((2, 3), rotors=ROTORS), generators(), examples=2, thorough=25)
def test_the_proof_of_arms_with_related_joints(model, rng):
    related_model = related(model, int(rng.integers(2**31)), whole=True)
    assert len(Equations(related_model).prove().statements) == 5


def another_C(patch, module):
    """u wᵀ instead of its symmetric part: C v is right where v is q̇, but C is not Christoffel's."""
    patch.setattr(module, "_symmetric", lambda w, u: tuple(tuple(a * b for b in w) for a in u))


def no_rotors(patch, module):
    real = module.columns_of
    patch.setattr(
        module,
        "columns_of",
        lambda M, layout, body, _, springs: real(M, layout, body, lambda rotor: iter(()), springs),
    )


def friction_of_the_opposite_motion(patch, module):
    real = module.with_friction
    patch.setattr(
        module, "with_friction", lambda Y, M, layout, q, qd, _: real(Y, M, layout, q, [-x for x in qd])
    )


@pytest.mark.parametrize("fault", [another_C, no_rotors, friction_of_the_opposite_motion])
def test_a_broken_algorithm_and_a_failing_proof(fault, monkeypatch):
    equations = Robot.load("stanford").equations()
    assert equations.prove()
    fault(monkeypatch, sys.modules["armdyn.dynamics.adaptive"])
    with golden_error(ProofError):
        equations.prove()
