"""Logs of arms in contact: with the measured wrench the fit is that of a free arm, without it biased."""

from dataclasses import replace

import numpy as np
import pytest

from armdyn import ComputedTorque, Log, Robot, Trajectory, identify, simulate
from armdyn.identification import IdentificationError, estimate_delay
from armdyn.identification.payload import identify_payload, payload_from_sensor
from arms import ROTORS, law, plans, quietly, slowly, table_of
from contact_logs import in_contact, in_tip_axes, wrench_of
from fit_logs import small_arm
from golden_messages import golden_error
from payload_logs import fourier, random_load
from recordings import arm, edited, motion
from simulated_logs import distance, log_of, motion_of, wrong

PLAIN = {"friction": "plain", "damping": 0.0}


def without(log):
    """The log as it would be without the sensor."""
    return replace(log, wrench=None, wrench_frame="world")


def recorded(noise=0.01, exact=False, late=0.0, **options):
    """Eight seconds of the arm of `recordings` in contact; torques `late` [s] behind positions and wrench."""
    t = np.arange(2000) / 250
    h = wrench_of(t)
    tau = arm().inverse_dynamics(*motion(t - late), wrench=wrench_of(t - late))
    tau = tau + noise * tau.std(0) * np.random.default_rng(1).normal(size=tau.shape)
    q, qd, qdd = motion(t)
    states = {"qd": qd, "qdd": qdd} if exact else {}
    return Log(t, q, tau, wrench=h, **states, **{"name": "test"} | options)


# ---- fits --------------------------------------------------------------------------------------------------


@law(plans((1, 4), rotors=ROTORS), examples=4, thorough=40)
def test_fit_in_contact_is_the_arm_with_the_wrench_and_is_not_without(plan):
    robot = Robot.from_dict(table_of(plan))
    seed = plan.seed % 1000
    log = in_contact(robot, motion_of(robot, seed), seed, frame=("world", "tip")[seed % 2])
    far = quietly(lambda: wrong(robot, seed))
    free, fit = (quietly(lambda x=x: identify(far, log, consistent=x, **PLAIN)) for x in (False, None))
    assert distance(free, robot) < 1e-9
    assert distance(fit, robot) < 1e-7  # friction that is zero is a bound, which the solver meets so closely
    if np.abs(log.at_joints(robot).contact).max() > 1e-9:  # a tip that no joint moves feels nothing
        assert found_blind(far, without(log), robot) > 1e-6


def found_blind(far, log, robot):
    """How far from the robot a fit is that is not told of the wrench; infinitely where it is refused."""
    try:
        return distance(quietly(lambda: identify(far, log, **PLAIN)), robot)
    except IdentificationError as problem:
        if "too little for a model" not in str(problem):
            raise
        return np.inf


@pytest.mark.parametrize("frame", ["world", "tip"])
def test_torques_of_the_wrench_are_those_that_inverse_dynamics_adds(frame):
    """Of an arm whose base stands turned in the world, and whose second joint slides."""
    table = small_arm().to_dict() | {"base": {"xyz": [0.3, -0.2, 1.0], "rpy": [0.4, -1.1, 2.0]}}
    robot = Robot.from_dict(table | {"tool": {"xyz": [0.1, 0.05, -0.2], "rpy": [0.3, 0.2, -1.0]}})
    t, q, qd, qdd = motion_of(robot, 3)
    record = in_contact(robot, (t, q, qd, qdd), frame=frame).at_joints(robot)
    free = robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(record.contact, record.tau - free, rtol=0, atol=1e-10 * np.abs(free).max())
    np.testing.assert_allclose(record.tau_of_motion, free, rtol=0, atol=1e-10 * np.abs(free).max())


@pytest.mark.parametrize(
    "method", ["robust", "instrumental", *map(slowly, ("weighted", "ordinary", "sequential"))]
)
def test_every_method_takes_the_wrench(method):
    """From noisy positions and torques, as near to the truth as a free arm comes."""
    rng, true = np.random.default_rng(3), Robot.load("scara")
    t, q, qd, qdd = motion_of(true, 1)
    h, e = wrench_of(t), rng.normal(size=q.shape)
    free = true.inverse_dynamics(q, qd, qdd)
    noisy, seen = 0.01 * np.abs(free).mean(0) * e, q + 1e-5 * rng.normal(size=q.shape)
    pressed = Log(t, seen, true.inverse_dynamics(q, qd, qdd, wrench=h) + noisy, wrench=h)
    found, expected = (
        identify(wrong(true), log, method=method, cutoff=10.0, **PLAIN)
        for log in (pressed, Log(t, seen, free + noisy))
    )
    np.testing.assert_allclose(
        found.parameters, expected.parameters, atol=1e-3 * np.abs(expected.parameters).max()
    )
    assert found.training_error == pytest.approx(expected.training_error, rel=1e-3)


def test_motor_side_log_in_contact_gives_the_parameters_of_the_joint_side():
    robot = arm()
    log = recorded(noise=0.0, exact=True)
    K = robot.transmission
    motors = Log(
        log.t, None, qd=log.qd, qdd=log.qdd, wrench=log.wrench,
        motor_position=log.q @ K.T, motor_torque=log.tau @ np.linalg.inv(K),
    )  # fmt: skip
    fits = [quietly(lambda log=log: identify(wrong(robot), log, **PLAIN)) for log in (log, motors)]
    np.testing.assert_allclose(fits[1].parameters, fits[0].parameters, rtol=1e-6, atol=1e-8)
    assert distance(fits[1], robot) < 1e-9


def test_contact_faster_than_the_filter_leaves_the_fit_alone():
    """A rattling force is in torques and wrench alike, far above the cut-off."""
    robot = small_arm()
    t, q, qd, qdd = motion_of(robot, 2, rate=250.0)
    h = wrench_of(t)
    h[:, :3] += 30 * np.sign(np.sin(2 * np.pi * 41.3 * t))[:, None]
    log = Log(t, q, robot.inverse_dynamics(q, qd, qdd, wrench=h), wrench=h)
    fit = identify(robot, log, cutoff=6.0, **PLAIN)
    free = identify(robot, log_of(robot, (t, q, qd, qdd), exact=False), cutoff=6.0, **PLAIN)
    assert fit.training_error == pytest.approx(free.training_error, rel=1e-6)
    np.testing.assert_allclose(fit.parameters, free.parameters, rtol=1e-6, atol=1e-7)


# ---- predictions and errors --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fit():
    robot = small_arm()
    return identify(robot, in_contact(robot, motion_of(robot, 4), name="pressed"), **PLAIN)


def test_predictions_have_the_torques_of_the_wrench_that_a_log_has(fit):
    robot = small_arm()
    moved = motion_of(robot, 5)
    pressed, free = in_contact(robot, moved, 7, frame="tip"), log_of(robot, moved)
    scale = np.abs(free.tau).max()
    np.testing.assert_allclose(fit.predict(pressed), pressed.tau, rtol=0, atol=1e-9 * scale)
    np.testing.assert_allclose(fit.predict(free), free.tau, rtol=0, atol=1e-9 * scale)
    assert fit.error([pressed, free]) < 1e-9
    assert fit.error(without(pressed)) > 0.1
    tried = fit.validate([pressed, replace(free, name="free")])
    assert tried.error < 1e-9
    assert fit.cross_validate(pressed).error < 1e-9


def test_errors_are_parts_of_the_torques_of_the_motion(fit):
    """However hard the arm presses: the error of a wrong model is the same."""
    robot = small_arm()
    moved = motion_of(robot, 5)
    heavier = robot.with_payload(1.0)
    pressed, free = in_contact(heavier, moved, 7), log_of(heavier, moved)
    assert fit.error(pressed) == pytest.approx(fit.error(free), rel=1e-9)
    one, other = (fit.validate(log).joints[0] for log in (pressed, free))
    assert one.relative == pytest.approx(other.relative, rel=1e-9)


# ---- looking over ------------------------------------------------------------------------------------------


def test_rows_without_a_wrench_are_not_used_and_the_rest_fits():
    log = recorded(noise=0.0, exact=True)
    log = edited(edited(log, "wrench", slice(400, 460), np.nan, 1), "wrench", 900, np.inf, 4)
    log = edited(log, "wrench", slice(1200, 1202), 5e4, 0)
    record = log.at_joints(arm())
    lost = np.r_[400:460, 900, 1200:1202]
    assert np.isfinite(record.contact).all()
    np.testing.assert_array_equal(np.flatnonzero(~record.usable.any(1)), lost)
    assert not record.usable[lost].any()
    assert record.notes[-3:] == (
        "fx of the wrench: 1 spike at rows 1200 and 1201; not used, and interpolated for the filters",
        "fy of the wrench: no number in rows 400 to 459; not used",
        "my of the wrench: no number in row 900; not used",
    )
    assert distance(quietly(lambda: identify(wrong(arm()), log, **PLAIN)), arm()) < 1e-9


def test_a_delay_is_that_of_the_torques_alone():
    late = recorded(late=0.02, noise=0.02)
    found = estimate_delay(arm(), late)
    assert found.seconds == pytest.approx(0.02, abs=5e-4)
    taken = [
        identify(arm(), log, cutoff=8.0, **PLAIN).training_error
        for log in (recorded(noise=0.02), replace(late, delay=0.02), late)
    ]
    assert taken[1] < 1.1 * taken[0] < 0.7 * taken[2]
    holed = edited(late, "wrench", slice(500, 540), np.nan, 2)
    usable = replace(holed, delay=0.02).at_joints(arm()).usable
    assert not usable[500:540].any()
    assert usable[100:490].all()


def test_a_gap_and_a_missing_position_are_dealt_with_as_without_a_wrench():
    log = recorded(exact=True)
    kept = np.r_[0:800, 860:2000]
    log = Log(**{name: getattr(log, name)[kept] for name in log.channels}, name="test")
    log = edited(log, "q", 300, np.nan, 1)
    records = [x.at_joints(arm()) for x in (log, without(log))]
    assert records[0].segments == records[1].segments == (slice(0, 800), slice(800, 1940))
    np.testing.assert_array_equal(records[0].usable, records[1].usable)
    assert records[0].contact.shape == (1940, 3)
    assert len(records[0].between(790, 820).contact) == 30


def test_a_wrench_that_never_changes_is_told():
    log = edited(recorded(), "wrench", slice(None), -15.0, 2)
    assert "fz of the wrench: -15 throughout" in log.at_joints(arm()).notes
    log = edited(log, "wrench", slice(None), 0.0, 3)  # where nothing acts
    assert not any("mx" in note for note in log.at_joints(arm()).notes)


def test_a_wrench_that_is_none_is_refused():
    log = recorded()
    with golden_error(IdentificationError):
        Log(log.t, log.q, log.tau, wrench=log.wrench[:, :3])
    with golden_error(IdentificationError):
        Log(log.t, log.q, log.tau, wrench=log.wrench.T)
    with golden_error(IdentificationError):
        Log(log.t, log.q, log.tau, wrench=log.wrench, wrench_frame="base")
    with golden_error(IdentificationError):
        Log(log.t, log.q, log.tau, wrench_frame="tip")
    with golden_error(IdentificationError):
        edited(log, "wrench", slice(None), np.nan, 5).at_joints(arm())
    with golden_error(IdentificationError):
        Log(log.t, log.q, wrench=log.wrench).at_joints(arm())
    with golden_error(IdentificationError):
        identify(arm(), Log(log.t, log.q, wrench=log.wrench))


# ---- files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", slowly("npz"), slowly("parquet")])
def test_a_wrench_is_saved_and_read_and_blocks_of_a_file_fit_as_the_whole(tmp_path, kind, monkeypatch):
    log = recorded()
    log.save(tmp_path / f"log.{kind}")
    again = Log.load(tmp_path / f"log.{kind}")
    np.testing.assert_array_equal(again.wrench, log.wrench)
    assert again.wrench_frame == "world"
    assert again.channels == ("t", "q", "tau", "wrench")
    monkeypatch.setattr("armdyn.identification.log_set.BLOCK", 700)
    whole, blocks = (
        identify(arm(), x, cutoff=20.0, **PLAIN) for x in (again, Log.open(tmp_path / f"log.{kind}"))
    )
    np.testing.assert_allclose(blocks.parameters, whole.parameters, rtol=1e-4, atol=1e-5)


def test_the_frame_is_kept_where_a_file_can_hold_it(tmp_path):
    log = replace(recorded(), wrench_frame="tip")
    log.save(tmp_path / "log.npz")
    log.save(tmp_path / "log.parquet")
    for name in ("log.npz", "log.parquet"):
        assert Log.load(tmp_path / name).wrench_frame == "tip"
    with pytest.warns(UserWarning, match="a CSV file does not hold wrench_frame"):
        log.save(tmp_path / "log.csv")
    assert Log.load(tmp_path / "log.csv", wrench_frame="tip").wrench_frame == "tip"
    with golden_error(IdentificationError):
        Log.load(tmp_path / "log.csv", wrench_frame="tool")


def test_columns_of_a_sensor_are_named_and_their_sign_and_units_are_factors(tmp_path):
    log = recorded()
    rows = np.column_stack([log.t, log.q, log.tau, -log.wrench[:, :3] / 1000, -log.wrench[:, 3:]])
    names = ["t", "q1", "q2", "q3", "tau1", "tau2", "tau3", "fx", "fy", "fz", "mx", "my", "mz"]
    path = tmp_path / "log.csv"
    np.savetxt(path, rows, delimiter=",", header=",".join(names), comments="")
    assert "columns that were not used: fx, fy, fz, mx, my, mz" in Log.load(path).notes
    columns = {"q": "q*", "tau": "tau*", "wrench": names[-6:]}
    found = Log.load(path, columns, {"wrench": [-1e3] * 3 + [-1.0] * 3})
    np.testing.assert_allclose(found.wrench, log.wrench, rtol=1e-12)
    found = Log.load(path, columns, {"wrench": ["kN"] * 3 + ["Nm"] * 3})
    np.testing.assert_allclose(found.wrench, -log.wrench, rtol=1e-12)
    with golden_error(IdentificationError):
        Log.load(path, columns, {"wrench": "N"})
    with golden_error(IdentificationError):
        Log.load(path, columns, {"wrench": "rad"})
    with golden_error(IdentificationError):
        Log.load(path, columns | {"wrench": ["fx", "fy", "fz"]})


def test_units_in_names_are_understood(tmp_path):
    log = recorded()
    names = ["t", *(f"q{k}" for k in (1, 2, 3)), *(f"tau{k}" for k in (1, 2, 3))]
    names += [*(f"wrench{k} [kN]" for k in (1, 2, 3)), *(f"wrench{k} [Nm]" for k in (4, 5, 6))]
    rows = np.column_stack([log.t, log.q, log.tau, log.wrench[:, :3] / 1000, log.wrench[:, 3:]])
    np.savetxt(tmp_path / "log.csv", rows, delimiter=",", header=",".join(names), comments="")
    np.testing.assert_allclose(Log.load(tmp_path / "log.csv").wrench, log.wrench, rtol=1e-12)


# ---- simulated runs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [slowly("constant"), "samples", "function"])
def test_a_simulated_log_has_the_wrench_that_acted(kind, tmp_path):
    robot = Robot.load("planar3").with_rotors("none")
    move = Trajectory.quintic([0.0, 0.3, -0.5], [1.0, -0.9, 0.4], duration=0.6)
    h = wrench_of(np.linspace(0, 0.6, 601)) * 5
    wrench = {
        "constant": h[0],
        "samples": h,
        "function": lambda t, q, qd: [np.sin(9 * t) * 100, 0, 0, 0, 0, q[0]],
    }
    run = simulate(
        robot, move.q[0], np.zeros(3), 0.6, ComputedTorque(robot, move), wrench=wrench[kind], output=1e-3,
        method="rk4", limits="ignore",
    )  # fmt: skip
    log = Log.from_run(run)
    qdd = robot.forward_dynamics(run.q, run.qd, run.tau, run.wrench)
    exact = replace(log, qdd=qdd)
    record = exact.at_joints(robot)
    np.testing.assert_allclose(record.tau_of_motion, robot.inverse_dynamics(run.q, run.qd, qdd), atol=1e-7)
    run.to_csv(tmp_path / "run.csv")
    np.testing.assert_allclose(Log.load(tmp_path / "run.csv").wrench, run.wrench, rtol=1e-12)


def test_runs_with_other_wrenches(tmp_path):
    robot = Robot.load("planar")
    options = {"method": "rk4", "limits": "ignore"}
    assert simulate(robot, [0, 0], [0, 0], 0.01, **options).wrench is None
    run = simulate(robot, np.zeros((4, 2)), [0, 0], 0.01, wrench=np.arange(24.0).reshape(4, 6), **options)
    np.testing.assert_array_equal(run.wrench[5], np.arange(24.0).reshape(4, 6))
    run = simulate(robot, [0, 0], [0, 0], 0.01, wrench={"link 1": [1, 0, 0, 0, 0, 0]}, **options)
    assert run.wrench["link 1"].shape == (11, 6)
    with golden_error(IdentificationError):
        Log.from_run(run)
    there, on = (Trajectory.quintic(a, b, 0.01) for a, b in (([0, 0], [0.1, 0.1]), ([0.1, 0.1], [0.2, 0])))
    carried = there + on.carrying(2.0, [0, 0, 0])
    given = {"torque": ComputedTorque(robot, carried), "wrench": [1, 2, 3, 4, 5, 6.0]}
    run = simulate(robot, [0, 0], [0, 0], 0.02, **given, **options)
    assert run.wrench.shape == (len(run.t), 6)
    np.testing.assert_array_equal(run.wrench[-1], given["wrench"])


# ---- payloads ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "beside"),
    [("tip", "the arm's model"), slowly("world", "the arm's model"), slowly("world", "another log")],
)
def test_payload_from_joint_torques_in_contact(frame, beside):
    rng = np.random.default_rng(4)
    robot, load = Robot.load("puma560"), random_load(rng)
    moved = fourier(6, rng, rate=100.0)
    loaded = in_contact(robot.with_payload(**load), moved, frame=frame, exact=False)
    unloaded = None if beside == "the arm's model" else log_of(robot, moved, exact=False)
    found = identify_payload(robot, loaded, unloaded)
    assert found.mass == pytest.approx(load["mass"], rel=1e-3)
    np.testing.assert_allclose(found.com, load["com"], atol=1e-3)
    blind = identify_payload(robot, without(loaded), unloaded, consistent=False)
    assert abs(blind.mass - load["mass"]) > 0.05 * load["mass"]


def test_payload_from_the_wrench_of_a_log_that_has_no_torques():
    """What the tip exerts on a load is what the load needs, and the sensor's offsets are beside it."""
    rng = np.random.default_rng(5)
    robot, load = Robot.load("panda"), random_load(rng)
    t, q, qd, qdd = fourier(7, rng, rate=100.0)
    true = np.concatenate([_tip_forces(robot, load, q, qd, qdd), np.zeros((len(t), 3))], axis=1)
    readings = in_tip_axes(robot, q, true)
    readings[:, 3:] = np.cross(load["com"], readings[:, :3])
    readings = readings + rng.normal(size=readings.shape) * [0.3, 0.3, 0.3, 0.01, 0.01, 0.01]
    offsets = np.array([4.0, -1.0, 7.0, 0.1, 0.2, -0.1])
    readings[700] = np.nan
    log = Log(t, q, wrench=readings + offsets, wrench_frame="tip")
    assert log.torques == ""
    found = payload_from_sensor(robot, log)
    assert found.mass == pytest.approx(load["mass"], rel=5e-3)
    np.testing.assert_allclose(found.com, load["com"], atol=3e-3)
    np.testing.assert_allclose(found.offsets, offsets, atol=0.1)
    assert any("of the wrench: no number in row 700" in note for note in found.notes)
    beside = Log(t, q, robot.inverse_dynamics(q, qd, qdd))
    given = payload_from_sensor(robot, beside, readings + offsets)
    assert given.mass == pytest.approx(found.mass, rel=1e-3)
    for wrong_call in (
        lambda: payload_from_sensor(robot, beside),
        lambda: payload_from_sensor(robot, replace(log, wrench_frame="world")),
        lambda: payload_from_sensor(robot, log, measures="by_tool"),
        lambda: payload_from_sensor(robot, replace(log, tau=beside.tau), readings),
    ):
        with golden_error(IdentificationError):
            wrong_call()


def _tip_forces(robot, load, q, qd, qdd):
    """(N, 3) in world axes: what moves a point mass at the load's centre and holds its weight."""
    J, Jd = robot.jacobian(q), robot.jacobian_dot(q, qd)
    speed, change = np.einsum("kij,kj->ki", J, qd), np.einsum("kij,kj->ki", J, qdd)
    change = change + np.einsum("kij,kj->ki", Jd, qd)
    w, dw, c = speed[:, 3:], change[:, 3:], robot.pose(q)[:, :3, :3] @ load["com"]
    acceleration = change[:, :3] + np.cross(dw, c) + np.cross(w, np.cross(w, c))
    return load["mass"] * (acceleration - robot.mechanism.gravity)
