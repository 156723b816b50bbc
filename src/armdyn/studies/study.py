"""`study`: a function run for every case of a table, by threads, processes or a Dask cluster.

Cases are run in tasks, a bounded number of them at a time, and what is finished is kept at once. What a case
gives depends on nothing but the case: not on the task that it was in, nor on who ran it.
"""

from __future__ import annotations

import hashlib
import inspect
import pickle
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from threading import Event
from time import monotonic, perf_counter
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from armdyn.expression import ArmdynError, shown
from armdyn.kernels.llvm.compiled import one_form
from armdyn.kernels.threads import get_threads, one_thread
from armdyn.names import one_line
from armdyn.progress import Update, note, progress_bar
from armdyn.robot import Robot
from armdyn.studies.cases import Cases, check_cases, meaning_of
from armdyn.studies.errors import StudyError, check
from armdyn.studies.store import CASE, FORMAT, REASON, Part, Store, Study
from armdyn.studies.verbs import VERBS, check_values, made

AT_ONCE = 256  # cases of a batch where nothing else is said
TASK = 0.5  # s that a task should take
LARGEST_TASK = 16_384  # cases
GROWTH = 4  # of tasks, from one to the next
LOOK = 5.0  # s, after which the size of a cluster is asked for again
LONGEST = 300  # characters of a reason


# ------------------------------------------------------------------------------------------------------------
# What a function is given.


@dataclass(frozen=True)
class Row(Mapping[str, Any]):
    """The values of one case by column: numbers, or text.

    `case` is its number in the table; `symbols` are those of its values that are symbols of the robot, by
    the symbols' names. `seed` is its own for each case and for each seed of the study, whoever runs it, and
    `rng()` a generator of random numbers that starts from it.
    """

    values_: Mapping[str, Any]
    case: int
    symbols: Mapping[str, float]
    of: int = field(repr=False)  # the seed of the study

    def __getitem__(self, name: str) -> Any:
        return self.values_[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)

    @property
    def seed(self) -> int:
        return seed_of(self.of, self.case)

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)


@dataclass(frozen=True)
class Rows(Mapping[str, np.ndarray]):
    """The values of k cases: columns (k,), and with them `cases`, `symbols` and `seeds`, (k,) each."""

    values_: Mapping[str, np.ndarray]
    cases: np.ndarray
    symbols: Mapping[str, np.ndarray]
    of: int = field(repr=False)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.values_[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)

    @property
    def seeds(self) -> np.ndarray:
        return np.array([seed_of(self.of, case) for case in self.cases.tolist()], np.uint64)


def seed_of(seed: int, case: int) -> int:
    """The seed of a case, 64 bits: of different cases, and of different seeds, independent."""
    found = np.random.SeedSequence(seed, spawn_key=(case,)).generate_state(1, np.uint64)
    return int(found[0])


# ------------------------------------------------------------------------------------------------------------
# One task: some cases, one after the other, or in batches.


@dataclass(frozen=True)
class Job:
    """What is to be done with each case; it goes to the workers."""

    function: Callable[..., Any]
    robot: Robot | None  # its payload and limits are symbols, where columns say what they are
    symbols: Mapping[str, str]  # by column
    seed: int
    together: int | None  # so many are computed at once; None: one after the other
    inputs: frozenset[str]

    def run(self, chunk: Chunk, stop: Event | None = None) -> tuple[Part, float]:
        """Results of cases, and the seconds that they took; fewer cases where it is told to stop."""
        start, parts = perf_counter(), []
        with one_thread(), one_form():  # others run beside this one; what ran before it does not matter
            if self.together is None:
                parts.append(self._each(chunk, stop))
            else:
                for batch in chunk.batches(self.together):
                    if stop is not None and stop.is_set():
                        break
                    parts.append(self._batch(batch))
        return Part.joined(parts), perf_counter() - start

    @cached_property
    def fresh(self) -> Robot:
        """The robot, without code that was made for it elsewhere."""
        assert self.robot is not None
        return Robot(self.robot.model)

    # ---- case by case ----------------------------------------------------------------------------------

    def _each(self, chunk: Chunk, stop: Event | None) -> Part:
        found = []
        for k, case in enumerate(chunk.cases.tolist()):
            if stop is not None and stop.is_set():
                break
            found.append((case, *self._one({name: x[k].item() for name, x in chunk.columns.items()}, case)))
        return Part.of(found)

    def _one(self, values: dict[str, Any], case: int) -> tuple[str, Mapping[str, float]]:
        """Why a case failed ("": it did not), and its results."""
        symbols = {symbol: values[name] for name, symbol in self.symbols.items()}
        row = Row(values, case, symbols, self.seed)
        try:
            if self.robot is None:
                given = self.function(row)
            else:
                given = self.function(self.fresh.with_symbols(symbols) if symbols else self.fresh, row)
        except Exception as problem:
            return _reason(problem), {}
        found = {}
        for name, x in self._checked(given, f"case {case}", "numbers").items():
            number = _number(x)
            if number is None:
                return f"result {shown(name)} is {shown(x)}; a number is expected", {}
            found[name] = number
        return "", found

    def _checked(self, given: Any, where: str, what: str) -> Mapping[str, Any]:
        """Results by name. What is none, in one case, is none in the others: a mistake of the function."""
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise StudyError(
                f"function: of {where} it returned {shown(given)}; a dictionary with {what} by name is "
                "expected"
            )
        for name in given:
            if name in (CASE, REASON) or name in self.inputs:
                also = "is a column of the table, too" if name in self.inputs else "is kept for the folder"
                raise StudyError(f"function: the name of its result {shown(name)} {also}; choose another")
        return given

    # ---- many at once ----------------------------------------------------------------------------------

    def _batch(self, chunk: Chunk) -> Part:
        """Results of a batch; where it fails, those of its halves, and so on: so single cases fail."""
        symbols = {symbol: chunk.columns[name] for name, symbol in self.symbols.items()}
        rows = Rows(chunk.columns, chunk.cases, symbols, self.seed)
        try:
            if self.robot is None:
                given = self.function(rows)
            else:
                check_values(self.fresh, symbols)
                given = self.function(self.fresh, rows)
        except Exception as problem:
            if len(chunk.cases) == 1:
                return Part.of([(int(chunk.cases[0]), _reason(problem), {})])
            return Part.joined([self._batch(half) for half in chunk.halves()])
        k, first = len(chunk.cases), int(chunk.cases[0])
        columns = {}
        where = f"cases {first} to {int(chunk.cases[-1])}"
        for name, x in self._checked(given, where, f"columns ({k},)").items():
            columns[name] = check.floats(f"function: result {shown(name)} of {where}", x, f"numbers ({k},)")
            if columns[name].shape not in ((), (k,)):
                raise StudyError(
                    f"function: result {shown(name)} of {where}: found an array {columns[name].shape}; "
                    f"({k},), a number for each case, is expected"
                )
        places = {name: (first, place) for place, name in enumerate(columns)}
        whole = {name: np.broadcast_to(x, (k,)) for name, x in columns.items()}
        return Part(chunk.cases, np.full(k, ""), whole, places)


@dataclass(frozen=True)
class Chunk:
    """Cases by their numbers (k,), and their columns (k,)."""

    cases: np.ndarray
    columns: Mapping[str, np.ndarray]

    def halves(self) -> list[Chunk]:
        middle = len(self.cases) // 2
        return [self[:middle], self[middle:]]

    def batches(self, size: int) -> list[Chunk]:
        """Cases 0 to size − 1, and so on, as far as they are here: whatever is here, these limits stay."""
        edges = np.flatnonzero(np.diff(self.cases // size)) + 1
        return [self[a:b] for a, b in pairwise([0, *edges.tolist(), len(self.cases)])]

    def __getitem__(self, rows: slice) -> Chunk:
        return Chunk(self.cases[rows], {name: x[rows] for name, x in self.columns.items()})


def _reason(problem: BaseException) -> str:
    said = one_line(str(problem)) or "no more is said"
    text = said if isinstance(problem, ArmdynError) else f"{type(problem).__name__}: {said}"
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _number(x: Any) -> float | None:
    """A real number; None for anything else."""
    if isinstance(x, bool | int | float | np.bool_ | np.integer | np.floating):
        return float(x)
    return float(x) if isinstance(x, np.ndarray) and x.shape == () and x.dtype.kind in "biuf" else None


# ------------------------------------------------------------------------------------------------------------
# Who runs tasks.


class Workers:
    """Threads of this process, an executor of `concurrent.futures`, or the workers of a Dask client."""

    def __init__(self, executor: Any, workers: int | None, job: Job) -> None:
        self.job, self.stop, self.client = job, Event(), None
        self.packed: bytes | None = None
        self._asked = -LOOK
        if executor is not None and workers is not None:
            raise StudyError("workers: the executor has its own; leave one of the two out")
        self.count = get_threads() if workers is None else check.whole_number("workers", workers, least=1)
        self.pool: Executor
        self.own = executor is None
        if executor is None:
            self.pool = ThreadPoolExecutor(self.count, thread_name_prefix="armdyn-study")
        elif isinstance(executor, Executor):
            self.pool = executor
            self.count = getattr(executor, "_max_workers", None) or self.count
            if not isinstance(executor, ThreadPoolExecutor):
                self.packed = _packed(
                    job, pickle.dumps, "use threads, a Dask client, or a function of a module"
                )
        elif hasattr(executor, "get_executor") and hasattr(executor, "nthreads"):
            from distributed.protocol import pickle as by_value

            self.client = executor
            self.pool = executor.get_executor(pure=False)
            self.packed = _packed(job, by_value.dumps, "use threads, or a function of a module")
        else:
            raise StudyError(
                f"executor: found {shown(executor)}; an executor of concurrent.futures or a Dask Client is "
                "expected"
            )

    def submit(self, chunk: Chunk) -> Future[tuple[Part, float]]:
        try:
            if self.packed is None:
                return self.pool.submit(self.job.run, chunk, self.stop if self.own else None)
            return self.pool.submit(_run, self.packed, chunk)
        except RuntimeError as problem:  # broken or closed: said after what is finished has been kept
            lost: Future[tuple[Part, float]] = Future()
            lost.set_exception(problem if isinstance(problem, BrokenExecutor) else CancelledError())
            return lost

    @property
    def ahead(self) -> int:
        """How many tasks are given out at a time: nobody waits for the next one, and memory is bounded."""
        if self.client is not None and monotonic() - self._asked > LOOK:  # workers may come and go
            self._asked = monotonic()
            self.count = max(1, sum(self.client.nthreads().values()))
        return 2 * self.count

    def end(self, jobs: Sequence[Future[Any]]) -> None:
        """Let nothing of this study begin any more; own threads finish the case that they are at."""
        self.stop.set()
        for job in jobs:
            job.cancel()
        if self.own:
            self.pool.shutdown(wait=True, cancel_futures=True)


def _packed(job: Job, dumps: Callable[[Any], bytes], instead: str) -> bytes:
    try:
        found = dumps(job)
        _unpacked(found)
    except Exception as problem:
        raise StudyError(
            f"function: {shown(_name(job.function))} cannot be sent to other processes ({_reason(problem)}); "
            f"{instead}"
        ) from None
    return found


@lru_cache(maxsize=4)
def _unpacked(packed: bytes) -> Job:
    found: Job = pickle.loads(packed)
    return found


def _run(packed: bytes, chunk: Chunk) -> tuple[Part, float]:
    """A task in another process, which keeps what it is given with each of them."""
    try:
        job = _unpacked(packed)
    except Exception as problem:
        raise StudyError(f"function: a worker cannot load it: {_reason(problem)}") from None
    return job.run(chunk)


# ------------------------------------------------------------------------------------------------------------
# The study.


def study(
    function: str | Callable[..., Any],
    table: Any,
    *,
    robot: Robot | None = None,
    own: Sequence[str] = (),
    folder: str | Path | None = None,
    executor: Any = None,
    workers: int | None = None,
    vectorised: bool = False,
    batch: int | None = None,
    seed: int = 0,
    progress: bool | Update | None = None,
    **options: Any,
) -> Study:
    """A table of results: those of a function for every case of a table.

    `table` is `Cases`, columns by name (a dictionary, a DataFrame), or a CSV, NPZ or Parquet file. A column
    is a symbol of the `robot`, "payload.mass" (and x, y, z of its centre, xx … zz of its tensor),
    "limits.JOINT.torque" (velocity, acceleration, jerk), "motion.duration", or one of your `own`.

    `function` is called as f(robot, row), without a robot as f(row), and returns a dictionary of numbers.
    The robot has the symbols, payload and limits of the case; `row["a2"]` are its values, `row.seed` is a
    number of its own by the study's `seed`. With `vectorised` it is called for `batch` cases at once: the
    robot is that of all cases, `rows["a2"]` is a column (k,), `rows.symbols` goes, with axes for the samples,
    to the `symbols=` of numeric functions, and the results are columns (k,) whose entries depend on their
    own case only. Or the name of a verb: "torques", "motor_loads", "least_time", "simulation",
    "manipulability", "identification", whose `options` docs/studies.md lists; it takes many cases at once
    where it can.

    `executor` is None (`workers` threads of this process), one of `concurrent.futures`, or a Dask `Client`,
    which makes up for workers that are lost. The results are the same, bit for bit. A case that fails is
    recorded with its reason and the rest goes on. In a `folder` the results are kept as they come: the same
    call goes on with what a killed one has left. Without one they are kept in memory until all are there.
    `progress`: whether a bar is shown on stderr, None on a terminal only; or a function that is told the part
    that is done, from 0 to 1.
    """
    cases, own = Cases.of(table), _names(own)
    check_cases(cases, own)
    meaning = meaning_of(robot, list(cases.columns), own)
    found, size, many = _function(function, robot, cases, own, options, vectorised, batch)
    together = size if many else None
    seed = check.whole_number("seed", seed)
    job = Job(found, meaning.robot, meaning.symbols, seed, together, frozenset(cases.columns))
    if folder is None:
        run = _Run(job, cases, size, None)
        finished = run.all(executor, workers, progress, Part.joined([]))
        columns, reasons, _ = finished.table(len(cases))
        return Study(cases.columns, columns, reasons, robot, own, cases.design, None)
    if not isinstance(folder, str | Path):
        raise StudyError(f"folder: found {shown(folder)}; the path of a folder is expected")
    store = Store(Path(folder))
    about = {
        "format": FORMAT,
        "function": function if isinstance(function, str) else _name(function),
        "robot": robot is not None,
        "seed": job.seed,
        "batch": size if callable(function) and vectorised else None,
        "inputs": list(cases.columns),
        "own": list(own),
        "design": cases.design,
        "cases": len(cases),
        "table_digest": digest(cases.columns),
        "function_digest": digest((function, options)),
        "robot_digest": digest(robot),
    }
    with store.locked():
        done = store.open(about, cases, robot)
        _Run(job, cases, size, store).all(executor, workers, progress, done)
        return Study.load(store.folder)


def _names(own: Any) -> tuple[str, ...]:
    if isinstance(own, str) or not all(isinstance(name, str) for name in own):
        raise StudyError(f"own: found {shown(own)}; a list of names of columns is expected")
    return tuple(own)


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def _function(
    function: Any,
    robot: Robot | None,
    cases: Cases,
    own: Sequence[str],
    options: Mapping[str, Any],
    vectorised: bool,
    batch: int | None,
) -> tuple[Callable[..., Any], int | None, bool]:
    """What is called; how many cases at once or, case by case, in a task; whether it takes many."""
    size = None if batch is None else check.whole_number("batch", batch, least=1)
    if isinstance(function, str):
        check.one_of("function", function, *VERBS)
        if vectorised:
            raise StudyError("vectorised: a verb takes many cases at once by itself, where it can")
        # A copy, as another process would have it: robots among the options have no code of their own yet.
        verb = _copied(made(function, robot, cases, own, options))
        return verb, size or verb.at_once, verb.at_once is not None
    if not callable(function):
        raise StudyError(
            f"function: found {shown(function)}; a function of robot and row, or one of "
            f"{', '.join(map(repr, VERBS))}, is expected"
        )
    if options:
        raise StudyError(
            f"option {shown(next(iter(options)))} goes with verbs; functools.partial gives a function of "
            "your own what else it needs"
        )
    return function, size or (AT_ONCE if vectorised else None), bool(vectorised)


def _copied(x: Any) -> Any:
    try:
        return pickle.loads(pickle.dumps(x))
    except Exception:
        return x  # it cannot go to another process


class _Run:
    """The cases that are left, given to workers task by task."""

    def __init__(self, job: Job, cases: Cases, size: int | None, store: Store | None) -> None:
        self.job, self.cases, self.store = job, cases, store
        self.unit = job.together or 1  # cases that stay together
        self.fixed = size if job.together is None else None  # cases of a task
        self.units = 1.0  # of a task

    def all(self, executor: Any, workers: int | None, progress: Any, done: Part) -> Part:
        """Everything, with what is done already; with a store nothing is kept here."""
        n, kept = len(self.cases), [done]
        left = np.ones(n, bool)
        left[done.cases] = False
        starts = np.arange(0, n, self.unit)
        self.waiting, self.next = starts[np.logical_or.reduceat(left, starts)], 0
        if not len(self.waiting):
            return done
        ready = before = n - int(left.sum())
        begin = monotonic()
        with progress_bar("study", progress) as update, _running(executor, workers, self.job) as running:
            update(ready / n)
            for part in self._parts(running):
                if self.store is None:
                    kept.append(part)
                else:
                    self.store.write(part)
                ready += int(left[part.cases].sum())
                left[part.cases] = False
                note(_pace(ready - before, monotonic() - begin, n - ready))
                update(ready / n)
        return Part.joined(kept)

    def _parts(self, running: _Running) -> Iterator[Part]:
        """Results as they come: all that is there at a time in one part."""
        workers, jobs = running.workers, running.jobs
        while self.next < len(self.waiting) or jobs:
            while self.next < len(self.waiting) and len(jobs) < workers.ahead:
                chunk = self._task(workers.count)
                jobs[workers.submit(chunk)] = chunk
            finished, _ = wait(jobs, return_when=FIRST_COMPLETED)
            parts, problems = [], []
            for future in [job for job in jobs if job in finished]:  # in their order
                try:
                    part = self._result(future, jobs.pop(future), running)
                except StudyError as problem:  # what others have finished is kept
                    problems.append(problem)
                    continue
                parts += [] if part is None else [part]
            if parts:
                yield Part.joined(parts)
            if problems:
                raise problems[0]

    def _task(self, workers: int) -> Chunk:
        """The next cases: as many as take the time of a task, fewer toward the end."""
        left = len(self.waiting) - self.next
        count = self.fixed or max(1, min(int(self.units), -(-left // (2 * workers))))
        starts = self.waiting[self.next : self.next + count]
        self.next += count
        cases = (starts[:, None] + np.arange(self.unit)).ravel()
        cases = cases[cases < len(self.cases)]
        return Chunk(cases, {name: x[cases] for name, x in self.cases.columns.items()})

    def _result(self, future: Future[tuple[Part, float]], chunk: Chunk, running: _Running) -> Part | None:
        """What a task has given; None where its cases are tried again."""
        try:
            part, seconds = future.result()
        except BrokenExecutor as problem:
            raise StudyError(
                f"executor: its workers are gone ({_reason(problem)}), killed or out of memory; "
                f"{self._kept()}"
            ) from None
        except CancelledError:
            raise StudyError(f"executor: it was closed, or lost its workers; {self._kept()}") from None
        except Exception as problem:
            if type(problem).__name__ != "KilledWorker":  # of Dask, which may not be installed
                raise
            return self._killed(chunk, running)
        count = len(chunk.cases) / self.unit
        fits = TASK * count / max(seconds, 1e-6)
        self.units = max(1.0, min(fits, GROWTH * count, LARGEST_TASK / self.unit))
        return part

    def _killed(self, chunk: Chunk, running: _Running) -> Part | None:
        """Cases that were with workers when these died, several times: one of them may be why."""
        if len(chunk.cases) > 1:
            for half in chunk.halves():
                running.jobs[running.workers.submit(half)] = half
            return None
        why = "the workers that ran it died, one after the other: killed, or out of memory"
        return Part.of([(int(chunk.cases[0]), why, {})])

    def _kept(self) -> str:
        if self.store is None:
            return "with folder= what is finished would be kept"
        return f"what is finished is kept in '{self.store.folder}', and the same call goes on with it"


@dataclass
class _Running:
    workers: Workers
    jobs: dict[Future[tuple[Part, float]], Chunk]


@contextmanager
def _running(executor: Any, workers: int | None, job: Job) -> Iterator[_Running]:
    found = _Running(Workers(executor, workers, job), {})
    try:
        yield found
    finally:
        found.workers.end(list(found.jobs))


def _pace(count: int, seconds: float, left: int) -> str:
    """How fast it goes, and how long it will take."""
    rate = count / max(seconds, 1e-9)
    if not rate:
        return ""
    rest = left / rate
    unit, size = ("h", 3600) if rest > 7200 else ("min", 60) if rest > 120 else ("s", 1)
    return f"{rate:.3g} cases/s, {rest / size:.0f} {unit} left"


# ------------------------------------------------------------------------------------------------------------
# Whether two studies are the same.


def digest(x: Any) -> str:
    """A digest of a value's content: equal ones, in this process and another, have the same."""
    found = hashlib.sha256()
    _feed(found, x, ())
    return found.hexdigest()


def _feed(h: Any, x: Any, above: tuple[int, ...]) -> None:
    def feed(*parts: Any) -> None:
        for part in parts:
            _feed(h, part, (*above, id(x)))

    if id(x) in above:
        h.update(b"<above>")
    elif x is None or isinstance(x, str | bytes | bool | int | float | complex | np.generic):
        text = repr(x).encode()
        h.update(type(x).__name__.encode() + struct.pack("<q", len(text)) + text)
    elif isinstance(x, np.ndarray):
        h.update(f"array {x.dtype.str} {x.shape}".encode() + np.ascontiguousarray(x).tobytes())
    elif isinstance(x, Mapping):
        h.update(b"mapping%d" % len(x))
        feed(*(part for item in x.items() for part in item))
    elif isinstance(x, list | tuple):
        h.update(b"list%d" % len(x))
        feed(*x)
    elif isinstance(x, set | frozenset):
        h.update(b"set%d" % len(x))
        feed(*sorted(digest(one) for one in x))
    elif isinstance(x, Robot):
        feed(x.to_toml())
    elif isinstance(x, FunctionType):
        cells = [cell.cell_contents for cell in x.__closure__ or ()]
        feed(x.__qualname__, _source(x), x.__defaults__, x.__kwdefaults__, cells)
    elif isinstance(x, CodeType):
        feed(x.co_code, x.co_names, [one for one in x.co_consts if not isinstance(one, CodeType)])
    elif isinstance(x, MethodType):
        feed(x.__func__, x.__self__)
    elif isinstance(x, type) or (callable(x) and hasattr(x, "__module__") and hasattr(x, "__qualname__")):
        feed(x.__module__, x.__qualname__)
    elif isinstance(x, Path):
        feed(str(x))
    else:
        try:
            feed(type(x), _content(x))
        except TypeError:
            feed(type(x))


def _content(x: Any) -> Any:
    """What makes a value in another process, without what it has worked out and remembers."""
    found = x.__reduce_ex__(4)[1:3]
    if len(found) == 2 and isinstance(found[1], dict):
        cls = type(x)
        state = {k: v for k, v in found[1].items() if not isinstance(getattr(cls, k, None), cached_property)}
        return found[0], state
    return found


def _source(function: FunctionType) -> Any:
    try:
        return dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return function.__code__
