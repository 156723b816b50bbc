"""Run the benchmarks: all of them, or those named.

    python benchmarks/run.py            every module of MODULES
    python benchmarks/run.py exact      one of them
    python benchmarks/run.py --quick    shorter, where a benchmark can be
    python benchmarks/run.py --keep     saved for docs/benchmarks.md (then: python docs/measured.py)

Prints a table for each and saves the figures as JSON under build/benchmarks/, with --keep under
benchmarks/results/.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import process_time
from typing import Any

from rich.console import Console
from rich.table import Table

import armdyn

MODULES = (
    "exact",
    "kernels",
    "motion",
    "simulation",
    "mechanisms",
    "ilqr",
    "accuracy",
    "excitation",
    "identification",
    "online",
    "in_c",
    "dask_states",
    "drives",
    "studies",
)
FOLDER = Path(__file__).resolve().parent.parent / "build" / "benchmarks"
KEPT = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True)
class Figure:
    """One row: what was measured, its seconds, and the seconds it should take at most (None: no target)."""

    what: str
    seconds: float
    target: float | None = None

    @property
    def met(self) -> str:
        if self.target is None:
            return ""
        return (
            "yes" if self.seconds <= self.target else f"no, {self.seconds / self.target:.1f} times too long"
        )


def best(make: Callable[[], Any], work: Callable[[Any], object], runs: int) -> float:
    """The shortest processor time of `work`, each run on what a fresh `make` gives.

    On an idle machine that is the time one waits; on a busy one it leaves out what others take.
    """
    times = []
    for _ in range(runs):
        material = make()
        start = process_time()
        work(material)
        times.append(process_time() - start)
    return min(times)


def machine() -> str:
    """The processor, by the name it gives itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    name = names[0] if names else platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"


def provenance() -> dict[str, str]:
    """What was measured, where and when: part of everything that is saved."""
    when = datetime.now(UTC).isoformat(timespec="seconds")
    return {"armdyn": armdyn.__version__, "machine": machine(), "when": when}


def time_text(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 1e-3:
        return f"{1e6 * seconds:.3g} µs"
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def show(title: str, figures: list[Figure], console: Console) -> None:
    table = Table("what", "measured", "target", "met", title=title)
    for f in figures:
        style = "red" if f.met.startswith("no") else None
        table.add_row(f.what, time_text(f.seconds), time_text(f.target), f.met, style=style)
    console.print(table)


def save(folder: Path, name: str, title: str, figures: list[Figure], on: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    rows = [{**asdict(f), "met": None if f.target is None else f.seconds <= f.target} for f in figures]
    record = {"benchmark": title, **provenance(), "machine": on, "figures": rows}
    path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return path


def main(arguments: list[str]) -> int:
    quick = "--quick" in arguments
    folder = KEPT if "--keep" in arguments else FOLDER
    names = [name for name in arguments if name not in ("--quick", "--keep")]
    unknown = [name for name in names if name not in MODULES]
    if unknown:
        print(f"unknown benchmark '{unknown[0]}'; there are: {', '.join(MODULES)}", file=sys.stderr)
        return 2
    console = Console() if sys.stdout.isatty() else Console(width=120)
    for name in names or MODULES:
        module = importlib.import_module(name)
        if hasattr(module, "run"):  # it has tables of its own
            missed = module.run(console, folder, quick)
            if missed:
                console.print(f"{missed} of the targets missed", style="red")
            continue
        on = f"{getattr(module, 'CLOCK', 'processor time of one thread')} on {machine()}"
        figures = [Figure(*row) for row in module.measure()]
        show(f"{module.TITLE}\n{on}", figures, console)
        console.print(
            f"saved {save(folder, name, module.TITLE, figures, on)}", highlight=False, soft_wrap=True
        )
        missed = sum(f.met.startswith("no") for f in figures)
        if missed:
            console.print(f"{missed} of the targets missed", style="red")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
