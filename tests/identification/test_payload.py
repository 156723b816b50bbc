"""Payloads found from joint torques and from a sensor at the wrist are those that were carried."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume

from armdyn import Robot, backend
from armdyn.identification.errors import IdentificationError
from armdyn.identification.payload import identify_payload, payload_from_sensor
from armdyn.model import Inertia, Transform
from armdyn.model.inertia import ENTRIES
from arms import assert_same, generators, law, quietly, robots, slowly, state
from golden_messages import golden_error
from payload_logs import carrying, fourier, measured, random_load, record, rubbing


@pytest.fixture(autouse=True)
def _evaluated():
    """Few states for each arm: compiling takes longer than evaluating."""
    with backend("evaluator"):
        yield


def entries_of(load):
    """The ten numbers about the frame's origin, from mass, com and tensor about it, by Steiner's theorem."""
    c, i = np.array(load["com"], float), load["inertia"]
    tensor = np.array([[i.get("xyz"[min(a, b)] + "xyz"[max(a, b)], 0.0) for a in range(3)] for b in range(3)])
    about = tensor + load["mass"] * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([load["mass"], *(load["mass"] * c), *about[np.triu_indices(3)]])


def assert_within(payload, load, mass=0.02, moments=0.05):
    true = entries_of(load)
    assert abs(payload.mass - load["mass"]) <= mass * load["mass"]
    assert np.linalg.norm(payload.first_moment - true[1:4]) <= moments * np.linalg.norm(true[1:4])


# ---- joint torques -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("unloaded", ["none", "same", "other"])
@pytest.mark.parametrize("name", [slowly("panda"), "puma560"])
def test_payload_of_a_few_kilograms_from_noisy_logs(name, unloaded):
    arm, loaded, others, load = quietly(lambda: carrying(name, 1))
    found = identify_payload(arm, loaded, others[unloaded])
    assert_within(found, load)
    assert found.not_shown == ()
    assert (found.residual < found.without).all()
    carried = quietly(lambda: arm.with_payload(**found.arguments))
    q, qd, qdd = state(arm, np.random.default_rng(0), (50,))
    by_load = arm.with_payload(**load).inverse_dynamics(q, qd, qdd) - arm.inverse_dynamics(q, qd, qdd)
    wrong = carried.inverse_dynamics(q, qd, qdd) - arm.inverse_dynamics(q, qd, qdd) - by_load
    assert np.linalg.norm(wrong) < 0.03 * np.linalg.norm(by_load)


@pytest.mark.slow
@pytest.mark.parametrize("unloaded", ["none", "same", "other"])
@pytest.mark.parametrize("name", ["panda", "puma560", "ur10", "stanford"])
def test_payloads_of_many_logs(name, unloaded):
    for seed in range(10, 22):
        arm, loaded, others, load = quietly(lambda seed=seed: carrying(name, seed))
        assert_within(identify_payload(arm, loaded, others[unloaded]), load)


@law(robots((4, 5), tree=False, rotors=("exact", "reflected", "none")), generators(), examples=5, thorough=30)
def test_exact_logs_give_the_exact_body(robot, rng):
    """With tools and flanges on the tip, sliding joints, motors anywhere."""
    load = random_load(rng)
    q, qd, qdd = state(robot, rng, (300,))
    heavy = robot.with_payload(**load)
    log = record(np.arange(300) / 100, q, heavy.inverse_dynamics(q, qd, qdd), qd, qdd)
    try:
        found = identify_payload(robot, log)
    except IdentificationError as error:
        assume("does not show the payload's mass" not in str(error))
        raise
    errors = found.standard_errors  # above zero where a direction between the axes is not shown
    for name, x, true in zip(ENTRIES, found.entries, entries_of(load), strict=True):
        assert abs(x - true) <= 1e-6 * max(1.0, abs(true)) + 4 * errors[name]
    other = state(robot, rng, (20,))
    if not found.not_shown:
        assert_same(
            robot.with_payload(**found.arguments).inverse_dynamics(*other),
            heavy.inverse_dynamics(*other),
            1e-6,
        )


@pytest.mark.slow
def test_intervals_hold_the_true_values():
    """Torque noise alone, exact kinematics: pooled over entries and runs."""
    rng = np.random.default_rng(5)
    arm = rubbing(Robot.load("panda"), rng)
    load = random_load(rng)
    true, inside = entries_of(load), []
    t, q, qd, qdd = fourier(arm.n, rng, duration=8, rate=100)
    tau = arm.with_payload(**load).inverse_dynamics(q, qd, qdd)
    for _ in range(20):
        noisy = tau + 0.05 * np.abs(tau).mean(0) * rng.normal(size=tau.shape)
        found = identify_payload(arm, record(t, q, noisy, qd, qdd), consistent=False)
        low, high = np.array([found.intervals(0.95)[name] for name in ENTRIES]).T
        inside.append((low <= true) & (true <= high))
    assert 0.90 <= np.mean(inside) <= 0.99


def test_slow_motion_shows_mass_and_first_moments_only():
    rng = np.random.default_rng(6)
    arm = rubbing(Robot.load("panda"), rng)
    load = random_load(rng)
    motion = fourier(arm.n, rng, duration=200, rate=10, frequency=0.005, harmonics=3)
    found = identify_payload(arm, measured(arm.with_payload(**load), motion, rng))
    assert set(found.not_shown) >= {"Ixx", "Iyy", "Izz"}
    assert not set(found.not_shown) & {"m", "mx", "my", "mz"}
    assert found.standard_errors["Ixx"] == np.inf
    assert any("does not show" in note and "Ixx" in note for note in found.notes)
    assert_within(found, load)
    assert np.isfinite(arm.with_payload(**found.arguments).gravity(np.zeros(7))).all()


def test_known_mass_and_centre_are_kept():
    arm, loaded, _, load = carrying("panda", 2)
    free = identify_payload(arm, loaded)
    found = identify_payload(arm, loaded, known={"mass": load["mass"]})
    assert found.mass == pytest.approx(load["mass"], rel=1e-12)
    assert found.standard_errors["m"] == 0
    assert found.standard_errors["mx"] <= free.standard_errors["mx"]
    found = identify_payload(arm, loaded, known={"com": load["com"]}, consistent=True)
    assert_same(found.com, load["com"], 1e-9)
    assert_within(found, load)


def test_impossible_bodies_are_made_possible_when_asked_or_needed():
    rng = np.random.default_rng(7)
    arm = rubbing(Robot.load("panda"), rng)
    motion = fourier(arm.n, rng, duration=10, rate=100)
    rod = {"mass": 2.0, "com": [0, 0, 0.2], "inertia": {"xx": 0.02, "yy": 0.02}}  # the noise decides on zz
    logs = [measured(arm.with_payload(**rod), motion, rng, 0.1) for _ in range(6)]
    plain = [identify_payload(arm, log, consistent=False) for log in logs]
    found = [identify_payload(arm, log) for log in logs]
    assert any(payload.consistent for payload in found)
    for before, payload, log in zip(plain, found, logs, strict=True):
        moments = np.linalg.eigvalsh(payload.inertia)
        assert moments[0] > 0
        assert moments[2] <= moments[0] + moments[1] + 1e-12
        if not payload.consistent:
            assert_same(payload.entries, before.entries)
        assert_within(payload, rod, 0.05, 0.1)
        assert identify_payload(arm, log, consistent=True).consistent
    note = "the body that fits best is not possible; the possible one that fits best is used"
    assert [note in payload.notes for payload in found] == [payload.consistent for payload in found]


def test_payload_on_another_link():
    rng = np.random.default_rng(8)
    arm = Robot.load("puma560")
    load = random_load(rng)
    q, qd, qdd = state(arm, rng, (200,))
    heavy = quietly(lambda: arm.with_payload(**load, link="forearm"))
    log = record(np.arange(200) / 100, q, heavy.inverse_dynamics(q, qd, qdd), qd, qdd)
    found = identify_payload(arm, log, link="forearm")
    assert found.arguments["link"] == "forearm"
    assert found.mass == pytest.approx(load["mass"], rel=1e-6)
    assert_same(found.com, load["com"], 1e-6)


def test_text_says_what_was_found():
    arm, loaded, *_ = carrying("panda", 3)
    text = identify_payload(arm, loaded).text()
    assert text.splitlines()[0].startswith("mass ")
    assert "principal moments" in text


# ---- refusals ----------------------------------------------------------------------------------------------


def test_refusals():
    arm = Robot.load("panda")
    rng = np.random.default_rng(9)
    t, q, qd, qdd = fourier(7, rng, duration=4, rate=50)
    log = record(t, q, arm.inverse_dynamics(q, qd, qdd), qd, qdd)
    with golden_error(IdentificationError):
        identify_payload(arm, log, known={"weight": 2})
    with golden_error(IdentificationError):
        identify_payload(arm, "log.csv")
    with golden_error(IdentificationError):
        identify_payload(quietly(lambda: Robot.load("puma560")), log)
    with golden_error(IdentificationError):
        identify_payload(arm, log, cutoff=-1)
    with pytest.raises(IdentificationError, match="at least 20 samples are needed, found 5"):
        identify_payload(arm, replace(log, t=t[:5], q=q[:5], tau=log.tau[:5], usable=log.usable[:5]))
    with golden_error(IdentificationError):
        payload_from_sensor(arm, log, np.zeros((7, 6)))
    with golden_error(IdentificationError):
        payload_from_sensor(arm, log, np.zeros((len(t), 6)), measures="tool")


def test_mass_that_no_torque_shows_is_refused():
    """On the axis of the only joint, a mass has no lever: only its moments show."""
    robot = Robot.load("pendulum").with_tip("rod", {"xyz": ["-l", 0, 0]})
    rng = np.random.default_rng(10)
    t, q, qd, qdd = fourier(1, rng, duration=4, rate=50)
    tau = robot.with_payload(2.0, com=[0.3, 0, 0]).inverse_dynamics(q, qd, qdd)
    log = record(t, q, tau + 0.01 * rng.normal(size=tau.shape), qd, qdd)
    with golden_error(IdentificationError):
        identify_payload(robot, log)
    found = identify_payload(robot, log, known={"com": (0.3, 0, 0)})
    assert found.mass == pytest.approx(2.0, rel=0.01)


# ---- a sensor at the wrist ---------------------------------------------------------------------------------


def sensor_readings(arm, heavy, motion, T, measures):
    """By virtual work: Jᵀ h on the tool are the torques for the load. J is square, so h follows."""
    _, q, qd, qdd = motion
    tau = heavy.inverse_dynamics(q, qd, qdd) - arm.inverse_dynamics(q, qd, qdd)
    h = np.linalg.solve(np.swapaxes(arm.jacobian(q), 1, 2), tau[..., None])[..., 0]
    pose = arm.pose(q) @ T
    p = pose[:, :3, 3] - arm.pose(q)[:, :3, 3]
    moment = h[:, 3:] - np.cross(p, h[:, :3])
    turned = [np.einsum("kji,kj->ki", pose[:, :3, :3], v) for v in (h[:, :3], moment)]
    return np.concatenate(turned, axis=1) * (1 if measures == "on_tool" else -1)


@pytest.mark.parametrize("measures", ["on_tool", "by_tool"])
def test_sensor_gives_the_payload_and_its_offsets(measures):
    rng = np.random.default_rng(11)
    arm = quietly(lambda: Robot.load("puma560"))
    motion = fourier(arm.n, rng, duration=10, rate=100)
    good = np.abs(np.linalg.det(arm.jacobian(motion[1]))) > 1e-3  # not where J has no inverse
    motion = tuple(x[good] for x in motion)
    load = random_load(rng)
    R = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    sensor = Transform(R.tolist(), (0.01, -0.02, 0.04))
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, sensor.p
    offsets = np.array([3.0, -2.0, 5.0, 0.2, -0.1, 0.3])
    h = sensor_readings(arm, arm.with_payload(**load), motion, T, measures) + offsets
    t, q, qd, qdd = motion
    log = record(t, q, np.zeros_like(q), qd, qdd)
    for given in (sensor, T):
        found = payload_from_sensor(arm, log, h, sensor=given, measures=measures)
        assert_same(found.entries, entries_of(load), 1e-6)
        assert_same(found.offsets, offsets, 1e-6)
    noisy = h + rng.normal(size=h.shape) * [0.5, 0.5, 0.5, 0.03, 0.03, 0.03]
    found = payload_from_sensor(arm, log, noisy, sensor=sensor, measures=measures)
    assert_within(found, load)
    true = entries_of(load)
    errors = [found.standard_errors[name] for name in ENTRIES]
    assert (np.abs(found.entries - true) < 5 * np.array(errors) + 1e-3 * np.abs(true).max()).all()
    assert_same(found.offsets, offsets, 0.05)


def test_payload_is_what_inertia_says():
    """`Inertia` places a body as the estimate's columns do."""
    rng = np.random.default_rng(12)
    from armdyn.identification.payload import moved_body

    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    R, p = Q * np.sign(np.linalg.det(Q)), rng.normal(size=3)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    body = rng.normal(size=10)
    placed = Inertia.of(list(body)).placed(tuple(map(tuple, R)), tuple(p))
    assert_same(moved_body(T) @ body, placed.entries, 1e-12)
