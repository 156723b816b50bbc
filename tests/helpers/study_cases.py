"""Functions and tables of studies, where workers in other processes find them.

python study_cases.py FOLDER KIND     run a study in a folder; prints the part that is done
"""

import os
import sys
import time

import numpy as np

from armdyn import Robot, study
from armdyn.studies import Cases

RANGES = {"a2": (0.3, 0.5), "d4": (0.3, 0.5), "payload.mass": (0.0, 3.0)}
CASES = Cases.draw(RANGES, 40, seed=1)
MANY = Cases.draw(RANGES, 600, seed=1)


def weight(robot, row):
    """Numbers of the case's robot, and one drawn for the case; every 17th fails."""
    if row.case % 17 == 16:
        raise ValueError(f"{row.case} is one too many")
    g = robot.gravity(np.ones(6))
    return {"shoulder": g[1], "elbow": g[2], "drawn": row.rng().random()}


def slow_weight(robot, row):
    time.sleep(0.02)
    return weight(robot, row)


def weights(robot, rows):
    """The same of many at once; none fails."""
    g = robot.gravity(np.ones(6), symbols=rows.symbols)
    drawn = [np.random.default_rng(seed).random() for seed in rows.seeds.tolist()]
    return {"shoulder": g[:, 1], "elbow": g[:, 2], "drawn": np.array(drawn)}


def slow_weights(robot, rows):
    time.sleep(0.02 * len(rows.cases))
    return weights(robot, rows)


def deadly(row):
    """The process that takes x = 7 dies."""
    if row["x"] == 7:
        os._exit(1)
    return {"y": 2 * row["x"]}


def same(a, b):
    """Whether two studies have the same results, bit for bit."""
    assert a.outputs == b.outputs
    assert a.reasons.tolist() == b.reasons.tolist()
    return all(x.tobytes() == b.results[name].tobytes() for name, x in a.results.items())


def of_kind(kind, **options):
    """A study of 600 cases, case by case or in batches."""
    many = kind == "batches"
    given = {"robot": Robot.load("puma560"), "vectorised": many, "batch": 16 if many else None}
    return study(slow_weights if many else slow_weight, MANY, **given, **options)


if __name__ == "__main__":
    of_kind(sys.argv[2], folder=sys.argv[1], workers=2, progress=lambda part: print(part, flush=True))
