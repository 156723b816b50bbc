"""Bundled robots and the files their numbers come from, read by Pinocchio and MuJoCo.

The files are not part of the project: they are read from $ARMDYN_DATA or from ../shared/data. Angles that are
rounded there (1.5708) are put right before they are compared, as the robots' headers say.
"""

import math
import os
import re
from pathlib import Path

import numpy as np
import pytest

from armdyn import Robot
from arms import assert_same, state

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("ARMDYN_DATA", ROOT.parent / "shared" / "data"))

# Name: file, link of the tip, joints in our order where Pinocchio's differs, place of the base in its world
URDF = {
    "gen3": ("kinovaGen3", "EndEffector_Link", None, (0, 0, 0)),
    "xarm7": ("xarm7base", "link_ee", None, (0, 0, 0)),
    "so101": (
        "so101_new_calib",
        "gripper_frame_link",
        ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper"),
        (0, 0, 0),
    ),
    "irb120": ("abbIrb120", "tool0", None, (0, 0, 0)),
    "tx40": ("tx40_mdh_modified", "tool0", None, (0, 0, 0)),
    "lwr4": ("kuka_lwr4", "lwr_7_link", None, (-0.25, 0, 1)),
}


def source(*parts):
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is absent; ARMDYN_DATA names the folder with the data")
    return path


def put_right(text):
    """Rounded quarter turns and noise of a CAD program in rpy and xyz, made exact."""

    def number(word):
        x = float(word)
        turns = round(x / (math.pi / 2))
        if turns and abs(x - turns * math.pi / 2) < 1e-4:
            return repr(turns * math.pi / 2)
        return "0" if abs(x) < 1e-7 else word

    def entries(match):
        return f'{match[1]}"{" ".join(map(number, match[2].split()))}"'

    text = re.sub(r'(<origin[^>]*?rpy=)"([^"]*)"', entries, text, flags=re.DOTALL)
    noise = re.compile(r"(?<![\d.])-?\d+(\.\d+)?e-(0[89]|1\d)\b", re.IGNORECASE)
    return re.sub(r"<joint.*?</joint>", lambda m: noise.sub("0", m[0]), text, flags=re.DOTALL)


@pytest.mark.parametrize("name", URDF)
def test_robot_and_its_urdf_in_pinocchio(name):
    pin = pytest.importorskip("pinocchio")
    file, tip, order, place = URDF[name]
    model = pin.buildModelFromXML(put_right(source("urdf", f"{file}.urdf").read_text("utf-8")))
    data = model.createData()
    model.gravity.linear = np.array([0, 0, -9.81])
    joints = [model.joints[model.getJointId(joint)] for joint in order or list(model.names)[1:]]
    velocities = [joint.idx_v for joint in joints]
    robot = Robot.load(name).with_rotors("none")
    rng = np.random.default_rng(4)
    for _ in range(10):
        q, qd, qdd = state(robot, rng)
        theirs, v, a = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
        v[velocities], a[velocities] = qd, qdd
        for joint, x in zip(joints, q, strict=True):  # continuous joints by cosine and sine
            theirs[joint.idx_q : joint.idx_q + joint.nq] = x if joint.nq == 1 else (np.cos(x), np.sin(x))
        tau = pin.rnea(model, data, theirs, v, a)[velocities]
        B = np.triu(pin.crba(model, data, theirs))
        B = (B + np.triu(B, 1).T)[np.ix_(velocities, velocities)]
        pin.framesForwardKinematics(model, data, theirs)
        T = data.oMf[model.getFrameId(tip)].homogeneous
        T[:3, 3] -= place
        assert_same(robot.inertia(q), B, 1e-9)
        assert_same(robot.inverse_dynamics(q, qd, qdd) - robot.friction(qd), tau, 1e-8)
        assert_same(robot.pose(q), T, 1e-9)


@pytest.mark.parametrize(
    ("name", "file", "turned"),
    [("fr3", "franka_fr3/fr3.xml", False), ("ur5e", "universal_robots_ur5e/ur5e.xml", True)],
)
def test_robot_and_its_mjcf_in_mujoco(name, file, turned):
    mujoco = pytest.importorskip("mujoco")
    spec = mujoco.MjSpec.from_file(str(source("mjcf", *file.split("/"))))
    for thing in [*spec.geoms, *spec.meshes]:  # meshes are not at hand, and weigh nothing here
        spec.delete(thing)
    model = spec.compile()
    data = mujoco.MjData(model)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    robot = Robot.load(name)
    coulomb = np.array([robot.model.number(link.friction.coulomb[0]) for link in robot.model.links])
    rng = np.random.default_rng(5)
    for _ in range(10):
        q, qd, qdd = state(robot, rng)
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
        mujoco.mj_inverse(model, data)
        tau = robot.inverse_dynamics(q, qd, qdd) - coulomb * np.sign(qd)
        assert_same(tau, data.qfrc_inverse, 1e-6)
        site = model.site("attachment_site").id
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = data.site_xmat[site].reshape(3, 3), data.site_xpos[site]
        assert_same(robot.pose(q), np.diag([-1, -1, 1, 1]) @ T if turned else T, 1e-9)


def test_coupled_wrist_of_the_tx40():
    """θ_m = K q, rotors and friction at the joints, and as the source writes them."""
    robot = Robot.load("tx40")
    K = np.diag([32.0, 32, 45, -48, 45, 32])
    K[5, 4] = 32
    found = np.zeros((6, 6))
    for i, link in enumerate(robot.model.links):
        found[i, i] = robot.model.number(link.motor.gear)
        for other, k in link.motor.coupling:
            found[i, robot.model.index[other]] = robot.model.number(k)
    assert_same(found, K)
    Im = np.array(
        [0.362 / 32**2, 0.362 / 32**2, 0.0988 / 45**2, 0.0313 / 48**2, 0.03716 / 45**2, 0.00964 / 32**2]
    )
    q = np.array([0.1, -0.4, 0.9, 0.3, 0.7, -0.2])
    without = robot.with_rotors("none")
    assert_same(robot.inertia(q) - without.inertia(q), K.T @ np.diag(Im) @ K, 1e-12)
    for qd in (np.array([0.3, 0.2, -0.1, 0.5, 0.4, 0.7]), np.array([0.3, 0.2, -0.1, 0.5, 0.4, -0.7])):
        expected = np.array([8.05, 5.53, 1.97, 1.11, 1.86, 0.65]) * qd
        expected += np.array([7.14, 8.26, 6.34, 2.48, 3.03, 0.282]) * np.sign(qd)
        expected[4:] += 0.616 * qd[[5, 4]] + 1.95 * np.sign(qd[4] + qd[5])  # as the source writes them
        assert_same(robot.friction(qd), expected, 1e-12)
