"""Reading MJCF: what is taken from a file, what is noted, and what is refused, with its place and reason."""

import os
import sys
from math import pi

import numpy as np
import pytest

from armdyn import DescriptionError, Robot
from armdyn.expression import Expression
from arms import assert_same
from golden_messages import golden_error
from in_mujoco import MuJoCo

pytest.importorskip("mujoco")

ARM = """<mujoco model="arm">{top}
  <worldbody>
    <body name="a" {body}>
      <inertial pos="0 0 0.1" mass="1" diaginertia="1 1 1"/>
      <joint name="j" axis="0 0 1" {joint}/>{inner}
      <body name="b" pos="1 0 0">
        <inertial pos="0 0 0.1" mass="2" diaginertia="1 1 1"/>
        <joint name="k" axis="0 1 0"/>
      </body>
    </body>
  </worldbody>{end}
</mujoco>"""


def arm(**parts):
    return ARM.format(**{"top": "", "body": "", "joint": "", "inner": "", "end": ""} | parts)


def compiled(path):
    import mujoco

    return mujoco.MjModel.from_xml_path(str(path))


def equality(inside):
    return arm(end=f"<equality>{inside}</equality>")


BALL = '<body name="c"><joint type="ball" name="o"/><geom size="1"/></body>'
MESH = '<body name="c"><joint name="m"/><geom type="mesh" mesh="x"/></body>'
PULLING = '<tendon><fixed name="t" stiffness="2"><joint joint="j" coef="1"/></fixed></tendon>'

REFUSED = {
    "gravity compensation": (arm(body='gravcomp="1"'), "line 3: .*'a' has gravcomp"),
    "fluid": (arm(top='<option density="1.2"/>'), "fluids are not read"),
    "weld of points": (equality('<weld body1="a" body2="b" torquescale="0"/>'), "has torquescale 0"),
    "no body": (equality('<connect body1="z" anchor="0 0 0"/>'), "equality connect of 'z': there is no body"),
    "no site": (equality('<connect site1="s" site2="z"/>'), "there is no site 's'"),
    "square": (equality('<joint joint1="j" joint2="k" polycoef="0 1 2 0 0"/>'), "'j' is not linear"),
    "no joint": (equality('<joint joint1="j" joint2="z"/>'), "no joint 'z'"),
    "no follower": (equality('<joint joint1="z" joint2="j"/>'), "'z': there is no such joint; joints: j, k"),
    "twice": (equality('<joint joint1="j" joint2="k"/>' * 2), "'j': it has two equalities"),
    "tendon": (arm(end=PULLING), "tendon 't' has stiffness.*lock="),
    "ball": (arm(inner=BALL), "ball joint has three degrees of freedom.*lock={'o': 0}"),
    "equality of a ball": (
        arm(inner=BALL, end='<equality><joint joint1="o"/></equality>'),
        "equality of joint 'o': only hinges and slides have equalities",
    ),
    "mesh": (arm(inner=MESH), r"line 5: <body name=\"c\">: body 'c': its mass comes from a mesh"),
    "MuJoCo's own reasons": (
        arm(inner="<foo/>"),
        "MuJoCo refuses it: .*unrecognized element; Element 'foo', line 5",
    ),
    "plugin": (arm(inner='<plugin plugin="x"/>'), "line 5: <plugin>: plugins are not read"),
    "attach": (arm(inner='<attach model="x" body="y" prefix="z"/>'), "parts of other models"),
    "composite": (arm(inner='<composite type="cable" count="3 1 1"/>'), "composite objects are not read"),
    "soft": (arm(inner='<flexcomp name="x" type="grid"/>'), "soft bodies are not read"),
    "copies": (arm(inner='<replicate count="600"><geom size="1"/></replicate>'), "up to 500 is allowed"),
    "crowd": (arm(inner='<body pos="1 0 0"/>' * 500), "more than 500 bodies"),
    "geometry": (arm(inner='<geom size="1"/>' * 10_000), "more than 10000 elements"),
    "infinite": (arm(body='pos="inf 0 0"'), "expected a finite number, found inf"),
    "include": ('<mujoco><include file="x.xml"/></mujoco>', "a text cannot include files"),
    "bomb": ('<!DOCTYPE m [<!ENTITY a "aa">]><mujoco/>', "line 1: a DOCTYPE that declares entities"),
    "attribute": (arm(joint='foo="1"'), "MuJoCo refuses it: .*'foo'.*line 5"),
    "negative mass": (arm().replace('mass="1"', 'mass="-1"'), "MuJoCo refuses it: mass and inertia"),
    "impossible": (arm().replace('"1 1 1"', '"1 1 5"', 1), "MuJoCo refuses it: inertia must satisfy"),
    "class": (arm(joint='class="z"'), "MuJoCo refuses it: unknown default class"),
    "nan": (arm(joint='ref="nan"'), 'line 5: <joint name="j">: ref="nan": expected numbers'),
    "nothing": ("<mujoco/>", "no link below the base 'world'"),
    "no MJCF": ("<robots/>", "root element is <robot> .URDF. or <mujoco> .MJCF."),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_reason(name):
    text, reason = REFUSED[name]
    with pytest.raises(DescriptionError, match=f"(?s)^XML text: .*{reason}"):
        Robot.load(text)


def test_floating_base_is_refused_or_chosen():
    text = arm().replace('<joint name="j" axis="0 0 1" />', '<freejoint name="f"/>')
    with golden_error(DescriptionError):
        Robot.load(text)
    robot = Robot.load(text, base="a")
    assert (robot.joints, robot.model.root) == (("k",), "a")
    assert Robot.load(text, lock={"f": 0}).joints == ("k",)


@pytest.mark.parametrize(
    ("text", "lock"),
    [
        (arm(inner=BALL), {"o": 0}),
        (arm(end=PULLING), {"j": 0}),
        (equality('<weld body1="a" body2="world"/>'), {"j": 0}),
    ],
)
def test_what_is_refused_for_a_joint_is_read_where_it_is_locked(text, lock):
    assert "k" in Robot.load(text, lock=lock).joints


LOOP = """<body name="c"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
  <joint name="m" axis="1 0 0" {}/><site name="s"/></body>"""


@pytest.mark.parametrize(
    "inside",
    [
        '<connect body1="b" body2="c" anchor="0 0 0"/>',
        '<weld body1="b" body2="c"/>',
        '<weld body1="b" body2="a"/>',
        '<connect site1="s" site2="t"/>',
    ],
)
def test_a_loop_between_bodies_that_are_welded_does_not_matter(inside):
    """The arm moves both of its ends."""
    parts = {"inner": LOOP.format("") + '<site name="t"/>', "end": f"<equality>{inside}</equality>"}
    lock = {"k": 0.1, "m": 0.2}
    robot = Robot.load(arm(**parts), lock=lock)
    assert "do not move against each other" in str(robot.model.notes)
    assert robot == Robot.load(arm(inner=parts["inner"]), lock=lock)


def test_a_loop_is_left_out_where_equalities_are_switched_off():
    parts = {"top": '<option><flag equality="disable"/></option>'}
    end = '<equality><weld body1="a" body2="b"/></equality>'
    assert Robot.load(arm(**parts, end=end)) == Robot.load(arm(**parts))


def test_a_spring_of_a_joint_that_follows_a_locked_one_does_not_matter():
    relation = '<equality><joint joint1="m" joint2="k"/></equality>'
    robot = Robot.load(arm(inner=LOOP.format('stiffness="3"'), end=relation), lock={"k": 0.1})
    assert robot.joints == ("j",)


def test_a_ball_joint_outside_of_the_chosen_part_does_not_matter():
    beside = arm(inner=BALL)
    assert Robot.load(beside, tip="b").joints == ("j", "k")
    assert Robot.load(arm(joint='type="ball"'), base="a").joints == ("k",)


def test_an_object_that_flies_freely_is_to_be_welded():
    """There is nothing in it to be a robot's base."""
    body = '<body name="o"><freejoint name="f"/><geom size="1"/></body>'
    flying = arm().replace("</worldbody>", body + "</worldbody>")
    with pytest.raises(DescriptionError) as caught:
        Robot.load(flying)
    assert "lock={'f': 0}" in str(caught.value)
    assert "base='o'" not in str(caught.value)


def test_armature_and_gear_are_a_reflected_rotor():
    end = '<actuator><motor joint="j" gear="-10" forcerange="-2 3"/><position joint="k" kp="5"/></actuator>'
    robot = Robot.load(arm(joint='armature="0.5" damping="0.1" frictionloss="0.2"', end=end))
    (first, second) = robot.model.moving
    assert (first.motor.gear, first.motor.axial) == (-10, Expression.of(0.005))
    assert second.motor is None
    assert robot.model.rotors == "reflected"
    assert [str(x) for x in (first.friction["viscous"], *first.friction.coulomb)] == ["0.1", "0.2", "-0.2"]
    assert first.limits.torque == 20
    notes = " ".join(robot.model.notes)
    assert "torques from -30 to 20 are limited on both sides to 20" in notes
    assert "gains and dynamics of the actuators k are left out" in notes


def test_rotor_and_damping_of_an_actuator_and_mujoco():
    """Actuators have an armature and a damping of their own since MuJoCo 4."""
    end = '<actuator><motor joint="j" gear="10" armature="0.02" damping="0.3"/></actuator>'
    text = arm(joint='armature="0.5" damping="0.1"', end=end)
    try:
        peer = MuJoCo(text)
    except ValueError:
        pytest.skip("this version of MuJoCo has neither")
    robot = Robot.load(text)
    order = peer.order(robot.joints)
    q, qd, qdd = np.random.default_rng(0).uniform(-2, 2, (3, 2))
    peer.at(order, q, qd, qdd)
    assert_same(robot.inertia(q), peer.inertia(order))
    assert_same(robot.inverse_dynamics(q, qd, qdd), peer.inverse_dynamics(order))


def test_equalities_are_relations_about_the_reference_positions():
    """q₁ − ref₁ = a₀ + a₁ (q₂ − ref₂)."""
    text = equality('<joint joint1="j" joint2="k" polycoef="0.5 2 0 0 0"/>')
    text = text.replace('name="j"', 'name="j" ref="0.1"').replace('name="k"', 'name="k" ref="0.2"')
    text = text.replace('model="arm">', 'model="arm"><compiler angle="radian"/>')
    robot = Robot.load(text)
    assert robot.coordinates == ("k",)
    assert_same(robot.joint_positions([0.7]), [0.1 + 0.5 + 2 * (0.7 - 0.2), 0.7])
    held = Robot.load(equality('<joint joint1="j" polycoef="0.5 0 0 0 0"/>'))
    assert held.joints == ("k",)
    locked = Robot.load(arm(), lock={"j": 0.5})
    assert_same(held.pose([0.7]), locked.pose([0.7]))
    off = Robot.load(equality('<joint joint1="j" joint2="k" active="false"/>'))
    assert off.n == 2
    assert "switched off" in off.model.notes[0]


HELD = '<joint joint1="k" polycoef="0.2 0 0 0 0"/>'
FOLLOWING = '<joint joint1="m" joint2="k" polycoef="0.3 2 0 0 0"/>'
THIRD = """<body name="c" pos="0 1 0">
  <inertial pos="0.1 0.2 0.1" mass="2" diaginertia="1 1 1"/><joint name="m" axis="1 0 0"/></body>"""


@pytest.mark.parametrize("inside", [HELD + FOLLOWING, FOLLOWING + HELD])
def test_a_joint_that_follows_one_that_is_held_stands_where_the_equality_puts_it(inside):
    text = arm(inner=THIRD, end=f"<equality>{inside}</equality>")
    robot = Robot.load(text)
    assert robot.joints == ("j",)
    assert "the equality of joint 'm' holds it at 0.7, as joint 'k' stands still: it is welded" in str(
        robot.model.notes
    )
    peer = MuJoCo(text)
    peer.at(peer.order(["j", "k", "m"]), [0.4, 0.2, 0.7])
    assert_same(robot.pose([0.4], "c"), peer.pose("c"))
    assert_same(robot.inertia([0.4]), peer.inertia(peer.order(["j"])))


def test_a_joint_that_is_held_and_follows_has_two_equalities():
    inside = '<joint joint1="k" polycoef="0.2 0 0 0 0"/><joint joint1="k" joint2="j"/>'
    with golden_error(DescriptionError):
        Robot.load(equality(inside))


def test_exact_orientations_by_their_ratios():
    robot = Robot.load(arm(body='quat="1 -1 0 0"'))
    assert robot.model.links[0].before.R == ((1, 0, 0), (0, 0, 1), (0, -1, 0))
    axis = Robot.load(arm().replace("0 0 1", "1 2 2")).model.links[0].axis
    assert axis == tuple(Expression.of(x) / 3 for x in (1, 2, 2))
    R = Robot.load(arm(body='quat="0.9 0.1 -0.2 0.3"')).model.links[0].before.R
    columns = list(zip(*R, strict=True))
    assert sum(x * x for x in columns[0]) == 1
    assert sum(x * y for x, y in zip(columns[0], columns[1], strict=True)) == 0


def test_snap_makes_rounded_rotations_exact_and_says_so():
    text = arm(top='<compiler angle="radian"/>', body='euler="1.5708 0 0.7854"')
    plain, snapped = Robot.load(text), Robot.load(text, snap=True)
    R = np.array([[snapped.model.number(x) for x in row] for row in snapped.model.links[0].before.R])
    half = np.sqrt(0.5)
    assert_same(R, [[half, -half, 0], [0, 0, -1], [half, half, 0]], 1e-15)
    assert "body 'a': rotation by roll, pitch, yaw" in snapped.model.notes[0]
    assert plain.model.notes == ()
    assert plain != snapped


def test_several_joints_of_a_body_have_massless_links_between():
    robot = Robot.load(arm(inner='<joint name="s" type="slide" axis="1 0 0"/>'))
    assert robot.joints == ("j", "s", "k")
    assert [link.name for link in robot.model.links] == ["j_link", "a", "b"]
    assert robot.model.links[0].inertia.mass == 0


def test_units_ranges_and_gravity():
    robot = Robot.load(arm(top='<option gravity="1 2 3"/>', joint='range="-90 45"'))
    assert_same([x.value() for x in robot.model.links[0].limits.position], [-pi / 2, pi / 4], 1e-15)
    assert robot.model.gravity == (1, 2, 3)
    still = Robot.load(arm(top='<option><flag gravity="disable"/></option>'))
    assert still.model.gravity == (0, 0, 0)


@pytest.mark.skipif(os.name == "nt", reason="links and pipes are made")
def test_included_files_lie_in_the_folder_of_the_file(tmp_path):
    folder = tmp_path / "robot"
    (folder / "parts").mkdir(parents=True)
    (folder / "parts" / "arm.xml").write_text(arm())
    (tmp_path / "secret.xml").write_text(arm())
    (folder / "link.xml").symlink_to(tmp_path / "secret.xml")
    (folder / "near.xml").symlink_to(folder / "parts" / "arm.xml")
    os.mkfifo(folder / "pipe.xml")
    scene = folder / "scene.xml"
    for file in ("parts/arm.xml", "parts/../parts/arm.xml", "near.xml"):
        scene.write_text(f'<mujoco model="scene"><include file="{file}"/></mujoco>')
        robot = Robot.load(scene)
        assert (robot.name, robot.joints) == ("scene", ("j", "k"))
    for file, reason in (
        ("nowhere.xml", "nowhere.xml.*cannot read it"),
        (str(folder / "parts" / "arm.xml"), "only files in it and in the folders below it are included"),
        ("../secret.xml", "outside the folder of the main file"),
        ("parts/../../secret.xml", "outside the folder of the main file"),
        ("link.xml", "outside the folder of the main file"),
        ("/dev/zero", "outside the folder of the main file"),
        ("pipe.xml", "it is no file"),
        ("parts", "it is no file"),
        ("scene.xml", "it is included twice"),
    ):
        scene.write_text(f'<mujoco><include file="{file}"/></mujoco>')
        with pytest.raises(DescriptionError, match=rf"scene.xml: line 1: <include>: .*{reason}"):
            Robot.load(scene)


@pytest.mark.skipif(os.name == "nt", reason="links and pipes are made")
def test_a_folder_of_links_includes_files_beside_what_they_lead_to(tmp_path):
    for name in ("source", "installed"):
        (tmp_path / name).mkdir()
    (tmp_path / "source" / "arm.xml").write_text(arm())
    (tmp_path / "source" / "scene.xml").write_text('<mujoco><include file="arm.xml"/></mujoco>')
    for name in ("arm.xml", "scene.xml"):
        (tmp_path / "installed" / name).symlink_to(tmp_path / "source" / name)
    assert Robot.load(tmp_path / "installed" / "scene.xml").joints == ("j", "k")


@pytest.mark.parametrize("size", ["1e200", "1e-200", "inf", "-1e150"])
def test_directions_that_cannot_be_normalised_are_refused(size):
    for turn in (
        f'axis="0 {size} 0"',
        f'quat="0 {size} 0 0"',
        f'quat="{size} {size} {size} {size}"',
        f'axisangle="{size} 0 0 1"',
        f'xyaxes="1 0 0 0 {size} 0"',
        f'zaxis="0 {size} 0"',
    ):
        body = f'<body><joint {turn}/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>'
        body = (
            body
            if turn.startswith("axis=")
            else body.replace(f" {turn}", "").replace("body>", f"body {turn}>", 1)
        )
        with golden_error(DescriptionError):
            Robot.load(arm(inner=body))


def test_small_angles_and_entries_are_read():
    for turn in ('axisangle="0 0 1 1e-17"', 'quat="1 1e-200 0 0"', 'euler="0 1e-200 0"', 'quat="1e50 0 0 0"'):
        body = f'<body {turn}><joint name="x"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>'
        assert "x" in Robot.load(arm(inner=body)).joints


def test_included_files_include_files_beside_the_main_file_or_beside_themselves(tmp_path):
    inner, other = (arm().replace('"arm"', f'"{name}"').replace('"j"', f'"{name}"') for name in ("p", "q"))
    folder = tmp_path / "parts"
    folder.mkdir()
    scene = tmp_path / "scene.xml"
    scene.write_text('<mujoco><include file="parts/middle.xml"/></mujoco>')
    (folder / "middle.xml").write_text('<mujoco><include file="inner.xml"/></mujoco>')
    (folder / "inner.xml").write_text(inner)
    assert Robot.load(scene).joints == tuple(MuJoCo(model=compiled(scene)).names) == ("p", "k")
    (tmp_path / "inner.xml").write_text(other)
    assert Robot.load(scene).joints == tuple(MuJoCo(model=compiled(scene)).names) == ("q", "k")


def test_messages_name_the_included_file_that_a_line_is_of(tmp_path):
    (tmp_path / "arm.xml").write_text(arm(joint='type="ball"'))
    scene = tmp_path / "scene.xml"
    scene.write_text('<mujoco><include file="arm.xml"/></mujoco>')
    with pytest.raises(DescriptionError, match=r'scene.xml: line 5 of .*arm.xml: <joint name="j">: '):
        Robot.load(scene)


def test_without_mujoco_one_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with golden_error(DescriptionError):
        Robot.load(arm())


def test_no_asset_is_looked_for(tmp_path):
    assets = '<asset><mesh name="x" file="x.obj"/><texture name="t" type="2d" file="t.png"/></asset>'
    geom = '<geom type="mesh" mesh="x" material="no"/>'
    path = tmp_path / "arm.xml"
    path.write_text(arm(top=assets, inner=geom))
    assert Robot.load(path) == Robot.load(arm())
    assert [file.name for file in tmp_path.iterdir()] == ["arm.xml"]
