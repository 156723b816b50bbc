"""The kernels against other libraries, one call and many, one thread and all; first use; growth with joints.

Every result is compared with the peer's before anything is timed. Arms: `robots`; peers: `peers/`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import peers
import robots
from branches import trees
from first_use import FirstUse, first_use
from functions import (
    BATCH_AT_LEAST,
    COMMAND,
    FIRST_USE,
    FIRST_USE_30_JOINTS,
    FROM_CACHE,
    IMPORT,
    INPUTS,
    NESTED,
    PER_JOINT_WITHIN,
    SINGLE_30_JOINTS_AT_MOST,
    SINGLE_AT_MOST,
    TWO_THREADS,
    VARIANTS,
)
from kernel_figures import TITLE, Figure, Report, Value, save, show
from rich.console import Console
from timing import Call, race
from variants import COUNT, KINDS, time_of_command, time_of_variants

from armdyn import Robot
from armdyn.kernels import Kernel, Specification, get_threads, set_threads
from armdyn.kernels.derivatives import tangent_of
from armdyn.program import record
from armdyn.robot.functions import FUNCTIONS

AGREEMENT = 1e-9  # relative to the largest entry
LARGEST = 2**29  # bytes of a result
IN_CACHE = 4096  # rows whose derivatives stay in the cache; more of them wait for memory
SECOND_CORE = 1.5  # gain of pure arithmetic below which two threads have not had two cores


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    arms: tuple[str, ...] = ("planar", "ur10", "panda", "chain30")
    rows: int = 100_000
    rounds: int = 9
    chains: tuple[int, ...] = (5, 10, 20, 30, 40, 50)
    starts: int = 3
    many: int = 1_000_000


QUICK = Size(("planar", "panda"), 20_000, 3, (5, 20, 50), 1, 200_000)


# ---- agreement ---------------------------------------------------------------------------------------------


def comparable(robot: Robot, function: str, result: Any) -> Any:
    """Our result as `Peer.read` gives the peer's: for the regressor the torques, as parameters differ."""
    return result @ robot.parameters if function == "regressor" else result


def check(peer: peers.Peer, robot: Robot, function: str, ours: Any, theirs: Any) -> None:
    """Stop if two results differ."""
    pairs = zip(ours, theirs, strict=True) if isinstance(ours, tuple) else [(ours, theirs)]
    for a, b in pairs:
        if np.shape(a) != np.shape(b):
            raise AssertionError(f"{function} of {robot.name}: {np.shape(a)}, {peer.name} {np.shape(b)}")
        error, size = np.abs(a - b).max(), np.abs(b).max()
        if not error <= AGREEMENT * size:
            raise AssertionError(f"{function} of {robot.name}: {error / size:.1e} from {peer.name}")


# ---- ours against theirs -----------------------------------------------------------------------------------


def peers_of(robot: Robot, notes: list[str]) -> list[peers.Peer]:
    """The installed peers that can have the arm."""
    result = []
    for kind in peers.installed():
        try:
            result.append(kind(robot))
        except peers.Unsuitable as reason:
            notes.append(f"{kind.name} left out for {robot.name}: {reason}")
    return result


def single_calls(robot: Robot, rivals: list[peers.Peer], function: str, rounds: int) -> Iterator[Figure]:
    """One evaluation a call, from Python."""
    states = robots.states(robot, 20)
    call = getattr(robot, function)
    first = tuple(x[0].copy() for x in states)
    entered: list[tuple[peers.Peer, Call]] = []
    for peer in rivals:
        for state in zip(*states, strict=True):
            theirs = peer.single(function, state)
            if theirs is not None:
                ours = comparable(robot, function, call(*state[: INPUTS[function]]))
                check(peer, robot, function, ours, peer.read(function, theirs(), state))
        theirs = peer.single(function, first)
        if theirs is not None:
            entered.append((peer, theirs))
    ours_ns, *theirs_ns = race([Call(call, first[: INPUTS[function]]), *(c for _, c in entered)], rounds)
    for (peer, theirs), ns in zip(entered, theirs_ns, strict=True):
        targets = {7: SINGLE_AT_MOST, 30: SINGLE_30_JOINTS_AT_MOST}.get(robot.n, {})
        target = targets.get((function, peer.name))
        yield Figure(function, robot.n, "single", 1, 1, ours_ns, peer.name, ns, theirs.note, target)


def batch_rows(robot: Robot, function: str, rows: int) -> int:
    """A fifth for long arms, and no result larger than LARGEST."""
    sizes: dict[int | str, Any] = {"n": robot.n, "p": len(robot.parameters)}
    shapes = [[sizes.get(k, k) for k in result.shape] for result in FUNCTIONS[function].results]
    row = 8 * sum(map(prod, shapes))
    return min(rows if robot.n <= 7 else rows // 5, LARGEST // row)


def batch_calls(robot: Robot, rivals: list[peers.Peer], function: str, size: Size) -> Iterator[Figure]:
    """Many evaluations a call, on one thread and on all."""
    rows = batch_rows(robot, function, size.rows)
    if function.endswith("second_derivatives"):
        rows = min(rows, IN_CACHE)
    states = robots.states(robot, rows)
    given = states[: INPUTS[function]]
    everything = _threads()
    counts = [1, everything] if everything > 1 else [1]
    with_threads = {count: partial(set_threads, count) for count in counts}
    result = getattr(robot, function)(*given)
    ours = Call(partial(getattr(robot, function), out=result), given, rows)
    entered: list[tuple[peers.Peer, int, Call]] = []
    for peer in rivals:
        for count in counts:
            theirs = peer.batch(function, states, count)
            if theirs is None:
                continue
            found = peer.read_batch(function, theirs(), states)
            if found is not None:  # else a loop of single calls, which were checked
                check(peer, robot, function, result, found)
            entered.append((peer, count, theirs))
    calls = [*(ours for _ in counts), *(c for *_, c in entered)]
    before = [*with_threads.values(), *(with_threads[count] for _, count, _ in entered)]
    try:
        times = race(calls, size.rounds, shortest=0.05, before=before)
    finally:
        set_threads(None)
    ours_ns = dict(zip(counts, times, strict=False))
    for (peer, count, theirs), ns in zip(entered, times[len(counts) :], strict=True):
        aimed = robot.n == 7 and count == 1
        target = BATCH_AT_LEAST.get((function, peer.name)) if aimed else None
        yield Figure(
            function, robot.n, "batch", count, rows, ours_ns[count], peer.name, ns, theirs.note, target
        )
    for count in counts[1:]:
        yield Figure(
            function, robot.n, "batch", count, rows, ours_ns[count], "armdyn", ours_ns[1], "1 thread"
        )


def nested_calls(robot: Robot, function: str, size: Size) -> Iterator[Figure]:
    """Second derivatives against tangents of the first, of which 2n directions are one call."""
    first = robot._kernels[function.replace("second_", "")]
    tangents, n = tangent_of(first, ("q", "qd")), robot.n
    along = np.eye(2 * n)
    target = SINGLE_AT_MOST if robot.n == 7 else {}, BATCH_AT_LEAST if robot.n == 7 else {}
    for rows, mode, aims in ((1, "single", target[0]), (256, "batch", target[1])):
        states = robots.states(robot, rows)
        given = tuple(x[:, None] for x in states)
        nested = Call(tangents, (*given, along[:, :n], along[:, n:]), rows)
        own = Call(getattr(robot, function), tuple(x[0] for x in states) if rows == 1 else states, rows)
        found, theirs = own(), [np.moveaxis(x, 1, -1) for x in nested()]
        expected = (*(x[..., :n] for x in theirs), theirs[1][..., n:])
        for x, y in zip(found, expected, strict=True):
            if not np.abs(x - y).max() <= AGREEMENT * np.abs(y).max(initial=1.0):
                raise AssertionError(f"{function} of {robot.name} differs from nested derivatives")
        try:
            ours_ns, nested_ns = race([own, nested], size.rounds, before=[partial(set_threads, 1)] * 2)
        finally:
            set_threads(None)
        yield Figure(function, n, mode, 1, rows, ours_ns, NESTED, nested_ns, "", aims.get((function, NESTED)))


def _threads() -> int:
    set_threads(None)
    return get_threads()


# ---- threads -----------------------------------------------------------------------------------------------


def two_threads(size: Size) -> Iterator[Value]:
    """What a second thread gives a large batch, and what it gives arithmetic that touches no memory."""
    robot = robots.arm("panda")
    states = robots.states(robot, size.many)
    result = np.empty_like(states[0])
    dynamics = Call(partial(robot.inverse_dynamics, out=result), states, size.many)
    x = np.linspace(0.1, 0.9, 16384)[:, None]
    work, pool = _arithmetic().on("compiled").float64, ThreadPoolExecutor(2)
    one, two = (Call(_spread, (pool, work, x, 64, count), 64 * len(x)) for count in (1, 2))
    before = [partial(set_threads, count) for count in (1, 2, 1, 1)]
    try:
        times = race([dynamics, dynamics, one, two], 2 * size.rounds, shortest=0.05, before=before)
    finally:
        set_threads(None)
        pool.shutdown()
    gain, bound = times[0] / times[1], times[2] / times[3]
    yield Value(f"inverse dynamics, 7 joints, {size.many:.0e} rows: gain from a second thread", gain, "times")
    yield Value("pure arithmetic: gain from a second thread", bound, "times")
    free = bound >= SECOND_CORE
    why = (
        "" if free else f" (not judged: no second core was free, arithmetic gained less than {SECOND_CORE:g})"
    )
    yield Value(f"the one over the other{why}", gain / bound, at_least=TWO_THREADS if free else None)


def _arithmetic() -> Kernel:
    """Eight chains of 64 multiply-adds: compiled as ours are, with next to nothing to load or store."""

    def function(x: list[Any]) -> list[Any]:
        chains = [x[0] + k for k in range(8)]
        for step in range(64):
            chains = [c * (0.9 + 0.001 * step) + x[0] for c in chains]
        return [sum(chains[1:], chains[0])]

    def program() -> Any:
        return record(function, [("x", 1)], [("y", (1,))])

    text = "benchmark: 8 chains of 64 multiply-adds"
    return Kernel(Specification("arithmetic", (("x", 1),), ((1,),), program, text))


def _spread(pool: ThreadPoolExecutor, work: Any, x: np.ndarray, times: int, threads: int) -> None:
    """`times` calls in all, in threads of Python; each has an output of its own."""

    def part(count: int) -> None:
        y = np.empty_like(x)
        for _ in range(count):
            work(x, out=y)

    futures = [pool.submit(part, times // threads) for _ in range(threads - 1)]
    part(times // threads)
    for future in futures:
        future.result()


# ---- first use and growth ----------------------------------------------------------------------------------


def first_uses(size: Size) -> Iterator[Value]:
    for function in INPUTS:
        yield from _first(first_use("panda", function, size.starts), FIRST_USE.get(function), FROM_CACHE)
    for function, target in FIRST_USE_30_JOINTS.items():
        yield from _first(first_use("chain30", function, size.starts), target, None)


def variants_and_commands() -> Iterator[Value]:
    """Many robots in one process, and what one waits for before anything happens."""
    for arm in ("panda", "puma560"):
        for kind in KINDS:
            seconds, processor = time_of_variants(arm, kind)
            what = f"{COUNT} variants of {arm}, {kind}"
            yield Value(f"{what}, processor time", processor, "s", at_most=VARIANTS)
            yield Value(what, seconds, "s")
    for verb in ("robots", "--help"):
        yield Value(f"armdyn {verb}", time_of_command("-m", "armdyn", verb), "s", at_most=COMMAND)
    numpys = time_of_command("-c", "import numpy")
    ours = time_of_command("-c", "import numpy, armdyn")
    yield Value("import armdyn, beyond NumPy's own import", ours - numpys, "s", at_most=IMPORT)
    first = time_of_command("-c", "import numpy, armdyn; armdyn.Robot")
    yield Value("import armdyn and its Robot, beyond NumPy's own import", first - numpys, "s")


def _first(found: FirstUse, target: float | None, from_cache: float | None) -> Iterator[Value]:
    what = f"{found.function}, {found.joints} joints, {found.operations} operations"
    yield Value(f"{what}: compiled", found.compiled, "s", at_most=target)
    yield Value(f"{what}: compiled, processor time", found.processor, "s")
    yield Value(f"{what}: from the cache", found.cached, "s", at_most=from_cache)


def growth(size: Size) -> Iterator[Value]:
    """Operations, time and first use of inverse dynamics against the number of joints."""
    chains = {n: robots.chain(n) for n in size.chains}
    operations = {n: robot.program("inverse_dynamics").operations for n, robot in chains.items()}
    per_joint = times_per_joint(chains, max(size.rows // 5, 10_000), size.rounds)
    in_cache = times_per_joint(chains, 512, size.rounds)
    compiled = {n: first_use(f"chain{n}", "inverse_dynamics", size.starts).compiled for n in chains}
    for n in chains:
        yield Value(f"inverse dynamics, {n} joints: operations a joint", operations[n] / n)
        yield Value(f"inverse dynamics, {n} joints: time a joint", per_joint[n], "ns")
        yield Value(f"inverse dynamics, {n} joints: time a joint, 512 rows", in_cache[n], "ns")
        yield Value(
            f"inverse dynamics, {n} joints: first use per 1000 operations",
            1e6 * compiled[n] / operations[n],
            "ms",
        )
    ends = list(chains)
    more = [(operations[b] - operations[a]) / (b - a) for a, b in pairwise(ends)]
    yield Value("operations of a further joint, most over least", max(more) / min(more), at_most=1.01)
    span = f"{ends[0]} to {ends[-1]} joints, most over least"
    yield Value(f"time a joint, {span}", _spread_of(per_joint), at_most=PER_JOINT_WITHIN)
    yield Value(f"time a joint, 512 rows (data in cache), {span}", _spread_of(in_cache))
    slope = _slope(compiled, operations, ends[0], ends[1]), _slope(compiled, operations, ends[-2], ends[-1])
    yield Value("first use: seconds a further operation, long chains over short", slope[1] / slope[0])


def times_per_joint(chains: dict[int, Robot], rows: int, rounds: int) -> dict[int, float]:
    """Nanoseconds of inverse dynamics a row and joint, one thread."""
    calls = []
    for robot in chains.values():
        states = robots.states(robot, rows)
        calls.append(Call(partial(robot.inverse_dynamics, out=np.empty_like(states[0])), states, rows))
    try:
        times = race(calls, rounds, shortest=0.05, before=[partial(set_threads, 1)] * len(calls))
    finally:
        set_threads(None)
    return {n: ns / n for n, ns in zip(chains, times, strict=True)}


def _spread_of(values: dict[int, float]) -> float:
    return max(values.values()) / min(values.values())


def _slope(seconds: dict[int, float], operations: dict[int, int], a: int, b: int) -> float:
    return (seconds[b] - seconds[a]) / (operations[b] - operations[a])


# ---- the run -----------------------------------------------------------------------------------------------


def measure(size: Size, say: Callable[[str], Any]) -> Report:
    report = Report()
    report.notes += [f"{name} is not installed: left out" for name in peers.missing()]
    for name in size.arms:
        robot = robots.arm(name)
        rivals = peers_of(robot, report.notes)
        for function in INPUTS:
            say(f"{name}: {function}")
            report.single += single_calls(robot, rivals, function, 2 * size.rounds)
            report.batch += batch_calls(robot, rivals, function, size)
            if function.endswith("second_derivatives") and robot.n <= 7:
                for figure in nested_calls(robot, function, size):
                    (report.single if figure.mode == "single" else report.batch).append(figure)
            if (function, "Pinocchio") in BATCH_AT_LEAST and "derivatives" in function and robot.n == 7:
                report.batch += batch_calls(robot, rivals, function, replace(size, rows=IN_CACHE))
    say("two threads")
    report.threads += two_threads(size)
    say("first use")
    report.first += first_uses(size)
    report.first += variants_and_commands()
    say("growth with the number of joints")
    report.growth += growth(size)
    say("trees")
    report.trees += trees(size.rows // 10, size.rounds)
    return report


def run(console: Console, folder: Path, quick: bool) -> int:
    """Measure, print, save; the number of targets missed."""
    size = QUICK if quick else Size()
    with console.status(TITLE) as status:
        before = os.getloadavg() if hasattr(os, "getloadavg") else None
        report = measure(size, status.update)
    if before and before[0] > 0.5:
        report.notes.append(
            f"the machine was busy: load {before[0]:.1f} at the start; figures are preliminary"
        )
    show(report, console)
    path = save(report, folder, quick)
    console.print(f"saved {path}", highlight=False, soft_wrap=True)
    every = [*report.single, *report.batch, *report.values]
    return sum(row.met is False for row in every)
