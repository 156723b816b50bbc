"""The backend "compiled": a program as machine code in a NumPy gufunc with fixed core dimensions.

Broadcasting, casting and errors are NumPy's own. It computes in float64, or in float32 when all inputs are
float32. The first robot of a structure gets code with its numbers as constants. When a robot that differs in
numbers only asks for the same function, code is made that takes the numbers as an input, and all further
robots of this structure use it. A function with many inputs and outputs has long code: there, the code for
few rows and the code for many are compiled apart, each when it is first needed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import accumulate, product
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from armdyn.kernels import cache
from armdyn.kernels.arrays import FLOAT32, FLOAT64, Specification, checked_inputs, checked_out
from armdyn.kernels.llvm.body import BodyText, program_body
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
from armdyn.kernels.llvm.loop import loop_body
from armdyn.kernels.llvm.machine import ModuleText, loaded, vector_bytes
from armdyn.kernels.threads import MINIMUM_ROWS, call_in_slices, get_threads
from armdyn.program.loops import Loop
from armdyn.program.program import Program, Shape

# ------------------------------------------------------------------------------------------------------------
# The loop around a program's body, as NumPy calls it: loop(char **args, intp *dims, intp *steps, void *).
#
# Rows come with any strides. Whole registers are loaded and transposed where the entries of a row lie side
# by side; otherwise entries are fetched one by one. What is left over after full registers takes the scalar
# body. The floating-point flags are left as they were found: a NaN or a singular row shows in its row, not
# as a warning. A loop cannot return an error; if it gets no memory to work in, it leaves the rows alone and
# adds one to the count that `data` points to.


PAST_CACHE = 2 * 2**20  # bytes of a result that does not stay in the cache


def body_of(function: Program | Loop, lane: Lane, width: int) -> BodyText:
    """`@body_W(in, out, scratch)` in registers of a lane. `width`: numbers in the widest register."""
    if isinstance(function, Program):
        return program_body(function, lane, width)
    return loop_body(function, lane, width)


def module_ir(
    form: Specification, scalar: str, bodies: Mapping[int, BodyText], name: str, further: str = ""
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


def _loop_ir(name: str, form: Specification, scalar: str, bodies: Mapping[int, BodyText]) -> str:
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
    large = code.value(f"icmp sgt i64 {total}, {PAST_CACHE}")
    adjacent = code.value(f"icmp eq i64 {step}, {row}")
    address = code.value(f"and i64 {code.value(f'ptrtoint ptr {base} to i64')}, 15")
    fits = code.value(f"icmp eq i64 {address}, 0")
    return code.value(f"and i1 {large}, {code.value(f'and i1 {adjacent}, {fits}')}")


# ------------------------------------------------------------------------------------------------------------
# The ufunc: a compiled loop as a NumPy generalized ufunc, through NumPy's C-API.
#
# NumPy keeps pointers to the name, the documentation, the type codes and the array of loops: all are kept
# alive here for the rest of the process.


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


@lru_cache
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


# ------------------------------------------------------------------------------------------------------------
# Single calls: a compiled function that CPython calls directly.
#
# A gufunc call takes almost a microsecond, ten times as long as an arm's arithmetic. Nearly all single calls
# have plain contiguous float64 vectors as arguments. This function takes those; for anything else it returns
# None, and the gufunc is called. It reads the fields of NumPy's array objects in memory. `layout_is_known`
# checks on real arrays that the fields are where they are expected. If they are not, as in another build of
# CPython, the function is not used.


_TYPE, _DATA, _NDIM, _DIMS, _DESCR, _FLAGS = 8, 16, 24, 32, 56, 64  # bytes from the start of an array object
_PLAIN = 0x101  # C-contiguous and aligned
_EMPTY = 184  # PyArray_Empty in NumPy's array API table
_SIZE, _ENTRIES = 16, tuple.__basicsize__  # of a tuple; since Python 3.14 its hash stands before the entries
_METH_O = 0x8  # the function takes one argument, a tuple here
_CONTEXT = 10  # addresses in _context


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@lru_cache
def layout_is_known() -> bool:
    """True if array objects have their fields where this module expects them."""
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    for shape in ((3,), (2, 5)):
        array = np.zeros(shape)
        address = id(array)

        def field(offset: int, kind: Any, address: int = address) -> int:
            return int(kind.from_address(address + offset).value or 0)

        pointer, number = ctypes.c_void_p, ctypes.c_int
        if (
            field(_TYPE, pointer) != id(np.ndarray)
            or field(_DATA, pointer) != array.ctypes.data
            or field(_NDIM, number) != array.ndim
            or field(_DESCR, pointer) != id(array.dtype)
            or field(_FLAGS, number) & _PLAIN != _PLAIN
            or ctypes.c_int64.from_address(field(_DIMS, pointer)).value != shape[0]
        ):
            return False
    pair, word = (array, None), ctypes.c_size_t
    words = [word.from_address(id(pair) + place).value for place in (_SIZE, _ENTRIES, _ENTRIES + 8)]
    return words == [2, id(array), id(None)] and id(np.dtype(np.float64)) == id(np.zeros(1).dtype)


@lru_cache
def _context() -> list[int]:
    """Addresses the function needs: types, float64, PyArray_Empty, Py_IncRef, None, tuples, errors."""
    api = ctypes.pythonapi

    def address(function: Any) -> int:
        return int(ctypes.cast(function, ctypes.c_void_p).value or 0)

    return [
        id(np.ndarray),
        id(np.dtype(np.float64)),
        int(api_table("_ARRAY_API")[_EMPTY] or 0),
        address(api.Py_IncRef),
        id(None),
        address(api.PyTuple_New),
        address(api.PyTuple_SetItem),
        address(api.Py_DecRef),
        address(api.PyErr_NoMemory),
        id(tuple),
    ]


def single_ir(form: Specification, slots: int, name: str, may_decline: bool = False) -> str:
    """`PyObject *single_NAME(self, arrays)` around the scalar body `@body_1`, which needs slots.

    `arrays` is a tuple. `self` is None, or the array that is the first input.

    `may_decline`: the last output, one number, is not handed out. Where it is positive there is no result.
    """
    sizes, shapes = [size for _, size in form.inputs], form.outputs
    constants = [f"@context_{name} = global [{_CONTEXT} x ptr] zeroinitializer"]
    for k, shape in enumerate(shapes):
        dims = ", ".join(f"i64 {d}" for d in shape)
        constants.append(f"@dims{k}_{name} = internal constant [{len(shape)} x i64] [{dims}]")
    lane = Lane("double", 1)
    columns = {"in": sum(sizes), "out": sum(map(prod, shapes)), "scratch": slots}
    workspace, release = workspace_ir(lane, columns)
    code = _Single(name)
    arrays = code.arrays(sizes)
    code.lines += workspace
    for array, size, start in zip(arrays, sizes, accumulate(sizes, initial=0), strict=False):
        code.copy(code.at("double", "%in", start), code.field(array, _DATA, "ptr"), 8 * size)
    code.do("call void @body_1(ptr %in, ptr %out, ptr %scratch)")
    if may_decline:
        shapes = shapes[:-1]
        declines = code.load("double", code.at("double", "%out", sum(map(prod, shapes))))
        code.require(code.value(f"fcmp ule double {declines}, {lane.constant(0.0)}"), "declined")
    code.results(shapes, release)
    if may_decline:
        code.lines += ["declined:", *release, "  br label %no"]
    code.begin("no")
    code.do(f"call void {code.increase}(ptr {code.none})")
    code.do(f"ret ptr {code.none}")
    code.begin("no_memory")
    code.do(f"call ptr {code.no_memory}()")
    code.do("ret ptr null")
    head = f"define ptr @single_{name}(ptr %self, ptr %arrays)"
    return "\n".join([*constants, function_ir(head, *code.lines)])


class _Single(Code):
    """The function's code, with the addresses it needs under their names."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.function = name
        context = [self.load("ptr", self.at("ptr", f"@context_{name}", k)) for k in range(_CONTEXT)]
        self.array, self.float64, self.empty, self.increase, self.none, *more = context
        self.new_tuple, self.set_item, self.decrease, self.no_memory, self.tuple = more

    def field(self, array: str, offset: int, kind: str) -> str:
        return self.load(kind, self.at("i8", array, offset))

    def arrays(self, sizes: Sequence[int]) -> list[str]:
        """The inputs, if they are plain float64 vectors of these lengths."""
        self.require(self.value(f"icmp eq ptr {self.field('%arrays', _TYPE, 'ptr')}, {self.tuple}"), "no")
        own = self.value(f"icmp ne ptr %self, {self.none}")
        given = self.field("%arrays", _SIZE, "i64")
        count = self.value(f"add i64 {given}, {self.value(f'zext i1 {own} to i64')}")
        self.require(self.value(f"icmp eq i64 {count}, {len(sizes)}"), "no")
        start = self.value(f"select i1 {own}, i64 {_ENTRIES - 8}, i64 {_ENTRIES}")
        first = self.at("i8", "%arrays", start)
        found = []
        for k, size in enumerate(sizes):
            array = self.load("ptr", self.at("ptr", first, k))
            if k == 0:
                array = self.value(f"select i1 {own}, ptr %self, ptr {array}")
            found.append(self.checked(array, size))
        return found

    def checked(self, array: str, size: int) -> str:
        """An argument, if it is a plain float64 vector of the right length."""
        self.require(self.value(f"icmp eq ptr {self.field(array, _TYPE, 'ptr')}, {self.array}"), "no")
        one = self.value(f"icmp eq i32 {self.field(array, _NDIM, 'i32')}, 1")
        flags = self.value(f"and i32 {self.field(array, _FLAGS, 'i32')}, {_PLAIN}")
        plain = self.value(f"icmp eq i32 {flags}, {_PLAIN}")
        double = self.value(f"icmp eq ptr {self.field(array, _DESCR, 'ptr')}, {self.float64}")
        self.require(self.value(f"and i1 {self.value(f'and i1 {one}, {plain}')}, {double}"), "no")
        length = self.load("i64", self.field(array, _DIMS, "ptr"))
        self.require(self.value(f"icmp eq i64 {length}, {size}"), "no")
        return array

    def results(self, shapes: Sequence[Shape], release: list[str]) -> None:
        """Return new arrays with the outputs; several in a tuple."""
        several = len(shapes) > 1
        if several:
            result = self.value(f"call ptr {self.new_tuple}(i64 {len(shapes)})")
            self.require(self.value(f"icmp ne ptr {result}, null"), "fail")
        start = 0
        for k, shape in enumerate(shapes):
            self.do(f"call void {self.increase}(ptr {self.float64})")
            dims = f"i32 {len(shape)}, ptr @dims{k}_{self.function}"
            new = self.value(f"call ptr {self.empty}({dims}, ptr {self.float64}, i32 0)")
            self.require(self.value(f"icmp ne ptr {new}, null"), "drop" if several else "fail")
            self.copy(self.field(new, _DATA, "ptr"), self.at("double", "%out", start), 8 * prod(shape))
            start += prod(shape)
            if several:
                self.do(f"call i32 {self.set_item}(ptr {result}, i64 {k}, ptr {new})")
        self.lines += [*release, f"  ret ptr {result if several else new}"]
        if several:
            self.lines += ["drop:", f"  call void {self.decrease}(ptr {result})", "  br label %fail"]
        self.lines += ["fail:", *release, "  ret ptr null"]


def make_single(name: str, function: int, context: int) -> Callable[[Any], Callable[..., Any]]:
    """What makes the function at an address, its context filled in, a Python builtin.

    It takes the array that is to be the first input, or None.
    """
    values = (ctypes.c_void_p * _CONTEXT)(*_context())
    ctypes.memmove(context, values, ctypes.sizeof(values))
    definition = _MethodDef(name.encode(), function, _METH_O, b"compiled by armdyn")
    _alive.append(definition)
    create = ctypes.pythonapi.PyCFunction_NewEx
    create.restype = ctypes.py_object
    create.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return lambda first: create(ctypes.addressof(definition), first, None)


# ------------------------------------------------------------------------------------------------------------
# The kernel: machine code chosen, made and called.


class Calls(NamedTuple):
    """Machine code of a specification in one precision, as Python calls it."""

    gufunc: Any
    single: Callable[[Any], Callable[..., Any]]  # what makes the call for a tuple of plain vectors


LARGE = 1000  # inputs and outputs of a function: with more, code for few and for many rows is made apart
FEW, MANY = "few", "many"  # rows that code is for
_first: dict[str, str] = {}  # structure -> the robot whose numbers are constants
_one_form: ContextVar[bool] = ContextVar("armdyn.one_form", default=False)


class Compiled:
    """A kernel as machine code."""

    def __init__(self, specification: Specification) -> None:
        self.name, self.inputs = specification.name, specification.inputs
        self.outputs = specification.outputs
        self._form, self._numbers = form_of(specification)
        self._single: Callable[..., Any] = _not_quick
        self._apart = sum(size for _, size in self.inputs) + sum(map(prod, self.outputs)) > LARGE
        self.quick: Callable[..., Any] = self._quick_once_made
        if not self._apart:
            code = _code(self._form, "double", FEW, MANY)
            self.float64 = self._bound(code.gufunc, FLOAT64)
            self.quick = code.single(self._first)

    @cached_property
    def float64(self) -> Any:
        """The gufunc in double precision, for any number of rows; `float32` is that in single precision."""
        return self._bound(_code(self._form, "double", MANY).gufunc, FLOAT64)

    @cached_property
    def float32(self) -> Any:
        rows = (MANY,) if self._apart else (FEW, MANY)
        return self._bound(_code(self._form, "float", *rows).gufunc, FLOAT32)

    @cached_property
    def _few(self) -> Any:
        """The gufunc for fewer rows than a register has room for; with it, single calls become quick."""
        code = _code(self._form, "double", FEW)
        self._single = code.single(self._first)
        return self._bound(code.gufunc, FLOAT64)

    def _quick_once_made(self, arrays: tuple[Any, ...]) -> Any:
        return self._single(arrays)

    @property
    def _first(self) -> Any:
        """What a single call takes before its arguments: the robot's numbers, where the code takes them."""
        return None if self._numbers is None else np.array(self._numbers, float)

    def get_ready(self) -> None:
        """Compile the code for few rows and for many, in double precision."""
        if self._apart:
            _ = self._few, self.float64

    def _bound(self, function: Any, dtype: np.dtype[Any]) -> Any:
        """A function with the robot's numbers as its first argument, where it takes them."""
        return function if self._numbers is None else partial(function, self._numbers.astype(dtype))

    def __call__(self, arrays: Sequence[Any], out: Any) -> Any:
        inputs, batch = checked_inputs(self.name, self.inputs, arrays)
        float32 = inputs[0].dtype == FLOAT32 and all(x.dtype == FLOAT32 for x in inputs)
        rows = prod(batch)
        few = self._apart and rows < vector_bytes() // 8
        dtype = FLOAT32 if float32 else FLOAT64
        gufunc = self.float32 if float32 else self._few if few else self.float64
        targets = None if out is None else checked_out(out, batch, self.outputs)
        before = failures()
        result = None
        if rows >= 2 * MINIMUM_ROWS:
            result = self._in_slices(gufunc, inputs, targets, batch, dtype)
        if result is None:
            result = gufunc(*inputs) if targets is None else gufunc(*inputs, out=targets)
        if failures() != before:
            raise MemoryError(f"{self.name}: not enough memory")
        return result

    def _in_slices(
        self,
        gufunc: Any,
        inputs: Sequence[np.ndarray],
        targets: Sequence[Any] | None,
        batch: Shape,
        dtype: np.dtype[Any],
    ) -> Any:
        """A large batch on several threads; None if one thread is to do it."""
        if get_threads() == 1 or _overlap(inputs, targets):
            return None
        shapes = [batch + shape for shape in self.outputs]
        given = (None,) * len(shapes) if targets is None else targets
        if any(y is not None and y.shape != shape for y, shape in zip(given, shapes, strict=True)):
            return None  # `out` is larger than the batch: NumPy has to broadcast
        outputs = [np.empty(shape, dtype) if y is None else y for y, shape in zip(given, shapes, strict=True)]
        call_in_slices(gufunc, inputs, outputs, batch)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _overlap(inputs: Sequence[np.ndarray], targets: Sequence[Any] | None) -> bool:
    """True if a result would be written where another slice still reads."""
    return any(y is not None and np.may_share_memory(x, y) for x in inputs for y in targets or ())


@contextmanager
def one_form() -> Iterator[None]:
    """A block in which every robot gets the code that takes its numbers as an input, the first one too.

    With its numbers as constants results differ in their last bits. Here they do not depend on which robot
    came first.
    """
    token = _one_form.set(True)
    try:
        yield
    finally:
        _one_form.reset(token)


def form_of(specification: Specification) -> tuple[Specification, np.ndarray | None]:
    """The specification to compile, and the numbers to hand it."""
    shared = specification.shared
    if shared is None:
        return specification, None
    own = cache.digest_of(specification.name, specification.identity)
    structure = cache.digest_of(specification.name, shared.specification.identity)
    if not _one_form.get() and _first.setdefault(structure, own) == own:
        return specification, None
    return shared.specification, shared.numbers


def single_call(form: Specification) -> Callable[..., Any]:
    """The call for one state of a function that may decline: None where its last output is positive."""
    return _code(form, "double", FEW, may_decline=True).single(None)


def _code(form: Specification, scalar: str, *rows: str, may_decline: bool = False) -> Calls:
    """The code of a specification in "double" or "float", for few rows, many, or both."""
    with_single = FEW in rows and scalar == "double" and all(form.outputs) and layout_is_known()
    dtype = FLOAT64 if scalar == "double" else FLOAT32
    widest = vector_bytes() // dtype.itemsize
    widths = [widest if kind == MANY else 1 for kind in sorted(rows, reverse=True)]
    signature = ",".join(f"({size})" for _, size in form.inputs) + "->"
    signature += ",".join("(" + ",".join(map(str, shape)) + ")" for shape in form.outputs)

    def ir(name: str) -> ModuleText:
        bodies = {width: body_of(_function(form, width), Lane(scalar, width), widest) for width in widths}
        single = single_ir(form, bodies[1].slots, name, may_decline) if with_single else ""
        called = {key: text for body in bodies.values() for key, text in body.functions.items()}
        return ModuleText(module_ir(form, scalar, bodies, name, single), called)

    def made(loop: int, *single: int) -> Calls:
        gufunc = make_gufunc(loop, form.name, signature, len(form.inputs), len(form.outputs), dtype)
        return Calls(gufunc, make_single(form.name, *single) if single else lambda _: _not_quick)

    kinds = ["loop", "single", "context"] if with_single else ["loop"]
    parts = [form.name, form.identity, scalar, str(with_single), str(may_decline), *rows]
    return loaded(parts, kinds, ir, made, level=2 if len(rows) > 1 else 1)


def _function(form: Specification, width: int) -> Program | Loop:
    """What runs in registers of a width."""
    return form.few() if form.few and width == 1 else form.body


def _not_quick(arrays: tuple[Any, ...]) -> None:
    """Stands for a single call where there is none: always None."""
