"""What the description of an elastic joint must have, and cannot have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armdyn import ArmdynError, Robot
from elastic_arms import single, two_links


def changed(motor: dict[str, Any], **link: Any) -> dict[str, Any]:
    own: dict[str, Any] = {"gear": 50, "inertia": 1e-4, "stiffness": 100} | motor
    joint = {
        "name": "rod",
        "joint": "revolute",
        "origin": {"xyz": [0, 0, 0]},
        "axis": [0, 0, 1],
        "mass": 1,
        "com": [1, 0, 0],
    }
    head = {"name": "arm", "convention": "frames", "gravity": [0, 0, 0]}
    return {**head, "link": [{**joint, "motor": own, **link}]}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (changed({"inertia": 0}), "motor.inertia: found 0; the motor of an elastic joint needs a positive"),
        (changed({"stiffness": 0}), "motor.stiffness: found 0; a positive number"),
        (changed({"stiffness": -1}), "motor.stiffness: found -1"),
        (changed({"damping": -1}), "motor.damping: found -1; zero or positive"),
        (
            changed({"friction": {"coulomb": [1, -2]}}),
            "friction.coulomb: the motor of an elastic joint takes one",
        ),
        (
            changed({}, friction={"load": 0.1}),
            "friction.load: no torque acts on the link of an elastic joint",
        ),
    ],
)
def test_what_an_elastic_joint_cannot_be(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ArmdynError) as found:
        Robot.from_dict(table)
    assert message in str(found.value)
    assert "'rod'" in str(found.value)


def test_an_elastic_joint_may_be_what_a_rigid_one_is() -> None:
    """The same entries without stiffness; numbers of identified parameters are not judged."""
    table = changed({"inertia": 0, "friction": {"coulomb": [1, -2]}}, friction={"load": 0.1})
    del table["link"][0]["motor"]["stiffness"]
    assert Robot.from_dict(table).n == 1
    robot = single()
    assert not robot.with_parameters([0] * len(robot.parameters)).parameters.any()


def test_changes_of_elastic_robots() -> None:
    robot = two_links((1, 0))
    assert robot.n == 4
    assert robot.with_rotors("none").n == robot.with_rigid_joints().n == 2
    assert robot.with_rigid_joints().model.moving[0].motor is not None
    assert robot.with_rigid_joints() == robot.with_rigid_joints().with_rigid_joints()
    stiffer = robot.with_motors({"link 1": {"stiffness": 5000}})
    names = dict(zip(stiffer.parameter_names, stiffer.parameters, strict=True))
    assert (names["Ke1"], names["Ke2"], names["De1"]) == (5000, 500, 1)
    assert robot.symbolic().symbols["Ke1"] == 900
    assert robot.symbolic().symbols["De1"] == 1
    assert Robot.from_toml(robot.to_toml()).parameter_names == robot.parameter_names
    assert "2 elastic" in repr(robot)


def test_a_spring_is_slack_where_link_and_motor_are_at_one_place_also_behind_a_relation() -> None:
    table = two_links().to_dict()
    table["closure"] = [{"relation": {"link 2": 1, "link 1": 1}, "offset": "pi/4"}]
    table["link"][1]["spring"] = {"stiffness": 30, "rest": 0.2}
    robot = Robot.from_dict(table)
    q = 0.3
    second = np.pi / 4 - q
    at = [q, q, second]
    assert robot.coordinates == ("link 1", "link 1 motor", "link 2 motor")
    np.testing.assert_allclose(robot.springs(at), [-30 * (second - 0.2), 0, 0], atol=1e-12)
    weightless = robot.with_gravity([0, 0, 0])
    assert weightless.potential_energy(at) == pytest.approx(30 * second * (second / 2 - 0.2))
    named = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    assert named["Kr2"] == pytest.approx(6)
    assert robot.with_parameters(robot.parameters).parameters.tolist() == robot.parameters.tolist()
    states = np.random.default_rng(1).uniform(-1, 1, (3, 3))
    np.testing.assert_allclose(
        robot.regressor(*states) @ robot.parameters, robot.inverse_dynamics(*states), atol=1e-10
    )
    assert robot.symbolic().equations().springs[2] == "Ke2*(q1 + q3 - 1/4*pi)"
