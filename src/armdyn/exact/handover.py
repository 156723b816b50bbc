"""Exact equations handed over to SymPy, and SymPy's expressions read into the ring of the equations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import Any

import sympy
from sympy.core.function import AppliedUndef
from sympy.printing.str import StrPrinter

from armdyn.dynamics import rigid_torques
from armdyn.exact.basis import Basis, NotInEquationsError
from armdyn.exact.printing.angles import AngleSums
from armdyn.exact.ring import Poly, Ring, check_expanded, check_written
from armdyn.expression import ArmdynError, Atom, Expression, ExpressionError, TooLargeError, listed, shown
from armdyn.model.friction import Row
from armdyn.names import MATLAB_KEYWORDS, one_line

Symbols = Mapping[str, Any] | Iterable[Any]


class SympyEquations:
    """Terms of the equations in SymPy: matrices in q1 … qn, qd1 …, qdd1 … and the description's symbols.

    tau = B qdd + C qd + friction + g + springs + tip_torques, not multiplied out. `TERMS` lists what there
    is beside it; each is made when it is asked for. `christoffel` and `h` are lists of matrices.

    `METHODS` are those of the equations, with the same arguments: `jacobian("link 2", at="com")`. `energy`
    gives T and U of a link or rotor, `augmented_link` a table: its "tensor", its "parameters" π_i and so on.
    """

    TERMS = (
        *("B", "C", "g", "springs", "friction", "tip_torques", "c", "centrifugal_torques"),
        *("coriolis_torques", "Gamma", "speed_products", "B_dot", "N", "christoffel", "h", "regressor"),
        *("beta_T", "beta_U", "T", "U"),
    )
    METHODS = (
        *("pose", "rotation", "position", "velocity", "angular_velocity", "jacobian", "jacobian_dot"),
        *("analytical_jacobian", "energy", "augmented_link"),
    )

    def __init__(self, equations: Any, symbols: Symbols = ()) -> None:
        """`equations` have the terms as arrays, and both energies."""
        self._equations, self._symbols = equations, _reusable(symbols)
        handover = self._handover = Handover(equations.basis, self._symbols)
        numbers = range(1, equations.n + 1)
        self.q, self.qd, self.qdd = (
            tuple(handover.symbol(f"{x}{i}") for i in numbers) for x in ("q", "qd", "qdd")
        )
        self.symbols = {name: handover.symbol(name) for name, _ in equations.basis.model.symbols}
        if equations.basis.loads:
            handover.rigid = list(self._rigid)

    @property
    def tau(self) -> Any:
        return self._rigid + self.friction

    @cached_property
    def _rigid(self) -> Any:
        """The torques without friction."""
        return (
            self.B * sympy.Matrix(self.qdd)
            + self.C * sympy.Matrix(self.qd)
            + self.g
            + self.springs
            + self.tip_torques
        )

    def __getattr__(self, name: str) -> Any:
        if name in self.METHODS:
            return lambda *args, **named: getattr(self._equations, name)(*args, **named).sympy(self._symbols)
        if name not in self.TERMS:
            known = ", ".join((*self.TERMS, *self.METHODS))
            raise AttributeError(f"no term {shown(name)}; there are tau, {known}")
        equations = self._equations
        if name in ("T", "U"):
            energy = equations.kinetic_energy if name == "T" else equations.potential_energy
            found = self._handover.expression(energy.poly)
        else:
            found = self._matrix(getattr(equations, name))
        setattr(self, name, found)
        return found

    def _matrix(self, terms: Any) -> Any:
        """A matrix, of a vector a column; of three indices a list of matrices."""
        if len(terms.shape) == 3:
            return [self._matrix(terms[i]) for i in range(len(terms))]
        rows = [row if isinstance(row, list) else [row] for row in terms]
        check_written(sum(x.size for row in rows for x in row))
        return sympy.Matrix([[self._handover.expression(x.poly) for x in row] for row in rows])

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.TERMS, *self.METHODS]


class Handover:
    """Entries of one robot's equations as SymPy expressions, in given symbols and else in real ones.

    Sums of angles are written as they are printed: cos(q2 + q3), where it is shorter than products.
    """

    def __init__(self, basis: Basis, symbols: Symbols = ()) -> None:
        self.basis = basis
        self.given = _by_name(basis, symbols)
        self._angles: dict[int, AngleSums] = {}

    def symbol(self, name: str) -> Any:
        found = self.given.get(name)
        return sympy.Symbol(name, real=True) if found is None else found

    @cached_property
    def rigid(self) -> list[Any]:
        """The torques without friction."""
        return [self.expression(poly) for poly in _rigid(self.basis)]

    def expression(self, poly: Poly) -> Any:
        """A polynomial of any of the robot's rings."""
        ring = poly.ring
        if id(ring) not in self._angles:
            self._angles[id(ring)] = AngleSums(ring, self.basis.runs)
        terms = []
        for c, factors, trig in self._angles[id(ring)].terms(poly):
            product = [self._generator(ring, name) ** e for name, e in factors]
            product += [self._trig(kind, joints) ** e for kind, joints, e in trig]
            terms.append(sympy.Mul(sympy.Rational(c.numerator, c.denominator), *product))
        return sympy.Add(*terms)

    def _trig(self, kind: str, joints: Iterable[int]) -> Any:
        """Cosine or sine of a sum of angles, in which ~j stands for one that is subtracted."""
        angle = sympy.Add(
            *(self.symbol(f"q{j + 1}") if j >= 0 else -self.symbol(f"q{~j + 1}") for j in joints)
        )
        return sympy.cos(angle) if kind == "c" else sympy.sin(angle)

    def _generator(self, ring: Ring, name: str) -> Any:
        basis = self.basis
        if match := re.fullmatch(r"([cs])(\d+(?:_\d+)*)", name):
            return self._trig(match[1], [int(i) - 1 for i in match[2].split("_")])
        if match := re.fullmatch(r"sgn(m?)(\d+)", name):
            i = int(match[2]) - 1
            return sympy.sign(self._speed(basis.speeds[i].row if match[1] else ((i, 1),)))
        if name in basis.bells:
            surface = basis.bells[name]
            width = self.constant(Expression.of(surface.stribeck_velocity))
            return sympy.exp(-((self._speed(surface.row) / width) ** 2))
        if name in basis.tanhs:
            surface = basis.tanhs[name]
            return sympy.tanh(self._speed(surface.row) / self.constant(Expression.of(surface.width)))
        if name in basis.loads:
            return sympy.Abs(self.rigid[basis.loads[name]])
        inverse = name.startswith("1/")
        plain = name.removeprefix("1/")
        atom = next((a for a in ring.atoms if str(a) == plain), None)
        value = self.symbol(plain) if atom is None else self._atom(atom)
        return 1 / value if inverse else value

    def _speed(self, row: Row) -> Any:
        """Σ k_j q̇_j."""
        return sympy.Add(*(self.constant(Expression.of(k)) * self.symbol(f"qd{j + 1}") for j, k in row))

    def constant(self, x: Expression) -> Any:
        """An exact number of the description."""
        terms = []
        for monomial, coefficient in x.terms:
            factors = [self._atom(atom) ** exponent for atom, exponent in monomial]
            terms.append(sympy.Mul(sympy.Rational(coefficient.numerator, coefficient.denominator), *factors))
        return sympy.Add(*terms)

    def _atom(self, atom: Atom) -> Any:
        if atom.kind == "symbol":
            return self.symbol(atom.name)
        if atom.argument is None:
            return sympy.pi
        x = self.constant(atom.argument)
        functions = {
            "sqrt": sympy.sqrt,
            "cos": sympy.cos,
            "sin": sympy.sin,
            "abs": sympy.Abs,
            "inverse": lambda d: 1 / d,
        }
        return functions[atom.kind](x)


def _reusable(symbols: Symbols) -> Symbols:
    """Symbols that are asked for again: an iterator is read into a list."""
    return list(symbols) if hasattr(symbols, "__next__") else symbols


def _by_name(basis: Basis, symbols: Symbols) -> dict[str, Any]:
    """Given symbols by name: of a mapping its values, else each by the name it has."""
    try:
        given = symbols.items() if isinstance(symbols, Mapping) else [(_name(x), x) for x in symbols]
        pairs: list[tuple[Any, Any]] = [(name, sympy.sympify(x)) for name, x in given]
    except (TypeError, sympy.SympifyError):
        raise ArmdynError(
            f"symbols: found {shown(symbols)}; SymPy's symbols are expected, or SymPy's expressions by name"
        ) from None
    known = basis.names
    for name, x in pairs:
        if name not in known:
            found = shown(x) if name is None else f"'{name}'"
            raise ArmdynError(f"symbols: {found} is not a name of these equations; they have {listed(known)}")
    return dict(pairs)


def _name(x: Any) -> str | None:
    """The name of a symbol, or of a function of time: q1(t)."""
    return str(x.name) if isinstance(x, (sympy.Symbol, AppliedUndef)) else None


def _rigid(basis: Basis) -> list[Poly]:
    """The torques without friction, by Newton–Euler, as polynomials of the full ring."""
    full = basis.full
    wrench = basis.values[len(basis.layout) :]
    torques = rigid_torques(basis.valued_mechanism(), *full.joint_variables(), wrench or None)
    return [full.zero + torque for torque in torques]


# ---- a script --------------------------------------------------------------------------------------------


_DOUBLE = 2**53  # integers below it are doubles
_TAKEN = ("Abs", "Matrix", "Rational", "Symbol", "cos", "exp", "pi", "sign", "sin", "sqrt", "tanh")


def sympy_source(title: str, handed: SympyEquations) -> str:
    """A Python script that builds SymPy matrices inertia, coriolis, gravity and so on."""
    matrices, equation, symbols = _script(handed)
    printer = _Exact(_variables(symbols, {*_TAKEN, *matrices}))
    lines = [
        f"# Equations of motion: {equation}",
        f"from sympy import {', '.join(_TAKEN)}",
        "",
        f"# {one_line(title)}",  # below two lines in which Python looks for "coding: …"
        *(f'{printer.names[name]} = Symbol("{name}", real=True)' for name in symbols),
        "",
    ]
    for name, rows in matrices.items():
        lines.append(f"{name} = Matrix([")
        lines += [f"    [{', '.join(printer.doprint(x) for x in row)}]," for row in rows]
        lines += ["])", ""]
    return "\n".join(lines)


def matlab_source(title: str, handed: SympyEquations) -> str:
    """The same as a script of MATLAB's Symbolic Math Toolbox, or Octave's package symbolic."""
    matrices, equation, symbols = _script(handed)
    printer = _Matlab(_variables(symbols, {*_TAKEN, *matrices, "sym", "syms", "abs", *MATLAB_KEYWORDS}))
    names = [printer.names[name] for name in symbols]
    lines = [f"% {one_line(title)}", f"% Equations of motion: {equation}"]
    lines += [f"syms {' '.join(names[k : k + 12])} real" for k in range(0, len(names), 12)]
    for name, rows in matrices.items():
        body = "; ...\n  ".join(", ".join(printer.doprint(x) for x in row) for row in rows)
        lines += ["", f"{name} = sym([{body}]);"]
    return "\n".join([*lines, ""])


def _script(handed: SympyEquations) -> tuple[dict[str, list[list[Any]]], str, list[str]]:
    """The matrices of a script by name, each as rows; the equation they stand in; the names of symbols."""
    matrices = {
        "inertia": handed.B,
        "coriolis": handed.C,
        "gravity": handed.g,
        "friction": handed.friction,
    }
    further = {"springs": handed.springs, "tip_torques": handed.tip_torques}
    matrices |= {name: terms for name, terms in further.items() if any(terms)}
    sums = "".join(f" + {name}" for name in further if name in matrices)
    symbols = sorted({x.name for M in matrices.values() for x in M.free_symbols})
    rows = {name: [list(M.row(i)) for i in range(M.rows)] for name, M in matrices.items()}
    return rows, f"inertia*qdd + coriolis*qd + friction + gravity{sums} = tau", symbols


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


class _Matlab(_Exact):
    """MATLAB source: numbers that a double cannot hold, and those in functions, as exact symbols."""

    def doprint(self, x: Any) -> str:
        """An entry of a matrix; Octave joins no rows of plain numbers to rows of symbols."""
        return self._whole(x.p) if x.is_Integer else str(super().doprint(x).replace("**", "^"))

    def _print_Rational(self, x: Any) -> str:
        return f"{self._whole(x.p)}/{x.q if x.q < _DOUBLE else self._whole(x.q)}"

    def _print_Integer(self, x: Any) -> str:
        return str(x.p) if abs(x.p) < _DOUBLE else self._whole(x.p)

    def _whole(self, p: int) -> str:
        return f"sym({p})" if abs(p) < _DOUBLE else f"sym('{p}')"

    def _print_Pi(self, x: Any) -> str:
        return "sym(pi)"

    def _print_Pow(self, x: Any, rational: bool = False) -> str:
        if x.base.is_Integer and x.exp == sympy.Rational(1, 2):
            return f"sqrt({self._whole(x.base.p)})"
        if x.base.is_Integer and x.exp == -sympy.Rational(1, 2):
            return f"1/sqrt({self._whole(x.base.p)})"
        return str(super()._print_Pow(x, rational))

    def _print_Function(self, x: Any) -> str:
        inside = ", ".join(self._whole(a.p) if a.is_Integer else self._print(a) for a in x.args)
        return f"{x.func.__name__.lower()}({inside})"


# ---- reading ---------------------------------------------------------------------------------------------


def read(x: Any, basis: Basis, ring: Ring) -> Poly:
    """A SymPy expression as an element of a ring; its symbols count by their names.

    q1(t) is q1, and its derivatives by t are qd1 and qdd1. `NotInEquationsError` where something in it has
    no place in the equations.
    """
    try:
        return _SympyReader(basis, ring).poly(x)
    except TooLargeError:
        raise
    except ExpressionError as error:
        raise NotInEquationsError(f"{shown(x)}: {error}") from None


class _SympyReader:
    def __init__(self, basis: Basis, ring: Ring) -> None:
        self.basis, self.ring = basis, ring

    def poly(self, x: Any) -> Poly:
        if x.is_Add:
            return sum((self.poly(term) for term in x.args), self.ring.zero)
        if x.is_Mul and not any(_is_below(factor) for factor in x.args):
            product = self.ring.one
            for factor in x.args:
                product = self.ring.zero + product * self.poly(factor)
            return product
        if x.is_Pow and x.exp.is_Integer and x.exp.is_positive:
            base, exponent = self.poly(x.base), int(x.exp)
            check_expanded(comb(len(base) + exponent - 1, exponent))
            return base**exponent
        if isinstance(x, sympy.sign):
            return self._sign(x)
        if isinstance(x, sympy.exp):
            return self._bell(x)
        if isinstance(x, sympy.tanh):
            return self._tanh(x)
        if isinstance(x, sympy.Abs) and (load := self._load(x)) is not None:
            return load
        return self.basis.element(read_expression(x), self.ring)

    def _sign(self, x: Any) -> Poly:
        try:
            return self.poly(x.args[0]).sign()
        except ValueError as error:
            raise NotInEquationsError(f"'{x}': {error}") from None

    def _bell(self, x: Any) -> Poly:
        """exp(−(v/width)²) of Stribeck friction."""
        exponent = read_expression(x.args[0])
        for name, surface in self.basis.bells.items():
            ratio = _summed(surface.row) / surface.stribeck_velocity
            if exponent == -(ratio * ratio):
                return self.ring.gen(name)
        raise NotInEquationsError(f"'{x}' is not in these equations")

    def _tanh(self, x: Any) -> Poly:
        """tanh(v/width), the smooth sign of dry friction."""
        inside = read_expression(x.args[0])
        for name, surface in self.basis.tanhs.items():
            ratio = _summed(surface.row) / surface.width
            if inside in (ratio, -ratio):
                return self.ring.gen(name) if inside == ratio else -self.ring.gen(name)
        raise NotInEquationsError(f"'{x}' is not in these equations")

    def _load(self, x: Any) -> Poly | None:
        """|τ| without friction, of load friction; SymPy takes numbers out of it."""
        if not self.basis.loads:
            return None
        inside, rigid = read(x.args[0], self.basis, self.basis.full).p, _rigid(self.basis)
        for name, i in self.basis.loads.items():
            factor = inside.leading_coefficient() / rigid[i].p.leading_coefficient() if rigid[i] else 0
            if factor and inside == rigid[i].p * factor:
                return Poly(self.ring, self.ring.gen(name).p * abs(factor))
        return None


def _summed(row: Row) -> Expression:
    """Σ k_j q̇_j, exact."""
    terms = [Expression.of(k) * Expression.symbol(f"qd{j + 1}") for j, k in row]
    return sum(terms, Expression.of(0))


def _is_below(factor: Any) -> bool:
    """True if a factor stands below the line of a quotient."""
    return bool(factor.is_Pow and factor.exp.is_negative)


def read_expression(x: Any) -> Expression:
    """A SymPy expression as an exact one; refused with functions other than cos, sin, sqrt and abs."""
    if x.is_Rational:
        return Expression.of(Fraction(int(x.p), int(x.q)))
    if x.is_Float:
        return Expression.of(float(x))
    if x is sympy.pi:
        return Expression.pi()
    if name := _symbol_name(x):
        return Expression.symbol(name)
    parts = [read_expression(argument) for argument in x.args] if _is_readable(x) else []
    if x.is_Add:
        return sum(parts, Expression.of(0))
    if x.is_Mul:
        product = Expression.of(1)
        for part in parts:
            product = product * part
        return product
    if x.is_Pow and x.exp.is_Integer:
        return parts[0] ** int(x.exp)
    if x.is_Pow and (2 * x.exp).is_Integer:
        return parts[0].sqrt() ** int(2 * x.exp)
    if isinstance(x, (sympy.cos, sympy.sin)):
        return parts[0].cos() if isinstance(x, sympy.cos) else parts[0].sin()
    if isinstance(x, sympy.Abs):
        return abs(parts[0])
    raise NotInEquationsError(
        f"'{shown(x)}' has no place in these equations; they have sums, products, powers, cos and sin"
    )


def _is_readable(x: Any) -> bool:
    return bool(x.is_Add or x.is_Mul or x.is_Pow or isinstance(x, (sympy.cos, sympy.sin, sympy.Abs)))


def _symbol_name(x: Any) -> str | None:
    """m1 of a symbol; q1, qd1 and qdd1 of q1(t) and its derivatives by t."""
    if not isinstance(x, sympy.Derivative):
        return _name(x)
    name = _name(x.expr)
    if name and re.fullmatch(r"q\d+", name) and x.variables in (x.expr.args, x.expr.args * 2):
        return f"q{'d' * len(x.variables)}{name[1:]}"
    return None
