"""A recorded motion: `Log` as it was recorded, `LogFile` in a file, `Record` at a robot's joints."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from armdyn.expression import shown
from armdyn.identification.channels import ChannelColumns, checked_units, choose, factors, listed_columns
from armdyn.identification.errors import IdentificationError, IdentificationWarning, check
from armdyn.motion.trajectory import Trajectory
from armdyn.robot import Robot
from armdyn.simulation.run import Run
from armdyn.tables import Column, Table, open_table, write_csv, write_npz, write_parquet

POSITIONS = ("q", "motor_position")
TORQUES = ("tau", "motor_torque", "current")
DERIVATIVES = ("qd", "qdd")
CONSTANTS = ("transmission", "torque_constant", "joint_zeros", "delay", "name")  # of a whole log

_PIECE = 65_536  # rows read at a time
_MOST = 1 << 29  # numbers of a file that are read whole: 4 GB
_READING = ("delimiter", "decimal")


@dataclass(frozen=True, eq=False)
class Log:
    """A recorded motion of n joints, N samples: nothing in it is altered; `at_joints` looks it over.

    `t` (N,) [s] are the instants. Positions are `q` (N, n) [rad or m] at the joints or `motor_position`
    (N, n) [rad] at the motors. Torques are `tau` (N, n) [N m or N] at the joints, `motor_torque` (N, n) [N m]
    at the motors or `current` (N, n) [A]. `qd` and `qdd` (N, n) are velocities and accelerations of the
    joints that were measured or are exact; they are used in the place of derivatives of the positions.

    With `transmission` K, (n, n) or its diagonal (n,), the motors' angles are θ_m = K (q − zeros) and the
    joints' torques Kᵀ τ_m (7.22); τ_m = `torque_constant` · current [N m/A], one number or (n,). What is not
    given here comes from the robot. `joint_zeros` (n,) are added to the positions of the joints. `delay` [s]
    is by how much the torques were recorded later than the positions; it is taken out at the joints. `first`
    is the number of the first row in its file, for messages; `notes` say what was noticed when it was read,
    `kinds` which joints its units were for. Of a part of a file, `core` are the rows that are its own; those
    before and after them are there for filters, and None stands for a whole log.
    """

    t: np.ndarray = field(repr=False)
    q: np.ndarray | None = field(default=None, repr=False)
    tau: np.ndarray | None = field(default=None, repr=False)
    qd: np.ndarray | None = field(default=None, repr=False, kw_only=True)
    qdd: np.ndarray | None = field(default=None, repr=False, kw_only=True)
    motor_position: np.ndarray | None = field(default=None, repr=False, kw_only=True)
    motor_torque: np.ndarray | None = field(default=None, repr=False, kw_only=True)
    current: np.ndarray | None = field(default=None, repr=False, kw_only=True)
    transmission: np.ndarray | None = field(default=None, repr=False, kw_only=True)
    torque_constant: np.ndarray | None = field(default=None, repr=False, kw_only=True)
    joint_zeros: np.ndarray | None = field(default=None, repr=False, kw_only=True)
    delay: float | None = field(default=None, repr=False, kw_only=True)
    name: str = field(default="log", kw_only=True)
    first: int = field(default=0, repr=False, kw_only=True)
    notes: tuple[str, ...] = field(default=(), repr=False, kw_only=True)
    kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False, kw_only=True)
    core: slice | None = field(default=None, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        t = check.floats("t", self.t, "instants (N,)")
        if t.ndim != 1 or len(t) < 2:
            raise IdentificationError(f"t: expected (N,), two instants or more, found {t.shape}")
        self._set("t", t)
        for channel in (*POSITIONS, *TORQUES, *DERIVATIVES):
            if getattr(self, channel) is not None:
                self._set(channel, self._channel(channel, len(t)))
        for allowed in (POSITIONS, TORQUES):
            found = [name for name in allowed if getattr(self, name) is not None]
            if len(found) != 1:
                text = " and ".join(found) or "none of them"
                raise IdentificationError(f"a log has one of {', '.join(allowed)}: found {text}")
        widths = {} if self.positions != "q" else {"q": self.n}
        widths |= {x: getattr(self, x).shape[1] for x in DERIVATIVES if getattr(self, x) is not None}
        if len(set(widths.values())) > 1:
            text = ", ".join(f"{name} {width}" for name, width in widths.items())
            raise IdentificationError(f"the channels have different numbers of columns: {text}")
        self._check_constants()

    def _channel(self, name: str, rows: int) -> np.ndarray:
        x = check.floats(name, getattr(self, name), f"numbers ({rows}, n)")
        x = x[:, None] if x.ndim == 1 else x
        if x.ndim != 2 or x.shape[0] != rows or x.shape[1] == 0:
            hint = "; transpose it" if x.ndim == 2 and x.shape[1] == rows else ""
            raise IdentificationError(
                f"{name}: expected ({rows}, n) as t is ({rows},), found {x.shape}{hint}"
            )
        return x

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

        `columns` maps channels ("t", "q", "tau", "qd", "qdd", "motor_position", "motor_torque", "current") to
        a column's name or number, a pattern with * and ?, or a list of these; without it they are recognised
        by their names. `units` maps channels to a unit such as "deg", "mm", "turn", "ms", "mNm", "mA", to a
        factor to SI, or to a list of these; units in the names of columns, "q1 [deg]", are understood.
        Options: `transmission`, `torque_constant`, `joint_zeros`, `delay`, `name` as in `Log`; for text files
        `delimiter` and `decimal` ("," for decimal commas).
        """
        return cls.open(path, columns, units, **options).read()

    @classmethod
    def open(cls, path: str | Path, columns: Any = None, units: Any = None, **options: Any) -> LogFile:
        """The file, to be read block by block: for logs larger than memory. Arguments as in `load`."""
        return LogFile.of(path, columns, units, **options)

    @classmethod
    def from_run(cls, run: Run, name: str | None = None) -> Log:
        """A simulated motion of one arm: q, q̇ and the torques applied."""
        if not isinstance(run, Run):
            raise IdentificationError(f"run: expected a Run, found {type(run).__name__}")
        if run.q.ndim != 2:
            raise IdentificationError(f"run: found {run.q.shape[1:-1]} arms; a log is of one")
        return cls(run.t, run.q, run.tau, qd=run.qd, name=name or f"simulation of {run.robot.name}")

    @classmethod
    def from_trajectory(cls, robot: Robot, trajectory: Trajectory, name: str | None = None) -> Log:
        """The samples of a motion, with exact derivatives and the torques that the robot needs for it."""
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
        """Which channel has the torques: "tau", "motor_torque" or "current"."""
        return next(name for name in TORQUES if getattr(self, name) is not None)

    @property
    def channels(self) -> tuple[str, ...]:
        names = ("t", *POSITIONS, *DERIVATIVES, *TORQUES)
        return tuple(name for name in names if getattr(self, name) is not None)

    def __len__(self) -> int:
        return len(self.t)

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
        place = Path(path)
        arrays = {name: getattr(self, name) for name in self.channels}
        constants = {name: getattr(self, name) for name in CONSTANTS if getattr(self, name) is not None}
        kind = place.suffix.lower()
        if kind == ".npz":
            write_npz(place, arrays, IdentificationError, constants)
        elif kind == ".parquet":
            write_parquet(place, arrays, IdentificationError, constants)
        elif kind == ".csv":
            write_csv(place, arrays, IdentificationError)
            if lost := [name for name in constants if name != "name"]:
                warnings.warn(
                    f"{path}: a CSV file does not hold {' and '.join(lost)}: give them to Log.load again, "
                    "or save the log as .npz or .parquet",
                    IdentificationWarning,
                    stacklevel=2,
                )
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


# ---- in a file ---------------------------------------------------------------------------------------------


class LogBlock(NamedTuple):
    """A part of a file: `log` has rows before and after the part's own, which are `log[core]`."""

    log: Log
    core: slice
    first: int  # the row of the file that is log's row `core.start`


@dataclass(frozen=True)
class LogFile:
    """A log in a file, of which only what is asked for is in memory. Made by `Log.open`; picklable."""

    path: Path
    choices: dict[str, ChannelColumns] = field(repr=False)
    units: dict[str, Any] = field(repr=False)
    constants: dict[str, Any] = field(repr=False)
    reading: dict[str, Any] = field(repr=False)  # delimiter, decimal
    notes: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, path: str | Path, columns: Any, units: Any, **options: Any) -> LogFile:
        reading: dict[str, Any] = {key: options.pop(key) for key in _READING if key in options}
        for key in options:
            check.one_of("option", key, *CONSTANTS, *_READING)
        if "decimal" in reading:
            check.one_of("decimal", reading["decimal"], ".", ",")
        if reading.get("delimiter") is not None:
            check.one_of("delimiter", reading["delimiter"], ",", ";", "\t", " ")
        table = open_table(path, IdentificationError, constants=CONSTANTS, **reading)
        try:
            chosen = choose(table.columns, columns)
            _check_complete(table, chosen.channels)
            stated = {channel: c.unit for channel, c in chosen.channels.items() if c.unit is not None}
            given = stated | checked_units(units)
            for channel in given.keys() - chosen.channels.keys() - set(chosen.unused):
                raise IdentificationError(f"units: {channel}: the file has no such channel")
            for channel, choice in chosen.channels.items():
                factors(channel, given.get(channel, 1.0), choice.width)
        except IdentificationError as problem:
            raise IdentificationError(f"{path}: {problem}") from None
        constants = {"name": Path(path).stem} | dict(table.constants) | options
        return cls(Path(path), chosen.channels, given, constants, reading, chosen.notes)

    @property
    def name(self) -> str:
        return str(self.constants["name"])

    def __len__(self) -> int:
        return self._rows

    @cached_property
    def _rows(self) -> int:
        return self._table().count(self._columns)

    @property
    def n(self) -> int:
        return next(self.choices[name].width for name in POSITIONS if name in self.choices)

    def read(self) -> Log:
        """All of it."""
        notes = list(self.notes)
        blocks = "Log.open reads it block by block"
        if (claimed := self._table().claimed(self._columns)) > _MOST:
            raise IdentificationError(
                f"{self.path}: it says that it holds {claimed:.3g} numbers; "
                f"at most {_MOST:.3g} are read whole. {blocks}"
            )
        try:
            pieces = list(self._pieces(_PIECE, notes))
            if sum(len(piece["t"]) for piece in pieces) < 2:
                raise IdentificationError(f"{self.path}: two rows of numbers or more are expected")
            return self._log(_joined(pieces), 0, notes)
        except MemoryError:
            raise IdentificationError(f"{self.path}: there is not enough memory for it. {blocks}") from None

    def blocks(self, samples: int = 100_000, overlap: int = 1000) -> Iterator[LogBlock]:
        """Blocks of so many samples, each with `overlap` more on both sides where the file has them."""
        check.whole_number("samples", samples, 2)
        check.whole_number("overlap", overlap)
        return map(_block, self.parts(samples, overlap))

    def block(self, start: int, stop: int, overlap: int = 0) -> LogBlock:
        """Samples `start` to before `stop`, with `overlap` more on both sides where the file has them."""
        check.whole_number("overlap", overlap)
        check.whole_number("stop", stop, check.whole_number("start", start) + 1)
        return _block(self.part(start, stop, overlap))

    def parts(self, samples: int, overlap: int) -> Iterator[Log]:
        """The file as logs, one after the other; around its own rows, the `core`, are its neighbours'."""
        notes = list(self.notes)
        start = 0  # the row of the file where the core begins
        held, first = None, 0  # rows in memory, from `first` on
        for piece in self._pieces(min(samples, _PIECE), notes):
            held = piece if held is None else _joined([held, piece])
            while first + len(held["t"]) >= start + samples + overlap + 2:  # two: no last part of one row
                yield self._part(held, first, (start, start + samples), overlap, notes)
                start += samples
                drop = max(0, start - overlap - first)
                held, first = {name: x[drop:] for name, x in held.items()}, first + drop
        if held is None or first + len(held["t"]) < 2:
            raise IdentificationError(f"{self.path}: two rows of numbers or more are expected")
        end = first + len(held["t"])
        while start < end:
            stop = end if end - start < samples + 2 else start + samples
            yield self._part(held, first, (start, stop), overlap, notes, whole=stop - start == end)
            start = stop

    def part(self, start: int, stop: int, overlap: int) -> Log:
        """The rows from `start` to before `stop`, as one of `parts`."""
        notes, pieces = list(self.notes), []
        first = max(start - overlap, 0)
        wanted = stop + overlap - first
        for piece in self._pieces(min(wanted, _PIECE), notes, first):
            pieces.append(piece)
            wanted -= len(piece["t"])
            if wanted <= 0:
                break
        if not pieces or first + sum(len(piece["t"]) for piece in pieces) < stop:
            raise IdentificationError(f"{self.path}: there are no rows {start} to {stop - 1}")
        whole = start == 0 and stop == len(self)
        return self._part(_joined(pieces), first, (start, stop), overlap, notes, whole)

    @cached_property
    def rate(self) -> float:
        """Samples per second: by the median of the steps in time at the start of the file."""
        for piece in self._pieces(_PIECE, []):
            steps = np.diff(piece["t"])
            steps = steps[steps > 0]
            return float(1 / np.median(steps)) if len(steps) else float("nan")
        return float("nan")

    # ---- inside ----------------------------------------------------------------------------------------

    def _part(
        self,
        held: dict[str, np.ndarray],
        first: int,
        core: tuple[int, int],
        overlap: int,
        notes: list[str],
        whole: bool = False,
    ) -> Log:
        """The log of some of the rows that are held from `first` on."""
        start, stop = core
        a, b = max(first, start - overlap), min(first + len(held["t"]), stop + overlap)
        part = {name: x[a - first : b - first] for name, x in held.items()}
        return self._log(part, a, notes, None if whole else slice(start - a, stop - a))

    def _log(self, arrays: dict[str, Any], first: int, notes: list[str], core: slice | None = None) -> Log:
        kinds = {
            channel: factors(channel, self.units[channel], choice.width)[1]
            for channel, choice in self.choices.items()
            if channel in self.units
        }
        try:
            return Log(**arrays, **self.constants, first=first, notes=tuple(notes), kinds=kinds, core=core)
        except IdentificationError as problem:
            raise IdentificationError(f"{self.path}: {problem}") from None

    def _table(self) -> Table:
        return open_table(self.path, IdentificationError, constants=CONSTANTS, **self.reading)

    @property
    def _columns(self) -> list[Column]:
        return [column for choice in self.choices.values() for column in choice.columns]

    def _pieces(self, size: int, notes: list[str], start: int = 0) -> Iterator[dict[str, np.ndarray]]:
        """Channels in SI, some rows at a time. Integer times too long for floats count from the first one."""
        table = self._table()
        origin: Any = None
        if start:
            origin = _origin(next(table.pieces(self.choices["t"].columns, 1, []))[0].reshape(-1), notes)
        for arrays in table.pieces(self._columns, size, notes, start):
            found, k = {}, 0
            for channel, choice in self.choices.items():
                several = arrays[k : k + len(choice.columns)]
                k += len(choice.columns)
                if channel == "t":
                    t = several[0].reshape(-1)
                    origin = _origin(t, notes) if origin is None else origin
                    values = (t - origin)[:, None]
                else:
                    values = np.concatenate([x.reshape(len(x), -1) for x in several], axis=1, dtype=float)
                scale = factors(channel, self.units.get(channel, 1.0), choice.width)[0]
                with np.errstate(over="ignore"):  # what is too large is no number, and said to be none
                    found[channel] = values * scale
            yield found | {"t": found["t"][:, 0]}


def _block(log: Log) -> LogBlock:
    core = slice(0, len(log)) if log.core is None else log.core
    return LogBlock(log, core, log.first + core.start)


def _origin(t: np.ndarray, notes: list[str]) -> Any:
    if t.dtype.kind not in "iu" or not len(t) or abs(int(t[0])) < 1 << 53:
        return t.dtype.type(0)
    notes.append(f"the times are counted from the first one, {int(t[0])}")
    return t[0]


def _joined(pieces: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    if len(pieces) == 1:
        return pieces[0]
    # Channel by channel out of the pieces: all of them twice in memory would be too much of a long log.
    return {name: np.concatenate([piece.pop(name) for piece in pieces]) for name in list(pieces[0])}


def _check_complete(table: Table, chosen: dict[str, ChannelColumns]) -> None:
    """Refuse a file in which the time, positions or torques were not found."""
    for names, what in ((("t",), "times"), (POSITIONS, "positions"), (TORQUES, "torques")):
        if not any(name in chosen for name in names):
            example = f"columns={{'{names[0]}': …}}"
            raise IdentificationError(
                f"no column of {what} was found; say which with {example}. "
                f"The columns are {listed_columns(table.columns)}"
            )
    if chosen["t"].width != 1:
        raise IdentificationError(f"columns: t: found {chosen['t'].width} columns, one is expected")


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
    size: int  # rows of the log
    qd: np.ndarray | None = None  # (samples, n) where measured or exact
    qdd: np.ndarray | None = None
    notes: tuple[str, ...] = ()  # what was noticed, repaired or left out, one sentence each
    name: str = "log"
    delay: float = 0.0  # s: by how much torques were late, which was taken out
    filled: np.ndarray | None = None  # (samples,) bool: whether a position was missing and is interpolated
    first: int = 0  # the row of the file that is the log's row 0
    turned: bool = False  # whether whole turns were taken out of positions
    own: Any = None  # (samples,) bool: what may enter a fit, all by default; other rows are there for filters

    def __post_init__(self) -> None:
        if self.own is None:
            object.__setattr__(self, "own", np.ones(len(self.t), bool))

    @property
    def n(self) -> int:
        return int(self.q.shape[1])

    @property
    def rate(self) -> float:
        """Samples per second: the median."""
        return float(1 / np.median(np.diff(self.t)))

    def between(self, start: int, stop: int) -> Record:
        """Samples of it, from number `start` to before `stop`."""
        names = ("t", "q", "tau", "usable", "rows", "own", "qd", "qdd", "filled")
        arrays = {name: x[start:stop] for name in names if (x := getattr(self, name)) is not None}
        spans = [(max(part.start, start), min(part.stop, stop)) for part in self.segments]
        segments = tuple(slice(a - start, b - start) for a, b in spans if b > a)
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
    return replace(record, tau=tau, usable=usable, notes=(*record.notes, note), delay=record.delay + delay)
