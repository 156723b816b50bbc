"""The written recursion: in base axes by the book's own formulas, with numbers by the compiled functions."""

import re
import xml.etree.ElementTree as ET
from functools import cache

import numpy as np
import pytest
from hypothesis import strategies as st

from armdyn import ArmdynError, BaseMotion, Robot
from armdyn.dynamics.closures import joint_values
from armdyn.dynamics.kinematics import pose_of
from armdyn.exact import Equations
from armdyn.exact.basis import WRENCH
from armdyn.exact.form import Entry
from armdyn.exact.printing.styles import in_em, latex_width
from armdyn.exact.steps import Recursion
from armdyn.expression import MissingValueError
from armdyn.model.inertia import tensor_matrix
from armdyn.model.mechanism import FIXED_BASE
from armdyn.model.vector import (
    ZERO3,
    add,
    apply,
    apply_transposed,
    cross,
    dot,
    multiply,
    scale,
    sub,
    transpose,
)
from arms import ROTORS, bundled, generators, law, models, related, robots, slowly, state
from friction_arms import rubbing_models
from golden_messages import golden_error
from written_steps import read_steps

BASE = [f"{x}0{axis}" for x in ("w", "wd", "pdd") for axis in "xyz"]


def equations_of(model, wrench):
    return Equations.with_tip_force(model) if wrench else Equations(model)


# ---- (7.93)–(7.106) as the book has them, over the ring ----------------------------------------------------


class InBaseAxes:
    """The recursion with all vectors in base axes, formula by formula.

    Beyond the book: a link's joint may sit anywhere on its parent, links may branch, motors sit on any body.
    """

    def __init__(self, recursion):
        self.recursion, self.tree, self.frames = recursion, recursion.tree, recursion.frames
        self.qd, self.qdd = (joint_values(recursion.mechanism, x) for x in recursion.variables[1:])
        base = recursion.base
        g = apply(self.tree.R_base, self.tree.gravity)
        pd_0 = recursion._of_base("pd0")
        start = (
            base.angular_velocity,
            base.angular_acceleration,
            pd_0,
            sub(base.linear_acceleration, g),
            self.tree.p_base,
        )
        self.moving = {FIXED_BASE: start}
        self.found = {}
        for i in range(len(self.tree.bodies)):
            self.forward(i)
        self.rotors()
        for i in reversed(range(len(self.tree.bodies))):
            self.backward(i)

    def forward(self, i):
        body, at = self.tree.bodies[i], self.frames[i]
        w_p, dw_p, v_p, a_p, p_p = self.moving[body.parent]
        z, qd, qdd = at.z, self.qd[i], self.qdd[i]
        if body.joint == "prismatic":
            w, dw, r = w_p, dw_p, sub(at.p, p_p)
            v = add(v_p, scale(qd, z), cross(w, r))
            a = add(a_p, scale(qdd, z), scale(2 * qd, cross(w, z)), cross(dw, r), cross(w, cross(w, r)))
        else:
            to_joint, r = sub(at.c, p_p), sub(at.p, at.c)
            w = add(w_p, scale(qd, z))
            dw = add(dw_p, scale(qdd, z), scale(qd, cross(w_p, z)))
            v = add(v_p, cross(w_p, to_joint), cross(w, r))
            a = add(a_p, cross(dw_p, to_joint), cross(w_p, cross(w_p, to_joint)))
            a = add(a, cross(dw, r), cross(w, cross(w, r)))
        self.moving[i] = (w, dw, v, a, at.p)
        k = i + 1
        self.found |= {f"w{k}": w, f"wd{k}": dw, f"pd{k}": v, f"pdd{k}": a}
        centre = self.recursion.bodies[i][1]
        if centre is not None:
            r_C = apply(at.R, centre)
            self.found[f"pddC{k}"] = add(a, cross(dw, r_C), cross(w, cross(w, r_C)))

    def rotors(self):
        self.spins = []
        for rotor in self.tree.rotors:
            w, dw, *_ = self.moving[rotor.carrier]
            z = apply(pose_of(self.tree, self.frames, rotor.carrier)[0], rotor.axis)
            speed, acceleration = (sum((k * x[j] for j, k in rotor.row), 0) for x in (self.qd, self.qdd))
            spin = add(scale(acceleration, z), scale(speed, cross(w, z)))
            name = f"wd{'m' if rotor.part == 'rotor' else 'i'}{rotor.joint + 1}"
            self.found[name] = add(dw, spin)
            torque = rotor.inertia * (acceleration + dot(dw, z))
            self.spins.append((rotor, scale(rotor.inertia, spin), torque))

    def backward(self, i):
        tree, at, k = self.tree, self.frames[i], i + 1
        inertia, centre = self.recursion.bodies[i]
        w, dw, *_ = self.moving[i]
        # without mass there is no centre of mass: moments about the origin, and the tensor is all there is
        p_C = add(at.p, apply(at.R, centre)) if centre is not None else at.p
        f = scale(inertia.mass, self.found[f"pddC{k}"]) if centre is not None else ZERO3
        own = multiply(multiply(at.R, self.tensor(i)), transpose(at.R))
        mu = add(apply(own, dw), cross(w, apply(own, w)))
        for rotor, momentum, _ in self.spins:
            mu = add(mu, momentum) if rotor.carrier == i else mu
        for child, other in enumerate(tree.bodies):
            if other.parent == i:
                f_c, mu_c = self.found[f"f{child + 1}"], self.found[f"mu{child + 1}"]
                f, mu = add(f, f_c), add(mu, mu_c, cross(sub(self.frames[child].c, p_C), f_c))
        if tree.tip == i and self.recursion.wrench:
            f_e, mu_e = tuple(self.recursion.wrench[:3]), tuple(self.recursion.wrench[3:])
            p_e = add(at.p, apply(at.R, tree.p_tip))
            f, mu = add(f, f_e), add(mu, mu_e, cross(sub(p_e, p_C), f_e))
        mu = sub(mu, cross(sub(at.c, p_C), f))
        along = mu if tree.bodies[i].joint == "revolute" else f
        tau = dot(along, at.z)
        for rotor, _, torque in self.spins:
            tau = sum((factor * torque for j, factor in rotor.row if j == i), tau)
        self.found |= {f"f{k}": f, f"mu{k}": mu, f"tau{k}": (tau,)}

    def tensor(self, i):
        """About the centre of mass: that about the origin, less what the mass adds to it."""
        inertia, centre = self.recursion.bodies[i]
        if centre is None:
            return inertia.matrix
        x, y, z = centre
        m = inertia.mass
        steiner = (m * (y * y + z * z), -m * x * y, -m * x * z, m * (x * x + z * z), -m * y * z)
        steiner += (m * (x * x + y * y),)
        return tensor_matrix(tuple(a - b for a, b in zip(inertia.tensor, steiner, strict=True)))


def quantities(recursion):
    """What is written, by its name in the text; of torques only those of links."""
    found = {}
    for part in recursion.parts():
        if not part.title.startswith(("Initial", "Terminal", "Torques")):
            for quantity in part.quantities:
                label = quantity.labels[0]
                found[f"{label.key}{label.index}"] = quantity.entries
    return found


def assert_identical(ring, found, expected):
    differing = {
        name: [str(ring.zero + x - y) for x, y in zip(found[name], expected[name], strict=True)]
        for name in found
        if any(ring.zero + x - y for x, y in zip(found[name], expected[name], strict=True))
    }
    assert differing == {}


def check_base_axes(equations, base):
    """What is written in base axes, by the book's formulas; and turned into links, what is written there."""
    recursion = Recursion(equations, base, "base")
    found, ring = quantities(recursion), recursion.ring
    torques = {name: found.pop(name) for name in list(found) if name.startswith("tau")}
    expected = InBaseAxes(recursion).found
    assert found.keys() >= {f"{x}{i + 1}" for x in ("w", "pd", "wd", "pdd", "f", "mu") for i in range(1)}
    assert_identical(ring, found, expected)
    assert_identical(
        ring,
        {f"tau{i + 1}": (x,) for i, x in enumerate(recursion.motion.tau)},
        {name: x for name, x in expected.items() if name.startswith("tau")},
    )
    in_links = quantities(Recursion(equations, base))
    turned = {}
    for name, entries in found.items():
        if not name.startswith(("pd", "wdm", "wdi")) or name.startswith("pdd"):
            i = int(re.search(r"\d+$", name)[0]) - 1
            turned[name] = [ring.zero + x for x in apply_transposed(recursion.frames[i].R, entries)]
    for name, entries in (turned | torques).items():
        for x, y in zip(entries, in_links[name], strict=True):
            assert ring.zero + x == ring.include(ring.zero + y if isinstance(y, int) else y), name


@law(models((1, 2)), st.booleans(), st.booleans(), examples=4, thorough=40)
def test_base_axes_by_the_books_formulas_and_by_turning_the_links_axes(model, wrench, base):
    check_base_axes(equations_of(model, wrench), base)


@law(models(3, tree=False), st.booleans(), examples=2, thorough=12)
def test_base_axes_of_three_joints(model, wrench):
    check_base_axes(equations_of(model, wrench), False)


@law(models((2, 3)), st.integers(0, 99), examples=2, thorough=12)
def test_base_axes_where_joints_are_related(model, seed):
    check_base_axes(equations_of(related(model, seed, whole=True), True), False)


NAMED = ["planar", "pr", "cartesian45", "elbow", "parallelogram", "elastic_link", slowly("scara")]


@pytest.mark.parametrize("name", NAMED)
def test_base_axes_in_the_symbols_of_augmented_links(name):
    check_base_axes(Robot.load(name).equations(wrench=True), name in ("planar", "pr", "cartesian45"))


def test_base_axes_are_those_of_the_world_where_the_base_stands_elsewhere():
    robot = Robot.load("planar")
    table = robot.to_dict() | {"base": {"xyz": [1, 2, 0.5], "rpy": ["pi/2", 0.3, 0]}}
    check_base_axes(Robot.from_dict(table).equations(wrench=True), True)


# ---- the tip force -----------------------------------------------------------------------------------------


@law(models((1, 3)), examples=4, thorough=40)
def test_torques_with_the_tip_force_are_those_by_lagrange(model):
    equations = equations_of(model, True)
    recursion = Recursion(equations)
    for tau, expected in zip(recursion.tau, equations.tau, strict=True):
        assert Entry(recursion.basis, recursion.ring.zero + tau) == expected


def test_terminal_conditions_are_the_tip_force_in_the_axes_of_the_last_link():
    steps = read_steps(Robot.load("planar").equations(wrench=True).steps())
    assert steps["f3"].formulas == ["fx*c12 + fy*s12", "-fx*s12 + fy*c12", "fz"]
    assert steps["mu3"].formulas == ["mux*c12 + muy*s12", "-mux*s12 + muy*c12", "muz"]
    assert "r2,3" not in steps
    assert "f3" not in read_steps(Robot.load("planar").equations().steps())
    with_tool = Robot.load("planar").with_tip("link 2", [0.1, 0, 0])
    assert read_steps(with_tool.equations(wrench=True).steps())["r2,3"].formulas == ["0.1", "0", "0"]


# ---- numbers -----------------------------------------------------------------------------------------------


def check_numbers(robot, rng, wrench=True, base=False, **choices):
    """f, μ and τ as they are written beside the symbols, by the compiled functions."""
    q, qd, qdd = state(robot, rng)
    h, motion = rng.uniform(-9, 9, 6), rng.uniform(-2, 2, 9)
    at = {"q": q, "qd": qd, "qdd": qdd}
    at |= dict(zip(WRENCH, h, strict=True)) if wrench else {}
    at |= dict(zip(BASE, motion, strict=True)) if base else {}
    steps = read_steps(robot.equations(wrench=wrench).steps(base=base, at=at, **choices))
    given = {"wrench": h} if wrench else {}
    moving = {"base": BaseMotion(motion[:3], motion[3:6], motion[6:])} if base else {}
    tau = robot.inverse_dynamics(q, qd, qdd, **given, **moving)
    assert_close([steps[f"tau{i + 1}"].amounts[0] for i in range(robot.n)], tau)
    if not base:
        wrenches = robot.joint_wrenches(q, qd, qdd, **given)
        for i, expected in enumerate(wrenches):
            moment = "n" if "notation" in choices else "mu"
            assert_close([*steps[f"f{i + 1}"].amounts, *steps[f"{moment}{i + 1}"].amounts], expected)
    return steps


def assert_close(found, expected):
    """To the six digits that are written."""
    np.testing.assert_allclose(found, expected, rtol=6e-6, atol=1e-9 * max(1, np.abs(expected).max()))


FEW = ["planar", "rp", "elbow", "parallelogram", "elastic_link"]
MORE = ["pendulum", "cartesian", "cartesian45", "pr", "scara", "stanford", "planar3", "rmit2r", "puma560"]


@pytest.mark.parametrize("name", [*FEW, *map(slowly, MORE)])
def test_numbers_of_bundled_robots(name):
    check_numbers(bundled(name), np.random.default_rng(3))


@pytest.mark.parametrize(
    "name", [*FEW, *map(slowly, MORE[:-1])]
)  # a page of the PUMA's has a million letters
def test_numbers_of_bundled_robots_on_a_moving_base(name):
    check_numbers(bundled(name), np.random.default_rng(3), base=True)


@pytest.mark.parametrize("name", ["planar", slowly("puma560"), slowly("elbow")])
def test_numbers_in_craigs_letters_of_a_chain_in_modified_dh(name):
    """Frames at their joints: then the moments are those that the joints bear."""
    check_numbers(bundled(name).in_dh("mdh"), np.random.default_rng(3), notation="craig")


def test_numbers_of_a_tip_force_that_was_replaced():
    equations = (
        Robot.load("rmit2r").equations(wrench=True).substitute(fx=3, fy="-F", fz=0, mux=0, muy=0, muz=1)
    )
    steps = read_steps(equations.steps(at={"q": [0.2, 1], "qd": [1, 2], "qdd": [3, 4], "F": 2}))
    wrench = [3, -2, 0, 0, 0, 1]
    tau = Robot.load("rmit2r").inverse_dynamics([0.2, 1], [1, 2], [3, 4], wrench)
    assert_close([steps[f"tau{i + 1}"].amounts[0] for i in range(2)], tau)


@law(models((1, 2), rotors=ROTORS), generators(), st.booleans(), examples=4, thorough=40)
def test_numbers_of_random_arms(model, rng, base):
    check_numbers(Robot(model), rng, base=base)


@law(rubbing_models((1, 2)), generators(), st.booleans(), examples=4, thorough=20)
def test_numbers_where_friction_depends_on_the_load(model, rng, base):
    check_numbers(Robot(model), rng, base=base)


def test_numbers_with_an_idler():
    robot = Robot.load("elbow").with_motors({"forearm": {"coupling": {"upper arm": 3}}})
    locked = robot.locked({"forearm": "pi/3"})
    steps = check_numbers(locked, np.random.default_rng(5))
    assert steps["wdi1"].number == "7.111"


def test_torques_do_not_depend_on_axes_and_letters():
    robot, rng = Robot.load("rmit2r"), np.random.default_rng(7)
    q, qd, qdd = state(robot, rng)
    ways = ({}, {"frame": "base"}, {"notation": "craig"})
    found = [read_steps(robot.equations().steps(at=(q, qd, qdd), **way)) for way in ways]
    tau = robot.inverse_dynamics(q, qd, qdd)
    for steps in found:
        assert_close([steps[f"tau{i + 1}"].amounts[0] for i in range(2)], tau)


@law(robots((1, 2), motors="none", friction=False, plates=False), generators(), examples=3, thorough=20)
def test_craigs_iteration_by_its_own_formulas(robot, rng):
    """F, N, f, n in numbers, of links whose frames sit at their joints."""
    q, qd, qdd = state(robot, rng)
    steps = read_steps(robot.equations().steps(notation="craig", at=(q, qd, qdd)))
    wrenches = robot.joint_wrenches(q, qd, qdd)
    for i, body in enumerate(robot.mechanism.bodies):
        F, w, dw = (np.array(steps[f"{x}{i + 1}"].amounts) for x in ("F", "w", "wd"))
        inertia = body.inertia
        assert_close(F, float(inertia.mass) * np.array(steps[f"vdC{i + 1}"].amounts))
        I_C = np.array(tensor_matrix(inertia.tensor_at_com), float)
        N = I_C @ dw + np.cross(w, I_C @ w)
        np.testing.assert_allclose(steps[f"N{i + 1}"].amounts, N, atol=1e-4 * max(1, np.abs(N).max()))
        assert_close(steps[f"f{i + 1}"].amounts, wrenches[i][:3])
        if body.joint == "prismatic":  # the book's moment is about the joint's place, Craig's about the frame
            slid = q[i] * np.array(body.axis, float) @ np.array(body.R_after, float)
            moment = wrenches[i][3:] - np.cross(slid, wrenches[i][:3])
        else:
            moment = wrenches[i][3:]
        np.testing.assert_allclose(
            steps[f"n{i + 1}"].amounts, moment, atol=1e-4 * max(1, np.abs(wrenches[i]).max())
        )


# ---- how it is written -------------------------------------------------------------------------------------


AT = ([0.3, "pi/2"], [1, -2], [0, 3])


@cache
def planar(wrench=False):
    return Robot.load("planar").equations(wrench=wrench)


@pytest.mark.parametrize(
    ("frame", "numbers"),
    [
        ("link", "7.107 7.108 7.109 7.110 7.111 7.112 7.113 7.114"),
        ("base", "7.93 7.94 7.100 7.101 7.102 7.103 7.104 7.105 7.106"),
    ],
)
@pytest.mark.parametrize("form", ["text", "latex", "markdown", "mathml"])
def test_every_step_has_the_number_of_its_equation(form, frame, numbers):
    written = planar().steps(form, frame=frame)
    pattern = r"\\tag\{(7\.\d+)\}" if form in ("latex", "markdown") else r"\((7\.\d+)\)"
    found = re.findall(pattern, written)
    assert set(found) == set(numbers.split())
    assert len(found) == 2 * len(numbers.split())


@pytest.mark.parametrize("form", ["text", "latex", "markdown", "mathml"])
def test_numbers_stand_beside_symbols_in_every_form(form):
    written = planar().steps(form, at=AT)
    plain = re.sub(r"<[^>]*>|&|\s", "", written)
    assert "=320.024" in plain
    assert "=747.772" in plain
    assert planar().steps(form) != written


def test_the_state_and_the_symbols_come_first():
    text = planar().steps(at=AT)
    assert text.index("State") < text.index("q = [0.3, 1.5708]") < text.index("ml1 = 50") < text.index("w1 =")
    other = planar().steps(at={"q": AT[0], "qd": AT[1], "qdd": AT[2], "ml2": 7, "g": "98/10"})
    assert "ml2 = 7\n" in other
    assert "[m2] = ml2 = 7\n" in other
    assert "g = 9.8\n" in other


@pytest.mark.parametrize("name", ["planar", slowly("scara"), slowly("elbow")])
@pytest.mark.parametrize("choices", [{}, {"frame": "base"}, slowly({"base": True})])
@pytest.mark.parametrize("width", ["16cm", "8.8cm"])
def test_rows_and_their_numbers_fit_the_page(name, choices, width):
    robot = bundled(name)
    at = {"q": [0.3] * robot.n, "qd": [1] * robot.n, "qdd": [-2] * robot.n}
    at |= dict.fromkeys(BASE, 1) if "base" in choices else {}
    latex = robot.equations().steps("latex", width, at=at, **choices)
    for block in re.findall(r"\\begin\{align\*\}\n(.*?)\n\\end\{align\*\}", latex, re.DOTALL):
        pairs = [row.split("&") for row in block.split(" \\\\\n")]
        left = max(latex_width(x.strip()) for x, _ in pairs)
        for _, right in pairs:
            formula, *tag = right.split(r" \tag{")
            assert left + latex_width(formula) + (latex_width("(7.107)") + 0.5 if tag else 0) <= in_em(width)


@pytest.mark.parametrize("choices", [{}, {"frame": "base"}, {"base": True, "wrench": True}, {"craig": True}])
def test_mathml_is_well_formed(choices):
    robot = Robot.load("rmit2r" if "craig" in choices else "planar")
    options = {"frame": choices.get("frame", "link"), "base": choices.get("base", False)}
    options["notation"] = "craig" if "craig" in choices else "book"
    written = robot.equations(wrench="wrench" in choices).steps("mathml", **options)
    root = ET.fromstring(f"<root>{written}</root>")
    children = {"msub": 2, "msup": 2, "mfrac": 2, "mover": 2, "msubsup": 3}
    for node in root.iter():
        assert len(node) == children.get(node.tag, len(node)), ET.tostring(node)
    assert len(list(root.iter("mtable"))) > 8


def test_letters_of_a_moving_base_and_of_craig():
    latex = planar(True).steps("latex", base=True)
    assert r"\omega_0^0 &= \begin{bmatrix} \omega_{0x} \\ \omega_{0y} \\ \omega_{0z} \end{bmatrix}" in latex
    assert r"\dot{\omega}_{0z} + \ddot{\vartheta}_{1}" in latex
    assert r"\ddot{p}_{0x}" in latex
    assert r"f_{3}^{3} &= \begin{bmatrix} f_{x} c_{12} + f_{y} s_{12}" in latex
    craig = Robot.load("rmit2r").equations().steps("latex", notation="craig")
    assert r"{}^0\dot v_0 &=" in craig
    assert r"{}^{2}\dot v_{C_{2}}" in craig
    assert r"{}^{1}N_{1} &= \begin{bmatrix} 0 \\ 0 \\ 0 \end{bmatrix}" in craig
    assert "tag" not in craig
    base = planar().steps("latex", frame="base")
    assert r"\dot\omega_{2} &=" in base
    assert r"\dot p_{1} &=" in base


def test_vectors_in_base_axes_turn_about_z_alone():
    steps = read_steps(planar().steps(frame="base"))
    assert steps["w2"].formulas == ["0", "0", "qd1 + qd2"]
    assert steps["pd1"].formulas == ["-a1*s1*qd1", "a1*c1*qd1", "0"]
    assert steps["f1"].number == "7.104"


# ---- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "choices",
    [
        {"form": "word"},
        {"frame": "tool"},
        {"notation": "asada"},
        {"notation": "craig"},
        {"notation": "craig", "frame": "base"},
        {"base": 1},
        {"at": [1, 2]},
        {"at": 3},
        {"at": ([0, 0, 0], [0, 0], [0, 0])},
        {"at": {"q": [0, 0], "qd": [0, 0], "qdd": [0, 0], "mass": 3}},
        {"at": ([0, 0], [0, 0], [0, "fast"])},
        {"at": {"q": [0, 0], "qd": [0, 0], "qdd": [0, 0], "ml2": 0}},
    ],
    ids=lambda x: "-".join(f"{k}={v}" for k, v in x.items()),
)
def test_refusals(choices):
    with golden_error(ArmdynError):
        planar().steps(**choices)


def test_symbols_without_values_are_named_at_once():
    with pytest.raises(MissingValueError, match=r"for fx, fy, fz, mux, muy, muz$"):
        planar(True).steps(at=AT)
    table = Robot.load("planar").to_dict()
    free = Robot.from_dict(table | {"symbols": dict.fromkeys(table["symbols"], "free")})
    with pytest.raises(MissingValueError) as caught:
        free.equations(wrench=True).steps(at={"q": [0, 0], "qd": [0, 0]})
    for name in ("ml1", "Il2", "mm2", "fx", "qdd1", "qdd2"):
        assert name in str(caught.value)


def test_a_symbol_of_the_base_that_is_taken():
    table = Robot.load("planar").to_dict()
    symbols = table["symbols"] | {"w0x": 1}
    robot = Robot.from_dict(table | {"symbols": symbols})
    with golden_error(ArmdynError):
        robot.equations().steps(base=True)
    assert robot.equations().steps()
