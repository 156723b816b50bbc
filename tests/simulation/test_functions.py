"""Functions of the user: what they are handed cannot be written to, and does not change later."""

from dataclasses import dataclass

import numpy as np
import pytest

from armdyn import Robot
from armdyn.simulation import OperationalControl, simulate
from armdyn.simulation.controllers import TipTarget

PLANAR = Robot.load("planar")
Q0 = np.array([0.3, 0.5])
METHODS = ("adaptive", "rk4")
READ_ONLY = "assignment destination is read-only|output array is read-only"


def spoils_q(t, q, qd):
    q += 1


def spoils_qd(t, q, qd):
    qd[..., 0] = 5


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("spoil", [spoils_q, spoils_qd])
@pytest.mark.parametrize("name", ["torque", "wrench"])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_torques_and_wrenches_that_write_into_the_state(method, spoil, name, batch):
    q = np.broadcast_to(Q0, (*batch, 2))
    with pytest.raises(ValueError, match=READ_ONLY):
        simulate(PLANAR, q, 0 * q, 0.05, method=method, **{name: spoil})


@pytest.mark.parametrize("method", METHODS)
def test_states_that_a_function_keeps_and_states_it_was_shown(method):
    """Kept, and compared with copies made at once."""
    kept, copies = [], []

    def torque(t, q, qd):
        kept.append((q, qd))
        copies.append((q.copy(), qd.copy()))
        return -10 * q

    simulate(PLANAR, Q0, [0.5, 0], 0.05, torque, method=method, output=0.01)
    assert len(kept) > 20
    for (q, qd), (q_then, qd_then) in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(q, q_then)
        np.testing.assert_array_equal(qd, qd_then)
    assert len(np.unique([q for q, _ in kept], axis=0)) > 10


@pytest.mark.parametrize("method", METHODS)
def test_functions_that_answer_with_one_array_again_and_again(method):
    """Torque and wrench share it, so each must be taken at once."""
    shared = np.zeros(6)

    def torque(t, q, qd):
        shared[:2] = [50 * t, -20.0]
        return shared[:2]

    def wrench(t, q, qd):
        shared[:] = [3.0, 4.0, 0, 0, 0, 1.0]
        return shared

    found = simulate(PLANAR, Q0, [0, 0], 0.1, torque, wrench=wrench, method=method, output=0.02)
    fresh = simulate(
        *(PLANAR, Q0, [0, 0], 0.1, lambda t, q, qd: np.array([50 * t, -20.0])),
        wrench=lambda t, q, qd: np.array([3.0, 4.0, 0, 0, 0, 1.0]),
        method=method,
        output=0.02,
    )
    np.testing.assert_array_equal(found.q, fresh.q)
    np.testing.assert_array_equal(found.wrench_work, fresh.wrench_work)


@dataclass(frozen=True, eq=False)
class Spoiling(TipTarget):
    """A target that moves the clock."""

    rotation: None = None

    def position(self, t):
        t += 1.0
        return np.zeros((len(t), 3)), np.zeros((len(t), 3)), np.zeros((len(t), 3))


@pytest.mark.parametrize("method", METHODS)
def test_a_target_that_writes_into_the_times_it_is_given(method):
    with pytest.raises(ValueError, match=READ_ONLY):
        simulate(PLANAR, Q0, [0, 0], 0.02, OperationalControl(PLANAR, Spoiling()), method=method)
