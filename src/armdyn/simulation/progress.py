"""A progress bar for what takes longer than a second."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TypeAlias

Update: TypeAlias = Callable[[float], None]  # takes the part that is done, 0 to 1
AFTER = 1.0  # s


@contextmanager
def progress_bar(label: str, shown: bool | Update | None) -> Iterator[Update]:
    """A function to report progress to; the bar appears on stderr after a second.

    `shown` None: only on a terminal. A function takes the place of the bar.
    """
    if callable(shown):
        yield shown
        return
    if not (sys.stderr.isatty() if shown is None else shown):
        yield lambda part: None
        return
    from rich.console import Console
    from rich.progress import Progress

    start, bars = monotonic(), list[Progress]()

    def update(part: float) -> None:
        if not bars and monotonic() - start > AFTER:
            console = Console(stderr=True)
            bar = Progress(console=console, transient=console.is_terminal)
            bar.add_task(label, total=1.0)
            bar.start()
            bars.append(bar)
        for bar in bars:
            bar.update(bar.task_ids[0], completed=part)

    try:
        yield update
    finally:
        for bar in bars:
            bar.stop()
