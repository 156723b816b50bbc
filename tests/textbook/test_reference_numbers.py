"""Published numbers for the PUMA 560 and the Manutec r3, to the digits they are given with.

The files are not part of the project: they are read from $ARMDYN_DATA or from ../shared/data.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from armdyn import Robot
from arms import quietly
from textbook_arm import Arm

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = Path(os.environ.get("ARMDYN_DATA", ROOT.parent / "shared" / "data")) / "reference"


def read(name):
    path = REFERENCE / name
    if not path.exists():
        pytest.skip(f"{path} is absent; ARMDYN_DATA names the folder with the data")
    return json.loads(path.read_text("utf-8"))


# ---- PUMA 560, fifteen digits, standard and modified DH, two parameter sets --------------------------------


def bare_arm(convention, dh):
    """The geometry alone: six revolute joints, columns alpha, a, d, theta."""
    links = [dict(zip(("alpha", "a", "d", "theta"), row, strict=True), joint="revolute") for row in dh]
    table = {"name": "PUMA 560", "convention": convention, "gravity": [0, 0, -9.81], "link": links}
    return quietly(lambda: Robot.from_dict(table))  # nothing has mass yet


def in_our_order(parameters):
    """Lxx … Lzz, m·x m·y m·z, m per link -> m, m·x m·y m·z, Ixx … Izz, and no Im, Fv, Fs."""
    return [
        x
        for tensor_moment_mass in np.reshape(parameters, (-1, 10)).tolist()
        for x in (
            tensor_moment_mass[9],
            *tensor_moment_mass[6:9],
            *tensor_moment_mass[:6],
            *(0, 0, 0),
        )
    ]


@pytest.fixture(params=["standard", "modified"])
def geometry(request):
    data = read("puma560_15digits.json")[request.param]
    return data, bare_arm({"standard": "dh", "modified": "mdh"}[request.param], data["dh"])


@pytest.fixture(params=[0, 1], ids=["armstrong", "random"])
def dynamics(request, geometry):
    data, arm = geometry
    expected = data["sets"][request.param]
    return data, expected, arm.with_parameters(in_our_order(expected["parameters"]))


def agree(found, expected):
    np.testing.assert_allclose(found, np.reshape(expected, np.shape(found)), rtol=0, atol=1e-10)


def test_pose_and_jacobian_of_the_puma_agree_to_ten_decimals(geometry):
    data, arm = geometry
    agree(arm.pose(data["q"]), data["pose"])
    agree(arm.jacobian(data["q"]), data["jacobian"])


def test_dynamics_of_the_puma_agree_to_ten_decimals(dynamics):
    data, expected, robot = dynamics
    q, qd, qdd = (np.array(data[key]) for key in ("q", "qd", "qdd"))
    agree(robot.inverse_dynamics(q, qd, qdd), expected["tau"])
    agree(robot.gravity(q), expected["gravity"])
    agree(robot.inertia(q), expected["inertia"])
    agree(robot.coriolis(q, qd) @ qd, expected["coriolis_vector"])
    agree(robot.forward_dynamics(q, qd, np.ravel(expected["tau"])), qdd)


# ---- PUMA 560 with motors, gears and friction (Corke and Armstrong) ----------------------------------------

QN = np.array([0, np.pi / 4, np.pi, 0, np.pi / 4, 0])
MOTION = {"zeros": np.zeros(6), "ones": np.ones(6)}


@pytest.fixture(scope="module")
def corke():
    return read("puma560_corke_armstrong.json")


@pytest.fixture(scope="module")
def puma():
    return Robot.load("puma560").with_rotors("reflected")


def to_printed_digits(found, expected, decimals):
    np.testing.assert_allclose(found, expected, rtol=0, atol=0.51 * 10.0**-decimals)


def significant(found, expected, digits=6):
    """Agreement of numbers printed to so many significant digits, or to four decimals."""
    expected = np.array(expected)
    scale = 10.0 ** (np.floor(np.log10(np.maximum(np.abs(expected), 1e-2))) + 1 - digits)
    printed_short = np.round(expected, 4) == expected
    np.testing.assert_array_less(np.abs(found - expected), np.where(printed_short, 0.51e-4, 0.51 * scale))


@pytest.mark.parametrize("case", range(5))
def test_inverse_dynamics_agrees_with_the_toolbox(puma, corke, case):
    row = corke["rne"][case]
    robot = puma.with_gravity([0, 0, -row["g"]])
    significant(robot.inverse_dynamics(QN, MOTION[row["qd"]], MOTION[row["qdd"]]), row["tau"])


def test_inverse_dynamics_with_a_wrench_agrees_with_the_toolbox(puma, corke):
    """fext is what the tool exerts on its surroundings, as our wrench, but in tool axes."""
    row = corke["rne"][5]
    R = puma.pose(QN)[:3, :3]
    force, moment = np.reshape(row["fext_tool_frame"], (2, 3))
    wrench = np.concatenate([R @ force, R @ moment])
    significant(puma.inverse_dynamics(QN, MOTION["zeros"], MOTION["zeros"], wrench), row["tau"])


def test_inertia_and_inertial_torque_agree_with_the_toolbox(puma, corke):
    to_printed_digits(puma.inertia(QN), corke["inertia_at_qn_includes_motor"], 4)
    qdd = [1, 2, 3, 1, 2, 3]
    to_printed_digits(puma.inertia(QN) @ qdd, corke["itorque_at_qn_qdd_1_2_3_1_2_3"], 4)


def test_gravity_load_agrees_with_the_toolbox(puma, corke):
    to_printed_digits(puma.gravity(QN), corke["gravload_at_qn"], 4)


def test_coriolis_torques_agree_with_the_toolbox(puma, corke):
    """C is not unique, C q̇ is: printed to four decimals, so the product is good to Σ|q̇| · 0.5e-4."""
    qd = np.array([1, 2, 3, 1, 2, 3])
    C = np.array(corke["coriolis_at_qn_qd_1_2_3_1_2_3_no_friction"])
    np.testing.assert_allclose(puma.coriolis(QN, qd) @ qd, C @ qd, rtol=0, atol=12 * 0.51e-4)


def test_forward_dynamics_with_friction_agrees_with_the_toolbox(puma, corke):
    row = corke["accel_with_friction"]
    to_printed_digits(puma.forward_dynamics(QN, row["qd"], row["torque"]), row["qdd"], 4)


# ---- Manutec r3 with exact rotors (Otter and Türk) ---------------------------------------------------------


@pytest.fixture(scope="module")
def manutec():
    return read("manutec_r3.json")


def loaded(robot, load):
    return robot.with_payload(mass=load) if load else robot


@pytest.mark.parametrize("case", range(4))
def test_accelerations_of_the_manutec_agree_with_the_published_model(manutec, case):
    """The source prints twelve significant digits, the load is a point at the tip."""
    row, state = manutec["accelerations"][case], manutec["state"]
    robot = loaded(Robot.load("manutec_r3"), row["load"])
    found = robot.forward_dynamics(state["q"], state["qd"], row["tau"])
    np.testing.assert_allclose(found, row["qdd"], rtol=0, atol=1e-9)


def test_reflected_rotors_of_the_manutec_lose_the_coupling_of_rotor_3():
    """Exact less reflected: rotor 3 (gear 60, on arm 2, parallel to joint 2) couples joints 2 and 3.

    At the accelerations of the file this is 0.47 N m, the source speaks of up to 3.4 N m.
    """
    exact = Arm(Robot.load("manutec_r3"))
    reflected = exact.robot.with_rotors("reflected").equations()
    found = exact.minus([exact.eq.tau], [reflected.tau])
    assert exact.differences(found, [[0, "0.0013*(60*qdd3 + qdd2)", "0.0013*60*qdd2"]]) == {}


def test_reflected_rotors_of_the_manutec_miss_the_published_accelerations(manutec):
    row, state = manutec["accelerations"][0], manutec["state"]
    robot = Robot.load("manutec_r3").with_rotors("reflected")
    tau = robot.inverse_dynamics(state["q"], state["qd"], row["qdd"])
    assert np.abs(tau - row["tau"]).max() > 0.4
