"""Rows of memory to columns of registers, and back, as LLVM IR."""

from __future__ import annotations

from collections.abc import Sequence

from armdyn.kernels.llvm.code import Code, function_ir
from armdyn.kernels.llvm.lane import Lane

MOST_STREAMED = 16 * 1024  # bytes of a block on the stack
PAIR = "<2 x i64>"  # what lies between the beginning of rows and the first whole register


def masked_declarations(lane: Lane) -> str:
    T, M = lane.type, lane.mask
    return (
        f"declare {T} @llvm.masked.load.{lane.suffix}.p0(ptr, i32, {M}, {T})\n"
        f"declare void @llvm.masked.store.{lane.suffix}.p0({T}, ptr, i32, {M})\n"
    )


def move_ir(lane: Lane, size: int, verb: str) -> str:
    """`@load_L(cols, rows, stride)` or `@store_L`: W rows of L adjacent entries to or from L registers."""
    w, code = lane.width, Code()
    full, rest = divmod(size, w)
    rows = [code.at("i8", "%rows", code.value(f"mul i64 %stride, {k}")) for k in range(w)]
    if full:
        with code.counted("0", str(full)) as chunk:
            first = code.value(f"mul i64 {chunk}, {w}")
            _move_block(code, lane, verb, rows, first, w)
    if rest:
        _move_block(code, lane, verb, rows, str(full * w), rest)
    head = f"define internal void @{verb}_{size}(ptr noalias %cols, ptr %rows, i64 %stride)"
    return function_ir(head, *code.lines, "  ret void")


def streams(lane: Lane, size: int) -> bool:
    """Whether rows of so many entries can be written past the cache: see `stream_ir`."""
    return lane.width > 1 and size > lane.width and lane.width * size * lane.bits // 8 <= MOST_STREAMED


def stream_ir(lane: Lane, size: int) -> str:
    """`@stream_L(cols, rows)`: like `@store_L` for rows one after the other, but past the cache.

    A store first reads the line that it writes to. Whole lines that are written past the cache are not read,
    which halves the traffic of results that are too large to stay in it. Rows are put together in a block
    before, as lines must be written whole and in order.
    """
    code, total = Code(), lane.width * size * lane.bits // 8
    code.do(f"%block = alloca [{total} x i8], align 64")
    code.do(f"call void @store_{size}(ptr %cols, ptr %block, i64 {size * lane.bits // 8})")
    address = code.value("ptrtoint ptr %rows to i64")
    before = code.value(f"and i64 {code.value(f'sub i64 0, {address}')}, {lane.bytes - 1}")
    whole = code.value(f"and i64 {code.value(f'sub i64 {total}, {before}')}, {-lane.bytes}")
    after = code.value(f"add i64 {before}, {whole}")
    for first, last, kind, step in (
        ("0", before, PAIR, 16),
        (before, after, lane.type, lane.bytes),
        (after, str(total), PAIR, 16),
    ):
        with code.counted(first, last, step) as k:
            source, target = (code.at("i8", base, k) for base in ("%block", "%rows"))
            value = code.value(f"load {kind}, ptr {source}, align 16")
            code.do(f"store {kind} {value}, ptr {target}, align {step}, !nontemporal !0")
    head = f"define internal void @stream_{size}(ptr noalias %cols, ptr %rows)"
    return function_ir(head, *code.lines, "  ret void")


def _move_block(code: Code, lane: Lane, verb: str, rows: Sequence[str], first: str, count: int) -> None:
    """Move `count` ≤ W entries of W rows, from the first on."""
    w, T, align = lane.width, lane.type, lane.bits // 8
    mask = f"{lane.mask} <" + ", ".join(f"i1 {int(k < count)}" for k in range(w)) + ">"
    places = [code.at(lane.scalar, row, first) for row in rows]
    columns = [code.at(T, "%cols", code.value(f"add i64 {first}, {k}")) for k in range(count)]
    if verb == "load":
        load = f"call {T} @llvm.masked.load.{lane.suffix}.p0"
        values = [code.value(f"{load}(ptr {p}, i32 {align}, {mask}, {T} zeroinitializer)") for p in places]
        for value, column in zip(_transposed(code, lane, values), columns, strict=False):
            code.store(T, value, column)
    else:
        store = f"call void @llvm.masked.store.{lane.suffix}.p0"
        values = [code.load(T, column) for column in columns] + ["zeroinitializer"] * (w - count)
        for value, place in zip(_transposed(code, lane, values), places, strict=True):
            code.do(f"{store}({T} {value}, ptr {place}, i32 {align}, {mask})")


def _transposed(code: Code, lane: Lane, rows: Sequence[str]) -> list[str]:
    """W registers as a W×W matrix, transposed by log₂ W rounds of shuffles."""
    w, T, values = lane.width, lane.type, list(rows)
    distance = 1
    while distance < w:
        low = [j if not j & distance else w + j - distance for j in range(w)]
        high = [j + distance if not j & distance else w + j for j in range(w)]
        for i in range(w):
            if not i & distance:
                x, y = values[i], values[i + distance]
                for k, order in ((i, low), (i + distance, high)):
                    indices = ", ".join(f"i32 {j}" for j in order)
                    values[k] = code.value(f"shufflevector {T} {x}, {T} {y}, <{w} x i32> <{indices}>")
        distance *= 2
    return values


def strided_ir(scalar: str, verb: str) -> str:
    """`@load(cols, rows, w, count, stride, n1, s1, n2, s2)`: entries with any strides, one by one.

    `@store` puts them back. If there are fewer rows than w, the last one is loaded several times.
    """
    code = Code()
    last = code.value("sub i64 %count, 1")
    with code.counted("0", "%n1") as i:
        first, offset = code.value(f"mul i64 {i}, %n2"), code.value(f"mul i64 {i}, %s1")
        with code.counted("0", "%n2") as j:
            register = code.value(f"mul i64 {code.value(f'add i64 {first}, {j}')}, %w")
            entry = code.value(f"add i64 {offset}, {code.value(f'mul i64 {j}, %s2')}")
            with code.counted("0", "%w" if verb == "load" else "%count") as k:
                column = code.at(scalar, "%cols", code.value(f"add i64 {register}, {k}"))
                inside = code.value(f"icmp slt i64 {k}, {last}")
                row = code.value(f"select i1 {inside}, i64 {k}, i64 {last}")
                row = code.value(f"mul i64 {row}, %stride")
                place = code.at("i8", "%rows", code.value(f"add i64 {entry}, {row}"))
                source, target = (place, column) if verb == "load" else (column, place)
                code.store(scalar, code.load(scalar, source), target)
    sizes = "i64 %w, i64 %count, i64 %stride, i64 %n1, i64 %s1, i64 %n2, i64 %s2"
    head = f"define internal void @{verb}(ptr noalias %cols, ptr %rows, {sizes})"
    return function_ir(head, *code.lines, "  ret void")
