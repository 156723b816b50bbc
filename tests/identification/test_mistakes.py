"""Logs whose columns, signs or units are not what they are taken for: put in order, named, or refused."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from armdyn import Log, Robot, identify
from armdyn.identification import IdentificationError, IdentificationWarning
from fit_logs import moved, small_arm
from golden_messages import golden_error, golden_warning
from simulated_logs import rubbing

PLAIN = {"friction": "plain", "damping": 0, "cutoff": 8.0}


def elbow() -> Robot:
    """Three joints that gravity loads, with friction, named as joint states name them."""
    robot = Robot.load("elbow").to_dict()
    for link, name in zip(
        robot["link"], ("shoulder_pan_joint", "elbow_joint", "arm_lift_joint"), strict=True
    ):
        link["name"] = name
    return rubbing(Robot.from_dict(robot), Fv=2.0, Fs=2.0)


def saved(log: Log, path, names: dict[str, list[str]], order: list[int]):
    """A CSV file of the log with columns in another order."""
    head = ["t", *(names[x][j] for x in ("q", "tau") for j in order)]
    rows = np.column_stack([log.t, log.q[:, order], log.tau[:, order]])
    np.savetxt(path, rows, delimiter=",", header=",".join(head), comments="", fmt="%.17g")
    return path


def test_joint_states_in_the_order_of_the_alphabet_and_in_that_of_the_joints(tmp_path):
    arm = elbow()
    log = moved(arm, 1, duration=6.0, exact=False)
    order = np.argsort(arm.joints).tolist()
    assert order != [0, 1, 2]
    names = {"q": [f"position.{x}" for x in arm.joints], "tau": [f"effort.{x}" for x in arm.joints]}
    path = saved(log, tmp_path / "states.csv", names, order)
    fit = identify(arm, Log.load(path, columns={"t": "t", "q": "position.*", "tau": "effort.*"}), **PLAIN)
    assert fit.training_error == pytest.approx(identify(arm, log, **PLAIN).training_error, rel=1e-9)
    assert sum("named after the joints" in note for note in fit.notes) == 2


def test_numbered_columns_in_falling_order_and_in_that_of_the_joints(tmp_path):
    arm = elbow()
    log = moved(arm, 1, duration=6.0, exact=False)
    names = {"q": [f"phi_J{j}" for j in (1, 2, 3)], "tau": [f"M_J{j}" for j in (1, 2, 3)]}
    path = saved(log, tmp_path / "states.csv", names, [2, 1, 0])
    read = Log.load(path, columns={"t": "t", "q": "phi_J*", "tau": "M_J*"})
    np.testing.assert_array_equal(read.q, log.q)
    np.testing.assert_array_equal(read.tau, log.tau)
    assert sum("in the order of the numbers" in str(x) for x in read.remarks) == 2


def test_reversed_torques_are_refused():
    arm = elbow()
    log = moved(arm, 1, duration=6.0, exact=False)
    with golden_error(IdentificationError):
        identify(arm, replace(log, tau=-log.tau), **PLAIN)


@pytest.mark.parametrize("kind", ["first sign", "second sign", "swapped", "degrees", "millinewtons"])
def test_what_is_probably_wrong_is_named(kind):
    arm = elbow()
    log = moved(arm, 1, duration=6.0, exact=False)
    q, tau = log.q.copy(), log.tau.copy()
    if kind.endswith("sign"):
        tau[:, ["first sign", "second sign"].index(kind)] *= -1
    elif kind == "swapped":
        tau = tau[:, [0, 2, 1]]
    elif kind == "degrees":
        q *= 180 / np.pi
    else:
        tau *= 1e3
    with golden_warning(IdentificationWarning), suppress(IdentificationError):  # some fits are refused then
        identify(arm, replace(log, q=q, tau=tau), **PLAIN)


def test_what_is_right_is_not_doubted():
    for arm in (elbow(), small_arm()):
        fit = identify(arm, moved(arm, 2, duration=6.0, exact=False), **PLAIN)
        assert not [x for x in fit.remarks if x.kind == "warning"]
