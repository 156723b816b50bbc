"""Programs of one operation each, and points where values and slopes of them are compared."""

import numpy as np

from armdyn.kernels import Kernel
from armdyn.program import Program, jacobian
from armdyn.program.evaluate import evaluate
from armdyn.program.ops import OPS

POINTS = {  # by the number of arguments; each has ties and signs that decide
    1: [[-1.3], [0.0], [0.4], [2.0]],
    2: [[-1.0, 2.0], [0.5, 0.5], [3.0, -0.25], [-2.0, -2.0]],
    3: [[-1.0, 2.0, 5.0], [0.0, 2.0, 5.0], [0.7, 2.0, 5.0]],
}
POSITIVE = {"sqrt"}  # elsewhere values or slopes are not finite


def single(op):
    """The program y = op(x), the points (..., arity) to look at, values and slopes there by ourselves."""
    arity = OPS[op].arity
    nodes = (*(("input", k) for k in range(arity)), (op, *range(arity)))
    program = Program((("x", arity),), (("y", ()),), nodes, (arity,))
    points = np.array([p for p in POINTS[arity] if op not in POSITIVE or p[0] > 0])
    (values,), (slopes,) = evaluate(program, points), evaluate(jacobian(program, ["x"]), points)
    return Kernel.of("single", program), points, values, slopes.reshape(points.shape)
