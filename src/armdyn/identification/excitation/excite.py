"""`excite`: the motion that shows a robot's parameters best, within its limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from scipy.optimize import minimize

from armdyn.identification.errors import IdentificationError, check, on_one_thread
from armdyn.identification.excitation.basis import Fourier, MotionBasis, Quintic
from armdyn.identification.excitation.bounds import Bounds, Workspace, bounds_for, fence_for, followed
from armdyn.identification.excitation.columns import CRITERIA, Criterion, columns_for
from armdyn.identification.excitation.search import KINDS, Search, Smooth, coefficients_scale
from armdyn.kernels import get_threads
from armdyn.motion.motion import STEP
from armdyn.motion.trajectory import Trajectory
from armdyn.names import one_line
from armdyn.progress import progress_bar
from armdyn.robot import Robot
from armdyn.robot.assembly import LoopError
from armdyn.robot.friction import friction_parts, gathered
from armdyn.robot.joints import JointLimits, joint_name, torque_unit
from armdyn.robot.postures import can_be

# ------------------------------------------------------------------------------------------------------------
# `Excitation`: the motion found, how well it shows the parameters and how much of the limits it uses.


SOUGHT = {
    "condition": "the least condition number",
    "scaled": "the least condition number with scaled columns",
    "determinant": "the largest determinant (D-optimality)",
}


@dataclass(frozen=True)
class Quality:
    """Facts about an excitation besides its motion."""

    criterion: str
    condition: float  # of the base regressor W along the motion
    scaled_condition: float  # the same with W's columns divided by their lengths
    singular_values: np.ndarray  # (b,) of W/√N, falling
    weakest: np.ndarray  # (b,) what is seen least: the combination of parameters of the last singular value
    parameters: tuple[str, ...]  # (b,) names of the base columns
    usage: Mapping[str, np.ndarray]  # by kind of limit, the largest part (n,) used; 0 without one
    starts: tuple[tuple[float, float], ...]  # of each: the criterion of its first motion and of its best
    checked: float  # s between the instants at which limits were checked


class Excitation(Trajectory):
    """A `Trajectory` for identification, from rest back to the same posture at rest, within all limits.

    `quality` says what it is worth; its entries are attributes here, too. `coefficients` (d, n) are those of
    the functions `basis`.
    """

    def __init__(
        self,
        robot: Robot,
        limits: JointLimits,
        basis: MotionBasis,
        coefficients: np.ndarray,
        quality: Quality,
        step: float = STEP,
    ) -> None:
        super().__init__(basis.motion(coefficients), step)
        self.robot, self.limits, self.basis = robot, limits, basis
        self.coefficients, self.quality = coefficients, quality

    def __reduce__(self) -> tuple[Any, ...]:
        return Excitation, (
            self.robot,
            self.limits,
            self.basis,
            self.coefficients,
            self.quality,
            self.step,
        )

    # ---- what it is worth ------------------------------------------------------------------------------

    @property
    def criterion(self) -> str:
        """The criterion that was sought: "condition", "scaled" or "determinant"."""
        return self.quality.criterion

    @property
    def condition(self) -> float:
        """The condition number of the base regressor, all samples of all joints one below the other."""
        return self.quality.condition

    @property
    def scaled_condition(self) -> float:
        """The condition number with columns of unit length: it does not depend on units of the parameters."""
        return self.quality.scaled_condition

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the base columns."""
        return self.quality.parameters

    @property
    def usage(self) -> Mapping[str, np.ndarray]:
        """The largest part (n,) of each joint's limit used, by kind of limit; 0 where there is none."""
        return self.quality.usage

    # ---- handing it on ---------------------------------------------------------------------------------

    def repeated(self, periods: int) -> Trajectory:
        """The motion several times without a pause: averages over periods have less noise."""
        times = check.whole_number("periods", periods, 1)
        return Trajectory(self.basis.motion(self.coefficients, times), self.step)

    def save(self, path: str | Path, step: float | None = None) -> None:
        """Write t, q, qd, qdd as a CSV file, as `to_csv` does."""
        self.to_csv(path, step)

    def report(self) -> str:
        """A few lines of plain text: what was found, and a table of the limits used."""
        found, robot = self.quality, self.robot
        kinds = [kind for kind in found.usage if kind != "workspace"]
        names = [one_line(joint_name(robot, i)) for i in range(robot.n)]
        wide = max(len(name) for name in names)
        heading = f"limits used at most, in percent, looked at every {1e3 * found.checked:.3g} ms:"
        lines = [one_line(robot.name), *self.summary(), heading, "  ".join([" " * wide, *kinds])]
        for i, name in enumerate(names):
            cells = [f"{100 * u[i]:.1f}" if (u := found.usage[kind])[i] > 0 else "-" for kind in kinds]
            columns = (cell.rjust(len(kind)) for cell, kind in zip(cells, kinds, strict=True))
            lines.append("  ".join([name.ljust(wide), *columns]))
        return "\n".join(lines)

    def summary(self) -> list[str]:
        """Lines on what was found."""
        found = self.quality
        conditions = f"{found.condition:.4g}, with scaled columns {found.scaled_condition:.4g}"
        lines = [
            f"{self.motion.label}, {self.duration:g} s, from rest to rest",
            f"{len(found.parameters)} base parameters; condition number of the regressor {conditions}",
            f"sought: {SOUGHT[found.criterion]}, from {len(found.starts)} starts",
            f"seen least: {self._least()}",
        ]
        return lines + (["the workspace is kept"] if "workspace" in found.usage else [])

    def _least(self) -> str:
        """The parameters with the largest parts in what is seen least."""
        order = np.argsort(-np.abs(self.quality.weakest), kind="stable")
        kept = [k for k in order[:4] if abs(self.quality.weakest[k]) > 0.2]
        terms = [f"{self.quality.weakest[k]:+.2f} {self.parameters[k]}" for k in kept]
        return " ".join(terms)

    def __repr__(self) -> str:
        return (
            f"<Excitation {self.motion.label}, {self.n} joints, {self.duration:g} s, condition "
            f"{self.condition:.4g}>"
        )


# ------------------------------------------------------------------------------------------------------------
# Tasks from what a caller asks for.


Kind: TypeAlias = Literal["fourier", "quintic"]
STATES = 400  # random ones, at which base parameters are found


def basis_for(kind: str, duration: Any, harmonics: Any, points: Any) -> MotionBasis:
    """The functions of a kind of motion."""
    check.one_of("kind", kind, "fourier", "quintic")
    length = check.positive_time("duration", duration)
    if kind == "fourier":
        return Fourier(length, check.whole_number("harmonics", harmonics, 2))
    return Quintic(length, check.whole_number("points", points, 2))


def search_for(
    robot: Robot,
    basis: MotionBasis,
    bounds: Bounds,
    *,
    criterion: Criterion = "condition",
    parameters: Any = None,
    drives: bool = True,
    weights: Any = None,
    workspace: Workspace | None = None,
    rng: np.random.Generator,
) -> Search:
    """A search that has a posture to begin at; arguments as those of `excite`."""
    check.one_of("criterion", criterion, *CRITERIA)
    rows = np.array(check.per_joint("weights", 1.0 if weights is None else weights, robot.n))
    if not (np.isfinite(rows) & (rows > 0)).all():
        raise IdentificationError(f"weights: found {rows.tolist()}; positive numbers are expected")
    q, qd, qdd = rng.uniform(-1, 1, (3, STATES, robot.n))
    moves = bounds.reach > 0  # joints that cannot move stand still
    states = bounds.middle + bounds.reach * q, qd * moves, qdd * moves
    if robot.model.loops:
        closed = can_be(robot.assembly, states[0])
        if not closed.any():
            raise IdentificationError(
                f"position: none of {STATES} random postures in the ranges closes the loops of {robot.name}"
            )
        states = states[0][closed], states[1][closed], states[2][closed]
    columns = columns_for(robot, parameters, drives, states)
    fence = fence_for(robot, workspace, states[0])
    search = Search(robot, columns, rows, criterion, basis, bounds, fence, followed(robot, bounds.part))
    held_posture(search, rng)
    return search


# ------------------------------------------------------------------------------------------------------------
# One start: a random motion within the limits, made better step by step, and repaired where it oversteps.


POSTURES = 2048  # random ones, among which one is sought that the motors can hold
CANDIDATES = 20  # random motions, of which the best is a start
STAGES = ((4.0, 60.0), (10.0, 250.0))  # how sharp eigenvalues and limits are, at first and at last
SLOW = 1e-9  # rad/s or m/s, of a joint that begins to move
FAR = 1e3  # how much worse a motion is that leaves the postures in which loops close
SHRINK = 0.995  # a repaired motion is so much smaller, again and again


@dataclass(frozen=True)
class Found:
    """The result of a start."""

    x: np.ndarray  # (d, n) coefficients
    value: float  # of the criterion
    first: float  # of the best random motion that the start began with
    number: int  # of the start


Report = Callable[[], None]
T = TypeVar("T")


def best_of_start(
    search: Search,
    seed: np.random.SeedSequence,
    number: int,
    iterations: int,
    report: Report | None = None,
) -> Found:
    """The best motion that one start leads to. It keeps the limits at the fine samples."""
    rng = np.random.default_rng(seed)
    begun = min((random_motion(search, rng) for _ in range(CANDIDATES)), key=lambda x: x[1])
    best = _kept(search, begun[0], search.fine(), SHRINK)
    for power, sharpness in STAGES if iterations else ():
        smooth = Smooth(search, power, sharpness)
        improved = _improved(smooth, best, iterations // len(STAGES), report)
        fixed = repaired(search, improved, best)
        best = min((best, fixed), key=lambda x: search.value(x, search.samples))
    return Found(best, search.value(best, 4 * search.samples), begun[1], number)


def _improved(smooth: Smooth, x: np.ndarray, iterations: int, report: Report | None) -> np.ndarray:
    """Sequential quadratic programming (SLSQP) from x, under smooth limits."""
    z = smooth.variables(x)
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]] = smooth.objective
    room: Callable[[np.ndarray], np.ndarray] = smooth.room
    changes: Callable[[np.ndarray], np.ndarray] = smooth.room_changes
    if smooth.search.robot.model.loops:
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


def random_motion(search: Search, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Random coefficients, as large as the limits allow at coarse samples, and the criterion there."""
    t = search.grid(search.samples)
    x = coefficients_scale(search) * rng.normal(size=(search.basis.size, search.robot.n))
    x[0] = held_posture(search, rng)
    parts = search.used(x, t)
    size = np.max([parts[kind] for kind in ("velocity", "acceleration", "jerk")], axis=0)
    away = _reach_used(search, x, t)
    used = np.maximum(size, away)
    x[1:] /= np.where(used > 0, used, 1.0)
    found = _kept(search, x, t, 0.9)
    return found, search.value(found, search.samples)


def _kept(search: Search, x: np.ndarray, t: np.ndarray, step: float) -> np.ndarray:
    """The motion made as small as the limits need; an error where no size is small enough."""
    found = shrunk(search, x, t, step, 1000)
    if found is None:
        place = np.round(x[0], 3).tolist()
        raise IdentificationError(
            f"{search.robot.name}: no motion around the posture {place} keeps the limits"
        )
    return found


def _reach_used(search: Search, x: np.ndarray, t: np.ndarray) -> np.ndarray:
    """(n,) How many times too large the displacements from the posture x[0] are for the ranges."""
    moved = search.basis.rows(t)[0][:, 1:] @ x[1:]
    allowed = search.bounds.allowed
    tiny = 1e-12 * np.maximum(search.bounds.reach, 1e-300)
    above = moved.max(0) / np.maximum(allowed.upper - x[0], tiny)
    below = -moved.min(0) / np.maximum(x[0] - allowed.lower, tiny)
    return np.asarray(np.maximum(above, below))


def shrunk(search: Search, x: np.ndarray, t: np.ndarray, step: float, most: int) -> np.ndarray | None:
    """The motion, made smaller around its posture x[0] until it keeps all limits at instants t.

    At most so many times by the factor `step`, which falls; None where that is not enough.
    """
    found = x.copy()
    for k in range(most):
        if search.most_used(found, t) <= 1.0:
            return found
        found[1:] *= step
        step = step if k % 10 else step**1.5
    return None


def repaired(search: Search, x: np.ndarray, feasible: np.ndarray) -> np.ndarray:
    """The motion, a little smaller or mixed with one that keeps all limits, so that it keeps them, too."""
    t = search.fine()
    found = shrunk(search, x, search.grid(search.samples), SHRINK, 25)  # coarse samples are cheap
    found = None if found is None else shrunk(search, found, t, SHRINK, 25)
    part = 0.5
    while found is None and part > 1e-2:
        mixed = feasible + part * (x - feasible)
        found = mixed if search.most_used(mixed, t) <= 1.0 else None
        part /= 2
    return feasible if found is None else found


def held_posture(search: Search, rng: np.random.Generator) -> np.ndarray:
    """A random posture (n,) that the motors can hold, in the workspace and not at the ends of ranges."""
    n = search.robot.n
    q = search.bounds.middle + search.bounds.reach * rng.uniform(-0.7, 0.7, (POSTURES, n))
    if search.robot.model.loops:
        q = q[can_be(search.robot.assembly, q)]
        if not len(q):
            raise IdentificationError(
                f"position: none of {POSTURES} random postures in the ranges closes the loops of "
                f"{search.robot.name}"
            )
    need = rest_torque(search, q) / search.bounds.allowed.torque
    inside = np.ones(len(q), bool)
    if search.fence is not None:
        inside = np.asarray((search.fence.excess(q) < 0).all(1))
        if not inside.any():
            raise IdentificationError(_outside(search, q))
    if search.followed is not None:
        still = [q, *([np.zeros_like(q)] * 3)]
        inside &= np.asarray((np.maximum(*search.followed.sides(still)) < 1).all(1))
        if not inside.any():
            raise IdentificationError(
                f"position: of {POSTURES} random postures none keeps the ranges of joints that follow others"
            )
    easily, held = (inside & np.asarray((need < most).all(1)) for most in (0.9, 1.0))
    held = easily if easily.any() else held
    if not held.any():
        raise IdentificationError(_too_heavy(search, q[inside]))
    return np.asarray(q[int(np.flatnonzero(held)[0])])


def rest_torque(search: Search, q: np.ndarray) -> np.ndarray:
    """Torques (N, n) that gravity, offsets and dry friction need at most to begin a motion at q (N, n)."""
    zero = np.zeros_like(q)
    friction = friction_parts(search.robot, q)
    dry = gathered(np.abs(friction.rows), np.maximum(np.abs(friction.forward), np.abs(friction.backward)))
    for way in (SLOW, -SLOW):
        slow = search.robot.friction(np.full(search.robot.n, way), q=q)
        dry = np.maximum(dry, np.abs(slow - friction.offset))
    return np.asarray(np.abs(search.robot.inverse_dynamics(q, zero, zero)) + dry)


def _too_heavy(search: Search, q: np.ndarray) -> str:
    robot, need = search.robot, rest_torque(search, q)
    allowed = search.bounds.allowed.torque
    joint = int((need / allowed).min(0).argmax())
    least, unit = need[:, joint].min(), torque_unit(robot, joint)
    found = f"{len(q)} random postures"
    if least < allowed[joint]:
        return f"torque: the motors of {robot.name} cannot hold any of {found} within the limits"
    return (
        f"torque: gravity and dry friction at {joint_name(robot, joint)} need at least {least:.4g} {unit} in "
        f"{found}, but {allowed[joint]:.4g} {unit} are allowed"
    )


def _outside(search: Search, q: np.ndarray) -> str:
    assert search.fence is not None
    excess = search.fence.excess(q).reshape(len(q), len(search.fence.spots), -1).max(2)
    worst = int(excess.min(0).argmax())
    name, least = search.fence.spots[worst].name, excess[:, worst].min()
    if least <= 0:
        return f"workspace: of {len(q)} random postures none has all points of the arm inside"
    return f"workspace: {name} is outside by {least:.3g} m or more in all of {len(q)} random postures"


# ------------------------------------------------------------------------------------------------------------
# `excite`: the motion that shows a robot's parameters best, within its limits.


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
    if robot.drives.passive:
        name = robot.coordinates[robot.drives.passive[0]]
        raise IdentificationError(
            f"{robot.name}: nothing drives '{name}' (actuated = false), so it cannot be moved at will; "
            "plan for the robot with this joint locked"
        )
    search = search_for(
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
        found = _run(pool, executor is None, search, seeds, steps, progress)
    best = min(found, key=lambda x: (x.value, x.number))
    return Excitation(robot, search.bounds.limits, search.basis, best.x, _quality(search, best, found), step)


# ---- many starts -------------------------------------------------------------------------------------------


@contextmanager
def _pool(executor: Executor | None, workers: int | None) -> Iterator[Executor]:
    if executor is not None:
        yield executor
        return
    count = get_threads() if workers is None else check.whole_number("workers", workers, 1)
    with ThreadPoolExecutor(count) as pool:
        yield pool


class _Interrupted(Exception):
    """Somebody has pressed Ctrl-C: threads end at their next step."""


def _run(
    pool: Executor,
    here: bool,
    search: Search,
    seeds: list[np.random.SeedSequence],
    iterations: int,
    progress: bool | None,
) -> list[Found]:
    """All starts. Of threads `here` every step is shown, of other workers every start."""
    stop, lock, done = Event(), Lock(), [0.0]
    with progress_bar("excite", progress) as update:

        def advance(part: float) -> None:
            if stop.is_set():
                raise _Interrupted
            with lock:
                done[0] += part
                update(min(done[0] / len(seeds), 1.0))

        def one_step() -> None:
            advance(1 / max(iterations, 1))

        report = one_step if here else None
        jobs = [
            pool.submit(best_of_start, search, seed, k, iterations, report) for k, seed in enumerate(seeds)
        ]
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


def _quality(search: Search, best: Found, found: list[Found]) -> Quality:
    R = search.triangle(best.x, STEP)
    _, values, v = np.linalg.svd(R)
    size = np.sqrt((R**2).sum(0))
    return Quality(
        criterion=search.criterion,
        condition=float(values[0] / values[-1]) if values[-1] > 0 else np.inf,
        scaled_condition=float(np.linalg.cond(R / size)) if size.all() else np.inf,
        singular_values=values,
        weakest=v[-1],
        parameters=search.columns.names,
        usage=_usage(search, best.x),
        starts=tuple((x.first, x.value) for x in found),
        checked=float(search.fine()[1]),
    )


def _usage(search: Search, x: np.ndarray) -> dict[str, np.ndarray]:
    """The parts of the limits themselves, not of what was allowed of them."""
    limits, part = search.bounds.limits, search.bounds.part
    found = search.used(x, search.fine())
    found |= {kind: part * found[kind] for kind in KINDS[1:] if kind in found}
    half = (limits.upper - limits.lower) / 2
    ranged = np.isfinite(half) & (half > 0)
    found["position"] = np.divide(
        found["position"] * search.bounds.reach, half, where=ranged, out=np.zeros(len(half))
    )
    return {kind: found[kind] for kind in (*KINDS, "workspace") if kind in found}
