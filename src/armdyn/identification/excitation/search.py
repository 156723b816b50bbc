"""One start: a random motion within the limits, made better step by step, and repaired where it oversteps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.optimize import minimize

from armdyn.identification.errors import IdentificationError
from armdyn.identification.excitation.smooth import Smooth, coefficients_scale
from armdyn.identification.excitation.task import Task
from armdyn.robot.friction import friction_parts, gathered
from armdyn.robot.joints import joint_name, torque_unit
from armdyn.robot.loops.assembly import LoopError
from armdyn.robot.loops.postures import can_be

POSTURES = 2048  # random ones, among which one is sought that the motors can hold
CANDIDATES = 20  # random motions, of which the best is a start
STAGES = ((4.0, 60.0), (10.0, 250.0))  # how sharp eigenvalues and limits are, at first and at last
SLOW = 1e-9  # rad/s or m/s, of a joint that begins to move
FAR = 1e3  # how much worse a motion is that leaves the postures in which loops close
SHRINK = 0.995  # a repaired motion is so much smaller, again and again


@dataclass(frozen=True)
class Found:
    """What a start has come to."""

    x: np.ndarray  # (d, n) coefficients
    value: float  # of the criterion
    first: float  # of the best random motion that the start began with
    number: int  # of the start


Report = Callable[[], None]
T = TypeVar("T")


def search(
    task: Task,
    seed: np.random.SeedSequence,
    number: int,
    iterations: int,
    report: Report | None = None,
) -> Found:
    """The best motion that one start leads to. It keeps the limits at the fine samples."""
    rng = np.random.default_rng(seed)
    begun = min((random_motion(task, rng) for _ in range(CANDIDATES)), key=lambda x: x[1])
    best = _kept(task, begun[0], task.fine(), SHRINK)
    for power, sharpness in STAGES if iterations else ():
        smooth = Smooth(task, power, sharpness)
        improved = _improved(smooth, best, iterations // len(STAGES), report)
        fixed = repaired(task, improved, best)
        best = min((best, fixed), key=lambda x: task.value(x, task.samples))
    return Found(best, task.value(best, 4 * task.samples), begun[1], number)


def _improved(smooth: Smooth, x: np.ndarray, iterations: int, report: Report | None) -> np.ndarray:
    """Sequential quadratic programming (SLSQP) from x, under smooth limits."""
    z = smooth.variables(x)
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]] = smooth.objective
    room: Callable[[np.ndarray], np.ndarray] = smooth.room
    changes: Callable[[np.ndarray], np.ndarray] = smooth.room_changes
    if smooth.task.robot.model.loops:
        first, rooms = objective(z), room(z)
        objective = _where_closed(objective, (first[0] + FAR * (1 + abs(first[0])), np.zeros_like(first[1])))
        room = _where_closed(room, np.full_like(rooms, -1.0))
        changes = _where_closed(changes, np.zeros((len(rooms), z.size)))
    result = minimize(
        objective,
        z,
        jac=True,
        method="SLSQP",
        constraints={"type": "ineq", "fun": room, "jac": changes},
        callback=None if report is None else lambda _: report(),
        options={"maxiter": max(iterations, 1), "ftol": 1e-7},
    )
    found = smooth.coefficients(result.x)
    return found if np.isfinite(found).all() else x


def _where_closed(f: Callable[[np.ndarray], T], otherwise: T) -> Callable[[np.ndarray], T]:
    """f; and where a motion does not close the robot's loops, what makes the search turn back."""

    def found(z: np.ndarray) -> T:
        try:
            return f(z)
        except LoopError:
            return otherwise

    return found


# ---- feasible motions --------------------------------------------------------------------------------------


def random_motion(task: Task, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Random coefficients, as large as the limits allow at coarse samples, and the criterion there."""
    t = task.grid(task.samples)
    x = coefficients_scale(task) * rng.normal(size=(task.basis.size, task.robot.n))
    x[0] = held_posture(task, rng)
    parts = task.used(x, t)
    size = np.max([parts[kind] for kind in ("velocity", "acceleration", "jerk")], axis=0)
    away = _reach_used(task, x, t)
    used = np.maximum(size, away)
    x[1:] /= np.where(used > 0, used, 1.0)
    found = _kept(task, x, t, 0.9)
    return found, task.value(found, task.samples)


def _kept(task: Task, x: np.ndarray, t: np.ndarray, step: float) -> np.ndarray:
    """The motion made as small as the limits need; an error where no size is small enough."""
    found = shrunk(task, x, t, step, 1000)
    if found is None:
        place = np.round(x[0], 3).tolist()
        raise IdentificationError(f"{task.robot.name}: no motion around the posture {place} keeps the limits")
    return found


def _reach_used(task: Task, x: np.ndarray, t: np.ndarray) -> np.ndarray:
    """(n,) How many times too large the displacements from the posture x[0] are for the ranges."""
    moved = task.basis.rows(t)[0][:, 1:] @ x[1:]
    allowed = task.bounds.allowed
    tiny = 1e-12 * np.maximum(task.bounds.reach, 1e-300)
    above = moved.max(0) / np.maximum(allowed.upper - x[0], tiny)
    below = -moved.min(0) / np.maximum(x[0] - allowed.lower, tiny)
    return np.asarray(np.maximum(above, below))


def shrunk(task: Task, x: np.ndarray, t: np.ndarray, step: float, most: int) -> np.ndarray | None:
    """The motion, made smaller around its posture x[0] until it keeps all limits at instants t.

    At most so many times by the factor `step`, which falls; None where that is not enough.
    """
    found = x.copy()
    for k in range(most):
        if task.most_used(found, t) <= 1.0:
            return found
        found[1:] *= step
        step = step if k % 10 else step**1.5
    return None


def repaired(task: Task, x: np.ndarray, feasible: np.ndarray) -> np.ndarray:
    """The motion, a little smaller or mixed with one that keeps all limits, so that it keeps them, too."""
    t = task.fine()
    found = shrunk(task, x, task.grid(task.samples), SHRINK, 25)  # coarse samples are cheap
    found = None if found is None else shrunk(task, found, t, SHRINK, 25)
    part = 0.5
    while found is None and part > 1e-2:
        mixed = feasible + part * (x - feasible)
        found = mixed if task.most_used(mixed, t) <= 1.0 else None
        part /= 2
    return feasible if found is None else found


def held_posture(task: Task, rng: np.random.Generator) -> np.ndarray:
    """A random posture (n,) that the motors can hold, in the workspace and not at the ends of ranges."""
    n = task.robot.n
    q = task.bounds.middle + task.bounds.reach * rng.uniform(-0.7, 0.7, (POSTURES, n))
    if task.robot.model.loops:
        q = q[can_be(task.robot.assembly, q)]
        if not len(q):
            raise IdentificationError(
                f"position: none of {POSTURES} random postures in the ranges closes the loops of "
                f"{task.robot.name}"
            )
    need = rest_torque(task, q) / task.bounds.allowed.torque
    inside = np.ones(len(q), bool)
    if task.fence is not None:
        inside = np.asarray((task.fence.excess(q) < 0).all(1))
        if not inside.any():
            raise IdentificationError(_outside(task, q))
    if task.followed is not None:
        still = [q, *([np.zeros_like(q)] * 3)]
        inside &= np.asarray((np.maximum(*task.followed.sides(still)) < 1).all(1))
        if not inside.any():
            raise IdentificationError(
                f"position: of {POSTURES} random postures none keeps the ranges of joints that follow others"
            )
    easily, held = (inside & np.asarray((need < most).all(1)) for most in (0.9, 1.0))
    held = easily if easily.any() else held
    if not held.any():
        raise IdentificationError(_too_heavy(task, q[inside]))
    return np.asarray(q[int(np.flatnonzero(held)[0])])


def rest_torque(task: Task, q: np.ndarray) -> np.ndarray:
    """What gravity, offsets and dry friction need at most (N, n) to begin a motion at postures (N, n)."""
    zero = np.zeros_like(q)
    friction = friction_parts(task.robot, q)
    dry = gathered(np.abs(friction.rows), np.maximum(np.abs(friction.forward), np.abs(friction.backward)))
    for way in (SLOW, -SLOW):
        slow = task.robot.friction(np.full(task.robot.n, way), q=q)
        dry = np.maximum(dry, np.abs(slow - friction.offset))
    return np.asarray(np.abs(task.robot.inverse_dynamics(q, zero, zero)) + dry)


def _too_heavy(task: Task, q: np.ndarray) -> str:
    robot, need = task.robot, rest_torque(task, q)
    allowed = task.bounds.allowed.torque
    joint = int((need / allowed).min(0).argmax())
    least, unit = need[:, joint].min(), torque_unit(robot, joint)
    found = f"{len(q)} random postures"
    if least < allowed[joint]:
        return f"torque: the motors of {robot.name} cannot hold any of {found} within the limits"
    return (
        f"torque: gravity and dry friction at {joint_name(robot, joint)} need at least {least:.4g} {unit} in "
        f"{found}, but {allowed[joint]:.4g} {unit} are allowed"
    )


def _outside(task: Task, q: np.ndarray) -> str:
    assert task.fence is not None
    excess = task.fence.excess(q).reshape(len(q), len(task.fence.spots), -1).max(2)
    worst = int(excess.min(0).argmax())
    name, least = task.fence.spots[worst].name, excess[:, worst].min()
    if least <= 0:
        return f"workspace: of {len(q)} random postures none has all points of the arm inside"
    return f"workspace: {name} is outside by {least:.3g} m or more in all of {len(q)} random postures"
