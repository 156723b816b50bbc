"""Which backend runs a kernel: the arrays decide, else the innermost `with backend(…)`, else the default."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, Protocol

from armdyn.expression import shown
from armdyn.kernels.evaluator import Evaluated
from armdyn.kernels.llvm.compiled import Compiled
from armdyn.kernels.specification import Specification

Backend = Literal["compiled", "evaluator"]


class Run(Protocol):
    """A kernel on a backend."""

    @property
    def quick(self) -> Callable[..., Any]:
        """The result for arrays of the simplest kind, or None: then the call below decides."""

    def __call__(self, arrays: Sequence[Any], out: Any) -> Any: ...


BACKENDS: dict[str, Callable[[Specification], Run]] = {"compiled": Compiled, "evaluator": Evaluated}
LIBRARIES: dict[str, str] = {}  # array library -> the backend that takes its arrays ("cupy": "cuda", one day)

default: list[Backend] = ["compiled"]
chosen: ContextVar[Backend] = ContextVar("armdyn.backend")  # not set outside any `with`


def set_backend(name: Backend) -> None:
    """Run functions "compiled" (the default) or by the "evaluator", which suits robots used only once.

    This holds for all threads, outside any `with armdyn.backend(…)`.
    """
    default[0] = _checked(name)


def get_backend() -> Backend:
    """The backend in use here."""
    return chosen.get(default[0])


@contextmanager
def backend(name: Backend) -> Iterator[None]:
    """Use a backend within a `with` block, in this thread or asynchronous task; blocks may be nested."""
    token = chosen.set(_checked(name))
    try:
        yield
    finally:
        chosen.reset(token)


def backend_of(arrays: Sequence[Any]) -> str | None:
    """The only backend that takes these arrays; None for NumPy arrays, lists and numbers."""
    for x in arrays if LIBRARIES else ():
        if found := LIBRARIES.get(type(x).__module__.partition(".")[0]):
            return found
    return None


def _checked(name: Backend) -> Backend:
    if name not in ("compiled", "evaluator"):
        raise ValueError(f"backend: found {shown(name)}; allowed: 'compiled', 'evaluator'")
    return name
