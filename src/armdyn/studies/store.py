"""The folder of a study: what it is about, its cases, and the results as they come.

    study.json          what is computed: names, seeds, digests of table, function and robot; written last
    robot.toml          the robot
    cases.parquet       the table
    results/*.parquet   parts with a row for each finished case: its number, why it failed, its results
    lock                held by the process that adds to it

A part appears whole or not at all. Many small ones are put together in one, which is there before they go:
a case may stand in two parts for a while, with the same results.
"""

from __future__ import annotations

import json
import os
import socket
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from armdyn.expression import shown
from armdyn.files import write_files
from armdyn.model import PhysicsWarning
from armdyn.names import listed
from armdyn.robot import Robot
from armdyn.studies.cases import Cases, meaning_of
from armdyn.studies.errors import StudyError
from armdyn.tables import read_parquet, write_parquet

FORMAT = 1
MANIFEST, ROBOT, CASES, RESULTS, LOCK = "study.json", "robot.toml", "cases.parquet", "results", "lock"
CASE, REASON = "case", "reason"  # columns of a part beside the results
FEW = 64  # parts of one size, before they are put together
NOT_RUN = "not run yet"


# ------------------------------------------------------------------------------------------------------------
# Results of some cases.


@dataclass(frozen=True)
class Part:
    """Results of some cases: their numbers (k,), why each failed ("": it did not), and columns (k,).

    `places` says by column which case first had it, and at which place among its results: so the order of
    the columns does not depend on the order in which cases were finished.
    """

    cases: np.ndarray
    reasons: np.ndarray
    columns: dict[str, np.ndarray]
    places: dict[str, tuple[int, int]]

    @classmethod
    def of(cls, rows: Sequence[tuple[int, str, Mapping[str, float]]]) -> Part:
        """From (case, reason, results) for each case."""
        places: dict[str, tuple[int, int]] = {}
        for case, _, found in rows:
            for place, name in enumerate(found):
                places[name] = min(places.get(name, (case, place)), (case, place))
        columns = {name: np.array([found.get(name, np.nan) for _, _, found in rows]) for name in places}
        cases = np.array([case for case, _, _ in rows], np.int64)
        return cls(cases, np.array([reason for _, reason, _ in rows], dtype=str), columns, places)

    @classmethod
    def joined(cls, parts: Sequence[Part]) -> Part:
        """Several in one; of a case that stands in two, both."""
        places: dict[str, tuple[int, int]] = {}
        for part in parts:
            for name, place in part.places.items():
                places[name] = min(places.get(name, place), place)
        columns = {}
        for name in sorted(places, key=places.__getitem__):
            nothing = [np.full(len(part.cases), np.nan) for part in parts]
            found = [part.columns.get(name, empty) for part, empty in zip(parts, nothing, strict=True)]
            columns[name] = np.concatenate(found) if found else np.zeros(0)
        cases = [part.cases for part in parts] or [np.zeros(0, np.int64)]
        reasons = [part.reasons for part in parts] or [np.zeros(0, str)]
        return cls(np.concatenate(cases), np.concatenate(reasons), columns, places)

    def table(self, n: int) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
        """Columns (n,) over all cases, NaN where there is nothing; reasons; which cases are finished."""
        done = np.zeros(n, bool)
        done[self.cases] = True
        width = max(self.reasons.dtype.itemsize // 4, len(NOT_RUN), 1)
        reasons = np.full(n, NOT_RUN, f"<U{width}")
        reasons[self.cases] = self.reasons
        columns = {name: np.full(n, np.nan) for name in self.columns}
        for name, x in self.columns.items():
            columns[name][self.cases] = x
        return columns, reasons, done


# ------------------------------------------------------------------------------------------------------------
# The result.


@dataclass(frozen=True, eq=False)
class Study:
    """A table of cases and a table of results, row by row.

    `table` has the columns (n,) of the cases, `results` those of the results: numbers, NaN where a case
    failed. `reasons` (n,) says why it failed, "" where it did not, "not run yet" of a study that is not
    complete. `design` says how the table was drawn (see `Cases`).
    """

    table: dict[str, np.ndarray]
    results: dict[str, np.ndarray]
    reasons: np.ndarray
    robot: Robot | None = None
    own: tuple[str, ...] = ()  # columns that are no symbols
    design: dict[str, Any] = field(default_factory=dict)
    folder: Path | None = None

    @classmethod
    def load(cls, folder: str | Path) -> Study:
        """The study in a folder, with what is finished of it; another process may be adding to it."""
        store = Store(Path(folder))
        about = store.read_manifest()
        cases = store.cases(about)
        results, reasons, _ = store.read().table(about["cases"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PhysicsWarning)  # said when the robot was first loaded
            robot = Robot.load(store.folder / ROBOT) if about["robot"] else None
        return cls(cases.columns, results, reasons, robot, tuple(about["own"]), cases.design, store.folder)

    def __len__(self) -> int:
        return len(self.reasons)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the cases' columns."""
        return tuple(self.table)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the results' columns."""
        return tuple(self.results)

    @cached_property
    def done(self) -> np.ndarray:
        """Which cases (n,) are finished, well or not."""
        return np.asarray(self.reasons != NOT_RUN)

    @cached_property
    def failed(self) -> np.ndarray:
        """Which cases (n,) have failed."""
        return np.asarray(self.done & (self.reasons != ""))

    def robot_of(self, case: int) -> Robot:
        """The robot of a case, with its symbols, payload and limits."""
        if self.robot is None:
            raise StudyError("this study has no robot")
        if not -len(self) <= case < len(self):
            raise StudyError(f"case: found {shown(case)}; one of {len(self)} cases is expected")
        meaning = meaning_of(self.robot, self.inputs, self.own)
        values = {symbol: float(self.table[name][case]) for name, symbol in meaning.symbols.items()}
        assert meaning.robot is not None
        return meaning.robot.with_symbols(values)

    def __repr__(self) -> str:
        of = f" of '{self.robot.name}'" if self.robot is not None else ""
        failed = f", {self.failed.sum()} failed" if self.failed.any() else ""
        missing = f", {(~self.done).sum()} not run yet" if not self.done.all() else ""
        return f"<Study{of}: {len(self)} cases of {listed(self.inputs)}{failed}{missing}>"


# ------------------------------------------------------------------------------------------------------------
# The folder.


class Store:
    """The folder of a study."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.results = folder, folder / RESULTS

    # ---- what it is about --------------------------------------------------------------------------------

    def read_manifest(self) -> dict[str, Any]:
        path = self.folder / MANIFEST
        try:
            about = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise StudyError(f"'{self.folder}' is no folder of a study: it has no {MANIFEST}") from None
        except (OSError, ValueError) as problem:
            raise StudyError(f"{path}: cannot be read: {problem}") from None
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            version = about.get("format") if isinstance(about, dict) else None
            raise StudyError(f"{path}: found format {shown(version)}; {FORMAT} is expected")
        if missing := [
            key for key in ("robot", "inputs", "own", "design", "cases", *WHAT) if key not in about
        ]:
            raise StudyError(f"{path}: {shown(missing[0])} is missing: somebody has changed this file")
        return about

    def cases(self, about: Mapping[str, Any]) -> Cases:
        columns, _ = read_parquet(self.folder / CASES, StudyError)
        found = Cases(columns, about["design"])
        if list(columns) != about["inputs"] or len(found) != about["cases"]:
            raise StudyError(f"{self.folder / CASES}: this is not the table that {MANIFEST} tells of")
        return found

    def open(self, about: Mapping[str, Any], cases: Cases, robot: Robot | None) -> Part:
        """Begin a study here, or go on with it; what is finished. Another study is refused."""
        begun = (self.folder / MANIFEST).exists()
        if begun:
            self._check_same(about)
        try:
            self.results.mkdir(exist_ok=True)
        except OSError as problem:
            raise StudyError(f"cannot write '{self.results}': {problem.strerror}") from None
        if begun:
            self.remove_rests()
            return self.read()
        write_parquet(self.folder / CASES, cases.columns, StudyError, {})
        texts = {} if robot is None else {self.folder / ROBOT: robot.to_toml()}
        write_files({**texts, self.folder / MANIFEST: json.dumps(about, indent=2) + "\n"}, StudyError)
        return Part.joined([])

    def _check_same(self, about: Mapping[str, Any]) -> None:
        kept = self.read_manifest()
        # JSON has lists in the place of tuples, and names in the place of numbers.
        given = json.loads(json.dumps(about))
        for name, what in WHAT.items():
            if kept.get(name) != given[name]:
                raise StudyError(
                    f"folder: '{self.folder}' holds another study: its {what} another; choose another folder"
                )

    def _check_others(self) -> None:
        """Refuse a folder that has other things, before anything is written there."""
        if (self.folder / MANIFEST).exists() or not self.folder.is_dir():
            return
        others = {path.name for path in self.folder.iterdir()} - {ROBOT, CASES, RESULTS, LOCK}
        if others := {name for name in others if not name.startswith(".armdyn-")}:
            raise StudyError(
                f"folder: '{self.folder}' has other files ({listed(sorted(others))}); an empty folder, or a "
                "new one, is expected"
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The folder for this process alone; the system gives it back however the process ends."""
        try:
            self._check_others()
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder.resolve() / LOCK
            if path in _HELD:  # opening and closing the file would give the lock back
                raise self._taken("of this process")
            file = path.open("a+")
        except OSError as problem:
            raise StudyError(f"folder: cannot write to '{self.folder}': {problem.strerror}") from None
        with file:
            if not _lock(file):
                file.seek(0)
                raise self._taken(file.read(200).strip() or "of another process")
            _HELD.add(path)
            try:
                with suppress(OSError):  # the disk is full: a message would say less, and the lock holds
                    os.ftruncate(file.fileno(), 0)
                    os.write(file.fileno(), f"of process {os.getpid()} on {socket.gethostname()}".encode())
                yield
            finally:
                _HELD.discard(path)

    def _taken(self, holder: str) -> StudyError:
        return StudyError(
            f"folder: another study, {holder}, is writing to '{self.folder}'; wait until it ends, or choose "
            "another folder"
        )

    # ---- results -----------------------------------------------------------------------------------------

    def read(self) -> Part:
        """All that is finished."""
        for _ in range(20):
            try:
                return Part.joined([_read(path) for path in self._paths()])
            except _Gone:  # it was put together with others meanwhile
                continue
        raise StudyError(f"{self.results}: its files change faster than they can be read")

    def write(self, part: Part) -> None:
        """Add a part; where there are many small ones, put them together."""
        try:
            self._add(part)
        except StudyError as problem:
            raise StudyError(
                f"{problem}; what was written before is whole, and the same call goes on with it"
            ) from None

    def _add(self, part: Part) -> None:
        self._write(0, part)
        level = 0
        while len(paths := [path for path in self._paths() if _level(path) == level]) >= FEW:
            self._write(level + 1, Part.joined([_read(path) for path in paths]))
            for path in paths:
                with suppress(
                    PermissionError
                ):  # Windows, where another process reads it: it stays, as it may
                    path.unlink(missing_ok=True)
            level += 1

    def _write(self, level: int, part: Part) -> None:
        number = max((int(path.stem.split("-")[1]) for path in self._paths()), default=-1) + 1
        arrays = {CASE: part.cases, REASON: part.reasons, **part.columns}
        write_parquet(
            self.results / f"{level}-{number:09d}.parquet", arrays, StudyError, {"places": part.places}
        )

    def _paths(self) -> list[Path]:
        return sorted(self.results.glob("?-*.parquet"))

    def remove_rests(self) -> None:
        """Remove files that were being written when a study was killed."""
        for folder in (self.folder, self.results):
            for path in folder.glob(".armdyn-*"):
                with suppress(OSError):
                    path.unlink()


WHAT = {
    "table_digest": "table is",
    "function_digest": "function is",
    "robot_digest": "robot is",
    "own": "own columns are",
    "seed": "seed is",
    "batch": "batch is",
}
_FAR = 1 << 30  # a byte of a lock's file
_HELD: set[Path] = set()  # by this process, to which the system would give a lock twice


class _Gone(Exception):
    """A part is not there any more."""


def _level(path: Path) -> int:
    return int(path.name.split("-")[0])


def _read(path: Path) -> Part:
    if not path.exists():
        raise _Gone
    try:
        arrays, constants = read_parquet(path, StudyError)
        cases, reasons = arrays.pop(CASE), arrays.pop(REASON)
        places = {name: (int(case), int(place)) for name, (case, place) in constants["places"].items()}
        return Part(cases, reasons, arrays, places)
    except (StudyError, KeyError, TypeError, ValueError):
        if not path.exists():
            raise _Gone from None
        raise StudyError(
            f"{path}: this is no whole part of a study; without this file its cases are run again"
        ) from None


def _lock(file: Any) -> bool:
    """Take a lock of the system's on an open file; False: another process has it."""
    try:
        if os.name == "nt":
            _lock_on_windows(file)
        else:
            import fcntl

            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # children do not inherit it, as they do flock's
    except OSError:
        return False
    return True


def _lock_on_windows(file: Any) -> None:
    """Lock the same byte in every process: one behind the text, which others read while it is held."""
    import msvcrt

    os.lseek(file.fileno(), _FAR, os.SEEK_SET)
    msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
