"""Relations between joints, in one place: the algorithms know joints only, their callers coordinates.

With q = S x + s₀ the joints follow from the coordinates x (s₀ is part of the mechanism's frames). Then

    q̇ = S ẋ    q̈ = S ẍ    τ_x = Sᵀτ    B_x = SᵀB S    C_x = SᵀC S    J_x = J S    Y_x = SᵀY.

`of_joints` puts this around an algorithm. Without relations it does nothing; in recorded and exact form it
adds the sums and products of S and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeVar

from armdyn.model.friction import Row, along
from armdyn.model.mechanism import Mechanism
from armdyn.model.vector import Scalar

P = ParamSpec("P")
T = TypeVar("T")
Gives = Literal["torques", "square", "columns", "anything"]


def of_joints(variables: int, gives: Gives) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let an algorithm over joints be called with coordinates.

    Of its arguments the first is the mechanism; the next `variables` are q, q̇, q̈ of the joints. `gives` says
    what it returns: torques (or rows of a matrix by joint), a square matrix, columns by joint, or anything
    that has no index of a joint.
    """

    def around(algorithm: Callable[P, T]) -> Callable[P, T]:
        @wraps(algorithm)
        def called(*args: Any, **others: Any) -> Any:
            mechanism = args[0]
            if not mechanism.rows:
                return algorithm(*args, **others)
            n, rows = mechanism.n, mechanism.rows
            joints = [joint_values(mechanism, x) for x in args[1 : 1 + variables]]
            arguments: Any = (freed(mechanism), *joints, *args[1 + variables :])
            found: Any = algorithm(*arguments, **others)
            if gives in ("torques", "square"):
                found = _gathered(rows, n, found)
            if gives in ("columns", "square"):
                found = [_gathered(rows, n, row) for row in found]
            return found

        return called

    return around


def joint_values(mechanism: Mechanism, x: Sequence[Scalar]) -> list[Scalar]:
    """S x: what all joints do for what the coordinates do."""
    return [along(row, x) for row in mechanism.rows] if mechanism.rows else list(x)


def freed(mechanism: Mechanism) -> Mechanism:
    """The mechanism with every joint a coordinate, and without friction, which acts on coordinates."""
    return replace(mechanism, rows=(), friction=()) if mechanism.rows else mechanism


def _gathered(rows: Sequence[Row], n: int, by_joint: Sequence[Any]) -> list[Any]:
    """Sᵀ times torques, or times the rows of a matrix."""
    total: list[Any] = [0] * n
    for row, x in zip(rows, by_joint, strict=True):
        for k, factor in row:
            total[k] = _sum(total[k], factor, x)
    return total


def _sum(total: Any, factor: Scalar, x: Any) -> Any:
    if not isinstance(x, list):
        return total + factor * x
    entries = total if isinstance(total, list) else [0] * len(x)
    return [t + factor * y for t, y in zip(entries, x, strict=True)]
