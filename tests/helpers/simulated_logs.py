"""Logs of simulated motions: what a robot of known parameters would record."""

import numpy as np

from armdyn import Log
from payload_logs import fourier


def motion_of(robot, seed=0, duration=10.0, rate=100.0, frequency=0.2, size=0.6):
    """t, q, q̇, q̈ of a random periodic motion."""
    rng = np.random.default_rng(seed)
    return fourier(robot.n, rng, duration=duration, rate=rate, frequency=frequency, size=size)


def log_of(robot, motion, rng=None, noise=0.0, position_noise=0.0, exact=True, colour=0.0):
    """A log: `noise` of the torques in their mean size, `colour` the correlation of neighbouring samples."""
    t, q, qd, qdd = motion
    tau = robot.inverse_dynamics(q, qd, qdd)
    if noise:
        e = rng.normal(size=tau.shape)
        for k in range(1, len(e)) if colour else ():
            e[k] = colour * e[k - 1] + np.sqrt(1 - colour**2) * e[k]
        tau = tau + noise * np.abs(tau).mean(0) * e
    if position_noise:
        q = q + position_noise * rng.normal(size=q.shape)
    return Log(t, q, tau, **({"qd": qd, "qdd": qdd} if exact else {}))


def wrong(robot, seed=0, spread=0.5):
    """The robot as a poor description has it: every parameter off by up to `spread` of itself."""
    rng = np.random.default_rng(seed)
    return robot.with_parameters(
        robot.parameters * rng.uniform(1 - spread, 1 + spread, len(robot.parameters))
    )


def rubbing(robot, **coefficients):
    """The robot with these coefficients of friction added for every joint: Fv=, Fs=."""
    names = robot.parameter_names
    more = [coefficients.get(name.rstrip("0123456789"), 0.0) for name in names]
    return robot.with_parameters(robot.parameters + np.array(more))


def truth_of(fit, robot):
    """The robot's base parameters; where the model has only one of asymmetry and offset, it has their sum: of
    a joint that does not rest they are one."""
    known = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    for j in range(1, robot.n + 1):
        one, other = (name in fit.full_names for name in (f"Fa{j}", f"F0{j}"))
        if one != other:
            known[f"Fa{j}" if one else f"F0{j}"] = known.get(f"Fa{j}", 0.0) + known.get(f"F0{j}", 0.0)
    return fit.base.matrix @ [known.get(name, 0.0) for name in fit.full_names]


def distance(fit, robot):
    """Of the base parameters that the data show, from the robot's, relative to the size of the vector."""
    truth, shown = truth_of(fit, robot), ~fit.not_shown
    return np.abs(fit.parameters - truth)[shown].max(initial=0.0) / np.linalg.norm(truth)


class Scores:
    """Estimates of many runs in units of their standard errors, over the base parameters of the first."""

    def __init__(self):
        self.base, self.z, self.errors = None, [], []

    def add(self, fit, robot):
        if self.base is None:
            self.base, self.truth = fit.base.matrix, fit.values_of(robot)
        errors = self.base @ fit.x - self.truth
        spread = np.sqrt(np.diag(self.base @ fit.covariance_x @ self.base.T))
        self.errors.append(errors)
        self.z.append(errors / np.where(spread > 0, spread, np.inf))  # what is known has no error

    def inside(self, bound=2.5758):
        """The share of true values in the 99 % intervals."""
        return float((np.abs(self.z) <= bound).mean())

    def bias(self, unit):
        """Root mean square over the parameters of the mean error, in `unit` (b,)."""
        return float(np.sqrt(np.mean(np.square(np.mean(self.errors, 0) / unit))))
