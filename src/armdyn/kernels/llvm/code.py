"""The lines of a function in LLVM IR, with names for its values and blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from armdyn.kernels.llvm.lane import Lane

DECLARATIONS = """\
declare i32 @fegetenv(ptr)
declare i32 @fesetenv(ptr)
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""  # what the methods below call
ON_THE_STACK = 16 * 1024  # bytes; more might not fit the stack of a thread


class Code:
    """Instructions of a function, one after the other; `here` is the block they are added to."""

    def __init__(self, here: str = "entry") -> None:
        self.lines: list[str] = []
        self.here = here
        self._names = 0

    def name(self, kind: str) -> str:
        self._names += 1
        return f"{kind}{self._names}"

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def value(self, text: str) -> str:
        """The name of an instruction's result."""
        name = f"%{self.name('t')}"
        self.do(f"{name} = {text}")
        return name

    def load(self, kind: str, place: str) -> str:
        return self.value(f"load {kind}, ptr {place}")

    def store(self, kind: str, value: str, place: str) -> None:
        self.do(f"store {kind} {value}, ptr {place}")

    def at(self, kind: str, base: str, index: str | int) -> str:
        """The place of an entry of an array."""
        return self.value(f"getelementptr {kind}, ptr {base}, i64 {index}") if index != 0 else base

    def copy(self, target: str, source: str, size: int) -> None:
        self.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)")

    def begin(self, block: str) -> None:
        self.lines.append(f"{block}:")
        self.here = block

    def require(self, condition: str, otherwise: str) -> None:
        """Go on if a condition holds, else to a block of that name."""
        further = self.name("further")
        self.do(f"br i1 {condition}, label %{further}, label %{otherwise}")
        self.begin(further)

    def choose(
        self, condition: str, then: Callable[[], None] | None, otherwise: Callable[[], None] | None = None
    ) -> None:
        """Write code that runs if a condition holds, and code that runs if it does not."""
        end = self.name("end")
        blocks = [(self.name("branch") if write else end, write) for write in (then, otherwise)]
        self.do(f"br i1 {condition}, label %{blocks[0][0]}, label %{blocks[1][0]}")
        for block, write in blocks:
            if write:
                self.begin(block)
                write()
                self.do(f"br label %{end}")
        self.begin(end)

    @contextmanager
    def counted(self, first: str, last: str, step: int = 1) -> Iterator[str]:
        """A loop over k = first, first + step, … while k + step ≤ last. After it, k is the first left out."""
        test, body, end = (self.name(kind) for kind in ("test", "body", "end"))
        before, k = self.here, f"%{self.name('k')}"
        self.do(f"br label %{test}")
        self.begin(test)
        place = len(self.lines)
        following = self.value(f"add nsw i64 {k}, {step}")
        self.do(f"br i1 {self.value(f'icmp sle i64 {following}, {last}')}, label %{body}, label %{end}")
        self.begin(body)
        yield k
        self.lines.insert(place, f"  {k} = phi i64 [ {first}, %{before} ], [ {following}, %{self.here} ]")
        self.do(f"br label %{test}")
        self.begin(end)

    def over_registers(
        self,
        first: str,
        last: str,
        widths: Sequence[int],
        body: Callable[[int, str, str], None],
        rest: Callable[[str, str], None] | None = None,
    ) -> None:
        """`body(w, k, first)` for full registers, width by width; then `rest(k, count)` if any are left.

        The floating-point flags stay as they were: `%environment` keeps them (see `ENVIRONMENT`).
        """
        self.do("call i32 @fegetenv(ptr %environment)")
        for w in dict.fromkeys(widths):
            with self.counted(first, last, w) as k:
                body(w, k, first)
            first = k
        if rest and widths[-1] > 1:
            left, write = self.value(f"sub i64 {last}, {first}"), rest
            self.choose(self.value(f"icmp sgt i64 {left}, 0"), lambda: write(first, left))
        self.do("call i32 @fesetenv(ptr %environment)")


ENVIRONMENT = "  %environment = alloca [128 x i8], align 16"


def function_ir(head: str, *lines: str) -> str:
    return "\n".join([f"{head} {{", "entry:", *lines, "}", ""])


def workspace_ir(lane: Lane, columns: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """Arrays of registers by name, and the code that frees them: the largest are on the heap if need be.

    Ends in the block %ready; without memory it jumps to the function's block %no_memory.
    """
    lines, heap, stack = list[str](), dict[str, int](), 0
    for name, count in sorted(columns.items(), key=lambda item: item[1]):
        if stack + count * lane.bytes <= ON_THE_STACK:
            stack += count * lane.bytes
            lines.append(f"  %{name} = alloca [{count} x {lane.type}], align {lane.align}")
        else:
            heap[name] = count
    if not heap:
        return [*lines, "  br label %ready", "ready:"], []
    lines += [
        f"  %block = call ptr @malloc(i64 {sum(heap.values()) * lane.bytes + 64})",
        "  %missing = icmp eq ptr %block, null",
        "  br i1 %missing, label %no_memory, label %ready",
        "ready:",
        "  %address = ptrtoint ptr %block to i64",
        "  %beyond = add i64 %address, 63",
        "  %aligned = and i64 %beyond, -64",
        "  %heap = inttoptr i64 %aligned to ptr",
    ]
    start = 0
    for name, count in heap.items():
        lines.append(f"  %{name} = getelementptr {lane.type}, ptr %heap, i64 {start}")
        start += count
    return lines, ["  call void @free(ptr %block)"]


def declared_once(parts: Sequence[str]) -> str:
    """The parts of a module, each external function declared once."""
    lines = "\n".join([DECLARATIONS, *parts]).splitlines()
    declarations = dict.fromkeys(line for line in lines if line.startswith("declare"))
    return "\n".join([*declarations, *(line for line in lines if not line.startswith("declare"))]) + "\n"
