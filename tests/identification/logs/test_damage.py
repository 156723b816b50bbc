"""Every kind of damage: repaired and said, or refused with the row. Never a silently different answer."""

import numpy as np
import pytest

from armdyn import ArmdynError, Robot
from armdyn.identification import IdentificationError, IdentificationWarning, Log, estimate_delay
from arms import slowly
from golden_messages import golden_error, golden_warning
from recordings import arm, changed, edited, motion, recording

ROWS = 2000


def looked_over(log, robot=None):
    return log.at_joints(robot or arm())


def assert_same_but(record, log, rows):
    """All other rows are as they were."""
    others = np.setdiff1d(record.rows, rows)
    kept = np.isin(record.rows, others)
    np.testing.assert_array_equal(record.q[kept], log.q[others])
    np.testing.assert_array_equal(record.tau[kept], log.tau[others])
    assert record.usable[kept].all()


def note_about(record, text):
    (found,) = [note for note in record.notes if text in note]
    return found


# ---- times -------------------------------------------------------------------------------------------------


def test_jitter_is_kept_and_told():
    log = recording()
    t = log.t + 0.2e-3 * np.random.default_rng(0).normal(size=ROWS)
    record = looked_over(changed(log, t=t))
    np.testing.assert_array_equal(record.t, t)
    assert record.usable.all()
    assert "jitter" in note_about(record, "used as they are")


def test_missing_samples_are_bridged_and_told():
    log = recording()
    kept = np.setdiff1d(np.arange(ROWS), [100, 500, 501])
    part = changed(log, **{name: getattr(log, name)[kept] for name in log.channels})
    record = looked_over(part)
    assert len(record.segments) == 1
    assert "3 samples missing after rows 99 and 498; bridged" in record.notes
    assert_same_but(record, part, [])


def test_a_gap_separates_segments():
    log = recording()
    kept = np.setdiff1d(np.arange(ROWS), np.arange(700, 900))
    part = changed(log, **{name: getattr(log, name)[kept] for name in log.channels})
    record = looked_over(part)
    assert record.segments == (slice(0, 700), slice(700, 1800))
    assert note_about(record, "1 gap of 0.804 s after row 699")
    assert len(record.notes) == 1
    assert_same_but(record, part, [])


def test_scraps_between_gaps_are_left_out():
    log = recording()
    kept = np.setdiff1d(np.arange(ROWS), [*range(700, 800), *range(803, 900)])
    record = looked_over(changed(log, **{name: getattr(log, name)[kept] for name in log.channels}))
    assert record.segments == (slice(0, 700), slice(700, 1800))
    assert note_about(record, "rows 700 to 702: stretches of less than 8 samples")


def test_repeated_rows_are_left_out():
    log = recording()
    rows = np.sort(np.append(np.arange(ROWS), [30, 30, 800]))
    twice = changed(log, **{name: getattr(log, name)[rows] for name in log.channels})
    record = looked_over(twice)
    assert len(record.t) == ROWS
    np.testing.assert_array_equal(record.q, log.q)
    np.testing.assert_array_equal(record.rows, np.setdiff1d(np.arange(ROWS + 3), [31, 32, 803]))
    assert note_about(record, "rows 31, 32 and 803: the same time and values as the row before; left out")


def test_rows_with_one_time_and_two_values_are_doubted():
    log = recording()
    record = looked_over(edited(log, "t", 31, log.t[30]))
    assert len(record.t) == ROWS - 1
    assert not record.usable[30].any()
    assert record.usable.sum() == 3 * (ROWS - 2)
    assert note_about(
        record, "row 31: the time of the row before, 0.12 s, but other values; the first row is kept"
    )


def test_a_clock_too_coarse_is_refused():
    log = recording()
    with golden_error(IdentificationError):
        looked_over(changed(log, t=np.floor(log.t * 50) / 50))


def test_time_that_goes_back_is_refused_with_its_row():
    log = recording()
    with pytest.raises(
        IdentificationError, match=r"row 701: the time goes back from .* put the rows in order"
    ):
        looked_over(edited(log, "t", 700, log.t[702]))
    later = Log(edited(log, "t", 99, log.t[101]).t, log.q, log.tau, first=3600)[50:]
    with pytest.raises(IdentificationError, match="row 3700: the time goes back"):
        looked_over(later)


def test_two_recordings_in_one_are_refused_and_split():
    a, b = recording(seed=1), recording(seed=2)
    both = Log(
        *(np.concatenate([getattr(x, name) for x in (a, b)]) for name in ("t", "q", "tau")), name="day"
    )
    with pytest.raises(
        IdentificationError, match=r"row 2000: .* two recordings in one log; cut it there, as log.split\(\)"
    ):
        looked_over(both)
    first, second = both.split()
    np.testing.assert_array_equal(first.q, a.q)
    np.testing.assert_array_equal(second.tau, b.tau)
    assert (first.name, second.name, second.first) == ("day 1", "day 2", 2000)
    looked_over(second)


def test_rows_without_a_time_are_left_out():
    log = recording()
    record = looked_over(edited(log, "t", [5, 6], np.nan))
    assert len(record.t) == ROWS - 2
    assert note_about(record, "rows 5 and 6: the time is not a number; left out")
    with golden_error(IdentificationError):
        looked_over(edited(log, "t", slice(0, 400), np.inf))


def test_samples_held_once_are_left_out():
    """A lost sample was filled with the one before; the next is where it should be."""
    log = recording()
    rows = [300, 900, 901, 1500]
    held = log
    for name in ("q", "tau"):
        x = getattr(log, name).copy()
        for row in rows:
            x[row] = x[row - 1]
        held = changed(held, **{name: x})
    record = looked_over(held)
    np.testing.assert_array_equal(record.t, np.delete(log.t, rows))
    assert_same_but(record, held, rows)
    assert note_about(
        record, "all channels repeat the row before while the arm moves: samples are missing there"
    )


def test_samples_of_a_slower_clock_are_spaced_again():
    log = recording()
    rows = np.sort(np.append(np.arange(ROWS), np.arange(40, ROWS, 50)))
    t = np.arange(len(rows)) / 250
    record = looked_over(Log(t, log.q[rows], log.tau[rows]))
    np.testing.assert_allclose(np.diff(record.t), 0.004 * len(rows) / ROWS, rtol=2e-3)
    np.testing.assert_array_equal(record.q, log.q)
    assert note_about(record, "every 4.08 ms, not every 4 ms as stamped")


# ---- torques -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_torques_that_are_no_numbers_are_not_used(value):
    log = recording()
    record = looked_over(edited(log, "tau", [10, 11, 400], value, 1))
    np.testing.assert_array_equal(np.argwhere(~record.usable), [[10, 1], [11, 1], [400, 1]])
    assert np.isfinite(record.tau).all()
    assert note_about(record, "tau of joint 2: no number in rows 10, 11 and 400; not used")


def test_a_channel_without_numbers_is_not_used():
    record = looked_over(edited(recording(), "tau", slice(None), np.nan, 0))
    assert not record.usable[:, 0].any()
    assert record.usable[:, 1:].all()
    assert note_about(record, "tau of joint 1: there is no number in the whole log")
    with golden_error(IdentificationError):
        looked_over(edited(recording(), "tau", slice(None), np.nan))


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.05])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_spikes_of_torques_are_found_and_not_used(noise, width):
    log = recording(noise=noise)
    spiky, rows = log, [200, 201, 202][:width] + [1100, 1101, 1102][:width]
    for j in range(3):
        height = 3 * np.ptp(log.tau[:, j])
        spiky = edited(spiky, "tau", rows, height, j)
    record = looked_over(spiky)
    assert sorted(set(np.argwhere(~record.usable)[:, 0])) == rows
    assert not record.usable[rows].any()
    assert_same_but(record, log, rows)
    assert np.abs(record.tau).max() < 1.1 * np.abs(log.tau).max()
    assert len([note for note in record.notes if "2 spikes at rows 200" in note]) == 3


def test_too_many_spikes_are_told_and_used():
    log = recording()
    rows = np.arange(20, ROWS, 25)
    spiky = edited(log, "tau", rows, 3 * np.ptp(log.tau[:, 0]), 0)
    record = looked_over(spiky)
    np.testing.assert_array_equal(record.tau, spiky.tau)
    assert note_about(record, "tau of joint 1: 80 samples far from those around, too many for spikes")


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("share", [(2, 97), (0, 96), (3, 100)])
def test_saturated_torques_are_found_and_not_used(share, noise):
    log = recording(noise=noise)
    for j in range(3):
        bottom, top = np.percentile(log.tau[:, j], share)
        x = log.tau.copy()
        x[:, j] = np.clip(x[:, j], bottom, top)
        record = looked_over(changed(log, tau=x))
        cut = x[:, j] != log.tau[:, j]
        lost = ~record.usable[:, j]
        assert lost[cut].mean() > 0.97
        assert lost.sum() <= cut.sum() + 2
        assert record.usable.sum() == 3 * ROWS - lost.sum()
        np.testing.assert_array_equal(record.tau, x)
        assert note_about(record, f"tau of joint {j + 1}: {lost.sum()} samples cut off at ")


def test_a_dead_torque_is_told():
    log = recording()
    with golden_warning(IdentificationWarning):
        record = looked_over(edited(log, "tau", slice(None), 0.0, 1))
    assert note_about(record, "a dead channel?")
    with golden_error(IdentificationError):
        looked_over(changed(log, tau=np.zeros_like(log.tau)))


@pytest.mark.parametrize("late", [slowly(-0.012), 0.006, slowly(0.03)])
def test_a_delay_is_found_and_taken_out(late):
    log = recording(noise=0.02)
    q, qd, qdd = motion(log.t - late)
    tau = arm().inverse_dynamics(q, qd, qdd)
    tau += 0.02 * tau.std(0) * np.random.default_rng(0).normal(size=tau.shape)
    delayed = changed(log, tau=tau)
    found = estimate_delay(arm(), delayed)
    assert found.clear
    assert found.seconds == pytest.approx(late, abs=5e-4)
    record = delayed.at_joints(arm(), delay="estimate")
    inner = slice(20, -20)
    true = recording(noise=0).tau
    assert (np.abs(record.tau - true)[inner].mean(0) < 0.025 * tau.std(0)).all()
    assert (np.abs(tau - true)[inner].mean(0) > 0.025 * tau.std(0)).all()
    assert note_about(record, "after the positions; this was taken out")
    ends = record.usable[:3] if late < 0 else record.usable[-1:]
    assert not ends.any()
    np.testing.assert_allclose(delayed.at_joints(arm(), delay=late).tau, record.tau, atol=0.1 * tau.std())


@pytest.mark.slow
def test_no_delay_is_found_where_there_is_none():
    found = estimate_delay(arm(), recording(noise=0.02))
    assert not found.clear
    assert abs(found.seconds) < 5e-4
    record = recording(noise=0.02).at_joints(arm(), delay="estimate")
    np.testing.assert_array_equal(record.tau, recording(noise=0.02).tau)
    assert note_about(record, "not taken out")


@pytest.mark.parametrize("delay", ["guess", np.nan, [0.1, 0.2]])
def test_a_wrong_delay_is_refused(delay):
    with golden_error(ArmdynError):
        recording().at_joints(arm(), delay=delay)


# ---- positions ---------------------------------------------------------------------------------------------


def test_a_few_missing_positions_are_interpolated():
    log = recording()
    record = looked_over(edited(log, "q", [50, 51, 900], np.nan, 0))
    assert not record.usable[[50, 51, 900]].any()
    assert_same_but(record, log, [50, 51, 900])
    np.testing.assert_allclose(record.q, log.q, atol=2e-5)
    assert list(np.flatnonzero(record.filled)) == [50, 51, 900]
    assert note_about(record, "q of joint 1: no number in rows 50, 51 and 900; interpolated")


def test_many_missing_positions_are_a_gap():
    log = recording()
    record = looked_over(edited(log, "q", slice(600, 700), np.nan, 2))
    assert record.segments == (slice(0, 600), slice(600, 1900))
    assert_same_but(record, log, [])
    assert note_about(record, "q: no numbers in rows 600 to 699, too many in a row to interpolate; left out")
    with golden_error(IdentificationError):
        looked_over(edited(log, "q", slice(None), np.nan, 2))


def test_missing_velocities_are_treated_as_positions():
    log = recording(derivatives=True)
    record = looked_over(edited(log, "qd", 77, np.nan, 1))
    assert not record.usable[77].any()
    np.testing.assert_allclose(record.qd, log.qd, atol=1e-3)
    assert note_about(record, "qd of joint 2: no number in row 77; interpolated")


@pytest.mark.parametrize("height", [0.2, -3.0])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_spikes_of_positions_are_interpolated(height, width):
    log = recording()
    rows = [*range(300, 300 + width), *range(1200, 1200 + width)]
    record = looked_over(edited(log, "q", rows, log.q[rows, 0] + height, 0))
    assert list(np.flatnonzero(record.filled)) == rows
    assert not record.usable[rows].any()
    assert_same_but(record, log, rows)
    np.testing.assert_allclose(record.q, log.q, atol=1e-4)
    assert note_about(record, "q of joint 1: 2 spikes at rows")


def test_many_spikes_of_positions_are_interpolated():
    log = recording()
    rows = np.arange(30, ROWS - 30, 50)
    record = looked_over(edited(log, "q", rows, 9.5, 2))
    np.testing.assert_array_equal(np.flatnonzero(record.filled), rows)
    np.testing.assert_allclose(record.q, log.q, atol=1e-4)


def test_missing_positions_of_a_coarse_encoder_are_interpolated_well():
    """Over 10 ms at 5 kHz: the error is not that of two neighbours, prolonged."""
    log = recording(rate=5000, duration=1)
    quantum = 1e-4
    coarse = np.rint(log.q / quantum) * quantum
    record = looked_over(edited(changed(log, q=coarse), "q", slice(2000, 2045), np.nan, 0))
    assert record.filled.sum() == 45
    assert np.abs(record.q - log.q).max() < 2 * quantum


def test_a_jump_of_positions_cuts_the_log():
    log = recording()
    moved = changed(log, q=log.q + np.outer(np.arange(ROWS) >= 800, [0.5, 0, 0]))
    record = looked_over(moved)
    assert record.segments == (slice(0, 800), slice(800, ROWS))
    assert note_about(record, "at row 800, which no motion does; the log is cut there")
    np.testing.assert_array_equal(record.q, moved.q)


def test_wrapped_angles_are_unwrapped():
    robot = Robot.load("pendulum")
    t = np.arange(ROWS) / 250
    q = (2 * t + 0.3 * np.sin(5 * t))[:, None]
    tau = np.sin(q) + 0.01 * np.random.default_rng(0).normal(size=q.shape)
    with golden_warning(IdentificationWarning):  # two and a half turns
        record = Log(t, (q + np.pi) % (2 * np.pi) - np.pi, tau).at_joints(robot)
    np.testing.assert_allclose(record.q, q, atol=1e-12)
    assert record.usable.all()
    assert note_about(record, "q of joint 1: jumps by whole turns at rows")


def test_an_angle_that_dithers_at_the_end_of_its_turn_is_unwrapped():
    robot, rng = Robot.load("pendulum"), np.random.default_rng(0)
    t = np.arange(ROWS) / 250
    q = np.pi + 0.02 * np.sin(3 * t)[:, None] + 1e-3 * rng.normal(size=(ROWS, 1))
    wrapped = (q + np.pi) % (2 * np.pi) - np.pi
    record = Log(t, wrapped, np.sin(t)[:, None]).at_joints(robot)
    np.testing.assert_allclose(
        (record.q - q) / (2 * np.pi), np.rint((record.q - q) / (2 * np.pi)), atol=1e-12
    )
    assert np.ptp(record.q) < 0.1
    assert not record.filled.any()


def test_a_single_turn_encoder_of_a_motor_is_unwrapped():
    robot = Robot.load("pendulum")
    t = np.arange(ROWS) / 500
    angle = 60 * np.sin(2 * t)[:, None]
    log = Log(t, motor_position=angle % (2 * np.pi), motor_torque=np.cos(t)[:, None], transmission=[50.0])
    record = log.at_joints(robot)
    np.testing.assert_allclose(record.q, angle / 50, atol=1e-12)
    assert record.usable.all()
    kept = np.r_[:500, 700:ROWS]
    parts = {name: getattr(log, name)[kept] for name in log.channels}
    with pytest.raises(IdentificationError, match=r"motor 1 jumps by whole turns, and samples .* row 499"):
        Log(**parts, transmission=[50.0]).at_joints(robot)


# ---- what looks wrong --------------------------------------------------------------------------------------


def test_units_that_look_wrong_are_told():
    log = recording()
    with golden_warning(IdentificationWarning):
        looked_over(changed(log, q=np.degrees(log.q) * [1, np.pi / 180, np.pi / 180]))
    with golden_warning(IdentificationWarning):
        looked_over(changed(log, q=log.q * [1, 1000, 1]))
    with pytest.warns(IdentificationWarning, match=r"the rate is 0.25 Hz; are the times in milliseconds\?"):
        looked_over(changed(log, t=log.t * 1000))


def test_velocities_that_are_no_derivatives_are_told():
    log = recording(derivatives=True)
    with golden_warning(IdentificationWarning):
        looked_over(changed(log, qd=log.qd * [1, 1, -1], qdd=log.qdd * [1, 1, -1]))
    with pytest.warns(IdentificationWarning, match=r"qdd of joint 1 .* is 57.3 times the derivative"):
        looked_over(changed(log, qdd=log.qdd * [180 / np.pi, 1, 1]))


def test_a_joint_that_does_not_move_is_told():
    record = looked_over(edited(recording(), "q", slice(None), 0.3, 1))
    assert note_about(record, "joint 2 ('link 2'): the position never changes")
    assert record.usable.all()


def test_a_record_of_another_robot_is_refused():
    with pytest.raises(IdentificationError, match=r"test: q: expected 6 columns for this robot, found 3"):
        looked_over(recording(), Robot.load("puma560"))
    with golden_error(IdentificationError):
        looked_over(recording(), "puma560")


def test_too_short_a_log_is_refused():
    with golden_error(IdentificationError):
        looked_over(recording()[:6])
