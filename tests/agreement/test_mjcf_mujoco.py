"""MJCF files as we read them and as MuJoCo does: 1e-10 on 100 random states.

In MuJoCo equalities and frictionloss are switched off, and its freed joints are reduced by S: q = S x + s₀.
Meshes, materials and textures are stripped with MjSpec, as the files come without them.
"""

import os
import random
from pathlib import Path

import numpy as np
import pytest

import armdyn
from armdyn import Robot
from arms import assert_same, quietly, slowly
from exported_texts import mjcf_text
from in_mujoco import MuJoCo
from random_mjcf import document, text_of

mujoco = pytest.importorskip("mujoco")

DATA = Path(os.environ.get("ARMDYN_DATA", Path(__file__).resolve().parents[3] / "shared" / "data")) / "mjcf"
FILES = sorted(DATA.rglob("*.xml"))
STATES = 100
TOLERANCE = 1e-10


@pytest.fixture(autouse=True)
def evaluator(request):
    """Random robots are used once."""
    with armdyn.backend("compiled" if "file" in request.node.name else "evaluator"):
        yield


def delete(spec, x):
    """By the function that the installed version has."""
    spec.delete(x) if hasattr(spec, "delete") else x.delete()


def stripped(spec):
    """A model in MuJoCo, without what it would load."""
    for geom in list(spec.geoms):
        if geom.type == mujoco.mjtGeom.mjGEOM_MESH:
            delete(spec, geom)
        else:
            geom.material = ""
    for group in (spec.meshes, spec.materials, spec.textures):
        for x in list(group):
            delete(spec, x)
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
    viscous = np.diag([model.number(x.friction["viscous"]) for x in model.moving])
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
        if condition > 1e8:
            continue  # joints in line: no accelerations to speak of
        free = robot.forward_dynamics(x, xd, tau + robot.friction(xd) - S.T @ viscous @ S @ xd)
        assert_same(free, xdd, TOLERANCE * max(1, condition))
    for link in links:
        assert_same(robot.pose(x, link.name), peer.pose(link.name), TOLERANCE)
        assert_same(robot.jacobian(x, link.name), peer.jacobian(link.name, order) @ S, TOLERANCE)


@pytest.mark.skipif(not FILES, reason=f"no MJCF files at {DATA} (ARMDYN_DATA)")
@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}/{path.stem}" for path in FILES])
def test_file_and_mujoco(path):
    robot = Robot.load(path)
    peer = MuJoCo(model=stripped(mujoco.MjSpec.from_file(str(path))))
    check(robot, peer, np.random.default_rng(4))
    levels = [robot.model.number(link.friction.coulomb[0]) for link in robot.model.moving]
    assert_same(levels, peer.model.dof_frictionloss[peer.order(robot.joints)])


@pytest.mark.filterwarnings("ignore:Inertia matrix is too close to singular")  # joints in line
@pytest.mark.parametrize("seed", [*range(6), *map(slowly, range(6, 60))])
def test_random_document_and_mujoco(seed):
    rng = random.Random(seed)
    text = text_of(document(rng))
    robot = quietly(lambda: Robot.load(text))
    peer = MuJoCo(model=stripped(mujoco.MjSpec.from_string(text)))
    check(robot, peer, np.random.default_rng(seed), states=3)
    order = peer.order(robot.joints)
    moving = robot.model.moving
    assert_same(
        [robot.model.number(x.friction.coulomb[0]) for x in moving], peer.model.dof_frictionloss[order]
    )
    for j, link in zip(order, moving, strict=True):
        assert bool(peer.model.jnt_limited[j]) == (link.limits.position is not None)
        if link.limits.position is not None:
            assert_same([robot.model.number(x) for x in link.limits.position], peer.model.jnt_range[j])


@pytest.mark.parametrize("seed", [*range(6), *map(slowly, range(6, 20))])
def test_random_document_saved_and_read_again(seed):
    """To 1e-12: MuJoCo normalises and composes what is written."""
    robot = quietly(lambda: Robot.load(text_of(document(random.Random(seed)))))
    text, _ = mjcf_text(robot.model)
    again = quietly(lambda: Robot.load(text))
    assert again.joints == robot.joints
    assert again.coordinates == robot.coordinates
    x, xd, xdd = np.random.default_rng(seed).uniform(-2, 2, (3, robot.n))
    expected = robot.inverse_dynamics(x, xd, xdd)
    assert_same(again.inverse_dynamics(x, xd, xdd), expected, 1e-12)
    for link in robot.model.links:
        assert_same(again.pose(x, link.name), robot.pose(x, link.name), 1e-12)


@pytest.mark.skipif(not FILES, reason=f"no MJCF files at {DATA} (ARMDYN_DATA)")
@pytest.mark.parametrize("snap", [False, True])
@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}/{path.stem}" for path in FILES])
def test_file_saved_and_read_again_is_equal(path, snap, tmp_path):
    robot = Robot.load(path, snap=snap)
    again = Robot.load(robot.save(tmp_path / "again.xml"), snap=snap)
    assert again == robot
