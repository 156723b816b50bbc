"""Links and rotors apart, or as augmented links: 000, (7.32) and (7.52)–(7.73); 002, (5)–(14) and (23)–(29).

One arm has it all: a rotor off the axis of its link, tilted, with mass, axial and transverse inertia.
"""

from fractions import Fraction

import pytest

from armdyn import Robot
from armdyn.dynamics.kinematics import joint_frames, velocities
from armdyn.model.inertia import tensor_matrix
from armdyn.model.vector import add, apply, cross, dot, multiply, scale, transpose
from textbook_arm import Arm

TENSOR = ("xx", "xy", "xz", "yy", "yz", "zz")
HALF = Fraction(1, 2)


def link(i, alpha, motor):
    return {
        "name": f"link {i}",
        "joint": "revolute",
        "a": f"a{i}",
        "alpha": alpha,
        "d": 0,
        "mass": f"ml{i}",
        "com": [f"x{i}", f"y{i}", f"z{i}"],
        "inertia": {key: f"J{key}{i}" for key in TENSOR},
        "motor": motor,
    }


@pytest.fixture(scope="module")
def arm():
    tilted = {
        "gear": "kr2",
        "inertia": {"axial": "Im", "transverse": "It"},
        "mass": "mm",
        "position": ["px", "py", "pz"],
        "axis": [3, 0, 4],
    }
    names = [f"{name}{i}" for i in (1, 2) for name in ("a", "ml", "x", "y", "z", *(f"J{k}" for k in TENSOR))]
    names += ["g", "kr1", "kr2", "Im1", "Im", "It", "mm", "px", "py", "pz"]
    table = {
        "name": "arm with a tilted rotor",
        "convention": "dh",
        "gravity": [0, 0, "-g"],
        "symbols": dict.fromkeys(names, "free"),
        "link": [link(1, "pi/2", {"gear": "kr1", "inertia": "Im1"}), link(2, 0, tilted)],
    }
    return Arm(Robot.from_dict(table))


def rotor_tensor(arm):
    """Tensor of rotor 2 in the axes of its carrier: It 1 + (Im − It) z zᵀ with z = (3, 0, 4)/5."""
    texts = ("It + (Im - It)*9/25", 0, "(Im - It)*12/25", "It", 0, "It + (Im - It)*16/25")
    return tensor_matrix(tuple(arm.read(text) for text in texts))


def kinetic_energy(arm, mass, v, tensor, w):
    """½ m vᵀv + ½ ωᵀ I ω, tensor about the centre of mass."""
    return (mass * dot(v, v) + dot(w, apply(tensor, w))) * HALF


def motions(arm):
    """ω_i and ṗ_i of the links, in link axes."""
    return velocities(arm.mechanism, joint_frames(arm.mechanism, arm.q), arm.qd)


def link_energy(arm, i):
    """T_l of (5)."""
    w, v = (x[i] for x in motions(arm))
    com = tuple(arm.read(f"{axis}{i + 1}") for axis in "xyz")
    tensor = tensor_matrix(tuple(arm.read(f"J{key}{i + 1}") for key in TENSOR))
    return kinetic_energy(arm, arm.read(f"ml{i + 1}"), add(v, cross(w, com)), tensor, w)


def rotor_energy(arm):
    """T_m of (9) for rotor 2 on link 1, with ω_m = ω_1 + kr2 q̇_2 z_m (2)."""
    w, v = (x[0] for x in motions(arm))
    position = tuple(arm.read(p) for p in ("px", "py", "pz"))
    axis = tuple(arm.read(x) for x in ("3/5", 0, "4/5"))
    w_m = add(w, scale(arm.read("kr2*qd2"), axis))
    return kinetic_energy(arm, arm.read("mm"), add(v, cross(w, position)), rotor_tensor(arm), w_m)


def augmented_energy(arm):
    """(25) with its factor ½: the contributions of augmented link 1, moments and tensor about frame 1."""
    w, v = (x[0] for x in motions(arm))
    inertia = arm.mechanism.bodies[0].inertia
    z_w = dot(tuple(arm.read(x) for x in ("3/5", 0, "4/5")), w)
    motionless_rotor = (inertia.mass * dot(v, v) + dot(w, apply(inertia.matrix, w))) * HALF
    motionless_rotor = motionless_rotor + dot(v, cross(w, inertia.moment))
    return motionless_rotor + arm.read("kr2**2*qd2**2*Im/2") + arm.read("kr2*qd2*Im") * z_w


def test_energy_of_the_augmented_link_is_that_of_link_and_rotor(arm):
    """(23), (25): T_1 = T_l1 + T_m2."""
    assert augmented_energy(arm) == link_energy(arm, 0) + rotor_energy(arm)


def test_kinetic_energy_is_the_sum_over_links_and_rotors(arm):
    """(13), (7.4): rotor 1 on the base only spins, ½ kr1² Im1 q̇_1²."""
    parts = link_energy(arm, 0) + link_energy(arm, 1) + rotor_energy(arm) + arm.read("kr1**2*Im1*qd1**2/2")
    assert arm.element(arm.eq.kinetic_energy) == parts


def test_potential_energy_is_the_sum_over_links_and_rotors(arm):
    """(15), (24)."""
    heights = [arm.point(i, tuple(arm.robot.model.moving[i].inertia.com))[2] for i in range(2)]
    rotor = arm.point(0, arm.robot.model.moving[1].motor.position)[2]
    parts = [arm.read(f"g*{m}") * z for m, z in zip(("ml1", "ml2", "mm"), (*heights, rotor), strict=True)]
    assert arm.element(arm.eq.potential_energy) == sum(parts, arm.ring.zero)


def weighted(J, weight, K):
    """Jᵀ W K of matrices given as rows."""
    return [[dot(a, apply(weight, b)) for b in zip(*K, strict=True)] for a in zip(*J, strict=True)]


def test_inertia_matrix_is_the_sum_over_jacobians_of_links_and_rotors(arm):
    """(14), (7.32): Σ m_l J_PᵀJ_P + J_Oᵀ R I Rᵀ J_O + m_m J_PᵀJ_P + J_Oᵀ R I_m Rᵀ J_O."""
    total = [[arm.ring.zero] * 2 for _ in range(2)]
    for (J_P, J_O), mass, tensor in bodies(arm):
        parts = weighted(J_P, scaled_identity(mass), J_P), weighted(J_O, tensor, J_O)
        total = [[total[i][j] + sum(part[i][j] for part in parts) for j in range(2)] for i in range(2)]
    assert arm.minus(arm.eq.B, total) == [[0, 0], [0, 0]]


def scaled_identity(m):
    return ((m, 0, 0), (0, m, 0), (0, 0, m))


def bodies(arm):
    """(J_P, J_O), mass and tensor in base axes of the two links and the two rotors."""
    for i in range(2):
        R = arm.frames[i].R
        own = tensor_matrix(tuple(arm.read(f"J{key}{i + 1}") for key in TENSOR))
        turned = multiply(multiply(R, own), transpose(R))
        yield arm.link_jacobians(i), arm.read(f"ml{i + 1}"), turned
    yield arm.rotor_jacobians(0), 0, scaled_identity(arm.read("Im1"))
    R = arm.frames[0].R
    yield arm.rotor_jacobians(1), arm.read("mm"), multiply(multiply(R, rotor_tensor(arm)), transpose(R))


def test_lagrange_newton_euler_and_linear_form_agree_for_the_tilted_rotor(arm):
    """(19), (32), (39), with the transverse inertia and the offset that 002's example has not."""
    assert len(arm.eq.prove().statements) >= 4


def test_diagonal_approximation_is_exact_where_the_rotor_is_orthogonal_to_the_angular_velocity():
    """Section 4: "exact only when z_mᵀω = 0": a rotor along x_1 on a link that turns about z."""
    table = {
        "name": "rotor across",
        "convention": "dh",
        "gravity": [0, "-g", 0],
        "symbols": dict.fromkeys(("g", "a1", "a2", "m1", "m2", "kr", "Im"), "free"),
        "link": [
            {"joint": "revolute", "a": "a1", "alpha": 0, "d": 0, "mass": "m1"},
            {
                "joint": "revolute",
                "a": "a2",
                "alpha": 0,
                "d": 0,
                "mass": "m2",
                "motor": {"gear": "kr", "inertia": "Im", "axis": [1, 0, 0]},
            },
        ],
    }
    arm = Arm(Robot.from_dict(table))
    reflected = arm.robot.with_rotors("reflected").equations()
    assert arm.minus([arm.eq.tau], [reflected.tau]) == [[0, 0]]
