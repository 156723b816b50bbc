"""Single calls: a compiled function that CPython calls directly.

A gufunc call takes almost a microsecond, ten times as long as an arm's arithmetic. Nearly all single calls
have plain contiguous float64 vectors as arguments. This function takes those; for anything else it returns
None, and the gufunc is called. It reads the fields of NumPy's array objects in memory. `layout_is_known`
checks on real arrays that the fields are where this module expects them. If they are not, as in another build
of CPython, the function is not used.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from armdyn.kernels.llvm.code import Code, Lane, function_ir, workspace_ir
from armdyn.kernels.llvm.gufunc import api_table
from armdyn.kernels.specification import Specification
from armdyn.program.program import Shape

_TYPE, _DATA, _NDIM, _DIMS, _DESCR, _FLAGS = 8, 16, 24, 32, 56, 64  # bytes from the start of an array object
_PLAIN = 0x101  # C-contiguous and aligned
_EMPTY = 184  # PyArray_Empty in NumPy's array API table
_METH_FASTCALL = 0x80
_CONTEXT = 9  # addresses in _context
_alive: list[Any] = []


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@cache
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
    return id(np.dtype(np.float64)) == id(np.zeros(1).dtype)


@cache
def _context() -> list[int]:
    """Addresses the function needs: array type, float64, PyArray_Empty, Py_IncRef, None, tuples, errors."""
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
    ]


def single_ir(form: Specification, slots: int, name: str) -> str:
    """`PyObject *single_NAME(self, args, nargs)` around the scalar body `@body_1`, which needs slots."""
    sizes, shapes = [size for _, size in form.inputs], form.outputs
    constants = [f"@context_{name} = global [{_CONTEXT} x ptr] zeroinitializer"]
    for k, shape in enumerate(shapes):
        dims = ", ".join(f"i64 {d}" for d in shape)
        constants.append(f"@dims{k}_{name} = internal constant [{len(shape)} x i64] [{dims}]")
    lane = Lane("double", 1)
    columns = {"in": sum(sizes), "out": sum(map(prod, shapes)), "scratch": slots}
    workspace, release = workspace_ir(lane, columns)
    code = _Single(name)
    code.require(code.value(f"icmp eq i64 %nargs, {len(sizes)}"), "no")
    arrays = [code.checked(k, size) for k, size in enumerate(sizes)]
    code.lines += workspace
    for array, size, start in zip(arrays, sizes, accumulate(sizes, initial=0), strict=False):
        code.copy(code.at("double", "%in", start), code.field(array, _DATA, "ptr"), 8 * size)
    code.do("call void @body_1(ptr %in, ptr %out, ptr %scratch)")
    code.results(shapes, release)
    code.begin("no")
    code.do(f"call void {code.increase}(ptr {code.none})")
    code.do(f"ret ptr {code.none}")
    code.begin("no_memory")
    code.do(f"call ptr {code.no_memory}()")
    code.do("ret ptr null")
    head = f"define ptr @single_{name}(ptr %self, ptr %args, i64 %nargs)"
    return "\n".join([*constants, function_ir(head, *code.lines)])


class _Single(Code):
    """The function's code, with the addresses it needs under their names."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.function = name
        context = [self.load("ptr", self.at("ptr", f"@context_{name}", k)) for k in range(_CONTEXT)]
        self.array, self.float64, self.empty, self.increase, self.none, *more = context
        self.new_tuple, self.set_item, self.decrease, self.no_memory = more

    def field(self, array: str, offset: int, kind: str) -> str:
        return self.load(kind, self.at("i8", array, offset))

    def checked(self, k: int, size: int) -> str:
        """Argument k, if it is a plain float64 vector of the right length."""
        array = self.load("ptr", self.at("ptr", "%args", k))
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


def make_single(name: str, function: int, context: int) -> Any:
    """The function at an address as a Python builtin, with its context filled in."""
    values = (ctypes.c_void_p * _CONTEXT)(*_context())
    ctypes.memmove(context, values, ctypes.sizeof(values))
    definition = _MethodDef(name.encode(), function, _METH_FASTCALL, b"compiled by armdyn")
    _alive.append(definition)
    create = ctypes.pythonapi.PyCFunction_NewEx
    create.restype = ctypes.py_object
    create.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    return create(ctypes.addressof(definition), None, None)
