"""Simulated logs of a small arm with both kinds of joints: for validation, reports and `armdyn identify`."""

import numpy as np

from armdyn import Log, Robot
from payload_logs import fourier, rubbing

ARM = {
    "name": "small arm",
    "convention": "dh",
    "gravity": [0, 0, -9.81],
    "link": [
        {
            "name": "column", "joint": "revolute", "a": 0.1, "alpha": 1.3, "d": 0.3, "theta": 0,
            "mass": 6, "com": [0.05, 0.02, 0.1],
            "inertia": {"xx": 0.2, "yy": 0.25, "zz": 0.15, "xy": 0.01, "xz": -0.02, "yz": 0.015},
            "motor": {"gear": 30, "inertia": 2e-4}, "limits": {"position": [-3, 3], "velocity": 3},
        },
        {
            "name": "slide", "joint": "prismatic", "a": 0, "alpha": -1.2, "d": 0, "theta": 0.4,
            "mass": 4, "com": [0.02, -0.03, 0.1],
            "inertia": {"xx": 0.1, "yy": 0.12, "zz": 0.05, "xy": 0.004, "xz": -0.01, "yz": 0.006},
        },
        {
            "name": "hand", "joint": "revolute", "a": 0.2, "alpha": 0.3, "d": 0.1, "theta": 0,
            "mass": 2, "com": [-0.06, 0.04, 0.03],
            "inertia": {"xx": 0.02, "yy": 0.03, "zz": 0.025, "xy": 0.002, "xz": -0.001, "yz": 0.003},
        },
    ],
}  # fmt: skip


def small_arm():
    return rubbing(Robot.from_dict(ARM), np.random.default_rng(0))


def moved(robot, seed, noise=0.05, duration=12.0, rate=100.0, exact=True, still=(), name="log"):
    """A log with white noise in the torques; with exact states where asked for; `still` joints rest."""
    rng = np.random.default_rng(seed)
    t, q, qd, qdd = fourier(robot.n, rng, duration=duration, rate=rate)
    for j in still:
        q[:, j], qd[:, j], qdd[:, j] = 0.3, 0.0, 0.0
    tau = robot.inverse_dynamics(q, qd, qdd) + noise * rng.normal(size=q.shape)
    states = {"qd": qd, "qdd": qdd} if exact else {}
    return Log(t=t, q=q, tau=tau, name=name, **states)
