"""Parameters of arms with elastic joints, from logs of links and motors."""

from __future__ import annotations

import numpy as np
import pytest

from armdyn import IdentificationError, Log, Robot, Trajectory, elastic_feedforward, excite, identify
from elastic_arms import two_links
from golden_messages import golden_error

POINTS = np.array([[0, 0], [1.2, -0.9], [-0.8, 1.1], [0.6, 0.7], [-1.3, -0.4], [0, 0]])


def recorded(robot: Robot) -> dict[str, np.ndarray]:
    """An exact log of a motion of the links that shows all parameters."""
    motion = Trajectory.through(POINTS, np.arange(len(POINTS)) * 0.35, kind="quintic", step=2e-3)
    plan = elastic_feedforward(robot, motion)
    at = plan.trajectory
    return {"t": at.t, "q": at.q, "qd": at.qd, "qdd": at.qdd, "tau": plan.torques}


def test_stiffness_and_damping_from_links_and_motors() -> None:
    """Base parameters of the true robot from its log, described with other numbers; motor torques, too."""
    true = two_links((3, 2), stiffness=(900, 500)).with_rotors("reflected")
    described = two_links((1, 1), stiffness=(700, 700)).with_rotors("reflected")
    log = recorded(true)
    motor_torque = log.pop("tau")[:, 2:] / 60
    fit = identify(described, Log(**log, motor_torque=motor_torque), friction="given")
    found = dict(zip(fit.robot.parameter_names, fit.robot.parameters, strict=True))
    expected = dict(zip(true.parameter_names, true.parameters, strict=True))
    for name in ("Ke1", "Ke2", "De1", "De2", "Im1", "Im2", "Fvm1", "Fvm2"):
        assert found[name] == pytest.approx(expected[name], rel=1e-5), name
    assert not any("dead channel" in note for note in fit.notes)


def test_logs_of_motors_alone_are_refused() -> None:
    robot = two_links((3, 2)).with_rotors("reflected")
    log = recorded(robot)
    both = {"t": log["t"], "q": log["q"], "tau": log["tau"]}
    wrong = (
        {**both, "q": log["q"][:, 2:], "tau": log["tau"][:, 2:]},
        {**both, "tau": log["tau"][:, 2:]},
        {"t": log["t"], "motor_position": 60 * log["q"][:, 2:], "motor_torque": log["tau"][:, 2:] / 60},
    )
    for given in wrong:
        with golden_error(IdentificationError):
            identify(robot, Log(**given))
    with golden_error(IdentificationError):
        excite(robot, duration=2)
