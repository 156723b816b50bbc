"""What we write as URDF and MJCF, as Pinocchio and MuJoCo read it: the same robot, to 1e-9."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

import armdyn
from armdyn import Robot
from armdyn.expression import ZERO
from armdyn.model.friction import NO_FRICTION
from arms import WITHOUT_LOOPS, assert_same, freed, generators, in_suites, law, models, robots, state
from exported_texts import mjcf_text, urdf_text
from in_mujoco import MuJoCo

TOLERANCE = 1e-9
DRAKE = "{http://drake.mit.edu}"


def reflected(robot):
    """The robot with what the formats can say of its rotors: none of motors that turn with several joints."""
    coupled = any(link.motor and link.motor.coupling for link in robot.model.links)
    return robot.with_rotors("none" if coupled or robot.model.rotors == "none" else "reflected")


def viscous(robot, qd):
    """Friction that grows with speed; dry friction is compared by its coefficients."""
    smooth = np.array([float(s["viscous"]) for s in robot.mechanism.friction[: robot.n]])
    return smooth * qd


def joint_names(robot):
    return [link.joint_name or f"{link.name}_joint" for link in robot.model.moving]


@pytest.fixture(autouse=True)
def evaluator():
    """Random arms are used once."""
    with armdyn.backend("evaluator"):
        yield


class Pinocchio:
    """A URDF in Pinocchio, with the armatures of its transmissions."""

    def __init__(self, text, robot):
        self.pin = pytest.importorskip("pinocchio")
        self.model = self.pin.buildModelFromXML(text)
        self.model.gravity.linear = np.array([robot.model.number(x) for x in robot.model.gravity])
        self.data = self.model.createData()
        self.joints = [self.model.joints[self.model.getJointId(name)] for name in joint_names(robot)]
        self.order = [joint.idx_v for joint in self.joints]
        for transmission in ET.fromstring(text).iter("transmission"):
            joint = self.model.joints[self.model.getJointId(transmission.find("joint").get("name"))]
            gear, rotor = (
                float(transmission.find(f"actuator/{DRAKE}{key}").get("value"))
                for key in ("gear_ratio", "rotor_inertia")
            )
            assert float(transmission.find("actuator/mechanicalReduction").text) == gear
            self.model.armature[joint.idx_v] = gear**2 * rotor

    def state(self, q, *vectors):
        full = self.pin.neutral(self.model)
        for joint, x in zip(self.joints, q, strict=True):
            full[joint.idx_q : joint.idx_q + joint.nq] = x if joint.nq == 1 else [np.cos(x), np.sin(x)]
        inverse = np.argsort(self.order)
        return [full, *(np.asarray(v)[inverse] for v in vectors)]

    def check(self, robot, q, qd, qdd):
        pin, order = self.pin, self.order
        x = self.state(q, qd, qdd)
        tau = pin.rnea(self.model, self.data, *x)[order]
        assert_same(robot.inverse_dynamics(q, qd, qdd) - robot.friction(qd), tau, TOLERANCE)
        B = pin.crba(self.model, self.data, x[0])
        B = np.triu(B) + np.triu(B, 1).T
        assert_same(robot.inertia(q), B[np.ix_(order, order)], TOLERANCE)
        g = pin.computeGeneralizedGravity(self.model, self.data, x[0])
        assert_same(robot.gravity(q), g[order], TOLERANCE)
        pin.framesForwardKinematics(self.model, self.data, x[0])
        for link in robot.model.links:
            assert_same(robot.pose(q, link.name), self.frame(link.name), TOLERANCE)
        tool = "tool" if robot.model.tool != type(robot.model.tool)() else robot.model.tip
        assert_same(robot.pose(q), self.frame(tool), TOLERANCE)

    def frame(self, name):
        return self.data.oMf[self.model.getFrameId(name, self.pin.FrameType.BODY)].homogeneous


def check_mujoco(robot, text, q, qd, qdd):
    peer = MuJoCo(text)
    order = peer.order(joint_names(robot))
    peer.at(order, q, qd, qdd)
    assert_same(robot.inertia(q), peer.inertia(order), TOLERANCE)
    bias = robot.coriolis(q, qd) @ qd + robot.gravity(q)
    assert_same(bias, peer.bias(order), TOLERANCE)
    tau = robot.inverse_dynamics(q, qd, qdd) - robot.friction(qd) + viscous(robot, qd)
    assert_same(tau, peer.inverse_dynamics(order), TOLERANCE)
    for link in robot.model.links:
        assert_same(robot.pose(q, link.name), peer.pose(link.name), TOLERANCE)
        assert_same(robot.jacobian(q, link.name), peer.jacobian(link.name, order), TOLERANCE)
    levels = [s["coulomb"] for s in robot.mechanism.friction[: robot.n]]
    assert_same(levels, peer.model.dof_frictionloss[order])


def arms():
    return robots((1, 5), couplings=False, rotors=("exact", "reflected", "none"))


@law(arms(), generators())
def test_urdf_of_random_arms_and_pinocchio(robot, rng):
    text, _ = urdf_text(robot.model)
    robot = reflected(robot)
    Pinocchio(text, robot).check(robot, *state(robot, rng))


@law(models((1, 4), couplings=False), generators())
def test_urdf_of_joints_beside_their_frames_and_pinocchio(model, rng):
    """These arms have any transform behind each joint, so that axes pass beside the links' frames."""
    robot = reflected(Robot(model))
    text, _ = urdf_text(robot.model)
    Pinocchio(text, robot).check(robot, *state(robot, rng))


@law(models((1, 4), couplings=False), generators())
def test_mjcf_of_joints_beside_their_frames_and_mujoco(model, rng):
    pytest.importorskip("mujoco")
    robot = reflected(Robot(model))
    check_mujoco(robot, mjcf_text(robot.model)[0], *state(robot, rng))


@law(arms(), generators())
def test_mjcf_of_random_arms_and_mujoco(robot, rng):
    pytest.importorskip("mujoco")
    text, _ = mjcf_text(robot.model)
    check_mujoco(reflected(robot), text, *state(robot, rng))


@law(arms(), generators(), examples=10)
def test_urdf_of_random_arms_and_mujoco(robot, rng):
    """MuJoCo reads URDF too, but knows neither transmissions nor gravity from it."""
    mujoco = pytest.importorskip("mujoco")
    text, _ = urdf_text(robot.model)
    robot = reflected(robot)
    without = re.sub(r"(?s)<transmission.*?</transmission>", "", text)
    keep = '<mujoco><compiler fusestatic="false" discardvisual="false" strippath="false"/></mujoco>'
    model = mujoco.MjModel.from_xml_string(without.replace("</robot>", f"{keep}</robot>"))
    model.opt.gravity = [robot.model.number(x) for x in robot.model.gravity]
    peer = MuJoCo(model=model)
    order = peer.order(joint_names(robot))
    q, qd, qdd = state(robot, rng)
    peer.at(order, q, qd, qdd)
    armature = np.diag(robot.inertia(q) - with_masses_only(robot).inertia(q))
    assert_same(robot.inertia(q), peer.inertia(order) + np.diag(armature), TOLERANCE)
    assert_same(robot.gravity(q) + robot.coriolis(q, qd) @ qd, peer.bias(order), TOLERANCE)
    moving = [link for link in robot.model.links if link.parent != "base" or link.joint != "fixed"]
    for link in moving:
        assert_same(robot.pose(q, link.name), peer.pose(link.name), TOLERANCE)


def with_masses_only(robot):
    """The reflected robot without the inertias of its rotors."""
    links = tuple(
        replace(link, motor=link.motor and replace(link.motor, axial=ZERO)) for link in robot.model.links
    )
    return Robot(replace(robot.model, links=links))


def as_written(robot):
    """Elastic joints are written as rigid ones, without the friction of their motors."""
    links = tuple(
        replace(link, motor=replace(link.motor, friction=NO_FRICTION)) if link.elastic else link
        for link in robot.model.links
    )
    return Robot(replace(robot.model, links=links)).with_rigid_joints()


@pytest.mark.parametrize("name", in_suites(WITHOUT_LOOPS))
def test_urdf_of_bundled_robots_and_pinocchio(name):
    robot = freed(Robot.load(name))
    text, _ = urdf_text(robot.model)
    robot = as_written(robot)
    if reflected(robot).model.rotors == "none":
        text, _ = urdf_text(robot.with_rotors("none").model)
    robot = reflected(robot)
    Pinocchio(text, robot).check(robot, *state(robot, np.random.default_rng(3)))


@pytest.mark.parametrize("name", in_suites(WITHOUT_LOOPS))
def test_mjcf_of_bundled_robots_and_mujoco(name):
    pytest.importorskip("mujoco")
    robot = freed(Robot.load(name))
    text, notes = mjcf_text(reflected(robot).model)
    robot = reflected(as_written(robot))
    if any("cannot exist" in note for note in notes):
        with pytest.raises(ValueError, match="inertia"):
            MuJoCo(text)
        return
    check_mujoco(robot, text, *state(robot, np.random.default_rng(3)))
