"""Online fits: least squares over the same rows, a batch estimate, the same in C, arms of every kind."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import armdyn
from armdyn import ArmdynError, Log, OnlineFit, Robot, identify_payload
from armdyn.identification import online_source
from arms import assert_same, slowly
from golden_messages import golden_error

PUMA, PLANAR = Robot.load("puma560"), Robot.load("planar")
PART = {"mass": 2.0, "com": [0.04, -0.02, 0.12], "inertia": {"xx": 0.008, "yy": 0.009, "zz": 0.006}}
TRUTH = [2.0, 0.08, -0.04, 0.24]  # m, mx, my, mz
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def motion(n, seconds, step=1e-3, seed=0, arms=(), size=0.5):
    """q, q̇, q̈ (T, ..., n): a sum of sines."""
    rng, t = np.random.default_rng(seed), np.arange(0, seconds, step)
    q, qd, qdd = np.zeros((3, len(t), *arms, n))
    for k in range(1, 6):
        w, a = 0.4 * np.pi * k, size / k * rng.normal(size=(*arms, n))
        angle = w * t.reshape(-1, *[1] * (1 + len(arms))) + rng.uniform(0, 6, (*arms, n))
        q, qd, qdd = q + a * np.sin(angle), qd + a * w * np.cos(angle), qdd - a * w**2 * np.sin(angle)
    return q, qd, qdd


def by_least_squares(fit, samples):
    """The same rows from the robot's own functions, all of them solved at once: estimates and deviations."""
    robot, (q, qd, tau) = fit.robot_before, samples
    still, weightless = np.zeros_like(q), robot.with_gravity([0, 0, 0])
    rubs = np.array([name.startswith("F") for name in robot.parameter_names])
    turned = [  # (Cᵀ q̇)_i = q̇ᵀ C e_i
        np.einsum("ti,tip->tp", qd, weightless.adaptive_regressor(q, qd, np.broadcast_to(e, q.shape), still))
        for e in np.eye(robot.n)
    ]
    Y_p = weightless.regressor(q, still, qd)
    Y_s = robot.regressor(q, still, still) - np.where(rubs, 0, np.stack(turned, axis=1))
    Y_s += np.where(rubs, robot.regressor(q, qd, still), 0)
    columns = (Y_p[1:] - Y_p[:-1]) / fit.step + (Y_s[1:] + Y_s[:-1]) / 2
    share, Y, y, A, b = 1 - np.exp(-2 * np.pi * fit.cutoff * fit.step), 0, 0, [], []
    places = [robot.parameter_names.index(name) for name in fit.names]
    for row, t in zip(columns, (tau[1:] + tau[:-1]) / 2, strict=True):
        Y, y = Y + share * (row - Y), y + share * (t - y)
        known = Y @ robot.parameters - Y[:, places] @ fit.prior
        A.append(Y[:, places] / fit.noise[:, None])
        b.append((y - known) / fit.noise)
    A = np.concatenate([*A, np.diag(1 / fit.uncertainty)])
    b = np.concatenate([*b, fit.prior / fit.uncertainty])
    found = np.linalg.lstsq(A, b, rcond=None)[0]
    return found, np.sqrt(np.diag(np.linalg.inv(A.T @ A)))


ARM = PLANAR.with_friction({"link 1": {"viscous": 12, "coulomb": 30}, "link 2": {"viscous": 5}})


def recorded(robot, seconds=2.0, **others):
    """q, q̇, τ with noise."""
    q, qd, qdd = motion(robot.n, seconds, **others)
    tau = robot.inverse_dynamics(q, qd, qdd)
    rng = np.random.default_rng(5)
    return q, qd + 0.01 * rng.normal(size=q.shape), tau + 0.02 * np.abs(tau).mean() * rng.normal(size=q.shape)


def test_an_online_fit_and_least_squares_over_the_same_rows():
    heavier = ARM.with_parameters(ARM.parameters * 1.2)
    samples = recorded(heavier)
    fit = OnlineFit(ARM, ["m2", "mx2", "Fv*", "Fs1"], noise=[20, 7], slow=0)
    for sample in zip(*samples, strict=True):
        fit.update(*sample)
    found, deviations = by_least_squares(fit, samples)
    assert_same(fit.parameters, found, 1e-9)
    assert_same(fit.deviations, deviations, 1e-9)
    assert np.abs(fit.parameters / fit.prior - 1).max() > 0.1


def test_samples_one_by_one_batches_and_the_evaluator_agree():
    q, qd, tau = recorded(ARM, 0.2, arms=(2, 3))
    fit, other = (OnlineFit(ARM, "friction", forgetting=0.1) for _ in range(2))
    whole = fit.run(q, qd, tau, every=50)
    assert whole.parameters.shape == (4, 2, 3, 6)
    assert_same(whole.parameters[-1], fit.parameters)
    assert_same(whole["Fs2"][-1], fit.parameters[..., fit.names.index("Fs2")])
    assert_same(whole.t, [0.049, 0.099, 0.149, 0.199])
    for k in range(len(q)):
        other.update(q[k], qd[k], tau[k])
    assert_same(other.parameters, fit.parameters)
    assert_same(other.noise, fit.noise)
    other.reset()
    with armdyn.backend("evaluator"):
        other.run(q[:, 1, 2], qd[:, 1, 2], tau[:, 1, 2], every=100)
    assert_same(other.parameters, fit.parameters[1, 2], 1e-9)
    assert_same(other.deviations, fit.deviations[1, 2], 1e-9)


def exact(robot, names, tolerance=1e-3, **others):
    """Exact samples of an arm whose parameters differ give these, with accelerations and without."""
    q, qd, qdd = motion(robot.n, 1.0, **others)
    q = q + (robot.assembly.reference if robot.model.loops else 0)
    values = robot.parameters.copy()
    for k, name in enumerate(names):
        values[robot.parameter_names.index(name)] *= 1.2 + 0.1 * k
    tau = robot.with_parameters(values).inverse_dynamics(q, qd, qdd)
    for further in ((), (qdd,)):
        fit = OnlineFit(robot, names, noise=1e-6, slow=0)
        fit.run(q, qd, tau, *further, every=1000)
        expected = [values[robot.parameter_names.index(name)] for name in fit.names]
        assert_same(fit.parameters / expected, np.ones(len(names)), 1e-9 if further else tolerance)


def test_exact_samples_give_the_parameters_with_and_without_accelerations():
    exact(ARM, ["m2", "Im2", "Fv1", "Fv2", "Fs1"])


def test_payload_and_friction_of_an_arm_whose_description_has_neither():
    truth = ARM.with_payload(20.0, [0.2, 0.1, 0])
    q, qd, qdd = motion(2, 3.0)
    fit = OnlineFit(PLANAR, ["payload", "friction"], slow=0, uncertainty={"F*": 100})
    fit.run(q, qd, truth.inverse_dynamics(q, qd, qdd), every=3000)
    assert fit.payload.mass == pytest.approx(20.0, rel=0.02)
    assert "Ixz" in fit.not_shown
    names = dict(zip(fit.robot.parameter_names, fit.robot.parameters, strict=True))
    assert names["Fs1"] == pytest.approx(30, rel=0.05)
    assert {"F01", "F02"} <= set(names)
    at = motion(2, 0.1, seed=3)
    assert_same(fit.robot.inverse_dynamics(*at), truth.inverse_dynamics(*at), 0.02)
    assert "Ixz 0 ± 0.51 kg m² (not shown)" in fit.text()


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("five_bar", ["m2", "mx1"]),
        slowly("parallelogram", ["m2", "mx1"]),
        slowly("elastic_link", ["m1", "Ke1"]),
        slowly("palletizer", ["m2", "mx3", "Fv1"]),
        slowly("delta", ["mx1"]),
    ],
)
def test_closed_chains_related_and_elastic_joints(name, names):
    exact(Robot.load(name), names, size=0.05)


def test_a_payload_on_another_link_and_torques_that_are_held():
    """Torques of a step are those of its middle: as samples they would be half a step late. Joint 1 alone
    feels the load: its mass at 1 m, and its first moment."""
    truth = ARM.with_payload(20.0, [0.1, 0.2, 0], link="link 1")
    q, qd, _ = motion(2, 1.0, step=0.01)
    tau = truth.inverse_dynamics(*(x[1::2] for x in motion(2, 1.0, step=0.005)))
    moments = []
    for held in (True, False):
        fit = OnlineFit(ARM, "payload", 0.01, link="link 1", held=held, slow=0, noise=1e-3)
        fit.run(q, qd, tau, every=len(q))
        moments.append(fit.parameters[0] + fit.parameters[1])
    assert_same(moments[0] / 22, 1, 0.02)
    assert abs(moments[1] - 22) > 3 * abs(moments[0] - 22)


def test_load_friction_is_taken_into_account():
    exact(PLANAR.with_friction({"link 1": {"load": 0.2, "coulomb": 20}}), ["m2", "Fs1"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("parameters", ["payload", ["payload", "friction"]])
def test_a_payload_online_and_from_the_whole_log(parameters, seed):
    """Ten seconds of a PUMA with encoder steps, noisy velocities and torques: within 5 %."""
    rng, (q, qd, qdd) = np.random.default_rng(seed), motion(6, 10, seed=seed)
    tau = PUMA.with_payload(**PART).inverse_dynamics(q, qd, qdd)
    tau = tau + 0.03 * np.abs(tau).mean(axis=0) * rng.normal(size=tau.shape)
    q, qd = np.round(q / 5e-5) * 5e-5, qd + 0.005 * rng.normal(size=q.shape)
    batch = identify_payload(PUMA, Log(1e-3 * np.arange(len(q)), q, tau))
    fit = OnlineFit(PUMA, parameters)
    fit.run(q, qd, tau, every=len(q))
    found = fit.parameters[-10:]
    assert found[0] == pytest.approx(batch.mass, rel=0.05)
    assert np.linalg.norm(found[1:4] - batch.first_moment) < 0.05 * np.linalg.norm(batch.first_moment)
    assert fit.payload.mass == pytest.approx(batch.mass, rel=0.05)
    assert not {"m", "mx", "my", "mz"} & set(fit.not_shown)
    assert (np.abs(found[:4] - TRUTH) < 3 * fit.deviations[-10:-6]).all()


def test_what_is_forgotten_and_what_is_not():
    """Friction doubles half way: with forgetting the estimate follows, without it is between."""
    q, qd, qdd = motion(2, 6.0)
    worn = ARM.with_friction({"link 1": {"viscous": 24}})
    tau = np.where(np.arange(6000)[:, None] < 3000, *(x.inverse_dynamics(q, qd, qdd) for x in (ARM, worn)))
    last, all_alike = (OnlineFit(ARM, ["Fv1"], forgetting=T, slow=0) for T in (0.3, np.inf))
    seen = last.run(q, qd, tau, every=500)["Fv1"]
    assert_same(seen[[5, 11]] / [12, 24], [1, 1], 0.02)
    all_alike.run(q, qd, tau, every=6000)
    assert 13 < all_alike.parameters[0] < 23
    still = np.zeros((5000, 2))
    last.run(
        still, still, ARM.gravity(still), every=5000
    )  # nothing is shown any more: back to the description
    assert last.parameters[0] == pytest.approx(12, abs=0.1)
    assert last.not_shown == ("Fv1",)


def test_samples_that_are_not_numbers_are_left_out():
    """Exact samples with holes still give the exact parameters: the step over a hole does not count."""
    q, qd, qdd = motion(2, 1.0)
    truth = ARM.with_parameters(np.where(np.array(ARM.parameter_names) == "m2", 60, ARM.parameters))
    samples = [q, qd, truth.inverse_dynamics(q, qd, qdd)]
    samples[0][100], samples[1][200, 1], samples[2][300:350, 0] = np.nan, np.inf, -np.inf
    fit = OnlineFit(ARM, ["m2"], noise=1e-6)
    fit.run(*samples, every=1000)
    assert fit.ignored == 52
    assert_same(fit.parameters / 60, [1], 1e-5)


def in_c(fit, folder, scalar="double"):
    """The C code as a function of samples (T, n), one call each: estimates (k,) and root (k, k)."""
    code, n, k = online_source(fit, "arm", scalar).write(folder / "c"), fit.robot_before.n, len(fit.names)
    (folder / "use.c").write_text(
        f'#include "c/arm.h"\ntypedef {scalar} x;\n'
        "void run(long rows, const x *q, const x *qd, const x *tau, x *estimate, x *root)\n{\n"
        "    static const x settings[] = ARM_SETTINGS, prior[] = ARM_PRIOR;\n"
        "    x state[ARM_STATE] = {0};\n"
        "    for (long k = 0; k < rows; ++k)\n"
        f"        arm_online(1, settings, q + {n} * k, qd + {n} * k, tau + {n} * k, state);\n"
        "    arm_estimate(state, prior, estimate, root);\n}\n"
    )
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"]
    library, test = folder / "lib.so", folder / "test"
    use = [str(folder / "use.c"), str(code[1]), "-lm", "-o", str(library)]
    subprocess.run(["cc", *flags, "-shared", "-fPIC", *use], check=True)
    subprocess.run(["cc", *flags, str(code[1]), str(code[2]), "-lm", "-o", str(test)], check=True)
    subprocess.run([str(test)], check=True)
    kind = np.float64 if scalar == "double" else np.float32

    def run(*samples):
        given = [np.ascontiguousarray(x, dtype=kind) for x in samples]
        results = np.zeros(k, kind), np.zeros((k, k), kind)
        arrays = [ctypes.c_void_p(x.ctypes.data) for x in (*given, *results)]
        ctypes.CDLL(str(library)).run(ctypes.c_long(len(given[0])), *arrays)
        return results

    return run


@needs_compiler
@pytest.mark.parametrize(
    ("robot", "parameters", "scalar", "tolerance"),
    [
        (ARM, ["m2", "mx2", "Fv*", "Fs1"], "double", 1e-12),
        slowly(ARM, ["payload", "friction"], "double", 1e-12),
        slowly(ARM, "friction", "float", 1e-3),
        slowly(PUMA, ["payload", "friction"], "double", 1e-12),
    ],
)
def test_an_online_fit_in_c(robot, parameters, scalar, tolerance, tmp_path):
    samples = recorded(robot, 1.0)
    samples[0][500] = np.nan
    fit = OnlineFit(robot, parameters, forgetting=0.5)
    fit.run(*samples, every=1000)
    estimate, root = in_c(fit, tmp_path, scalar)(*samples)
    size = np.maximum(np.abs(fit.parameters), fit.uncertainty)
    assert_same(estimate / size, fit.parameters / size, tolerance)
    assert_same(np.sqrt((root**2).sum(axis=1)) / fit.uncertainty, fit.deviations / fit.uncertainty, tolerance)
    assert fit.ignored == 1


def standing(fit):
    q = np.zeros((100, fit.robot_before.n))
    fit.run(q, q, fit.robot_before.gravity(q), every=100)
    return fit


def test_what_is_refused():
    fit = OnlineFit(ARM, "friction")
    two = np.zeros(2)
    for mistake in (
        lambda: OnlineFit("puma560"),
        lambda: OnlineFit(ARM, "frictions"),
        lambda: OnlineFit(ARM, []),
        lambda: OnlineFit(ARM, 3),
        lambda: OnlineFit(ARM, ["m2", "m3"]),
        lambda: OnlineFit(PLANAR.with_friction({"link 1": {"load": 0.1}}), "Fl1"),
        lambda: OnlineFit(PUMA, "*"),
        lambda: OnlineFit(ARM, "friction", link="link 1"),
        lambda: OnlineFit(ARM, "payload", link="link 3"),
        lambda: OnlineFit(ARM, "payload", link="base"),
        lambda: OnlineFit(ARM, step=0),
        lambda: OnlineFit(ARM, cutoff=-1),
        lambda: OnlineFit(ARM, forgetting=0),
        lambda: OnlineFit(ARM, forgetting=np.nan),
        lambda: OnlineFit(ARM, noise=[1, 0]),
        lambda: OnlineFit(ARM, noise=[1, 2, 3]),
        lambda: OnlineFit(ARM, slow=-1),
        lambda: OnlineFit(ARM, held=1),
        lambda: OnlineFit(ARM, "friction", uncertainty={"Fv3": 1}),
        lambda: OnlineFit(ARM, "friction", uncertainty={"Fv1": 0}),
        lambda: OnlineFit(ARM, "friction", uncertainty={"Fv1": 1e12}),
        lambda: OnlineFit(ARM, "friction", uncertainty=2),
        lambda: OnlineFit(PLANAR.with_parameters(0 * PLANAR.parameters), "payload"),
        lambda: fit.update(two, two, np.zeros(3)),
        lambda: fit.update(two, two, np.zeros((4, 1, 2)), np.zeros((3, 1, 2))),
        lambda: fit.update("q", two, two),
        lambda: fit.run(two, two, two),
        lambda: fit.run(np.zeros((0, 2)), two, two),
        lambda: fit.run(np.zeros((3, 2)), two, two, every=0),
        lambda: fit.payload,
        lambda: standing(OnlineFit(ARM.with_gravity([0, 0, -9.81]), "payload")).payload,
        lambda: online_source("arm"),
        lambda: online_source(fit, scalar="half"),
    ):
        with golden_error(ArmdynError):
            mistake()
