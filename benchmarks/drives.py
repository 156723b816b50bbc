"""Drives from a duty cycle: loads of an assignment by columns and by a robot file, and whole searches."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from time import process_time

import numpy as np
from run import best

from armdyn import PhysicsWarning, Robot, Trajectory, motor_loads, size_drives
from armdyn.studies.drive_limits import PairTable, points
from armdyn.studies.drive_loads import DriveNumbers
from armdyn.studies.size_drives import Sizing

TITLE = "Drives sized from a duty cycle: 7 joints, 148 pairs for each, 1000 samples"
ARM = "lwr4"


def measure() -> Iterator[tuple[str, float, float | None]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PhysicsWarning)
        robot = Robot.load(ARM)
        there = Trajectory.quintic(np.zeros(7), [1, -1, 0.5, 1, 1, 1, 1], duration=1.0)
        motion = there.carrying(7.0, [0, 0, 0.05])
        start = process_time()
        found = size_drives(robot, motion)
        yield "first search, least mass, compiling included", process_time() - start, None
        for objective in ("mass", "cost"):
            seconds = best(lambda: None, lambda _, x=objective: size_drives(robot, motion, objective=x), 3)
            yield f"search, least {objective}, the five best", seconds, None
        yield "torques of one assignment, by columns", best(lambda: found, by_columns, 20), None
        step = found.problem.loads.cycles[0].duration / 1000
        slow = motion.with_step(step)
        yield "the same, by a new robot and motor_loads", best(lambda: (found, slow), by_robot, 5), None


def by_columns(found: Sizing) -> None:
    """Torques of all motors."""
    problem, pairs = found.problem, found.best.pairs
    for i in range(len(pairs)):
        points(problem.loads, i, problem.bounds_of(i, pairs), PairTable([pairs[i]]), np.array([0]))


def by_robot(given: tuple[Sizing, Trajectory]) -> None:
    """The same of the robot with these motors."""
    found, motion = given
    drives = [DriveNumbers.of(pair) for pair in found.best.pairs]
    motor_loads(found.problem.loads.reference.with_drives(drives), motion)
