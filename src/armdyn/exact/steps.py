"""The Newton–Euler recursion written out link by link in symbols, as in section 7.5.3.

The augmented links enter as the book has them: m_i, the centre of mass ℓ_Ci and the tensor Ī_i about it,
each a symbol where it is not zero; what they are in the description is listed at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from armdyn import dynamics
from armdyn.dynamics.newton_euler import point_acceleration
from armdyn.exact.basis import Basis
from armdyn.exact.closed_form import ClosedForm
from armdyn.exact.document import Section
from armdyn.exact.mechanism import over_ring
from armdyn.exact.names import parameter_latex
from armdyn.exact.printing import LATEX, TEXT, Printer, Style
from armdyn.exact.ring import Poly, Ring
from armdyn.expression import Expression
from armdyn.model.inertia import TENSOR_KEYS, Inertia
from armdyn.model.mechanism import FIXED_BASE, Mechanism
from armdyn.model.vector import ZERO3, Vector, add, vector


class Recursion:
    """The recursion over a ring, with the augmented links in the symbols of 7.5.3.

    Where every body is a single link of the description (no motor adds to it), its own mass and centre of
    mass are used, as in Craig's examples.
    """

    def __init__(self, basis: Basis) -> None:
        self.basis = basis
        self.plain = all(len(Expression.of(b.inertia.mass).terms) <= 1 for b in basis.exact.bodies)
        self.symbols = [[] if self.plain else _body_symbols(b.inertia) for b in basis.exact.bodies]
        named = [f"[{symbol}{i + 1}]" for i, present in enumerate(self.symbols) for symbol in present]
        self.ring = basis.full if self.plain else basis.with_names([*named, *self._further()])
        self.inertias = [self._inertia(i) for i in range(basis.n)]
        self.mechanism = self._mechanism()
        self.motion = dynamics.newton_euler(self.mechanism, *self.ring.joint_variables())

    def _further(self) -> list[str]:
        """Rotor inertias and friction parameters the robot has."""
        basis = self.basis
        return [
            f"[{name}]"
            for name, value in zip(basis.parameter_names, basis.parameters, strict=True)
            if (name[0] == "F" or name.startswith("Im")) and not value.is_zero
        ]

    def _inertia(self, i: int) -> tuple[Any, Vector, tuple[Any, ...]]:
        """Mass, centre of mass and tensor about it, of augmented link i."""
        if not self.plain:
            com = vector(self._symbol(f"lC{axis}", i) for axis in "xyz")
            return self._symbol("m", i), com, tuple(self._symbol(f"Ib{key}", i) for key in TENSOR_KEYS)
        exact = self.basis.exact.bodies[i].inertia
        number = self.ring.constant
        if Expression.of(exact.mass).is_zero:
            return 0, ZERO3, tuple(number(x) for x in exact.tensor)
        com = vector(number(Expression.of(h) / exact.mass) for h in exact.moment)
        return number(exact.mass), com, tuple(number(Expression.of(x)) for x in exact.tensor_at_com)

    def _symbol(self, name: str, i: int) -> Any:
        return self.ring.gen(f"[{name}{i + 1}]") if name in self.symbols[i] else 0

    def _mechanism(self) -> Mechanism:
        basis, ring = self.basis, self.ring
        if self.plain:
            values: list[Any] = list(basis.values)
        else:
            generators = [f"[{name}]" for name in basis.parameter_names]
            values = [ring.gen(name) if name in ring.index else 0 for name in generators]
        mechanism = over_ring(basis.exact, ring, values, basis.extras)
        bodies = tuple(
            replace(body, inertia=Inertia.at_com(m, com, tensor))
            for body, (m, com, tensor) in zip(mechanism.bodies, self.inertias, strict=True)
        )
        return replace(mechanism, bodies=bodies)

    def centre_acceleration(self, i: int) -> Vector:
        """p̈_Ci (7.110)."""
        motion = self.motion
        return add(motion.a[i], point_acceleration(motion.w[i], motion.dw[i], self.inertias[i][1]))

    def definitions(self) -> list[tuple[str, Poly]]:
        """m_i, m_i ℓ_Ci, Î_i = Ī_i + m_i SᵀS(ℓ_Ci), and rotor and friction parameters that were named."""
        if self.plain:
            return []
        found = []
        full = self.basis.full
        for i, body in enumerate(self.basis.exact.bodies):
            exact = body.inertia
            found.append((f"m{i + 1}", full.constant(exact.mass)))
            for axis, h in zip("xyz", exact.moment, strict=True):
                if f"lC{axis}" in self.symbols[i]:
                    found.append((f"m{i + 1} lC{axis}{i + 1}", full.constant(h)))
            for key, entry in zip(TENSOR_KEYS, exact.tensor, strict=True):
                if not Expression.of(entry).is_zero:
                    found.append((f"I{key}{i + 1}", full.constant(entry)))
        parameters = zip(self.basis.parameter_names, self.basis.values, strict=True)
        found += [(name, value) for name, value in parameters if f"[{name}]" in self._further()]
        return [(name, value) for name, value in found if value]


def _body_symbols(inertia: Inertia) -> list[str]:
    """The symbols of a body: "m", "lCx" …, "Ibxx" … where they are not identically zero."""
    mass = Expression.of(inertia.mass)
    moment = [Expression.of(h) for h in inertia.moment]
    if len(mass.terms) == 1:
        tensor = [Expression.of(x) for x in inertia.tensor_at_com]
    else:  # a sum cannot be divided out: a product of inertia is there if both lengths are
        tensor = [Expression.of(x) for x in inertia.tensor]
    found = ["m"] if not mass.is_zero else []
    found += [f"lC{axis}" for axis, h in zip("xyz", moment, strict=True) if not h.is_zero]
    found += [f"Ib{key}" for key, x in zip(TENSOR_KEYS, tensor, strict=True) if not x.is_zero]
    return found


def sections(equations: ClosedForm, style: Style) -> list[Section]:
    """Forward recursion link by link, backward recursion link by link, and what the symbols are."""
    recursion = Recursion(equations.basis)
    printer = Printer(equations.basis, style)
    n = equations.n
    found = [_initial(recursion, printer)]
    found += [_forward(recursion, printer, i) for i in range(n)]
    found += [_backward(recursion, printer, i) for i in reversed(range(n))]
    tail = (
        ""
        if recursion.plain
        else "The parameters of the augmented links, their tensors about the frames' origins:"
    )
    where = Section("Where", tail)
    for name, value in recursion.definitions():
        left, right = _definition_name(style, name), printer.poly(value)
        if left != right:
            where.lines.append((left, [right]))
    where.lines += [(name, [text]) for name, text in printer.definitions.items()]
    return [*found, where] if where.lines else found


def _initial(recursion: Recursion, printer: Printer) -> Section:
    g = vector(-x if x != 0 else 0 for x in recursion.mechanism.gravity)
    start = r"\ddot p_0^0 - g_0^0" if printer.style is LATEX else "pdd0 - g0"
    rest = r"\omega_0^0 = \dot\omega_0^0" if printer.style is LATEX else "w0 = wd0"
    lines = [
        (start, [_vector(printer, recursion.ring, g)]),
        (rest, [_vector(printer, recursion.ring, ZERO3)]),
    ]
    return Section("Initial conditions", "", lines)


def _forward(recursion: Recursion, printer: Printer, i: int) -> Section:
    motion, ring = recursion.motion, recursion.ring
    rows: list[tuple[str, str, Vector]] = [
        (r"\omega_{i}^{i}", "w{i}", motion.w[i]),
        (r"\dot\omega_{i}^{i}", "wd{i}", motion.dw[i]),
        (r"\ddot p_{i}^{i}", "pdd{i}", motion.a[i]),
        (r"\ddot p_{C_{i}}^{i}", "pddC{i}", recursion.centre_acceleration(i)),
    ]
    lines = [
        (_indexed(latex if printer.style is LATEX else text, i + 1), [_vector(printer, ring, value)])
        for latex, text, value in rows
    ]
    for rotor, value in zip(recursion.mechanism.rotors, motion.dw_m, strict=True):
        if rotor.joint == i:
            carrier = 0 if rotor.carrier == FIXED_BASE else rotor.carrier + 1
            left = rf"\dot\omega_{{m_{{{i + 1}}}}}^{{{carrier}}}" if printer.style is LATEX else f"wdm{i + 1}"
            lines.append((left, [_vector(printer, ring, value)]))
    name = recursion.basis.model.moving[i].name
    return Section(f"Forward recursion: link {i + 1} ({name})", "", lines)


def _backward(recursion: Recursion, printer: Printer, i: int) -> Section:
    motion, ring = recursion.motion, recursion.ring
    latex = printer.style is LATEX
    lines = [
        (_indexed(r"f_{i}^{i}" if latex else "f{i}", i + 1), [_vector(printer, ring, motion.f[i])]),
        (_indexed(r"\mu_{i}^{i}" if latex else "mu{i}", i + 1), [_vector(printer, ring, motion.mu[i])]),
        (
            _indexed(r"\tau_{i}" if latex else "tau{i}", i + 1),
            printer.poly_parts(ring.zero + motion.tau[i]),
        ),
    ]
    name = recursion.basis.model.moving[i].name
    return Section(f"Backward recursion: link {i + 1} ({name})", "", lines)


def _indexed(pattern: str, i: int) -> str:
    return pattern.replace("{i}", f"{{{i}}}" if "\\" in pattern or "^" in pattern else str(i))


def _vector(printer: Printer, ring: Ring, v: Sequence[Any]) -> str:
    entries = [printer.poly(ring.zero + x) for x in v]
    if printer.style is TEXT:
        separator = ",\n        " if max(map(len, entries)) > 40 else ", "
        return f"[{separator.join(entries)}]"
    return r"\begin{bmatrix} " + r" \\ ".join(entries) + r" \end{bmatrix}"


def _definition_name(style: Style, name: str) -> str:
    if style is TEXT:
        return name
    return " ".join(parameter_latex(f"[{part}]") for part in name.split())
