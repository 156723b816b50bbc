"""What in a record looks wrong although it can be computed with: units, signs, channels that say nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from armdyn.identification.logs.record import Record
from armdyn.robot import Robot
from armdyn.robot.joints import joint_name, joint_units, revolute_joints
from armdyn.robot.motors import driven_coordinates

FARTHEST = {True: 15.0, False: 10.0}  # rad for joints that turn, m for those that slide
SLOWEST, FASTEST = 5.0, 1e5  # Hz, of logs of moving arms
RATIO = 1.5  # of measured derivatives to those of the positions, or its inverse
QUANTA = 3.0  # smallest steps that most steps are at most, for a note on the encoder,
STOPS = 0.01  # and how often, as a share of the steps, the joint seems to rest for one sample


def doubts(robot: Robot, record: Record) -> Iterator[str]:
    """One sentence each."""
    yield from _units(robot, record)
    yield from _derivatives(robot, record)
    yield from _dead_channels(robot, record)


def _units(robot: Robot, record: Record) -> Iterator[str]:
    if record.rate < SLOWEST or record.rate > FASTEST:
        unit = "milliseconds" if record.rate < SLOWEST else "seconds"
        yield f"the rate is {record.rate:.3g} Hz; are the times in {unit}? Then give units={{'t': …}}"
    turning = revolute_joints(robot)
    far = np.abs(record.q).max(0)
    for j in range(record.n):
        if far[j] > FARTHEST[bool(turning[j])]:
            found = f"{joint_name(robot, j)} is at up to {far[j]:.3g} {joint_units(robot, j).position}"
            unit = "degrees" if turning[j] else "millimetres"
            yield f"{found}; are these {unit}? Then give units={{'q': …}}"


def _derivatives(robot: Robot, record: Record) -> Iterator[str]:
    """Measured derivatives that are not those of the positions: a unit, a sign or an order is wrong."""
    chain = [("q", record.q), ("qd", record.qd), ("qdd", record.qdd)]
    for (_, x), (name, given) in pairwise(chain):
        if x is None or given is None:
            continue
        slopes = np.concatenate([np.gradient(x[part], record.t[part], axis=0) for part in record.segments])
        for j in range(record.n):
            a, b = slopes[:, j], given[:, j]
            if not a.any() or not b.any() or abs(a @ b) < 0.8 * np.linalg.norm(a) * np.linalg.norm(b):
                continue  # too noisy to tell, or rows that are no motion
            ratio = (a @ b) / (a @ a)
            if not 1 / RATIO < ratio < RATIO:
                found = f"{name} of {joint_name(robot, j)} is {ratio:.3g} times the derivative"
                yield f"{found}; is its unit or sign wrong?"


def _dead_channels(robot: Robot, record: Record) -> Iterator[str]:
    for j in driven_coordinates(robot.model):  # no torque acts on the links of elastic joints
        tau = record.tau[record.usable[:, j], j]
        if len(tau) and np.ptp(record.q[:, j]) > 0 and np.ptp(tau) == 0:
            unit = joint_units(robot, j)
            found = f"the {unit.effort} of {joint_name(robot, j)} is {tau[0]:.3g} {unit.torque} throughout"
            yield f"{found}: a dead channel?"


def remarks(robot: Robot, record: Record) -> Iterator[str]:
    """What is no fault but good to know: joints that do not move, coarse encoders."""
    still = [j for j in range(record.n) if not np.ptp(record.q[:, j])]
    if still:
        yield f"{', '.join(joint_name(robot, j) for j in still)}: the position never changes"
    for j in range(record.n):
        steps = np.abs(np.diff(record.q[:, j]))
        if not steps.any():
            continue
        quantum = float(steps[steps > 0].min())
        levels = steps[steps > 0] / quantum
        between = ((steps[1:-1] == 0) & (steps[:-2] > 0) & (steps[2:] > 0)).sum()  # rests of one sample
        whole = (np.abs(levels - np.rint(levels)) < 0.01).mean() > 0.99
        if between > STOPS * len(levels) and whole and np.percentile(levels, 80) <= QUANTA:
            unit = joint_units(robot, j).position
            found = f"{joint_name(robot, j)}: the encoder has steps of {quantum:.3g} {unit}"
            yield f"{found}, about as large as the motion in a sample"
