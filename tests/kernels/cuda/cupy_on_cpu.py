"""A CuPy for tests on machines without a GPU: arrays in ordinary memory, CUDA text compiled as C++.

It has what `armdyn` uses of CuPy. As in CuPy, no array becomes one of NumPy silently, and the two do not mix.
What makes a program wait for the GPU (`get`, `bool`, `float`, `synchronize`) is counted in `waits`.
`conftest.py` puts this module into `sys.modules` as `cupy`; `shim.h` has what C++ lacks of CUDA's language.
"""

import ctypes
import hashlib
import re
import subprocess
import tempfile
import threading
import types
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

waits: list[str] = []  # what waited for the GPU, in order


# ---- arrays ------------------------------------------------------------------------------------------------


class ndarray(NDArrayOperatorsMixin):
    """An array "on the GPU": it wraps one of NumPy, does what that does, and gives it away by `get` alone."""

    __module__ = "cupy"
    __hash__ = None

    def __init__(self, shape, dtype=float, order="C"):
        self._x = np.empty(shape, dtype, order)
        if self.dtype.kind == "f":
            self._x[...] = np.nan  # what nobody wrote is no number

    @property
    def device(self):
        return Device(0)

    @property
    def data(self):
        return types.SimpleNamespace(ptr=self._x.__array_interface__["data"][0])

    def get(self):
        waits.append("get")
        return np.array(self._x)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self._x, name)
        return _over(found) if callable(found) else _wrapped(found)

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return _over(getattr(ufunc, method))(*inputs, **options)

    def __array_function__(self, function, types, args, options):
        return _over(function)(*args, **options)

    def __getitem__(self, index):
        return _wrapped(self._x[_plain(index, mixed=True)])

    def __setitem__(self, index, value):
        self._x[_plain(index, mixed=True)] = _plain(value)

    def __len__(self):
        return len(self._x)

    def __iter__(self):
        return (self[k] for k in range(len(self)))

    def __repr__(self):
        return repr(self._x)


def _number(name, kind):
    def convert(self):
        waits.append(name)
        return kind(self._x)

    return convert


for _name, _kind in (("__bool__", bool), ("__float__", float), ("__int__", int), ("__index__", int)):
    setattr(ndarray, _name, _number(_name, _kind))


def _wrapped(x):
    """Arrays of CuPy for those of NumPy; a reduction to one number stays an array, as CuPy's do."""
    if isinstance(x, np.ndarray | np.generic):
        found = object.__new__(ndarray)
        found._x = np.asarray(x)
        return found
    several = type(x) in (list, tuple) and any(isinstance(y, np.ndarray) for y in x)
    return type(x)(map(_wrapped, x)) if several else x


def _plain(x, mixed=False):
    """Arrays of NumPy for those of CuPy. Arrays of NumPy are refused, unless they may be `mixed` in."""
    if isinstance(x, ndarray):
        return x._x
    if isinstance(x, np.ndarray) and not mixed:
        raise TypeError(f"Unsupported type {type(x)}")
    if type(x) in (list, tuple):
        return type(x)(_plain(y, mixed) for y in x)
    return {k: _plain(v, mixed) for k, v in x.items()} if isinstance(x, dict) else x


def _over(function):
    """A function of NumPy, over arrays of CuPy."""
    return lambda *args, **options: _wrapped(function(*_plain(args), **_plain(options)))


def __getattr__(name):
    if name.startswith("_") or not hasattr(np, name):
        raise AttributeError(f"module 'cupy' has no attribute '{name}'")
    found = getattr(np, name)
    return _over(found) if callable(found) and not isinstance(found, type) else found


def asarray(x, dtype=None, order=None):
    copy = None if isinstance(x, ndarray) else True  # to the GPU
    return _wrapped(np.array(_plain(x, mixed=True), dtype, order=order or "K", copy=copy))


def empty(shape, dtype=float):
    return ndarray(shape, dtype)


# ---- devices and streams -----------------------------------------------------------------------------------


class Device(nullcontext):
    attributes = {"MaxSharedMemoryPerBlockOptin": 232448}  # noqa: RUF012
    mem_info = 2**33, 2**34

    def __init__(self, device):
        super().__init__()
        self.id = int(device)


class Stream:
    used = []  # noqa: RUF012

    def __init__(self, non_blocking=False):
        pass

    def __enter__(self):
        self.used.append(self)
        return self

    def __exit__(self, *problem):
        self.used.pop()

    @property
    def ptr(self):
        return id(self)

    def synchronize(self):
        waits.append("synchronize")


# ---- CUDA text ---------------------------------------------------------------------------------------------

_BOUNDS = r"(?:__launch_bounds__\([^)]*\)\s*)?"
_KERNEL = re.compile(rf"__global__\s+{_BOUNDS}void\s+{_BOUNDS}(\w+)\s*\(")
_SHARED = re.compile(r"extern\s+__shared__\s+(\w+)\s+(\w+)\[\];")
_one_at_a_time = threading.Lock()
_folder = tempfile.TemporaryDirectory(prefix="cupy-on-cpu-")


class RawModule:
    def __init__(self, *, code, options=()):
        if "#include" in code:
            raise ValueError("NVRTC has no headers")
        self._waits = "__sync" in code
        self._library = ctypes.CDLL(str(_compiled(_as_cpp(code))))

    def get_function(self, name):
        return RawKernel(self._library, name, self._waits)


class RawKernel:
    max_dynamic_shared_size_bytes = 49152

    def __init__(self, library, name, waits):
        self.name, self._waits = name, waits
        self._run, self._sizes = (getattr(library, f"shim_{what}_{name}") for what in ("run", "sizes"))
        self._sizes.restype = ctypes.POINTER(ctypes.c_int)

    @property
    def kernel(self):
        return types.SimpleNamespace(ptr=id(self))

    def __call__(self, grid, block, args, *, shared_mem=0):
        self.start([*grid, 1, 1][:3] + [*block, 1, 1][:3], [_argument(x) for x in args], shared_mem)

    def start(self, sizes, given, shared_mem):
        if min(sizes) < 1 or np.prod(sizes[3:]) > 1024 or max(sizes[1:3]) > 65535 or sizes[0] >= 2**31:
            raise RuntimeError(f"CUDA_ERROR_INVALID_VALUE: grid and block {sizes}")
        if shared_mem > self.max_dynamic_shared_size_bytes:
            raise RuntimeError(f"CUDA_ERROR_INVALID_VALUE: {shared_mem} bytes of shared memory")
        lengths, expected = [len(x) for x in given], self._sizes()
        if lengths != (found := [expected[k] for k in range(len(given))]) or expected[len(given)]:
            raise TypeError(f"{self.name}: arguments of {lengths} bytes; its text has {found}")
        kept = [ctypes.create_string_buffer(x, len(x)) for x in given]
        pointers = (ctypes.c_void_p * max(len(kept), 1))(*[ctypes.addressof(x) for x in kept])
        shared, waits = ctypes.c_size_t(shared_mem), ctypes.c_int(self._waits)
        with _one_at_a_time:  # the threads of a block are variables of its library
            self._run(pointers, (ctypes.c_uint * 6)(*sizes), shared, waits)


def _launch_kernel(function, *rest):
    """The driver's: its arguments are one packed block, by the words that say where it is, and how long."""
    *sizes, shared_mem, stream, parameters, extra = rest
    buffer, where, size, length, end = (ctypes.c_uint64 * 5).from_address(extra)
    assert (buffer, size, end, parameters) == (1, 2, 0, 0)
    assert stream == getattr((Stream.used or [None])[-1], "ptr", 0)
    block = ctypes.string_at(where, ctypes.c_uint64.from_address(length).value)
    given = [block[k : k + 8] for k in range(0, len(block), 8)]
    ctypes.cast(function, ctypes.py_object).value.start(sizes, given, shared_mem)


def _argument(x):
    """The bytes that a kernel gets: pointers of arrays, numbers by their type."""
    if isinstance(x, ndarray):
        return np.uint64(x.data.ptr).tobytes()
    return (x if isinstance(x, np.generic) else np.asarray(x)[()]).tobytes()


def _as_cpp(code):
    ends = [
        f'extern "C" void shim_run_{name}(void **given, const unsigned *sizes, size_t shared, int waits)'
        f" {{ shim::start({name}, given, sizes, shared, waits); }}\n"
        f'extern "C" const int *shim_sizes_{name}() {{ return shim::sizes({name}); }}\n'
        for name in dict.fromkeys(_KERNEL.findall(code))
    ]
    code = _SHARED.sub(r"\1 *\2 = static_cast<\1 *>(shim::shared());", code)
    return f'#include "{Path(__file__).with_name("shim.h")}"\n#line 1 "kernel.cu"\n{code}\n{"".join(ends)}'


def _compiled(text):
    key = hashlib.sha256(text.encode()).hexdigest()[:32]
    source, library = (Path(_folder.name) / f"{key}{end}" for end in (".cpp", ".so"))
    if not library.exists():
        source.write_text(text, "utf-8")
        flags = ["-std=c++14", "-O0", "-w", "-shared", "-fPIC", "-fno-math-errno", "-ffp-contract=off"]
        command = ["g++", *flags, "-o", library, source]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:4000]
    return library


def _modules():
    own, cuda = types.ModuleType("cupy"), types.ModuleType("cupy.cuda")
    vars(own).update(globals())
    runtime = types.ModuleType("cupy.cuda.runtime")
    vars(runtime).update(getDevice=lambda: 0, setDevice=lambda device: None)
    driver = types.SimpleNamespace(launchKernel=_launch_kernel)
    vars(cuda).update(Device=Device, Stream=Stream, driver=driver, runtime=runtime)
    cuda.get_current_stream = lambda: (Stream.used or [types.SimpleNamespace(ptr=0)])[-1]
    own.cuda = cuda
    own.MODULES = {part.__name__: part for part in (own, cuda, runtime)}
    return own.MODULES


MODULES = _modules()
