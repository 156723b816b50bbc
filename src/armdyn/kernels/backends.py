"""The backend that runs a kernel: the arrays decide, else the innermost `with backend(…)`, else the default.

NumPy arrays go to a backend. Arrays of other libraries go to the module that `LIBRARIES` names, which is
imported when the first of them comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from math import prod
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from armdyn.expression import shown
from armdyn.kernels.arrays import FLOAT32, FLOAT64, checked_inputs, checked_out
from armdyn.kernels.llvm.compiled import Compiled
from armdyn.kernels.specification import Specification
from armdyn.program.evaluate import evaluate, evaluate_loop
from armdyn.program.program import Program, Shape

if TYPE_CHECKING:
    from armdyn.kernels.kernel import Kernel


# ------------------------------------------------------------------------------------------------------------
# The backend "evaluator": it defines the meaning of a program, and runs it. Nothing is compiled.


class Evaluated:
    """A kernel run by the evaluator."""

    def __init__(self, specification: Specification) -> None:
        self.specification = specification

    def quick(self, *arrays: Any) -> None:
        """Always None: nothing is quick here."""

    def get_ready(self) -> None:
        """Does nothing: nothing has to be made."""

    def __call__(self, arrays: Sequence[Any], out: Any) -> Any:
        kernel = self.specification
        inputs, batch = checked_inputs(kernel.name, kernel.inputs, arrays)
        dtype = FLOAT32 if all(x.dtype == FLOAT32 for x in inputs) else FLOAT64
        targets = (None,) * len(kernel.outputs) if out is None else checked_out(out, batch, kernel.outputs)
        results = [y.astype(dtype) for y in _evaluated(kernel, inputs, batch)]
        for k, target in enumerate(targets):
            if target is not None:
                np.copyto(target, results[k], casting="same_kind")
                results[k] = target
        if len(results) > 1:
            return tuple(results)
        return results[0][()] if out is None else results[0]


def _evaluated(kernel: Specification, inputs: Sequence[np.ndarray], batch: Shape) -> Sequence[np.ndarray]:
    """The outputs (..., *shape)."""
    body = kernel.body
    if isinstance(body, Program):
        return evaluate(body, *inputs)
    rows = prod(batch)
    arrays = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(1, rows, -1).astype(float) for x in inputs]
    arrays += [np.zeros((1, rows, prod(shape))) for shape in kernel.outputs]
    evaluate_loop(body, rows, {}, dict(zip([x.name for x in body.arguments], arrays, strict=True)))
    return [x.reshape(batch + shape) for x, shape in zip(arrays[len(inputs) :], kernel.outputs, strict=True)]


# ------------------------------------------------------------------------------------------------------------
# The choice of a backend.


Backend = Literal["compiled", "evaluator"]


class Run(Protocol):
    """A kernel on a backend."""

    @property
    def quick(self) -> Callable[..., Any]:
        """The result for arrays of the simplest kind, or None: then the call below decides."""

    def get_ready(self) -> None:
        """Make the code now instead of when it is first needed."""

    def __call__(self, arrays: Sequence[Any], out: Any) -> Any: ...


class Library(Protocol):
    """A module that runs kernels on the arrays of another library.

    `ASSEMBLES` says whether the assembly of loops takes such arrays; else the module is given a robot's
    coordinates.
    """

    ASSEMBLES: bool

    def side_by_side(self, arrays: Mapping[str, Any]) -> Any:
        """Arrays (..., 6) by what messages call them, broadcast against each other: (..., 6 k)."""

    def call(self, kernel: Kernel, arrays: Sequence[Any], out: Any) -> Any:
        """Results as by `Kernel.call`, where some of the arrays are the library's."""


def _on_gpu(specification: Specification) -> Run:
    run: Run = import_module(LIBRARIES["cupy"]).OnGpu(specification)
    return run


BACKENDS: dict[str, Callable[[Specification], Run]] = {
    "compiled": Compiled,
    "evaluator": Evaluated,
    "cuda": _on_gpu,  # chosen by arrays, not by name
}
LIBRARIES: dict[str, str] = {  # package of an array's type -> the module that takes such arrays
    "cupy": "armdyn.kernels.cuda.kernel",
    "dask": "armdyn.kernels.dask",
    "torch": "armdyn.kernels.torch",
}

_PLAIN = frozenset({np.ndarray, list, tuple, float, int})

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


def library_of(arrays: Sequence[Any]) -> Library | None:
    """The module that takes these arrays; None for NumPy arrays, lists and numbers."""
    for x in arrays:
        if type(x) not in _PLAIN:
            package = type(x).__module__.partition(".")[0]
            if package in LIBRARIES:
                return _module(package)
    return None


class _Modules:
    """The modules of `LIBRARIES` by package, as attributes: there torch.compile finds what it imports."""


_modules = _Modules()


def _module(package: str) -> Library:
    if not hasattr(_modules, package):
        _import(package)
    found: Library = getattr(_modules, package)
    return found


def _import(package: str) -> None:
    setattr(_modules, package, import_module(LIBRARIES[package]))


_import._dynamo_marked_constant = True  # type: ignore[attr-defined]  # torch.compile runs it, untraced


def _checked(name: Backend) -> Backend:
    if name not in ("compiled", "evaluator"):
        raise ValueError(f"backend: found {shown(name)}; allowed: 'compiled', 'evaluator'")
    return name
