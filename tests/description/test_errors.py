"""A wrong robot file: one message that names the file, the key, what was found and what is allowed."""

import copy
import datetime
import math
import warnings

import numpy as np
import pytest

from armdyn import ArmdynError, DescriptionError, PhysicsWarning, Robot
from golden_messages import golden_error, golden_warning

FILE = """
name = "arm"
convention = "dh"
gravity = [0, 0, "-g"]
rotors = "exact"

[symbols]
g = 9.81
a1 = 0.5

[[link]]
name = "upper arm"
joint = "revolute"
a = "a1"
alpha = "pi/2"
d = 0
mass = 2
com = [0.1, 0, 0]
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
friction = { viscous = 0.1, coulomb = [0.3, -0.2], offset = 0.1 }
limits = { position = [-3, 3], velocity = 5, torque = 10 }

[link.motor]
gear = 100
inertia = { axial = 0.01, transverse = 0.005 }
mass = 1
friction = { viscous = 0.001, coulomb = 0.1 }

[[link]]
name = "forearm"
joint = "prismatic"
a = 0
alpha = 0
theta = 0
mass = 1
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }

[link.motor]
gear = -20
inertia = 0.01
coupling = { "upper arm" = 1 }

[[link]]
name = "flange"
joint = "fixed"
a = 0
alpha = 0
d = 0.1
theta = 0
"""

TABLE = {
    "name": "arm",
    "convention": "dh",
    "gravity": [0, 0, "-g"],
    "rotors": "exact",
    "symbols": {"g": 9.81, "a1": 0.5},
    "link": [
        {
            "name": "upper arm",
            "joint": "revolute",
            "a": "a1",
            "alpha": "pi/2",
            "d": 0,
            "mass": 2,
            "com": [0.1, 0, 0],
            "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.1},
            "friction": {"viscous": 0.1, "coulomb": [0.3, -0.2], "offset": 0.1},
            "limits": {"position": [-3, 3], "velocity": 5, "torque": 10},
            "motor": {
                "gear": 100,
                "inertia": {"axial": 0.01, "transverse": 0.005},
                "mass": 1,
                "friction": {"viscous": 0.001, "coulomb": 0.1},
            },
        },
        {
            "name": "forearm",
            "joint": "prismatic",
            "a": 0,
            "alpha": 0,
            "theta": 0,
            "mass": 1,
            "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.1},
            "motor": {"gear": -20, "inertia": 0.01, "coupling": {"upper arm": 1}},
        },
        {"name": "flange", "joint": "fixed", "a": 0, "alpha": 0, "d": 0.1, "theta": 0},
    ],
}
DELETE = object()


def edited(*edits):
    """The valid table with entries set by path ("link.0.motor.gear"), or deleted."""
    table = copy.deepcopy(TABLE)
    for path, value in edits:
        *parents, last = path.split(".")
        part = table
        for key in parents:
            part = part[int(key)] if isinstance(part, list) else part.setdefault(key, {})
        last = int(last) if isinstance(part, list) else last
        if value is DELETE:
            del part[last]
        else:
            part[last] = value
    return table


def message(table):
    with pytest.raises(DescriptionError) as caught:
        Robot.from_dict(table)
    return str(caught.value)


def load_text(folder, text, name="robot.toml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return Robot.load(path)


def test_the_valid_file_and_the_valid_table(tmp_path):
    """The table the tests spoil is right, and is what the file says."""
    robot = load_text(tmp_path, FILE)
    assert robot == Robot.from_dict(TABLE)
    assert np.isfinite(robot.inverse_dynamics([0.1, 0.2], [0.3, 0.4], [0.5, 0.6])).all()


WRONG = {
    # unknown keys, in every table
    "unknown key at the top": ([("grvity", [0, 0, 0])], ["grvity", "unknown key", "gravity", "convention"]),
    "unknown key in a link": ([("link.0.masss", 1)], ["upper arm", "masss", "unknown key", "mass", "com"]),
    "unknown key in a motor": ([("link.0.motor.gears", 1)], ["upper arm", "motor.gears", "unknown", "gear"]),
    "unknown key in friction": ([("link.0.friction.vis", 1)], ["upper arm", "friction.vis", "viscous"]),
    "unknown key in motor friction": (
        [("link.0.motor.friction.offset", 1)],
        ["upper arm", "motor.friction.offset", "unknown key", "coulomb, viscous"],
    ),
    "unknown key in inertia": ([("link.0.inertia.yx", 1)], ["upper arm", "inertia.yx", "xx, xy, xz"]),
    "unknown key in rotor inertia": (
        [("link.0.motor.inertia.polar", 1)],
        ["motor.inertia.polar", "axial, transverse"],
    ),
    "unknown key in limits": ([("link.0.limits.speed", 1)], ["limits.speed", "unknown", "velocity"]),
    "unknown key in tool": ([("tool", {"xyz": [0, 0, 0], "quat": [1, 0, 0, 0]})], ["tool.quat", "rpy, xyz"]),
    "a key of another convention": (
        [("link.0.origin", {"xyz": [0, 0, 0]})],
        ["upper arm", "origin", "alpha"],
    ),
    # missing keys
    "missing name": ([("name", DELETE)], ["name"]),
    "missing convention": ([("convention", DELETE)], ["convention", "missing", '"dh", "mdh", "frames"']),
    "missing gravity": ([("gravity", DELETE)], ["gravity", "missing", "3 numbers"]),
    "missing links": ([("link", DELETE)], ["link", "missing", "[[link]]"]),
    "no links": ([("link", [])], ["link", "[[link]]"]),
    "links that are a table": ([("link", {"a": 1})], ["link", "[[link]]"]),
    "missing length": ([("link.0.a", DELETE)], ["upper arm", "a", "missing", "number"]),
    "missing twist": ([("link.0.alpha", DELETE)], ["upper arm", "alpha", "missing"]),
    "missing offset of a revolute joint": ([("link.0.d", DELETE)], ["upper arm", "d", "missing"]),
    "missing angle of a prismatic joint": ([("link.1.theta", DELETE)], ["forearm", "theta", "missing"]),
    "missing angle of a fixed joint": ([("link.2.theta", DELETE)], ["flange", "theta", "missing"]),
    "missing joint": ([("link.0.joint", DELETE)], ["upper arm", "joint", "missing", '"revolute"']),
    "missing gear": ([("link.0.motor.gear", DELETE)], ["upper arm", "motor.gear", "missing"]),
    "missing rotor inertia": ([("link.0.motor.inertia", DELETE)], ["motor.inertia", "missing", "axial"]),
    "missing axial inertia": ([("link.0.motor.inertia.axial", DELETE)], ["motor.inertia.axial", "missing"]),
    # choices
    "bad convention": ([("convention", "DH")], ["convention", "'DH'", '"dh", "mdh", "frames"']),
    "bad joint": ([("link.0.joint", "hinge")], ["upper arm", "joint", "'hinge'", '"revolute", "prismatic"']),
    "bad rotors": ([("rotors", "all")], ["rotors", "'all'", '"exact", "reflected", "none"']),
    "a list for a choice": ([("rotors", ["exact"])], ["rotors", "['exact']", '"exact"']),
    # numbers
    "not a number": ([("link.0.mass", "two")], ["upper arm", "mass", "unknown symbol 'two'", "a1, g"]),
    "undeclared symbol": ([("link.0.a", "a1 + a2")], ["upper arm", "a", "'a2'", "declared symbols: a1, g"]),
    "symbol in a symbol": ([("symbols.b", "2*a1")], ["symbols.b", "'a1'"]),
    "a bool": ([("link.0.mass", True)], ["upper arm", "mass", "True", "number"]),
    "a date": ([("link.0.mass", datetime.date(2020, 1, 1))], ["upper arm", "mass", "2020", "number"]),
    "a list for a number": ([("link.0.mass", [1])], ["upper arm", "mass", "[1]", "number"]),
    "a table for a number": ([("link.0.a", {"x": 1})], ["upper arm", "a", "number"]),
    "None": ([("link.0.a", None)], ["upper arm", "a", "None", "number"]),
    "an empty text": ([("link.0.a", "")], ["upper arm", "a", "expression"]),
    "nan": ([("link.0.a", math.nan)], ["upper arm", "a", "nan", "finite"]),
    "inf": ([("gravity", [0, 0, -math.inf])], ["gravity[2]", "inf", "finite"]),
    "nan as text": ([("link.0.a", "nan")], ["upper arm", "a", "'nan'"]),
    "a huge exponent": ([("link.0.a", "1e400")], ["upper arm", "a", "1e400", "1e300"]),
    "a tiny exponent": ([("link.0.a", "1e-400")], ["upper arm", "a", "1e-400", "1e-300"]),
    "a huge integer": ([("link.0.a", 10**400)], ["upper arm", "a", "1e300"]),
    "a huge product": ([("link.0.a", "1e200*1e200")], ["upper arm", "a", "1e300"]),
    "a huge power": ([("link.0.a", "9**9**9")], ["upper arm", "a", "exponent"]),
    "a huge product with a symbol": ([("link.0.a", "a1*1e200*1e200")], ["upper arm", "a"]),
    "division by zero": ([("link.0.a", "1/(2 - 2)")], ["upper arm", "a", "zero"]),
    "division by a symbol that is zero": (
        [("symbols.z", 0), ("link.0.mass", "1/z")],
        ["upper arm", "mass", "zero"],
    ),
    "division by a sum that is zero": (
        [("symbols.b", 0.5), ("link.0.mass", "1/(a1 - b)")],
        ["upper arm", "mass", "zero"],
    ),
    "a power that overflows": (
        [("symbols.b", "1e200"), ("link.0.mass", "b**16")],
        ["upper arm", "mass"],
    ),
    "a product that overflows": (
        [("link.0.mass", 1e200), ("link.0.com", [1e100, 0, 0])],
        ["upper arm", "mass, com and inertia", "1e300"],
    ),
    "a product of roots that overflows": (
        [("link.0.mass", "sqrt(2)*1e200"), ("link.0.com", ["1e100*sqrt(3)", 0, 0])],
        ["upper arm", "mass, com and inertia", "1e300"],
    ),
    "code": ([("link.0.a", "__import__('os').getcwd()")], ["upper arm", "a", "not allowed", "allowed:"]),
    # lists
    "a short list": ([("gravity", [0, 0])], ["gravity", "3 numbers", "[0, 0]"]),
    "a long list": ([("link.0.com", [0, 0, 0, 0])], ["upper arm", "com", "3 numbers"]),
    "a number for a list": ([("link.0.com", 0.1)], ["upper arm", "com", "3 numbers", "0.1"]),
    "a bad entry of a list": ([("link.0.com", [0, "x", 0])], ["upper arm", "com[1]", "'x'"]),
    "a text for a table": ([("link.0.motor", "strong")], ["upper arm", "motor", "table", "'strong'"]),
    "a text for a link": ([("link.1", "forearm")], ["link[2]", "table", "'forearm'"]),
    "a number for symbols": ([("symbols", 3)], ["symbols", "table", "3"]),
    "a number for a name": ([("link.0.name", 3)], ["link[1].name", "text", "3"]),
    "an empty name": ([("name", " ")], ["name", "text"]),
    "an integer of many digits for a name": ([("name", 10**10_000)], ["name", "text", "10001 digits"]),
    "an integer of many digits for a link's name": (
        [("link.0.name", 10**10_000)],
        ["link[1].name", "text", "10001 digits"],
    ),
    "an integer of many digits for a number": ([("link.0.mass", 10**10_000)], ["upper arm", "mass"]),
    "an integer of many digits in a list": ([("gravity", [10**10_000] * 3)], ["gravity[0]"]),
    "an integer of many digits in a short list": ([("gravity", [10**10_000])], ["gravity", "3 numbers"]),
    "an integer for a key": ([("link.0.motor.coupling", {3: None})], ["motor.coupling", "texts", "3"]),
    "bytes": ([("link.0.name", b"arm")], ["link[1].name", "text", "b'arm'"]),
    "a set": ([("gravity", {1, 2, 3})], ["gravity", "3 numbers"]),
    "an array of other shape": ([("gravity", np.zeros((3, 1)))], ["gravity[0]", "number"]),
    "an array of truth values": ([("gravity", np.array([True] * 3))], ["gravity[0]", "True"]),
    "an array with nan": ([("gravity", np.array([0, 0, math.nan]))], ["gravity[2]", "nan"]),
    "a name of two lines": ([("link.0.name", "a\nb"), ("link.0.a", None)], ["link 'a b'", "None"]),
    # bodies
    "negative mass": ([("link.0.mass", -2)], ["upper arm", "mass", "-2", "positive"]),
    "negative mass by a symbol": (
        [("symbols.m", -2), ("link.0.mass", "m")],
        ["upper arm", "mass", "-2", "positive"],
    ),
    "negative principal moment": (
        [("link.0.inertia.xx", -0.1)],
        ["upper arm", "inertia", "negative", "-0.1"],
    ),
    "negative principal moment by xy": (
        [("link.0.inertia.xy", 0.5)],
        ["upper arm", "inertia", "principal moments", "negative"],
    ),
    "negative rotor inertia": (
        [("link.1.motor.inertia", -1)],
        ["forearm", "motor.inertia", "-1", "positive"],
    ),
    "negative transverse inertia": (
        [("link.0.motor.inertia.transverse", -1)],
        ["upper arm", "motor.inertia", "-1", "positive"],
    ),
    "negative rotor mass": ([("link.0.motor.mass", -1)], ["upper arm", "motor.mass", "-1", "positive"]),
    # friction and limits
    "negative viscous friction": ([("link.0.friction.viscous", -1)], ["friction.viscous", "-1", "positive"]),
    "negative motor viscous friction": (
        [("link.0.motor.friction.viscous", -1)],
        ["upper arm", "motor.friction.viscous", "-1", "positive"],
    ),
    "negative coulomb friction": ([("link.0.friction.coulomb", -1)], ["friction.coulomb", "-1", "positive"]),
    "negative coulomb friction by a symbol": (
        [("symbols.f", -1), ("link.0.friction.coulomb", "f")],
        ["friction.coulomb", "-1", "positive"],
    ),
    "coulomb friction with one sign": (
        [("link.0.friction.coulomb", [0.3, 0.2])],
        ["friction.coulomb", "[0.3, 0.2]", "negative"],
    ),
    "coulomb friction with a free symbol and one sign": (
        [("symbols.F", "free"), ("link.0.friction.coulomb", ["F", 0.2])],
        ["upper arm", "friction.coulomb", "[F, 0.2]", "negative"],
    ),
    "motor friction with a free symbol and one sign": (
        [("symbols.F", "free"), ("link.0.motor.friction.coulomb", [-0.1, "-F"])],
        ["upper arm", "motor.friction.coulomb", "[-0.1, -F]", "negative"],
    ),
    "coulomb friction of three numbers": (
        [("link.0.friction.coulomb", [1, -1, 0])],
        ["coulomb", "2 numbers"],
    ),
    "a pair for a motor with a coupling": (
        [("link.1.motor.friction", {"coulomb": [0.2, -0.1]})],
        ["forearm", "motor.friction.coulomb", "one value"],
    ),
    "limits the wrong way": ([("link.0.limits.position", [3, -3])], ["limits.position", "[3, -3]", "lower"]),
    "a negative limit": ([("link.0.limits.velocity", -5)], ["limits.velocity", "-5", "positive"]),
    # structure
    "two links of one name": ([("link.1.name", "upper arm")], ["'upper arm'", "two links", "differ"]),
    "a link named base": ([("link.0.name", "base")], ["base", "choose another"]),
    "an unknown parent": ([("link.1.parent", "hand")], ["forearm", "parent", "'hand'", "base, upper arm"]),
    "a parent that comes later": ([("link.0.parent", "forearm")], ["upper arm", "parent", "later", "base"]),
    "a parent that is the link": ([("link.1.parent", "forearm")], ["forearm", "parent", "base, upper arm"]),
    "an unknown tip": ([("tip", "hand")], ["tip", "'hand'", "base, upper arm, forearm, flange"]),
    "no moving joint": ([("link", [TABLE["link"][2]])], ["no moving joint", "revolute", "prismatic"]),
    "friction on a fixed joint": (
        [("link.2.friction", {"viscous": 1})],
        ["flange", "friction", "fixed joint"],
    ),
    "an elastic motor on a fixed joint": (
        [("link.2.motor", {"gear": 1, "inertia": 1, "stiffness": 5})],
        ["flange", "motor.stiffness", "a fixed joint is not elastic"],
    ),
    # motors
    "a motor on no link": (
        [("link.0.motor.carrier", "elbow"), ("link.0.motor.axis", [0, 0, 1])],
        ["upper arm", "motor.carrier", "'elbow'", "base, flange, forearm, upper arm"],
    ),
    "a motor on no link, without an axis": (
        [("link.0.motor.carrier", "elbow")],
        ["upper arm", "motor.carrier", "'elbow'", "base, flange, forearm, upper arm"],
    ),
    "a motor on a link that is not named so": (
        [("link.1.name", "upper arm"), ("link.0.motor.carrier", "forearm")],
        ["two links are named 'upper arm'", "differ"],
    ),
    "two links of one name and a motor on a third": (
        [("link.2.name", "forearm"), ("link.0.motor.carrier", "flange")],
        ["two links are named 'forearm'", "differ"],
    ),
    "a carrier that is no text": ([("link.0.motor.carrier", 3)], ["upper arm", "motor.carrier", "text", "3"]),
    "no axis on another carrier": (
        [("link.0.motor.carrier", "forearm")],
        ["upper arm", "motor.axis", "missing", "'forearm'", "required"],
    ),
    "a zero axis": ([("link.0.motor.axis", [0, 0, 0])], ["upper arm", "motor.axis", "[0, 0, 0]", "zero"]),
    "an axis with symbols": ([("link.0.motor.axis", ["a1", 0, 1])], ["motor.axis", "a1", "three numbers"]),
    "a zero gear": ([("link.0.motor.gear", 0)], ["upper arm", "motor.gear", "found 0", "sign"]),
    "a zero gear by a symbol": (
        [("symbols.k", 0), ("link.0.motor.gear", "k")],
        ["upper arm", "motor.gear", "0", "sign"],
    ),
    "a coupling to no link": (
        [("link.0.motor.coupling", {"hand": 1})],
        ["upper arm", "motor.coupling", "'hand'", "forearm"],
    ),
    "a coupling to itself": (
        [("link.0.motor.coupling", {"upper arm": 1})],
        ["upper arm", "motor.coupling", "'upper arm'", "forearm"],
    ),
    "a coupling to a fixed link": (
        [("link.0.motor.coupling", {"flange": 1})],
        ["upper arm", "motor.coupling", "'flange'", "moving links: forearm"],
    ),
    # symbols
    "a symbol named pi": ([("symbols.pi", 3)], ["symbols.pi", "taken"]),
    "a symbol named like a variable": ([("symbols.c12", 3)], ["symbols.c12", "taken", "c1"]),
    "a symbol named like a motor's sign": ([("symbols.sgnm1", 3)], ["symbols.sgnm1", "taken"]),
    "a symbol that is no name": ([("symbols", {"2x": 1, "g": 1, "a1": 1})], ["symbols.2x", "letter"]),
    "a symbol with a blank": ([("symbols.a b", 3)], ["symbols.a b", "letter"]),
}


@pytest.mark.parametrize(("edits", "parts"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_table_and_its_message(edits, parts):
    text = message(edited(*edits))
    assert text.startswith("arm: ") or not isinstance(edited(*edits).get("name"), str) or "name" in parts[0]
    assert "\n" not in text
    for part in parts:
        assert part in text, f"{part!r} is not in {text!r}"


def test_numpy_numbers_and_vectors_are_numbers():
    arrays = edited(
        ("gravity", np.array([0, 0, -9.81])),
        ("link.0.mass", np.array(2.0)),
        ("link.0.com", np.array([0.1, 0, 0])),
        ("link.0.friction.coulomb", np.array([0.3, -0.2])),
        ("link.0.limits.velocity", np.int64(5)),
        ("link.1.motor.axis", np.array([0, 0, 1])),
    )
    lists = edited(("gravity", [0, 0, -9.81]), ("link.1.motor.axis", [0, 0, 1]))
    assert Robot.from_dict(arrays) == Robot.from_dict(lists)


def test_a_free_symbol_in_coulomb_friction():
    """As one value and in a pair, of the joint and of the motor: the equations have it."""
    for value in ("F", ["F", "-F"], ["F", -0.2], ["2*F", "-F"]):
        robot = Robot.from_dict(edited(("symbols.F", "free"), ("link.0.friction.coulomb", value)))
        assert "F" in str(robot.equations().friction[0])
        with golden_error(ArmdynError):
            robot.friction([0, 0])
    robot = Robot.from_dict(edited(("symbols.F", "free"), ("link.0.motor.friction.coulomb", "F")))
    assert "F" in str(robot.equations().friction[0])


@pytest.mark.parametrize("table", [None, 3, "puma560", [], [("name", "arm")]], ids=repr)
def test_something_that_is_no_table(table):
    with golden_error(ArmdynError):
        Robot.from_dict(table)


# ---- files -------------------------------------------------------------------------------------------------


def file_message(path):
    with pytest.raises(DescriptionError) as caught:
        Robot.load(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_missing_file_names_the_bundled_robots(tmp_path):
    text = file_message(tmp_path / "none.toml")
    for part in ("none.toml", "No such file", "puma560", "planar", "bundled"):
        assert part in text


def test_a_misspelt_name_names_the_bundled_robots():
    text = file_message("puma506")
    assert "puma506" in text
    assert "puma560" in text


def test_a_directory(tmp_path):
    text = file_message(tmp_path)
    assert str(tmp_path) in text
    assert "directory" in text


def test_a_binary_file(tmp_path):
    path = tmp_path / "robot.toml"
    path.write_bytes(bytes(range(256)))
    text = file_message(path)
    assert str(path) in text
    assert "TOML" in text


@pytest.mark.parametrize("text", ["name = ", "<robot/>", "a = 1\na = 2", "[[link]\n", "\x00"], ids=repr)
def test_a_file_that_is_not_toml(tmp_path, text):
    path = tmp_path / "robot.toml"
    path.write_text(text)
    found = file_message(path)
    assert str(path) in found
    assert "TOML" in found


def test_an_empty_file(tmp_path):
    path = tmp_path / "robot.toml"
    path.write_text("")
    found = file_message(path)
    assert str(path) in found
    assert "convention" in found


def test_deep_nesting(tmp_path):
    path = tmp_path / "robot.toml"
    path.write_text("a = " + "[" * 20_000)
    assert str(path) in file_message(path)


@pytest.mark.parametrize("number", ["nan", "-inf", "inf", "1e999", "1e-999"])
def test_a_number_in_a_file_that_is_no_number(tmp_path, number):
    """The key is named too, though the TOML reader is the first to see the number."""
    path = tmp_path / "robot.toml"
    path.write_text(FILE.replace("mass = 2", f"mass = {number}"))
    text = file_message(path)
    for part in (str(path), "mass"):
        assert part in text, text


def test_a_wrong_key_in_a_file_names_the_file(tmp_path):
    path = tmp_path / "robot.toml"
    path.write_text(FILE.replace("alpha = 0", "alfa = 0", 1))
    text = file_message(path)
    for part in (str(path), "link 'forearm'", "alpha", "missing"):
        assert part in text


@pytest.mark.parametrize("path", [123, None, b"robot.toml", 1.5], ids=repr)
def test_a_path_that_is_none(path):
    with pytest.raises((ArmdynError, TypeError)):
        Robot.load(path)


# ---- what is only warned of --------------------------------------------------------------------------------


def test_triangle_inequality_is_a_warning():
    table = edited(("link.0.inertia", {"xx": 1, "yy": 1, "zz": 3}))
    with golden_warning(PhysicsWarning):
        robot = Robot.from_dict(table)
    assert any("triangle" in text for text in robot.warnings)
    assert np.isfinite(robot.inertia([0, 0])).all()


def test_a_warning_points_at_the_line_that_loads(tmp_path):
    table = edited(("link.0.inertia", {"xx": 1, "yy": 1, "zz": 3}))
    path = tmp_path / "robot.toml"
    path.write_text(FILE.replace("zz = 0.1", "zz = 0.3", 1))
    for load in (lambda: Robot.from_dict(table), lambda: Robot.load(path)):
        with golden_warning(PhysicsWarning) as caught:
            load()
        assert caught[0].filename == __file__


def test_triangle_inequality_in_a_file_is_a_warning(tmp_path):
    text = FILE.replace("xx = 0.1, yy = 0.1, zz = 0.1", "xx = 0.1, yy = 0.1, zz = 0.3", 1)
    with golden_warning(PhysicsWarning):
        load_text(tmp_path, text)


def test_inertia_without_mass_is_a_warning():
    with golden_warning(PhysicsWarning):
        Robot.from_dict(edited(("link.0.mass", 0), ("link.0.com", [0, 0, 0])))


def test_a_decimal_quarter_turn_is_a_warning():
    with pytest.warns(PhysicsWarning, match=r"1\.5708.*pi/2"):
        Robot.from_dict(edited(("link.0.alpha", 1.5708)))


@pytest.mark.parametrize("alpha", [0.001, -0.0005, 1.5, "pi/2", "0.3*pi", 0])
def test_other_angles_are_not_warned_of(alpha):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Robot.from_dict(edited(("link.0.alpha", alpha)))


def test_bundled_robots_are_not_warned_of():
    """PUMA's published inertias break the triangle inequality; `warnings` still says so."""
    assert any("triangle" in text for text in Robot.load("puma560").warnings)


# ---- bodies that are possible ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        {"mass": 2.3, "com": [0.3, 0.1, 0.2]},
        {"mass": 1.37, "com": [0.69, 0.52, -0.16]},
        {"mass": 51.7, "com": [1.3, -2.1, 0.7]},
        {"mass": 0.001, "com": [0.3, 0.1, 0.2]},
        {"mass": 2.3, "com": ["1/3", "-1/7", "sqrt(2)"]},
        {"mass": 4, "com": [1.3, -2.1, 0.7], "inertia": {"yy": 0.3, "zz": 0.3}},
        {"mass": 4, "com": [1.3, -2.1, 0.7], "inertia": {"xx": 0.1, "yy": 0.2, "zz": 0.3}},
        {"mass": 1e4, "com": [13, -11, 7], "inertia": {"xx": 1e-3, "yy": 2e-3, "zz": 3e-3}},
        {"mass": 0},
    ],
    ids=lambda body: ", ".join(map(str, body.values())),
)
def test_point_masses_and_rods_and_plates_are_bodies(body):
    """On the edge of the possible, where rounding must not decide."""
    link = {key: value for key, value in TABLE["link"][0].items() if key not in ("mass", "com", "inertia")}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = Robot.from_dict(edited(("link.0", link | body)))
    assert robot.warnings == []


# ---- symbols without a value -------------------------------------------------------------------------------


def test_a_free_symbol_is_refused_in_numbers_and_works_in_equations():
    robot = Robot.from_dict(edited(("symbols.m", "free"), ("link.0.mass", "m")))
    for call in (
        lambda: robot.parameters,
        lambda: robot.inertia([0, 0]),
        lambda: robot.inverse_dynamics([0, 0], [0, 0], [0, 0]),
    ):
        with golden_error(ArmdynError):
            call()
    equations = robot.equations()
    assert equations.B.shape == (2, 2)
    assert "m" in equations.basis.full.names
    assert equations.prove()


def test_a_payload_declares_its_symbols_free():
    robot = Robot.from_dict(TABLE).with_payload("mp", ["x", 0, 0])
    assert dict(robot.model.symbols)["mp"] is None
    with golden_error(ArmdynError):
        robot.inertia([0, 0])
    assert robot.equations().prove()


def test_arguments_of_changed_robots_are_checked():
    robot = Robot.from_dict(TABLE)
    with golden_error(ArmdynError):
        robot.with_payload(1, inertia={"x": 1})
    with pytest.raises(ArmdynError, match=r"com: expected 3 numbers, found 2"):
        robot.with_payload(1, [0, 0])
    with golden_error(ArmdynError):
        robot.with_payload(1, link="hand")
    with golden_error(ArmdynError):
        robot.with_payload(1, link="base")
    with pytest.raises(ArmdynError, match=r"gravity: expected 3 numbers, found 2"):
        robot.with_gravity([0, 0])
    with golden_error(ArmdynError):
        robot.with_rotors("all")
    with golden_error(ArmdynError):
        robot.symbolic(zeros="all")
    for wrong in (math.nan, True, None, "1 +"):
        with pytest.raises(ArmdynError):
            robot.with_payload(wrong)
