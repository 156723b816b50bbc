"""Cases of damaged logs: files and arrays with values, times, names and bytes spoiled."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import numpy as np

from armdyn import Log, Robot
from fuzz.xml_files import spoil_bytes

ROBOT = Robot.load("planar")
STRANGE = (np.nan, np.inf, -np.inf, 0.0, 1e308, -1e308, 1e-320, 1e6)
NAMES = (
    "t",
    "time",
    "q1",
    "q2",
    "q3",
    "tau1",
    "tau2",
    "qd1",
    "qd2",
    "q1 [deg]",
    "tau1 [mNm]",
    "",
    "x",
    "0",
    "q\x00",
)
UNITS = ("deg", "mm", "ms", "turn", 2.0, None, "", ["deg", "rad"], "mNm", -1, np.nan)
PLACES = ("t", "q1", "q*", ["q1", "q2"], "tau?", 0, 7, -1, None, [], [None], "*", {"a": 1})


def arrays(rng: random.Random) -> dict[str, np.ndarray]:
    """A motion of two joints, with some of its values, rows or shapes spoiled."""
    rows = rng.choice((2, 3, 9, 40, 300))
    t = np.arange(rows) * rng.choice((1e-9, 1e-3, 0.01, 1.0))
    w = np.outer(t, [1.0, 2.0])
    found = {"t": t, "q": np.sin(w), "tau": np.cos(3 * w)}
    if rng.random() < 0.3:
        found |= {"qd": np.cos(w) * [1, 2]}
    for _ in range(rng.randint(0, 4)):
        x = found[rng.choice(sorted(found))]
        i = rng.randrange(rows)
        j = min(rows, i + rng.choice((1, 1, 2, 10, 100)))
        kind = rng.randrange(6)
        if kind == 0:
            x[i:j] = rng.choice(STRANGE)
        elif kind == 1:
            x[i:j] = x[i]
        elif kind == 2:
            x[i:j] += rng.choice((1.0, -2 * np.pi, 1e-9, 100.0))
        elif kind == 3:
            x[i:j] = x[i:j][::-1].copy()
        elif kind == 4:
            np.clip(x, -0.5, 0.4, out=x)
        else:
            x *= rng.choice((1e-9, 1e9, 0.0, 1e300))
    return found


def _text(rng: random.Random, found: dict[str, np.ndarray]) -> str:
    table = np.column_stack(list(found.values()))
    names = ["t", *(f"{name}{k + 1}" for name in list(found)[1:] for k in range(2))]
    if rng.random() < 0.3:
        names[rng.randrange(len(names))] = rng.choice(NAMES)
    sign = rng.choice((",", ",", ";", "\t", " "))
    text = "\n".join([sign.join(names), *(sign.join(map(repr, row)) for row in table.tolist())])
    return text + rng.choice(("\n", "", "\n\n", "\n# end"))


def _written(rng: random.Random, folder: Path) -> Path:
    found, kind = arrays(rng), rng.choice((".csv", ".csv", ".npz", ".parquet"))
    path = folder / f"log{kind}"
    if kind == ".csv":
        path.write_text(_text(rng, found), "utf-8")
    elif kind == ".npz":
        if rng.random() < 0.3:
            name = rng.choice(sorted(found))
            found[name] = rng.choice(
                (found[name].T, found[name][1:], found[name].astype(int), found[name] + 1j)
            )
        with np.errstate(invalid="ignore"):
            np.savez(path, **found)
    else:
        Log(**found).save(path)
    if rng.random() < 0.3:
        path.write_bytes(spoil_bytes(rng, path.read_bytes()))
    return path


def log_case(number: int) -> str:
    rng = random.Random(f"log {number}")
    options = {}
    if rng.random() < 0.15:
        options["units"] = {rng.choice(("t", "q", "tau", "x")): rng.choice(UNITS)}
    if rng.random() < 0.15:
        options["columns"] = {name: rng.choice(PLACES) for name in ("t", "q", "tau")}
    with tempfile.TemporaryDirectory() as folder:
        with np.errstate(all="ignore"):  # making the case, not reading it
            path = _written(rng, Path(folder))
        log = Log.load(path, **options)
        blocks = [block.log[block.core] for block in Log.open(path, **options).blocks(50, 5)]
    if sum(map(len, blocks)) != len(log):
        return "foreign exception: blocks are not the file"
    str(log), log.rate, log.duration, [part.n for part in log.split()]
    record = log.at_joints(ROBOT, delay=rng.choice((0.0, 0.0, 0.0, 0.02, "estimate")))
    whole = np.isfinite(record.q).all() and np.isfinite(record.tau).all() and (np.diff(record.t) > 0).all()
    return "accepted" if whole else "foreign exception: a record with holes"
