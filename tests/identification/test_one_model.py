"""What is fitted, saved, reported and predicted is one model; its friction has the width that was fitted."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from armdyn import Fit, Log, Robot, identify, simulate
from armdyn.identification import Friction
from armdyn.report.fit.estimates import friction_curves
from arms import slowly
from fit_logs import moved, small_arm
from real_logs import needs_logs, real_logs
from simulated_logs import motion_of

# What data leave open may come out as bodies or friction that cannot be.
pytestmark = [
    pytest.mark.filterwarnings("ignore::armdyn.model.errors.PhysicsWarning"),
    pytest.mark.filterwarnings("ignore:predictions extrapolate"),
]
MODELS = {
    "sharp": Friction(0.0),
    "width": Friction(0.05),
    "stribeck": Friction(0.05, stribeck=0.2),
    "all": Friction(0.1, stribeck=0.4, cubic=True),
}
ROUNDING = {"rtol": 0, "atol": 1e-9}


def rubbing_arm() -> Robot:
    """Three joints with every kind of friction that is fitted, smooth at low speed."""
    terms = {"viscous": 2.0, "coulomb": 1.5, "offset": 0.3, "cubic": 0.05, "width": 0.06}
    terms |= {"stribeck": {"level": 1.2, "velocity": 0.3}}
    return small_arm().with_friction(dict.fromkeys(("column", "slide", "hand"), terms))


@pytest.fixture(scope="module", params=[*map(slowly, list(MODELS)[:-1]), "all"])
def fit(request) -> Fit:
    arm = rubbing_arm()
    return identify(small_arm(), moved(arm, 1, duration=8.0), friction=MODELS[request.param], damping=0)


def states(seed: int = 5, slow: float = 0.05) -> tuple[np.ndarray, ...]:
    """Some states, half of them slow."""
    q, qd, qdd = np.random.default_rng(seed).normal(size=(3, 60, 3))
    return q, qd * np.where(np.arange(60) % 2, 1.0, slow)[:, None], qdd


def test_predictions_and_the_saved_robot(fit, tmp_path):
    saved = Robot.load(fit.robot.save(tmp_path / "arm.toml"))
    q, qd, qdd = states()
    tau = saved.inverse_dynamics(q, qd, qdd)
    size = np.abs(tau).max()
    log = Log(0.01 * np.arange(len(q)), q, tau, qd=qd, qdd=qdd)
    np.testing.assert_allclose(fit.predict(log) / size, tau / size, **ROUNDING)
    np.testing.assert_allclose(fit.robot.inverse_dynamics(q, qd, qdd) / size, tau / size, **ROUNDING)
    fit.save(tmp_path / "fit.json")
    read = Fit.load(tmp_path / "fit.json").robot
    np.testing.assert_array_equal(read.inverse_dynamics(q, qd, qdd), fit.robot.inverse_dynamics(q, qd, qdd))


def test_the_curve_of_the_report_and_friction_of_the_saved_robot(fit, tmp_path):
    saved = Robot.load(fit.robot.save(tmp_path / "arm.toml"))
    for curve in friction_curves(fit, fit.compare(moved(rubbing_arm(), 2, duration=2.0))):
        qd = np.zeros((len(curve.grid), 3))
        qd[:, curve.joint] = curve.grid
        moving = curve.grid != 0
        found = saved.friction(qd, q=np.zeros_like(qd))[moving, curve.joint]
        np.testing.assert_allclose(found, curve.curve[moving], **ROUNDING)


def test_causes_and_c_and_the_saved_robot(fit, tmp_path):
    saved = Robot.load(fit.robot.save(tmp_path / "arm.toml"))
    q, qd, qdd = states()
    tau = saved.inverse_dynamics(q, qd, qdd)
    size = np.abs(tau).max()
    np.testing.assert_allclose(saved.contributions(q, qd, qdd).sum(-2) / size, tau / size, **ROUNDING)
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    saved.export_c(["inverse_dynamics"], prefix="arm").write(str(tmp_path))
    flags = ["-O2", "-shared", "-fPIC", "-o", tmp_path / "arm.so"]
    subprocess.run([compiler, *flags, tmp_path / "arm.c", "-lm"], check=True)
    library, out = ctypes.CDLL(str(tmp_path / "arm.so")), np.empty(3)
    for row, expected in zip(np.stack([q, qd, qdd], 1)[:10], tau[:10], strict=True):
        arrays = [np.ascontiguousarray(x) for x in row]
        library.arm_inverse_dynamics(*(ctypes.c_void_p(x.ctypes.data) for x in (*arrays, out)))
        np.testing.assert_allclose(out / size, expected / size, **ROUNDING)


def test_a_simulation_of_the_saved_robot_follows_its_equation(fit, tmp_path):
    saved = Robot.load(fit.robot.save(tmp_path / "arm.toml"))
    q0 = np.array([0.3, 0.1, -0.4])
    tau = fit.robot.gravity(q0) + np.array([9.0, -12.0, 4.0])
    run = simulate(saved, q0, 0.2, 0.05, tau, output=1e-3)
    spline = (run.qd[2:] - run.qd[:-2]) / 2e-3
    found = fit.robot.inverse_dynamics(run.q[1:-1], run.qd[1:-1], spline)
    np.testing.assert_allclose(found, np.broadcast_to(tau, found.shape), rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("width", [0.05, 0.0])
def test_a_robot_with_a_width_creeps_and_without_it_sticks(width, tmp_path):
    arm = small_arm().with_gravity([0, 0, 0]).with_friction({"hand": {"coulomb": 2.0, "viscous": 0.0}})
    arm = Robot.load(arm.with_friction(width=width).save(tmp_path / "arm.toml"))
    push = np.array([0.0, 0.0, 1.0])
    run = simulate(arm, [0, 0, 0], [0, 0, 0], 2.0, push, output=0.5)
    if width:
        assert run.qd[-1, 2] == pytest.approx(width * np.arctanh(0.5), rel=1e-2)
    else:
        assert not run.qd[-1].any()


@needs_logs
@pytest.mark.slow
def test_friction_of_the_panda_at_low_speed_is_that_of_its_saved_robot(tmp_path):
    """The sixth joint's friction below 0.05 rad/s, and how far the saved robot is from slow samples."""
    data = real_logs("panda")
    logs, masks = data.training
    fit = identify(data.robot, logs, samples=masks)
    saved = Robot.load(fit.robot.save(tmp_path / "panda.toml"))
    (found,) = fit.compare(data.logs[0])
    slow = np.abs(found.motion.qd[:, 5]) < 0.05
    motion = [x[slow] for x in (found.motion.q, found.motion.qd, found.motion.qdd)]
    left = found.record.tau[slow, 5] - saved.inverse_dynamics(*motion)[:, 5]
    own = found.record.tau[slow, 5] - fit.robot.inverse_dynamics(*motion)[:, 5]
    np.testing.assert_allclose(left, own, **ROUNDING)
    assert np.sqrt(np.mean(np.square(left))) < 1.5 * np.sqrt(np.mean(np.square(found.residual[slow, 5])))


@pytest.mark.parametrize("share", [slowly(0.5), 1.0])
def test_friction_of_a_fit_and_the_friction_of_its_description(share):
    """What is chosen and found does not depend on what the description says of dry friction."""
    bare = Robot.load("planar")
    true = {"viscous": 30.0, "coulomb": 60.0}
    t, q, qd, qdd = motion_of(bare, 3, duration=8.0, frequency=0.1)
    arm = bare.with_friction(dict.fromkeys(bare.joints, true))
    tau = arm.inverse_dynamics(q, qd, qdd)
    tau += 0.005 * tau.std(0) * np.random.default_rng(0).normal(size=tau.shape)
    said = bare.with_friction({name: {key: share * x for key, x in true.items()} for name in bare.joints})
    without, fit = (identify(robot, Log(t, q, tau), damping=0) for robot in (bare, said))
    assert fit.model.friction == without.model.friction
    assert fit.training_error == pytest.approx(without.training_error, rel=1e-3)
    speeds = np.abs(qd).max(0) * np.linspace(0.1, 1, 10)[:, None]
    found, expected = (robot.friction(speeds) for robot in (fit.robot, arm))
    np.testing.assert_allclose(found, expected, rtol=0.1)
