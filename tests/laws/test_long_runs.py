"""Long runs of parallel axes: computed in sums of angles, printed in sums of constants, and still the arm."""

import re

import numpy as np
import pytest

from armdyn import Robot
from armdyn.exact.closed_form import grouped
from arms import in_suites

KEYS = ("xx", "xy", "xz", "yy", "yz", "zz")


def chain(n: int, numbers: bool = False) -> Robot:
    """A planar chain, every length, mass, centre of mass and inertia a symbol or a number, with motors."""
    rng = np.random.default_rng(n)
    names = [f"{k}{i}" for k in ("a", "m", "l", "I", "kr", "Im") for i in range(1, n + 1)]
    values = {name: round(float(x), 2) for name, x in zip(names, rng.uniform(0.2, 1.5, 6 * n), strict=True)}
    used = values if numbers else {name: name for name in names}
    links = [
        {
            "name": f"link {i}",
            "joint": "revolute",
            "a": used[f"a{i}"],
            "alpha": 0,
            "d": 0,
            "theta": 0,
            "mass": used[f"m{i}"],
            "com": [used[f"l{i}"], 0, 0],
            "inertia": {"zz": used[f"I{i}"]},
            "motor": {"gear": used[f"kr{i}"], "inertia": used[f"Im{i}"], "mass": 0.3},
        }
        for i in range(1, n + 1)
    ]
    table = {"name": "chain", "convention": "dh", "gravity": [0, -9.81, 0], "link": links}
    return Robot.from_dict(table if numbers else table | {"symbols": values})


def spatial() -> Robot:
    """A run of four joints between a turning base and a slide, full inertias, tilted motors, friction."""
    rng = np.random.default_rng(5)
    links = []
    kinds = [("revolute", "pi/2"), *[("revolute", 0)] * 3, ("revolute", "pi/2"), ("prismatic", 0)]
    for i, (joint, alpha) in enumerate(kinds):
        root = rng.uniform(-1, 1, (3, 3))
        tensor = np.trace(root @ root.T) * np.eye(3) - root @ root.T
        a, d = (round(float(x), 2) for x in rng.uniform(-1, 1, 2))
        place = {"d": d if joint == "revolute" else 0, "theta": 0}
        links.append(
            {"name": f"link {i + 1}", "joint": joint, "a": a, "alpha": alpha, **place, "mass": i + 1}
            | {"com": [round(float(x), 2) for x in rng.uniform(-0.5, 0.5, 3)]}
            | {"inertia": {k: round(float(tensor["xyz".index(k[0]), "xyz".index(k[1])]), 2) for k in KEYS}}
            | {"motor": {"gear": 10 + i, "inertia": 0.01, "axis": [0.6, 0, 0.8], "carrier": "base"}}
            | {"friction": {"viscous": 0.5, "coulomb": 0.25}}
        )
    table = {"name": "spatial", "convention": "dh", "gravity": [0, 0, -9.81], "link": links}
    return Robot.from_dict(table)


ARMS = {"planar 6": lambda: chain(6), "planar 7, numbers": lambda: chain(7, numbers=True), "spatial": spatial}


@pytest.fixture(scope="module", params=in_suites(ARMS, ("planar 6",)))
def robot(request):
    return ARMS[request.param]()


def state(robot: Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return tuple(rng.uniform(-1.5, 1.5, (3, robot.n)))


def values(robot: Robot) -> dict[str, float]:
    """Every name that may stand in equations: symbols, joint variables, sums of up to n joints."""
    q, qd, qdd = state(robot)
    found = {name: float(x) for name, x in robot.model.values.items()}
    for a in range(robot.n):
        found |= {f"q{a + 1}": q[a], f"qdd{a + 1}": qdd[a], f"sgn{a + 1}": np.sign(qd[a])}
        for b in range(a, robot.n):
            joints = [str(j + 1) for j in range(a, b + 1)]
            spans = {"".join(joints)} if robot.n < 10 else {"_".join(joints)}
            for label in {*spans, f"{a + 1}_to_{b + 1}" if b > a else str(a + 1)}:
                found[f"c{label}"], found[f"s{label}"] = (
                    np.cos(q[a : b + 1].sum()),
                    np.sin(q[a : b + 1].sum()),
                )
                found[f"qd{label}"] = qd[a : b + 1].sum()
    return found


def evaluated(robot: Robot, text: str) -> dict[str, float]:
    """What each line of a printed document is worth, by the name on its left."""
    right = {}
    for line in re.sub(r"\n +", " ", text).splitlines():
        if re.match(r"(x\d+|\w+\[[\d,]+\]) = ", line):
            *left, side = line.split(" = ")
            side = re.sub(r"(\w+)\[([\d,]+)\]", lambda m: f"{m[1]}_{m[2].replace(',', '_')}", side)
            right |= dict.fromkeys(left, side)
    known, todo = values(robot), list(right)
    found = {}
    while todo:  # a line may use what later ones define
        name = todo.pop(0)
        try:
            found[name] = eval(right[name], {}, known)
            known[name.replace("[", "_").replace(",", "_").removesuffix("]")] = found[name]
        except NameError:
            todo.append(name)
    return found


def matrix(found: dict[str, float], letter: str, n: int) -> np.ndarray:
    return np.array([[found[f"{letter}[{i},{j}]"] for j in range(1, n + 1)] for i in range(1, n + 1)])


def test_entries_are_the_kernels(robot):
    q, qd, qdd = state(robot)
    equations, known = robot.equations(), values(robot)
    numbers = np.vectorize(lambda form: form.value(known), otypes=[float])
    assert np.allclose(numbers(np.array(equations.B.rows, object)), robot.inertia(q), rtol=1e-11)
    assert np.allclose(numbers(np.array(equations.C.rows, object)), robot.coriolis(q, qd), atol=1e-10)
    assert np.allclose([x.value(known) for x in equations.g], robot.gravity(q), atol=1e-10)
    assert np.allclose([x.value(known) for x in equations.tau], robot.inverse_dynamics(q, qd, qdd), atol=1e-9)


def test_what_is_printed_is_the_kernels(robot):
    q, qd, _ = state(robot)
    found = evaluated(robot, robot.equations().text())
    assert np.allclose(matrix(found, "b", robot.n), robot.inertia(q), rtol=1e-9)
    assert np.allclose(matrix(found, "c", robot.n), robot.coriolis(q, qd), atol=1e-9)
    gravity = [found[f"g[{i + 1}]"] for i in range(robot.n)]
    assert np.allclose(gravity, robot.gravity(q), atol=1e-9)


def test_they_are_proved(robot):
    assert len(robot.equations().prove().statements) == 5


def test_what_is_printed_with_craigs_letters_is_the_kernels(robot):
    q, qd, _ = state(robot)
    found = evaluated(robot, robot.equations().text("craig"))
    assert np.allclose(matrix(found, "M", robot.n), robot.inertia(q), rtol=1e-9)
    velocity = [found[f"V[{i + 1}]"] for i in range(robot.n)]
    assert np.allclose(velocity, robot.coriolis(q, qd) @ qd, atol=1e-9)


def test_sums_of_constants_are_the_same_equations():
    equations = chain(6).equations()
    written = grouped(equations)
    for i in range(6):
        assert written.g[i].expanded == equations.g[i].expanded
        for j in range(6):
            assert written.B[i, j].expanded == equations.B[i, j].expanded
            assert written.C[i, j].expanded == equations.C[i, j].expanded
    assert max(len(b.coefficients) for row in written.B for b in row) <= 12


def test_entries_print_as_what_is_read():
    equations = chain(5).equations()
    for entry in (equations.B[0, 1], equations.C[1, 2], equations.g[0]):
        assert "\n" not in str(entry)
        assert entry == str(entry)
    ten = chain(10).equations()
    assert ten.basis.read("c2_to_10 - cos(q2+q3+q4+q5+q6+q7+q8+q9+q10)") == 0
    assert ten.basis.read("c10 - cos(q10)") == 0
    assert ten.basis.read("qd2_to_4 - qd2 - qd3 - qd4") == 0


def test_sympy_has_the_same_numbers():
    sympy = pytest.importorskip("sympy")
    robot = chain(4)
    q, qd, _ = state(robot)
    handed = robot.equations().sympy()
    known = {sympy.Symbol(name, real=True): x for name, x in values(robot).items()}
    assert np.allclose(np.array(handed.B.xreplace(known).evalf(), float), robot.inertia(q), rtol=1e-11)
    assert np.allclose(np.array(handed.C.xreplace(known).evalf(), float), robot.coriolis(q, qd), atol=1e-10)


def test_absolute_angles_are_coordinates_without_sums():
    """B_p = J⁻ᵀ B J⁻¹ with the angles of the links against the base."""
    robot = chain(5)
    changed = robot.equations().in_coordinates([[int(j <= i) for j in range(5)] for i in range(5)])
    q, qd, _ = state(robot)
    J = np.tril(np.ones((5, 5)))
    p, pd = J @ q, J @ qd
    known = values(robot) | {f"c{i + 1}": np.cos(x) for i, x in enumerate(p)}
    known |= {f"s{i + 1}": np.sin(x) for i, x in enumerate(p)} | {f"qd{i + 1}": x for i, x in enumerate(pd)}
    inverse = np.linalg.inv(J)
    B = [[x.value(known) for x in row] for row in changed.B]
    assert np.allclose(B, inverse.T @ robot.inertia(q) @ inverse, rtol=1e-11)
    assert np.allclose([x.value(known) for x in changed.g], inverse.T @ robot.gravity(q), atol=1e-10)


def test_base_parameters_are_those_of_numbers():
    robot = chain(5)
    exact, numeric = (robot.base_parameters(route=route) for route in ("exact", "numeric"))
    assert len(exact) == len(numeric)


@pytest.mark.slow
def test_twice_the_joints_are_written_in_less_than_thirty_times_the_length():
    """B has n² entries with up to n² angles each; in single angles it would be a thousand times."""
    lengths = {n: len(chain(n).equations().text()) for n in (6, 12)}
    assert lengths[12] < 30 * lengths[6]


@pytest.mark.parametrize(("symbol", "letter"), [("a", "x"), ("x", "y"), ("x_", "y")])
def test_names_of_sums_are_no_symbols_of_the_description(symbol, letter):
    names = [f"{symbol}{i}" for i in range(1, 7)]
    fixed = {"joint": "revolute", "alpha": 0, "d": 0, "theta": 0, "mass": 1}
    links = [{"name": f"link {i}", "a": a, "com": [a, 0, 0], **fixed} for i, a in enumerate(names)]
    table = {"name": "chain", "convention": "dh", "gravity": [0, "-g", 0], "link": links}
    robot = Robot.from_dict({**table, "symbols": dict.fromkeys([*names, "g"], 1)})
    text = robot.equations().text()
    assert f"\n{letter}1 = " in text
    assert not any(f"\n{name} = " in text for name in names)
