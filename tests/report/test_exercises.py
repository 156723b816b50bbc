"""Exercises: every formula and number that a solution prints, read back and found by another route.

The lines of the Markdown document are read as LaTeX, those of the page as MathML. At a random state they are
compared with numeric functions of the robot: poses, Jacobians, energies, B, C, g, torques, the regressor.
"""

import math
import re
import tomllib
from functools import cache
from itertools import chain, combinations

import numpy as np
import pytest
import sympy

from armdyn import ArmdynError, Robot
from armdyn.dynamics import inverse_dynamics
from armdyn.exact.printing.mathml import MATHML
from armdyn.exact.printing.names import parameter_glyph
from armdyn.exact.printing.styles import LATEX
from armdyn.model.inertia import TENSOR_KEYS, tensor_matrix
from armdyn.report import exercise, random_arm
from armdyn.report.exercises import QUESTIONS
from arms import assert_same, gradient, slowly
from golden_messages import golden_error
from page_checks import check_page
from printed_formulas import LatexReader, MathmlReader, markdown_lines, page_lines

QUICK, SEEDS = (0, 8), range(10)
PLANAR = "planar"  # beside the arms that are drawn: both motors with their masses
ARMS = [*(seed if seed in QUICK else slowly(seed) for seed in SEEDS), slowly(PLANAR)]
TITLES = {question.title: name for name, question in QUESTIONS.items()}

FREE = {
    "name": "free",
    "convention": "dh",
    "gravity": [0, "-g", 0],
    "symbols": {"g": 9.81, "m": "free"},
    "link": [{"joint": "revolute", "a": 1, "alpha": 0, "d": 0, "mass": "m", "com": [-0.5, 0, 0]}],
}

for_arms = pytest.mark.parametrize("arm", ARMS)


def numbers(robot, x):
    """Exact numbers in nested tuples as an array."""
    if isinstance(x, tuple | list):
        return np.array([numbers(robot, entry) for entry in x])
    return robot.model.number(x)


class Solution:
    """The solution of all questions about an arm: its lines, evaluated at a random state."""

    def __init__(self, robot, seed):
        self.robot, self.exercise = robot, exercise(robot, tuple(QUESTIONS), seed)
        self.q, self.qd, self.qdd = np.random.default_rng(seed).uniform(-1.5, 1.5, (3, robot.n))
        self.lines = {}
        read = LatexReader(self.spelled(LATEX))
        for question, passage, left, right in markdown_lines(self.exercise.solution.markdown()):
            self.lines.setdefault((TITLES.get(question), passage), {})[left] = read(right)

    def spelled(self, style, parameters=None):
        """Values of symbols, joint variables, their cosines and sines, parameters, as a style spells them."""
        robot, basis = self.robot, self.exercise.case.equations.basis
        plain = {name: robot.model.number(value) for name, value in robot.model.symbols}
        for i, state in enumerate(zip(self.q, self.qd, self.qdd, strict=True), 1):
            plain |= dict(zip((f"q{i}", f"qd{i}", f"qdd{i}"), state, strict=True))
        found = {style.generator(name, basis): x for name, x in plain.items()}
        given = robot.parameters if parameters is None else parameters
        for name, x in [*self.centres(), *zip(robot.parameter_names, given, strict=True)]:
            if glyph := parameter_glyph(f"[{name}]"):
                found[style.glyph(glyph)] = x
        joints = range(robot.n)
        for summed in chain.from_iterable(combinations(joints, k) for k in range(1, robot.n + 1)):
            label, angle = "".join(str(j + 1) for j in summed), self.q[list(summed)].sum()
            found |= {style.trig("c", label): math.cos(angle), style.trig("s", label): math.sin(angle)}
        return found

    def centres(self):
        """Centres of mass and central tensors of augmented links, which the recursion has as symbols."""
        for i, body in enumerate(self.robot.mechanism.bodies, 1):
            if not body.inertia.mass:  # that of the motor of an elastic joint
                continue
            for axis, x in zip("xyz", body.inertia.com, strict=True):
                yield f"lC{axis}{i}", float(x)
            for key, x in zip(TENSOR_KEYS, body.inertia.tensor_at_com, strict=True):
                yield f"Ib{key}{i}", float(x)

    def entries(self, question, passage, letter, shape):
        """Lines b_{11}, b_{12} = b_{21} … of a passage as an array; those that are not there are zero."""
        found = np.zeros(shape)
        for left, value in self.lines[question, passage].items():
            for indices in re.findall(rf"{letter}_\{{([\d,]+)\}}", left):
                place = indices.split(",") if "," in indices else indices
                found[tuple(int(x) - 1 for x in place)] = value
        return found

    def moved(self, link, point):
        """Place, rotation, J_P and J_O of a point of a link, (3,), (3, 3), (3, n), (3, n)."""
        if link == self.robot.model.root:
            return point, np.eye(3), *np.zeros((2, 3, self.robot.n))
        pose, J = self.robot.pose(self.q, link), self.robot.jacobian(self.q, link)
        R, r = pose[:3, :3], pose[:3, :3] @ point
        return pose[:3, 3] + r, R, J[:3] + np.cross(J[3:].T, r).T, J[3:]

    def bodies(self):
        """Of each link and rotor its title, mass, tensor in base axes, place, J_P and J_O."""
        robot = self.robot
        for i, link in enumerate(robot.model.links, 1):
            own = link.inertia
            p, R, *J = self.moved(link.name, numbers(robot, own.com))
            I = numbers(robot, tensor_matrix(own.tensor_at_com))
            yield f"Link {i}", numbers(robot, own.mass), R @ I @ R.T, p, *J
        for i, link in enumerate(robot.model.links, 1):
            if motor := link.motor:
                p, R, J_P, J_O = self.moved(motor.carrier, numbers(robot, motor.position))
                axis, gear, axial, across = (
                    numbers(robot, x) for x in (motor.axis, motor.gear, motor.axial, motor.transverse)
                )
                z = R @ axis
                spinning = J_O + np.outer(z, gear * np.eye(robot.n)[i - 1])
                I = across * np.eye(3) + (axial - across) * np.outer(z, z)
                yield f"Rotor {i} (on {motor.carrier})", numbers(robot, motor.mass), I, p, J_P, spinning


@cache
def solution(arm):
    return Solution(Robot.load(arm), 0) if arm == PLANAR else Solution(random_arm(arm), arm)


def value(lines, pattern):
    """Of the one line whose left-hand side has this in it."""
    (found,) = (x for left, x in lines.items() if pattern in left)
    return np.array(found)


def matrix(lines, pattern, shape):
    """The matrix whose name has this in it: on one line, or entry by entry; zeros are left out."""
    found = np.zeros(shape)
    for left, x in lines.items():
        if pattern in left:
            place = re.fullmatch(r"\{\[.*\]\}_\{(\d)(\d)\}", left)
            found[tuple(int(k) - 1 for k in place.groups()) if place else ...] = x
    return found


# ---- each question against numeric functions ---------------------------------------------------------------


@for_arms
def test_printed_jacobians_and_those_of_frames(arm):
    found = solution(arm)
    for title, _, _, p, J_P, J_O in found.bodies():
        lines = found.lines["jacobians", title]
        assert_same(value(lines, "p_{")[:, 0], p)
        assert_same(matrix(lines, "J_{P}", J_P.shape), J_P)
        assert_same(matrix(lines, "J_{O}", J_O.shape), J_O)


@for_arms
def test_printed_energies_and_moving_bodies(arm):
    found, potential = solution(arm), 0.0
    g0 = numbers(found.robot, found.robot.model.gravity)
    for title, mass, I, p, J_P, J_O in found.bodies():
        lines, v, w = found.lines["energies", title], J_P @ found.qd, J_O @ found.qd
        assert_same(sum(x for left, x in lines.items() if "m \\dot" in left), mass * v @ v / 2)
        assert_same(sum(x for left, x in lines.items() if "omega" in left), w @ I @ w / 2)
        assert_same(value(lines, "U_"), -mass * g0 @ p)
        assert set(lines.items()) & set(found.lines["g", "Potential energy"].items())
        potential -= mass * g0 @ p
    total = found.lines["energies", "Their sums"]
    assert_same(total["T"], found.robot.kinetic_energy(found.q, found.qd))
    assert_same(total["U"], found.robot.potential_energy(found.q))
    assert_same(total["U"], potential)


@for_arms
def test_printed_inertia_matrix_its_contributions_and_the_compiled_one(arm):
    found, n = solution(arm), solution(arm).robot.n
    for title, mass, I, _, J_P, J_O in found.bodies():
        lines = found.lines.get(("B", title), {})
        assert_same(matrix(lines, "J_{P}", (n, n)), mass * J_P.T @ J_P)
        assert_same(matrix(lines, "J_{O}", (n, n)), J_O.T @ I @ J_O)
    assert_same(found.entries("B", "Their sum", "b", (n, n)), found.robot.inertia(found.q))


@for_arms
def test_printed_christoffel_symbols_and_differences_of_inertia(arm):
    found, n = solution(arm), solution(arm).robot.n
    slopes = gradient(found.robot.inertia, found.q)  # ∂b_ij/∂q_k
    printed = np.zeros((n, n, n))
    for left, x in found.lines["C", "Derivatives of B"].items():
        i, j, k = (int(d) - 1 for d in re.fullmatch(r".*b_\{(\d)(\d)\}\}.*_\{(\d)\}\}", left).groups())
        printed[i, j, k] = printed[j, i, k] = x
    assert_same(printed, slopes, 1e-9)
    symbols = found.entries("C", "Christoffel symbols", "c", (n, n, n))
    assert_same(symbols, (slopes + slopes.transpose(0, 2, 1) - slopes.transpose(2, 0, 1)) / 2, 1e-9)
    C = found.entries("C", "Their sums", "c", (n, n))
    assert_same(C, symbols @ found.qd)
    assert_same(C, found.robot.coriolis(found.q, found.qd))
    assert_same(
        found.entries("skew", "Time derivative of B", r"\\dot\{b\}", (n, n)), np.triu(slopes @ found.qd), 1e-9
    )
    N = found.entries("skew", "N", "n", (n, n))
    assert_same(N, slopes @ found.qd - 2 * C, 1e-9)
    assert_same(N, -N.T)


@for_arms
def test_printed_gravity_and_equations_of_motion_and_the_compiled_ones(arm):
    found, n = solution(arm), solution(arm).robot.n
    assert_same(found.entries("g", "Its derivatives", "g", (n,)), found.robot.gravity(found.q))
    tau = found.robot.inverse_dynamics(found.q, found.qd, found.qdd)
    assert_same(found.entries("motion", "Row by row", "tau", (n,)), tau)


@for_arms
def test_printed_regressor_times_printed_parameters_and_torques(arm):
    found = solution(arm)
    parameters = list(found.lines["regressor", "Parameters"].values())
    Y = found.entries("regressor", "Regressor", "y", (found.robot.n, len(parameters)))
    assert_same(Y @ parameters, found.robot.inverse_dynamics(found.q, found.qd, found.qdd))
    own = found.robot.parameters
    assert all(np.isclose(own, x, rtol=1e-12, atol=0).any() for x in parameters)


@for_arms
def test_printed_base_parameters_span_what_the_regressor_shows(arm):
    found, p = solution(arm), len(solution(arm).robot.parameters)
    printed = markdown_lines(found.exercise.solution.markdown())
    rows = [
        line.right for line in printed if (line.question, line.passage) == ("Base parameters", "Combinations")
    ]
    readers = [LatexReader(found.spelled(LATEX, unit)) for unit in np.eye(p)]
    combinations = np.array([[read(row) for read in readers] for row in rows])
    free = np.flatnonzero(found.robot.parameters)
    states = np.random.default_rng(1).uniform(-2, 2, (3, 100, found.robot.n))
    Y = found.robot.regressor(*states).reshape(-1, p)[:, free]
    lengths = np.where(Y.any(0), np.linalg.norm(Y, axis=0), 1)
    Y, rows_of = Y / lengths, combinations[:, free] / lengths
    both = np.vstack([Y, rows_of / np.linalg.norm(rows_of, axis=1, keepdims=True)])
    assert len(rows) == rank(Y) == rank(both)
    written = found.lines["base", "In the symbols of the description"].values()
    assert_same(list(written), combinations @ found.robot.parameters)


def rank(M):
    return np.linalg.matrix_rank(M, tol=1e-9)


@for_arms
def test_printed_forward_recursion_and_derivatives_of_poses(arm):
    """ω, ω̇, p̈ − g₀ of frames and centres of mass by Jacobians, of rotors by differences."""
    found, robot = solution(arm), solution(arm).robot
    q, qd, qdd = found.q, found.qd, found.qdd
    g0 = numbers(robot, robot.model.gravity)

    def rate(J, link, **given):
        """d/dt J(q) q̇."""
        return J(q, link, **given) @ qdd + gradient(lambda x: J(x, link, **given) @ qd, q) @ qd

    for i, (link, body) in enumerate(zip(robot.model.moving, robot.mechanism.bodies, strict=True), 1):
        lines = found.lines["newton-euler", f"Forward recursion: link {i} ({link.name})"]
        R, com = robot.pose(q, link.name)[:3, :3], [float(x) for x in body.inertia.com]
        frame, centre = (rate(robot.jacobian, link.name, at=at) for at in ("frame", com))
        above = f"^{{{i}}}"
        assert_same(vector(lines, rf"\omega_{{{i}}}{above}"), R.T @ robot.jacobian(q, link.name)[3:] @ qd)
        assert_same(vector(lines, rf"\dot\omega_{{{i}}}{above}"), R.T @ frame[3:], 1e-9)
        assert_same(vector(lines, rf"\ddot p_{{{i}}}{above}"), R.T @ (frame[:3] - g0), 1e-9)
        assert_same(vector(lines, rf"\ddot p_{{C_{{{i}}}}}{above}"), R.T @ (centre[:3] - g0), 1e-9)
        rotors = [x for x in lines if rf"\omega_{{m_{{{i}}}}}" in x]
        assert bool(rotors) == bool(link.motor)
        if link.motor:
            _, carrier, *_ = found.moved(link.motor.carrier, np.zeros(3))
            turned = rate(robot.rotor_jacobian, link.name)[3:]
            name = rotors[0].removeprefix("{[").partition("]}")[0]
            assert_same(vector(lines, name), carrier.T @ turned, 1e-9)


@for_arms
def test_printed_recursion_and_wrenches_between_links(arm):
    found, n = solution(arm), solution(arm).robot.n
    state = found.q, found.qd, found.qdd
    wrenches, tau = found.robot.joint_wrenches(*state), found.robot.inverse_dynamics(*state)
    for i in range(n):
        title = next(
            x
            for q, x in found.lines
            if q == "newton-euler" and x.startswith(f"Backward recursion: link {i + 1}")
        )
        lines = found.lines["newton-euler", title]
        assert_same(lines[rf"\tau_{{{i + 1}}}"], tau[i])
        index = rf"_{{{i + 1}}}^{{{i + 1}}}"
        assert_same(vector(lines, f"f{index}"), wrenches[i, :3])
        assert_same(vector(lines, rf"\mu{index}"), wrenches[i, 3:])


def vector(lines, name):
    """A vector on one line, or on three."""
    if name in lines:
        return np.ravel(lines[name])
    return [lines[f"{{[{name}]}}_{axis}"] for axis in "xyz"]


@for_arms
def test_printed_torques_and_newton_euler_at_the_printed_state(arm):
    found = solution(arm)
    asked = re.search(r"Compute the torques for (.*), in SI", found.exercise.sheet.markdown())[1]
    state = [
        [eval(x.replace("−", "-").replace("π", "*math.pi").replace("-*", "-")) for x in vector.split(", ")]
        for vector in re.findall(r"\((.*?)\)", re.sub(r"(?<!\d)π", "1π", asked))
    ]
    tau = found.robot.inverse_dynamics(*state)
    assert_same(np.ravel(found.lines["torques", "Torques"][r"\tau"]), tau, 1e-4)
    terms = found.lines["torques", "The terms in numbers"]
    equations = found.exercise.case.equations
    assert_same(terms["B(q)"], equations.B.value(q=state[0]), 1e-4)
    assert_same(terms[r"C(q, \dot q)"], equations.C.value(q=state[0], qd=state[1]), 1e-4)
    assert_same(np.ravel(terms["g(q)"]), equations.g.value(q=state[0]), 1e-4)


@for_arms
def test_every_passage_of_the_page_is_worth_what_that_of_the_markdown_is(arm):
    """What is too wide for a row stands entry by entry, which may be so in one of them alone."""
    found, worth = solution(arm), []
    page, text = (
        page_lines(found.exercise.solution.html()),
        markdown_lines(found.exercise.solution.markdown()),
    )
    for lines, read in (
        (page, MathmlReader(found.spelled(MATHML))),
        (text, LatexReader(found.spelled(LATEX))),
    ):
        passages = {}
        for line in lines:
            entries = passages.setdefault((line.question, line.passage), [])
            entries += [x for x in np.ravel(read(line.right)) if x]
        worth.append(passages)
    assert list(worth[0]) == list(worth[1])
    for name, entries in worth[0].items():
        assert_same(sorted(entries), sorted(worth[1][name]))


@pytest.mark.parametrize("seed", [101, *map(slowly, (100, *range(102, 110)))])
def test_printed_solutions_and_lagrange_in_sympy_from_the_description(seed):
    """Of ten further arms: nothing is shared with armdyn but the description as it is written."""
    found, n = Solution(random_arm(seed), seed), random_arm(seed).n
    T, U, B, C, g, tau = lagrange(tomllib.loads(found.robot.to_toml()))(found.q, found.qd, found.qdd)
    sums = found.lines["energies", "Their sums"]
    assert_same([sums["T"], sums["U"]], [T, U])
    assert_same(found.entries("B", "Their sum", "b", (n, n)), B)
    assert_same(found.entries("C", "Their sums", "c", (n, n)), C)
    assert_same(found.entries("g", "Its derivatives", "g", (n,)), g[:, 0])
    assert_same(found.entries("motion", "Row by row", "tau", (n,)), tau[:, 0])
    parameters = list(found.lines["regressor", "Parameters"].values())
    assert_same(found.entries("regressor", "Regressor", "y", (n, len(parameters))) @ parameters, tau[:, 0])


def lagrange(table):
    """T, U, B, C, g, τ of a chain in standard DH with motors at its joints, as a function of q, q̇, q̈."""
    known = {name: sympy.Rational(str(x)) for name, x in table["symbols"].items()}
    n = len(table["link"])
    q, qd, qdd = (sympy.symbols(f"{name}1:{n + 1}") for name in ("q", "v", "a"))
    pose, w, T, U = sympy.eye(4), sympy.zeros(3, 1), 0, 0
    g0 = sympy.Matrix([number_of(x, known) for x in table["gravity"]])
    for i, link in enumerate(table["link"]):
        z, carrier, w_carrier = pose[:3, 2], pose, w
        turning = link["joint"] == "revolute"
        a, alpha, d, theta = (number_of(link[key], known) for key in ("a", "alpha", "d", "theta"))
        pose = pose * dh(a, alpha, d + (0 if turning else q[i]), theta + (q[i] if turning else 0))
        w = w + z * qd[i] if turning else w
        own = {key: number_of(x, known) for key, x in link.get("inertia", {}).items()}
        I = sympy.Matrix(3, 3, lambda r, c, own=own: own.get("".join(sorted("xyz"[r] + "xyz"[c])), 0))
        p = pose[:3, 3] + pose[:3, :3] * sympy.Matrix([number_of(x, known) for x in link["com"]])
        seen = pose[:3, :3].T * w
        m = number_of(link["mass"], known)
        T, U = T + m * square(speed(p, q, qd)) / 2 + (seen.T * I * seen)[0] / 2, U - m * (g0.T * p)[0]
        if motor := link.get("motor"):
            assert motor.keys() <= {"gear", "inertia", "mass"}
            gear, axial, m = (number_of(motor.get(key, 0), known) for key in ("gear", "inertia", "mass"))
            T += axial * ((z.T * w_carrier)[0] + gear * qd[i]) ** 2 / 2
            T, U = T + m * square(speed(carrier[:3, 3], q, qd)) / 2, U - m * (g0.T * carrier[:3, 3])[0]
    row = sympy.Matrix([T]).jacobian(qd)
    B, g = row.jacobian(qd), sympy.Matrix([U]).jacobian(q).T
    symbols = [
        [sum(christoffel(B, q, i, j, k) * qd[k] for k in range(n)) for j in range(n)] for i in range(n)
    ]
    tau = row.jacobian(q) * sympy.Matrix(qd) + B * sympy.Matrix(qdd) - sympy.Matrix([T]).jacobian(q).T + g
    return sympy.lambdify([q, qd, qdd], [T, U, B, sympy.Matrix(symbols), g, tau])


def number_of(x, known):
    return sympy.sympify(str(x), locals=known, rational=True)


def dh(a, alpha, d, theta):
    ct, st, ca, sa = sympy.cos(theta), sympy.sin(theta), sympy.cos(alpha), sympy.sin(alpha)
    rows = [[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st], [0, sa, ca, d], [0, 0, 0, 1]]
    return sympy.Matrix(rows)


def speed(p, q, qd):
    return p.jacobian(q) * sympy.Matrix(qd)


def square(v):
    return (v.T * v)[0]


def christoffel(B, q, i, j, k):
    return (B[i, j].diff(q[k]) + B[i, k].diff(q[j]) - B[j, k].diff(q[i])) / 2


# ---- identities over the exact ring ------------------------------------------------------------------------


@for_arms
def test_printed_torques_and_newton_euler_over_the_ring(arm):
    """Printed rows of torques, Y π, and B q̈ + C q̇ + g from printed entries, as identities."""
    found, n = solution(arm), solution(arm).robot.n
    basis = found.exercise.case.equations.basis
    q, qd, qdd = basis.full.joint_variables()
    tau = inverse_dynamics(basis.valued_mechanism(), q, qd, qdd)
    joints = [j for j, kind in enumerate(basis.joints) if kind == "revolute"]
    sums = chain.from_iterable(combinations(joints, k) for k in range(1, n + 1))
    labels = ["".join(str(j + 1) for j in summed) for summed in sums]
    spelled = {LATEX.generator(name, basis): basis.full.gen(name) for name in basis.full.names}
    spelled |= {LATEX.trig(kind, label): basis.read(kind + label) for kind in "cs" for label in labels}
    read, lines = LatexReader(spelled), {}
    for question, _, left, right in markdown_lines(found.exercise.solution.markdown()):
        if TITLES.get(question) in ("B", "C", "g", "motion", "regressor"):
            lines[TITLES[question]] = lines.get(TITLES[question], {}) | {left: read(right)}

    def entry(question, letter, *indices):
        label = ("," if max(indices) > 9 else "").join(map(str, indices))
        names = (x for x in lines[question] if f"{letter}_{{{label}}}" in x)
        return lines[question].get(next(names, ""), 0)

    count = sum(left.startswith(r"\pi_") for left in lines["regressor"])
    for i in range(n):
        row = i + 1
        assert not entry("motion", r"\tau", row) - tau[i]
        pairs = (
            (entry("regressor", "y", row, k), entry("regressor", r"\pi", k)) for k in range(1, count + 1)
        )
        assert not sum(y * pi for y, pi in pairs) - tau[i]
        terms = [entry("B", "b", row, j + 1) * qdd[j] + entry("C", "c", row, j + 1) * qd[j] for j in range(n)]
        assert not sum(terms) + entry("g", "g", row) - tau[i]


# ---- documents ---------------------------------------------------------------------------------------------


def test_page_of_the_sheet_asks_and_does_not_answer():
    found = solution(QUICK[0]).exercise
    sheet, solved = check_page(found.sheet.html()), check_page(found.solution.html())
    blanks = [x for x in sheet.all("p") if x.get("class") == "blank"]
    assert len(blanks) > len(QUESTIONS)
    assert not [x for x in solved.all("p") if x.get("class") == "blank"]
    for question in QUESTIONS.values():
        assert question.title in sheet.words
        assert question.title in solved.words
    assert {line.question for line in page_lines(found.sheet.html())} == {"The arm"}
    assert {line.question for line in markdown_lines(found.sheet.markdown())} == {"The arm"}


def test_same_seed_same_files_and_another_seed_another_arm(tmp_path):
    first, again, other = (exercise(random_arm(seed), seed=seed) for seed in (5, 5, 6))
    paths = [x.save(tmp_path / folder) for x, folder in ((first, "a"), (again, "b"), (other, "c"))]
    assert [path.name for path in paths[0]] == [
        "exercise-5.html",
        "exercise-5.md",
        "exercise-5-solution.html",
        "exercise-5-solution.md",
        "exercise-5.svg",
    ]
    for a, b, c in zip(*paths, strict=True):
        assert a.read_bytes() == b.read_bytes()
        assert a.read_bytes() != c.read_bytes()
    assert "(exercise-5.svg)" in paths[0][1].read_text("utf-8")
    planar = Robot.load("planar")
    assert exercise(planar, "torques", 1).sheet.markdown() != exercise(planar, "torques", 2).sheet.markdown()


@pytest.mark.parametrize("seeds", [range(12), slowly(range(100))])
def test_random_arms_differ_and_look_right(seeds):
    arms = [random_arm(seed) for seed in seeds]
    assert len({arm.to_toml().partition("\n")[2].partition("\n")[2] for arm in arms}) == len(arms)
    assert {arm.n for arm in arms} == {2, 3}
    assert {link.joint for arm in arms for link in arm.model.links} == {"revolute", "prismatic"}
    assert {any(link.motor for link in arm.model.links) for arm in arms} == {True, False}
    for arm in arms:
        assert arm.warnings == []
        q = np.random.default_rng(0).uniform(-1, 1, (20, arm.n))
        assert np.linalg.eigvalsh(arm.inertia(q)).min() > 0
        assert np.abs(arm.gravity(q)).max() > 0
        assert np.abs(arm.inertia(q) - arm.inertia(q[0])).max() > 0


@pytest.mark.parametrize("name", ["planar", "elastic_link", slowly("rmit2r"), slowly("elbow")])
def test_printed_terms_of_other_arms_and_the_compiled_ones(name):
    """Reflected rotors, an elastic joint, modified DH, three joints with motors."""
    robot = Robot.load(name)
    found = Solution(robot.with_rotors("reflected") if name == "planar" else robot, 1)
    robot, n, q, qd = found.robot, found.robot.n, found.q, found.qd
    total = found.lines["energies", "Their sums"]
    assert_same(total["T"], robot.kinetic_energy(q, qd))
    assert_same(total["U"], robot.potential_energy(q))
    assert_same(found.entries("B", "Their sum", "b", (n, n)), robot.inertia(q))
    parts = [
        np.array(x)
        for (question, title), lines in found.lines.items()
        for x in lines.values()
        if question == "B" and title != "Their sum"
    ]
    assert_same(sum(parts), robot.inertia(q))
    assert_same(found.entries("C", "Their sums", "c", (n, n)), robot.coriolis(q, qd))
    tau = robot.inverse_dynamics(q, qd, found.qdd)
    assert_same(found.entries("motion", "Row by row", "tau", (n,)), tau)


def test_arms_of_every_kind_get_a_sheet():
    """Relations, symbols without values, long equations."""
    names = tuple(name for name, question in QUESTIONS.items() if question.in_symbols)
    for robot, questions in (
        (Robot.load("parallelogram"), names),
        (Robot.from_dict(FREE), names),
        (Robot.load("puma560"), ("torques",)),
    ):
        found = exercise(robot, questions)
        check_page(found.solution.html())
        assert found.picture is not None or "$$" in found.solution.markdown()


# ---- what is refused ---------------------------------------------------------------------------------------


def test_robots_that_have_no_sheet_are_refused():
    with golden_error(ArmdynError):
        exercise(Robot.load("puma560"))
    with golden_error(ArmdynError):
        exercise(Robot.load("four_bar"))
    with golden_error(ArmdynError):
        exercise(Robot.from_dict(FREE), ["torques"])


def test_unknown_questions_and_seeds_are_refused():
    planar = Robot.load("planar")
    for questions in (["inertia"], [], "Bx"):
        with golden_error(ArmdynError):
            exercise(planar, questions)
    for make in (lambda: exercise(planar, seed="7"), lambda: random_arm(1.5), lambda: random_arm(True)):
        with golden_error(ArmdynError):
            make()
