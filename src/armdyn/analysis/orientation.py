"""Orientation by three angles, for any leading axes: ZYZ, and roll-pitch-yaw as in the robot file.

| representation | angles        | rotation                        | singular where |
|---|---|---|---|
| "zyz"          | φ, ϑ, ψ          | Rz(φ) Ry(ϑ) Rz(ψ)               | sin ϑ = 0 |
| "rpy"          | roll, pitch, yaw | Rz(yaw) Ry(pitch) Rx(roll)      | cos pitch = 0 |

The angles' rates give the angular velocity in world axes, ω = T(angles) · rates (3.64).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from armdyn.analysis.errors import AnalysisError, check


def rotation_from_zyz(angles: Any) -> np.ndarray:
    """R (..., 3, 3) = Rz(φ) Ry(ϑ) Rz(ψ) for angles (..., 3)."""
    phi, theta, psi = _split(angles)
    return np.asarray(_turn(2, phi) @ _turn(1, theta) @ _turn(2, psi))


def rotation_from_rpy(angles: Any) -> np.ndarray:
    """R (..., 3, 3) = Rz(yaw) Ry(pitch) Rx(roll) for angles (..., 3) in the order roll, pitch, yaw."""
    roll, pitch, yaw = _split(angles)
    return np.asarray(_turn(2, yaw) @ _turn(1, pitch) @ _turn(0, roll))


def zyz_from_rotation(R: Any) -> np.ndarray:
    """φ, ϑ, ψ (..., 3) with ϑ in [0, π]; where sin ϑ = 0 only φ ± ψ is determined, and ψ = 0 or π."""
    R = _matrices(R)
    psi = np.arctan2(R[..., 2, 1], -R[..., 2, 0])
    theta = np.arctan2(np.hypot(R[..., 2, 0], R[..., 2, 1]), R[..., 2, 2])
    # With ψ chosen, φ follows from the middle column of R Rz(−ψ) = Rz(φ) Ry(ϑ), which is never small.
    s, c = np.sin(psi)[..., None], np.cos(psi)[..., None]
    column = s * R[..., :2, 0] + c * R[..., :2, 1]
    return np.stack([np.arctan2(-column[..., 0], column[..., 1]), theta, psi], -1)


def rpy_from_rotation(R: Any) -> np.ndarray:
    """roll, pitch, yaw (..., 3) with pitch in [−π/2, π/2]; where its cosine is 0, roll is 0 or π."""
    R = _matrices(R)
    roll = np.arctan2(R[..., 2, 1], R[..., 2, 2])
    pitch = np.arctan2(-R[..., 2, 0], np.hypot(R[..., 2, 1], R[..., 2, 2]))
    # With the roll chosen, the yaw follows from the middle column of R Rx(−roll) = Rz(yaw) Ry(pitch).
    s, c = np.sin(roll)[..., None], np.cos(roll)[..., None]
    column = c * R[..., :2, 1] - s * R[..., :2, 2]
    return np.stack([roll, pitch, np.arctan2(-column[..., 0], column[..., 1])], -1)


def zyz_transform(angles: Any) -> np.ndarray:
    """T (..., 3, 3) with ω = T [φ̇, ϑ̇, ψ̇]; det T = −sin ϑ."""
    phi, theta, _ = _split(angles)
    s, c, st, ct = np.sin(phi), np.cos(phi), np.sin(theta), np.cos(theta)
    return _columns((0, 0, 1), (-s, c, 0), (c * st, s * st, ct))


def rpy_transform(angles: Any) -> np.ndarray:
    """T (..., 3, 3) with ω = T [roll rate, pitch rate, yaw rate]; det T = cos pitch."""
    _, pitch, yaw = _split(angles)
    s, c, sp, cp = np.sin(yaw), np.cos(yaw), np.sin(pitch), np.cos(pitch)
    return _columns((c * cp, s * cp, -sp), (-s, c, 0), (0, 0, 1))


def zyz_transform_dot(angles: Any, rates: Any) -> np.ndarray:
    """Ṫ (..., 3, 3) of `zyz_transform`."""
    phi, theta, _ = _split(angles)
    dphi, dtheta, _ = _split(rates)
    s, c, st, ct = np.sin(phi), np.cos(phi), np.sin(theta), np.cos(theta)
    return _columns(
        (0, 0, 0),
        (-c * dphi, -s * dphi, 0),
        (c * ct * dtheta - s * st * dphi, s * ct * dtheta + c * st * dphi, -st * dtheta),
    )


def rpy_transform_dot(angles: Any, rates: Any) -> np.ndarray:
    """Ṫ (..., 3, 3) of `rpy_transform`."""
    _, pitch, yaw = _split(angles)
    _, dpitch, dyaw = _split(rates)
    s, c, sp, cp = np.sin(yaw), np.cos(yaw), np.sin(pitch), np.cos(pitch)
    return _columns(
        (-c * sp * dpitch - s * cp * dyaw, -s * sp * dpitch + c * cp * dyaw, -cp * dpitch),
        (-c * dyaw, -s * dyaw, 0),
        (0, 0, 0),
    )


def _split(angles: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first, second, third = np.moveaxis(check.numbers("angles", angles, 3), -1, 0)
    return first, second, third


def _matrices(R: Any) -> np.ndarray:
    found = check.numbers("R", R, 3)
    if found.shape[-2:] != (3, 3):
        raise AnalysisError(f"R: expected (..., 3, 3), found {found.shape}")
    return found


def _turn(axis: int, angle: np.ndarray) -> np.ndarray:
    """A turn about x, y or z."""
    s, c = np.sin(angle), np.cos(angle)
    R = np.zeros((*angle.shape, 3, 3))
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R[..., axis, axis] = 1
    R[..., i, i], R[..., i, j], R[..., j, i], R[..., j, j] = c, -s, s, c
    return R


def _columns(*columns: tuple[Any, ...]) -> np.ndarray:
    """The matrix (..., 3, 3) with these columns; entries are arrays (...) or plain zeros and ones."""
    entries = np.broadcast_arrays(*(x for column in columns for x in column))
    return np.stack(entries, -1).reshape(*entries[0].shape, 3, 3).swapaxes(-1, -2)
