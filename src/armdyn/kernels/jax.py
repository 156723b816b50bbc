"""JAX: a program as a pure function, which JAX compiles, maps over batches and differentiates.

Every operation of the program is one of `jax.numpy`, on columns of the inputs. The columns of a result are
put into it one by one: if they were concatenated, XLA's code for processors would compute what they share
again for each use, which takes 100 times as long. The same holds for gradients with respect to an input, so
taking an input apart is a primitive of its own, whose transpose puts columns together in that way. The
function is jitted here, so that JAX traces it once for each shape, however often others use it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from armdyn.expression import ArmdynError
from armdyn.kernels.arrays import misfit, wrong_count
from armdyn.kernels.kernel import Kernel
from armdyn.program.program import Program, Shape

try:
    import jax
    import jax.numpy as jnp
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir
except ModuleNotFoundError as problem:
    raise ModuleNotFoundError('robot.jax needs JAX: pip install "armdyn[jax]"') from problem


def _select(condition: Any, a: Any, b: Any) -> Any:
    return jnp.where(condition > 0, a, b)


def _minimum(a: Any, b: Any) -> Any:
    """The smaller one, as in `program.ops`: NaN stays NaN; where both are equal the slope is the second's."""
    return jnp.where((a < b) | (a != a), a, b)


def _maximum(a: Any, b: Any) -> Any:
    return jnp.where((a > b) | (a != a), a, b)


OPERATIONS: dict[str, Callable[..., Any]] = {  # with the slopes of `program.ops`
    "add": jnp.add,
    "sub": jnp.subtract,
    "mul": jnp.multiply,
    "div": jnp.divide,
    "neg": jnp.negative,
    "sin": jnp.sin,
    "cos": jnp.cos,
    "sqrt": jnp.sqrt,
    "exp": jnp.exp,
    "tanh": jnp.tanh,
    "abs": lambda a: a * jnp.sign(a),  # with slope 0 at 0, where JAX's own has 1
    "sign": jnp.sign,
    "min": _minimum,
    "max": _maximum,
    "select": _select,
}
_made: WeakKeyDictionary[Kernel, Callable[..., Any]] = WeakKeyDictionary()


def jax_function(kernel: Kernel) -> Callable[..., Any]:
    """The function of a kernel's program: inputs (..., size) in, outputs (..., *shape), several in a tuple.

    The same kernel has the same function, so what JAX has compiled for it stays.
    """
    if kernel not in _made:
        _made[kernel] = jax.jit(_evaluating(kernel.specification.name, kernel.program))
    return _made[kernel]


def _evaluating(name: str, program: Program) -> Callable[..., Any]:
    """The evaluator of a program, on JAX arrays; it keeps no kernel alive."""

    def evaluated(*arrays: Any) -> Any:
        inputs, batch = _checked(name, program.inputs, arrays)
        dtype = jnp.result_type(*inputs)
        given = [column for x in inputs for column in _apart.bind(x)]
        # Constants are plain floats, which take on the precision of the other operand.
        values = program.values(given, lambda op, *arguments: OPERATIONS[op](*arguments), float)
        results = [
            _joined(columns, batch, dtype).reshape(batch + shape)
            for columns, (_, shape) in zip(values, program.outputs, strict=True)
        ]
        return results[0] if len(results) == 1 else tuple(results)

    evaluated.__name__ = evaluated.__qualname__ = name
    return evaluated


def _checked(name: str, inputs: Sequence[tuple[str, int]], arrays: Sequence[Any]) -> tuple[list[Any], Shape]:
    """The arguments as JAX arrays of floats, and the shape that their leading axes broadcast to."""
    if len(arrays) != len(inputs):
        raise wrong_count(name, inputs, arrays)
    found = []
    for (key, size), x in zip(inputs, arrays, strict=True):
        try:
            x = jnp.asarray(x)
        except (TypeError, ValueError) as problem:
            raise TypeError(f"{key}: expected real numbers (..., {size}), found {problem}") from None
        if not any(jnp.issubdtype(x.dtype, kind) for kind in (jnp.floating, jnp.integer)):
            raise TypeError(f"{key}: expected real numbers (..., {size}), found an array of {x.dtype}")
        if x.shape[-1:] != (size,):
            raise ArmdynError(f"{key}: expected (..., {size}), found {x.shape}")
        found.append(x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(float))
    try:
        return found, jnp.broadcast_shapes(*(x.shape[:-1] for x in found))  # symbolic ones too
    except ValueError:
        raise misfit(name, [key for key, _ in inputs], found) from None


def _joined(columns: Sequence[Any], batch: Shape, dtype: Any) -> Any:
    """Columns side by side, (*batch, columns). Constants are there from the start."""
    constant = [x if isinstance(x, float) else 0.0 for x in columns]
    joined = jnp.broadcast_to(jnp.asarray(constant, dtype), (*batch, len(columns)))
    for k, x in enumerate(columns):
        if not isinstance(x, float):
            column = jnp.broadcast_to(x, batch).astype(dtype)[..., None]
            joined = jax.lax.dynamic_update_index_in_dim(joined, column, k, len(batch))
    return joined


def _columns(x: Any) -> list[Any]:
    return [x[..., k] for k in range(x.shape[-1])]


def _made_primitive() -> Any:
    """The primitive: an array (..., size) as its `size` columns. It is linear; this says so to JAX."""

    def transposed(cotangents: Sequence[Any], x: Any) -> list[Any]:
        shape, dtype = x.aval.shape, x.aval.dtype
        columns = [0.0 if type(c) is ad.Zero else c for c in cotangents]
        return [_joined(columns, shape[:-1], dtype)]

    def batched(arrays: Sequence[Any], axes: Sequence[int]) -> tuple[list[Any], list[int]]:
        columns = apart.bind(jnp.moveaxis(arrays[0], axes[0], 0))
        return columns, [0] * len(columns)

    linear: Any = ad.deflinear2  # without types
    apart: Any = Primitive("columns")
    apart.multiple_results = True
    apart.def_impl(_columns)
    apart.def_abstract_eval(lambda x: [x.update(shape=x.shape[:-1])] * x.shape[-1])
    mlir.register_lowering(apart, mlir.lower_fun(_columns, multiple_results=True))
    linear(apart, transposed)
    batching.primitive_batchers[apart] = batched
    return apart


_apart = _made_primitive()
