"""What looks wrong is said, with what it looks like; what textbooks do is not."""

import warnings

import pytest

from armdyn import PhysicsWarning, Robot, bundled_robots
from golden_messages import golden_warning

G = [0, 0, -9.81]
BODY = {"mass": 4, "com": [-0.2, 0, 0], "inertia": {"xx": 0.01, "yy": 0.06, "zz": 0.06}}
ROW = {"joint": "revolute", "a": 0.4, "alpha": 0, "d": 0, **BODY}
FRAME = {"joint": "revolute", "origin": {"xyz": [0, 0, 0.4]}, "axis": [0, 0, 1], **BODY}
MOTOR = {"gear": 100, "inertia": 1e-4}


def arm(*links, convention="dh", **top):
    return {"name": "arm", "convention": convention, "gravity": G, "link": list(links), **top}


def said(table):
    """The warnings of a table; they are those of the robot."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = Robot.from_dict(table)
    assert all(w.category is PhysicsWarning for w in caught)
    assert [str(w.message) for w in caught] == [f"arm: {text}" for text in robot.warnings]
    return robot.warnings


def bare(link, *keys):
    return {key: value for key, value in link.items() if key not in (keys or ("mass", "com", "inertia"))}


TRUE = {
    "puma560": ["link 'forearm': principal moments 0.0125 0.066 0.086 break the triangle inequality"],
    "tx40": ["link 'link 6': it turns and has mass but no inertia"],
}


@pytest.mark.parametrize("name", bundled_robots())
def test_bundled_robots(name):
    """The PUMA's forearm is impossible as published, the TX40's last link has no tensor; nothing else."""
    expected = TRUE.get(name, [])
    assert [text.partition(":")[0] for text in Robot.load(name).warnings] == [
        text.partition(":")[0] for text in expected
    ]
    assert all(text.startswith(e) for text, e in zip(Robot.load(name).warnings, expected, strict=True))


# ---- units -------------------------------------------------------------------------------------------------

DEGREES = {
    "alpha": arm(ROW, ROW | {"alpha": 90}),
    "alpha of modified DH": arm(ROW, ROW | {"alpha": -90}, convention="mdh"),
    "theta": arm(ROW, ROW | {"theta": 45}),
    "a symbol": arm(ROW, ROW | {"alpha": "al"}, symbols={"al": 90}),
    "rpy": arm(FRAME, FRAME | {"origin": {"xyz": [0, 0, 1], "rpy": [0, 180, 0]}}, convention="frames"),
    "limits": arm(ROW, ROW | {"limits": {"position": [-170, 170]}}),
    "one limit": arm(ROW, ROW | {"limits": {"position": ["-pi", 225]}}),
}


@pytest.mark.parametrize("table", DEGREES.values(), ids=DEGREES.keys())
def test_degrees(table):
    (text,) = said(table)
    assert "link2" in text
    assert "looks like degrees" in text
    assert "radians" in text


def test_degrees_of_the_tool():
    (text,) = said(arm(ROW, tool={"xyz": [0, 0, 0.1], "rpy": [90, 0, 0]}))
    assert text.startswith("tool: an angle of 90 rad looks like degrees")


RADIANS = {
    "two turns of a joint": arm(ROW | {"limits": {"position": [-12.57, 12.57]}}),
    "ten turns, written with pi": arm(ROW | {"limits": {"position": ["-20*pi", "20*pi"]}}),
    "a turn and a half, written with pi": arm(ROW | {"alpha": "3*pi"}),
    "a whole turn": arm(ROW | {"theta": 6.28}),
    "a symbol with pi": arm(ROW | {"limits": {"position": ["-w", "w"]}}, symbols={"w": "8*pi"}),
    "a free angle": arm(ROW | {"alpha": "al"}, symbols={"al": "free"}),
    "a stroke of metres": arm(
        bare(ROW, "d") | {"joint": "prismatic", "theta": 0, "limits": {"position": [0, 30]}}
    ),
}


@pytest.mark.parametrize("table", RADIANS.values(), ids=RADIANS.keys())
def test_radians(table):
    assert not any("looks like" in text for text in said(table))


MILLIMETRES = {
    "a": arm(ROW, ROW | {"a": 425}),
    "d": arm(ROW, ROW | {"d": -89.2}),
    "xyz": arm(FRAME, FRAME | {"origin": {"xyz": [0, 0, 333]}}, convention="frames"),
    "com": arm(ROW, ROW | {"com": [-212, 0, 0]}),
    "a motor": arm(ROW, ROW | {"motor": MOTOR | {"position": [120, 0, 0]}}),
    "a stroke": arm(
        ROW, bare(ROW, "d") | {"joint": "prismatic", "theta": 0, "limits": {"position": [0, 500]}}
    ),
    "a symbol": arm(ROW, ROW | {"a": "l"}, symbols={"l": 425}),
}


@pytest.mark.parametrize("table", MILLIMETRES.values(), ids=MILLIMETRES.keys())
def test_millimetres(table):
    (text,) = said(table)
    assert "link2" in text
    assert "looks like millimetres" in text


def test_a_whole_arm_in_millimetres_gets_one_line_for_each_quantity():
    unit = "looks like millimetres; lengths are in metres"
    link = ROW | {"a": 400, "com": [-200, 0, 0], "inertia": {"xx": 1e4, "yy": 6e4, "zz": 6e4}}
    assert said(arm(link, link, link, tool={"xyz": [100, 0, 0]})) == [
        f"links 'link1', 'link2', 'link3' and tool: a length of 400 m {unit}",
        f"links 'link1', 'link2', 'link3': a centre of mass at a distance of 200 m {unit}",
    ]


def test_a_tensor_in_square_millimetres():
    (text,) = said(arm(ROW, ROW | {"inertia": {"xx": 1e4, "yy": 6e4, "zz": 6e4}}))
    assert text.startswith("link 'link2': a radius of gyration of 122.474 m is far beyond the link")
    assert "kg mm²" in text


def test_flywheels_and_cranes_are_no_millimetres():
    assert said(arm(ROW | {"a": 17, "com": [-8, 0, 0], "inertia": {"xx": 50, "yy": 900, "zz": 900}})) == []
    assert (
        said(arm(ROW | {"a": 0, "com": [0, 0, 0], "mass": 2, "inertia": {"xx": 40, "yy": 40, "zz": 80}}))
        == []
    )


# ---- tensors that textbooks leave out ----------------------------------------------------------------------


@pytest.mark.parametrize("key", ["zz", "yy"])
def test_the_one_moment_that_matters(key):
    """Planar arms give the moment about the common axis; the others are not felt."""
    first = ROW | {"inertia": {"zz": 0.06}}
    last = ROW | {"alpha": 0 if key == "zz" else "pi/2", "inertia": {key: 0.06}}
    slide = bare(ROW, "d") | {"joint": "prismatic", "theta": 0, "inertia": {key: 0.06}}
    assert said(arm(first, first, last)) == []
    assert said(arm(first, last, slide)) == []


def test_the_same_moment_on_an_arm_that_turns_in_space():
    """Here the others are felt, and a body with one moment only is impossible."""
    (text,) = said(arm(ROW | {"alpha": "pi/2"}, ROW | {"inertia": {"zz": 0.06}}))
    assert text.startswith("link 'link2': principal moments 0 0 0.06 break the triangle inequality")


def test_a_moment_that_is_not_the_one_that_matters():
    assert any("triangle" in text for text in said(arm(ROW | {"inertia": {"xx": 0.06}})))
    assert any("triangle" in text for text in said(arm(ROW | {"inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.3}})))


def test_a_planar_arm_with_a_payload_has_no_more_to_say():
    robot = Robot.load("planar")
    assert robot.with_payload(3).warnings == []
    assert robot.with_payload(3, [0.1, 0.2, 0], {"xx": 0.1, "yy": 0.1, "zz": 0.1}).warnings == []


def test_mass_that_is_not_felt():
    """A link that turns about a fixed axis through its frame needs no mass; one carried around does."""
    waist = bare(ROW) | {"a": 0, "alpha": "pi/2", "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.1}}
    assert said(arm(waist, ROW)) == []
    assert said(arm(ROW, waist)) == ["link 'link2': it has inertia but no mass"]


# ---- points, and bodies whose tensor is missing ------------------------------------------------------------


def test_point_masses_are_meant():
    point = bare(ROW, "inertia") | {"com": [0, 0, 0]}
    assert said(arm(point, point)) == []
    assert said(arm(point | {"alpha": "pi/2"}, point, point)) == []
    assert said(arm(point | {"mass": "m"}, point | {"mass": "m"}, symbols={"m": "free"})) == []
    assert said(arm(ROW, point)) == []  # a hand that is a point
    plate = {"joint": "fixed", "a": 0, "alpha": 0, "d": 0, "theta": 0, "mass": 2}
    assert said(arm(ROW, ROW, ROW, plate)) == []  # a load that is a point


def test_a_mass_on_the_axis_of_its_own_joint():
    """Nothing of it would be felt there: a body, not a point."""
    (text,) = said(arm(FRAME, bare(FRAME, "inertia", "com") | {"motor": MOTOR}, convention="frames"))
    assert text.startswith("link 'link2': it turns and has mass but no inertia")
    assert text.endswith("is inertia missing?")


def test_one_tensor_missing_of_three():
    (text,) = said(arm(ROW, bare(ROW, "inertia"), ROW))
    reason = "it turns and has mass but no inertia, and other links have a tensor: is inertia missing?"
    assert text == f"link 'link2': {reason}"


def test_bodies_that_only_slide_need_no_tensor():
    slide = bare(ROW, "inertia", "d") | {"joint": "prismatic", "theta": 0}
    assert said(arm(slide, slide | {"alpha": "pi/2"}, slide)) == []


# ---- joints without inertia --------------------------------------------------------------------------------


def test_a_joint_with_nothing_behind_it():
    assert said(arm(ROW, bare(ROW))) == [
        "link 'link2': its joint moves no inertia: no mass, inertia or rotor resists a torque there"
    ]
    assert said(arm(ROW, bare(ROW, "d", "mass", "com", "inertia") | {"joint": "prismatic", "theta": 0})) == [
        "link 'link2': its joint moves no inertia: no mass, inertia or rotor resists a torque there"
    ]


def test_a_point_on_the_last_axis():
    (text,) = said(arm(ROW, bare(ROW, "inertia") | {"a": 0, "com": [0, 0, 0.1]}))
    assert text.startswith("link 'link2': its joint moves no inertia")


def test_geometry_alone_gets_one_line():
    (text,) = said(arm(bare(ROW), bare(ROW), bare(ROW)))
    assert text.startswith("links 'link1', 'link2', 'link3': their joints move no inertia")


def test_two_joints_on_one_axis_with_nothing_between_them():
    (text,) = said(arm(bare(ROW) | {"a": 0}, ROW))
    assert text.startswith("links 'link1', 'link2': their joints move no inertia")


def test_massless_links_with_mass_further_out():
    """As in tables of Denavit and Hartenberg: a shoulder of three joints at one place."""
    light = bare(ROW) | {"a": 0, "alpha": "pi/2"}
    assert said(arm(light, light, ROW)) == []
    assert said(arm(light, ROW, light, light, ROW)) == []


def test_rotors_count():
    light = bare(ROW)
    table = arm(ROW, light | {"motor": MOTOR})
    assert said(table) == []
    robot = Robot.from_dict(table)
    assert robot.with_rotors("reflected").warnings == []
    assert ["moves no inertia" in text for text in robot.with_rotors("none").warnings] == [True]
    other = MOTOR | {"carrier": "base", "axis": [0, 1, 0]}
    assert said(arm(ROW, light | {"motor": other})) == []


def test_a_payload_gives_the_last_joint_its_inertia():
    with golden_warning(PhysicsWarning):
        robot = Robot.from_dict(arm(ROW, bare(ROW)))
    assert robot.with_payload(1).warnings == []


def test_free_symbols_do_not_hide_a_joint_without_inertia():
    table = arm(
        ROW | {"mass": "m", "com": ["-l/2", 0, 0], "a": "l"}, bare(ROW), symbols={"m": "free", "l": "free"}
    )
    assert ["moves no inertia" in text for text in said(table)] == [True]
