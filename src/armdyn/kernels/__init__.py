"""Array functions made from the algorithms of `dynamics/`: recorded, compiled, registered with NumPy.

Order: arrays, cache, threads, llvm/, c_math, c, c_package, cuda, javascript, matlab, kernel, casadi, cupy,
dask, derivatives, jax, loop_kernel, torch.
"""

from armdyn.kernels.arrays import Shared, Specification
from armdyn.kernels.cache import CacheWarning
from armdyn.kernels.kernel import Kernel, backend, set_backend
from armdyn.kernels.llvm.machine import CompileWarning
from armdyn.kernels.threads import get_threads, set_threads

__all__ = [
    "CacheWarning",
    "CompileWarning",
    "Kernel",
    "Shared",
    "Specification",
    "backend",
    "get_threads",
    "set_backend",
    "set_threads",
]
