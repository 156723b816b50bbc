"""Motors put into robots: the same as if the file had them, and what is refused."""

import numpy as np
import pytest

from armdyn import DescriptionError, Robot
from armdyn.description import bundled_robots, bundled_table
from arms import assert_same, quietly, state
from golden_messages import golden_error

MOTORS = [
    name
    for name in bundled_robots()
    if any("motor" in link for link in bundled_table(name)["link"])
    and bundled_table(name).get("rotors", "exact") == "exact"
]


@pytest.mark.parametrize("name", MOTORS)
def test_motors_put_in_and_motors_of_the_file(name):
    table = bundled_table(name)
    bare = table | {"link": [{k: x for k, x in link.items() if k != "motor"} for link in table["link"]]}
    motors = {link["name"]: link["motor"] for link in table["link"] if "motor" in link}
    robot = quietly(lambda: Robot.from_dict(bare))  # as the PUMA is published, bodies break the inequality
    assert robot.with_motors(motors) == Robot.load(name)


def imported():
    """A robot as importers make it: armatures as motors with gear 1, no carrier known, joints with names."""
    table = bundled_table("ur10") | {"rotors": "reflected"}
    links = [
        link | {"motor": {"gear": 1, "inertia": 0.4}, "joint_name": f"joint {i + 1}"}
        for i, link in enumerate(table["link"])
    ]
    return Robot.from_dict(table | {"link": links})


def test_a_gear_alone_and_the_inertia_at_the_joint():
    robot = imported()
    found = robot.with_motors({"shoulder": {"gear": -100}, "joint 2": {"gear": "50"}}, rotors="reflected")
    motors = [link.motor for link in found.model.links]
    assert [str(motor.axial) for motor in motors[:3]] == ["4e-05", "0.00016", "0.4"]
    assert found.model.rotors == "reflected"
    q, qd, qdd = state(robot, np.random.default_rng(0))
    assert_same(found.inertia(q), robot.inertia(q), 1e-14)
    assert_same(found.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), 1e-14)


def test_a_gear_alone_and_the_friction_at_the_joint():
    robot = imported().with_motors({"forearm": {"friction": {"viscous": 0.3, "coulomb": [0.5, -0.2]}}})
    found = robot.with_motors({"forearm": {"gear": -20}})
    for qd in (np.ones(6), -np.ones(6)):
        assert_same(found.friction(qd), robot.friction(qd), 1e-14)


def test_a_gear_with_an_inertia():
    motor = imported().with_motors({"joint 1": {"gear": 100, "inertia": 0.001}}).model.links[0].motor
    assert (str(motor.gear), str(motor.axial)) == ("100", "0.001")


def test_exact_rotors_by_default_and_entries_that_stay():
    given = {"carrier": "base", "axis": [1, 0, 0], "position": [0, 0, 1], "mass": 2, "gear": 10}
    robot = imported().with_motors({"forearm": given})
    assert robot.model.rotors == "exact"
    changed = robot.with_motors({"forearm": {"mass": 3, "coupling": {"upper arm": "5/2"}}})
    old, new = robot.model.links[2].motor, changed.model.links[2].motor
    assert (new.carrier, new.axis, new.position, new.gear) == ("base", old.axis, old.position, old.gear)
    assert (str(new.mass), str(new.coupling[0][1]), new.axial) == ("3", "2.5", old.axial)
    moved = robot.with_motors({"forearm": {"carrier": "upper arm"}}).model.links[2].motor
    assert [str(x) for x in (*moved.position, *moved.axis)] == ["0", "0", "0", "0", "0", "1"]


def test_symbols_of_the_robot():
    robot = Robot.load("planar").with_motors({"link 2": {"mass": "2*g"}})
    assert str(robot.model.links[1].motor.mass) == "2*g"


@pytest.mark.parametrize(
    ("motors", "message"),
    [
        ({"elbow": {}}, r"no joint or link 'elbow'; moving joints: joint 1 \(link shoulder\), joint 2"),
        ({3: {}}, "no joint or link 3; moving joints"),
        (5, "expected a table by joint, found 5"),
        ({"shoulder": 3}, "link 'shoulder'.motor: expected a table, found 3"),
        ({"shoulder": {"geer": 3}}, "link 'shoulder'.motor.geer: unknown key; allowed here: axis, carrier"),
        ({"shoulder": {"gear": 0}}, "link 'shoulder'.motor.gear: found 0; any other number is allowed"),
        ({"shoulder": {"gear": 0, "inertia": 1}}, "link 'shoulder': motor.gear: found 0"),
        ({"shoulder": {"inertia": -1}}, "link 'shoulder': motor.inertia: found -1; zero or positive"),
        ({"shoulder": {"gear": "kr"}}, "motor.gear: unknown symbol 'kr'; declared symbols: g"),
        ({"shoulder": {"carrier": "hand"}}, "link 'shoulder'.motor.carrier: found 'hand'; links: base"),
        ({"forearm": {"carrier": "base"}}, "motor.axis: missing; it is required because the carrier"),
        ({"forearm": {"axis": [0, 0, 0]}}, "motor.axis: found .0, 0, 0.; a direction must not be zero"),
        ({"forearm": {"coupling": {"hand": 1}}}, "motor.coupling: found 'hand'; other moving links"),
        ({"shoulder": {}, "joint 1": {}}, "joint 'joint 1' is given twice, by its own name and its link's"),
    ],
)
def test_what_is_refused(motors, message):
    with pytest.raises(DescriptionError, match=f"^with_motors: .*{message}"):
        imported().with_motors(motors)


def test_a_motor_without_a_gear_where_there_was_none():
    with golden_error(DescriptionError):
        Robot.load("panda").with_motors({"link 1": {"inertia": 1}})
