"""Fits of real robots' logs, each by one call with defaults, scored as the protocol beside the logs says."""

import numpy as np
import pytest

from armdyn import Log, Robot, identify
from armdyn.identification.consistency import impossible_links
from real_logs import FOLDER, ROBOTS, needs_logs, protocol, real_logs

pytestmark = needs_logs
QUICK = ("panda",)
EACH = [pytest.param(x, marks=() if x in QUICK else pytest.mark.slow) for x in ROBOTS]


# [%], rounded: what free estimates with friction that is the same for all joints reach.
BARS = {"tx40": 5.06, "ur10": 5.67, "panda": 1.82, "kuka_13_2": 2.27, "kuka_3_1": 3.27}


@pytest.mark.parametrize("name", EACH)
def test_scores_of_possible_bodies_reach_the_bar_and_what_they_cost_is_named(name: str) -> None:
    data = real_logs(name)
    logs, masks = data.training
    fit = identify(data.robot, logs, samples=masks)
    assert data.score(fit) < BARS[name] + 0.005
    named = any("can exist cost" in note for note in fit.notes)
    assert named == (fit.consistency_cost > 0.03)
    assert impossible_links(fit.robot) == ()
    q = np.random.default_rng(1).uniform(-np.pi, np.pi, (10_000, data.robot.n))
    assert np.linalg.eigvalsh(fit.robot.inertia(q)).min() > 0


@pytest.mark.slow
def test_friction_of_the_tx40_is_that_of_its_source() -> None:
    """Joint-side values identified by others on this log (../shared/data/README.md), in our parameters."""
    viscous, coulomb = [8.05, 5.53, 1.97, 1.11, 1.24], [7.14, 8.26, 6.34, 2.48, 3.03]
    data = real_logs("tx40")
    fit = identify(data.robot, data.logs[0], samples=data.logs[0].t < 7.5, friction="plain", damping=0.0)
    known = dict(zip(fit.robot.parameter_names, fit.robot.parameters, strict=True))
    assert [known[f"Fv{i}"] for i in range(1, 6)] == pytest.approx(viscous, rel=0.1)
    assert [known[f"Fs{i}"] for i in range(1, 6)] == pytest.approx(coulomb, rel=0.1)


@pytest.mark.slow
def test_motor_side_log_gives_the_same_as_the_joint_side() -> None:
    """The TX40's file is of its motors, with a coupled wrist; the protocol brings it to the joints."""
    data, raw = real_logs("tx40"), np.load(FOLDER / "tx40_motor_side.npz")
    zeros = [0, -np.pi / 2, np.pi / 2, 0, 0, 0]
    log = Log(raw["t"], motor_position=raw["motor_pos"], motor_torque=raw["motor_torque"], joint_zeros=zeros)
    options = {"samples": data.train[0], "friction": "plain", "cutoff": 30.0, "damping": 0.0}
    a, b = (identify(data.robot, x, **options) for x in (log, data.logs[0]))
    assert a.parameters == pytest.approx(b.parameters, rel=1e-6, abs=1e-8)


@pytest.mark.slow
def test_a_cubic_term_that_overfits_is_not_taken() -> None:
    """On the KUKA, third file to first, a cubic term without damping makes the prediction worse."""
    data = real_logs("kuka_3_1")
    logs, masks = data.training
    fit = identify(data.robot, logs, samples=masks)
    assert not any(one.cubic for one in fit.model.friction) or fit.model.damping > 0


def test_late_time_stamps_of_the_kuka_are_not_believed() -> None:
    data = real_logs("kuka_3_1")
    from armdyn.identification.signals import segments_of

    (segment,) = segments_of(data.logs[0].at_joints(data.robot))
    assert segment.restamped
    assert segment.rate == pytest.approx(200.0, rel=1e-3)


@pytest.mark.slow
def test_robots_from_other_descriptions_serve_as_well() -> None:
    """A UR10 with the same geometry and no inertias at all in its description."""
    data = real_logs("ur10")
    bare = data.robot.with_parameters(np.zeros(len(data.robot.parameters)))
    assert isinstance(bare, Robot)
    fit = identify(bare, data.logs, samples=data.train)
    assert data.score(fit) <= 1.03 * data.bar
    assert protocol().LOGS["ur10"][3] == data.bar
