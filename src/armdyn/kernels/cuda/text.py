"""Programs as CUDA: the lines of a function, with sine and cosine of the same angle in one call.

Results are stored as soon as they are known, and inputs are loaded where they are first needed, so that
registers are free again early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from armdyn.expression import ArmdynError
from armdyn.kernels.c import check_constants, number
from armdyn.program.ops import OPS
from armdyn.program.program import Program

SCALARS = {"float64": "double", "float32": "float"}  # the C type by NumPy's name
LONGEST = 30_000  # operations: about two minutes of CUDA's compiler
SHORT = 200  # operations: a call would cost more than the code it saves


def check_length(name: str, program: Program) -> None:
    """Refuse a program that CUDA's compiler would take many minutes for."""
    if program.operations > LONGEST:
        raise ArmdynError(
            f"{name}: a program of {program.operations} operations is too long for a GPU; at most {LONGEST} "
            "are allowed. NumPy arrays have no such limit"
        )


def is_short(program: Program) -> bool:
    """Whether it is inlined wherever it is called."""
    return sum(program.counts.values()) <= SHORT


def device_function(name: str, program: Program, scalar: str, several: bool = True) -> str:
    """`void NAME(const T *in0, …, T *out0, …)`: results may not overlap inputs. Empty ones are left out.

    Called in `several` places, it is inlined only if it is short.
    """
    check_constants(name, program, scalar)
    sizes_in = [size for _, size in program.inputs]
    sizes_out = [prod(shape) for _, shape in program.outputs]
    loads = [f"in{k}[{j}]" for k, size in enumerate(sizes_in) for j in range(size)]
    places = [f"out{k}[{j}]" for k, size in enumerate(sizes_out) for j in range(size)]
    arguments = [f"const {scalar} *__restrict__ in{k}" for k, size in enumerate(sizes_in) if size]
    arguments += [f"{scalar} *__restrict__ out{k}" for k, size in enumerate(sizes_out) if size]
    kind = "__forceinline__" if not several or is_short(program) else "__noinline__"
    body = lines(program, scalar, loads.__getitem__, lambda k, value: [f"{places[k]} = {value};"])
    return "\n".join(
        [f"__device__ {kind} void {name}({', '.join(arguments)})", "{", *(f"    {x}" for x in body), "}", ""]
    )


def lines(
    program: Program,
    scalar: str,
    load: Callable[[int], str],
    store: Callable[[int, str], Sequence[str]],
) -> Iterator[str]:
    """The statements of a program: `load(k)` is the k-th input, `store(k, value)` keeps the k-th result."""
    suffix = "f" if scalar == "float" else ""
    values: list[str] = []
    angles: set[int] = set()
    results: dict[int, list[int]] = {}
    for k, r in enumerate(program.results):
        results.setdefault(r, []).append(k)
    for i, node in enumerate(program.nodes):
        if node[0] == "const":
            values.append(number(node[1], scalar))
        elif node[0] == "input":
            yield f"const {scalar} v{i} = {load(node[1])};"
            values.append(f"v{i}")
        elif node[0] in ("sin", "cos"):
            angle = node[1]
            if angle not in angles:
                angles.add(angle)
                yield f"{scalar} s{angle}, c{angle}; sincos{suffix}({values[angle]}, &s{angle}, &c{angle});"
            values.append(f"{node[0][0]}{angle}")
        else:
            expression = OPS[node[0]].c.format(*(values[a] for a in node[1:]), f=suffix)
            yield f"const {scalar} v{i} = {expression};"
            values.append(f"v{i}")
        for k in results.get(i, ()):
            yield from store(k, values[i])
