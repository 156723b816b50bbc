"""Kernels: a specification that can be called with arrays, on any backend."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, TypeAlias, TypeVar

from numpy import ndarray

from armdyn.kernels.backends import BACKENDS, Run, chosen, default, get_backend, library_of
from armdyn.kernels.llvm.machine import lock
from armdyn.kernels.specification import Specification
from armdyn.program.program import Program

F = TypeVar("F", bound=Callable[..., Any])


def opaque(call: F) -> F:
    """Marks a call of a kernel so that torch.compile traces `_traced` instead: machine code cannot be traced.

    The mark is an attribute that PyTorch looks for. PyTorch itself is not needed here.
    """
    call._torchdynamo_inline = _traced  # type: ignore[attr-defined]
    return call


def _traced(kernel: Kernel, arrays: tuple[Any, ...], out: Any) -> Any:
    from armdyn.kernels import torch

    return torch.call(kernel, arrays, out)


class Kernel:
    """An array function with named inputs (..., size) and outputs (..., *shape)."""

    def __init__(self, specification: Specification) -> None:
        self.specification = specification
        self.source: Callable[[], tuple[Any, ...]] | None = (
            None  # what makes it in another process, as pickle has it
        )
        self._runs: dict[str, Run] = {}
        self._quick = _Quick()

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

    def on(self, backend: str) -> Run:
        """The kernel on a backend, made ready when first asked for."""
        if backend not in self._runs:
            with lock():
                if backend not in self._runs:
                    run = self._runs[backend] = BACKENDS[backend](self.specification)
                    self._quick[backend] = run.quick
        return self._runs[backend]

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """One array, or a tuple of arrays when there are several outputs."""
        return self.call(arrays, out)

    @opaque
    def call(self, arrays: tuple[Any, ...], out: Any) -> Any:
        """The same, quicker, as Python has no keywords to sort out."""
        if out is None:
            result = self._quick[chosen.get(default[0])](*arrays)
            if result is not None:
                return result
        for x in arrays:
            if type(x) is not ndarray and (library := library_of(arrays)):
                return library.call(self, arrays, out)
        return self.on(get_backend())(arrays, out)

    def compile(self) -> None:
        """Make all compiled code ready, for single calls and for batches."""
        self.on("compiled").get_ready()


class _Quick(dict[str, Callable[..., Any]]):
    """The quick calls of a kernel by backend. One that is not ready yet does nothing."""

    def __missing__(self, backend: str) -> Callable[..., Any]:
        return lambda *_: None


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
