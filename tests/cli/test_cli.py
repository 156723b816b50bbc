"""The command line: every verb and option, what is written, and what is refused."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import sympy
import typer
from typer.testing import CliRunner

from armdyn import Robot, bundled_robots, cli
from armdyn.cli import app
from armdyn.description.source import KINDS
from armdyn.model.closures import ClosingJoint
from armdyn.model.parts import Transform
from armdyn.report.robot_tables import mechanism_tables
from arms import slowly
from commands import refused, rows, run

FULL = Path("/dev/full")
VERBS = ("robots", "show", "derive", "trajectory", "torque", "scale", "simulate", "report")
PLANAR_TAU2 = "tau[2] = (Il2 + ml2*(l2**2 + a1*l2*c2) + kr2*Im2)*qdd1 + (Il2 + ml2*l2**2 + kr2**2*Im2)*qdd2"
FREE = """
name = "free"
convention = "dh"
gravity = [0, "-g", 0]
[symbols]
g = 9.81
m = "free"
[[link]]
joint = "revolute"
a = 1
alpha = 0
d = 0
mass = "m"
"""
ELBOW = {
    "pi1": "I1yy + I2yy + I3yy + a2**2*m3 + kr1**2*Im1",
    "pi2": "m2*lc2 + a2*m3",
    "pi3": "I2xx - I2yy - a2**2*m3",
    "pi4": "I2zz + kr2**2*Im2 + a2**2*m3",
    "pi5": "I3xx - I3yy",
    "pi6": "m3*lc3",
    "pi7": "I3zz",
    "pi8": "Im2",
    "pi9": "Im3",
}


# ---- help, robots ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", [[], *([verb] for verb in VERBS)])
def test_every_verb_has_help(verb):
    assert " ".join(["Usage:", "root", *verb]) in run(*verb, "--help")


def test_robots_lists_every_bundled_robot_with_its_joints():
    table = {row[0]: row[1:] for row in rows(run("robots"))}
    kinds = {"", "textbook arms"}
    assert sorted(set(table) - kinds) == bundled_robots()
    assert table["puma560"] == ["RRRRRR", "exact", "the most measured arm, with friction"]
    assert table["scara"][0] == "RRPR"
    assert table["panda"][:2] == ["RRRRRRR", "no motors"]


def test_robots_are_grouped_by_kind():
    output = run("robots")
    places = [
        output.index(text) for text in ("textbook arms", "planar", "industrial", "tx40", "desktop", "so101")
    ]
    assert places == sorted(places)
    assert sorted(name for names in KINDS.values() for name in names) == bundled_robots()


@pytest.mark.slow
def test_module_runs_as_a_program():
    command = [sys.executable, "-m", "armdyn", "robots"]
    output = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    assert "two links in a vertical plane" in output


@pytest.mark.slow
def test_a_reader_that_stops_early_is_no_error():
    """armdyn derive puma560 | head -1"""
    writer = subprocess.Popen(
        [sys.executable, "-m", "armdyn", "derive", "puma560"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert writer.stdout.readline() == b"PUMA 560\n"
    writer.stdout.close()
    assert b"Traceback" not in writer.stderr.read()
    writer.stderr.close()
    writer.wait()


# ---- show --------------------------------------------------------------------------------------------------


def test_show_gives_links_motors_limits_and_symbols():
    output = run("show", "planar")
    assert "two-link planar arm: 2 moving joints, rotors exact, tip on 'link 2'" in output
    assert "gravity (0, -g, 0) m/s² in the base frame" in output
    table = rows(output)
    assert ["link 2", "revolute", "ml2", "-a2 + l2, 0, 0", "0, 0, Il2"] in table
    assert ["link 2", "link 1", "kr2", "Im2", "mm2", "0, 0, 1"] in table
    assert ["link 1", "3000"] in table
    assert "ml1 = 50" in output


def test_show_says_where_the_diagonal_rotor_model_is_exact():
    """The elbow arm: z_m·ω of motors 2 and 3 is ϑ̇_1 and s_2 ϑ̇_1, as in section 7 of its source."""
    lines = run("show", "elbow").splitlines()
    assert "motor of 'shoulder' on 'base': z_m·ω = 0, the diagonal rotor model is exact" in lines
    assert "motor of 'upper arm' on 'shoulder': z_m·ω = qd1, the diagonal rotor model is not exact" in lines
    assert "motor of 'forearm' on 'upper arm': z_m·ω = s2*qd1, the diagonal rotor model is not exact" in lines


def test_show_of_the_puma_finds_two_motors_with_an_exact_diagonal():
    output = run("show", "puma560")
    exact = re.findall(r"motor of '([\w ]+)' on '[\w ]+': z_m·ω = 0,", output)
    assert exact == ["waist", "upper arm"]
    assert "motor of 'wrist 1' on 'forearm': z_m·ω = c23*qd1, the diagonal rotor model is not exact" in output


@pytest.mark.parametrize("rotors", ["reflected", "none"])
def test_show_says_nothing_of_coupling_where_there_is_none(rotors):
    output = run("show", "elbow", "--rotors", rotors)
    assert f"rotors {rotors}" in output
    assert "z_m" not in output


def test_show_warns_of_what_looks_wrong():
    output = " ".join(run("show", "puma560").split())
    assert "'waist'" not in output[output.index("warning") :]  # only the moment about the vertical is felt
    assert "warning: link 'forearm': principal moments 0.0125 0.066 0.086 break" in output
    assert "warning" not in run("show", "ur10")


def test_show_gives_friction_of_joints_and_motors():
    table = rows(run("show", "pendulum"))
    assert ["rod", "F"] in table
    assert ["motor of rod", "Fm"] in table
    table = rows(run("show", "puma560"))
    assert ["waist", "24.7314, -27.2358", ""] in table
    assert ["motor of waist", "", "0.00148"] in table
    assert ["link 1", "±7.14", "8.05"] in rows(run("show", "tx40"))


SPRINGS = """
[[spring]]
between = ["base", "link 2"]
at = [[0, 0.5, 0], [-0.5, 0, 0]]
stiffness = 90
rest = 0.25
"""


def test_show_has_springs_and_elastic_joints(tmp_path):
    path = tmp_path / "balanced.toml"
    text = Robot.load("planar").to_toml()
    text = text.replace("[link.motor]", 'spring = { stiffness = 20, rest = "pi/2" }\n\n[link.motor]', 1)
    text = text.replace("[link.motor]", "[link.motor]\nstiffness = 1e4\ndamping = 3", 1)
    path.write_text(text + SPRINGS, "utf-8")
    table = rows(run("show", path))
    assert ["link 1", "20 N m/rad", "1.5708 rad"] in table
    assert ["link 1", "10000 N m/rad", "3 N m s/rad"] in table
    assert ["1", "base at (0, 0.5, 0)", "link 2 at (-0.5, 0, 0)", "90", "0.25"] in table


def test_show_has_loops_and_passive_joints():
    """As tables; what else there is to show needs numbers."""
    model = Robot.load("planar").model
    loop = ClosingJoint(("link 2", "base"), (Transform(), Transform.translation(1, 0, 0)), "revolute")
    grid = mechanism_tables(replace(model, loops=(loop,)))[0]
    assert grid.rows == (("link 2", "base", "revolute", "at (0, 0, 0)", "at (1, 0, 0)"),)


def test_show_reads_a_file(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(FREE, "utf-8")
    assert "m = free" in run("show", path)


# ---- derive ------------------------------------------------------------------------------------------------


def test_derive_prints_what_the_library_prints():
    assert run("derive", "planar") == Robot.load("planar").equations().text()


def test_derive_prints_the_equations_of_the_book():
    """(7.82), second row."""
    assert f"{PLANAR_TAU2}\n         + ml2*a1*l2*s2*qd1**2 + ml2*l2*g*c12\n" in run("derive", "planar")


def test_derive_proves():
    output = run("derive", "planar", "--prove")
    assert output.startswith(run("derive", "planar"))
    assert "Proved for 'two-link planar arm'" in output
    assert "B' - 2C is skew-symmetric" in output


@pytest.mark.parametrize("form", ["latex", "markdown"])
def test_derive_typesets(form):
    equations = Robot.load("planar").equations()
    assert run("derive", "planar", f"--{form}") == ending_in_newline(getattr(equations, form)())
    assert run("derive", "planar", "--steps", f"--{form}") == ending_in_newline(equations.steps(form))


def ending_in_newline(text):
    return text if text.endswith("\n") else text + "\n"


def test_proof_is_a_comment_in_latex_and_in_the_script():
    latex = run("derive", "planar", "--latex", "--prove").splitlines()
    assert latex[-6].startswith("% Proved for")
    script = run("derive", "planar", "--sympy", "--prove").splitlines()
    assert script[-6].startswith("# Proved for")


def test_derive_in_craigs_notation():
    output = run("derive", "rmit2r", "--notation", "craig")
    assert "M[2,2] = m2*L2**2" in output
    assert "V[1] = -2*m2*L1*L2*s2*qd1*qd2 - m2*L1*L2*s2*qd2**2" in output
    assert "G[2] = m2*L2*g*c12" in output
    assert "b11" not in output


def test_derive_writes_the_recursion_of_the_planar_arm():
    """Section 7.5.3."""
    output = run("derive", "planar", "--steps")
    assert "pdd1 = [g*s1 - a1*qd1**2, g*c1 + a1*qdd1, 0]" in output
    assert "wdm2 = [0, 0, qdd1 + kr2*qdd2]" in output
    order = [
        output.index(text)
        for text in ("Initial", "link 1 (", "link 2 (", "Backward recursion: link 2", "Where")
    ]
    assert order == sorted(order)


def test_derive_writes_the_recursion_in_the_links_own_symbols_where_no_motor_adds_to_them():
    output = run("derive", "rmit2r", "--steps")
    assert "tau2 = m2*L2*g*c12 + m2*L1*L2*s2*qd1**2 + m2*L2**2*(qdd1 + qdd2) + m2*L1*L2*c2*qdd1" in output
    assert "Where" not in output


def test_derive_writes_the_recursion_in_other_axes_and_letters_and_with_numbers():
    planar, craig = Robot.load("planar").equations(), Robot.load("rmit2r").equations()
    at = [0, "pi/2"], [1, 0], [0, 3]
    options = ("--at", "0, pi/2; 1, 0; 0, 3")
    assert run("derive", "planar", "--steps", "--frame", "base") == planar.steps(frame="base")
    assert run("derive", "planar", "--steps", "--base-motion") == planar.steps(base=True)
    assert run("derive", "rmit2r", "--steps", "--notation", "craig", *options) == craig.steps(
        notation="craig", at=at
    )


def test_derive_combines_parameters():
    """The nine parameters of the elbow arm: nothing else is left but gears, a2 and g."""
    options = [x for name, value in ELBOW.items() for x in ("--combine", f"{name} = {value}")]
    output = run("derive", "elbow", *options)
    assert "b[1,1] = pi1 + pi3*s2**2 + pi5*s23**2 + 2*a2*pi6*c2*c23" in output
    assert "b[1,3] = b[3,1] = kr3*pi9*s2" in output
    left = set(re.findall(r"[A-Za-z]\w*", output.split("Inertia matrix")[1])) & set(
        Robot.load("elbow").model.values
    )
    assert left == {"a2", "kr2", "kr3", "g"}


def test_derive_with_every_number_a_symbol():
    output = run("derive", "ur10", "--symbolic")
    assert "b[6,6] = Izz6" in output
    assert "0.0055125" not in output


@pytest.mark.parametrize(
    ("rotors", "b22"), [("reflected", "Il2 + ml2*l2**2 + kr2**2*Im2"), ("none", "Il2 + ml2*l2**2")]
)
def test_derive_with_another_rotor_model(rotors, b22):
    output = run("derive", "planar", "--rotors", rotors)
    assert "b[1,2] = b[2,1] = Il2 + ml2*(l2**2 + a1*l2*c2)\n" in output
    assert f"b[2,2] = {b22}\n" in output


@pytest.mark.parametrize("robot", ["planar", *map(slowly, ("pendulum", "elbow", "scara", "cartesian45"))])
def test_sympy_script_builds_the_matrices_that_the_library_hands_over(robot):
    namespace = {}
    exec(run("derive", robot, "--sympy"), namespace)
    expected = Robot.load(robot).equations().sympy()
    names = {"inertia": "B", "coriolis": "C", "gravity": "g", "friction": "friction"}
    for name, attribute in names.items():
        assert namespace[name] == getattr(expected, attribute), name


def test_sympy_script_and_numbers_agree():
    robot = Robot.load("pendulum")
    namespace = {}
    exec(run("derive", "pendulum", "--sympy"), namespace)
    values = {sympy.Symbol(name, real=True): x for name, x in robot.model.values.items()}
    values[sympy.Symbol("q1", real=True)] = 0.3
    assert np.isclose(float(namespace["gravity"][0].subs(values)), robot.gravity([0.3])[0])


@pytest.mark.parametrize("option", ["-o", "--output"])
@pytest.mark.parametrize("form", [[], ["--latex"], ["--markdown"], ["--sympy"], ["--steps"]])
def test_derive_writes_to_a_file_what_it_would_print(tmp_path, form, option):
    path = tmp_path / "equations.txt"
    assert run("derive", "planar", *form, option, path) == f"wrote {path}\n"
    assert ending_in_newline(path.read_text("utf-8")) == run("derive", "planar", *form)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--latex", "--markdown"], "choose one of"),
        (["--sympy", "--latex"], "choose one of"),
        (["--sympy", "--steps"], "--steps is no script"),
        (["--frame", "base"], "go with --steps"),
        (["--base-motion"], "go with --steps"),
        (["--at", "0, 0; 0, 0; 0, 0"], "go with --steps"),
        (["--steps", "--at", "0, 0"], "expected 'q; qd; qdd'"),
    ],
)
def test_forms_that_do_not_go_together_are_refused(options, message, monkeypatch, capsys):
    assert message in refused(monkeypatch, capsys, "derive", "planar", *options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--notation", "newton"], "--notation"),
        (["--rotors", "some"], "--rotors"),
    ],
)
def test_choices_that_are_not_offered_are_refused(options, message):
    result = CliRunner().invoke(app, ["derive", "planar", *options])
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output


# ---- torque ------------------------------------------------------------------------------------------------


def test_torque_gives_the_torques_of_the_book():
    """Example 7.2 just after the start."""
    a = "8*pi"  # 4 (π/2) / 0.5²
    table = rows(run("torque", "planar", "--q", "-1.470628906, 2.941257811", "--qdd", f"{a}, {a}"))
    torques = [float(row[2].removesuffix(" !")) for row in table]  # beyond the limit
    np.testing.assert_allclose(torques, [3873.1675, 3078.1531], atol=1e-3)


def test_torque_shows_parts_that_add_up_to_the_inverse_dynamics():
    state = ("--q", "0.1 0.2 -0.3 0.4 0.5 -0.6", "--qd", "1, -1, 0.5, 1, 1, 1", "--qdd", "0,0,1,1;1;1")
    output = run("torque", "puma560", *state, "--wrench", "1, 2, 3, 0.1, 0.2, 0.3")
    table = rows(output)
    headings = " ".join(output.splitlines()[:4])
    words = ("inertia", "centrifugal", "Coriolis", "gravity", "friction", "rotor", "tip wrench")
    assert all(word in headings for word in words)
    expected = Robot.load("puma560").inverse_dynamics(
        [0.1, 0.2, -0.3, 0.4, 0.5, -0.6], [1, -1, 0.5, 1, 1, 1], [0, 0, 1, 1, 1, 1], [1, 2, 3, 0.1, 0.2, 0.3]
    )
    for row, tau in zip(table, expected, strict=True):
        assert np.isclose(float(row[2]), tau, rtol=1e-7)  # the limit comes next
        assert np.isclose(sum(float(x) for x in row[4:]), tau, rtol=1e-4, atol=1e-3)


def test_torque_knows_units_expressions_and_rotor_models():
    table = rows(run("torque", "pr", "--q", "0.1, 90deg", "--qdd", "1, 0"))
    assert [row[1] for row in table] == ["N", "N m"]
    by_rotors = [
        float(rows(run("torque", "planar", "--q", "0, 0", "--qdd", "0, sqrt(2)", "--rotors", r))[0][2])
        for r in ("exact", "reflected")
    ]
    assert np.isclose(by_rotors[0] - by_rotors[1], 2**0.5 * 100 * 0.01, rtol=1e-4)  # kr2 Im2 q̈_2


def test_torque_has_rotor_coupling_within_inertia_as_the_book_draws_it():
    state = ("--q", "0, 0.7", "--qdd", "0, 1")
    separate, within = (run("torque", "planar", *state, "--coupling", c) for c in ("separate", "within"))
    assert "rotor" in separate
    assert "rotor" not in within
    tau = [float(rows(output)[0][2]) for output in (separate, within)]
    assert tau[0] == tau[1]
    inertia = [float(rows(output)[0][4]) for output in (separate, within)]
    assert np.isclose(inertia[1] - inertia[0], 100 * 0.01, rtol=1e-3)  # kr2 Im2 q̈_2


# ---- what is refused ---------------------------------------------------------------------------------------


def test_unknown_robot_is_refused_with_the_known_ones(monkeypatch, capsys):
    for verb in (["show"], ["derive"], ["torque", "--q", "1"]):
        line = refused(monkeypatch, capsys, verb[0], "nosuch", *verb[1:])
        assert "'nosuch' (No such file or directory)" in line
        assert "puma560" in line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", r"not a TOML file"),
        ('name = "x"', r"convention: missing"),
        (FREE.replace("a = 1", 'a = "b"'), r"link 'link1'\.a: unknown symbol 'b'; declared symbols: g, m"),
        (FREE.replace("a = 1", "length = 1"), r"link 'link1'\.a: missing"),
        (FREE.replace('mass = "m"', "mass = -1"), r"link 'link1': mass: found -1"),
        (
            FREE.replace('mass = "m"', "weight = 1"),
            r"link 'link1'\.weight: unknown key; allowed here: .*mass",
        ),
        (FREE.replace('"dh"', '"ddh"'), r"convention: found 'ddh'; allowed: \"dh\", \"mdh\", \"frames\""),
    ],
)
def test_bad_file_is_refused_with_file_and_key(monkeypatch, capsys, tmp_path, text, message):
    path = tmp_path / "arm.toml"
    path.write_text(text, "utf-8")
    line = refused(monkeypatch, capsys, "show", path)
    assert str(path) in line
    assert re.search(message, line), line


def test_file_that_is_no_text_is_refused(monkeypatch, capsys, tmp_path):
    path = tmp_path / "arm.toml"
    path.write_bytes(b"\xff\xfe\x00")
    assert "not a text file" in refused(monkeypatch, capsys, "show", path)
    assert "Is a directory" in refused(monkeypatch, capsys, "show", tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--q", "1"], "--q: expected 2 numbers separated by commas, found 1: '1'"),
        (["--q", "1, 2, 3"], "--q: expected 2 numbers"),
        (["--q", ""], "--q: expected 2 numbers"),
        (["--q", "1, 2", "--qd", "1"], "--qd: expected 2 numbers"),
        (["--q", "1, 2", "--qdd", "1 2 3"], "--qdd: expected 2 numbers"),
        (["--q", "1, 2", "--wrench", "1, 2"], "--wrench: expected 6 numbers"),
        (["--q", "1, x"], "--q: unknown symbol 'x'"),
        (["--q", "1, 2)"], "--q: '2)' is not an expression"),
        (["--q", "1, 1/0"], "--q: "),
        (["--q", "1, __import__('os')"], "--q: "),
    ],
)
def test_wrong_numbers_are_refused(monkeypatch, capsys, options, message):
    assert message in refused(monkeypatch, capsys, "torque", "planar", *options)


@pytest.mark.parametrize(
    ("combination", "message"),
    [
        ("pi6", "--combine: found 'pi6'; expected 'name = combination'"),
        ("= m3", "--combine: found '= m3'"),
        ("pi6 = m3*nope", "unknown symbol 'nope'"),
        ("pi6 = m3 +", "is not an expression"),
        ("a2 = m3*lc3", "'a2' is not a new name"),
        ("x = a2", "it cannot be solved"),
    ],
)
def test_wrong_combinations_are_refused(monkeypatch, capsys, combination, message):
    assert message in refused(monkeypatch, capsys, "derive", "elbow", "--combine", combination)


def test_output_that_cannot_be_written_is_refused(monkeypatch, capsys, tmp_path):
    assert f"cannot write '{tmp_path}'" in refused(monkeypatch, capsys, "derive", "planar", "-o", tmp_path)
    (tmp_path / "file").write_text("")
    below = tmp_path / "file" / "equations.txt"
    assert f"cannot write '{below}'" in refused(monkeypatch, capsys, "derive", "planar", "-o", below)


def test_free_symbol_is_refused_where_a_number_is_needed(monkeypatch, capsys, tmp_path):
    path = tmp_path / "free.toml"
    path.write_text(FREE, "utf-8")
    assert "g[1] = m*g*c1" in run("derive", path)
    line = refused(monkeypatch, capsys, "torque", path, "--q", "1")
    assert "'m'" in line


@pytest.mark.slow
def test_installed_program_stops_with_one_line():
    """The same through the real entry point."""
    command = [sys.executable, "-m", "armdyn", "show", "nosuch"]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("error: cannot read 'nosuch'")


@pytest.mark.skipif(not FULL.exists(), reason="no full device on this system")
@pytest.mark.parametrize("command", [["robots"], slowly(["derive", "planar"])])
def test_output_that_cannot_be_printed_is_one_line(command):
    with FULL.open("w") as full:
        arguments = [sys.executable, "-m", "armdyn", *command]
        result = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, encoding="utf-8", check=False)
    assert result.returncode == 2
    assert result.stderr.splitlines() == ["error: [Errno 28] No space left on device"]


@pytest.mark.slow
def test_signs_that_the_terminal_lacks_do_not_stop_the_program():
    result = subprocess.run(
        [sys.executable, "-m", "armdyn", "show", "pendulum"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        encoding="ascii",
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "m/s? in the base frame" in result.stdout


BRACKETS = """
name = "brackets"
convention = "dh"
gravity = [0, -9.81, 0]
[[link]]
name = "[red]arm[/b]"
joint = "revolute"
a = 1
alpha = 0
d = 0
mass = 1
limits = { acceleration = 5, position = [-1, 1] }
"""


def test_names_are_shown_as_they_are(tmp_path):
    """Not as markup of the tables; `[/b]` alone would stop rich."""
    path = tmp_path / "brackets.toml"
    path.write_text(BRACKETS, "utf-8")
    motion, made = tmp_path / "motion.csv", tmp_path / "made.csv"
    data = ("--profile", "cubic", "--duration", "1", "-o", motion)
    for command in (
        ("show", path),
        ("torque", path, "--q", "1"),
        ("trajectory", path, "--to", "1", *data),
        ("scale", path, motion, "-o", made),
        ("simulate", path, "--duration", "0.01", "-o", made),
    ):
        assert "│ [red]arm[/b] │" in run(*command)


def test_show_has_limits_of_acceleration_alone(tmp_path):
    path = tmp_path / "limited.toml"
    path.write_text(BRACKETS.replace(", position = [-1, 1]", ""), "utf-8")
    assert ["[red]arm[/b]", "5"] in rows(run("show", path))


@pytest.mark.parametrize(
    ("text", "allowed"), [("1, 2,", True), ("1; 2", True), ("1,,2", False), (",1", False)]
)
def test_a_place_left_empty_is_not_passed_over(text, allowed, monkeypatch, capsys):
    if allowed:
        assert rows(run("torque", "planar", "--q", text))
    else:
        assert "--q:" in refused(monkeypatch, capsys, "torque", "planar", "--q", text)


def test_show_says_where_the_frames_are():
    """Of a robot in frames: each in its parent's, and the DH table that it has in other frames."""
    output = run("show", "manutec_r3")
    assert ["arm 3", "arm 2", "0, 0, 0.5", "1, 0, 0", "0, 0, 1", "1, 0, 0"] in rows(output)
    assert "standard Denavit-Hartenberg parameters [m, rad], robot.in_dh() has its frames" in output
    assert ["arm 2", "revolute", "0.5", "0", "0", "q2 + pi/2"] in rows(output)
    assert "tool at (0.98, 0, 0), x along (0, 0, 1), z along (1, 0, 0) in the last frame" in output


def test_show_gives_the_table_of_robots_in_dh():
    output = run("show", "elbow")
    assert ["upper arm", "revolute", "a2", "0", "0", "q2"] in rows(output)
    assert "frame of" not in output  # the table says it
    output = run("show", "panda")
    assert "modified (Craig's) Denavit-Hartenberg parameters [m, rad]" in output.splitlines()
    assert ["link 4", "revolute", "0.0825", "pi/2", "0", "q4"] in rows(output)


def test_show_says_where_a_robot_comes_from(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(FREE, "utf-8")
    assert f"read from {path}" in run("show", path).replace("\n", "")
    assert "bundled with armdyn as planar" in run("show", "planar")


def test_show_says_what_reflected_motors_mean():
    sentence = "rotors are reflected: what counts is k²·Im at the joint"
    assert sentence in run("show", "ur5e")
    assert sentence not in run("show", "elbow")
    assert sentence not in run("show", "panda", "--rotors", "reflected")  # has no motors


TREE = """
name = "two hands"
convention = "frames"
gravity = [0, 0, -9.81]
base = { name = "floor", xyz = [0, 0, 1], rpy = ["pi", 0, 0] }
tip = "camera"
tool = { xyz = [0, 0, "1/8"] }
[[closure]]
relation = { "right finger" = 1, "left finger" = -2 }
offset = 0.5
"""
LINK = """
[[link]]
name = "{name}"
parent = "{parent}"
joint = "{joint}"
origin = {{ xyz = [0, 0, 0.5] }}
{rest}
"""
MOVES = """axis = [1, 0, 0]
mass = 1
com = [0, 0.1, 0]
inertia = { xx = 1, yy = 1, zz = 1 }
joint_name = "NAME joint"
"""


def tree(tmp_path):
    """Two long arms on a body, each with a finger, and a frame that has no body."""

    def link(name, parent):
        return LINK.format(name=name, parent=parent, joint="revolute", rest=MOVES.replace("NAME", name))

    text = TREE + link("torso", "floor")
    for side in ("left", "right"):
        names = ["torso", *(f"{side} {i + 1}" for i in range(20)), f"{side} finger"]
        text += "".join(link(name, parent) for parent, name in pairwise(names))
    text += LINK.format(name="camera", parent="torso", joint="fixed", rest="")
    path = tmp_path / "tree.toml"
    path.write_text(text, "utf-8")
    return path


def test_show_of_a_tree(tmp_path):
    output = run("show", tree(tmp_path))
    assert (
        "two hands: 43 moving joints, 42 of them independent, 44 links, no motors, tip on 'camera'" in output
    )
    assert "base frame at (0, 0, 1), x along (1, 0, 0), z along (0, 0, -1) in the world" in output
    assert "the fixed base is called 'floor'" in output
    assert "tip frame at (0, 0, 0.125) in that of 'camera'" in output
    assert "fixed frames without a body, left out: camera" in output
    assert "joints that follow others: right finger joint = 2*left finger joint + 0.5" in output
    assert "no table of Denavit-Hartenberg parameters: the robot branches at 'torso'" in output
    found = rows(output)
    assert ["left 1", "torso", "revolute", "left 1 joint"] in found
    assert ["left 1", "1", "0, 0.1, 0", "1, 1, 1"] in found
    assert (
        sum(row[0] == "left 7" for row in found) == 3
    )  # tree, bodies, frames; no limits, motors or friction


def test_show_names_links_together_of_which_the_same_is_said(tmp_path):
    path = tree(tmp_path)
    text = path.read_text("utf-8").replace(
        "origin = { xyz = [0, 0, 0.5] }", "origin = { xyz = [0, 0, 0.5], rpy = [1.5708, 0, 0] }"
    )
    path.write_text(text, "utf-8")
    lines = [line for line in run("show", path).split("warning: ")[1:] if "is a decimal" in line]
    assert len(lines) == 1
    assert " ".join(lines[0].split()).startswith("links 'torso', 'left 1', 'left 2', 'left 3'")


def test_the_list_of_verbs_is_made_without_their_modules_and_each_verb_is_there():
    code = (
        "import sys\nfrom armdyn.cli import app, run\n"
        "run(app, ['--help'])\nassert 'numpy' not in sys.modules\n"
    )
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    group = typer.main.get_command(app)
    for name, (_, line) in cli.VERBS.items():
        assert f"{name} " in listed
        assert group.get_command(None, name).help.split()[0] == line.split()[0]


def test_the_list_of_robots_needs_no_numbers():
    script = (
        "import sys\nfrom armdyn.cli import app\nfrom armdyn.cli.running import run\n"
        "run(app, ['robots'])\n"
        "assert not {'numpy', 'scipy', 'armdyn.kernels', 'armdyn.robot'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "puma560" in done.stdout
