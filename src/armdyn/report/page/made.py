"""When a report was made, with what, and from which description."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TypeAlias

from armdyn.description import bundled_robots
from armdyn.expression import shown
from armdyn.kernels.cache import own_version
from armdyn.output import one_line
from armdyn.report.errors import ReportError
from armdyn.report.page.markup import Markup, code, join, tag
from armdyn.robot import Robot

Day: TypeAlias = date | str | None

EPOCH = "SOURCE_DATE_EPOCH"  # https://reproducible-builds.org/specs/source-date-epoch/
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@dataclass(frozen=True)
class Made:
    """The line below a report's title."""

    day: date
    source: str  # where the description comes from; empty: from a program

    @classmethod
    def of(cls, robot: Robot, day: Day) -> Made:
        """`day` as given; without one, what $SOURCE_DATE_EPOCH says, or today."""
        return cls(_day(day), _source(robot))

    def line(self) -> Markup:
        day = f"{self.day.day} {_MONTHS[self.day.month - 1]} {self.day.year}"
        entries = [tag("time", day, datetime=self.day.isoformat()), tag("span", f"armdyn {own_version()}")]
        if self.source:
            entries.append(tag("span", "from ", code(self.source)))
        return tag("p", join(entries, " · "), class_="made")


def _source(robot: Robot) -> str:
    """The file's name, or that of a bundled robot; which folders the file lies in is nobody's business."""
    source, name = robot.model.source, one_line(robot.name)
    return Path(source).name if source in bundled_robots() or not name.startswith(source) else ""


def _day(day: Day) -> date:
    if day is None:
        return _of_epoch(os.environ[EPOCH]) if os.environ.get(EPOCH) else date.today()
    if isinstance(day, str):
        try:
            return date.fromisoformat(day)
        except ValueError:
            pass
    elif isinstance(day, date):
        return day.date() if isinstance(day, datetime) else day
    raise ReportError(f"date: found {shown(day)}; a date such as '2026-11-16' is expected")


def _of_epoch(text: str) -> date:
    try:
        return datetime.fromtimestamp(int(text), UTC).date()
    except (ValueError, OverflowError, OSError):
        raise ReportError(f"${EPOCH}: found {shown(text)}; seconds since 1970 are expected") from None
