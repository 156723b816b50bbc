"""Fits on a real Dask cluster of local processes: the same to the last bit, also when a worker dies."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from armdyn import Log, identify, identify_fleet
from armdyn.identification import Friction
from armdyn.identification import log_set as log_set_module
from recordings import arm, recording

pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

OPTIONS = {"cutoff": 10.0, "friction": Friction(), "damping": 0.0}


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    made = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with made as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """A file of forty blocks and a log in memory."""
    path = tmp_path_factory.mktemp("dask") / "long.parquet"
    recording(rate=250, duration=160, noise=0.02).save(path)
    return [Log.open(path), recording(rate=250, duration=20, seed=5)]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(log_set_module, "BLOCK", 1000)


def same_bytes(a, b):
    return all(x.tobytes() == y.tobytes() for x, y in zip(a.factors.R, b.factors.R, strict=True))


def test_a_cluster_changes_nothing(client, logs, small):
    expected = identify(arm(), logs, **OPTIONS)
    found = identify(arm(), logs, executor=client, **OPTIONS)
    assert same_bytes(found, expected)
    assert found.notes == expected.notes


def busy(client):
    """Workers that have tasks."""
    return [worker for worker, tasks in client.processing().items() if tasks]


def test_a_worker_is_killed_on_the_way(client, logs, small):
    expected = identify(arm(), logs, **OPTIONS)
    pids = client.run(os.getpid)
    killed = []

    def kill():
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not killed:
            for worker in busy(client)[:1]:
                os.kill(pids[worker], signal.SIGKILL)
                killed.append(worker)
            time.sleep(0.005)

    thread = threading.Thread(target=kill)
    thread.start()
    found = identify(arm(), logs, executor=client, **OPTIONS)
    thread.join()
    assert killed
    client.wait_for_workers(2)
    assert pids != client.run(os.getpid)  # another process is in its place
    assert same_bytes(found, expected)


def test_a_fleet_on_a_cluster(client):
    logs = {f"cell {k}": recording(rate=100, duration=12, seed=k) for k in range(3)}
    fits = identify_fleet(arm(), logs, executor=client, **OPTIONS)
    for name, log in logs.items():
        assert same_bytes(fits[name], identify(arm(), log, **OPTIONS))
