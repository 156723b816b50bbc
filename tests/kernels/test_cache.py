"""Object code on disk: read again, shared, damaged, foreign, not to be written."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from armdyn import CompileWarning, Robot
from armdyn.kernels import cache
from armdyn.kernels.llvm import machine
from golden_messages import golden_warning
from kernel_tools import Forgetful, kernel_of

Q = np.array([0.3, -0.7])


@pytest.fixture(autouse=True)
def only_the_disk(monkeypatch):
    """What this process has loaded already is not remembered: every robot goes to the folder."""
    monkeypatch.setattr(machine, "_loaded", Forgetful())


class Compiled(AssertionError):
    """Something was compiled that need not be."""


@pytest.fixture
def no_compiler(monkeypatch):
    def refuse():
        def compile_ir(*_):
            raise Compiled

        monkeypatch.setattr(machine, "compile_ir", compile_ir)

    return refuse


def files(folder):
    return sorted(folder.iterdir())


def test_what_takes_long_to_compile_is_said_before(fresh_cache, monkeypatch):
    """A threshold of nothing in the place of a robot with a hundred joints."""
    robot = Robot.load("planar")
    monkeypatch.setattr(machine, "LONG", 0.0)
    with golden_warning(CompileWarning):
        robot.gravity([0.1, 0.2])
    monkeypatch.setattr("armdyn.kernels.llvm.machine.is_shown", lambda: True)  # on a terminal
    robot.inertia([0.1, 0.2])


def test_a_second_robot_reads_what_the_first_compiled(fresh_cache, no_compiler):
    expected = Robot.load("planar").gravity(Q)
    narrow = Robot.load("planar").gravity(Q.astype(np.float32))
    assert len(files(fresh_cache)) == 2
    no_compiler()
    second = Robot.load("planar")
    np.testing.assert_array_equal(second.gravity(Q), expected)
    np.testing.assert_array_equal(second.gravity(Q.astype(np.float32)), narrow)
    with pytest.raises(Compiled):
        second.inertia(Q)


def test_reading_does_not_even_record(fresh_cache):
    kernel = kernel_of(lambda x: [x[0] * 2], [1], [(1,)], "recorded once")
    kernel(np.ones(1))

    def refuse(x):
        raise AssertionError

    again = kernel_of(refuse, [1], [(1,)], "recorded once")
    np.testing.assert_array_equal(again(np.ones((9, 1))), np.full((9, 1), 2.0))


def test_different_robots_share_nothing(fresh_cache):
    robot = Robot.load("planar")
    heavy = robot.with_payload(3)
    assert not np.allclose(robot.gravity(Q), heavy.gravity(Q))
    assert len(files(fresh_cache)) == 2
    robot.with_gravity([0, 0, 0]).gravity(Q)
    assert len(files(fresh_cache)) == 3
    robot.gravity(Q, parameters=robot.parameters)
    assert len(files(fresh_cache)) == 4


def test_functions_of_one_robot_share_nothing(fresh_cache):
    robot = Robot.load("planar")
    B, C = robot.inertia(Q), robot.coriolis(Q, Q)
    again = Robot.load("planar")
    np.testing.assert_array_equal(again.coriolis(Q, Q), C)
    np.testing.assert_array_equal(again.inertia(Q), B)
    assert len(files(fresh_cache)) == 2


@pytest.mark.parametrize("other", ["code_digest", "toolchain"])
def test_another_version_or_processor_compiles_again(fresh_cache, monkeypatch, other):
    Robot.load("planar").gravity(Q)
    if other == "toolchain":
        monkeypatch.setattr(machine, "toolchain", lambda: "another processor")
    else:
        monkeypatch.setattr(cache, "code_digest", lambda: "another version")
    Robot.load("planar").gravity(Q)
    assert len(files(fresh_cache)) == 2


# ---- damage ------------------------------------------------------------------------------------------------


def flipped(content, place):
    changed = bytearray(content)
    changed[place] ^= 0x10
    return bytes(changed)


DAMAGE = {
    "empty": lambda c: b"",
    "one byte": lambda c: c[:1],
    "magic only": lambda c: c[:16],
    "no code": lambda c: c[:48],
    "truncated": lambda c: c[: len(c) // 2],
    "last byte gone": lambda c: c[:-1],
    "longer": lambda c: c + b"\0",
    "magic flipped": lambda c: flipped(c, 3),
    "checksum flipped": lambda c: flipped(c, 20),
    "code flipped": lambda c: flipped(c, len(c) // 2),
    "end flipped": lambda c: flipped(c, -1),
    "foreign": lambda c: b"\x7fELF" + bytes(range(256)) * 20,
    "text": lambda c: b"armdyn object 2\nsomething else entirely, and long enough to look like code\n",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_made_again(fresh_cache, no_compiler, damage):
    expected = Robot.load("planar").gravity(Q)
    (file,) = files(fresh_cache)
    whole = file.read_bytes()
    file.write_bytes(DAMAGE[damage](whole))
    np.testing.assert_array_equal(Robot.load("planar").gravity(Q), expected)
    assert cache.read(file.stem) is not None
    no_compiler()
    np.testing.assert_array_equal(Robot.load("planar").gravity(Q), expected)


def test_another_kernels_file_under_this_name_is_foreign(fresh_cache):
    robot = Robot.load("planar")
    expected = robot.gravity(Q)
    (file,) = files(fresh_cache)
    robot.inertia(Q)
    (other,) = set(files(fresh_cache)) - {file}
    file.write_bytes(other.read_bytes())
    np.testing.assert_array_equal(Robot.load("planar").gravity(Q), expected)


def test_a_folder_in_the_place_of_the_file(fresh_cache):
    expected = Robot.load("planar").gravity(Q)
    (file,) = files(fresh_cache)
    file.unlink()
    file.mkdir()
    np.testing.assert_array_equal(Robot.load("planar").gravity(Q), expected)
    assert files(fresh_cache) == [file]  # nothing half-written is left behind


def test_no_temporary_files_are_left(fresh_cache):
    robot = Robot.load("planar")
    for function in (robot.gravity, robot.inertia, robot.pose):
        function(Q)
    assert all(file.suffix == ".o" and not file.name.startswith(".") for file in files(fresh_cache))


# ---- folders -----------------------------------------------------------------------------------------------


def test_a_folder_that_cannot_be_made(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ARMDYN_CACHE", str(tmp_path / "file" / "cache"))
    found = Robot.load("planar").gravity(Q)
    monkeypatch.setenv("ARMDYN_CACHE", str(tmp_path / "good"))
    np.testing.assert_array_equal(found, Robot.load("planar").gravity(Q))


def test_a_folder_that_is_a_file(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ARMDYN_CACHE", str(tmp_path / "file"))
    assert np.isfinite(Robot.load("planar").gravity(Q)).all()
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.parametrize("call", ["mkstemp", "replace"])
def test_a_folder_that_refuses(fresh_cache, monkeypatch, call):
    def refuse(*_, **__):
        raise PermissionError("no")

    if call == "mkstemp":
        monkeypatch.setattr(cache.tempfile, "mkstemp", refuse)
    else:
        monkeypatch.setattr(Path, "replace", refuse)
    assert np.isfinite(Robot.load("planar").gravity(Q)).all()
    assert files(fresh_cache) == []


@pytest.mark.skipif(sys.platform != "linux", reason="where the folder is on Linux")
def test_the_default_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("ARMDYN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.cache_folder() == tmp_path / "xdg" / "armdyn"
    Robot.load("planar").gravity(Q)
    assert len(files(tmp_path / "xdg" / "armdyn")) == 1
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache.cache_folder() == tmp_path / "home" / ".cache" / "armdyn"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert cache.cache_folder() == tmp_path / "home" / ".cache" / "armdyn"
    monkeypatch.setenv("ARMDYN_CACHE", "")
    assert cache.cache_folder() == tmp_path / "home" / ".cache" / "armdyn"


@pytest.mark.skipif(sys.platform != "linux", reason="where the folder is on Linux")
def test_a_user_without_a_home(monkeypatch):
    monkeypatch.delenv("ARMDYN_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    assert np.isfinite(Robot.load("planar").gravity(Q)).all()


# ---- processes ---------------------------------------------------------------------------------------------

SCRIPT = """
import sys
import numpy as np
from armdyn import Robot
from armdyn.kernels.llvm import compiled
if sys.argv[1] == "cached":
    def refuse(*_):
        raise SystemExit("compiled again")
    compiled.compile_ir = refuse
robot = Robot.load("scara")
q = np.linspace(-1, 1, 40).reshape(10, 4)
print(robot.inverse_dynamics(q, q, q).tobytes().hex())
print(robot.inertia(q[0]).tobytes().hex())
"""


def start(folder, *arguments):
    environment = {**os.environ, "ARMDYN_CACHE": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *arguments], env=environment, stdout=subprocess.PIPE, text=True
    )


def test_another_process_reads_and_two_at_once_share(fresh_cache):
    running = [start(fresh_cache, "compiling") for _ in range(2)]
    first, second = (process.communicate()[0] for process in running)
    assert all(process.returncode == 0 for process in running)
    assert len(files(fresh_cache)) == 2
    cached = start(fresh_cache, "cached")
    third, _ = cached.communicate()
    assert cached.returncode == 0
    assert first == second == third
    q = np.linspace(-1, 1, 40).reshape(10, 4)
    robot = Robot.load("scara")
    here = [robot.inverse_dynamics(q, q, q).tobytes().hex(), robot.inertia(q[0]).tobytes().hex()]
    assert first.split() == here


def test_a_file_is_a_checksum_and_code(fresh_cache):
    cache.write("ab", b"code")
    assert cache.read("ab") == b"code"
    assert cache.read("cd") is None
    (fresh_cache / "ab.o").rename(fresh_cache / "cd.o")
    assert cache.read("cd") is None  # the key is part of the checksum


@pytest.mark.parametrize(
    "place", ["kernels/llvm/body.py", "robot/functions.py", "program/program.py", "kernels/llvm/new.py"]
)
def test_an_edit_in_any_folder_changes_the_key(tmp_path, monkeypatch, place):
    package = tmp_path / "armdyn"
    shutil.copytree(Path(cache.__file__).parent.parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(cache, "__file__", str(package / "kernels" / "cache.py"))
    digest = cache.code_digest.__wrapped__
    before = digest()
    assert digest() == before
    with (package / place).open("a") as file:
        file.write("# an edit\n")
    assert digest() != before
