"""No input crashes: a spoiled table or file is a robot or an `ArmdynError`, and so are its numbers."""

import copy
import datetime
import json
import math
import sys
import warnings
from decimal import Decimal
from fractions import Fraction
from importlib import resources

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from armdyn import ArmdynError, Expression, PhysicsWarning, Robot
from armdyn.description.plausibility import suspicions
from armdyn.description.robot_file import build
from armdyn.description.writing.table import table_of

LOOP: dict = {"mass": 1}
LOOP["inertia"] = LOOP
RING: list = [0, 0]
RING.append(RING)
DEEP: list = []
for _ in range(5000):
    DEEP = [DEEP]

VALUES = [
    *(None, True, False, 0, 1, -1, 10**400, -(10**400), 0.1, -0.0, math.nan, math.inf, 1e308, 5e-324),
    *("", " ", "x", "g", "a1", "base", "upper arm", "forearm", "pi/2", "1/g", "1/(g - g1)", "free"),
    *("1/(a1 - a1)", "g**-16", "a1*1e299*1e299", "sqrt(g)", "sqrt(-1)", "abs(g)", "cos(g)", "1e999"),
    *("(" * 300, "-" * 1500 + "1", "9**9**9**9", "lambda: 0", "a1 if g else 0", "\x00", "\\d", "é"),
    *([], [0], [0, 0, 1], ["a1", "g", 1], [[0, 0, 1]], [math.nan] * 3, [1e200] * 3, [1e-200, 0, 0]),
    *({}, {"xyz": [0, 0, 0]}, {"x": {}}, {1: 2}, {"axial": 1}, {"viscous": "g"}),
    *(b"bytes", (0, 0, 1), {0, 1}, 1j, Fraction(1, 3), Decimal("0.1"), Decimal("NaN"), np.float32(0.5)),
    *(10**10_000, "9" * 10_000, {10**10_000: 1}, [10**10_000] * 3, Fraction(10**400), 90, -180, 450, 1e6),
    *(
        LOOP,
        RING,
        DEEP,
        {"axial": LOOP},
        {None: 1},
        np.array(2.0),
        np.array(True),
        np.zeros((3, 3)),
        np.zeros(0),
    ),
    *(
        np.array([0, np.nan, 0]),
        np.array(["g", "a1", "1"]),
        np.array([None] * 3),
        np.ma.masked_all(3),
        np.int8(3),
    ),
    *("a\nb", "\x1b[31m", "\ud800", "x" * 5000, "base\n", Expression.symbol("zz"), Expression.pi()),
    *(np.array([0.0, 0.0, 1.0]), datetime.datetime(2020, 1, 1), object(), print, range(3)),
]
JUNK = st.one_of(
    st.sampled_from(VALUES),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.lists(st.floats(-2, 2), min_size=3, max_size=3),
    st.text("a1g+-*/()., 0123456789e", max_size=20),
)

TABLES = [
    {
        "name": "dh",
        "convention": "dh",
        "gravity": [0, 0, "-g"],
        "rotors": "exact",
        "tip": "forearm",
        "tool": {"xyz": [0, 0, 0.1], "rpy": [0, "pi/2", 0]},
        "symbols": {"g": 9.81, "a1": 0.5, "g1": 9.81},
        "link": [
            {
                "name": "upper arm",
                "parent": "base",
                "joint": "revolute",
                "a": "a1",
                "alpha": "pi/2",
                "d": 0,
                "theta": 0.3,
                "mass": 2,
                "com": [0.1, 0, 0],
                "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.1, "xy": 0.01},
                "friction": {"viscous": 0.1, "coulomb": [0.3, -0.2], "offset": 0.1},
                "limits": {"position": [-3, 3], "velocity": 5, "acceleration": 1, "jerk": 1, "torque": 10},
                "motor": {
                    "carrier": "forearm",
                    "axis": [0, 1, 1],
                    "position": [0, 0, 0.1],
                    "gear": 100,
                    "inertia": {"axial": 0.01, "transverse": 0.005},
                    "mass": 1,
                    "friction": {"viscous": 0.001, "coulomb": 0.1},
                    "coupling": {"forearm": 2},
                    "torque_constant": 0.1,
                },
            },
            {
                "name": "forearm",
                "joint": "prismatic",
                "a": 0,
                "alpha": "a1",
                "d": 0,
                "theta": 0,
                "mass": 1,
                "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.1},
                "motor": {"gear": -20, "inertia": 0.01},
            },
        ],
    },
    {
        "name": "frames",
        "convention": "frames",
        "gravity": [0, 0, -9.81],
        "symbols": {"g": 1, "a1": "free"},
        "link": [
            {"name": "plate", "joint": "fixed", "origin": {"xyz": [0, 0, 1], "rpy": [0.1, 0.2, 0.3]}},
            {
                "name": "arm",
                "joint": "revolute",
                "origin": {"xyz": [0, "g", 1]},
                "axis": [1, 1, 0],
                "mass": "g",
                "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.1},
            },
        ],
    },
    {
        "name": "what armdyn writes",
        "convention": "frames",
        "gravity": [0, 0, -9.81],
        "physical": False,
        "derived": True,
        "symbols": {"g": 1, "a1": "free"},
        "base": {"name": "floor", "xyz": [0, 0, 1], "rotation": [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]},
        "link": [
            {
                "name": "arm",
                "joint": "revolute",
                "joint_name": "shoulder",
                "origin": {"xyz": [0, 0, 0], "rotation": [["3/5", "-4/5", 0], [0.8, 0.6, 0], [0, 0, 1]]},
                "axis": [1, 1, 0],
                "after": {"xyz": ["a1", 0, 0], "rpy": [0, 0.1, 0]},
                "mass": -1,
                "first_moment": ["g", 0, 0.1],
                "inertia": {"about": "origin", "xx": 0.1, "xy": 3},
            },
            {"name": "hand", "joint": "prismatic", "origin": {"xyz": [0, 0, 0]}, "axis": [0, 0, 1]},
        ],
        "closure": [{"relation": {"hand": 1, "arm": "a1"}, "offset": "g/3"}],
    },
    {
        "name": "springs and elastic joints",
        "convention": "frames",
        "gravity": [0, 0, -9.81],
        "symbols": {"k": 3},
        "link": [
            {
                "name": "arm",
                "joint": "revolute",
                "origin": {"xyz": [0, 0, 0]},
                "axis": [0, 0, 1],
                "mass": 1,
                "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.1},
                "spring": {"stiffness": "k", "rest": 0.1},
                "guess": 0.2,
                "motor": {"gear": 10, "inertia": 0.1, "stiffness": "100*k", "damping": 1},
            },
            {
                "name": "hand",
                "joint": "prismatic",
                "origin": {"xyz": [0, 0, 0]},
                "axis": [0, 0, 1],
                "mass": 1,
                "actuated": False,
            },
        ],
        "spring": [
            {
                "name": "coil",
                "between": ["base", "hand"],
                "at": [[0, 0, 1], ["k", 0, 0]],
                "stiffness": "k",
                "rest": 0.1,
                "force": -1,
            },
        ],
    },
]
CLOSED = {
    "name": "a loop",
    "convention": "frames",
    "gravity": [0, 0, -9.81],
    "symbols": {"k": 0.5},
    "link": TABLES[-1]["link"],
    "closure": [
        {"between": ["hand", "base"], "at": [{"xyz": ["k", 0, 0]}, {"rpy": [0, 0, 1]}], "joint": "spherical"}
    ],
}


DEEPEST = 10  # level of a table at which it is spoiled


def places(part, path=()):
    """Every place in a table, as a path; not all of what has been put there and is nested without end."""
    found = [path] if path else []
    if len(path) > DEEPEST:
        return found
    items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, value in items:
        found += places(value, (*path, key))
    return found


def own(value):
    """A copy, also of lists too deep for Python's usual stack: nothing is spoiled that other examples use."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    try:
        return copy.deepcopy(value)
    finally:
        sys.setrecursionlimit(usual)


@st.composite
def spoiled(draw, tables=tuple(TABLES)):
    table = copy.deepcopy(draw(st.sampled_from(tables)))
    for _ in range(draw(st.integers(1, 3))):
        spots = places(table)
        if not spots:
            break
        *parents, last = draw(st.sampled_from(spots))
        part = table
        for key in parents:
            part = part[key]
        action = draw(st.sampled_from(["set", "set", "set", "delete", "rename", "double"]))
        if action == "delete":
            del part[last]
        elif action == "rename" and isinstance(part, dict):
            part[draw(st.one_of(st.text(max_size=5), st.sampled_from(["x", "a", "mass", 3])))] = part.pop(
                last
            )
        elif action == "double" and isinstance(part, list):
            part.append(own(part[last]))
        else:
            part[last] = own(draw(JUNK))
    return table


def use(make):
    """Make a robot and use it; only an `ArmdynError` may come of it, and only a `PhysicsWarning`."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PhysicsWarning)
        robot = None
        try:
            robot = make()
        except ArmdynError as error:
            said = str(error)
        else:
            said = " ".join(robot.warnings)
        assert "\n" not in said
        assert len(said) < 4000
        if robot is None:
            return
        assert hash(robot) == hash(robot)
        x = np.full(robot.n, 0.5)
        try:
            robot.inverse_dynamics(x, x, x)
            robot.pose(x)
            assert len(robot.parameters) == len(robot.parameter_names)
        except ArmdynError:
            return


def many(examples):
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )


QUICK = [50, pytest.param(5000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("examples", QUICK)
def test_a_spoiled_table_and_a_robot_or_an_error(examples):
    @many(examples)
    @given(spoiled())
    def check(table):
        use(lambda: Robot.from_dict(table))

    check()


@pytest.mark.parametrize("examples", [15, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_spoiled_loop_and_a_model_or_an_error(examples):
    @many(examples)
    @given(spoiled((CLOSED,)))
    def check(table):
        model, said = None, ""
        try:
            model = build(table, "loop")
        except ArmdynError as error:
            said = str(error)
        if model is not None:
            assert build(table_of(model), "loop") == model
            said = " ".join(suspicions(model))
        assert "\n" not in said
        assert len(said) < 4000

    check()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(VALUES)))
def test_one_wrong_value_at_every_place(number):
    for table in TABLES:
        for *parents, last in places(table):
            spoilt = copy.deepcopy(table)
            part = spoilt
            for key in parents:
                part = part[key]
            part[last] = own(VALUES[number])
            use(lambda spoilt=spoilt: Robot.from_dict(spoilt))


@st.composite
def spoiled_text(draw):
    name = draw(st.sampled_from(["planar", "scara", "panda", "stanford"]))
    text = (resources.files("armdyn.description") / "robots" / f"{name}.toml").read_text("utf-8")
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        new = draw(
            st.one_of(
                st.text(max_size=8),
                st.sampled_from(
                    [
                        "",
                        '"',
                        "[",
                        "]",
                        "{",
                        "}",
                        "=",
                        "\n",
                        "nan",
                        "-inf",
                        "1e999",
                        "'''",
                        "[[link]]\n",
                        "\x00",
                    ]
                ),
                st.text('=[]{}"\n,.0123456789-+eabx_', max_size=8),
            )
        )
        text = text[:start] + new + text[end:]
    return text


@pytest.mark.parametrize("examples", QUICK)
def test_a_spoiled_file_and_a_robot_or_an_error(examples, tmp_path):
    path = tmp_path / "robot.toml"

    @many(examples)
    @given(spoiled_text())
    def check(text):
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        use(lambda: Robot.load(path))

    check()


@pytest.mark.parametrize("examples", QUICK)
def test_any_bytes_and_an_error(examples, tmp_path):
    path = tmp_path / "robot.toml"

    @many(examples)
    @given(st.binary(max_size=80))
    def check(content):
        path.write_bytes(content)
        with pytest.raises(ArmdynError):
            Robot.load(path)

    check()


@pytest.mark.parametrize("examples", QUICK)
def test_any_text_for_a_number_and_an_error(examples):
    @many(examples)
    @given(st.one_of(st.text(max_size=30), st.text("g1.e+-*/() ^%,:[]'\"\\sqrtabcoinp_", max_size=30)))
    def check(text):
        table = copy.deepcopy(TABLES[0])
        table["link"][0]["mass"] = text
        use(lambda: Robot.from_dict(table))

    check()


# ---- files -------------------------------------------------------------------------------------------------


@st.composite
def strange_files(draw):
    """A good file in a wrong encoding, with a mark before it, repeated, cut, or with a part drawn out."""
    name = draw(st.sampled_from(["planar", "scara", "panda"]))
    text = (resources.files("armdyn.description") / "robots" / f"{name}.toml").read_text("utf-8")
    piece = draw(
        st.sampled_from(
            ["a.", '"a".', "[", "{a=", "9", "'", '"""', "\\", "#", "\n", "\ufeff", "\x00", "é", "[[link]]\n"]
        )
    )
    count = draw(st.sampled_from([1, 2, 15, 16, 17, 300, 5000, 60_000]))
    at = draw(st.integers(0, len(text)))
    text = text[:at] + piece * count + text[at:]
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1", "cp037"]))
    return text.encode(encoding, "replace")[: draw(st.sampled_from([None, None, 1, 100, 1001]))]


@pytest.mark.parametrize("examples", QUICK)
def test_a_strange_file_and_a_robot_or_an_error(examples, tmp_path):
    path = tmp_path / "robot.toml"

    @many(examples)
    @given(strange_files())
    def check(content):
        path.write_bytes(content)
        use(lambda: Robot.load(path))

    check()


def test_the_tables_are_right():
    """What is spoiled above is a robot before."""
    for table in TABLES:
        assert Robot.from_dict(copy.deepcopy(table)).n
    assert json.dumps(TABLES)  # plain data
