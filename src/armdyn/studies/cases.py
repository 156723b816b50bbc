"""Tables of cases: products of ranges, random draws, designs of experiments, and files.

A column is a symbol of the robot, a number of its payload ("payload.mass", "payload.x", …), a limit of a
joint ("limits.elbow.torque"), the duration of the motion ("motion.duration"), or the user's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from scipy.stats import qmc

from armdyn.expression import Expression, shown
from armdyn.model.edit import declared
from armdyn.names import listed, unused
from armdyn.robot import Robot
from armdyn.studies.errors import StudyError, check
from armdyn.tables import open_csv, open_table, read_parquet

Drawn: TypeAlias = Literal["random", "sobol", "latin", "halton"]

MOST = 100_000_000  # cases
DURATION = "motion.duration"  # [s]
PAYLOAD = ("mass", "x", "y", "z", "xx", "xy", "xz", "yy", "yz", "zz")  # tensor about the centre of mass
LIMITS = ("velocity", "acceleration", "jerk", "torque")
READ = 65_536  # rows of a file at once


@dataclass(frozen=True, eq=False)
class Cases:
    """A table with a row for each case: columns (n,) of numbers, or of text, by name.

    `design` says how it was drawn, where later steps must know: Sobol indices can be had of tables that
    `Cases.saltelli` draws.
    """

    columns: dict[str, np.ndarray]
    design: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __repr__(self) -> str:
        return f"<Cases: {len(self)} of {listed(list(self.columns))}>"

    # ---- making one --------------------------------------------------------------------------------------

    @classmethod
    def of(cls, table: Any) -> Cases:
        """From a Cases, columns by name (a dictionary, a DataFrame) or a CSV, NPZ or Parquet file."""
        if isinstance(table, Cases):
            return table
        if isinstance(table, str | Path):
            return cls(_read(Path(table)))
        if not isinstance(table, Mapping) and not (hasattr(table, "columns") and hasattr(table, "keys")):
            raise StudyError(
                f"table: found {shown(table)}; columns by name, a DataFrame, Cases or a CSV, NPZ or Parquet "
                "file is expected"
            )
        columns = {str(name): _column(str(name), table[name]) for name in table}
        sizes = {name: len(x) for name, x in columns.items()}
        if len(set(sizes.values())) > 1:
            few, many = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
            raise StudyError(
                f"table: column {shown(few)} has {sizes[few]} rows and {shown(many)} has {sizes[many]}; "
                "as many are expected"
            )
        return cls(columns)

    @classmethod
    def product(cls, values: Mapping[str, Any]) -> Cases:
        """Every combination of the values of each column; the last column changes fastest."""
        columns = {name: _column(name, values[name]) for name in _named(values)}
        sizes = [len(x) for x in columns.values()]
        _check_count(float(np.prod(np.array(sizes, float))))
        places = np.unravel_index(np.arange(int(np.prod(sizes))), sizes)
        return cls({name: x[i] for (name, x), i in zip(columns.items(), places, strict=True)})

    @classmethod
    def draw(cls, ranges: Mapping[str, Any], n: int, kind: Drawn = "random", *, seed: int = 0) -> Cases:
        """n cases drawn from ranges: {"a2": (0.3, 0.5), "m1": scipy.stats.norm(10, 0.2)}.

        `kind`: "random", or a design of experiments that fills the ranges evenly: "sobol" (n a power of
        two), "latin" (a Latin hypercube), "halton". A range is (low, high), or a distribution of SciPy.
        """
        check.one_of("kind", kind, *get_args(Drawn))
        n, names = _count("n", n), _named(ranges)
        rng = np.random.default_rng(check.whole_number("seed", seed))
        if kind == "random":
            unit = rng.random((n, len(names)))
        elif kind == "sobol":
            unit = _sobol(n, len(names), rng)
        else:
            sampler = qmc.LatinHypercube if kind == "latin" else qmc.Halton
            unit = sampler(len(names), seed=rng).random(n)
        return cls(_scaled(ranges, unit))

    @classmethod
    def saltelli(cls, ranges: Mapping[str, Any], n: int, *, seed: int = 0) -> Cases:
        """n (d + 2) cases of d ranges, from which Sobol indices follow; n is a power of two.

        The first n rows are a table A, the next n one B that is independent of it; then, for each column, n
        rows of A with this column from B (Saltelli and others, Comput. Phys. Commun. 181 (2010) 259).
        """
        names = _named(ranges)
        d, rng = len(names), np.random.default_rng(check.whole_number("seed", seed))
        n = _count("n", n)
        _check_count(n * (d + 2))
        both = _sobol(n, 2 * d, rng)
        a, b = both[:, :d], both[:, d:]
        mixed = [np.where(np.arange(d) == i, b, a) for i in range(d)]
        design = {"kind": "saltelli", "n": n, "columns": names}
        return cls(_scaled(ranges, np.concatenate([a, b, *mixed])), design)


def _column(name: str, x: Any) -> np.ndarray:
    """Numbers (n,), or text."""
    found = np.asarray(x)
    if found.ndim == 1 and (found.dtype.kind == "U" or all(isinstance(one, str | Path) for one in found)):
        return np.array([str(one) for one in found])
    found = check.floats(f"column {shown(name)}", x, "numbers or text (n,)")
    if found.ndim != 1:
        raise StudyError(f"column {shown(name)}: found an array {found.shape}; one number a row is expected")
    return found


def _named(given: Any) -> list[str]:
    if not isinstance(given, Mapping) or not given or not all(isinstance(name, str) for name in given):
        raise StudyError(f"found {shown(given)}; columns by name are expected")
    return list(given)


def _count(name: str, n: Any) -> int:
    found = check.whole_number(name, n, least=1)
    _check_count(found)
    return found


def _check_count(n: float) -> None:
    if n > MOST:
        raise StudyError(f"the table would have {n:.3g} cases; at most {MOST:.0e} are possible")


def _sobol(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    if n & (n - 1):
        raise StudyError(
            f"n: found {n}; of a Sobol sequence a power of two is expected, such as "
            f"{1 << (n - 1).bit_length()}"
        )
    return np.asarray(qmc.Sobol(d, seed=rng).random(n))


def _scaled(ranges: Mapping[str, Any], unit: np.ndarray) -> dict[str, np.ndarray]:
    """Columns (n,) from numbers (n, d) between 0 and 1."""
    return {name: _within(name, ranges[name], u) for name, u in zip(ranges, unit.T, strict=True)}


def _within(name: str, between: Any, u: np.ndarray) -> np.ndarray:
    if hasattr(between, "ppf"):
        return np.asarray(between.ppf(u), float)
    found = check.numbers(f"range of {shown(name)}", between)
    if found.shape != (2,) or not found[0] < found[1]:
        raise StudyError(
            f"range of {shown(name)}: found {shown(between)}; (low, high) or a distribution of SciPy is "
            "expected"
        )
    return np.asarray(found[0] + (found[1] - found[0]) * u)


def _read(path: Path) -> dict[str, np.ndarray]:
    """The columns of a file: of Parquet with those of text, of other kinds the numbers."""
    if path.suffix.lower() == ".parquet":
        return {name: _column(name, x) for name, x in read_parquet(path, StudyError)[0].items()}
    file = (open_csv if path.suffix.lower() == ".csv" else open_table)(path, StudyError)
    if wide := [column.name for column in file.columns if column.width != 1]:
        raise StudyError(f"{path}: column {shown(wide[0])} has several numbers a row; one is expected")
    pieces = list(zip(*file.pieces(file.columns, READ, []), strict=True))
    return {
        column.name: np.concatenate(piece).astype(float)
        for column, piece in zip(file.columns, pieces, strict=True)
    }


# ------------------------------------------------------------------------------------------------------------
# What the columns mean for a robot.


@dataclass(frozen=True)
class Meaning:
    """What columns are: which of them are symbols of the robot, by the symbols' names, and the robot.

    Payload and limits become symbols of it, too: so all cases share its structure, and its kernels.
    """

    robot: Robot | None
    symbols: dict[str, str]  # by column


def meaning_of(robot: Robot | None, columns: Sequence[str], own: Sequence[str]) -> Meaning:
    """What the columns of a table are; one that is nothing is refused."""
    if unknown := [name for name in own if name not in columns]:
        raise StudyError(f"own: the table has no column {shown(unknown[0])}; it has {listed(list(columns))}")
    given = [name for name in columns if name not in own]
    if robot is None:
        return Meaning(None, {})
    check.robot(robot)
    symbols = {name: name for name in given if name in robot.symbols}
    loads = {name: name.removeprefix("payload.") for name in given if name.startswith("payload.")}
    limits = {name: name.removeprefix("limits.") for name in given if name.startswith("limits.")}
    for name in given:
        if name not in {*symbols, *loads, *limits, DURATION}:
            raise StudyError(_no_meaning(robot, name))
    if loads:
        robot, more = _with_payload(robot, loads)
        symbols |= more
    for name, text in limits.items():
        robot, symbol = _with_limit(robot, name, text)
        symbols[name] = symbol
    return Meaning(robot, symbols)


def _no_meaning(robot: Robot, name: str) -> str:
    known = list(robot.symbols)
    symbols = f"its symbols: {listed(known)}" if known else "it has none; robot.symbolic() has"
    return (
        f"column {shown(name)} is no symbol of {robot.name} ({symbols}); payload.mass, limits.JOINT.torque "
        f"and {DURATION} are possible, too, and own=[{name!r}] makes it a column of your own"
    )


def _with_payload(robot: Robot, loads: Mapping[str, str]) -> tuple[Robot, dict[str, str]]:
    """The robot with a payload whose numbers are symbols, 0 at first, and these by column."""
    for name, entry in loads.items():
        if entry not in PAYLOAD:
            allowed = listed([f"payload.{one}" for one in PAYLOAD])
            raise StudyError(f"column {shown(name)}: allowed are {allowed}")
    symbols = {
        entry: unused(f"payload_{entry}", robot.symbols) for entry in PAYLOAD if entry in loads.values()
    }
    if "mass" not in symbols:
        raise StudyError(f"column {shown(next(iter(loads)))}: a column payload.mass goes with it")
    entries = [symbols.get(entry, 0) for entry in PAYLOAD]
    free = Robot(declared(robot.model, [Expression.symbol(name) for name in symbols.values()]))
    heavy = free.with_symbols(dict.fromkeys(symbols.values(), 0))
    loaded = heavy.with_payload(entries[0], entries[1:4], entries[4:])
    return loaded, {name: symbols[entry] for name, entry in loads.items()}


def _with_limit(robot: Robot, name: str, text: str) -> tuple[Robot, str]:
    """The robot with a limit that is a symbol."""
    joint, _, kind = text.rpartition(".")
    if joint not in robot.joints or kind not in LIMITS:
        allowed = f"limits.JOINT.KIND with a joint of {listed(list(robot.joints))} and {listed(LIMITS)}"
        raise StudyError(f"column {shown(name)}: expected {allowed}")
    symbol = unused(f"limit_{robot.joints.index(joint) + 1}_{kind}", robot.symbols)
    free = Robot(declared(robot.model, [Expression.symbol(symbol)]))
    return free.with_symbols({symbol: 1}).with_limits({joint: {kind: symbol}}), symbol


def check_cases(cases: Cases, own: Sequence[str]) -> None:
    """Refuse a table without rows, numbers that are none, and text where a number is expected."""
    if not len(cases):
        raise StudyError("the table has no cases; one row or more is expected")
    for name, x in cases.columns.items():
        if x.dtype.kind == "U":
            if name not in own:
                raise StudyError(
                    f"column {shown(name)}: row 0 is text, {shown(str(x[0]))}; numbers are expected"
                )
        elif len(wrong := np.flatnonzero(~np.isfinite(x))):
            more = f" (and in {len(wrong) - 1} more rows)" if len(wrong) > 1 else ""
            raise StudyError(
                f"column {shown(name)}: row {wrong[0]} is {x[wrong[0]]}{more}; finite numbers are expected"
            )
