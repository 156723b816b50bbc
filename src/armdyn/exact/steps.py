"""The Newton–Euler recursion written out link by link in symbols, as in section 7.5.3.

The augmented links enter as the book has them: m_i, the centre of mass ℓ_Ci and the tensor Ī_i about it,
each a symbol where it is not zero; what they are in the description is listed at the end. Vectors are in
the axes of their links (7.107)–(7.114), in base axes (7.93)–(7.106), or in Craig's letters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan, nan
from typing import Any, Literal

from armdyn import dynamics
from armdyn.dynamics.closures import freed, joint_values
from armdyn.dynamics.kinematics import BaseFrame, base_frames, pose_of, velocities, wrenches_on_bodies
from armdyn.dynamics.newton_euler import BaseMotion, body_wrench, point_acceleration
from armdyn.exact.basis import check_struts, over_ring
from armdyn.exact.closed_form import ClosedForm
from armdyn.exact.form import check_values, given_numbers, number
from armdyn.exact.printing.document import Numbered, Passage
from armdyn.exact.printing.mathml import Subscripted
from armdyn.exact.printing.names import Glyph, is_greek, symbol_glyph
from armdyn.exact.printing.printer import Printer
from armdyn.exact.printing.styles import Style
from armdyn.exact.ring import Poly, Ring, check_written
from armdyn.exact.written import Line, bells, loads
from armdyn.expression import ArmdynError, Expression, shown
from armdyn.model.errors import plain
from armdyn.model.inertia import ENTRIES, TENSOR_KEYS, Inertia
from armdyn.model.mechanism import FIXED_BASE, Mechanism
from armdyn.model.robot_model import RobotModel
from armdyn.model.vector import ZERO3, Vector, add, apply, apply_transposed, cross, sub, vector

Frame = Literal["link", "base"]
At = Sequence[Any] | Mapping[str, Any]
_SHORT = 0.45  # of a row: the longest entry of a vector that is written as one,
_SHORT_IN_TEXT = 0.37  # where entries stand side by side
_NOTHING = 1e-12  # what is smaller is zero, up to rounding

# ------------------------------------------------------------------------------------------------------------
# What the recursion gives: vectors with their names and the numbers of their equations.


_KEYS = "w wd pdd pddC wdm wdi f mu tau"  # the letters of the text
_IN_LINKS = "7.107 7.108 7.109 7.110 7.111 7.111 7.112 7.113 7.114"
_IN_BASE = "7.93 7.100 7.101 7.102 7.103 7.103 7.104 7.105 7.106"
_NUMBERS = {
    "link": dict(zip(_KEYS.split(), _IN_LINKS.split(), strict=True)),
    "base": {"pd": "7.94", **dict(zip(_KEYS.split(), _IN_BASE.split(), strict=True))},
}
_DOTS = ("", "dot", "ddot")


@dataclass(frozen=True)
class VectorName:
    """The name of a vector: a letter with its dots and its index, and the frame in whose axes it is."""

    letter: str
    dots: int
    index: object
    of: str = ""  # C, m, i: of a centre of mass, of a rotor, of an idler
    frame: object = ""  # where it is written
    in_front: bool = False  # the frame, as Craig writes it

    @property
    def key(self) -> str:
        """The letters of the text: w, pdd, pddC, wdm."""
        return f"{'w' if self.letter == 'omega' else self.letter}{'d' * self.dots}{self.of}"

    def spelled(self, style: Style) -> str:
        if style.glyph is None:
            return f"{self.key}{self.index}"
        return self._latex() if style.name == "latex" else self._mathml(style.glyph)

    def _latex(self) -> str:
        greek = is_greek(self.letter)
        head = rf"\{self.letter}" if greek else self.letter
        if self.dots:
            head = rf"\{_DOTS[self.dots]}{'' if greek else ' '}{head}"
        frame = f"^{_braced(self.frame, self.index)}" if self.frame != "" else ""
        sub = f"{self.of}_{_braced(self.index)}" if self.of else self.index
        name = f"{head}_{_braced(sub, self.index)}"
        return f"{{}}{frame}{name}" if self.in_front else f"{name}{frame}"

    def _mathml(self, spell: Callable[[Glyph], str]) -> str:
        index = str(self.index)
        glyph = Glyph(self.letter, (Glyph(self.of, (index,)) if self.of else index,), _DOTS[self.dots])
        name, frame = spell(glyph), f"<mn>{self.frame}</mn>"
        if self.in_front:
            return f"<mrow><msup><mrow></mrow>{frame}</msup>{name}</mrow>"
        if self.frame == "" or not isinstance(name, Subscripted):
            return name
        return f"<msubsup>{name.base}{name.sub}{frame}</msubsup>"


def _braced(script: object, index: object = None) -> str:
    """A script in LaTeX; those of the base are without braces, as in \\omega_0^0."""
    return str(script) if index == 0 else f"{{{script}}}"


@dataclass(frozen=True)
class StepVector:
    """A vector of the recursion; a torque has one entry."""

    labels: tuple[VectorName, ...]
    entries: tuple[Any, ...]
    number: str = ""
    between: Literal["equals", "minus"] = "equals"  # between several labels

    def left(self, style: Style) -> str:
        sign: str = getattr(style, self.between)
        return sign.join(label.spelled(style) for label in self.labels)


@dataclass(frozen=True)
class StepGroup:
    """Steps under one heading."""

    title: str
    text: str
    quantities: list[StepVector]


# ------------------------------------------------------------------------------------------------------------
# The recursion.


_BASE = {"w0": VectorName("omega", 0, 0), "wd0": VectorName("omega", 1, 0), "pdd0": VectorName("p", 2, 0)}
_BASE_VELOCITY = {"pd0": VectorName("p", 1, 0)}


def _base_letters(frame: Frame) -> dict[str, VectorName]:
    """The vectors that a moving base has: its velocity enters (7.94) alone."""
    return {**_BASE, **_BASE_VELOCITY} if frame == "base" else _BASE


def _base_names(model: RobotModel, frame: Frame) -> list[str]:
    """The symbols of a moving base: w0x, …"""
    names = [f"{key}{axis}" for key in _base_letters(frame) for axis in "xyz"]
    if taken := [name for name, _ in model.symbols if name in names]:
        raise ArmdynError(
            f"base: {', '.join(names)} are the motion of the base here, and the robot has a symbol "
            f"{shown(taken[0])} already; rename it"
        )
    return names


class Recursion:
    """The recursion over a ring, with the augmented links in the symbols of 7.5.3.

    Where every body is a single link of the description (no motor adds to it), its own mass and centre of
    mass are used, as in Craig's examples.
    """

    def __init__(
        self, equations: ClosedForm, base: bool = False, frame: Frame = "link", craig: bool = False
    ) -> None:
        self.frame: Frame = frame
        self.craig, self.moving_base = craig, base
        self.base_names = _base_names(equations.model, frame) if base else []
        self.basis = equations.basis.with_symbols(self.base_names) if base else equations.basis
        self.plain = all(len(Expression.of(b.inertia.mass).terms) <= 1 for b in self.basis.exact.bodies)
        self.symbols = [[] if self.plain else _body_symbols(b.inertia) for b in self.basis.exact.bodies]
        self.ring = self._ring([*equations.wrench, *map(Expression.symbol, self.base_names)])
        self.bodies = [self._body(i) for i in range(len(self.basis.exact.bodies))]
        self.mechanism = self._mechanism()
        self.tree = freed(self.mechanism)
        self.links = self.basis.model.moving  # the first bodies; elastic joints' motors only turn rotors
        self.variables = self.ring.joint_variables()
        self.wrench = [self.ring.constant(x) for x in equations.wrench] or None
        self.base = BaseMotion(*(self._of_base(key) for key in _BASE))
        q, qd, qdd = self._of_joints
        self.motion = dynamics.newton_euler(self.tree, q, qd, qdd, self.wrench, self.base)
        self.tau = dynamics.inverse_dynamics(self.mechanism, *self.variables, self.wrench, self.base)

    @property
    def _of_joints(self) -> list[list[Any]]:
        """q, q̇, q̈ of all joints."""
        return [joint_values(self.mechanism, x) for x in self.variables]

    def _of_base(self, key: str) -> Vector:
        return vector(self.ring.gen(f"{key}{axis}") for axis in "xyz") if self.moving_base else ZERO3

    def _ring(self, further: Sequence[Expression]) -> Ring:
        if not self.plain:
            named = [f"[{symbol}{i + 1}]" for i, present in enumerate(self.symbols) for symbol in present]
            return self.basis.with_names([*named, *self._further()], further)
        entries = [x for b in self.basis.exact.bodies for part in _about_com(b.inertia) for x in part]
        return self.basis.extended([*(Expression.of(x) for x in entries), *further])

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
        basis, ring, own = self.basis, self.ring, len(self.basis.layout)  # behind these is the tip force
        if self.plain:
            values: list[Any] = [0 if x.is_zero else ring.constant(x) for x in basis.parameters[:own]]
        else:
            generators = [f"[{name}]" for name in basis.parameter_names[:own]]
            values = [ring.gen(name) if name in ring.index else 0 for name in generators]
        mechanism = over_ring(basis.exact, ring, values, basis.layout)
        bodies = tuple(
            replace(body, inertia=inertia)
            for body, (inertia, _) in zip(mechanism.bodies, self.bodies, strict=True)
        )
        return replace(mechanism, bodies=bodies)

    # ---- vectors, in the axes that are asked for ---------------------------------------------------------

    @cached_property
    def frames(self) -> list[BaseFrame]:
        return base_frames(self.tree, self.motion.joints)

    def seen(self, v: Vector, body: int) -> Vector:
        """A vector in the axes of a body, or of the base, as it is written."""
        return v if self.frame == "link" else apply(pose_of(self.tree, self.frames, body)[0], v)

    def label(self, letter: str, dots: int, i: object, of: str = "", frame: object = None) -> VectorName:
        """The name of a vector in the axes of its own frame, unless another is given."""
        shown_frame = "" if self.frame == "base" else i if frame is None else frame
        return VectorName(letter, dots, i, of, shown_frame, self.craig)

    def quantity(self, label: VectorName, v: Sequence[Any]) -> StepVector:
        numbers = {} if self.craig else _NUMBERS[self.frame]
        return StepVector((label,), tuple(v), numbers.get(label.key, ""))

    def centre_acceleration(self, i: int) -> Vector | None:
        """p̈_Ci (7.110); None for a body without mass."""
        motion, centre = self.motion, self.bodies[i][1]
        if centre is None:
            return None
        return add(motion.a[i], point_acceleration(motion.w[i], motion.dw[i], centre))

    def velocity(self, i: int) -> Vector:
        """ṗ_i in base axes (7.94)."""
        frame = self.frames[i]
        own = apply(frame.R, self._own_velocities[i])
        carried = cross(self.base.angular_velocity, sub(frame.p, self.tree.p_base))
        return add(own, self._of_base("pd0"), carried) if self.moving_base else own

    @cached_property
    def _own_velocities(self) -> list[Vector]:
        """Velocities of the links' frames over a base at rest, in their axes."""
        return velocities(self.tree, self.motion.joints, self._of_joints[1])[1]

    def body_forces(self, i: int) -> tuple[Vector, Vector]:
        """Craig's F_i = m v̇_C and N_i = I ω̇ + ω × I ω about the centre of mass."""
        motion, (inertia, centre) = self.motion, self.bodies[i]
        F, n = body_wrench(inertia, motion.w[i], motion.dw[i], motion.a[i])
        return F, n if centre is None else sub(n, cross(centre, F))

    # ---- the steps ---------------------------------------------------------------------------------------

    def parts(self) -> list[StepGroup]:
        """Initial conditions, the links forward, terminal conditions, the links backward, other torques."""
        links = range(len(self.links))
        found = [self._initial(), *map(self._forward, links)]
        found += [self._terminal()] if self.wrench or self.craig else []
        found += map(self._backward, reversed(links))
        further = range(0 if self.mechanism.rows else len(links), len(self.tau))
        if further:
            what = "coordinates" if self.mechanism.rows else "motors of elastic joints"
            torques = [StepVector((self._tau(k),), (self.tau[k],)) for k in further]
            found.append(StepGroup(f"Torques of the {what}", "", torques))
        return found

    def _initial(self) -> StepGroup:
        R = self.tree.R_base
        w, dw, a = (
            v if self.frame == "base" else apply_transposed(R, v)
            for v in (
                self.base.angular_velocity,
                self.base.angular_acceleration,
                self.base.linear_acceleration,
            )
        )
        a = sub(a, self.seen(self.tree.gravity, FIXED_BASE))
        rates = self.label("omega", 0, 0), self.label("omega", 1, 0)
        if self.craig:
            start = StepVector((self.label("v", 1, 0),), a)
        else:
            start = StepVector((self.label("p", 2, 0), self.label("g", 0, 0)), a, "", "minus")
        if not self.moving_base:
            return StepGroup("Initial conditions", "", [start, StepVector(rates, w)])
        moving = [StepVector((label,), v) for label, v in zip(rates, (w, dw), strict=True)]
        if self.frame == "base":
            moving.append(StepVector((self.label("p", 1, 0),), self._of_base("pd0")))
        return StepGroup("Initial conditions", "", [start, *moving])

    def _forward(self, i: int) -> StepGroup:
        motion, k = self.motion, i + 1
        p, dots = ("v", 1) if self.craig else ("p", 2)
        rows = [(self.label("omega", 0, k), self.seen(motion.w[i], i))]
        if self.frame == "base":
            rows.append((self.label("p", 1, k), self.velocity(i)))
        rows.append((self.label("omega", 1, k), self.seen(motion.dw[i], i)))
        rows.append((self.label(p, dots, k), self.seen(motion.a[i], i)))
        if (centre := self.centre_acceleration(i)) is not None:
            rows.append((self.label(p, dots, k, "C", k), self.seen(centre, i)))
        if self.craig:
            rows += zip((self.label(letter, 0, k) for letter in "FN"), self.body_forces(i), strict=True)
        found = [self.quantity(label, v) for label, v in rows]
        title = "Outward iteration" if self.craig else "Forward recursion"
        return StepGroup(f"{title}: link {k} ({self.links[i].name})", "", [*found, *self._rotors(i)])

    def _rotors(self, i: int) -> Iterator[StepVector]:
        """ω̇_m of the motor of a joint, and of idlers all of whose joints are known here."""
        for rotor, value in zip(self.mechanism.rotors, self.motion.dw_m, strict=True):
            if rotor.part == "rotor" and rotor.joint == i:
                kind = "m"
            elif rotor.part == "idler" and rotor.row[-1][0] == i:
                kind = "i"
            else:
                continue
            carrier = 0 if rotor.carrier == FIXED_BASE else rotor.carrier + 1
            label = self.label("omega", 1, rotor.joint + 1, kind, carrier)
            yield self.quantity(label, self.seen(value, rotor.carrier))

    def _terminal(self) -> StepGroup:
        """f_{n+1}, μ_{n+1}: the tip force in the axes of the link that it acts on, at the tip."""
        last, moment = len(self.links) + 1, "n" if self.craig else "mu"
        labels = self.label("f", 0, last), self.label(moment, 0, last)
        if self.wrench is None:
            return StepGroup("Terminal conditions", "", [StepVector((label,), ZERO3) for label in labels])
        acting = list(wrenches_on_bodies(self.tree, self.motion.joints, self.wrench))
        if not acting:
            return StepGroup("Terminal conditions", "The tip is on the base: its force reaches no joint.", [])
        ((place, *forces),) = acting
        found = [StepVector((x,), self.seen(v, place.body)) for x, v in zip(labels, forces, strict=True)]
        axes = "base axes" if self.frame == "base" else f"the axes of link {place.body + 1}"
        text = f"Force and moment that the tip exerts on its surroundings, in {axes}."
        if any(x != 0 for x in place.p):
            arm = self.label("P", 0, last, "", place.body + 1) if self.craig else None
            arm = arm or self.label("r", 0, f"{place.body + 1},{last}", "", place.body + 1)
            found.insert(0, StepVector((arm,), self.seen(place.p, place.body)))
        return StepGroup("Terminal conditions", text, found)

    def _backward(self, i: int) -> StepGroup:
        motion, k = self.motion, i + 1
        f, mu = motion.f[i], motion.mu[i]
        if self.craig:  # about the origin of the frame, which a sliding joint moves
            mu = sub(mu, cross(motion.joints[i].r, f))
        rows = [(self.label("f", 0, k), f), (self.label("n" if self.craig else "mu", 0, k), mu)]
        found = [self.quantity(label, self.seen(v, i)) for label, v in rows]
        if not self.mechanism.rows:
            found.append(self.quantity(self._tau(i), (self.tau[i],)))
        title = "Inward iteration" if self.craig else "Backward recursion"
        return StepGroup(f"{title}: link {k} ({self.links[i].name})", "", found)

    def _tau(self, k: int) -> VectorName:
        return VectorName("tau", 0, k + 1)

    def check_craig(self) -> None:
        """Refuse frames off the axes of their joints: Craig's n_i is about the origin of frame i."""
        for link, body, joint in zip(self.links, self.tree.bodies, self.motion.joints, strict=False):
            if body.joint == "revolute" and any(x != 0 for x in cross(joint.z, joint.r)):
                raise ArmdynError(
                    f"notation 'craig': the frame of link {shown(link.name)} is not on the axis of its "
                    "joint, as modified DH has it; robot.in_dh('mdh') describes a chain so, and notation "
                    "'book' takes any frames"
                )

    # ---- what its symbols are ----------------------------------------------------------------------------

    def augmented(self, value: Callable[[Any], float]) -> dict[str, float]:
        """The numbers of [m1], [lCx1], [Ibzz1], …, [Im1], …, by those of the description."""
        found: dict[str, float] = {}
        for i, (body, names) in enumerate(zip(self.basis.exact.bodies, self.symbols, strict=True)):
            if names:
                entries = _symbol_values(Inertia.of([value(x) for x in body.inertia.entries]), names)
                found |= {f"[{name}{i + 1}]": x for name, x in zip(names, entries, strict=True)}
        parameters = zip(self.basis.parameter_names, self.basis.parameters, strict=True)
        further = [] if self.plain else self._further()
        return found | {f"[{name}]": value(x) for name, x in parameters if f"[{name}]" in further}

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


def _symbol_values(inertia: Inertia, names: Sequence[str]) -> list[float]:
    """The numbers of a body's symbols."""
    table = dict(zip(ENTRIES, inertia.entries, strict=True))
    if "m" in names:
        if inertia.mass == 0:
            raise ArmdynError("at: a link has no mass with these values, and so no centre of mass")
        table |= zip((f"lC{axis}" for axis in "xyz"), inertia.com, strict=True)
        table |= zip((f"Ib{key}" for key in TENSOR_KEYS), inertia.tensor_at_com, strict=True)
    return [float(table[name]) for name in names]


# ------------------------------------------------------------------------------------------------------------
# Numbers beside the symbols.


class StepNumbers:
    """The numbers of formulas at a state, and of the symbols in them."""

    def __init__(self, recursion: Recursion, at: At, polys: Sequence[Poly]) -> None:
        self.recursion, basis = recursion, recursion.basis
        self.given = given_numbers(basis, recursion.ring, _by_name(at))
        self.symbols: dict[str, Any] = {**basis.model.exact_values, **self.given}
        self.missing: set[str] = set()
        named = recursion.augmented(self._value)
        used = {name for poly in polys for name in poly.generators()}
        lacking = {f"{x}{i + 1}" for x in ("q", "qd", "qdd") for i in range(basis.n)} - self.given.keys()
        if any(isnan(named.get(name, 0.0)) for name in used):
            lacking |= self.missing
        self.given |= named
        check_values(basis, polys, {**dict.fromkeys(basis.loads, 1.0), **self.given}, lacking)
        if basis.loads:
            rigid = dynamics.rigid_torques(
                recursion.mechanism, *recursion.variables, recursion.wrench, recursion.base
            )
            self.given |= {name: abs(self(rigid[joint])) for name, joint in basis.loads.items()}

    def _value(self, x: Any) -> float:
        """Number of the description; not a number where symbols are missing."""
        exact = Expression.of(x)
        lacking = exact.symbols() - self.symbols.keys()
        self.missing |= lacking
        return nan if lacking else exact.value(self.symbols)

    def __call__(self, x: Any) -> float:
        poly = x if isinstance(x, Poly) else self.recursion.ring.zero + x
        return number(self.recursion.basis, poly, self.given)

    def passage(self, style: Style, polys: Iterable[Poly]) -> Passage:
        """The state, and the values of the symbols that enter."""
        basis = self.recursion.basis
        numbers = range(1, basis.n + 1)
        lines: list[Line] = []
        for name, letter in zip(("q", "qd", "qdd"), style.vectors, strict=True):
            entries = [spelled_number(style, self.given[f"{name}{i}"]) for i in numbers]
            lines.append((name if style.glyph is None else letter, [column(style, entries)]))
        used = {symbol for poly in polys for symbol in _symbols(poly)}
        for name, _ in basis.model.symbols:
            if name in used:
                value = self._value(Expression.symbol(name))
                lines.append((style.generator(name, basis), [spelled_number(style, value)]))
        return Passage("State", "", lines)


def _by_name(at: At) -> Mapping[str, Any]:
    if isinstance(at, Mapping):
        return at
    rows = plain(at)
    if not isinstance(rows, list | tuple) or len(rows) != 3:
        raise ArmdynError(
            f"at: found {shown(at)}; expected (q, qd, qdd), or a table with these and the values of further "
            "symbols, {'q': …, 'qd': …, 'qdd': …, 'm1': …}"
        )
    return dict(zip(("q", "qd", "qdd"), rows, strict=True))


def _symbols(poly: Poly) -> set[str]:
    """The symbols of the description in a polynomial."""
    used = {name.removeprefix("1/") for name in poly.generators()}
    atoms = [atom for atom in poly.ring.atoms if str(atom) in used]
    return {name for x in atoms for name in ({x.name} if x.argument is None else x.argument.symbols())}


def spelled_number(style: Style, x: float) -> str:
    """A number to six digits."""
    size = style.numeral(f"{abs(x):.6g}" if abs(x) > _NOTHING else "0")
    return style.sum([f"-{size}" if x < -_NOTHING else size])


def column(style: Style, entries: Sequence[str]) -> str:
    """A vector on one line."""
    return style.matrix([[x] for x in entries])


def sections(
    equations: ClosedForm,
    style: Style,
    base: bool = False,
    frame: Frame = "link",
    craig: bool = False,
    at: At | None = None,
) -> list[Passage]:
    """Forward recursion link by link, backward recursion link by link, and what the symbols are."""
    check_struts(equations.model, equations.basis.exact)
    recursion = Recursion(equations, base, frame, craig)
    if craig:
        recursion.check_craig()
    parts, zero = recursion.parts(), recursion.ring.zero
    polys = [zero + x for part in parts for quantity in part.quantities for x in quantity.entries]
    check_written(sum(map(len, polys)))
    values = None if at is None else StepNumbers(recursion, at, polys)
    writer = Writer(recursion, style, values)
    found = [Passage(x.title, x.text, [y for z in x.quantities for y in writer.lines(z)]) for x in parts]
    definitions = recursion.definitions()
    where = Passage("Where", loads(equations.basis, style), writer.where(definitions))
    where.lines += writer.bells(equations)
    found += [where] if where.lines else []
    if values is None:
        return found
    return [values.passage(writer.style, [*polys, *(right for _, right in definitions)]), *found]


class Writer:
    """Writes quantities in a style, with numbers behind them where there are values."""

    def __init__(self, recursion: Recursion, style: Style, values: StepNumbers | None) -> None:
        if recursion.moving_base:
            style = _with_base_letters(style, recursion.frame)
        self.recursion, self.values = recursion, values
        self.printer = Printer(recursion.basis, style)
        self.style = self.printer.style

    def lines(self, quantity: StepVector) -> list[Line]:
        """A torque; a vector on one line or, where its entries are long, each of them on its own."""
        style, left = self.style, quantity.left(self.style)
        polys = [self.recursion.ring.zero + x for x in quantity.entries]
        parts = [self.printer.poly_parts(x) or [style.zero] for x in polys]
        entries = [style.sum(x) for x in parts]
        most = (_SHORT_IN_TEXT if style.name == "text" else _SHORT) * style.width
        if len(entries) == 1:
            return [(Numbered(left, quantity.number), [*parts[0], *self._amount(polys[0])])]
        if max(map(style.measure, entries)) <= most:
            return [(Numbered(left, quantity.number), [column(style, entries), *self._amounts(polys)])]
        return [
            (Numbered(style.component(left, axis), number), [*terms, *self._amount(x)])
            for axis, number, terms, x in zip("xyz", ("", "", quantity.number), parts, polys, strict=True)
        ]

    def _amount(self, x: Poly) -> list[str]:
        """What a formula amounts to, if that is asked for and not said by itself."""
        if self.values is None or not x.generators():
            return []
        return [f"={spelled_number(self.style, self.values(x))}"]

    def _amounts(self, polys: Sequence[Poly]) -> list[str]:
        if self.values is None or not any(x.generators() for x in polys):
            return []
        return [f"={column(self.style, [spelled_number(self.style, self.values(x)) for x in polys])}"]

    def where(self, definitions: Iterable[tuple[Poly, Poly]]) -> list[Line]:
        """What the symbols of augmented links and named parts are."""
        found: list[Line] = []
        for left, right in definitions:
            name, value = self.printer.poly(left), self.printer.poly(right)
            if name.strip("[]") != value:
                found.append((name, [value, *self._amount(right)]))
        named = zip(self.printer.definitions.items(), self.printer.named, strict=True)
        return found + [(name, [*parts, *self._amount(x)]) for (name, parts), x in named]

    def bells(self, equations: ClosedForm) -> list[Line]:
        return [
            (name, [*terms, *self._amount(self.recursion.ring.gen(name))])
            for name, terms in bells(equations, self.style)
        ]


def _with_base_letters(style: Style, frame: Frame) -> Style:
    """The style, with the symbols of a moving base as the book has its vectors."""
    if style.glyph is None:
        return style
    spell, letters = style.glyph, {}
    for key, label in _base_letters(frame).items():
        for axis in "xyz":
            letters[symbol_glyph(f"{key}{axis}")] = Glyph(label.letter, (f"0{axis}",), _DOTS[label.dots])
    return replace(style, glyph=lambda glyph: spell(letters.get(glyph, glyph)))
