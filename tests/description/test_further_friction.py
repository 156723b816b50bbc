"""Stribeck, cubic and load friction in the robot file: read, written, compared, refused."""

import warnings

import pytest

from armdyn import ArmdynError, PhysicsWarning, Robot
from golden_messages import golden_error, golden_warning

ALL = {
    "viscous": 1.5,
    "coulomb": [0.5, -0.6],
    "offset": 0.1,
    "stribeck": {"level": 0.3, "velocity": 0.2},
    "cubic": 0.01,
    "load": 0.1,
}


def table(friction, joint="revolute", **more):
    link = {"name": "arm", "joint": joint, "a": 1, "alpha": 0, "d": 0, "theta": 0, "mass": 2}
    del link["theta" if joint == "revolute" else "d"]
    link |= {"inertia": {"xx": 1, "yy": 1, "zz": 1}, "friction": friction} | more
    return {"name": "one", "convention": "dh", "gravity": [0, -10, 0], "link": [link]}


def one(friction, **more):
    return Robot.from_dict(table(friction, **more))


def test_all_terms_read_and_written(tmp_path):
    robot = one(ALL)
    assert robot.parameter_names[-5:] == ("Fa1", "F01", "Fst1", "Fcu1", "Fl1")
    assert robot.parameters[-4:] == pytest.approx([0.1, 0.3, 0.01, 0.1])
    assert robot.to_dict()["link"][0]["friction"] == ALL
    assert Robot.from_dict(robot.to_dict()) == robot
    robot.save(tmp_path / "one.toml")
    assert Robot.load(tmp_path / "one.toml") == robot


def test_symbols_in_all_terms():
    friction = {"stribeck": {"level": "l", "velocity": "2*v"}, "cubic": "c", "load": "0.5*f"}
    given = table(friction) | {"symbols": {"l": 0.3, "v": 0.1, "c": 0.01, "f": 0.2}}
    robot = Robot.from_dict(given)
    assert robot.to_dict()["link"][0]["friction"] == friction
    plain = one({"stribeck": {"level": 0.3, "velocity": 0.2}, "cubic": 0.01, "load": 0.1})
    assert robot.inverse_dynamics([0.3], [0.1], [0.2]) == pytest.approx(
        plain.inverse_dynamics([0.3], [0.1], [0.2])
    )


def test_a_level_of_zero_keeps_its_velocity():
    robot = one({"stribeck": {"level": 0, "velocity": 0.2}})
    assert "Fst1" not in robot.parameter_names
    assert Robot.from_dict(robot.to_dict()) == robot


@pytest.mark.parametrize(
    "friction",
    [
        {"load": 1.2},
        {"load": 1},
        {"load": -0.1},
        {"stribeck": {"level": 1, "velocity": 0}},
        {"stribeck": {"level": 1, "velocity": -2}},
        {"stribeck": {"level": 1}},
        {"stribeck": {"velocity": 1}},
        {"stribeck": 3},
        {"stribeck": {"level": 1, "velocity": 1, "width": 2}},
        {"cubed": 1},
        {"cubic": "x"},
    ],
)
def test_refused(friction):
    with golden_error(ArmdynError) as problem:
        one(friction)
    assert len(str(problem.value).splitlines()) == 1


@pytest.mark.parametrize("key", ["cubic", "load", "stribeck"])
def test_motors_have_viscous_and_coulomb_friction_only(key):
    motor = {"gear": 1, "inertia": 0.01, "friction": {key: ALL[key]}}
    with pytest.raises(
        ArmdynError, match=f"motor.friction.{key}: unknown key; allowed here: coulomb, viscous"
    ):
        one({}, motor=motor)


def test_load_friction_of_a_joint_that_follows_by_a_loop_is_refused():
    robot = Robot.load("four_bar")
    assert robot.with_friction({"crank": {"load": 0.1}}).inverse_dynamics([0.1], [0.1], [0.1]).shape == (1,)
    with golden_error(ArmdynError):
        robot.with_friction({"coupler": {"load": 0.1}})


def test_parameters_that_no_robot_can_have_are_refused():
    robot = one(ALL)
    values = robot.parameters.copy()
    values[-1] = 1.0
    with pytest.raises(ArmdynError, match=r"friction\.load: found 1"):
        robot.with_parameters(values)


@pytest.mark.parametrize(
    ("friction", "limit", "speed"),
    [
        ({"viscous": 1, "cubic": -0.01}, {}, "above 10"),  # v − 0.01 v³
        ({"viscous": 1, "cubic": -0.01}, {"velocity": 11}, "above 10"),
        ({"coulomb": 0.5, "stribeck": {"level": -0.7, "velocity": 1}}, {}, "as soon as it moves"),
        ({"coulomb": [0.5, -0.8], "stribeck": {"level": -0.6, "velocity": 1}}, {"velocity": 1}, "as soon as"),
    ],
)
def test_friction_that_drives_is_warned_of(friction, limit, speed, tmp_path):
    with pytest.warns(PhysicsWarning, match=f"friction drives the joint {speed}"):
        robot = one(friction, limits=limit)
    robot.save(tmp_path / "one.toml")
    with golden_warning(PhysicsWarning):
        assert Robot.load(tmp_path / "one.toml") == robot


@pytest.mark.parametrize(
    ("friction", "limit"),
    [
        ({"viscous": 1, "cubic": -0.01}, {"velocity": 9.9}),
        ({"coulomb": 0.5, "stribeck": {"level": -0.5, "velocity": 1}}, {}),
        ({"viscous": 1, "coulomb": 0.1, "stribeck": {"level": -0.05, "velocity": 0.1}}, {}),
    ],
)
def test_negative_coefficients_that_brake_all_the_same(friction, limit):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one(friction, limits=limit)


def test_identified_friction_loads_again(tmp_path):
    """A fit may give any sign: its robot is saved and loaded as it is."""
    robot = one(ALL, limits={"velocity": 2})
    values = dict(zip(robot.parameter_names, robot.parameters, strict=True)) | {"Fst1": -0.4, "Fcu1": -0.02}
    fitted = robot.with_parameters(list(values.values()))
    fitted.save(tmp_path / "fit.toml")
    assert Robot.load(tmp_path / "fit.toml") == fitted


def test_differences_have_units():
    other = ALL | {"stribeck": {"level": 0.4, "velocity": 0.1}, "cubic": 0.02, "load": 0}
    lines = str(one(ALL).diff(one(other))).splitlines()
    assert sorted(lines) == [
        "link 'arm': friction.cubic 0.01 N m s³/rad³ -> 0.02 N m s³/rad³ (+100 %)",
        "link 'arm': friction.load 0.1 -> 0",
        "link 'arm': friction.stribeck.level 0.3 N m -> 0.4 N m (+33.3 %)",
        "link 'arm': friction.stribeck.velocity 0.2 rad/s -> 0.1 rad/s (-50 %)",
    ]


@pytest.mark.parametrize("name", ["one.urdf", "one.xml"])
def test_other_formats_say_what_they_lose(tmp_path, name):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        one(ALL).save(tmp_path / name)
    said = " ".join(str(w.message) for w in found)
    for term in ("Stribeck", "cubic", "load-dependent"):
        assert f"{term} friction ('arm') is left out" in said
