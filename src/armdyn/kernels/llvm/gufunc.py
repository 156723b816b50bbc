"""A compiled loop as a NumPy generalized ufunc, through NumPy's C-API.

NumPy keeps pointers to the name, the documentation, the type codes and the array of loops: all are kept
alive here for the rest of the process.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

_FROM_FUNC_AND_DATA_AND_SIGNATURE = 31  # its place in NumPy's ufunc API table
_NO_IDENTITY = -1
_TYPE_CODES = {np.dtype(np.float64): 12, np.dtype(np.float32): 11}
_alive: list[Any] = []
_failures = ctypes.c_int64(0)


def failures() -> int:
    """How often a loop could not allocate memory. If it grows during a call, that call's result is invalid.

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
