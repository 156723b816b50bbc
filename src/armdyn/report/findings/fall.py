"""The arm after its motors are switched off half-way through the motion: a simulation and its energies."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from armdyn.report.findings.subject import Subject
from armdyn.simulation import SimulationWarning, simulate
from armdyn.simulation.run import Run

_FALL = 1.5  # s


@dataclass(frozen=True)
class FallFinding:
    """A free simulation and its energies."""

    run: Run
    drift: float  # energy unaccounted for, in parts of the largest kinetic energy
    taken: float  # by friction [J]; 0 without friction
    moved: bool


def find_fall(subject: Subject) -> FallFinding:
    q, qd, _ = subject.trajectory(subject.trajectory.duration / 2)
    # A falling arm passes its limits; this section is about energies.
    robot = subject.robot_half_way
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)  # the page says what it says
        run = simulate(robot, q, qd, _FALL, output=_FALL / 300, limits="ignore", progress=False)
    drift = float(np.abs(run.balance).max()) / max(float(run.kinetic.max()), 1e-12)
    taken = float(run.dissipated[-1]) if run.dissipated.any() else 0.0
    return FallFinding(run, drift, taken, bool(np.ptp(run.q, axis=0).any()))
