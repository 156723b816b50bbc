"""∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ from programs: as one program, and as a loop with one program for all columns.

As one program they grow with n³: of 30 joints, 81 000 multiplications and as many subtractions are the
substitutions of 90 columns, which differ in nothing but their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from armdyn import dynamics
from armdyn.dynamics.forward import factorised, solve, substituted
from armdyn.model.mechanism import Mechanism
from armdyn.program import Program, jacobian, record
from armdyn.program.loops import Argument, Call, Each, Fetch, Local, Loop, Save, Set, Slice, Statement
from armdyn.program.program import Shape, inline

Inputs = Sequence[tuple[str, int]]


class Parts(NamedTuple):
    """Programs: `forward` gives q̈ (n) from the inputs; the others take q̈ in the place of τ.

    `slopes` gives ∂τ/∂q, ∂τ/∂q̇ and B (n, n) of inverse dynamics, `factors` the factors 1 + Fl s sgn(τ_r) of
    load friction (n). These multiply the rows of ∂τ/∂q̈ = B. All rows are divided by them first, which leaves
    a symmetric matrix.
    """

    forward: Program
    slopes: Program
    factors: Program


def at_acceleration(inputs: Inputs) -> Inputs:
    """The inputs with q̈ in the place of τ."""
    return [("qdd", size) if name == "tau" else (name, size) for name, size in inputs]


def as_program(inputs: Inputs, n: int, parts: Parts) -> Program:
    """∂q̈/∂q = −B⁻¹ ∂τ/∂q, ∂q̈/∂q̇ = −B⁻¹ ∂τ/∂q̇, ∂q̈/∂τ = B⁻¹, (n, n) each."""

    def function(*columns: Any) -> Any:
        (qdd,) = inline(parts.forward, columns)
        arguments = [qdd if name == "tau" else x for (name, _), x in zip(inputs, columns, strict=True)]
        (loaded,) = inline(parts.factors, arguments)
        by_q, by_qd, B = (
            [[x / loaded[i] for x in flat[n * i : n * i + n]] for i in range(n)]
            for flat in inline(parts.slopes, arguments)
        )
        unit = [[1 / loaded[j] if i == j else 0 for i in range(n)] for j in range(n)]
        negative = [[[-x for x in column] for column in zip(*M, strict=True)] for M in (by_q, by_qd)]
        solved = solve(B, [*negative[0], *negative[1], *unit])
        return tuple([list(row) for row in zip(*solved[n * k : n * k + n], strict=True)] for k in range(3))

    return record(function, inputs, [(f"d qdd/d {name}", (n, n)) for name in ("q", "qd", "tau")])


def as_loop(name: str, inputs: Inputs, n: int, parts: Parts) -> Loop:
    """The same; B is factorised once, and one program solves for each column in turn."""
    given = {key: Local(key, size) for key, size in inputs}
    qdd, loaded, D = Local("found", n), Local("loaded", n), Local("D", n)
    by_q, by_qd, B, unit = (Local(key, n * n) for key in ("by_q", "by_qd", "B", "unit"))
    solved = [Local(f"solved_by_{key}", n * n) for key in ("q", "qd", "tau")]
    results = [Argument(f"by_{key}", n * n, written=True) for key in ("q", "qd", "tau")]
    arguments = [Argument(key, size) for key, size in inputs]
    columns = tuple(x.all for x in given.values())
    inner = tuple(qdd.all if key == "tau" else x.all for key, x in given.items())
    programs = {"forward": parts.forward, "slopes": parts.slopes}
    body: list[Statement] = [Fetch(x.all, y) for x, y in zip(given.values(), arguments, strict=True)]
    body += [
        Call("forward", columns, (qdd.all,)),
        Call("slopes", inner, (by_q.all, by_qd.all, B.all)),
    ]
    scale: tuple[Slice, ...] = ()
    if not _all_are(parts.factors, 1):
        programs["factors"], scale = parts.factors, (loaded.all,)
        body.append(Call("factors", inner, scale))
    further = [("loaded", n)] if scale else []
    programs["factorised"], places = _factorising(n, parts.slopes, further)
    programs["substituted"] = _substituting(n, places, further)
    L = Local("L", len(places))
    body.append(Call("factorised", (B.all, *scale), (L.all, D.all)))
    body += [Set(unit[n * i + i], -1) for i in range(n)]  # what is solved for gets a minus sign
    for matrix, result in zip((by_q, by_qd, unit), solved, strict=True):
        body.append(Each("substituted", n, (L.all, D.all, *scale), (matrix.all,), (result.all,)))
    body += [Save(y, 0, x.all) for x, y in zip(solved, results, strict=True)]
    return Loop(name, (), (*arguments, *results), tuple(body), programs)


def _all_are(program: Program, value: float) -> bool:
    return all(program.nodes[r] == ("const", value) for r in program.results)


def _factorising(n: int, slopes: Program, loaded: Inputs) -> tuple[Program, list[tuple[int, int]]]:
    """A program that factorises B into L and 1/d, and the places of the entries of L that are not zero.

    It takes only entries of B that are not zero: between branches of a tree, those of L are zero too.
    """
    zero = _zeros(slopes, n)

    def factors(flat: Any, *others: Any) -> Any:
        over = others[0] if others else [1] * n
        return factorised(
            [[0 if zero[n * i + j] else flat[n * i + j] / over[i] for j in range(n)] for i in range(n)]
        )

    whole = record(factors, [("B", n * n), *loaded], [("L", (n, n)), ("D", (n,))])
    kept = [
        k
        for k, left_out in enumerate(_zeros(replace(whole, results=whole.results[: n * n]), n))
        if not left_out
    ]
    results = (*(whole.results[k] for k in kept), *whole.results[n * n :])
    program = replace(whole, outputs=(("L", (len(kept),)), ("D", (n,))), results=results)
    return program, [divmod(k, n) for k in kept]


def _zeros(program: Program, n: int) -> list[bool]:
    """Which entries of a program's last output, a matrix, are the number zero."""
    nodes = [program.nodes[r] for r in program.results[-n * n :]]
    return [node[0] == "const" and node[1] == 0 for node in nodes]


def _substituting(n: int, places: Sequence[tuple[int, int]], loaded: Inputs) -> Program:
    """A program that finds −x with B x = b, from what the other gives and b."""

    def solution(entries: Any, D: Any, *others: Any) -> Any:
        *over, b = others
        L: list[list[Any]] = [[0] * n for _ in range(n)]
        for (i, j), x in zip(places, entries, strict=True):
            L[i][j] = x
        column = [x / d for x, d in zip(b, over[0], strict=True)] if over else b
        return [-x for x in substituted(L, D, column)]

    inputs = [("L", len(places)), ("D", n), *loaded, ("column", n)]
    return record(solution, inputs, [("negative", (n,))])


# ---- ∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈ as one program: rigid bodies by recursion, the rest from the tape ---------------

RIGID = "rigid"  # the input for the torques τ_r without friction


class Recorded(Protocol):
    """Records an algorithm over a mechanism, with the inputs q, q̇, q̈ and whatever else is given."""

    def __call__(self, algorithm: Callable[..., Any], inputs: Inputs, shapes: Sequence[Shape]) -> Program: ...


def by_recursion(recorded: Recorded, inputs: Inputs, n: int) -> Program:
    """The slopes of all torques of n coordinates, (n, n) each.

    With τ = τ_r + τ_f(q̇, τ_r), where τ_f is friction: ∂τ_r/∂q has the stiffness of springs, rows are
    multiplied by 1 + ∂τ_f/∂τ_r, and ∂τ_f/∂q̇ is added.
    """
    square = (n, n)
    bodies = recorded(dynamics.torque_derivatives, inputs, [square] * 3)
    rest = recorded(_springs_and_friction, [*inputs, (RIGID, n)], [(n,)])
    slopes = jacobian(rest, ["q", "qd", RIGID])
    if all(slopes.nodes[r] == ("const", 0.0) for r in slopes.results):
        return bodies
    torques = recorded(dynamics.rigid_torques, inputs, [(n,)])

    def function(*columns: Any) -> Any:
        (tau,) = inline(torques, columns)
        found = (*inline(bodies, columns), *inline(slopes, [*columns, tau]))
        by_q, by_qd, by_qdd, stiffness, rates, loads = (
            [flat[n * i : n * i + n] for i in range(n)] for flat in found
        )
        for i in range(n):
            loaded = 1 + loads[i][i]  # load friction depends on the torque of its own joint alone
            by_q[i] = [loaded * (x + k) for x, k in zip(by_q[i], stiffness[i], strict=True)]
            by_qd[i] = [loaded * x + rate for x, rate in zip(by_qd[i], rates[i], strict=True)]
            by_qdd[i] = [loaded * x for x in by_qdd[i]]
        return by_q, by_qd, by_qdd

    return record(function, inputs, bodies.outputs)


def _springs_and_friction(M: Mechanism, q: Any, qd: Any, qdd: Any, rigid: Any, wrench: Any = None) -> Any:
    """The torques that are added to those of rigid bodies."""
    springs, friction = dynamics.spring_torques(M, q), dynamics.friction_torques(M, qd, None, rigid)
    return [a + b for a, b in zip(springs, friction, strict=True)]
