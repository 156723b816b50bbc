"""Mechanisms with loops against solutions by hand that share nothing with them.

Four-bar: circles that meet, Newton and Euler for three bars. Delta: spheres that meet, virtual work, slender
rods by what their two ends do. Parallelogram: the same arm with relations between its joints in the place of
the loop.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from armdyn import Robot
from armdyn.dynamics.closures import Following
from arms import assert_same


def numbers(robot, entries):
    return np.array([robot.model.number(x) for x in entries])


def rotor_inertia(robot):
    """Of rotors whose carriers stand still."""
    motors = [link.motor for link in robot.model.coordinates]
    return np.array([robot.model.number(m.axial) * robot.model.number(m.gear) ** 2 for m in motors])


def motor_torque(robot, q, qd, qdd):
    return rotor_inertia(robot) * qdd + robot.friction(qd, q=q)


# ---- the four-bar ------------------------------------------------------------------------------------------


def cross(a, b):
    return a[0] * b[1] - a[1] * b[0]


def turned(angle):
    return np.array([np.cos(angle), np.sin(angle)])


def left_of(v):
    return np.array([-v[1], v[0]])


@dataclass
class FourBar:
    """Angles against the ground, their rates, and the forces in the joints; everything in the plane."""

    robot: Robot

    def __post_init__(self):
        values = {name: float(value) for name, value in self.robot.model.symbols}
        self.lengths = [values[name] for name in ("a1", "a2", "a3")]
        self.ground = np.array([values["a4"], 0.0])
        self.bodies = []
        for link in self.robot.model.links:
            com, tensor = (
                numbers(self.robot, link.inertia.com),
                numbers(self.robot, link.inertia.tensor_at_com),
            )
            rubs = self.robot.model.number(link.friction["viscous"])
            self.bodies.append((self.robot.model.number(link.inertia.mass), com[:2], tensor[5], rubs))

    def angles(self, crank):
        """Where circles about the crank's end and the rocker's joint meet, above the ground."""
        a, b, c = self.lengths
        B = a * turned(crank)
        d = self.ground - B
        far = np.linalg.norm(d)
        along = (b * b - c * c + far * far) / (2 * far)
        C = B + along * d / far + np.sqrt(b * b - along * along) * left_of(d) / far
        return np.array([crank, np.arctan2(*(C - B)[::-1]), np.arctan2(*(C - self.ground)[::-1])])

    def rates(self, angles, w, dw):
        """ω and ω̇ of the three bars: B + b u(φ) = D + c u(ψ), once and twice differentiated."""
        r = [length * turned(angle) for length, angle in zip(self.lengths, angles, strict=True)]
        A = np.array([left_of(r[1]), -left_of(r[2])]).T
        speeds = np.array([w, *np.linalg.solve(A, -w * left_of(r[0]))])
        bent = -(speeds[0] ** 2) * r[0] - speeds[1] ** 2 * r[1] + speeds[2] ** 2 * r[2]
        return speeds, np.array([dw, *np.linalg.solve(A, -dw * left_of(r[0]) - bent)])

    def solve(self, crank, w, dw):
        """The crank's torque, and forces: on the crank at A and coupler at B, on the rocker at C and D."""
        angles = self.angles(crank)
        speeds, accelerations = self.rates(angles, w, dw)
        r = [length * turned(angle) for length, angle in zip(self.lengths, angles, strict=True)]
        g = np.array([0, -9.81])
        A, b = np.zeros((9, 9)), np.zeros(9)
        # at its joint, at its end: where forces act on each bar, with sign and index of the force
        acting = [((0, 1), (1, -1)), ((1, 1), (2, -1)), ((3, 1), (2, 1))]
        first = -(speeds[0] ** 2) * r[0] + dw * left_of(r[0])
        starts = [np.zeros(2), first, np.zeros(2)]
        for k, (m, com, zz, rubs) in enumerate(self.bodies):
            R = np.array([turned(angles[k]), left_of(turned(angles[k]))]).T
            to_com = R @ com
            a = starts[k] - speeds[k] ** 2 * to_com + accelerations[k] * left_of(to_com)
            b[3 * k : 3 * k + 2] = m * (a - g)
            b[3 * k + 2] = zz * accelerations[k] + rubs * speeds[k]  # of crank and rocker, on the ground
            for (force, sign), arm in zip(acting[k], (-to_com, r[k] - to_com), strict=True):
                A[3 * k : 3 * k + 2, 2 * force : 2 * force + 2] += sign * np.eye(2)
                A[3 * k + 2, 2 * force : 2 * force + 2] += sign * np.array([-arm[1], arm[0]])
        A[2, 8] = 1
        x = np.linalg.solve(A, b)
        return x[8], x[:8].reshape(4, 2)


CRANK = np.linspace(-3, 3, 13)


def crank_states():
    rng = np.random.default_rng(4)
    return np.stack([CRANK, rng.uniform(-6, 6, 13), rng.uniform(-20, 20, 13)], 1)[:, :, None]


def test_four_bar_moves_as_circles_say():
    robot = Robot.load("four_bar")
    by_hand = FourBar(robot)
    for q, qd, qdd in crank_states():
        angles = by_hand.angles(q[0])
        relative = angles - [0, angles[0], 0]
        assert_same(np.sin(robot.joint_positions(q) - relative), np.zeros(3), 1e-10)
        speeds, accelerations = by_hand.rates(angles, qd[0], qdd[0])
        assert_same(robot.joint_velocities(qd, q=q), speeds - [0, speeds[0], 0], 1e-10)
        y = [float(x) for x in robot.joint_positions(q)]
        found = Following(robot.mechanism, y).moved([y, list(qd), list(qdd)])[-1]
        assert_same(found, accelerations - [0, accelerations[0], 0], 1e-10)


def test_four_bar_torque_is_that_of_newton_and_euler():
    robot = Robot.load("four_bar")
    by_hand = FourBar(robot)
    for q, qd, qdd in crank_states():
        torque, forces = by_hand.solve(q[0], qd[0], qdd[0])
        expected = torque + rotor_inertia(robot) * qdd
        assert_same(robot.inverse_dynamics(q, qd, qdd), expected, 1e-10)
        assert_same(robot.forward_dynamics(q, qd, expected), qdd, 1e-10)
        coupler = robot.pose(q, "coupler")[:2, :2]
        assert_same(coupler @ robot.loop_wrenches(q, qd, qdd)[0, :2], forces[2], 1e-10)
        wrenches = robot.joint_wrenches(q, qd, qdd)
        for link, force in (("crank", 0), ("coupler", 1), ("rocker", 3)):
            R = robot.pose(q, link)[:2, :2]
            assert_same(R @ wrenches[robot.joints.index(link), :2], forces[force], 1e-9)


# ---- the delta ---------------------------------------------------------------------------------------------

AZIMUTHS = 2 * np.pi / 3 * np.array([0, 1, -1])


@dataclass
class Delta:
    """Arms, slender rods and a platform that never turns; virtual work on the arms' joints."""

    robot: Robot

    def __post_init__(self):
        model = self.robot.model
        self.values = {name: float(value) for name, value in model.symbols}
        by_name = {link.name: link.inertia for link in model.links}
        arm, platform = by_name["arm 1"], by_name["platform"]
        self.arm_mass, self.platform_mass = model.number(arm.mass), model.number(platform.mass)
        self.arm_com = numbers(self.robot, arm.com)
        self.arm_yy = numbers(self.robot, arm.tensor_at_com)[3]
        c, s = np.cos(AZIMUTHS), np.sin(AZIMUTHS)
        zero = 0 * c
        self.out, self.sideways = np.stack([c, s, zero], 1), np.stack([-s, c, zero], 1)

    def elbows(self, theta):
        """Where arms end, less where forearms end on the platform; and by θ once and twice."""
        R, a, r = (self.values[name] for name in ("r0", "a1", "r"))
        c, s, up = np.cos(theta)[:, None], np.sin(theta)[:, None], np.array([0, 0, 1])
        e = (R - r) * self.out + a * (c * self.out - s * up)
        return e, a * (-s * self.out - c * up), a * (-c * self.out + s * up)

    def platform(self, theta):
        """The middle of the platform: three spheres about the elbows, the lower of two points."""
        e = self.elbows(theta)[0]
        radius = self.values["a2"]
        x = e[1] - e[0]
        ex = x / np.linalg.norm(x)
        i = ex @ (e[2] - e[0])
        y = e[2] - e[0] - i * ex
        ey, j = y / np.linalg.norm(y), np.linalg.norm(y)
        u = np.linalg.norm(x) / 2
        v = (i * i + j * j - 2 * i * u) / (2 * j)
        w = np.sqrt(radius**2 - u * u - v * v)
        ez = np.cross(ex, ey)
        return e[0] + u * ex + v * ey - abs(w) * ez * np.sign(ez[2])

    def torques(self, theta, rate, second):
        e, e_t, e_tt = self.elbows(theta)
        p = self.platform(theta)
        n = p - e  # along the rods
        de = e_t * rate[:, None]
        J = np.linalg.solve(n, np.diag((n * e_t).sum(1)))  # n·(ṗ − ė) = 0
        dp = J @ rate
        dde = e_t * second[:, None] + e_tt * rate[:, None] ** 2
        ddp = np.linalg.solve(n, (n * dde).sum(1) - ((dp - de) ** 2).sum(1))
        g, m = np.array([0, 0, -9.81]), self.values["m"]
        at_elbow = m / 3 * dde + m / 6 * ddp - m / 2 * g
        at_platform = (m / 6 * dde + m / 3 * ddp - m / 2 * g).sum(0) + self.platform_mass * (ddp - g)
        x, _, z = self.arm_com
        c, s = np.cos(theta), np.sin(theta)
        com_rate = (-x * s + z * c)[:, None] * self.out + (-x * c - z * s)[:, None] * np.array([0, 0, 1])
        arms = (self.arm_yy + self.arm_mass * (x * x + z * z)) * second - self.arm_mass * com_rate @ g
        return arms + (e_t * at_elbow).sum(1) + J.T @ at_platform


def delta_states(count):
    rng = np.random.default_rng(5)
    shape = (count, 3)
    return zip(
        rng.uniform(-0.5, 1.1, shape), rng.uniform(-5, 5, shape), rng.uniform(-60, 60, shape), strict=True
    )


def test_delta_and_spheres_that_meet():
    robot = Robot.load("delta")
    by_hand = Delta(robot)
    for q, _, _ in delta_states(20):
        T = np.eye(4)
        T[:3, 3] = by_hand.platform(q)
        assert_same(robot.pose(q), T, 1e-10)


def test_delta_and_virtual_work_by_hand():
    robot = Robot.load("delta")
    by_hand = Delta(robot)
    for q, qd, qdd in delta_states(20):
        expected = by_hand.torques(q, qd, qdd) + motor_torque(robot, q, qd, qdd)
        assert_same(robot.inverse_dynamics(q, qd, qdd), expected, 1e-10)
        assert_same(robot.forward_dynamics(q, qd, expected), qdd, 1e-9)


# ---- the parallelogram -------------------------------------------------------------------------------------


def bar(name, parent, at, length, seed, **more):
    """A bar with a tensor that a body can have and nothing in it zero."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-0.1, 0.1, (5, 3)) + [[length * k / 4, 0, 0] for k in range(5)]
    mass, com = rng.uniform(1, 3), points.mean(axis=0)
    x = points - com
    I = mass / 5 * (np.sum(x**2) * np.eye(3) - x.T @ x)
    entries = {"xx": (0, 0), "xy": (0, 1), "xz": (0, 2), "yy": (1, 1), "yz": (1, 2), "zz": (2, 2)}
    return {
        "name": name,
        "parent": parent,
        "joint": "revolute",
        "origin": {"xyz": [at, 0, 0]},
        "axis": [0, 0, 1],
        "mass": mass,
        "com": com.tolist(),
        "inertia": {key: float(I[place]) for key, place in entries.items()},
        **more,
    }


def parallelogram(closures, passive):
    """Links 1', 2', 3' and 1'' of section 7.3.3, 3' as long as 1' and 2' as 1''; 2' carries the load."""
    a, b = 0.5, 0.2
    motor = {"gear": 40, "inertia": 3e-4, "mass": 1.5, "carrier": "base", "axis": [0, 0, 1]}
    rubs = {"friction": {"viscous": 0.3, "coulomb": 0.4}}
    links = [
        bar("upper arm", "base", 0, a, 1, motor=motor, guess=1.0, **rubs),
        bar("forearm", "upper arm", a, 0.7, 2, guess=0.9, **passive, friction={"viscous": 0.2}),
        bar("rod", "forearm", b, a, 3, guess=np.pi - 0.9, **passive),
        bar("lever", "base", 0, b, 4, motor={**motor, "gear": -30}, guess=1.9, **rubs),
    ]
    return Robot.from_dict(
        {
            "name": "parallelogram",
            "convention": "frames",
            "gravity": [0.3, -9.81, 0.1],
            "tip": "forearm",
            "tool": {"xyz": [-0.6, 0, 0], "rpy": [0.1, 0.2, 0.3]},
            "link": links,
            "closure": closures,
        }
    )


@cache
def with_relations():
    return parallelogram(
        [
            {"relation": {"rod": 1, "forearm": 1}, "offset": "pi"},
            {"relation": {"forearm": 1, "lever": -1, "upper arm": 1}},
        ],
        {},
    )


@cache
def with_a_loop():
    at = [{"xyz": [0.5, 0, 0]}, {"xyz": [0.2, 0, 0]}]
    return parallelogram([{"between": ["rod", "lever"], "at": at, "joint": "revolute"}], {"actuated": False})


def parallelogram_states():
    rng = np.random.default_rng(6)
    first = rng.uniform(0.2, 1.6, 40)
    q = np.stack([first, first + rng.uniform(0.4, 2.6, 40)], 1)
    qd, qdd, further = (rng.uniform(-3, 3, (40, 2)) for _ in range(3))
    return q, qd + np.sign(qd) * 0.1, qdd, further


@pytest.mark.parametrize(
    "function",
    ["inertia", "gravity", "springs", "potential_energy", "pose", "jacobian", "joint_positions"],
)
def test_parallelogram_with_a_loop_and_with_relations_at_a_posture(function):
    q = parallelogram_states()[0]
    loop, relations = with_a_loop(), with_relations()
    assert_same(getattr(loop, function)(q), getattr(relations, function)(q), 1e-10)


@pytest.mark.parametrize("function", ["coriolis", "kinetic_energy", "jacobian_dot"])
def test_parallelogram_with_a_loop_and_with_relations_moving(function):
    q, qd, _, _ = parallelogram_states()
    loop, relations = with_a_loop(), with_relations()
    assert_same(getattr(loop, function)(q, qd), getattr(relations, function)(q, qd), 1e-9)


@pytest.mark.parametrize(
    "function",
    [
        "inverse_dynamics",
        "forward_dynamics",
        "regressor",
        "inverse_dynamics_derivatives",
        "forward_dynamics_derivatives",
    ],
)
def test_parallelogram_with_a_loop_and_with_relations_driven(function):
    q, qd, qdd, _ = parallelogram_states()
    loop, relations = with_a_loop(), with_relations()
    ours, expected = getattr(loop, function)(q, qd, qdd), getattr(relations, function)(q, qd, qdd)
    for a, b in zip(ours, expected, strict=True):
        assert_same(a, b, 1e-9)


def test_parallelogram_with_a_loop_and_with_relations_in_all_else():
    q, qd, qdd, further = parallelogram_states()
    loop, relations = with_a_loop(), with_relations()
    assert loop.parameter_names == relations.parameter_names
    assert_same(loop.friction(qd, q=q), relations.friction(qd), 1e-9)
    wrench = np.array([3.0, -2, 1, 0.5, 0.7, -0.2])
    assert_same(
        loop.inverse_dynamics(q, qd, qdd, wrench), relations.inverse_dynamics(q, qd, qdd, wrench), 1e-9
    )
    ours, expected = (r.adaptive_regressor(q, qd, further, qdd) for r in (loop, relations))
    assert_same(ours, expected, 1e-9)


# ---- the five-bar: the mode is kept ------------------------------------------------------------------------


def test_five_bar_stays_in_its_mode_near_singular_postures():
    """The forearms' angle keeps its sign all over the workspace: only at single points is it zero."""
    robot = Robot.load("five_bar")
    start = np.array([2.2, 0.94])
    q = start + np.random.default_rng(7).uniform(-1.2, 1.2, (2048, 2))
    y = robot.joint_positions(q)
    between = np.sin(y[:, 2] + y[:, 3] - y[:, 0] - y[:, 1])
    assert (between > 0).all()
