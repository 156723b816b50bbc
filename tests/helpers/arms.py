"""Random arms for the tests: what is drawn, how often, and what counts as equal.

Hypothesis draws the number of joints and a seed, from which the rest follows: so few examples are many
different arms, and a failing one shrinks to few joints. `robots` are arms as a file describes them, with any
rpy angles and axes; `models` are arms with rational rotations only, whose exact ring has nothing but joint
variables.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from armdyn import PhysicsWarning, Robot, bundled_robots
from armdyn.description.robot_file import from_table
from armdyn.description.source import bundled_table
from armdyn.dynamics.newton_euler import rigid_torques
from armdyn.expression import Expression
from armdyn.model import Relation, RobotModel, Transform
from armdyn.model.robot_model import lower

if TYPE_CHECKING:
    from armdyn import Equations

ROTORS = ("exact", "reflected", "none")
KEYS = ("xx", "xy", "xz", "yy", "yz", "zz")


# ---- how often ---------------------------------------------------------------------------------------------


QUICK, THOROUGH = 6, 100  # random draws of a law, where it does not say: see `law`


# Of each kind one: a joint that slides, a plane, six joints, modified DH, springs, relations, a loop.
FEW = ("rp", "planar", "puma560", "tx40", "elastic_link", "parallelogram", "four_bar")


def slowly(*values: Any, **options: Any) -> Any:
    """A parameter of a test that belongs to the slow suite."""
    return pytest.param(*values, marks=pytest.mark.slow, **options)


def in_suites(names: Sequence[str], few: Sequence[str] = FEW) -> list[Any]:
    """Robots as parameters of a test: a few in the quick suite, all in the slow one."""
    return [name if name in few else slowly(name) for name in names]


def law(*strategies: st.SearchStrategy, examples: int = QUICK, thorough: int | None = None) -> Callable:
    """A test over random draws: about a third of `examples` in the quick suite, many more in the slow one.

    At least two are drawn: the first draw is the smallest one there is.
    """

    def decorate(check: Callable[..., None]) -> Callable[..., None]:
        more = thorough or (5 * examples if examples != QUICK else THOROUGH)
        few = min(examples, max(2, examples // 3 + 1))
        many = pytest.param(more, marks=pytest.mark.slow)

        @pytest.mark.parametrize("examples", [few, many])
        def test(examples: int) -> None:
            run = settings(
                max_examples=examples,
                deadline=None,
                derandomize=True,
                phases=(Phase.generate, Phase.shrink),
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
            )
            run(given(*strategies)(check))()

        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return test

    return decorate


@cache
def bundled(name: str) -> Robot:
    """A bundled robot, made once in a process."""
    return quietly(lambda: Robot.load(name))


def looped(name: str) -> bool:
    """Whether a bundled robot has loops: no closed form, DH table, URDF or armature alone describes it."""
    return any("between" in closure for closure in bundled_table(name).get("closure", []))


WITHOUT_LOOPS = [name for name in bundled_robots() if not looped(name)]


def generators() -> st.SearchStrategy[np.random.Generator]:
    """A source of states; shrinks to seed 0."""
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)


def state(robot: Robot, rng: np.random.Generator, rows: tuple[int, ...] = ()) -> tuple[np.ndarray, ...]:
    """q, q̇, q̈ of a robot; no speed is near zero, where Coulomb friction jumps. Loops can be closed there."""
    shape = (*rows, robot.n)
    q, qd, qdd = rng.uniform(-3, 3, shape), rng.uniform(0.2, 2, shape), rng.uniform(-5, 5, shape)
    if (choice := robot.model.choice) is not None:
        q = np.array(choice.posture)[list(choice.free)] + q / 10
    return q, qd * rng.choice([-1, 1], shape), qdd


# ---- what counts as equal ----------------------------------------------------------------------------------


def assert_same(found: Any, expected: Any, tolerance: float = 1e-11, scale: float = 0.0) -> None:
    """Equal arrays, up to `tolerance` of the largest entry (or of `scale`, or of one)."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    assert found.shape == expected.shape, f"shapes {found.shape} and {expected.shape}"
    assert np.isfinite([found, expected]).all(), f"not finite: {found} and {expected}"
    size = max(1.0, scale, np.abs(expected).max(initial=0.0), np.abs(found).max(initial=0.0))
    error = np.abs(found - expected).max(initial=0.0)
    assert error <= tolerance * size, (
        f"differ by {error:.3g} at size {size:.3g}:\n{found}\nand\n{expected}\ndifference\n{found - expected}"
    )


def difference(f: Callable[[float], np.ndarray], h: float = 0.01) -> np.ndarray:
    """f'(0) by central differences of sixth order."""
    steps = [np.asarray(f(k * h)) - np.asarray(f(-k * h)) for k in (1, 2, 3)]
    return (45 * steps[0] - 9 * steps[1] + steps[2]) / (60 * h)


def gradient(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray, h: float = 0.01) -> np.ndarray:
    """∂f/∂x with the derivative's index last."""
    eye = np.eye(len(x))
    return np.stack([difference(lambda t, e=e: f(x + t * e), h) for e in eye], axis=-1)


# ---- numbers -----------------------------------------------------------------------------------------------


def fraction(rng: random.Random, low: float, high: float, denominator: int = 20) -> Fraction:
    return Fraction(rng.randint(round(low * denominator), round(high * denominator)), denominator)


def point(rng: random.Random, reach: float = 0.5) -> list[Fraction]:
    return [fraction(rng, -reach, reach) for _ in range(3)]


def unit_vector(rng: random.Random) -> list[Fraction]:
    """A rational unit vector: a coordinate axis, or a point of the sphere by stereographic projection."""
    if rng.random() < 0.3:
        entries = [Fraction(0), Fraction(0), Fraction(rng.choice([-1, 1]))]
        rng.shuffle(entries)
        return entries
    u, v = fraction(rng, -2, 2, 3), fraction(rng, -2, 2, 3)
    s = 1 + u * u + v * v
    entries = [2 * u / s, 2 * v / s, (s - 2) / s]
    rng.shuffle(entries)
    return entries


def rational_rotation(rng: random.Random) -> tuple[tuple[Fraction, ...], ...]:
    """Cayley's transform: the rotation of a quaternion of small integers."""
    a, b, c, d = rng.choice([1, 2, 3]), rng.randint(-2, 2), rng.randint(-2, 2), rng.randint(-2, 2)
    s = a * a + b * b + c * c + d * d
    rows = (
        (a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)),
        (2 * (b * c + a * d), a * a - b * b + c * c - d * d, 2 * (c * d - a * b)),
        (2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d),
    )
    return tuple(tuple(Fraction(x, s) for x in row) for row in rows)


def cloud(rng: random.Random, points: int = 5) -> dict[str, Any]:
    """mass, com, inertia of a cloud of point masses: a possible body with all six tensor entries."""
    masses = [fraction(rng, 0.25, 2, 4) for _ in range(points)]
    places = [point(rng, 0.3) for _ in range(points)]
    mass = sum(masses, Fraction(0))
    com = [sum((m * p[i] for m, p in zip(masses, places, strict=True)), Fraction(0)) / mass for i in range(3)]
    rays = [[p[i] - com[i] for i in range(3)] for p in places]
    inertia = {}
    for key in KEYS:
        i, j = "xyz".index(key[0]), "xyz".index(key[1])
        inertia[key] = sum(
            (
                m * ((sum(x * x for x in r) if i == j else 0) - r[i] * r[j])
                for m, r in zip(masses, rays, strict=True)
            ),
            Fraction(0),
        )
    return {"mass": mass, "com": com, "inertia": inertia}


# ---- structure ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """One link of an arm to be: who it hangs on, how it moves, and what its motor sits on."""

    name: str
    parent: str
    joint: str
    carrier: str | None  # None: no motor
    coupled: tuple[str, ...]
    friction: bool


@dataclass(frozen=True)
class Plan:
    parts: tuple[Part, ...]
    rotors: str
    tip: str
    seed: int


@st.composite
def plans(
    draw: st.DrawFn,
    n: int | tuple[int, int] = (1, 5),
    *,
    tree: bool = True,
    plates: bool = True,
    motors: str = "any",
    couplings: bool = True,
    friction: bool = True,
    rotors: Sequence[str] = ("exact",),
    joints: Sequence[str] = ("revolute", "prismatic"),
) -> Plan:
    """`motors`: "any" carrier (or none), all on the joint's "parent", all on the "base", or "none" at all."""
    low, high = (n, n) if isinstance(n, int) else n
    count = draw(st.integers(low, high))
    rotor_model = draw(st.sampled_from(list(rotors)))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = random.Random(f"{seed} {count}")

    def sometimes(wanted: bool = True) -> bool:
        return wanted and rng.random() < 0.5

    names, skeleton = ["base"], []
    branching = sometimes(tree)
    for i in range(count):
        for kind in ("plate", "link") if sometimes(plates) else ("link",):
            parent = rng.choice(names) if branching else names[-1]
            joint = "fixed" if kind == "plate" else rng.choice(joints)
            skeleton.append((f"{kind} {i + 1}", parent, joint))
            names.append(f"{kind} {i + 1}")
    if sometimes(plates):
        skeleton.append(("flange", names[-1], "fixed"))
        names.append("flange")
    moving = [name for name, _, joint in skeleton if joint != "fixed"]
    parts = []
    for name, parent, joint in skeleton:
        carrier, coupled, rubs = None, (), False
        if joint != "fixed":
            if motors == "any" and rng.random() < 0.75:
                carrier = rng.choice(names)
            elif motors in ("parent", "base"):
                carrier = parent if motors == "parent" else "base"
            others = [other for other in moving if other != name]
            if carrier and others and sometimes(couplings):
                coupled = tuple(rng.sample(others, min(len(others), rng.randint(1, 2))))
            rubs = sometimes(friction)
        parts.append(Part(name, parent, joint, carrier, coupled, rubs))
    tip = rng.choice(names[1:]) if branching else names[-1]
    return Plan(tuple(parts), rotor_model, tip, seed)


def table_of(plan: Plan, turned: bool = True) -> dict[str, Any]:
    """The plan as the table of a robot file in the convention "frames"; `turned`: with rpy and any axis."""
    rng = random.Random(plan.seed)

    def pose(joint: str = "fixed") -> dict[str, Any]:
        rpy: list[Any] = [fraction(rng, -1.5, 1.5, 10) for _ in range(3)]
        if joint == "fixed":  # one free angle: exact products of plates on plates stay short
            rpy[0], rpy[2] = rng.choice(["0", "pi/2", "pi"]), rng.choice(["0", "-pi/2"])
        return {"xyz": point(rng), "rpy": rpy if turned else [0, 0, 0]}

    def axis() -> list[Any]:
        if turned and rng.random() < 0.5:
            return rng.choice([[1, 1, 0], [1, 2, 3], [0, -1, 2], [-2, 1, 5]])
        return unit_vector(rng)

    return {
        "name": f"random arm {plan.seed}",
        "convention": "frames",
        "gravity": [fraction(rng, -10, 10) for _ in range(3)],
        "rotors": plan.rotors,
        "tip": plan.tip,
        "tool": pose(),
        "link": [_link(rng, part, pose(part.joint), axis()) for part in plan.parts],
    }


def _link(rng: random.Random, part: Part, origin: dict[str, Any], axis: list[Any]) -> dict[str, Any]:
    link = {"name": part.name, "parent": part.parent, "joint": part.joint, "origin": origin, **cloud(rng)}
    if part.joint == "fixed":
        return link
    link["axis"] = axis
    if part.friction:
        link["friction"] = _friction(rng, pair=True) | {"offset": fraction(rng, -1, 1)}
    if part.carrier is not None:
        link["motor"] = _motor(rng, part)
    return link


def _friction(rng: random.Random, pair: bool) -> dict[str, Any]:
    forward, backward = fraction(rng, 0, 2), -fraction(rng, 0, 2)
    return {
        "viscous": fraction(rng, 0, 3),
        "coulomb": [forward, backward] if pair and rng.random() < 0.5 else forward,
    }


def _motor(rng: random.Random, part: Part) -> dict[str, Any]:
    motor: dict[str, Any] = {
        "carrier": part.carrier,
        "gear": rng.choice([-1, 1]) * fraction(rng, 1, 20, 2),
        "inertia": {
            "axial": fraction(rng, 0.001, 0.01, 1000),
            "transverse": fraction(rng, 0.001, 0.01, 1000),
        },
        "mass": fraction(rng, 0.2, 3),
        "position": point(rng),
        "coupling": {name: rng.choice([-1, 1]) * fraction(rng, 1, 10, 2) for name in part.coupled},
    }
    if part.carrier != part.parent or rng.random() < 0.7:
        motor["axis"] = unit_vector(rng)
    if part.friction:
        scale = Fraction(1, 200)
        friction = _friction(rng, pair=not part.coupled)
        coulomb = friction["coulomb"]
        motor["friction"] = {
            "viscous": friction["viscous"] * scale,
            "coulomb": [x * scale for x in coulomb] if isinstance(coulomb, list) else coulomb * scale,
        }
    return motor


def robots(n: int | tuple[int, int] = (1, 5), **choices: Any) -> st.SearchStrategy[Robot]:
    """Arms as a robot file has them, in the convention "frames"; the choices are those of `plans`."""
    return plans(n, **choices).map(lambda plan: Robot.from_dict(table_of(plan)))


def models(n: int | tuple[int, int] = (1, 3), **choices: Any) -> st.SearchStrategy[RobotModel]:
    """Arms whose rotations are all rational, with a constant transform on both sides of each joint."""
    return plans(n, **choices).map(model_of)


def model_of(plan: Plan) -> RobotModel:
    model = from_table(table_of(plan, turned=False))
    rng = random.Random(plan.seed + 1)
    links = tuple(
        replace(link, before=rational_transform(rng, link.before.p), after=rational_transform(rng))
        for link in model.links
    )
    return replace(model, links=links, tool=rational_transform(rng, model.tool.p))


def rational_transform(rng: random.Random, p: Any = None) -> Transform:
    def exact(entries: Any) -> Any:
        return tuple(Expression.of(x) for x in entries)

    return Transform(tuple(map(exact, rational_rotation(rng))), exact(point(rng) if p is None else p))


def related(model: RobotModel, seed: int, whole: bool = False) -> RobotModel:
    """The robot with about half of its joints following one or two others."""
    rng = random.Random(seed)
    names = [link.name for link in model.moving]
    free = names[: max(1, (len(names) + 1) // 2)]
    rng.shuffle(free)
    relations = []
    for name in names[len(free) :]:
        others = rng.sample(free, min(len(free), rng.choice([1, 1, 2])))
        factors = [
            Fraction(rng.choice([-2, -1, 1, 2, 3]), 1 if whole else rng.choice([1, 2, 5])) for _ in others
        ]
        terms = [(name, 2), *((other, -2 * k) for other, k in zip(others, factors, strict=True))]
        offset = Expression.of(Fraction(rng.randint(-6, 6), 4)) if not whole else Expression.of(0)
        relations.append(Relation(tuple((x, Expression.of(k)) for x, k in terms), offset))
        free.append(name) if rng.random() < 0.3 else None  # it may be followed in turn
    return replace(model, relations=tuple(relations))


def open_chains() -> list[str]:
    """The bundled robots that are one chain in which every joint is a coordinate."""
    models = {name: bundled(name).model for name in bundled_robots()}
    return [name for name, m in models.items() if not (m.relations or m.loops or m.elastic)]


def freed(robot: Robot) -> Robot:
    """The robot with all joints free: the tree that relations and loops close."""
    links = tuple(replace(link, actuated=True) for link in robot.model.links)
    return Robot(replace(robot.model, links=links, relations=(), loops=(), choice=None))


def quietly(make: Callable[[], Any]) -> Any:
    """What `make` returns, with warnings about impossible bodies ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PhysicsWarning)
        return make()


# ---- exact entries at numbers ------------------------------------------------------------------------------


def generator_values(
    equations: Equations, q: Any, qd: Any = None, qdd: Any = None, **constants: float
) -> dict[str, float]:
    """The generators of the exact ring by name: c1, s1, q1 (prismatic), qd1, qdd1, sgn1, sgnm1, constants."""
    basis, values = equations.basis, dict(constants)
    zero = np.zeros(equations.n)
    qd, qdd = (zero if x is None else x for x in (qd, qdd))
    for i, joint in enumerate(basis.joints):
        values |= {f"c{i + 1}": np.cos(q[i]), f"s{i + 1}": np.sin(q[i])}
        values |= {f"q{i + 1}": q[i]} if joint == "prismatic" else {}
        values |= {f"qd{i + 1}": qd[i], f"qdd{i + 1}": qdd[i], f"sgn{i + 1}": np.sign(qd[i])}
    for i, friction in enumerate(basis.speeds):
        speed = sum(float(equations.model.number(Expression.of(k))) * qd[j] for j, k in friction.row)
        values[f"sgnm{i + 1}"] = np.sign(speed)
    for name, friction in basis.bells.items():
        speed = sum(float(equations.model.number(Expression.of(k))) * qd[j] for j, k in friction.row)
        values[name] = np.exp(-((speed / float(Expression.of(friction.stribeck_velocity).value())) ** 2))
    if basis.loads:
        rigid = rigid_torques(lower(equations.model, lambda x: x.value()), q, qd, qdd)
        values |= {name: abs(rigid[i]) for name, i in basis.loads.items()}
    return values


def exact_array(equations: Equations, entries: Any, *state: Any, angles: bool = False) -> np.ndarray:
    """An exact vector or matrix, each entry evaluated at q, q̇, q̈; with `angles` these have values, too."""
    values = generator_values(equations, *state)
    values |= {f"q{i + 1}": x for i, x in enumerate(state[0])} if angles else {}

    def number(x: Any) -> Any:
        return [number(y) for y in x] if isinstance(x, list) else x.value(values)

    return np.array(number(entries.rows))


def rotors_turn(robot, qd):
    """Whether every motor with a coupling turns fast enough for its Coulomb friction not to jump nearby."""
    names = [link.name for link in robot.model.moving]
    for j, link in enumerate(robot.model.moving):
        if link.motor and link.motor.coupling:
            speed = float(link.motor.gear.value()) * qd[j]
            speed += sum(float(k.value()) * qd[names.index(name)] for name, k in link.motor.coupling)
            if abs(speed) < 0.05:
                return False
    return True
