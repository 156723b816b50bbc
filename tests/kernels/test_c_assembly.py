"""Robots with loops as C: the assembly, and functions of the posture that it gives."""

import ctypes
import subprocess

import numpy as np
import pytest

from armdyn import Robot
from arms import slowly
from closed_chains import five_bar_table, random_loop, reference
from kernels.test_c_export import CC, STRICT, exported, needs_compiler

RUBS = {"viscous": 0.4, "coulomb": 0.6}


@needs_compiler
@pytest.mark.parametrize("options", [[], slowly(["--float"])], ids=["double", "float"])
def test_the_test_program_of_a_five_bar(tmp_path, options):
    path = Robot.from_dict(five_bar_table(friction=RUBS)).save(tmp_path / "robot.toml")
    exported(str(path), tmp_path / "c", "--functions", "all", *options)
    command = [CC, *STRICT, "arm.c", "test_arm.c", "-lm", "-o", "test"]
    subprocess.run(command, cwd=tmp_path / "c", check=True)
    done = subprocess.run([tmp_path / "c" / "test"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "assemble y: ok" in done.stdout


@needs_compiler
def test_c_and_kernels(tmp_path):
    robot = random_loop(7)
    path = robot.save(tmp_path / "robot.toml")
    exported(str(path), tmp_path / "c", "--functions", "inverse_dynamics")
    command = [CC, *STRICT, "-shared", "-fPIC", "arm.c", "-lm", "-o", "arm.so"]
    subprocess.run(command, cwd=tmp_path / "c", check=True)
    library = ctypes.CDLL(str(tmp_path / "c" / "arm.so"))
    posture = np.array((ctypes.c_double * robot.mechanism.positions).in_dll(library, "arm_posture"))
    np.testing.assert_array_equal(posture, robot.model.choice.posture)
    rng = np.random.default_rng(3)
    for _ in range(5):
        x = reference(robot) + rng.uniform(-0.1, 0.1, robot.n)
        y, state, tau = np.empty(robot.mechanism.positions), np.empty(3), np.empty(robot.n)
        qd, qdd = rng.normal(size=(2, robot.n))
        pointers = {id(a): ctypes.c_void_p(a.ctypes.data) for a in (x, posture, y, state, qd, qdd, tau)}
        library.arm_assemble(*(pointers[id(a)] for a in (x, posture, y, state)))
        library.arm_inverse_dynamics(*(pointers[id(a)] for a in (y, qd, qdd, tau)))
        assert state[0] == 0
        np.testing.assert_allclose(y, robot.assembly(x), rtol=0, atol=1e-11)
        expected = robot.inverse_dynamics(x, qd, qdd)
        np.testing.assert_allclose(tau, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_the_header_says_what_q_is(tmp_path):
    path = Robot.from_dict(five_bar_table()).save(tmp_path / "robot.toml")
    exported(str(path), tmp_path / "c", "--functions", "gravity")
    header = (tmp_path / "c" / "arm.h").read_text()
    assert "joint 2: left forearm (revolute), follows" in header
    assert "joint 3: right arm (revolute), coordinate 2" in header
    assert "q[4]: positions of all joints listed above, loops closed: what arm_assemble gives" in header
    assert "extern const double arm_posture[4];" in header
