"""The momentum observer: against torques that are known, step by step, in C, and on a Panda that is hit."""

import ctypes
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

import armdyn
from armdyn import ComputedTorque, MomentumObserver, Robot, Trajectory, load_cycle, simulate
from armdyn.motion.loads import Carried, Load, Loaded
from armdyn.simulation import SimulationError, observer_source
from arms import assert_same, generators, law, models, quietly, related, robots, slowly
from friction_arms import rubbing
from golden_messages import golden_error

PUMA, PANDA = Robot.load("puma560"), Robot.load("panda")
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def motion(rng, n, t, arms=()):
    """q, q̇, q̈ (T, ..., n) along a line in joint space, without turning: no friction changes its direction."""
    start, way = (
        rng.uniform(-1, 1, (*arms, n)),
        rng.uniform(0.3, 1, (*arms, n)) * rng.choice([-1, 1], (*arms, n)),
    )
    t = t.reshape(-1, *[1] * (1 + len(arms)))
    return start + way * (t - 0.25 * np.cos(2 * t)), way * (1 + 0.5 * np.sin(2 * t)), way * np.cos(2 * t)


def seen_quickly(robot, rng, tolerance):
    """A gain so high that the residual is the mean of the last step: −Jᵀh, but for the trapezoidal rule."""
    t = 1e-3 * np.arange(6)
    q, qd, qdd = motion(rng, robot.n, t, (3,))
    wrench = rng.normal(size=6) * (1 + t[:, None, None])
    with armdyn.backend("evaluator"):
        tau = robot.inverse_dynamics(q, qd, qdd, wrench)
        felt = -np.einsum("...ij,...i->...j", robot.jacobian(q), np.broadcast_to(wrench, (*q.shape[:-1], 6)))
        found = MomentumObserver(robot, 1e5).run(q, qd, tau).residual
    assert_same(found[1:], (felt[1:] + felt[:-1]) / 2, tolerance, np.abs(tau).max())
    assert not found[0].any()


@law(robots((1, 4), rotors=("exact", "reflected", "none")), generators(), examples=8, thorough=75)
def test_residuals_are_the_torques_from_outside(robot, rng):
    """Motors on any carrier, coupled, prismatic joints, dry friction."""
    seen_quickly(robot, rng, 1e-5)


@law(rubbing((1, 3)), generators(), examples=5)
def test_friction_that_depends_on_load_and_speed_is_taken_off(robot, rng):
    seen_quickly(robot, rng, 1e-5)


@law(models((2, 3)), st.integers(0, 1000), generators(), examples=3)
def test_joints_that_follow_others(model, seed, rng):
    seen_quickly(quietly(lambda: Robot(related(model, seed))), rng, 1e-4)


@pytest.mark.slow
def test_errors_fall_with_the_square_of_the_step():
    """No bias of first order: a quarter of the residual at half the step, though the torques change."""
    errors = []
    for h in (2e-3, 1e-3):
        t = np.arange(0, 0.5 + h / 2, h)
        q, qd, qdd = motion(np.random.default_rng(4), 6, t)
        errors.append(
            MomentumObserver(PUMA, 50, h).run(q, qd, PUMA.inverse_dynamics(q, qd, qdd)).residual[-1]
        )
    assert abs(errors[1]).max() < 1e-4
    assert_same(errors[0] / errors[1], np.full(6, 4.0), 0.02)


def test_the_residual_is_the_filtered_torque():
    """ṙ = K (τ_ext − r), solved in steps a hundred times as fine."""
    rng, h, gain = np.random.default_rng(6), 1e-3, np.array([20.0, 50, 100, 30, 60, 200])
    fine = h / 100 * np.arange(20_001)
    q, qd, qdd = motion(rng, 6, fine)
    felt = np.sin(20 * fine[:, None]) * rng.normal(size=6) * 5
    tau = PUMA.inverse_dynamics(q, qd, qdd) - felt
    found = MomentumObserver(PUMA, gain, h).run(q[::100], qd[::100], tau[::100])
    r, decay = np.zeros(6), np.exp(-gain * h / 100)
    for k in range(20_000):
        r = decay * r + (1 - decay) * (felt[k] + felt[k + 1]) / 2
    assert_same(found.residual[-1], r, 5e-4)  # h² K τ̇_ext/12
    assert found.t[-1] == pytest.approx(0.2)


@pytest.mark.slow
def test_torques_that_are_held_are_taken_as_held():
    """A sampled controller: its torques jump at the samples, which the trapezoidal rule would smear."""
    q0 = np.array([0, -0.5, 0, -2, 0, 1.6, 0.7])
    control = ComputedTorque(PANDA, Trajectory.quintic(q0, q0 + 0.2, 0.2), 400, 40, rate=100)
    run = simulate(
        PANDA, q0, np.zeros(7), 0.2, control, method="rk4", step=1e-3, output=1e-2, limits="ignore"
    )
    held = MomentumObserver(PANDA, 100, 1e-2, held=True).run(run.q, run.qd, run.tau)
    smooth = MomentumObserver(PANDA, 100, 1e-2).run(run.q, run.qd, run.tau)
    assert held.peak.max() < 0.05
    assert smooth.peak.max() > 0.3


def test_friction_that_holds_a_joint_at_rest_looks_like_a_torque_from_outside():
    """sgn(0) = 0: no model can say how much of its level dry friction takes."""
    q = np.tile([0, 0.8, -2.6, 0, 0.3, 0], (200, 1))
    tau = PUMA.gravity(q) + np.array([3.0, 0, 0, 0, 0, 0])  # less than the waist's Coulomb friction
    seen = MomentumObserver(PUMA, 100).run(q, np.zeros_like(q), tau)
    assert_same(seen.residual[-1], [-3.0, 0, 0, 0, 0, 0], 1e-6)


# ---- one sample at a time, batches, C ----------------------------------------------------------------------


def recording(robot, rng, rows=40, arms=()):
    t = 1e-3 * np.arange(rows)
    q, qd, qdd = motion(rng, robot.n, t, arms)
    return (
        q,
        qd,
        robot.inverse_dynamics(q, qd, qdd) + np.where(t > 0.02, 30, 0).reshape(-1, *[1] * (q.ndim - 1)),
    )


def test_samples_one_by_one_batches_and_the_evaluator_agree():
    q, qd, tau = recording(PUMA, np.random.default_rng(2), arms=(2, 3))
    observer = MomentumObserver(PUMA, 80, threshold=5)
    whole = observer.run(q, qd, tau)
    for k in range(len(q)):
        assert_same(observer.update(q[k], qd[k], tau[k]), whole.residual[k], 1e-13)
        assert (observer.joint == whole.joint[k]).all()
    alone = observer.run(q[:, 1, 2], qd[:, 1, 2], tau[:, 1, 2])
    assert_same(alone.residual, whole.residual[:, 1, 2], 1e-12)
    with armdyn.backend("evaluator"):
        assert_same(observer.run(q, qd, tau).residual, whole.residual, 1e-11)
    assert (whole.joint[-1] >= 0).all()
    assert len(whole.collisions) == 6
    assert {c.arm for c in whole.collisions} == {(i, j) for i in range(2) for j in range(3)}
    observer.reset()
    assert not observer.update(q[0, 0, 0], qd[0, 0, 0], tau[0, 0, 0]).any()


def in_c(observer, folder, scalar="double", carried=0):
    """The C code as a function of a recording: residuals (T, n) and joints (T,), from 1, sample by sample.

    `carried` numbers of each sample say what the arm carries.
    """
    source = observer_source(observer, "arm", scalar, ["payload"] if carried else [])
    main = folder / "use.c"
    code = source.write(folder / "c")[1]
    main.write_text(
        f'#include "c/arm.h"\n'
        f"typedef {scalar} x;\n"
        "void run(long rows, const x *q, const x *qd, const x *tau, "
        f"{'const x *load, ' * bool(carried)}x *r, x *j)\n"
        "{\n"
        f"    static const {scalar} settings[] = ARM_SETTINGS;\n"
        f"    {scalar} state[ARM_STATE] = {{0}};\n"
        "    for (long k = 0; k < rows; ++k)\n"
        f"        arm_observer(1, settings, q + {observer.robot.n} * k, qd + {observer.robot.n} * k,\n"
        f"                     tau + {observer.robot.n} * k, {f'load + {carried} * k, ' * bool(carried)}\n"
        f"                     state, r + {observer.robot.n} * k, j + k);\n"
        "}\n"
    )
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, str(main), str(code), "-lm", "-o", str(folder / "lib.so")], check=True)
    function = ctypes.CDLL(str(folder / "lib.so")).run
    kind = np.float64 if scalar == "double" else np.float32

    def run(*samples):
        given = [np.ascontiguousarray(x, dtype=kind) for x in samples]
        r, joint = np.empty_like(given[0]), np.empty(len(given[0]), dtype=kind)
        arrays = [ctypes.c_void_p(x.ctypes.data) for x in (*given, r, joint)]
        function(ctypes.c_long(len(r)), *arrays)
        return r, joint.astype(int)

    return run


@needs_compiler
@pytest.mark.parametrize(
    ("scalar", "held", "tolerance"), [slowly("double", False, 1e-11), ("float", True, 1e-2)]
)
def test_the_observer_in_c(scalar, held, tolerance, tmp_path):
    observer = MomentumObserver(PUMA, 80, threshold=[5, 5, 5, 0.5, 0.5, 0.5], held=held)
    samples = recording(PUMA, np.random.default_rng(2))
    expected = observer.run(*samples)
    r, joint = in_c(observer, tmp_path, scalar)(*samples)
    assert_same(r, expected.residual, tolerance)
    assert (joint == expected.joint + 1).all()
    assert joint.max() > 0


@needs_compiler
def test_a_residual_that_is_not_a_number_is_an_alarm(tmp_path):
    """A broken sensor must not switch the watch off; Python refuses NaN, but speeds may still overflow."""
    planar = Robot.load("planar")
    observer = MomentumObserver(planar, 80, threshold=5)
    q, qd, tau = np.zeros((3, 10, 2))
    tau[:] = planar.gravity(q)
    assert (in_c(observer, tmp_path)(q, qd, tau)[1] == 0).all()
    qd[4] = np.nan
    assert (in_c(observer, tmp_path)(q, qd, tau)[1] > 0).tolist() == [False] * 4 + [True] * 6
    qd[4] = 1e200
    for backend in ("compiled", "evaluator"):
        with armdyn.backend(backend):
            assert (observer.run(q, qd, tau).joint >= 0).tolist() == [False] * 4 + [True] * 6


# ---- what the arm carries ----------------------------------------------------------------------------------


def ten_numbers(rng):
    """A body that can be: mass, centre of mass, the tensor of some points about it."""
    points = rng.uniform(-0.1, 0.1, (3, 5))
    tensor = np.trace(points @ points.T) * np.eye(3) - points @ points.T
    return np.array([rng.uniform(2, 5), *rng.uniform(-0.2, 0.2, 3), *tensor[np.triu_indices(3)]])


@law(robots((1, 3), rotors=("exact", "reflected")), generators(), examples=3, thorough=30)
def test_loads_taken_up_in_motion_are_no_torques_from_outside(robot, rng):
    """Momentum jumps with the load: who knows it sees nothing, who does not sees its weight."""
    robot = robot if robot.mechanism.tip >= 0 else robot.with_tip(robot.model.moving[0].name)
    h, t = 5e-4, 5e-4 * np.arange(121)
    q, qd, qdd = motion(rng, robot.n, t)
    load, more = (Load.of(x[0], x[1:4], x[4:]) for x in (ten_numbers(rng), ten_numbers(rng)))
    more = replace(more, link=robot.model.moving[-1].name)
    loaded = Loaded(robot, (Carried(0.01, 0.06, load), Carried(0.02, 0.0405, more)), 0.06)
    with armdyn.backend("evaluator"):
        tau = loaded.evaluate(Robot.inverse_dynamics, t, q, qd, qdd)
        known, unknown = (MomentumObserver(x, 1e5, h).run(q, qd, tau) for x in (loaded, robot))
    size = np.abs(tau).max()
    assert known.peak.max() < 2e-3 * size
    assert unknown.peak.max() > 0.05 * size


@needs_compiler
@pytest.mark.parametrize(("scalar", "tolerance"), [slowly("double", 1e-12), slowly("float", 1e-2)])
def test_payloads_told_sample_by_sample_in_c_and_in_python(scalar, tolerance, tmp_path):
    """Loads that change while the arm moves; Python is told only when they do."""
    rng = np.random.default_rng(3)
    q, qd, tau = recording(PUMA, rng)
    loads = np.repeat([np.zeros(10), ten_numbers(rng), ten_numbers(rng), np.zeros(10)], 10, axis=0)
    observer = MomentumObserver(PUMA, 80, threshold=5)
    whole = observer.run(q, qd, tau, payload=loads)
    r, joint = in_c(observer, tmp_path, scalar, 10)(q, qd, tau, loads)
    assert_same(r, whole.residual, tolerance, np.abs(tau).max())
    for k in range(len(q)):
        told = loads[k] if k % 10 == 0 and k else None
        assert_same(observer.update(q[k], qd[k], tau[k], told), whole.residual[k], 1e-13)
    if scalar == "double":
        assert (joint == whole.joint + 1).all()
        both = (np.stack([x, x], axis=1) for x in (q, qd, tau))
        batch = observer.run(*both, np.stack([loads, 0 * loads], axis=1))
        assert_same(batch.residual[:, 0], whole.residual, 1e-12)
        assert_same(batch.residual[:, 1], observer.run(q, qd, tau).residual, 1e-12)


@pytest.fixture(scope="module")
def cycle():
    """A pick-and-place cycle at 1 kHz, pushed by nobody, and with 60 N from 1 s on."""
    motion = load_cycle(PUMA, "puma560_pick_and_place")
    control = ComputedTorque(PUMA, motion, stiffness=400, rate=1000)
    wrench = np.zeros((1501, 6))
    wrench[1000:, 2] = -60
    runs = [
        simulate(PUMA, *motion(0)[:2], 1.5, control, wrench=h, method="rk4", step=1e-3, limits="ignore")
        for h in (None, wrench)
    ]
    return motion.loaded(PUMA), *runs


@pytest.mark.slow
def test_a_cycle_with_its_loads_and_a_push_on_the_way(cycle):
    """Gripper and part are no collisions, 60 N are one; an observer that is told of no load cries wolf."""
    loaded, quiet, pushed = cycle
    told = MomentumObserver(loaded, 100, threshold=4, held=True)
    assert told.run(quiet.q, quiet.qd, quiet.tau, t=quiet.t).collisions == ()
    first = told.run(pushed.q, pushed.qd, pushed.tau, t=pushed.t).collisions[0]
    assert 1.0 <= first.time < 1.006
    other = MomentumObserver(PUMA, 100, threshold=4, held=True)
    assert other.run(quiet.q, quiet.qd, quiet.tau, t=quiet.t).collisions[0].time < 0.5
    by_hand = other.run(quiet.q, quiet.qd, quiet.tau, loaded.payloads[loaded.index(quiet.t)], quiet.t)
    assert by_hand.collisions == ()
    for k in range(len(quiet.t)):
        told.update(quiet.q[k], quiet.qd[k], quiet.tau[k])
        assert told.joint == -1


# ---- a Panda that is hit -----------------------------------------------------------------------------------


def other_panda(rng):
    """The Panda with masses, first moments and tensors off by up to 5 % each, as a model is."""
    parameters = PANDA.parameters.copy()
    for k in range(7):
        for part in (slice(0, 1), slice(1, 4), slice(4, 10)):
            parameters[13 * k :][part] *= 1 + rng.uniform(-0.05, 0.05)
    return PANDA.with_parameters(parameters)


def wandering(rng, duration):
    """All joints on sines, at up to most of their speed limits."""
    t = np.arange(0, duration + 0.005, 0.01)[:, None]
    middle, size = np.array([0, 0, 0, -1.6, 0, 1.8, 0]), np.array([1.2, 0.7, 1.0, 0.6, 1.2, 0.8, 1.2])
    rate, phase = rng.uniform(0.8, 1.6, 7), rng.uniform(0, 6, 7)
    angle = rate * t + phase
    return Trajectory.from_samples(
        t[:, 0], middle + size * np.sin(angle), size * rate * np.cos(angle), -size * rate**2 * np.sin(angle)
    )


def measured(rng, run):
    """Encoders, speeds and torque sensors with noise."""
    noise = [1e-5, 1e-3, 0.1]  # rad, rad/s, N m
    return [x + s * rng.normal(size=x.shape) for x, s in zip((run.q, run.qd, run.tau), noise, strict=True)]


def moved(rng, plant, duration, hits=None):
    """Samples at 1 kHz of a plant under a controller that has the nominal model; `hits`: {time: joint}.

    At such a time something begins to push for 50 ms: on joints 1 to 4 a force at the hand, on the others a
    moment, with 10 N m at the joint.
    """
    motion = wandering(rng, duration)
    control = ComputedTorque(PANDA, motion, 400, 40, rate=1000)
    q, qd, _ = (x[0] for x in motion(np.zeros(1)))
    wrench = None
    if hits:
        wrench = np.zeros((round(1000 * duration) + 1, 6))
        for time, joint in hits.items():
            k = round(1000 * time)
            rows = slice(0, 3) if joint < 4 else slice(3, 6)
            column = PANDA.jacobian(motion(np.array([time]))[0][0])[rows, joint]
            wrench[k + 1 : k + 50, rows] = -10 * column / (column @ column)
    run = simulate(
        plant,
        q,
        qd,
        duration,
        control,
        wrench=wrench,
        method="rk4",
        step=1e-3,
        limits="ignore",
        progress=False,
    )
    return measured(rng, run)


def found_in_c(rng, folder, quiet_time, hits):
    """Thresholds from 10 s without contact; then alarms of a quiet run, and delays [ms] of the hits."""
    plant = other_panda(rng)
    seen = MomentumObserver(PANDA, 100, held=True).run(*moved(rng, plant, 10.0)).peak
    threshold = np.maximum(1.6 * seen, 0.5)
    assert (threshold < 6).all()
    c = in_c(MomentumObserver(PANDA, 100, threshold=threshold, held=True), folder)
    alarms = int((c(*moved(rng, plant, quiet_time))[1] > 0).sum())
    delays, quiet = [], True
    residual, joint = c(*moved(rng, plant, max(hits) + 0.5, hits))
    for time, hit in hits.items():
        k = round(1000 * time)
        own = np.abs(residual[k : k + 50, hit]) > threshold[hit]
        over = np.flatnonzero((joint[k : k + 50] > 0) & own)
        delays.append(int(over[0]) if over.size else 1000)
        quiet &= not joint[k - 50 : k].any()
    return alarms, delays, quiet


@pytest.mark.slow
@needs_compiler
def test_c_code_finds_a_collision_of_the_panda_within_10_ms(tmp_path):
    """10 N m, at 1 kHz, with inertial parameters off by up to 5 % and noise; no alarm before."""
    alarms, delays, quiet = found_in_c(np.random.default_rng(1), tmp_path, 5.0, {0.5: 1})
    assert alarms == 0
    assert quiet
    assert max(delays) <= 10


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_c_code_finds_collisions_of_all_joints_and_is_quiet_for_a_minute(seed, tmp_path):
    hits = {1.0 + 0.7 * k: k % 7 for k in range(28)}
    alarms, delays, quiet = found_in_c(np.random.default_rng(seed), tmp_path, 60.0, hits)
    assert alarms == 0
    assert quiet
    assert max(delays) <= 10


def test_wrong_input_is_refused():
    q = np.zeros(6)
    with pytest.raises(SimulationError, match="gain: found 0; positive numbers are expected"):
        MomentumObserver(PUMA, 0)
    with golden_error(SimulationError):
        MomentumObserver(PUMA, [1, 2])
    with golden_error(SimulationError):
        MomentumObserver(PUMA, 1, threshold=-1)
    with pytest.raises(SimulationError, match="step: found 0 s; a positive time is expected"):
        MomentumObserver(PUMA, 1, 0)
    with pytest.raises(SimulationError, match="step: found 1e-300 s; at least 1e-100 s"):
        MomentumObserver(PUMA, 1, 1e-300)
    with pytest.raises(SimulationError, match="threshold: found 1e-310; positive"):
        MomentumObserver(PUMA, 1, threshold=1e-310)
    with pytest.raises(SimulationError, match="held: found 1; True or False"):
        MomentumObserver(PUMA, 1, held=1)
    observer = MomentumObserver(PUMA, 1)
    with golden_error(SimulationError):
        observer.run(q, q, q)
    with golden_error(SimulationError):
        observer.update(q, q * np.nan, q)
    observer.update(q, q, q)
    with golden_error(SimulationError):
        observer.update(np.zeros((2, 6)), q, q)
    for wrong, message in [
        ([1, 2], r"payload: expected \(..., 10\), found \(2,\)"),
        (-1, "payload: mass: found -1"),
        ([1.0, 0, 0, 0, -1, 0, 0, 1, 0, 1], "payload: inertia: principal moments"),
        (Load.of(1, link="hand"), "payload: it is on 'hand'; one at the tip"),
        (np.ones((3, 10)), r"payload: expected \(10,\), found \(3, 10\)"),
    ]:
        with pytest.raises(SimulationError, match=message):
            observer.update(q, q, q, wrong)
    q = np.zeros((3, 6))
    for wrong, message in [
        ([0, 1], r"t: expected \(3,\)"),
        ([0, 1, 1], "t: found 1 s after 1 s; times must"),
    ]:
        with pytest.raises(SimulationError, match=message):
            observer.run(q, q, q, t=wrong)
    carrying = Trajectory.cubic(np.zeros(6), np.ones(6), 1.0).carrying(1).loaded(PUMA)
    with golden_error(SimulationError):
        MomentumObserver(carrying, 1).update(q[0], q[0], q[0], 1)
    with golden_error(SimulationError):
        observer_source(observer, inputs=["wrench"])
    with golden_error(SimulationError):
        observer_source(PUMA)
    with golden_error(SimulationError):
        observer_source(observer, scalar="half")
