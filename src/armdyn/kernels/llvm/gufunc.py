"""A compiled loop as a NumPy generalized ufunc, through NumPy's C-API.

NumPy keeps pointers to the name, the documentation, the type codes and the array of loops: all are kept
alive here for the rest of the process.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from armdyn.kernels.llvm.body import Body
from armdyn.kernels.llvm.code import (
    ENVIRONMENT,
    Code,
    Lane,
    declared_once,
    function_ir,
    masked_declarations,
    move_ir,
    stream_ir,
    streams,
    strided_ir,
    workspace_ir,
)
from armdyn.kernels.specification import Specification
from armdyn.program.program import Shape

# ------------------------------------------------------------------------------------------------------------
# The loop around a program's body, as NumPy calls it: loop(char **args, intp *dims, intp *steps, void *).
#
# Rows come with any strides. Whole registers are loaded and transposed where the entries of a row lie side
# by side; otherwise entries are fetched one by one. What is left over after full registers takes the scalar
# body. The floating-point flags are left as they were found: a NaN or a singular row shows in its row, not
# as a warning. A loop cannot return an error; if it gets no memory to work in, it leaves the rows alone and
# adds one to the count that `data` points to.


LARGE = 2 * 2**20  # bytes of a result that does not stay in the cache


def module_ir(
    form: Specification, scalar: str, bodies: Mapping[int, Body], name: str, further: str = ""
) -> str:
    """A module with `@loop_NAME` for a function in one floating-point format, and further functions.

    `bodies`: by the width of their registers, the widest first.
    """
    sizes = {"load": {size for _, size in form.inputs}, "store": {prod(shape) for shape in form.outputs}}
    wide = Lane(scalar, max(bodies))
    moves = [move_ir(wide, size, verb) for verb in sizes for size in sorted(sizes[verb]) if wide.width > 1]
    moves += [stream_ir(wide, size) for size in sorted(sizes["store"]) if streams(wide, size)]
    moves += [strided_ir(scalar, verb) for verb in sizes]
    loop = _loop_ir(f"loop_{name}", form, scalar, bodies)
    texts = [body.text for body in bodies.values()]
    return declared_once([*texts, *moves, masked_declarations(wide), loop, further, "!0 = !{i32 1}"])


def _loop_ir(name: str, form: Specification, scalar: str, bodies: Mapping[int, Body]) -> str:
    """The loop itself: full registers, then the rest one by one, or in a register that is not full."""
    lane = Lane(scalar, max(bodies))
    sizes = [sum(size for _, size in form.inputs), sum(map(prod, form.outputs))]
    slots = max(-(-width * body.slots // lane.width) for width, body in bodies.items())
    workspace, release = workspace_ir(lane, {"in": sizes[0], "out": sizes[1], "scratch": slots})
    code = Code("ready")
    operands = list(_operands(code, lane, form))
    inputs, outputs = operands[: len(form.inputs)], operands[len(form.inputs) :]

    def rows(width: int, row: str, first: str) -> None:
        register = Lane(lane.scalar, width)
        for operand in inputs:
            operand.bring_in(code, register, row, first)
        code.do(f"call void @body_{width}(ptr %in, ptr %out, ptr %scratch)")
        for operand in outputs:
            operand.move(code, register, row)

    def rest(row: str, count: str) -> None:
        for operand in inputs:
            operand.move_some(code, lane, row, count)
        code.do(f"call void @body_{lane.width}(ptr %in, ptr %out, ptr %scratch)")
        for operand in outputs:
            operand.move_some(code, lane, row, count)

    code.over_registers("0", code.load("i64", "%dims"), list(bodies), rows, rest)
    for operand in outputs:
        if operand.past_cache:  # what was written is there for other threads, too
            code.choose(operand.past_cache, lambda: code.do("fence seq_cst"))
    end = [*release, "  ret void", "no_memory:", "  atomicrmw add ptr %data, i64 1 seq_cst", "  ret void"]
    head = f"define void @{name}(ptr %args, ptr %dims, ptr %steps, ptr %data)"
    return function_ir(head, ENVIRONMENT, *workspace, *code.lines, *end)


@dataclass(frozen=True)
class _Operand:
    """An array argument: where its rows are, and how its entries lie in them."""

    verb: str  # "load" for inputs, "store" for outputs
    start: int  # the first of its registers in %in or %out
    lengths: tuple[int, ...]  # two or more
    base: str
    step: str  # bytes from row to row
    strides: tuple[str, ...]  # bytes from entry to entry
    dense: str  # whether the entries lie side by side
    past_cache: str  # whether rows are written past the cache; empty: never

    def bring_in(self, code: Code, register: Lane, row: str, first: str) -> None:
        """Load rows into the columns. An input without a stride stays there after the first time."""
        same, later = code.value(f"icmp eq i64 {self.step}, 0"), code.value(f"icmp ne i64 {row}, {first}")
        kept = code.value(f"and i1 {same}, {later}")
        code.choose(kept, None, lambda: self.move(code, register, row))

    def move(self, code: Code, register: Lane, row: str) -> None:
        """Move W rows into the columns, or back."""
        size = prod(self.lengths)

        def dense() -> None:
            rows, columns = self._ends(code, register, row)
            if register.width == 1:
                target, source = (columns, rows) if self.verb == "load" else (rows, columns)
                code.copy(target, source, size * register.bytes)
            elif self.past_cache:
                code.choose(
                    self.past_cache,
                    lambda: code.do(f"call void @stream_{size}(ptr {columns}, ptr {rows})"),
                    lambda: code.do(f"call void @store_{size}(ptr {columns}, ptr {rows}, i64 {self.step})"),
                )
            else:
                code.do(f"call void @{self.verb}_{size}(ptr {columns}, ptr {rows}, i64 {self.step})")

        code.choose(self.dense, dense, lambda: self.move_some(code, register, row, str(register.width)))

    def move_some(self, code: Code, register: Lane, row: str, count: str) -> None:
        """Move that many rows, at most W, entry by entry. The last of them fills a register on the way in."""
        rows, columns = self._ends(code, register, row)
        (*outer, n1, n2), (*steps, s1, s2) = self.lengths, self.strides
        for k, index in enumerate(product(*map(range, outer))):  # once, unless there are three axes or more
            place = rows
            for i, step in zip(index, steps, strict=True):
                place = code.at("i8", place, code.value(f"mul i64 {step}, {i}")) if i else place
            own = code.at(register.type, columns, k * n1 * n2) if k else columns
            where = f"ptr {own}, ptr {place}, i64 {register.width}, i64 {count}, i64 {self.step}"
            code.do(f"call void @{self.verb}({where}, i64 {n1}, i64 {s1}, i64 {n2}, i64 {s2})")

    def _ends(self, code: Code, register: Lane, row: str) -> tuple[str, str]:
        """Pointers to the rows and to the columns."""
        rows = code.at("i8", self.base, code.value(f"mul i64 {row}, {self.step}"))
        return rows, code.at(register.type, "%in" if self.verb == "load" else "%out", self.start)


def _operands(code: Code, lane: Lane, form: Specification) -> Iterator[_Operand]:
    """Read the pointers, outer strides and inner strides."""
    inputs: list[tuple[str, Shape]] = [("load", (size,)) for _, size in form.inputs]
    shapes = inputs + [("store", shape) for shape in form.outputs]
    start, core = {"load": 0, "store": 0}, len(shapes)
    for k, (verb, shape) in enumerate(shapes):
        base, step = (
            code.load("ptr", code.at("ptr", "%args", k)),
            code.load("i64", code.at("i64", "%steps", k)),
        )
        strides = [code.load("i64", code.at("i64", "%steps", core + j)) for j in range(len(shape))]
        missing = max(0, 2 - len(shape))
        lengths, steps = (1,) * missing + tuple(shape), ("0",) * missing + tuple(strides)
        size, entry = prod(lengths), lane.bits // 8
        dense, adjacent = "true", entry
        for n, stride in zip(reversed(lengths), reversed(steps), strict=True):
            if n > 1:
                dense = code.value(f"and i1 {dense}, {code.value(f'icmp eq i64 {stride}, {adjacent}')}")
            adjacent *= n
        past_cache = ""
        if verb == "store" and streams(lane, size):
            past_cache = _past_cache(code, base, step, size * entry)
        yield _Operand(verb, start[verb], lengths, base, step, steps, dense, past_cache)
        core += len(shape)
        start[verb] += size


def _past_cache(code: Code, base: str, step: str, row: int) -> str:
    """IR value: results exceed the cache, lie row after row, and begin at a multiple of 16 bytes."""
    total = code.value(f"mul i64 {code.load('i64', '%dims')}, {row}")
    large = code.value(f"icmp sgt i64 {total}, {LARGE}")
    adjacent = code.value(f"icmp eq i64 {step}, {row}")
    address = code.value(f"and i64 {code.value(f'ptrtoint ptr {base} to i64')}, 15")
    fits = code.value(f"icmp eq i64 {address}, 0")
    return code.value(f"and i1 {large}, {code.value(f'and i1 {adjacent}, {fits}')}")


# ------------------------------------------------------------------------------------------------------------
# The ufunc.


_FROM_FUNC_AND_DATA_AND_SIGNATURE = 31  # its place in NumPy's ufunc API table
_NO_IDENTITY = -1
_TYPE_CODES = {np.dtype(np.float64): 12, np.dtype(np.float32): 11}
_alive: list[Any] = []
_failures = ctypes.c_int64(0)


def failures() -> int:
    """Count of loops that could not allocate memory. If it grows in a call, that call's result is invalid.

    All gufuncs and threads share the count, so a call may also fail because of another thread's.
    """
    return _failures.value


def api_table(name: str) -> Any:
    """One of NumPy's tables of C functions: "_ARRAY_API" or "_UFUNC_API"."""
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get_pointer(getattr(_multiarray_umath, name), None), ctypes.POINTER(ctypes.c_void_p))


@cache
def _constructor() -> Any:
    pointer, number, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    types = [pointer] * 3 + [number] * 4 + [text, text, number, text]
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, *types)
    return prototype(api_table("_UFUNC_API")[_FROM_FUNC_AND_DATA_AND_SIGNATURE])


def make_gufunc(address: int, name: str, signature: str, inputs: int, outputs: int, dtype: Any) -> Any:
    """The gufunc of a loop at an address; `signature` such as "(7),(7)->(7,7)"."""
    loops = (ctypes.c_void_p * 1)(address)
    data = (ctypes.c_void_p * 1)(ctypes.addressof(_failures))
    code = _TYPE_CODES[np.dtype(dtype)]
    types = ctypes.create_string_buffer(bytes([code]) * (inputs + outputs))
    texts = [name.encode(), b"compiled by armdyn", signature.encode()]
    _alive.extend([loops, data, types, *texts])
    name_, doc, signature_ = texts
    pointers = [ctypes.addressof(x) for x in (loops, data, types)]
    return _constructor()(*pointers, 1, inputs, outputs, _NO_IDENTITY, name_, doc, 0, signature_)
