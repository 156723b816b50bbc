"""Lines of LLVM IR over columns of registers, as the integrator writes them."""

from __future__ import annotations

from armdyn.kernels.llvm.lane import Lane


class Code:
    """Lines of a function, with names that do not repeat."""

    def __init__(self, lane: Lane) -> None:
        self.lane, self.lines, self._count = lane, list[str](), 0

    def __call__(self, text: str) -> str:
        """An instruction with a result."""
        self._count += 1
        name = f"%t{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def column(self, base: str, k: int | str) -> str:
        return self(f"getelementptr {self.lane.type}, ptr {base}, i64 {k}")

    def load(self, base: str, k: int) -> str:
        return self(f"load {self.lane.type}, ptr {self.column(base, k)}, align {self.lane.align}")

    def store(self, value: str, base: str, k: int) -> None:
        self.do(f"store {self.lane.type} {value}, ptr {self.column(base, k)}, align {self.lane.align}")

    def copy(self, target: str, start: int, source: str, first: int, count: int) -> None:
        for k in range(count):
            self.store(self.load(source, first + k), target, start + k)

    def arithmetic(self, op: str, a: str, b: str) -> str:
        return self(f"{op} contract {self.lane.type} {a}, {b}")

    def select(self, mask: str, a: str, b: str) -> str:
        T = self.lane.type
        return self(f"select {self.lane.mask} {mask}, {T} {a}, {T} {b}")

    def moved(self, a: str, factor: str, b: str) -> str:
        """a + factor · b"""
        return self.arithmetic("fadd", a, self.arithmetic("fmul", factor, b))

    def splat(self, scalar: str) -> str:
        T, w = self.lane.type, self.lane.width
        if w == 1:
            return scalar
        one = self(f"insertelement {T} undef, double {scalar}, i32 0")
        return self(f"shufflevector {T} {one}, {T} undef, <{w} x i32> zeroinitializer")

    def any(self, mask: str) -> str:
        """Whether a mask holds for any number of the register."""
        w = self.lane.width
        if w == 1:
            return mask
        bits = self(f"bitcast <{w} x i1> {mask} to i{w}")
        return self(f"icmp ne i{w} {bits}, 0")

    def function(self, head: str) -> str:
        return "\n".join([f"define internal void {head} {{", *self.lines, "  ret void", "}", ""])

    def status(self, head: str) -> str:
        """A function that returns 0, or 1 from its block %no_memory."""
        end = ["  ret i64 0", "no_memory:", "  ret i64 1", "}", ""]
        return "\n".join([f"define internal i64 {head} {{", *self.lines, *end])
