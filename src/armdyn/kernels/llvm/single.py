"""Single calls: a compiled function that CPython calls directly.

A gufunc call costs most of a microsecond, ten times the arithmetic of an arm. This function takes what single
calls are nearly always made of, plain contiguous float64 vectors, and hands everything else back by returning
None, so that the gufunc decides. It reads the fields of NumPy's arrays; `layout_is_known` checks on live
arrays that they are where it looks; where they are not (another build of CPython, say) it is not used.
"""

from __future__ import annotations

import ctypes
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from armdyn.kernels.llvm.body import scratch_slots
from armdyn.kernels.llvm.gufunc_loop import WORKSPACE_DECLARATIONS, copy_ir, workspace_ir
from armdyn.kernels.llvm.lane import Lane
from armdyn.program.program import Program

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
    """Whether arrays look in memory as this module expects."""
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
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get_pointer(_multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    api = ctypes.pythonapi

    def address(function: Any) -> int:
        return int(ctypes.cast(function, ctypes.c_void_p).value or 0)

    return [
        id(np.ndarray),
        id(np.dtype(np.float64)),
        int(table[_EMPTY] or 0),
        address(api.Py_IncRef),
        id(None),
        address(api.PyTuple_New),
        address(api.PyTuple_SetItem),
        address(api.Py_DecRef),
        address(api.PyErr_NoMemory),
    ]


def single_ir(program: Program, name: str) -> str:
    """`PyObject *single_NAME(self, args, nargs)` around the scalar body `@body_1`."""
    sizes = [size for _, size in program.inputs]
    shapes = [shape for _, shape in program.outputs]
    constants = [f"@context_{name} = global [{_CONTEXT} x ptr] zeroinitializer"]
    for k, shape in enumerate(shapes):
        dims = ", ".join(f"i64 {d}" for d in shape)
        constants.append(f"@dims{k}_{name} = internal constant [{len(shape)} x i64] [{dims}]")
    lines = [
        f"define ptr @single_{name}(ptr %self, ptr %args, i64 %nargs) {{",
        "entry:",
        *(f"  %cp{k} = getelementptr ptr, ptr @context_{name}, i64 {k}" for k in range(_CONTEXT)),
        *(f"  %ctx{k} = load ptr, ptr %cp{k}" for k in range(_CONTEXT)),
        f"  %count = icmp eq i64 %nargs, {len(sizes)}",
        "  br i1 %count, label %check0, label %no",
    ]
    for k, size in enumerate(sizes):
        lines += _checked(k, size)
    single = Lane("double", 1)
    lines += [f"check{len(sizes)}:"]
    slots = scratch_slots(program, single)
    workspace, release = workspace_ir(single, sum(sizes), sum(map(prod, shapes)), slots)
    lines += workspace
    start = 0
    for k, size in enumerate(sizes):
        lines += [
            f"  %source{k} = load ptr, ptr %datap{k}",
            f"  %target{k} = getelementptr double, ptr %in, i64 {start}",
            copy_ir(f"%target{k}", f"%source{k}", 8 * size),
        ]
        start += size
    lines += ["  call void @body_1(ptr %in, ptr %out, ptr %scratch)", *_results(shapes, name, release)]
    lines += ["no:", "  call void %ctx3(ptr %ctx4)", "  ret ptr %ctx4"]
    lines += ["no_memory:", "  %error = call ptr %ctx8()", "  ret ptr null", "}"]
    return "\n".join([WORKSPACE_DECLARATIONS, *constants, *lines]) + "\n"


def _checked(k: int, size: int) -> list[str]:
    """A plain float64 vector of the right length?"""
    fields = [("nd", _NDIM, "i32"), ("flags", _FLAGS, "i32"), ("descr", _DESCR, "ptr")]
    lines = [
        f"check{k}:",
        f"  %argp{k} = getelementptr ptr, ptr %args, i64 {k}",
        f"  %arg{k} = load ptr, ptr %argp{k}",
        f"  %typep{k} = getelementptr i8, ptr %arg{k}, i64 {_TYPE}",
        f"  %type{k} = load ptr, ptr %typep{k}",
        f"  %is_array{k} = icmp eq ptr %type{k}, %ctx0",
        f"  br i1 %is_array{k}, label %array{k}, label %no",
        f"array{k}:",
    ]
    for field, offset, kind in fields:
        lines.append(f"  %{field}p{k} = getelementptr i8, ptr %arg{k}, i64 {offset}")
        lines.append(f"  %{field}{k} = load {kind}, ptr %{field}p{k}")
    return [
        *lines,
        f"  %datap{k} = getelementptr i8, ptr %arg{k}, i64 {_DATA}",
        f"  %dimsp{k} = getelementptr i8, ptr %arg{k}, i64 {_DIMS}",
        f"  %one{k} = icmp eq i32 %nd{k}, 1",
        f"  %bits{k} = and i32 %flags{k}, {_PLAIN}",
        f"  %plain{k} = icmp eq i32 %bits{k}, {_PLAIN}",
        f"  %double{k} = icmp eq ptr %descr{k}, %ctx1",
        f"  %a{k} = and i1 %one{k}, %plain{k}",
        f"  %b{k} = and i1 %a{k}, %double{k}",
        f"  br i1 %b{k}, label %vector{k}, label %no",
        f"vector{k}:",
        f"  %dims{k} = load ptr, ptr %dimsp{k}",
        f"  %length{k} = load i64, ptr %dims{k}",
        f"  %fits{k} = icmp eq i64 %length{k}, {size}",
        f"  br i1 %fits{k}, label %check{k + 1}, label %no",
    ]


def _results(shapes: list[tuple[int, ...]], name: str, release: list[str]) -> list[str]:
    """New arrays with the outputs; several in a tuple."""
    several = len(shapes) > 1
    lines = []
    if several:
        lines += [
            f"  %tuple = call ptr %ctx5(i64 {len(shapes)})",
            "  %no_tuple = icmp eq ptr %tuple, null",
            "  br i1 %no_tuple, label %fail, label %result0",
            "result0:",
        ]
    start = 0
    for k, shape in enumerate(shapes):
        lines += [
            "  call void %ctx3(ptr %ctx1)",
            f"  %new{k} = call ptr %ctx2(i32 {len(shape)}, ptr @dims{k}_{name}, ptr %ctx1, i32 0)",
            f"  %none{k} = icmp eq ptr %new{k}, null",
            f"  br i1 %none{k}, label %{'drop' if several else 'fail'}, label %fill{k}",
            f"fill{k}:",
            f"  %newp{k} = getelementptr i8, ptr %new{k}, i64 {_DATA}",
            f"  %newdata{k} = load ptr, ptr %newp{k}",
            f"  %from{k} = getelementptr double, ptr %out, i64 {start}",
            copy_ir(f"%newdata{k}", f"%from{k}", 8 * prod(shape)),
        ]
        start += prod(shape)
        if several:
            lines.append(f"  %set{k} = call i32 %ctx6(ptr %tuple, i64 {k}, ptr %new{k})")
    lines += [*release, f"  ret ptr {'%tuple' if several else '%new0'}"]
    if several:
        lines += ["drop:", "  call void %ctx7(ptr %tuple)", "  br label %fail"]
    return [*lines, "fail:", *release, "  ret ptr null"]


def make_single(name: str, function: int, context: int) -> Any:
    """The builtin function at an address; its context is filled in."""
    values = (ctypes.c_void_p * _CONTEXT)(*_context())
    ctypes.memmove(context, values, ctypes.sizeof(values))
    definition = _MethodDef(name.encode(), function, _METH_FASTCALL, b"compiled by armdyn")
    _alive.append(definition)
    create = ctypes.pythonapi.PyCFunction_NewEx
    create.restype = ctypes.py_object
    create.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    return create(ctypes.addressof(definition), None, None)
