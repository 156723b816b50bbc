"""Logs that begin or end in motion: their errors at the ends are those inside."""

import numpy as np
import pytest

from armdyn import Log, Robot, identify
from armdyn.identification.signals import smoothed, under_way
from arms import slowly
from fit_logs import small_arm
from real_logs import needs_logs, real_logs
from simulated_logs import rubbing

RATE, STEP = 200.0, 2 * np.pi / 2**14
ARMS = [
    "small arm",
    *(slowly(x) for x in ("planar3", "elbow", "scara", "ur10", "panda", "puma560", "lwr4", "irb120", "gen3")),
]


def sines(n: int, seed: int, duration: float = 8.0) -> tuple[np.ndarray, ...]:
    """t, q, q̇, q̈ of a motion that neither starts nor stops."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(RATE * duration)) / RATE
    q, qd, qdd = np.zeros((3, len(t), n))
    for k in range(1, 6):
        w, a, phase = (
            0.4 * np.pi * k * rng.uniform(0.9, 1.1, n),
            0.7 * rng.normal(size=n) / k,
            rng.uniform(0, 6, n),
        )
        angle = w * t[:, None] + phase
        q, qd, qdd = q + a * np.sin(angle), qd + a * w * np.cos(angle), qdd - a * w * w * np.sin(angle)
    return t, q, qd, qdd


def recorded(robot: Robot, seed: int) -> Log:
    """With noise of the torques and steps of the encoders."""
    t, q, qd, qdd = sines(robot.n, seed)
    tau = robot.inverse_dynamics(q, qd, qdd)
    tau += 0.02 * tau.std(0) * np.random.default_rng(seed).normal(size=tau.shape)
    return Log(t, STEP * np.round(q / STEP), tau)


def errors(fit, log):
    """Of all samples, and of those that are 1/cut-off or more from the ends."""
    found = fit.compare(log)
    edge = 1 / fit.model.problem.cutoff
    inside = [(x.record.t > x.record.t[0] + edge) & (x.record.t < x.record.t[-1] - edge) for x in found]

    def size(arrays):
        return np.sqrt(sum(float(np.square(x).sum()) for x in arrays))

    every = size(x.residual for x in found) / size(x.record.tau for x in found)
    inner = zip(found, inside, strict=True)
    left, whole = zip(*((x.residual[at], x.record.tau[at]) for x, at in inner), strict=True)
    return every, size(left) / size(whole)


@pytest.mark.parametrize("name", ARMS)
def test_errors_of_all_samples_and_inside(name):
    nominal = small_arm() if name == "small arm" else Robot.load(name)
    arm = rubbing(nominal, Fv=0.5, Fs=0.5)
    train, other = recorded(arm, 1), recorded(arm, 103)
    fit = identify(nominal, train, friction="plain", damping=0)
    for log in (train, other):
        every, inside = errors(fit, log)
        assert every < 1.1 * inside


def test_accelerations_at_the_ends_of_a_motion_that_goes_on():
    """The joints of the fourth motion turn all at once at its first instant, with large accelerations."""
    for seed in range(6):
        _, q, _, qdd = sines(3, seed)
        found = smoothed(STEP * np.round(q / STEP), 6.0, RATE).qdd - qdd
        ends = np.concatenate([found[:33], found[-33:]])
        assert np.sqrt(np.mean(np.square(ends))) < 0.1 * qdd.std()
        assert under_way(q, 6.0, RATE) == (True, True)


def test_an_arm_that_starts_and_stops_is_not_under_way():
    s = np.linspace(0, 1, 300)[:, None]
    q = (10 * s**3 - 15 * s**4 + 6 * s**5) * [1.0, -0.5, 0.3]
    assert under_way(q, 6.0, RATE) == (False, False)
    assert under_way(q[150:], 6.0, RATE) == (True, False)
    assert np.abs(smoothed(q, 6.0, RATE).qd[[0, -1]]).max() < 0.02 * np.abs(np.diff(q, axis=0)).max() * RATE


@needs_logs
@pytest.mark.slow
@pytest.mark.parametrize("name", ["ur10", "kuka_13_2"])
def test_errors_at_ends_of_real_logs_cut_in_motion(name):
    """As one log and cut in two: the second part is predicted as well from its own samples alone."""
    data = real_logs(name)
    log = data.logs[0]
    cut = int(0.7 * len(log))
    fit = identify(data.robot, log[:cut], friction="plain", damping=0)
    inner = log[int(0.1 * len(log)) : cut]  # the arm is under way at both of its ends
    every, inside = errors(fit, inner)
    assert every < 1.1 * inside
