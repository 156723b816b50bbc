"""`cupy`: the real one where it has a GPU, else one that runs on the CPU and compiles CUDA text as C++."""

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

_kept = []


def _real():
    """CuPy with a GPU, or None."""
    if importlib.util.find_spec("cupy") is None:
        return None
    try:
        import cupy

        cupy.zeros(1)
    except Exception:
        return None
    return cupy


def _stand_in():
    spec = importlib.util.spec_from_file_location("cupy", Path(__file__).with_name("cupy_on_cpu.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.MODULES["cupy"]


def _found():
    if not _kept:
        here = "cupy" in sys.modules
        real = _real()
        if real is None and not here:
            sys.modules.pop("cupy", None)  # half imported
        _kept.append((real or _stand_in(), real is not None))
    return _kept[0]


@pytest.fixture(autouse=True)
def _first_robots():
    """Robots that tests share stay the first of their structure."""


@pytest.fixture
def cupy(monkeypatch):
    """CuPy, under its name in `sys.modules`."""
    module, real = _found()
    if not real:
        if shutil.which("g++") is None:
            pytest.skip("there is neither CuPy with a GPU nor g++ to compile CUDA text as C++")
        for name, part in module.MODULES.items():
            monkeypatch.setitem(sys.modules, name, part)
    return module


@pytest.fixture
def stand_in(cupy):
    """The CuPy that runs on the CPU: it counts what makes a program wait for the GPU."""
    if not hasattr(cupy, "waits"):
        pytest.skip("CuPy is the real one, which counts nothing")
    return cupy
