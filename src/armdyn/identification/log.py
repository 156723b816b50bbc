"""A recorded motion: `Log` as it was recorded, `Record` at a robot's joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armdyn.expression import shown
from armdyn.identification.errors import IdentificationError, IdentificationWarning, check
from armdyn.remarks import Remark, notes_of, warn
from armdyn.robot import Robot
from armdyn.tables import write_csv, write_npz, write_parquet

if TYPE_CHECKING:
    from armdyn.identification.log_files import LogFile
    from armdyn.motion.trajectory import Trajectory
    from armdyn.simulation.run import Run

POSITIONS = ("q", "motor_position")
TORQUES = ("tau", "motor_torque", "current")
DERIVATIVES = ("qd", "qdd")
CONSTANTS = ("transmission", "torque_constant", "joint_zeros", "delay", "wrench_frame", "name")  # of a log
FRAMES = ("world", "tip")  # whose axes a wrench is in


@dataclass(frozen=True, eq=False)
class Log:
    """A recorded motion of n joints, N samples: nothing in it is altered; `at_joints` looks it over.

    `t` (N,) [s] are the instants. Positions are `q` (N, n) [rad or m] at the joints or `motor_position`
    (N, n) [rad] at the motors. Torques are `tau` (N, n) [N m or N] at the joints, `motor_torque` (N, n) [N m]
    at the motors or `current` (N, n) [A]. `qd` and `qdd` (N, n) are velocities and accelerations of the
    joints that were measured or are exact; they are used in the place of derivatives of the positions.

    `wrench` (N, 6) is h_e, where it was measured: force [N] and moment [N m] that the tip exerts on its
    surroundings, at the origin of the tip frame; what the surroundings exert on the tip is its negative.
    `wrench_frame` says in whose axes: "world", as `wrench` of a robot's functions, or "tip", those of a
    sensor at the wrist. The torques Jᵀ h_e are then known beside those of the motion. A log may have a wrench
    in the place of torques: `payload_from_sensor` takes it.

    With `transmission` K, (n, n) or its diagonal (n,), the motors' angles are θ_m = K (q − zeros) and the
    joints' torques Kᵀ τ_m (7.22); τ_m = `torque_constant` · current [N m/A], one number or (n,). What is not
    given here comes from the robot. `joint_zeros` (n,) are added to the positions of the joints. `delay` [s]
    is by how much the torques (not the wrench) were recorded later than the positions; it is taken out at the
    joints. `first`
    is the number of the first row in its file, for messages; `remarks` say what was noticed when it was read,
    `kinds` which joints its units were for, `labels` how its columns were called: where these are names of
    the robot's joints, `at_joints` puts the columns in the order of the joints. Of a part of a file, `core`
    are the rows that are its own; those before and after them are there for filters, and None stands for a
    whole log.
    """

    t: np.ndarray = field(repr=False)
    q: np.ndarray | None = field(default=None, repr=False)
    tau: np.ndarray | None = field(default=None, repr=False)
    qd: np.ndarray | None = field(default=None, repr=False, kw_only=True)
    qdd: np.ndarray | None = field(default=None, repr=False, kw_only=True)
    motor_position: np.ndarray | None = field(default=None, repr=False, kw_only=True)
    motor_torque: np.ndarray | None = field(default=None, repr=False, kw_only=True)
    current: np.ndarray | None = field(default=None, repr=False, kw_only=True)
    wrench: np.ndarray | None = field(default=None, repr=False, kw_only=True)
    wrench_frame: str = field(default="world", repr=False, kw_only=True)
    transmission: np.ndarray | None = field(default=None, repr=False, kw_only=True)
    torque_constant: np.ndarray | None = field(default=None, repr=False, kw_only=True)
    joint_zeros: np.ndarray | None = field(default=None, repr=False, kw_only=True)
    delay: float | None = field(default=None, repr=False, kw_only=True)
    name: str = field(default="log", kw_only=True)
    first: int = field(default=0, repr=False, kw_only=True)
    remarks: tuple[Remark, ...] = field(default=(), repr=False, kw_only=True)
    kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False, kw_only=True)
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False, kw_only=True)
    core: slice | None = field(default=None, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        t = check.floats("t", self.t, "instants (N,)")
        if t.ndim != 1 or len(t) < 2:
            raise IdentificationError(f"t: expected (N,), two instants or more, found {t.shape}")
        self._set("t", t)
        for channel in (*POSITIONS, *TORQUES, *DERIVATIVES, "wrench"):
            if getattr(self, channel) is not None:
                self._set(channel, self._channel(channel, len(t)))
        for allowed in (POSITIONS, TORQUES):
            found = [name for name in allowed if getattr(self, name) is not None]
            least = 0 if allowed is TORQUES and self.wrench is not None else 1
            if not least <= len(found) <= 1:
                text = " and ".join(found) or "none of them"
                raise IdentificationError(f"a log has one of {', '.join(allowed)}: found {text}")
        widths = {} if self.positions != "q" else {"q": self.n}
        widths |= {x: getattr(self, x).shape[1] for x in DERIVATIVES if getattr(self, x) is not None}
        if len(set(widths.values())) > 1:
            text = ", ".join(f"{name} {width}" for name, width in widths.items())
            raise IdentificationError(f"the channels have different numbers of columns: {text}")
        self._check_wrench()
        self._check_constants()

    def _channel(self, name: str, rows: int) -> np.ndarray:
        width = 6 if name == "wrench" else "n"
        x = check.floats(name, getattr(self, name), f"numbers ({rows}, {width})")
        x = x[:, None] if x.ndim == 1 else x
        if x.ndim != 2 or x.shape[0] != rows or x.shape[1] == 0:
            hint = "; transpose it" if x.ndim == 2 and x.shape[1] == rows else ""
            raise IdentificationError(
                f"{name}: expected ({rows}, {width}) as t is ({rows},), found {x.shape}{hint}"
            )
        return x

    def _check_wrench(self) -> None:
        check.one_of("wrench_frame", self.wrench_frame, *FRAMES)
        if self.wrench is None and self.wrench_frame != "world":
            raise IdentificationError(f"wrench_frame: found '{self.wrench_frame}', but the log has no wrench")
        if self.wrench is not None and self.wrench.shape[1] != 6:
            rows, width = self.wrench.shape
            raise IdentificationError(
                f"wrench: expected ({rows}, 6), force and then moment, found ({rows}, {width})"
            )

    def _check_constants(self) -> None:
        n = self.n
        if self.transmission is not None:
            K = check.numbers("transmission", self.transmission)
            if K.shape not in ((n,), (n, n)):
                raise IdentificationError(f"transmission: expected ({n},) or ({n}, {n}), found {K.shape}")
            K = np.diag(K) if K.ndim == 1 else K
            if np.linalg.matrix_rank(K) < n:
                raise IdentificationError("transmission: the matrix has no inverse")
            self._set("transmission", K)
        for name in ("torque_constant", "joint_zeros"):
            if getattr(self, name) is not None:
                values = np.array(check.per_joint(name, getattr(self, name), n))
                if not np.isfinite(values).all():
                    raise IdentificationError(f"{name}: expected finite numbers, found {values.tolist()}")
                self._set(name, values)
        if self.delay is not None:
            object.__setattr__(
                self, "delay", float(check.numbers("delay", check.number("delay", self.delay)))
            )
        if not isinstance(self.name, str):
            raise IdentificationError(f"name: found {shown(self.name)}; a text is expected")

    def _set(self, name: str, x: np.ndarray) -> None:
        x.flags.writeable = False
        object.__setattr__(self, name, x)

    # ---- making ----------------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | Path, columns: Any = None, units: Any = None, **options: Any) -> Log:
        """A log from a CSV, NPZ or Parquet file.

        `columns` maps channels ("t", "q", "tau", "qd", "qdd", "motor_position", "motor_torque", "current",
        "wrench") to a column's name or number, a pattern with * and ?, or a list of these; without it they
        are recognised by their names. Columns of a pattern whose names are numbered from 0 or 1 on are taken
        by number, and columns that are named after the robot's joints by name, once the robot is known.
        `units` maps channels to a unit such as "deg", "mm", "turn", "ms",
        "mNm", "mA", to a factor to SI, or to a list of these; units in the names of columns, "q1 [deg]", are
        understood. Options: `transmission`, `torque_constant`, `joint_zeros`, `delay`, `wrench_frame`, `name`
        as in `Log`; for text files `delimiter` and `decimal` ("," for decimal commas).
        """
        return cls.open(path, columns, units, **options).read()

    @classmethod
    def open(cls, path: str | Path, columns: Any = None, units: Any = None, **options: Any) -> LogFile:
        """The file, to be read block by block: for logs larger than memory. Arguments as in `load`."""
        from armdyn.identification.log_files import LogFile

        return LogFile.of(path, columns, units, **options)

    @classmethod
    def from_run(cls, run: Run, name: str | None = None) -> Log:
        """A simulated motion of one arm: q, q̇, the torques applied and the wrench at the tip, if any."""
        from armdyn.simulation.run import Run

        if not isinstance(run, Run):
            raise IdentificationError(f"run: expected a Run, found {type(run).__name__}")
        if run.q.ndim != 2:
            raise IdentificationError(f"run: found {run.q.shape[1:-1]} arms; a log is of one")
        if isinstance(run.wrench, Mapping):
            links = ", ".join(f"'{link}'" for link in run.wrench)
            raise IdentificationError(f"run: wrenches act on {links} by name; a log has one at the tip")
        name = name or f"simulation of {run.robot.name}"
        return cls(run.t, run.q, run.tau, qd=run.qd, wrench=run.wrench, name=name)

    @classmethod
    def from_trajectory(cls, robot: Robot, trajectory: Trajectory, name: str | None = None) -> Log:
        """The samples of a motion, with exact derivatives and the torques that the robot needs for it."""
        from armdyn.motion.trajectory import Trajectory

        check.robot(robot)
        if not isinstance(trajectory, Trajectory):
            raise IdentificationError(f"trajectory: expected a Trajectory, found {type(trajectory).__name__}")
        q, qd, qdd = trajectory.q, trajectory.qd, trajectory.qdd
        tau = robot.inverse_dynamics(q, qd, qdd)
        return cls(trajectory.t, q, tau, qd=qd, qdd=qdd, name=name or f"motion of {robot.name}")

    # ---- looking ---------------------------------------------------------------------------------------

    @property
    def positions(self) -> str:
        """Which channel has the positions: "q" or "motor_position"."""
        return next(name for name in POSITIONS if getattr(self, name) is not None)

    @property
    def torques(self) -> str:
        """Which channel has the torques: "tau", "motor_torque" or "current"; "" with a wrench alone."""
        return next((name for name in TORQUES if getattr(self, name) is not None), "")

    @property
    def channels(self) -> tuple[str, ...]:
        names = ("t", *POSITIONS, *DERIVATIVES, *TORQUES, "wrench")
        return tuple(name for name in names if getattr(self, name) is not None)

    def __len__(self) -> int:
        return len(self.t)

    @property
    def rows(self) -> slice:
        """The rows that are its own: all, or of a part of a file its `core`."""
        return slice(0, len(self)) if self.core is None else self.core

    @property
    def notes(self) -> tuple[str, ...]:
        """The texts of the remarks."""
        return notes_of(self.remarks)

    @property
    def n(self) -> int:
        """Columns of the positions: the number of joints."""
        return int(getattr(self, self.positions).shape[1])

    @property
    def rate(self) -> float:
        """Samples per second: by the median of the steps in time that are above zero."""
        with np.errstate(over="ignore"):
            steps = np.diff(self.t[np.isfinite(self.t)])
            steps = steps[steps > 0]
            return float(1 / np.median(steps)) if len(steps) else float("nan")

    @property
    def duration(self) -> float:
        """From the earliest to the latest instant [s]."""
        t = self.t[np.isfinite(self.t)]
        return float(t.max()) - float(t.min()) if len(t) else float("nan")

    def __repr__(self) -> str:
        known = ", ".join(self.channels[1:])
        size = f"{len(self)} samples, {self.duration:.4g} s at {self.rate:.4g} Hz"
        return f"<Log '{self.name}', {self.n} joints, {size}: {known}>"

    # ---- parts -----------------------------------------------------------------------------------------

    def __getitem__(self, rows: Any) -> Log:
        """The samples of a slice without a step, `log[a:b]`."""
        if not isinstance(rows, slice) or rows.step not in (None, 1):
            raise IdentificationError(f"log[{shown(rows)}]: a slice log[a:b] is expected, without a step")
        start, stop, _ = rows.indices(len(self))
        if stop - start < 2:
            raise IdentificationError(f"log[{start}:{stop}]: two samples or more are expected")
        parts = {name: getattr(self, name)[start:stop] for name in self.channels}
        return replace(self, **parts, first=self.first + start, core=None)

    def between(self, start: float, end: float) -> Log:
        """The samples with start ≤ t < end [s]."""
        rows = np.flatnonzero((self.t >= start) & (self.t < end))
        if len(rows) < 2 or rows[-1] - rows[0] != len(rows) - 1:
            span = f"{np.nanmin(self.t):g} to {np.nanmax(self.t):g} s"
            raise IdentificationError(
                f"between {start:g} and {end:g} s there is no stretch of samples in order; the log: {span}"
            )
        return self[int(rows[0]) : int(rows[-1]) + 1]

    def split(self) -> list[Log]:
        """The recordings in one log: it is cut where the time goes back. Parts of one sample are left out."""
        known = np.flatnonzero(np.isfinite(self.t))
        back = known[1:][self.t[known[1:]] < self.t[known[:-1]]]
        edges = [0, *back.tolist(), len(self)]
        spans = [(a, b) for a, b in pairwise(edges) if b - a >= 2]
        names = [self.name] if len(spans) == 1 else [f"{self.name} {k + 1}" for k in range(len(spans))]
        return [replace(self[a:b], name=name) for (a, b), name in zip(spans, names, strict=True)]

    # ---- further ---------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write all channels in SI units to a .csv, .npz or .parquet file."""
        from armdyn.identification.log_files import saved_labels

        place = Path(path)
        arrays: dict[str, np.ndarray] = {}
        for name in self.channels:
            labels = saved_labels(self.labels.get(name, ()))
            named = zip(labels, getattr(self, name).T, strict=False)
            arrays |= {f"{name}.{label}": x for label, x in named} or {name: getattr(self, name)}
        constants = {name: getattr(self, name) for name in CONSTANTS if getattr(self, name) is not None}
        if self.wrench_frame == "world":  # as it is where nothing is said
            del constants["wrench_frame"]
        kind = place.suffix.lower()
        if kind == ".npz":
            write_npz(place, arrays, IdentificationError, constants)
        elif kind == ".parquet":
            write_parquet(place, arrays, IdentificationError, constants)
        elif kind == ".csv":
            write_csv(place, arrays, IdentificationError)
            if lost := [name for name in constants if name != "name"]:
                text = f"a CSV file does not hold {' and '.join(lost)}: give them to Log.load again, "
                text += "or save the log as .npz or .parquet"
                warn([Remark(text, "warning", str(path))], IdentificationWarning, 2)
        else:
            raise IdentificationError(f"{path}: the name of a log to save ends with .csv, .npz, .parquet")

    def at_joints(self, robot: Robot, *, delay: float | str | None = None) -> Record:
        """The log at the robot's joints, looked over and mended where that is safe; `record.notes` say how.

        `delay` [s] is by how much the torques were recorded later than the positions, that of the log if not
        given; "estimate" finds it with the robot's model. What cannot be mended safely is refused with its
        row.
        """
        from armdyn.identification.looking_over import look_over

        return look_over(self, robot, (self.delay or 0.0) if delay is None else delay)


# ---- at the joints -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    """Positions and torques of the coordinates, at increasing times, without long gaps in a segment.

    Rows of the log that say nothing (repeated times, say) have no row here: `rows` says which row of the log
    each one was. Times need not be evenly spaced: jitter is kept, and a few samples may be missing in a
    segment.
    """

    t: np.ndarray  # (samples,) s, increasing
    q: np.ndarray  # (samples, n) rad or m, finite
    tau: np.ndarray  # (samples, n) N m or N, finite
    usable: np.ndarray  # (samples, n) bool: whether the torque was measured and may enter a fit
    segments: tuple[slice, ...]  # stretches without a gap in time; filters do not reach across their ends
    rows: np.ndarray  # (samples,) the row of the log
    own: np.ndarray  # (samples,) bool: what may enter a fit; other rows are there for filters
    size: int  # rows of the log
    qd: np.ndarray | None = None  # (samples, n) where measured or exact
    qdd: np.ndarray | None = None
    remarks: tuple[Remark, ...] = ()  # what was noticed, repaired or left out, one sentence each
    name: str = "log"
    delay: float = 0.0  # s: by how much torques were late, which was taken out
    filled: np.ndarray | None = None  # (samples,) bool: whether a position was missing and is interpolated
    contact: np.ndarray | None = None  # (samples, n) Jᵀ h_e, what of the torques a wrench at the tip needs
    first: int = 0  # the row of the file that is the log's row 0
    turned: bool = False  # whether whole turns were taken out of positions

    @property
    def notes(self) -> tuple[str, ...]:
        """The texts of the remarks."""
        return notes_of(self.remarks)

    @property
    def n(self) -> int:
        return int(self.q.shape[1])

    @property
    def tau_of_motion(self) -> np.ndarray:
        """(samples, n) τ − Jᵀ h_e: what is left for the motion, Y π."""
        return self.tau if self.contact is None else self.tau - self.contact

    @property
    def rate(self) -> float:
        """Samples per second: the median."""
        return float(1 / np.median(np.diff(self.t)))

    def between(self, start: int, stop: int) -> Record:
        """Samples of it, from number `start` to before `stop`."""
        spans = [(max(part.start, start), min(part.stop, stop)) for part in self.segments]
        return self.at(slice(start, stop), tuple(slice(a - start, b - start) for a, b in spans if b > a))

    def at(self, rows: Any, segments: tuple[slice, ...]) -> Record:
        """Some of the samples, in these segments."""
        names = ("t", "q", "tau", "usable", "rows", "own", "qd", "qdd", "filled", "contact")
        arrays = {name: x[rows] for name in names if (x := getattr(self, name)) is not None}
        return replace(self, segments=segments, **arrays)

    def span(self, start: int, stop: int, around: int) -> list[Record]:
        """The samples of these rows, with `around` more on both sides; none where none may enter a fit."""
        own = self.own & (self.rows >= start) & (self.rows < stop)
        a, b = np.searchsorted(self.rows, [start - around, stop + around]).tolist()
        return [replace(self, own=own).between(a, b)] if own.any() else []


def shifted(record: Record, delay: float) -> Record:
    """Torques as they were `delay` seconds later, linear between samples; not used where there are none."""
    tau, usable = record.tau.copy(), np.zeros_like(record.usable)
    for part in record.segments:
        t = record.t[part]
        at = t + delay
        k = np.clip(np.searchsorted(t, at, "right") - 1, 0, len(t) - 2)
        inside = (at >= t[0]) & (at <= t[-1])
        for j in range(record.n):
            good = record.usable[part, j]
            tau[part, j] = np.interp(at, t, record.tau[part, j])
            usable[part, j] = inside & good[k] & good[k + 1]
    note = f"the torques were recorded {1e3 * delay:.4g} ms after the positions; this was taken out"
    remarks = (*record.remarks, Remark(note))
    return replace(record, tau=tau, usable=usable, remarks=remarks, delay=record.delay + delay)
