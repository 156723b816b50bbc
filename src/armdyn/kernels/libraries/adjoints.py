"""Vector–Jacobian products of kernels, as kernels: what reverse differentiation calls."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from armdyn.kernels.kernel import Kernel
from armdyn.kernels.llvm.machine import lock
from armdyn.kernels.specification import Shared, Specification
from armdyn.program.derive import vector_jacobian, with_cotangents

_made: WeakKeyDictionary[Kernel, dict[tuple[str, ...], Kernel]] = WeakKeyDictionary()


def adjoint_of(kernel: Kernel, by: Sequence[str]) -> Kernel:
    """The kernel of Σ_k c_kᵀ ∂output_k/∂input for the named inputs, made once for a kernel.

    Its inputs are the kernel's and each c_k, flattened to (..., size); its outputs have the inputs' shapes.
    It is a kernel like any other: compiled, cached on disk, shared by robots of one structure, and it has an
    adjoint itself.
    """
    names = tuple(by)
    found = _made.get(kernel, {}).get(names)
    if found is None:
        with lock():
            kept = _made.setdefault(kernel, {})
            if names not in kept:
                kept[names] = Kernel(_adjoint(kernel.specification, names))
            found = kept[names]
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
