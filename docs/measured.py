"""Writes the figures of the kept runs into benchmarks.md: python docs/measured.py

They are the JSON files of benchmarks/results, which `python benchmarks/run.py --keep` writes.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE / "benchmarks.md"
RESULTS = HERE.parent / "benchmarks" / "results"
BEGIN = "<!-- written by docs/measured.py -->"
END = "<!-- end of what docs/measured.py writes -->"
ORDER = (
    "kernels",
    "kernels-quick",
    "motion",
    "simulation",
    "mechanisms",
    "ilqr",
    "ilqr_gpu",
    "dask_states",
    "drives",
    "studies",
    "gpu_small",
    "accuracy",
)
ORDER += ("identification", "excitation", "exact")
HEAD = """## Kept runs

Single runs, as they were saved, each with its machine and day. The machine was shared with other work, so
figures here may be worse than those above, which are from an idle one. `python benchmarks/run.py --keep`
saves a run of your own, and `python docs/measured.py` writes it here.
"""

Row = dict[str, Any]


def text(folder: Path = RESULTS) -> str:
    """The section, from all files that are there."""
    names = [name for name in ORDER if (folder / f"{name}.json").exists()]
    records = [json.loads((folder / f"{name}.json").read_text("utf-8")) for name in names]
    return "\n".join([HEAD, *(section(record) for record in records)])


def section(record: Row) -> str:
    """One benchmark: where and when it was measured, and its figures as a table."""
    day = datetime.fromisoformat(record["when"]).strftime("%Y-%m-%d")
    title = record["benchmark"] + (", short run" if record.get("quick") else "")
    lines = [f"### {title}", "", f"{_capital(record['machine'])}; {day}.", ""]
    if record.get("notes"):
        lines[2] = f"{lines[2]} {_capital('; '.join(record['notes']))}."
    return "\n".join([*lines, *table(record["figures"]), ""])


def table(figures: list[Row]) -> list[str]:
    """The figures by what they have: kernels, two contenders, times, or anything with a bound."""
    first = figures[0]
    if "function" in first:
        head = ("7-joint function", "rows", "armdyn", "other", "its time", "times as long")
        rows = [
            kernel_row(f) for f in figures if f["joints"] == 7 and f["threads"] == 1 and f["peer"] != "armdyn"
        ]
    elif "ours" in first:
        head = ("what, each", "armdyn", "other", "its time", "times as long")
        rows = [(f["what"], *_both(f)) for f in figures]
    elif "condition" in first:
        head = ("arm", "`excite`: condition", "random search", "processor time")
        rows = [
            (f["what"], f"{f['condition']:.3g}", f"{f['random']:.3g}", _time(f["seconds"])) for f in figures
        ]
    elif "memory" in first:
        head = ("what", "samples", "processor time", "peak memory")
        rows = [
            (f["what"], f"{f['samples']:,}".replace(",", " "), _time(f["seconds"]), f"{f['memory']:.2f} GB")
            for f in figures
        ]
    elif "bound" in first:
        head = ("what", "measured", "at most")
        rows = [(f["what"], f"{f['value']:.2g} {f['unit']}", f"{f['bound']:g} {f['unit']}") for f in figures]
    else:
        head = ("what", "time")
        rows = [(f["what"], _time(f["seconds"])) for f in figures]
    bar = "|---|" + "---:|" * (len(head) - 1)
    return [_line(head), bar, *map(_line, rows)]


def kernel_row(f: Row) -> tuple[str, ...]:
    name = f["function"].replace("_", " ")
    rows = "single call" if f["mode"] == "single" else f"{f['rows']:,}".replace(",", " ")
    return (name, rows, *_both(f))


def _both(f: Row) -> tuple[str, ...]:
    """Ours and theirs, in nanoseconds in the file, and how many times as long they take."""
    peer = f["peer"] + (f", {f['note']}" if f.get("note") else "")
    return (_time(1e-9 * f["ours"]), peer, _time(1e-9 * f["theirs"]), f"{f['theirs'] / f['ours']:.3g}")


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.9995 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.strip() for cell in cells) + " |"


def _capital(said: str) -> str:
    return said[:1].upper() + said[1:]


def written(page: str) -> str:
    """The page with what stands between the marks replaced."""
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n{text()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
