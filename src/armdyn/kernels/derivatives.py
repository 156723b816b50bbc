"""Products of vectors and Jacobians of kernels, as kernels: for reverse and forward differentiation.

They are kernels like any other: compiled, cached on disk, shared by robots of one structure, and they have
such products themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary, ref

from armdyn.kernels.arrays import Shared, Specification
from armdyn.kernels.kernel import Kernel
from armdyn.kernels.llvm.machine import lock
from armdyn.program.derive import time_derivative, vector_jacobian, with_cotangents

_made: WeakKeyDictionary[Kernel, dict[tuple[str, ...], Kernel]] = WeakKeyDictionary()
_origins: WeakKeyDictionary[Kernel, tuple[ref[Kernel], str, tuple[str, ...]]] = WeakKeyDictionary()
_TANGENT = "tangent "  # how the inputs v of a `tangent_of` are called, and no others


class Origin(NamedTuple):
    """The origin of a product: the kernel, the kind of product, and the inputs."""

    kernel: Kernel
    kind: str
    by: tuple[str, ...]


def origin_of(kernel: Kernel) -> Origin | None:
    """The origin of a kernel that is a product; None for other kernels."""
    found = _origins.get(kernel)
    origin = found and found[0]()
    return Origin(origin, *found[1:]) if found and origin is not None else None


def adjoint_of(kernel: Kernel, by: Sequence[str]) -> Kernel:
    """The kernel of Σ_k c_kᵀ ∂output_k/∂input for the named inputs, made once for a kernel.

    Its inputs are the kernel's and each c_k, flattened to (..., size); its outputs have the inputs' shapes.
    """
    return _once(kernel, "gradient", by, _adjoint)


def tangent_of(kernel: Kernel, by: Sequence[str]) -> Kernel:
    """The kernel of Σ ∂output/∂input v over the named inputs, for every output; made once for a kernel.

    Its inputs are the kernel's and v for each named one; its outputs have the outputs' shapes.
    """
    return _once(kernel, "tangent", by, _tangent)


PRODUCTS: dict[str, Callable[[Kernel, Sequence[str]], Kernel]] = {
    "gradient": adjoint_of,
    "tangent": tangent_of,
}


def _once(
    kernel: Kernel,
    kind: str,
    by: Sequence[str],
    make: Callable[[Specification, tuple[str, ...]], Specification],
) -> Kernel:
    key = (kind, *by)
    found = _made.get(kernel, {}).get(key)
    if found is None:
        with lock():
            kept = _made.setdefault(kernel, {})
            if key not in kept:
                kept[key] = Kernel(make(kernel.specification, tuple(by)))
                _origins[kept[key]] = ref(kernel), kind, tuple(by)
            found = kept[key]
    return found


def _adjoint(of: Specification, by: tuple[str, ...]) -> Specification:
    sizes = dict(of.inputs)
    return Specification(
        f"{of.name} gradient",
        with_cotangents(of.inputs, of.outputs),
        tuple((sizes[name],) for name in by),
        lambda: vector_jacobian(of.program, by),
        f"gradient by {by} of {of.name} {of.identity}",
        None if of.shared is None else Shared(_adjoint(of.shared.specification, by), of.shared.numbers),
    )


def _tangent(of: Specification, by: tuple[str, ...]) -> Specification:
    sizes = dict(of.inputs)
    first = sum(name.startswith(_TANGENT) for name in sizes)
    rates = {name: f"{_TANGENT}{k}" for k, name in enumerate(by, first)}
    return Specification(
        f"{of.name} tangent",
        (*of.inputs, *((rate, sizes[name]) for name, rate in rates.items())),
        of.outputs,
        lambda: time_derivative(of.program, rates),
        f"tangent by {by} of {of.name} {of.identity}",
        None if of.shared is None else Shared(_tangent(of.shared.specification, by), of.shared.numbers),
    )
