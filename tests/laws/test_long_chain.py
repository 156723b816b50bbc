"""Thirty joints, and plates on plates: numbers come in reasonable time and obey the equations of motion."""

import numpy as np
import pytest

from armdyn import Robot
from armdyn.expression import Expression
from arms import Part, Plan, assert_same, state, table_of


@pytest.fixture(scope="module")
def robot():
    names = ["base", *(f"link {i + 1}" for i in range(30))]
    parts = tuple(
        Part(name, names[i], "prismatic" if i % 7 == 5 else "revolute", names[max(0, i - i % 3)], (), True)
        for i, name in enumerate(names[1:])
    )
    return Robot.from_dict(table_of(Plan(parts, "exact", names[-1], 11)))


@pytest.mark.slow
def test_inverse_dynamics_and_terms_of_thirty_joints(robot):
    q, qd, qdd = state(robot, np.random.default_rng(3), (5,))
    B, C = robot.inertia(q), robot.coriolis(q, qd)
    assert np.linalg.eigvalsh(B).min() > 0
    terms = (B @ qdd[..., None] + C @ qd[..., None])[..., 0] + robot.gravity(q) + robot.friction(qd)
    assert_same(robot.inverse_dynamics(q, qd, qdd), terms)
    assert_same(robot.kinetic_energy(q, qd), np.einsum("bi,bij,bj->b", qd, B, qd) / 2)


def test_forward_dynamics_of_inverse_dynamics_of_thirty_joints(robot):
    q, qd, qdd = state(robot, np.random.default_rng(4), (5,))
    tau = robot.inverse_dynamics(q, qd, qdd)
    condition = np.linalg.cond(robot.inertia(q)).max()
    assert_same(robot.forward_dynamics(q, qd, tau), qdd, 1e-14 * condition)


@pytest.mark.slow
def test_regressor_times_parameters_of_thirty_joints(robot):
    q, qd, qdd = state(robot, np.random.default_rng(5))
    assert_same(robot.regressor(q, qd, qdd) @ robot.parameters, robot.inverse_dynamics(q, qd, qdd))


def test_plates_on_plates_and_no_exact_products(monkeypatch):
    """Numbers must not wait for exact products of rotations by any angle."""
    body = {"mass": 1, "com": [0.1, 0.2, 0.3], "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.1, "xy": 0.01}}
    arm = {"name": "arm", "joint": "revolute", "origin": {"xyz": [0, 0, 1]}, "axis": [0, 0, 1], **body}
    plates = [
        {"joint": "fixed", "origin": {"xyz": [0.1, 0.2, 0.3], "rpy": [0.1 + i, 0.2 + i, 0.3 + i]}, **body}
        for i in range(3)
    ]
    table = {"name": "plates", "convention": "frames", "gravity": [0, 0, -9.81], "link": [arm, *plates]}
    robot = Robot.from_dict(table)
    products = []
    monkeypatch.setattr(Expression, "__mul__", lambda a, b: products.append((a, b)) or a)
    assert np.isfinite(robot.gravity([0.3])).all()
    assert len(products) < 20
