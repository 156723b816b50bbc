"""Drift between two fits: what changed and why, no false alarms, fits that do not compare refused."""

import numpy as np
import pytest

from armdyn import Robot, identify
from armdyn.identification import Friction, IdentificationError, drift
from fit_logs import moved, small_arm
from golden_messages import golden_error

KNOWN = {"friction": "plain", "damping": 0.0}


@pytest.fixture(scope="module")
def arm():
    return small_arm()


@pytest.fixture(scope="module")
def old(arm):
    return identify(arm, moved(arm, 1), **KNOWN)


def changed(robot, **factors):
    x = [v * factors.get(name, 1.0) for name, v in zip(robot.parameter_names, robot.parameters, strict=True)]
    return robot.with_parameters(np.array(x))


def test_nothing_changed(arm, old):
    found = drift(old, identify(arm, moved(arm, 2), **KNOWN))
    assert not found
    assert found.changed == found.causes == ()
    assert found.freedom == len(old.names) == len(found.rows)
    assert "no base parameter changed" in str(found)


@pytest.mark.parametrize(("joint", "name"), [(1, "Fv1"), (2, "Fs2"), (3, "Fs3")])
def test_friction_of_a_joint(arm, old, joint, name):
    found = drift(old, identify(arm, moved(changed(arm, **{name: 1.4}), 2), **KNOWN))
    assert found.changed == (name,)
    assert len(found.causes) == 1
    assert found.causes[0].startswith(f"friction of joint {joint} ")
    row = next(row for row in found.rows if row.name == name)
    truth = 0.4 * arm.parameters[arm.parameter_names.index(name)]
    assert abs(row.change - truth) < 4 * row.standard_error


def test_a_payload_and_wear_together(arm, old):
    worn = changed(arm, Fv1=1.5).with_payload(0.3, com=[0.01, 0.02, 0.05])
    found = drift(old, identify(arm, moved(worn, 2), **KNOWN))
    assert [text.split(" (")[0] for text in found.causes] == [
        "friction of joint 1",
        "gravity and inertia of the link that moves the tip",
    ]
    assert {"m2", "mx3", "Fv1"} <= set(found.changed)


def test_what_two_links_could_have_done_is_not_laid_on_one(arm, old):
    """A heavier second link looks like a load at the third joint's axis."""
    found = drift(old, identify(arm, moved(changed(arm, m2=1.3), 2), **KNOWN))
    assert found.changed == ("m2",)
    assert found.causes == ()
    assert len(found.possible) > 1
    assert all(text in str(found) for text in found.possible)
    assert "not sure; one of these alone explains the changes:" in str(found)


def test_z_values_and_chi_square_by_hand(arm, old):
    new = identify(arm, moved(changed(arm, Fv1=1.5), 2), **KNOWN)
    found, d, C = drift(old, new), new.parameters - old.parameters, old.covariance + new.covariance
    np.testing.assert_allclose([row.z for row in found.rows], d / np.sqrt(np.diag(C)), rtol=1e-12)
    assert found.chi_square == pytest.approx(d @ np.linalg.solve(C, d), rel=1e-6)


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_promised(arm):
    logs = [identify(arm, moved(arm, 50 + k, duration=5.0), **KNOWN) for k in range(60)]
    alarms = [bool(drift(a, b, level=0.95)) for a, b in zip(logs[::2], logs[1::2], strict=True)]
    assert np.mean(alarms) <= 0.2


def test_joints_at_rest_are_left_out(arm, old):
    found = drift(old, identify(arm, moved(arm, 2, still=(0,)), **KNOWN))
    assert not found
    assert "Fv1" in found.not_compared
    assert len(found.rows) + len(found.not_compared) == len(old.names)


def test_fits_that_do_not_compare_are_refused(arm, old):
    with golden_error(IdentificationError):
        drift(old, identify(arm, moved(arm, 2), friction=Friction(cubic=True), damping=0.0))
    with golden_error(IdentificationError):
        drift(old, identify(arm, moved(arm, 2), friction=Friction(width=0.05), damping=0.0))
    planar = Robot.load("planar")
    with golden_error(IdentificationError):
        drift(old, identify(planar, moved(planar, 1), **KNOWN))
    table = arm.to_dict()
    table["link"][1]["alpha"] = 0.7
    with golden_error(IdentificationError):
        other = Robot.from_dict(table)
        drift(old, identify(other, moved(other, 1), **KNOWN))
    with golden_error(IdentificationError):
        drift(old, "fit.json")
    with golden_error(IdentificationError):
        drift(old, old, level=1.5)
