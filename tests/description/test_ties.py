"""Loops and springs in MJCF: what is read is what MuJoCo has, and what is written is read again."""

import numpy as np
import pytest

from armdyn import DescriptionError, ExportWarning, Robot
from armdyn.description.foreign.assembly import from_xml
from armdyn.description.robot_file import build
from armdyn.description.source import Options
from armdyn.expression import Expression
from armdyn.model.parts import JointSpring
from arms import assert_same, quietly
from exported_texts import mjcf_text, urdf_text
from golden_messages import golden_error
from opened_loops import frames, rod, tension

mujoco = pytest.importorskip("mujoco")

FILE = """<mujoco>{top}
  <compiler angle="radian"/>
  <worldbody>
    <site name="floor" pos="0.3 -0.4 0.2" euler="0.1 0.2 0.3"/>
    <body name="a" pos="1 0 0" euler="0.3 -0.2 0.5">
      <inertial pos="0 0 0.1" mass="1" diaginertia="1 1 1"/>
      <joint name="j" axis="0 0 1" stiffness="3" springref="0.4"/>
      <site name="s" pos="0.1 0.2 0.3" euler="0.4 0.5 -0.6"/>
      <body name="b" pos="0 1 0" quat="1 1 0 0">
        <inertial pos="0 0 0.1" mass="2" diaginertia="1 1 1"/>
        <joint name="k" axis="0 1 0" pos="0 0 0.2" ref="0.5" stiffness="7" springref="-0.2" armature="0.1"/>
        <body name="c" pos="0.5 0 0">
          <inertial pos="0 0 0.1" mass="2" diaginertia="1 1 1"/>
          <joint name="l" type="slide" axis="1 1 0" ref="0.1" stiffness="5" springref="0.6"/>
          <site name="t" pos="0.2 0.1 0"/>
        </body>
      </body>
    </body>
    <body name="d" pos="0 0 0.7">
      <inertial pos="0 0 0.1" mass="2" diaginertia="1 1 1"/>
      <joint name="m" axis="1 0 0"/>
      <site name="u" pos="0 0.3 0.4" quat="0.8 0.6 0 0"/>
    </body>
  </worldbody>{end}
</mujoco>"""
LOOPS = {
    "connect": '<connect body1="c" body2="d" anchor="0.1 0.2 0.3"/>',
    "connect to the world": '<connect body1="c" anchor="0.1 0.2 0.3"/>',
    "connect by sites": '<connect site1="t" site2="u"/>',
    "weld": '<weld body1="c" body2="d"/>',
    "weld at a point": '<weld body1="c" body2="d" anchor="0.3 0.4 0.5"/>',
    "weld in a pose": '<weld body1="d" body2="c" relpose="0.1 0.2 0.3 0.8 0.6 0 0" anchor="0.3 0.4 0.5"/>',
    "weld by sites": '<weld site1="t" site2="u"/>',
    "weld to a site of the world": '<weld site1="s" site2="floor"/>',
}


def text(inside="", top=""):
    return FILE.format(top=top, end=inside)


def model_of(found, **options):
    return quietly(lambda: from_xml(found, "XML text", Options(**options)))


def mujoco_at(found, model, q):
    """MuJoCo's state at joints in the order of the model."""
    theirs = mujoco.MjModel.from_xml_string(found)
    data = mujoco.MjData(theirs)
    names = [theirs.joint(j).name for j in range(theirs.njnt)]
    order = [names.index(link.joint_name) for link in model.moving]
    data.qpos[order] = q
    mujoco.mj_forward(theirs, data)
    return theirs, data, order


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_is_where_mujoco_has_it(name):
    found = text(f"<equality>{LOOPS[name]}</equality>")
    model = model_of(found)
    q = np.array([0.3, -0.4, 0.2, 0.9])
    _, data, _ = mujoco_at(found, model, q)
    ((loop, ((R_a, p_a), (R_b, p_b))),) = frames(model, q)
    assert_same(p_a - p_b, data.efc_pos[:3], 1e-9)
    assert loop.joint == ("fixed" if "weld" in name else "spherical")
    if loop.joint == "fixed":
        angle = np.arccos((np.trace(R_a.T @ R_b) - 1) / 2)
        assert_same(np.linalg.norm(data.efc_pos[3:6]), np.sin(angle / 2), 1e-9)


def test_two_points_are_a_hinge():
    points = [[0.1, 0.2, 0.3], [0.1, 0.5, 0.7]]
    inside = "".join(f'<connect body1="c" body2="d" anchor="{x} {y} {z}"/>' for x, y, z in points)
    model = model_of(text(f"<equality>{inside}</equality>"))
    (loop,) = model.loops
    assert loop.joint == "revolute"
    at_references = np.array([0, 0.5, 0.1, 0])
    ((_, ((R_a, p_a), (R_b, p_b))),) = frames(model, at_references)
    assert_same(p_a, p_b, 1e-9)
    assert_same(R_a[:, 2], R_b[:, 2], 1e-9)
    R_c = np.array([[model.number(x) for x in row] for row in loop.at[0].R])
    assert_same(R_c[:, 2], [0, 0.6, 0.8], 1e-9)


def test_springs_of_joints_are_those_of_mujoco():
    found = text()
    model = model_of(found)
    q = np.array([0.3, -0.4, 0.2, 0.9])
    _, data, order = mujoco_at(found, model, q)
    ours = [
        model.number(link.spring.stiffness * (x - link.spring.rest))
        for link, x in zip(model.moving, q, strict=True)
    ]
    assert_same(np.array(ours), -data.qfrc_spring[order], 1e-12)
    assert model_of(found, lock={"j": 0}).links[0].spring == JointSpring()
    off = text(top='<option><flag spring="disable"/></option>')
    assert all(link.spring == JointSpring() for link in model_of(off).links)


@pytest.mark.parametrize("length", ['springlength="0.3"', ""])
def test_tendons_between_two_sites_are_springs(length):
    tendon = f'<spatial name="p" stiffness="4" {length}><site site="floor"/><site site="t"/></spatial>'
    found = text(f"<tendon>{tendon}</tendon>")
    model = model_of(found)
    q = np.array([0.3, -0.4, 0.2, 0.9])
    theirs, data, _ = mujoco_at(found, model, q)
    (spring,) = model.springs
    assert (spring.name, spring.between) == ("p", ("world", "c"))
    expected = 4 * (data.ten_length[0] - theirs.tendon_lengthspring[0, 0])
    assert_same(tension(model, spring, q), expected, 1e-9)


def test_joints_of_loops_without_actuators_are_passive():
    loop = f"<equality>{LOOPS['connect']}</equality>"
    motors = '<actuator><motor joint="j"/></actuator>'
    model = model_of(text(loop + motors))
    assert [link.actuated for link in model.moving] == [True, False, False, False]
    assert [str(link.guess) for link in model.moving] == ["0", "0.5", "0.1", "0"]
    assert model.moving[1].motor is not None  # its armature still counts
    assert "joints k, l, m: passive, as no actuator acts there" in str(model.notes)
    pulled = '<joint joint="k" coef="1"/><joint joint="l" coef="1"/>'
    by_tendon = f"""<tendon><fixed name="f">{pulled}</fixed></tendon>
      <actuator><motor tendon="f"/></actuator>"""
    model = model_of(text(loop + by_tendon))
    assert [link.actuated for link in model.moving] == [False, True, True, False]
    assert all(link.actuated for link in model_of(text(loop)).moving)
    assert all(link.actuated for link in model_of(text(motors)).moving)


TENDON = '<tendon><spatial stiffness="4"><site site="u"/><site site="t"/></spatial></tendon>'


@pytest.mark.parametrize("inside", [f"<equality>{LOOPS['connect']}</equality>", TENDON])
def test_what_ties_nothing_that_moves_is_left_out(inside):
    held = model_of(text(inside), lock={"j": 0, "k": 0, "l": 0})
    assert (len(held.loops), len(held.springs)) == (("equality" in inside), ("tendon" in inside))
    with golden_error(DescriptionError):
        model_of(text(inside), base="a")
    beside = model_of(text(inside.replace('"t"', '"s"').replace('body1="c"', 'body1="a"')), base="b")
    assert (beside.loops, beside.springs) == ((), ())
    assert "is beside the robot and left out" in str(beside.notes)
    together = inside.replace('"u"', '"s"').replace('body2="d"', 'body2="a"')
    stiff = model_of(text(together), lock={"k": 0, "l": 0})
    assert (stiff.loops, stiff.springs) == ((), ())
    assert "do not move against each other" in str(stiff.notes)


@pytest.mark.parametrize(
    "inside",
    [
        '<spatial stiffness="4" springlength="0.1 0.2">{}</spatial>',
        '<spatial stiffness="4" damping="1">{}</spatial>',
        '<spatial stiffness="4">{}<site site="u"/></spatial>',
        '<spatial stiffness="4"><site site="s"/><site site="z"/></spatial>',
    ],
)
def test_tendons_that_are_more_than_a_spring(inside):
    sites = '<site site="s"/><site site="t"/>'
    with golden_error(DescriptionError):
        model_of(text(f"<tendon>{inside.format(sites)}</tendon>"))


# ---- written -----------------------------------------------------------------------------------------------


def five_bar(**others):
    """Standard DH-like frames beside the joints, a slide, all kinds of closures and springs."""
    table = {
        "name": "five-bar",
        "convention": "frames",
        "base": {"name": "world"},
        "gravity": [0, 0, -9.81],
        "link": [
            rod("a", spring={"stiffness": 3, "rest": 0.4}, joint_name="ja"),
            rod("b", origin={"xyz": [0.7, 0, 0], "rpy": [0, 0, "pi/3"]}, actuated=False, joint_name="jb"),
            rod("c", parent="world", joint="prismatic", spring={"stiffness": 5}, joint_name="jc"),
            rod("d", after={"xyz": [0.2, 0, 0]}, actuated=False, joint_name="jd"),
        ],
        "closure": [
            {
                "between": ["b", "d"],
                "at": [
                    {"xyz": [0.6, 0, 0], "rpy": ["pi/2", 0, 0.3]},
                    {"xyz": [0.5, 0, 0], "rpy": ["pi/2", 0, 0.1]},
                ],
                "joint": kind,
            }
            for kind in ("revolute", "spherical", "fixed")
        ],
        "spring": [
            {
                "name": "coil",
                "between": ["world", "b"],
                "at": [[0, 1, 0], [0.1, 0, 0.2]],
                "stiffness": 4,
                "rest": 0.5,
            },
            {
                "between": ["a", "c"],
                "at": [[0, 0, 0], [0.1, 0, 0.2]],
                "stiffness": 8,
                "rest": 0.25,
                "force": -2,
            },
        ],
    }
    return build(table | others, "x")


def test_what_is_written_is_what_is_read():
    model = five_bar()
    found, notes = mjcf_text(model)
    again = model_of(found)
    assert [note for note in notes if "tip" not in note] == []
    assert [link.spring for link in again.moving] == [link.spring for link in model.moving]
    assert [link.actuated for link in again.moving] == [link.actuated for link in model.moving]
    assert [loop.between for loop in again.loops] == [loop.between for loop in model.loops]
    assert [loop.joint for loop in again.loops] == [loop.joint for loop in model.loops]
    assert again.springs[0] == model.springs[0]
    assert again.springs[1].rest == Expression.of(0.5)  # where 8·(l − 0.25) − 2 is zero
    q = np.array([0.3, -0.4, 0.2, 0.9])
    for (loop, ours), (_, theirs) in zip(frames(model, q), frames(again, q), strict=True):
        for (R, p), (R_read, p_read) in zip(ours, theirs, strict=True):
            assert_same(p, p_read, 1e-9)
            assert_same(R[:, 2], R_read[:, 2], 1e-9) if loop.joint != "spherical" else None
            assert_same(R, R_read, 1e-9) if loop.joint == "fixed" else None
    for mine, read in zip(model.springs, again.springs, strict=True):
        assert_same(tension(model, mine, q), tension(again, read, q), 1e-12)


def test_mujoco_has_the_springs_and_loops_that_are_written():
    model = five_bar()
    found = mjcf_text(model)[0]
    q = np.array([0.3, -0.4, 0.2, 0.9])
    theirs, data, order = mujoco_at(found, model, q)
    by_joint = [
        model.number(link.spring.stiffness * (x - link.spring.rest))
        for link, x in zip(model.moving, q, strict=True)
    ]
    h = 1e-6
    tensions = np.array([tension(model, spring, q) for spring in model.springs])
    slopes = []
    for i in range(4):
        steps = []
        for sign in (1, -1):
            _, moved, _ = mujoco_at(found, model, q + sign * h * np.eye(4)[i])
            steps.append(np.array(moved.ten_length))
        slopes.append((steps[0] - steps[1]) / (2 * h))
    expected = np.array(by_joint) + np.array(slopes) @ tensions
    assert_same(-data.qfrc_spring[order], expected, 1e-7)
    gap = next(frames(model, q))[1]
    assert_same(data.efc_pos[:3], gap[0][1] - gap[1][1], 1e-9)
    assert theirs.neq == 4  # two points of the hinge, one of the ball, the weld


def test_what_formats_cannot_say():
    motor = {"gear": 10, "inertia": 0.01, "stiffness": 100, "damping": 1, "friction": {"viscous": 0.1}}
    links = [rod("a", motor=motor, guess=0.3), rod("b", actuated=False, spring={"stiffness": 1})]
    closure = [{"between": ["b", "world"], "joint": "point"}]
    ends = {"between": ["b", "world"], "at": [[0, 0, 1], [0, 0, 0]]}
    springs = [{"name": "lift", "force": 3} | ends, {"stiffness": 1, "force": 2, "rest": 1} | ends]
    model = five_bar(link=links, closure=closure, spring=springs)
    said = {name: " ".join(text_of(model)[1]) for name, text_of in (("urdf", urdf_text), ("mjcf", mjcf_text))}
    both = ["elastic joints ('a') become rigid ones", "(spring 1 ('lift'), spring 2) are left out"]
    only_urdf = [
        "loops ('b - world') are left open",
        "springs at joints ('b') are left out",
        "that nothing drives some joints ('b')",
    ]
    only_mjcf = ["spring 2) are left out: their force", "guesses of where loops"]
    for note in both:
        assert all(note in notes for notes in said.values())
    for note in only_urdf:
        assert note in said["urdf"]
        assert note not in said["mjcf"]
    for note in only_mjcf:
        assert note in said["mjcf"]
    free = {"between": ["a", "world"], "at": [{"xyz": ["z", 0, 0]}, {}], "joint": "fixed"}
    unsaid = five_bar(symbols={"z": "free"}, closure=[free])
    with golden_error(DescriptionError):
        mjcf_text(unsaid)


def test_a_spring_is_saved_with_a_robot(tmp_path):
    robot = Robot(five_bar(closure=[], spring=[], tip="b"))
    with pytest.warns(ExportWarning) as told:
        robot.save(tmp_path / "r.urdf")
    assert sum("springs at joints ('a', 'c')" in str(w.message) for w in told) == 1
    again = quietly(lambda: Robot.load(robot.save(tmp_path / "r.xml")))
    assert [link.spring for link in again.model.moving] == [link.spring for link in robot.model.moving]
