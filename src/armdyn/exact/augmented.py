"""Energies of links and rotors (7.13), (7.30), augmented links with their parts (7.52)–(7.77), bodies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from armdyn.exact.basis import Basis
from armdyn.exact.closed_form import ClosedForm
from armdyn.exact.form import Array, Entry, NamedArray
from armdyn.exact.kinematics import point_on, ring_with_all, rotor_centre, velocity
from armdyn.exact.printing.document import Passage
from armdyn.exact.printing.names import Glyph
from armdyn.exact.printing.printer import Printer
from armdyn.exact.printing.styles import Style
from armdyn.exact.ring import Poly
from armdyn.exact.written import Line, Written, matrix_or_entries
from armdyn.expression import ArmdynError, Expression
from armdyn.model.edit import check_link, link_named, motor_named
from armdyn.model.inertia import ENTRIES, TENSOR_KEYS, Inertia, steiner, tensor, tensor_matrix
from armdyn.model.mechanism import FIXED_BASE
from armdyn.model.parameters import Parameter, symbol
from armdyn.model.parts import Link, Motor
from armdyn.model.robot_model import BASE, Converter, RobotModel, idlers, locked_rotor, places_of
from armdyn.model.vector import Matrix
from armdyn.names import listed, quoted

# ------------------------------------------------------------------------------------------------------------
# Energies.


@dataclass(frozen=True, repr=False)
class Energy(Written):
    """Kinetic and potential energy of one link, of one rotor or of an augmented link.

    By König's theorem `kinetic` is `translation`, ½ m ṗ_Cᵀṗ_C, plus `rotation` about the centre of mass.
    """

    called: str
    equation: str
    kinetic: Entry
    potential: Entry
    translation: Entry

    @property
    def rotation(self) -> Entry:
        """The part of the kinetic energy that is left without the motion of the centre of mass."""
        return self.kinetic - self.translation

    def sympy(self, symbols: Any = ()) -> tuple[Any, Any]:
        """T and U as SymPy expressions; `symbols` are used instead of real ones of the same names."""
        return self.kinetic.sympy(symbols), self.potential.sympy(symbols)

    def __add__(self, other: Energy) -> Energy:
        return Energy(
            self.called,
            self.equation,
            self.kinetic + other.kinetic,
            self.potential + other.potential,
            self.translation + other.translation,
        )

    @property
    def title(self) -> str:
        return f"Energy of {self.called} {self.equation}"

    def passages(self, style: Style) -> list[Passage]:
        printer = Printer(self.kinetic.basis, style)
        kinetic = [
            ("T", self.kinetic),
            ("T of the centre of mass", self.translation),
            ("T about the centre of mass", self.rotation),
        ]
        found = [
            Passage("Kinetic energy", "", [_line(printer, name, x) for name, x in kinetic]),
            Passage("Potential energy", "", [_line(printer, "U", self.potential)]),
        ]
        return [*found, *_where(printer)]


def _line(printer: Printer, name: str, x: Entry) -> Line:
    left = name if printer.style.glyph is None else _typeset(printer.style, name)
    return left, x.parts(printer) or [printer.style.zero]


def _typeset(style: Style, name: str) -> str:
    assert style.glyph is not None
    return style.glyph(Glyph(name)) if len(name) == 1 else style.words(name)


def _where(printer: Printer) -> list[Passage]:
    return [Passage("Where", "", list(printer.definitions.items()))] if printer.definitions else []


def link_energy(equations: ClosedForm, name: str) -> Energy:
    """T_ℓ (7.13) and U_ℓ of a link by itself, without the motors it carries; zero if it does not move."""
    model = equations.model
    if check_link(model, "link", name) == model.root:
        raise ArmdynError(f"link: {quoted(name)} is the base; links: {listed(list(model.index))}")
    link = model.links[model.index[name]]
    body, frame = places_of(model, Converter(lambda x: x))[name]
    placed = link.inertia.placed(frame.R, frame.p)
    kinetic, potential = _body_energy(equations, body, placed)
    moving = _translation(
        equations, link.inertia.mass, lambda: velocity(point_on(equations.basis, name, "com"))
    )
    return Energy(f"link {quoted(name)}", "(7.13)", kinetic, potential, moving)


def motor_energy(equations: ClosedForm, name: str) -> Energy:
    """T_m (7.30) and U_m of the rotor of a motor."""
    basis = equations.basis
    link, motor = motor_named(basis.model, name)
    body, frame = places_of(basis.model, Converter(lambda x: x))[motor.carrier]
    rotor = locked_rotor(motor, with_tensor=basis.model.rotors == "exact").placed(frame.R, frame.p)
    kinetic, potential = _body_energy(equations, body, rotor)
    spin = _weighted(equations, equations.kinetic_columns, _spinning(equations, link, motor))
    point = rotor_centre(basis, link, motor)
    moving = _translation(equations, motor.mass, lambda: velocity(point))
    return Energy(point.called, "(7.30)", kinetic + spin, potential, moving)


def _spinning(equations: ClosedForm, link: Link, motor: Motor) -> dict[Parameter, Expression]:
    """The inertia of a motor's rotor, by its entry of the parameter vector; none if nothing spins it."""
    model = equations.basis.model
    if link.joint != "fixed":
        return {Parameter(symbol("rotor", "inertia"), model.moving.index(link)): motor.axial}
    return {Parameter(symbol("idler", "inertia"), i): motor.axial for i in _places(idlers(model), link)}


def _places(links: Iterable[Link], link: Link) -> list[int]:
    return [i for i, other in enumerate(links) if other is link]


def _body_energy(equations: ClosedForm, body: int, inertia: Inertia) -> tuple[Entry, Entry]:
    """T and U of a rigid body that moves with a body of the robot, in the frame of that."""
    if body == FIXED_BASE:
        nothing = Entry(equations.basis, equations.basis.full.zero)
        return nothing, nothing
    values = {
        Parameter(symbol("body", name), body): x for name, x in zip(ENTRIES, inertia.entries, strict=True)
    }
    kinetic = _weighted(equations, equations.kinetic_columns, values)
    return kinetic, _weighted(equations, equations.gravity_columns, values)


def _weighted(equations: ClosedForm, columns: Mapping[int, Poly], values: Mapping[Parameter, Any]) -> Entry:
    """Σ β_p x_p over some parameters."""
    basis = equations.basis
    ring = ring_with_all(basis, [*values.values(), *basis.parameters])
    total = ring.zero
    for parameter, x in values.items():
        p = basis.layout.index(parameter)
        if p in columns and not Expression.of(x).is_zero:
            total = total + ring.include(columns[p]) * ring.constant(Expression.of(x))
    return Entry(basis, total)


def _translation(equations: ClosedForm, mass: Any, rate: Any) -> Entry:
    """½ m vᵀv; zero without mass."""
    basis, m = equations.basis, Expression.of(mass)
    if m.is_zero:
        return Entry(basis, basis.full.zero)
    square: Entry = sum((v * v for v in rate()), Entry(basis, basis.full.zero))
    return square * (m / 2)


# ------------------------------------------------------------------------------------------------------------
# Augmented links.


@dataclass(frozen=True)
class RigidPart:
    """A body of an augmented link: a link or a locked rotor, in the frame of the augmented link."""

    called: str
    inertia: Inertia


@dataclass(frozen=True, repr=False)
class AugmentedLink(Written):
    """A moving link with all that is fixed to it and the motors it carries, rotors locked (7.52)–(7.77).

    `tensor` and `moment` are about the origin of the link's frame, in its axes. `parameters` are the entries
    of π_i (7.77), with `parameter_names`.
    """

    equations: ClosedForm
    index: int
    parts: tuple[RigidPart, ...]
    motors: tuple[str, ...]  # the links and joints whose motors it carries

    @property
    def link(self) -> Link:
        return self.equations.model.moving[self.index]

    @property
    def inertia(self) -> Inertia:
        """All of it, about the origin, as exact expressions."""
        return self.equations.basis.exact.bodies[self.index].inertia

    @property
    def mass(self) -> Entry:
        """m_i, of all parts."""
        mass: Entry = self._array([self.inertia.mass])[0]
        return mass

    @property
    def moment(self) -> Array[Entry]:
        """m_i ℓ_Ci, the first moment [kg m] (7.72)."""
        return self._array(self.inertia.moment, "First moment", "(7.72)")

    @property
    def tensor(self) -> Array[Entry]:
        """Î_i, 3×3, about the origin of the frame (7.71), (7.73)."""
        return self._array(self.inertia.matrix, "Tensor about the origin", "(7.73)")

    @property
    def com(self) -> Array[Entry]:
        """ℓ_Ci, the centre of mass of the augmented link."""
        return self._array(self._massive().com, "Centre of mass")

    @property
    def tensor_at_com(self) -> Array[Entry]:
        """Ī_i, 3×3, about the centre of mass of all, the sum of (7.60) and (7.63)."""
        matrix = _about_com(self._massive())
        return self._array(matrix, "Tensor about the centre of mass", "(7.60), (7.63)")

    def _massive(self) -> Inertia:
        if Expression.of(self.inertia.mass).is_zero:
            raise ArmdynError(f"{self.title}: it has no mass, and so no centre of mass")
        return self.inertia

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of its 13 parameters: "m1", "mx1", …, "Im1", "Fv1", "Fs1"."""
        return self.equations.basis.parameter_names[13 * self.index : 13 * self.index + 13]

    @property
    def parameters(self) -> NamedArray[Entry]:
        """π_i (7.77), also by name: `parameters["Izz1"]`."""
        own = self._array(
            self.equations.basis.parameters[13 * self.index : 13 * self.index + 13], "Parameters", "(7.77)"
        )
        return NamedArray(own.rows, self.parameter_names, own.called, own.equation)

    @property
    def energy(self) -> Energy:
        """T_i and U_i of (7.52): of the link, of what is fixed to it, and of the rotors it carries."""
        model, equations = self.equations.model, self.equations
        places = places_of(model, Converter(lambda x: x))
        parts = [link_energy(equations, x.name) for x in model.links if places[x.name][0] == self.index]
        parts += [motor_energy(equations, name) for name in self.motors]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return Energy(self._label, "(7.52)", total.kinetic, total.potential, total.translation)

    def sympy(self, symbols: Any = ()) -> dict[str, Any]:
        """Mass, moment, tensor, parameters and, with a mass, com and tensor_at_com, in SymPy by name."""
        names = ["mass", "moment", "tensor", "parameters"]
        names += [] if self.mass.is_zero else ["com", "tensor_at_com"]
        return {name: getattr(self, name).sympy(symbols) for name in names}

    def _array(self, rows: Iterable[Any], called: str = "", equation: str = "") -> Array[Entry]:
        return exact_array(
            self.equations.basis, rows, f"{called} of {self._label}" if called else "", equation
        )

    # ---- written -----------------------------------------------------------------------------------------

    @property
    def _label(self) -> str:
        return f"augmented link {self.index + 1} ({self.link.name})"

    @property
    def title(self) -> str:
        return f"Augmented link {self.index + 1} ({self.link.name})"

    def passages(self, style: Style) -> list[Passage]:
        """Mass, moment and tensor, each part with its own tensor and what Steiner's theorem adds to it."""
        i = str(self.index + 1)
        names = [Glyph("m", (i,)), *(Glyph("h", (i + a,), "hat") for a in "xyz")]
        names += [Glyph("I", (i + key,), "hat") for key in TENSOR_KEYS]
        lefts = [f"[{name}]" for name in self.parameter_names[: len(names)]]  # in text, as in `steps()`
        if style.glyph is not None:
            lefts = [style.glyph(name) for name in names]
        printer = Printer(self.equations.basis, style)
        entries = [self.mass, *self.moment, *(self.tensor[a, b] for a, b in _PLACES)]
        lines = [(left, x.parts(printer)) for left, x in zip(lefts, entries, strict=True) if not x.is_zero]
        found = [Passage("Mass, first moment, tensor about the origin of the frame", "", lines)]
        found += [self._steiner(part, printer) for part in self.parts]
        return [*found, *_where(printer)]

    def _steiner(self, part: RigidPart, printer: Printer) -> Passage:
        own = part.inertia
        if Expression.of(own.mass).is_zero:
            lines = self._tensor_lines(printer, "I", own.tensor)
            return Passage(f"{_capital(part.called)}: a tensor without mass", "", lines)
        mass, *place = self._array([own.mass, *own.com])
        lines = [_named_line(printer, Glyph("m"), mass)]
        for axis, x in zip("xyz", place, strict=True):
            if not x.is_zero:
                lines.append(_named_line(printer, Glyph("r", (axis,)), x))
        lines += self._tensor_lines(printer, "I", own.tensor_at_com)
        lines += self._tensor_lines(printer, "S", steiner(own.mass, own.com))
        text = "Mass m, place r of the centre of mass, tensor I about it, and what Steiner's theorem adds, S."
        return Passage(_capital(part.called), text, lines)

    def _tensor_lines(self, printer: Printer, key: str, entries: Iterable[Any]) -> list[Line]:
        """A line for each entry of a tensor that is not zero."""
        named = zip(TENSOR_KEYS, self._array(entries), strict=True)
        return [_named_line(printer, Glyph(key, (place,)), x) for place, x in named if not x.is_zero]


def exact_array(basis: Basis, rows: Iterable[Any], called: str = "", equation: str = "") -> Array[Entry]:
    """A vector or a matrix of exact numbers as entries of a robot's equations."""
    nested = [list(row) if isinstance(row, tuple) else row for row in rows]
    flat = [x for row in nested for x in (row if isinstance(row, list) else [row])]
    ring = ring_with_all(basis, [*flat, *basis.parameters])

    def entry(x: Any) -> Entry:
        return Entry(basis, ring.constant(Expression.of(x)))

    entries = [[entry(x) for x in row] if isinstance(row, list) else entry(row) for row in nested]
    return Array(entries, called, equation)


def _about_com(own: Inertia) -> Matrix:
    """The tensor about the centre of mass, with one quotient: m S(h/m) is S(h)/m."""
    moved = (x / own.mass for x in steiner(1, own.moment))
    return tensor_matrix(tensor(x - y for x, y in zip(own.tensor, moved, strict=True)))


_PLACES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _spelled(style: Style, glyph: Glyph) -> str:
    if style.glyph is not None:
        return style.glyph(glyph)
    return f"{glyph.head}{''.join(map(str, glyph.sub))}"


def _named_line(printer: Printer, glyph: Glyph, x: Entry) -> Line:
    return _spelled(printer.style, glyph), x.parts(printer) or [printer.style.zero]


def augmented_link(equations: ClosedForm, name: str) -> AugmentedLink:
    """The augmented link of a moving link, by the name of its joint or its own."""
    model = equations.model
    index = model.moving.index(link_named(model, name, "link"))
    places = places_of(model, Converter(lambda x: x))
    parts = []
    for link in model.links:
        body, frame = places[link.name]
        if body == index and any(not Expression.of(x).is_zero for x in link.inertia.entries):
            parts.append(RigidPart(f"link {quoted(link.name)}", link.inertia.placed(frame.R, frame.p)))
    carried: list[tuple[Link, Motor]] = [
        (link, link.motor)
        for link in model.links
        if link.motor is not None and model.rotors != "none" and places[link.motor.carrier][0] == index
    ]
    for link, motor in carried:
        _, frame = places[motor.carrier]
        rotor = locked_rotor(motor, with_tensor=model.rotors == "exact").placed(frame.R, frame.p)
        parts.append(RigidPart(f"the locked rotor of the motor of {quoted(link.joint_label)}", rotor))
    return AugmentedLink(equations, index, tuple(parts), tuple(link.name for link, _ in carried))


# ------------------------------------------------------------------------------------------------------------
# A body by itself.


@dataclass(frozen=True, repr=False)
class WrittenBody(Written):
    """Mass, centre of mass and tensors of a body, collected as entries of equations are."""

    basis: Basis
    inertia: Inertia

    title = "Mass and inertia of a body"

    @property
    def arrays(self) -> list[tuple[str, Glyph, Array[Entry]]]:
        """What there is to write: in words, by its letter, and the matrix or vector."""
        own = self.inertia
        found = [("Tensor about the origin", Glyph("I", ("O",)), self._array(own.matrix))]
        if own.mass.is_zero:
            return found
        com = ("Centre of mass", Glyph("r", ("C",)), self._array(own.com))
        if all(x.is_zero for x in com[2]):
            return [com, ("Tensor about the origin, which is the centre of mass", *found[0][1:])]
        about = self._array(_about_com(own))
        return [com, *found, ("Tensor about the centre of mass", Glyph("I", ("C",)), about)]

    @property
    def mass(self) -> Entry:
        mass: Entry = self._array([self.inertia.mass])[0]
        return mass

    def _array(self, rows: Iterable[Any]) -> Array[Entry]:
        return exact_array(self.basis, rows)

    def text(self) -> str:
        """Vectors on a line, matrices row by row."""
        lines = [f"Mass: {self.mass}"]
        for words, _, array in self.arrays:
            lines.append(f"{words}: {array.rows}" if len(array.shape) == 1 else f"{words}:\n{array}")
        return "\n".join(lines)

    def passages(self, style: Style) -> list[Passage]:
        printer = Printer(self.basis, style)
        lines = [(style.words("mass"), self.mass.parts(printer) or [style.zero])]  # m may be a symbol
        found = [Passage("Mass and centre of mass", "", lines)]
        for words, glyph, array in self.arrays:
            written = matrix_or_entries(printer, _spelled(style, glyph), array)
            if len(array.shape) == 1:
                lines += written
            else:
                found.append(Passage(words, "", written))
        return [*found, *_where(printer)]


def written(inertia: Inertia) -> WrittenBody:
    """A body of numbers and expressions as it is written, in a frame of its own."""
    own = Inertia.of([Expression.of(x) for x in inertia.entries])
    symbols = sorted({name for x in own.entries for name in x.symbols()})
    body = Link("body", BASE, "revolute", inertia=own)
    model = RobotModel("body", (body,), symbols=tuple((name, None) for name in symbols))
    return WrittenBody(Basis(model), own)
