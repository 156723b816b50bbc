"""A robot written down and read again is the same robot."""

import json
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import strategies as st

from armdyn import ArmdynError, DescriptionError, PhysicsWarning, Robot, bundled_robots
from armdyn.description import bundled_table
from armdyn.description.frames import frame, rpy_of
from armdyn.description.writing.table import text_of, written
from armdyn.expression import Expression, parse
from armdyn.model import Inertia, Transform
from armdyn.model.parameters import parameter_names
from armdyn.remarks import Remark
from arms import in_suites, law, quietly, robots
from golden_messages import golden_error, golden_warning
from public_files import FOLDER, needs_files, quiet_load, urdf_files
from random_descriptions import ANGLES, SYMBOLS, kinds, with_relation


def same(robot: Robot) -> dict:
    """Check that a robot's table, JSON and text are the robot, and return the table."""
    table, text = robot.to_dict(), robot.to_toml()
    for read in (
        quietly(lambda: Robot.from_dict(table)),
        quietly(lambda: Robot.from_dict(json.loads(json.dumps(table)))),
        quietly(lambda: Robot.from_toml(text)),
    ):
        assert read == robot
        assert hash(read) == hash(robot)
        assert not robot.diff(read)
        assert read.model.derived == robot.model.derived
    assert text == robot.to_toml()
    return table


@law(kinds(), examples=10, thorough=250)
def test_every_kind_of_robot_and_what_is_read_from_its_file(robot):
    same(robot)


@law(robots(rotors=("exact", "reflected", "none")), examples=5)
def test_identified_robots_and_what_is_read_from_their_files(robot):
    same(robot.with_parameters(robot.parameters * 1.1))
    same(robot.with_parameters(-robot.parameters))


EACH = in_suites(bundled_robots())


@pytest.mark.parametrize("name", EACH)
def test_bundled_robots_and_what_is_read_from_their_files(name, tmp_path):
    robot = Robot.load(name)
    table = same(robot)
    own = bundled_table(name)["convention"]
    # frames of planar linkages are those of a table
    assert table["convention"] == ("mdh" if name in ("four_bar", "five_bar") else own)
    assert "rotation" not in robot.to_toml()
    for other in (
        robot.symbolic(),
        robot.symbolic("free"),
        robot.with_rotors("none"),
        robot.with_payload(2, [0.1, 0.2, 0.3]),
        robot.with_payload("mp", ["x", 0, "z"], {"xx": "J"}),
        robot.with_parameters(robot.parameters * 1.1),
        robot.with_parameters([0] * len(robot.parameters)),
    ):
        same(other)
    path = tmp_path / "my.toml"
    path.write_text(robot.to_toml(), "utf-8")
    assert quietly(lambda: Robot.load(path)) == robot


@needs_files
@pytest.mark.parametrize("name", urdf_files())
def test_imported_robots_and_what_is_read_from_their_files(name):
    robot = quiet_load(FOLDER / name)
    same(robot)
    assert quietly(lambda: Robot.from_toml(robot.to_toml())).n == robot.n
    assert max(map(len, robot.to_toml().splitlines())) <= 130


@pytest.mark.parametrize("seed", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, 8))])
def test_imported_robots_with_motors_askew_and_what_is_made_of_them(seed, tmp_path):
    """Joints and bodies at any angle, each joint with a motor: as read, and after changes of every kind."""
    rng = random.Random(seed)
    path = tmp_path / "askew.urdf"
    path.write_text(urdf_askew(rng, 1 + seed % 3), "utf-8")
    robot = quiet_load(path)
    assert all(link.motor for link in robot.model.moving)
    same(robot)
    saved = robot.save(tmp_path / "saved.toml")
    assert quietly(lambda: Robot.load(saved)) == robot
    tool = {"xyz": [0.1, 0, "pi/7"], "rpy": [0.3, "pi/2", "0.3*pi - 0.2"]}
    motor = {"gear": 30, "inertia": 1e-4, "position": [0.1, 0.2, 0.3], "stiffness": 1000}
    changes = [
        lambda r: r.with_tip("l1", tool),
        lambda r: r.with_motors({"l1": motor}),
        lambda r: r.with_payload(rng.uniform(0, 3), [rng.random() for _ in range(3)]),
        lambda r: r.in_dh(rng.choice(["dh", "mdh"])),
        lambda r: r.with_rotors("reflected"),
        lambda r: r.symbolic(rng.choice(["given", "free"])),
    ]
    for change in rng.sample(changes[:-1], 2) + changes[-1:]:
        robot = quietly(lambda change=change, robot=robot: change(robot))
        same(robot)


def urdf_askew(rng, joints):
    """A chain whose frames are at any angles, and whose axes are any directions."""

    def numbers(size):
        return " ".join(f"{rng.uniform(-size, size):.{rng.randint(2, 16)}g}" for _ in range(3))

    text = '<link name="l0"/>'
    for i in range(1, joints + 1):
        text += (
            f'<link name="l{i}"><inertial><origin xyz="{numbers(0.1)}" rpy="{numbers(3)}"/><mass value="2"/>'
            '<inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.2" iyz="-0.02" izz="0.15"/></inertial></link>'
            f'<joint name="j{i}" type="{rng.choice(["continuous", "continuous", "prismatic"])}">'
            f'<parent link="l{i - 1}"/><child link="l{i}"/><limit effort="9" velocity="2" upper="1"/>'
            f'<origin xyz="{numbers(1)}" rpy="{numbers(3)}"/><axis xyz="{numbers(1)}"/></joint>'
            f'<transmission name="t{i}"><joint name="j{i}"/><actuator name="m{i}"><mechanicalReduction>'
            f"{rng.randint(-99, -9)}</mechanicalReduction></actuator></transmission>"
        )
    return f'<robot name="askew">{text}</robot>'


def test_relations_base_and_joint_names():
    model = with_relation(Robot.load("planar3").model)
    links = [replace(link, joint_name=f"j{i}") for i, link in enumerate(model.links)]
    links[0] = replace(links[0], parent="pedestal")
    base = frame((1, 0, parse("pi/7")), (parse("pi/2"), Expression.of(0.3), 0))
    table = same(Robot(replace(model, root="pedestal", base=base, links=tuple(links))))
    assert table["base"] == {"name": "pedestal", "xyz": [1, 0, "pi/7"], "rpy": ["pi/2", 0.3, 0]}
    assert table["closure"] == [{"relation": {"link 3": 1, "link 2": "1/3"}}]
    assert [link["joint_name"] for link in table["link"]] == ["j0", "j1", "j2"]


# ---- what the text looks like ------------------------------------------------------------------------------


def test_the_text_is_what_people_write():
    text = Robot.load("planar").to_toml()
    assert text.startswith("# Written by armdyn; the robot was read from planar.\nname = ")
    assert (
        'com = ["l1 - a1", 0, 0]\ninertia = { zz = "Il1" }\nlimits = { torque = 3000 }\n\n[link.motor]'
        in text
    )
    puma = Robot.load("puma560").to_toml()
    assert 'alpha = "pi/2"\nd = "d1"' in puma
    assert 'limits = { position = ["-8*pi/9", "8*pi/9"], torque = 97.6 }' in puma
    assert max(map(len, puma.splitlines())) <= 118


def test_a_short_body_about_the_origin_before_a_long_one():
    body = Robot.load("planar").with_symbols(ml2=3, l2=0.25, a2=0.5).with_payload(2).to_dict()["link"][1]
    assert body["mass"] == "2 + ml2"
    assert body["inertia"]["about"] == "origin"
    puma = Robot.load("puma560")
    link = puma.with_parameters(puma.parameters * 1.1).to_dict()["link"][1]
    assert "first_moment" in link  # decimals, while a centre of mass would be a fraction of long numbers
    assert "com" in puma.to_dict()["link"][1]


def test_notes_and_source_are_comments():
    model = Robot.load("planar").model
    robot = Robot(replace(model, source="arm.urdf\nname = 'x'", remarks=(Remark("the mesh\nwas left out"),)))
    head = robot.to_toml().splitlines()[:2]
    assert head == [
        "# Written by armdyn; the robot was read from arm.urdf name = 'x'.",
        "# the mesh was left out",
    ]
    same(robot)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("3", 3),
        ("0.1", 0.1),
        ("-1/3", "-1/3"),
        ("1e-30", 1e-30),
        ("0.12345678901234567890123", "0.12345678901234567890123"),
        ("pi/2", "pi/2"),
        ("-160*pi/180", "-8*pi/9"),
        ("sqrt(2)/2", "sqrt(2)/2"),
        ("a/3 - b", "a/3 - b"),
        ("b - a", "b - a"),
        ("0.5*a", "0.5*a"),
        ("a**20*b**-17", "a**16*a**4*b**-16*b**-1"),
        ("2/(1 + 2*a)", "2*inv(1 + 2*a)"),
        ("cos(0.3*pi - 0.2)", "sin(0.2 + pi/5)"),
        ("sin(0.3*pi - 0.2)", "cos(0.2 + pi/5)"),
        ("sin(b - 2 - pi/3)", "-sin(2 + pi/3 - b)"),
        ("1/(1e200*1e200)", f"1/(1{'0' * 150}*1e250)"),
        ("1e-200/2e110 + 1", f"(2{'0' * 60}*1e250 + 1)/(2{'0' * 60}*1e250)"),
    ],
)
def test_numbers_and_what_they_are_written_as(text, found):
    exact = parse(text) if "**20" not in text else parse("a**10*b**-10") * parse("a**10*b**-7")
    assert written(exact) == found
    assert (parse(found) if isinstance(found, str) else Expression.of(found)) == exact


@law(st.integers(0, 2**32 - 1), examples=100)
def test_random_expressions_and_their_texts(seed):
    rng = random.Random(seed)
    atoms = ["a", "pi", "sqrt(6)", "cos(a)", "sin(0.3)", "abs(b)", "inv(1 + a)", "b**-3", "1/3", "2.5e-7"]
    x = Expression.of(0)
    for _ in range(4):
        factor = Fraction(rng.randint(-9, 9), rng.randint(1, 9))
        x = x + parse(rng.choice(atoms)) * parse(rng.choice(atoms)) * factor
    assert parse(text_of(x)) == x


def test_long_powers_inside_functions_are_read_again():
    power = parse("a**16")
    for x in ((power * parse("a**4")).cos(), (power**16).sin(), 1 / (1 + power**3)):
        assert parse(text_of(x)) == x


# ---- angles and directions ---------------------------------------------------------------------------------


@law(st.lists(st.sampled_from(ANGLES), min_size=3, max_size=3), examples=150)
def test_the_angles_of_a_rotation_are_found_again(angles):
    roll, pitch, yaw = (parse(str(x), SYMBOLS) for x in angles)
    R = frame((0, 0, 0), (roll, pitch, yaw)).R
    found = rpy_of(R)
    assert found is not None
    assert frame((0, 0, 0), found).R == R


def test_a_rotation_without_exact_angles_is_a_matrix():
    third = Expression.of(Fraction(1, 3))
    R = tuple(tuple(third * x for x in row) for row in ((1, 2, 2), (2, 1, -2), (-2, 2, -1)))
    assert rpy_of(R) is None
    model = Robot.load("manutec_r3").model
    table = same(Robot(replace(model, tool=Transform(R, model.tool.p))))
    assert table["tool"]["rotation"][0] == ["1/3", "2/3", "2/3"]


@pytest.mark.parametrize("axis", [[1, 1, 0], [-1, 2, 3], [0, 0, -1], [0.6, 0, 0.8], [1, 0.1, 1e-8]])
def test_directions_are_found_again(axis):
    table = Robot.load("manutec_r3").to_dict()
    table["link"][1]["axis"] = axis
    robot = quietly(lambda: Robot.from_dict(table))
    found = same(robot)["link"][1]["axis"]
    if axis[1] != 0.1:
        small = [3, 0, 4] if 0.6 in axis else axis
        assert found == small


# ---- what the new keys are, and what is wrong with them ----------------------------------------------------

BODY = {"mass": 2, "inertia": {"xx": 1, "yy": 1, "zz": 1}}


def arm(convention="frames", **link):
    placement = {"origin": {"xyz": [0, 0, 0]}, "axis": [0, 0, 1]}
    table = {"name": "arm", "convention": convention, "gravity": [0, 0, -9.81], "symbols": {"s": "free"}}
    return table | {"link": [{"joint": "revolute", **placement, **BODY, **link}]}


def test_a_rotation_is_the_same_as_its_angles():
    by_angles = arm(origin={"xyz": [1, 2, 3], "rpy": ["pi/2", 0, 0]}, after={"xyz": [0, 0, 1]})
    matrix = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    by_matrix = arm(origin={"xyz": [1, 2, 3], "rotation": matrix}, after={"xyz": [0, 0, 1]})
    robot = Robot.from_dict(by_matrix)
    assert robot == Robot.from_dict(by_angles)
    assert robot.model.links[0].after == Transform.translation(0, 0, 1)
    assert robot.pose([0])[:3, 3].tolist() == [1, 1, 3]


def test_bodies_about_the_origin_and_about_the_centre_of_mass():
    about_com = arm(mass=2, com=[0.5, 0, 0], inertia={"xx": 1, "yy": 1, "zz": 1})
    for table in (
        arm(mass=2, first_moment=[1, 0, 0], inertia={"about": "origin", "xx": 1, "yy": 1.5, "zz": 1.5}),
        arm(mass=2, first_moment=[1, 0, 0], inertia={"about": "com", "xx": 1, "yy": 1, "zz": 1}),
        arm(mass=2, com=[0.5, 0, 0], inertia={"about": "origin", "xx": 1, "yy": 1.5, "zz": 1.5}),
    ):
        assert Robot.from_dict(table) == Robot.from_dict(about_com)


@pytest.mark.parametrize(
    ("link", "parts"),
    [
        ({"origin": {"xyz": [0, 0, 0], "rpy": [0, 0, 0], "rotation": 1}}, ["origin.rotation", "beside rpy"]),
        ({"origin": {"xyz": [0, 0, 0], "rotation": 1}}, ["origin.rotation", "three rows", "found 1"]),
        ({"origin": {"xyz": [0, 0, 0], "rotation": [[1, 0, 0]] * 3}}, ["origin.rotation", "not a rotation"]),
        (
            {"origin": {"xyz": [0, 0, 0], "rotation": [[1, 0, 0], [0, 1], [0, 0, 1]]}},
            ["rotation[1]", "3 numbers"],
        ),
        (
            {"origin": {"xyz": [0, 0, 0], "rotation": [[1, 0, 0], [0, 1, 0], [0, 0, -1]]}},
            ["origin.rotation", "determinant is -1"],
        ),
        ({"after": {"xyz": [0, 0, "q"]}}, ["after.xyz[2]", "unknown symbol 'q'"]),
        ({"after": {"x": 1}}, ["after.x", "unknown key", "rotation, rpy, xyz"]),
        ({"com": [0, 0, 1], "first_moment": [0, 0, 1]}, ["first_moment", "beside com"]),
        ({"mass": 0, "first_moment": [0, 0, 1]}, ["inertia.about", "no centre of mass", '"origin"']),
        (
            {"mass": 0, "first_moment": [0, 0, 1], "inertia": {"about": "origin", "xx": 1, "yy": 1}},
            ["first_moment: found [0, 0, 1]", "mass is 0"],
        ),
        ({"inertia": {"about": "centre"}}, ["inertia.about", "'centre'", '"com", "origin"']),
    ],
)
def test_wrong_placements_and_bodies(link, parts):
    with pytest.raises(DescriptionError) as caught:
        Robot.from_dict(arm(**link))
    assert all(part in str(caught.value) for part in ["arm: link 'link1'", *parts]), str(caught.value)


def test_impossible_bodies_are_read_only_where_the_file_says_so():
    table = arm(mass=-1)
    with golden_error(DescriptionError):
        Robot.from_dict(table)
    robot = Robot.from_dict(table | {"physical": False})
    assert "physical = false" in robot.to_toml()
    assert any("mass: found -1" in text for text in robot.warnings)
    with golden_error(DescriptionError):
        Robot.from_dict(arm(mass=1e200, com=[1e200, 0, 0]) | {"physical": False})
    assert "physical" not in Robot.load("planar").to_dict()
    for key in ("physical", "derived"):
        with pytest.raises(DescriptionError, match=rf"{key}: expected true or false, found 'no'"):
            Robot.from_dict(arm() | {key: "no"})


def test_a_saved_payload_warns_no_more_than_the_robot_with_it():
    robot = Robot.load("planar").with_payload(3, [0.1, 0.2, 0], {"xx": 0.1, "yy": 0.1, "zz": 0.1})
    assert robot.warnings == []
    assert Robot.from_toml(robot.to_toml()).warnings == []  # a warning is an error


def test_texts_that_are_no_robot_files():
    with pytest.raises(TypeError, match="expected the text of a robot file, found 3"):
        Robot.from_toml(3)
    with golden_error(DescriptionError):
        Robot.from_toml("name = ")
    with pytest.raises(DescriptionError, match="longer than 500000"):
        Robot.from_toml("#" * 500_001)
    with golden_error(DescriptionError):
        Robot.from_toml("a = " + "[" * 50)
    with golden_warning(PhysicsWarning) as caught:
        Robot.from_toml(Robot.load("ur10").to_toml().replace("alpha = 0", "alpha = 90"))
    assert Path(caught[0].filename).name == Path(__file__).name


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda m: replace(m, name="\ud800"), "a character that is no text"),
        (lambda m: replace(m, name=" "), "name: expected a text"),
        (lambda m: replace(m, symbols=()), "unknown symbol"),
        (
            lambda m: replace(m, links=(replace(m.links[0], axis=(0, 0, 2)), *m.links[1:])),
            "axis would change",
        ),
        (lambda m: replace(m, gravity=(0, 0, 0.1)), "gravity would change"),  # a float is no decimal
    ],
)
def test_what_no_robot_file_can_hold_is_refused(change, reason):
    robot = Robot(change(Robot.load("planar").model))
    with pytest.raises(ArmdynError, match=f"cannot be written as a robot file: .*{reason}"):
        robot.to_toml()


def test_parameters_survive():
    robot = Robot.load("puma560").with_payload(1)
    read = quietly(lambda: Robot.from_toml(robot.to_toml()))
    assert (read.parameters == robot.parameters).all()
    assert parameter_names(read.model) == robot.parameter_names
    assert read.model.links[-1].inertia != Inertia()
