"""Too little memory is a MemoryError, never a signal. Each test is a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of address space as on Linux")

TOOLS = """
import ctypes, numpy.ma, random, resource, sys, warnings
from pathlib import Path

import numpy as np

from armdyn import PhysicsWarning, Robot, set_threads
from armdyn.kernels.llvm.machine import toolchain
from arms import Part, Plan, table_of
from kernel_tools import arguments, kernel_of

warnings.simplefilter("ignore", PhysicsWarning)
set_threads(1)
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


def chain(n):
    rng = random.Random(3)
    names = ["base", *(f"link {i}" for i in range(n))]
    joints = [rng.choice(["revolute", "prismatic"]) for _ in range(n)]
    parts = [Part(names[i + 1], names[i], joints[i], rng.choice(names), (), True) for i in range(n)]
    return Robot.from_dict(table_of(Plan(tuple(parts), "exact", names[-1], 3)))


def limit(more):
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, resource.RLIM_INFINITY))


def without_memory(call):
    '''What a call ends with when nothing larger than 8 kB can be had, and when it can again.'''
    limit(0)
    taken = []
    for size in (1 << 24, 1 << 20, 1 << 16, 1 << 13):
        while block := libc.malloc(size):
            taken.append(block)
    try:
        call()
    except MemoryError as error:
        found = f"MemoryError {error}"
    else:
        found = "a result"
    for block in taken:
        libc.free(block)
    print(found)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return call()
"""

BATCH = """
robot = chain(32)
inputs = arguments(robot, "inverse_dynamics", (64,))
out, kernel = np.zeros((64, 32)), robot._kernels["inverse_dynamics"]
kernel.on("compiled").float64, kernel.on("compiled").quick
without_memory(lambda: kernel(*inputs, out=out))
assert np.allclose(out[5], robot.inverse_dynamics(*(x[5] for x in inputs)))
"""

SINGLE = """
kernel = kernel_of(lambda x: [x[0] * k for k in range(2500)], [1], [(2500,)], "many")
x = np.ones(1)
kernel.on("compiled").float64, kernel.on("compiled").quick
assert np.array_equal(without_memory(lambda: kernel(x)), np.arange(2500.0))
"""

COMPILING = """
robot = chain(32)
inputs = arguments(robot, "inverse_dynamics", (64,))
kernel = robot._kernels["inverse_dynamics"]
kernel.program
if len(sys.argv) == 2:
    toolchain()  # LLVM is there already
limit(int(sys.argv[1]) << 20)
try:
    found = robot.inverse_dynamics(*inputs)
except MemoryError as error:
    print("MemoryError")
else:
    print("a result", found.shape)
"""

MAPS = """
import mmap

robot, other, q = Robot.load("planar"), Robot.load("scara"), np.zeros(2)
robot.gravity(q)
taken = []
try:
    for _ in range(10**6):
        taken.append(mmap.mmap(-1, mmap.PAGESIZE))
except OSError:
    pass
del taken[-10:]
for _ in range(4):
    try:
        other.gravity(np.zeros(4))
    except MemoryError:
        print("MemoryError")
    robot.gravity(q)
taken.clear()
print(other.gravity(np.zeros(4)).shape)
"""


def ends(script, folder, *given):
    """What a script prints; it must end by itself."""
    tests = Path(__file__).resolve().parents[1] / "helpers"
    paths = os.pathsep.join([str(tests), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "ARMDYN_CACHE": str(folder), "PYTHONPATH": paths}
    command = [sys.executable, "-c", TOOLS + script, *map(str, given)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    return done.stdout.strip()


@pytest.mark.slow
def test_a_batch_of_a_long_chain(tmp_path):
    assert ends(BATCH, tmp_path) == "MemoryError inverse_dynamics: not enough memory"


@pytest.mark.slow
def test_a_single_call(tmp_path):
    assert ends(SINGLE, tmp_path).startswith("MemoryError")


@pytest.mark.parametrize(
    "megabytes", [4, *(pytest.param(mb, marks=pytest.mark.slow) for mb in (0, 12, 24, 200))]
)
def test_compiling_a_long_chain(tmp_path, megabytes):
    expected = "a result (64, 32)" if megabytes == 200 else "MemoryError"
    assert ends(COMPILING, tmp_path, megabytes) == expected


@pytest.mark.slow
def test_too_many_memory_maps(tmp_path):
    assert ends(MAPS, tmp_path).split() == ["MemoryError"] * 4 + ["(4,)"]


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [4, 100, 300])
def test_loading_llvm_itself(tmp_path, megabytes):
    """It is loaded when it is first needed."""
    expected = "a result (64, 32)" if megabytes == 300 else "MemoryError"
    assert ends(COMPILING, tmp_path, megabytes, "too") == expected
