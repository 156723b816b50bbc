"""Whether models carry over: fits of one log of an arm tried on another, plain ones and the default.

    python benchmarks/carry_over.py                     everything; what is there already is not done again
    python benchmarks/carry_over.py --arms 0-5 --only pairs --processes 2
    python benchmarks/carry_over.py --table             the tables of what is there
    python benchmarks/carry_over.py --table --keep      kept as benchmarks/results/fits/carry_over.json, too
    PYTHONPATH=…/src python benchmarks/carry_over.py --code old     another version of armdyn, by this name

Pairs are of simulated arms (rubbing_arms.py: a sum of sines, and moves with dwells), of the logs beside
`--data`/protocol.py, and of those of `--logs`: a folder for each arm, with its description `robot.toml` (or
`robot.urdf`, or `robot.txt` with the name of a bundled one) and logs that `Log.load` reads. A log that is
alone is cut in two. Where a folder is not there, its pairs are left out. The kept results have two such
folders, whose logs are (t, q, tau) in NPZ files made of public text files:

- `panda`: `matlab/data/Exciting_Traj/Trajectory_1/rbt_log` of marcocognetti/FrankaEmikaPandaDynModel, seven
  numbers for each instant;
- `ur10e`: `ur-20_02_10-30sec_12harm.csv` from row 635 before 3510 as "sines",
  `ur-20_01_17-ptp_10_points.csv` from 700 before 4200 as "moves", both of shamilmamedov/dynamic_calibration:
  time, q from column 2, currents from 14, times 10, 10.6956, 8.4566, 9.0029, 9.48 and 10.1232 N m/A, which
  its authors estimated; its URDF.

Errors are ‖τ − τ̂‖/‖τ‖ of recorded torques over all samples of the log that the fit has not seen, and over
those inside: without the first and the last half second. They are compared with the plain fit of the same
version, or with the column that `--basis` names.

Curves are of geared arms: the friction of the robot that a fit of the sines saved, against the truth, at the
speeds and loads of the log, from 2 % of each joint's greatest speed on.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import rubbing_arms
from rich.console import Console
from rich.table import Table
from run import KEPT, provenance

from armdyn import Fit, Log, Robot, identify

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent / "build" / "benchmarks" / "carry_over"
DATA = Path(os.environ.get("ARMDYN_DATA", HERE.parent.parent / "shared" / "data"))
FITS = {"plain": {"friction": "plain", "damping": 0.0}, "default": {}}
SHARES = {"plain": (0.0,), "default": (0.0, 0.5, 1.0)}  # of the friction that a geared arm's description has
END = 0.5  # s
SLOW = 0.02  # of the greatest speed: slower samples do not count for curves
WORSE, BETTER, ENDS, CURVE = 1.01, 0.92, 1.1, 0.1  # what is to be reached
COVERED = (0.9, 0.99)  # likewise


@dataclass(frozen=True)
class Job:
    """One fit, and what is measured with it."""

    kind: str  # "pairs" or "curves"
    code: str  # the name of the version of armdyn
    fit: str  # of FITS
    arm: str
    given: str  # the log of the fit; of curves, the share of the friction that is described

    @property
    def key(self) -> tuple[str, ...]:
        return (self.kind, self.code, self.fit, self.arm, self.given)


@dataclass(frozen=True)
class Subject:
    """An arm with its logs."""

    robot: Robot
    logs: dict[str, Log]
    rich: bool | None = None  # whether there is more than plain friction, where that is known
    floors: dict[str, float] | None = None  # the error of the true law of friction, likewise


# ---- where logs come from ----------------------------------------------------------------------------------


def subject(name: str, places: dict[str, Path]) -> Subject:
    """The arm of this name: "arm 03", "given panda", or "public …"."""
    kind, _, own = name.partition(" ")
    if kind == "arm":
        made = rubbing_arms.arm(int(own))
        found = rubbing_arms.recorded(made, places["simulated"])
        floors = {x: relative(one.log.tau, one.lawful, slice(None)) for x, one in found.items()}
        return Subject(made.described(), {x: y.log for x, y in found.items()}, made.traits.rich, floors)
    return given(own, places["data"]) if kind == "given" else of_folder(places["logs"] / own)


GIVEN = {"tx40": "tx40", "ur10": "ur10", "panda": "panda", "kuka": "lwr4"}
STANDS = {"tx40": 7.5}  # s from which on the arm stands still
CUT = 0.7  # of a recording that is alone: two logs, before and after


def given(name: str, data: Path) -> Subject:
    """The logs of the protocol: three of the KUKA; the others cut in two."""
    spec = spec_from_file_location("protocol", data / "protocol.py")
    assert spec is not None
    assert spec.loader is not None
    protocol = module_from_spec(spec)
    spec.loader.exec_module(protocol)
    found = protocol.load("kuka_13_2" if name == "kuka" else name)
    edges = [*found.starts, len(found.t)]
    whole = [Log(found.t[a:b], found.q[a:b], found.tau[a:b]) for a, b in pairwise(edges)]
    if len(whole) == 1:
        whole = cut(whole[0], STANDS.get(name))
        return Subject(Robot.load(GIVEN[name]), dict(zip(("first", "last"), whole, strict=True)))
    return Subject(Robot.load(GIVEN[name]), dict(zip("132", whole, strict=True)))


def cut(log: Log, end: float | None = None) -> list[Log]:
    start = float(log.t[0])
    end = float(log.t[-1]) if end is None else start + end
    middle = start + CUT * (end - start)
    return [log.between(start, middle), log.between(middle, end)]


def of_folder(folder: Path) -> Subject:
    """An arm's description and its logs, named after their files."""
    named = folder / "robot.txt"
    kinds = [folder / f"robot.{x}" for x in ("toml", "urdf", "xml")]
    path = named.read_text("utf-8").strip() if named.is_file() else next(x for x in kinds if x.is_file())
    logs = {x.stem: Log.load(x) for x in sorted(folder.iterdir()) if x.suffix in (".npz", ".csv", ".parquet")}
    if len(logs) == 1:
        logs = dict(zip(("first", "last"), cut(next(iter(logs.values()))), strict=True))
    return Subject(Robot.load(path), logs)


def names(places: dict[str, Path], numbers: list[int], console: Console) -> dict[str, list[str]]:
    """The arms and their logs."""
    found = {f"arm {k:02d}": list(rubbing_arms.MOTIONS) for k in numbers}
    if (places["data"] / "protocol.py").is_file():
        found |= {f"given {x}": ["1", "3", "2"] if x == "kuka" else ["first", "last"] for x in GIVEN}
    else:
        console.print(f"no protocol.py at {places['data']}: the pairs of these logs are left out")
    if places["logs"].is_dir():
        for folder in sorted(x for x in places["logs"].iterdir() if x.is_dir()):
            found[f"public {folder.name}"] = list(of_folder(folder).logs)
    else:
        console.print(f"no folder {places['logs']}: the pairs of public logs are left out")
    return found


# ---- what is measured --------------------------------------------------------------------------------------


def relative(tau: np.ndarray, predicted: np.ndarray, at: Any) -> float:
    known = np.isfinite(tau[at])
    return float(np.linalg.norm((tau[at] - predicted[at])[known]) / np.linalg.norm(tau[at][known]))


def measured(job: Job, places: dict[str, Path]) -> list[dict[str, Any]]:
    """The rows of a job."""
    warnings.simplefilter("ignore")
    head = {"kind": job.kind, "code": job.code, "fit": job.fit, "arm": job.arm, "given": job.given}
    start = perf_counter()
    try:
        rows = pairs(job, places) if job.kind == "pairs" else curves(job, places)
    except Exception as problem:  # a fit that is refused is a result, too
        rows = [{"error": f"{type(problem).__name__}: {problem}"}]
    return [head | row | {"seconds": round(perf_counter() - start, 2)} for row in rows]


def pairs(job: Job, places: dict[str, Path]) -> list[dict[str, Any]]:
    """The errors of one fit on the other logs of its arm."""
    it = subject(job.arm, places)
    fit = identify(it.robot, it.logs[job.given], progress=False, **FITS[job.fit])
    rows = []
    for name, log in it.logs.items():
        if name == job.given:
            continue
        predicted, tau = fit.predict(log), torques(fit, log)
        inside = (log.t > log.t[0] + END) & (log.t < log.t[-1] - END)
        rows.append(
            {
                "tried": name,
                "all": relative(tau, predicted, slice(None)),
                "inside": relative(tau, predicted, inside),
                "training": fit.training_error,
                "rich": it.rich,
                "floor": None if it.floors is None else it.floors[name],
                "covered": covered(fit, log, tau),
                "friction": str(fit.model.friction),
                "cutoff": fit.model.problem.cutoff,
                "joints": [
                    relative(tau[:, [j]], predicted[:, [j]], slice(None)) for j in range(tau.shape[1])
                ],
            }
        )
    return rows


def covered(fit: Fit, log: Log, tau: np.ndarray) -> float:
    """The share of known torques that lie in intervals of 95 %."""
    found = fit.predict(log, interval=0.95)
    known = np.isfinite(tau)
    return float((np.abs(tau - found.tau) <= found.half)[known].mean())


def torques(fit: Fit, log: Log) -> np.ndarray:
    """(N, n) at the joints, NaN where none was measured."""
    if log.tau is not None:
        return np.asarray(log.tau)
    record = log.at_joints(fit.described)
    tau = np.full((len(log), record.n), np.nan)
    tau[record.rows] = np.where(record.usable, record.tau, np.nan)
    return tau


def curves(job: Job, places: dict[str, Path]) -> list[dict[str, Any]]:
    """How far the friction of a saved robot is from the truth, joint by joint, relative to its size."""
    made = rubbing_arms.geared(int(job.arm.split()[1]))
    record = rubbing_arms.recorded(made, places["simulated"])["sines"]
    fit = identify(made.described(float(job.given)), record.log, progress=False, **FITS[job.fit])
    with tempfile.TemporaryDirectory() as folder:
        fit.robot.save(Path(folder) / "fitted.toml")
        saved = Robot.load(Path(folder) / "fitted.toml")
    truth, found = made.rubbing.at(record.speed, record.load), friction(saved, record.speed, record.load)
    slowest = SLOW * np.quantile(np.abs(record.speed), 0.999, axis=0)
    row: dict[str, Any] = {"friction": str(fit.model.friction), "training": fit.training_error}
    row |= {"largest": [], "rms": [], "slow": []}
    for j, (f, g) in enumerate(zip(truth.T, found.T, strict=True)):
        speed = np.abs(record.speed[:, j])
        at, slow = speed >= slowest[j], (speed < slowest[j]) & (speed > 0)
        row["largest"].append(float(np.abs(g - f)[at].max() / np.abs(f[at]).max()))
        row["rms"].append(float(np.linalg.norm((g - f)[at]) / np.linalg.norm(f[at])))
        row["slow"].append(float(np.linalg.norm((g - f)[slow]) / np.linalg.norm(f[slow])))
    return [row]


def friction(robot: Robot, speed: np.ndarray, load: np.ndarray) -> np.ndarray:
    """Friction (N, n) at joint speeds, with |τ_r| given."""
    found = np.zeros_like(speed)
    for surface in robot.mechanism.friction:
        j = surface.joint
        found[:, j] += np.asarray(surface.torque(speed[:, j], None, load[:, j]), float)
    return found


# ---- run, and kept as it comes -----------------------------------------------------------------------------


def results(folder: Path) -> list[dict[str, Any]]:
    """The rows of the file, the latest of each job; errors only where nothing else is known."""
    path = folder / "results.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    rows = [json.loads(line) for line in lines if line.endswith("}")]
    found = {(*key_of(row), row.get("tried", "")): row for row in rows}
    fine = {key_of(row) for row in rows if "error" not in row}
    return [row for row in found.values() if "error" not in row or key_of(row) not in fine]


def key_of(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("kind", "code", "fit", "arm", "given"))


def jobs(asked: argparse.Namespace, places: dict[str, Path], console: Console) -> Iterator[Job]:
    numbers = chosen(asked.arms)
    fits = asked.fits.split(",")
    if asked.only != "curves":
        for arm, logs in names(places, numbers, console).items():
            if asked.only in ("pairs", "all", arm.split()[0]):
                yield from (Job("pairs", asked.code, fit, arm, log) for fit in fits for log in logs)
    if asked.only in ("curves", "all"):
        for k in numbers:
            arm = f"geared {k:02d}"
            yield from (Job("curves", asked.code, x, arm, str(y)) for x in fits for y in SHARES[x])


def chosen(text: str) -> list[int]:
    """ "0-3,7" as numbers."""
    ends = [[int(x) for x in part.split("-")] for part in text.split(",")]
    return [k for pair in ends for k in range(pair[0], pair[-1] + 1)]


def work(todo: list[Job], places: dict[str, Path], folder: Path, processes: int, console: Console) -> None:
    """Every job, its rows appended to the file as they come."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        ProcessPoolExecutor(processes) as pool,
        (folder / "results.jsonl").open("a", encoding="utf-8") as file,
    ):
        waiting = [pool.submit(measured, job, places) for job in todo]
        for count, done in enumerate(as_completed(waiting), 1):
            rows = done.result()
            file.write("".join(json.dumps(row) + "\n" for row in rows))
            file.flush()
            console.print(f"{count}/{len(todo)} {line_of(rows[0])}", highlight=False, soft_wrap=True)


def line_of(row: dict[str, Any]) -> str:
    text = f"{row['code']} {row['fit']}: {row['arm']}, {row['given']}, {row['seconds']:.0f} s"
    if "error" in row:
        return f"{text}: {row['error']}"
    if row["kind"] == "curves":
        return f"{text}: largest {100 * max(row['largest']):.0f} %, rms {100 * max(row['rms']):.0f} %"
    return f"{text}: {100 * row['all']:.2f} % of {row['tried']}"


# ---- tables ------------------------------------------------------------------------------------------------


def tables(rows: list[dict[str, Any]], console: Console, basis: str) -> dict[str, Any]:
    """Prints both tables; the figures that count."""
    found: dict[str, Any] = {}
    if ours := [row for row in rows if row["kind"] == "pairs"]:
        found["pairs"] = table_of_pairs(ours, console, basis)
    if ours := [row for row in rows if row["kind"] == "curves"]:
        found["curves"] = table_of_curves(ours, console)
    return found


def table_of_pairs(rows: list[dict[str, Any]], console: Console, basis: str) -> dict[str, Any]:
    by: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    for row in rows:
        if "error" not in row:
            pair = (row["arm"], row["given"], row["tried"])
            by.setdefault(pair, {})[f"{row['code']} {row['fit']}"] = row
        else:
            console.print(line_of(row), style="red")
    names = {name for pair in by.values() for name in pair}
    columns = sorted(names, key=lambda x: x.split()[::-1], reverse=True)
    table = Table("arm", "fitted to", "tried on", "rich", "truth", title="Errors over all samples, %")
    for name in columns:
        table.add_column(name, justify="right")
        table.add_column("of plain", justify="right")
        table.add_column("all/inside", justify="right")
    lists = ("ratios", "rich", "simulated", "ends", "covered")
    summary: dict[str, Any] = {x: {kind: [] for kind in lists} for x in columns}
    for pair, fits in sorted(by.items()):
        some = next(iter(fits.values()))
        cells = [*pair, {True: "yes", False: "no", None: "?"}[some["rich"]]]
        cells.append("" if some["floor"] is None else f"{100 * some['floor']:.2f}")
        for name in columns:
            row, base = fits.get(name), fits.get(basis or f"{name.split()[0]} plain")
            if row is None:
                cells += ["", "", ""]
                continue
            ends = row["all"] / row["inside"]
            mine = summary[name]
            mine["ends"].append((ends, " ".join(pair)))
            if some["rich"] is not None and "covered" in row:
                mine["covered"].append(row["covered"])
            ratio = None if base is None else row["all"] / base["all"]
            if ratio is not None:
                mine["ratios"].append((ratio, " ".join(pair)))
                if some["rich"] is not False:
                    mine["rich"].append(ratio)
                if some["rich"]:
                    mine["simulated"].append((ratio, pair[1]))
            cells += [f"{100 * row['all']:.2f}", "" if ratio is None else f"{ratio:.3f}", f"{ends:.2f}"]
        table.add_row(*cells)
    console.print(table)
    return {name: told(name, mine, console) for name, mine in summary.items()}


def told(name: str, mine: dict[str, Any], console: Console) -> dict[str, Any]:
    worst = max(mine["ratios"], default=(float("nan"), ""))
    ends = max(mine["ends"])
    found = {
        "pairs": len(mine["ratios"]),
        "rich_pairs": len(mine["rich"]),
        "median_rich": _median(mine["rich"]),
        "median_rich_simulated": _median([x for x, _ in mine["simulated"]]),
    }
    for given in rubbing_arms.MOTIONS:
        found[f"median_rich_from_{given}"] = _median([x for x, own in mine["simulated"] if own == given])
    found |= {
        "worse": sum(x > WORSE for x, _ in mine["ratios"]),
        "worst": worst[0],
        "worst_pair": worst[1],
        "ends": sum(x > ENDS for x, _ in mine["ends"]),
        "worst_ends": ends[0],
        "worst_ends_pair": ends[1],
    }
    texts = [
        f"median {found['median_rich']:.3f} of plain over {len(mine['rich'])} pairs of real arms and of",
        "simulated ones with more than plain friction",
        f"({found['median_rich_simulated']:.3f} over the simulated ones:",
        f"{found['median_rich_from_sines']:.3f} of fits of sines, {found['median_rich_from_moves']:.3f} of",
        f"fits of moves; to reach: {BETTER});",
        f"worst {worst[0]:.3f} ({worst[1]}), {found['worse']} of {found['pairs']} above {WORSE};",
        f"all/inside at most {ends[0]:.2f} ({ends[1]}), {found['ends']} above {ENDS}",
    ]
    share = np.array(mine["covered"])
    if len(share):
        good = int(((share >= COVERED[0]) & (share <= COVERED[1])).sum())
        found |= {"intervals": len(share), "intervals_good": good}
        texts.append(
            f"; intervals of 95 % cover {100 * share.min():.1f} to {100 * share.max():.1f} %"
            f" of simulated torques, {good} of {len(share)} between 90 and 99 %"
        )
    console.print(f"{name}: {' '.join(texts)}", highlight=False)
    return found


def _median(ratios: list[float]) -> float:
    return float(np.median(ratios)) if ratios else float("nan")


def table_of_curves(rows: list[dict[str, Any]], console: Console) -> dict[str, Any]:
    by: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = {}
    for row in rows:
        if "error" in row:
            console.print(line_of(row), style="red")
        else:
            by.setdefault((row["code"], row["fit"]), {}).setdefault(row["given"], []).append(row)
    table = Table(
        title="Friction of the saved robot against the truth, % of its size, worst joint of each arm"
    )
    for name in ("code", "fit", "described"):
        table.add_column(name)
    for name in (
        "arms",
        "largest: median",
        "worst",
        "rms: median",
        "worst",
        "arms within 10 %",
        "by rms",
        "joints within",
    ):
        table.add_column(name, justify="right")
    found: dict[str, Any] = {}
    for (code, fit), shares in sorted(by.items()):
        for share, own in sorted(shares.items()):
            largest, rms = (np.array([max(row[x]) for row in own]) for x in ("largest", "rms"))
            joints = np.concatenate([row["largest"] for row in own])
            row = {
                "arms": len(own),
                "largest_median": float(np.median(largest)),
                "largest_worst": float(largest.max()),
                "rms_median": float(np.median(rms)),
                "rms_worst": float(rms.max()),
                "arms_within": int((largest <= CURVE).sum()),
                "arms_within_rms": int((rms <= CURVE).sum()),
                "joints_within": float((joints <= CURVE).mean()),
            }
            found[f"{code} {fit} {share}"] = row
            percent = [
                f"{100 * row[x]:.1f}" for x in ("largest_median", "largest_worst", "rms_median", "rms_worst")
            ]
            within = [
                str(row["arms_within"]),
                str(row["arms_within_rms"]),
                f"{100 * row['joints_within']:.0f} %",
            ]
            table.add_row(code, fit, f"{100 * float(share):.0f} %", str(len(own)), *percent, *within)
    console.print(table)
    return found


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--code", default="new", help="name of this version of armdyn in the tables")
    parser.add_argument("--fits", default="plain,default", help="plain, default, or both")
    parser.add_argument("--arms", default=f"0-{rubbing_arms.COUNT - 1}", help="simulated arms, as 0-3,7")
    parser.add_argument("--only", default="all", help="pairs, curves, or the pairs of: arm, given, public")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of results and simulated logs")
    parser.add_argument(
        "--data", type=Path, default=DATA / "identification", help="folder of protocol.py and its logs"
    )
    parser.add_argument("--logs", type=Path, default=DATA / "public", help="folder of further arms")
    parser.add_argument("--table", action="store_true", help="print what is there, and run nothing")
    parser.add_argument("--keep", action="store_true", help="save the results for the documentation")
    parser.add_argument("--basis", default="", help="column that all are compared with, such as 'old plain'")
    return parser.parse_args()


def main() -> None:
    asked, console = options(), Console(width=None if os.isatty(1) else 200)
    warnings.simplefilter("ignore")
    places = {"data": asked.data, "logs": asked.logs, "simulated": asked.folder / "simulated"}
    if not asked.table:
        done = {key_of(row) for row in results(asked.folder) if "error" not in row}
        todo = [job for job in jobs(asked, places, console) if job.key not in done]
        work(todo, places, asked.folder, asked.processes, console)
    rows = results(asked.folder)
    found = tables(rows, console, asked.basis)
    record = {"benchmark": "Models that carry over", **provenance(), "figures": found, "rows": rows}
    for folder in (asked.folder, *([KEPT / "fits"] if asked.keep else [])):
        (folder / "carry_over.json").write_text(json.dumps(rounded(record), indent=1) + "\n", "utf-8")


def rounded(x: Any) -> Any:
    """The same with numbers of five digits, without what each joint has."""
    if isinstance(x, dict):
        return {k: rounded(v) for k, v in x.items() if k not in ("friction", "joints")}
    if isinstance(x, list):
        return [rounded(v) for v in x]
    return float(f"{x:.5g}") if isinstance(x, float) else x


if __name__ == "__main__":
    main()
