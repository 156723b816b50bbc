"""MJCF files as we read them and as MuJoCo does: 1e-10 on 100 random states.

In MuJoCo equalities and frictionloss are switched off, and its freed joints are reduced by S: q = S x + s₀.
Meshes, materials and textures are stripped with MjSpec, as the files come without them.
"""

import os
from pathlib import Path

import numpy as np
import pytest

from armdyn import Robot
from arms import assert_same
from mujoco_tools import MuJoCo

mujoco = pytest.importorskip("mujoco")

DATA = Path(os.environ.get("ARMDYN_DATA", Path(__file__).resolve().parents[3] / "shared" / "data")) / "mjcf"
FILES = sorted(DATA.rglob("*.xml"))
STATES = 100
TOLERANCE = 1e-10


def stripped(path):
    """The file in MuJoCo, without what it would load."""
    spec = mujoco.MjSpec.from_file(str(path))
    for geom in list(spec.geoms):
        if geom.type == mujoco.mjtGeom.mjGEOM_MESH:
            spec.delete(geom)
        else:
            geom.material = ""
    for group in (spec.meshes, spec.materials, spec.textures):
        for x in list(group):
            spec.delete(x)
    return spec.compile()


def check(robot, peer, rng, states=STATES):
    """All that both can say, at random states of our coordinates."""
    model = robot.model
    order = peer.order(robot.joints)
    S = np.zeros((len(model.moving), robot.n))
    for i, row in enumerate(model.dependence.rows):
        for j, factor in row:
            S[i, j] = model.number(factor)
    s0 = np.array([model.number(x) for x in model.dependence.offsets])
    viscous = np.diag([model.number(x.friction.viscous) for x in model.moving])
    links = [link for link in model.links if link.name in peer.bodies]
    assert links
    for _ in range(states):
        x, xd, xdd = rng.uniform(-2, 2, (3, robot.n))
        assert_same(robot.joint_positions(x), S @ x + s0, 1e-14)
        peer.at(order, S @ x + s0, S @ xd, S @ xdd)
        assert_same(robot.inertia(x), S.T @ peer.inertia(order) @ S, TOLERANCE)
        bias = robot.coriolis(x, xd) @ xd + robot.gravity(x)
        assert_same(bias, S.T @ peer.bias(order), TOLERANCE)
        tau = robot.inverse_dynamics(x, xd, xdd) - robot.friction(xd) + S.T @ viscous @ S @ xd
        assert_same(tau, S.T @ peer.inverse_dynamics(order), TOLERANCE)
        condition = np.linalg.cond(robot.inertia(x))
        free = robot.forward_dynamics(x, xd, tau + robot.friction(xd) - S.T @ viscous @ S @ xd)
        assert_same(free, xdd, TOLERANCE * max(1, condition))
    for link in links:
        assert_same(robot.pose(x, link.name), peer.pose(link.name), TOLERANCE)
        assert_same(robot.jacobian(x, link.name), peer.jacobian(link.name, order) @ S, TOLERANCE)


@pytest.mark.skipif(not FILES, reason=f"no MJCF files at {DATA} (ARMDYN_DATA)")
@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}/{path.stem}" for path in FILES])
def test_file_and_mujoco(path):
    robot = Robot.load(path)
    check(robot, MuJoCo(model=stripped(path)), np.random.default_rng(4))
    levels = [robot.model.number(link.friction.coulomb[0]) for link in robot.model.moving]
    peer = MuJoCo(model=stripped(path))
    assert_same(levels, peer.model.dof_frictionloss[peer.order(robot.joints)])
