"""Trajectories as CSV files: columns t, q1 … qn, qd1 … qdn, qdd1 … qddn [s, rad or m].

After the rows, lines "# dwell, start, end" and "# load, start, end, m, mx, …, Izz, link" tell the dwells
and the loads; they are comments for other programs.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from armdyn.expression import Expression
from armdyn.model import Inertia
from armdyn.motion.errors import MotionError, MotionWarning
from armdyn.motion.loads import Carried, Load
from armdyn.motion.motion import Motion
from armdyn.motion.profiles import through_samples
from armdyn.tables import CsvRow, open_csv, write_csv

# ---- dwells and loads of a motion, as lines that other programs take for comments --------------------------


TOLD = re.compile(r"#\s*(dwell|load)\s*,(.*?)[,\s]*$")  # spreadsheets fill lines up with empty cells
ENTRIES = 10  # of a body: mass, first moment, tensor, as `Inertia.entries`


def lines_of(motion: Motion) -> list[str]:
    """A line for each dwell and for each load."""
    found = [f"# dwell, {float(start)!r}, {float(end)!r}" for start, end in motion.dwells]
    for one in motion.loads:
        entries = [Expression.of(x) for x in one.load.body.entries]
        if any(x.symbols() for x in entries):
            raise MotionError("loads: found one with symbols; a file has numbers, give the symbols values")
        numbers = [float(one.start), float(one.end), *(float(x.value()) for x in entries)]
        link = "" if one.load.link is None else f", {one.load.link}"
        found.append(f"# load, {', '.join(map(repr, numbers))}{link}")
    return found


def with_lines(motion: Motion, comments: list[CsvRow], origin: float) -> Motion:
    """The motion with the dwells and loads among the comments; `origin` is the first time of the file [s]."""
    dwells: list[tuple[float, float]] = []
    loads: list[Carried] = []
    for line, text in comments:
        told = TOLD.match(text)
        if told and told[1] == "dwell":
            dwells.append(_interval(line, told[2].split(","), motion, origin)[0])
        elif told:
            cells = told[2].split(",", 2 + ENTRIES)
            link = cells.pop().strip() if len(cells) > 2 + ENTRIES else None
            (start, end), body = _interval(line, cells, motion, origin, ENTRIES)
            inertia = Inertia.of([Expression.of(x) for x in body])
            loads.append(Carried(start, end, Load(inertia, link)))
    if not (dwells or loads):
        return motion
    return replace(motion, dwells=tuple(sorted(dwells)), loads=tuple(loads))


def _interval(
    line: int, cells: list[str], motion: Motion, origin: float, further: int = 0
) -> tuple[tuple[float, float], list[float]]:
    """Start and end in the motion's own time, and `further` numbers."""
    try:
        found = [float(cell) for cell in cells]
    except ValueError:
        found = []
    if len(found) != 2 + further or not np.isfinite(found).all():
        text = ",".join(cells).strip()[:80]
        raise MotionError(f"line {line}: expected {2 + further} numbers, found '{text}'")
    start, end = found[0] - origin, found[1] - origin
    end = motion.duration if abs(end - motion.duration) <= 1e-9 * motion.duration else end
    if not start < end:
        raise MotionError(f"line {line}: found a start of {found[0]:g} s and an end of {found[1]:g} s")
    if not (start >= 0 and end <= motion.duration):
        raise MotionError(
            f"line {line}: found a time from {found[0]:g} to {found[1]:g} s; the motion lasts from "
            f"{origin:g} to {origin + motion.duration:g} s"
        )
    return (start, end), found[2:]


# ---- motions and torques -----------------------------------------------------------------------------------


NOISE = 1e-12  # rad or m, relative for positions beyond 1: a smaller displacement counts as none


def write(
    path: str | Path, t: np.ndarray, columns: dict[str, np.ndarray], motion: Motion | None = None
) -> None:
    """Writes a row per instant; reading gives the same numbers. Dwells and loads are the motion's.

    Columns are t and, for each name and array (N, n), name1 … namen; for (N,), just the name.
    """
    lines = [] if motion is None else lines_of(motion)
    write_csv(path, {"t": t} | columns, MotionError, lines)


def read(path: str | Path) -> Motion:
    """The motion through the rows of a file; only t and q1 … qn are needed, other columns are ignored.

    Lines that begin with # are comments. At a time stamp that appears twice the acceleration jumps.
    """
    table = read_table(path, "q", "qd", "qdd")
    given = table.columns
    try:
        motion = through_samples(table.t, **given, where=lambda i: f"line {table.lines[i]}")
    except MotionError as problem:
        raise MotionError(f"{path}: {problem}") from None
    _warn_of_noise(path, table.t, given["q"], given.get("qd"), motion)
    try:
        return with_lines(motion, table.comments, float(table.t[0]))
    except MotionError as problem:
        raise MotionError(f"{path}: {problem}") from None


def _warn_of_noise(
    path: str | Path, t: np.ndarray, q: np.ndarray, qd: np.ndarray | None, motion: Motion
) -> None:
    """Warn of joints whose motion looks like rounding errors; it is used as it is."""
    instants = t - t[0]
    looked_at = np.concatenate([instants, (instants[1:] + instants[:-1]) / 2])
    speed = np.abs(motion.evaluate(looked_at, "after")[1]).max(0)
    moved = np.maximum(np.ptp(q, axis=0), 0.0 if qd is None else np.abs(qd).max(0) * instants[-1])
    joints = np.flatnonzero((speed > 0) & (moved <= NOISE * np.maximum(1.0, np.abs(q).max(0))))
    if joints.size:
        names = ", ".join(f"{'q' if qd is None else 'qd'}{i + 1}" for i in joints)
        warnings.warn(
            f"{path}: {names}: velocities up to {speed[joints].max():.2g} look like rounding errors of a "
            "joint that stands still, but dry friction takes its direction from their signs; where a joint "
            "rests, write one position and velocity 0",
            MotionWarning,
            stacklevel=4,
        )


@dataclass(frozen=True)
class TorqueFile:
    """Torques (N, n) at instants t (N,), and the state at the first one where the file has it, else zero."""

    t: np.ndarray
    tau: np.ndarray
    q0: np.ndarray
    qd0: np.ndarray

    def at(self, t: float) -> np.ndarray:
        """Torques (n,), linear between the instants; before and after them, those of the ends."""
        return np.array([np.interp(t, self.t, column) for column in self.tau.T])


def read_torques(path: str | Path) -> TorqueFile:
    """A file with columns t, tau1 … taun and, if there, q1 … and qd1 …; other columns are ignored."""
    table = read_table(path, "tau", "q", "qd")
    t, tau = table.t, table.columns["tau"]
    back = np.flatnonzero(np.diff(t) < 0)
    if back.size:
        i = int(back[0]) + 1
        raise MotionError(f"{path}: line {table.lines[i]}: time runs backwards, to {t[i]:g} s")
    q0, qd0 = (table.columns.get(name, np.zeros_like(tau))[0] for name in ("q", "qd"))
    return TorqueFile(t - t[0], tau, q0, qd0)


# ---- tables ------------------------------------------------------------------------------------------------


class MotionTable(NamedTuple):
    """Numbers of a file: times t (N,), and columns (N, n) by what their names begin with."""

    t: np.ndarray
    columns: dict[str, np.ndarray]
    lines: list[int]  # (N,) where the rows stand in the file
    comments: list[CsvRow]


def read_table(path: str | Path, needed: str, *further: str) -> MotionTable:
    """The columns t, needed1 … neededn of a file and, where it has them, those of further names."""
    file = open_csv(path, MotionError, delimiter=",")
    try:
        names = _names([column.name for column in file.columns], needed, *further)
    except MotionError as problem:
        raise MotionError(f"{path}: line {file.line}: {problem}") from None
    wanted = ["t", *(name for several in names.values() for name in several)]
    place = {column.name: column for column in file.columns}
    table, lines, comments = file.whole([place[name] for name in wanted])
    if len(table) < 2:
        raise MotionError(f"{path}: {len(table)} rows of numbers; a motion has two or more")
    ends = np.cumsum([1, *map(len, names.values())]).tolist()
    columns = {name: table[:, a:b] for name, a, b in zip(names, ends, ends[1:], strict=False)}
    return MotionTable(table[:, 0], columns, lines, comments)


def _names(header: list[str], needed: str, *further: str) -> dict[str, list[str]]:
    """The names of the columns to read, by what they begin with."""
    found = ", ".join(header)
    found = found if len(found) <= 200 else f"{found[:197]}..."
    given = {
        prefix: [name for name in header if re.fullmatch(rf"{prefix}\d+", name)]
        for prefix in (needed, *further)
    }
    n = len(given[needed])
    if "t" not in header or not n:
        raise MotionError(f"columns t, {needed}1 … {needed}n are expected, found {found}")
    wanted = {prefix: [f"{prefix}{i + 1}" for i in range(n)] for prefix, names in given.items() if names}
    for prefix, names in wanted.items():
        if missing := sorted(set(names) - set(given[prefix])):
            raise MotionError(f"column {missing[0]} is missing for {n} joints, found {found}")
        if extra := sorted(set(given[prefix]) - set(names)):
            raise MotionError(f"column {extra[0]} is for none of the {n} joints")
    return wanted
