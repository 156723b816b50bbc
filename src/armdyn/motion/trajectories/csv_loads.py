"""Dwells and loads of a motion as lines of a CSV file that other programs take for comments."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from armdyn.expression import Expression
from armdyn.model import Inertia
from armdyn.motion.errors import MotionError
from armdyn.motion.trajectories.loads import Carried, Load
from armdyn.motion.trajectories.motion import Motion

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


def with_lines(motion: Motion, comments: list[tuple[int, str]], origin: float) -> Motion:
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
