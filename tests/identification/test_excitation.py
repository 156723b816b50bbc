"""Excitation: limits kept, derivatives right, the same answer from the same seed, and what is refused."""

import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from armdyn import ArmdynError, Excitation, Robot, Trajectory, Workspace, excite, scale_to_limits
from armdyn.identification.excitation import columns
from armdyn.identification.excitation.basis import Fourier, Quintic
from armdyn.identification.excitation.bounds import bounds_for
from armdyn.identification.excitation.columns import columns_for, independent
from armdyn.identification.excitation.excite import random_motion, search_for
from armdyn.identification.excitation.search import Smooth
from arms import in_suites, law, plans, quietly, related, robots, slowly, table_of
from commands import refused, rows, run

BASES = [Fourier(4.0, 4), Quintic(4.0, 5)]
SHORT = {"starts": 2, "iterations": 8}
ALL = {"position": (-1.0, 1.5), "velocity": 2.0, "acceleration": 9.0, "jerk": 90.0}


@pytest.fixture(scope="module")
def manutec():
    return Robot.load("manutec_r3")


@pytest.fixture(scope="module")
def short(manutec):
    return excite(manutec, **SHORT, workers=2)


def used(found, step=1e-3):
    """The largest part of each limit at samples, computed from the motion and the robot alone."""
    robot, limits = found.robot, found.limits
    q, qd, qdd = found(np.append(np.arange(0.0, found.duration, step), found.duration))
    position = np.maximum(q - limits.upper, limits.lower - q).max(0)  # negative inside
    ranges = np.where(np.isinf(position), 1.0, limits.upper - limits.lower)
    return {
        "position": np.where(np.isinf(position), 0.0, 1 + 2 * position / ranges),
        "velocity": (np.abs(qd) / limits.velocity).max(0),
        "acceleration": (np.abs(qdd) / limits.acceleration).max(0),
        "jerk": (np.abs(np.diff(qdd, axis=0)) / step / limits.jerk).max(0),
        "torque": (np.abs(robot.inverse_dynamics(q, qd, qdd)) / limits.torque).max(0),
    }


def stacked(found):
    """The columns of the robot's regressor that the excitation names, all samples one below the other."""
    q, qd, qdd = found.q, found.qd, found.qdd
    names = list(found.robot.parameter_names)
    Y = found.robot.regressor(q, qd, qdd)
    columns = []
    for name in found.parameters:
        joint = int(name[2:]) - 1 if name[:2] in ("Im", "F0") else 0
        if name in names and Y[..., names.index(name)].any():
            columns.append(Y[..., names.index(name)])
        else:
            added = np.zeros(q.shape)
            added[:, joint] = qdd[:, joint] if name.startswith("Im") else 1.0
            columns.append(added)
    return np.stack([x.ravel() for x in columns], axis=1)


# ---- limits ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["fourier", slowly("quintic")])
def test_no_limit_is_exceeded_at_a_kilohertz_and_what_is_said_of_them_is_so(manutec, kind):
    limits = {"acceleration": 20.0, "jerk": 150.0}
    found = excite(manutec, kind=kind, use=1.0, **limits, **SHORT)
    for name, part in used(found).items():
        assert (part <= 1.0).all()
        assert part == pytest.approx(found.usage[name], rel=2e-2, abs=2e-3)
        assert (part <= found.usage[name] + 1e-6).all()
    assert max(part.max() for part in used(found).values()) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panda", "ur10", "puma560", "gen3", "tx40", "lwr4", "planar"])
def test_bundled_robots_keep_their_limits(name):
    found = excite(Robot.load(name), **SHORT)
    for part in used(found).values():
        assert (part <= 0.95 + 1e-9).all()
    assert found.condition < np.exp(min(first for first, _ in found.quality.starts))


@law(robots((1, 3)), st.sampled_from(BASES), st.integers(0, 99), examples=2, thorough=20)
def test_random_arms_keep_limits_of_all_kinds(robot, basis, seed):
    q = np.random.default_rng(seed).uniform(-1, 1.5, (50, robot.n))
    torque = 2 * (np.abs(robot.gravity(q)).max(0) + np.abs(robot.friction(q)).max(0))
    kind = "fourier" if isinstance(basis, Fourier) else "quintic"
    size = {"harmonics": 4} if kind == "fourier" else {"points": 5}
    found = excite(
        robot, kind=kind, duration=4.0, **size, **ALL, torque=torque + 1, starts=1, iterations=4, seed=seed
    )
    for part in used(found).values():
        assert (part <= 0.95 + 1e-9).all()


@pytest.mark.slow
def test_smaller_limits_given_are_kept_and_torque_can_be_the_one_that_binds(manutec):
    q = np.random.default_rng(0).uniform(-2, 2, (200, 3))
    torque = 1.05 * np.abs(manutec.gravity(q)).max(0) + 80
    found = excite(manutec, torque=torque, velocity=[3.0, 3.0, 4.0], **SHORT)
    part = used(found)["torque"]
    assert (part <= 0.95).all()
    assert part.max() > 0.85


def test_the_workspace_is_kept_by_all_points(manutec, short):
    planes, tool = [([1, 1, 0], 1.0)], np.array([0, 0, 0.1])
    fence = Workspace(floor=0.3, upper=[np.inf, 0.9, 2.0], planes=planes, points={None: [tool]})
    found = excite(manutec, workspace=fence, **SHORT)
    worst = []
    for motion in (found, short):
        poses = [manutec.pose(motion.q, link) for link in (None, "arm 3")]
        places = [x[:, :3, 3] for x in poses] + [poses[0][:, :3, 3] + poses[0][:, :3, :3] @ tool]
        x, y, z = np.moveaxis(np.stack(places), -1, 0)
        worst.append(max(excess.max() for excess in (0.3 - z, z - 2.0, y - 0.9, x + y - np.sqrt(2) * 1.0)))
    assert worst[0] <= 0 < worst[1]
    assert "workspace" in found.report()


def test_a_joint_that_cannot_move_stays_and_a_joint_without_a_range_turns():
    robot = Robot.load("planar3")
    position = ([-np.inf, 0.3, -1.0], [np.inf, 0.3, 1.0])
    found = excite(robot, position=position, velocity=2.0, **SHORT)
    assert (found.q[:, 1] == 0.3).all()
    assert not found.qd[:, 1].any()
    assert np.ptp(found.q[:, 0]) > 1.0
    assert np.isfinite(found.condition)
    assert "Izz3" in found.parameters


def test_limits_of_joints_that_follow_others_are_kept():
    dh, body = {"a": 0.4, "alpha": 0, "d": 0}, {"mass": 2, "com": [-0.2, 0.1, 0], "inertia": {"zz": 0.1}}
    links = [{"name": name, "joint": "revolute", **dh, **body} for name in ("upper", "fore", "hand")]
    links[0]["limits"] = {"position": [-2, 2], "velocity": 3}
    links[1]["limits"] = {"position": [-2, 2], "velocity": 3}
    links[2]["limits"] = {"position": [-1, 1], "velocity": 1}
    relation = {"relation": {"hand": 1, "fore": -2}, "offset": 0.1}
    table = {
        "name": "related",
        "convention": "dh",
        "gravity": [0, -9.81, 0],
        "link": links,
        "closure": [relation],
    }
    robot = Robot.from_dict(table)
    assert robot.n == 2
    found = excite(robot, **SHORT)
    every = robot.joint_positions(found.q)
    assert np.abs(every[:, 2]).max() <= 1.0
    assert np.abs(2 * found.qd[:, 1]).max() <= 1.0
    assert np.abs(every[:, 2]).max() > 0.5


@pytest.mark.slow
def test_motors_that_hardly_overcome_their_friction_still_move():
    friction = {"viscous": 0.5, "coulomb": 40.0}
    robot = Robot.from_dict(
        {
            "name": "sticky",
            "convention": "dh",
            "gravity": [0, -9.81, 0],
            "link": [
                {
                    "name": f"link {i}",
                    "joint": "revolute",
                    "a": 0.3,
                    "alpha": 0,
                    "d": 0,
                    "mass": 1,
                    "com": [-0.1, 0.02, 0.01],
                    "inertia": {"zz": 0.1},
                    "friction": friction,
                    "limits": {"position": [-2, 2], "velocity": 3, "torque": 52},
                }
                for i in (1, 2)
            ],
        }
    )
    found = excite(robot, **SHORT)
    assert (used(found)["torque"] <= 0.95).all()
    assert np.ptp(found.q, axis=0).min() > 0.5


# ---- the motion --------------------------------------------------------------------------------------------


def test_it_is_a_trajectory_that_starts_and_ends_at_rest_in_one_posture(short, manutec, tmp_path):
    assert isinstance(short, Trajectory)
    q, qd, qdd = short([0.0, short.duration])
    assert not qd.any()
    assert not qdd.any()
    assert q[0] == pytest.approx(q[1], abs=1e-12)
    twice = short.repeated(2)
    assert twice.duration == 2 * short.duration
    t = np.linspace(0, short.duration, 50)[:-1]
    for a, b in zip(twice(t + short.duration), short(t), strict=True):
        assert a == pytest.approx(b, abs=1e-9)
    assert scale_to_limits(manutec, short, faster=True).factor < 1
    short.save(tmp_path / "x.csv")
    again = Trajectory.from_csv(tmp_path / "x.csv")
    for a, b in zip(again(t + 3e-4), short(t + 3e-4), strict=True):
        assert a == pytest.approx(b, abs=1e-6)
    other = pickle.loads(pickle.dumps(short))
    assert isinstance(other, Excitation)
    assert other == short
    assert other.condition == short.condition


@pytest.mark.parametrize("basis", BASES, ids=lambda basis: type(basis).__name__)
def test_functions_of_time_and_their_derivatives(basis):
    t = np.random.default_rng(1).uniform(0.01, basis.duration - 0.01, 200)
    h = 1e-5
    before, after, at = (basis.rows(x) for x in (t - h, t + h, t))
    for k in range(3):
        slope = (after[k] - before[k]) / (2 * h)
        scale = np.abs(at[k + 1]).max()
        near = np.ones(len(t), bool)
        if k == 2 and isinstance(basis, Quintic):  # the fourth derivative jumps at via points
            near = np.abs(t[:, None] - basis.times()).min(1) > h
        assert slope[near] == pytest.approx(at[k + 1][near], abs=1e-6 * max(scale, 1))
    x = np.random.default_rng(2).normal(size=(basis.size, 2))
    motion = Trajectory(basis.motion(x))
    for state, rows_ in zip(motion(t), at, strict=False):
        assert state == pytest.approx(rows_ @ x, abs=1e-11)
    ends = basis.rows(np.array([0.0, basis.duration]))
    assert ends[1] == pytest.approx(0, abs=1e-12)
    assert ends[2] == pytest.approx(0, abs=1e-10)
    assert np.diff(ends[0], axis=0) == pytest.approx(0, abs=1e-12)
    repeated = Trajectory(basis.motion(x, 3))
    for a, b in zip(repeated(t + 2 * basis.duration), motion(t), strict=True):
        assert a == pytest.approx(b, abs=1e-8)


# ---- the search --------------------------------------------------------------------------------------------


@law(
    plans((1, 3), tree=False),
    st.sampled_from(columns.CRITERIA),
    st.sampled_from(BASES),
    st.booleans(),
    st.integers(0, 999),
    examples=3,
    thorough=60,
)
def test_derivatives_of_criterion_and_limits(plan, wanted, basis, follow, seed):
    """Against differences, on arms with full inertias, friction, coupled motors, relations."""
    robot = Robot.from_dict(table_of(plan))
    if follow:
        robot = quietly(lambda: Robot(related(robot.model, seed)))
    rng = np.random.default_rng(seed)
    bounds = bounds_for(robot, 0.9, ALL["position"], velocity=2.0, acceleration=9.0, jerk=90.0, torque=1e4)
    fence = Workspace(floor=-30.0, planes=[([1, 2, 3], 90.0)], points={None: [0.1, 0.2, 0.3]})
    search = search_for(robot, basis, bounds, criterion=wanted, workspace=fence, rng=rng)
    smooth = Smooth(search, 3.0, 20.0)
    x, first = random_motion(search, rng)
    assume(wanted == "determinant" or first < np.log(1e5))  # differences would be rounding errors
    z = smooth.variables(x)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "MATTERS", 0.0)
        _, slope = smooth.objective(z)
        way = rng.normal(size=z.shape) / np.sqrt(z.size)
        h = 1e-5
        ahead, behind = smooth.objective(z + h * way)[0], smooth.objective(z - h * way)[0]
    assert slope @ way == pytest.approx((ahead - behind) / (2 * h), abs=1e-4 * np.linalg.norm(slope) + 1e-6)
    room = (smooth.room(z + h * way) - smooth.room(z - h * way)) / (2 * h)
    changes = smooth.room_changes(z)
    assert changes @ way == pytest.approx(room, abs=1e-5 * max(1.0, np.abs(changes).max()))


@pytest.mark.parametrize("wanted", in_suites(columns.CRITERIA, columns.CRITERIA[:1]))
def test_the_search_improves_what_it_seeks_and_says_what_it_is(manutec, wanted):
    found = excite(manutec, criterion=wanted, starts=2, iterations=20)
    first, last = np.array(found.quality.starts).T
    assert (last < first - 0.2).all()
    W = stacked(found)
    assert found.condition == pytest.approx(np.linalg.cond(W), rel=1e-6)
    assert found.scaled_condition == pytest.approx(np.linalg.cond(W / np.linalg.norm(W, axis=0)), rel=1e-6)
    best = {
        "condition": np.log(found.condition),
        "scaled": np.log(found.scaled_condition),
        "determinant": -np.log(found.quality.singular_values).mean(),
    }
    assert best[wanted] == pytest.approx(last.min(), abs=0.02)
    least = np.linalg.norm(W @ found.quality.weakest) / np.sqrt(len(found.q))
    assert least == pytest.approx(found.quality.singular_values[-1], rel=1e-6)


def test_the_same_seed_gives_the_same_motion_on_any_number_of_workers(manutec, short):
    assert np.array_equal(excite(manutec, **SHORT, workers=1).coefficients, short.coefficients)
    assert not np.array_equal(excite(manutec, **SHORT, seed=1).coefficients, short.coefficients)


@pytest.mark.slow
def test_processes_give_the_same_motion_as_threads(manutec, short):
    with ProcessPoolExecutor(2) as pool:
        other = excite(manutec, **SHORT, executor=pool)
    assert other.coefficients == pytest.approx(short.coefficients, rel=1e-9)


def test_no_iterations_are_a_random_search_and_every_motion_of_it_keeps_the_limits(manutec):
    found = excite(manutec, starts=1, iterations=0)
    assert all((part <= 0.95).all() for part in used(found).values())


# ---- parameters --------------------------------------------------------------------------------------------


def test_columns_without_drives_are_a_base_of_the_bodies(manutec):
    others = ("Im", "Fv", "Fs", "F0", "Fa")
    found = excite(manutec, drives=False, starts=1, iterations=0)
    q, qd, qdd = np.random.default_rng(0).uniform(-2, 2, (3, 300, 3))
    Y = manutec.regressor(q, qd, qdd).reshape(-1, len(manutec.parameters))
    bodies = [k for k, x in enumerate(manutec.parameter_names) if x[:2] not in others]
    assert len(found.parameters) == np.linalg.matrix_rank(Y[:, bodies])
    assert not any(x[:2] in others for x in found.parameters)


@law(robots((1, 4)), st.integers(0, 999), examples=6)
def test_as_many_columns_as_the_rank_of_the_regressor(robot, seed):
    states = tuple(np.random.default_rng(seed).uniform(-2, 2, (3, 300, robot.n)))
    W = robot.regressor(*states).reshape(-1, len(robot.parameters))
    scale = np.linalg.norm(W, axis=0)
    W = W[:, scale > 0] / scale[scale > 0]
    found = independent(W)
    assert len(found) == np.linalg.matrix_rank(W, tol=1e-8 * np.sqrt(len(W)))
    every = columns_for(robot, None, True, states)
    assert np.linalg.matrix_rank(every.matrix(*states).reshape(-1, len(every))) == len(every)
    assert len(set(every.names)) == len(every.names)


@pytest.mark.slow
def test_a_payload_is_shown_better_by_a_motion_for_it(manutec, short):
    last = manutec.model.moving[-1].name
    found = excite(manutec, parameters=last, starts=1, iterations=20)
    assert set(found.parameters) <= {x for x in manutec.parameter_names if x.endswith("3")}
    few = ["m3", "mx3", "my3"]
    assert set(excite(manutec, parameters=few, starts=1, iterations=0).parameters) <= set(few)
    Y = manutec.regressor(short.q, short.qd, short.qdd)
    kept = [manutec.parameter_names.index(x) for x in found.parameters]
    assert found.condition < np.linalg.cond(Y[..., kept].reshape(-1, len(kept)))


def test_weights_multiply_the_rows_of_joints(manutec):
    weights = np.array([1.0, 5.0, 0.2])
    found = excite(manutec, weights=weights, starts=1, iterations=0)
    W = stacked(found).reshape(len(found.q), 3, -1) * weights[:, None]
    assert found.condition == pytest.approx(np.linalg.cond(W.reshape(-1, W.shape[-1])), rel=1e-6)


# ---- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (
            "pendulum",
            {},
            "pendulum: limits are missing: joint 1 ('rod'): no limit of velocity, acceleration or torque",
        ),
        ("pr", {"velocity": 1.0}, "joint 1 ('slider'): no range of positions; give position=(lower, upper)"),
        ("manutec_r3", {"kind": "spline"}, "kind: found 'spline'; allowed: 'fourier', 'quintic'"),
        ("manutec_r3", {"criterion": "best"}, "criterion: found 'best'; allowed: 'condition', 'scaled'"),
        ("manutec_r3", {"harmonics": 1}, "harmonics: found 1; a whole number, 2 or more"),
        ("manutec_r3", {"duration": 0}, "duration: found 0 s; a positive time is expected"),
        ("manutec_r3", {"use": 1.5}, "use: found 1.5; the part of the limits to use is at most 1"),
        ("manutec_r3", {"seed": -1}, "seed: found -1; a whole number"),
        ("manutec_r3", {"velocity": [1, 2]}, "velocity: expected one number or (3,)"),
        (
            "manutec_r3",
            {"velocity": 0},
            "velocity: the limit of joint 1 ('arm 1') is 0; positive is expected",
        ),
        ("manutec_r3", {"position": 1}, "position: found 1; two are expected, (lower, upper)"),
        ("manutec_r3", {"position": (1, -1)}, "position: the range of joint 1"),
        ("manutec_r3", {"weights": [1, 0, 1]}, "weights: found [1.0, 0.0, 1.0]; positive numbers"),
        ("manutec_r3", {"parameters": ["m9"]}, "parameters: found 'm9'; allowed are names such as 'm1'"),
        ("manutec_r3", {"parameters": []}, "parameters: found []; names of parameters or links are expected"),
        ("manutec_r3", {"parameters": ["m1"]}, "parameters: within the limits none of them has an effect"),
        ("manutec_r3", {"workspace": 3}, "workspace: expected a Workspace, found int"),
        ("manutec_r3", {"workspace": Workspace()}, "workspace: it has no limit; give lower, upper, floor"),
        (
            "manutec_r3",
            {"workspace": Workspace(lower=[0, 0])},
            "workspace lower: found [0, 0]; three coordinates",
        ),
        ("manutec_r3", {"workspace": Workspace(floor=1, links=["hand"])}, "workspace links: found 'hand'"),
        ("manutec_r3", {"workspace": Workspace(floor=9.0)}, "is outside by"),
        ("manutec_r3", {"workspace": Workspace(planes=[([0, 0, 0], 1)])}, "a normal of zero length"),
    ],
)
def test_what_cannot_be_done_is_refused(name, arguments, message):
    with pytest.raises(ArmdynError) as error:
        excite(Robot.load(name), **arguments)
    assert message in str(error.value)


def test_an_arm_that_its_motors_cannot_hold_is_refused_with_the_joint(manutec):
    sliding = Robot.load("cartesian")
    limits = {"position": (-1, 1), "velocity": 1.0}
    lifts = int(np.abs(sliding.gravity(np.zeros(2))).argmax())
    weight = np.abs(sliding.gravity(np.zeros(2))).max()
    torque = np.full(2, 10 * weight)
    torque[lifts] = weight / 2
    with pytest.raises(
        ArmdynError, match=rf"torque: gravity and dry friction at joint {lifts + 1} .* need at least"
    ):
        excite(sliding, torque=torque, **limits)
    with pytest.raises(ArmdynError, match="cannot hold any of 2048 random postures"):
        excite(manutec, torque=[945, 5, 5])


# ---- the command line --------------------------------------------------------------------------------------


def test_the_verb_writes_what_the_function_finds(tmp_path, manutec):
    path = tmp_path / "x.csv"
    printed = run(
        *(
            "excite",
            "manutec_r3",
            "-o",
            path,
            "--starts",
            1,
            "--iterations",
            4,
            "--acceleration",
            "20, 30, 40",
        ),
        *("--floor", 0.1, "--upper", 2, "--lower", -2, "--duration", 5, "--seed", 3),
    )
    expected = excite(
        manutec,
        starts=1,
        iterations=4,
        acceleration=[20, 30, 40],
        workspace=Workspace(floor=0.1),
        position=(-2, 2),
        duration=5,
        seed=3,
    )
    assert f"condition number of the regressor {expected.condition:.4g}" in printed
    assert [row[0] for row in rows(printed)] == [link.name for link in manutec.model.moving]
    found = Trajectory.from_csv(path)
    assert found.q == pytest.approx(expected.q, abs=1e-9)


def test_the_verb_names_its_options(monkeypatch, capsys, tmp_path):
    found = refused(monkeypatch, capsys, "excite", "pr", "-o", tmp_path / "x.csv")
    assert "no limit of velocity, acceleration or torque; give --velocity or --torque" in found
    assert "joint 1 ('slider'): no range of positions; give --lower and --upper" in found
    found = refused(monkeypatch, capsys, "excite", "manutec_r3", "--box", "1, 2", "-o", tmp_path / "x.csv")
    assert "--box: expected 6 numbers" in found
