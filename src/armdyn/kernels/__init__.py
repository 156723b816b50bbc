"""Array functions made from the algorithms of `dynamics/`: so far by the reference evaluator over NumPy."""

from armdyn.kernels.functions import BASE_INPUTS, FUNCTIONS, make_kernel
from armdyn.kernels.kernel import Kernel

__all__ = ["BASE_INPUTS", "FUNCTIONS", "Kernel", "make_kernel"]
