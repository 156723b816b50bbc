"""The Newton–Euler recursion written out link by link in symbols, as in section 7.5.3.

The augmented links enter as the book has them: m_i, the centre of mass ℓ_Ci and the tensor Ī_i about it,
each a symbol where it is not zero; what they are in the description is listed at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from armdyn import dynamics
from armdyn.dynamics.closures import freed, joint_values
from armdyn.dynamics.newton_euler import point_acceleration
from armdyn.exact.basis import Basis, check_struts, over_ring
from armdyn.exact.closed_form import ClosedForm
from armdyn.exact.printing.document import Passage
from armdyn.exact.printing.printer import Printer
from armdyn.exact.printing.styles import Style
from armdyn.exact.ring import Poly, Ring, check_written
from armdyn.exact.written import bells, loads
from armdyn.expression import Expression
from armdyn.model.inertia import TENSOR_KEYS, Inertia
from armdyn.model.mechanism import FIXED_BASE, Mechanism
from armdyn.model.vector import ZERO3, Vector, add, vector

_SHORT = 0.45  # of a row: the longest entry of a vector that is written as one,
_SHORT_IN_TEXT = 0.37  # where entries stand side by side


class Recursion:
    """The recursion over a ring, with the augmented links in the symbols of 7.5.3.

    Where every body is a single link of the description (no motor adds to it), its own mass and centre of
    mass are used, as in Craig's examples.
    """

    def __init__(self, basis: Basis) -> None:
        self.basis = basis
        self.plain = all(len(Expression.of(b.inertia.mass).terms) <= 1 for b in basis.exact.bodies)
        self.symbols = [[] if self.plain else _body_symbols(b.inertia) for b in basis.exact.bodies]
        self.ring = self._ring()
        self.bodies = [self._body(i) for i in range(len(basis.exact.bodies))]
        self.mechanism = self._mechanism()
        self.links = basis.model.moving  # the first bodies; those of elastic joints' motors only turn rotors
        variables = self.ring.joint_variables()
        q, qd, qdd = (joint_values(self.mechanism, x) for x in variables)
        self.motion = dynamics.newton_euler(freed(self.mechanism), q, qd, qdd)
        self.tau = dynamics.inverse_dynamics(self.mechanism, *variables)

    def _ring(self) -> Ring:
        if not self.plain:
            named = [f"[{symbol}{i + 1}]" for i, present in enumerate(self.symbols) for symbol in present]
            return self.basis.with_names([*named, *self._further()])
        entries = [x for b in self.basis.exact.bodies for part in _about_com(b.inertia) for x in part]
        return self.basis.extended([Expression.of(x) for x in entries])

    def _further(self) -> list[str]:
        """Rotor inertias and parameters of friction and springs that the robot has."""
        basis = self.basis
        return [
            f"[{name}]"
            for name, value in zip(basis.parameter_names, basis.parameters, strict=True)
            if (name[0] in "FKDP" or name.startswith("Im")) and not value.is_zero
        ]

    def _body(self, i: int) -> tuple[Inertia, Vector | None]:
        """Augmented link i and its centre of mass (None without mass: then the moment is used as it is)."""
        exact = self.basis.exact.bodies[i].inertia
        massless = Expression.of(exact.mass).is_zero
        if self.plain:
            entries = [[self.ring.constant(Expression.of(x)) for x in part] for part in _about_com(exact)]
            m, centre, tensor = entries[0][0], entries[1], entries[2]
        else:
            axes = ("mx", "my", "mz") if massless else ("lCx", "lCy", "lCz")
            kind = "I" if massless else "Ib"
            m = self._symbol("m", i)
            centre = [self._symbol(name, i) for name in axes]
            tensor = [self._symbol(f"{kind}{key}", i) for key in TENSOR_KEYS]
        xx, xy, xz, yy, yz, zz = tensor
        if massless:
            return Inertia(0, vector(centre), (xx, xy, xz, yy, yz, zz)), None
        return Inertia.at_com(m, vector(centre), (xx, xy, xz, yy, yz, zz)), vector(centre)

    def _symbol(self, name: str, i: int) -> Any:
        return self.ring.gen(f"[{name}{i + 1}]") if name in self.symbols[i] else 0

    def _mechanism(self) -> Mechanism:
        basis, ring = self.basis, self.ring
        if self.plain:
            values: list[Any] = [0 if x.is_zero else ring.constant(x) for x in basis.parameters]
        else:
            generators = [f"[{name}]" for name in basis.parameter_names]
            values = [ring.gen(name) if name in ring.index else 0 for name in generators]
        mechanism = over_ring(basis.exact, ring, values, basis.layout)
        bodies = tuple(
            replace(body, inertia=inertia)
            for body, (inertia, _) in zip(mechanism.bodies, self.bodies, strict=True)
        )
        return replace(mechanism, bodies=bodies)

    def centre_acceleration(self, i: int) -> Vector | None:
        """p̈_Ci (7.110); None for a body without mass."""
        motion, centre = self.motion, self.bodies[i][1]
        if centre is None:
            return None
        return add(motion.a[i], point_acceleration(motion.w[i], motion.dw[i], centre))

    @property
    def terms(self) -> int:
        motion = self.motion
        vectors = (*motion.w, *motion.dw, *motion.a, *motion.f, *motion.mu, self.tau)
        return sum(len(x) for v in vectors for x in v if isinstance(x, Poly))

    def definitions(self) -> list[tuple[Poly, Poly]]:
        """Definitions of named parameters: m_i, m_i ℓ_Ci, Ī_i + m_i SᵀS(ℓ_Ci), Im and friction where used."""
        if self.plain:
            return []
        motion, full = self.motion, self.basis.full
        torques = [*self.tau, *(x for v in (*motion.f, *motion.mu) for x in v)]
        degrees = [x.p.degrees() for x in torques if isinstance(x, Poly)]
        used = {name for name, k in self.ring.index.items() if any(d[k] for d in degrees)}
        found: list[tuple[Any, Any]] = []
        for (inertia, _), body in zip(self.bodies, self.basis.exact.bodies, strict=True):
            exact = body.inertia
            found += zip([inertia.mass, *inertia.moment], [exact.mass, *exact.moment], strict=True)
            tensors = zip(inertia.tensor, exact.tensor, strict=True)
            found += [(x, y) for x, y in tensors if isinstance(x, Poly) and "[I" in str(x)]
        values = zip(self.basis.parameter_names, self.basis.parameters, strict=True)
        found += [(self.ring.gen(f"[{n}]"), x) for n, x in values if f"[{n}]" in self._further()]
        return [
            (left, full.constant(Expression.of(right)))
            for left, right in found
            if isinstance(left, Poly) and left and used.issuperset(left.generators())
        ]


def _about_com(inertia: Inertia) -> tuple[tuple[Any, ...], Vector, tuple[Any, ...]]:
    """Mass, centre of mass, tensor about it; without mass, the moment and the tensor about the origin."""
    if Expression.of(inertia.mass).is_zero:
        return (inertia.mass,), inertia.moment, inertia.tensor
    return (
        (inertia.mass,),
        vector(Expression.of(h) / inertia.mass for h in inertia.moment),
        inertia.tensor_at_com,
    )


def _body_symbols(inertia: Inertia) -> list[str]:
    """The symbols of a body: "m", "lCx" …, "Ibxx" … where they are not identically zero."""
    mass = Expression.of(inertia.mass)
    moment = [Expression.of(h) for h in inertia.moment]
    if mass.is_zero:
        found = [f"m{axis}" for axis, h in zip("xyz", moment, strict=True) if not h.is_zero]
        entries = zip(TENSOR_KEYS, inertia.tensor, strict=True)
        return found + [f"I{key}" for key, x in entries if not Expression.of(x).is_zero]
    if len(mass.terms) == 1:
        tensor = [Expression.of(x) for x in inertia.tensor_at_com]
    else:  # a sum cannot be divided out: a product of inertia is there if both lengths are
        tensor = [Expression.of(x) for x in inertia.tensor]
    found = ["m"]
    found += [f"lC{axis}" for axis, h in zip("xyz", moment, strict=True) if not h.is_zero]
    found += [f"Ib{key}" for key, x in zip(TENSOR_KEYS, tensor, strict=True) if not x.is_zero]
    return found


def sections(equations: ClosedForm, style: Style) -> list[Passage]:
    """Forward recursion link by link, backward recursion link by link, and what the symbols are."""
    check_struts(equations.model, equations.basis.exact)
    recursion = Recursion(equations.basis)
    check_written(recursion.terms)
    printer = Printer(equations.basis, style)
    links = range(len(recursion.links))
    found = [_initial(recursion, printer)]
    found += [_forward(recursion, printer, i) for i in links]
    found += [_backward(recursion, printer, i) for i in reversed(links)]
    further = range(0 if recursion.mechanism.rows else len(links), equations.n)
    if further:
        what = "coordinates" if recursion.mechanism.rows else "motors of elastic joints"
        lines = [_torque(recursion, printer, k) for k in further]
        found.append(Passage(f"Torques of the {what}", "", lines))
    where = Passage("Where", loads(equations.basis, style))
    for left, right in recursion.definitions():
        name, value = printer.poly(left), printer.poly(right)
        if name.strip("[]") != value:
            where.lines.append((name, [value]))
    where.lines += [*printer.definitions.items(), *bells(equations, printer.style)]
    return [*found, where] if where.lines else found


def _initial(recursion: Recursion, printer: Printer) -> Passage:
    g = vector(-x if x != 0 else 0 for x in recursion.mechanism.gravity)
    latex = printer.style.name == "latex"
    lines = _vector_lines(printer, recursion.ring, r"\ddot p_0^0 - g_0^0" if latex else "pdd0 - g0", g)
    rest = r"\omega_0^0 = \dot\omega_0^0" if latex else "w0 = wd0"
    return Passage("Initial conditions", "", lines + _vector_lines(printer, recursion.ring, rest, ZERO3))


def _forward(recursion: Recursion, printer: Printer, i: int) -> Passage:
    motion, ring, latex = recursion.motion, recursion.ring, printer.style.name == "latex"
    rows: list[tuple[str, str, Vector | None]] = [
        (rf"\omega_{{{i + 1}}}^{{{i + 1}}}", f"w{i + 1}", motion.w[i]),
        (rf"\dot\omega_{{{i + 1}}}^{{{i + 1}}}", f"wd{i + 1}", motion.dw[i]),
        (rf"\ddot p_{{{i + 1}}}^{{{i + 1}}}", f"pdd{i + 1}", motion.a[i]),
        (rf"\ddot p_{{C_{{{i + 1}}}}}^{{{i + 1}}}", f"pddC{i + 1}", recursion.centre_acceleration(i)),
    ]
    for rotor, value in zip(recursion.mechanism.rotors, motion.dw_m, strict=True):
        carrier = 0 if rotor.carrier == FIXED_BASE else rotor.carrier + 1
        if rotor.part == "rotor" and rotor.joint == i:
            rows.append((rf"\dot\omega_{{m_{{{i + 1}}}}}^{{{carrier}}}", f"wdm{i + 1}", value))
        elif rotor.part == "idler" and rotor.row[-1][0] == i:  # all that it depends on is known here
            k = rotor.joint + 1
            rows.append((rf"\dot\omega_{{i_{{{k}}}}}^{{{carrier}}}", f"wdi{k}", value))
    lines = []
    for typeset, text, quantity in rows:
        if quantity is not None:
            lines += _vector_lines(printer, ring, typeset if latex else text, quantity)
    return Passage(f"Forward recursion: link {i + 1} ({recursion.links[i].name})", "", lines)


def _backward(recursion: Recursion, printer: Printer, i: int) -> Passage:
    motion, ring, latex = recursion.motion, recursion.ring, printer.style.name == "latex"
    index = rf"_{{{i + 1}}}^{{{i + 1}}}"
    lines = _vector_lines(printer, ring, f"f{index}" if latex else f"f{i + 1}", motion.f[i])
    lines += _vector_lines(printer, ring, rf"\mu{index}" if latex else f"mu{i + 1}", motion.mu[i])
    if not recursion.mechanism.rows:
        lines.append(_torque(recursion, printer, i))
    return Passage(f"Backward recursion: link {i + 1} ({recursion.links[i].name})", "", lines)


def _torque(recursion: Recursion, printer: Printer, k: int) -> tuple[str, list[str]]:
    tau = rf"\tau_{{{k + 1}}}" if printer.style.name == "latex" else f"tau{k + 1}"
    return tau, printer.poly_parts(recursion.ring.zero + recursion.tau[k]) or ["0"]


def _vector_lines(printer: Printer, ring: Ring, name: str, v: Sequence[Any]) -> list[tuple[str, list[str]]]:
    """A vector on one line, or, where its entries are long, each on its own."""
    parts = [printer.poly_parts(ring.zero + x) or ["0"] for x in v]
    entries = [printer.style.sum(p) for p in parts]
    text = printer.style.name == "text"
    most = (_SHORT_IN_TEXT if text else _SHORT) * printer.style.width
    if max(printer.style.measure(x) for x in entries) <= most:
        column = r" \\ ".join(entries)
        row = f"[{', '.join(entries)}]" if text else rf"\begin{{bmatrix}} {column} \end{{bmatrix}}"
        return [(name, [row])]
    return [(f"{name}[{a}]" if text else f"{{[{name}]}}_{a}", p) for a, p in zip("xyz", parts, strict=True)]
