"""What a type checker accepts and refuses in calls of the numeric methods.

Nothing runs this file: mypy reads it, and an `ignore` that is not needed is an error.
"""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

from armdyn import BaseMotion, Robot, backend
from armdyn.kernels.arrays import Floats

robot = Robot.load("planar")
q64: NDArray[np.float64] = np.zeros((5, 2))
q32: NDArray[np.float32] = np.zeros(2, np.float32)

# Accepted: arrays of floats and integers, and lists and tuples of numbers up to three deep.
assert_type(robot.inverse_dynamics(q64, [0, 1.5], (0.0, 1)), Floats)
assert_type(robot.inertia([[0.0, 1.0], [2.0, 3.0]]), Floats)
assert_type(robot.gravity([[[0, 1]]], out=np.empty((1, 1, 2))), Floats)
assert_type(robot.jacobian(np.zeros(2, int), "link 1"), Floats)
assert_type(robot.gravity([q64[0], q64[1]]), Floats)
assert_type(robot.inverse_dynamics_derivatives(q32, q32, q32), tuple[Floats, Floats, Floats])
assert_type(robot.inverse_dynamics_second_derivatives(q32, q32, q32), tuple[Floats, Floats, Floats, Floats])
assert_type(robot.forward_dynamics_hessian_product(q32, q32, q32, q32), Floats)
robot.inverse_dynamics(q64, q64, q64, [0.0] * 6, base=BaseMotion([0, 0, 1]), parameters=robot.parameters)
robot.forward_dynamics(q64, q64, q64, base=BaseMotion([0, 0, 1]))
assert_type(robot.jacobian(q64, "link 1", "com"), Floats)
assert_type(robot.jacobian_dot(q64, q64, "link 1", [0.1, "a1/2", 0]), Floats)
assert_type(robot.rotor_jacobian(q64, "link 2"), Floats)
robot.com_position(q64, "link 1").round(3)
round(float(robot.kinetic_energy([0, 1], [1, 0])), 3)
robot.gravity(q64)[0].round(3)

robot.compile("gravity", ("inverse_dynamics", "wrench"))
with backend("evaluator"):
    robot.gravity(q64)

# Refused.
complex_numbers: NDArray[np.complex128] = np.zeros(2, np.complex128)
truth_values: NDArray[np.bool] = np.zeros(2, np.bool)
robot.gravity("0, 1")  # type: ignore[arg-type]
robot.gravity(None)  # type: ignore[arg-type]
robot.gravity(1.0)  # type: ignore[arg-type]
robot.gravity({"q1": 0.0})  # type: ignore[arg-type]
robot.gravity(["0", "1"])  # type: ignore[arg-type]
robot.gravity([1j, 0])  # type: ignore[arg-type]
robot.gravity(complex_numbers)  # type: ignore[arg-type]
robot.gravity(truth_values)  # type: ignore[arg-type]
robot.gravity(q64, out=[0.0, 0.0])  # type: ignore[arg-type]
robot.inverse_dynamics(q64, q64, q64, base=[0, 0, 1])  # type: ignore[arg-type]
robot.inverse_dynamics(q64, q64)  # type: ignore[call-arg]
robot.compile(["gravity"])  # type: ignore[arg-type]
backend("llvm")  # type: ignore[arg-type]
