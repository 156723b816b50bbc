"""Where the numbers of arrays are: leading axes of several arrays as few common axes, whose strides differ.

Everything here is about shapes and strides, so that it needs no GPU. Strides of an `Operand` are in numbers;
functions of strides take them in any unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from armdyn.program.program import Shape

LONG = 16  # numbers of a row: shorter ones are as fast without staging


@dataclass(frozen=True)
class Operand:
    """An array (..., *core): strides of its leading axes, after broadcasting, and within a row."""

    size: int
    rows: tuple[int, ...]
    core: int

    @property
    def staged(self) -> bool:
        """Whether long rows lie one after the other. A warp moves them together; caches do for short ones."""
        return self.size > LONG and self.rows == (self.size,) and self.core == 1


@dataclass(frozen=True)
class Layout:
    """Common leading axes, the longest strides of the first array first, and the operands along them."""

    extents: tuple[int, ...]  # at least one
    operands: tuple[Operand, ...]

    @property
    def rows(self) -> int:
        return prod(self.extents)


def core_stride(shape: Shape, strides: Sequence[int]) -> int | None:
    """The stride from one number of a row to the next; None if there is not one for all of them."""
    step, expected = 1, None
    for size, stride in reversed(list(zip(shape, strides, strict=True))):
        if size == 1:
            continue
        if expected is None:
            step = stride
        elif stride != expected:
            return None
        expected = stride * size
    return step


def broadcast_strides(batch: Shape, lead: Shape, strides: Sequence[int]) -> tuple[int, ...]:
    """The strides of leading axes after broadcasting: 0 along axes that an array does not have."""
    own = [0 if size == 1 else stride for size, stride in zip(lead, strides, strict=True)]
    return (*[0] * (len(batch) - len(lead)), *own)


def batch_is_adjacent(lead: Shape, rows: Sequence[int], core: int, size: int) -> bool:
    """Whether neighbours along the batch lie closer together than neighbours within a row.

    Axes along which an array was broadcast have no neighbours.
    """
    steps = [abs(stride) for extent, stride in zip(lead, rows, strict=True) if extent > 1 and stride]
    return bool(steps) and size > 1 and min(steps) < abs(core)


def order_of_axes(batch: Shape, rows: Sequence[int]) -> tuple[int, ...]:
    """The leading axes, the one with the longest stride first."""
    return tuple(sorted(range(len(batch)), key=lambda axis: -abs(rows[axis])))


def layout_of(batch: Shape, operands: Sequence[Operand]) -> Layout:
    """Leave out axes of length one, and join those that can be walked as one in all operands."""
    strided = next((x.rows for x in operands if any(x.rows)), (0,) * len(batch))
    axes = [axis for axis in order_of_axes(batch, strided) if batch[axis] != 1]
    extents: list[int] = []
    strides: list[list[int]] = [[] for _ in operands]
    for axis in axes:
        own = [x.rows[axis] for x in operands]
        if extents and all(s[-1] == step * batch[axis] for s, step in zip(strides, own, strict=True)):
            extents[-1] *= batch[axis]
            for s, step in zip(strides, own, strict=True):
                s[-1] = step
        else:
            extents.append(batch[axis])
            for s, step in zip(strides, own, strict=True):
                s.append(step)
    if not extents:
        extents, strides = [1], [[0] for _ in operands]
    found = [Operand(x.size, tuple(s), x.core) for x, s in zip(operands, strides, strict=True)]
    return Layout(tuple(extents), tuple(found))
