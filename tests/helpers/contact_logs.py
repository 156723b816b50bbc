"""Logs of arms that press, pull and twist at the tip: a known wrench that changes with time."""

import numpy as np

from armdyn import Log


def wrench_of(t, seed=0, size=20.0):
    """(N, 6): sums of sines, faster than the motions of the other helpers, moments a tenth of the forces."""
    rng = np.random.default_rng(seed)
    w, phase = 2 * np.pi * rng.uniform(0.3, 3.0, (3, 6)), rng.uniform(0, 6, (3, 6))
    found = np.sin(t[:, None, None] * w + phase).sum(1) + rng.normal(size=6)
    return size * found * np.array([1, 1, 1, 0.1, 0.1, 0.1])


def in_tip_axes(robot, q, h):
    """A wrench in world axes, in those of the tip."""
    R = robot.pose(q)[..., :3, :3]
    return np.concatenate([np.einsum("kji,kj->ki", R, x) for x in (h[:, :3], h[:, 3:])], axis=1)


def in_contact(robot, motion, seed=0, frame="world", exact=True, **options):
    """A log of a motion with its wrench; the torques are those of inverse dynamics with it."""
    t, q, qd, qdd = motion
    h = wrench_of(t, seed)
    states = {"qd": qd, "qdd": qdd} if exact else {}
    tau = robot.inverse_dynamics(q, qd, qdd, wrench=h)
    h = in_tip_axes(robot, q, h) if frame == "tip" else h
    return Log(t, q, tau, wrench=h, wrench_frame=frame, **states, **options)
