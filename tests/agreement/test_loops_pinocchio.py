"""Loops and Pinocchio's proximal constrained dynamics, which closes them by forces alone.

Pinocchio gets the tree with every joint free and ties points together: one point for a ball joint and for a
planar revolute joint, two points of the axis for a spatial one. Its delta is another tree: a platform that
slides.
"""

import numpy as np
import pytest

from armdyn import Robot
from arms import assert_same

pin = pytest.importorskip("pinocchio")

TOLERANCE = 1e-8
APART = 0.3  # two points of an axis [m]


def numbers(model, entries):
    return np.array([model.number(x) for x in entries])


def placement(model, T):
    return pin.SE3(np.array([numbers(model, row) for row in T.R]), numbers(model, T.p))


class Peer:
    """A tree in Pinocchio, whose joints are `names`, and the pairs of points that are tied."""

    def __init__(self, gravity):
        self.model, self.places, self.names = pin.Model(), {"base": (0, pin.SE3.Identity())}, []
        self.model.gravity.linear = np.array(gravity, float)
        self.ties = []

    def add(self, model, link, parent=None):
        joint, place = self.places[parent or link.parent]
        kind = {"revolute": pin.JointModelRevoluteUnaligned, "prismatic": pin.JointModelPrismaticUnaligned}
        before = place * placement(model, link.before)
        joint = self.model.addJoint(joint, kind[link.joint](*numbers(model, link.axis)), before, link.name)
        self.places[link.name] = (joint, placement(model, link.after))
        self.names.append(link.name)
        self.weigh(model, link, self.places[link.name])
        if link.motor is not None and model.rotors != "none":
            assert link.motor.carrier == "base"
            k = model.number(link.motor.gear)
            self.model.armature[self.model.nv - 1] = model.number(link.motor.axial) * k * k

    def weigh(self, model, link, place):
        mass = model.number(link.inertia.mass)
        if mass:
            xx, xy, xz, yy, yz, zz = numbers(model, link.inertia.tensor_at_com)
            I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            self.model.appendBodyToJoint(
                place[0], pin.Inertia(mass, numbers(model, link.inertia.com), I), place[1]
            )

    def tie(self, a, b):
        """Two points, each a link's name and a place in its frame."""
        (joint_a, place_a), (joint_b, place_b) = (
            (self.places[name][0], self.places[name][1] * at) for name, at in (a, b)
        )
        self.ties.append(
            pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D, self.model, joint_a, place_a, joint_b, place_b, pin.LOCAL
            )
        )

    def accelerations(self, y, yd, tau):
        """By joint name, from positions, velocities and torques by joint name."""
        data, models, ties = self.model.createData(), *vectors_of(self.ties)
        pin.initConstraintDynamics(self.model, data, models, ties)
        settings = pin.ProximalSettings(1e-13, 1e-6, 2000)
        vectors = [np.array([values[name] for name in self.names]) for values in (y, yd, tau)]
        found = pin.constraintDynamics(self.model, data, *vectors, models, ties, settings)
        self.forces = [tie.contact_force.linear for tie in ties]  # on the first link, in its axes
        return dict(zip(self.names, found, strict=True))


def vectors_of(ties):
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for tie in ties:
        models.append(tie)
        datas.append(tie.createData())
    return models, datas


def tree(robot, planar):
    """The same tree, its loops tied."""
    model = robot.model
    peer = Peer(numbers(model, model.gravity))
    for link in model.links:
        peer.add(model, link)
    for loop in model.loops:
        a, b = (placement(model, T) for T in loop.at)
        peer.tie((loop.between[0], a), (loop.between[1], b))
        if loop.joint == "revolute" and not planar:
            further = pin.SE3(np.eye(3), np.array([0, 0, APART]))
            peer.tie((loop.between[0], a * further), (loop.between[1], b * further))
    return peer


def sliding_delta(robot):
    """The delta with the platform on three sliding joints; masses of the platform once, on the last."""
    model = robot.model
    by_name = {link.name: link for link in model.links}
    peer = Peer(numbers(model, model.gravity))
    joint = 0
    for axis, name in zip(np.eye(3), "xyz", strict=True):
        joint = peer.model.addJoint(joint, pin.JointModelPrismaticUnaligned(*axis), pin.SE3.Identity(), name)
        peer.names.append(name)
    values = {name: float(value) for name, value in model.symbols}
    middle = pin.SE3(np.eye(3), np.array([values["r"], 0, 0]))  # the link's frame is at the first forearm
    peer.places["platform"] = (joint, middle)
    peer.weigh(model, by_name["platform"], peer.places["platform"])
    for i in (1, 2, 3):
        for name in (f"arm {i}", f"bend {i}", f"forearm {i}"):
            peer.add(model, by_name[name])
        angle = 2 * np.pi / 3 * (i - 1)
        end = values["r"] * np.array([np.cos(angle) - 1, np.sin(angle), 0])
        down = pin.SE3(np.eye(3), np.array([0, 0, -values["a2"]]))
        peer.tie((f"forearm {i}", down), ("platform", pin.SE3(np.eye(3), end)))
    return peer


def spatial_loop(seed, joint):
    """A chain of random axes, closed at a random posture; full tensors, a sliding joint among them."""
    rng = np.random.default_rng(seed)
    joints = {"spherical": 6, "revolute": 8}[joint]
    links = []
    for i in range(joints):
        points = rng.uniform(-0.3, 0.3, (5, 3))
        mass, com = rng.uniform(0.5, 2), points.mean(axis=0)
        x = points - com
        I = mass / 5 * (np.sum(x**2) * np.eye(3) - x.T @ x)
        keys = {"xx": (0, 0), "xy": (0, 1), "xz": (0, 2), "yy": (1, 1), "yz": (1, 2), "zz": (2, 2)}
        links.append(
            {
                "name": f"link {i}",
                "parent": f"link {i - 1}" if i not in (0, joints // 2 + 1) else "base",
                "joint": "prismatic" if i == 1 else "revolute",
                "origin": {"xyz": rng.uniform(0.1, 0.4, 3).tolist(), "rpy": rng.uniform(-2, 2, 3).tolist()},
                "axis": [0, 0, 1],
                "mass": mass,
                "com": com.tolist(),
                "inertia": {key: float(I[at]) for key, at in keys.items()},
                "friction": {"viscous": 0.1},
            }
        )
    table = {"name": "loop", "convention": "frames", "gravity": [1, -2, -9.0], "link": links}
    # where both ends are at a posture, seen from the second: there the loop is closed
    ends, open_robot = (f"link {joints // 2}", f"link {joints - 1}"), Robot.from_dict(table)
    q = rng.uniform(-0.4, 0.4, joints)
    T_a, T_b = (open_robot.pose(q, link=name) for name in ends)
    at_a = np.eye(4)
    at_a[:3, 3] = rng.uniform(-0.2, 0.2, 3)
    at_b = np.linalg.inv(T_b) @ T_a @ at_a
    for i, (link, guess) in enumerate(zip(links, q, strict=True)):
        link["guess"], link["actuated"] = float(guess), i < 3
    places = [{"xyz": at[:3, 3].tolist(), "rpy": rpy(at[:3, :3])} for at in (at_a, at_b)]
    table["closure"] = [{"between": list(ends), "at": places, "joint": joint}]
    return Robot.from_dict(table)


def rpy(R):
    return [float(x) for x in pin.rpy.matrixToRpy(R)]


def by_joint(robot, values):
    return dict(zip([link.name for link in robot.model.moving], values, strict=True))


def states(robot, spread, count=6):
    rng = np.random.default_rng(9)
    start = np.array(robot.model.choice.posture)[list(robot.model.choice.free)]
    shape = (count, robot.n)
    q = start + rng.uniform(-spread, spread, shape)
    return zip(q, rng.uniform(-2, 2, shape), rng.uniform(-5, 5, shape), strict=True)


def rubs(robot, name, speed):
    """Friction of a joint by hand; sliding coordinates of the delta's platform have none."""
    found = [link.friction for link in robot.model.links if link.name == name]
    if not found:
        return 0.0
    up, down = (robot.model.number(x) for x in found[0].coulomb)
    return robot.model.number(found[0]["viscous"]) * speed + (up if speed > 0 else -abs(down)) * (speed != 0)


def compare(robot, peer, spread, further=None):
    """q̈ of the coordinates, for torques on them and friction in all joints; the force in a ball joint."""
    names = [link.name for link in robot.model.coordinates]
    for q, qd, tau in states(robot, spread):
        y, yd = by_joint(robot, robot.joint_positions(q)), by_joint(robot, robot.joint_velocities(qd, q=q))
        if further is not None:
            y, yd = {**y, **further(robot, q, qd)[0]}, {**yd, **further(robot, q, qd)[1]}
        torques = {name: -rubs(robot, name, yd[name]) for name in y}
        for name, given in zip(names, tau, strict=True):
            torques[name] += given
        theirs = peer.accelerations(y, yd, torques)
        ours = robot.forward_dynamics(q, qd, tau)
        assert_same(ours, [theirs[name] for name in names], TOLERANCE)
        if further is None and robot.model.loops[0].joint == "spherical":
            force = robot.loop_wrenches(q, qd, ours)[0, :3]
            assert_same(force, -peer.forces[0], TOLERANCE)


@pytest.mark.parametrize("name", ["four_bar", "five_bar"])
def test_planar_mechanisms(name):
    robot = Robot.load(name)
    compare(robot, tree(robot, planar=True), 0.5)


def test_delta():
    def of_platform(robot, q, qd):
        p, v = robot.pose(q)[:3, 3], (robot.jacobian(q) @ qd)[:3]
        return dict(zip("xyz", p, strict=True)), dict(zip("xyz", v, strict=True))

    robot = Robot.load("delta")
    compare(robot, sliding_delta(robot), 0.4, of_platform)


@pytest.mark.parametrize("joint", ["spherical", "revolute"])
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_random_spatial_loops(seed, joint):
    robot = spatial_loop(seed, joint)
    compare(robot, tree(robot, planar=False), 0.01)
