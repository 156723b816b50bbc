"""Robots saved as URDF and MJCF: numbers that read back equal, what is warned of, and what is refused."""

import itertools
import math
import random
import warnings
import xml.etree.ElementTree as ET
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import armdyn
from armdyn import DescriptionError, ExportWarning, Robot, bundled_robots
from armdyn.description.frames import frame, numeric_rpy, rpy_of, unit_vector
from armdyn.description.writing.pieces import direction_text, number_text, quaternion_text
from armdyn.expression import Expression, parse, rational
from armdyn.model import Relation, Transform
from arms import assert_same, generators, in_suites, law, quietly, rational_rotation, robots
from exported_texts import mjcf_text, urdf_text
from golden_messages import golden_error
from public_files import FOLDER, needs_files, quiet_load, urdf_files


@pytest.fixture(autouse=True)
def evaluator():
    with armdyn.backend("evaluator"):
        yield


def table(**changes):
    """A robot of two joints as a table."""
    links = [
        {"name": "a", "joint": "revolute", "origin": {"xyz": [0, 0, 1]}, "axis": [0, 0, 1], "mass": 1},
        {"name": "b", "joint": "prismatic", "origin": {"xyz": [1, 0, 0]}, "axis": [1, 0, 0], "mass": 1},
    ]
    limits = {"position": [-1, 2], "velocity": 3, "torque": 4}
    for link in links:
        link.update({"inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.1}, "limits": dict(limits)})
        link.update(changes.pop(link["name"], {}))
    return {"name": "r", "convention": "frames", "gravity": [0, 0, -9.81], "link": links, **changes}


# ---- numbers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("0", "0"),
        ("1.50", "1.5"),
        ("-3e-7", "-3e-07"),
        ("0.12345678901234567890123", "12345678901234567890123e-23"),
        ("1/3", "0.3333333333333333"),
        ("pi/2", "1.5707963267948966"),
        ("-1180591620717411303424", "-1180591620717411303424"),
    ],
)
def test_numbers_read_back_equal_where_they_are_decimals(number, text):
    exact = parse(number)
    assert number_text(exact) == text
    if "/" not in number:
        assert Expression.of(rational(text)) == exact


@pytest.mark.parametrize(
    "given",
    [
        ["1", "2", "3"], ["0.7071", "0.7071", "0"], ["0.6", "0", "0.8"], ["-2", "1", "-2"], ["0", "0", "-1"],
        ["0.577350269", "0.577350269", "-0.57735027"], ["0.3", "0.4", "0.86603"], ["1e-3", "1", "0"],
    ],
)  # fmt: skip
def test_directions_read_back_equal_and_have_length_one(given):
    axis = unit_vector([Expression.of(rational(x)) for x in given])
    written = [Expression.of(rational(x)) for x in direction_text(axis).split()]
    assert unit_vector(written) == axis
    assert math.hypot(*(x.value() for x in written)) == pytest.approx(1, abs=1e-15)


ANGLES = ("0", "pi/2", "-pi/2", "pi", "1.5708", "-3.14159", "0.3", "2.5", "-1.57", "pi/3", "4")


@pytest.mark.parametrize("rpy", random.Random(1).sample(list(itertools.product(ANGLES, repeat=3)), 200))
def test_roll_pitch_yaw_are_found_again_exactly(rpy):
    R = frame((0, 0, 0), tuple(map(parse, rpy))).R
    found = rpy_of(R)
    assert frame((0, 0, 0), found).R == R
    if all("pi" not in angle for angle in rpy):
        assert all(angle.number is not None for angle in found)  # decimals stay decimals
    assert all(len(angle.terms) <= 1 for angle in found)  # no 0.3 + pi: no decimal says it


@pytest.mark.parametrize("seed", range(30))
def test_angles_and_quaternions_of_any_rotation(seed):
    rng = random.Random(seed)
    R = rational_rotation(rng)
    if seed % 3 == 0:  # a pitch of nearly a quarter turn
        angles = [Fraction(rng.randint(-30, 30), 10), Fraction(15707963268, 10**10), Fraction(1, 3)]
        R = frame((0, 0, 0), tuple(map(Expression.of, angles))).R
    M = np.array([[Expression.of(x).value() for x in row] for row in R])
    back = frame((0, 0, 0), rpy_of(R) or numeric_rpy(M)).R
    assert_same([[Expression.of(x).value() for x in row] for row in back], M, 1e-15)
    w, x, y, z = np.array(quaternion_text(R).split(), float)
    n = w * w + x * x + y * y + z * z
    S = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    assert_same(np.eye(3) + 2 / n * (w * S + S @ S), M, 3e-15)


def test_quarter_turns_are_whole_quaternions():
    R = frame((0, 0, 0), (parse("pi/2"), parse("0"), parse("0"))).R
    assert quaternion_text(R) == "1 1 0 0"


# ---- there and back ----------------------------------------------------------------------------------------


@needs_files
@pytest.mark.parametrize("snap", [False, True])
@pytest.mark.parametrize("name", urdf_files())
def test_urdf_saved_and_read_again_is_equal(name, snap, tmp_path):
    robot = quiet_load(FOLDER / name, snap=snap)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExportWarning)
        path = robot.save(tmp_path / name)
    assert quiet_load(path, snap=snap) == robot


@law(robots((1, 5), couplings=False, rotors=("reflected", "none")), generators())
def test_random_arms_saved_and_read_again(robot, rng):
    """Every link by its name, with the motors; friction that URDF cannot say left out on both sides."""
    text, notes = urdf_text(robot.model)
    again = quietly(lambda: Robot.load(text))
    same_order = not any("order of the joints" in note for note in notes)
    q, qd, qdd = rng.uniform(-2, 2, (3, robot.n))
    names = [link.name for link in robot.model.moving]
    order = [names.index(link.name) for link in again.model.moving]
    assert same_order == (order == list(range(robot.n)))
    placed = again.with_gravity([robot.model.number(x) for x in robot.model.gravity])
    tau = robot.inverse_dynamics(q, qd, qdd) - robot.friction(qd)
    theirs = placed.inverse_dynamics(q[order], qd[order], qdd[order]) - placed.friction(qd[order])
    assert_same(theirs, tau[order], 1e-12)
    for link in robot.model.links:
        assert_same(again.pose(q[order], link.name), robot.pose(q, link.name), 1e-12)
    if robot.model.rotors == "reflected":
        gears = {x.name: x.motor.gear for x in robot.model.moving if x.motor}
        assert {x.name: x.motor.gear for x in again.model.moving if x.motor} == gears


@pytest.mark.parametrize("name", in_suites(bundled_robots()))
@pytest.mark.parametrize("suffix", ["urdf", "xml"])
def test_bundled_robots_are_saved(name, suffix, tmp_path):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        path = Robot.load(name).save(tmp_path / f"{name}.{suffix}")
    assert all(w.category is ExportWarning and w.filename == __file__ for w in told)
    assert ET.parse(path).getroot().tag == {"urdf": "robot", "xml": "mujoco"}[suffix]
    notes = path.read_text("utf-8").split("-->")[0]
    assert all(str(w.message).partition(": ")[2] in notes for w in told)


def test_placed_base_and_tool_are_links():
    robot = Robot.from_dict(
        table(base={"xyz": [1, 2, 3], "rpy": [0, 0, 0.5]}, tool={"xyz": [0, 0.1, 0], "rpy": [0.2, 0, 0]})
    )
    q = [0.3, 0.4]
    again = Robot.load(urdf_text(robot.model)[0])
    assert (again.model.root, again.model.tip) == ("world", "tool")
    assert_same(again.pose(q), robot.pose(q), 1e-14)
    pytest.importorskip("mujoco")
    third = Robot.load(mjcf_text(robot.model)[0])
    assert (third.model.root, third.model.tip) == ("world", "tool")
    assert_same(third.pose(q), robot.pose(q), 1e-14)


def test_gravity_of_a_turned_base_is_turned_into_the_world():
    pytest.importorskip("mujoco")
    robot = Robot.from_dict(table(base={"rpy": [0.5, 0.2, 0.1]}, gravity=[1, 2, 3]))
    assert any(note.startswith("gravity is ") for note in urdf_text(robot.model)[1])
    again, q = Robot.load(mjcf_text(robot.model)[0]), [0.3, 0.4]
    assert_same(again.gravity(q), robot.gravity(q), 1e-14)
    upright = replace(robot.model, base=Transform(), gravity=Robot.from_dict(table()).model.gravity)
    assert urdf_text(upright)[1] == ()


def test_names_that_are_taken_get_another():
    links = [{"name": name} for name in ("tool", "world")]
    robot = Robot.from_dict(table(a=links[0], b=links[1], tool={"xyz": [1, 0, 0]}, base={"xyz": [1, 0, 0]}))
    again = Robot.load(urdf_text(robot.model)[0])
    assert (again.model.root, again.model.tip) == ("world_", "tool_")


def test_zeros_that_mujoco_does_not_take_are_listed():
    empty = Robot.from_dict(table(a={"mass": 0, "inertia": {}})).model
    assert any("masses and moments of zero ('a') become 1e-14" in note for note in mjcf_text(empty)[1])
    assert not any("of zero" in note for note in mjcf_text(Robot.from_dict(table()).model)[1])


def test_a_link_with_the_name_of_mujocos_world_is_called_otherwise_and_that_is_said():
    pytest.importorskip("mujoco")
    robot = Robot.from_dict(table(a={"name": "world"}, b={"name": "world_body"}))
    text, notes = mjcf_text(robot.model)
    assert "link 'world' is the body 'world_body_': the name 'world' is MuJoCo's own" in notes
    again, q = Robot.load(text), [0.3, 0.4]
    assert_same(again.pose(q, "world_body_"), robot.pose(q, "world"), 1e-14)
    assert_same(again.inertia(q), robot.inertia(q), 1e-14)


def test_relations_of_two_joints_are_mimic_joints():
    relation = Relation((("b", Expression.of(2)), ("a", Expression.of(-1))), Expression.of(3))
    model = replace(Robot.from_dict(table()).model, relations=(relation,))
    again = Robot.load(urdf_text(model)[0])
    assert_same(again.joint_positions([0.4]), [0.4, 1.7])
    pytest.importorskip("mujoco")
    third = Robot.load(mjcf_text(model)[0])
    assert_same(third.joint_positions([0.4]), [0.4, 1.7])


@law(
    robots((2, 5), couplings=False, friction=False, tree=False, rotors=("reflected",)),
    generators(),
    examples=10,
)
def test_random_arms_with_followers_saved_and_read_again(robot, rng):
    """The second joint follows the first one, in both formats."""
    first, second = (link.name for link in robot.model.moving[:2])
    factor = Expression.of(Fraction(int(rng.integers(-9, 9)) * 2 + 1, 4))
    relation = Relation(((second, Expression.of(1)), (first, -factor)), Expression.of(Fraction(1, 8)))
    robot = Robot(replace(robot.model, relations=(relation,)))
    q, qd, qdd = rng.uniform(-2, 2, (3, robot.n))
    tau = robot.inverse_dynamics(q, qd, qdd)
    gravity = [robot.model.number(x) for x in robot.model.gravity]
    again = quietly(lambda: Robot.load(urdf_text(robot.model)[0])).with_gravity(gravity)
    assert again.model.relations == robot.model.relations
    assert_same(again.inverse_dynamics(q, qd, qdd), tau, 1e-12)
    pytest.importorskip("mujoco")
    third = quietly(lambda: Robot.load(mjcf_text(robot.model)[0]))
    assert third.model.relations == robot.model.relations
    assert_same(third.inverse_dynamics(q, qd, qdd), tau, 1e-12)


# ---- what is warned of -------------------------------------------------------------------------------------

MOTOR = {"gear": 10, "inertia": 0.01, "carrier": "base", "axis": [0, 1, 0]}
WARNED = {
    "exact rotors ('a') become reflected": table(a={"motor": MOTOR}),
    "motors ('a') are left out": table(a={"motor": MOTOR}, rotors="none"),
    "turn with several joints ('a') drive only": table(a={"motor": MOTOR | {"coupling": {"b": 2}}}),
    "friction in motors that turn with several joints ('a')": table(
        a={"motor": MOTOR | {"coupling": {"b": 2}, "friction": {"viscous": 1}}}
    ),
    "torque constants of motors ('a')": table(a={"motor": MOTOR | {"torque_constant": 2}}),
    "differs forward and backward ('b')": table(b={"friction": {"coulomb": [1, -2]}}),
    "constant friction ('b')": table(b={"friction": {"offset": 1}}),
    "limits of acceleration ('a')": table(a={"limits": {"acceleration": 1}}),
    "limits of jerk ('a')": table(a={"limits": {"jerk": 1}}),
    "the tip 'a' is not marked": table(tip="a"),
}


@pytest.mark.parametrize("note", WARNED)
@pytest.mark.parametrize("suffix", ["urdf", "xml"])
def test_what_a_format_cannot_say_is_warned_of(note, suffix, tmp_path):
    robot = Robot.from_dict(WARNED[note])
    with pytest.warns(ExportWarning) as told:
        robot.save(tmp_path / f"r.{suffix}")
    assert sum(note in str(w.message) for w in told) == 1


def test_what_is_lost_of_a_joint_is_said_by_its_name():
    joint = {"joint_name": "hinge", "motor": MOTOR | {"torque_constant": 2}, "friction": {"offset": 1}}
    model = Robot.from_dict(table(a=joint | {"limits": {"jerk": 1, "velocity": 1}})).model
    for notes in (urdf_text(model)[1], mjcf_text(model)[1]):
        assert len(notes) >= 4
        assert all("'hinge'" in note and "'a'" not in note for note in notes)


def test_a_plain_robot_is_saved_without_a_warning(tmp_path):
    Robot.from_dict(table()).save(tmp_path / "r.urdf")


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"gravity": [0, -9.81, 0]}, "gravity is 0 -9.81 0"),
        ({"b": {"limits": {}}}, "asks for limits that the robot does not have ('b')"),
        ({"a": {"limits": {"torque": 3}}}, "asks for limits that the robot does not have ('a')"),
    ],
)
def test_what_only_urdf_cannot_say(changes, note):
    model = Robot.from_dict(table(**changes)).model
    assert any(note in found for found in urdf_text(model)[1])
    assert not any(note in found for found in mjcf_text(model)[1])


def test_missing_limits_stay_missing():
    robot = Robot.from_dict(table(a={"limits": {"torque": 3}}, b={"limits": {}}))
    again = Robot.load(urdf_text(robot.model)[0])
    assert [link.limits for link in again.model.links] == [link.limits for link in robot.model.links]


def test_relations_of_several_joints_are_warned_of():
    robot = Robot.from_dict(table())
    links = (*robot.model.links, replace(robot.model.links[0], name="c", parent="b"))
    one = Expression.of(1)
    relation = Relation((("c", one), ("a", one), ("b", one)))
    model = replace(robot.model, links=links, relations=(relation,))
    for text_of in (urdf_text, mjcf_text):
        assert any("relations that are not between two joints ('c')" in note for note in text_of(model)[1])


# ---- what is refused ---------------------------------------------------------------------------------------


def test_free_symbols_are_refused_and_values_are_used():
    free = Robot.from_dict(table(symbols={"m": "free"}, a={"mass": "m"}))
    for text_of in (urdf_text, mjcf_text):
        with golden_error(DescriptionError):
            text_of(free.model)
    for part in ({"gravity": [0, 0, "-m"]}, {"tool": {"xyz": ["m", 0, 0]}}, {"base": {"xyz": ["m", 0, 0]}}):
        placed = Robot.from_dict(table(symbols={"m": "free"}, **part))
        for text_of in (urdf_text, mjcf_text):
            with golden_error(DescriptionError):
                text_of(placed.model)
    unused = Robot.from_dict(table(symbols={"m": 2, "x": "free"}, a={"mass": "m"}))
    assert '<mass value="2" />' in urdf_text(unused.model)[0]


def test_wrong_suffixes_and_names_are_refused(tmp_path):
    robot = Robot.from_dict(table())
    with golden_error(DescriptionError):
        robot.save(tmp_path / "r.step")
    with golden_error(DescriptionError):
        robot.save(tmp_path / "nowhere" / "r.urdf")
    with pytest.raises(TypeError, match="expected a path"):
        robot.save(7)
    odd = Robot.from_dict(table(a={"name": "x\x01"}, b={"parent": "x\x01"}))
    with pytest.raises(DescriptionError, match=r"XML cannot hold the character U\+0001"):
        odd.save(tmp_path / "r.urdf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text_of", [urdf_text, mjcf_text])
def test_names_of_any_text_are_kept(text_of):
    if text_of is mjcf_text:
        pytest.importorskip("mujoco")
    name = "a <b> & \"c\" --> d -- 'é'"
    robot = Robot.from_dict(table(a={"name": name, "limits": {"jerk": 1}}, b={"parent": name}))
    text, notes = text_of(robot.model)
    assert any("jerk" in note for note in notes)
    assert [link.name for link in Robot.load(text).model.links if link.joint != "fixed"] == [name, "b"]
