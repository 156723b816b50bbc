"""`armdyn --version` and `armdyn doctor`: what it says where all is well, and where something is not."""

import os
import subprocess
import sys
from importlib import metadata
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from armdyn import __version__
from armdyn.cli import app
from armdyn.cli import doctor as doctor_module
from armdyn.kernels import cache
from arms import slowly
from commands import run


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("ARMDYN_CACHE", str(folder))
    for name in ("ARMDYN_THREADS", "ARMDYN_CACHE_SIZE"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def no_trials(monkeypatch):
    """Trials are processes, which one test runs; the others are about the rest."""
    monkeypatch.setattr(doctor_module, "_tried", lambda what: "works")


def findings(text):
    pairs = (line.split(":", 1) for line in text.splitlines())
    return {what: found.strip() for what, found in pairs}


def failing():
    """What a doctor who finds something says; no traceback."""
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stderr == ""
    return findings(result.stdout)


def test_version():
    assert run("--version") == f"armdyn {__version__}\n"
    assert run("--version", "doctor") == f"armdyn {__version__}\n"  # before any verb


def test_a_healthy_installation(own_cache):
    found = findings(run("doctor"))
    assert found["armdyn"].startswith(__version__)
    assert found["Python"].startswith(".".join(map(str, sys.version_info[:3])))
    for name in ("numpy", "scipy", "python-flint", "sympy", "matplotlib"):
        assert found[name] == metadata.version(name)
    assert found["llvmlite"].startswith(f"{metadata.version('llvmlite')} (LLVM ")
    assert "hypothesis" in found["[dev]"]
    assert "registers of" in found["processor"]
    assert int(found["threads"]) >= 1
    assert [found[what] for what in ("evaluator", "compiled", "parallel", "cache use")] == ["works"] * 4
    assert found["cache"] == f"{own_cache}, 0 files, 0 MB of at most 512 MB"  # trials leave nothing
    assert found["C compiler"]
    assert found["GPU"]
    assert found["result"] == "all works"
    assert found["to clear it"] == "armdyn doctor --clear-cache"


@pytest.mark.usefixtures("no_trials")
def test_clearing_the_cache(own_cache):
    cache.write(cache.digest_of("a"), bytes(10**6 - 48))
    cache.write(cache.digest_of("b"), bytes(10**6 - 48))
    (own_cache / "mine.o").write_bytes(b"not the cache's")
    assert findings(run("doctor"))["cache"] == f"{own_cache}, 2 files, 2 MB of at most 512 MB"
    assert run("doctor", "--clear-cache") == f"removed 2 files, 2 MB, from {own_cache}\n"
    assert [file.name for file in own_cache.iterdir()] == ["mine.o"]
    assert findings(run("doctor"))["cache"].startswith(f"{own_cache}, 0 files")


@pytest.mark.usefixtures("no_trials")
@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="modes as on Unix")
def test_a_cache_others_can_write(own_cache):
    own_cache.mkdir()
    own_cache.chmod(0o777)
    assert f"other users can write '{own_cache}'" in failing()["cache use"]


@pytest.mark.usefixtures("no_trials")
def test_a_cache_that_cannot_be(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ARMDYN_CACHE", str(tmp_path / "file" / "x"))
    assert failing()["cache use"].startswith("FAILS: ")


@pytest.mark.usefixtures("no_trials")
def test_no_cache_by_wish(monkeypatch):
    monkeypatch.setenv("ARMDYN_CACHE_SIZE", "0")
    assert findings(run("doctor"))["cache use"] == "nothing is kept: ARMDYN_CACHE_SIZE is 0"


@pytest.mark.usefixtures("no_trials")
@pytest.mark.parametrize(("name", "what"), [("ARMDYN_THREADS", "threads"), ("ARMDYN_CACHE_SIZE", "cache")])
def test_nonsense_in_the_environment(monkeypatch, name, what):
    monkeypatch.setenv(name, "99999999999")
    assert failing()[what].startswith(f"FAILS: {name}: expected a whole number")


@pytest.mark.usefixtures("no_trials")
def test_a_user_without_a_home(monkeypatch):
    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(cache, "cache_folder", nowhere)
    assert failing()["cache"] == "FAILS: Could not determine home directory."
    result = CliRunner().invoke(app, ["doctor", "--clear-cache"])
    assert str(result.exception) == "cache: Could not determine home directory."


@pytest.mark.usefixtures("no_trials")
def test_a_package_that_is_missing(monkeypatch):
    version = metadata.version

    def without(name):
        if name in ("sympy", "hypothesis"):
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", without)
    found = failing()
    assert found["sympy"] == "FAILS: not installed"
    assert "hypothesis missing" in found["[dev]"]
    assert found["result"] == "sympy: see above"


@pytest.mark.usefixtures("no_trials")
def test_a_machine_without_a_compiler_and_one_with_a_gpu(monkeypatch):
    gpu = {"name": b"NVIDIA H200", "totalGlobalMem": 139 * 2**30}
    runtime = SimpleNamespace(getDeviceCount=lambda: 1, getDeviceProperties=lambda k: gpu)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    monkeypatch.setattr(doctor_module.shutil, "which", lambda name: None)
    found = findings(run("doctor"))
    assert found["GPU"] == "NVIDIA H200 (139 GiB)"
    assert found["C compiler"] == "none; only the library inside an FMU needs one"
    assert found["result"] == "all works"


WITHOUT_LLVMLITE = """
import sys
sys.modules["llvmlite"] = None
from armdyn.cli import main
sys.argv = ["armdyn", *sys.argv[1:]]
from armdyn.cli import doctor as doctor_module
doctor_module._tried = lambda what: doctor_module.trial(what) or "works"
main()
"""


@pytest.mark.parametrize(("verb", "code"), [("doctor", 1), slowly("torque", 2)])
def test_without_llvmlite(verb, code):
    """The doctor names it; other verbs stop with one line; the evaluator works."""
    options = ["planar", "--q", "0,0"] if verb == "torque" else []
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LLVMLITE, verb, *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    if verb == "torque":
        assert done.stderr.startswith("error: compiled functions need llvmlite")
        assert len(done.stderr.splitlines()) == 1
    else:
        found = findings(done.stdout)
        failed = {what for what, text in found.items() if text.startswith("FAILS")}
        assert failed == {"llvmlite", "processor", "compiled", "parallel"}


CRASHES = {
    "raise ValueError('first')": "first",
    "import os; os.abort()": "SIGABRT",
    "import sys; sys.exit(3)": "exit code 3",
}


@pytest.mark.parametrize("code", CRASHES)
def test_a_trial_that_goes_wrong(monkeypatch, code):
    if "abort" in code and sys.platform == "win32":
        pytest.skip("no signals")
    whole = subprocess.run

    def other(command, **options):
        return whole([*command[:-1], code], **options)

    monkeypatch.setattr(doctor_module.subprocess, "run", other)
    found = failing()
    for what in ("compiled", "parallel"):
        assert CRASHES[code] in found[what]


def test_a_trial_with_wrong_numbers(monkeypatch):
    wrong = doctor_module.Robot.inverse_dynamics
    monkeypatch.setattr(
        doctor_module.Robot, "inverse_dynamics", lambda *a: wrong(*a) * (1 + 1e-9 * (np.ndim(a[1]) == 1))
    )
    try:
        with pytest.raises(ValueError, match=r"a single call: relative error 1\.0e-09"):
            doctor_module.trial("compiled")
    finally:
        doctor_module.set_threads(None)
