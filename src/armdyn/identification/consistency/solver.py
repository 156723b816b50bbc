"""Quadratic objectives over bodies that can exist, solved by Clarabel, an interior-point method.

Clarabel is called directly: its cones are those of `Space`, so that no modelling layer is needed and an arm
takes milliseconds.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np
from scipy import sparse

from armdyn.identification.consistency.pseudo_inertia import IDENTITY, SIZE
from armdyn.identification.consistency.space import Space
from armdyn.identification.errors import IdentificationError

DECIDED = 1e-9  # an inequality that what is free changes by less is not asked again
_NEEDED = 'physically consistent estimates need Clarabel: pip install "armdyn[identify]"'
# The callers look an answer over: one that the solver could not improve is as good as its distance says.
_FOUND = ("Solved", "AlmostSolved", "InsufficientProgress", "NumericalError", "MaxIterations")


def clarabel() -> ModuleType:
    """The solver, imported when it is needed."""
    try:
        import clarabel as found
    except ImportError:
        raise IdentificationError(_NEEDED) from None
    return found  # type: ignore[no-any-return]


class Rows(NamedTuple):
    """Least squares Σ weights (matrix ξ − values)²."""

    matrix: np.ndarray  # (r, d)
    values: np.ndarray  # (r,)
    weights: np.ndarray  # (r,)


def nearest(
    space: Space,
    target: np.ndarray,
    margin: float,
    *,
    free: np.ndarray | None = None,
    start: np.ndarray | None = None,
    rows: Rows | None = None,
    weight: float = 1.0,
    slack: float = 0.0,
) -> np.ndarray:
    """ξ in the space that minimises the squares of `rows` and weight ‖ξ − target‖².

    X ≥ margin · 1 for each body, C ξ ≥ c − slack. With `free` N, orthonormal, ξ is start + N y.
    """
    d = len(target)
    N, x0 = (np.eye(d), np.zeros(d)) if free is None or start is None else (free, start)
    y = N.shape[1]
    if y == 0:
        return x0
    bodies, C = SIZE * space.bodies, space.C @ N
    open_ = np.abs(C).max(axis=1, initial=0.0) > DECIDED
    A = -np.concatenate([N[:bodies], C[open_]])
    b = np.concatenate(
        [x0[:bodies] - margin * np.tile(IDENTITY, space.bodies), (space.C @ x0 - space.c + slack)[open_]]
    )
    api = clarabel()
    cones = [api.PSDTriangleConeT(4)] * space.bodies + [api.NonnegativeConeT(int(open_.sum()))]
    P, q = np.full(y, weight), -weight * (N.T @ (target - x0))
    if rows is not None:  # residuals are variables: the matrix is not squared
        r = len(rows.values)
        A = np.block([[rows.matrix @ N, -np.eye(r)], [A, np.zeros((len(A), r))]])
        b = np.concatenate([rows.values - rows.matrix @ x0, b])
        P, q = np.concatenate([P, rows.weights]), np.concatenate([q, np.zeros(r)])
        cones = [api.ZeroConeT(r), *cones]
    solution = _solved(api, sparse.diags(P, format="csc"), q, sparse.csc_matrix(A), b, cones)
    return np.asarray(x0 + N @ solution[:y])


def _solved(
    api: ModuleType, P: object, q: np.ndarray, A: object, b: np.ndarray, cones: list[object]
) -> np.ndarray:
    settings = api.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    found = api.DefaultSolver(P, q, A, b, cones, settings).solve()
    if str(found.status) not in _FOUND or not np.isfinite(found.x).all():
        raise IdentificationError(f"the solver Clarabel found no consistent parameters: {found.status}")
    return np.array(found.x)
