"""Whether the energies of a run add up. This detects steps that blow up while every number stays finite."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from armdyn.kernels.cuda.arrays import array, host, is_cupy
from armdyn.simulation.run import Run

OFF = 0.05  # of the energy exchanged: if more is unexplained, the motion is wrong
ROUNDING = 1e-9  # of the energies themselves: unexplained energy allowed where hardly any is exchanged
ROUNDING_OF_SINGLE = 1e-3  # in float32, where it adds up over the steps
STATES = 200_000  # energies are checked at about so many states, and at no fewer than LEAST instants
LEAST = 20


class Imbalance(NamedTuple):
    """An arm whose energies do not add up."""

    arm: int
    time: float  # the first instant checked at which they do not [s]
    unexplained: float  # the largest value over the run [J]
    exchanged: float  # among motion, height, torques, tip and friction [J]


def imbalances(run: Run) -> list[Imbalance]:
    """The arms (numbered through the whole batch) whose energies do not add up.

    The energy exchanged is the sum of the largest values so far of kinetic energy, change of potential
    energy, and the works of torques, wrench and friction.
    """
    arms = int(np.prod(run.q.shape[1:-1]))
    count = min(len(run.t), max(LEAST, STATES // arms))
    rows = np.unique(np.linspace(0, len(run.t) - 1, count).round().astype(int))
    names = ["q", "qd", "torque_work", "wrench_work", "dissipated"]
    names += ["closed"] if run.closed is not None else []
    seen = replace(run, t=run.t[rows], **{name: getattr(run, name)[rows] for name in names})
    brought = run.load_energy[rows]
    with np.errstate(all="ignore"):

        def flat(x: np.ndarray) -> np.ndarray:
            return array(np.abs(x).reshape(len(rows), arms))

        unexplained, kinetic, potential = (
            flat(x) for x in (seen.unexplained(brought), seen.kinetic, seen.potential)
        )
        works = [flat(x) for x in (seen.torque_work, seen.wrench_work, seen.dissipated)]
        parts = [kinetic, flat(seen.potential - seen.potential[0] - brought), *works]
        one, *others = map(_largest_so_far, parts)
        exchanged = sum(others, start=one)
        rounding = ROUNDING if run.q.dtype == np.float64 else ROUNDING_OF_SINGLE
        allowed = OFF * exchanged + rounding * _largest_so_far(kinetic + potential)
        worst = _largest_so_far(unexplained)[-1]
    found = []
    for arm in np.flatnonzero(host(worst > allowed[-1])):
        first = int(np.flatnonzero(host(unexplained[:, arm] > allowed[:, arm]))[0])
        time = float(seen.t[first])
        found.append(Imbalance(int(arm), time, float(worst[arm]), float(exchanged[-1, arm])))
    return found


def _largest_so_far(x: np.ndarray) -> np.ndarray:
    """Over the rows (N, arms); NaN counts for nothing."""
    if not is_cupy(x):
        return np.asarray(np.fmax.accumulate(x, axis=0))
    found, step = x, 1
    while step < len(found):  # CuPy accumulates sums only
        found = np.concatenate([found[:step], np.fmax(found[step:], found[:-step])])
        step *= 2
    return found
