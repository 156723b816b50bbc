"""A study gives the same table on every engine, and when it, its workers or its disk fail on the way."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import study_cases
from armdyn import Robot, Trajectory, study
from armdyn.studies import Study, StudyError, store
from golden_messages import golden_error
from study_cases import CASES, MANY, deadly, of_kind, same, slow_weight, weight, weights

pytest.importorskip("pyarrow")
KINDS = ("cases", "batches")


@pytest.fixture(scope="module")
def puma():
    return Robot.load("puma560")


@contextmanager
def processes(count):
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        yield pool


@contextmanager
def dask(**settings):
    distributed = pytest.importorskip("distributed")
    import dask

    size = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(**size) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


# ---- engines -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_processes_give_the_table_of_threads_bit_for_bit(puma):
    with processes(2) as pool:
        assert same(study(weight, CASES, robot=puma, executor=pool), study(weight, CASES, robot=puma))
        many = study(weights, CASES, robot=puma, vectorised=True, batch=7, executor=pool)
        assert same(many, study(weights, CASES, robot=puma, vectorised=True, batch=7))
        assert same(many, study(weights, CASES, robot=puma, vectorised=True))
        with pytest.raises(
            StudyError, match=r"cannot be sent to other processes .*; use threads, a Dask client"
        ):
            study(lambda robot, row: {"x": 1.0}, CASES, robot=puma, executor=pool)
        with golden_error(StudyError):
            study(weight, CASES, robot=puma, executor=pool, workers=2)


def test_a_process_that_dies_ends_the_study_and_what_is_finished_is_kept(tmp_path):
    table = {"x": np.arange(40.0)}
    with processes(1) as pool, pytest.raises(StudyError, match="what is finished is kept in"):
        study(deadly, table, folder=tmp_path, executor=pool, batch=1)
    done = Study.load(tmp_path).done
    assert not done[7]
    assert done[:7].all()


class Closing(ThreadPoolExecutor):
    """Two workers that take five tasks; then it is broken, or closed, when it is given the next."""

    def __init__(self, problem):
        super().__init__(2)
        self.problem, self.left = problem, 5

    def submit(self, *given, **more):
        self.left -= 1
        if self.left < 0:
            raise self.problem
        return super().submit(*given, **more)


@pytest.mark.parametrize("problem", [BrokenExecutor("gone"), RuntimeError("after shutdown")])
def test_what_was_finished_when_an_executor_takes_no_more_is_kept(tmp_path, problem):
    with Closing(problem) as pool, pytest.raises(StudyError, match="what is finished is kept in"):
        study(lambda row: {"y": row["x"]}, {"x": np.arange(40.0)}, folder=tmp_path, executor=pool, batch=1)
    assert 1 <= Study.load(tmp_path).done.sum() <= 5


@pytest.mark.slow
def test_dask_gives_the_table_of_threads_bit_for_bit(puma, tmp_path):
    motion = Trajectory.quintic([0.0] * 6, [1.0] * 6, 1.0, step=0.02)
    with dask() as client:
        assert same(study(weight, CASES, robot=puma, executor=client), study(weight, CASES, robot=puma))
        found = study("motor_loads", CASES, robot=puma, motion=motion, executor=client, folder=tmp_path)
        assert same(found, study("motor_loads", CASES, robot=puma, motion=motion))
        drawn = study(lambda robot, row: {"x": row.rng().random()}, CASES, robot=puma, executor=client)
        assert not drawn.failed.any()  # Dask sends functions that stand in no module


# ---- killed ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_study_killed_ten_times_gives_the_table_of_one_left_alone(tmp_path, kind):
    alone = of_kind(kind)
    rng, reached = np.random.default_rng(7), []
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, study_cases.__file__, str(tmp_path / "study"), kind]
    for _ in range(10):
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
            first = child.stdout.readline()  # it has begun
            time.sleep(rng.uniform(0.0, 1.0))
            child.send_signal(signal.SIGKILL)
            told = [first, *child.stdout.read().splitlines()]
        done = Study.load(tmp_path / "study").done.mean()
        assert done >= float(told[-1] or 0.0) - 1e-9, "what was said to be done is kept"
        reached.append(done)
    print(f"{kind}: done after each kill {np.round(reached, 2).tolist()}")
    assert (np.diff(reached) >= 0).all()
    assert reached[-1] > 0.05
    found = of_kind(kind, folder=tmp_path / "study")
    assert found.done.all()
    assert same(found, alone)


@pytest.mark.slow
def test_a_dask_worker_killed_in_its_work_is_made_up_for(puma, tmp_path):
    alone = study(slow_weight, MANY, robot=puma)
    with dask() as client:
        killed = []

        def kill(part):
            if part > 0.2 and not killed:
                pids = client.run(os.getpid)
                address = next(iter(pids))
                killed.append(pids[address])
                os.kill(pids[address], signal.SIGKILL)

        found = study(slow_weight, MANY, robot=puma, executor=client, folder=tmp_path, progress=kill)
    assert killed
    assert same(found, alone)


@pytest.mark.slow
def test_a_case_that_kills_every_worker_is_recorded_and_the_rest_goes_on():
    table = {"x": np.arange(30.0)}
    with dask(**{"distributed.scheduler.allowed-failures": 1}) as client:
        found = study(deadly, table, executor=client, batch=8)
    assert found.failed.tolist() == [k == 7 for k in range(30)]
    assert "died" in found.reasons[7]
    np.testing.assert_array_equal(found.results["y"][8:], 2 * table["x"][8:])


@pytest.mark.slow
def test_a_second_process_is_refused_while_the_first_writes(tmp_path):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, study_cases.__file__, str(tmp_path / "study"), "cases"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
        child.stdout.readline()
        with pytest.raises(StudyError, match=f"another study, of process {child.pid} on .*, is writing to"):
            of_kind("cases", folder=tmp_path / "study")
        child.stdout.read()
    assert child.returncode == 0
    assert same(Study.load(tmp_path / "study"), of_kind("cases"))


# ---- the disk ----------------------------------------------------------------------------------------------


def wide(row):
    """Results that take some room."""
    return {f"r{k}": row.rng().random() for k in range(60)}


FULL = {"x": np.arange(400.0)}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits on the size of files")
def test_a_file_that_cannot_grow_is_one_error_and_nothing_is_corrupt(tmp_path):
    """The system refuses to write more than 100 bytes into any file, from the middle of a study on."""
    code = (
        "import resource, sys\n"
        "from study_cases import CASES, weight\n"
        "from armdyn import Robot, study\n"
        "def stop(part):\n"
        "    if part > 0.3: resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))\n"
        "study(weight, CASES, robot=Robot.load('puma560'), folder=sys.argv[1], batch=4, progress=stop)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    told = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "study"],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert (
        "File too large; what was written before is whole, and the same call goes on with it" in told.stderr
    )
    assert 0.3 < Study.load(tmp_path / "study").done.mean() < 1
    assert not list((tmp_path / "study").rglob(".armdyn-*"))
    puma = Robot.load("puma560")
    assert same(
        study(weight, CASES, robot=puma, folder=tmp_path / "study", batch=4), study(weight, CASES, robot=puma)
    )


@contextmanager
def small_disk(place, size):
    place.mkdir()
    if (
        os.name != "posix"
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], check=False, capture_output=True
        ).returncode
    ):
        pytest.skip("this user cannot mount a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("size", ["24k", "200k", "600k"])
def test_a_full_disk_is_one_error_and_the_study_goes_on_when_there_is_room(tmp_path, size):
    with small_disk(tmp_path / "disk", size):
        folder = tmp_path / "disk" / "study"
        with pytest.raises(StudyError, match="No space left on device"):
            study(wide, FULL, folder=folder, batch=8)
        assert not list(folder.rglob(".armdyn-*"))
        if (folder / "study.json").exists():
            Study.load(folder)
        subprocess.run(["mount", "-o", "remount,size=8m", tmp_path / "disk"], check=True)
        assert same(study(wide, FULL, folder=folder, batch=8), study(wide, FULL))


def test_a_lock_of_windows_is_on_one_byte_whoever_asks_and_leaves_the_text_readable(tmp_path, monkeypatch):
    """Windows locks bytes from where a file stands, and an "a+" file stands at its end."""
    taken = set()

    def locking(handle, mode, count):
        place = os.fstat(handle).st_ino, os.lseek(handle, 0, os.SEEK_CUR)
        if mode != 2 or count != 1 or place in taken:
            raise PermissionError(13, "Permission denied")
        taken.add(place)

    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2))
    path = tmp_path / "lock"
    with path.open("a+") as first, path.open("a+") as second:
        store._lock_on_windows(first)
        os.write(first.fileno(), b"of process 1")
        with path.open("a+") as third, pytest.raises(PermissionError):
            store._lock_on_windows(third)
        with pytest.raises(PermissionError):
            store._lock_on_windows(second)
        second.seek(0)
        assert second.read() == "of process 1"
    assert all(place > 10**6 for _, place in taken)


def test_parts_that_another_process_reads_may_stay(puma, tmp_path, monkeypatch):
    """As on Windows, where an open file is not removed: results are the same, more parts are written."""
    monkeypatch.setattr(store, "FEW", 3)
    unlink = Path.unlink

    def refused(path, missing_ok=False):
        if path.suffix == ".parquet":
            raise PermissionError(13, "the file is used by another process")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", refused)
    found = study(weight, CASES, robot=puma, folder=tmp_path / "study", batch=4)
    assert same(found, study(weight, CASES, robot=puma))
    assert same(Study.load(tmp_path / "study"), found)
