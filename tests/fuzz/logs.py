"""Cases of damaged logs: files and arrays with values, times, names and bytes spoiled."""

from __future__ import annotations

import random
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pyarrow.parquet

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


KINDS = ("<f8", ">f4", "<i2", "|O", "<U400000000", "<U3", "<M8[ns]", "<f16", "x", "V8", "<f8,<f8", "\\d")
SHAPES = (
    "(40,)", "(40, 2)", "(4611686018427387904,)", "(40, 99999999)", "(-1,)", "()", "(0, 0)", "(True,)",
    "None", "(1, 2, 3)", "40", "(" * 4000, "-" * 4000 + "1", "(9**9**9,)", "[40]", "(40.0,)",
)  # fmt: skip
METADATA = (
    b"{}", b"[]", b"null", b"5", b'"a"', b"", b"[" * 5000, b'{"a":' * 5000, b"\xff\xfe", b'{"name": 5}',
    b'{"name": "\\ud800\\u001b"}', b'{"t": 1}', b'{"delay": 1e400}', b'{"delay": NaN}', b'{"delay": true}',
    b'{"transmission": [[1, 2], [3]]}', b'{"transmission": [1e308, 1e-308]}', b'{"joint_zeros": {"a": []}}',
    b'{"torque_constant": null, "first": 3}', b'{"delay": ' + b"9" * 5000 + b"}", b'{"wrench_frame": "tip"}',
    b'{"wrench_frame": []}',
)  # fmt: skip


def _lying(rng: random.Random, path: Path) -> None:
    """Write an array of the file anew, with a header that says anything."""
    name = rng.choice(("t", "q", "tau", "name", "delay", "transmission", "x", "q\udcff"))
    descr, shape = rng.choice(KINDS), rng.choice(SHAPES)
    head = f"{{'descr': '{descr}', 'fortran_order': {rng.random() < 0.3}, 'shape': {shape}}}\n".encode()
    length = rng.choice((len(head), len(head), 0, 10_000, 0xFFFF))
    start = (b"\x01\x00" + length.to_bytes(2, "little"), b"\x02\x00" + (length << 14).to_bytes(4, "little"))
    data = bytes(rng.choice((0, 8, 640, 5000)))
    with zipfile.ZipFile(path) as file:
        kept = {x: file.read(x) for x in file.namelist() if x != f"{name}.npy"}
    method = rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(path, "w", method) as file:
        for member, content in kept.items():
            file.writestr(member, content)
        file.writestr(
            f"{name}.npy".encode("utf-8", "replace").decode(), b"\x93NUMPY" + rng.choice(start) + head + data
        )


def arrays(rng: random.Random) -> dict[str, np.ndarray]:
    """A motion of two joints, with some of its values, rows or shapes spoiled."""
    rows = rng.choice((2, 3, 9, 40, 300))
    t = np.arange(rows) * rng.choice((1e-9, 1e-3, 0.01, 1.0))
    w = np.outer(t, [1.0, 2.0])
    found = {"t": t, "q": np.sin(w), "tau": np.cos(3 * w)}
    if rng.random() < 0.3:
        found |= {"qd": np.cos(w) * [1, 2]}
    if rng.random() < 0.2:
        found |= {"wrench": np.sin(np.outer(t, np.arange(6)) + 1)}
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
    names = ["t", *(f"{name}{k + 1}" for name in list(found)[1:] for k in range(found[name].shape[1]))]
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
        if rng.random() < 0.4:
            _lying(rng, path)
    else:
        Log(**found).save(path)
        if rng.random() < 0.4:
            table = pyarrow.parquet.read_table(path).replace_schema_metadata(
                {b"armdyn": rng.choice(METADATA)}
            )
            pyarrow.parquet.write_table(table, path)
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
    known = [x for x in (record.q, record.tau, record.contact) if x is not None]
    whole = all(np.isfinite(x).all() for x in known) and (np.diff(record.t) > 0).all()
    return "accepted" if whole else "foreign exception: a record with holes"
