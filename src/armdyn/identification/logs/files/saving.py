"""Writing a log to a file, in SI units."""

from __future__ import annotations

import json
import secrets
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armdyn.expression import ArmdynError
from armdyn.identification.errors import IdentificationError, IdentificationWarning
from armdyn.identification.logs.files.npz_source import CONSTANTS
from armdyn.identification.logs.files.parquet_source import CONSTANTS_KEY, arrow
from armdyn.motion.trajectories import csv_files

if TYPE_CHECKING:
    from armdyn.identification.logs.log import Log


def save(log: Log, path: str | Path) -> None:
    """To a .csv, .npz or .parquet file, which is replaced whole."""
    place = Path(path)
    writers = {".csv": _csv, ".npz": _npz, ".parquet": _parquet}
    writer = writers.get(place.suffix.lower())
    if writer is None:
        raise IdentificationError(f"{path}: the name of a log to save ends with {', '.join(writers)}")
    writer(log, place)


def _constants(log: Log) -> dict[str, Any]:
    return {name: getattr(log, name) for name in CONSTANTS if getattr(log, name) is not None}


def _csv(log: Log, path: Path) -> None:
    lost = [name for name in _constants(log) if name != "name"]
    try:
        csv_files.write(path, log.t, {name: getattr(log, name) for name in log.channels[1:]})
    except ArmdynError as problem:
        raise IdentificationError(str(problem)) from None
    if lost:
        warnings.warn(
            f"{path}: a CSV file does not hold {' and '.join(lost)}: give them to Log.load again, "
            "or save the log as .npz or .parquet",
            IdentificationWarning,
            stacklevel=4,
        )


def _npz(log: Log, path: Path) -> None:
    arrays = {name: getattr(log, name) for name in log.channels} | _constants(log)
    _replace(path, lambda temporary: _savez(temporary, arrays))


def _savez(path: Path, arrays: dict[str, Any]) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)


def _parquet(log: Log, path: Path) -> None:
    pyarrow = arrow(path)
    columns = {"t": log.t}
    for name in log.channels[1:]:
        columns |= {f"{name}{i + 1}": x for i, x in enumerate(getattr(log, name).T)}
    constants = {name: np.asarray(x).tolist() for name, x in _constants(log).items()}
    table = pyarrow.table(columns).replace_schema_metadata({CONSTANTS_KEY: json.dumps(constants)})
    _replace(path, lambda temporary: pyarrow.parquet.write_table(table, temporary))


def _replace(path: Path, write: Any) -> None:
    """Write beside the file, then put it in its place."""
    temporary = path.with_name(f".armdyn-{secrets.token_hex(6)}")
    try:
        write(temporary)
        temporary.replace(path)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise IdentificationError(f"cannot write '{path}': {reason}") from None
    finally:
        temporary.unlink(missing_ok=True)
