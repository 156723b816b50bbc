"""Proofs by polynomial identity: what they establish holds for every posture, motion and parameter value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter

from armdyn import dynamics
from armdyn.display import Shown
from armdyn.exact.basis import Basis, check_struts, is_polynomial
from armdyn.exact.closed_form import ClosedForm
from armdyn.exact.ring import Poly, Ring, check_proved
from armdyn.expression import ArmdynError
from armdyn.names import one_line
from armdyn.progress import stage


class ProofError(ArmdynError):
    """An identity that should hold does not: the message names the entry and what is left over."""


@dataclass(frozen=True)
class Statement:
    """A proved identity: what it says, how many terms were compared, how long it took."""

    text: str
    terms: int
    seconds: float


@dataclass(frozen=True)
class Proof(Shown):
    """The statements proved for a robot. Every one is an identity between canonical forms, not a sample."""

    robot: str
    statements: tuple[Statement, ...]

    def __repr__(self) -> str:
        return f"<Proof for '{one_line(self.robot)}': {len(self.statements)} identities>"

    def __str__(self) -> str:
        lines = [f"Proved for '{one_line(self.robot)}', as identities in all joint variables and parameters:"]
        lines += [f"  - {s.text} ({s.terms} terms, {s.seconds:.2f} s)" for s in self.statements]
        return "\n".join(lines)


def prove(equations: ClosedForm) -> Proof:
    """Prove that the equations are the robot's; raises `ProofError` at the first identity that fails."""
    checks: list[tuple[str, Callable[[ClosedForm], int]]] = [
        ("Newton-Euler, run over exact polynomials, equals d/dt dL/dq' - dL/dq, term by term", _newton_euler),
        ("the equations B q'' + C q' + friction + g are these torques", _terms_add_up),
        ("B' - 2C is skew-symmetric, entry by entry", _skew),
        ("Y pi gives these torques, column by column, with Y from Newton-Euler's backward pass", _regressor),
        ("Slotine and Li's Y(q, q', v, a) pi is B a + C v + friction + g, column by column", _adaptive),
    ]
    check_struts(equations.model, equations.basis.exact)
    check_proved(equations.terms)  # a fast check: if these are small, the rest is too
    statements = []
    for k, (text, check) in enumerate(checks):
        start = perf_counter()
        with stage(f"proof {k + 1} of {len(checks)}"):
            terms = check(equations)
        if any(not spring.is_zero for spring in equations.springs):
            text = text.replace("friction + g", "friction + g + springs")
        if equations.wrench:
            text = text.replace(" are these torques", " + J^T h_e are these torques")
        statements.append(Statement(text, terms, perf_counter() - start))
    return Proof(equations.model.name, tuple(statements))


def _same(what: str, found: Poly, expected: Poly) -> int:
    """Terms compared; an exception if the difference is not the zero polynomial."""
    difference = found - expected
    if difference:
        raise ProofError(f"{what}: the two sides differ by {str(difference)[:200]}")
    return len(found)


def _newton_euler(equations: ClosedForm) -> int:
    """τ of (7.114), every parameter a generator, against Σ_p (d/dt ∂β_T/∂q̇ − ∂β_T/∂q + ∂β_U/∂q) π_p.

    Of load friction, |τ_r| is one and the same opaque symbol on both sides.
    """
    basis = equations.basis
    ring = basis.with_parameter_names
    wrench = [ring.gen(f"[{name}]") for name in basis.parameter_names[len(basis.layout) :]]
    torques = dynamics.inverse_dynamics(basis.named_mechanism(), *ring.joint_variables(), wrench or None)
    terms = 0
    for i, torque in enumerate(torques):
        expected = ring.zero.p
        for p, y in equations.columns[i].items():
            expected = expected + ring.include(y).p * ring.gen(f"[{basis.parameter_names[p]}]").p
        terms += _same(f"tau_{i + 1}", ring.zero + torque, Poly(ring, expected))
    return terms


def _terms_add_up(equations: ClosedForm) -> int:
    """B q̈ + C q̇ + friction + g + springs, coefficient by coefficient, against the Lagrange rows."""
    basis, n = equations.basis, equations.n
    terms = 0
    for i in range(n):
        total = equations.g[i] + equations.springs[i] + equations.friction[i] + equations.tip_torques[i]
        for j in range(n):
            total = total + equations.B[i, j].times_generator(f"qdd{j + 1}")
            total = total + equations.C[i, j].times_generator(f"qd{j + 1}")
        expected = equations.tau[i].coefficients
        zero = basis.kinematic.zero
        for p in total.coefficients.keys() | expected.keys():
            where = f"equation {i + 1}, coefficient of {basis.parameter_names[p]}"
            terms += _same(where, total.coefficients.get(p, zero), expected.get(p, zero))
    return terms


def _skew(equations: ClosedForm) -> int:
    terms = 0
    N = equations.N
    for i in range(equations.n):
        for j in range(i + 1):
            terms += sum(len(a) for a in N[i, j].coefficients.values())
            _zero(f"n_{i + 1}{j + 1} + n_{j + 1}{i + 1}", (N[i, j] + N[j, i]).coefficients.values())
    return terms


def _zero(what: str, polynomials: Iterable[Poly]) -> None:
    for a in polynomials:
        if a:
            raise ProofError(f"{what} is not zero: {str(a)[:200]}")


def _regressor(equations: ClosedForm) -> int:
    """Y from unit parameters (another algorithm than the energies) against (7.79), and its zeros."""
    basis = equations.basis
    ring = basis.kinematic
    kept = _polynomial(basis)
    Y = dynamics.regressor(basis.mechanism(), *ring.joint_variables(), [basis.layout[p] for p in kept])
    terms = 0
    for i in range(equations.n):
        for k, p in enumerate(kept):
            what = f"Y[{i + 1}, {basis.parameter_names[p]}]"
            terms += _same(what, ring.zero + Y[i][k], equations.Y[i, p])
    return terms


def _polynomial(basis: Basis) -> list[int]:
    """The parameters whose columns are compared: all but preloads, which are zero where there is a proof."""
    return [p for p, parameter in enumerate(basis.layout) if is_polynomial(parameter)]


def _adaptive(equations: ClosedForm) -> int:
    """Y of `adaptive_regressor` with generators v for q̇_r, against B, C, g and friction.

    A parameter that is zero in the description is in none of these. Its column is compared with what it must
    be: the column of Y with the terms of second degree in q̇, Σ c_jk q̇_j q̇_k, made Σ c_jk q̇_j v_k.
    """
    basis, n = equations.basis, equations.n
    ring = basis.with_names([f"[v{j + 1}]" for j in range(n)])
    q, qd, qdd = ring.joint_variables()
    v = [ring.gen(f"[v{j + 1}]") for j in range(n)]
    kept = _polynomial(basis)
    wanted = [basis.layout[p] for p in kept]
    Y = dynamics.adaptive_regressor(basis.mechanism(ring), q, qd, v, qdd, wanted)
    terms = 0
    for i in range(n):
        for k, p in enumerate(kept):
            if not basis.layout[p].kind.is_linear:
                expected = ring.zero  # not linear
            elif p in equations.friction_columns[i]:
                expected = ring.include(equations.friction_columns[i][p])
            elif basis.parameters[p].is_zero:
                expected = _polarised(ring.include(equations.Y[i, p]), v)
            else:
                expected = _of_reference(equations, i, p, ring, v)
            what = f"Y of adaptive control[{i + 1}, {basis.parameter_names[p]}]"
            terms += _same(what, ring.zero + Y[i][k], expected)
    return terms


def _of_reference(equations: ClosedForm, i: int, p: int, ring: Ring, v: Sequence[Poly]) -> Poly:
    """Factor of parameter p in row i of B q̈ + C v + g + springs."""
    total = ring.zero
    factors = [(equations.g[i], ring.one), (equations.springs[i], ring.one)]
    for j in range(equations.n):
        factors += [(equations.B[i, j], ring.gen(f"qdd{j + 1}")), (equations.C[i, j], v[j])]
    for form, factor in factors:
        if p in form.coefficients:
            total = total + ring.include(form.coefficients[p]) * factor
    return total


def _polarised(y: Poly, v: Sequence[Poly]) -> Poly:
    """A column with each product of two q̇ made symmetric in q̇ and v; without friction."""
    velocities = [f"qd{j + 1}" for j in range(len(v))]
    slopes = [y.derivative(name) for name in velocities]
    once, twice = y.ring.zero, y.ring.zero
    for slope, name, w in zip(slopes, velocities, v, strict=True):
        once, twice = once + slope * w, twice + slope * y.ring.gen(name)
    return y + (once - twice) / 2
