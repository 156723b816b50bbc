"""Simulated logs of arms that carry something: friction, noise in torques and positions, encoder steps."""

import numpy as np

from armdyn import Robot
from armdyn.identification.log import Record

STEP = 2 * np.pi / 2**17  # rad: an encoder of 17 bits at the joint


def fourier(n, rng, duration=20.0, rate=250.0, frequency=0.1, size=0.6, harmonics=5):
    """t, q, q̇, q̈ of a periodic motion."""
    t = np.arange(0, duration, 1 / rate)
    q, qd, qdd = np.zeros((3, len(t), n))
    for k in range(1, harmonics + 1):
        w = 2 * np.pi * frequency * k
        a, b = rng.normal(size=(2, n)) * size / k
        s, c = np.sin(w * t)[:, None], np.cos(w * t)[:, None]
        q += s * a + c * b
        qd += w * (c * a - s * b)
        qdd -= w * w * (s * a + c * b)
    return t, q + rng.uniform(-1, 1, n), qd, qdd


def record(t, q, tau, qd=None, qdd=None, name="log"):
    usable, rows = np.ones(q.shape, bool), np.arange(len(t))
    return Record(
        t, q, tau, usable, (slice(0, len(t)),), rows, np.ones(len(t), bool), len(t), qd, qdd, name=name
    )


def rubbing(robot, rng):
    """The robot with viscous and Coulomb friction of the size that geared joints have."""
    values = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    size = np.abs(robot.gravity(rng.uniform(-1, 1, (100, robot.n)))).mean(0) + 2
    for j, x in enumerate(size):
        values[f"Fv{j + 1}"] += 0.05 * x
        values[f"Fs{j + 1}"] += 0.1 * x
    return robot.with_parameters(list(values.values()))


def measured(real, motion, rng, noise=0.03, by_load=0.0):
    """A log of a motion: white noise and a slow drift in the torques, friction that grows with the load."""
    t, q, qd, qdd = motion
    tau = real.inverse_dynamics(q, qd, qdd)
    tau = tau + by_load * np.abs(tau - real.friction(qd)) * np.sign(qd)
    size = np.abs(tau).mean(0)
    drift = np.sin(2 * np.pi * 0.3 * t[:, None] + rng.uniform(0, 6, real.n))
    tau = tau + size * (noise * rng.normal(size=tau.shape) + noise / 10 * drift)
    q = np.round((q + STEP / 2 * rng.normal(size=q.shape)) / STEP) * STEP
    return record(t, q, tau)


def random_load(rng):
    """2 to 5 kg, some centimetres off the flange."""
    mass = rng.uniform(2, 5)
    com = rng.uniform(-0.1, 0.1, 3) + np.array([0, 0, 0.1])
    xx, yy, zz = mass * np.array([0.004, 0.005, 0.003])
    return {"mass": mass, "com": com, "inertia": {"xx": xx, "yy": yy, "zz": zz, "xy": 0.0005 * mass}}


def carrying(name, seed, by_load=0.01):
    """An arm, logs of it loaded, unloaded on the same motion and on another, and the load."""
    rng = np.random.default_rng(seed)
    arm = rubbing(Robot.load(name), rng)
    load = random_load(rng)
    friction = np.array([x.startswith(("Fv", "Fs")) for x in arm.parameter_names])
    more = np.where(friction, rng.uniform(1.0, 1.15, len(friction)), 1.0)  # friction that the load changes
    loaded = arm.with_parameters(more * arm.parameters).with_payload(**load)
    motion, other = fourier(arm.n, rng), fourier(arm.n, rng)
    return (
        arm,
        measured(loaded, motion, rng, by_load=by_load),
        {"none": None, "same": measured(arm, motion, rng), "other": measured(arm, other, rng)},
        load,
    )
