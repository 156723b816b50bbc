"""Kernels of robots with loops: what is computed from all positions, called with the coordinates."""

from __future__ import annotations

from typing import Any

from armdyn.kernels import Kernel
from armdyn.kernels.backends import library_of
from armdyn.kernels.kernel import opaque
from armdyn.robot.loops.assembly import Assembly


class ClosedKernel(Kernel):
    """A kernel whose first input, all positions, is assembled from the coordinates."""

    def __init__(self, kernel: Kernel, assembly: Assembly) -> None:
        super().__init__(kernel.specification)
        self.assembly = assembly

    @property
    def speeds(self) -> Kernel:
        """Velocities of all positions, S q̇, from all positions and q̇ (n)."""
        return self.assembly._velocities

    @opaque
    def call(self, arrays: tuple[Any, ...], out: Any) -> Any:
        library = library_of(arrays)
        if library is not None and not library.ASSEMBLES:
            return library.call(self, arrays, out)
        q, *others = arrays
        return super().call((self.assembly(q), *others), out)
