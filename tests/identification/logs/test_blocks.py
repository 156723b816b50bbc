"""Files read block by block hold what the whole file holds."""

import pickle
import tracemalloc

import numpy as np
import pytest

from armdyn.identification import IdentificationError, Log
from arms import slowly
from golden_messages import golden_error
from recordings import arm, recording

KINDS = ["csv", "npz", "parquet"]


@pytest.fixture(scope="module")
def log():
    return recording(rate=100, duration=10.031, derivatives=True)


@pytest.fixture(scope="module", params=KINDS)
def path(request, log, tmp_path_factory):
    path = tmp_path_factory.mktemp("blocks") / f"a.{request.param}"
    log.save(path)
    return path


@pytest.mark.parametrize("samples", [slowly(7), 100, slowly(1001), 1002, 1003, slowly(5000)])
@pytest.mark.parametrize("overlap", [0, 40, slowly(3000)])
def test_blocks_are_the_file(path, log, samples, overlap):
    file = Log.open(path)
    assert len(file) == len(log) == 1003
    expected = 0
    for block in file.blocks(samples, overlap):
        size = block.core.stop - block.core.start
        assert block.first == expected
        assert size == samples or expected + size == len(log)
        assert block.log.first == block.first - block.core.start
        assert block.core.start == min(overlap, block.first)
        assert len(block.log) == min(len(log), block.first + size + overlap) - block.log.first
        for name in log.channels:
            whole = getattr(log, name)[block.log.first : block.log.first + len(block.log)]
            np.testing.assert_array_equal(getattr(block.log, name), whole)
        expected += size
    assert expected == len(log)


@pytest.mark.parametrize(
    ("start", "stop", "overlap"), [(0, 1003, 0), (0, 2, 5), (417, 530, 60), (990, 1003, 40)]
)
def test_a_block_anywhere_is_that_part_of_the_file(path, log, start, stop, overlap):
    block = Log.open(path).block(start, stop, overlap)
    a, b = max(start - overlap, 0), min(stop + overlap, len(log))
    assert (block.first, block.log.first, block.core) == (start, a, slice(start - a, stop - a))
    for name in log.channels:
        np.testing.assert_array_equal(getattr(block.log, name), getattr(log, name)[a:b])


def test_a_block_that_the_file_does_not_have(path):
    with pytest.raises(IdentificationError, match="there are no rows 1000 to 1003"):
        Log.open(path).block(1000, 1004)


def test_the_rate_of_a_file(path, log):
    np.testing.assert_allclose(Log.open(path).rate, log.rate)


@pytest.mark.parametrize("group", [100, 333, 5000])
def test_blocks_of_lists_and_integer_times(tmp_path, log, group):
    """Time stamps in nanoseconds count from the first one of the file, in whatever block."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    stamps = 1_700_000_000_000_000_000 + np.rint(log.t * 1e9).astype(np.int64)
    columns = {"t": arrow.array(stamps).cast(arrow.timestamp("ns")), "q": list(log.q), "tau": list(log.tau)}
    parquet.write_table(arrow.table(columns), tmp_path / "a.parquet", row_group_size=group)
    file = Log.open(tmp_path / "a.parquet")
    block = file.block(300, 700, 50)
    np.testing.assert_array_equal(block.log.t, file.read().t[250:750])
    np.testing.assert_array_equal(block.log.q, log.q[250:750])


def test_a_file_is_pickled_with_its_columns_and_units(path, log):
    file = Log.open(
        path, columns={"q": "q?" if path.suffix != ".npz" else "q", "tau": "tau*"}, units={"tau": "mNm"}
    )
    again = pickle.loads(pickle.dumps(file)).read()
    np.testing.assert_allclose(again.tau, log.tau / 1000)
    assert again.qd is None


def test_messages_about_blocks_name_rows_of_the_file(path, log, tmp_path):
    tau = log.tau.copy()
    tau[777, 1] = np.nan
    place = tmp_path / path.name
    Log(log.t, log.q, tau).save(place)
    notes = [n for block in Log.open(place).blocks(300, 0) for n in block.log.at_joints(arm()).notes]
    assert notes == ["tau of joint 2: no number in row 777; not used"]


def test_of_a_parquet_file_little_is_held(tmp_path):
    """Eight times the groups of rows take no more of pyarrow's memory, which Python does not see."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng, most = np.random.default_rng(0), {}
    for rows in (20_000, 160_000):
        columns = {name: rng.normal(size=rows) for name in ("q1", "q2", "tau1", "tau2")}
        path = tmp_path / f"{rows}.parquet"
        table = arrow.table({"t": np.arange(rows) / 1000} | columns)
        parquet.write_table(table, path, row_group_size=5000)
        del table, columns
        before = arrow.total_allocated_bytes()
        most[rows] = max(arrow.total_allocated_bytes() - before for _ in Log.open(path).blocks(5000, 100))
    assert most[160_000] < 1.5 * most[20_000]


@pytest.mark.slow
def test_little_memory_is_used(tmp_path):
    """Eight times the rows take no more memory."""
    n = 40_000
    t = np.arange(n) / 1000
    x = np.column_stack([np.sin(t + k) for k in range(6)])
    for kind in ("npz", "csv"):
        most = {}
        for rows in (5000, n):
            path = tmp_path / f"{rows}.{kind}"
            Log(t[:rows], x[:rows], x[:rows]).save(path)
            file = Log.open(path)
            tracemalloc.start()
            total = sum(block.core.stop - block.core.start for block in file.blocks(1000, 100))
            most[rows] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert total == rows
        assert most[n] < 1.5 * most[5000]


def test_wrong_sizes_are_refused(path):
    with pytest.raises(IdentificationError, match="samples: found 1; a whole number, 2 or more"):
        next(Log.open(path).blocks(1))
    with golden_error(IdentificationError):
        next(Log.open(path).blocks(100, -1))
    with golden_error(IdentificationError):
        Log.open(path, unit="deg")
