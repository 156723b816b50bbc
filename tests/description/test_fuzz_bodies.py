"""No impossible body passes without a word, and no possible one gets any: random bodies by second moments."""

import copy
import random
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from armdyn import ArmdynError, Robot

QUICK = [25, pytest.param(5000, marks=pytest.mark.slow)]


def many(examples):
    return settings(
        max_examples=examples, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
    )


INDEX = {"xx": (0, 0), "xy": (0, 1), "xz": (0, 2), "yy": (1, 1), "yz": (1, 2), "zz": (2, 2)}


@st.composite
def bodies(draw, possible):
    """mass, com and inertia of a body by its second moments: of what can be, or with a negative one."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    mass = float(10 ** rng.uniform(-3, 4))
    second = 10 ** rng.uniform(-3, 0, 3) * 10 ** rng.uniform(-12, 0)  # of needles and of booms
    if not possible:  # the smaller the fault, the harder to see, down to ten times what printed digits allow
        second[rng.integers(3)] = -(10 ** rng.uniform(-5, 0)) * second.max()
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0] if rng.random() < 0.7 else np.eye(3)
    S = mass * Q @ np.diag(second) @ Q.T
    M = np.trace(S) * np.eye(3) - S
    direction = rng.normal(size=3)
    com = direction / np.linalg.norm(direction) * 10 ** rng.uniform(-3, 1.2) * (rng.random() < 0.9)
    inertia = {key: float(M[ij]) for key, ij in INDEX.items()}
    return {"mass": mass, "com": com.tolist(), "inertia": inertia}


def body_table(body, symbols, rng):
    """The body at the end of an arm that turns it about all axes; some of its numbers by symbols."""
    body = copy.deepcopy(body)
    if rng.random() < 0.3:  # by a symbol with a value, and as a difference
        symbols["J"] = body["inertia"]["xx"]
        symbols["s"] = 1e3
        body["inertia"]["xx"] = "J + s - 1000"
    return {
        "name": "arm",
        "convention": rng.choice(["dh", "mdh"]),
        "gravity": [0, 0, -9.81],
        "symbols": symbols,
        "link": [
            {"joint": "revolute", "a": 0.1, "alpha": "pi/2", "d": 0.2, "mass": 1, "inertia": SOUND},
            {"joint": "revolute", "a": 0.3, "alpha": "-pi/2", "d": 0, "mass": 1, "inertia": SOUND},
            {"name": "body", "joint": "revolute", "a": 0.3, "alpha": 0, "d": 0, **body},
        ],
    }


SOUND = {"xx": 0.1, "yy": 0.1, "zz": 0.1}


def complaints(table):
    """What is said about the body, by a refusal or by warnings that name it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            robot = Robot.from_dict(table)
        except ArmdynError as error:
            return [str(error)]
    assert len(robot.warnings) == len(caught)
    return [
        text for text in robot.warnings if "'body': " in text and ("principal" in text or "triangle" in text)
    ]


@pytest.mark.parametrize("examples", QUICK)
def test_an_impossible_body_and_a_refusal_or_a_warning(examples):
    @many(examples)
    @given(bodies(possible=False), st.integers(0, 9999))
    def check(body, seed):
        assert complaints(body_table(body, {}, random.Random(seed)))

    check()


@pytest.mark.parametrize("examples", QUICK)
def test_a_possible_body_and_nothing_said(examples):
    @many(examples)
    @given(bodies(possible=True), st.integers(0, 9999))
    def check(body, seed):
        assert complaints(body_table(body, {}, random.Random(seed))) == []

    check()


@pytest.mark.parametrize("examples", QUICK)
def test_an_impossible_body_beside_free_symbols(examples):
    """Free are numbers without which it is impossible all the same: mass, offset, entries of the tensor."""

    @many(examples)
    @given(bodies(possible=False), st.integers(0, 9999))
    def check(body, seed):
        rng = random.Random(seed)
        symbols = {"m": "free", "l": "free", "K": "free"}
        body["mass"] = rng.choice(["m", "2*m + l", "m + 1", body["mass"]])
        body["com"] = rng.choice([["l", 0, "-2*l"], [rng.uniform(-3, 3), "l + 2", 0], body["com"]])
        free = rng.sample(sorted(INDEX), rng.randint(0, 3))
        known = {key: x for key, x in body["inertia"].items() if key not in free}
        body["inertia"] |= {key: rng.choice(["K", "K + m*l**2", "-3*K"]) for key in free}
        if surely_impossible(known):
            assert complaints(body_table(body, symbols, rng))

    check()


def surely_impossible(known):
    """Whether the entries alone are those of no body: some axis, or pair of axes, is enough to see it."""
    diagonal = [known.get(key) for key in ("xx", "yy", "zz")]
    scale = 1e-5 * max(map(abs, known.values()), default=0.0)
    if any(x is not None and x < -scale for x in diagonal):
        return True
    if len(known) == 6:
        M = np.array([[known["".join(sorted(a + b))] for b in "xyz"] for a in "xyz"])
        return np.linalg.eigvalsh(np.trace(M) / 2 * np.eye(3) - M)[0] < -scale
    if None not in diagonal and max(diagonal) > sum(diagonal) - max(diagonal) + scale:
        return True
    pairs = {"xy": "zz", "xz": "yy", "yz": "xx"}
    return any(k in known and o in known and 2 * abs(known[k]) > known[o] + scale for k, o in pairs.items())
