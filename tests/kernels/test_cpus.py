"""Code for older processors ($ARMDYN_CPU), run here: its registers, its numbers, its place in the cache."""

import os
import platform
import re
import subprocess
import sys

import pytest

SCRIPT = """
from armdyn.kernels.llvm import machine
print(machine.vector_bytes())
import numpy as np
from armdyn import Robot, backend, simulate

robot, random = Robot.load("puma560"), np.random.default_rng(6)
for dtype, tolerance in ((np.float64, 1e-11), (np.float32, 1e-4)):
    given = random.uniform(-2, 2, (3, 37, robot.n)).astype(dtype)
    with backend("evaluator"):
        right = robot.inverse_dynamics(*given)
    found = robot.inverse_dynamics(*given)
    assert found.dtype == dtype
    assert np.abs(found - right).max() <= tolerance * np.abs(right).max()
    row = robot.inverse_dynamics(*given[:, 0])  # code for one row
    assert np.abs(row - right[0]).max() <= tolerance * np.abs(right[0]).max()
run = simulate(Robot.load("planar"), [0.3, 0.5], [0, 0], 0.2)  # a loop
with backend("evaluator"):
    slow = simulate(Robot.load("planar"), [0.3, 0.5], [0, 0], 0.2)
assert np.abs(run.q[-1] - slow.q[-1]).max() < 1e-9
"""
LEVELS = {"x86-64": 16, "x86-64-v2": 16, "x86-64-v3": 32, "x86-64-v4": 64}
x86 = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="not an x86-64: it has no levels"
)


def under(level, folder, script=SCRIPT):
    path = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "ARMDYN_CPU": level, "ARMDYN_CACHE": str(folder), "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@x86
@pytest.mark.parametrize(
    "level",
    ["x86-64", *(pytest.param(x, marks=pytest.mark.slow) for x in ("x86-64-v2", "x86-64-v3", "x86-64-v4"))],
)
def test_code_for_a_level_and_the_evaluator(level, tmp_path):
    done = under(level, tmp_path)
    if "on this processor" in done.stderr:
        pytest.skip(f"this processor is below {level}")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) == LEVELS[level]


MADE = """
from armdyn.kernels.llvm import machine
text = "define <8 x double> @f(<8 x double> %x) { %y = fadd <8 x double> %x, %x ret <8 x double> %y }"
print(machine._target_machine().emit_assembly(machine._llvm().parse_assembly(text)), machine.toolchain())
"""


@x86
def test_a_level_uses_no_newer_registers_and_has_files_of_its_own(tmp_path):
    found = {}
    for level in ("x86-64", "x86-64-v3"):
        done = under(level, tmp_path, MADE)
        if "on this processor" in done.stderr:
            pytest.skip(f"this processor is below {level}")
        assert done.returncode == 0, done.stderr
        assembly, _, found[level] = done.stdout.rpartition("\n\t.section")
        assert set(re.findall("[xyz]mm", assembly)) == ({"xmm"} if level == "x86-64" else {"ymm"})
    assert found["x86-64"] != found["x86-64-v3"]  # part of every file's name


BITS = """
import hashlib
import llvmlite.binding as llvm

if {poor}:  # a processor without SSE3
    features = llvm.get_host_cpu_features()
    for name in features:
        features[name] = name in ("64bit", "cmov", "cx8", "fxsr", "mmx", "sse", "sse2")
    llvm.get_host_cpu_name, llvm.get_host_cpu_features = lambda: "k8", lambda: features
import numpy as np
from armdyn import Robot
from armdyn.kernels.llvm import machine

code, compile_ir = hashlib.sha256(), machine.compile_ir

def compiled(*given, **options):
    made = compile_ir(*given, **options)
    code.update(made)
    return made

machine.compile_ir = compiled
robot, found = Robot.load("puma560"), hashlib.sha256()
for dtype in (np.float64, np.float32):
    given = (np.arange(3 * 37 * robot.n) * 29 % 97 / 32 - 1.5).reshape(3, 37, robot.n).astype(dtype)
    found.update(robot.inverse_dynamics(*given).tobytes())
    found.update(robot.inverse_dynamics(*given[:, 0]).tobytes())
print(code.hexdigest(), found.hexdigest())
"""
FOUND = "69e4cbd37744b14114aed31fa4e465fd56f68e5324a7d344b874e44f0ee908bb"


@x86
def test_code_for_a_level_and_its_numbers_on_any_processor(tmp_path):
    rich, poor = (
        under("x86-64", tmp_path / str(poor), BITS.replace("{poor}", str(poor))) for poor in (False, True)
    )
    assert rich.returncode == poor.returncode == 0, rich.stderr + poor.stderr
    assert rich.stdout == poor.stdout
    assert rich.stdout.split()[1] == FOUND


def test_a_level_that_is_not_there_is_refused(tmp_path):
    done = under("pentium", tmp_path)
    assert done.returncode == 1
    assert "ArmdynError: ARMDYN_CPU: found 'pentium'; on this processor (" in done.stderr
