"""Work that grows with the robot or the text is bounded before it is done: no hang, no end of the process."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from armdyn import ArmdynError, Robot
from armdyn.cli.describe import _coupling_lines
from armdyn.description.robot_file import DescriptionError
from armdyn.exact import SizeError
from armdyn.exact.ring import check_written
from armdyn.expression import ExpressionError, parse
from armdyn.report.report import report
from arms import WITHOUT_LOOPS, bundled, in_suites, slowly
from golden_messages import golden_error


def chain(n, **first):
    """Joints in general position, some sliding, full tensors, a motor on each."""
    angles = ["pi/2", 0.7, -1.1, "pi/3"]
    links = [
        {
            "joint": "prismatic" if i % 7 == 5 else "revolute",
            "a": f"0.{i % 7 + 1}",
            "alpha": angles[i % 4],
            "d": 0.1,
            "theta": 0.2 * (i % 7 == 5),
            "mass": 1,
            "com": [0.1, 0.2, 0.3],
            "inertia": {"xx": 0.2, "yy": 0.3, "zz": 0.25, "xy": 0.01, "xz": 0.02, "yz": 0.03},
            "motor": {"gear": 50, "inertia": 1e-4, "axis": [0.36, 0.48, 0.8]},
        }
        for i in range(n)
    ]
    return Robot.from_dict(
        {"name": "chain", "convention": "dh", "gravity": [0, 0, -9.81], "link": links, **first}
    )


def run_python(program, given, seconds):
    """A program in a process of its own."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, input=given, text=True, capture_output=True, timeout=seconds, check=False)


# ---- expressions -------------------------------------------------------------------------------------------

BOMBS = [
    "(((sin(m)**-16)**16)**-2)",
    "(((sin(m)**-16)**-16)**2)",
    "9**9**9",
    "((((x**16)**16)**16)**16)",
    "((a+b+c+d)**8*(e+f+g+h)**8)",
    "((abs(a+b+c+d)**-16)**-1)",
    "(abs(a+b+c+d+e)**-16)**-2",
    "((inv(a+b)**16)**16)**-1",
    "*".join(f"(a{i}+b{i})" for i in range(60)),
    "*".join(["(a+b+c)"] * 200),
    "cos(" * 90 + "x" + ")" * 90,
    "inv(1+" * 90 + "x" + ")" * 90,
    "((((((inv(a+b)+c)**16+inv(c))**-1+c)**16+inv(c))**-1+c)**16+inv(c))**-1",
    "(" * 1000,
    "-" * 1999 + "1",
    "1" * 10_000,
]


def test_bombs_are_refused_in_no_time():
    """All of them in one process that has 20 s, of which starting takes most."""
    program = (
        "import sys\nfrom armdyn.expression import ExpressionError, parse\n"
        "for text in sys.stdin.read().split('\\n'):\n"
        "    try:\n        parse(text, max_length=10**5)\n"
        "    except ExpressionError as error:\n        assert str(error)\n"
        "    else:\n        raise SystemExit(text)\n"
    )
    done = run_python(program, "\n".join(BOMBS), 20)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("text", ["(((sin(m)**-16)**16)**-2)", "*".join(f"(a{i}+b{i})" for i in range(60))])
def test_a_bomb_is_called_too_large(text):
    with golden_error(ExpressionError):
        parse(text)


@pytest.mark.slow
def test_factors_that_are_large_together_are_refused():
    """Each entry is read, but mass times centre of mass squared has millions of terms."""
    names = [f"x{i}" for i in range(20)]
    sums = "(" + "+".join(names[:10]) + ")*(" + "+".join(names[10:]) + ")"
    link = {"joint": "revolute", "a": 1, "alpha": 0, "d": 0, "mass": sums, "com": [sums, sums, sums]}
    table = {"name": "r", "convention": "dh", "gravity": [0, 0, 0], "symbols": dict.fromkeys(names, 1)}
    with golden_error(DescriptionError):
        Robot.from_dict({**table, "link": [link]})


# ---- equations ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("n", [12, 31, 100])
def test_equations_of_long_chains_are_refused(n):
    """In a process of its own with 3 GB: FLINT ends the process when it gets no memory."""
    pytest.importorskip("resource", reason="limits of memory")
    program = f"""
import resource, sys
sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1] / "helpers")]!r}
from test_sizes import SizeError, chain
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
equations = chain({n}).equations()
for work in ("B", "C", "g", "tau", "regressor", "christoffel", "kinetic_energy"):
    try:
        getattr(equations, work)
    except SizeError as error:
        assert "numeric functions" in str(error)
words = ("prove", "text", "latex", "markdown", "mathml", "steps")
works = {{work: getattr(equations, work) for work in words}}
works["sympy"] = lambda: equations.sympy().B  # made when it is asked for
for work, done in works.items():
    try:
        done()
    except SizeError as error:
        continue
    raise SystemExit(work)
"""
    done = run_python(program, "", 200)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_refusal_says_what_works_instead():
    with pytest.raises(
        SizeError, match=r"at most 30 moving joints, this robot has 40; numeric functions \(robot"
    ):
        _ = chain(40).equations().B
    with golden_error(SizeError):
        _ = chain(9).equations().B
    with golden_error(ArmdynError):
        check_written(10**6)


@pytest.mark.slow
def test_large_changes_of_coordinates_are_refused():
    rng = np.random.default_rng(2)
    J = [[f"{x}*m{x}" for x in row] for row in rng.integers(1, 9, (14, 14))]
    with pytest.raises(ArmdynError, match="J: 14×14 with too few zeros"):
        chain(14).symbolic().equations().in_coordinates(J)


# ---- where the diagonal rotor model is exact ---------------------------------------------------------------


@pytest.mark.parametrize("n", [6, slowly(20), slowly(100)])
def test_rotor_couplings_of_long_chains(n):
    robot = chain(n)
    couplings = robot.equations().rotor_couplings()
    assert [c.diagonal_is_exact for c in couplings] == [True] + [False] * (n - 1)
    assert all(c.speed is not None for c in couplings[:7]) or n > 30
    lines = _coupling_lines(robot)
    assert len(lines) == n
    assert "z_m·ω = 0, the diagonal rotor model is exact" in lines[0]
    assert max(map(len, lines)) < 200


@pytest.mark.parametrize("name", in_suites([n for n in WITHOUT_LOOPS if bundled(n).model.rotors == "exact"]))
def test_rotor_couplings_and_their_formulas(name):
    """Numbers decide as the formula does, and as the model itself: no coupling, no entry off the diagonal."""
    robot = Robot.load(name)
    for coupling in robot.equations().rotor_couplings():
        assert coupling.speed is not None
        assert coupling.diagonal_is_exact == (coupling.speed == 0)


def test_rotors_of_axes_across_the_carrier():
    """An axis in digits that is across the joint's: zero to rounding is zero."""
    axis = [float(np.cos(0.3)), float(np.sin(0.3)), 0.0]
    motor = {"gear": 50, "inertia": 1e-4, "axis": axis}
    link = {"joint": "revolute", "a": 0.3, "alpha": 0, "d": 0, "mass": 1, "motor": motor}
    link["inertia"] = {"xx": 0.2, "yy": 0.3, "zz": 0.25}
    table = {"name": "flat", "convention": "dh", "gravity": [0, 0, 0], "link": [link, link | {"name": "two"}]}
    assert all(c.diagonal_is_exact for c in Robot.from_dict(table).equations().rotor_couplings())


# ---- the report --------------------------------------------------------------------------------------------


def test_a_report_says_that_equations_are_too_large():
    names = {"symbols": {"g": "free"}, "gravity": [0, 0, "-g"]}  # no numbers: the equations' part alone
    text = report(chain(9, **names))
    assert "They are not written here: the exact equations of this robot are too large" in text
    assert "Where the diagonal rotor model is exact" in text
