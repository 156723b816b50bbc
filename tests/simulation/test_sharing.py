"""Robots of one structure share the compiled step of adaptive simulation."""

import numpy as np
import pytest

from armdyn import Robot, simulate
from armdyn.simulation import variable_steps
from arms import slowly

PUMA = Robot.load("puma560")
Q0 = np.array([0, 0.8, -2.6, 0, 0.3, 0])


@pytest.mark.parametrize("torque", [slowly(None), [1.0, 20.0, -5.0, 0.0, 0.1, 0.0]])
def test_variants_share_a_step_and_keep_their_own_numbers(torque):
    variable_steps._kernel.cache_clear()
    masses = (0.5, 1.5, 4.0)
    shared = [simulate(PUMA.with_payload(mass), Q0, 0, 0.2, torque) for mass in masses]
    assert variable_steps._kernel.cache_info().currsize == 1
    for mass, run in zip(masses, shared, strict=True):
        variable_steps._kernel.cache_clear()
        alone = simulate(PUMA.with_payload(mass), Q0, 0, 0.2, torque)
        np.testing.assert_array_equal(run.q, alone.q)
        fixed = simulate(PUMA.with_payload(mass), Q0, 0, 0.2, torque, method="rk4", step=1e-4, output=1e-3)
        np.testing.assert_allclose(run.q[-1], fixed.q[-1], atol=1e-4)
    assert np.ptp([run.q[-1, 1] for run in shared]) > 1e-3


def test_what_a_function_raises_comes_out_of_compiled_steps():
    calls = []

    def torque(t, q, qd):
        calls.append(t)
        if t > 0.01:
            raise RuntimeError("no torque today")
        return 0 * q

    with pytest.raises(RuntimeError, match="no torque today"):
        simulate(PUMA, Q0, 0, 0.1, torque)
    assert sum(t > 0.01 for t in calls) == 1
