"""Consistent estimates: bodies that can exist, the least cost among them, the nearest to the prior."""

import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from armdyn import Robot, backend
from armdyn.identification.consistency import body_of, consistent, impossible_links
from armdyn.identification.errors import IdentificationError
from armdyn.model import impossible_bodies
from arms import assert_same, generators, law, models, quietly, related, robots, slowly, state
from golden_messages import golden_error


@pytest.fixture(autouse=True)
def _evaluated():
    """Each arm has a handful of states: compiling for them takes longer than evaluating."""
    with backend("evaluator"):
        yield


DATA = Path(os.environ.get("ARMDYN_DATA", Path(__file__).parents[3] / "shared" / "data"))


def measured(robot, rng, noise, samples=120):
    """A weighted regressor and torques with noise, as a share of each joint's mean torque."""
    q, qd, qdd = state(robot, rng, (samples,))
    tau = robot.inverse_dynamics(q, qd, qdd)
    size = np.abs(tau).mean(0) + 1e-3
    tau = tau + noise * size * rng.normal(size=tau.shape)
    weights = 1 / (max(noise, 1e-3) * size)
    R = (robot.regressor(q, qd, qdd) * weights[:, None]).reshape(-1, len(robot.parameters))
    return R, (tau * weights).ravel()


def pseudo_inertia(link, number=float):
    """∫ [r, 1] [r, 1]ᵀ dm from the tensor about the centre of mass, written down once more for the tests."""
    inertia = link.inertia
    m = number(inertia.mass)
    c = np.array([number(x) for x in inertia.com])
    xx, xy, xz, yy, yz, zz = (number(x) for x in inertia.tensor_at_com)
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    P = np.zeros((4, 4))
    P[:3, :3] = np.trace(tensor) / 2 * np.eye(3) - tensor + m * np.outer(c, c)
    P[:3, 3] = P[3, :3] = m * c
    P[3, 3] = m
    return P


def assert_possible(robot, rng):
    """In plain arithmetic: every link's own body, rotor and friction is possible, and B(q) > 0."""
    assert impossible_links(robot) == ()
    assert list(impossible_bodies(robot.model)) == []
    for link in robot.model.moving:
        P = pseudo_inertia(link, robot.model.number)
        size = np.sqrt(np.diag(P))
        assert np.linalg.eigvalsh(P / np.outer(size, size))[0] > 0, link.name
    values = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    for name, x in values.items():
        if name.startswith(("Im", "Fv", "Fs")):
            assert x >= abs(values.get(name.replace("Fs", "Fa"), 0.0)) if name.startswith("Fs") else x >= 0, (
                name
            )
    if not robot.model.relations:
        B = robot.inertia(rng.uniform(-3, 3, (300, robot.n)))
        assert np.linalg.eigvalsh(B)[:, 0].min() > 0


@law(robots((1, 5), rotors=("exact", "reflected", "none")), generators(), examples=8, thorough=60)
def test_random_arms_from_noise_are_possible(robot, rng):
    R, z = measured(robot, rng, 1.0)
    prior = robot.parameters * rng.uniform(0.5, 1.5, len(robot.parameters))
    found = consistent(robot, R, z, prior=prior)
    assert_possible(found.robot, rng)
    assert_same(found.robot.parameters, found.parameters)
    assert found.unconstrained_cost <= found.cost * (1 + 1e-9)
    assert found.cost == pytest.approx(np.square(R @ found.parameters - z).sum())


@law(robots((1, 5), rotors=("exact", "reflected", "none")), generators(), examples=8, thorough=60)
def test_possible_least_squares_is_plain_least_squares(robot, rng):
    R, z = measured(robot, rng, 0.0)
    prior = robot.parameters * rng.uniform(0.7, 1.3, len(robot.parameters))
    found = consistent(robot, R, z, prior=prior)
    assert_same(R @ found.parameters, z, 1e-7)
    assert found.active == ()
    q, qd, qdd = state(robot, rng, (20,))
    assert_same(found.robot.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), 1e-7)
    bodies = slice(0, 13 * robot.n)  # without rest, asymmetry and offset of friction are only known together
    assert_same(consistent(robot, R, z).parameters[bodies], robot.parameters[bodies], 1e-5)


@law(models((2, 4)), generators(), examples=6)
def test_arms_with_related_joints(model, rng):
    robot = Robot(related(model, int(rng.integers(1000))))
    R, z = measured(robot, rng, 0.5)
    assert_possible(consistent(robot, R, z).robot, rng)


@law(robots(3, rotors=("none",), friction=False, plates=False), generators(), examples=4)
def test_no_other_possible_robot_with_these_base_parameters_is_nearer_to_the_prior(robot, rng):
    R, z = measured(robot, rng, 0.0)
    values = robot.parameters.copy()
    for j, link in enumerate(robot.model.moving):  # another possible robot: P → A P Aᵀ
        A = np.eye(4) + 0.1 * rng.normal(size=(4, 4))
        values[13 * j : 13 * j + 10] = body_of(A @ pseudo_inertia(link) @ A.T)
    prior = robot.with_parameters(values)
    found = consistent(robot, R, z, prior=prior)
    bodies = np.array([name[:2] not in ("Im", "Fv", "Fs") for name in robot.parameter_names])
    values, V = np.linalg.svd(R[:, bodies])[1:]
    free = np.zeros((bodies.sum() - (values > 1e-9 * values[0]).sum(), len(bodies)))
    free[:, bodies] = V[-len(free) :]

    def distance(candidate):
        """Σ tr (P₀⁻¹ (P − P₀))²"""
        pairs = zip(candidate.model.moving, prior.model.moving, strict=True)
        steps = [np.linalg.solve(pseudo_inertia(b), pseudo_inertia(a)) - np.eye(4) for a, b in pairs]
        return sum(np.trace(step @ step) for step in steps)

    nearest, tried = distance(found.robot), 0
    for size in np.geomspace(1e-4, 0.1, 10):
        other = robot.parameters + size * rng.normal(size=len(free)) @ free
        for t in (0.01, 0.3, 1.0):
            moved = robot.with_parameters((1 - t) * found.parameters + t * other)
            if not impossible_links(moved):
                tried += 1
                assert distance(moved) >= nearest * (1 - 1e-4) - 1e-9
    assert tried >= 6


@pytest.mark.parametrize("name", [slowly("panda"), "stanford"])
def test_cost_agrees_with_a_plain_formulation_in_cvxpy(name):
    """Stage one written down a second time, in the parameters themselves and by a modelling language."""
    cvxpy = pytest.importorskip("cvxpy", reason="cvxpy is not installed")
    robot = Robot.load(name).with_rotors("none")
    rng = np.random.default_rng(3)
    R, z = measured(robot, rng, 0.3)
    R, z = (lambda F: (F[:, :-1], F[:, -1]))(np.linalg.qr(np.column_stack([R, z]), mode="r"))
    pi = cvxpy.Variable(len(robot.parameters))
    rules = []
    for j in range(robot.n):
        m, x, y, w, xx, xy, xz, yy, yz, zz, im, fv, fs = (pi[13 * j + k] for k in range(13))
        half = (xx + yy + zz) / 2
        rows = [
            [half - xx, -xy, -xz, x],
            [-xy, half - yy, -yz, y],
            [-xz, -yz, half - zz, w],
            [x, y, w, m],
        ]
        rules += [cvxpy.bmat(rows) >> 0, im == 0, fv >= 0, fs >= 0, m <= 100]
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.norm(R @ pi - z)), rules)
    problem.solve(solver="CLARABEL")
    found = consistent(robot, R, z, give=0)
    assert found.cost > found.unconstrained_cost * (1 + 1e-4)
    assert found.cost == pytest.approx(problem.value**2, rel=1e-3)
    near = consistent(robot, R, z)
    assert found.cost <= near.cost <= 1.021 * found.cost
    assert np.linalg.norm(near.parameters - near.prior) < np.linalg.norm(found.parameters - found.prior)


# ---- priors ------------------------------------------------------------------------------------------------


def test_impossible_links_of_the_puma_are_replaced_and_named(tmp_path):
    robot = quietly(lambda: Robot.load("puma560"))
    rng = np.random.default_rng(0)
    found = quietly(lambda: consistent(robot, *measured(robot, rng, 0.02, 400)))
    assert len(found.notes) == 2
    assert "'waist'" in found.notes[0]
    assert "mass 0 kg" in found.notes[0]
    assert "'forearm'" in found.notes[1]
    assert "triangle inequality" in found.notes[1]
    assert_possible(found.robot, rng)
    assert found.cost < 1.05 * found.unconstrained_cost
    found.robot.save(tmp_path / "puma.toml")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = Robot.load(tmp_path / "puma.toml")
    assert_same(again.parameters, found.parameters, 1e-14)


def test_friction_below_the_motors_share_moves_to_the_joint(tmp_path):
    robot = quietly(lambda: Robot.load("puma560"))
    friction = np.array([name.startswith(("Fv", "Fs", "Fa")) for name in robot.parameter_names])
    real = quietly(lambda: robot.with_parameters(np.where(friction, 0.7, 1.0) * robot.parameters))
    R, z = measured(real, np.random.default_rng(1), 0.0, 300)
    found = consistent(robot, R, z)
    assert_same(found.parameters[friction], real.parameters[friction], 1e-6)
    found.robot.save(tmp_path / "puma.toml")
    assert_same(Robot.load(tmp_path / "puma.toml").parameters, found.parameters, 1e-14)


def test_a_robot_without_inertias_is_identified_from_its_geometry():
    panda = Robot.load("panda")
    rng = np.random.default_rng(2)
    R, z = measured(panda, rng, 0.02, 400)
    bare = panda.with_parameters(np.zeros(len(panda.parameters)))
    for prior in ("nominal", "geometric"):
        found = consistent(bare, R, z, prior=prior)
        assert len(found.notes) == (7 if prior == "nominal" else 0)
        assert_possible(found.robot, rng)
        assert found.cost < 1.05 * found.unconstrained_cost
        m1 = found.parameters[0]  # no torque shows it: it is the geometry's
        assert m1 == pytest.approx(found.prior[0], rel=0.5)


def test_without_data_the_prior_is_the_answer():
    robot = Robot.load("panda")
    found = consistent(robot, np.zeros((1, len(robot.parameters))), [0.0])
    assert found.rank == 0
    assert_same(found.parameters, robot.parameters, 1e-6)
    heavier = robot.with_parameters(1.5 * robot.parameters)
    found = consistent(robot, np.zeros((1, len(robot.parameters))), [0.0], prior=heavier)
    assert_same(found.parameters, heavier.parameters, 1e-6)


def test_rotors_and_friction_of_an_impossible_prior_are_named():
    robot = quietly(lambda: Robot.load("puma560"))
    prior = dict(zip(robot.parameter_names, robot.parameters, strict=True)) | {"Im2": -1e-3, "Fv3": -2.0}
    found = consistent(robot, np.zeros((1, len(prior))), [0.0], prior=list(prior.values()))
    values = dict(zip(robot.parameter_names, found.parameters, strict=True))
    assert values["Im2"] >= 0
    assert values["Fv3"] >= 0
    assert any(note.startswith("Im2: the prior has -0.001") for note in found.notes)
    assert any(note.startswith("Fv3: the prior has -2") for note in found.notes)


@pytest.mark.parametrize("name", ["sia5d", "kuka_lwr4_gaz", "double_pendulum_continuous"])
def test_descriptions_that_are_hard_to_read(name):
    path = DATA / "urdf" / "tricky" / f"{name}.urdf"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    robot = quietly(lambda: Robot.load(path, repair=True))
    rng = np.random.default_rng(4)
    found = consistent(robot, *measured(robot, rng, 0.3))
    assert_possible(found.robot, rng)


# ---- what it costs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arm", "name", "change", "cause"),
    [
        ("planar", "Im2", -1.0, "Im2 ≥ 0"),
        ("planar3", "Fv3", -50.0, "Fv3 ≥ 0"),
        ("planar3", "Izz3", -3.0, "tensor of link 3"),
    ],
)
def test_the_condition_that_costs_is_named(arm, name, change, cause):
    robot = Robot.load(arm)
    R, _ = measured(robot, np.random.default_rng(5), 0.1)
    impossible = robot.parameters + change * (np.array(robot.parameter_names) == name)
    found = consistent(robot, R, R @ impossible)
    text, share = found.causes[0]
    assert text == cause
    assert share > 0.5
    assert sum(share for _, share in found.causes) <= 1.0001
    assert ("link 3" in found.active) == ("≥" not in cause)


def test_a_negative_mass_is_named():
    robot = rubbing_slider(viscous=1, coulomb=2)
    R, z = friction_rows(robot, {"m1": -2.0}, 2.0)
    assert consistent(robot, R, z).causes[0][0] == "mass of link1"


# ---- friction ----------------------------------------------------------------------------------------------


def rubbing_slider(**friction):
    """One joint whose friction is all that its torques show beside its mass."""
    link = {
        "joint": "prismatic",
        "origin": {"xyz": [0, 0, 0]},
        "axis": [0, 0, 1],
        "mass": 2,
        "com": [0, 0, 0.1],
    }
    link |= {"inertia": {"xx": 0.02, "yy": 0.03, "zz": 0.02}, "friction": friction}
    return Robot.from_dict(
        {"name": "slider", "convention": "frames", "gravity": [0, 0, -9.81], "link": [link]}
    )


def friction_rows(robot, wanted, greatest):
    """The regressor at speeds up to the greatest, and the torques of other coefficients."""
    qd = np.linspace(-greatest, greatest, 81)[:, None]
    Y = robot.regressor(np.zeros_like(qd), qd, np.sin(7 * qd))[:, 0]
    values = dict(zip(robot.parameter_names, robot.parameters, strict=True)) | wanted
    return Y, Y @ list(values.values())


def test_terms_below_zero_are_kept_while_friction_brakes():
    """Stribeck and cubic coefficients may be negative up to the greatest measured speed."""
    robot = rubbing_slider(viscous=1, coulomb=2, stribeck={"level": 1, "velocity": 0.1}, cubic="0.1")
    fits = {"Fv1": 3.0, "Fs1": 2.0, "Fst1": -1.5, "Fcu1": -0.2}  # brakes up to 4.2 m/s
    R, z = friction_rows(robot, fits, 2.0)
    found = consistent(robot, R, z, speeds=[2.0])
    values = dict(zip(robot.parameter_names, found.parameters, strict=True))
    assert {name: values[name] for name in fits} == pytest.approx(fits, rel=1e-5)
    everywhere = consistent(robot, R, z)  # no greatest speed: it must brake at all
    values = dict(zip(robot.parameter_names, everywhere.parameters, strict=True))
    assert values["Fcu1"] >= 0
    assert everywhere.cost > found.cost


@pytest.mark.parametrize("fits", [{"Fst1": -3.0}, {"Fcu1": -2.0}, {"Fv1": -1.0}, {"Fs1": -1.0}])
def test_friction_that_would_drive_is_held_back(fits):
    robot = rubbing_slider(
        viscous=1, coulomb=[2, "-1.5"], stribeck={"level": 1, "velocity": 0.1}, cubic="0.1"
    )
    R, z = friction_rows(robot, fits, 2.0)
    found = consistent(robot, R, z, speeds=[2.0])
    assert found.cost > found.unconstrained_cost + 0.01
    offset = dict(zip(robot.parameter_names, found.parameters, strict=True)).get("F01", 0.0)
    v = np.linspace(-2, 2, 401)[:, None]
    assert ((found.robot.friction(v) - offset) * np.sign(v)).min() >= -1e-3


# ---- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {"R": np.zeros((3, 5))},
        {"z": np.zeros(4)},
        {"R": np.full((3, 26), np.nan)},
        {"prior": "cad"},
        {"prior": np.zeros(3)},
        {"prior": Robot.load("panda")},
        {"speeds": [1.0, -1.0]},
        {"give": -1},
        {"damping": -1.0},
        {"described": np.zeros(3)},
        {"margin": 0.0},
    ],
)
def test_refusals(arguments):
    robot = Robot.load("planar").with_rotors("none")
    given = {"R": np.zeros((3, 26)), "z": np.zeros(3)} | arguments
    with golden_error(IdentificationError):
        consistent(robot, **given)


def test_missing_solver_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    robot = Robot.load("panda")
    with golden_error(IdentificationError):
        consistent(robot, *measured(robot, np.random.default_rng(0), 0.1))
