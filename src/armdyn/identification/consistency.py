"""`consistent`: least squares over parameters that a robot can have, then nearest to what was known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from armdyn.identification.errors import (
    IdentificationError,
    NothingPossibleError,
    check,
    on_one_thread,
)
from armdyn.identification.regression import column_scales
from armdyn.model import Mechanism, RobotModel
from armdyn.model.friction import NO_FRICTION, TERMS, FrictionCoefficients, Sliding, Surface
from armdyn.model.inertia import ENTRIES
from armdyn.model.parameters import Layout, Parameter, ParameterKind, layout, symbol
from armdyn.model.parts import Link
from armdyn.model.robot_model import is_coupled, joint_friction
from armdyn.remarks import Remark, notes_of
from armdyn.robot import Robot

# ------------------------------------------------------------------------------------------------------------
# Pseudo-inertias: the 4×4 matrix of a body that is positive definite exactly where the body can exist.
#
# P = [[Σ, m c], [m cᵀ, m]] with Σ = ½ tr(I) 1 − I = ∫ r rᵀ dm about the frame's origin (Wensing, Kim,
# Slotine, "Linear matrix inequalities for physically consistent inertial parameter identification", 2018). P
# is linear in the ten numbers of a body, and congruence P → T P Tᵀ with T = [[R, p], [0, 1]] places it in
# another frame.
#
# A symmetric matrix is a vector by `stacked`: its upper triangle by columns, off-diagonal entries times √2,
# so that lengths are Frobenius norms. This is the order of Clarabel's cone.


_ROWS, _COLUMNS = np.array([(i, j) for j in range(4) for i in range(j + 1)]).T
_WEIGHTS = np.where(_ROWS == _COLUMNS, 1.0, np.sqrt(2.0))
SIZE = 10  # numbers of a body, and entries of a stacked matrix
IDENTITY = np.eye(4)[_ROWS, _COLUMNS]


def stacked(P: np.ndarray) -> np.ndarray:
    """Symmetric matrices (..., 4, 4) as vectors (..., 10)."""
    return np.asarray(P[..., _ROWS, _COLUMNS] * _WEIGHTS)


def unstacked(x: np.ndarray) -> np.ndarray:
    """Vectors (..., 10) as symmetric matrices (..., 4, 4)."""
    P = np.empty((*x.shape[:-1], 4, 4))
    P[..., _ROWS, _COLUMNS] = P[..., _COLUMNS, _ROWS] = x / _WEIGHTS
    return P


def pseudo_inertia(body: np.ndarray) -> np.ndarray:
    """(..., 4, 4) of bodies (..., 10): m, mx, my, mz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz about the origin."""
    m, x, y, z, xx, xy, xz, yy, yz, zz = np.moveaxis(np.asarray(body, float), -1, 0)
    half = (xx + yy + zz) / 2
    rows = (
        (half - xx, -xy, -xz, x),
        (-xy, half - yy, -yz, y),
        (-xz, -yz, half - zz, z),
        (x, y, z, m),
    )
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def body_of(P: np.ndarray) -> np.ndarray:
    """Bodies (..., 10) of pseudo-inertias (..., 4, 4)."""
    S = P[..., :3, :3]
    inertia = np.trace(S, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - S
    tensor = inertia[..., [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
    return np.concatenate([P[..., 3, 3:], P[..., :3, 3], tensor], axis=-1)


def congruence(L: np.ndarray) -> np.ndarray:
    """(10, 10): the stacked L X Lᵀ from the stacked X."""
    return stacked(L @ unstacked(np.eye(SIZE)) @ L.T).T


BODIES = body_of(unstacked(np.eye(SIZE))).T  # (10, 10): the ten numbers of a body from its stacked P


def about_centre(P: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre of mass and Σ about it; needs a mass that is not zero."""
    mass = float(P[3, 3])
    centre = P[:3, 3] / mass
    return mass, centre, P[:3, :3] - mass * np.outer(centre, centre)


def at_centre(mass: float, centre: np.ndarray, S: np.ndarray) -> np.ndarray:
    """The pseudo-inertia of a mass, its centre and Σ about that."""
    P = np.zeros((4, 4))
    P[:3, :3] = S + mass * np.outer(centre, centre)
    P[:3, 3] = P[3, :3] = mass * centre
    P[3, 3] = mass
    return P


def is_possible(P: np.ndarray, tolerance: float) -> bool:
    """Whether a body can exist: its matrix, of any size, has no eigenvalue below zero but for rounding."""
    size = np.sqrt(np.maximum(np.abs(np.diag(P)), 1e-300))
    return bool(np.linalg.eigvalsh(P / np.outer(size, size))[0] >= -tolerance)


# ------------------------------------------------------------------------------------------------------------
# Friction that brakes, rotors with inertia and springs that pull back, as linear inequalities.
#
# Stiffness, friction that must brake (`Term.brakes`), and Coulomb friction in both directions, are not
# negative. Terms such as Stribeck's and the cubic one may be, as long as the whole friction drives the joint
# at no speed up to the greatest measured. Offsets are free.


SPEEDS = 24  # speeds per direction at which friction may not drive
GREATEST_LOAD = 0.99  # friction by load stays below the load


def braking_rows(robot: Robot, speeds: np.ndarray | None) -> np.ndarray:
    """C (rows, p + 1) with C [π, 1] ≥ 0; `speeds` (n,) are the greatest of the coordinates."""
    wanted = layout(robot.model)
    braking = [name for name, term in TERMS.items() if term.brakes and term.grows]
    index = {parameter: i for i, parameter in enumerate(wanted)}
    found: list[np.ndarray] = []

    def row(entries: dict[Parameter, float], constant: float = 0.0) -> None:
        values = np.zeros(len(wanted) + 1)
        values[-1] = constant
        for parameter, x in entries.items():
            values[index[parameter]] = x
        found.append(values)

    for parameter in wanted:
        entry = parameter.kind.entry
        if not parameter.kind.is_linear:
            row({parameter: 1.0})
            row({parameter: -1.0}, GREATEST_LOAD)
        elif entry in ("stiffness", "inertia", *braking):
            row({parameter: 1.0})
    for part, surface in _surfaces(robot):
        terms = _terms(wanted, part, surface.joint)
        level = [name for name in terms if TERMS[name].jumps and not TERMS[name].is_paced]
        for s in (1, -1) if any(TERMS[name].is_even for name in level) else (1,):
            row({terms[name]: float(s * TERMS[name].of(Sliding(0, s))) for name in level})
        free = [name for name in terms if TERMS[name].is_curved and not TERMS[name].brakes]
        growing = [name for name in free if TERMS[name].grows]
        if speeds is None and growing:  # at any speed: the highest power decides
            row({terms[max(growing, key=lambda name: TERMS[name].power)]: 1.0})
        if free:
            for entries in _at_speeds(surface, terms, speeds):
                row(entries)
    return np.array(found).reshape(-1, len(wanted) + 1)


def _surfaces(robot: Robot) -> Iterator[tuple[str, Surface]]:
    mechanism = robot.mechanism
    yield from (("joint", surface) for surface in mechanism.joint_friction)
    for surface in mechanism.coupled_friction:
        yield "idler" if surface.part == "idler" else "motor", surface


def _terms(wanted: Layout, part: str, joint: int) -> dict[str, Parameter]:
    """The friction of a surface that is in the vector, by term; without load friction."""

    def belongs(kind: ParameterKind) -> bool:
        return kind.part == part and kind.entry in TERMS and kind.is_linear

    return {p.kind.entry: p for p in wanted if p.joint == joint and belongs(p.kind)}


def _at_speeds(
    surface: Surface, terms: dict[str, Parameter], speeds: np.ndarray | None
) -> Iterator[dict[Parameter, float]]:
    """Braking at speeds in both directions; where no greatest speed is known, at those of any size."""
    greatest = np.inf if speeds is None else sum(abs(float(k)) * speeds[i] for i, k in surface.row)
    if greatest == 0:
        grid = np.array([1e-9])
    elif np.isfinite(greatest):
        grid = greatest * np.linspace(0.0, 1.0, SPEEDS + 1) ** 2  # dense near rest, where Stribeck's acts
        grid[0] = 1e-9 * greatest
    else:
        grid = np.geomspace(1e-6, 1e6, 4 * SPEEDS + 1)
    for direction in (1.0, -1.0):
        way = None if surface.is_rounded else direction  # the level at rest counts where there is one
        for speed in grid:
            torques = {
                p: direction * TERMS[name].of(surface.sliding(direction * speed, way))
                for name, p in terms.items()
                if not TERMS[name].is_constant
            }
            size = max(1.0, *(abs(x) for x in torques.values()))
            yield {p: float(x) / size for p, x in torques.items()}


# ------------------------------------------------------------------------------------------------------------
# Plausible bodies from geometry alone, for links whose description has no mass.
#
# A link is taken as solid cylinders from its own joint to each joint that it carries (and to the tip), all
# with one radius and one density. The two numbers below are ours. They give an arm of 1 m reach about 22
# kg/m, as industrial arms have (a UR10: 29 kg and 1.3 m; a Panda: 18 kg and 0.86 m, by their data sheets).


RADIUS = 0.08  # of the sum of all lengths between joints
DENSITY = 1100.0  # kg/m³: metal, motors and air
SMALLEST = 0.01  # m: a radius for robots without any length


def geometric_bodies(robot: Robot) -> np.ndarray:
    """Pseudo-inertias (joints, 4, 4) about the link frames' origins."""
    mechanism = robot.mechanism
    ends = [_ends(mechanism, j) for j in range(len(mechanism.bodies))]
    reach = sum(max((float(np.linalg.norm(b - a)) for b in far), default=0.0) for a, far in ends)
    radius = max(RADIUS * reach, SMALLEST)
    return np.array([_link(a, far, radius) for a, far in ends])


def _ends(mechanism: Mechanism, j: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Where a link's own joint is, and where the joints on it and the tip are, in the link's frame."""
    body = mechanism.bodies[j]
    R, p = _array(body.R_after), _array(body.p_after)
    far = [_array(child.p_before) for child in mechanism.bodies if child.parent == j]
    if mechanism.tip == j:
        far.append(_array(mechanism.p_tip))
    return -R.T @ p, far


def _link(start: np.ndarray, far: list[np.ndarray], radius: float) -> np.ndarray:
    return np.asarray(sum(_cylinder(start, end, radius) for end in far or [start]))


def _cylinder(start: np.ndarray, end: np.ndarray, radius: float) -> np.ndarray:
    """A solid cylinder between two points; between near ones it is as long as wide, in all directions."""
    along = end - start
    length = float(np.linalg.norm(along))
    mass = DENSITY * np.pi * radius**2 * max(length, 2 * radius)
    across = radius**2 / 4
    if length < 2 * radius:
        return at_centre(mass, (start + end) / 2, mass * across * np.eye(3))
    axis = np.outer(along, along) / length**2
    return at_centre(mass, (start + end) / 2, mass * (across * (np.eye(3) - axis) + length**2 / 12 * axis))


def _array(x: object) -> np.ndarray:
    return np.array(x, float)


# ------------------------------------------------------------------------------------------------------------
# Links without the motors they carry and without the links fixed to them, as functions of the parameters.
#
# The parameter vector has augmented links. `Robot.with_parameters` keeps the motors and the fixed links of
# the description and gives the rest to the moving links. That rest is what has to be possible:
#
# own = augmented − fixed links − motors with their rotors locked.
#
# Of a rotor, exact rotors have Im z zᵀ in the tensor of its carrier, so the own body depends on Im, too.


@dataclass(frozen=True)
class OwnBodies:
    """own (joints, 10) = parameters[places] − fixed − Σ Im z zᵀ."""

    places: np.ndarray  # (joints, 10): where in the vector a body's numbers are
    fixed: np.ndarray  # (joints, 10): fixed links, and motors but for Im
    rotors: np.ndarray  # (joints, 10, r): what the inertias of r rotors add to their carriers
    rotor_places: np.ndarray  # (r,): where in the vector those inertias are

    @staticmethod
    def of(robot: Robot) -> OwnBodies:
        model, mechanism = robot.model, robot.mechanism
        index = {parameter: i for i, parameter in enumerate(layout(model))}
        joints = range(len(model.moving))
        places = np.array([[index[Parameter(entry, j)] for entry in ENTRIES] for j in joints])
        rotors = np.zeros((len(joints), SIZE, len(mechanism.rotors)))
        for k, rotor in enumerate(mechanism.rotors):
            if rotor.carrier >= 0:
                z = np.array([float(x) for x in rotor.axis])
                rotors[rotor.carrier, 4:, k] = np.outer(z, z)[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
        inertias_of = [Parameter(symbol(rotor.part, "inertia"), rotor.joint) for rotor in mechanism.rotors]
        rotor_places = np.array([index[parameter] for parameter in inertias_of], int)
        own = np.array([[model.number(x) for x in link.inertia.entries] for link in model.moving])
        inertias = robot.parameters[rotor_places]
        return OwnBodies(places, robot.parameters[places] - own - rotors @ inertias, rotors, rotor_places)

    def __call__(self, parameters: np.ndarray) -> np.ndarray:
        """The links' own bodies (joints, 10)."""
        rotors = self.rotors @ parameters[self.rotor_places]
        return np.asarray(parameters[self.places] - self.fixed - rotors)


def impossible_links(robot: Robot) -> tuple[str, ...]:
    """The moving links whose own body cannot exist: mass, a principal moment or the triangle inequality."""
    bodies = zip(robot.model.moving, OwnBodies.of(robot)(robot.parameters), strict=True)
    return tuple(link.name for link, body in bodies if not is_possible(pseudo_inertia(body), 1e-9))


# ------------------------------------------------------------------------------------------------------------
# What was known before: a parameter vector, and for each link a body that can exist, near to it.


THIN = 1e-3  # the metric sees no body thinner than √THIN of its size
IMPOSSIBLE = 1e-6  # of Σ's size: less is the rounding of printed numbers
MASSLESS = 1e-9  # of the arm's greatest mass


@dataclass(frozen=True)
class Prior:
    """A vector, and each link's own body as P = L X Lᵀ: L is what sizes are measured with, X near 1."""

    parameters: np.ndarray  # (p,)
    L: np.ndarray  # (joints, 4, 4)
    X: np.ndarray  # (joints, 4, 4), positive semidefinite
    notes: tuple[str, ...]


def prior_of(robot: Robot, prior: Any, own: OwnBodies, described: np.ndarray) -> Prior:
    """The prior that a caller names, with links that cannot exist replaced by the nearest that can."""
    values = _vector(robot, prior, described)
    geometric = geometric_bodies(robot)
    bodies = pseudo_inertia(own(values))
    only = isinstance(prior, str) and prior == "geometric"
    heaviest = max(float(bodies[:, 3, 3].max()), 0.0)
    notes: list[str] = []
    L, X = np.empty_like(bodies), np.empty_like(bodies)
    for j, link in enumerate(robot.model.moving):
        P = geometric[j] if only else _possible_body(bodies[j], heaviest, link.name, geometric[j], notes)
        L[j], X[j] = _metric(P)
    return Prior(values, L, X, tuple(notes))


def _vector(robot: Robot, prior: Any, described: np.ndarray) -> np.ndarray:
    if prior is None or isinstance(prior, str):
        if prior is not None:
            check.one_of("prior", prior, "nominal", "geometric")
        return described
    if isinstance(prior, Robot):
        if len(prior.joints) != len(robot.joints):
            found = f"found {prior.name} with {len(prior.joints)}"
            raise IdentificationError(f"prior: expected a robot with {len(robot.joints)} joints, {found}")
        known = dict(zip(prior.parameter_names, prior.parameters, strict=True))
        return np.array([known.get(name, 0.0) for name in robot.parameter_names])
    values = check.numbers("prior", prior)
    if values.shape != described.shape:
        expected = f"({len(described)},) in the order of parameter_names"
        raise IdentificationError(
            f'prior: expected "nominal", "geometric", a Robot or {expected}, found {values.shape}'
        )
    return values


def _possible_body(
    P: np.ndarray, heaviest: float, name: str, geometric: np.ndarray, notes: list[str]
) -> np.ndarray:
    """The nearest possible body with the same mass and centre of mass; without a mass, one from geometry."""
    if P[3, 3] <= MASSLESS * heaviest:
        notes.append(
            f"link {name!r}: the prior has mass {P[3, 3]:.6g} kg; a solid of the link's geometry is used"
        )
        return geometric
    mass, centre, S = about_centre(P)
    values, axes = np.linalg.eigh(S)
    size = float(np.abs(values).max())
    if values[0] >= 0:
        return P
    if values[0] < -IMPOSSIBLE * size:
        notes.append(
            f"link {name!r}: the prior's tensor breaks the triangle inequality; the nearest possible body "
            "of that mass and centre of mass is used"
        )
    if values[-1] <= 0:  # no direction is possible: Σ of a solid, as far as a mass of this size goes
        _, _, plausible = about_centre(geometric)
        return at_centre(mass, centre, plausible / geometric[3, 3] * mass)
    return at_centre(mass, centre, (axes * np.maximum(values, 0.0)) @ axes.T)


def _metric(P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """L and X of a possible body. Lᵀ L is P but for directions in which it is thin, or a point."""
    mass, centre, S = about_centre(P)
    values, axes = np.linalg.eigh(S)
    values = np.maximum(values, 0.0)
    arm = max(float(values.max()) / mass, 1e-2 * float(centre @ centre), 1e-8)  # squared
    wide = np.maximum(values, THIN * mass * arm)
    L = np.zeros((4, 4))
    L[:3, :3] = axes * np.sqrt(wide)
    L[:3, 3] = centre * np.sqrt(mass)
    L[3, 3] = np.sqrt(mass)
    return L, np.diag([*(values / wide), 1.0])


# ------------------------------------------------------------------------------------------------------------
# Coordinates in which all parameters have size one, and what is allowed in them.
#
# π = origin + G ξ. The first ten of ξ for each joint are its link's own body X, stacked, where P = L X Lᵀ
# and L is from the prior: so X of the prior is 1, or near it, and lengths of ξ are those of the metric ‖L⁻¹
# (P − P₀) L⁻ᵀ‖, the constant pullback of the affine-invariant metric of pseudo-inertias (Lee, Park, "A
# geometric algorithm for robust multibody inertial parameter identification", 2018). Then follow rotors,
# friction and offsets over their sizes.


FRICTION = 0.03  # the size of unknown friction: this part of the torque
LIGHT_ROTOR = 1e-3  # an unknown rotor's size, reflected to its joint: this part of its link's inertia


@dataclass(frozen=True)
class Space:
    """The map, the prior in it, and linear inequalities C ξ ≥ c; X ≥ margin · 1 is left to the solver."""

    origin: np.ndarray  # (p,)
    G: np.ndarray  # (p, d)
    prior: np.ndarray  # (d,)
    C: np.ndarray  # (rows, d)
    c: np.ndarray  # (rows,)
    names: tuple[str, ...]  # (rows,): what each inequality asks for
    bodies: int

    @staticmethod
    def of(
        robot: Robot, own: OwnBodies, prior: Prior, R: np.ndarray, z: np.ndarray, speeds: np.ndarray | None
    ) -> Space:
        p, bodies = len(prior.parameters), len(own.places)
        others = _others(robot, own, p)
        sizes = _sizes(robot, own, prior, R, z)[others]
        origin, G = np.zeros(p), np.zeros((p, SIZE * bodies + len(others)))
        origin[own.places] = own.fixed
        for j, places in enumerate(own.places):
            G[places, SIZE * j : SIZE * (j + 1)] = BODIES @ congruence(prior.L[j])
        column = {int(place): SIZE * bodies + k for k, place in enumerate(others)}
        for place, k in column.items():
            G[place, k] = sizes[k - SIZE * bodies]
        for r, place in enumerate(own.rotor_places):
            G[own.places, column[int(place)]] += own.rotors[:, :, r] * G[place, column[int(place)]]
        rows = braking_rows(robot, speeds)
        moved = np.abs(rows[:, :-1] @ G).max(axis=1, initial=0.0) > 0
        rows = rows[moved]
        C, c = rows[:, :-1] @ G, -(rows[:, -1] + rows[:, :-1] @ origin)
        scale = np.abs(C).max(axis=1, initial=0.0)
        known = np.concatenate([stacked(prior.X).ravel(), prior.parameters[others] / sizes])
        return Space(origin, G, known, C / scale[:, None], c / scale, _row_names(robot, rows), bodies)

    def parameters(self, x: np.ndarray) -> np.ndarray:
        """π of ξ."""
        return np.asarray(self.origin + self.G @ x)

    def bodies_of(self, x: np.ndarray) -> np.ndarray:
        """X of the links, (joints, 4, 4)."""
        return unstacked(x[: SIZE * self.bodies].reshape(self.bodies, SIZE))

    def least(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The least eigenvalue of each X, and C ξ − c."""
        return np.linalg.eigvalsh(self.bodies_of(x))[:, 0], self.C @ x - self.c

    def is_inside(self, x: np.ndarray, margin: float, slack: float = 0.0) -> bool:
        values, rows = self.least(x)
        return bool(values.min(initial=np.inf) >= margin and rows.min(initial=np.inf) >= -slack)


def _row_names(robot: Robot, rows: np.ndarray) -> tuple[str, ...]:
    """ "Im4 ≥ 0"; of a row of several parameters: "Fv4, Fs4 and Fst4 brake"."""
    found = []
    for row in rows[:, :-1]:
        *names, last = (robot.parameter_names[i] for i in np.flatnonzero(row))
        found.append(f"{', '.join(names)} and {last} brake" if names else f"{last} ≥ 0")
    return tuple(found)


def _others(robot: Robot, own: OwnBodies, p: int) -> np.ndarray:
    """Where in the vector rotors, friction and offsets are; of a joint without a rotor there is no Im."""
    rotors = {j for j, name in enumerate(robot.parameter_names) if name.startswith("Im")}
    absent = rotors - {int(j) for j in own.rotor_places}
    return np.array(sorted(set(range(p)) - {int(j) for j in own.places.ravel()} - absent), int)


def _sizes(robot: Robot, own: OwnBodies, prior: Prior, R: np.ndarray, z: np.ndarray) -> np.ndarray:
    """A size for each parameter: its prior, or what explains part of the torque; of a rotor, by its link."""
    heard = np.linalg.norm(R, axis=0)
    loud = FRICTION * float(np.linalg.norm(z)) or 1.0
    sizes = np.where(heard > 0, loud / np.where(heard > 0, heard, 1.0), 1.0)
    sizes = np.maximum(sizes, np.abs(prior.parameters))
    for rotor, place in zip(robot.mechanism.rotors, own.rotor_places, strict=True):
        gear = max((abs(float(k)) for _, k in rotor.row), default=1.0)
        link = rotor.joint if rotor.part == "rotor" else min(rotor.row[-1][0], own.places.shape[0] - 1)
        inertia = float(np.square(prior.L[link]).sum())
        sizes[place] = max(abs(prior.parameters[place]), LIGHT_ROTOR * inertia / gear**2)
    return np.asarray(sizes)


# ------------------------------------------------------------------------------------------------------------
# Quadratic objectives over bodies that can exist, solved by Clarabel, an interior-point method.
#
# Clarabel is called directly: its cones are those of `Space`, so that no modelling layer is needed and an
# arm takes milliseconds.


DECIDED = 1e-9  # an inequality that what is free changes by less is not asked again
_NEEDED = "bodies that can exist are found by Clarabel, which is not here: pip install clarabel"
_NONE = "the solver Clarabel found no bodies that can exist"
# The callers look an answer over: one that the solver could not improve is as good as its distance says.
_FOUND = ("Solved", "AlmostSolved", "InsufficientProgress", "NumericalError", "MaxIterations")


def clarabel() -> ModuleType:
    """The solver, imported when it is needed."""
    try:
        import clarabel as found
    except ImportError:
        raise NothingPossibleError(_NEEDED) from None
    return found  # type: ignore[no-any-return]


class WeightedRows(NamedTuple):
    """Least squares Σ weights (matrix ξ − values)²."""

    matrix: np.ndarray  # (r, d)
    values: np.ndarray  # (r,)
    weights: np.ndarray  # (r,)


class Answer(NamedTuple):
    """ξ, and the multipliers of what holds it: how hard each body and each inequality pushes."""

    x: np.ndarray  # (d,)
    bodies: np.ndarray  # (joints, 4, 4) of X ≥ margin · 1
    rows: np.ndarray  # (rows,) of C ξ ≥ c


def nearest(
    space: Space,
    target: np.ndarray,
    margin: float,
    *,
    free: np.ndarray | None = None,
    start: np.ndarray | None = None,
    rows: WeightedRows | None = None,
    weight: float = 1.0,
    slack: float = 0.0,
) -> Answer:
    """ξ in the space that minimises the squares of `rows` and weight ‖ξ − target‖².

    X ≥ margin · 1 for each body, C ξ ≥ c − slack. With `free` N, orthonormal, ξ is start + N y.
    """
    d = len(target)
    N, x0 = (np.eye(d), np.zeros(d)) if free is None or start is None else (free, start)
    y = N.shape[1]
    if y == 0:
        return Answer(x0, np.zeros((space.bodies, 4, 4)), np.zeros(len(space.c)))
    bodies, C = SIZE * space.bodies, space.C @ N
    open_ = np.abs(C).max(axis=1, initial=0.0) > DECIDED
    A = -np.concatenate([N[:bodies], C[open_]])
    b = np.concatenate(
        [x0[:bodies] - margin * np.tile(IDENTITY, space.bodies), (space.C @ x0 - space.c + slack)[open_]]
    )
    api = clarabel()
    cones = [api.PSDTriangleConeT(4)] * space.bodies + [api.NonnegativeConeT(int(open_.sum()))]
    P, q = np.full(y, weight), -weight * (N.T @ (target - x0))
    if rows is not None:  # residuals are variables: the matrix is not squared
        r = len(rows.values)
        A = np.block([[rows.matrix @ N, -np.eye(r)], [A, np.zeros((len(A), r))]])
        b = np.concatenate([rows.values - rows.matrix @ x0, b])
        P, q = np.concatenate([P, rows.weights]), np.concatenate([q, np.zeros(r)])
        cones = [api.ZeroConeT(r), *cones]
    solution, multipliers = _solved(api, sparse.diags(P, format="csc"), q, sparse.csc_matrix(A), b, cones)
    held = multipliers[len(b) - bodies - int(open_.sum()) :]
    pushing = np.zeros(len(space.c))
    pushing[open_] = held[bodies:]
    return Answer(x0 + N @ solution[:y], unstacked(held[:bodies].reshape(-1, SIZE)), pushing)


def _solved(
    api: ModuleType, P: object, q: np.ndarray, A: object, b: np.ndarray, cones: list[object]
) -> tuple[np.ndarray, np.ndarray]:
    settings = api.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    found = api.DefaultSolver(P, q, A, b, cones, settings).solve()
    if str(found.status) not in _FOUND or not np.isfinite(found.x).all():
        raise NothingPossibleError(f"{_NONE}: {found.status}")
    return np.array(found.x), np.array(found.z)


# ------------------------------------------------------------------------------------------------------------
# `consistent`: least squares over parameters that a robot can have, then nearest to what was known.


MARGIN = 1e-5  # a link's pseudo-inertia is at least this part of the prior's
GIVE = 0.1  # of what the conditions cost
_MOST = 0.01  # of all the cost: half of it of the error
RANK = 1e-8  # of the greatest singular value: what is smaller is not determined
_UNIT = 1e-4  # of what no parameters explain: the unit of the cost in stage one
_EXACT = 1e-14  # the same where parameters explain all, of what they explain
_PULL = 1e-3  # toward the point before, in each step of stage one, per size of the prior
_STEPS = 6
_WEAKEST, _STRONGEST, _HALVINGS = 1e-5, 1e5, 10  # pulls to the prior that are tried
_EXPLAINED = 1e-12  # of ‖z‖²: a cost that counts as none
_ROUNDING = 1e-9  # of an inequality
_ULPS = 16 * np.finfo(float).eps  # of the terms of an inequality: so far inside it ends
_SLACK = 1e-7  # of an inequality, to be taken back
_OPEN = 1e-3  # of the inequalities' greatest change by what the data leave open: less does not take it back
_SETTLED = 1e-5  # of the cost
_COUNTS = 0.01  # of the price: what costs less is not named
_MASS = 0.8  # a push that has this share in the mass is about the mass alone
_ROOM = 10  # stage one keeps this multiple of the margin, so that stage two has room


@dataclass(frozen=True)
class Consistent:
    """Parameters that bodies, rotors and friction can have.

    `cost` is what was made least, ‖R π − z‖² and the damping, for `parameters`; `unconstrained_cost` is its
    least value for any numbers. `causes` are the conditions that make the difference, each with its share in
    it: "Im4 ≥ 0", "tensor of link 3". `active` names the links among them: the data would make their bodies
    impossible. `rank` counts what R determines: the base parameters. `prior` is the prior used, every link of
    it possible. `remarks` say what was replaced or adjusted.
    """

    robot: Robot = field(repr=False)  # with these parameters
    parameters: np.ndarray  # (p,), in the order of robot.parameter_names
    cost: float
    unconstrained_cost: float
    causes: tuple[tuple[str, float], ...]  # the greatest first
    rank: int
    prior: np.ndarray  # (p,)
    active: tuple[str, ...]
    remarks: tuple[Remark, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """The texts of the remarks."""
        return notes_of(self.remarks)


@on_one_thread
def consistent(
    robot: Robot,
    R: Any,
    z: Any,
    *,
    prior: Any = None,
    speeds: Any = None,
    damping: float = 0.0,
    described: Any = None,
    give: float = GIVE,
    margin: float = MARGIN,
    tolerance: float = RANK,
) -> Consistent:
    """The possible parameters π that fit best, and of these the nearest to the prior.

    What is made least is ‖R π − z‖² + λ ‖D (π − π₀)‖², as by least squares without bodies: λ is `damping`, D
    the lengths of the columns of R, π₀ `described` (p,), the robot's own parameters if it is not given.
    Estimates that are possible come out as they are.

    R (k, p) and z (k,) are weighted by the noise: a regressor, or its triangular factor. Possible means: the
    pseudo-inertia of each moving link, without the motors it carries and the links fixed to it, is at least
    `margin` of the prior's; rotor inertias and viscous friction are not negative, nor is Coulomb friction in
    any direction; with further terms, friction drives no joint at speeds up to `speeds` (n,). What R
    determines is stage one's answer: singular vectors of R, in coordinates of the prior's size, above
    `tolerance` of the greatest. The rest is as near to the prior as possible.

    `prior` is "nominal" (π₀, the default), "geometric" (solids between the joints), another robot or a vector
    (p,).

    Where least squares alone is not possible, the cost of stage one is flat in directions that the data
    hardly show, and its least value may ask for a link of a hundred kilograms. So stage one stops short of
    it: the conditions may cost 1 + `give` times what they must (and at most 1 % of the whole cost more), and
    of what costs no more, it takes what is near to the prior.
    """
    robot = check.robot(robot)
    R, z, speeds = _checked(robot, R, z, speeds)
    described = robot.parameters if described is None else check.numbers("described", described)
    if described.shape != robot.parameters.shape:
        raise IdentificationError(f"described: expected {robot.parameters.shape}, found {described.shape}")
    margin, tolerance = check.positive("margin", margin), check.positive("tolerance", tolerance)
    give, damping = check.number("give", give), check.number("damping", damping)
    for name, x in (("give", give), ("damping", damping)):
        if not 0 <= x < np.inf:
            raise IdentificationError(f"{name}: found {x:g}; zero or more is allowed")
    own = OwnBodies.of(robot)
    known = prior_of(robot, prior, own, described)
    space = Space.of(robot, own, known, R, z, speeds)
    wide = _ROOM * margin
    target = _possible(space, wide)
    D = np.sqrt(damping) * column_scales(np.linalg.norm(R, axis=0))
    factor, whole = _factors(space, R, z, D, described, tolerance)
    first, least = _least_squares(space, factor, whole, target, wide, give)
    causes = () if least is None else _causes(robot, space, whole, least)
    notes = list(known.notes) + _moved(robot, space, target)
    found = _nearest(space, target, margin, factor.free, first, notes)
    found = _inside(space, found, margin / 2, notes)
    parameters = space.parameters(found)
    cost = factor.cost(found)
    if cost <= (1 + _ROUNDING) * factor.rest + _EXPLAINED * float(z @ z):
        causes = ()
    return Consistent(
        robot=with_possible_friction(robot, parameters),
        parameters=parameters,
        cost=cost,
        unconstrained_cost=factor.rest,
        causes=tuple((cause.text, cause.share) for cause in causes),
        rank=len(factor.values),
        prior=space.parameters(target),
        active=tuple(link.name for link in robot.model.moving if link.name in {x.link for x in causes}),
        remarks=tuple(map(Remark, notes)),
    )


def _checked(robot: Robot, R: Any, z: Any, speeds: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    R, z = check.numbers("R", R), check.numbers("z", z)
    p = len(robot.parameters)
    if R.ndim != 2 or R.shape[1] != p:
        raise IdentificationError(f"R: expected (k, {p}), a column for each parameter, found {R.shape}")
    if z.shape != R.shape[:1]:
        raise IdentificationError(f"z: expected ({R.shape[0]},), a number for each row of R, found {z.shape}")
    if speeds is not None:
        speeds = np.array(check.per_joint("speeds", speeds, robot.n))
        if not (np.isfinite(speeds).all() and (speeds >= 0).all()):
            raise IdentificationError(f"speeds: found {speeds.tolist()}; speeds are finite and not negative")
    return R, z, speeds


# ---- stage one ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Factor:
    """A ξ ≈ b by singular values: diag(values) Vᵀ ξ ≈ right, and what no ξ explains."""

    values: np.ndarray  # (b,)
    V: np.ndarray  # (d, b): what A determines
    free: np.ndarray  # (d, d − b): what it does not
    right: np.ndarray  # (b,)
    rest: float  # ‖A ξ − b‖² of plain least squares

    @staticmethod
    def of(A: np.ndarray, b: np.ndarray, tolerance: float) -> _Factor:
        d = A.shape[1]
        whole = np.column_stack([A, b])
        if len(whole) > d + 1:
            whole = np.asarray(np.linalg.qr(whole, mode="r"))
        U, values, Vt = np.linalg.svd(whole[:, :d], full_matrices=True)
        rank = int((values > tolerance * values.max(initial=0.0)).sum())
        right = U[:, :rank].T @ whole[:, d]
        rest = float(np.square(whole[:, d] - U[:, :rank] @ right).sum())
        return _Factor(values[:rank], Vt[:rank].T, Vt[rank:].T, right, rest)

    def damped(self, E: np.ndarray, e: np.ndarray) -> _Factor:
        """With ‖E ξ − e‖² added, as small as what A does not determine can make it."""
        Q = np.linalg.qr(E @ self.free)[0]
        rows, wanted = (x - Q @ (Q.T @ x) for x in (E @ self.V, e))
        both, right = np.vstack([np.diag(self.values), rows]), np.concatenate([self.right, wanted])
        U, values, Wt = np.linalg.svd(both, full_matrices=False)
        seen = U.T @ right
        rest = self.rest + float(np.square(right - U @ seen).sum())
        return _Factor(values, self.V @ Wt.T, self.free, seen, rest)

    def rows(self) -> WeightedRows:
        """The cost for the solver, in a unit in which its least value is well above rounding."""
        unit = max(_UNIT * self.rest, _EXACT * float(self.right @ self.right)) or 1.0
        return WeightedRows(self.V.T, self.least, self.values**2 / unit)

    @property
    def least(self) -> np.ndarray:
        """(b,) Vᵀ ξ of plain least squares."""
        return np.asarray(self.right / self.values)

    def cost(self, x: np.ndarray) -> float:
        """‖A ξ − b‖², without what A leaves out below the tolerance."""
        return self.rest + float(np.square(self.values * (self.V.T @ x) - self.right).sum())


def _factors(
    space: Space, R: np.ndarray, z: np.ndarray, D: np.ndarray, described: np.ndarray, tolerance: float
) -> tuple[_Factor, _Factor]:
    """The cost as what R determines decides it, and the whole of it; without damping they are the same.

    Damping counts in the directions that R leaves open, too. The first has it as small as these can make it.
    """
    A, b = R @ space.G, z - R @ space.origin
    factor = _Factor.of(A, b, tolerance)
    if not D.any():
        return factor, factor
    E, e = D[:, None] * space.G, D * (described - space.origin)
    return factor.damped(E, e), _Factor.of(np.vstack([A, E]), np.concatenate([b, e]), 0.0)


def _least_squares(
    space: Space, factor: _Factor, whole: _Factor, target: np.ndarray, margin: float, give: float
) -> tuple[np.ndarray, Answer | None]:
    """ξ of about the least cost, and, where it is more than that of plain least squares, the answer at it.

    Its base parameters count; the rest of it is only possible, and near the prior.

    A small pull toward the point before keeps what R does not determine in its place; repeating the step
    takes its influence away (the proximal point method).
    """
    if not len(factor.values):
        return target, None
    rows, x, cost = factor.rows(), target, np.inf
    for _ in range(_STEPS):
        found = nearest(space, x, margin, rows=rows, weight=_PULL)
        x = found.x
        plain = x + factor.V @ (factor.least - factor.V.T @ x)
        if space.is_inside(plain, margin / 2, _ROUNDING):  # the constraints cost nothing: plain least squares
            return np.asarray(plain), None
        before, cost = cost, factor.cost(x)
        if before - cost <= _SETTLED * cost:
            break
    moved, _ = _moved_inside(space, plain, margin / 2)
    if space.is_inside(moved, margin / 2, _ROUNDING) and factor.cost(moved) <= cost:
        return moved, None  # outside by no more than rounding, and the solver is no nearer
    if whole is not factor:
        rows = whole.rows()
        found = nearest(space, x, margin, rows=rows, weight=_PULL)
        cost = before = whole.cost(found.x)
    least = min(cost, before)
    allowed = least + min(give * max(least - whole.rest, 0.0), _MOST * least)
    return _near_prior(space, whole, rows, target, margin, found.x, allowed), found


def _near_prior(
    space: Space,
    factor: _Factor,
    rows: WeightedRows,
    target: np.ndarray,
    margin: float,
    least: np.ndarray,
    allowed: float,
) -> np.ndarray:
    """What the strongest pull to the prior gives at the cost allowed: its logarithm by bisection."""
    found, weak, strong = least, np.log(_WEAKEST), np.log(_STRONGEST)
    for _ in range(_HALVINGS):
        middle = (weak + strong) / 2
        x = nearest(space, target, margin, rows=rows, weight=float(np.exp(middle))).x
        if factor.cost(x) <= allowed:
            found, weak = x, middle
        else:
            strong = middle
    return found


# ---- what it costs -----------------------------------------------------------------------------------------
#
# At the least possible cost, the gradient of the cost is the sum of what the conditions push with, their
# multipliers. Its product with the way from the nearest plain estimate is the price, and the products of the
# single pushes are their shares in it.


class _Cause(NamedTuple):
    text: str
    share: float
    link: str | None  # whose body it is about


def _causes(robot: Robot, space: Space, factor: _Factor, least: Answer) -> tuple[_Cause, ...]:
    """The conditions that count, the greatest share first."""
    way = factor.V @ (factor.V.T @ least.x - factor.least)
    found: dict[tuple[str, str | None], float] = {}
    steps, free = space.bodies_of(way), space.bodies_of(least.x - way)
    for link, X, push, step in zip(robot.model.moving, free, least.bodies, steps, strict=True):
        found[f"{_broken(X, push)} of {link.name}", link.name] = float((push * step).sum())
    for name, push, step in zip(space.names, least.rows, space.C @ way, strict=True):
        found[name, None] = found.get((name, None), 0.0) + float(push * step)
    price = sum(max(x, 0.0) for x in found.values())
    causes = [_Cause(text, x / price, link) for (text, link), x in found.items() if x > _COUNTS * price]
    return tuple(sorted(causes, key=lambda cause: -cause.share))


def _broken(X: np.ndarray, push: np.ndarray) -> str:
    """What a body X is held back by: its mass alone, its tensor wherever the centre of mass is, or that."""
    if push[3, 3] >= _MASS * np.trace(push):
        return "mass"
    return "tensor" if np.linalg.eigvalsh(X[:3, :3])[0] <= 0 else "centre of mass"


# ---- afterwards --------------------------------------------------------------------------------------------


def _possible(space: Space, margin: float) -> np.ndarray:
    """The prior in the space: with bodies that are not too thin, rotors and friction that are possible."""
    if space.is_inside(space.prior, margin):
        return space.prior
    values, axes = np.linalg.eigh(space.bodies_of(space.prior))
    x = space.prior.copy()
    thick = (axes * np.maximum(values, margin)[:, None, :]) @ np.swapaxes(axes, 1, 2)
    x[: SIZE * space.bodies] = stacked(thick).ravel()
    return x if space.is_inside(x, margin / 2) else nearest(space, x, margin).x


def _nearest(
    space: Space,
    target: np.ndarray,
    margin: float,
    free: np.ndarray,
    first: np.ndarray,
    notes: list[str],
) -> np.ndarray:
    """Stage two. Where inequalities leave no room, the solver may use a little more than they allow."""
    try:
        found = nearest(space, target, margin, free=free, start=first, slack=_SLACK).x
        found = _without_slack(space, found, free)
    except NothingPossibleError:
        found = first
    improved = np.square(found - target).sum() < np.square(first - target).sum()
    if improved and space.is_inside(found, margin / 2, 10 * _SLACK):
        return found
    if np.square(free.T @ (first - target)).sum() > _SLACK:
        notes.append("what the data do not show is possible, but it is not the nearest to the prior")
    return first


def _without_slack(space: Space, x: np.ndarray, free: np.ndarray) -> np.ndarray:
    """ξ with the inequalities met as far as directions that the data leave open can meet them."""
    for _ in range(2):
        short = space.c - space.C @ x
        rows = short > 0
        x = x + free @ np.linalg.lstsq(space.C[rows] @ free, 2 * short[rows], rcond=_OPEN)[0]
    return x


def _moved(robot: Robot, space: Space, target: np.ndarray) -> list[str]:
    """Rotors and friction of the prior that were not possible."""
    before, after = space.parameters(space.prior), space.parameters(target)
    sizes = np.abs(space.G).max(axis=1, initial=0.0)
    bodies = set(OwnBodies.of(robot).places.ravel().tolist())
    return [
        f"{name}: the prior has {before[i]:.6g}, which is not possible; {after[i]:.6g} is used"
        for i, name in enumerate(robot.parameter_names)
        if i not in bodies and abs(after[i] - before[i]) > 1e-6 * sizes[i]
    ]


def _inside(space: Space, x: np.ndarray, margin: float, notes: list[str]) -> np.ndarray:
    """ξ with the rounding of the solver taken back: eigenvalues at least `margin`, inequalities met.

    Bodies grow by a multiple of the prior's. An inequality is met by raising one parameter.
    """
    x, greatest = _moved_inside(space, x, margin)
    if greatest > 10 * _SLACK:
        notes.append(f"the solver left what is possible by {greatest:.1g} of the prior's sizes; taken back")
    if not space.is_inside(x, margin / 2, 1e-12):
        raise NothingPossibleError(_NONE)
    return x


def _moved_inside(space: Space, x: np.ndarray, margin: float) -> tuple[np.ndarray, float]:
    """ξ with the inequalities met, and by how much the worst was not; several may leave some unmet."""
    x = x.copy()
    values, _ = space.least(x)
    bodies = x[: SIZE * space.bodies].reshape(space.bodies, SIZE)
    lacking = np.maximum(margin - values, 0.0)
    bodies += lacking[:, None] * IDENTITY
    greatest = float(lacking.max(initial=0.0))
    for _ in range(2):  # raising friction for one row serves others, too
        for row, c in zip(space.C, space.c, strict=True):
            rounding = _ULPS * float(np.abs(row) @ np.abs(x))  # the parameters made of ξ are rounded, too
            short = float(c - row @ x) + rounding
            if short > 0:
                k = int(row.argmax() if row.max() > 0 else row.argmin())
                x[k] += short / row[k] * (1 + 1e-12)
                greatest = max(greatest, short)
    return x, greatest


def with_possible_friction(robot: Robot, parameters: np.ndarray) -> Robot:
    """`robot.with_parameters`, where friction at a joint may be less than its motor's in the description.

    The vector has their sum. If the motor's share is more than the sum allows, the joint gets all of it.
    """
    found = robot.with_parameters(parameters)
    wrong = {link.name for link in found.model.moving if _drives(found, link)}
    if not wrong:
        return found
    model = robot.model
    links = tuple(_at_joint(model, link) if link.name in wrong else link for link in model.links)
    return type(robot)(replace(model, links=links)).with_parameters(parameters)


def _drives(robot: Robot, link: Link) -> bool:
    """Whether the friction that the description gives to the joint itself drives it."""
    own = {name: robot.model.number(x) for name, x in link.friction.coefficients.items()}
    negative = any(own[name] < 0 for name, term in TERMS.items() if term.brakes)
    return negative or own["coulomb"] < abs(own["asymmetry"])


def _at_joint(model: RobotModel, link: Link) -> Link:
    """The link with its motor's friction at the joint; of a motor that turns with several it stays there."""
    if link.motor is None or is_coupled(link.motor):
        return link
    total = joint_friction(model, link)
    friction = FrictionCoefficients.of(total, link.friction.stribeck_velocity, link.friction.width)
    return replace(link, friction=friction, motor=replace(link.motor, friction=NO_FRICTION))
