"""Closures, in one place: the algorithms know joints only, their callers coordinates.

With relations q = S x + s₀ the joints follow from the coordinates x (s₀ is part of the mechanism's frames).
Then

    q̇ = S ẋ    q̈ = S ẍ    τ_x = Sᵀτ    B_x = SᵀB S    C_x = SᵀC S    J_x = J S    Y_x = SᵀY.

With loops S depends on the posture (`constraints/loops.py`): q̈ = S ẍ + Ṡ ẋ, the rest stays, and q is that of
all positions, with the loops closed. C and J̇ have a term with Ṡ of their own.

`of_joints` puts this around an algorithm. Without closures it does nothing; in recorded and exact form it
adds the sums and products of S and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeVar

from armdyn.dynamics.constraints.loops import Following
from armdyn.dynamics.constraints.relations import by_position, joint_values
from armdyn.model.mechanism import Mechanism

P = ParamSpec("P")
T = TypeVar("T")
Gives = Literal["torques", "square", "squares", "columns", "anything"]


def of_joints(variables: int, gives: Gives) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let an algorithm over joints be called with coordinates.

    Of its arguments the first is the mechanism; the next `variables` are q, q̇, q̈ of the joints, or q, q̇, q̇_r,
    q̈_r if there are four. `gives` says
    what it returns: torques (or rows of a matrix by joint), a square matrix, several of these, columns by
    joint, or anything that has no index of a joint.
    """

    def around(algorithm: Callable[P, T]) -> Callable[P, T]:
        @wraps(algorithm)
        def called(*args: Any, **others: Any) -> Any:
            mechanism = args[0]
            if not mechanism.rows and not mechanism.loops:
                return algorithm(*args, **others)
            values: Sequence[Any] = args[1 : 1 + variables]
            following = Following(mechanism, args[1]) if mechanism.loops else None
            if following is not None:
                values = following.moved(values)
            joints = [joint_values(mechanism, x) for x in values]
            arguments: Any = (freed(mechanism), *joints, *args[1 + variables :])
            found: Any = algorithm(*arguments, **others)
            if gives == "squares":
                return tuple(_on_both_sides(mechanism, following, matrix) for matrix in found)
            if gives == "square":
                return _on_both_sides(mechanism, following, found)
            if gives == "torques":
                found = _gathered(mechanism, following, found)
            if gives == "columns":
                found = [_gathered(mechanism, following, row) for row in found]
            return found

        return called

    return around


def freed(mechanism: Mechanism) -> Mechanism:
    """The mechanism with every joint a coordinate, and without friction, which acts on coordinates."""
    if not mechanism.rows and not mechanism.loops:
        return mechanism
    return replace(mechanism.without_loops(), rows=(), friction=())


def _on_both_sides(mechanism: Mechanism, following: Following | None, matrix: Any) -> list[list[Any]]:
    """Sᵀ M S."""
    return [_gathered(mechanism, following, row) for row in _gathered(mechanism, following, matrix)]


def _gathered(mechanism: Mechanism, following: Following | None, by_joint: Sequence[Any]) -> list[Any]:
    """Sᵀ times torques, or times the rows of a matrix."""
    found = by_position(mechanism, by_joint)
    if following is None:
        return found
    if not isinstance(found[0], list):
        return following.gathered(found)
    return [list(row) for row in zip(*map(following.gathered, zip(*found, strict=True)), strict=True)]
