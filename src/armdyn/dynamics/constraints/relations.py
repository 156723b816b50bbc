"""Linear relations between joints: q = S y over positions y, and torques of joints as those of positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armdyn.model.friction import along
from armdyn.model.mechanism import Mechanism
from armdyn.model.vector import Scalar


def joint_values(mechanism: Mechanism, x: Sequence[Scalar]) -> list[Scalar]:
    """S x: what all joints do for what the positions do."""
    return [along(row, x) for row in mechanism.rows] if mechanism.rows else list(x)


def by_position(mechanism: Mechanism, by_joint: Sequence[Any]) -> list[Any]:
    """Sᵀ times torques or another row of numbers by joint, or times the rows of a matrix."""
    if not mechanism.rows:
        return list(by_joint)
    total: list[Any] = [0] * mechanism.positions
    for row, x in zip(mechanism.rows, by_joint, strict=True):
        for k, factor in row:
            total[k] = _sum(total[k], factor, x)
    return total


def _sum(total: Any, factor: Scalar, x: Any) -> Any:
    if not isinstance(x, list):
        return total + factor * x
    entries = total if isinstance(total, list) else [0] * len(x)
    return [t + factor * y for t, y in zip(entries, x, strict=True)]
