"""Registers: a number of floating-point numbers of one format, as LLVM IR spells them."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Lane:
    """A register type: W numbers of one floating-point format."""

    scalar: str  # "double" or "float"
    width: int

    @property
    def type(self) -> str:
        return self.scalar if self.width == 1 else f"<{self.width} x {self.scalar}>"

    @property
    def bits(self) -> int:
        return 64 if self.scalar == "double" else 32

    @property
    def integer(self) -> str:
        return f"i{self.bits}" if self.width == 1 else f"<{self.width} x i{self.bits}>"

    @property
    def mask(self) -> str:
        return "i1" if self.width == 1 else f"<{self.width} x i1>"

    @property
    def bytes(self) -> int:
        return self.bits // 8 * self.width

    @property
    def align(self) -> int:
        return self.bits // 8 if self.width == 1 else self.bytes

    @property
    def suffix(self) -> str:
        """As intrinsics are named: f64, v8f64."""
        return f"f{self.bits}" if self.width == 1 else f"v{self.width}f{self.bits}"

    def constant(self, value: float) -> str:
        number = f"0x{_double_bits(value, self.bits == 32):016X}"
        return number if self.width == 1 else f"splat ({self.scalar} {number})"

    def integer_constant(self, value: int) -> str:
        return str(value) if self.width == 1 else f"splat (i{self.bits} {value})"


def _double_bits(value: float, single: bool) -> int:
    """LLVM writes a float as the double it is."""
    if single:
        with np.errstate(over="ignore"):
            value = float(np.float32(value))
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


def per_lane(lane: Lane, x: str, function: str, tag: str) -> tuple[str, str]:
    """Instructions that call a scalar function on every number of a register, and the resulting register."""
    if lane.width == 1:
        return f"  %{tag} = call {lane.scalar} @{function}({lane.scalar} {x})", f"%{tag}"
    lines, previous = [], "undef"
    for k in range(lane.width):
        lines += [
            f"  %{tag}x{k} = extractelement {lane.type} {x}, i32 {k}",
            f"  %{tag}y{k} = call {lane.scalar} @{function}({lane.scalar} %{tag}x{k})",
            f"  %{tag}{k} = insertelement {lane.type} {previous}, {lane.scalar} %{tag}y{k}, i32 {k}",
        ]
        previous = f"%{tag}{k}"
    return "\n".join(lines), previous
