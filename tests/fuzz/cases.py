"""The cases: spoiled descriptions, expressions, arrays, CSV files and command lines, each from a number."""

from __future__ import annotations

import contextlib
import copy
import io
import os
import random
import re
import sys
import tempfile
import warnings
from fractions import Fraction
from importlib import resources
from pathlib import Path
from unittest import mock

import numpy as np

import armdyn.cli
from armdyn import ArmdynError, PhysicsWarning, Robot, Trajectory, contributions, simulate
from armdyn.expression import parse
from fuzz.logs import log_case
from fuzz.mjcf import mjcf_case
from fuzz.urdf import urdf_case
from fuzz.watch import REFUSALS

SIGNS = "()[]{}<>.,:;=+-*/^%'\"\\#$&|!?~_ \t\n\r\0\x1b\ufeff\u202e\ud800éπ²0123456789eEpisqrtcoanbm"
NUMBERS = (
    0,
    1,
    -1,
    2,
    0.5,
    -0.1,
    1e-300,
    1e300,
    1e308,
    5e-324,
    10**400,
    float("nan"),
    float("inf"),
    True,
    None,
)


MANY: list = [1.0]  # a small list that stands in others many times
for _ in range(50):
    MANY = [MANY, MANY]
ENDLESS: dict = {}  # a table within itself
ENDLESS["mass"] = ENDLESS
QUOTES = ('"' * 3 + " " + '"' * 4, "'" * 3 + " " + "'" * 5, '"a"')  # each a whole text of TOML


def text_of(rng: random.Random, most: int = 12) -> str:
    return "".join(rng.choice(SIGNS) for _ in range(rng.randint(0, most)))


def spoiled_text(rng: random.Random, text: str, most: int = 3) -> str:
    """A text with pieces cut out, doubled, moved or replaced."""
    for _ in range(rng.randint(1, most)):
        i = rng.randint(0, len(text))
        j = min(len(text), i + rng.choice((0, 1, 2, 8, 60)))
        piece = text[i:j]
        new = rng.choice(
            (text_of(rng), piece * 2, piece[::-1], "", str(rng.choice(NUMBERS)), expression_text(rng, 2))
        )
        text = text[:i] + new + text[j:]
    return text


# ---- expressions -------------------------------------------------------------------------------------------


def expression_text(rng: random.Random, depth: int = 5) -> str:
    """An expression, now and then a wrong one."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(
            ("m", "l", "g", "pi", "2", "0.1", "-3", "1e-9", "1/3", "q1", "0", "9" * rng.randint(1, 30))
        )
    x = expression_text(rng, depth - 1)
    kind = rng.random()
    if kind < 0.45:
        return f"({x}{rng.choice('+-*/')}{expression_text(rng, depth - 1)})"
    if kind < 0.65:
        return f"({x})**{rng.choice((-16, -4, -2, -1, 0, 1, 2, 3, 4, 8, 16, 17, 0.5, '2*1', 'm'))}"
    if kind < 0.9:
        return f"{rng.choice(('sin', 'cos', 'sqrt', 'abs', 'tan', 'exp'))}({x})"
    return x + text_of(rng, 3)


def expression_case(number: int) -> str:
    rng = random.Random(f"expression {number}")
    text = expression_text(rng, rng.choice((2, 4, 6, 8)))
    if rng.random() < 0.1:
        text = spoiled_text(rng, text)
    found = parse(text, ("m", "l", "g"))
    values = {"m": rng.choice((0.9, 0.0, 1e200, 3.0)), "l": 0.5, "g": 9.81}
    value = found.value(values)
    str(found), hash(found), found.symbols()
    return "accepted" if isinstance(value, float) else f"foreign exception: value {value!r}"


# ---- descriptions ------------------------------------------------------------------------------------------


def table_of(rng: random.Random) -> dict:
    """A small robot with random bodies, of which some cannot exist."""
    links = []
    for i in range(rng.randint(1, 4)):
        turn, rank = (
            np.linalg.qr(np.array([[rng.gauss(0, 1) for _ in range(3)] for _ in range(3)]))[0],
            rng.random(),
        )
        moments = np.array([rng.uniform(0.01, 0.02) for _ in range(3)]) * 10.0 ** rng.randint(-4, 2)
        if rank < 0.3:
            moments[rng.randrange(3)] *= -1  # negative
        elif rank < 0.6:
            moments[rng.randrange(3)] *= 5  # beyond the triangle inequality
        I = turn @ np.diag(moments) @ turn.T
        tensor = dict(zip(("xx", "xy", "xz", "yy", "yz", "zz"), I[np.triu_indices(3)].tolist(), strict=True))
        link = {
            "name": f"link {i}",
            "joint": rng.choice(("revolute", "prismatic")),
            "origin": {
                "xyz": [rng.uniform(-1, 1) for _ in range(3)],
                "rpy": [rng.uniform(-3, 3) for _ in range(3)],
            },
            "axis": [rng.uniform(-1, 1) for _ in range(3)],
            "mass": rng.choice((0.1, 1, 30)),
            "com": [rng.uniform(-1, 1) * 10.0 ** rng.randint(-3, 4) for _ in range(3)],
            "inertia": tensor,
        }
        if rng.random() < 0.3:
            link["inertia"][rng.choice(("xy", "xz", "yz"))] = "free"
        if rng.random() < 0.5:
            link["motor"] = {"gear": rng.choice((100, -7, "k")), "inertia": 1e-4, "axis": [0, 1, 1]}
            if rng.random() < 0.3:
                link["motor"] |= {"stiffness": rng.choice((1e4, "k")), "damping": rng.choice((0, 2))}
        if rng.random() < 0.3:
            link["spring"] = {"stiffness": rng.choice((3, "k")), "rest": rng.uniform(-1, 1)}
        links.append(link)
    symbols = {"k": 50, "free": "free"}
    springs = []
    if rng.random() < 0.3:
        at = [[rng.uniform(-1, 1) for _ in range(3)] for _ in range(2)]
        springs = [{"between": ["base", "link 0"], "at": at, "stiffness": "k", "rest": 0.2, "force": -3}]
    top = {"name": "r", "convention": "frames", "gravity": [0, 0, -9.81], "symbols": symbols}
    return top | {"link": links, "spring": springs}


def places(part: object, path: tuple = ()) -> list[tuple]:
    found = [path] if path else []
    if part is MANY or part is ENDLESS:
        return found
    items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, value in items:
        found += places(value, (*path, key))
    return found


def spoil(rng: random.Random, table: dict) -> None:
    *parents, last = rng.choice(places(table))
    part = table
    for key in parents:
        part = part[key]
    junk = (
        *NUMBERS,
        text_of(rng),
        expression_text(rng),
        [],
        {},
        [1, 2, 3],
        np.ones(3),
        b"x",
        1j,
        Fraction(1, 3),
        ...,
        MANY,
        ENDLESS,
    )
    if rng.random() < 0.2:
        del part[last]
    elif rng.random() < 0.2 and isinstance(part, dict):
        part[rng.choice((text_of(rng), 3, None, "mass"))] = part.pop(last)
    else:
        part[last] = rng.choice(junk)


def impossible(link: dict) -> bool:
    """Whether no matter forms this body, its tensor about its centre of mass given in numbers throughout."""
    entries = [link["inertia"].get(key) for key in ("xx", "xy", "xz", "yy", "yz", "zz")]
    if not all(isinstance(x, float) for x in entries):
        diagonal = [x for x in (entries[0], entries[3], entries[5]) if isinstance(x, float)]
        return any(x < 0 for x in diagonal)
    I = np.zeros((3, 3))
    I[np.triu_indices(3)] = entries
    low, middle, high = np.linalg.eigvalsh(I + np.triu(I, 1).T)
    return low < -1e-6 * abs(high) or high > (low + middle) * (1 + 1e-6)


def description_case(number: int) -> str:
    rng = random.Random(f"description {number}")
    if rng.random() < 0.4:
        return _file_case(rng)
    table = table_of(rng)
    bodies = copy.deepcopy(table["link"])
    whole = rng.random() < 0.4
    for _ in range(0 if whole else rng.randint(1, 3)):
        spoil(rng, table)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        robot = Robot.from_dict(table)
    _use(robot)
    if whole and any(map(impossible, bodies)) and not any(w.category is PhysicsWarning for w in told):
        return f"impossible body: {bodies}"
    return "accepted"


def _file_case(rng: random.Random) -> str:
    name = rng.choice(("planar", "scara", "panda", "stanford", "elbow"))
    text = (resources.files("armdyn.description") / "robots" / f"{name}.toml").read_text("utf-8")
    if rng.random() < 0.05:
        text += "\n" + ".".join(["a"] * rng.choice((100, 10_000, 100_000))) + " = 1\n"
    if rng.random() < 0.05:
        text += f"\nx = [{rng.choice(QUOTES)}, {'[' * 50_000}"
    data = spoiled_text(rng, text).encode("utf-8", "surrogatepass")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.toml"
        path.write_bytes(data)
        _use(Robot.load(path))
    return "accepted"


def _use(robot: Robot) -> None:
    """What a user does next; numbers may be refused, as those of a robot with free symbols are."""
    str(robot), robot.warnings, hash(robot)
    x = np.full(robot.n, 0.5)
    with contextlib.suppress(ArmdynError):
        robot.inverse_dynamics(x, x, x)
        robot.parameters.sum()


# ---- arrays ------------------------------------------------------------------------------------------------

METHODS = {
    "inverse_dynamics": 3, "forward_dynamics": 3, "inertia": 1, "coriolis": 2, "gravity": 1, "friction": 1,
    "kinetic_energy": 2, "potential_energy": 1, "pose": 1, "jacobian": 1, "jacobian_dot": 2,
    "joint_wrenches": 3, "regressor": 3, "inverse_dynamics_derivatives": 3, "forward_dynamics_derivatives": 3,
}  # fmt: skip
ROBOTS = {name: Robot.load(name) for name in ("planar", "scara", "puma560")}


def array_of(rng: random.Random, n: int) -> object:
    """Mostly an array for n joints, often a wrong one."""
    good = rng.random() < 0.6
    shape = (n,) if good else rng.choice(((3, n), (2, 1, n), (n + 1,), (), (0, n), (n, 0), (1,)))
    x = np.array([rng.gauss(0, 1) for _ in range(int(np.prod(shape)))]).reshape(shape)
    if rng.random() < 0.2 and x.size:
        x.flat[rng.randrange(x.size)] = rng.choice((np.nan, np.inf, 1e308, -1e-320))
    if good:
        return x
    rows = np.atleast_1d(x)
    with np.errstate(over="ignore"):
        single = x.astype(np.float32)
    changed = (
        single,
        *(x.astype(dtype) for dtype in (complex, object, ">f8", np.longdouble)),
        *(np.zeros(shape, dtype) for dtype in (int, bool, "U3", "M8[s]", np.uint8, [("a", float)])),
        *(x.tolist(), tuple(rows.tolist()), rows[::-1], np.asfortranarray(rows), np.ma.masked_array(x)),
        *(memoryview(rows), rng.choice(NUMBERS), text_of(rng), [rows, rows[:1]], {"q": 1}, iter([1])),
        *(np.broadcast_to(x, (2, *shape)), np.asmatrix(rows) if rows.ndim < 3 else rows, x[..., None]),
        *([x, x > 0], [x, x.astype(object)], [x, None], MANY, [x.tolist(), MANY], ENDLESS, x.T),
    )
    return rng.choice(changed)


def array_case(number: int) -> str:
    rng = random.Random(f"array {number}")
    robot = ROBOTS[rng.choice(sorted(ROBOTS))]
    method = rng.choice(sorted(METHODS))
    arguments = [array_of(rng, robot.n) for _ in range(METHODS[method])]
    options = {}
    if rng.random() < 0.2:
        options["out"] = array_of(rng, robot.n)
    if rng.random() < 0.1:
        options["parameters"] = array_of(rng, len(robot.parameters))
    call = getattr(robot, method)
    if rng.random() < 0.1:
        call, options = contributions, {}
        arguments = [robot, *(array_of(rng, robot.n) for _ in range(3))]
    elif rng.random() < 0.05:
        call, options = simulate, {"method": "rk4"}
        arguments = [robot, array_of(rng, robot.n), array_of(rng, robot.n), 0.01, array_of(rng, robot.n)]
    try:
        call(*arguments, **options)
    except REFUSALS as error:
        in_our_words = re.match(r"[\w., ]+: |.*unexpected keyword", str(error))
        return "refused" if in_our_words else f"foreign exception: {method}: {error!r}"
    return "accepted"


# ---- CSV files ---------------------------------------------------------------------------------------------


def csv_case(number: int) -> str:
    rng = random.Random(f"csv {number}")
    n, rows = rng.choice((1, 1, 2, 2, 3, 3, 3000)), rng.choice((0, 1, 2, 5, 20))
    names = ["t", *(f"{p}{i + 1}" for p in ("q", "qd", "qdd")[: rng.randint(1, 3)] for i in range(n))]
    lines = [",".join(names)]
    lines += [",".join([repr(0.1 * k), *(repr(rng.gauss(0, 1)) for _ in names[1:])]) for k in range(rows)]
    text = "\n".join(lines) + "\n"
    if rng.random() < 0.8:
        text = spoiled_text(rng, text)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "motion.csv"
        path.write_bytes(text.encode(rng.choice(("utf-8", "utf-8-sig", "utf-16")), "surrogatepass"))
        motion = Trajectory.from_csv(path)
        if motion.duration < 1e3:
            found = motion(np.linspace(0, motion.duration, 7))
            return "accepted" if all(x.shape == (7, motion.n) for x in found) else "foreign exception: shape"
    return "accepted"


# ---- command lines -----------------------------------------------------------------------------------------

COMMANDS = (
    "robots",
    "show planar",
    "show robot.toml --rotors none",
    "derive planar --latex",
    "derive pendulum --prove --symbolic",
    "derive planar --steps --markdown -o out.md",
    "torque planar --q 0,1 --qd 1,0 --wrench 0,0,1,0,0,0",
    "torque planar --trajectory motion.csv -o out.csv",
    "trajectory planar --to 1,0.5 --acceleration-time 0.2 --max-velocity 2 -o out.csv",
    "trajectory planar --from 0,1 --line 0.1,0.1,0 --profile quintic --duration 0.2 -o out.csv",
    "scale planar motion.csv --torque 1500 -o out.csv",
    "scale robot.toml motion.csv --torque 1500,900 --time-optimal -o out.csv",
    "simulate planar --duration 0.01 -o out.csv",
    "simulate planar --controller pd --to 0,0 --stiffness 10 --damping 1 --duration 0.01 -o out.csv",
    "simulate planar --controller computed-torque --trajectory motion.csv --method rk4 -o out.csv",
    "export c planar --functions inertia,gravity -o out",
    "doctor",
)
OPTIONS = (
    "--q", "--qd", "--qdd", "--to", "--from", "--duration", "--step", "--torque", "--wrench", "--rotors",
    "-o", "--output", "--latex", "--prove", "--steps", "--combine", "--acceleration-time", "--max-velocity",
    "--profile", "--line", "--trajectory", "--controller", "--stiffness", "--damping", "--method",
    "--functions", "--prefix", "--float", "--time-optimal", "--velocity", "--acceleration", "--help",
    "--version", "--limits",
)  # fmt: skip
VALUES = (
    "0, 1", "1 2", "pi/2, 0", "1", "-1", "0", "1e308", "nan", "0,,1", "", " ", "exact", "quintic", "rk4",
    "pd", "computed-torque", "planar", "scara", "robot.toml", "motion.csv", "out.csv", "no/such/out.csv", ".",
    "x" * 300,
    "\x1b[2J", "\udcff", "\u2028", "/dev/full", "inertia", "all", "a = m1*l1", "0.01", "0.001",
)  # fmt: skip


def command_case(number: int) -> str:
    rng = random.Random(f"command {number}")
    words = rng.choice(COMMANDS).split()
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        k = rng.randrange(len(words))
        new = (
            [rng.choice(VALUES)],
            [spoiled_text(rng, words[k], 1)],
            [words[k], rng.choice(OPTIONS), rng.choice(VALUES)],
            [],
        )
        words[k : k + 1] = rng.choice(new)
        words = words or ["--help"]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        text = (resources.files("armdyn.description") / "robots" / "planar.toml").read_text("utf-8")
        Path("robot.toml").write_text(text, "utf-8")
        Trajectory.cubic([0, 0], [1, -0.5], 0.1, step=0.01).to_csv("motion.csv")
        code, told = _run_command([w.replace("\0", "") for w in words], rng.choice(("utf-8", "ascii")))
        if words.count("robot.toml") > 1 and Path("robot.toml").read_text("utf-8") != text:
            return f"foreign exception: {words} overwrote its input"
    if code not in (0, 1, 2) or "Traceback" in told:
        return f"foreign exception: {words}: exit code {code}: {told}"
    return "accepted" if code == 0 else "refused"


def _run_command(words: list[str], encoding: str) -> tuple[object, str]:
    """Exit code and stderr; streams are as those of a process with this encoding."""
    out = io.TextIOWrapper(io.BytesIO(), encoding)
    errors = io.TextIOWrapper(io.BytesIO(), encoding, errors="backslashreplace")
    streams = contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors)
    with mock.patch.object(sys, "argv", ["armdyn", *words]), streams[0], streams[1]:
        try:
            armdyn.cli.main()
            code: object = 0
        except SystemExit as stop:
            code = 0 if stop.code is None else stop.code
    errors.flush()
    return code, errors.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]


CASES = {
    "descriptions": description_case,
    "URDF files": urdf_case,
    "MJCF files": mjcf_case,
    "expressions": expression_case,
    "arrays": array_case,
    "CSV files": csv_case,
    "logs": log_case,
    "command lines": command_case,
}
os.environ.setdefault("COLUMNS", "120")
