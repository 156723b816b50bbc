"""What is drawn, without a browser: poses, closed chains, masses, meshes, ellipsoids, the dragged tip."""

import sys
import threading
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import armdyn
from armdyn import (
    MotionError,
    Robot,
    dynamic_manipulability,
    force_ellipsoid,
    inverse_kinematics,
    velocity_ellipsoid,
)
from armdyn.drawing.solids import cylinder
from armdyn.robot.closing import Closed
from armdyn.robot.joints import joint_limits
from armdyn.workbench.bench import reachable
from armdyn.workbench.moment import EditedRobot, Moment, ViewError
from armdyn.workbench.scene import tip
from armdyn.workbench.scene.arm import _side, quaternion, rotation, turned
from armdyn.workbench.scene.marks import Masses, link_masses, link_places, named_frames, solid_axes
from armdyn.workbench.scene.meshes import VisualMeshes, mesh_file, read_mesh, smoothed, visuals_of
from armdyn.workbench.scene.tip import Dragged, Handle, ellipsoid, freedom_of, pose_and_axes
from arms import quietly
from golden_messages import golden_error
from mesh_files import CUBE, URDF, dae, meshed, obj, stl
from waiting import wait_until


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """A busy machine gives the same postures."""
    monkeypatch.setattr(tip, "_PATIENCE", 1e9)


def still(robot, q, subject=None):
    return Moment(subject or EditedRobot.of(robot), np.array(q, float), np.zeros(robot.n), np.zeros(robot.n))


# ---- where things are ------------------------------------------------------------------------------------


def test_quaternions_are_scipys():
    rng = np.random.default_rng(1)
    turns = [np.diag(d) for d in ([1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1])]
    turns += [Rotation.from_rotvec(v).as_matrix() for v in rng.normal(size=(50, 3)) * np.pi]
    for R in turns:
        expected = np.roll(Rotation.from_matrix(R).as_quat(), 1)
        found = quaternion(np.array(R, float))
        assert min(np.abs(found - expected).max(), np.abs(found + expected).max()) < 1e-12
        assert np.abs(rotation(3 * found) - R).max() < 1e-12


def test_turned_turns_z():
    for v in [*np.eye(3), *-np.eye(3), *np.random.default_rng(2).normal(size=(10, 3))]:
        v = v / np.linalg.norm(v)
        assert np.abs(rotation(turned(v))[:, 2] - v).max() < 1e-9


def test_flat_arms_are_seen_from_their_side():
    points, x, y, z = np.random.default_rng(3).normal(size=(100, 3)), *np.eye(3)
    assert np.allclose(_side(y, points * [1, 1, 0]), z)
    assert np.allclose(_side(z, points * [1, 0, 1]), -y)
    assert np.allclose(_side(z, points * [0, 1, 1]), x)
    assert np.allclose(_side(z, points), -y)


@pytest.mark.parametrize("name", ["scara", "elbow"])
def test_frames_of_links_are_where_the_robot_has_them(name):
    robot = Robot.load(name)
    q = np.linspace(0.1, 0.4, robot.n)
    moment = still(robot, q)
    for link, (body, pose) in link_places(robot).items():
        if link != robot.model.root:
            assert np.abs(moment.poses[body] @ pose - robot.pose(q, link)).max() < 1e-12
    names = [label for label, _ in named_frames(robot)]
    assert any("tip" in label for label in names)


# ---- closed chains ---------------------------------------------------------------------------------------


def test_closed_chains_stop_where_their_loops_would_come_apart():
    robot = Robot.load("gripper")
    start, wanted = robot.assembly.reference, robot.assembly.reference + 2.5
    assert not robot.assembly.closes(wanted)
    found = reachable(robot, start, wanted)
    assert robot.assembly.closes(found)
    assert not np.allclose(found, start)
    beyond = found + (wanted - start) / 50
    assert not robot.assembly.closes(beyond)
    assert reachable(robot, start, found) is found


def test_the_state_of_a_closed_chain_is_always_closed():
    robot = Robot.load("gripper")
    with armdyn.view(robot, port=0, browser=False) as bench:
        q, told = bench.q, []
        page = SimpleNamespace(add_notification=lambda *said, **_: told.append(said))
        bench._bench.server.get_clients = lambda: {0: page}
        for k in range(40):
            bench._bench.move("q", 0, float(q[0] + 0.1 * k))
        moment = bench._bench.moment
        assert moment.q[0] - q[0] > 0.3
        assert q[0] + 3.9 - moment.q[0] > 0.05
        assert len(told) == 1
        assert "loops" in told[0][1]
        y = robot.assembly(moment.q)
        gap, _, upright = Closed.of(robot.model)(y)
        assert np.abs(gap).max() < 1e-9
        assert (upright > 0).all()


# ---- masses ----------------------------------------------------------------------------------------------


def test_inertia_ellipsoid_of_a_solid_ellipsoid():
    a, b, c, m = 0.3, 0.2, 0.1, 2.0
    moments = m / 5 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    assert np.abs(solid_axes(m, moments) - [a, b, c]).max() < 1e-12
    assert solid_axes(m, np.array([1.0, 0.1, 0.1])) is None  # no body has these moments
    assert solid_axes(m, np.array([0.0, 1.0, 1.0]))[1] == 0  # a rod has


def test_balls_follow_what_is_edited():
    robot = Robot.load("puma560")
    with armdyn.view(robot, port=0, browser=False) as bench:
        core = bench._bench
        masses = Masses(core, 1.0)
        for which in ("balls", "shells"):
            masses.show(which, True)
            masses._follow(core.moment)
        nodes = core.scene._handle_from_node_name
        ball = nodes["/arm/body_6/balls_5"]
        before = ball.scale[0]
        assert "/arm/body_1/balls_0" not in nodes  # the waist has no mass
        assert masses.without == ["forearm"]
        heavier = robot.with_payload(mass=30.0, com=(0, 0, 0.5))
        core.change(subject=core.moment.subject.changed(heavier))
        masses._follow(core.moment)
        assert ball.scale[0] > 2 * before
        assert ball.position[2] == pytest.approx((30 * 0.5 + 0.00288) / 30.09)
        masses.show("balls", False)
        masses._follow(core.moment)
        assert not ball.visible
        assert nodes["/arm/body_6/shells_5"].visible


def test_masses_are_those_of_the_edited_robot():
    robot = Robot.load("puma560")
    heavier = robot.with_payload(mass=3.0, com=(0, 0, 0.1))
    masses = [sum(one.mass for one in link_masses(x)) for x in (robot, heavier)]
    assert masses[1] - masses[0] == pytest.approx(3.0)
    q = np.linspace(0.1, 0.6, 6)
    poses = still(robot, q).poses
    g = float(np.linalg.norm(robot.mechanism.gravity))
    height = sum(one.mass * (poses[one.body] @ one.pose)[2, 3] for one in link_masses(robot))
    motors = robot.with_rotors("none")  # without motors, which have masses of their own
    assert g * height == pytest.approx(float(motors.potential_energy(q)), rel=1e-9)


# ---- ellipsoids ------------------------------------------------------------------------------------------


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("panda", "delta")]


@pytest.mark.parametrize("name", ["planar", "puma560", *SLOW])
def test_ellipsoids_are_those_of_the_public_functions(name):
    robot = Robot.load(name)
    q = robot.assembly.reference if robot.model.loops else np.linspace(0.3, 0.9, robot.n)
    heavier = robot.with_payload(mass=1.5)
    moment = still(robot, q, EditedRobot.of(robot).changed(heavier))
    weights = np.linspace(1, 2, robot.n)
    for found, expected in (
        (ellipsoid("velocity", moment, weights), velocity_ellipsoid(heavier, q)),
        (ellipsoid("force", moment, weights), force_ellipsoid(heavier, q, weights=weights)),
        (ellipsoid("acceleration", moment, weights), dynamic_manipulability(heavier, q, weights=weights)),
    ):
        assert found.names == expected.names
        assert np.abs(found.lengths / expected.lengths - 1).max() < 1e-9
        assert np.abs(found.centre - expected.centre).max() < 1e-9 * max(1, np.abs(expected.centre).max())
        centre, R, lengths = pose_and_axes(found)
        assert np.linalg.det(R) == pytest.approx(1)
        rows = ["xyz".index(x) for x in found.names]
        shape = (R * lengths**2) @ R.T  # (3, 3): the ellipsoid, whatever the signs of its axes
        wanted = (expected.axes * expected.lengths**2) @ expected.axes.T
        assert np.abs(shape[np.ix_(rows, rows)] - wanted).max() < 1e-9 * np.abs(wanted).max()
        assert lengths[found.m :].max(initial=0.0) == 0
        assert np.abs(centre[rows] - expected.centre).max() < 1e-9 * max(1, np.abs(expected.centre).max())


def test_ellipsoids_take_elastic_joints_as_rigid():
    robot = Robot.load("elastic_link")
    found = ellipsoid("acceleration", still(robot, [0.3, 0.3]), np.ones(2))
    expected = dynamic_manipulability(robot.with_rigid_joints(), [0.3])
    assert np.allclose(found.lengths, expected.lengths)


# ---- the dragged tip -------------------------------------------------------------------------------------


def dragged_along(robot, q, way, orientation=False):
    """Postures while the tip is dragged along offsets (k, 3) [m] from where it is at q."""
    dragged, target = Dragged(robot, joint_limits(robot), q, orientation), np.array(robot.pose(q))
    start, found = target[:3, 3].copy(), [q]
    for offset in way:
        target[:3, 3] = start + offset
        found.append(dragged.follow(found[-1], target.copy()))
    return dragged, np.array(found)


@pytest.mark.parametrize("name", ["puma560", "palletizer", *SLOW])
def test_the_arm_follows_its_tip(name):
    robot = Robot.load(name)
    q = robot.assembly.reference if robot.model.loops else np.linspace(0.2, 0.5, robot.n)
    if name == "panda":
        q = np.array([0.1, 0.2, 0.1, -1.8, 0.1, 2.0, 0.3])
    turn = np.linspace(0, 2 * np.pi, 80)[:, None]
    way = 0.08 * np.hstack([1 - np.cos(turn), np.sin(turn), 0.5 * np.sin(turn)])
    _dragged, postures = dragged_along(robot, q, way)
    tips = np.array(robot.pose(postures[1:]))[:, :3, 3]
    assert np.abs(tips - robot.pose(q)[:3, 3] - way).max() < 1e-3
    assert np.abs(tips[-1] - robot.pose(q)[:3, 3]).max() < 1e-5
    assert np.abs(np.diff(postures, axis=0)).max() < 0.2  # no jumps
    assert np.abs(postures[-1] - q).max() < 0.05  # it comes back to where it was


def test_the_tip_turns_too():
    robot = Robot.load("puma560")
    q = np.array([0.3, 0.2, 0.4, 0.5, 0.6, 0.7])
    target = np.array(robot.pose(q))
    target[:3, :3] = Rotation.from_euler("z", 0.3).as_matrix() @ target[:3, :3]
    dragged = Dragged(robot, joint_limits(robot), q, True)
    found = q
    for _ in range(3):
        found = dragged.follow(found, target)
    assert np.abs(robot.pose(found) - target).max() < 1e-5
    assert np.abs(found - inverse_kinematics(robot, target, q)).max() < 1e-4


@pytest.mark.parametrize("name", ["planar", "puma560", SLOW[1]])
def test_out_of_reach_it_goes_as_near_as_it_can_and_comes_back(name):
    robot = Robot.load(name)
    q = robot.assembly.reference if robot.model.loops else np.linspace(0.3, 0.8, robot.n)
    far = (
        np.array([1.0, 0.6, 0.0 if name == "planar" else 0.3])
        * 2
        * Dragged(robot, joint_limits(robot), q, False).task.length
    )
    way = np.sin(np.linspace(0, np.pi, 60))[:, None] * far
    dragged, postures = dragged_along(robot, q, [*way, 0 * far, 0 * far])
    limits = joint_limits(robot)
    assert (postures >= limits.lower - 1e-12).all()
    assert (postures <= limits.upper + 1e-12).all()
    target = np.array(robot.pose(q))
    assert dragged.missing(postures[-1], target) < 1e-4
    target[:3, 3] += far
    left = [dragged.missing(p, target) for p in (q, postures[30])]
    assert left[1] < left[0]
    if name == "planar":  # a stretched arm points at its target
        with golden_error(MotionError):
            inverse_kinematics(robot, target, q, orientation=False)
        tip, base = robot.pose(postures[30])[:3, 3], np.zeros(3)
        along = (target[:3, 3] - base) / np.linalg.norm(target[:3, 3] - base)
        assert np.abs(tip / np.linalg.norm(tip) - along).max() < 0.05


def test_joints_stop_at_their_limits_and_others_go_on():
    robot = Robot.load("panda")
    q = np.array([0.1, 0.2, 0.1, -1.8, 0.1, 2.0, 0.3])
    room = np.array([1, 0.02, 1, 1, 1, 1, 1])
    limits = replace(joint_limits(robot), lower=q - room, upper=q + room)
    target, found = np.array(robot.pose(q)), [q]
    dragged = Dragged(robot, limits, q, False)
    for _ in range(20):
        target[2, 3] += 0.004
        found.append(dragged.follow(found[-1], target))
    postures = np.array(found)
    assert (np.abs(postures - q) <= room + 1e-12).all()
    assert np.abs(postures[-1] - q)[1] == pytest.approx(0.02, abs=1e-12)
    assert dragged.missing(postures[-1], target) < 1e-4


def test_dragging_moves_the_state_and_not_the_velocities():
    robot = Robot.load("elastic_link")
    with armdyn.view(robot, port=0, browser=False) as bench:
        bench._bench.change(q=[0.3, 0.31], qd=[0.5, 0.6])
        handle = Handle(bench._bench, 1.0, freedom_of(robot))
        target = np.eye(4)
        target[:3, 3] = robot.pose(np.array([0.5, 0.5]))[:3, 3]
        handle.drag(None, target)

        def there():
            handle.drag(None, target, over=False)
            return abs(bench.q[0] - 0.5) < 1e-6

        wait_until(there, "the arm")
        handle.drag(None, target, over=True)
        assert np.allclose(bench.q, [0.5, 0.51], atol=1e-6)  # the spring stays as it is
        assert np.allclose(bench._bench.moment.qd, [0.5, 0.6])


# ---- meshes ----------------------------------------------------------------------------------------------


def test_visuals_of_a_urdf(tmp_path):
    file = meshed(tmp_path)
    robot = Robot.load(file)
    found = visuals_of(robot.model)
    assert [one.shape for one in found.found] == ["mesh", "cylinder", "mesh", "box", "sphere", "mesh", "mesh"]
    assert found.wrong == ("arm",)
    assert found.missing == ("package://some_robot/meshes/gone.stl", "https://example.org/x.stl")
    base, cylinder, arm, box, *_ = found.found
    assert base.path == (tmp_path / "some_robot" / "meshes" / "base.stl").resolve()
    assert base.colour == (1, 0.5, 0, 1)
    assert box.colour == (0, 0, 1, 0.5)
    assert arm.colour is None
    assert base.size == (0.001,) * 3
    assert cylinder.size == (0.03, 0.4)
    expected = Rotation.from_euler("xyz", [0, 1.5707963, 0]).as_matrix()
    assert np.abs(cylinder.pose[:3, :3] - expected).max() < 1e-12
    assert cylinder.pose[:3, 3].tolist() == [0.2, 0, 0]
    assert visuals_of(robot.in_dh().model).found == ()  # its frames are others
    assert visuals_of(Robot.load("puma560").model).found == ()


def test_rpy_of_visuals_is_that_of_joints(tmp_path):
    file = meshed(tmp_path)
    file.write_text(URDF.replace('rpy="0 1.5707963 0"', 'rpy="0.3 -0.7 1.1"'))
    pose = next(one for one in visuals_of(Robot.load(file).model).found if one.shape == "cylinder").pose
    assert np.abs(pose[:3, :3] - Rotation.from_euler("xyz", [0.3, -0.7, 1.1]).as_matrix()).max() < 1e-12


def test_meshes_are_read_or_refused(tmp_path):
    stl(tmp_path / "a.stl")
    (part,) = read_mesh(tmp_path / "a.stl")
    mesh = part.mesh
    assert len(mesh.triangles) == 12
    assert np.array_equal(np.unique(mesh.vertices, axis=0), np.unique(CUBE, axis=0))
    assert len(mesh.vertices) == 24  # edges stay sharp
    for name, content in (("b.stl", b"nothing"), ("c.obj", b"v 0 0"), ("d.txt", b"x"), ("e.stl", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ViewError):
            read_mesh(tmp_path / name)


CHAIN = """<robot name="chain"><link name="base"/>{links}{joints}</robot>"""
LINK = """<link name="{0}"><inertial><mass value="2"/><origin xyz="0.1 0 0"/>
  <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>{1}</link>"""
VISUAL = """<visual><geometry><mesh filename="{0}"/></geometry></visual>"""
JOINT = """<joint name="to {1}" type="revolute"><parent link="{0}"/><child link="{1}"/><origin xyz="0 0 0.3"/>
  <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="10" velocity="1"/></joint>"""


def chain(folder, files):
    """A URDF of a chain whose links look as these files say, one after the other; None: as nothing."""
    names = ["base", *(f"l{i + 1}" for i in range(len(files)))]
    pairs = zip(names[1:], files, strict=True)
    links = "".join(LINK.format(name, "" if file is None else VISUAL.format(file)) for name, file in pairs)
    joints = "".join(JOINT.format(*pair) for pair in pairwise(names))
    (folder / "chain.urdf").write_text(CHAIN.format(links=links, joints=joints))
    return folder / "chain.urdf"


def unread(opened, file, monkeypatch):
    """The meshes of a workbench that has not begun to read them, and what it tells."""
    found, told, start = [], [], VisualMeshes.start
    monkeypatch.setattr(VisualMeshes, "start", lambda meshes, _done: found.append(meshes))
    bench = quietly(lambda: opened(file))
    bench.tell_all = lambda title, text, colour: told.append((title, text))
    monkeypatch.setattr(VisualMeshes, "start", start)
    return found[0], told


def test_meshes_take_the_place_of_solids_with_their_colours(opened, tmp_path, monkeypatch):
    """One that cannot be read leaves its solid, and one notice says why."""
    pytest.importorskip("collada", reason="pycollada is not installed")
    dae(tmp_path / "two.dae", ["1 0.5 0 1", "0 0.25 1 1"])
    obj(tmp_path / "one.obj", "0.2 0.6 0.4")
    (tmp_path / "bad.dae").write_text("<COLLADA>")
    file = chain(tmp_path, ["two.dae", "bad.dae", "one.obj", None])
    meshes, told = unread(opened, file, monkeypatch)
    arm = meshes._arm
    assert all(piece.visible for _, piece in arm.pieces)  # at once
    meshes.start(lambda: None)
    wait_until(lambda: told, "a note")
    found = {handle.name: handle.color for handle in meshes.handles}
    assert found == {
        "/arm/body_1/mesh_0": (255, 128, 0),
        "/arm/body_1/mesh_0_1": (0, 64, 255),
        "/arm/body_3/mesh_2": (51, 153, 102),
    }
    assert [len(handle.vertices) for handle in meshes.handles] == [24, 24, 24]  # edges stay sharp
    shown = {piece.name.split("/")[2] for _, piece in arm.pieces if piece.visible}
    assert shown == {"body_2"}
    assert told == [
        ("Meshes", "one visual is not drawn (bad.dae): a .dae file is damaged (DaeMalformedError)")
    ]
    meshes.show(False)
    assert all(piece.visible for _, piece in arm.pieces)


def test_without_its_reader_a_mesh_leaves_the_solids(opened, tmp_path, monkeypatch):
    dae(tmp_path / "two.dae", ["1 0.5 0 1"])
    monkeypatch.setitem(sys.modules, "collada", None)
    meshes, _ = unread(opened, chain(tmp_path, ["two.dae"]), monkeypatch)
    arm = meshes._arm
    done = threading.Event()
    meshes.start(done.set)
    assert done.wait(60)
    assert meshes.notes == [
        "one visual is not drawn (two.dae): .dae files need pycollada: pip install pycollada"
    ]
    assert all(piece.visible for _, piece in arm.pieces)


def test_round_things_are_smooth_and_edges_sharp():
    """Of a cylinder, its side has one vertex at each point of a rim, its caps have others."""
    mesh = cylinder(np.zeros(3), np.array([0, 0, 1.0]), 0.5, 1.0, 40)
    corners = mesh.vertices[mesh.triangles.ravel()]  # each triangle on its own, as in an STL file
    found = smoothed(corners, np.arange(len(corners)).reshape(-1, 3))
    assert np.array_equal(found.vertices[found.triangles], mesh.vertices[mesh.triangles])
    rim = np.isclose(np.hypot(*found.vertices[:, :2].T), 0.5)
    assert rim.sum() == 4 * 40


def test_mesh_files_are_found_where_packages_have_them(tmp_path):
    file = meshed(tmp_path)
    base = (tmp_path / "some_robot" / "meshes" / "base.stl").resolve()
    for name in ("package://some_robot/meshes/base.stl", "../meshes/base.stl", base.as_uri(), str(base)):
        assert mesh_file(name, file).resolve() == base
    for name in ("package://some_robot/none.stl", "http://x/meshes/base.stl", "", "x\0y"):
        assert mesh_file(name, file) is None


# ---- springs -----------------------------------------------------------------------------------------------

SPRUNG = """
name = "balanced arm"
convention = "frames"
gravity = [0, 0, -9.81]

[[link]]
name = "arm"
joint = "revolute"
origin = { xyz = [0, 0, 1], rpy = [0, 0, 0] }
axis = [0, -1, 0]
mass = 8
com = [0.7, 0, 0]
inertia = { xx = 0.05, yy = 1.3, zz = 1.3 }

[[spring]]
between = ["base", "arm"]
at = [[0, 0, 1.5], [0.4, 0, 0.1]]
stiffness = 300
"""


def test_springs_stay_on_their_bodies(tmp_path):
    (tmp_path / "sprung.toml").write_text(SPRUNG)
    robot = Robot.load(tmp_path / "sprung.toml")
    with armdyn.view(robot, port=0, browser=False) as bench:
        coil = bench._bench.scene._handle_from_node_name["/springs/1"]
        for q in (0.2, -0.9):
            bench.q = [q]
            pose = still(robot, [q]).poses[0]
            end = pose[:3, :3] @ [0.4, 0, 0.1] + pose[:3, 3]

            def there(end=end):
                drawn = coil.position + rotation(coil.wxyz) @ [0, 0, np.broadcast_to(coil.scale, 3)[2]]
                return np.allclose(drawn, end, atol=1e-9)

            wait_until(there, "the spring")
            assert np.allclose(coil.position, [0, 0, 1.5])
            assert coil.vertices[:, 2].min() == pytest.approx(0, abs=0.02)
            assert coil.vertices[:, 2].max() == pytest.approx(1, abs=0.02)
