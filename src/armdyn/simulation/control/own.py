"""What the classes of users may get wrong in a controller of their own, said in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from armdyn.expression import shown
from armdyn.simulation.control.laws import FOLLOWERS, POSITIONS, Given, Scalars
from armdyn.simulation.errors import SimulationError, check

TAKEN = ("q", "qd", "memory")  # names of what a law is given besides constants and signals
ALLOWED = (
    "a law is recorded: it may use + - * / and abs, and of its scalars the methods .sin() .cos() .sqrt() "
    ".exp() .sign() .minimum(x) .maximum(x), and .select(a, b), a where the scalar is positive, instead of if"
)


def arrays(where: str, given: Any, loops: bool = False) -> dict[str, np.ndarray]:
    """Constants or signals by name, as arrays of floats (..., size)."""
    if not isinstance(given, Mapping):
        raise SimulationError(f"{where}: expected arrays by name, found {type(given).__name__}")
    taken = (*TAKEN, FOLLOWERS, POSITIONS) if loops else TAKEN
    for name in given:
        if not isinstance(name, str) or name in taken:
            raise SimulationError(f"{where}: found the name {shown(name)}; {', '.join(taken)} are taken")
    return {name: columns(f"{where}: {name}", x) for name, x in given.items()}


def columns(where: str, x: Any) -> np.ndarray:
    """Finite floats (..., size)."""
    found = check.numbers(where, x)
    if not found.ndim:
        raise SimulationError(f"{where}: expected (..., size), found one number; write [{found:g}]")
    return found


def results(where: str, found: Any, n: int, m: int) -> tuple[Scalars, Scalars]:
    """Torques (n) and the next memory (m) from what a law returns, both as lists."""
    try:
        lists = [list(part) for part in (found if m else (found,))]
    except TypeError:
        lists = []
    nested = any(isinstance(x, list | tuple | np.ndarray) for one in lists for x in one)
    sizes = [] if nested else [len(one) for one in lists]
    if sizes != ([n, m] if m else [n]):
        wanted = f"{n} torques and {m} numbers of the next memory" if m else f"{n} torques"
        text = " and ".join(map(str, sizes)) if sizes else type(found).__name__
        raise SimulationError(f"{where}: expected {wanted}, found {text}")
    return lists[0], lists[1] if m else []


def explain(where: str, error: TypeError | KeyError, given: Given) -> NoReturn:
    """Raise an error with words for what cannot be recorded and for names that were not given."""
    name = error.args[0] if error.args else None
    if isinstance(error, KeyError) and name not in given:
        raise SimulationError(f"{where}: found no {shown(name)}; given: {', '.join(given)}") from error
    if "Recorder" in str(error):
        raise SimulationError(f"{where}: {error}; {ALLOWED}") from error
    raise error
