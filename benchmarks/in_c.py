"""Inverse dynamics as C for a controller, a state after the other, beside the compiled kernel."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from run import best

from armdyn import Robot, get_threads, set_threads

TITLE = "C for a controller: time of inverse dynamics of one state"
ROWS = 100_000
MANY = """#include "arm.h"
void many(long rows, const {0} *q, const {0} *qd, const {0} *qdd, {0} *tau)
{{
    for (long k = 0; k < rows; ++k)
        arm_inverse_dynamics(q + {1} * k, qd + {1} * k, qdd + {1} * k, tau + {1} * k);
}}
"""


def measure() -> Iterator[tuple[str, float]]:
    before = get_threads()
    set_threads(1)
    try:
        for name in ("puma560", "panda"):
            yield from _of(Robot.load(name))
    finally:
        set_threads(before)


def _of(robot: Robot) -> Iterator[tuple[str, float]]:
    states = np.random.default_rng(1).uniform(-1.0, 1.0, (3, ROWS, robot.n))
    robot.compile("inverse_dynamics")
    yield f"{robot.name}: kernel, a batch", _time(lambda: robot.inverse_dynamics(*states))
    one, calls = states[:, 0], range(ROWS // 10)
    yield (
        f"{robot.name}: kernel, a call",
        10 * _time(lambda: [robot.inverse_dynamics(*one) for _ in calls]),
    )
    compiler = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if compiler is None:
        return
    for scalar in ("double", "float"):
        for libm in (True, False):
            library = "libm" if libm else "without libm"
            what = f"{robot.name}: C, {scalar}, {library}, {compiler} -O2"
            yield what, _time(_in_c(robot, scalar, libm, compiler, states))


def _in_c(robot: Robot, scalar: str, libm: bool, compiler: str, states: np.ndarray) -> Callable[[], object]:
    kind = np.dtype(np.float64 if scalar == "double" else np.float32)
    arrays = [*np.ascontiguousarray(states, kind), np.empty(states.shape[1:], kind)]
    with tempfile.TemporaryDirectory() as folder:
        robot.export_c(prefix="arm", scalar=scalar, libm=libm).write(folder)
        (Path(folder) / "many.c").write_text(MANY.format(scalar, robot.n))
        command = [compiler, "-std=c99", "-O2", "-shared", "-fPIC", "arm.c", "many.c", "-lm", "-o", "arm.so"]
        subprocess.run(command, cwd=folder, check=True)
        many = ctypes.CDLL(str(Path(folder) / "arm.so")).many
    tau = robot.inverse_dynamics(*states)
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in arrays]

    def call() -> object:
        return many(ctypes.c_long(ROWS), *pointers), arrays  # which live as long as they are pointed to

    call()
    np.testing.assert_allclose(arrays[-1], tau, rtol=1e-3, atol=1e-3 * abs(tau).max())
    return call


def _time(work: Callable[[], object]) -> float:
    return best(lambda: None, lambda _: work(), 20) / ROWS
