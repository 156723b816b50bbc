"""What differs between two robots, and that nothing differs between equal ones."""

from dataclasses import replace

import pytest

from armdyn import Robot, bundled_robots
from armdyn.expression import Expression
from armdyn.model import Relation
from arms import law, quietly
from random_descriptions import kinds, with_relation


def lines(a, b):
    return str(a.diff(b)).splitlines()


@pytest.fixture
def puma():
    return Robot.load("puma560")


def changed(robot, path, value):
    """The robot with one entry of its table changed; None deletes it."""
    table = robot.to_dict()
    *steps, last = path.split("/")
    place = table
    for step in steps:
        place = place[int(step)] if step.isdecimal() else place.setdefault(step, {})
    if value is None:
        del place[last]
    else:
        place[int(last) if last.isdecimal() else last] = value
    return quietly(lambda: Robot.from_dict(table))


@pytest.mark.parametrize("name", bundled_robots())
def test_equal_robots_differ_in_nothing(name):
    found = Robot.load(name).diff(Robot.load(name))
    assert not found
    assert list(found) == []
    assert len(found) == 0
    assert str(found) == "the same robot"


@law(kinds((1, 3)), kinds((1, 3)), examples=8, thorough=100)
def test_different_robots_differ_in_something(a, b):
    found = a.diff(b)
    assert bool(found) == (a != b)
    assert all(str(change) for change in found)
    assert len(str(found).splitlines()) == max(1, len(found))


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("link/2/mass", 6, "link 'forearm': mass 4.8 kg -> 6 kg (+25 %)"),
        ("link/2/com/2", 0.08, "link 'forearm': com.z 0.07 m -> 0.08 m (+14.3 %)"),
        ("link/2/inertia/xy", 0.001, "link 'forearm': inertia.xy 0 kg m² -> 0.001 kg m²"),
        ("link/2/alpha", 0, "link 'forearm': alpha -pi/2 rad -> 0 rad"),
        ("link/2/a", "2*a3", "link 'forearm': a 'a3' = 0.0203 m -> '2*a3' = 0.0406 m (+100 %)"),
        ("link/2/motor/gear", -54, "link 'forearm': motor.gear -53.7063 -> -54 (+0.547 %)"),
        ("link/2/motor/mass", 1, "link 'forearm': motor.mass 0 kg -> 1 kg"),
        (
            "link/2/motor/inertia",
            0.0004,
            "link 'forearm': motor.inertia.axial 0.0002 kg m² -> 0.0004 kg m² (+100 %)",
        ),
        ("link/2/motor/coupling", {"waist": 2}, "link 'forearm': motor.coupling.waist (none) -> 2"),
        (
            "link/2/motor/friction/viscous",
            0.00276,
            "link 'forearm': motor.friction.viscous 0.00138 N m s/rad -> 0.00276 N m s/rad (+100 %)",
        ),
        ("link/2/friction/viscous", 3, "link 'forearm': friction.viscous 0 N m s/rad -> 3 N m s/rad"),
        ("link/2/friction/offset", "1/3", "link 'forearm': friction.offset 0 N m -> 0.333333 N m"),
        ("link/2/limits/velocity", 3, "link 'forearm': limits.velocity (none) -> 3 rad/s"),
        ("link/2/limits/torque", None, "link 'forearm': limits.torque 89.4 N m -> (none)"),
        ("link/2/motor", None, "link 'forearm': motor: removed"),
        ("link/2/joint_name", "elbow", "link 'forearm': joint_name (none) -> 'elbow'"),
        ("link/5/name", "flange", "link 'wrist 3': name 'wrist 3' -> 'flange'"),
        ("symbols/d4", 0.5, "symbol 'd4': 0.4318 -> 0.5 (+15.8 %)"),
        ("symbols/d4", "free", "symbol 'd4': 0.4318 -> free"),
        ("symbols/L", 2, "symbol 'L': added"),
        ("gravity/0", 1, "robot: gravity.x 0 m/s² -> 1 m/s²"),
        ("name", "PUMA", "robot: name 'PUMA 560' -> 'PUMA'"),
        ("tip", "forearm", "robot: tip 'wrist 3' -> 'forearm'"),
        ("rotors", "none", "robot: rotors 'exact' -> 'none'"),
        ("tool", {"xyz": [0, 0, 0.1]}, "robot: tool.xyz.z 0 m -> 0.1 m"),
        ("base", {"xyz": [0, 0, 0.1]}, "robot: base.xyz.z 0 m -> 0.1 m"),
        ("base", {"name": "floor"}, "robot: base.name 'base' -> 'floor'"),
        (
            "closure",
            [{"relation": {"forearm": 1, "upper arm": "-1/2"}}],
            "closure 1: relation (none) -> '(1)*'forearm' + (-0.5)*'upper arm' = 0'",
        ),
    ],
)
def test_one_change_is_one_line(puma, path, value, expected):
    assert lines(puma, changed(puma, path, value)) == [expected]


def test_another_carrier_with_the_same_axis_is_one_change(puma):
    motor = puma.to_dict()["link"][2]["motor"] | {"carrier": "waist", "axis": [0, 0, 1]}
    other = changed(puma, "link/2/motor", motor)
    assert lines(puma, other) == ["link 'forearm': motor.carrier 'upper arm' -> 'waist'"]
    assert lines(other, puma) == ["link 'forearm': motor.carrier 'waist' -> 'upper arm'"]


def test_a_change_can_be_taken_apart(puma):
    (change,) = puma.diff(changed(puma, "link/2/mass", 6))
    assert (change.where, change.key, change.old, change.new) == ("link 'forearm'", "mass", 4.8, 6)
    where, key, old, new = change
    assert (where, key, new - old) == ("link 'forearm'", "mass", 6 - 4.8)
    assert puma.diff(puma.with_rotors("none"))[0].new == "none"


def test_links_added_and_removed(puma):
    shorter = Robot(replace(puma.model, links=puma.model.links[:5], tip="wrist 2"))
    assert lines(puma, shorter) == ["robot: tip 'wrist 3' -> 'wrist 2'", "link 'wrist 3': removed"]
    assert lines(shorter, puma) == ["robot: tip 'wrist 2' -> 'wrist 3'", "link 'wrist 3': added"]


def test_a_renamed_link_is_one_change_also_where_others_name_it(puma):
    table = puma.to_dict()
    table["link"][1]["name"] = "big arm"
    table["link"][4]["motor"] |= {"carrier": "big arm", "axis": [0, 0, 1]}
    other = puma.to_dict()
    other["link"][4]["motor"] |= {"carrier": "upper arm", "axis": [0, 0, 1]}
    a, b = (quietly(lambda t=t: Robot.from_dict(t)) for t in (other, table))
    assert lines(a, b) == ["link 'upper arm': name 'upper arm' -> 'big arm'"]


def test_numbers_that_print_alike_are_told_apart(puma):
    (line,) = lines(puma, changed(puma, "link/2/mass", 4.8000000001))
    assert "mass 4.8 kg -> 4.8000000001 kg (+2.08e-09 %)" in line
    (line,) = lines(puma, changed(puma, "link/2/mass", "4.8 + 1e-30"))
    assert "4.800000000000000000000000000001" in line


def test_a_payload_in_words(puma):
    found = lines(puma, puma.with_payload(2, [0, 0, 0.1]))
    assert found[0] == "robot: name 'PUMA 560' -> 'PUMA 560 with payload 2 kg'"
    assert found[1] == "link 'wrist 3': mass 0.09 kg -> 2.09 kg (+2.22e+03 %)"
    assert "com.z 0.032 m -> 0.0970718 m (+203 %)" in found[2]


def test_order_alone_is_a_difference():
    model = Robot.load("scara").model
    links = list(model.links)
    motor = links[3].motor
    one, other = (("inner arm", Expression.of(1)), ("outer arm", Expression.of(2)))
    orders = [(one, other), (other, one)]
    a, b = (
        Robot(replace(model, links=(*links[:3], replace(links[3], motor=replace(motor, coupling=order)))))
        for order in orders
    )
    assert a != b
    assert lines(a, b) == ["robot: order of couplings 'as in the first' -> 'as in the second'"]
    c, d = (Robot(replace(model, symbols=s)) for s in (model.symbols, model.symbols[::-1]))
    assert [x.key for x in c.diff(d)] == ["order of symbols"]


def test_relations_differ_by_their_text():
    robot = Robot(with_relation(Robot.load("planar3").model))
    relation = robot.model.relations[0]
    other = Robot(replace(robot.model, relations=(Relation(relation.coefficients, Expression.of(0.5)),)))
    (line,) = lines(robot, other)
    assert line.startswith("closure 1: relation ")
    assert line.endswith("= 0.5'")


def test_another_convention_is_compared_by_frames():
    table = Robot.load("planar").to_dict()
    planar = quietly(lambda: Robot.from_dict(table))
    link = table["link"][1]
    table["convention"] = "frames"
    for part in table["link"]:
        a, *_ = (part.pop(key) for key in ("a", "alpha", "d", "theta"))
        part |= {"origin": {"xyz": [0, 0, 0]}, "axis": [0, 0, 1], "after": {"xyz": [a, 0, 0]}}
    assert quietly(lambda: Robot.from_dict(table)) == planar
    link["axis"] = [0, 1, 0]
    found = lines(planar, quietly(lambda: Robot.from_dict(table)))
    assert found[:2] == ["link 'link 2': axis.y 0 -> 1", "link 'link 2': axis.z 1 -> 0"]


def test_only_robots_are_compared(puma):
    with pytest.raises(TypeError, match="expected a Robot, found 3"):
        puma.diff(3)
