"""Inverse dynamics, inertia and forward dynamics of the Panda in every library that is installed.

    python benchmarks/side_by_side.py

Times of others are multiples of armdyn's in the same run; results are compared before they are timed. The
table stands in docs/coming-from.md. SymPyBotics is not on PyPI: put a clone of it on PYTHONPATH.
"""

from __future__ import annotations

from time import process_time

import peers
import robots
from rich.console import Console
from rich.table import Table

from kernels import Size, batch_calls, peers_of, single_calls

FUNCTIONS = ("inverse_dynamics", "inertia", "forward_dynamics")
SIZE = Size(rows=20_000, rounds=5)


def times(arm: str) -> Table:
    """One row for each function and way of calling, one column for each library."""
    robot = robots.arm(arm)
    notes: list[str] = []
    rivals = peers_of(robot, notes)
    names = [peer.name for peer in rivals]
    table = Table("function", "call", "armdyn", *names, title=f"{robot.name}, one thread")
    for function in FUNCTIONS:
        found = list(single_calls(robot, rivals, function, 2 * SIZE.rounds))
        found += [f for f in batch_calls(robot, rivals, function, SIZE) if f.threads == 1]
        for mode in ("single", "batch"):
            rows = {f.peer: f for f in found if f.mode == mode}
            ours = next(iter(rows.values())).ours
            cells = [f"{rows[n].theirs / ours:.3g} ×" if n in rows else "" for n in names]
            table.add_row(function, mode, f"{ours:.0f} ns", *cells)
    table.caption = "\n".join([*notes, *(f"{name} is not installed" for name in peers.missing())])
    return table


def derivations(arm: str) -> Table:
    """Processor time from a description to equations: B, C and g of armdyn, generated code of SymPyBotics."""
    robot = robots.arm(arm)
    table = Table("equations", "processor time", title=f"{robot.name}, equations")
    start = process_time()
    equations = robot.equations()
    _ = equations.B, equations.C, equations.g
    table.add_row("armdyn: B, C and g in closed form", f"{process_time() - start:.2g} s")
    for kind in peers.installed():
        if kind.name == "SymPyBotics":
            start = process_time()
            peer, state = kind(robot), tuple(x[0] for x in robots.states(robot, 1))
            for function in ("inverse_dynamics", "inertia"):
                peer.single(function, state)
            table.add_row(
                "SymPyBotics: code of inverse dynamics and inertia", f"{process_time() - start:.2g} s"
            )
    return table


if __name__ == "__main__":
    console = Console(width=140)
    console.print(times("panda"))
    console.print(derivations("panda"))
