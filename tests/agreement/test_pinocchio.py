"""armdyn and Pinocchio: the same arms, rotors reflected (Pinocchio's armature), to a relative 1e-12."""

from dataclasses import replace

import numpy as np
import pytest

from armdyn import Robot, backend
from armdyn.expression import Expression
from arms import WITHOUT_LOOPS, assert_same, freed, generators, gradient, in_suites, law, robots, state

pin = pytest.importorskip("pinocchio")

# Pinocchio's order of the ten inertial parameters, as places in armdyn's m mx my mz Ixx Ixy Ixz Iyy Iyz Izz
PIN_ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]
TOLERANCE = 1e-12


class Peer:
    """A robot as a Pinocchio model. Joints are added depth first; `order` says which of ours each one is."""

    def __init__(self, robot):
        self.robot, model = robot, robot.model
        self.model, self.order = pin.Model(), []
        self.places = {"base": (0, pin.SE3.Identity())}
        self.model.gravity.linear = self.numbers(model.gravity)
        children = {name: [x for x in model.links if x.parent == name] for name in ["base", *model.index]}
        names = [link.name for link in model.moving]
        stack = list(reversed(children["base"]))
        while stack:
            link = stack.pop()
            self.add(link, names)
            stack += reversed(children[link.name])
        for link in model.moving:
            if (motor := link.motor) and model.rotors != "none":
                mass = pin.Inertia(model.number(motor.mass), self.numbers(motor.position), np.zeros((3, 3)))
                joint, place = self.places[motor.carrier]
                if joint:
                    self.model.appendBodyToJoint(joint, mass, place)
                k = model.number(motor.gear)
                self.model.armature[self.order.index(names.index(link.name))] = (
                    model.number(motor.axial) * k * k
                )
        joint, place = self.places[model.tip]
        tool = self.pose(model.tool)
        self.tip = self.model.addFrame(pin.Frame("tip", joint, place * tool, pin.FrameType.OP_FRAME))
        self.data = self.model.createData()
        self.tip_joint, self.tip_place = joint, place * tool

    def numbers(self, entries):
        return np.array([self.robot.model.number(x) for x in entries])

    def pose(self, T):
        return pin.SE3(np.array([self.numbers(row) for row in T.R]), self.numbers(T.p))

    def add(self, link, names):
        number, body = self.robot.model.number, link.inertia
        joint, place = self.places[link.parent]
        place, after = place * self.pose(link.before), self.pose(link.after)
        if link.joint == "fixed":
            place = place * after
        else:
            kind = (
                pin.JointModelRevoluteUnaligned
                if link.joint == "revolute"
                else pin.JointModelPrismaticUnaligned
            )
            joint = self.model.addJoint(joint, kind(*self.numbers(link.axis)), place, link.name)
            self.model.addJointFrame(joint)  # which reduced models need
            self.order.append(names.index(link.name))
            place = after
        self.places[link.name] = (joint, place)
        m = number(body.mass)
        com = self.numbers(body.com) if m else np.zeros(3)
        xx, xy, xz, yy, yz, zz = self.numbers(body.tensor_at_com if m else body.tensor)
        about_com = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if joint:
            self.model.appendBodyToJoint(joint, pin.Inertia(m, com, about_com), place)

    def inward(self, *vectors):
        """Joint vectors in Pinocchio's order."""
        return [np.asarray(v)[self.order] for v in vectors]

    def back(self, array, axes, shape=None):
        """An array of Pinocchio's with joint indices on `axes`, in our order."""
        array = np.array(array).reshape(shape or np.shape(array))  # one column comes flat
        inverse = np.argsort(self.order)
        for axis in axes:
            array = np.take(array, inverse, axis=axis)
        return array

    def external(self, q, wrench):
        """Forces on the joints' bodies for h_e, which the arm exerts: the opposite acts on it."""
        pin.forwardKinematics(self.model, self.data, q)
        turn = self.data.oMi[self.tip_joint].rotation.T
        local = np.concatenate([turn @ -wrench[:3], turn @ -wrench[3:]])
        local[3:] += np.cross(self.tip_place.translation, local[:3])
        forces = [pin.Force.Zero() for _ in range(self.model.njoints)]
        forces[self.tip_joint] = pin.Force(local[:3], local[3:])
        return forces


def arms():
    return robots((1, 6), couplings=False, friction=False, rotors=("reflected", "none"))


@law(arms(), generators())
def test_inverse_dynamics_and_rnea(robot, rng):
    peer, (q, qd, qdd) = Peer(robot), state(robot, rng)
    tau = pin.rnea(peer.model, peer.data, *peer.inward(q, qd, qdd))
    assert_same(robot.inverse_dynamics(q, qd, qdd), peer.back(tau, [0]), TOLERANCE)


@law(robots((2, 4), couplings=False, friction=False, rotors=("reflected",)), generators(), examples=3)
def test_locked_joints_and_a_reduced_model(robot, rng):
    peer, (q, qd, qdd) = Peer(robot), state(robot, rng)
    gone = rng.permutation(robot.n)[: rng.integers(1, robot.n)]
    left = [i for i in range(robot.n) if i not in gone]
    locked = robot.locked({robot.coordinates[i]: float(q[i]) for i in gone})
    ids = [peer.order.index(i) + 1 for i in gone]
    reduced = pin.buildReducedModel(peer.model, ids, *peer.inward(q))
    order = [left.index(i) for i in peer.order if i in left]
    x = [v[left][order] for v in (q, qd, qdd)]
    tau = pin.rnea(reduced, reduced.createData(), *x)
    found = locked.inverse_dynamics(q[left], qd[left], qdd[left])
    assert_same(found[order], tau, TOLERANCE)


@law(arms(), generators())
def test_tip_wrench_and_external_force(robot, rng):
    peer, (q, qd, qdd) = Peer(robot), state(robot, rng)
    wrench = rng.uniform(-9, 9, 6)
    x = peer.inward(q, qd, qdd)
    if not peer.tip_joint:
        return  # the tip is welded to the base
    tau = pin.rnea(peer.model, peer.data, *x, peer.external(x[0], wrench))
    assert_same(robot.inverse_dynamics(q, qd, qdd, wrench), peer.back(tau, [0]), TOLERANCE)


@law(arms(), generators())
def test_inertia_and_crba(robot, rng):
    peer, (q, _, _) = Peer(robot), state(robot, rng)
    B = pin.crba(peer.model, peer.data, *peer.inward(q))
    B = np.triu(B) + np.triu(B, 1).T
    assert_same(robot.inertia(q), peer.back(B, [0, 1]), TOLERANCE)


@law(arms(), generators())
def test_forward_dynamics_and_aba(robot, rng):
    peer, (q, qd, tau) = Peer(robot), state(robot, rng)
    qdd = peer.back(pin.aba(peer.model, peer.data, *peer.inward(q, qd, tau)), [0])
    condition = np.linalg.cond(robot.inertia(q))
    assert_same(robot.forward_dynamics(q, qd, tau), qdd, TOLERANCE * max(1, condition / 100))


@law(arms(), generators())
def test_coriolis_and_coriolis_matrix(robot, rng):
    """Both are Christoffel's, so they are the same matrix and not only the same C q̇."""
    peer, (q, qd, _) = Peer(robot), state(robot, rng)
    C = peer.back(pin.computeCoriolisMatrix(peer.model, peer.data, *peer.inward(q, qd)), [0, 1])
    assert_same(robot.coriolis(q, qd), C, TOLERANCE)


@law(arms(), generators())
def test_gravity_and_nonlinear_effects(robot, rng):
    peer, (q, qd, _) = Peer(robot), state(robot, rng)
    g = pin.computeGeneralizedGravity(peer.model, peer.data, *peer.inward(q))
    assert_same(robot.gravity(q), peer.back(g, [0]), TOLERANCE)
    bias = pin.nonLinearEffects(peer.model, peer.data, *peer.inward(q, qd))
    assert_same(robot.coriolis(q, qd) @ qd + robot.gravity(q), peer.back(bias, [0]), TOLERANCE)


@law(arms(), generators())
def test_energies(robot, rng):
    peer, (q, qd, _) = Peer(robot), state(robot, rng)
    x = peer.inward(q, qd)
    armature = np.array(peer.model.armature) @ (x[1] * x[1]) / 2
    peer.model.armature[:] = 0  # versions of Pinocchio differ in what they make of it here
    kinetic = pin.computeKineticEnergy(peer.model, peer.data, *x)
    assert_same(robot.kinetic_energy(q, qd), kinetic + armature, TOLERANCE)
    potential = pin.computePotentialEnergy(peer.model, peer.data, x[0])
    assert_same(robot.potential_energy(q), potential, 1e-11)


@law(arms(), generators())
def test_pose_and_jacobian_and_its_rate(robot, rng):
    peer, (q, qd, _) = Peer(robot), state(robot, rng)
    x = peer.inward(q, qd)
    pin.computeJointJacobiansTimeVariation(peer.model, peer.data, *x)
    pin.updateFramePlacements(peer.model, peer.data)
    assert_same(robot.pose(q), peer.data.oMf[peer.tip].homogeneous, TOLERANCE)
    aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    J = pin.getFrameJacobian(peer.model, peer.data, peer.tip, aligned)
    assert_same(robot.jacobian(q), peer.back(J, [1], (6, robot.n)), TOLERANCE)
    Jd = pin.getFrameJacobianTimeVariation(peer.model, peer.data, peer.tip, aligned)
    assert_same(robot.jacobian_dot(q, qd), peer.back(Jd, [1], (6, robot.n)), 1e-11)


@law(arms(), generators())
def test_regressor_and_joint_torque_regressor(robot, rng):
    """The ten columns of each body; Pinocchio has none for the armature."""
    peer, (q, qd, qdd) = Peer(robot), state(robot, rng)
    theirs = pin.computeJointTorqueRegressor(peer.model, peer.data, *peer.inward(q, qd, qdd))
    theirs = peer.back(np.array(theirs).reshape(robot.n, robot.n, 10), [0, 1])
    Y = robot.regressor(q, qd, qdd)[:, : 13 * robot.n].reshape(robot.n, robot.n, 13)
    assert_same(Y[:, :, PIN_ORDER], theirs, TOLERANCE)


@law(arms(), generators(), examples=10)
def test_derivatives_and_rnea_derivatives(robot, rng):
    peer, (q, qd, qdd) = Peer(robot), state(robot, rng)
    theirs = pin.computeRNEADerivatives(peer.model, peer.data, *peer.inward(q, qd, qdd))
    by_q, by_qd, B = (peer.back(x, [0, 1]) for x in theirs)
    B = np.triu(B) + np.triu(B, 1).T if np.allclose(np.tril(B, -1), 0) else B
    found = robot.inverse_dynamics_derivatives(q, qd, qdd)
    assert_same(found[0], by_q, 1e-11)
    assert_same(found[1], by_qd, 1e-11)
    assert_same(found[2], robot.inertia(q), 1e-12)


@law(arms(), generators(), examples=3)
def test_second_derivatives_and_differences_of_rnea_derivatives(robot, rng):
    """Pinocchio's own second derivatives have no Python; the benchmarks compile them and compare."""
    peer, (q, qd, qdd) = Peer(robot), state(robot, rng)

    def first(x, v):
        found = pin.computeRNEADerivatives(peer.model, peer.data, *peer.inward(x, v, qdd))
        by_q, by_qd, B = (peer.back(x, [0, 1]) for x in found)
        return np.stack([by_q, by_qd, np.triu(B) + np.triu(B, 1).T if np.allclose(np.tril(B, -1), 0) else B])

    by_q, by_qd = gradient(lambda x: first(x, qd), q, 3e-3), gradient(lambda x: first(q, x), qd, 1e-2)
    with backend("evaluator"):
        found = robot.inverse_dynamics_second_derivatives(q, qd, qdd)
    for x, y in zip(found, (*by_q, by_qd[1]), strict=True):
        assert_same(x, y, 1e-9, np.abs(by_q).max())


@pytest.mark.parametrize("name", in_suites(WITHOUT_LOOPS))
def test_bundled_robot_and_pinocchio(name):
    robot = freed(Robot.load(name)).with_rotors("reflected")
    if robot.model.elastic or any(link.motor and link.motor.coupling for link in robot.model.links):
        robot = robot.with_rotors("none")
    peer, (q, qd, qdd) = Peer(robot), state(robot, np.random.default_rng(2))
    x = peer.inward(q, qd, qdd)
    tau = peer.back(pin.rnea(peer.model, peer.data, *x), [0])
    assert_same(robot.inverse_dynamics(q, qd, qdd) - robot.friction(qd), tau, 1e-11)
    pin.framesForwardKinematics(peer.model, peer.data, x[0])
    assert_same(robot.pose(q), peer.data.oMf[peer.tip].homogeneous, TOLERANCE)


# ---- elastic joints: exact rotors as bodies of their own ---------------------------------------------------


def all_elastic(model, seed):
    """The robot with a motor behind a spring at each joint that has one."""
    rng = np.random.default_rng(seed)

    def link_of(link):
        if link.motor is None:
            return link
        stiffness = Expression.of(int(rng.integers(20, 400)))
        return replace(link, motor=replace(link.motor, stiffness=stiffness))

    return replace(model, links=tuple(map(link_of, model.links)))


def rotors_as_bodies(robot):
    """Links and rotors as Pinocchio's bodies; the rotors' joints come last, in the order of their links."""
    bare = replace(robot.model, links=tuple(replace(link, motor=None) for link in robot.model.links))
    peer = Peer(Robot(bare))
    for link in robot.model.elastic:
        motor, number = link.motor, robot.model.number
        joint, place = peer.places[motor.carrier]
        z = peer.numbers(motor.axis)
        at = place * pin.SE3(np.eye(3), peer.numbers(motor.position))
        spin = peer.model.addJoint(joint, pin.JointModelRevoluteUnaligned(*z), at, f"{link.name} rotor")
        axial, transverse = number(motor.axial), number(motor.transverse)
        tensor = transverse * np.eye(3) + (axial - transverse) * np.outer(z, z)
        body = pin.Inertia(number(motor.mass), np.zeros(3), tensor)
        peer.model.appendBodyToJoint(spin, body, pin.SE3.Identity())
    peer.data = peer.model.createData()
    return peer


@law(robots((1, 5), couplings=False, friction=False, motors="any"), generators(), examples=4, thorough=40)
def test_elastic_joints_and_rotors_as_bodies(robot, rng):
    """Exact rotors: each turns by k θ on its carrier; springs between k θ and the links are added here."""
    robot = Robot(all_elastic(robot.model, seed=1))
    peer, (q, qd, qdd) = rotors_as_bodies(robot), state(robot, rng)
    links, names = len(robot.model.moving), [link.name for link in robot.model.moving]
    gears = [robot.model.number(link.motor.gear) for link in robot.model.elastic]
    ours = [*names, *(f"{link.name} rotor" for link in robot.model.elastic)]
    ours = [ours.index(name) for name in peer.model.names[1:]]  # Pinocchio numbers joints in its own way
    factors = np.array([1.0 if i < links else gears[i - links] for i in ours])
    state_there = [np.asarray(x)[ours] * factors for x in (q, qd, qdd)]
    tau = np.zeros(robot.n)
    tau[ours] = factors * pin.rnea(peer.model, peer.data, *state_there)
    for e, link in enumerate(robot.model.elastic):
        j = names.index(link.name)
        torque = robot.model.number(link.motor.stiffness) * (q[j] - q[links + e])
        tau[j] += torque
        tau[links + e] -= torque
    assert_same(robot.inverse_dynamics(q, qd, qdd), tau, TOLERANCE)
    there = pin.aba(peer.model, peer.data, *state_there[:2], (tau - robot.springs(q))[ours] / factors)
    back = np.zeros(robot.n)
    back[ours] = there / factors
    assert_same(back, qdd, 1e-9)
    assert_same(robot.forward_dynamics(q, qd, tau), qdd, 1e-9)
