"""A fit of a file block by block is the fit of the whole log, whoever computes the blocks."""

from __future__ import annotations

import tracemalloc
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from armdyn import Log, identify, identify_fleet
from armdyn.identification import Fit, Friction, IdentificationError, selection
from armdyn.identification import log_set as log_set_module
from armdyn.identification.log_set import LogSet
from arms import slowly
from golden_messages import golden_error
from recordings import arm, changed, recording

FIXED = {"friction": Friction(), "damping": 0.0}  # the choices are made from other samples of a file
CUTOFF = 10.0


@pytest.fixture(scope="module")
def log():
    return recording(rate=250, duration=40.01, noise=0.02)


@pytest.fixture(scope="module", params=["parquet", slowly("npz"), slowly("csv")])
def path(request, log, tmp_path_factory):
    path = tmp_path_factory.mktemp("fits") / f"a.{request.param}"
    log.save(path)
    return path


@pytest.fixture
def small(monkeypatch):
    """Blocks of a thousand samples."""
    monkeypatch.setattr(log_set_module, "BLOCK", 1000)
    monkeypatch.setattr(selection, "BLOCK", 1000)


@pytest.fixture(scope="module")
def whole(log):
    return identify(arm(), log, cutoff=CUTOFF, **FIXED)


def parquet(log, folder, group=3000):
    """As others write it, with groups of rows that are no multiples of the blocks."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"t": log.t} | {
        f"{x}{j + 1}": getattr(log, x)[:, j] for x in ("q", "tau") for j in range(log.n)
    }
    place = folder / f"{log.name}.parquet"
    parquet.write_table(arrow.table(columns), place, row_group_size=group)
    return Log.open(place)


def assert_same_fit(found, expected, tolerance=1e-6):
    np.testing.assert_array_equal(found.factors.rows, expected.factors.rows)
    off = np.abs(found.parameters - expected.parameters)
    assert (off <= tolerance * np.abs(expected.parameters) + 1e-3 * tolerance).all(), off
    np.testing.assert_allclose(found.scale, expected.scale, rtol=tolerance)
    np.testing.assert_allclose(found.training_error, expected.training_error, rtol=tolerance)


# ---- blocks and the whole ----------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [slowly(1000), 1003, slowly(4999)])
def test_blocks_and_the_whole(path, whole, block, monkeypatch):
    monkeypatch.setattr(log_set_module, "BLOCK", block)
    file = Log.open(path)
    assert len(list(LogSet.of(arm(), file).parts(0, CUTOFF))) == -(-len(file) // block)
    assert_same_fit(identify(arm(), file, cutoff=CUTOFF, **FIXED), whole)


def test_masks_of_blocks_and_of_the_whole(path, log, small):
    rng = np.random.default_rng(3)
    mask = np.repeat(rng.random(len(log) // 50 + 1) < 0.4, 50)[: len(log)]
    expected = identify(arm(), log, samples=mask, cutoff=CUTOFF, **FIXED)
    found = identify(arm(), Log.open(path), samples=mask, cutoff=CUTOFF, **FIXED)
    assert 0 < found.factors.rows[0] < 0.4 * len(log)
    assert_same_fit(found, expected)


def test_a_slow_filter_sees_far_enough(path, log, small):
    """At half a hertz the filters see further than several blocks.

    By "ordinary" least squares: what is known too little to be kept depends on how alike neighbours are,
    which is seen from a part of a file.
    """
    options = FIXED | {"cutoff": 0.5, "method": "ordinary"}
    assert_same_fit(identify(arm(), Log.open(path), **options), identify(arm(), log, **options))


def test_states_of_blocks_are_those_of_the_whole(log, tmp_path, small, whole):
    """Each instant once, the same ones, with motions and torques that differ by the filters' tails."""
    problem = whole.model.problem
    file = parquet(log, tmp_path)

    def used(logs):
        parts = [p for record in LogSet.of(arm(), logs).records(CUTOFF) for p in problem.states(record)]
        return [np.concatenate([f(p)[p.use.any(1)] for p in parts]) for f in (lambda p: p.motion.qdd, tau)]

    def tau(part):
        return part.tau

    for found, expected in zip(used(file), used(log), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_errors_and_predictions_of_blocks_and_of_the_whole(path, log, small, whole):
    file = Log.open(path)
    np.testing.assert_allclose(whole.error(file), whole.error(log), rtol=1e-6)
    expected, end = whole.predict(log), 0
    for rows, tau in whole.predictions(file):
        assert rows.start == end
        assert len(tau) == rows.stop - rows.start
        np.testing.assert_allclose(tau, expected[rows], atol=1e-6 * np.abs(expected).max())
        end = rows.stop
    assert end == len(log)
    with golden_error(IdentificationError):
        whole.predict(file)


def test_predictions_of_a_part_of_a_log_count_from_its_start(log, whole):
    ((rows, tau),) = whole.predictions(log[300:2000])
    assert rows == slice(0, 1700)
    np.testing.assert_array_equal(tau, whole.predict(log[300:2000]))


# ---- damage in one block -----------------------------------------------------------------------------------


def test_a_block_without_torques_is_left_out_and_told(log, tmp_path, small):
    tau = log.tau.copy()
    tau[3000:6000] = np.nan
    file = parquet(changed(log, tau=tau), tmp_path)
    fit = identify(arm(), file, cutoff=CUTOFF, **FIXED)
    told = [note for note in fit.notes if "left out" in note]
    assert [note.partition(": left out")[0] for note in told] == ["test: rows 4000 to 4999"]
    assert_same_fit(fit, identify(arm(), changed(log, tau=tau), cutoff=CUTOFF, **FIXED))


def test_notes_of_all_blocks_are_kept(log, tmp_path, small):
    tau = log.tau.copy()
    tau[7777, 1] = np.nan
    fit = identify(arm(), parquet(changed(log, tau=tau), tmp_path), cutoff=CUTOFF, **FIXED)
    assert [note for note in fit.notes if "7777" in note] == [
        "test: tau of joint 2: no number in row 7777; not used"
    ]


def test_a_time_that_goes_back_is_refused_in_any_block(log, tmp_path, small):
    t = log.t.copy()
    t[6500] -= 1.0
    with pytest.raises(IdentificationError, match="row 6500"):
        identify(arm(), parquet(changed(log, t=t), tmp_path), cutoff=CUTOFF, **FIXED)


def test_turns_of_motors_cannot_be_counted_in_blocks(log, tmp_path, small):
    """The whole log shows how often motors turned; a block of it does not."""
    K = np.diag([40.0, 300.0, 50.0])
    angles = log.q @ K.T
    wrapped = np.angle(np.exp(1j * angles))
    name = tmp_path / "turns.npz"
    np.savez(name, t=log.t, motor_position=wrapped, tau=log.tau, transmission=K)
    with golden_error(IdentificationError):
        identify(arm(), Log.open(name), cutoff=CUTOFF, **FIXED)


@pytest.mark.slow
def test_little_memory_is_used(tmp_path, small):
    """Eight times the samples take no more memory."""
    most = {}
    for duration in (20, 160):
        file = parquet(changed(recording(rate=250, duration=duration)), tmp_path, group=1000)
        identify(arm(), file, cutoff=CUTOFF, **FIXED)  # the second time, all is compiled and loaded
        tracemalloc.start()
        identify(arm(), file, cutoff=CUTOFF, **FIXED)
        most[duration] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert most[160] < 1.5 * most[20]


# ---- choices -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_file", [True, False])
def test_choices_are_made_from_all_over_a_long_log(log, tmp_path, small, monkeypatch, in_file):
    monkeypatch.setattr(selection, "ENOUGH", 2000)
    found = selection.enough_records(LogSet.of(arm(), parquet(log, tmp_path) if in_file else log))
    rows = [record.rows[record.own] + record.first for record in found]
    assert len(rows) == selection.SPANS
    for k, of_span in enumerate(rows):
        start, stop = (np.array([k, k + 1]) * len(log)) // selection.SPANS
        assert len(of_span) == 200
        assert start <= of_span[0]
        assert of_span[-1] < stop
    assert all(len(record.t) <= 200 + 2 * 250 for record in found)


def test_choices_are_made_from_allowed_samples(log, small, monkeypatch):
    monkeypatch.setattr(selection, "ENOUGH", 500)
    mask = np.zeros(len(log), bool)
    mask[1000:2000] = mask[9000:9500] = True
    found = selection.enough_records(LogSet.of(arm(), log, mask))
    rows = np.concatenate([record.rows[record.own] for record in found])
    assert mask[rows].all()
    assert len(np.unique(rows)) == len(rows) >= 400
    assert (rows < 2000).any()
    assert (rows >= 9000).any()


def test_choices_from_many_short_logs(log, monkeypatch):
    monkeypatch.setattr(selection, "ENOUGH", 4000)
    logs = [log[k : k + 200] for k in range(0, 10_000, 200)]
    found = selection.enough_records(LogSet.of(arm(), logs))
    assert sum(int(record.own.sum()) for record in found) > 3000
    assert len({record.first for record in found}) == len(found) == 20


def test_residuals_are_looked_at_where_the_mask_allows(log, tmp_path, small):
    """Of a file whose middle is left out, too."""
    mask = np.arange(len(log)) < 1500
    fit = identify(arm(), parquet(log, tmp_path), samples=mask, cutoff=CUTOFF, **FIXED)
    (record,) = selection.long_records(LogSet.of(arm(), parquet(log, tmp_path), mask), CUTOFF)
    assert record.own.sum() >= 900
    assert (fit.repeats > 1).any()


def test_of_a_long_file_little_is_read_for_choices(tmp_path, small, monkeypatch):
    monkeypatch.setattr(selection, "ENOUGH", 1000)
    file, read = parquet(recording(rate=250, duration=200), tmp_path, group=500), []
    pieces_of = type(file)._pieces

    def counted(self, size, notes, start=0):
        for piece in pieces_of(self, size, notes, start):
            read.append(len(piece["t"]))
            yield piece

    len(file), file.rate
    monkeypatch.setattr(type(file), "_pieces", counted)
    selection.enough_records(LogSet.of(arm(), file))
    assert 0 < sum(read) <= 2 * selection.SPANS * (100 + 2 * 250) < 0.25 * len(file)


@pytest.mark.slow
def test_a_fit_with_its_own_choices_in_blocks(log, tmp_path, small):
    fit = identify(arm(), parquet(log, tmp_path))
    assert fit.error(log) < 1.01 * identify(arm(), log).error(log)


# ---- executors ---------------------------------------------------------------------------------------------


def same_bytes(a, b):
    return all(x.tobytes() == y.tobytes() for x, y in zip(a.factors.R, b.factors.R, strict=True))


@pytest.mark.parametrize("workers", [slowly(1), 3])
def test_threads_change_nothing(path, small, workers):
    file = Log.open(path)
    expected = identify(arm(), file, cutoff=CUTOFF, **FIXED)
    with ThreadPoolExecutor(workers) as pool:
        found = identify(arm(), [file], cutoff=CUTOFF, executor=pool, **FIXED)
    assert same_bytes(found, expected)
    assert found.parameters.tobytes() == expected.parameters.tobytes()


@pytest.mark.slow
def test_processes_change_nothing(log, tmp_path, small):
    file = parquet(log, tmp_path)
    expected = identify(arm(), [file, log], cutoff=CUTOFF, **FIXED)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        found = identify(arm(), [file, log], cutoff=CUTOFF, executor=pool, **FIXED)
    assert same_bytes(found, expected)


def test_what_is_no_executor(log):
    with pytest.raises(IdentificationError, match="or a Dask Client, found 4"):
        identify(arm(), log, cutoff=CUTOFF, executor=4, **FIXED)


def test_an_error_in_a_worker_is_the_error_of_the_call(log, tmp_path, small):
    t = log.t.copy()
    t[6500] -= 1.0
    file = parquet(changed(log, t=t), tmp_path)
    with ThreadPoolExecutor(2) as pool, pytest.raises(IdentificationError, match="row 6500"):
        identify(arm(), file, cutoff=CUTOFF, executor=pool, **FIXED)


# ---- fleets ------------------------------------------------------------------------------------------------


def test_a_fleet_is_its_robots():
    logs = {f"cell {k}": recording(rate=100, duration=12, seed=k) for k in range(3)}
    still = logs["cell 1"]
    logs["cell 1"] = changed(still, tau=np.zeros_like(still.tau))
    options = {"cutoff": CUTOFF, **FIXED}
    with ThreadPoolExecutor(2) as pool:
        fits = identify_fleet(arm(), logs, executor=pool, **options)
    assert list(fits) == list(logs)
    assert isinstance(fits["cell 1"], IdentificationError)
    assert "all torques are zero" in str(fits["cell 1"])
    for name in ("cell 0", "cell 2"):
        alone = identify(arm(), logs[name], **options)
        assert isinstance(fits[name], Fit)
        assert fits[name].parameters.tobytes() == alone.parameters.tobytes()


def test_what_a_fleet_gives_by_name():
    log = recording(rate=100, duration=12)
    mask = np.arange(len(log)) < 800
    robots = {"a": arm(), "b": arm()}
    fits = identify_fleet(robots, {"a": log, "b": [log]}, samples={"b": mask}, cutoff=CUTOFF, **FIXED)
    assert fits["a"].factors.rows[0] > 1.4 * fits["b"].factors.rows[0]
    for given, message in (
        ({"samples": mask}, r"samples: expected \{name: …\}"),
        ({"samples": {"c": mask}}, "samples: 'c' has no logs; there are: a, b"),
        ({"cut": 3.0}, "option"),
    ):
        with pytest.raises(IdentificationError, match=message):
            identify_fleet(arm(), {"a": log, "b": log}, **given)
    with golden_error(IdentificationError):
        identify_fleet({"a": arm()}, {"a": log, "b": log})
    with golden_error(IdentificationError):
        identify_fleet(arm(), [log])
