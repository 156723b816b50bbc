"""Recording an algorithm into straight-line code, evaluating it, differentiating it; loops around it."""

from armdyn.program.derive import hessian, jacobian, split, tangents, time_derivative, vector_jacobian
from armdyn.program.evaluate import evaluate
from armdyn.program.ops import OPS, Op
from armdyn.program.program import Program, record

__all__ = [
    "OPS",
    "Op",
    "Program",
    "evaluate",
    "hessian",
    "jacobian",
    "record",
    "split",
    "tangents",
    "time_derivative",
    "vector_jacobian",
]
