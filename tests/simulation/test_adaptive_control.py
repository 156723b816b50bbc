"""Adaptive control of Slotine and Li: its law, what it learns, batches, integrators, C."""

import numpy as np
import pytest

import armdyn
from armdyn import AdaptiveControl, Robot, Trajectory, joint_limits, simulate
from armdyn.simulation import SimulationError, controller_source, steps_source
from arms import assert_same, generators, law, models, related, robots, slowly
from golden_messages import golden_error
from simulation.test_export import library, needs_compiler, pointers
from sliders import coupled, without_friction

PLANAR = Robot.load("planar")
PUMA = Robot.load("puma560")
PUMA_REST = np.array([0, 0.8, -2.6, 0, 0.3, 0])
METHODS = ("adaptive", "rk4")
RUBS = {"Fv1": 150.0, "Fs1": 200.0, "Fv2": 80.0, "Fs2": 100.0}  # of torques of 4000 N m


def sines(middle, size, duration, seed=0):
    """A sum of three sines for each joint."""
    rng, t = np.random.default_rng(seed), np.linspace(0, duration, round(100 * duration) + 1)[:, None]
    n = len(middle)
    parts = (
        size / np.sqrt(k) * np.sin(1.1 * k * rng.uniform(0.9, 1.1, n) * t + rng.uniform(0, 6, n))
        for k in (1, 2, 4)
    )
    return Trajectory.from_samples(t[:, 0], np.asarray(middle) + sum(parts))


def with_values(robot, **values):
    pi = robot.parameters.copy()
    for name, x in values.items():
        pi[robot.parameter_names.index(name)] = x
    return robot.with_parameters(pi)


def at(robot, names):
    return robot.parameters[[robot.parameter_names.index(name) for name in names]]


# ---- the law -----------------------------------------------------------------------------------------------


@armdyn.backend("evaluator")
def check_law(robot, rng, estimated, spread, matrix):
    """τ and the next estimates against the robot's own regressor; dry friction by the target's velocity."""
    motion = Trajectory.quintic(rng.uniform(-1, 1, robot.n), rng.uniform(-1, 1, robot.n), 1.0)
    m = len(matrix)
    gamma, start = rng.uniform(0.1, 2, m), rng.uniform(-1, 1, m)
    lam, kd = rng.uniform(1, 9, (2, robot.n))
    c = AdaptiveControl(robot, motion, estimated, gamma, lam, kd, start, rate=500)
    q, qd = rng.uniform(-1, 1, (2, robot.n))
    r, rd, rdd = (x[0] for x in motion([0.37]))
    v, a = rd - lam * (q - r), rdd - lam * (qd - rd)
    Y, dry = robot.adaptive_regressor(q, qd, v, a), robot.adaptive_regressor(q, rd, v, a)
    for p, name in enumerate(robot.parameter_names):
        if name.startswith(("Fs", "Fa", "Fst")):  # also Fsm
            Y[:, p] = dry[:, p]
        if name.startswith("Fl"):
            Y[:, p] = 0
    s = qd - v
    fixed = np.where(np.abs(matrix).max(axis=0) > 0, 0, robot.parameters)
    tau, later = c(0.37, q, qd)
    scale = float(np.abs(Y * robot.parameters).max())
    assert_same(tau, Y @ fixed + Y @ spread @ start - kd * s, 1e-11, scale)
    assert_same(later, start - gamma / 500 * (spread.T @ Y.T @ s), 1e-11)


@law(robots((1, 4)), generators(), examples=6, thorough=30)
def test_the_law_with_parameters_by_name(robot, rng):
    names = [x for x in robot.parameter_names if not x.startswith("Fl")]
    some = [str(x) for x in rng.choice(names, 5, replace=False)]
    spread = np.eye(len(robot.parameters))[:, [robot.parameter_names.index(x) for x in some]]
    check_law(robot, rng, some, spread, spread.T)


@law(models((2, 4)), generators(), examples=4, thorough=20)
def test_the_law_of_arms_with_related_joints(model, rng):
    robot = Robot(related(model, int(rng.integers(2**31))))
    some = [str(x) for x in rng.choice(robot.parameter_names, 5, replace=False)]
    spread = np.eye(len(robot.parameters))[:, [robot.parameter_names.index(x) for x in some]]
    check_law(robot, rng, some, spread, spread.T)


@pytest.mark.parametrize(
    "robot", [slowly(PUMA), coupled(), slowly(Robot.load("scara"))], ids=lambda robot: robot.name
)
def test_the_law_with_base_parameters(robot):
    base = robot.base_parameters(friction=True)
    check_law(robot, np.random.default_rng(5), base, base.right_inverse, base.matrix)


def test_with_the_right_parameters_it_follows_its_target():
    motion = sines(PUMA_REST, 0.3, 3.0)
    quiet = without_friction(PUMA)
    control = AdaptiveControl(quiet, motion, ["m6", "Izz3"], rate=4000)
    run = simulate(quiet, motion.q[0], motion.qd[0], 1.0, control, method="rk4", output=0.1, limits="ignore")
    assert np.abs(run.q - motion(run.t)[0]).max() < 1e-4
    np.testing.assert_allclose(run.memory[-1], run.memory[0], rtol=2e-2)


# ---- what it learns ----------------------------------------------------------------------------------------


def test_the_function_of_lyapunov_falls_by_what_damping_takes():
    """V = ½ sᵀB s + ½ π̃ᵀΓ⁻¹π̃, dV/dt = −sᵀK_D s. It holds with the Christoffel C only; q̇ is large here."""
    robot = with_values(without_friction(PUMA), m6=3.0, mz6=0.4, Ixx6=0.1, Izz3=2.0)
    model = without_friction(PUMA)
    names = ["m6", "mz6", "Ixx6", "Izz3"]
    motion = sines(PUMA_REST, 0.6, 3.0)
    control = AdaptiveControl(model, motion, names, bandwidth=5.0, rate=8000)
    given = control.constants()
    lam, kd, gamma = (given[x] for x in ("bandwidth", "damping", "adaptation"))
    start = motion.q[0] + 0.1, motion.qd[0] - 0.5
    run = simulate(robot, *start, 1.5, control, method="rk4", output=1e-3, limits="ignore")
    q, qd, _ = motion(run.t)
    s = run.qd - qd + lam * (run.q - q)
    wrong = run.memory - at(robot, names)
    V = 0.5 * np.einsum("ti,tij,tj->t", s, robot.inertia(run.q), s) + 0.5 * (wrong**2 / gamma).sum(axis=1)
    lost = np.append(0, np.cumsum(((s[1:] ** 2 + s[:-1] ** 2) * kd).sum(axis=1) / 2 * 1e-3))
    assert V[-1] < 0.6 * V[0]
    np.testing.assert_allclose(V + lost, V[0], rtol=5e-3)


def learns(robot, model, estimated, truth, duration, faster, tolerance, middle, size):
    motion = sines(middle, size, duration)
    usual = AdaptiveControl(model, motion, estimated).constants()["adaptation"]
    control = AdaptiveControl(model, motion, estimated, faster * usual, rate=2000)
    run = simulate(
        robot, motion.q[0], motion.qd[0], duration, control, method="rk4", output=0.5, limits="ignore"
    )
    assert run.completed
    wrong = np.abs(run.memory - truth) / np.maximum(np.abs(truth), np.abs(truth).max() * 1e-3)
    assert wrong[-20:].max() < tolerance < wrong[0].max(), wrong[-1]
    return control, run


def test_payload_and_friction_are_learnt_by_name():
    names = ["m2", "mx2", "Izz2", "Fv1", "Fs1", "Fv2", "Fs2"]
    robot = with_values(PLANAR.with_payload(10.0, (0.1, 0, 0)), **RUBS)
    control, run = learns(robot, PLANAR, names, at(robot, names), 60.0, 10.0, 0.05, [0.0, 0.3], 0.8)
    found = control.by_name(run.memory)
    assert list(found) == names
    assert found["m2"].shape == run.t.shape
    assert found["Fv1"][0] == 0.0
    learnt = control.learnt(run.memory[-1])
    np.testing.assert_allclose(at(learnt, names), run.memory[-1], rtol=1e-12)
    others = [x for x in PLANAR.parameter_names if x not in names]
    assert (at(learnt, others) == at(PLANAR, others)).all()


@pytest.mark.slow
def test_base_parameters_are_learnt():
    robot = with_values(PLANAR.with_payload(10.0, (0.1, 0.05, 0)), **RUBS)
    base = PLANAR.base_parameters(friction=True)
    wanted = base.matrix @ robot.parameters
    motion = sines([0.0, 0.3], 0.8, 100.0)
    usual = AdaptiveControl(PLANAR, motion, base).constants()["adaptation"]
    control = AdaptiveControl(PLANAR, motion, base, 10 * usual, rate=4000)
    run = simulate(
        robot, motion.q[0], motion.qd[0], 100.0, control, method="rk4", output=1.0, limits="ignore"
    )
    np.testing.assert_allclose(run.memory[-1], wanted, rtol=0.03, atol=0.3)
    assert np.abs(run.memory[0] - wanted).max() > 100
    learnt = control.learnt(run.memory[-1])
    np.testing.assert_allclose(base.matrix @ learnt.parameters, run.memory[-1], rtol=1e-9, atol=1e-9)
    q, qd, qdd = motion(np.linspace(0, 90, 300))
    tau = robot.inverse_dynamics(q, qd, qdd)
    off = [np.abs(x.inverse_dynamics(q, qd, qdd) - tau).mean() for x in (learnt, PLANAR)]
    assert off[0] < 0.02 * off[1]


@pytest.mark.slow
def test_payload_and_friction_of_the_puma_are_learnt():
    names = ["m6", "mx6", "my6", "mz6", "Fv1", "Fs1", "Fv2", "Fs2", "Fv3", "Fs3"]
    values = {x: 0.6 * at(PUMA, [x])[0] for x in names if x.startswith("F")}
    robot = with_values(PUMA, m6=2.1, mx6=0.06, my6=-0.04, mz6=0.16, **values)
    learns(robot, PUMA, names, at(robot, names), 150.0, 5.0, 0.1, PUMA_REST, 0.4)


@pytest.mark.slow
def test_friction_of_a_motor_that_turns_with_two_joints_is_learnt():
    names = ["Izz1", "Izz2", "Fs1", "Fs2", "Fsm2"]
    robot = coupled()
    model = with_values(robot, **{name: 0.5 * at(robot, [name])[0] for name in names})
    learns(robot, model, names, at(robot, names), 40.0, 1.0, 0.1, [0.0, 0.2], 0.8)


# ---- integrators, batches, limits --------------------------------------------------------------------------


@pytest.mark.slow
def test_both_integrators_and_the_evaluator():
    motion = Trajectory.quintic(PUMA_REST, PUMA_REST + 0.3, 0.5)
    control = AdaptiveControl(PUMA, motion, ["m6", "Fs2", "Izz3"])
    heavier = PUMA.with_payload(2.0)
    fixed, adaptive = (
        simulate(heavier, PUMA_REST, 0, 0.05, control, method=method, step=2.5e-4, output=0.01)
        for method in METHODS[::-1]
    )
    np.testing.assert_allclose(fixed.q, adaptive.q, atol=2e-6)
    np.testing.assert_allclose(fixed.memory, adaptive.memory, rtol=1e-3)
    assert (fixed.memory[-1] != fixed.memory[0]).all()
    with armdyn.backend("evaluator"):
        evaluated = simulate(heavier, PUMA_REST, 0, 0.01, control, method="rk4", step=2.5e-4, output=0.01)
    np.testing.assert_allclose(evaluated.q[-1], fixed.q[1], atol=1e-13)
    np.testing.assert_allclose(evaluated.memory[-1], fixed.memory[1], rtol=1e-12)


@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
def test_estimates_of_each_arm_of_a_batch(method):
    starts = np.array([[45.0, -25.0], [50.0, -20.0], [60.0, -30.0]])
    control = AdaptiveControl(PLANAR, [0.4, 0.2], ["m2", "mx2"], 1.0, estimates=starts)
    run = simulate(PLANAR, [0.3, 0.5], np.zeros((3, 2)), 0.05, control, method=method)
    for k in range(3):
        own = AdaptiveControl(PLANAR, [0.4, 0.2], ["m2", "mx2"], 1.0, estimates=starts[k])
        alone = simulate(PLANAR, [0.3, 0.5], 0, 0.05, own, method=method)
        np.testing.assert_allclose(run.q[:, k], alone.q, atol=1e-13)
        np.testing.assert_allclose(run.memory[:, k], alone.memory, rtol=1e-13)
    assert control.by_name(run.memory)["mx2"].shape == (51, 3)


def test_torques_stay_within_limits_and_the_arm_still_arrives():
    motion = Trajectory.quintic(PUMA_REST, PUMA_REST + 0.8, 0.4)  # too fast for its motors
    control = AdaptiveControl(PUMA, motion, ["m6", "mz6", "Fv2", "Fs2"], saturated=True)
    run = simulate(
        PUMA.with_payload(2.0), PUMA_REST, 0, 3.0, control, method="rk4", output=0.01, limits="ignore"
    )
    most = joint_limits(PUMA).torque
    assert (np.abs(run.tau) <= most).all()
    assert (np.abs(run.tau) == most).any()
    assert np.isfinite(run.memory).all()
    assert np.abs(run.q[-1] - motion.q[-1]).max() < 0.05


def test_the_usual_gains():
    """K_D is Λ diag B, Γ is zero for what a target at rest does not show."""
    control = AdaptiveControl(PLANAR, [0.4, 0.2], ["m2", "mx2", "Fv1", "Im2"], bandwidth=7.0)
    given = control.constants()
    np.testing.assert_allclose(given["damping"], 7 * np.diag(PLANAR.inertia([0.4, 0.2])))
    assert ((given["adaptation"] > 0) == [True, True, False, False]).all()
    Y = PLANAR.regressor([0.4, 0.2], [0, 0], [0, 0])[:, PLANAR.parameter_names.index("m2")]
    np.testing.assert_allclose(given["adaptation"][0] * (Y**2 / given["damping"]).sum(), 1.0)
    assert (control.memory == at(PLANAR, control.names)).all()
    assert control.period == 1e-3


# ---- in C --------------------------------------------------------------------------------------------------


def test_base_parameters_of_the_robot_with_another_payload_will_do():
    base = PLANAR.with_payload(3.0).base_parameters()
    assert len(AdaptiveControl(PLANAR, [0.4, 0.2], base).memory) == len(base)


@pytest.mark.slow
@needs_compiler
def test_the_controller_in_c_over_a_motion(tmp_path):
    """Sample by sample in C, from the states that a simulation went through."""
    motion = Trajectory.quintic(PUMA_REST, PUMA_REST + 0.3, 0.5)
    names = ["m6", "mx6", "Fs2", "Fv3", "Im4"]
    control = AdaptiveControl(PUMA, motion, names, saturated=True, rate=500)
    run = simulate(PUMA.with_payload(2.0), PUMA_REST, 0, 0.1, control, output=2e-3)
    function = library(controller_source(control, "arm"), tmp_path).arm_torques
    constants = np.concatenate([x.ravel() for x in control.constants().values()])
    memory = control.memory.copy()
    for k, t in enumerate(run.t[:-1]):
        signals = np.concatenate([x.ravel() for x in control.signals(np.array([t])).values()])
        tau, later = np.zeros(6), np.zeros(5)
        function(*pointers(run.q[k].copy(), run.qd[k].copy(), constants, signals, memory, tau, later))
        np.testing.assert_allclose(tau, run.tau[k], rtol=1e-9, atol=1e-9)
        memory = later
        np.testing.assert_allclose(memory, run.memory[k + 1], rtol=1e-10, atol=1e-12)
    source = steps_source(PUMA, control, "steps")
    assert "memory of the controller (5)" in source.header
    assert "malloc" not in source.source


# ---- what is refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: AdaptiveControl(PLANAR, [0, 0], ["m3"]),
        lambda: AdaptiveControl(PLANAR, [0, 0], "m2"),
        lambda: AdaptiveControl(PLANAR, [0, 0], 3),
        lambda: AdaptiveControl(PUMA, PUMA_REST, Robot.load("tx40").base_parameters(route="numeric")),
        lambda: AdaptiveControl(PLANAR, [0, 0], []),
        lambda: AdaptiveControl(PLANAR, [0, 0], ["m2", "m2"]),
        lambda: AdaptiveControl(PLANAR, [0, 0], PUMA.base_parameters()),
        lambda: AdaptiveControl(PLANAR, [0, 0], ["m2"], -1.0),
        lambda: AdaptiveControl(PLANAR, [0, 0], ["m2"], [1.0, 2.0]),
        lambda: AdaptiveControl(PLANAR, [0, 0], ["m2"], bandwidth=-1.0),
        lambda: AdaptiveControl(PLANAR, [0, 0], ["m2"], damping=0.0),
        lambda: AdaptiveControl(PLANAR, [0, 0], ["m2"], estimates=[1, 2]),
        lambda: AdaptiveControl(PLANAR, [0, 0], ["m2"], rate=None),
        lambda: AdaptiveControl(PLANAR, [0, 0], ["m2"], rate=-5),
        lambda: AdaptiveControl("planar", [0, 0], ["m2"]),
        lambda: AdaptiveControl(PLANAR, PUMA_REST, ["m2"]),
        lambda: AdaptiveControl(PLANAR, [0, 0], ["m2"]).learnt([1.0, 2.0]),
    ],
)
def test_what_makes_no_sense_is_refused(make):
    with golden_error(SimulationError):
        make()


def test_load_friction_cannot_be_estimated():
    table = {"joint": "revolute", "a": 1, "alpha": 0, "d": 0, "mass": 2, "friction": {"load": 0.1}}
    robot = Robot.from_dict({"name": "one", "convention": "dh", "gravity": [0, -9.81, 0], "link": [table]})
    with golden_error(SimulationError):
        AdaptiveControl(robot, [0.0], ["Fl1"])
