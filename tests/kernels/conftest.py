"""Compiled code of these tests is kept in a folder of their own; settings are put back."""

import os

import pytest

from armdyn.kernels import set_threads
from armdyn.kernels.llvm import compiled


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory):
    """Processes that run parts of the tests share what they compile."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "objects"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARMDYN_CACHE", str(folder))
        yield


@pytest.fixture(autouse=True)
def _threads():
    yield
    set_threads(None)


@pytest.fixture(autouse=True)
def _first_robots(monkeypatch):
    """The first robot of each structure in a test is the first there is: its numbers become constants."""
    monkeypatch.setattr(compiled, "_first", {})


@pytest.fixture
def fresh_cache(tmp_path, monkeypatch):
    """An empty folder for compiled code: what is compiled here was not compiled before."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("ARMDYN_CACHE", str(folder))
    return folder
