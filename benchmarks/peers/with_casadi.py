"""CasADi: our algorithms on its symbols, its generated C compiled with FLAGS, in a C loop over the rows."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import casadi
import numpy as np
from timing import Call

from armdyn import Robot, dynamics
from peers.peer import Peer, State, Unsuitable

FOLDER = Path(__file__).resolve().parent.parent.parent / "build" / "benchmarks" / "casadi"
FLAGS = ("-O3", "-march=native")
LIBRARY = ("-shared", "-fPIC", "-fno-semantic-interposition")  # the last: inline as in a program
_ALGORITHMS = {
    "inverse_dynamics": (dynamics.inverse_dynamics, 3),
    "forward_dynamics": (dynamics.forward_dynamics, 3),
    "inertia": (dynamics.inertia_matrix, 1),
}
_LARGEST = {"inverse_dynamics": 50}  # joints: beyond, gcc takes minutes
_DRIVER = """
#include "function.c"
void rows(const double **in, double *out, long count) {
  casadi_int iw[SZ_IW + 1];
  double w[SZ_W + 1];
  for (long i = 0; i < count; ++i) {
    const double *arg[SZ_ARG] = {ARGUMENTS};
    double *res[SZ_RES] = {out + i * OUTPUTS};
    f(arg, res, iw, w, 0);
  }
}
"""


class CasADi(Peer):
    name = "CasADi"
    package = "casadi"

    def __init__(self, robot: Robot) -> None:
        if shutil.which("gcc") is None:
            raise Unsuitable("needs gcc")
        self.robot = robot
        self._functions: dict[str, Any] = {}

    def single(self, function: str, state: State) -> Call | None:
        return None  # a call from Python goes through its own machinery: not what it is good at

    def batch(self, function: str, states: State, threads: int) -> Call | None:
        if function not in _ALGORITHMS or self.robot.n > _LARGEST.get(function, 7):
            return None
        if function not in self._functions:
            self._functions[function] = self._compiled(function)
        call, takes = self._functions[function], _ALGORITHMS[function][1]
        rows = len(states[0])
        size = self.robot.n * (self.robot.n if function == "inertia" else 1)
        result = np.empty((rows, size))
        edges = [rows * k // threads for k in range(threads + 1)]
        parts = []
        for a, b in pairwise(edges):
            pointers = (ctypes.c_void_p * takes)(*(x[a:].ctypes.data for x in states[:takes]))
            parts.append((pointers, result[a:].ctypes.data, b - a))
        pool = ThreadPoolExecutor(threads) if threads > 1 else None
        return Call(_run, (call, parts, pool, result), rows=rows, note="generated C")

    def read_batch(self, function: str, result: Any, states: State) -> Any:
        n = self.robot.n
        return result.reshape(-1, n, n) if function == "inertia" else result

    def _compiled(self, function: str) -> Any:
        algorithm, takes = _ALGORITHMS[function]
        n = self.robot.n
        columns = [casadi.SX.sym(name, n) for name in ("q", "qd", "x")[:takes]]
        values = algorithm(self.robot.mechanism, *([c[i] for i in range(n)] for c in columns))
        flat = [x for row in values for x in row] if function == "inertia" else values
        f = casadi.Function("f", columns, [casadi.cse(casadi.vertcat(*flat))])
        generator = casadi.CodeGenerator("function.c", {"with_header": False})
        generator.add(f)
        words = {
            "ARGUMENTS": ", ".join(f"in[{k}] + i * {n}" for k in range(takes)),
            "OUTPUTS": f.numel_out(0),
            "SZ_ARG": f.sz_arg(),
            "SZ_RES": f.sz_res(),
            "SZ_IW": f.sz_iw(),
            "SZ_W": f.sz_w(),
        }
        definitions = "".join(f"#define {name} {value}\n" for name, value in words.items())
        return _built(generator.dump(), definitions + _DRIVER)


def _built(source: str, driver: str) -> Any:
    """The compiled loop, kept under build/ by its source."""
    key = hashlib.sha256(" ".join((source, driver, *FLAGS, *LIBRARY)).encode()).hexdigest()[:24]
    folder = FOLDER / key
    library = folder / "rows.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "function.c").write_text(source, "utf-8")
        (folder / "driver.c").write_text(driver, "utf-8")
        new = folder / "new.so"
        command = ["gcc", *FLAGS, *LIBRARY, "-o", str(new), str(folder / "driver.c"), "-lm"]
        subprocess.run(command, check=True, capture_output=True, text=True)
        new.replace(library)
    call = ctypes.CDLL(str(library)).rows
    call.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
    call.restype = None
    return call


def _run(call: Any, parts: list[Any], pool: ThreadPoolExecutor | None, result: np.ndarray) -> np.ndarray:
    futures = [pool.submit(call, *part) for part in parts[1:]] if pool else []
    call(*parts[0])
    for future in futures:
        future.result()
    return result


PEER = CasADi
