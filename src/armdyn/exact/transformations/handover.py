"""Exact equations handed over to SymPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy
from sympy.printing.str import StrPrinter

from armdyn.exact.engine.closed_form import ClosedForm
from armdyn.exact.engine.ring import Poly, Ring
from armdyn.exact.engine.size import check_written
from armdyn.expression import Atom, Expression
from armdyn.model.friction import Row
from armdyn.output import one_line


@dataclass(frozen=True)
class SympyEquations:
    """SymPy matrices in q1 … qn, qd1 … qdn and the description's symbols."""

    B: Any
    C: Any
    g: Any
    springs: Any
    friction: Any
    q: tuple[Any, ...]
    qd: tuple[Any, ...]
    symbols: dict[str, Any]


def to_sympy(equations: ClosedForm) -> SympyEquations:
    """B, C, g, springs and friction as SymPy matrices; load friction depends on qdd1 … qddn, too."""
    entries = (x for M in (equations.B, equations.C) for row in M for x in row)
    check_written(sum(x.size for x in (*entries, *equations.g)))
    ring = equations.basis.full
    generators = [_generator(equations, ring, name) for name in ring.names]

    def matrix(rows: list[Any]) -> Any:
        return sympy.Matrix([[_expression(x.expanded, generators) for x in row] for row in rows])

    n = range(1, equations.n + 1)
    B, C, g = matrix(equations.B.rows), matrix(equations.C.rows), matrix([[x] for x in equations.g])
    springs, friction = (matrix([[x] for x in terms]) for terms in (equations.springs, equations.friction))
    qd, qdd = (sympy.Matrix([sympy.Symbol(f"{x}{i}", real=True) for i in n]) for x in ("qd", "qdd"))
    loads = equations.basis.loads.items()
    if loads:
        rigid = B * qdd + C * qd + g + springs
        friction = friction.xreplace({sympy.Symbol(x, real=True): sympy.Abs(rigid[i]) for x, i in loads})
    return SympyEquations(
        B=B,
        C=C,
        g=g,
        springs=springs,
        friction=friction,
        q=tuple(sympy.Symbol(f"q{i}", real=True) for i in n),
        qd=tuple(sympy.Symbol(f"qd{i}", real=True) for i in n),
        symbols={name: sympy.Symbol(name, real=True) for name, _ in equations.model.symbols},
    )


_TAKEN = ("Abs", "Matrix", "Rational", "Symbol", "cos", "exp", "pi", "sign", "sin", "sqrt")


def sympy_source(equations: ClosedForm) -> str:
    """A Python script that builds SymPy matrices inertia, coriolis, gravity, friction and springs, if any."""
    handed = to_sympy(equations)
    matrices = {
        "inertia": handed.B,
        "coriolis": handed.C,
        "gravity": handed.g,
        "friction": handed.friction,
    }
    sprung = any(handed.springs)
    if sprung:
        matrices["springs"] = handed.springs
    symbols = sorted({x.name for M in matrices.values() for x in M.free_symbols})
    printer = _Exact(_variables(symbols, {*_TAKEN, *matrices}))
    lines = [
        f"# Equations of motion: inertia*qdd + coriolis*qd + friction + gravity{' + springs' * sprung} = tau",
        f"from sympy import {', '.join(_TAKEN)}",
        "",
        f"# {one_line(equations.model.name)}",  # below two lines in which Python looks for "coding: …"
        *(f'{printer.names[name]} = Symbol("{name}", real=True)' for name in symbols),
        "",
    ]
    for name, matrix in matrices.items():
        rows = [matrix.row(i) for i in range(matrix.rows)]
        lines.append(f"{name} = Matrix([")
        lines += [f"    [{', '.join(printer.doprint(x) for x in row)}]," for row in rows]
        lines += ["])", ""]
    return "\n".join(lines)


def _variables(symbols: list[str], taken: set[str]) -> dict[str, str]:
    """A variable of the script for each symbol: its name, made longer where that name is taken."""
    found: dict[str, str] = {}
    for name in symbols:
        variable = name
        while variable in taken or (variable != name and variable in symbols):
            variable += "_"
        found[name] = variable
    return found


class _Exact(StrPrinter):  # type: ignore[misc]
    """Python source: 1/3 as Rational(1, 3), and symbols under names that are free."""

    def __init__(self, names: dict[str, str]) -> None:
        super().__init__()
        self.names = names

    def _print_Rational(self, x: Any) -> str:
        return f"Rational({x.p}, {x.q})"

    def _print_Integer(self, x: Any) -> str:
        return str(x.p)

    def _print_Symbol(self, x: Any) -> str:
        return self.names[str(x.name)]


def _generator(equations: ClosedForm, ring: Ring, name: str) -> Any:
    if name[0] in "cs" and (numbers := name[1:].split("_"))[0].isdigit():
        angle = sympy.Add(*(sympy.Symbol(f"q{i}", real=True) for i in numbers))
        return (sympy.cos if name[0] == "c" else sympy.sin)(angle)
    if name.startswith("sgn") and name[3:].isdigit():
        return sympy.sign(sympy.Symbol(f"qd{name[3:]}", real=True))
    if name.startswith("sgnm") and name[4:].isdigit():
        row = equations.basis.speeds[int(name[4:]) - 1].row
        return sympy.sign(_speed(row))
    if name in equations.basis.bells:
        surface = equations.basis.bells[name]
        speed = _speed(surface.row)
        return sympy.exp(-((speed / expression_sympy(Expression.of(surface.stribeck_velocity))) ** 2))
    inverse = name.startswith("1/")
    plain = name.removeprefix("1/") if inverse else name
    atom = next((a for a in ring.atoms if str(a) == plain), None)
    value = sympy.Symbol(plain, real=True) if atom is None else atom_sympy(atom)
    return 1 / value if inverse else value


def _speed(row: Row) -> Any:
    """Σ k_j q̇_j."""
    speeds = [expression_sympy(Expression.of(k)) * sympy.Symbol(f"qd{j + 1}", real=True) for j, k in row]
    return sympy.Add(*speeds)


def atom_sympy(atom: Atom) -> Any:
    if atom.kind == "symbol":
        return sympy.Symbol(atom.name, real=True)
    if atom.argument is None:
        return sympy.pi
    x = expression_sympy(atom.argument)
    functions = {
        "sqrt": sympy.sqrt,
        "cos": sympy.cos,
        "sin": sympy.sin,
        "abs": sympy.Abs,
        "inverse": lambda d: 1 / d,
    }
    return functions[atom.kind](x)


def expression_sympy(x: Expression) -> Any:
    """An exact number of a description as a SymPy expression."""
    terms = []
    for monomial, coefficient in x.terms:
        factors = [atom_sympy(atom) ** exponent for atom, exponent in monomial]
        terms.append(sympy.Mul(sympy.Rational(coefficient.numerator, coefficient.denominator), *factors))
    return sympy.Add(*terms)


def _expression(poly: Poly, generators: list[Any]) -> Any:
    terms = []
    for exponents, c in poly.terms().items():
        factors = [generators[i] ** e for i, e in enumerate(exponents) if e]
        terms.append(sympy.Mul(sympy.Rational(c.numerator, c.denominator), *factors))
    return sympy.Add(*terms)
