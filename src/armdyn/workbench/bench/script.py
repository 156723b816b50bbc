"""The Python lines that reproduce what is seen."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import numpy as np


class Script:
    """Lines by topic, in the order in which topics were first said; a topic said again replaces its lines."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # pages ask from several threads
        self._imports: dict[str, list[str]] = {}
        self._lines: dict[str, list[str]] = {}

    def say(self, topic: str, *lines: str, imports: Iterable[str] = ()) -> None:
        """`imports` are names of the package armdyn that the lines need; no lines: the topic is gone."""
        with self.lock:
            if lines:
                self._lines[topic], self._imports[topic] = list(lines), list(imports)
            else:
                self._lines.pop(topic, None)
                self._imports.pop(topic, None)

    def lines(self, topic: str) -> list[str]:
        """What was last said of a topic."""
        return list(self._lines.get(topic, ()))

    @property
    def text(self) -> str:
        with self.lock:
            names = sorted({name for names in self._imports.values() for name in names})
            body = [line for lines in self._lines.values() for line in ["", *lines]]
        head = ["import numpy as np", f"from armdyn import {', '.join(names)}" if names else "import armdyn"]
        return "\n".join([*head, *body, ""])


def listed(numbers: np.ndarray | Iterable[float]) -> str:
    """Numbers as a Python list, each with all its digits."""
    return f"[{', '.join(repr(float(x)) for x in numbers)}]"
