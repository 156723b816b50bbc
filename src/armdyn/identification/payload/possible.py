"""The possible body nearest to an estimate, in the metric of its standard errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from armdyn.identification.consistency.pseudo_inertia import (
    BODIES,
    SIZE,
    at_centre,
    congruence,
    pseudo_inertia,
    stacked,
)
from armdyn.identification.consistency.solver import Rows, nearest
from armdyn.identification.consistency.space import Space
from armdyn.identification.payload.estimate import ARM, Estimate

MARGIN = 1e-5
_PULL = 1e-3  # toward a ball of this mass, for what the data do not show
_BALL = 0.2 * (ARM / 2) ** 2  # Σ of a solid ball per mass and axis, radius ARM / 2


def is_possible(entries: np.ndarray) -> bool:
    """Whether a body of these ten numbers can exist."""
    P = pseudo_inertia(entries)
    size = np.sqrt(np.maximum(np.diag(P), 1e-300))
    return bool(P[3, 3] > 0 and np.linalg.eigvalsh(P / np.outer(size, size))[0] >= -1e-12)


def possible_body(found: Estimate, known: Mapping[str, Any]) -> np.ndarray:
    """The ten numbers (10,) of the possible body with the least weighted distance to the estimate."""
    mass = float(max(found.entries[0], known.get("mass", 1e-2)))
    centre = np.asarray(known.get("com", found.entries[1:4] / mass), float)
    ball = at_centre(mass, centre, mass * _BALL * np.eye(3))
    L = np.linalg.cholesky(ball)
    G = BODIES @ congruence(L)
    start = stacked(np.eye(4))  # the ball itself, which is possible and has what is known
    fixed = _fixed(known) @ G
    free = np.linalg.svd(fixed)[2][len(fixed) :].T if len(fixed) else np.eye(SIZE)
    space = Space(np.zeros(SIZE), G, start, np.zeros((0, SIZE)), np.zeros(0), 1)
    A, b = found.information @ G, found.information @ found.entries
    U, values, Vt = np.linalg.svd(A, full_matrices=False)
    rows = Rows(Vt, (U.T @ b) / values, values**2)
    x = nearest(space, start, MARGIN, free=free, start=start, rows=rows, weight=_PULL)
    return space.parameters(x)


def _fixed(known: Mapping[str, Any]) -> np.ndarray:
    """Rows (k, 10) of entries that what is known keeps."""
    rows = []
    if "mass" in known:
        rows.append(np.eye(SIZE)[0])
    if "com" in known:
        com = np.asarray(known["com"], float)
        rows += [np.eye(SIZE)[1 + i] - com[i] * np.eye(SIZE)[0] for i in range(3)]
    return np.array(rows).reshape(-1, SIZE)
