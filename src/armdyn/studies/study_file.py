"""Study files: robot, cases, what to compute and objectives in TOML, read and run.

`docs/studies.md` lists the keys. Paths begin at the file; numbers may be expressions.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import module_from_spec, spec_from_file_location
from multiprocessing import get_context
from pathlib import Path
from signal import SIG_IGN, SIGINT, signal
from threading import current_thread, main_thread
from typing import Any

import numpy as np
from scipy import stats

from armdyn.description import bundled_robots
from armdyn.description.reader import Reader
from armdyn.description.source import DescriptionError, parse_toml, read_text
from armdyn.expression import ArmdynError, Expression, ExpressionError, shown
from armdyn.model import PhysicsWarning
from armdyn.model.errors import plain
from armdyn.motion import Trajectory, load_cycle
from armdyn.motion.cycles import bundled_cycles
from armdyn.names import one_line
from armdyn.progress import Update
from armdyn.robot import Robot
from armdyn.studies.cases import Cases
from armdyn.studies.errors import StudyError
from armdyn.studies.store import Study
from armdyn.studies.study import study
from armdyn.studies.verbs import VERBS

SUFFIX = ".toml"
KIND = "study file"
KEYS = {"robot", "cases", "compute", "minimise", "maximise", "folder", "seed"}
KEYS |= {"executor", "workers", "batch"}
KINDS = ("product", "random", "sobol", "latin", "halton", "saltelli")
EXECUTORS = ("threads", "processes")
ORDERED = ("low", "mode", "high")  # numbers of distributions that have to grow
ROTORS = ("exact", "reflected", "none")
# What a column is drawn from, beside [low, high]: its numbers by name, and SciPy's distribution of them.
DISTRIBUTIONS: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    "uniform": (("low", "high"), lambda low, high: stats.uniform(low, high - low)),
    "normal": (("mean", "deviation"), stats.norm),
    "truncated": (
        ("mean", "deviation", "low", "high"),
        lambda mean, deviation, low, high: stats.truncnorm(
            (low - mean) / deviation, (high - mean) / deviation, mean, deviation
        ),
    ),
    "lognormal": (
        ("median", "deviation of the logarithm"),
        lambda median, deviation: stats.lognorm(deviation, scale=median),
    ),
    "triangular": (
        ("low", "mode", "high"),
        lambda low, mode, high: stats.triang((mode - low) / (high - low), low, high - low),
    ),
}


@dataclass(frozen=True)
class StudyFile:
    """What a study file says."""

    source: str
    function: str | Callable[..., Any]
    cases: Cases
    robot: Robot | None
    folder: Path
    own: tuple[str, ...] = ()
    minimise: tuple[str, ...] = ()
    maximise: tuple[str, ...] = ()
    executor: str = EXECUTORS[0]  # or the address of a Dask scheduler
    workers: int | None = None
    vectorised: bool = False
    batch: int | None = None
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    script: Path | None = None  # the file of Python that has the function

    @classmethod
    def load(cls, path: str | Path) -> StudyFile:
        """A study file, with its robot, its table of cases and its motion; errors name file and key."""
        path = Path(path)
        try:
            text = read_text(path, KIND)
        except DescriptionError:
            raise
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or problem
            raise StudyError(
                f"cannot read '{one_line(str(path))}' ({reason}); the path of a {KIND} is expected"
            ) from None
        return _File(parse_toml(text, str(path), KIND), path).read()

    def run(self, *, workers: int | None = None, progress: bool | Update | None = None) -> Study:
        """The study, run or gone on with in its folder; see `study`."""
        count = workers or self.workers
        try:
            with _executor(self.executor, count, self.script) as executor:
                return study(
                    self.function,
                    self.cases,
                    robot=self.robot,
                    own=self.own,
                    folder=self.folder,
                    executor=executor,
                    workers=None if self.executor == "processes" else count,  # its pool has them
                    vectorised=self.vectorised,
                    batch=self.batch,
                    seed=self.seed,
                    progress=progress,
                    **self.options,
                )
        except ArmdynError as problem:
            raise StudyError(f"{self.source}: {problem}") from None


@contextmanager
def _executor(name: str, workers: int | None, script: Path | None) -> Iterator[Any]:
    """None for threads; processes; or a client of the Dask scheduler at an address."""
    if name == "threads":
        yield None
    elif name == "processes":
        context = get_context("spawn")  # forks of threads may hang
        with ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(script,)) as pool:
            with _without_interrupts():  # Ctrl-C is for this process: the others finish what they are at
                for _ in range(workers or os.cpu_count() or 1):
                    pool.submit(int)  # starts a process
            yield pool
    else:
        try:
            from distributed import Client  # type: ignore[import-untyped, unused-ignore]
        except ImportError:
            raise StudyError(f"executor: {shown(name)} needs Dask: pip install 'armdyn[dask]'") from None
        try:
            client = Client(name, timeout="10s")  # type: ignore[no-untyped-call, unused-ignore]
        except (OSError, ValueError) as problem:
            raise StudyError(
                f"executor: no Dask scheduler answers at {shown(name)}: {one_line(str(problem))}"
            ) from None
        with client:
            yield client


_MODULE = "armdyn_study_"  # and the name of a file with a function


def _module(path: Path) -> Any:
    """A file of Python, run as an import runs it."""
    spec = spec_from_file_location(f"{_MODULE}{path.stem}", path)
    if spec is None or spec.loader is None:
        raise StudyError(f"'{one_line(str(path))}' is no file of Python; its name has to end with .py")
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as problem:
        raise StudyError(
            f"'{one_line(str(path))}' cannot be run: {type(problem).__name__}: {problem}"
        ) from None
    return module


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ctrl-C does nothing, here and in processes that are started, which go on like that."""
    if current_thread() is not main_thread():  # others cannot say what signals do, nor are they interrupted
        yield
        return
    before = signal(SIGINT, SIG_IGN)
    try:
        yield
    finally:
        signal(SIGINT, before)


def _begin(script: Path | None) -> None:
    """Make the function of a file known by its name, in another process."""
    if script is not None:
        sys.modules[f"{_MODULE}{script.stem}"] = _module(script)


# ------------------------------------------------------------------------------------------------------------
# Reading.


class _File:
    """The tables of one file."""

    def __init__(self, table: Mapping[str, Any], path: Path) -> None:
        self.path = path
        self.top = Reader(table, str(path), "", {})

    def read(self) -> StudyFile:
        top = self.top
        top.asked |= KEYS
        top.finish()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PhysicsWarning)  # `armdyn show` says what looks wrong
            robot = self.robot()
        seed = self.whole(top, "seed", 0, least=0)
        own, cases = self.cases(seed)
        self.script: Path | None = None
        function, options, vectorised = self.computed(robot)
        if function == "identification":
            cases = self.with_places(cases, options.get("log", "log"))
        folder = self.place(top.text("folder")) if "folder" in top else self.path.with_suffix("")
        if "batch" in top and not vectorised:
            top.fail("batch", "it goes with vectorised = true in [compute]")
        return StudyFile(
            source=top.source,
            function=function,
            cases=cases,
            robot=robot,
            folder=folder,
            own=own,
            minimise=self.names(top, "minimise"),
            maximise=self.names(top, "maximise"),
            executor=self.executor(),
            workers=self.whole(top, "workers", None),
            vectorised=vectorised,
            batch=self.whole(top, "batch", None),
            seed=seed,
            options=options,
            script=self.script,
        )

    # ---- robot -----------------------------------------------------------------------------------------

    def robot(self) -> Robot | None:
        top = self.top
        if "robot" not in top:
            return None
        if isinstance(top.raw("robot"), str):
            return self.loaded(top, "robot", top.text("robot"), {})
        table = top.sub("robot")
        if "link" in table:  # a whole robot file
            with self.said(table, ""):
                return Robot.from_dict({key: plain(x) for key, x in table.table.items()})
        table.asked |= {"tip", "lock"}
        options: dict[str, Any] = {"tip": table.text("tip")} if "tip" in table else {}
        if "lock" in table:
            lock = table.sub("lock")
            options["lock"] = {name: lock.number(name) for name in lock.names()}
        found = self.loaded(table, "file", table.text("file"), options)
        if table.flag("symbolic", False):
            found = found.symbolic()
        if "rotors" in table:
            found = found.with_rotors(table.choice("rotors", ROTORS))
        changed = table.sub("symbols")
        with self.said(changed, ""):
            values = {name: self.number(changed, name) for name in changed.names()}
            found = found.with_symbols(values) if values else found
        if "payload" in table:
            found = self.with_payload(found, table.sub("payload"))
        table.finish()
        return found

    def loaded(self, reader: Reader, key: str, name: str, options: Mapping[str, Any]) -> Robot:
        with self.said(reader, key):
            return Robot.load(name if name in bundled_robots() else self.place(name), **options)

    def with_payload(self, robot: Robot, table: Reader) -> Robot:
        mass = self.number(table, "mass")
        given: dict[str, Any] = {
            key: [self.value(table, key, x) for x in table.numbers(key, size)]
            for key, size in (("com", 3), ("inertia", 6))
            if key in table
        }
        table.finish()
        with self.said(table, ""):
            return robot.with_payload(mass, **given)

    # ---- cases -----------------------------------------------------------------------------------------

    def cases(self, seed: int) -> tuple[tuple[str, ...], Cases]:
        table = self.top.sub("cases")
        table.asked |= {"own", "file", "kind", "n", "seed", "columns"}
        own = self.names(table, "own")
        if "file" in table:
            for key in ("kind", "n", "seed", "columns"):
                if key in table:
                    table.fail(key, "cases that are read from a file have none")
            path = self.place(table.text("file"))
            table.finish()
            with self.said(table, "file"):
                return own, Cases.of(path)
        kind = table.choice("kind", KINDS)
        columns = table.sub("columns")
        names = columns.names()
        if not names:
            table.fail(
                "columns", "missing; a table with a line for each column is expected, such as a2 = [0.3, 0.5]"
            )
        if kind == "product":
            for key in ("n", "seed"):
                if key in table:
                    table.fail(
                        key, "a product has every combination of the values; no number of cases, no seed"
                    )
            values = {name: self.values(columns, name) for name in names}
            table.finish()
            with self.said(table, ""):
                return own, Cases.product(values)
        ranges = {name: self.range(columns, name) for name in names}
        n = self.whole(table, "n", None)
        if n is None:
            table.fail("n", "missing; how many cases are drawn")
        drawn = self.whole(table, "seed", seed, least=0)
        table.finish()
        with self.said(table, ""):
            if kind == "saltelli":
                return own, Cases.saltelli(ranges, n, seed=drawn)
            return own, Cases.draw(ranges, n, kind, seed=drawn)

    def values(self, columns: Reader, name: str) -> Any:
        """Of a product: a list of numbers or of texts, or { from, to, n }."""
        given = columns.raw(name)
        if isinstance(given, Mapping):
            table = columns.sub(name)
            ends = self.number(table, "from"), self.number(table, "to")
            n = self.whole(table, "n", None)
            if n is None:
                table.fail("n", "missing; how many values")
            table.finish()
            return np.linspace(*ends, n)
        if not isinstance(given, list) or not given:
            columns.fail(name, f"found {shown(given)}; a list of values or {{ from, to, n }} is expected")
        if all(isinstance(x, str) for x in given) and not all(self.is_number(x) for x in given):
            return [str(x) for x in given]
        return [self.value(columns, name, columns.expression(f"{name}[{i}]", x)) for i, x in enumerate(given)]

    def is_number(self, text: str) -> bool:
        try:
            Expression.of(text)
        except ExpressionError:
            return False
        return True

    def range(self, columns: Reader, name: str) -> Any:
        """[low, high], or a distribution with its numbers."""
        given = columns.raw(name)
        if isinstance(given, list):
            low, high = (self.value(columns, name, x) for x in columns.numbers(name, 2))
            if not low < high:
                columns.fail(name, f"found {shown(given)}; the first number has to be less than the second")
            return low, high
        table = columns.sub(name) if isinstance(given, Mapping) else None
        if table is None or len(table.table) != 1 or next(iter(table.table)) not in DISTRIBUTIONS:
            forms = ", ".join(
                f"{{ {kind} = [{', '.join(parts)}] }}" for kind, (parts, _) in DISTRIBUTIONS.items()
            )
            columns.fail(name, f"found {shown(given)}; allowed are [low, high], {forms}")
        kind = next(iter(table.table))
        parts, made = DISTRIBUTIONS[kind]
        numbers = [self.value(table, kind, x) for x in table.numbers(kind, len(parts))]
        named = dict(zip(parts, numbers, strict=True))
        ordered = [named[part] for part in ORDERED if part in named]
        if ordered != sorted(ordered) or (ordered and ordered[0] == ordered[-1]):
            table.fail(
                kind,
                f"found {shown(given[kind])}; {', '.join(x for x in parts if x in ORDERED)} have to grow",
            )
        for part in ("deviation", "median", "deviation of the logarithm"):
            if named.get(part, 1.0) <= 0:
                table.fail(kind, f"found {shown(given[kind])}; the {part} has to be positive")
        return made(*numbers)

    # ---- what is computed --------------------------------------------------------------------------------

    def computed(self, robot: Robot | None) -> tuple[str | Callable[..., Any], dict[str, Any], bool]:
        """A verb with its options, or a function of Python."""
        if "compute" not in self.top:
            self.top.fail(
                "compute",
                f'missing; a table with verb = one of {", ".join(VERBS)}, or python = "file.py:function"',
            )
        if isinstance(self.top.raw("compute"), str):
            return self.top.choice("compute", VERBS), {}, False
        table = self.top.sub("compute")
        if "python" in table:
            table.asked.add("vectorised")
            found, vectorised = self.python(table), table.flag("vectorised", False)
            table.finish()
            return found, {}, vectorised
        verb = table.choice("verb", VERBS) if "verb" in table else None
        if verb is None:
            table.fail("", f'missing; verb = one of {", ".join(VERBS)}, or python = "file.py:function"')
        if robot is None:
            self.top.fail(
                "robot", f"missing; {verb} needs one: a bundled name, a path, or a table with file ="
            )
        known = VERBS[verb].options()
        options = {name: self.option(table, name, x) for name, x in table.table.items() if name in known}
        table.asked |= {"verb", *known, *(("cycle", "trajectory") if "motion" in known else ())}
        table.asked.discard("motion")
        table.finish()
        if "motion" in known:
            options["motion"] = self.motion(table, robot)
        return verb, options, False

    def python(self, table: Reader) -> Callable[..., Any]:
        """A function of a file; the file is run once, as an import runs it."""
        text = table.text("python")
        name, colon, function = text.rpartition(":")
        if not colon or not name or not function.isidentifier():
            table.fail("python", f'found {shown(text)}; "file.py:function" is expected')
        path = self.script = self.place(name).resolve()
        if not path.is_file():
            table.fail("python", f"there is no file '{one_line(str(path))}'")
        with self.said(table, "python"):
            module = _module(path)
        if self.top.table.get("executor") == "processes":  # functions go there by their names
            sys.modules[module.__name__] = module
        found: Callable[..., Any] | None = getattr(module, function, None)
        if not callable(found):
            own = [x for x in vars(module).values() if getattr(x, "__module__", "") == module.__name__]
            names = ", ".join(x.__name__ for x in own if callable(x)) or "none"
            table.fail("python", f"{name} has no function {shown(function)}; it has {names}")
        return found

    def motion(self, table: Reader, robot: Robot) -> Trajectory:
        """A cycle by its name, path or table; or samples in a CSV file."""
        if ("cycle" in table) == ("trajectory" in table):
            table.fail(
                "cycle",
                "missing; a motion is a cycle = (a bundled name, a path or a table) or a trajectory = (a CSV "
                "file); give one of them",
            )
        if "trajectory" in table:
            with self.said(table, "trajectory"):
                motion = Trajectory.from_csv(self.place(table.text("trajectory")))
            if motion.n != robot.n:
                table.fail("trajectory", f"it moves {motion.n} joints, but {robot.name} has {robot.n}")
            return motion
        given = table.raw("cycle")
        with self.said(table, "cycle"):
            if isinstance(given, str) and given not in bundled_cycles():
                return load_cycle(robot, self.place(given))
            return load_cycle(robot, given)

    def option(self, table: Reader, name: str, given: Any) -> Any:
        """A text, a number, a flag, or lists and tables of these."""

        def value(key: str, x: Any) -> Any:
            if isinstance(x, bool) or type(x) is int:
                return x
            if isinstance(x, str):
                try:
                    return self.value(table, key, table.expression(key, x))
                except DescriptionError:
                    return x
            if isinstance(x, list):
                return [value(f"{key}[{i}]", one) for i, one in enumerate(x)]
            if isinstance(x, Mapping):
                return {str(inner): value(f"{key}.{inner}", one) for inner, one in x.items()}
            return self.value(table, key, table.expression(key, x))

        return value(name, given)

    # ---- parts of them ---------------------------------------------------------------------------------

    def executor(self) -> str:
        found = self.top.text("executor", EXECUTORS[0])
        if found not in EXECUTORS and "://" not in found:
            self.top.fail(
                "executor",
                f'found {shown(found)}; allowed: "threads", "processes", or the address of a Dask '
                'scheduler, such as "tcp://10.0.0.5:8786"',
            )
        return found

    def names(self, reader: Reader, key: str) -> tuple[str, ...]:
        """One name, or a list of them."""
        given = reader.raw(key, [])
        names = [given] if isinstance(given, str) else given
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            reader.fail(key, f"found {shown(given)}; names of columns are expected")
        return tuple(map(str, names))

    def whole(self, reader: Reader, key: str, default: Any, least: int = 1) -> Any:
        found = reader.raw(key, default)
        if found is not default and (type(found) is not int or found < least):
            reader.fail(key, f"found {shown(found)}; a whole number, {least} or more, is expected")
        return found

    def number(self, reader: Reader, key: str) -> float:
        return self.value(reader, key, reader.number(key))

    def value(self, reader: Reader, key: str, x: Any) -> float:
        try:
            return float(Expression.of(x).value({}))
        except ExpressionError as problem:
            reader.fail(key, str(problem))

    def with_places(self, cases: Cases, name: str) -> Cases:
        """A table whose column of paths begins at the file."""
        given = cases.columns.get(name)
        if given is None or given.dtype.kind != "U":
            return cases  # the verb says so
        places = np.array([str(self.place(path).resolve()) for path in given.tolist()])
        return Cases({**cases.columns, name: places}, cases.design)

    def place(self, path: str) -> Path:
        """A path that begins at the file, if it does not begin at the root."""
        return self.path.parent / path

    @contextmanager
    def said(self, reader: Reader, key: str) -> Iterator[None]:
        """Errors of what is made of a key name file and key."""
        try:
            yield
        except ArmdynError as problem:
            if str(problem).startswith(f"{reader.source}: "):
                raise
            reader.fail(key, str(problem))
