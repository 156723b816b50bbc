"""What a call is doing, shown on the terminal when it takes longer than a second.

A call that may take long opens a display with `progress_bar`; whatever it calls says by `stage` what is being
done. Within a display, further ones are stages of it. It is one line on stderr, and gone when the call ends.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock, Timer
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from rich.progress import Progress


Update: TypeAlias = Callable[[float], None]  # takes the part that is done, 0 to 1
AFTER = 1.0  # s


@contextmanager
def progress_bar(label: str, shown: bool | Update | None, *, until_output: bool = False) -> Iterator[Update]:
    """A function to report progress to; the display appears on stderr after a second, with the time elapsed.

    `shown` None: only on a terminal. A function takes the place of the display. `until_output`: it goes when
    something is printed.
    """
    if callable(shown):
        yield shown
        return
    outer = _current()
    if outer is not None and shown is not False:
        with outer.within(label):
            yield outer.update
        return
    if not (sys.stderr.isatty() if shown is None else shown):
        yield lambda part: None
        return
    display = _Display(label, until_output)
    token = _DISPLAY.set(display)
    try:
        yield display.update
    finally:
        _DISPLAY.reset(token)
        display.end()


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Say what is being done, where a display is shown."""
    display = _current()
    if display is None:
        yield
        return
    with display.within(name):
        yield


def note(text: str) -> None:
    """Say how fast it goes beside the part that is done, where a display is shown."""
    if (display := _current()) is not None:
        display.note(text)


def is_shown() -> bool:
    """Whether a display is shown, or one that is opened now would be."""
    return _current() is not None or sys.stderr.isatty()


def hide_progress() -> None:
    """End the display: what follows asks the user something, or goes on until it is stopped."""
    if (display := _current()) is not None:
        display.hidden = True
        display.end()


class _Display:
    """One line on stderr: what is being done, the part that is done where it is known, the time elapsed."""

    def __init__(self, label: str, until_output: bool) -> None:
        self.process = os.getpid()
        self.hidden = False  # so that what follows opens none either
        self._stages: list[tuple[str, float | None]] = [(label, None)]
        self._start, self.ended, self._lock = monotonic(), False, RLock()
        self._bar: Progress | None = None
        self._note = ""
        self._replaced = sys.stdout if until_output and sys.stdout.isatty() else None
        self._watched = _Watched(self._replaced, self.end)  # kept here: `print` does not hold its stream
        if self._replaced is not None:
            sys.stdout = self._watched
        self._timer = Timer(AFTER, self._appear)
        self._timer.daemon = True
        self._timer.start()

    @contextmanager
    def within(self, name: str) -> Iterator[None]:
        """A stage, until it ends."""
        with self._lock:
            self._stages.append((name, None))
            self._refresh(now=True)  # what follows may not let the thread that draws run
        try:
            yield
        finally:
            with self._lock:
                self._stages.pop()
                self._refresh()

    def update(self, part: float) -> None:
        """The part of the innermost stage that is done, 0 to 1."""
        with self._lock:
            self._stages[-1] = (self._stages[-1][0], part)
            self._refresh()

    def note(self, text: str) -> None:
        """What stands beside the part that is done."""
        with self._lock:
            self._note = text
            self._refresh()

    def end(self) -> None:
        """Take it away, for good."""
        self._timer.cancel()
        with self._lock:
            self.ended = True
            if self._bar is not None:
                self._bar.stop()
                self._bar = None
            if self._replaced is not None:
                sys.stdout, self._replaced = self._replaced, None

    def _appear(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        with self._lock:
            if self.ended or self._bar is not None:
                return
            console = Console(stderr=True)
            text = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True))
            self._bar = Progress(
                *(text, BarColumn(20), TextColumn("{task.fields[done]}"), TimeElapsedColumn()),
                console=console,
                transient=console.is_terminal,
                get_time=monotonic,
                redirect_stdout=self._replaced is None and sys.stdout.isatty(),
            )
            self._bar.add_task("", total=None, done="")
            self._bar.tasks[0].start_time = self._start
            self._bar.start()
            self._refresh(now=True)

    def _refresh(self, now: bool = False) -> None:
        if self._bar is None:
            if monotonic() - self._start > AFTER:
                self._appear()
            return
        part = self._stages[-1][1]
        self._bar.update(
            self._bar.task_ids[0],
            description=": ".join(dict.fromkeys(name for name, _ in self._stages)),
            total=None if part is None else 1.0,
            completed=part or 0.0,
            done="" if part is None else f"{100 * part:3.0f} %  {self._note}".rstrip(),
            refresh=now,
        )


_DISPLAY: ContextVar[_Display | None] = ContextVar("display", default=None)


def _current() -> _Display | None:
    """The display of this call; none in the processes that it starts, and once something was printed."""
    display = _DISPLAY.get()
    if display is None or display.process != os.getpid() or (display.ended and not display.hidden):
        return None
    return display


class _Watched:
    """A stream that calls a function before the first text is written to it."""

    def __init__(self, stream: Any, before: Callable[[], None]) -> None:
        self._stream, self._before = stream, before

    def write(self, text: str) -> int:
        self._before()
        return int(self._stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
