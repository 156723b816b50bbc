"""Symbols with other values and replaced in equations, payloads of all kinds, exact numbers as floats."""

import math

import numpy as np
import pytest

from armdyn import ArmdynError, Expression, Robot, box, cylinder, point_mass, simulate
from armdyn.description import bundled_table
from armdyn.expression import parse
from armdyn.model import Inertia
from arms import WITHOUT_LOOPS, assert_same
from golden_messages import golden_error


@pytest.fixture
def planar():
    return Robot.load("planar")


# ---- symbols -----------------------------------------------------------------------------------------------


def test_symbols_are_those_of_the_description(planar):
    assert list(planar.symbols)[:4] == ["g", "a1", "a2", "l1"]
    assert planar.symbols["l1"] == 0.5
    assert planar.with_payload("mp").symbols["mp"] is None
    assert Robot.load("panda").symbols == {"g": 9.81}
    with pytest.raises(TypeError):
        planar.symbols["g"] = 1.62


def test_values_replaced_and_the_same_arm_described_so(planar):
    table = planar.to_dict()
    table["symbols"] |= {"a1": 0.8, "ml2": "1/3"}
    other = planar.with_symbols(a1=0.8, ml2="1/3")
    assert other == Robot.from_dict(table)
    assert planar.symbols["a1"] == 1
    assert planar.with_symbols({"a1": 0.8}, ml2="1/3") == other
    assert planar.with_symbols() == planar
    assert planar.with_symbols(a1=np.float64(0.8), ml2="1/3") == other


def test_a_symbol_in_others_and_the_numbers_it_gives(planar):
    other = planar.with_symbols(ml2="2*ml1", Il2="ml1*a2**2/12", ml1=10)
    assert "ml2" not in other.symbols
    numbers = planar.with_symbols(ml1=10, ml2=20, Il2="10/12")
    q = [0.3, -0.7]
    assert_same(other.inertia(q), numbers.inertia(q), 1e-15)
    assert_same(other.gravity(q), numbers.gravity(q), 1e-15)
    swapped = planar.with_symbols(l1="l2", l2="l1")
    assert swapped.symbols == planar.symbols
    assert swapped.with_symbols(l1="l2", l2="l1") == planar
    doubled = planar.with_symbols(ml1="2*ml1")
    assert_same(doubled.gravity(q), planar.with_symbols(ml1=100).gravity(q), 1e-15)


def test_a_symbol_made_free_has_no_value(planar):
    free = planar.with_symbols(g=None)
    assert free.symbols["g"] is None
    assert free == planar.with_symbols(g="free")
    with golden_error(ArmdynError):
        free.gravity([0, 0])
    assert free.with_symbols(g=9.81) == planar


# ---- free symbols ------------------------------------------------------------------------------------------


@pytest.fixture
def open_arm():
    """A planar arm with every tensor entry free, of which only zz matters."""
    links = [
        {"joint": "revolute", "a": f"a{i}", "alpha": 0, "d": 0, "mass": f"m{i}", "com": [f"-l{i}", 0, 0]}
        | {"inertia": {"xx": f"Ixx{i}", "yy": f"Iyy{i}", "zz": f"Izz{i}", "xy": f"Ixy{i}"}}
        for i in (1, 2)
    ]
    names = [f"{x}{i}" for i in (1, 2) for x in ("a", "m", "l", "Ixx", "Iyy", "Izz", "Ixy")]
    symbols = dict.fromkeys(["g", *names], "free")
    return Robot.from_dict(
        {"name": "open", "convention": "dh", "gravity": [0, "-g", 0], "symbols": symbols, "link": links}
    )


def test_numbers_ask_only_for_symbols_that_they_depend_on(open_arm):
    lengths = open_arm.with_symbols(a1=1, a2=0.8)
    q, qd, qdd = [0.3, -0.7], [1, 2], [3, -1]
    assert lengths.pose(q).shape == (4, 4)
    heavy = lengths.with_symbols(g=9.81, m1=5, l1=0.4, m2=3, l2=0.3)
    assert heavy.gravity(q, parameters=None).shape == (2,)
    inert = heavy.with_symbols(Izz1=0.2, Izz2=0.1)
    every = inert.with_symbols({f"{x}{i}": 7 for i in (1, 2) for x in ("Ixx", "Iyy", "Ixy")})
    assert_same(inert.inverse_dynamics(q, qd, qdd), every.inverse_dynamics(q, qd, qdd), 1e-15)
    assert_same(inert.forward_dynamics(q, qd, qdd), every.forward_dynamics(q, qd, qdd), 1e-13)
    wrench = {"link1": [1, 2, 0, 0, 0, 3]}
    assert_same(
        inert.inverse_dynamics(q, qd, qdd, wrench=wrench),
        every.inverse_dynamics(q, qd, qdd, wrench=wrench),
        1e-14,
    )
    assert_same(simulate(inert, q, qd, 0.02).q, simulate(every, q, qd, 0.02).q, 1e-12)


@pytest.mark.parametrize(
    ("function", "missing"),
    [
        ("pose", "a1, a2"),
        ("gravity", "a1, a2, g, l1, l2, m1, m2"),
        ("inertia", "Izz1, Izz2, a1, a2, l1, l2, m1, m2"),
        ("coriolis", "a1, a2, l2, m2"),
        ("regressor", "a1, a2, g"),
    ],
)
def test_the_error_names_the_symbols_that_are_missing(open_arm, function, missing):
    with pytest.raises(ArmdynError, match=f"symbols {missing} have no value, and {function} depends on them"):
        open_arm.program(function)


@pytest.mark.parametrize(
    "rubs", [{"stribeck": {"level": "F", "velocity": 0.01}}, {"coulomb": ["F", -1]}, {"coulomb": [1, "-F"]}]
)
def test_friction_that_acts_near_rest_or_in_one_direction_is_asked_for(rubs):
    table = bundled_table("pendulum")
    table["symbols"] |= {"F": "free"}
    table["link"][0]["friction"] = rubs
    robot = Robot.from_dict(table)
    for function in ("friction", "inverse_dynamics", "forward_dynamics"):
        with pytest.raises(ArmdynError, match=f"symbol 'F' has no value, and {function} depends on it"):
            robot.program(function)


def test_symbols_of_springs_between_points(open_arm):
    """Coordinates of points that are 0 and 1 stand beside free ones."""
    table = open_arm.to_dict()
    table["symbols"] |= {"h": "free"}
    table["spring"] = [{"between": ["base", "link2"], "at": [["h", 1, 0], [0, -1, 0]], "stiffness": 3}]
    with golden_error(ArmdynError):
        Robot.from_dict(table).program("springs")


def test_all_parameters_need_all_symbols(open_arm):
    partly = open_arm.with_symbols({name: 1 for name in open_arm.symbols if name[:3] not in ("Ixx", "Ixy")})
    with golden_error(ArmdynError):
        _ = partly.parameters
    with golden_error(ArmdynError):
        partly.with_symbols(g=None).gravity([0, 0])


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ({"b1": 1}, ["'b1' is not a symbol of the robot", "g, a1, a2"]),
        ({"a1": "b1"}, ["a1: 'b1' is not a symbol of the robot", "g, a1, a2"]),
        ({"a1": "1 +"}, ["a1: '1 +' is not an expression"]),
        ({"a1": math.nan}, ["a1: expected a finite number"]),
        ({"a1": [1]}, ["a1: expected a finite number", "[1]"]),
        ({"ml1": -5}, ["ml1: link 'link 1': mass: found -5"]),
        ({"kr1": 0}, ["link 'link 1': motor.gear: found 0"]),
    ],
)
def test_wrong_values_of_symbols(planar, values, parts):
    with pytest.raises(ArmdynError) as caught:
        planar.with_symbols(**values)
    assert all(part in str(caught.value) for part in parts), str(caught.value)
    with golden_error(ArmdynError):
        planar.with_symbols([1])


@pytest.mark.parametrize("name", [x for x in WITHOUT_LOOPS if len(bundled_table(x)["link"]) <= 3])
def test_equations_with_symbols_replaced_and_numbers(name):
    """All values put in exactly: the equations have no symbol left and give the robot's numbers."""
    robot = Robot.load(name)
    equations = robot.equations().substitute(dict(robot.model.exact_values))
    assert equations.model.symbols == ()
    assert equations.prove()
    q = np.linspace(0.3, 1.1, robot.n)
    numbers = Robot(equations.model)
    assert_same(numbers.inertia(q), robot.inertia(q), 1e-14)
    assert_same(numbers.gravity(q), robot.gravity(q), 1e-14)


def test_equations_with_expressions_in_the_place_of_symbols(planar):
    equations = planar.equations()
    half = equations.substitute(l2="a2/2", kr1=1)
    assert half.B[1, 1] == "Il2 + ml2*a2**2/4 + kr2**2*Im2"
    assert "l2" not in dict(half.model.symbols)
    assert half.prove()
    new = equations.substitute(ml2="mu*ml1")
    assert dict(new.model.symbols)["mu"] is None
    assert new.B[1, 1] == "Il2 + mu*ml1*l2**2 + kr2**2*Im2"
    for values, reason in (
        ({"b1": 1}, "'b1' is not a symbol"),
        ({"a1": None}, "a1: expected a number or an expression, found None"),
        ({"a1": "pi*"}, "a1: "),
    ):
        with pytest.raises(ArmdynError, match=reason):
            equations.substitute(**values)


# ---- payloads ----------------------------------------------------------------------------------------------


def test_a_payload_from_a_body_an_array_and_entries(planar):
    entries = planar.with_payload(2, [0.1, 0, 0.2], {"xx": 0.1, "yy": 0.2, "zz": 0.25, "xy": 0.01})
    tensor = np.array([[0.1, 0.01, 0], [0.01, 0.2, 0], [0, 0, 0.25]])
    assert planar.with_payload(2, np.array([0.1, 0, 0.2]), tensor) == entries
    assert planar.with_payload(2, (0.1, 0, 0.2), [0.1, 0.01, 0, 0.2, 0, 0.25]) == entries
    assert planar.with_payload(2, [0.1, 0, 0.2], tensor.tolist()) == entries
    brick = box(2, [0.1, 0.2, 0.3])
    x, y, z = (float(brick.tensor[i]) for i in (0, 3, 5))
    by_hand = planar.with_payload(2, [0, 0, 0.1], {"xx": x, "yy": y, "zz": z})
    moved = planar.with_payload(brick, [0, 0, 0.1])
    assert_same(moved.inertia([0.1, 0.2]), by_hand.inertia([0.1, 0.2]), 1e-15)
    assert planar.with_payload(point_mass(2, [0.1, 0, 0])) == planar.with_payload(2, [0.1, 0, 0])
    assert planar.with_payload(cylinder("mc", "r", 1)).symbols["r"] is None


@pytest.mark.parametrize(
    "arguments",
    [
        (box(1, [1, 1, 1]), [0, 0, 0], {"xx": 1}),
        (point_mass(1, [1, 0, 0]), [0, 0, 1]),
        (1, [0, 0, 0], np.arange(9).reshape(3, 3)),
        (1, [0, 0, 0], [1, 2, 3, 4]),
        (1, [0, 0, 0], [[1, 2, 3], [1, 2], 3]),
        (1, [0, 0, 0], -np.eye(3)),
        (Inertia(0, (1, 0, 0), (1, 0, 0, 1, 0, 1)),),
    ],
)
def test_wrong_payloads(planar, arguments):
    with golden_error(ArmdynError):
        planar.with_payload(*arguments)


def test_payloads_show_in_the_name(planar):
    heavy = planar.with_payload(2)
    assert heavy.name == "two-link planar arm with payload 2 kg"
    assert repr(heavy) == "<Robot 'two-link planar arm with payload 2 kg' RR, rotors exact>"
    assert heavy.with_payload(0.5).name == "two-link planar arm with payload 2 kg and 0.5 kg"
    assert planar.with_payload("mp/2").name == "two-link planar arm with payload 0.5*mp"
    assert planar.with_payload(1, link="link 1").name.endswith("with payload 1 kg on 'link 1'")
    assert planar.with_payload(0).name == planar.name
    assert planar.with_payload(0.1 + 0.2).name.endswith("payload 0.3 kg")
    many = planar
    for _ in range(100):
        many = many.with_payload(1)
    assert many.name.endswith("kg and 1 kg and more")
    assert len(many.name) < 140
    assert many.name == many.with_payload(1).name


# ---- floats ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["1/3", "pi/2", "sqrt(2) - 1", "cos(0.3)*2", "0", "inv(1 + sqrt(2))"])
def test_a_constant_expression_is_a_float(text):
    exact = parse(text)
    assert float(exact) == exact.value()
    assert np.asarray([exact], float)[0] == exact.value()
    assert math.isclose(math.fabs(exact), abs(exact.value()))


def test_an_expression_with_symbols_is_no_float():
    with golden_error(ArmdynError):
        float(parse("2*a"))
    with golden_error(ArmdynError):
        float(parse("a*b + 1"))
    with pytest.raises(ArmdynError):
        float(Expression.symbol("m"))
