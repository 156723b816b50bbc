"""What the benchmark of kernels finds: figures as data, printed as tables and saved."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import peers
from rich.console import Console
from rich.table import Table
from run import machine

import armdyn

TITLE = "Kernels"


@dataclass(frozen=True)
class Figure:
    """One comparison. The ratio of a single call is ours over the peer's, of a batch the peer's over ours."""

    function: str
    joints: int
    mode: str  # single, batch
    threads: int
    rows: int
    ours: float  # nanoseconds an evaluation
    peer: str
    theirs: float
    note: str = ""
    target: float | None = None

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs if self.mode == "single" else self.theirs / self.ours

    @property
    def met(self) -> bool | None:
        if self.target is None:
            return None
        return self.ratio <= self.target if self.mode == "single" else self.ratio >= self.target


@dataclass(frozen=True)
class Value:
    """Anything else: a number, what it is, and the most or least it should be."""

    what: str
    value: float
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None

    @property
    def met(self) -> bool | None:
        if self.at_most is None and self.at_least is None:
            return None
        return (self.at_most is None or self.value <= self.at_most) and (
            self.at_least is None or self.value >= self.at_least
        )


@dataclass
class Report:
    single: list[Figure] = field(default_factory=list)
    batch: list[Figure] = field(default_factory=list)
    threads: list[Value] = field(default_factory=list)
    first: list[Value] = field(default_factory=list)
    growth: list[Value] = field(default_factory=list)
    trees: list[Value] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def values(self) -> list[Value]:
        return [*self.threads, *self.first, *self.growth, *self.trees]


def show(report: Report, console: Console) -> None:
    for note in report.notes:
        console.print(note, style="yellow")
    for title, sign, figures in (
        (f"Single calls from Python on {machine()}: ratio is ours / peer", "≤", report.single),
        (
            "Batches, time a row: ratio is peer / ours; C by gcc -O3 -march=native",
            "≥",
            report.batch,
        ),
    ):
        table = Table(title=title)
        for column in ("function", "joints", "rows", "threads", "ours", "peer's", "peer", "ratio", "target"):
            table.add_column(column, justify="left" if column in ("function", "peer") else "right")
        table.add_column("met")
        for f in figures:
            table.add_row(
                f.function,
                str(f.joints),
                str(f.rows),
                str(f.threads),
                _time(f.ours),
                _time(f.theirs),
                f.peer + (f", {f.note}" if f.note else ""),
                f"{f.ratio:.3g}",
                "" if f.target is None else f"{sign} {f.target:g}",
                _yes(f.met),
                style=_style(f.met),
            )
        console.print(table)
    for title, values in (
        ("Two threads", report.threads),
        ("First use in a fresh process, imports and loading of the robot not counted", report.first),
        ("Growth with the number of joints", report.growth),
        ("A dual arm against the chain along one of its arms, one thread", report.trees),
    ):
        table = Table("what", "measured", "target", "met", title=title)
        for v in values:
            bound = "" if v.at_most is None else f"≤ {v.at_most:g}"
            bound += "" if v.at_least is None else f"≥ {v.at_least:g}"
            table.add_row(v.what, f"{v.value:.3g} {v.unit}", bound, _yes(v.met), style=_style(v.met))
        console.print(table)


def _time(nanoseconds: float) -> str:
    return f"{nanoseconds:.3g} ns" if nanoseconds < 999.5 else f"{nanoseconds / 1000:.3g} µs"


def _yes(met: bool | None) -> str:
    return "" if met is None else "yes" if met else "no"


def _style(met: bool | None) -> str | None:
    return "red" if met is False else None


def save(report: Report, folder: Path, quick: bool) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ("kernels-quick.json" if quick else "kernels.json")
    record = {
        "benchmark": TITLE,
        "quick": quick,
        "machine": machine(),
        "system": platform.platform(),
        "versions": _versions(),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "notes": report.notes,
        "figures": [asdict(f) | {"ratio": f.ratio, "met": f.met} for f in [*report.single, *report.batch]],
        "values": [asdict(v) | {"met": v.met} for v in report.values],
    }
    path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return path


def _versions() -> dict[str, str]:
    found = {"armdyn": armdyn.__version__, "python": platform.python_version()}
    for name in ("numpy", "llvmlite", *(kind.package for kind in peers.installed())):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found
