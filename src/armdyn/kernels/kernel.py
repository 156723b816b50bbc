"""Kernels: a specification that can be called with arrays, on any backend.

The arrays decide on the backend, else the innermost `with backend(…)`, else the default. NumPy arrays go to a
backend. Arrays of other libraries go to the module that `LIBRARIES` names, which is imported when the first
of them comes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, lru_cache
from importlib import import_module
from math import prod
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy import ndarray

from armdyn.expression import ArmdynError, shown
from armdyn.kernels.arrays import FLOAT32, FLOAT64, Specification, checked_inputs, checked_out
from armdyn.kernels.llvm.compiled import Compiled
from armdyn.kernels.llvm.machine import lock
from armdyn.program.evaluate import evaluate, evaluate_loop
from armdyn.program.program import Program, Shape

# ------------------------------------------------------------------------------------------------------------
# The backend "evaluator": it defines the meaning of a program, and runs it. Nothing is compiled.


class Evaluated:
    """A kernel run by the evaluator."""

    def __init__(self, specification: Specification) -> None:
        self.specification = specification

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
Runner: TypeAlias = Callable[[Sequence[Any], Any], Any]  # a kernel on a backend, of its arrays and `out`


class Library(Protocol):
    """A module that runs kernels on the arrays of another library.

    `ASSEMBLES` says whether the assembly of loops takes such arrays; else the module is given a robot's
    coordinates.
    """

    ASSEMBLES: bool

    def side_by_side(self, what: str, arrays: Mapping[str, Any], size: int) -> Any:
        """Arrays (..., size) of `what`, by what messages call them, broadcast: (..., size k)."""

    def column(self, x: Any, first: Any) -> Any:
        """An array (...) as (..., 1); numbers and lists as arrays of the library, where `first` is."""

    def call(self, kernel: Kernel, arrays: Sequence[Any], out: Any) -> Any:
        """Results as by `Kernel.call`, where some of the arrays are the library's."""


BACKENDS: dict[str, Callable[[Specification], Runner]] = {
    "compiled": Compiled,
    "evaluator": Evaluated,
    "cuda": lambda specification: library("cupy").OnGpu(specification),  # chosen by arrays, not by name
}
LIBRARIES: dict[str, str] = {  # package of an array's type -> the module that takes such arrays
    "cupy": "armdyn.kernels.cupy",
    "dask": "armdyn.kernels.dask",
    "torch": "armdyn.kernels.torch",
}

_PLAIN = frozenset({np.ndarray, list, tuple, float, int})


class _Choice:
    """The backend outside any `with`, and the one that was named last, there or in a `with`, if any."""

    __slots__ = ("default", "last")

    def __init__(self) -> None:
        self.default: Backend = "compiled"
        self.last: Backend | None = None  # then a call need not ask which backend is in use


_choice = _Choice()
chosen: ContextVar[Backend] = ContextVar("armdyn.backend")  # not set outside any `with`


def set_backend(name: Backend) -> None:
    """Run functions "compiled" (the default) or by the "evaluator", which suits robots used only once.

    This holds for all threads, outside any `with armdyn.backend(…)`.
    """
    _choice.default = _choice.last = _checked(name)


def get_backend() -> Backend:
    """The backend in use here."""
    return chosen.get(_choice.default)


def _not_made(arrays: tuple[Any, ...]) -> None:
    """Stands for the quick call of a kernel that is not compiled yet."""


@contextmanager
def backend(name: Backend) -> Iterator[None]:
    """Use a backend within a `with` block, in this thread or asynchronous task; blocks may be nested."""
    _choice.last = _checked(name)
    token = chosen.set(name)
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
                found: Library = library(package)
                return found
    return None


class _Modules:
    """The modules of `LIBRARIES` by package, as attributes: there torch.compile finds what it imports."""


_modules = _Modules()


def library(package: str) -> Any:
    """The module for the arrays of a package."""
    if not hasattr(_modules, package):
        _import(package)
    return getattr(_modules, package)


def _import(package: str) -> None:
    setattr(_modules, package, import_module(LIBRARIES[package]))


_import._dynamo_marked_constant = True  # type: ignore[attr-defined]  # torch.compile runs it, untraced


def _checked(name: Backend) -> Backend:
    if name not in ("compiled", "evaluator"):
        raise ValueError(f"backend: found {shown(name)}; allowed: 'compiled', 'evaluator'")
    return name


# ------------------------------------------------------------------------------------------------------------
# Kernels.


F = TypeVar("F", bound=Callable[..., Any])


def opaque(call: F) -> F:
    """Marks a call of a kernel so that torch.compile traces `_traced` instead: machine code cannot be traced.

    The mark is an attribute that PyTorch looks for. PyTorch itself is not needed here.
    """
    call._torchdynamo_inline = _traced  # type: ignore[attr-defined]
    return call


def _traced(kernel: Kernel, arrays: tuple[Any, ...], out: Any, near: Any = None) -> Any:
    if near is not None:
        raise kernel.not_near()
    return library("torch").call(kernel, arrays, out)


class Kernel:
    """An array function with named inputs (..., size) and outputs (..., *shape)."""

    def __init__(self, specification: Specification) -> None:
        self.specification = specification
        self.source: Callable[[], tuple[Any, ...]] | None = (
            None  # what makes it in another process, as pickle has it
        )
        self._runs: dict[str, Runner] = {}
        self.quick: Callable[..., Any] = _not_made  # of a tuple of plain vectors; of all else it gives None

    @classmethod
    def of(cls, name: str, program: Program) -> Kernel:
        """The kernel of a program that has been recorded already."""
        outputs = tuple(shape for _, shape in program.outputs)
        return cls(Specification(name, program.inputs, outputs, lambda: program, str(program)))

    @property
    def program(self) -> Program:
        return self.specification.program

    @property
    def sizes(self) -> tuple[tuple[int, ...], ...]:
        """The sizes that each argument of a call may have in its last axis."""
        return tuple((size,) for _, size in self.specification.inputs)

    def __reduce__(self) -> tuple[Any, ...]:
        """The recipe by which another process makes the kernel from its source: code is not carried over."""
        if self.source is None:
            raise TypeError(
                f"{self.specification.name}: this kernel belongs to no robot and cannot be pickled"
            )
        return self.source()

    def on(self, backend: str) -> Runner:
        """The kernel on a backend, made ready when first asked for."""
        if backend not in self._runs:
            with lock():
                if backend not in self._runs:
                    run = self._runs[backend] = BACKENDS[backend](self.specification)
                    if isinstance(run, Compiled):
                        self.quick = run.quick
        return self._runs[backend]

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """One array, or a tuple of arrays when there are several outputs."""
        return self.call(arrays, out)

    @opaque
    def call(self, arrays: tuple[Any, ...], out: Any, near: Any = None) -> Any:
        """The same, quicker, as Python has no keywords to sort out.

        `near` is where closed chains are when their assembly begins: for kernels that assemble.
        """
        if out is None and near is None and (_choice.last is None or get_backend() == "compiled"):
            quick = self.quick  # a name of its own: the interpreter is quicker then
            result = quick(arrays)
            if result is not None:
                return result
        if near is not None:
            raise self.not_near()
        for x in arrays:
            if type(x) is not ndarray and (own := library_of(arrays)):
                return own.call(self, arrays, out)
        return self.on(get_backend())(arrays, out)

    def not_near(self) -> ArmdynError:
        """The error where postures to begin with are given and nothing is assembled from them."""
        return ArmdynError(f"near: given to {self.specification.name} of a robot without loops; leave it out")

    def compile(self) -> None:
        """Make all compiled code ready, for single calls and for batches."""
        run: Any = self.on("compiled")
        run.get_ready()


Key: TypeAlias = str | tuple[Any, ...]


class Kernels(dict[Key, Kernel]):
    """A robot's kernels by function, or by function, links with wrenches ("": the tip) and optional inputs.

    They are made when first asked for.
    """

    def __init__(self, make: Callable[[Key], Kernel]) -> None:
        self._make = make

    def __missing__(self, key: Key) -> Kernel:
        self._prepare(key)
        kernel: Kernel = getattr(self, repr(key))
        self[key] = kernel
        return kernel

    def _prepare(self, key: Key) -> None:
        """Make a kernel, as an attribute: torch.compile finds there alone what was made while it traced.

        It looks at a dict once, when it first meets it, and takes no object for a constant.
        """
        kernel = self._make(key)
        kernel.source = lambda: (kernel_of, (self._pickled, key))
        setattr(self, repr(key), kernel)

    _prepare._dynamo_marked_constant = True  # type: ignore[attr-defined]  # torch.compile runs it, untraced

    @cached_property
    def _pickled(self) -> bytes:
        """The function that makes the kernels, with its robot, pickled."""
        return pickle.dumps(self._make)


@lru_cache(maxsize=256)
def kernel_of(make: bytes, key: Key) -> Kernel:
    """A kernel in another process, where it is made once, however often it is sent there."""
    kernel: Kernel = pickle.loads(make)(key)
    kernel.source = lambda: (kernel_of, (make, key))  # it may be sent on
    return kernel
