"""Runs numbered cases in a child process and counts what becomes of them, also of those it does not survive.

A case is a function of a number alone, so each can be repeated by itself. A child that dies of a signal
counts as a crash, one that stays with a case for longer than `PATIENCE` as a hang; the next child goes on
behind it.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import resource
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from armdyn import ArmdynError

PATIENCE = 5.0  # s
MEMORY = 6 << 30  # bytes of address space: a bomb ends as a MemoryError, not as the machine's end

REFUSALS = (ArmdynError, TypeError, ValueError)  # what the public face may raise
BAD = ("foreign exception", "impossible body", "crash", "hang")
Case = Callable[[int], str]  # a number -> "accepted", "refused", or something bad; it may raise


@dataclass
class Tally:
    counts: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)  # number and reason of each bad case

    @property
    def tried(self) -> int:
        return sum(self.counts.values())

    @property
    def bad(self) -> int:
        return self.tried - self.counts["accepted"] - self.counts["refused"]


def outcome(case: Case, number: int) -> tuple[str, str]:
    """What becomes of one case, and why where it is bad."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)  # NumPy's: nothing of it is to be heard
        try:
            kind = case(number)
        except ArmdynError:
            return "refused", ""
        except (Exception, SystemExit) as error:
            return "foreign exception", f"{type(error).__name__}: {error}\n{traceback.format_exc(limit=-3)}"
    return kind.partition(":")[0], kind


def _child(case: Case, first: int, end: int, pipe: multiprocessing.connection.Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    faulthandler.disable()  # the parent counts crashes; pytest would print each
    for number in range(first, end):
        pipe.send(("begin", number, ""))
        pipe.send(("end", number, outcome(case, number)))
    pipe.send(("done", end, ""))


def watch(case: Case, count: int, seconds: float = float("inf")) -> Tally:
    """Cases 0 … count − 1, or as many as fit into the time."""
    tally, number, stop = Tally(), 0, time.monotonic() + seconds
    while number < count and time.monotonic() < stop:
        number = _watch_one_child(case, number, count, stop, tally)
    return tally


def _watch_one_child(case: Case, first: int, end: int, stop: float, tally: Tally) -> int:
    """The number of the case to go on with."""
    here, there = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_child, args=(case, first, end, there))
    child.start()
    there.close()
    number = first
    try:
        while time.monotonic() < stop:
            if not here.poll(PATIENCE):
                tally.counts["hang"] += 1
                tally.findings.append(f"{number}: hang")
                return number + 1
            word, number, found = here.recv()
            if word == "done":
                return end
            if word == "end":
                kind, why = found
                tally.counts[kind] += 1
                if kind not in ("accepted", "refused"):
                    tally.findings.append(f"{number}: {why}")
        return end
    except EOFError:
        child.join()
        tally.counts["crash"] += 1
        tally.findings.append(f"{number}: crash, exit code {child.exitcode}")
        return number + 1
    finally:
        child.kill()
        child.join()
