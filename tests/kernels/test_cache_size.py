"""The cache is bounded: what was used least recently goes first, and nothing that is not ours."""

import os
import time

import pytest

from armdyn import ArmdynError
from armdyn.kernels import cache
from golden_messages import golden_error

MB = 10**6


@pytest.fixture(autouse=True)
def first_write(monkeypatch):
    monkeypatch.setattr(cache, "_allowance", {})


def key(k):
    return cache.digest_of(str(k))


def kept(folder):
    return {k for k in range(100) if (folder / f"{key(k)}.o").exists()}


def put(folder, k, age):
    cache.write(key(k), bytes([k]) * (MB // 10))
    used = time.time() - age
    os.utime(folder / f"{key(k)}.o", (used, used))


def test_the_least_recently_used_go_first(fresh_cache, monkeypatch):
    monkeypatch.setenv("ARMDYN_CACHE_SIZE", "1")
    for k in range(9):
        put(fresh_cache, k, 1000 - k)
    assert kept(fresh_cache) == set(range(9))
    assert cache.read(key(0)) == bytes(MB // 10)  # used just now
    cache.write(key(9), bytes(MB // 10))
    assert kept(fresh_cache) == {0, 3, 4, 5, 6, 7, 8, 9}
    assert cache.state().size <= MB


def test_the_folder_is_looked_through_once_in_a_while(fresh_cache, monkeypatch):
    """At the first write of a process, and when there is too much."""
    looks = []
    whole = cache.entries
    monkeypatch.setattr(cache, "entries", lambda folder: looks.append(1) or whole(folder))
    for k in range(20):
        cache.write(key(k), b"code")
    assert len(looks) == 1
    monkeypatch.setenv("ARMDYN_CACHE_SIZE", "1")
    cache._allowance.clear()
    for k in range(20, 60):
        cache.write(key(k), bytes(MB // 10))
        assert sum(entry.size for entry in whole(fresh_cache)) <= MB
    assert len(looks) < 35


def test_what_other_processes_left_counts(fresh_cache, monkeypatch):
    monkeypatch.setenv("ARMDYN_CACHE_SIZE", "1")
    for k in range(9):
        put(fresh_cache, k, 1000 - k)
    monkeypatch.setattr(cache, "_allowance", {})  # another process
    cache.write(key(10), bytes(4 * MB // 10))
    assert kept(fresh_cache) == {5, 6, 7, 8, 10}


def test_processes_that_write_at_the_same_time(fresh_cache, monkeypatch):
    """Each knows only what it has added itself; together they pass the bound by an eighth each at most."""
    monkeypatch.setenv("ARMDYN_CACHE_SIZE", "1")
    processes = [{}, {}]
    for k in range(80):
        monkeypatch.setattr(cache, "_allowance", processes[k % 2])
        cache.write(key(k), bytes(MB // 25))
        assert cache.state().size <= 1.25 * MB
    assert cache.state().size > MB / 2


def test_files_that_vanish_meanwhile(fresh_cache, monkeypatch):
    monkeypatch.setenv("ARMDYN_CACHE_SIZE", "1")
    for k in range(9):
        put(fresh_cache, k, 1000 - k)
    whole = cache.entries

    def vanishing(folder):
        for entry in whole(folder):
            entry.path.unlink()
            yield entry

    monkeypatch.setattr(cache, "entries", vanishing)
    cache.write(key(9), bytes(2 * MB // 10))
    assert kept(fresh_cache) == set()


def test_stale_temporary_files_go(fresh_cache):
    cache.write(key(0), b"code")
    old, new, foreign = fresh_cache / ".newabcdef12", fresh_cache / ".newabcdef34", fresh_cache / ".newer"
    for file in (old, new, foreign):
        file.write_bytes(b"half")
    for file in (old, foreign):
        os.utime(file, (1e9, 1e9))
    cache._allowance.clear()
    cache.write(key(1), b"code")
    assert sorted(fresh_cache.iterdir()) == sorted(
        [new, foreign, *(fresh_cache / f"{key(k)}.o" for k in (0, 1))]
    )


def test_nothing_but_our_files_is_ever_removed(fresh_cache, monkeypatch):
    monkeypatch.setenv("ARMDYN_CACHE_SIZE", "1")
    fresh_cache.mkdir()
    others = [fresh_cache / name for name in ("main.o", "abc.o", f"{key(1)}.oo", f"x{key(2)}.o", "notes")]
    for file in others:
        file.write_bytes(bytes(MB))
    (fresh_cache / f"{key(3)}.o").mkdir()
    (fresh_cache / f"{key(4)}.o").symlink_to(others[0])
    for k in range(10, 30):
        cache.write(key(k), bytes(MB // 10))
    assert 5 < len(kept(fresh_cache) - {3, 4}) <= 10
    cache.clear()
    assert kept(fresh_cache) == {3, 4}
    assert all(file.stat().st_size == MB for file in others)


def test_what_is_larger_than_the_bound_is_not_kept(fresh_cache, monkeypatch):
    monkeypatch.setenv("ARMDYN_CACHE_SIZE", "1")
    put(fresh_cache, 1, 0)
    cache.write(key(2), bytes(2 * MB))
    assert kept(fresh_cache) == {1}
    monkeypatch.setenv("ARMDYN_CACHE_SIZE", "0")
    cache.write(key(3), b"code")
    assert kept(fresh_cache) == {1}


def test_the_bound(monkeypatch):
    monkeypatch.delenv("ARMDYN_CACHE_SIZE", raising=False)
    assert cache.size_bound() == 512 * MB
    monkeypatch.setenv("ARMDYN_CACHE_SIZE", " 20 ")
    assert cache.size_bound() == 20 * MB


@pytest.mark.parametrize("nonsense", ["-1", "1.5", "1 GB", "²", "9" * 5000])
def test_nonsense_is_refused_by_name(fresh_cache, monkeypatch, nonsense):
    monkeypatch.setenv("ARMDYN_CACHE_SIZE", nonsense)
    with golden_error(ArmdynError):
        cache.write(key(1), b"code")


def test_state_and_clearing(fresh_cache):
    assert not fresh_cache.exists()
    for k in range(3):
        cache.write(key(k), b"code")
    found = cache.state()
    assert (found.folder, found.files, found.problem) == (fresh_cache, 3, "")
    assert found.size == sum(file.stat().st_size for file in fresh_cache.iterdir())
    assert cache.clear() == (3, found.size)
    assert cache.state().files == 0
    assert cache.clear() == (0, 0)
