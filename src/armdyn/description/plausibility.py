"""Warnings about valid robots that look wrong: impossible bodies, degrees, millimetres, forgotten inertia."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from armdyn.dynamics.closures import freed, joint_values
from armdyn.dynamics.inertia_matrix import composites_about_joints, inertia_matrix
from armdyn.dynamics.kinematics import joint_frame, joint_frames, velocities
from armdyn.expression import Expression, ExpressionError, decimal_text
from armdyn.model.bodies import Central, broken_triangle, central, driving_friction, impossible_bodies
from armdyn.model.inertia import Inertia
from armdyn.model.mechanism import FIXED_BASE, Body, Mechanism
from armdyn.model.parts import NO_SPRING, Link, MotorLimits, Transform
from armdyn.model.robot_model import (
    Converter,
    RobotModel,
    bodies_of,
    links_around,
    loop_place,
    lower,
    places_of,
    spring_place,
)
from armdyn.model.vector import ZERO3, Vector, add, apply, apply_transposed, cross
from armdyn.names import listed, quoted

# ------------------------------------------------------------------------------------------------------------
# Freedom of links, and joints that move no inertia, found numerically at a few random states.
#
# This decides which numbers of a description matter: on a planar arm only the moment about the common axis
# does. Symbols without a value get random values too. A few states are enough: with probability one, a term
# that is zero at all of them is zero everywhere.


MOST_JOINTS = 100  # the inertia matrix is not checked beyond
_STATES = 4
_SMALL = 1e-9
_SINGULAR = 1e-12


@dataclass(frozen=True)
class Freedom:
    """Freedom of a link: the span of its angular velocities in link axes, and whether its mass matters."""

    axes: np.ndarray  # (3, k): unit vectors that span all its angular velocities
    com_moves: bool
    com_on_axis: bool  # its own joint turns about an axis through the centre of mass

    @property
    def turns(self) -> bool:
        return bool(self.axes.shape[1])

    @property
    def feels_one_moment(self) -> bool:
        """True if the link turns about at most one fixed axis, so that at most one moment matters."""
        return bool(self.axes.shape[1] <= 1)

    def only_needs(self, tensor: np.ndarray) -> bool:
        """True if the tensor is only the one moment that matters; any one, if the link does not turn."""
        if not self.feels_one_moment:
            return False
        if not self.turns:
            return int(np.count_nonzero(tensor)) == int(np.count_nonzero(np.diag(tensor))) == 1
        (u,) = self.axes.T
        rest = tensor - (u @ tensor @ u) * np.outer(u, u)
        return bool(abs(rest).max() <= _SMALL * abs(tensor).max())


def in_numbers(model: RobotModel) -> tuple[Mechanism, Converter]:
    """The robot over floats and the conversion to them; free symbols get random values.

    Closed chains are left open: their links then move in more ways, and never in fewer.
    """
    rng = random.Random(1)
    free = {name: rng.uniform(0.5, 1.5) for name, value in model.symbols if value is None}
    if not free:
        return model.mechanism.without_loops(), Converter(model.number)
    values = model.values | free
    convert = Converter(lambda x: x.value(values))
    return lower(model, convert.scalar).without_loops(), convert


def freedoms(model: RobotModel, mechanism: Mechanism, convert: Converter) -> dict[str, Freedom]:
    """The freedom of every link."""
    places = places_of(model, convert)
    samples = [_velocities(mechanism, seed) for seed in range(_STATES)]
    fastest = max(1.0, *(abs(x) for _, v in samples for body in v for x in body))
    found = {}
    for link in model.links:
        body, T = places[link.name]
        inertia = convert.inertia(link.inertia)
        com = inertia.com if inertia.mass else ZERO3
        at = add(T.p, apply(T.R, com))
        states = [(w[body], v[body]) if body != FIXED_BASE else (ZERO3, ZERO3) for w, v in samples]
        turning = np.array([apply_transposed(T.R, w) for w, _ in states], dtype=float).T
        speeds = np.array([add(v, cross(w, at)) for w, v in states], dtype=float)
        found[link.name] = Freedom(
            _span(turning),
            bool(abs(speeds).max() > _SMALL * fastest),
            link.joint == "revolute" and _on_axis(mechanism.bodies[body], com),
        )
    return found


def joints_without_inertia(model: RobotModel, mechanism: Mechanism) -> list[str]:
    """The links whose joints, alone or together, move no inertia, so that B is singular everywhere.

    In a closed chain a joint without inertia is moved by the others.
    """
    if model.loops or model.n > MOST_JOINTS:
        return []
    names: set[str] = set()
    for seed in range(_STATES):
        singular = _without_inertia(mechanism, _state(mechanism, seed)[0])
        if not singular:
            return []
        names |= {model.coordinates[i].name for i in singular}
    return [link.name for link in model.coordinates if link.name in names]


def _without_inertia(mechanism: Mechanism, q: list[float]) -> list[int]:
    """The coordinates whose entry on B's diagonal is rounding error; if none, those of a singular sum."""
    joints = freed(mechanism)
    carried = composites_about_joints(joints, joint_frames(joints, joint_values(mechanism, q)))
    largest = np.zeros(mechanism.n)
    for j, (joint, body) in enumerate(zip(joints.bodies, carried, strict=True)):
        size = body.mass if joint.joint == "prismatic" else body.tensor[0] + body.tensor[3] + body.tensor[5]
        for k, factor in mechanism.rows[j] if mechanism.rows else [(j, 1)]:
            largest[k] += factor * factor * abs(size)
    B = np.array(inertia_matrix(mechanism, q), dtype=float)
    diagonal = np.diag(B)
    empty = np.flatnonzero(abs(diagonal) <= _SINGULAR * largest)
    if empty.size:
        return [int(i) for i in empty]
    scale = 1 / np.sqrt(abs(diagonal))
    values, vectors = np.linalg.eigh(B * np.outer(scale, scale))
    smallest = int(abs(values).argmin())
    if abs(values[smallest]) > _SINGULAR:
        return []
    return [int(i) for i in np.flatnonzero(abs(vectors[:, smallest]) > 0.05)]


def _state(mechanism: Mechanism, seed: int) -> tuple[list[float], list[float]]:
    """Random positions and velocities of the coordinates."""
    rng = random.Random(seed)
    return [rng.uniform(-2, 2) for _ in range(mechanism.n)], [rng.uniform(-2, 2) for _ in range(mechanism.n)]


def _velocities(mechanism: Mechanism, seed: int) -> tuple[list[Vector], list[Vector]]:
    q, qd = (joint_values(mechanism, x) for x in _state(mechanism, seed))
    return velocities(mechanism, joint_frames(mechanism, q), qd)


def _span(vectors: np.ndarray) -> np.ndarray:
    """Orthonormal columns that span the columns given."""
    U, sizes, _ = np.linalg.svd(vectors)
    return U[:, : int(np.count_nonzero(sizes > _SMALL * max(1.0, sizes[0])))]


def _on_axis(body: Body, point: Vector) -> bool:
    """True if a point of a body lies on the axis of its joint."""
    joint = joint_frame(body, 0.0)
    arm = add(joint.r, point)
    return bool(max(map(abs, cross(joint.z, arm))) <= _SMALL * max(1.0, *map(abs, arm)))


# ------------------------------------------------------------------------------------------------------------
# The warnings.


LONGEST = 20.0  # m, of a link; cranes are built of shorter ones
LONGEST_STROKE = 100.0  # m, of a sliding joint; tracks are long
FURTHEST_TURN = 15.0  # rad, of a turning joint; cables allow two turns and a bit
GYRATION = 10.0  # radius of gyration, in lengths of the link
SHORTEST = 1.0  # m: shorter links count as this long
NEARLY = "nearly a multiple of pi/12"  # in the note of an import about rounded angles


def physics_warnings(model: RobotModel) -> list[str]:
    """One line for each thing that is impossible or looks wrong, but not what a note of the robot says."""
    angles = not any(NEARLY in note for note in model.notes)
    return [*impossible_bodies(model), *suspicions(model, angles)]


def gathered(warnings: Sequence[str]) -> list[str]:
    """Warnings, with the links named together of which the same is said."""
    found: dict[str, list[str]] = {}
    for text in warnings:
        name, said = text.removeprefix("link ").split(": ", 1) if text.startswith("link '") else ("", text)
        found.setdefault(said, []).append(name)
    return [
        said if not names[0] else f"link{'s' if len(names) > 1 else ''} {', '.join(names)}: {said}"
        for said, names in found.items()
    ]


def suspicions(model: RobotModel, angles: bool = True) -> list[str]:
    """One line for each thing that is possible but looks wrong, with `angles` also rounded angles."""
    bodies = {link.name: central(model, link.inertia) for link in model.links}
    freedom: dict[str, Freedom] = {}
    unmoved: list[str] = []
    try:
        mechanism, convert = in_numbers(model)
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            freedom = freedoms(model, mechanism, convert)
            unmoved = joints_without_inertia(model, mechanism)
    except (ArithmeticError, ExpressionError, np.linalg.LinAlgError):
        pass  # numbers that overflow are refused elsewhere
    found: list[str] = []
    for link in model.links:
        problems = [*_body_problems(model, link, bodies[link.name], freedom.get(link.name))]
        problems += _near_quarter_turns((link.before, link.after)) if angles else ()
        problems += [text] if link.joint != "fixed" and (text := driving_friction(model, link)) else ()
        found += [f"link {quoted(link.name)}: {text}" for text in problems]
    found += _degrees(model)
    found += _millimetres(model, bodies)
    found += _forgotten_tensors(model, bodies, freedom, unmoved)
    found += _unchecked_limits(model)
    found += _undriven(model)
    found += _idle_springs(model)
    found += _misplaced(model, angles)
    if unmoved:
        whose = "its joint moves" if len(unmoved) == 1 else "their joints move"
        reason = "no mass, inertia or rotor resists a torque there"
        found.append(f"{_where([(quoted(name), 0.0) for name in unmoved])}: {whose} no inertia: {reason}")
    return found


# ---- bodies ------------------------------------------------------------------------------------------------


def _body_problems(model: RobotModel, link: Link, body: Central, freedom: Freedom | None) -> Iterator[str]:
    triangle = broken_triangle(body)
    if triangle and not (freedom and body.is_known and _is_one_moment(model, body, freedom)):
        yield triangle
    moves = freedom is None or freedom.com_moves
    if (
        body.mass == 0
        and link.joint != "fixed"
        and moves
        and any(abs(x) > body.tolerance for x in body.known)
    ):
        yield "it has inertia but no mass"


def payload_problem(model: RobotModel, load: Inertia, link: str) -> str | None:
    """Reason why a body that a link carries cannot exist; None where it can, or where one moment matters."""
    body = central(model, load)
    triangle = broken_triangle(body)
    if triangle is None or not body.is_known:
        return triangle
    mechanism, convert = in_numbers(model)
    freedom = freedoms(model, mechanism, convert).get(link)
    return None if freedom and _is_one_moment(model, body, freedom) else triangle


def _is_one_moment(model: RobotModel, body: Central, freedom: Freedom) -> bool:
    """True if only the one moment that matters was given, as for the arms of textbooks.

    A payload adds to the other moments too; it is then enough that they do not matter.
    """
    return freedom.feels_one_moment if model.derived else freedom.only_needs(body.matrix)


def _forgotten_tensors(
    model: RobotModel, bodies: dict[str, Central], freedom: dict[str, Freedom], unmoved: list[str]
) -> Iterator[str]:
    """Bodies that turn and have mass but no tensor, where a point mass cannot be meant.

    A point on the axis of its own joint would add nothing to that joint's inertia. And where two other links
    have tensors, this one was probably forgotten.
    """
    turning = [link for link in model.moving if link.name in freedom and freedom[link.name].turns]
    with_tensor = sum(not bodies[link.name].is_zero for link in turning)
    carrying = {link.parent for link in model.links if link.joint == "fixed"}
    for link in turning:
        body = bodies[link.name]
        if body.mass == 0 or not body.is_zero or link.name in (*carrying, *unmoved):
            continue
        if freedom[link.name].com_on_axis:
            reason = "its centre of mass lies on its joint's axis"
        elif with_tensor >= 2:
            reason = "other links have a tensor"
        else:
            continue
        text = f"it turns and has mass but no inertia, and {reason}: is inertia missing?"
        yield f"link {quoted(link.name)}: {text}"


def _unchecked_limits(model: RobotModel) -> Iterator[str]:
    """Warnings about limits of joints that follow several others in closed chains: these are not linear."""
    if not model.relations or not model.loops:
        return
    for link, row in zip(model.moving, model.dependence.rows, strict=True):
        limits = link.limits
        if len(row) > 1 and any((limits.position, limits.velocity, limits.acceleration, limits.jerk)):
            yield f"link {quoted(link.name)}: its joint follows several others, so its limits are not checked"


# ---- closures and springs ----------------------------------------------------------------------------------


def _undriven(model: RobotModel) -> Iterator[str]:
    """Passive joints that nothing holds, neither a closure nor a spring; and those with a motor all the same.

    A motor that is no more than inertia reflected to the joint stands for what turns with it.
    """
    held = {name for relation in model.relations for name, _ in relation.coefficients}
    pairs = [*(loop.between for loop in model.loops), *(spring.between for spring in model.springs)]
    held |= {name for between in pairs for name in links_around(model, between)}
    for link in model.moving:
        if not link.actuated and link.name not in held and link.spring.is_zero:
            text = "actuated is false, but no closure or spring holds its joint: nothing drives it"
            yield f"link {quoted(link.name)}: {text}"
        if not link.actuated and link.motor and (link.motor.gear != 1 or link.motor.limits != MotorLimits()):
            text = "actuated is false, but it has a motor: the rotor counts, and gives no torque"
            yield f"link {quoted(link.name)}: {text}"


def _idle_springs(model: RobotModel) -> Iterator[str]:
    for link in model.moving:
        if link.spring != NO_SPRING and link.spring.is_zero:
            yield f"link {quoted(link.name)}: its spring has no stiffness, so it never acts"
    bodies = bodies_of(model)
    for i, spring in enumerate(model.springs):
        a, b = spring.between
        if spring.stiffness.is_zero and spring.force.is_zero:
            yield f"{spring_place(i, spring)}: it has neither stiffness nor force, so it never acts"
        elif bodies[a] == bodies[b]:
            reason = f"{quoted(a)} and {quoted(b)} are one body"
            yield f"{spring_place(i, spring)}: {reason}, so it never acts"


def _misplaced(model: RobotModel, angles: bool) -> Iterator[str]:
    """Warnings about places of closures and springs in other units, and guesses outside of limits."""
    for i, loop in enumerate(model.loops):
        where = loop_place(model, i)
        wide = max(_angles(model, loop.at), default=0.0)
        if wide > 2 * math.pi:
            yield f"{where}: an angle of {wide:.6g} rad looks like degrees; angles are in radians"
        for text in _near_quarter_turns(loop.at) if angles else ():
            yield f"{where}: {text}"
    places = [(loop_place(model, i), [T.p for T in loop.at]) for i, loop in enumerate(model.loops)]
    places += [(spring_place(i, spring), [*spring.at]) for i, spring in enumerate(model.springs)]
    for where, points in places:
        far = max(_length(model, p) for p in points)
        if far > LONGEST:
            yield f"{where}: a point at {far:.6g} m looks like millimetres; lengths are in metres"
    for link in model.moving:
        numbers = [model.value(x) for x in (link.guess, *(link.limits.position or ()))]
        guess, low, high = numbers if len(numbers) == 3 and not link.guess.is_zero else (None, None, None)
        if guess is not None and low is not None and high is not None and not low <= guess <= high:
            text = f"its guess {guess:g} lies outside of its limits of position [{low:g}, {high:g}]"
            yield f"link {quoted(link.name)}: {text}"


# ---- units -------------------------------------------------------------------------------------------------


def _degrees(model: RobotModel) -> Iterator[str]:
    """Angles of many radians, written without pi."""
    frames = [(quoted(link.name), (link.before, link.after)) for link in model.links]
    wide = [(name, max(_angles(model, Ts), default=0.0)) for name, Ts in (*frames, ("tool", (model.tool,)))]
    wide = [(name, angle) for name, angle in wide if angle > 2 * math.pi]
    if wide:
        found = f"an angle of {max(angle for _, angle in wide):.6g} rad"
        yield f'{_where(wide)}: {found} looks like degrees; angles are in radians, 90 degrees are "pi/2"'
    far = [(quoted(link.name), _farthest(model, link)) for link in model.moving if link.joint == "revolute"]
    far = [(name, angle) for name, angle in far if angle > FURTHEST_TURN]
    if far:
        found = f"a limit of position of {max(angle for _, angle in far):.6g} rad"
        yield f'{_where(far)}: {found} looks like degrees; limits are in radians, 90 degrees are "pi/2"'


def _angles(model: RobotModel, transforms: Iterable[Transform]) -> Iterator[float]:
    """The magnitudes of the angles that are written without pi, with the values of their symbols."""
    for x in (x for T in transforms for row in T.R for x in row):
        for atom in Expression.of(x).atoms():
            if atom.kind in ("cos", "sin") and atom.argument is not None:
                angle = atom.argument.substitute(model.exact_values).number
                if angle is not None:
                    yield abs(float(angle))


def _farthest(model: RobotModel, link: Link) -> float:
    """The position limit farthest from zero; limits written with pi are not degrees."""
    limits = [x.substitute(model.exact_values).number for x in link.limits.position or ()]
    return max((abs(float(x)) for x in limits if x is not None), default=0.0)


def _millimetres(model: RobotModel, bodies: dict[str, Central]) -> Iterator[str]:
    """Lengths of many metres, and tensors of bodies that would have to be that large."""
    names = [quoted(link.name) for link in model.links]
    lengths = [max(_length(model, link.before.p), _length(model, link.after.p)) for link in model.links]
    coms = [_com_distance(model, link, bodies[link.name]) for link in model.links]
    motors = [_length(model, link.motor.position) if link.motor else 0.0 for link in model.links]
    strokes = [_farthest(model, link) if link.joint == "prismatic" else 0.0 for link in model.links]
    tool = [("tool", _length(model, model.tool.p))]
    for what, values, most in (
        ("a length", [*zip(names, lengths, strict=True), *tool], LONGEST),
        ("a centre of mass at a distance", zip(names, coms, strict=True), LONGEST),
        ("a motor at a distance", zip(names, motors, strict=True), LONGEST),
        ("a limit of position", zip(names, strokes, strict=True), LONGEST_STROKE),
    ):
        long = [(name, x) for name, x in values if x > most]
        if long:
            found = f"{what} of {max(x for _, x in long):.6g} m"
            yield f"{_where(long)}: {found} looks like millimetres; lengths are in metres"
    sizes = dict(zip((link.name for link in model.links), map(max, lengths, coms), strict=True))
    for link, length in zip(model.links, lengths, strict=True):
        if link.parent in sizes:  # the parent reaches to where its children sit
            sizes[link.parent] = max(sizes[link.parent], length)
    wide = [(quoted(name), _gyration(body)) for name, body in bodies.items()]
    pairs = zip(wide, sizes.values(), strict=True)
    wide = [(name, k) for (name, k), size in pairs if k > GYRATION * max(size, SHORTEST)]
    if wide:
        found = f"a radius of gyration of {max(k for _, k in wide):.6g} m"
        yield (
            f"{_where(wide)}: {found} is far beyond the link: "
            "looks like kg mm²; tensors are in kg m², about the centre of mass"
        )


def _length(model: RobotModel, p: Vector) -> float:
    """The length of a vector; 0 if a symbol in it has no value."""
    entries = [model.value(x) for x in p]
    return math.hypot(*(x for x in entries if x is not None)) if None not in entries else 0.0


def _com_distance(model: RobotModel, link: Link, body: Central) -> float:
    moment = _length(model, link.inertia.moment)
    return moment / body.mass if body.mass else 0.0


def _gyration(body: Central) -> float:
    """√(I/m) for the largest moment that is known."""
    largest = max(
        (x for x in (body.entries[key] for key in ("xx", "yy", "zz")) if x is not None), default=0.0
    )
    return math.sqrt(largest / body.mass) if body.mass and body.mass > 0 and largest > 0 else 0.0


def _where(found: list[tuple[str, float]]) -> str:
    names = [name for name, _ in found]
    links = [name for name in names if name != "tool"]
    text = f"link{'s' if len(links) > 1 else ''} {listed(links)}" if links else ""
    return " and ".join(part for part in (text, "tool" if "tool" in names else "") if part)


def _near_quarter_turns(transforms: Iterable[Transform]) -> Iterator[str]:
    """cos(1.5708) in a transform: somebody meant pi/2."""
    entries = [x for T in transforms for row in T.R for x in row]
    angles = {
        atom.argument.number
        for x in entries
        if isinstance(x, Expression)
        for atom in x.atoms()
        if atom.kind in ("cos", "sin") and atom.argument is not None
    }
    for angle in sorted(a for a in angles if a is not None and abs(a) <= 2 * math.pi):
        quarter = float(angle) / (math.pi / 2)
        if round(quarter) and abs(quarter - round(quarter)) < 1e-3:
            meant = {1: "pi/2", 2: "pi"}.get(round(quarter), f"{round(quarter)}*pi/2")
            yield f'the angle {decimal_text(angle)} is a decimal; "{meant}" would be exact'
