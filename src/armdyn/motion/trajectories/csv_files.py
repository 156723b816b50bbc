"""Trajectories as CSV files: columns t, q1 … qn, qd1 … qdn, qdd1 … qddn [s, rad or m].

After the rows, lines "# dwell, start, end" and "# load, start, end, m, mx, …, Izz, link" tell the rests that
are wanted and what is carried; they are comments for other programs.
"""

from __future__ import annotations

import csv
import re
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from armdyn.motion.errors import MotionError, MotionWarning
from armdyn.motion.trajectories import csv_loads
from armdyn.motion.trajectories.motion import Motion
from armdyn.motion.trajectories.sampled import through_samples
from armdyn.output import write_whole

_MOST = 1 << 29  # bytes of a file; a device may have any number
NOISE = 1e-12  # rad or m, relative for positions beyond 1: a smaller displacement counts as none


def write(
    path: str | Path, t: np.ndarray, columns: dict[str, np.ndarray], motion: Motion | None = None
) -> None:
    """One row per instant, numbers so that reading gives the same ones; dwells and loads are the motion's.

    Columns are t and, for each name and array (N, n), name1 … namen; for (N,), just the name.
    """
    header, blocks = ["t"], [t]
    for name, values in columns.items():
        header += [name] if values.ndim == 1 else [f"{name}{i + 1}" for i in range(values.shape[1])]
        blocks.append(values)
    rows = (np.column_stack(blocks) + 0.0).tolist()  # no "-0.0"
    lines = [",".join(header), *(",".join(map(repr, row)) for row in rows)]
    lines += [] if motion is None else csv_loads.lines_of(motion)
    write_whole(path, "\n".join(lines) + "\n", MotionError)


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
        return csv_loads.with_lines(motion, table.comments, float(table.t[0]))
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


@dataclass(frozen=True)
class Table:
    """Numbers of a file: times t (N,), and columns (N, n) by what their names begin with."""

    t: np.ndarray
    columns: dict[str, np.ndarray]
    lines: list[int]  # (N,) where the rows stand in the file
    comments: list[tuple[int, str]]  # line number and text of what begins with #


def read_table(path: str | Path, needed: str, *further: str) -> Table:
    """The columns t, needed1 … neededn of a file and, where it has them, those of further names."""
    lines, rows, comments = _rows(path)
    if not rows:
        raise MotionError(f"{path}: the file is empty; a line of column names is expected")
    header = [name.strip() for name in rows.pop(0)]
    try:
        names = _names(header, needed, *further)
    except MotionError as problem:
        raise MotionError(f"{path}: line {lines[0]}: {problem}") from None
    lines = lines[1:]
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(header):
            raise MotionError(f"{path}: line {line}: {len(header)} columns are expected, found {len(row)}")
    if len(rows) < 2:
        raise MotionError(f"{path}: {len(rows)} rows of numbers; a motion has two or more")
    place = {name: k for k, name in enumerate(header)}

    def numbers(names: list[str]) -> np.ndarray:
        picked = [place[name] for name in names]
        found = np.array([[_number(row[k]) for k in picked] for row in rows])
        for i, j in np.argwhere(~np.isfinite(found)):
            cell = rows[i][picked[j]].strip()[:60]
            raise MotionError(
                f"{path}: line {lines[i]}: column {names[j]}: found '{cell}'; a number is expected"
            )
        return found

    columns = {name: numbers(given) for name, given in names.items()}
    return Table(numbers(["t"])[:, 0], columns, lines, comments)


def _rows(path: str | Path) -> tuple[list[int], list[list[str]], list[tuple[int, str]]]:
    """Line numbers and cells, blank lines left out; comments apart."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(_MOST + 1)
        text = content.decode("utf-8-sig") if len(content) <= _MOST else ""
    except UnicodeDecodeError:
        raise MotionError(f"{path}: this is not a text file in UTF-8") from None
    except (OSError, ValueError) as problem:
        raise MotionError(f"{path}: cannot be read: {getattr(problem, 'strerror', problem)}") from None
    if len(content) > _MOST:
        raise MotionError(f"{path}: it is larger than {_MOST} bytes; no longer motion is read")
    numbered = [(i, line.strip()) for i, line in enumerate(text.splitlines(), 1) if line.strip()]
    comments = [(i, line) for i, line in numbered if line.startswith("#")]
    kept = [(i, line) for i, line in numbered if not line.startswith("#")]
    lines = [i for i, _ in kept]
    reader = csv.reader((line for _, line in kept), strict=True, skipinitialspace=True)
    try:
        rows = list(reader)
    except csv.Error as problem:
        raise MotionError(f"{path}: line {lines[reader.line_num - 1]}: {problem}") from None
    return lines, rows, comments


def _names(header: list[str], needed: str, *further: str) -> dict[str, list[str]]:
    """The names of the columns to read, by what they begin with."""
    found = ", ".join(header)
    found = found if len(found) <= 200 else f"{found[:197]}..."
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise MotionError(f"column '{twice[0]}' appears twice")
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


def _number(cell: str) -> float:
    """What is in a cell; not a number where it is none."""
    try:
        return float(cell)
    except ValueError:
        return float("nan")
