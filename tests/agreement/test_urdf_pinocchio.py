"""Imported URDF files and Pinocchio's reading of the same files, on 100 random states, to a relative 1e-10.

Pinocchio knows neither friction nor rotors: ours are without. Its continuous joints have the cosine and the
sine of an angle; it leaves mimic joints free, so its matrices are reduced by q = S x + s₀. Bodies that were
repaired here are repaired in the text that Pinocchio gets.
"""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest

import armdyn
from armdyn import Robot
from armdyn.description.foreign.assembly import repaired_tensor
from armdyn.model.friction import NO_FRICTION
from public_files import FOLDER, needs_files, quiet_load, urdf_files

pin = pytest.importorskip("pinocchio")

TOLERANCE = 1e-10
STATES = 100
# What loads of the tricky ones, and how. (r2_left_gripper is never read.)
TRICKY = {
    "tricky/double_pendulum_continuous.urdf": {},
    "tricky/fetch.urdf": {"repair": True},
    "tricky/go1.urdf": {},
    "tricky/kuka_lwr4_gaz.urdf": {"repair": True},
    "tricky/pr2.urdf": {},
    "tricky/robotiq2F85.urdf": {},
    "tricky/robotiq_tendons.urdf": {},
    "tricky/romeo_laas_small.urdf": {"repair": True},
    "tricky/sia5d.urdf": {},
    "tricky/tiago.urdf": {"repair": True},
}
FILES = {name: {} for name in urdf_files()} | TRICKY

pytestmark = needs_files


def text_for_pinocchio(name, repair):
    """The file with the limits and the prefix that Pinocchio misses, its tensors repaired as ours are."""
    text = (FOLDER / name).read_text("utf-8")
    if "xmlns:sensor" not in text:
        text = text.replace("<robot ", '<robot xmlns:sensor="s" ', 1)
    root = ElementTree.fromstring(text)
    for limit in root.iterfind("joint/limit"):
        limit.attrib = {"effort": "0", "velocity": "0", **limit.attrib}
    for entries in root.iterfind("link/inertial/inertia") if repair else ():
        keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        if found := repaired_tensor(tuple(float(entries.get(key)) for key in keys)):
            for key, x in zip(keys, found[0], strict=True):
                entries.set(key, repr(x.value()))
    return ElementTree.tostring(root, "unicode")


class Peer:
    """A robot, and Pinocchio's model of its file with the joints in our order."""

    def __init__(self, name, options):
        loaded = quiet_load(FOLDER / name, **options).with_rotors("none").model
        links = tuple(replace(link, friction=NO_FRICTION) for link in loaded.links)
        self.robot = Robot(replace(loaded, links=links))
        self.model = pin.buildModelFromXML(text_for_pinocchio(name, options.get("repair", False)))
        self.data = self.model.createData()
        moving = loaded.moving
        assert sorted(self.model.names[1:]) == sorted(link.joint_name for link in moving)
        self.ids = [self.model.getJointId(link.joint_name) for link in moving]
        self.order = [self.model.joints[i].idx_v for i in self.ids]  # of our joints in their velocities
        rows = loaded.dependence
        self.S, self.s0 = np.zeros((len(moving), self.robot.n)), np.zeros(len(moving))
        for j, (row, offset) in enumerate(zip(rows.rows, rows.offsets, strict=True)):
            self.s0[j] = loaded.number(offset)
            for i, k in row:
                self.S[j, i] = loaded.number(k)

    def q(self, x):
        """Their positions of our coordinates."""
        q = np.zeros(self.model.nq)
        for joint, angle in zip(self.ids, self.S @ x + self.s0, strict=True):
            at, count = self.model.joints[joint].idx_q, self.model.joints[joint].nq
            q[at : at + count] = [angle] if count == 1 else [np.cos(angle), np.sin(angle)]
        return q

    def v(self, x):
        """Their velocities or accelerations of our coordinates."""
        v = np.zeros(self.model.nv)
        v[self.order] = self.S @ x
        return v

    def states(self, rng, count):
        return rng.uniform(-3, 3, (3, count, self.robot.n))

    def torques(self, tau):
        """Their torques at our coordinates."""
        return self.S.T @ np.asarray(tau)[self.order]


LARGE = (
    "tricky/tiago.urdf",
    "tricky/romeo_laas_small.urdf",
    "tricky/pr2.urdf",
)  # trees with dozens of links: seconds each
EACH = [pytest.param(name, marks=pytest.mark.slow if name in LARGE else ()) for name in FILES]


@pytest.fixture(scope="module", params=EACH)
def peer(request):
    return Peer(request.param, FILES[request.param])


def same(found, expected, scale=None):
    scale = max(1e-9, np.abs(expected).max() if scale is None else scale)
    assert np.abs(np.asarray(found) - expected).max() <= TOLERANCE * scale


def test_inertia_gravity_and_torques(peer):
    x, xd, xdd = peer.states(np.random.default_rng(1), STATES)
    with armdyn.backend("evaluator"):
        B, g = peer.robot.inertia(x), peer.robot.gravity(x)
        tau = peer.robot.inverse_dynamics(x, xd, xdd)
    order = np.ix_(peer.order, peer.order)
    for k in range(STATES):
        q, v, a = peer.q(x[k]), peer.v(xd[k]), peer.v(xdd[k])
        full = np.triu(pin.crba(peer.model, peer.data, q))
        full = full + np.triu(full, 1).T
        same(B[k], peer.S.T @ full[order] @ peer.S)
        same(g[k], peer.torques(pin.computeGeneralizedGravity(peer.model, peer.data, q)))
        same(tau[k], peer.torques(pin.rnea(peer.model, peer.data, q, v, a)))


def test_accelerations(peer):
    """Of what can be accelerated: some files have joints that move no inertia, and say so in a warning."""
    x, xd, tau = peer.states(np.random.default_rng(2), STATES)
    with armdyn.backend("evaluator"):
        condition = np.linalg.cond(peer.robot.inertia(x)).max()
        if condition > 1e12:
            assert any("no inertia" in text for text in peer.robot.warnings)
            return
        found = peer.robot.forward_dynamics(x, xd, tau)
    for k in range(STATES):
        q, v = peer.q(x[k]), peer.v(xd[k])
        if peer.S.shape[0] == peer.S.shape[1]:
            full = np.zeros(peer.model.nv)
            full[peer.order] = tau[k]
            expected = pin.aba(peer.model, peer.data, q, v, full)[peer.order]
        else:
            B = np.triu(pin.crba(peer.model, peer.data, q))
            B = (B + np.triu(B, 1).T)[np.ix_(peer.order, peer.order)]
            bias = peer.torques(pin.rnea(peer.model, peer.data, q, v, np.zeros(peer.model.nv)))
            expected = np.linalg.solve(peer.S.T @ B @ peer.S, tau[k] - bias)
        same(found[k], expected, np.abs(expected).max() * max(1.0, condition * 1e-5))


def test_poses_and_jacobians_of_all_links(peer):
    x, _, _ = peer.states(np.random.default_rng(3), STATES)
    aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    names = [link.name for link in peer.robot.model.links]
    frames = [peer.model.getFrameId(name, pin.FrameType.BODY) for name in names]
    poses = np.empty((STATES, len(names), 4, 4))
    jacobians = np.empty((STATES, len(names), 6, peer.robot.n))
    for k in range(STATES):
        pin.computeJointJacobians(peer.model, peer.data, peer.q(x[k]))
        pin.updateFramePlacements(peer.model, peer.data)
        for i, frame in enumerate(frames):
            poses[k, i] = peer.data.oMf[frame].homogeneous
            J = pin.getFrameJacobian(peer.model, peer.data, frame, aligned).reshape(6, -1)
            jacobians[k, i] = J[:, peer.order] @ peer.S
    with armdyn.backend("evaluator"):
        for i, name in enumerate(names):
            same(peer.robot.pose(x, link=name), poses[:, i])
            same(peer.robot.jacobian(x, link=name), jacobians[:, i], max(1.0, np.abs(jacobians[:, i]).max()))
