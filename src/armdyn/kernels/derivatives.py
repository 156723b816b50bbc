"""Derivatives of kernel functions, by running them on dual numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from armdyn.kernels.dual import Dual, seed


def derivatives(function: Callable[..., list[Any]], inputs: int) -> Callable[..., tuple[Any, ...]]:
    """From a function of several vectors, the function of its Jacobians by the first `inputs` of them."""

    def jacobians(*arguments: list[Any]) -> tuple[Any, ...]:
        sizes = [len(x) for x in arguments[:inputs]]
        variables = seed([x for argument in arguments[:inputs] for x in argument])
        split, start = [], 0
        for size in sizes:
            split.append(variables[start : start + size])
            start += size
        values = function(*split, *arguments[inputs:])
        result, start = [], 0
        for size in sizes:
            result.append([[_partial(v, start + k) for k in range(size)] for v in values])
            start += size
        return tuple(result)

    return jacobians


def _partial(value: Any, k: int) -> Any:
    return value.partials[k] if isinstance(value, Dual) else 0.0
