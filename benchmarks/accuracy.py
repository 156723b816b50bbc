"""How exact motions and simulations are: figures with a bound, each against a truth of its own."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np
from rich.console import Console
from rich.table import Table
from run import machine, provenance

from armdyn import (
    Robot,
    Trajectory,
    dynamic_manipulability,
    operational,
    scale_to_limits,
    simulate,
    time_optimal,
)
from armdyn.motion import TimeOptimal
from armdyn.motion.timing.time_optimal import GRID as DEFAULT
from armdyn.robot.friction import friction_parts
from motion import GRID, path, points

FINER = 8
TITLE = "Accuracy of motions and simulations"


@dataclass(frozen=True)
class Figure:
    """What was measured, its unit, and what it may be at most."""

    what: str
    value: float
    bound: float
    unit: str = ""

    @property
    def met(self) -> bool:
        return self.value <= self.bound


def without_friction(robot: Robot, kinds: tuple[str, ...] = ("Fv", "Fs", "Fa", "F0")) -> Robot:
    friction = [name.startswith(kinds) for name in robot.parameter_names]
    return robot.with_parameters(np.where(friction, 0.0, robot.parameters))


def scaling() -> Iterator[Figure]:
    """Problem 7.9; the figures are those of the motion with the acceleration before the switch."""
    robot = Robot.load("planar")
    elbow = np.arccos(0.2**2 / 2 - 1)
    q0 = np.array([-elbow / 2, elbow])
    slow = scale_to_limits(robot, Trajectory.triangular(q0, q0 + np.pi / 2, 0.5))
    yield Figure("problem 7.9: c² from 2.1549", abs(slow.factor**2 - 2.1549), 5e-5)
    yield Figure("problem 7.9: duration from 0.73398 s", abs(slow.trajectory.duration - 0.73398), 5e-6, "s")
    excess = abs(slow.torque).max() / 3000 - 1
    yield Figure("problem 7.9: largest torque from its limit, of it", abs(excess), 1e-12)


def share_of_limits(robot: Robot, fast: TimeOptimal) -> float:
    """The largest share of any limit at ten samples an interval of the grid asked for."""
    at = fast.trajectory.samples(fast.duration / (10 * GRID))
    torque = robot.inverse_dynamics(at.q, at.qd, at.qdd)
    pairs = (torque, fast.limits.torque), (at.qd, fast.limits.velocity), (at.qdd, fast.limits.acceleration)
    return max(float((abs(x) / limit).max()) for x, limit in pairs)


def random_paths(each: int) -> Iterator[tuple[Robot, np.ndarray]]:
    """Arms and waypoints: the planar arm, the PUMA without friction and with dry friction only, the Panda."""
    puma = Robot.load("puma560")
    arms = (
        Robot.load("planar"),
        without_friction(puma),
        without_friction(puma, ("Fv", "Fa", "F0")),
        Robot.load("panda"),
    )
    for robot in arms:
        for seed in range(each):
            middle = np.array([0, 0, 0, -1.6, 0, 1.6, 0]) if robot.name == "Panda" else np.zeros(robot.n)
            yield robot, np.random.default_rng(seed).uniform(-1, 1, (5, robot.n)) + middle


def least_time_elsewhere(robot: Robot, waypoints: np.ndarray, fast: TimeOptimal) -> float:
    """The duration that TOPP-RA finds with as many intervals."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own, about its source
        from peers.with_toppra import least_time as theirs

        friction = friction_parts(robot)
        coulomb = np.abs(friction.rows.T) @ friction.forward
        compute = theirs(without_friction(robot).inverse_dynamics, waypoints, fast.limits, DEFAULT, coulomb)
        return float(compute().duration)


def least_times(each: int) -> Iterator[Figure]:
    """Least times at the default grid over many paths: against a finer grid, and against TOPP-RA."""
    cases = list(random_paths(each))
    fast = [time_optimal(robot, path(waypoints)) for robot, waypoints in cases]
    fine = [time_optimal(robot, path(waypoints), grid=FINER * DEFAULT) for robot, waypoints in cases]
    lost = [100 * (x.duration / y.duration - 1) for x, y in zip(fast, fine, strict=True)]
    what = f"least time, {len(cases)} paths of 4 arms, {DEFAULT} intervals"
    yield Figure(f"{what}: over {FINER} times as many, least", min(lost), 0.5, "%")
    yield Figure(f"{what}: over {FINER} times as many, median", float(np.median(lost)), 0.5, "%")
    yield Figure(f"{what}: over {FINER} times as many, largest", max(lost), 0.5, "%")
    if find_spec("toppra"):
        apart = [
            100 * (x.duration / least_time_elsewhere(robot, waypoints, x) - 1)
            for (robot, waypoints), x in zip(cases, fast, strict=True)
        ]
        yield Figure(f"{what}: from TOPP-RA's, least", min(np.abs(apart)), 1.0, "%")
        yield Figure(f"{what}: from TOPP-RA's, median", float(np.median(np.abs(apart))), 1.0, "%")
        yield Figure(f"{what}: shorter than TOPP-RA's, largest", max(-min(apart), 0.0), 1.0, "%")
        yield Figure(f"{what}: longer than TOPP-RA's, largest", max(*apart, 0.0), 1.0, "%")


def least_time() -> Iterator[Figure]:
    """Limits between the points of the grid: the Panda, and the PUMA with viscous and dry friction."""
    panda, puma = Robot.load("panda"), Robot.load("puma560")
    fast = time_optimal(panda, path(points(panda)), grid=GRID)
    beyond = 100 * (share_of_limits(panda, fast) - 1)
    yield Figure("least time, Panda: beyond a limit at ten times finer sampling", max(beyond, 0.0), 0.1, "%")
    given = Trajectory.quintic(*points(puma)[:2], 1.0)
    rubbing = time_optimal(puma, given, grid=GRID)
    linear = scale_to_limits(puma, given, faster=True).trajectory.duration
    beyond = 100 * (share_of_limits(puma, rubbing) - 1)
    yield Figure("least time, PUMA with friction: beyond a limit", max(beyond, 0.0), 0.1, "%")
    yield Figure("least time, PUMA with friction: over linear scaling", rubbing.duration / linear, 1.0)


def simulation() -> Iterator[Figure]:
    robot = without_friction(Robot.load("puma560"))
    run = simulate(robot, [0.3, 1.2, -0.4, 0.5, 0.7, -0.2], np.zeros(6), 10.0, limits="ignore")
    drift = np.abs(run.energy - run.energy[0]).max() / abs(run.energy[0])
    yield Figure("free PUMA without friction, 10 s: drift of energy, of it", drift, 1e-9)


def null_space_effect(
    robot: Robot, q: np.ndarray, qd: np.ndarray, tau0: np.ndarray, representation: Literal["geometric", "rpy"]
) -> tuple[float, float]:
    """The largest acceleration by torques tau0 projected into the null space, and by tau0 itself."""
    at = operational(robot, q, qd, representation=representation, damping=0)
    projected = np.einsum("kij,kj->ki", at.null_space, tau0)
    still = at.acceleration(0 * tau0)
    moved, would = (float(abs(at.acceleration(tau) - still).max()) for tau in (projected, tau0))
    return moved, would


def at_the_tip() -> Iterator[Figure]:
    """Operational space and ellipsoid, at random states of the Panda."""
    robot, rng = Robot.load("panda"), np.random.default_rng(3)
    q = rng.uniform(-1, 1, (100, 7)) + np.array([0, 0, 0, -1.6, 0, 1.6, 0])
    qd, tau0 = rng.uniform(-1, 1, (100, 7)), rng.uniform(-10, 10, (100, 7))
    moved, would = null_space_effect(robot, q, qd, tau0, "geometric")
    yield Figure(
        "null-space torques up to 10 N m, Panda: the tip's acceleration", moved, 1e-9, "m/s², rad/s²"
    )
    # The angles' second derivatives grow without bound towards cos pitch = 0, which one state is near to.
    moved, would = null_space_effect(robot, q, qd, tau0, "rpy")
    yield Figure("the same in roll, pitch, yaw: of what the torques do unprojected", moved / would, 1e-9)
    ellipsoid = dynamic_manipulability(robot, q[0])
    surface = ellipsoid.boundary(200)
    J, B = robot.jacobian(q[0])[:3], robot.inertia(q[0])
    tau = (surface - ellipsoid.centre) @ (B @ np.linalg.pinv(J)).T
    yield Figure(
        "points of the ellipsoid: norm of their torques from 1", abs((tau**2).sum(-1) - 1).max(), 1e-9
    )


def run(console: Console, folder: Path, quick: bool) -> int:
    """Measure, print, save; how many bounds were missed."""
    each = 2 if quick else 10
    figures = [*scaling(), *least_times(each), *least_time(), *simulation(), *at_the_tip()]
    table = Table("what", "measured", "at most", "", "met", title=f"{TITLE}\n{machine()}")
    for f in figures:
        table.add_row(f.what, f"{f.value:.2g}", f"{f.bound:g}", f.unit, "yes" if f.met else "no")
    console.print(table)
    folder.mkdir(parents=True, exist_ok=True)
    record = {"benchmark": TITLE, **provenance(), "figures": [asdict(f) for f in figures]}
    target = folder / "accuracy.json"
    target.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", "utf-8")
    console.print(f"saved {target}", highlight=False, soft_wrap=True)
    return sum(not f.met for f in figures)
