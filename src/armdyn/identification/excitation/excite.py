"""`excite`: the motion that shows a robot's parameters best, within its limits."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from threading import Event, Lock
from typing import Any

import numpy as np

from armdyn.identification.blas import on_one_thread
from armdyn.identification.checks import check
from armdyn.identification.errors import IdentificationError
from armdyn.identification.excitation.bounds import bounds_for
from armdyn.identification.excitation.criterion import Criterion
from armdyn.identification.excitation.excitation import Excitation, Quality
from armdyn.identification.excitation.search import Found, search
from armdyn.identification.excitation.task import KINDS, Task
from armdyn.identification.excitation.tasks import Kind, basis_for, task_for
from armdyn.identification.excitation.workspace import Workspace
from armdyn.kernels import get_threads
from armdyn.motion.trajectories.motion import STEP
from armdyn.output.progress import progress_bar
from armdyn.robot import Robot


@on_one_thread
def excite(
    robot: Robot,
    *,
    kind: Kind = "fourier",
    duration: float = 10.0,
    harmonics: int = 5,
    points: int = 10,
    criterion: Criterion = "condition",
    parameters: Any = None,
    drives: bool = True,
    weights: Any = None,
    position: Any = None,
    velocity: Any = None,
    acceleration: Any = None,
    jerk: Any = None,
    torque: Any = None,
    use: float = 0.95,
    workspace: Workspace | None = None,
    starts: int = 8,
    iterations: int = 200,
    seed: int = 0,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
    step: float = STEP,
) -> Excitation:
    """A motion for identification: from rest back to the same posture at rest, within all limits.

    kind "fourier": a finite Fourier series of period `duration` [s] with `harmonics`, two or more; "quintic":
    a spline of quintics through as many via `points`. `criterion` is of the base regressor W along the
    motion: "condition", its condition number in SI units; "scaled", that of W with columns of unit length;
    "determinant", det WᵀW (D-optimality), which does not depend on units. `weights` (n,) multiply the rows
    of each joint; 1/σ of the torque noise is usual.

    `parameters`: names of parameters or links that are to be found, the rest being known; for a payload the
    last link. By default all, with what identification adds for the drives: reflected rotors, viscous and
    Coulomb friction, offsets; `drives=False` leaves these out.

    `position` (lower, upper), `velocity`, `acceleration`, `jerk` and `torque` replace the robot's limits:
    one number or one per joint. The motion uses at most the part `use` of them; of torques as the robot's
    own parameters predict them. `workspace` limits where the arm may be.

    Several `starts`, each with `iterations` steps, run on as many `workers` (by default `get_threads()`), or
    on an `executor` such as a pool of processes. The result depends on `seed`, not on the workers.
    `progress`: whether a bar is shown; by default on a terminal.
    """
    limits = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk, "torque": torque}
    count = check.whole_number("starts", starts, 1)
    steps = check.whole_number("iterations", iterations)
    first, *seeds = np.random.SeedSequence(check.whole_number("seed", seed)).spawn(count + 1)
    if check.robot(robot).model.elastic:
        raise IdentificationError(
            f"{robot.name}: links behind elastic joints cannot be moved at will; plan for "
            "robot.with_rigid_joints(), whose motions elastic_feedforward takes where they are polynomials"
        )
    task = task_for(
        robot,
        basis_for(kind, duration, harmonics, points),
        bounds_for(robot, use, position, **limits),
        criterion=criterion,
        parameters=parameters,
        drives=drives,
        weights=weights,
        workspace=workspace,
        rng=np.random.default_rng(first),
    )
    with _pool(executor, workers) as pool:
        found = _run(pool, executor is None, task, seeds, steps, progress)
    best = min(found, key=lambda x: (x.value, x.number))
    return Excitation(robot, task.bounds.limits, task.basis, best.x, _quality(task, best, found), step)


# ---- many starts -------------------------------------------------------------------------------------------


@contextmanager
def _pool(executor: Executor | None, workers: int | None) -> Iterator[Executor]:
    if executor is not None:
        yield executor
        return
    count = get_threads() if workers is None else check.whole_number("workers", workers, 1)
    with ThreadPoolExecutor(count) as pool:
        yield pool


class _Stopped(Exception):
    """Somebody has pressed Ctrl-C: threads end at their next step."""


def _run(
    pool: Executor,
    here: bool,
    task: Task,
    seeds: list[np.random.SeedSequence],
    iterations: int,
    progress: bool | None,
) -> list[Found]:
    """All starts. Of threads `here` every step is shown, of other workers every start."""
    stop, lock, done = Event(), Lock(), [0.0]
    with progress_bar("excite", progress) as update:

        def advance(part: float) -> None:
            if stop.is_set():
                raise _Stopped
            with lock:
                done[0] += part
                update(min(done[0] / len(seeds), 1.0))

        def one_step() -> None:
            advance(1 / max(iterations, 1))

        report = one_step if here else None
        jobs = [pool.submit(search, task, seed, k, iterations, report) for k, seed in enumerate(seeds)]
        try:
            for job in as_completed(jobs):
                job.result()
                if not here:
                    advance(1.0)
            return [job.result() for job in jobs]
        except BaseException:
            stop.set()
            for job in jobs:
                job.cancel()
            raise


# ---- the result --------------------------------------------------------------------------------------------


def _quality(task: Task, best: Found, found: list[Found]) -> Quality:
    R = task.triangle(best.x, STEP)
    _, values, v = np.linalg.svd(R)
    size = np.sqrt((R**2).sum(0))
    return Quality(
        criterion=task.criterion,
        condition=float(values[0] / values[-1]) if values[-1] > 0 else np.inf,
        scaled_condition=float(np.linalg.cond(R / size)) if size.all() else np.inf,
        singular_values=values,
        weakest=v[-1],
        parameters=task.columns.names,
        usage=_usage(task, best.x),
        starts=tuple((x.first, x.value) for x in found),
        checked=float(task.fine()[1]),
    )


def _usage(task: Task, x: np.ndarray) -> dict[str, np.ndarray]:
    """The parts of the limits themselves, not of what was allowed of them."""
    limits, part = task.bounds.limits, task.bounds.part
    found = task.used(x, task.fine())
    found |= {kind: part * found[kind] for kind in KINDS[1:] if kind in found}
    half = (limits.upper - limits.lower) / 2
    ranged = np.isfinite(half) & (half > 0)
    found["position"] = np.divide(
        found["position"] * task.bounds.reach, half, where=ranged, out=np.zeros(len(half))
    )
    return {kind: found[kind] for kind in (*KINDS, "workspace") if kind in found}
