"""The verbs of `study`: what is computed of each case by name, and the numbers that it gives.

A verb takes the robot of a case, or that of all cases with columns (k,). Results of one case do not depend on
which others stand beside it: sums run along the last axis, (k, joints, samples), one case after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from armdyn.analysis.manipulability import velocity_ellipsoid
from armdyn.expression import Expression, shown
from armdyn.expression.functions import over_scalars
from armdyn.identification import Log
from armdyn.identification.identify import OPTIONS, identify
from armdyn.model.friction import SINGLE, TERMS
from armdyn.model.parts import Link
from armdyn.model.robot_model import RobotModel
from armdyn.motion.motor_loads import MotorLoads, motor_loads
from armdyn.motion.timing.retime import stretched, timed
from armdyn.motion.timing.time_optimal import time_optimal
from armdyn.motion.torques import check_robot, steady_wrench, with_torques
from armdyn.motion.trajectory import Samples, Trajectory
from armdyn.names import listed
from armdyn.robot import Robot
from armdyn.simulation.simulation import simulate
from armdyn.studies.cases import DURATION, LIMITS, Cases, meaning_of
from armdyn.studies.errors import StudyError, check

BRAKING = [name for name in SINGLE if TERMS[name].brakes]  # friction terms that may not be negative
SAMPLES = 8192  # states of a batch, which stay in the cache

# ------------------------------------------------------------------------------------------------------------
# What verbs have in common.


@dataclass(frozen=True)
class Verb:
    """A verb with its options; a field without a default has to be given."""

    at_once: ClassVar[int | None] = None
    takes_duration: ClassVar[bool] = False

    @classmethod
    def options(cls) -> dict[str, Any]:
        """Names of options and their defaults."""
        return {f.name: f.default for f in fields(cls)}

    @classmethod
    def of(cls, **options: Any) -> Verb:
        return cls(**options)

    def prepared(self, robot: Robot, cases: Cases, own: Sequence[str]) -> Verb | Many:
        """The same, looked over: what is wrong for all cases is refused before any is run."""
        return self

    def __call__(self, robot: Robot, row: Any) -> dict[str, Any]:
        raise NotImplementedError


def made(
    name: str, robot: Robot | None, cases: Cases, own: Sequence[str], options: Mapping[str, Any]
) -> Verb | Many:
    """A verb by its name, with its options."""
    verb, known = VERBS[name], VERBS[name].options()
    if robot is None:
        raise StudyError(f"robot: {shown(name)} needs one")
    for option in options:
        if option not in known:
            raise StudyError(f"{name}: it has no option {shown(option)}; it has {listed(list(known))}")
    if missing := [option for option, x in known.items() if x is MISSING and option not in options]:
        raise StudyError(f"{name}: option {shown(missing[0])} is missing")
    if DURATION in cases.columns and DURATION not in own and not verb.takes_duration:
        raise StudyError(
            f"column {shown(DURATION)}: {shown(name)} does not depend on it; own=[{DURATION!r}] keeps it"
        )
    return verb.of(**options).prepared(robot, cases, own)


def _named(what: str, names: Sequence[str], x: np.ndarray) -> dict[str, np.ndarray]:
    """Columns (k,), or numbers, of an array (n, …) by joint or motor."""
    return {f"{what}.{name}": value for name, value in zip(names, x, strict=True)}


# ------------------------------------------------------------------------------------------------------------
# Along a motion.


@dataclass(frozen=True)
class Torques(Verb):
    """The largest and the root-mean-square torque of each coordinate along a motion."""

    motion: Any
    wrench: Any = None

    takes_duration = True

    def prepared(self, robot: Robot, cases: Cases, own: Sequence[str]) -> Verb | Many:
        check_robot(robot, self.motion)
        steady_wrench(robot, self.wrench)
        meaning = meaning_of(robot, list(cases.columns), own)
        assert meaning.robot is not None
        if not self.shares_kernels(meaning.robot, set(meaning.symbols.values())):
            return self
        return Many(self, max(1, SAMPLES // len(self.motion.samples().t)))

    def shares_kernels(self, robot: Robot, symbols: set[str]) -> bool:
        """Whether all cases can be computed at once."""
        return robot.model.choice is None and all(one.load.link is None for one in self.motion.loads)

    # ---- one case ------------------------------------------------------------------------------------

    def __call__(self, robot: Robot, row: Any) -> dict[str, Any]:
        t, _, _, _, tau = with_torques(robot, self.motion_of(row), self.wrench)
        return self.of_torques(robot.coordinates, t[None], tau.T[None], one)

    def motion_of(self, row: Any) -> Trajectory:
        """The motion of one case."""
        motion: Trajectory = self.motion
        if DURATION not in row:
            return motion
        law, when = stretched(motion, self.factor(row[DURATION]))
        return Trajectory(timed(motion, law, motion.motion.label, when), motion.step)

    def factor(self, duration: Any) -> Any:
        """How many times as long the motion takes but for its dwells; durations (k,) or one."""
        rest = sum(end - start for start, end in self.motion.dwells)
        if np.any(np.asarray(duration) <= rest):
            raise StudyError(
                f"column {shown(DURATION)}: found {np.min(duration):g} s; more than the {rest:g} s of the "
                "motion's dwells are expected"
            )
        return (duration - rest) / (self.motion.duration - rest)

    def of_torques(
        self, names: Sequence[str], t: np.ndarray, tau: np.ndarray, form: Callable[..., Any]
    ) -> dict[str, Any]:
        """From instants (k or 1, N) and torques (k, n, N)."""
        peaks = _named("peak_torque", names, form(_peak(tau)))
        return peaks | _named("rms_torque", names, form(_rms(t, tau)))

    # ---- many ------------------------------------------------------------------------------------------

    @cached_property
    def samples(self) -> Samples:
        """The states of the motion as it is given."""
        found: Samples = self.motion.samples()
        return found

    def at_once_of(self, robot: Robot, rows: Any) -> dict[str, Any]:
        t, _, tau = self.states(robot, rows)
        return self.of_torques(robot.coordinates, t, tau, each)

    def states(self, robot: Robot, rows: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Instants (k or 1, N), velocities and torques (k, n, N) of cases."""
        at, rate, k = self.samples, 1.0, len(rows.cases)
        t = at.t[None]
        if DURATION in rows:
            factors = self.factor(rows[DURATION])
            t = np.stack([stretched(self.motion, factor)[1](at.t) for factor in factors.tolist()])
            rate = 1 / factors[:, None]
        q, qd, qdd = at.q[:, None], at.qd[:, None] * rate, at.qdd[:, None] * rate * rate

        def torques(carrying: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
            found = carrying.inverse_dynamics(q, qd, qdd, self.wrench, symbols=rows.symbols or None)
            return np.broadcast_to(found, (len(found), k, robot.n))

        tau = self.motion.loaded(robot).evaluate(torques, at.t, q, qd, qdd)
        by_case = [np.ascontiguousarray(np.broadcast_to(x, tau.shape).transpose(1, 2, 0)) for x in (qd, tau)]
        return t, by_case[0], by_case[1]


@dataclass(frozen=True)
class Many:
    """A verb that takes all cases of a batch at once."""

    verb: Torques
    at_once: int

    def __call__(self, robot: Robot, rows: Any) -> dict[str, Any]:
        return self.verb.at_once_of(robot, rows)


def check_values(robot: Robot, symbols: Mapping[str, np.ndarray]) -> None:
    """Refuse cases with values (k,) that `with_symbols` refuses: kernels do not look at them."""
    for k in np.flatnonzero(_doubtful(robot, symbols)).tolist():
        robot.with_symbols({name: x[k].item() for name, x in symbols.items()})


def _doubtful(robot: Robot, symbols: Mapping[str, np.ndarray]) -> Any:
    """Cases (k,) whose robot may have a part that cannot exist."""
    doubtful = np.zeros(np.shape(next(iter(symbols.values()), 0.0)), bool)
    for link in robot.model.links:
        if any(x.symbols() & symbols.keys() for x in link.inertia.entries if isinstance(x, Expression)):
            mass, *c, xx, xy, xz, yy, yz, zz = (_column(robot, symbols, x) for x in link.inertia.entries)
            tensor = np.moveaxis(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), -1, 0)
            moment = np.stack(c, -1)
            with np.errstate(divide="ignore", invalid="ignore"):
                squares = moment[:, :, None] * moment[:, None] / mass[:, None, None]
            about_com = tensor + squares - np.trace(squares, axis1=1, axis2=2)[:, None, None] * np.eye(3)
            known = np.isfinite(about_com).all((1, 2))
            least = np.linalg.eigvalsh(np.where(known[:, None, None], about_com, 0.0))[:, 0]
            size = 1e-7 * np.abs(about_com).max((1, 2)) + 1e-13 * np.abs(tensor).max((1, 2))
            doubtful |= (mass < 0) | (~known & moment.any(1)) | (least < -size)
    not_negative, positive = _signs(robot.model)
    for entries, is_wrong in ((not_negative, np.less), (positive, np.less_equal)):
        for x in entries:
            if x.symbols() & symbols.keys():
                doubtful |= is_wrong(_column(robot, symbols, x), 0)
    return doubtful


def _signs(model: RobotModel) -> tuple[list[Expression], list[Expression]]:
    """Entries of a description, beside bodies: those that may not be negative, those that are positive."""
    least: list[Expression | None] = [x for spring in model.springs for x in (spring.stiffness, spring.rest)]
    positive: list[Expression | None] = []
    for link in model.links:
        frictions, motor = [link.friction], link.motor
        least += [getattr(link.limits, key) for key in LIMITS] + [link.spring.stiffness]
        if link.limits.position is not None:
            low, high = link.limits.position
            least.append(high - low)
        if motor is not None:
            frictions.append(motor.friction)
            least += [motor.mass, motor.axial, motor.transverse, motor.damping, *vars(motor.limits).values()]
            positive += [motor.gear * motor.gear, motor.torque_constant * motor.torque_constant]
            positive += [motor.stiffness, *((motor.axial,) if link.elastic else ())]
        for friction in frictions:
            forward, backward = friction.coulomb
            least += [forward, -backward, *(friction[name] for name in BRAKING)]
            positive += [friction.stribeck_velocity, friction.width]
            positive += [1 - friction["load"], 1 + friction["load"]]
    return [x for x in least if x is not None], [x for x in positive if x is not None]


def _column(robot: Robot, symbols: Mapping[str, np.ndarray], x: Any) -> np.ndarray:
    """An entry of the description in all cases, (k,)."""
    found = robot.model.number_in(tuple(symbols), x) if isinstance(x, Expression) else x
    value = over_scalars(found, symbols) if isinstance(found, Expression) else found
    return np.broadcast_to(np.asarray(value, float), np.shape(next(iter(symbols.values()))))


def one(x: np.ndarray) -> np.ndarray:
    """Numbers (n,) of the one case there is."""
    return np.asarray(x[0])


def each(x: np.ndarray) -> np.ndarray:
    """Columns by joint, (n, k), of (k, n)."""
    return x.T


@dataclass(frozen=True)
class Loads(Torques):
    """Torque, speed, current, power and energy at the motors along a motion, and shares of their limits."""

    def shares_kernels(self, robot: Robot, symbols: set[str]) -> bool:
        plain = not (robot.model.elastic or robot.drives.passive)
        return super().shares_kernels(robot, symbols) and (plain or not _in_drives(robot) & symbols)

    def __call__(self, robot: Robot, row: Any) -> dict[str, Any]:
        loads = motor_loads(robot, self.motion_of(row), wrench=self.wrench)
        shafts = Shafts.of(robot, {})
        return shafts.results(loads.t[None], loads.torque.T[None], loads.speed.T[None], one)

    def at_once_of(self, robot: Robot, rows: Any) -> dict[str, Any]:
        t, qd, tau = self.states(robot, rows)
        shafts = Shafts.of(robot, rows.symbols)
        if robot.model.elastic or robot.drives.passive:
            MotorLoads.from_torques(robot, t[0], *(x.transpose(2, 0, 1) for x in (qd, tau)))  # refuses
        torque, speed = _applied(shafts.to_motors, tau), _applied(shafts.transmission, qd)
        return shafts.results(t, torque, speed, each)


@dataclass(frozen=True)
class Shafts:
    """The m motors of k cases: first axis k, or 1 where they do not depend on the case."""

    names: tuple[str, ...]
    transmission: np.ndarray  # (k, m, n)
    to_motors: np.ndarray  # (k, m, n)
    torque: np.ndarray  # (k, m) limits, infinite for none
    velocity: np.ndarray  # (k, m)
    constant: np.ndarray  # (k, m) N m/A
    tells_current: np.ndarray  # (m,) bool

    @classmethod
    def of(cls, robot: Robot, symbols: Mapping[str, np.ndarray]) -> Shafts:
        """With the values (k,) of symbols."""
        drives = robot.drives
        if not _in_drives(robot) & symbols.keys():
            limits = drives.limits
            K, P = drives.transmission[None], drives.to_motors[None]
            bounds = limits.torque[None], limits.velocity[None], drives.torque_constant[None]
            return cls(drives.names, K, P, *bounds, drives.constant_given)
        n = robot.n
        place = {link.name: j for j, link in enumerate(robot.model.moving)}

        column = partial(_column, robot, symbols)
        K = np.zeros((len(column(0.0)), len(drives.links), n))
        for i, link in enumerate(drives.links):
            K[:, i, place[link.name]] = 1.0 if link.motor is None else column(link.motor.gear)
            for name, factor in () if link.motor is None else link.motor.coupling:
                K[:, i, place[name]] += column(factor)
        entries = [_bounds(link) for link in drives.links]
        torque, velocity, current, constant = (
            np.stack([column(x) for x in row], 1) for row in zip(*entries, strict=True)
        )
        bounded = np.isfinite(current)
        torque = np.minimum(torque, np.where(bounded, current * np.abs(constant), np.inf))
        tells = ((constant != 1) | bounded) & np.isfinite(constant) & (constant != 0)
        to_motors = np.linalg.inv(K).swapaxes(1, 2)
        return cls(drives.names, K, to_motors, torque, velocity, constant, tells.any(0))

    def results(
        self, t: np.ndarray, torque: np.ndarray, speed: np.ndarray, form: Callable[..., Any]
    ) -> dict[str, Any]:
        """From instants (k or 1, N), torques and speeds (k, m, N) at the shafts."""
        power = torque * speed
        peak, fastest, rms = _peak(torque), _peak(speed), _rms(t, torque)
        found = _named("peak_torque", self.names, form(peak)) | _named("rms_torque", self.names, form(rms))
        found |= _named("peak_speed", self.names, form(fastest))
        found |= _named("peak_power", self.names, form(_peak(power)))
        if self.tells_current.any():
            amps = np.abs(rms / self.constant)
            currents = _named("rms_current", self.names, form(amps))
            told = zip(currents.items(), self.tells_current, strict=True)
            found |= {name: x for (name, x), tells in told if tells}
        found["energy"] = form(_integral(t, power).sum(1))
        found["energy_drawn"] = form(_integral(t, np.maximum(power, 0.0)).sum(1))
        found["bus_energy"] = form(_integral(t, np.maximum(power.sum(1), 0.0)))
        if np.isfinite(self.torque).any():
            found["torque_share"] = form((peak / self.torque).max(1))
        if np.isfinite(self.velocity).any():
            found["speed_share"] = form((fastest / self.velocity).max(1))
        return found


def _bounds(link: Link) -> tuple[Any, Any, Any, Any]:
    """Limits of torque, velocity and current of the motor of a joint, and its torque constant."""
    if link.motor is None:
        return np.inf, np.inf, np.inf, np.nan
    limits = link.motor.limits
    given = (limits.torque, limits.velocity, limits.current)
    torque, velocity, current = (np.inf if x is None else x for x in given)
    return torque, velocity, current, link.motor.torque_constant


def _in_drives(robot: Robot) -> set[str]:
    """The symbols of gears, couplings, torque constants and limits of motors."""
    found: set[str] = set()
    for link in robot.drives.links:
        if link.motor is not None:
            factors = [factor for _, factor in link.motor.coupling]
            for x in (link.motor.gear, *factors, *_bounds(link)):
                found |= x.symbols() if isinstance(x, Expression) else set()
    return found


# ---- numbers of curves (k, n, N) over instants (k or 1, N) -------------------------------------------------


def _applied(matrix: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Matrices (k or 1, m, n) times curves (k, n, N), in an order of sums that is always the same."""
    found = np.zeros((len(x), matrix.shape[1], x.shape[2]))
    for j in range(x.shape[1]):
        found += matrix[:, :, j, None] * x[:, j, None]
    return found


def _peak(x: np.ndarray) -> np.ndarray:
    """(k, n): the largest magnitudes."""
    return np.asarray(np.abs(x).max(-1))


def _integral(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """∫ x dt by the trapezoidal rule: of curves (k, n, N) or (k, N)."""
    half = np.diff(t) / 2
    width = half[:, None] if x.ndim == 3 else half
    return np.asarray((width * (x[..., 1:] + x[..., :-1])).sum(-1))


def _rms(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(k, n): roots of the mean squares over time."""
    return np.asarray(np.sqrt(_integral(t, x * x) / (t[:, -1] - t[:, 0])[:, None]))


@dataclass(frozen=True)
class LeastTime(Verb):
    """The least time of the path of a motion [s]."""

    motion: Any
    grid: int | None = None
    torque: Any = None
    velocity: Any = None
    acceleration: Any = None
    motor_torque: Any = None
    motor_velocity: Any = None
    wrench: Any = None

    def prepared(self, robot: Robot, cases: Cases, own: Sequence[str]) -> Verb | Many:
        check_robot(robot, self.motion)
        return self

    def __call__(self, robot: Robot, row: Any) -> dict[str, Any]:
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "motion"}
        fast = time_optimal(robot, self.motion, **{name: x for name, x in given.items() if x is not None})
        return {"duration": fast.duration}


# ------------------------------------------------------------------------------------------------------------
# Others.


@dataclass(frozen=True)
class Simulated(Verb):
    """The end of a simulation, its torques, and how far it was from the motion that a controller follows."""

    torque: Any = None
    q0: Any = None
    qd0: Any = 0.0
    duration: Any = None
    wrench: Any = None
    method: Any = "adaptive"
    step: float = 1e-3
    rtol: float = 1e-10
    atol: float = 1e-12
    max_steps: int | None = None
    limits: Any = "ignore"

    def prepared(self, robot: Robot, cases: Cases, own: Sequence[str]) -> Verb | Many:
        for name in ("q0", "duration"):
            if getattr(self, name) is None and self.target is None:
                raise StudyError(f"simulation: option '{name}' is missing: no controller follows a motion")
        return self

    @property
    def target(self) -> Trajectory | None:
        """The motion that the controller follows, if it is a controller that follows one."""
        found = getattr(self.torque, "target", None)
        return found if isinstance(found, Trajectory) else None

    def __call__(self, robot: Robot, row: Any) -> dict[str, Any]:
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        q0, qd0, duration = (given.pop(name) for name in ("q0", "qd0", "duration"))
        target = self.target
        q0 = target(0.0)[0] if q0 is None and target is not None else q0
        duration = target.duration if duration is None and target is not None else duration
        run = simulate(robot, q0, qd0, duration, progress=False, **given)
        if not run.completed:
            raise StudyError(run.message)
        names, tau = robot.coordinates, np.ascontiguousarray(run.tau.T)[None]
        found = _named("q", names, run.q[-1]) | _named("qd", names, run.qd[-1])
        found |= _named("peak_torque", names, _peak(tau)[0])
        found |= _named("rms_torque", names, _rms(run.t[None], tau)[0])
        if target is not None:
            found |= _named("largest_error", names, np.abs(run.q - target(run.t)[0]).max(0))
        return found | {"work": run.torque_work[-1]}


@dataclass(frozen=True)
class Manipulability(Verb):
    """How far, and how evenly, the tip moves in postures: the measure (3.56), its least and its mean, and the
    shortest semi-axis in parts of the longest.
    """

    q: Any
    link: Any = None
    rows: Any = None

    def prepared(self, robot: Robot, cases: Cases, own: Sequence[str]) -> Verb | Many:
        (q,) = check.joint_arrays(robot, q=self.q)
        return replace(self, q=q.reshape(-1, robot.n))

    def __call__(self, robot: Robot, row: Any) -> dict[str, Any]:
        found = velocity_ellipsoid(robot, self.q, link=self.link, rows=self.rows)
        w, evenness = found.measure, found.lengths[..., -1] / found.lengths[..., 0]
        return {"manipulability": w.min(), "mean_manipulability": w.mean(), "isotropy": evenness.min()}


@dataclass(frozen=True)
class Identification(Verb):
    """The parameters that logs show, a log for each case, and the error of the fit."""

    log: str = "log"  # the column that has the paths of logs
    columns: Any = None  # of the files, as for `Log.load`
    units: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)  # options of `identify`

    @classmethod
    def options(cls) -> dict[str, Any]:
        own = {name: x for name, x in super().options().items() if name != "settings"}
        return own | dict.fromkeys(name for name in OPTIONS if name not in ("samples", "validate"))

    @classmethod
    def of(cls, **options: Any) -> Identification:
        own = {name: options.pop(name) for name in ("log", "columns", "units") if name in options}
        return cls(**own, settings=options)

    def prepared(self, robot: Robot, cases: Cases, own: Sequence[str]) -> Verb | Many:
        if self.log not in cases.columns or cases.columns[self.log].dtype.kind != "U":
            raise StudyError(
                f"identification: the table has no column {shown(self.log)} with paths of logs; log= names it"
            )
        return self

    def __call__(self, robot: Robot, row: Any) -> dict[str, Any]:
        log = Log.load(row[self.log], self.columns, self.units)
        fit = identify(robot, log, progress=False, **self.settings)
        found = {"error": fit.training_error, "consistency_cost": fit.consistency_cost}
        return found | _named("parameter", fit.names, fit.parameters)


VERBS: dict[str, type[Verb]] = {
    "torques": Torques,
    "motor_loads": Loads,
    "least_time": LeastTime,
    "simulation": Simulated,
    "manipulability": Manipulability,
    "identification": Identification,
}
