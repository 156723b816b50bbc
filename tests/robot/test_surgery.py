"""Robots cut and welded, and the same robots described so; what is refused."""

import numpy as np
import pytest

from armdyn import ArmdynError, PhysicsWarning, Robot, point_mass
from armdyn.description.source import bundled_table
from armdyn.model import edit
from arms import assert_same, quietly, state
from golden_messages import golden_error

HAND = {
    "name": "hand",
    "joint": "revolute",
    "joint_name": "wrist",
    "a": 0,
    "alpha": 0,
    "d": 0,
    "theta": 0,
    "mass": 1,
    "inertia": {"xx": 0.02, "yy": 0.01, "zz": 0.02, "xy": 0.001},
    "friction": {"viscous": 1, "coulomb": [2, -3], "stribeck": {"level": 1, "velocity": 0.1}},
    "limits": {"velocity": 3, "position": [-1, 1]},
    "motor": {"gear": 50, "inertia": 1e-4, "mass": 0.3, "friction": {"viscous": 1e-3}},
}


def arm(**more):
    """The planar arm with a hand, a finger on it and what is given."""
    table = bundled_table("planar")
    finger = {**HAND, "name": "finger", "joint_name": "knuckle", "a": 0.1}
    return Robot.from_dict(table | {"link": [*table["link"], HAND, finger], **more})


def test_a_file_and_a_bundled_robot_are_locked_like_an_import(tmp_path):
    robot = arm()
    robot.save(tmp_path / "arm.toml")
    lock = {"wrist": "pi/3", "finger": 0.5}
    assert Robot.load(tmp_path / "arm.toml", lock=lock) == robot.locked(lock)
    assert Robot.load("planar", lock={"link 1": 0.5}) == Robot.load("planar").locked({"link 1": 0.5})
    assert "joint 'wrist' is locked at 1/3*pi" in str(robot.locked(lock).model.notes)
    with golden_error(ArmdynError):
        Robot.load("planar", lock={"x": 0})


def test_the_tip_of_a_file_welds_what_is_beside_its_chain(tmp_path):
    robot = arm()
    robot.save(tmp_path / "arm.toml")
    found = Robot.load(tmp_path / "arm.toml", tip="link 2", lock={"finger": 0.2})
    assert found == robot.locked({"wrist": 0, "finger": 0.2}).with_tip("link 2")
    with golden_error(ArmdynError):
        Robot.load("planar", tip="x")
    foot = {"name": "foot", "joint": "fixed", "origin": {"xyz": [0, 0, 1]}}
    lever = {"name": "lever", "joint": "revolute", "origin": {"xyz": [0, 0, 0]}, "axis": [0, 0, 1]}
    lever |= {"mass": 1, "inertia": np.eye(3)}
    standing = Robot.from_dict(
        {"name": "arm", "convention": "frames", "gravity": [0, 0, -9.81], "link": [foot, lever]}
    )
    standing.save(tmp_path / "standing.toml")
    with golden_error(ArmdynError):
        Robot.load(tmp_path / "standing.toml", tip="foot")
    with golden_error(ArmdynError):
        Robot.load("planar", snap=True)


def test_joints_that_closures_tie_to_the_chain_move_on():
    robot = Robot.load("gripper")
    assert Robot.load("gripper", tip=robot.model.links[-1].name).joints == robot.joints
    tied = arm(closure=[{"relation": {"finger": 1, "link 1": -2}}])
    text = tied.with_tip("link 2").to_dict()
    found = edit.chain_to(Robot.from_dict(text).model, "link 2")
    assert [link.joint for link in found.links] == ["revolute", "revolute", "fixed", "revolute"]


def test_a_robot_without_its_hand_and_one_that_never_had_one():
    robot, bare = arm(), Robot.load("planar")
    spring = {"between": ["base", "finger"], "at": [[0, 0, 0], [0, 0, 0]], "stiffness": 3}
    relation = {"relation": {"finger": 1, "link 1": -2}}
    coupled = {"link 1": {"coupling": {"finger": 4}}}
    for found in (robot, arm(spring=[spring], closure=[relation]), robot.with_motors(coupled)):
        cut = found.without("hand")
        assert cut.model.links == bare.model.links
        assert (cut.model.tip, cut.coordinates) == ("link 2", ("link 1", "link 2"))
        q, qd, qdd = state(bare, np.random.default_rng(1))
        assert_same(cut.inverse_dynamics(q, qd, qdd), bare.inverse_dynamics(q, qd, qdd))
    assert robot.without("finger").without("wrist") == robot.without("hand")
    ended = arm(spring=[spring], closure=[relation]).without("hand").model.notes[-1]
    assert ended == "link 'hand' and the 1 link behind it dropped, with 1 closure and 1 spring"
    assert robot.without("finger").model.notes[-1] == "link 'finger' dropped"
    assert robot.with_tip("link 1", {"xyz": [0, 0, 1]}).without("hand").model.tip == "link 1"


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.without("thumb"),
        lambda r: r.without("base"),
        lambda r: r.without("link 1"),
        lambda r: r.with_motors({"link 1": {"carrier": "hand", "axis": [0, 0, 1]}}).without("hand"),
        lambda r: r.locked({"thumb": 0}),
        lambda r: r.locked({"wrist": 0, "hand": 0}),
        lambda r: r.locked({"wrist": "x"}),
        lambda r: r.locked({"wrist": "1/0"}),
        lambda r: r.locked(dict.fromkeys(r.joints, 0)),
        lambda r: r.locked(3),
        lambda r: r.with_friction({"wrist": {"viscos": 1}}),
        lambda r: r.with_friction({"wrist": {"viscos": None}}),
        lambda r: r.with_friction({"wrist": {"viscous": -1}}),
        lambda r: r.with_limits({"wrist": {"position": [1, -1]}}),
        lambda r: r.with_limits({"wrist": 3}),
    ],
)
def test_what_is_refused(change):
    with golden_error(ArmdynError):
        change(arm())


def test_locked_joints_of_a_relation_contradict_it():
    robot = arm(closure=[{"relation": {"finger": 1, "hand": -2}, "offset": 0.1}])
    assert (
        robot.locked({"wrist": 0.5})
        == robot.locked({"finger": 1.1})
        == robot.locked({"hand": 0.5, "finger": 1.1})
    )
    with golden_error(ArmdynError):
        robot.locked({"wrist": 0.5, "finger": 1})


def test_a_linkage_whose_crank_is_locked_cannot_move():
    with golden_error(ArmdynError):
        Robot.load("four_bar").locked({"crank": 1.5})


def test_friction_and_limits_and_a_file_that_has_them():
    robot = arm()
    changed = robot.with_friction({"wrist": {"coulomb": 5, "stribeck": None}}).with_limits(
        {"hand": {"velocity": "pi", "position": None, "torque": 7}}
    )
    hand = {**HAND, "friction": {"viscous": 1, "coulomb": 5}, "limits": {"velocity": "pi", "torque": 7}}
    table = robot.to_dict()
    table["link"][2] |= {key: hand[key] for key in ("friction", "limits")}
    assert changed == quietly(lambda: Robot.from_dict(table))
    none = robot.with_friction({"wrist": None})
    qd = np.ones(robot.n)
    assert none.friction(qd)[2] == 0 != robot.friction(qd)[2]
    assert none.friction(qd)[3] == robot.friction(qd)[3]
    assert not robot.with_friction(None).friction(qd).any()
    free = robot.with_limits(None).model
    assert all(link.limits.velocity is None for link in free.links)
    assert robot.with_limits({"wrist": None}).model.links[2].limits.velocity is None


def test_tools_and_payloads_by_a_matrix_and_by_angles():
    robot = arm()
    T = robot.pose([0.1, 0.2, 0.3, 0.4])
    q = np.array([0.5, -0.2, 0.1, 0.3])
    assert_same(robot.with_tip("hand", T).pose(q), robot.pose(q, "hand") @ T, 1e-14)
    assert robot.with_tip("hand", [0, 0, 0.1]) == robot.with_tip("hand", {"xyz": [0, 0, 0.1]})
    pose, I = {"xyz": [0.1, 0, 0.2], "rpy": [0, 0, "pi/2"]}, np.diag([1.0, 2, 2.5])
    quarter = np.array([[0.0, -1, 0, 0.1], [1, 0, 0, 0], [0, 0, 1, 0.2], [0, 0, 0, 1]])
    by_hand = robot.with_payload(2, [0.1, 0, 0.2], [2, 0, 0, 1, 0, 2.5])
    assert robot.with_payload(2, pose, I) == robot.with_payload(2, quarter, I) == by_hand
    moved = point_mass(2, [0.5, 0, 0])  # a body with a centre of its own: it stays where its frame has it
    assert robot.with_payload(moved, quarter) == robot.with_payload(2, [0.1, 0.5, 0.2])


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        (np.diag([1, 1, 1, 2.0]), "tool: not a rigid transform: its last row"),
        (np.diag([1, 1, 1.001, 1]), "tool.rotation: not a rotation"),
        (np.diag([1, 1, -1.0, 1]), "tool.rotation: not a rotation: its determinant is -1"),
        ([1, 2], r"tool: expected .xyz: …, rpy: …., .x, y, z. or a 4×4 matrix, found .1, 2."),
        ([[1], [2, 3]], "tool: expected"),
        (3, "tool: expected"),
    ],
)
def test_what_is_no_tool(tool, message):
    with pytest.raises(ArmdynError, match=f"^with_tip: {message}"):
        arm().with_tip("hand", tool)
    if isinstance(tool, np.ndarray):
        with golden_error(ArmdynError):
            arm().with_payload(1, tool)


def test_an_impossible_payload_warns_as_an_impossible_link_does():
    with pytest.warns(PhysicsWarning, match="payload: principal moments 0.1 0.1 1 break the triangle"):
        Robot.load("panda").with_payload(1, inertia=[1, 0, 0, 0.1, 0, 0.1])
    Robot.load("planar").with_payload(1, inertia={"zz": 1})  # the one moment that matters, as of a link


def test_a_tensor_as_a_matrix_in_a_table():
    table = bundled_table("ur10")
    link = table["link"][0]
    rows = [[0.5, 0.1, 0], [0.1, 0.6, 0.05], [0, 0.05, 0.7]]
    entries = {"xx": 0.5, "xy": 0.1, "yy": 0.6, "yz": 0.05, "zz": 0.7}
    made = [
        Robot.from_dict(table | {"link": [link | {"inertia": given}, *table["link"][1:]]})
        for given in (entries, rows, np.array(rows), [0.5, 0.1, 0, 0.6, 0.05, 0.7])
    ]
    assert all(robot == made[0] for robot in made)
    for wrong in ([[1, 0], [0, 1]], [[1, 2, 0], [0, 1, 0], [0, 0, 1]], 3):
        with golden_error(ArmdynError):
            Robot.from_dict(table | {"link": [link | {"inertia": wrong}, *table["link"][1:]]})


def test_crumbs_of_rounding_are_no_negative_moments():
    """Moments of less than mass · (10 nm)² tell nothing of a body; a really negative one refuses."""
    table = bundled_table("ur10")
    made = lambda xx: [table["link"][0] | {"inertia": {"xx": xx, "yy": 1.4e-20}}, *table["link"][1:]]  # noqa: E731
    quietly(lambda: Robot.from_dict(table | {"link": made(-1.35525e-20)}))
    with golden_error(ArmdynError):
        Robot.from_dict(table | {"link": made(-1e-9)})


def test_names_that_are_nearly_right_and_files_for_xacro(tmp_path):
    with golden_error(ArmdynError):
        Robot.load("puma56")
    path = tmp_path / "arm.urdf.xacro"
    path.write_text("<robot name='a' xmlns:xacro='x'>\n<xacro:include filename='b'/></robot>")
    with pytest.raises(ArmdynError, match=r"line 2: <xacro:include>: .*run xacro on the file first"):
        Robot.load(path)


def test_the_text_of_a_robot_is_one_line_and_says_whether_it_has_motors():
    table = bundled_table("panda") | {"name": "a\x1b[31m\nb"}
    assert repr(Robot.from_dict(table)) == "<Robot 'a\ufffd[31m b' RRRRRRR, no motors>"
    assert "rotors exact" in repr(Robot.load("planar"))


@pytest.mark.parametrize("name", ["${x}", "a$(find b)"])
def test_a_name_that_is_read_as_xacro_is_not_written_to_urdf(tmp_path, name):
    table = bundled_table("ur10")
    table["link"][2]["name"] = name
    robot = quietly(lambda: Robot.from_dict(table))
    with golden_error(ArmdynError):
        robot.save(tmp_path / "arm.urdf")
    robot.save(tmp_path / "arm.toml")
    assert quietly(lambda: Robot.load(tmp_path / "arm.toml")) == robot
