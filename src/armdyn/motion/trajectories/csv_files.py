"""Trajectories as CSV files: columns t, q1 … qn, qd1 … qdn, qdd1 … qddn [s, rad or m]."""

from __future__ import annotations

import csv
import re
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np

from armdyn.motion.errors import MotionError, MotionWarning
from armdyn.motion.trajectories.motion import Motion
from armdyn.motion.trajectories.sampled import noisy_joints, through_samples
from armdyn.output import write_whole

PREFIXES = ("q", "qd", "qdd")
MAX_BYTES = 500_000_000  # about an hour of a seven-joint arm's positions at 1 kHz


def write(path: str | Path, t: np.ndarray, columns: dict[str, np.ndarray]) -> None:
    """One row per instant, numbers so that reading gives the same ones.

    Columns are t and, for each name and array (N, n), name1 … namen; for (N,), just the name.
    """
    header, blocks = ["t"], [t]
    for name, values in columns.items():
        header += [name] if values.ndim == 1 else [f"{name}{i + 1}" for i in range(values.shape[1])]
        blocks.append(values)
    rows = (np.column_stack(blocks) + 0.0).tolist()  # no "-0.0"
    lines = [",".join(header), *(",".join(map(repr, row)) for row in rows)]
    write_whole(path, "\n".join(lines) + "\n", MotionError)


def read(path: str | Path) -> Motion:
    """The motion through the rows of a file; only t and q1 … qn are needed, other columns are ignored.

    Lines that begin with # are comments. At an instant that appears twice the acceleration jumps.
    """
    columns, lines, table = _table(path, _columns)
    n = sum(name.startswith("q") and name[1:].isdigit() for name in columns)
    states = {prefix: table[:, 1 + k * n : 1 + k * n + n] for k, prefix in enumerate(PREFIXES)}
    given: dict[str, Any] = {prefix: x for prefix, x in states.items() if x.size}
    try:
        motion = through_samples(table[:, 0], **given, where=lambda i: f"line {lines[i]}")
    except MotionError as problem:
        raise MotionError(f"{path}: {problem}") from None
    _warn_of_noise(path, table[:, 0], given["q"], given.get("qd"), motion)
    return motion


def _warn_of_noise(
    path: str | Path, t: np.ndarray, q: np.ndarray, qd: np.ndarray | None, motion: Motion
) -> None:
    """Warn of a motion that looks like rounding errors; it is used as it is."""
    instants = t - t[0]
    looked_at = np.concatenate([instants, (instants[1:] + instants[:-1]) / 2])
    speed = np.abs(motion.evaluate(looked_at, "after")[1]).max(0)
    joints = noisy_joints(t, q, qd, speed)
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
    columns, lines, table = _table(path, _torque_columns)
    t = table[:, 0]
    back = np.flatnonzero(np.diff(t) < 0)
    if back.size:
        raise MotionError(f"{path}: line {lines[back[0] + 1]}: time runs backwards, to {t[back[0] + 1]:g} s")
    n = sum(name.startswith("tau") for name in columns)
    first = dict(zip(columns, table[0], strict=True))
    q0, qd0 = (np.array([first.get(f"{name}{i + 1}", 0.0) for i in range(n)]) for name in ("q", "qd"))
    return TorqueFile(t - t[0], table[:, 1 : 1 + n], q0, qd0)


def _table(
    path: str | Path, choose: Callable[[list[str]], list[str]]
) -> tuple[list[str], list[int], np.ndarray]:
    """The columns chosen from the header, the lines of the rows, and their numbers (N, columns)."""
    rows = _rows(Path(path))
    if not rows:
        raise MotionError(f"{path}: the file is empty; a line of column names is expected")
    line, header = rows[0]
    try:
        columns = choose(header)
    except MotionError as problem:
        raise MotionError(f"{path}: line {line}: {problem}") from None
    place = {name: k for k, name in enumerate(header)}
    picked = [place[name] for name in columns]
    table = np.array([_numbers(path, line, cells, header, picked) for line, cells in rows[1:]])
    if len(table) < 2:
        raise MotionError(f"{path}: {len(table)} rows of numbers; a motion has two or more")
    return columns, [line for line, _ in rows[1:]], table


def _torque_columns(header: list[str]) -> list[str]:
    found = [name for name in header if re.fullmatch(r"tau\d+", name)]
    wanted = [f"tau{i + 1}" for i in range(len(found))]
    if "t" not in header or not found or sorted(found) != sorted(wanted):
        raise MotionError(f"columns t, tau1 … taun are expected, found {_listed(header)}")
    given = set(header)
    states = [f"{name}{i + 1}" for name in ("q", "qd") for i in range(len(found))]
    return ["t", *wanted, *(name for name in states if name in given)]


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Line numbers and cells, blank lines and comments left out."""
    lines = [(i + 1, line) for i, line in enumerate(_text(path).splitlines())]
    kept = [(i, line) for i, line in lines if line.strip() and not line.lstrip().startswith("#")]
    return [(i, [cell.strip() for cell in _cells(path, i, line)]) for i, line in kept]


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise MotionError(f"{path}: this is larger than {MAX_BYTES} bytes; give it in parts")
        return content.decode("utf-8-sig")
    except OSError as problem:
        raise MotionError(f"{path}: cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise MotionError(f"{path}: this is not a text file in UTF-8") from None
    except ValueError as problem:  # a path that no file can have
        raise MotionError(f"{str(path)!r}: cannot be read: {problem}") from None


def _cells(path: Path, number: int, line: str) -> list[str]:
    if '"' not in line:  # in most files, and much faster
        return line.split(",")
    try:
        return next(csv.reader([line], strict=True, skipinitialspace=True))
    except csv.Error:
        raise MotionError(f"{path}: line {number}: a quotation mark is out of place") from None


def _listed(header: list[str]) -> str:
    text = ", ".join(header)
    return text if len(text) <= 200 else f"{text[:197]}..."


def _columns(header: list[str]) -> list[str]:
    """The names of the columns to read: t, then positions and, where there are any, velocities and so on."""
    found = _listed(header)
    if twice := [name for name, count in Counter(header).items() if count > 1]:
        raise MotionError(f"column '{twice[0]}' appears twice")
    n = len([name for name in header if re.fullmatch(r"q\d+", name)])
    if "t" not in header or n == 0:
        raise MotionError(f"columns t, q1 … qn are expected, found {found}")
    wanted = ["t"]
    for prefix in PREFIXES:
        names = [f"{prefix}{i + 1}" for i in range(n)]
        given = [name for name in header if re.fullmatch(rf"{prefix}\d+", name)]
        if not given and prefix == "qd" and any(re.fullmatch(r"qdd\d+", name) for name in header):
            raise MotionError("accelerations qdd without velocities qd; both are needed, or neither")
        if not given:
            break
        if missing := sorted(set(names) - set(given)):
            raise MotionError(f"column {missing[0]} is missing for {n} joints, found {found}")
        if further := sorted(set(given) - set(names)):
            raise MotionError(f"column {further[0]} belongs to none of the {n} joints")
        wanted += names
    return wanted


def _numbers(
    path: str | Path, line: int, cells: list[str], header: list[str], picked: list[int]
) -> list[float]:
    """The numbers in the picked columns of a row."""
    if len(cells) != len(header):
        raise MotionError(f"{path}: line {line}: {len(header)} columns are expected, found {len(cells)}")
    values = []
    for k in picked:
        try:
            # 1_000 and digits of other scripts are numbers only in Python.
            value = float(cells[k]) if cells[k].isascii() and "_" not in cells[k] else nan
        except ValueError:
            value = nan
        if not isfinite(value):
            raise MotionError(
                f"{path}: line {line}: column {header[k]}: found '{cells[k][:60]}'; a number is expected"
            )
        values.append(value)
    return values
