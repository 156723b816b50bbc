"""A chain in any description, and the same in standard and modified Denavit–Hartenberg parameters."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import reject
from scipy.spatial.transform import Rotation

from armdyn import ArmdynError, Robot, backend
from armdyn.description import bundled_table
from armdyn.description.dh_form import inverse
from armdyn.expression import Expression, parse
from armdyn.model import Transform
from armdyn.model.vector import apply
from arms import (
    ROTORS,
    assert_same,
    generators,
    in_suites,
    law,
    model_of,
    open_chains,
    plans,
    quietly,
    state,
    table_of,
)
from golden_messages import golden_error

CONVENTIONS = ("dh", "mdh")


def matrix(robot, T):
    """A transform of the model as a 4×4 array."""
    found = np.eye(4)
    found[:3, :3] = [[robot.model.number(x) for x in row] for row in T.R]
    found[:3, 3] = [robot.model.number(x) for x in T.p]
    return found


def world_pose(robot, q, link=None):
    """The tip's (or a link's) frame in the world, from the description alone."""
    model, left = robot.model, list(q)
    frames = {model.root: matrix(robot, model.base)}
    for part in model.links:
        moved = np.eye(4)
        if part.joint != "fixed":
            axis, x = np.array([model.number(e) for e in part.axis]), left.pop(0)
            if part.joint == "revolute":
                moved[:3, :3] = Rotation.from_rotvec(axis * x).as_matrix()
            else:
                moved[:3, 3] = axis * x
        frames[part.name] = (
            frames[part.parent] @ matrix(robot, part.before) @ moved @ matrix(robot, part.after)
        )
    return frames[link] if link else frames[model.tip] @ matrix(robot, model.tool)


def assert_same_robot(found, robot, rng, tolerance=1e-10):
    q, qd, qdd = state(robot, rng)
    with backend("evaluator"):
        assert_same(found.inertia(q), robot.inertia(q), tolerance)
        assert_same(found.gravity(q), robot.gravity(q), tolerance)
        assert_same(found.coriolis(q, qd), robot.coriolis(q, qd), tolerance)
        h = rng.uniform(-5, 5, 6)  # in the axes of the world, as poses and Jacobians are
        assert_same(found.inverse_dynamics(q, qd, qdd, h), robot.inverse_dynamics(q, qd, qdd, h), tolerance)
        assert_same(found.pose(q), robot.pose(q), tolerance)
        assert_same(found.jacobian(q), robot.jacobian(q), tolerance)
        assert_same(found.potential_energy(q), robot.potential_energy(q), tolerance)
    assert_same(world_pose(found, q), world_pose(robot, q), tolerance)
    for link in robot.model.links:
        if link.joint == "fixed":
            assert_same(world_pose(found, q, link.name), world_pose(robot, q, link.name), tolerance)


def product_of_rows(table, q):
    """base · A_1 … A_n · tool from the numbers of the table alone."""

    def turn(axis, angle):
        T, (i, j) = np.eye(4), ((1, 2), (0, 1))[axis == "z"]
        T[i, i], T[i, j], T[j, i], T[j, j] = np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)
        return T

    def shift(x, z):
        T = np.eye(4)
        T[:3, 3] = x, 0, z
        return T

    def number(x):
        return Expression.of(x).value(table.values)

    def plain(T):
        found = np.eye(4)
        found[:3, :3] = [[number(x) for x in row] for row in T.R]
        found[:3, 3] = [number(x) for x in T.p]
        return found

    T = plain(table.base)
    for row, (a, alpha, d, theta), x in zip(table.rows, table.array(), q, strict=True):
        slides = row.joint == "prismatic"
        screw = turn("z", theta + (0 if slides else x)) @ shift(0, d + (x if slides else 0))
        reach = shift(a, 0) @ turn("x", alpha)
        T = T @ (screw @ reach if table.convention == "dh" else reach @ screw)
    return T @ plain(table.tool)


BASE = {"xyz": [1, "1/3", -2], "rpy": [0.3, 0.2, "pi/4"]}


@law(plans((1, 6), tree=False, rotors=ROTORS), generators(), examples=8, thorough=60)
def test_frames_and_dh_and_back(plan, rng):
    """Full tensors, sliding joints, plates between, motors anywhere, any axes and angles, a turned base."""
    robot = Robot.from_dict(table_of(plan) | {"base": BASE})
    for convention, other in (CONVENTIONS, CONVENTIONS[::-1]):
        found = robot.in_dh(convention)
        assert_same_robot(found, robot, rng)
        assert found.in_dh(convention) == found
        assert_same_robot(found.in_dh(other), robot, rng)
        q = rng.uniform(-2, 2, robot.n)
        assert_same(product_of_rows(robot.dh_table(convention), q), world_pose(robot, q), 1e-10)


@law(plans((1, 5), tree=False), generators(), examples=8, thorough=60)
def test_rational_arms_and_dh(plan, rng):
    """Transforms on both sides of the joints, and rotations by no angle that has a name."""
    robot = Robot(model_of(plan))
    for convention in CONVENTIONS:
        assert_same_robot(robot.in_dh(convention), robot, rng)


def axis_aligned(plan):
    """The plan with quarter turns only and axes along the frames'."""
    table = table_of(plan, turned=False)
    rng = np.random.default_rng(plan.seed)
    quarters = ["0", "pi/2", "-pi/2", "pi"]
    for link in table["link"]:
        link["origin"]["rpy"] = [str(x) for x in rng.choice(quarters, 3)]
        if link["joint"] != "fixed":
            link["axis"] = [int(x) for x in rng.permutation([0, 0, int(rng.choice([-1, 1]))])]
        only = rng.integers(3)  # so that normals of parallel axes point along an axis, too
        link["origin"]["xyz"] = [x if i == only else 0 for i, x in enumerate(link["origin"]["xyz"])]
    return Robot.from_dict(table)


@law(plans((1, 3), tree=False, plates=False), generators(), examples=8, thorough=40)
def test_equations_of_arms_with_quarter_turns_and_of_their_dh_forms(plan, rng):
    """Exact: the same polynomials, term by term. And the table is free of decimals."""
    robot = quietly(lambda: axis_aligned(plan))
    expected = robot.equations()
    for convention in CONVENTIONS:
        table = robot.dh_table(convention)
        for row in table.rows:
            quarters = (row.alpha / Expression.pi()).number * 2
            assert quarters.denominator == 1
        if table.notes:  # a root of a long number between sliding joints
            reject()
        found = robot.in_dh(convention).equations()
        assert str(found.B) == str(expected.B)
        assert str(found.g) == str(expected.g)
        assert str(found.C) == str(expected.C)
        assert_same_robot(robot.in_dh(convention), robot, rng, 1e-12)


def in_dh_already(convention):
    return [name for name in open_chains() if bundled_table(name)["convention"] == convention]


@pytest.mark.parametrize(
    ("convention", "name"), [(c, name) for c in CONVENTIONS for name in in_dh_already(c)]
)
def test_bundled_robots_and_their_own_tables(convention, name):
    robot, file = Robot.load(name), bundled_table(name)
    table = robot.dh_table(convention)
    symbols = {symbol for symbol, _ in robot.model.symbols}

    def exact(value):
        return parse(value, symbols) if isinstance(value, str) else Expression.of(value)

    moving = [link for link in file["link"] if link["joint"] != "fixed"]
    for row, link in zip(table.rows, moving, strict=True):
        found = (row.a, row.alpha, row.d, row.theta)
        assert found == tuple(exact(link.get(key, 0)) for key in ("a", "alpha", "d", "theta")), link
    assert (table.base, table.notes) == (Transform(), ())
    assert robot.in_dh(convention) == robot


@pytest.mark.parametrize("name", in_suites(open_chains()))
def test_bundled_robots_in_either_convention(name):
    robot = Robot.load(name)
    for convention in CONVENTIONS:
        assert (robot.dh_table(convention).notes == ()) == (name != "so101")  # whose links are no whole mm
        assert_same_robot(robot.in_dh(convention), robot, np.random.default_rng(3), 1e-12)


JOINTS = (
    ([0, 0, 0.1273], [0, 0, 0], [0, 0, 1]),
    ([0, 0.220941, 0], [0, "pi/2", 0], [0, 1, 0]),
    ([0, -0.1719, 0.612], [0, 0, 0], [0, 1, 0]),
    ([0, 0, 0.5723], [0, "pi/2", 0], [0, 1, 0]),
    ([0, 0.1149, 0], [0, 0, 0], [0, 0, 1]),
    ([0, 0, 0.1157], [0, 0, 0], [0, 1, 0]),
)


def test_ur10_in_frames_and_the_published_table():
    """The joints as URDF writes them, each turning about an axis of its own frame, the tip a fixed link.

    Universal Robots' table starts from a base turned by π about z, so one θ is π here and a has other signs.
    """
    flange = {"name": "tool0", "joint": "fixed"}
    flange["origin"] = {"xyz": [0, 0.0922, 0], "rpy": ["-pi/2", 0, 0]}
    robot = chain(*(joint(*row) for row in JOINTS), flange)
    table = robot.dh_table()
    published = bundled_table("ur10")["link"]
    assert [abs(row.a) for row in table.rows] == [abs(Expression.of(link["a"])) for link in published]
    assert [row.d for row in table.rows] == [Expression.of(link["d"]) for link in published]
    assert [abs(row.alpha.value()) for row in table.rows] == [
        abs(parse(str(link["alpha"]), ()).value()) for link in published
    ]
    assert [str(row.theta) for row in table.rows] == ["0"] * 5 + ["pi"]
    assert (table.base, table.tool, table.notes) == (Transform(), Transform(), ())


def quarter_turned(model, rng):
    """The same robot with every link frame turned by quarters and moved, as another author might place it."""

    def any_frame():
        T = Transform()
        for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
            T = T @ Transform.rotation(axis, Expression.pi() * Fraction(int(rng.integers(4)), 2))
        return T @ Transform.translation(
            *(Expression.of(Fraction(int(x), 10)) for x in rng.integers(-5, 5, 3))
        )

    new = {link.name: any_frame() for link in model.links} | {model.root: Transform()}
    links = []
    for link in model.links:
        T, motor = inverse(new[link.name]), link.motor
        if motor is not None:
            back = inverse(new[motor.carrier])
            position = (back @ Transform(p=motor.position)).p
            motor = replace(motor, axis=apply(back.R, motor.axis), position=position)
        before, after = inverse(new[link.parent]) @ link.before, link.after @ new[link.name]
        body = link.inertia.placed(T.R, T.p)
        links.append(replace(link, before=before, after=after, inertia=body, motor=motor))
    tool = inverse(new[model.tip]) @ model.tool
    return replace(model, links=tuple(links), tool=tool)


@pytest.mark.parametrize("name", in_suites(in_dh_already("dh")))
def test_equations_of_robots_in_other_frames_and_in_their_published_dh(name):
    """Converted back, the equations have no more terms than the published form, and are the same."""
    published = Robot.load(name)
    rng = np.random.default_rng(5)
    found = Robot(quarter_turned(published.model, rng))
    assert_same_robot(found, published, rng, 1e-12)
    converted = found.in_dh()
    assert converted.dh_table().notes == ()
    assert converted.equations().terms <= published.equations().terms
    assert converted.symbolic().equations().terms <= published.symbolic().equations().terms
    if published.n <= 3:
        assert str(converted.equations().B) == str(published.equations().B)


def planar_in_frames():
    """Two links along z of their frames, turning about y, with symbols."""
    link = {"joint": "revolute", "axis": [0, 1, 0], "inertia": {"yy": "I1"}}
    return Robot.from_dict(
        {
            "name": "planar",
            "convention": "frames",
            "gravity": [0, 0, "-g"],
            "symbols": {"g": "free", "a1": "free", "m1": "free", "l1": "free", "I1": "free"},
            "link": [
                link | {"origin": {"xyz": [0, 0, 0]}, "mass": "m1", "com": [0, 0, "l1"]},
                link | {"origin": {"xyz": [0, 0, "a1"]}, "mass": "m1", "com": [0, 0, "l1"]},
            ],
            "tool": {"xyz": [0, 0, "a1"]},
        }
    )


def test_free_symbols_stay():
    robot = planar_in_frames()
    table = robot.dh_table()
    assert [str(row.a) for row in table.rows] == ["a1", "0"]
    found = robot.in_dh()
    assert str(found.equations().B) == str(robot.equations().B)
    assert str(found.equations().g) == str(robot.equations().g)


# ---- what is said ------------------------------------------------------------------------------------------


def chain(*joints, **top):
    links = [
        {"name": f"link {i + 1}", "joint": "revolute", "mass": 1, "inertia": {"xx": 1, "yy": 1, "zz": 1}} | x
        for i, x in enumerate(joints)
    ]
    table = {"name": "arm", "convention": "frames", "gravity": [0, 0, -9.81], "link": links}
    return quietly(lambda: Robot.from_dict(table | top))


def joint(xyz=(0, 0, 0), rpy=(0, 0, 0), axis=(0, 0, 1), **rest):
    return {"origin": {"xyz": list(xyz), "rpy": list(rpy)}, "axis": list(axis)} | rest


def test_a_tree_is_refused_by_the_link_where_it_branches():
    robot = chain(joint(), joint(), joint(parent="link 1"))
    message = "dh: the robot branches at 'link 1', which carries the moving links link 2, link 3; a Denavit"
    with pytest.raises(ArmdynError, match=message):
        robot.dh_table()
    with pytest.raises(ArmdynError, match=message):
        robot.in_dh("mdh")


def test_an_unknown_convention():
    with golden_error(ArmdynError):
        chain(joint()).dh_table("craig")


def test_axes_that_are_parallel_within_the_tolerance():
    robot = chain(joint(), joint((0.5, 0, 0), (1e-12, 0, 0)), joint((0.5, 0, 0)))
    table = robot.dh_table()
    (note,) = table.notes
    assert note.endswith("'link 2' is in decimals: what is below 1e-9 rad or m is taken as 0")
    assert "note: the common normal of 'link 1' and 'link 2' is in decimals" in str(table)
    assert table.rows[0].alpha == 0
    assert_same_robot(robot.in_dh(), robot, np.random.default_rng(0))


def test_axes_that_were_meant_to_be_parallel():
    """A decimal quarter turn and back: 1.5708 is not π/2."""
    robot = chain(joint(), joint((0.5, 0.1, 0), ("pi", 0, 0)), joint((0.5, 0.1, 0), (3.1415, 0, 0)))
    (note,) = robot.dh_table().notes
    assert note.startswith("the axes of 'link 2' and 'link 3' are only 9.3e-05 rad from parallel")
    assert_same_robot(robot.in_dh(), robot, np.random.default_rng(0), 1e-9)


def test_directions_that_depend_on_free_symbols():
    symbols = {"p": "free", "q_": "free"}
    robot = chain(joint(), joint((1, 0, 0), ("p", "q_", 0)), joint((0, 1, 0)), symbols=symbols)
    with golden_error(ArmdynError):
        robot.dh_table()
    one = chain(joint(), joint((1, 0, 0), ("p", 0, 0)), joint((0, 1, 0)), symbols={"p": "free"})
    assert str(one.dh_table().rows[0].alpha) == "p"


def test_a_base_that_cannot_stay_turns_gravity_with_it():
    robot = chain(joint((1, 2, 3), axis=(0, 1, 0)), joint((0, 0, 0.5), axis=(0, 1, 0)))
    found = robot.in_dh()
    assert found.model.base != Transform()
    R = matrix(found, found.model.base)[:3, :3]
    assert_same(R @ [float(robot.model.number(x)) for x in found.model.gravity], [0, 0, -9.81])
    assert_same_robot(found, robot, np.random.default_rng(1))


def test_a_tip_that_is_not_on_the_last_link():
    robot = chain(joint(), joint((0.5, 0, 0)), tip="link 1")
    assert robot.dh_table().notes == ("the tip is on 'link 1', not on the last link of the chain",)
    assert_same_robot(robot.in_dh(), robot, np.random.default_rng(2))


def test_text_markdown_and_latex_of_a_table():
    table = Robot.load("stanford").dh_table()
    lines = str(table).splitlines()
    assert lines[0] == "standard Denavit-Hartenberg parameters, m and rad"
    assert lines[4].split() == ["boom", "prismatic", "0", "0", "q3", "-pi/2"]
    assert lines[-1] == "tool at (0, 0, d6) in the last frame"
    assert "| waist | revolute | 0 | -pi/2 | d1 | q1 |" in table.markdown()
    assert r"4 & $0$ & $-\pi /2$ & $0$ & $q_{4}$ \\" in table.latex()
    assert table.array().shape == (6, 4)


def test_a_table_says_which_joints_follow_others():
    """Its q are those of all moving joints, not the robot's coordinates."""
    table = bundled_table("planar3")
    first, second, _ = (link["name"] for link in table["link"])
    robot = Robot.from_dict(table | {"closure": [{"relation": {second: 1, first: -2}, "offset": "pi/6"}]})
    assert f"some follow others: {second} = 2*{first} + " in str(robot.dh_table())
    assert robot.in_dh().model.relations == robot.model.relations
