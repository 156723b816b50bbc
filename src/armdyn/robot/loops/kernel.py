"""Kernels of robots with loops: what is computed from all positions, called with the coordinates."""

from __future__ import annotations

from typing import Any

from armdyn.kernels import Kernel
from armdyn.kernels.backends import library_of
from armdyn.kernels.kernel import opaque
from armdyn.model import ModelError, RobotModel
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

    @property
    def sizes(self) -> tuple[tuple[int, ...], ...]:
        mechanism = self.assembly.model.mechanism
        return ((mechanism.n, mechanism.positions), *super().sizes[1:])

    @opaque
    def call(self, arrays: tuple[Any, ...], out: Any) -> Any:
        library = library_of(arrays)
        if library is not None and not library.ASSEMBLES:
            return library.call(self, arrays, out)
        q, *others = arrays
        return super().call((self.assembly(q), *others), out)


def refuse_loops(model: RobotModel, library: str) -> None:
    """For libraries that run programs by themselves: no program assembles."""
    if model.loops:
        raise ModelError(
            f"{library}: {model.name} has loops; all positions are found from q by iteration, which is no "
            "part of a program. robot.opened() is the tree with its loops cut open, which has programs; "
            "robot.assembly(q) gives all positions"
        )
