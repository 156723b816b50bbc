"""C export: strict C99, no dependency but libm, and the same numbers as the kernels."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from typer.testing import CliRunner

from armdyn import Robot
from armdyn.cli import app
from armdyn.kernels import FUNCTIONS
from armdyn.kernels.c import identifier

CC = shutil.which("cc") or shutil.which("gcc")
STRICT = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
needs_compiler = pytest.mark.skipif(CC is None, reason="no C compiler on this machine")


def exported(robot, folder, *options):
    result = CliRunner().invoke(app, ["export", "c", robot, "-o", str(folder), "--prefix", "arm", *options])
    assert result.exit_code == 0, result.output
    return folder


@needs_compiler
@pytest.mark.parametrize("robot", ["planar", "pendulum", "scara", "elbow", "puma560"])
@pytest.mark.parametrize("options", [[], ["--float"]], ids=["double", "float"])
def test_exported_test_program_and_strict_compiler(tmp_path, robot, options):
    """Every function of arms with prismatic joints, rotors and friction."""
    exported(robot, tmp_path, "--functions", "all", *options)
    subprocess.run([CC, *STRICT, "arm.c", "test_arm.c", "-lm", "-o", "test"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "test"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count(": ok") == len(done.stdout.splitlines()) >= len(FUNCTIONS)


@needs_compiler
def test_test_program_and_a_wrong_function(tmp_path):
    exported("planar", tmp_path, "--functions", "gravity")
    source = (tmp_path / "arm.c").read_text().replace(" + ", " - ", 1)
    (tmp_path / "arm.c").write_text(source)
    subprocess.run([CC, *STRICT, "arm.c", "test_arm.c", "-lm", "-o", "test"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "test"], capture_output=True, check=False).returncode != 0


@needs_compiler
def test_c_and_kernels(tmp_path):
    exported("puma560", tmp_path, "--functions", "inverse_dynamics,forward_dynamics")
    command = [CC, *STRICT, "-shared", "-fPIC", "arm.c", "-lm", "-o", "arm.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    library, robot = ctypes.CDLL(str(tmp_path / "arm.so")), Robot.load("puma560")
    rng = np.random.default_rng(3)
    for _ in range(20):
        states = list(rng.uniform(-3, 3, (3, 6)))
        for name in ("inverse_dynamics", "forward_dynamics"):
            out = np.empty(6)
            getattr(library, f"arm_{name}")(*(ctypes.c_void_p(x.ctypes.data) for x in (*states, out)))
            expected = getattr(robot, name)(*states)
            np.testing.assert_allclose(out, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_header_says_shapes_units_counts_and_origin(tmp_path):
    exported("planar", tmp_path, "--functions", "inertia")
    header = (tmp_path / "arm.h").read_text()
    for part in (
        "two-link planar arm",
        "armdyn",
        "q[2]",
        "[rad or m]",
        "(2x2)",
        "operations:",
        "arm_inertia",
    ):
        assert part in header


def test_two_exports_are_the_same_bytes(tmp_path):
    for folder in ("a", "b"):
        exported("scara", tmp_path / folder, "--functions", "all")
    for name in ("arm.h", "arm.c", "test_arm.c"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize("text", ["2R arm", "é", "", "a-b c", "PUMA 560"])
def test_any_name_and_a_c_identifier(text):
    assert identifier(text).isidentifier()
    assert identifier(text).isascii()


def test_unknown_function_is_named(tmp_path):
    result = CliRunner().invoke(app, ["export", "c", "planar", "-o", str(tmp_path), "--functions", "torque"])
    assert result.exit_code != 0
    assert "torque" in str(result.exception)
    assert "inverse_dynamics" in str(result.exception)
