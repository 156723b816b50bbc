"""A motion under a timing law: q(t) = q̄(r(t)), (7.119) to (7.121)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.motion.trajectories.instants import snapped
from armdyn.motion.trajectories.motion import Motion, Side, States

NONE = np.zeros(0)


@dataclass(frozen=True)
class Composed:
    """A motion over r and the law r(t), a motion of one joint."""

    motion: Motion
    law: Motion
    places: np.ndarray  # (K,) the law's times at which r must be exact: at knots, and perhaps at the end
    values: np.ndarray  # (K,) r there

    def evaluate(self, t: np.ndarray, side: Side) -> States:
        motion = self.motion
        r, rate, change = self.law.evaluate(t, side)
        at = snapped(t, self.places, self.values, r[:, 0])
        q, qd, qdd = motion.evaluate(at.clip(0.0, motion.duration), side)
        return q, rate * qd, rate**2 * qdd + change * qd


def composed(
    motion: Motion, law: Motion, label: str, knots: np.ndarray = NONE, jumps: np.ndarray = NONE
) -> Motion:
    """The motion under the law; `knots` and `jumps` are when the law reaches those of the motion [s]."""
    places, values, end = knots, motion.knots, np.array([law.duration])
    if law.evaluate(end, "before")[0][0, 0] != motion.duration:  # by rounding
        places, values = np.append(places, end), np.append(values, motion.duration)
    evaluate = Composed(motion, law, places, values).evaluate
    # Where both jump it is one instant, not two a rounding error apart.
    jumps, knots = (np.append(x, snapped(own, x)) for x, own in ((jumps, law.jumps), (knots, law.knots)))
    return Motion(motion.n, law.duration, evaluate, jumps, label, knots)
