"""One arm, described by standard DH, modified DH and plain frames: the conversions are done here."""

import numpy as np
from hypothesis import strategies as st

from armdyn import Robot
from arms import assert_same, law, quietly, state


def rot(axis, angle):
    c, s = np.cos(angle), np.sin(angle)
    T = np.eye(4)
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    T[i, i], T[i, j], T[j, i], T[j, j] = c, -s, s, c
    return T


def shift(x, y, z):
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def rpy(R):
    """Fixed-axis angles with R = Rz(yaw) Ry(pitch) Rx(roll)."""
    return [np.arctan2(R[2, 1], R[2, 2]), np.arcsin(-R[2, 0]), np.arctan2(R[1, 0], R[0, 0])]


def body_in(T, body):
    """mass, com, inertia of a body in the frame that sees the body's own at T."""
    R, e = T[:3, :3], body["inertia"]
    I = np.array([[e["xx"], e["xy"], e["xz"]], [e["xy"], e["yy"], e["yz"]], [e["xz"], e["yz"], e["zz"]]])
    I = R @ I @ R.T
    keys = {"xx": (0, 0), "xy": (0, 1), "xz": (0, 2), "yy": (1, 1), "yz": (1, 2), "zz": (2, 2)}
    return {
        "mass": body["mass"],
        "com": list(R @ body["com"] + T[:3, 3]),
        "inertia": {k: I[ij] for k, ij in keys.items()},
    }


def random_body(rng):
    masses, places = rng.uniform(0.2, 1, 6), rng.uniform(-0.3, 0.3, (6, 3))
    com = masses @ places / masses.sum()
    rays = places - com
    I = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, rays, strict=True))
    keys = {"xx": (0, 0), "xy": (0, 1), "xz": (0, 2), "yy": (1, 1), "yz": (1, 2), "zz": (2, 2)}
    return {
        "mass": masses.sum(),
        "com": list(com),
        "inertia": {k: I[ij] for k, ij in keys.items()},
    }


def descriptions(joints, seed):
    """The tables of one random arm in the three conventions, motors on their parents included."""
    rng = np.random.default_rng(seed)
    n = len(joints)
    a, alpha, d, theta = rng.uniform(-1.2, 1.2, (4, n))
    far = [np.eye(4)] + [shift(a[i], 0, 0) @ rot(0, alpha[i]) for i in range(n)]  # Craig's frame -> standard
    joint = [np.eye(4)] + [rot(2, theta[i]) @ shift(0, 0, d[i]) for i in range(n)]
    # frames: turned at will, with their origin anywhere on the joint axis
    own = [np.eye(4)] + [shift(0, 0, z) @ rot(0, x) @ rot(1, y) for x, y, z in rng.uniform(-1.2, 1.2, (n, 3))]
    tool_xyz, tool_rpy = rng.uniform(-0.4, 0.4, 3), rng.uniform(-1.2, 1.2, 3)
    tool = shift(*tool_xyz) @ rot(2, tool_rpy[2]) @ rot(1, tool_rpy[1]) @ rot(0, tool_rpy[0])
    tables = {
        name: {"name": name, "convention": name, "gravity": list(gravity), "link": []}
        for gravity in [rng.uniform(-9, 9, 3)]
        for name in ("dh", "mdh", "frames")
    }
    for i in range(1, n + 1):
        body = random_body(rng)
        place = rng.uniform(-0.3, 0.3, 3)  # of the motor, in the standard frame before
        motor = {
            "gear": float(rng.choice([-1, 1]) * rng.uniform(5, 30)),
            "inertia": {"axial": rng.uniform(0.001, 0.01), "transverse": rng.uniform(0.001, 0.01)},
            "mass": rng.uniform(0.2, 2),
        }
        friction = {"viscous": rng.uniform(0, 1), "coulomb": [rng.uniform(0, 1), -rng.uniform(0, 1)]}
        common = {"name": f"link {i}", "joint": joints[i - 1], "friction": friction}

        def at(T, motor=motor, place=place):
            return motor | {"position": list(T[:3, :3] @ place + T[:3, 3])}

        before = far[i - 1] if i > 1 else np.eye(4)
        tables["dh"]["link"].append(
            common
            | body
            | {"a": a[i - 1], "alpha": alpha[i - 1], "d": d[i - 1], "theta": theta[i - 1]}
            | {"motor": at(np.eye(4))}
        )
        tables["mdh"]["link"].append(
            common
            | body_in(far[i], body)
            | {"a": a[i - 2] if i > 1 else 0, "alpha": alpha[i - 2] if i > 1 else 0}
            | {"d": d[i - 1], "theta": theta[i - 1], "motor": at(before)}
        )
        inverse = np.linalg.inv(own[i])
        origin = np.linalg.inv(own[i - 1]) @ before @ joint[i] @ own[i]
        tables["frames"]["link"].append(
            common
            | body_in(inverse @ far[i], body)
            | {"origin": {"xyz": list(origin[:3, 3]), "rpy": rpy(origin[:3, :3])}}
            | {"axis": list(inverse[:3, 2]), "motor": at(np.linalg.inv(own[i - 1]) @ before)}
        )
    for name, T in (
        ("dh", np.eye(4)),
        ("mdh", far[n]),
        ("frames", np.linalg.inv(own[n]) @ far[n]),
    ):
        placed = T @ tool
        tables[name]["tool"] = {"xyz": list(placed[:3, 3]), "rpy": rpy(placed[:3, :3])}
    return tables


@law(
    st.lists(st.sampled_from(["revolute", "prismatic"]), min_size=1, max_size=5),
    st.integers(0, 2**32 - 1),
    examples=10,
)
def test_standard_dh_and_modified_dh_and_frames(joints, seed):
    tables = descriptions(joints, seed)  # with any angle, be it by chance a quarter turn, which is warned of
    arms = quietly(lambda: {name: Robot.from_dict(table) for name, table in tables.items()})
    rng = np.random.default_rng(seed)
    q, qd, qdd = state(arms["dh"], rng)
    wrench = rng.uniform(-9, 9, 6)
    expected = arms["dh"]
    for name in ("mdh", "frames"):
        robot = arms[name]
        assert_same(robot.pose(q), expected.pose(q), 1e-12)
        assert_same(robot.jacobian(q), expected.jacobian(q), 1e-12)
        assert_same(robot.inertia(q), expected.inertia(q), 1e-11)
        assert_same(robot.coriolis(q, qd), expected.coriolis(q, qd), 1e-11)
        assert_same(robot.gravity(q), expected.gravity(q), 1e-11)
        assert_same(robot.friction(qd), expected.friction(qd), 1e-12)
        assert_same(robot.potential_energy(q), expected.potential_energy(q), 1e-11)
        assert_same(
            robot.inverse_dynamics(q, qd, qdd, wrench), expected.inverse_dynamics(q, qd, qdd, wrench), 1e-11
        )


def points_of_reference(robot, convention, q):
    """The points (n, 3) about which notation.md says moments at joints are taken."""
    names = [link.name for link in robot.model.moving]
    if convention == "dh":
        return np.array([[0.0, 0, 0]] + [robot.pose(q, name)[:3, 3] for name in names[:-1]])
    at_zero = np.where(np.eye(robot.n), 0.0, q)  # of a revolute joint the origin stays where it is
    return np.array([robot.pose(x, name)[:3, 3] for x, name in zip(at_zero, names, strict=True)])


@law(
    st.lists(st.sampled_from(["revolute", "prismatic"]), min_size=1, max_size=5),
    st.integers(0, 2**32 - 1),
    examples=10,
)
def test_joint_wrenches_of_an_arm_at_rest_and_moments_about_their_points(joints, seed):
    """The weights of links and motors beyond a joint and the tip wrench, by their levers."""
    tables = descriptions(joints, seed)
    rng = np.random.default_rng(seed)
    q, h = rng.uniform(-2, 2, len(joints)), rng.uniform(-9, 9, 6)
    for convention, table in tables.items():
        robot = quietly(lambda table=table: Robot.from_dict(table))
        points = points_of_reference(robot, convention, q)
        found = robot.joint_wrenches(q, 0 * q, 0 * q, wrench=h)
        g, tip = np.array(table["gravity"]), robot.pose(q)[:3, 3]
        for i, link in enumerate(table["link"]):
            force, moment = h[:3].copy(), h[3:] + np.cross(tip - points[i], h[:3])
            for k in range(i, robot.n):
                T, body = robot.pose(q, table["link"][k]["name"]), table["link"][k]
                carried = [(x["motor"]["mass"], x["motor"]["position"]) for x in table["link"][k + 1 : k + 2]]
                for mass, place in [(body["mass"], body["com"]), *carried]:
                    force -= mass * g
                    moment -= np.cross(T[:3, :3] @ place + T[:3, 3] - points[i], mass * g)
            R = robot.pose(q, link["name"])[:3, :3]
            assert_same(found[i], np.concatenate([R.T @ force, R.T @ moment]), 1e-10)


def test_standard_dh_pose_and_the_book():
    """A_i = Rz(ϑ) Tz(d) Tx(a) Rx(α), written out."""
    a, alpha, d, theta = 0.3, 0.7, -0.2, 0.4
    link = {"a": a, "alpha": alpha, "d": d, "theta": theta, "joint": "revolute", "mass": 1}
    robot = Robot.from_dict({"name": "one", "convention": "dh", "gravity": [0, 0, 0], "link": [link]})
    expected = rot(2, 0.5 + theta) @ shift(0, 0, d) @ shift(a, 0, 0) @ rot(0, alpha)
    assert_same(robot.pose([0.5]), expected, 1e-15)
    prismatic = Robot.from_dict(
        {"name": "one", "convention": "dh", "gravity": [0, 0, 0], "link": [link | {"joint": "prismatic"}]}
    )
    expected = rot(2, theta) @ shift(0, 0, d + 0.5) @ shift(a, 0, 0) @ rot(0, alpha)
    assert_same(prismatic.pose([0.5]), expected, 1e-15)


def test_modified_dh_pose_and_craig():
    """Rx(α_{i−1}) Tx(a_{i−1}) Rz(ϑ) Tz(d), written out."""
    a, alpha, d, theta = 0.3, 0.7, -0.2, 0.4
    link = {"a": a, "alpha": alpha, "d": d, "theta": theta, "joint": "revolute", "mass": 1}
    table = {"name": "one", "convention": "mdh", "gravity": [0, 0, 0], "link": [link]}
    robot = quietly(lambda: Robot.from_dict(table))  # a point on the axis
    expected = rot(0, alpha) @ shift(a, 0, 0) @ rot(2, 0.5 + theta) @ shift(0, 0, d)
    assert_same(robot.pose([0.5]), expected, 1e-15)
