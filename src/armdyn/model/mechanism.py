"""Mechanism: a robot as the algorithms of `dynamics/` see it, over any scalar.

Bodies behind moving joints, rotors, friction, springs, joints that close chains, gravity. `lower` of
`model/robot_model.py` makes it from a RobotModel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from armdyn.model.errors import ModelError
from armdyn.model.friction import Map, Row, Surface, along, mapped
from armdyn.model.inertia import Inertia, tensor
from armdyn.model.vector import IDENTITY, ZERO3, Matrix, Scalar, Vector

FIXED_BASE = -1


@dataclass(frozen=True)
class Body:
    """A moving joint and the augmented link behind it. Frame of the body: that of its link."""

    parent: int  # index of the parent body, FIXED_BASE for the base
    joint: Literal["revolute", "prismatic"]
    R_before: Matrix  # parent frame -> joint frame
    p_before: Vector
    axis: Vector  # in the joint frame
    R_after: Matrix  # joint frame -> body frame
    p_after: Vector
    inertia: Inertia

    def map(self, geometry: Map, parameter: Map) -> Body:
        before, p_before = _matrix(geometry, self.R_before), _vector(geometry, self.p_before)
        axis = _vector(geometry, self.axis)
        after, p_after = _matrix(geometry, self.R_after), _vector(geometry, self.p_after)
        inertia = Inertia.of([parameter(x) for x in self.inertia.entries])
        return Body(self.parent, self.joint, before, p_before, axis, after, p_after, inertia)


@dataclass(frozen=True)
class Rotor:
    """A rotor as an addition to its augmented carrier: energy Im θ̇ (zᵀω) + ½ Im θ̇² (7.62), (7.67)."""

    joint: int  # the joint whose motor this is; idlers are counted as such
    carrier: int
    axis: Vector  # in the carrier's frame; zero in the reflected model
    inertia: Scalar
    row: Row  # θ_m = Σ k_ij q_j (7.22)
    part: Literal["rotor", "idler"] = "rotor"  # an idler: of a joint that is fixed, spun by others

    def map(self, geometry: Map, parameter: Map) -> Rotor:
        axis, inertia = _vector(geometry, self.axis), parameter(self.inertia)
        return Rotor(self.joint, self.carrier, axis, inertia, mapped(geometry, self.row), self.part)


@dataclass(frozen=True)
class Place:
    """A point fixed to a body, where a wrench acts."""

    body: int
    p: Vector  # in the body's frame

    def map(self, geometry: Map) -> Place:
        return Place(self.body, _vector(geometry, self.p))


@dataclass(frozen=True)
class Spring:
    """A spring over any scalar: along e = Σ k_j q_j + shift it has the torque stiffness·e − moment.

    Joint j bears k_j times it. Its energy is ½ stiffness e² − moment e: zero at e = 0, as that of gravity is
    at the base's origin.
    """

    joint: int  # the joint it belongs to
    row: Row  # over joints
    stiffness: Scalar
    moment: Scalar = 0  # stiffness · rest
    part: Literal["spring", "elastic"] = "spring"  # at a joint, or between a link and its motor
    shift: Scalar = 0  # where the joint really stands when the algorithms' q_j are zero

    def along(self, q: Sequence[Scalar]) -> Scalar:
        """e."""
        e = along(self.row, q)
        return e if type(self.shift) is int and self.shift == 0 else e + self.shift

    def map(self, geometry: Map, parameter: Map) -> Spring:
        return replace(
            self,
            row=mapped(geometry, self.row),
            stiffness=parameter(self.stiffness),
            moment=parameter(self.moment),
            shift=geometry(self.shift),
        )


@dataclass(frozen=True)
class Strut:
    """A spring of length l between two points, over any scalar. It pulls them together with
    stiffness·l − preload; preload = stiffness·rest − force. Its energy is ½ stiffness l² − preload l.
    """

    number: int  # which of the robot's springs between points
    tied: tuple[int, int]  # bodies
    points: tuple[Vector, Vector]  # in the frames of these bodies
    stiffness: Scalar
    preload: Scalar

    def map(self, geometry: Map, parameter: Map) -> Strut:
        a, b = (_vector(geometry, p) for p in self.points)
        return Strut(self.number, self.tied, (a, b), parameter(self.stiffness), parameter(self.preload))


@dataclass(frozen=True)
class Closing:
    """A closing joint over any scalar: frames on two bodies, and which of the six rows hold."""

    tied: tuple[int, int]
    R: tuple[Matrix, Matrix]
    p: tuple[Vector, Vector]
    kept: tuple[int, ...]
    weight: Scalar = 1  # of lengths beside angles, where rows are compared: 1/size

    def map(self, f: Map) -> Closing:
        def vector(v: Vector) -> Vector:
            return (f(v[0]), f(v[1]), f(v[2]))

        R_a, R_b = ((vector(R[0]), vector(R[1]), vector(R[2])) for R in self.R)
        return Closing(
            self.tied, (R_a, R_b), (vector(self.p[0]), vector(self.p[1])), self.kept, f(self.weight)
        )


@dataclass(frozen=True)
class Mechanism:
    """A robot over one kind of scalar."""

    bodies: tuple[Body, ...]
    rotors: tuple[Rotor, ...]
    friction: tuple[Surface, ...]  # the joints in their order, then motors that turn with several joints or
    # through a spring, then dampers of elastic joints; their rows are over positions
    gravity: Vector
    tip: int  # the body the tip frame is fixed to
    R_tip: Matrix  # tip frame in that body
    p_tip: Vector
    R_base: Matrix = IDENTITY  # base frame in the world
    p_base: Vector = ZERO3
    rows: tuple[Row, ...] = ()  # S of q = S y, a row for each joint; empty where joints are positions
    places: tuple[Place, ...] = ()  # where wrenches act, if not at the tip
    springs: tuple[Spring, ...] = ()
    struts: tuple[Strut, ...] = ()
    loops: tuple[Closing, ...] = ()
    free: tuple[int, ...] = ()  # with closed chains: which positions are coordinates; the others follow
    driven: tuple[int, ...] = ()  # with closed chains: which positions something drives

    @property
    def positions(self) -> int:
        """Number of entries of q: one for each coordinate; in a closed chain also the joints that follow."""
        return 1 + max(k for row in self.rows for k, _ in row) if self.rows else len(self.bodies)

    @property
    def n(self) -> int:
        """The number of coordinates, which q̇, q̈ and τ have."""
        return len(self.free) if self.loops else self.positions

    @property
    def joints(self) -> int:
        """The number of links' joints: of bodies without those that stand for motors of elastic joints."""
        return len(self.bodies) - sum(spring.part == "elastic" for spring in self.springs)

    @property
    def joint_friction(self) -> tuple[Surface, ...]:
        """The friction of joints, one each."""
        return self.friction[: len(self.bodies)]

    @property
    def loaded(self) -> tuple[Place, ...]:
        """Places where wrenches act, six numbers each, one after the other."""
        return self.places or (Place(self.tip, self.p_tip),)

    @property
    def coupled_friction(self) -> tuple[Surface, ...]:
        """The friction of motors that turn with several joints or through a spring, of idlers, of dampers."""
        return self.friction[len(self.bodies) :]

    def with_friction_by_coordinate(self) -> Mechanism:
        """The mechanism with one surface for each position, then those that move with several.

        A joint that follows one other has its friction at that one; a joint that nothing moves has none. The
        parameters are no longer those of joints.
        """
        if not self.rows:
            return self
        at = [Surface(i, ((i, 1),)) for i in range(self.positions)]
        several = []
        for surface in self.friction:
            if not surface.row:
                continue
            if len(surface.row) == 1:
                own = surface.at_coordinate()
                at[own.joint] = at[own.joint] + own
            else:
                several.append(surface)
        return replace(self, friction=(*at, *several))

    def map(self, geometry: Map, parameter: Map | None = None) -> Mechanism:
        """The mechanism with every scalar x replaced by f(x), always in the same order.

        `geometry` acts on frames, axes, transmission rows and gravity, `parameter` (the same by default) on
        the dynamic parameters: inertias of bodies and rotors, friction. Indices and kinds of joints stay.
        """
        parameter = parameter or geometry
        return Mechanism(
            bodies=tuple(body.map(geometry, parameter) for body in self.bodies),
            rotors=tuple(rotor.map(geometry, parameter) for rotor in self.rotors),
            friction=tuple(surface.map(geometry, parameter) for surface in self.friction),
            gravity=_vector(geometry, self.gravity),
            tip=self.tip,
            R_tip=_matrix(geometry, self.R_tip),
            p_tip=_vector(geometry, self.p_tip),
            R_base=_matrix(geometry, self.R_base),
            p_base=_vector(geometry, self.p_base),
            rows=tuple(mapped(geometry, row) for row in self.rows),
            places=tuple(place.map(geometry) for place in self.places),
            springs=tuple(spring.map(geometry, parameter) for spring in self.springs),
            struts=tuple(strut.map(geometry, parameter) for strut in self.struts),
            loops=tuple(loop.map(geometry) for loop in self.loops),
            free=self.free,
            driven=self.driven,
        )

    def without_loops(self) -> Mechanism:
        """The tree of bodies, closed chains cut open: every position is a coordinate."""
        return replace(self, loops=(), free=(), driven=())

    def loaded_alone(self, wrench: bool) -> Mechanism:
        """The mechanism without its tip, which motion does not need; `wrench` keeps places of wrenches."""
        return replace(
            self, tip=FIXED_BASE, R_tip=IDENTITY, p_tip=ZERO3, places=self.loaded if wrench else ()
        )

    def carrying(self, payload: Sequence[Scalar]) -> Mechanism:
        """The mechanism with a body fixed to the tip frame, by its ten numbers in that frame.

        They are its mass, its centre of mass and the tensor about that, xx xy xz yy yz zz.
        """
        if self.tip == FIXED_BASE:
            raise ModelError("payload: the tip is on the base, which does not move; with_tip names a link")
        mass, x, y, z, *entries = payload
        body = Inertia.at_com(mass, (x, y, z), tensor(entries)).placed(self.R_tip, self.p_tip)
        bodies = list(self.bodies)
        bodies[self.tip] = replace(bodies[self.tip], inertia=bodies[self.tip].inertia + body)
        return replace(self, bodies=tuple(bodies))

    def scalars(self, parameters: bool = True) -> list[Scalar]:
        """Every scalar in the order of `map`; without parameters, those of the geometry only."""
        found: list[Scalar] = []

        def note(x: Scalar) -> Scalar:
            found.append(x)
            return x

        self.map(note, note if parameters else unchanged)
        return found

    def opened(self) -> tuple[Mechanism, list[Scalar]]:
        """The structure, with None in the place of numbers, and these numbers in the order of `map`.

        Exact zeros save operations, as ±1 do in rotations; a mass that happens to be 1 is any mass.
        """
        numbers: list[Scalar] = []

        def kept(x: Scalar, structure: tuple[int, ...]) -> Scalar:
            if x in structure:  # numbers may be constant expressions
                return int(float(x))
            numbers.append(x)
            return None

        return self.map(lambda x: kept(x, (0, 1, -1)), lambda x: kept(x, (0,))), numbers

    def filled(self, numbers: Iterable[Scalar]) -> Mechanism:
        """The mechanism of a structure and numbers."""
        left = iter(numbers)
        return self.map(lambda x: next(left) if x is None else x)


def unchanged(x: Scalar) -> Scalar:
    return x


def _vector(f: Map, v: Vector) -> Vector:
    return (f(v[0]), f(v[1]), f(v[2]))


def _matrix(f: Map, M: Matrix) -> Matrix:
    return (_vector(f, M[0]), _vector(f, M[1]), _vector(f, M[2]))
