"""The Python lines that reproduce what is seen."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence

import numpy as np


class Script:
    """Lines by topic, in the order in which topics were first said; a topic said again replaces its lines.

    The topic "robot" makes the robot as it is now. Lines that were said of an earlier one, such as of a
    motion timed before the robot was edited, stay true: they get the robot they were said of.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()  # pages ask from several threads
        self._imports: dict[str, list[str]] = {}
        self._lines: dict[str, list[str]] = {}
        self._robots: dict[str, list[str]] = {}  # by topic: what "robot" was

    def say(
        self, topic: str, *lines: str, imports: Iterable[str] = (), robot: Sequence[str] | None = None
    ) -> None:
        """`imports` are names of the package armdyn that the lines need; no lines: the topic is gone.

        `robot` are the lines that made the robot which the lines are about, if not those of now.
        """
        with self.lock:
            for kept in (self._lines, self._imports, self._robots) if not lines else ():
                kept.pop(topic, None)
            if lines:
                self._lines[topic], self._imports[topic] = list(lines), list(imports)
                self._robots[topic] = self.lines("robot") if robot is None else list(robot)

    def lines(self, topic: str) -> list[str]:
        """What was last said of a topic."""
        return list(self._lines.get(topic, ()))

    @property
    def text(self) -> str:
        with self.lock:
            names = sorted({name for names in self._imports.values() for name in names})
            body = self._body()
        head = ["import numpy as np", f"from armdyn import {', '.join(names)}" if names else "import armdyn"]
        return "\n".join([*head, *body, ""])

    def _body(self) -> list[str]:
        """All lines, each with the robot that it is about."""
        now, body = self.lines("robot"), list[str]()
        made: list[str] = []  # what made the robot so far
        for topic, lines in self._lines.items():
            wanted = self._robots[topic] if _uses_robot(lines) else made or now
            if topic != "robot" and wanted != made:
                body += ["", *([] if wanted == now else [_THEN]), *wanted]
                made = wanted
            body += ["", *lines] if topic != "robot" else []
        return body if made == now else [*body, "", *now]


_THEN = "# The robot as it was for the next lines; it was edited after them."


def _uses_robot(lines: Iterable[str]) -> bool:
    return any(re.search(r"\brobot\b", line) for line in lines)


def listed(numbers: np.ndarray | Iterable[float]) -> str:
    """Numbers as a Python list, each with all its digits."""
    return f"[{', '.join(repr(float(x)) for x in numbers)}]"
