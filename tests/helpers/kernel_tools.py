"""What the tests of the kernels share: small kernels, robots, and what counts as equal."""

from itertools import count

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings

from armdyn import Robot
from armdyn.kernels import Kernel, Specification
from armdyn.program import record
from armdyn.robot.functions import FUNCTIONS

_number = count()


def kernel_of(function, sizes, outputs, identity=None):
    """A kernel of a function of lists of scalars, with its own place in the cache unless told otherwise."""
    inputs = tuple((f"x{k}", size) for k, size in enumerate(sizes))
    named = [(f"y{k}", shape) for k, shape in enumerate(outputs)]
    text = identity or f"test {next(_number)}"
    return Kernel(
        Specification("test", inputs, tuple(outputs), lambda: record(function, inputs, named), text)
    )


class Forgetful(dict):
    """In the place of what a process has loaded: every kernel goes to the disk."""

    def __contains__(self, key):
        return False


def rotated_sum(size):
    """y_i = (i + 1) x_i + x_(i+1): every entry counts, the result is exact for small integers."""

    def function(x):
        return [(i + 1) * x[i] + x[(i + 1) % size] for i in range(size)]

    return kernel_of(function, [size], [(size,)], f"rotated sum {size}")


def rotated(x):
    return np.arange(1, x.shape[-1] + 1) * x + np.roll(x, -1, axis=-1)


def integers(shape, seed=0):
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(float)


def arguments(robot: Robot, function: str, rows=(), seed=0, optional=()):
    """Inputs of a function of a robot; no speed is near zero."""
    rng = np.random.default_rng(seed)
    result = []
    for name in (*FUNCTIONS[function].inputs, *optional):
        if name == "qd":
            x = rng.uniform(0.2, 2, (*rows, robot.n))
            result.append(x * rng.choice([-1, 1], x.shape))
        elif name == "parameters":
            size = len(robot.parameters)
            result.append(robot.parameters * rng.uniform(0.8, 1.2, (*rows, size)))
        elif name == "wrench":
            result.append(rng.uniform(-5, 5, (*rows, 6)))
        elif name.startswith("base."):
            result.append(rng.uniform(-2, 2, (*rows, 3)))
        else:
            result.append(rng.uniform(-3, 3, (*rows, robot.n)))
            if name == "q" and (choice := robot.model.choice) is not None:  # where loops can be closed
                result[-1] = np.array(choice.posture)[list(choice.free)] + result[-1] / 10
    return result


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


def error(found, expected):
    """The largest difference, relative to the largest entry."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    assert np.isfinite(found).all()
    scale = np.abs(expected).max(initial=0.0)
    return np.abs(found - expected).max(initial=0.0) / max(scale, 1e-12)


def over(*strategies, examples):
    """A test over random draws, without shrinking: every draw is compiled."""
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]
    run = settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        phases=(Phase.generate,),
        suppress_health_check=quiet,
    )
    return lambda check: run(given(*strategies)(check))
