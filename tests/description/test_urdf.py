"""URDF text -> model, and what is refused in it with its line."""

import warnings

import numpy as np
import pytest

from armdyn import DescriptionError, PhysicsWarning, Robot
from armdyn.description.foreign import xml_text
from armdyn.description.foreign.assembly import repaired_tensor
from armdyn.expression import Expression, parse
from golden_messages import golden_warning

BODY = (
    "<inertial><origin xyz='0.1 0 0.2' rpy='0 0 0'/><mass value='2'/>"
    "<inertia ixx='0.02' ixy='0.001' ixz='0' iyy='0.03' iyz='-0.002' izz='0.025'/></inertial>"
)


def link(name, body=BODY):
    return f"<link name='{name}'>{body}</link>\n"


def joint(
    name, parent, child, kind="revolute", inside="<limit lower='-1' upper='1' effort='5' velocity='2'/>"
):
    ends = f"<parent link='{parent}'/><child link='{child}'/>"
    return f"<joint name='{name}' type='{kind}'>{ends}{inside}</joint>\n"


def robot_text(*parts):
    return "<robot name='r'>\n" + "".join(parts) + "</robot>"


def one_joint(kind="revolute", inside="", body=BODY):
    """Lines: 1 <robot>, 2 base, 3 arm, 4 joint."""
    return robot_text(link("base", ""), link("arm", body), joint("j", "base", "arm", kind, inside))


TREE = (link("base"), link("a"), link("b"), link("left"), link("right"))
TREE += (joint("ja", "base", "a"), joint("jb", "a", "b", "prismatic"))
TREE += (joint("jl", "b", "left"), joint("jr", "b", "right"))


def quiet(text, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PhysicsWarning)
        return Robot.load(text, **options)


def refusal(text, **options):
    with pytest.raises(DescriptionError) as caught:
        quiet(text, **options)
    return str(caught.value)


# ---- XML ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<robot name='r'><link></robot>", "line 1, column 25: malformed XML: mismatched tag"),
        (
            "<robot name='r'>\n<link name='a' name='b'/></robot>",
            "line 2, column 16: malformed XML: duplicate",
        ),
        ("<robot>&lol;</robot>", "malformed XML: undefined entity"),
        ("<!DOCTYPE robot [<!ENTITY a 'x'>]><robot/>", "line 1: a DOCTYPE that declares entities"),
        ("<!DOCTYPE robot SYSTEM 'file:///etc/passwd'><robot/>", "names another file is refused"),
        ("<a:robot/>", "the prefix 'a:' is not declared"),
        ("<" + "a>" + "<a>" * 600, f"nested more than {xml_text.MAX_DEPTH} deep"),
        ("<sdf/>", "not a robot: the root element is <robot> (URDF) or <mujoco> (MJCF)"),
        ("<robot name='\ud800'/>", "not Unicode"),
        ("<robot/>", "line 1: <robot>: the attribute name is missing"),
        ("<robot name='r'/>", "there is no link"),
    ],
)
def test_refused_xml(text, reason):
    assert reason in refusal(text)


def test_many_elements_are_refused(monkeypatch):
    monkeypatch.setattr(xml_text, "MAX_ELEMENTS", 10)
    assert "more than 10 elements" in refusal("<robot name='r'>" + "<a/>" * 11 + "</robot>")


def test_large_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(xml_text, "MAX_BYTES", 100)
    path = tmp_path / "r.urdf"
    path.write_text(one_joint(), "utf-8")
    assert "larger than 100 bytes" in refusal(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "cp1252"])
def test_encodings(tmp_path, encoding):
    declared = "utf-8" if encoding == "utf-8-sig" else encoding
    path = tmp_path / "r.urdf"
    text = f"<?xml version='1.0' encoding='{declared}'?>" + one_joint().replace("name='r'", "name='bé'")
    path.write_bytes(text.encode(encoding))
    assert quiet(path).name == "bé"
    assert quiet(path).model.source == str(path)


def test_unknown_encodings_are_refused(tmp_path):
    path = tmp_path / "r.urdf"
    path.write_bytes(b"<?xml version='1.0' encoding='rot13'?><robot/>")
    assert "r.urdf" in refusal(path)


def test_blanks_before_the_declaration(tmp_path):
    text = "\n\n<?xml version='1.0'?>" + one_joint()
    assert quiet(text).n == 1
    path = tmp_path / "r.urdf"
    path.write_text(text, "utf-8")
    assert "line 3, column 1: malformed XML" in refusal(path)
    assert any("blanks before" in note for note in quiet(path, repair=True).model.notes)


def test_xacro_that_is_left_over_is_refused():
    text = one_joint(inside="<origin xyz='${a} 0 0'/>")
    assert 'line 4: <origin>: xyz="${a} 0 0": left over from xacro' in refusal(text)
    text = robot_text("<xacro:arm xmlns:xacro='x'/>")
    assert "line 2: <xacro:arm>: left over from xacro" in refusal(text)
    assert "$(find p)" in refusal(robot_text("<link name='a'><visual file='$(find p)'/></link>"))
    quiet(one_joint().replace("</robot>", "<gazebo a='${x}'/></robot>"))


# ---- joints ------------------------------------------------------------------------------------------------


def test_kinds_of_joints():
    limit = "<limit lower='-1' upper='2' effort='5' velocity='3'/>"
    for kind, model_kind in (
        ("revolute", "revolute"),
        ("continuous", "revolute"),
        ("prismatic", "prismatic"),
    ):
        found = quiet(one_joint(kind, limit)).model.links[0]
        assert found.joint == model_kind
        assert found.joint_name == "j"
        assert (found.limits.position is None) == (kind == "continuous")
        assert (found.limits.velocity, found.limits.torque) == (3, 5)


@pytest.mark.parametrize(
    ("kind", "inside", "reason"),
    [
        ("ball", "", 'line 4: <joint name="j">: type="ball"; allowed: revolute, continuous'),
        (
            "revolute",
            "<axis xyz='0 0 0'/>",
            'line 4: <axis>: xyz="0 0 0": the axis of a joint must not be zero',
        ),
        ("revolute", "<axis xyz='0 1'/>", "expected three numbers with blanks between them, found 2"),
        ("revolute", "<axis xyz='0 nan 1'/>", 'xyz="nan": expected a decimal number'),
        ("revolute", "<axis xyz='0 1e200 1'/>", "between 1e-100 and 1e100"),
        ("revolute", "<origin xyz='1 2 1_0'/>", 'xyz="1_0": expected a decimal number'),
        ("revolute", "<origin xyz='1 2 1e400'/>", 'xyz="1e400": expected a decimal number'),
        (
            "revolute",
            "<limit lower='1' upper='0'/>",
            "<limit>: the range is 1 to 0; the lower limit comes first",
        ),
        ("revolute", "<limit lower='0' upper='1' effort='-1'/>", 'effort="-1": a limit is zero or positive'),
        ("revolute", "<limit lower='0' upper='1' velocity='-1'/>", 'velocity="-1": a limit is zero or'),
        ("revolute", "<limit lower='-inf' upper='1'/>", "one end of the range is infinite"),
        ("revolute", "<dynamics damping='-1'/>", '<dynamics>: damping="-1": friction is zero or positive'),
        ("revolute", "<dynamics friction='-1'/>", 'friction="-1": friction is zero or positive'),
        ("revolute", "<mimic joint='k'/>", "it mimics joint 'k', which does not exist"),
        ("revolute", "<mimic joint='j'/>", "joints mimic each other in a circle: j - j"),
        ("floating", "", "a floating joint has six degrees of freedom"),
        ("planar", "", "a planar joint has three degrees of freedom"),
        ("fixed", "", "the robot has no moving joint"),
    ],
)
def test_refused_joints(kind, inside, reason):
    assert reason in refusal(one_joint(kind, inside))


def test_floating_joints_may_be_cut_or_welded():
    text = robot_text(*TREE).replace("name='ja' type='revolute'", "name='ja' type='floating'")
    assert "choose base='a'" in refusal(text)
    assert quiet(text, base="a").n == 3
    assert quiet(text, lock={"ja": 0}).n == 3
    assert "only 0 is allowed" in refusal(text, lock={"ja": 1})


def test_axes_have_length_one():
    def axis(text, **options):
        return quiet(one_joint("continuous", f"<axis xyz='{text}'/>"), **options).model.links[0].axis

    assert quiet(one_joint("continuous")).model.links[0].axis == (1, 0, 0)
    assert axis("0 0 -2") == (0, 0, -1)
    assert axis("3 4 0") == (parse("3/5"), parse("4/5"), 0)
    given = [x.value() for x in axis("0.7071 0.7071 1e-9")]
    assert sum(x * x for x in given) == pytest.approx(1, abs=1e-15)
    half = parse("sqrt(2)/2")
    assert axis("0.7071 -0.7071 1e-9", snap=True) == (half, -half, 0)
    assert axis("0.57735 0.57735 0.57735", snap=True) == (parse("sqrt(3)/3"),) * 3
    assert axis("0.3 0.4 0.5", snap=True) == axis("0.3 0.4 0.5")


def test_friction():
    friction = (
        quiet(one_joint("continuous", "<dynamics damping='0.5' friction='0.25'/>")).model.links[0].friction
    )
    assert (friction["viscous"], *friction.coulomb) == (parse("0.5"), parse("0.25"), parse("-0.25"))


@pytest.mark.parametrize(
    ("limit", "note"),
    [
        ("<limit effort='1' velocity='1'/>", "the limit gives no range"),
        ("<limit lower='0' upper='0' effort='1' velocity='1'/>", "the limit gives no range"),
        ("<limit lower='0' upper='1' effort='0' velocity='1'/>", "effort 0 is taken for unknown"),
        ("<limit lower='0' upper='1' effort='1' velocity='0'/>", "velocity 0 is taken for unknown"),
        ("", "there is no <limit>"),
    ],
)
def test_limits_that_mean_nothing_are_noted(limit, note):
    model = quiet(one_joint(inside=limit)).model
    assert any(note in text for text in model.notes)


def test_infinite_limits_are_none():
    model = quiet(one_joint(inside="<limit lower='-inf' upper='inf' effort='inf' velocity='INF'/>")).model
    assert model.links[0].limits.position is None
    assert model.links[0].limits.torque is model.links[0].limits.velocity is None


def test_an_element_given_twice_is_a_warning():
    with pytest.warns(PhysicsWarning, match="has <axis> twice: the first, in line 4, is taken"):
        robot = Robot.load(one_joint("continuous", "<axis xyz='0 0 1'/><axis xyz='0 1 0'/>"))
    assert robot.model.links[0].axis == (0, 0, 1)


# ---- the tree ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ((*TREE, link("a")), 'declared twice, first at line 3: <link name="a"> (repair=True drops'),
        ((*TREE, link("a", "")), "and the two differ"),
        ((*TREE, joint("ja", "base", "right")), "joint 'ja' is declared twice"),
        (
            (*TREE, joint("x", "nowhere", "b")),
            "line 11: <joint name=\"x\">: the parent link 'nowhere' does not",
        ),
        ((*TREE, joint("x", "b", "nowhere")), "the child link 'nowhere' does not exist"),
        ((*TREE, joint("x", "left", "right")), "link 'right' has a parent already, by joint 'jr' (line 10"),
        ((*TREE, link("other")), '2 links have no parent: base (line 2: <link name="base">), other (line 11'),
        ((*TREE, joint("x", "left", "base")), "form a loop; a tree of links is read"),
        ((*TREE, "<loop_joint name='x'/>"), 'line 11: <loop_joint name="x">: it closes a loop'),
        ((*TREE, "<joint name='x' type='fixed'/>"), '<joint name="x">: <parent> is missing'),
        ((*TREE, "<link/>"), "line 11: <link>: the attribute name is missing"),
        ((*TREE, "<link name=' '/>"), "the attribute name is empty"),
    ],
)
def test_refused_trees(parts, reason):
    assert reason in refusal(robot_text(*parts))


def test_a_repeated_link_is_dropped():
    robot = quiet(robot_text(*TREE, link("a")), repair=True)
    assert robot == quiet(robot_text(*TREE))
    assert any("declared twice" in note for note in robot.model.notes)


def test_links_come_depth_first_in_the_order_of_joints():
    names = [part.name for part in quiet(robot_text(*reversed(TREE))).model.links]
    assert names == ["a", "b", "right", "left"]


def test_root_and_tip():
    model = quiet(robot_text(*TREE)).model
    assert (model.root, model.tip) == ("base", "left")
    assert any("tip is on link 'left'" in note for note in model.notes)
    assert model.gravity == (0, 0, parse("-9.81"))


def test_base_and_tip_choose_a_chain_and_keep_masses():
    whole = quiet(robot_text(*TREE))
    part = quiet(robot_text(*TREE), base="a", tip="left", lock={"jr": "pi/6"})
    assert (part.model.root, part.model.tip) == ("a", "left")
    assert [x.joint for x in part.model.links] == ["prismatic", "revolute", "fixed"]
    q = np.array([0.3, -0.4])
    B = whole.inertia(np.array([0.9, *q, np.pi / 6]))
    np.testing.assert_allclose(part.inertia(q), B[1:3, 1:3], rtol=1e-13)
    assert any("joint 'jr' is locked at 1/6*pi" in note for note in part.model.notes)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"base": "x"}, "base: XML text: there is no link 'x'; links: base, a, b, left, right"),
        ({"tip": "x"}, "tip: XML text: 'x' is no link below the base 'base'"),
        ({"base": "b", "tip": "a"}, "tip: XML text: 'a' is no link below the base 'b'"),
        ({"lock": {"x": 0}}, "lock: XML text: there is no joint or link 'x'; moving joints: ja (link a)"),
        ({"lock": {"ja": 0, "a": 0}}, "given twice"),
        ({"lock": {"ja": "x y"}}, "lock: joint 'ja'"),
        ({"lock": {"ja": "free"}}, "lock: joint 'ja'"),
        ({"base": "left"}, "there is no link below the base 'left'"),
    ],
)
def test_refused_choices(options, reason):
    text = refusal(robot_text(*TREE), **options)
    assert reason in text or (reason.startswith("lock: joint") and "free" in text)


@pytest.mark.parametrize(
    "options", [{"base": 1}, {"tip": b"a"}, {"lock": [1]}, {"repair": 1}, {"snap": "yes"}]
)
def test_options_of_the_wrong_type(options):
    with pytest.raises(TypeError):
        Robot.load(robot_text(*TREE), **options)


def test_options_are_not_for_robot_files():
    assert "snap: only for URDF and MJCF files; planar is a robot file" in refusal("planar", snap=True)


def test_mimic_joints_are_relations():
    follow = "<mimic joint='jl' multiplier='-2' offset='0.5'/>"
    text = robot_text(*TREE[:-1], joint("jr", "b", "right", "continuous", follow))
    robot = quiet(text)
    assert (robot.n, len(robot.model.moving)) == (3, 4)
    (relation,) = robot.model.relations
    assert relation.coefficients == (("right", 1), ("left", 2))
    assert relation.offset == parse("0.5")
    locked = quiet(text, lock={"jl": 1}).model
    assert [x.joint for x in locked.links] == ["revolute", "prismatic", "fixed", "fixed"]
    assert any("joint 'jr' is locked at -3/2" in n or "locked at -1.5" in n for n in locked.notes)
    held = quiet(text, lock={"right": "-3/2"}).model  # locking a follower holds its leader
    assert held == locked
    assert "contradict it" in refusal(text, lock={"jl": 1, "jr": 0})


# ---- bodies ------------------------------------------------------------------------------------------------


def body(mass="1", **entries):
    moments = {"ixx": 1, "iyy": 1, "izz": 1, "ixy": 0, "ixz": 0, "iyz": 0} | entries
    text = " ".join(f"{key}='{x}'" for key, x in moments.items())
    return f"<inertial><mass value='{mass}'/><inertia {text}/></inertial>"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (body("-1"), "line 3: <inertia>: link 'arm': mass: found -1; a mass is zero or positive"),
        (body(ixx=-1), "line 3: <inertia>: link 'arm': inertia: principal moments -1, 1, 1"),
        (body(ixy=3), "principal moments -2, 1, 4; none may be negative"),
        (body("x"), 'line 3: <mass>: value="x": expected a decimal number'),
        ("<inertial/>", "line 3: <inertial>: <mass> is missing"),
        ("<inertial><mass value='1'/></inertial>", "<inertia> is missing"),
        ("<inertial><mass value='1'/><inertia ixx='1'/></inertial>", "the attribute ixy is missing"),
    ],
)
def test_refused_bodies(given, reason):
    assert reason in refusal(one_joint("continuous", body=given))


def test_negative_masses_are_never_repaired():
    assert "mass: found -1" in refusal(one_joint("continuous", body=body("-1")), repair=True)


def test_the_triangle_inequality_is_a_warning_and_repaired():
    text = one_joint("continuous", body=body(ixx=3, ixy=0.1))
    with golden_warning(PhysicsWarning):
        Robot.load(text)
    with pytest.warns(PhysicsWarning, match="line 3: <inertia>: link 'arm': principal moments .* become"):
        robot = Robot.load(text, repair=True)
    assert robot.warnings == []


def test_a_link_without_inertial_has_no_mass_and_is_warned_of():
    with golden_warning(PhysicsWarning):
        robot = Robot.load(one_joint("continuous", body=""))
    assert robot.model.links[0].inertia.mass == 0


@pytest.mark.parametrize("seed", range(20))
def test_repaired_tensors_are_possible_and_nearest(seed):
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(3, 3))
    M = M + M.T
    found = repaired_tensor(tuple(Expression.of(float(x)) for x in M[np.triu_indices(3)]))
    moments = np.linalg.eigvalsh(M)
    if found is None:
        assert moments[0] >= -1e-5
        assert moments[2] <= moments[0] + moments[1] + 1e-5
        return
    N = np.zeros((3, 3))
    N[np.triu_indices(3)] = [x.value() for x in found[0]]
    N = N + np.triu(N, 1).T
    low, middle, high = np.linalg.eigvalsh(N)
    assert low >= -1e-12
    assert high <= low + middle + 1e-12
    for _ in range(200):  # no possible tensor is nearer
        points = rng.normal(size=(4, 3)) * rng.uniform(0, 1.5, 3)
        S = points.T @ points
        other = np.trace(S) * np.eye(3) - S
        assert np.linalg.norm(M - N) <= np.linalg.norm(M - other) + 1e-12


@pytest.mark.parametrize("rpy", ["0.3 -0.7 1.1", "0 0 1.5708", "1.5707963 0 3.14159"])
def test_turned_inertial_frames(rpy):
    turned = BODY.replace("rpy='0 0 0'", f"rpy='{rpy}'")
    angles = [float(x) for x in rpy.split()]
    x, y, z = (np.eye(3) for _ in range(3))
    for R, (i, j), a in ((x, (1, 2), angles[0]), (y, (2, 0), angles[1]), (z, (0, 1), angles[2])):
        R[i, i] = R[j, j] = np.cos(a)
        R[j, i], R[i, j] = np.sin(a), -np.sin(a)
    R = z @ y @ x
    given = np.array([[0.02, 0.001, 0], [0.001, 0.03, -0.002], [0, -0.002, 0.025]])
    for options in ({}, {"snap": True}):
        inertia = quiet(one_joint("continuous", body=turned), **options).model.links[0].inertia
        found = [x.value() for x in inertia.tensor_at_com]
        expected = (R @ given @ R.T)[np.triu_indices(3)]
        np.testing.assert_allclose(found, expected, atol=1e-16 if not options else 1e-6)


# ---- motors ------------------------------------------------------------------------------------------------


def transmission(inside, name="j"):
    return f"<transmission name='t'><joint name='{name}'/>{inside}</transmission>\n"


def with_transmissions(*transmissions):
    return one_joint("continuous").replace("</robot>", "".join(transmissions) + "</robot>")


@pytest.mark.parametrize(
    ("inside", "gear", "axial"),
    [
        ("<mechanicalReduction>-50</mechanicalReduction><actuator name='m'/>", -50, 0),
        ("<actuator name='m'><mechanicalReduction> 50 </mechanicalReduction></actuator>", 50, 0),
        (
            "<actuator><mechanicalReduction>9</mechanicalReduction><rotor_inertia>2</rotor_inertia></actuator>",
            9,
            2,
        ),
        ("<actuator xmlns:d='d'><d:gear_ratio value='7'/><d:rotor_inertia value='3'/></actuator>", 7, 3),
        ("<actuator name='m'/>", 1, 0),
    ],
)
def test_transmissions_are_motors(inside, gear, axial):
    model = quiet(with_transmissions(transmission(inside))).model
    motor = model.links[0].motor
    assert (motor.gear, motor.axial, motor.carrier, motor.axis) == (gear, axial, "base", (1, 0, 0))
    assert model.rotors == "reflected"
    assert any("rotor" in note for note in model.notes)


def test_a_rotor_is_reflected():
    inside = (
        "<actuator><mechanicalReduction>9</mechanicalReduction><rotor_inertia>2</rotor_inertia></actuator>"
    )
    with_rotor = quiet(with_transmissions(transmission(inside)))
    without = quiet(one_joint("continuous"))
    assert with_rotor.inertia([0.3])[0, 0] == pytest.approx(without.inertia([0.3])[0, 0] + 162)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        (("<mechanicalReduction>0</mechanicalReduction>",), "a reduction of 0; any other number is allowed"),
        (("<mechanicalReduction>x</mechanicalReduction>",), 'found "x": expected a decimal number'),
        (("<actuator><rotor_inertia>-1</rotor_inertia></actuator>",), "a rotor inertia of -1"),
        (("<motorTorqueConstant>0</motorTorqueConstant>",), "a torque constant of 0"),
        (
            ("<mechanicalReduction>2</mechanicalReduction>", "<mechanicalReduction>3</mechanicalReduction>"),
            "joint 'j' has another transmission, in line 5, with other numbers",
        ),
        (
            ("<mechanicalReduction>2</mechanicalReduction><mechanicalReduction>3</mechanicalReduction>",),
            "3 here, but <mechanicalReduction> in line 5 gives 2",
        ),
    ],
)
def test_refused_transmissions(parts, reason):
    assert reason in refusal(with_transmissions(*map(transmission, parts)))


def test_transmissions_that_are_left_out():
    with pytest.warns(PhysicsWarning, match="line 5: <transmission name=\"t\">: there is no joint 'k'"):
        robot = Robot.load(with_transmissions(transmission("", "k")))
    assert robot.model.links[0].motor is None
    two = transmission("<joint name='k'/>").replace("'t'", "'t' type='Differential'")
    notes = quiet(with_transmissions(two)).model.notes
    assert any("(Differential) drives the joints j, k: it is left out" in note for note in notes)


# ---- angles ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("1.57", "pi/2"),
        ("1.5708", "pi/2"),
        ("-1.570796", "-pi/2"),
        ("1.57079637", "pi/2"),
        ("3.14", "pi"),
        ("3.1415", "pi"),
        ("3.14159", "pi"),
        ("0.785", "pi/4"),
        ("0.2618", "pi/12"),
        ("1.2717E-16", "0"),
        ("1.5705", None),
        ("1.58", None),
        ("3.15", None),
        ("-0.786", None),
        ("1.04", "pi/3"),
        ("1.6", None),
        ("0.5", None),
        ("0.52", None),
        ("0.0005", None),
    ],
)
def test_snapped_angles(text, meant):
    given = one_joint("continuous", f"<origin rpy='0 {text} 0'/>")
    R = quiet(given, snap=True).model.links[0].before.R
    angle = parse(text if meant is None else meant)
    assert (R[0][0], R[0][2]) == (angle.cos(), angle.sin())
    notes = quiet(given, snap=True).model.notes
    assert any(f"-> {angle}" in note for note in notes) == (meant is not None)
    as_given = quiet(given).model
    assert as_given.links[0].before.R[0][0] == parse(text).cos()
    assert any("snap=True" in note for note in as_given.notes) == (meant is not None)


# ---- what a repair leaves out or adds ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        (
            "<limit lower='-1' upper='1' effort='-1' velocity='2'/>",
            'effort="-1": a limit is zero or positive',
        ),
        ("<limit lower='1' upper='-1' effort='5' velocity='2'/>", "the range is 1 to -1; the lower"),
        ("<limit lower='0' upper='inf' effort='5' velocity='2'/>", "one end of the range is infinite"),
    ],
)
def test_a_repair_leaves_impossible_limits_out(limit, reason):
    text = one_joint(inside=limit)
    found = refusal(text)
    assert f"line 4: <limit>: {reason}" in found
    assert "repair=True leaves the limit out" in found
    with pytest.warns(PhysicsWarning, match="line 4: <limit>: .*: the limit is left out"):
        robot = Robot.load(text, repair=True)
    limits = robot.model.links[0].limits
    assert (limits.torque, limits.position).count(None) == 1
    assert limits.velocity == 2


def test_a_robot_without_a_name_is_called_after_its_file_by_a_repair(tmp_path):
    text = one_joint().replace(" name='r'", "", 1)
    assert (
        "line 1: <robot>: the attribute name is missing or empty (repair=True calls it 'robot')"
        in refusal(text)
    )
    path = tmp_path / "arm.urdf"
    path.write_text(text)
    with golden_warning(PhysicsWarning):
        assert Robot.load(path, repair=True).name == "arm"
    assert quiet(text, repair=True).name == "robot"


# ---- messages ----------------------------------------------------------------------------------------------


def test_many_links_are_refused_before_they_are_read():
    broken = "<link name='a'><inertial/></link>"
    assert "found 501 links; up to 500 are allowed" in refusal(robot_text(broken * 501))
    assert "found 501 joints; up to 500 are allowed" in refusal(robot_text("<joint/>" * 501))


@pytest.mark.parametrize("number", ["\u0661", "\uff11"])
def test_digits_are_those_of_ascii(number):
    assert "expected a decimal number" in refusal(
        one_joint(body=BODY.replace("value='2'", f"value='{number}'"))
    )


def test_a_robot_that_options_hold_is_refused_with_the_joints_that_they_hold():
    text = one_joint()
    assert "no moving joint: j would stand still" in refusal(text, lock={"j": 0})
    assert "no moving joint: all are fixed" in refusal(one_joint("fixed"))


def test_a_lock_needs_a_number():
    found = refusal(robot_text(*TREE), lock={"ja": "a + 1"})
    assert found.startswith("lock: joint 'ja': unknown symbol 'a'")


def test_rounded_angles_are_one_line_that_counts_them():
    text = one_joint("continuous", "<origin rpy='1.5708 0 -1.57'/>")
    plain, exact = (quiet(text, snap=snap) for snap in (False, True))
    (note,) = [note for note in plain.model.notes if "pi/12" in note]
    assert note.startswith("2 angles are nearly a multiple of pi/12 and taken as given (the first: ")
    assert "snap=True (--snap) makes them exact" in note
    for robot in (plain, exact, plain.in_dh()):
        assert not any("is a decimal" in line for line in robot.warnings)
    measured = quiet(one_joint("continuous", "<origin rpy='1.5705 0 0'/>"))  # which snap leaves alone
    assert any("the angle 1.5705 is a decimal" in line for line in measured.warnings)
