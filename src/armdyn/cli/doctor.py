"""The verb `doctor`: what is installed, what works, and what the cache holds."""

from __future__ import annotations

import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer

from armdyn import __version__
from armdyn.expression import ArmdynError
from armdyn.kernels import backend, cache, get_threads, set_threads
from armdyn.kernels.llvm.machine import cpu, llvm_versions, vector_bytes
from armdyn.names import one_line
from armdyn.robot import Robot

_LIMIT = 120  # seconds a trial may take


class Finding(NamedTuple):
    """A line of the diagnosis."""

    what: str
    text: str
    works: bool = True


def doctor(
    clear_cache: Annotated[
        bool, typer.Option("--clear-cache", help="Delete the compiled functions from the cache.")
    ] = False,
) -> None:
    """Show what is installed, which backends work and where the cache is. Exit code 1 if something fails."""
    if clear_cache:
        _clear()
        return
    failing = []
    for finding in _findings():
        print(f"{finding.what + ':':<15}{one_line(finding.text)}", flush=True)
        failing += [] if finding.works else [finding.what]
    print(f"{'result:':<15}{', '.join(failing)}: see above" if failing else f"{'result:':<15}all works")
    if failing:
        raise typer.Exit(1)


def _clear() -> None:
    try:
        folder = cache.cache_folder()
    except RuntimeError as error:
        raise ArmdynError(f"cache: {error}") from None
    count, size = cache.clear()
    print(f"removed {count} files, {_megabytes(size)}, from {one_line(str(folder))}")


def _findings() -> Iterator[Finding]:
    yield Finding("armdyn", f"{__version__}, in {Path(__file__).parent.parent}")
    yield Finding("Python", f"{platform.python_version()} ({platform.platform()})")
    yield from _packages()
    yield _found("processor", _processor)
    yield _found("threads", lambda: str(get_threads()))
    for what in ("evaluator", "compiled", "parallel"):
        yield _found(what, partial(_tried, what))
    yield Finding("C compiler", _c_compiler())
    yield Finding("GPU", _gpu())
    yield from _cache()


def _found(what: str, find: Callable[[], str]) -> Finding:
    """A finding; one that fails is reported with its error instead of ending the doctor."""
    try:
        return Finding(what, find())
    except Exception as error:
        return Finding(what, f"FAILS: {str(error) or type(error).__name__}", False)


# ---- packages ----------------------------------------------------------------------------------------------


def _packages() -> Iterator[Finding]:
    """Each required package with its version; the optional packages of each extra on one line."""
    try:
        requirements = metadata.requires("armdyn") or []
    except metadata.PackageNotFoundError:
        yield Finding("packages", "unknown: armdyn runs from source and is not installed")
        return
    extras: dict[str, list[str]] = {}
    for requirement in requirements:
        name = re.match(r"[\w.-]+", requirement)
        extra = re.search(r"extra\s*==\s*['\"]([\w-]+)", requirement)
        if name is not None and extra is not None:
            extras.setdefault(extra[1], []).append(f"{name[0]} {_version_of(name[0]) or 'missing'}")
        elif name is not None:
            yield _found(name[0], partial(_required, name[0]))
    for extra_name, found in sorted(extras.items()):
        yield Finding(f"[{extra_name}]", ", ".join(found) + " (optional)")


def _required(name: str) -> str:
    version = llvm_versions() if name == "llvmlite" else _version_of(name)
    if version is None:
        raise ArmdynError("not installed")
    return version


def _version_of(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    size, (name, features) = vector_bytes(), cpu()
    given = set(features.replace("+", "").split(","))
    known = ("sse2", "sse4.2", "avx", "avx2", "fma", "avx512f", "neon", "sve")
    has = " ".join([platform.machine(), *(feature for feature in known if feature in given)])
    asked = "" if features else "code for this level, as ARMDYN_CPU asks: "
    return f"{asked}{name} ({has}), registers of {8 * size} bits ({size // 8} doubles)"


def _c_compiler() -> str:
    found = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    return found or "none; only the library inside an FMU needs one"


def _gpu() -> str:
    """The GPUs that CuPy finds: nothing else needs one, so nothing fails without."""
    try:
        import cupy

        runtime = cupy.cuda.runtime
        found = [runtime.getDeviceProperties(k) for k in range(runtime.getDeviceCount())]
    except Exception as error:  # CuPy has many, of drivers and libraries that do not fit
        missing = isinstance(error, ModuleNotFoundError) and error.name == "cupy"
        return 'none: CuPy is not installed, pip install "armdyn[cuda]"' if missing else f"none: {error}"
    texts = [f"{one['name'].decode()} ({one['totalGlobalMem'] / 2**30:.3g} GiB)" for one in found]
    return ", ".join(texts) or "none"


# ---- backends ----------------------------------------------------------------------------------------------


def _tried(what: str) -> str:
    """Machine code runs in a separate process, so that a crash does not end the doctor; without the cache."""
    if what == "evaluator":
        trial(what)
        return "works"
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "ARMDYN_CACHE": folder, "ARMDYN_CACHE_SIZE": "", "ARMDYN_THREADS": ""}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        code = f"from armdyn.cli.doctor import trial; trial({what!r})"
        try:
            done = subprocess.run(
                [sys.executable, "-W", "ignore", "-c", code],
                env=environment,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ArmdynError(f"not done after {_LIMIT} s") from None
    if done.returncode < 0:
        raise ArmdynError(f"ended by {signal.Signals(-done.returncode).name}")
    if done.returncode:
        raise ArmdynError((done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1])
    return "works"


def trial(what: str) -> None:
    """Compare torques of a small arm by one backend, in double and single precision, with the evaluator's."""
    robot = Robot.load("planar")
    rows = 20_000 if what == "parallel" else 20
    inputs = np.random.default_rng(1).uniform(-1, 1, (3, rows, robot.n))
    with backend("evaluator"):
        expected = robot.inverse_dynamics(*inputs)
        back = robot.forward_dynamics(inputs[0], inputs[1], expected)
    _check("forward after inverse dynamics", back, inputs[2], 1e-9)
    if what == "evaluator":
        return
    set_threads(2 if what == "parallel" else 1)
    _check("double precision", robot.inverse_dynamics(*inputs), expected, 1e-12)
    _check("a single call", robot.inverse_dynamics(*inputs[:, 0]), expected[0], 1e-12)
    _check("single precision", robot.inverse_dynamics(*inputs.astype(np.float32)), expected, 1e-4)


def _check(what: str, found: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    error = float(np.abs(found - expected).max() / np.abs(expected).max())
    if not error <= tolerance:
        raise ArmdynError(f"{what}: relative error {error:.1e}")


# ---- cache -------------------------------------------------------------------------------------------------


def _cache() -> Iterator[Finding]:
    try:
        state = cache.state()
    except (ArmdynError, RuntimeError) as error:  # RuntimeError: a user without a home
        yield Finding("cache", f"FAILS: {error}", False)
        return
    held = f"{state.files} files, {_megabytes(state.size)} of at most {_megabytes(state.bound)}"
    yield Finding("cache", f"{state.folder}, {held}")
    if state.problem:
        yield Finding("cache use", f"FAILS: {state.problem}; each process compiles its functions", False)
    elif not state.bound:
        yield Finding("cache use", "nothing is kept: ARMDYN_CACHE_SIZE is 0")
    else:
        yield Finding("cache use", "works")
    yield Finding("to clear it", "armdyn doctor --clear-cache")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.4g} MB"
