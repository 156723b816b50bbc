"""A CuPy for tests on machines without a GPU: arrays in ordinary memory, CUDA text compiled as C++.

What CuPy refuses is refused here too: a silent way to NumPy arrays, and NumPy arrays among its own. What
makes a program wait for the GPU (`get`, `bool`, `float`, `synchronize`, …) is counted in `waits`.
`tests/cuda/conftest.py` puts this module into `sys.modules` as `cupy`; `shim.h` has what CUDA's language has
and C++ has not.
"""

import ctypes
import hashlib
import operator
import re
import subprocess
import tempfile
import types
from pathlib import Path

import numpy as np
from numpy import bool_, float32, float64, int32, int64, newaxis, pi, uint8, uint32, uint64  # noqa: F401

__version__ = "14.0.0"
waits: list[str] = []  # what waited for the GPU, in order
inf, nan = np.inf, np.nan
_METHODS = """
reshape ravel transpose copy swapaxes squeeze view fill any all sum max min prod mean std var argmax
argmin cumsum dot take repeat nonzero clip sort argsort diagonal trace flatten round
"""
_OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"


# ---- arrays ------------------------------------------------------------------------------------------------


class _Flags:
    def __init__(self, x):
        self.c_contiguous, self.f_contiguous = x.flags.c_contiguous, x.flags.f_contiguous
        self.owndata = x.flags.owndata
        self.forc = self.c_contiguous or self.f_contiguous
        self.fnc = self.f_contiguous and not self.c_contiguous

    def __getitem__(self, name):
        return getattr(self, name.lower())


class MemoryPointer:
    def __init__(self, x, ptr=None):
        self._kept, self.ptr = x, x.__array_interface__["data"][0] if ptr is None else ptr
        self.device, self.device_id = Device(0), 0

    def __int__(self):
        return self.ptr

    def __add__(self, offset):
        return MemoryPointer(self._kept, self.ptr + offset)


class ndarray:
    """An array "on the GPU": it wraps one of NumPy and gives it away by `get` alone."""

    __module__ = "cupy"
    __array_priority__ = 100
    __hash__ = None

    def __init__(self, shape, dtype=float, memptr=None, strides=None, order="C"):
        shape = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
        if memptr is None:
            x = np.empty(shape, dtype, order)
            if x.dtype.kind == "f":
                x[...] = np.nan  # what nobody wrote is no number
        else:
            x = np.ndarray(
                shape, dtype, (ctypes.c_char * (1 << 40)).from_address(memptr.ptr), 0, strides, order
            )
        self._x, self._kept = x, memptr

    @property
    def data(self):
        return MemoryPointer(self._x)

    @property
    def device(self):
        return Device(0)

    @property
    def flags(self):
        return _Flags(self._x)

    @property
    def base(self):
        return None if self._x.base is None else _wrapped(self._x.base)

    @property
    def __cuda_array_interface__(self):
        x = self._x
        strides = None if x.flags.c_contiguous else x.strides
        return {
            "shape": x.shape,
            "typestr": x.dtype.str,
            "data": (self.data.ptr, False),
            "strides": strides,
            "version": 3,
        }

    @property
    def shape(self):
        return self._x.shape

    @shape.setter
    def shape(self, shape):
        self._x.shape = shape

    def get(self, stream=None, order="C", out=None, blocking=True):
        waits.append("get")
        if out is not None:
            out[...] = self._x
            return out
        return np.array(self._x, order=order)

    def set(self, x, stream=None):
        if not isinstance(x, np.ndarray) or x.dtype != self.dtype or x.shape != self.shape:
            raise TypeError("set takes a NumPy array of the same shape and dtype")
        self._x[...] = x

    def item(self, *index):
        waits.append("item")
        return self._x.item(*index)

    def tolist(self):
        waits.append("tolist")
        return self._x.tolist()

    def astype(self, dtype, order="K", casting=None, subok=None, copy=True):
        return _wrapped(self._x.astype(dtype, order=order, copy=copy))

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if method not in ("__call__", "outer", "at", "reduce", "accumulate") or "where" in kwargs:
            return NotImplemented
        return _wrapped(getattr(ufunc, method)(*_plain(inputs), **_plain(kwargs)))

    def __array_function__(self, func, types, args, kwargs):
        if func.__name__ not in _FUNCTIONS:
            return NotImplemented
        return _wrapped(func(*_plain(args), **_plain(kwargs)))

    def __getitem__(self, index):
        return _wrapped(self._x[_plain_index(index)])

    def __setitem__(self, index, value):
        self._x[_plain_index(index)] = _plain(value)

    def __len__(self):
        return len(self._x)

    def __iter__(self):
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(len(self)))

    def __repr__(self):
        return repr(self._x)

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()


def _wrapped(x):
    """Arrays of CuPy for those of NumPy; a reduction to one number stays an array, as CuPy's do."""
    if isinstance(x, np.ndarray | np.generic):
        found = object.__new__(ndarray)
        found._x, found._kept = np.asarray(x), None
        return found
    return type(x)(map(_wrapped, x)) if isinstance(x, list | tuple) else x


def _plain(x):
    """Arrays of NumPy for those of CuPy. Arrays of NumPy are refused."""
    if isinstance(x, ndarray):
        return x._x
    if isinstance(x, np.ndarray):
        raise TypeError(f"Unsupported type {type(x)}")
    if isinstance(x, list | tuple):
        return type(x)(map(_plain, x))
    return {k: _plain(v) for k, v in x.items()} if isinstance(x, dict) else x


def _plain_index(index):
    """Indices may be arrays of either library."""
    if isinstance(index, tuple):
        return tuple(map(_plain_index, index))
    return index._x if isinstance(index, ndarray) else index


def _give_methods():
    def attribute(name):
        return property(lambda self: _wrapped(getattr(self._x, name)))

    def method(name):
        return lambda self, *args, **kwargs: _wrapped(getattr(self._x, name)(*_plain(args), **_plain(kwargs)))

    def number(name, kind):
        def convert(self):
            waits.append(name)
            return kind(self._x)

        return convert

    def binary(function, swap):
        def apply(self, other):
            if not isinstance(other, ndarray | np.ndarray | np.generic | int | float | complex):
                return NotImplemented
            a, b = self._x, _plain(other)
            return _wrapped(function(b, a) if swap else function(a, b))

        return apply

    def inplace(function):
        def apply(self, other):
            function(self._x, _plain(other))
            return self

        return apply

    for name in ("dtype", "strides", "ndim", "size", "nbytes", "itemsize"):
        setattr(ndarray, name, property(lambda self, name=name: getattr(self._x, name)))
    setattr(ndarray, "T", attribute("T"))  # noqa: B010
    for name in _METHODS.split():
        setattr(ndarray, name, method(name))
    for name, kind in (
        ("__bool__", bool),
        ("__float__", float),
        ("__int__", int),
        ("__index__", operator.index),
    ):
        setattr(ndarray, name, number(name, kind))
    for name in _OPERATORS.split():
        function = getattr(operator, f"__{name}__")
        setattr(ndarray, f"__{name}__", binary(function, False))
        setattr(ndarray, f"__r{name}__", binary(function, True))
        setattr(ndarray, f"__i{name}__", inplace(getattr(operator, f"__i{name}__")))
    for name in ("lt", "le", "eq", "ne", "gt", "ge"):
        setattr(ndarray, f"__{name}__", binary(getattr(operator, f"__{name}__"), False))
    for name in ("neg", "pos", "abs", "invert"):
        function = getattr(operator, f"__{name}__")
        setattr(ndarray, f"__{name}__", lambda self, function=function: _wrapped(function(self._x)))


_give_methods()

# ---- functions ---------------------------------------------------------------------------------------------

_NAMES = """
where concatenate stack hstack vstack moveaxis swapaxes expand_dims squeeze broadcast_to
broadcast_arrays reshape ravel transpose zeros_like ones_like empty_like full_like sum prod any all
max min amax amin mean median argmax argmin cumsum diff einsum matmul dot tensordot outer cross clip
take tile repeat flip roll split nonzero count_nonzero copyto allclose isclose array_equal shape
ndim size sort argsort searchsorted unique interp norm solve inv nanmax nanmin atleast_1d atleast_2d
may_share_memory shares_memory result_type can_cast iscomplexobj isrealobj trace diagonal round real
imag copy append pad linspace ptp take_along_axis
"""
_UFUNC_NAMES = """
add subtract multiply divide true_divide floor_divide power remainder mod negative absolute abs sign
sqrt square exp log sin cos tan arcsin arccos arctan arctan2 hypot maximum minimum fmax fmin
isfinite isnan isinf greater less greater_equal less_equal equal not_equal logical_and logical_or
logical_not logical_xor floor ceil rint copysign signbit sinh cosh tanh
"""
_FUNCTIONS, _UFUNCS = set(_NAMES.split()), set(_UFUNC_NAMES.split())


def __getattr__(name):
    if name in _FUNCTIONS | _UFUNCS and hasattr(np, name):
        function = getattr(np, name)
        return lambda *args, **kwargs: _wrapped(function(*_plain(args), **_plain(kwargs)))
    raise AttributeError(f"module 'cupy' has no attribute '{name}'")


def array(x, dtype=None, copy=True, order="K", ndmin=0):
    def inner(x):
        if isinstance(x, ndarray):
            return x._x
        return [inner(y) for y in x] if isinstance(x, list | tuple) else x

    return _wrapped(np.array(inner(x), dtype, copy=True if copy else None, order=order, ndmin=ndmin))


def asarray(x, dtype=None, order=None):
    if isinstance(x, ndarray):
        found = np.asarray(x._x, dtype, order=order)
        return x if found is x._x else _wrapped(found)
    return array(x, dtype, order=order or "K")


def ascontiguousarray(x, dtype=None):
    return asarray(x, dtype, "C")


def asnumpy(x, stream=None, order="C", out=None, blocking=True):
    return x.get(stream, order, out) if isinstance(x, ndarray) else np.asarray(x, order=order)


def empty(shape, dtype=float, order="C"):
    return ndarray(shape, dtype, order=order)


def zeros(shape, dtype=float, order="C"):
    return _wrapped(np.zeros(shape, dtype, order))


def ones(shape, dtype=float, order="C"):
    return _wrapped(np.ones(shape, dtype, order))


def full(shape, value, dtype=None, order="C"):
    return _wrapped(np.full(shape, _plain(value), dtype, order))


def arange(*args, dtype=None):
    return _wrapped(np.arange(*args, dtype=dtype))


def eye(n, m=None, k=0, dtype=float, order="C"):
    return _wrapped(np.eye(n, m, k, dtype, order))


def get_array_module(*arrays):
    return MODULES["cupy"] if any(isinstance(x, ndarray) for x in arrays) else np


def as_strided(x, shape=None, strides=None):
    return _wrapped(np.lib.stride_tricks.as_strided(x._x, shape, strides))


# ---- devices and streams -----------------------------------------------------------------------------------


class Device:
    compute_capability = "90"

    def __init__(self, device=None):
        self.id = 0 if device is None else int(device)
        if self.id:
            raise RuntimeError("cudaErrorInvalidDevice: invalid device ordinal")

    @property
    def attributes(self):
        return {"MultiProcessorCount": 1, "MaxThreadsPerBlock": 1024, "MaxSharedMemoryPerBlockOptin": 232448}

    @property
    def mem_info(self):
        return 2**33, 2**34

    def __int__(self):
        return self.id

    def __eq__(self, other):
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self):
        return self.id

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        return None

    def use(self):
        return None

    def synchronize(self):
        waits.append("synchronize")


_streams: list["Stream"] = []  # the one in use last


class Stream:
    def __init__(self, null=False, non_blocking=False, ptds=False, priority=None, *, ptr=0):
        self.ptr, self.device_id = ptr, 0

    def __enter__(self):
        _streams.append(self)
        return self

    def __exit__(self, *problem):
        _streams.pop()

    def use(self):
        _streams[:] = [self]
        return self

    def synchronize(self):
        waits.append("synchronize")

    def wait_event(self, event):
        return None

    def record(self, event=None):
        return event


class ExternalStream(Stream):
    def __init__(self, ptr, device_id=-1):
        super().__init__(ptr=ptr)


Stream.null = Stream(null=True)


def get_current_stream(device_id=-1):
    return _streams[-1] if _streams else Stream.null


# ---- CUDA text ---------------------------------------------------------------------------------------------

_BOUNDS = r"(?:__launch_bounds__\([^)]*\)\s*)?"
_KERNEL = re.compile(rf"__global__\s+{_BOUNDS}void\s+{_BOUNDS}(\w+)\s*\(")
_EXTERN_SHARED = re.compile(
    r"extern\s+__shared__\s+((?:__align__\(\d+\)\s+)?)([\w:]+(?:\s+\w+)?)\s+(\w+)\s*\[\s*\]\s*;"
)
_folder = tempfile.TemporaryDirectory(prefix="cupy-on-cpu-")


class CompileException(Exception):
    """CUDA text that g++ does not take."""


class RawModule:
    def __init__(
        self, *, code=None, path=None, options=(), backend="nvrtc", name_expressions=None, jitify=None
    ):
        if not isinstance(code, str) or path is not None or name_expressions is not None:
            raise TypeError("the CuPy on the CPU takes code alone")
        if "#include" in code:
            raise CompileException("NVRTC has no headers")
        self.code, self.options = code, tuple(options)
        self._kernels = list(dict.fromkeys(_KERNEL.findall(code)))
        self._library = None

    def compile(self, log_stream=None):
        if self._library is None:
            self._library = ctypes.CDLL(str(_compiled(_as_cpp(self.code, self._kernels))))

    def get_function(self, name):
        self.compile()
        if name not in self._kernels:
            raise RuntimeError(f"CUDA_ERROR_NOT_FOUND: named symbol not found: {name}")
        return RawKernel(self.code, name, self.options, library=self._library)


class RawKernel:
    num_regs, local_size_bytes, shared_size_bytes, max_threads_per_block = 32, 0, 0, 1024
    max_dynamic_shared_size_bytes, preferred_shared_memory_carveout = 49152, -1

    def __init__(self, code, name, options=(), backend="nvrtc", *, library=None, jitify=None):
        self.code, self.name, self.options = code, name, options
        self._library = library
        self._waits = "__sync" in code

    @property
    def attributes(self):
        return {"num_regs": self.num_regs, "local_size_bytes": self.local_size_bytes}

    def compile(self, log_stream=None):
        if self._library is None:
            module = RawModule(code=self.code)
            module.compile()
            self._library = module._library

    def __call__(self, grid, block, args, *, shared_mem=0, stream=None):
        self.compile()
        sizes = [*grid, 1, 1][:3] + [*block, 1, 1][:3]
        if min(sizes) < 1 or np.prod(sizes[3:]) > 1024 or max(sizes[1:3]) > 65535 or sizes[0] >= 2**31:
            raise RuntimeError(f"CUDA_ERROR_INVALID_VALUE: grid {grid}, block {block}")
        if shared_mem > self.max_dynamic_shared_size_bytes:
            raise RuntimeError(f"CUDA_ERROR_INVALID_VALUE: {shared_mem} bytes of shared memory")
        given = [_argument(x) for x in args]
        library, found = self._library, []
        getattr(library, f"shim_sizes_{self.name}").restype = ctypes.POINTER(ctypes.c_int)
        expected = getattr(library, f"shim_sizes_{self.name}")()
        while expected[len(found)]:
            found.append(expected[len(found)])
        if found != [len(x) for x in given]:
            raise TypeError(
                f"{self.name}: arguments of {[len(x) for x in given]} bytes; its text has {found}"
            )
        kept = [ctypes.create_string_buffer(x, len(x)) for x in given]
        pointers = (ctypes.c_void_p * max(len(kept), 1))(*[ctypes.addressof(x) for x in kept])
        run = getattr(library, f"shim_run_{self.name}")
        if run(pointers, (ctypes.c_uint * 6)(*sizes), ctypes.c_size_t(shared_mem), ctypes.c_int(self._waits)):
            raise RuntimeError(f"{self.name}: threads of a block wait for each other for ever")


def _argument(x):
    """The bytes that a kernel gets: pointers of arrays, numbers by their type."""
    if isinstance(x, ndarray):
        return np.uint64(x.data.ptr).tobytes()
    if isinstance(x, MemoryPointer):
        return np.uint64(x.ptr).tobytes()
    if isinstance(x, np.generic):
        return x.tobytes()
    if isinstance(x, bool | int | float | complex):
        return {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}[type(x)](
            x
        ).tobytes()
    raise TypeError(f"Unsupported type {type(x)}")


def _as_cpp(code, kernels):
    code = _EXTERN_SHARED.sub(r"\2 *\3 = static_cast<\2 *>(shim::shared());", code)
    ends = [
        f'extern "C" int shim_run_{name}(void **given, const unsigned *sizes, size_t shared, int waits)'
        f" {{ return shim::start({name}, given, sizes, shared, waits); }}\n"
        f'extern "C" const int *shim_sizes_{name}() {{ return shim::sizes({name}); }}\n'
        for name in kernels
    ]
    return f'#include "{Path(__file__).with_name("shim.h")}"\n#line 1 "kernel.cu"\n{code}\n{"".join(ends)}'


def _compiled(text):
    key = hashlib.sha256(text.encode()).hexdigest()[:32]
    source, library = (Path(_folder.name) / f"{key}{end}" for end in (".cpp", ".so"))
    if not library.exists():
        source.write_text(text, "utf-8")
        flags = ["-std=c++14", "-O0", "-w", "-shared", "-fPIC", "-fno-math-errno", "-ffp-contract=off"]
        done = subprocess.run(
            ["g++", *flags, "-o", library, source], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise CompileException(done.stderr[:4000])
    return library


def _module(name, **contents):
    found = types.ModuleType(name)
    vars(found).update(contents)
    return found


def _modules():
    own = types.ModuleType("cupy")
    vars(own).update(globals())
    parts = (Device, Stream, ExternalStream, MemoryPointer, get_current_stream)
    cuda = own.cuda = _module("cupy.cuda", **{part.__name__: part for part in parts})
    cuda.is_available = lambda: True
    cuda.compiler = _module("cupy.cuda.compiler", CompileException=CompileException)
    cuda.runtime = _module("cupy.cuda.runtime", getDeviceCount=lambda: 1, getDevice=lambda: 0)
    tricks = _module("cupy.lib.stride_tricks", as_strided=as_strided)
    own.lib = _module("cupy.lib", stride_tricks=tricks)
    parts = (own, cuda, cuda.compiler, cuda.runtime, own.lib, tricks)
    own.dtype = np.dtype
    own.MODULES = {part.__name__: part for part in parts}
    return own.MODULES


MODULES = _modules()
