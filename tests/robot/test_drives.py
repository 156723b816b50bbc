"""The motors of a robot as arrays, and methods made from rows of the table of functions."""

import inspect

import numpy as np
import pytest

from armdyn import Robot, dynamics
from armdyn.robot.functions import FUNCTIONS, Function, Result
from armdyn.robot.robot import _method

ARRAYS = ("transmission", "by_position", "shift", "to_motors", "given", "torque_constant")


@pytest.mark.parametrize("name", ["planar", "tx40", "stanford", "elastic_link", "gripper"])
def test_drives_are_arrays_that_cannot_be_changed(name):
    robot = Robot.load(name)
    drives = robot.drives
    m = len(drives)
    assert len(drives.names) == len(drives.geared) == len(drives.units) == m
    assert drives.transmission.shape == drives.to_motors.shape == (m, robot.n)
    assert np.allclose(drives.transmission.T @ drives.to_motors @ drives.given, drives.given)
    limits = (drives.limits.torque, drives.limits.velocity, drives.limits.current)
    assert all(x.shape == (m,) for x in (*limits, drives.torque_constant, drives.shift))
    for x in (*limits, *(getattr(drives, key) for key in ARRAYS)):
        with pytest.raises(ValueError, match="read-only"):
            x[...] = 0
    with pytest.raises(AttributeError):
        drives.model = robot.model
    assert robot.drives is drives
    assert drives == Robot.load(name).drives


def test_a_row_is_enough_for_a_method():
    row = Function(("q", "qd"), (Result(("n",), "torques"),), dynamics.coriolis_matrix)
    method = _method("coriolis", row)
    robot, x = Robot.load("planar3"), np.array([0.3, 0.5, -0.2])
    assert (
        str(inspect.signature(method))
        == "(self, q, qd, *, parameters=None, symbols=None, near=None, out=None)"
    )
    assert method.__doc__ == "Torques: (..., n)."
    out = np.empty((3, 3))
    assert method(robot, x, qd=x, out=out) is out
    np.testing.assert_array_equal(out, robot.coriolis(x, x))
    double = method(robot, x, x, parameters=2 * robot.parameters)
    np.testing.assert_allclose(double, 2 * out, rtol=1e-12, atol=1e-15)
    with pytest.raises(TypeError, match="missing a required argument: 'qd'"):
        method(robot, x)


def test_every_row_has_a_method():
    assert all(callable(getattr(Robot, name)) for name in FUNCTIONS)
