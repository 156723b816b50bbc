"""Loops, springs, passive and elastic joints in a robot file: read, refused, warned of, written, compared."""

import copy
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

from armdyn import DescriptionError, Robot
from armdyn.description.dh_table import in_dh
from armdyn.description.difference import difference
from armdyn.description.plausibility import suspicions
from armdyn.description.robot_file import build
from armdyn.description.source import parse_toml
from armdyn.description.writing.table import table_of
from armdyn.description.writing.toml import toml_text
from armdyn.expression import Expression
from armdyn.model.parts import JointSpring
from armdyn.model.vector import add, apply
from arms import Plan, assert_same, law, plans, quietly
from golden_messages import golden_error
from opened_loops import rod
from random_descriptions import ANGLES, LENGTHS, varied_table

FOUR_BAR = {
    "name": "four-bar",
    "convention": "frames",
    "gravity": [0, -9.81, 0],
    "symbols": {"L": 0.7, "k": 12},
    "link": [
        rod("crank", spring={"stiffness": "k", "rest": 0.3}),
        rod("coupler", origin={"xyz": ["L", 0, 0]}, actuated=False, guess="pi/3"),
        rod("rocker", parent="base", origin={"xyz": [1, 0, 0]}, actuated=False),
        rod("plate", joint="fixed", parent="rocker"),
    ],
    "closure": [
        {
            "between": ["coupler", "rocker"],
            "at": [{"xyz": ["2*L", 0, 0]}, {"xyz": [1, 0, 0], "rpy": [0, 0, "pi/3"]}],
            "joint": "revolute",
        }
    ],
    "spring": [
        {
            "name": "gas",
            "between": ["base", "crank"],
            "at": [[0, 1, 0], ["L/2", 0, 0]],
            "stiffness": "k/3",
            "rest": 0.1,
            "force": -5,
        },
        {"between": ["crank", "plate"], "at": [[0, 0, 0], [0, 0.1, 0]], "force": 3},
    ],
}
MOTOR = {"gear": 10, "inertia": 0.01}
DELETE = object()


def edited(*edits):
    """The four-bar with entries set by path ("link.0.spring.rest"), or deleted."""
    table = copy.deepcopy(FOUR_BAR)
    for path, value in edits:
        *parents, last = path.split(".")
        part = table
        for key in parents:
            part = part[int(key)] if isinstance(part, list) else part[key]
        if value is DELETE:
            del part[last]
        else:
            part[int(last) if isinstance(part, list) else last] = value
    return table


def test_what_is_read():
    model = build(FOUR_BAR, "four-bar")
    crank, coupler, rocker, _ = model.links
    assert crank.spring == JointSpring(Expression.symbol("k"), Expression.of(0.3))
    assert [link.actuated for link in (crank, coupler, rocker)] == [True, False, False]
    assert coupler.guess == Expression.pi() / 3
    (loop,) = model.loops
    assert (loop.between, loop.joint) == (("coupler", "rocker"), "revolute")
    assert [model.number(x) for x in loop.at[0].p] == [1.4, 0, 0]
    R = np.array([[model.number(x) for x in row] for row in loop.at[1].R])
    assert np.allclose(R[:2, :2], [[0.5, -np.sqrt(0.75)], [np.sqrt(0.75), 0.5]])
    gas, pull = model.springs
    assert [model.number(x) for x in (gas.stiffness, gas.rest, gas.force)] == [4, 0.1, -5]
    assert (gas.name, pull.name, pull.stiffness) == ("gas", "", Expression.of(0))
    motor = {**MOTOR, "stiffness": "100*k", "damping": 0.5}
    motor_read = build(edited(("link.0.motor", motor)), "x").links[0].motor
    assert motor_read.stiffness == 100 * Expression.symbol("k")
    assert motor_read.damping == Expression.of(0.5)


def test_frames_of_a_loop_are_those_of_the_links_where_nothing_else_is_said():
    (loop,) = build(edited(("closure.0.at", DELETE)), "x").loops
    (same,) = build(edited(("closure.0.at", [{}, {"xyz": [0, 0, 0]}])), "x").loops
    assert loop == same


LINKS = "links: base, crank, coupler, rocker, plate"
WRONG = {
    "both": (
        [("closure.0.relation", {"crank": 1})],
        ["closure[1].between", "beside relation", "one of them"],
    ),
    "neither": ([("closure.0", {"joint": "fixed"})], ["closure[1]", "neither relation nor between"]),
    "closures": ([("closure", {"between": ["crank", "base"]})], ["closure: expected one [[closure]] table"]),
    "no list": ([("closure.0.between", "crank")], ["closure[1].between", "names of two links", "'crank'"]),
    "three": ([("closure.0.between", ["crank"] * 3)], ["closure[1].between", "names of two links"]),
    "no text": ([("closure.0.between", ["crank", 3])], ["closure[1].between", "names of two links"]),
    "unknown": ([("closure.0.between.1", "z")], ["'coupler' and 'z': between: found 'z'", LINKS]),
    "twice": ([("closure.0.between.1", "coupler")], ["found 'coupler' twice; two different links"]),
    "one body": ([("closure.0.between.0", "plate")], ["'plate' and 'rocker' are one body"]),
    "no joint": ([("closure.0.joint", DELETE)], ["closure[1].joint: missing", '"revolute", "spherical"']),
    "joint": ([("closure.0.joint", "ball")], ["closure[1].joint: found 'ball'; allowed:", '"point"']),
    "one frame": ([("closure.0.at", [{}])], ["closure[1].at: expected two tables { xyz, rpy }"]),
    "frame": ([("closure.0.at.1", [0, 0, 0])], ["closure[1].at[1]: expected a table"]),
    "key of a frame": ([("closure.0.at.0.z", 1)], ["closure[1].at[0].z: unknown key", "xyz"]),
    "offset of a loop": ([("closure.0.offset", 1)], ["closure[1].offset: unknown key", "between"]),
    "at of a relation": (
        [("closure.0", {"relation": {"coupler": 1, "crank": 1}, "at": []})],
        ["closure[1].at: unknown key", "offset"],
    ),
    "symbol": ([("closure.0.at.0.xyz.0", "z")], ["closure[1].at[0].xyz[0]", "unknown symbol 'z'"]),
    "no stiffness": ([("link.0.spring", {"rest": 1})], ["'crank'.spring.stiffness: missing"]),
    "key of a spring": ([("link.0.spring.force", 1)], ["'crank'.spring.force: unknown key"]),
    "number as a spring": ([("link.0.spring", 3)], ["'crank'.spring: expected a table, found 3"]),
    "negative": (
        [("link.0.spring.stiffness", -1)],
        ["'crank': spring.stiffness: found -1; zero or positive"],
    ),
    "fixed": ([("link.3.spring", {"stiffness": 1})], ["'plate': spring: a fixed joint has none"]),
    "fixed, passive": ([("link.3.actuated", False)], ["'plate': actuated: a fixed joint does not move"]),
    "fixed, guessed": ([("link.3.guess", 1)], ["'plate': guess: a fixed joint does not move"]),
    "flag": ([("link.0.actuated", "no")], ["'crank'.actuated: expected true or false"]),
    "guess": ([("link.0.guess", [1])], ["'crank'.guess: expected a number"]),
    "passive and elastic": (
        [("link.1.motor", MOTOR | {"stiffness": 3})],
        ["'coupler': motor.stiffness", "actuated = false"],
    ),
    "damping alone": (
        [("link.0.motor", MOTOR | {"damping": 3})],
        ["motor.damping", "without motor.stiffness"],
    ),
    "no transmission": (
        [("link.0.motor", MOTOR | {"stiffness": 0})],
        ["motor.stiffness: found 0; a positive"],
    ),
    "weak": ([("link.0.motor", MOTOR | {"stiffness": -3})], ["motor.stiffness: found -3; zero or positive"]),
    "driving": (
        [("link.0.motor", MOTOR | {"stiffness": 3, "damping": "-k"})],
        ["'crank': motor.damping: found -12; zero or positive"],
    ),
    "springs": ([("spring", {"force": 1})], ["spring: expected one [[spring]] table"]),
    "nothing": ([("spring.1.force", DELETE)], ["spring[2]", "neither stiffness nor force"]),
    "rest alone": ([("spring.1.rest", 1)], ["spring[2].rest: given without stiffness"]),
    "no points": ([("spring.0.at", DELETE)], ["spring[1].at: missing; two points"]),
    "one point": ([("spring.0.at", [[0, 0, 0]])], ["spring[1].at: expected two points [x, y, z]"]),
    "point": ([("spring.0.at.1", [0, 0])], ["spring[1].at[1]: expected a list of 3 numbers"]),
    "pose": ([("spring.0.at.1", {"xyz": [0, 0, 0]})], ["spring[1].at[1]: expected a list of 3 numbers"]),
    "no ends": ([("spring.0.between", DELETE)], ["spring[1].between: missing; the names of two links"]),
    "unknown end": ([("spring.0.between.0", "z")], ["spring 1 ('gas'): between: found 'z'", LINKS]),
    "same end": ([("spring.1.between.1", "crank")], ["spring 2: between: found 'crank' twice"]),
    "pushing": ([("spring.0.stiffness", -1)], ["spring 1 ('gas'): stiffness: found -1; zero or positive"]),
    "length": ([("spring.0.rest", -1)], ["spring 1 ('gas'): rest: found -1; zero or positive"]),
    "same name": ([("spring.1.name", "gas")], ["two springs are named 'gas'; names must differ"]),
    "empty name": ([("spring.1.name", "")], ["spring[2].name: expected a text"]),
    "unknown key": ([("spring.1.damping", 1)], ["spring[2].damping: unknown key", "force"]),
    "too much": (
        [("spring.0.rest", 1e200), ("spring.0.stiffness", 1e200)],
        ["spring 1 ('gas'): stiffness times rest:"],
    ),
}


@pytest.mark.parametrize(("edits", "parts"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_mechanism_and_its_message(edits, parts):
    with pytest.raises(DescriptionError) as caught:
        Robot.from_dict(edited(*edits))
    text = str(caught.value)
    assert text.startswith("four-bar: ")
    assert "\n" not in text
    for part in parts:
        assert part in text, f"{part!r} is not in {text!r}"


def test_numbers_that_overflow_are_refused_also_where_anything_is_allowed():
    table = edited(("spring.0.rest", 1e200), ("spring.0.stiffness", 1e200)) | {"physical": False}
    with golden_error(DescriptionError):
        build(table, "x")
    negative = edited(("spring.0.stiffness", -3), ("link.0.spring.stiffness", -1)) | {"physical": False}
    assert table_of(build(negative, "x"))["physical"] is False


# ---- what looks wrong --------------------------------------------------------------------------------------

WARNED = {
    "no closure or spring holds": [("closure", []), ("link.2.actuated", True)],  # the coupler's joint
    "'crank': its spring has no stiffness": [("link.0.spring.stiffness", 0)],
    "spring 2: it has neither stiffness nor force": [("spring.1.force", 0)],
    "spring 2: 'rocker' and 'plate' are one body": [("spring.1.between.0", "rocker")],
    "closure between 'coupler' and 'rocker': an angle of 60 rad": [("closure.0.at.1.rpy.2", 60)],
    'the angle 1.5708 is a decimal; "pi/2" would be exact': [("closure.0.at.1.rpy.2", 1.5708)],
    "closure between 'coupler' and 'rocker': a point at 700 m": [("closure.0.at.0.xyz.0", 700)],
    "spring 1 ('gas'): a point at 1000 m": [("spring.0.at.0.1", 1000)],
    "'coupler': its guess 1.0472 lies outside": [("link.1.limits", {"position": [-1, 1]})],
    "'coupler': actuated is false, but it has a motor": [("link.1.motor", MOTOR)],
}


@pytest.mark.parametrize("text", WARNED)
def test_what_looks_wrong(text):
    found = suspicions(build(edited(*WARNED[text]), "x"))
    assert len(found) == 1
    assert text in found[0]


def test_what_does_not_look_wrong():
    assert suspicions(build(FOUR_BAR, "x")) == []
    reflected = edited(("link.1.motor", {"gear": 1, "inertia": 0.01}))  # an armature, as imports have it
    flexible = edited(("closure", []), ("link.1.spring", {"stiffness": 9}), ("link.2.actuated", True))
    tied = edited(("closure", []), ("spring.0.between", ["base", "coupler"]), ("link.2.actuated", True))
    related = edited(("closure", [{"relation": {"coupler": 1, "rocker": 1, "crank": 2}}]))
    for table in (reflected, flexible, tied, related):
        assert suspicions(build(table, "x")) == []


def test_an_elastic_joint_without_a_rotor_is_refused():
    motor = {"gear": 10, "inertia": 0, "stiffness": 100}
    table = FOUR_BAR | {"link": [rod("crank", motor=motor)], "closure": [], "spring": []}
    with pytest.raises(DescriptionError, match=r"motor\.inertia: found 0; the motor of an elastic joint"):
        build(table, "x")


# ---- written -----------------------------------------------------------------------------------------------


def assert_written(model):
    """Table and text of a model are the model, and nothing differs."""
    table = table_of(model)
    text = toml_text(model)
    for read in (build(table, "x"), build(parse_toml(text, "x"), "x")):
        assert read == model
        assert not difference(model, read)
    return table, text


def test_what_people_write_is_what_is_written():
    table, text = assert_written(build(FOUR_BAR, "x"))
    assert table["closure"] == FOUR_BAR["closure"]
    assert table["spring"][1] == FOUR_BAR["spring"][1]
    assert 'at = [{ xyz = ["2*L", 0, 0] }, { xyz = [1, 0, 0], rpy = [0, 0, "pi/3"] }]\njoint = "rev' in text
    assert 'spring = { stiffness = "k", rest = 0.3 }' in text
    assert 'actuated = false\nguess = "pi/3"' in text
    assert "at = [[0, 0, 0], [0, 0.1, 0]]\nforce = 3\n" in text
    motor = {**MOTOR, "stiffness": "100*k", "damping": 0.5}
    assert table_of(build(edited(("link.0.motor", motor)), "x"))["link"][0]["motor"] == motor


def with_loops(plan: Plan, seed: int) -> dict:
    """A random robot with random loops and springs, described in all ways."""
    rng = random.Random(f"loops {seed}")
    table = varied_table(plan)
    root = table.get("base", {}).get("name", "base")
    names = [root, *(link["name"] for link in table["link"])]
    body = {root: root}
    for link in table["link"]:
        body[link["name"]] = body[link["parent"]] if link["joint"] == "fixed" else link["name"]
    pairs = [(a, b) for a in names for b in names if body[a] != body[b]]
    loops = []
    for _ in range(rng.randrange(1, 4)):
        pose = {"xyz": [rng.choice(LENGTHS) for _ in range(3)], "rpy": [rng.choice(ANGLES) for _ in range(3)]}
        loop = {
            "between": list(rng.choice(pairs)),
            "joint": rng.choice(["revolute", "spherical", "fixed", "point"]),
        }
        loops.append(loop | rng.choice([{}, {"at": [pose, {}]}, {"at": [{"xyz": ["L", 0, "x"]}, pose]}]))
    table["closure"] = [*table.get("closure", []), *loops]
    rng.shuffle(table["closure"])
    return table


@law(plans((1, 4), rotors=("exact", "reflected", "none")), st.integers(0, 2**32), examples=8, thorough=200)
def test_every_mechanism_and_what_is_read_from_its_file(plan, seed):
    model = quietly(lambda: build(with_loops(plan, seed), "x"))
    assert model.loops
    assert_written(model)
    suspicions(model)


# ---- compared ----------------------------------------------------------------------------------------------

CHANGES = [
    ("link.0.spring.rest", 0.6, "link 'crank': spring.rest 0.3 rad -> 0.6 rad (+100 %)"),
    (
        "link.0.spring.stiffness",
        "2*k",
        "link 'crank': spring.stiffness 'k' = 12 N m/rad -> '2*k' = 24 N m/rad (+100 %)",
    ),
    ("link.1.actuated", True, "link 'coupler': actuated false -> true"),
    ("link.1.guess", 0, "link 'coupler': guess pi/3 rad -> 0 rad"),
    ("closure.0.joint", "fixed", "closure 1: joint 'revolute' -> 'fixed'"),
    ("closure.0.between.1", "base", "closure 1: between 'coupler - rocker' -> 'coupler - base'"),
    ("closure.0.at.1.xyz.0", 2, "closure 1: at.2.xyz.x 1 m -> 2 m (+100 %)"),
    ("closure.0.at.1.rpy", [0, 0, 0], "closure 1: at.2.rpy.yaw pi/3 rad -> 0 rad"),
    ("closure", [], "closure 1: loop 'coupler - rocker' -> (none)"),
    ("spring.0.stiffness", 8, "spring 'gas': stiffness 'k/3' = 4 N/m -> 8 N/m (+100 %)"),
    ("spring.0.force", DELETE, "spring 'gas': force -5 N -> 0 N"),
    ("spring.1.at.1.1", 0.2, "spring 2: at.2.y 0.1 m -> 0.2 m (+100 %)"),
    ("spring.1.name", "pull", "spring 2: removed"),
]


@pytest.mark.parametrize(("path", "value", "expected"), CHANGES)
def test_a_change_and_what_is_said_of_it(path, value, expected):
    old, new = build(FOUR_BAR, "x"), build(edited((path, value)), "x")
    lines = [str(change) for change in difference(old, new)]
    assert expected in lines
    assert len(lines) == (2 if path == "spring.1.name" else 1)
    assert difference(new, old)


def test_renamed_links_are_the_same_in_closures_and_springs():
    text = toml_text(build(FOUR_BAR, "x")).replace('"crank"', '"kurbel"')
    found = difference(build(FOUR_BAR, "x"), build(parse_toml(text, "x"), "x"))
    assert [str(change) for change in found] == ["link 'crank': name 'crank' -> 'kurbel'"]


def test_the_order_of_named_springs_counts():
    named = edited(("spring.1.name", "pull"))
    swapped = named | {"spring": named["spring"][::-1]}
    (change,) = difference(build(named, "x"), build(swapped, "x"))
    assert str(change) == "robot: order of springs 'gas, pull' -> 'pull, gas'"


def test_a_motor_keeps_its_elasticity_behind_another_gear():
    table = edited(("link.0.motor", MOTOR | {"stiffness": 100, "damping": 2}), ("closure", []))
    robot = quietly(lambda: Robot.from_dict(table))
    motor = quietly(lambda: robot.with_motors({"crank": {"gear": 50}})).model.links[0].motor
    assert (motor.stiffness, motor.damping) == (Expression.of(100), Expression.of(2))
    softer = quietly(lambda: robot.with_motors({"crank": {"stiffness": 7}})).model.links[0].motor
    assert (softer.stiffness, softer.damping) == (Expression.of(7), Expression.of(2))


def test_loops_and_springs_stay_where_they_are_in_other_frames():
    """The chain of crank and coupler in DH frames: frames and points of links at the same places."""
    links = [
        rod("crank", after={"xyz": [0.1, 0.2, 0.3], "rpy": [0.3, "pi/2", 0]}),
        rod("coupler", origin={"xyz": [0.7, 0, 0.1], "rpy": ["pi/2", 0, 0]}, axis=[0, 1, 0]),
    ]
    ends = {"between": ["coupler", "base"]}
    at = [{"xyz": [0.1, 0.2, 0.3], "rpy": [0, 0, "pi/3"]}, {"xyz": [1, 0, 0]}]
    closure = [ends | {"at": at, "joint": "spherical"}]
    spring = [{"between": ["crank", "base"], "at": [[0.1, 0.2, 0.3], [1, 2, 3]], "stiffness": 3}]
    old = build({**FOUR_BAR, "link": links, "closure": closure, "spring": spring}, "x")
    new = in_dh(old, "dh")
    assert new.links != old.links
    q = np.array([0.3, -0.7])
    for name, points in (
        ("coupler", [model.loops[0].at[0].p for model in (old, new)]),
        ("base", [model.loops[0].at[1].p for model in (old, new)]),
        ("crank", [model.springs[0].at[0] for model in (old, new)]),
    ):
        worlds = [in_world(model, name, p, q) for model, p in zip((old, new), points, strict=True)]
        assert_same(worlds[0], worlds[1], 1e-12)
    ahead = [add(T.p, apply(T.R, (1, 2, 3))) for T in (old.loops[0].at[0], new.loops[0].at[0])]
    worlds = [in_world(model, "coupler", p, q) for model, p in zip((old, new), ahead, strict=True)]
    assert_same(worlds[0], worlds[1], 1e-12)


def in_world(model, link, p, q):
    """A point of a link in the world, loops left open."""
    robot = Robot(replace(model, loops=(), springs=()))
    T = np.eye(4) if link == "base" else robot.pose(q, link=link)
    R = np.array([[model.number(x) for x in row] for row in model.base.R])
    numbers = [model.number(x) for x in p]
    return R @ (T[:3, :3] @ numbers + T[:3, 3]) + [model.number(x) for x in model.base.p]
