"""Machine code that others could have put into the cache is not run. Planted code has other results."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import armdyn
from armdyn import CacheWarning, Robot
from armdyn.kernels import Kernel, cache
from armdyn.kernels.llvm import machine
from armdyn.kernels.llvm.code import Lane
from armdyn.kernels.llvm.compiled import body_of, module_ir, single_ir
from armdyn.kernels.llvm.machine import compile_ir, vector_bytes
from arms import slowly
from golden_messages import golden_warning
from kernel_tools import Forgetful

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="modes and owners as on Unix")
Q = np.array([0.3, -0.7])
SOMEBODY = 12345
as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away"
)


@pytest.fixture(autouse=True)
def only_the_disk(monkeypatch):
    """What this process has loaded already is not remembered, nor what it has warned of."""
    monkeypatch.setattr(machine, "_loaded", Forgetful())
    monkeypatch.setattr(cache, "_told", set())


@pytest.fixture
def planted(fresh_cache):
    """The one file of a cache, with right magic, checksum and names, but another robot's gravity inside."""
    right = Robot.load("planar").gravity(Q)
    other = Kernel.of("gravity", Robot.load("planar").with_payload(3).program("gravity")).specification
    (file,) = fresh_cache.iterdir()
    name = file.stem[:24]
    width = vector_bytes() // 8
    bodies = {w: body_of(other.program, Lane("double", w), width) for w in (width, 1)}
    code = module_ir(other, "double", bodies, name, single_ir(other, bodies[1].slots, name))
    cache.write(file.stem, b"\n" + compile_ir(code))
    assert gravity_differs(right), "planted code must be run where it is trusted, or this shows nothing"
    return file, right


def gravity_differs(right):
    single, batch = Robot.load("planar").gravity(Q), Robot.load("planar").gravity(np.tile(Q, (20, 1)))
    differs = not np.allclose(single, right), not np.allclose(batch, right)
    assert differs[0] == differs[1]
    return differs[0]


def refused(right):
    """Right results, and one warning however often functions are made."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert not gravity_differs(right)
        assert not gravity_differs(right)
    assert [w.category for w in told] == [CacheWarning]
    return str(told[0].message)


@pytest.mark.parametrize("mode", [0o777, *map(slowly, (0o1777, 0o770, 0o702)), 0o720])
def test_a_folder_that_others_can_write(planted, mode):
    file, right = planted
    before = file.read_bytes()
    file.parent.chmod(mode)
    assert f"other users can write '{file.parent}'" in refused(right)
    assert file.read_bytes() == before  # nothing is kept there either
    assert list(file.parent.iterdir()) == [file]
    file.parent.chmod(0o755)
    assert gravity_differs(right)


@pytest.mark.parametrize("mode", [0o777, slowly(0o775)])
def test_a_folder_below_one_that_others_can_write(tmp_path, planted, mode):
    """Whoever can write the folder above puts another cache in place of ours."""
    file, right = planted
    tmp_path.chmod(mode)
    assert f"other users can write '{tmp_path}'" in refused(right)
    tmp_path.chmod(mode | 0o1000)  # sticky, as /tmp: others cannot move what is ours
    assert gravity_differs(right)
    assert file.exists()


@pytest.mark.parametrize("mode", [slowly(0o666), 0o620, slowly(0o602)])
def test_a_file_that_others_can_write(planted, mode):
    file, right = planted
    file.chmod(mode)
    assert f"other users can write '{file}'" in refused(right)
    assert file.stat().st_mode & 0o777 == 0o600  # compiled again, and replaced


@as_root
@pytest.mark.parametrize("which", ["file", "folder", "above"])
def test_what_belongs_to_somebody_else(planted, which):
    file, right = planted
    place = {"file": file, "folder": file.parent, "above": file.parent.parent}[which]
    os.chown(place, SOMEBODY, -1)
    try:
        assert f"'{place}' belongs to another user (uid {SOMEBODY})" in refused(right)
    finally:
        if place.exists():
            os.chown(place, 0, -1)


def test_a_link_to_a_file(tmp_path, planted):
    file, right = planted
    elsewhere = tmp_path / "elsewhere.o"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    assert "is a link" in refused(right)
    assert not file.is_symlink()
    assert elsewhere.exists()


def test_a_pipe_does_not_hang(planted):
    file, right = planted
    file.unlink()
    os.mkfifo(file, 0o600)
    assert "is not a regular file" in refused(right)
    assert file.is_file()


def test_a_pipe_with_a_writer_does_not_hang(planted):
    file, right = planted
    file.unlink()
    os.mkfifo(file, 0o600)
    handle = os.open(file, os.O_RDWR | os.O_NONBLOCK)
    try:
        refused(right)
    finally:
        os.close(handle)


def test_a_link_to_a_folder_of_ones_own(tmp_path, monkeypatch, planted):
    """~/.cache on another disk: what the link leads to is what counts."""
    file, right = planted
    (tmp_path / "link").symlink_to(file.parent)
    monkeypatch.setenv("ARMDYN_CACHE", str(tmp_path / "link"))
    assert gravity_differs(right)
    file.parent.chmod(0o777)
    refused(right)


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_folders_and_files_are_for_this_user_only(tmp_path, monkeypatch, umask):
    monkeypatch.setenv("ARMDYN_CACHE", str(tmp_path / "new" / "folders" / "cache"))
    before = os.umask(umask)
    try:
        Robot.load("planar").gravity(Q)
    finally:
        os.umask(before)
    made = sorted((tmp_path / "new").rglob("*"))
    assert len(made) == 3
    for place in (tmp_path / "new", *made):
        assert place.stat().st_mode & 0o777 == (0o600 if place.suffix == ".o" else 0o700)


def test_no_folder_is_made_where_others_can_write(tmp_path, monkeypatch):
    monkeypatch.setenv("ARMDYN_CACHE", str(tmp_path / "open" / "cache"))
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with golden_warning(CacheWarning):
        assert np.isfinite(Robot.load("planar").gravity(Q)).all()
    assert not (tmp_path / "open" / "cache").exists()


def test_the_warning_goes_through_a_process(tmp_path):
    """A user sees one line of it, and the results."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    code = "from armdyn import Robot as R; r = R.load('rp'); r.gravity([0, 0]); r.inertia([0, 0]); print(1)"
    environment = {**os.environ, "ARMDYN_CACHE": str(tmp_path / "open")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "1\n"
    assert done.stderr.count("CacheWarning") == 1
    assert list((tmp_path / "open").iterdir()) == []


# ---- versions ----------------------------------------------------------------------------------------------


def test_the_version_is_part_of_the_key(monkeypatch):
    here = cache.code_digest.__wrapped__()
    assert here == cache.code_digest()
    monkeypatch.setattr(armdyn, "__version__", "99.0")
    assert cache.code_digest.__wrapped__() != here


@pytest.mark.parametrize("module", ["numpy", "llvmlite"])
def test_versions_of_others_are_part_of_the_key(monkeypatch, module):
    here = machine.toolchain()
    assert sys.version in here
    monkeypatch.setattr(sys.modules[module], "__version__", "99.0")
    assert machine.toolchain() != here


def test_source_in_sub_folders_is_part_of_the_key(tmp_path, monkeypatch):
    (tmp_path / "kernels" / "deep" / "er").mkdir(parents=True)
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "kernels" / "cache.py"))
    digests = set()
    for text in ("", "1", "2"):
        (tmp_path / "kernels" / "deep" / "er" / "code.py").write_text(text)
        digests.add(cache.code_digest.__wrapped__())
    Path(tmp_path / "kernels" / "deep" / "er" / "code.py").rename(tmp_path / "kernels" / "deep" / "code.py")
    digests.add(cache.code_digest.__wrapped__())
    assert len(digests) == 4
