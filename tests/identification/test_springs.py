"""Springs from logs: stiffness and rest of joints, stiffness and preload between points."""

from dataclasses import replace

import numpy as np

from armdyn import Robot, identify
from armdyn.expression import Expression
from armdyn.identification.fit import unit
from armdyn.model.parameters import layout
from armdyn.model.parts import JointSpring, PointSpring
from fit_logs import moved, small_arm


def sprung_arm():
    """The small arm with springs at its column and its slide, and a gas spring from the base to its hand."""
    model = small_arm().model

    def exact(*entries):
        return tuple(Expression.of(x) for x in entries)

    springs = {"column": JointSpring(*exact(40, 0.5)), "slide": JointSpring(*exact(300, -0.1))}
    links = tuple(replace(link, spring=springs.get(link.name, link.spring)) for link in model.links)
    gas = PointSpring(
        ("base", "hand"), (exact(0.6, -0.4, 0.2), exact(0.05, 0, 0.1)), *exact(150, 0.4, -80), "gas"
    )
    return Robot(replace(model, links=links, springs=(gas,)))


def values(robot):
    return dict(zip(robot.parameter_names, robot.parameters, strict=True))


def test_springs_are_estimated():
    robot = sprung_arm()
    truth = values(robot)
    names = ["Ks1", "Kr1", "Ks2", "Kr2", "Kp1", "Pp1"]
    guess = robot.with_parameters([0.5 * x if name in names else x for name, x in truth.items()])
    logs = [moved(robot, seed, noise=0.02) for seed in (1, 2)]
    fit = identify(guess, logs, friction="plain", damping=0, validate=moved(robot, 3, noise=0.02))
    found = values(fit.robot)
    for name in names:
        assert abs(found[name] - truth[name]) < 0.02 * abs(truth[name]), name
    assert fit.validation.error < 0.01
    known = identify(guess, logs, parameters="springs", friction="given", damping=0)
    found = values(known.robot)
    for name in names:
        assert abs(found[name] - truth[name]) < 0.002 * abs(truth[name]), name
    others = [name for name in truth if name not in names]
    assert np.allclose([found[name] for name in others], [truth[name] for name in others], rtol=1e-9)


def test_consistent_estimates_have_no_negative_stiffness():
    robot = sprung_arm()
    log = moved(robot, 1, noise=0.02)
    fit = identify(robot, log, friction="plain", consistent=True)
    found = values(fit.robot)
    assert min(found["Ks1"], found["Ks2"], found["Kp1"]) >= 0
    assert abs(found["Kp1"] - 150) < 15


def test_units_of_springs():
    robot = sprung_arm()
    units = {p.name: unit(robot, p) for p in layout(robot.model) if p.symbol in ("Ks", "Kr", "Kp", "Pp")}
    assert units == {"Ks1": "N m/rad", "Kr1": "N m", "Ks2": "N/m", "Kr2": "N", "Kp1": "N/m", "Pp1": "N"}


def test_a_spring_that_the_description_lacks_is_chosen_and_saved(tmp_path):
    """A cable pulls at the hand: its joint gets a spring, the others do not."""
    bare = small_arm()
    pulled = JointSpring(Expression.of(12), Expression.of(0.5))
    links = tuple(replace(x, spring=pulled) if x.name == "hand" else x for x in bare.model.links)
    arm = Robot(replace(bare.model, links=links))
    other = moved(arm, 3, noise=0.02)
    fit = identify(bare, moved(arm, 1, noise=0.02), validate=other)
    assert [x.spring for x in fit.model.friction] == [False, False, True]
    assert "spring" in fit.summary()
    saved = Robot.load(fit.robot.save(tmp_path / "arm.toml"))
    assert abs(values(saved)["Ks3"] - 12) < 0.5
    assert (
        fit.validation.error < 0.03 < identify(bare, moved(arm, 1, noise=0.02), friction="plain").error(other)
    )
    free = identify(bare, moved(bare, 1, noise=0.02))
    assert not any(x.spring for x in free.model.friction)
