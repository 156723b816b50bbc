"""Pseudo-inertias: the 4×4 matrix of a body that is positive definite exactly where the body can exist.

P = [[Σ, m c], [m cᵀ, m]] with Σ = ½ tr(I) 1 − I = ∫ r rᵀ dm about the frame's origin (Wensing, Kim, Slotine,
"Linear matrix inequalities for physically consistent inertial parameter identification", 2018). P is linear
in the ten numbers of a body, and congruence P → T P Tᵀ with T = [[R, p], [0, 1]] places it in another frame.

A symmetric matrix is a vector by `stacked`: its upper triangle by columns, off-diagonal entries times √2, so
that lengths are Frobenius norms. This is the order of Clarabel's cone.
"""

from __future__ import annotations

import numpy as np

_ROWS, _COLUMNS = np.array([(i, j) for j in range(4) for i in range(j + 1)]).T
_WEIGHTS = np.where(_ROWS == _COLUMNS, 1.0, np.sqrt(2.0))
SIZE = 10  # numbers of a body, and entries of a stacked matrix
IDENTITY = np.eye(4)[_ROWS, _COLUMNS]


def stacked(P: np.ndarray) -> np.ndarray:
    """Symmetric matrices (..., 4, 4) as vectors (..., 10)."""
    return np.asarray(P[..., _ROWS, _COLUMNS] * _WEIGHTS)


def unstacked(x: np.ndarray) -> np.ndarray:
    """Vectors (..., 10) as symmetric matrices (..., 4, 4)."""
    P = np.empty((*x.shape[:-1], 4, 4))
    P[..., _ROWS, _COLUMNS] = P[..., _COLUMNS, _ROWS] = x / _WEIGHTS
    return P


def pseudo_inertia(body: np.ndarray) -> np.ndarray:
    """(..., 4, 4) of bodies (..., 10): m, mx, my, mz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz about the origin."""
    m, x, y, z, xx, xy, xz, yy, yz, zz = np.moveaxis(np.asarray(body, float), -1, 0)
    half = (xx + yy + zz) / 2
    rows = (
        (half - xx, -xy, -xz, x),
        (-xy, half - yy, -yz, y),
        (-xz, -yz, half - zz, z),
        (x, y, z, m),
    )
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def body_of(P: np.ndarray) -> np.ndarray:
    """Bodies (..., 10) of pseudo-inertias (..., 4, 4)."""
    S = P[..., :3, :3]
    inertia = np.trace(S, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - S
    tensor = inertia[..., [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
    return np.concatenate([P[..., 3, 3:], P[..., :3, 3], tensor], axis=-1)


def congruence(L: np.ndarray) -> np.ndarray:
    """(10, 10): the stacked L X Lᵀ from the stacked X."""
    return stacked(L @ unstacked(np.eye(SIZE)) @ L.T).T


BODIES = body_of(unstacked(np.eye(SIZE))).T  # (10, 10): the ten numbers of a body from its stacked P


def about_centre(P: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre of mass and Σ about it; needs a mass that is not zero."""
    mass = float(P[3, 3])
    centre = P[:3, 3] / mass
    return mass, centre, P[:3, :3] - mass * np.outer(centre, centre)


def at_centre(mass: float, centre: np.ndarray, S: np.ndarray) -> np.ndarray:
    """The pseudo-inertia of a mass, its centre and Σ about that."""
    P = np.zeros((4, 4))
    P[:3, :3] = S + mass * np.outer(centre, centre)
    P[:3, 3] = P[3, :3] = mass * centre
    P[3, 3] = mass
    return P


def is_possible(P: np.ndarray, tolerance: float) -> bool:
    """Whether a body can exist: its matrix, of any size, has no eigenvalue below zero but for rounding."""
    size = np.sqrt(np.maximum(np.abs(np.diag(P)), 1e-300))
    return bool(np.linalg.eigvalsh(P / np.outer(size, size))[0] >= -tolerance)
