"""C export: strict C99, no dependency but libm, and the same numbers as the kernels."""

import ctypes
import random
import shutil
import subprocess
from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

from armdyn import ArmdynError, Robot, backend
from armdyn.cli import app
from armdyn.kernels.c import commented, identifier
from armdyn.kernels.c_package import Language, c_source
from armdyn.program import record
from armdyn.robot.functions import FUNCTIONS, inputs_of, usual_functions
from armdyn.robot.in_languages import WORDS
from arms import assert_same, slowly
from golden_messages import golden_error
from spring_arms import sprung

CC = shutil.which("cc") or shutil.which("gcc")
STRICT = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
needs_compiler = pytest.mark.skipif(CC is None, reason="no C compiler on this machine")


def exported(robot, folder, *options):
    result = CliRunner().invoke(app, ["export", "c", robot, "-o", str(folder), "--prefix", "arm", *options])
    assert result.exit_code == 0, result.output
    return folder


@needs_compiler
@pytest.mark.parametrize(
    "robot",
    ["scara", *map(slowly, ("planar", "pendulum", "elbow", "puma560"))],
)
@pytest.mark.parametrize("options", [[], slowly(["--float"])], ids=["double", "float"])
def test_exported_test_program_and_strict_compiler(tmp_path, robot, options):
    """Every function of arms with prismatic joints, rotors and friction."""
    exported(robot, tmp_path, "--functions", "all", *options)
    subprocess.run([CC, *STRICT, "arm.c", "test_arm.c", "-lm", "-o", "test"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "test"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    *results, _, last = done.stdout.splitlines()
    assert done.stdout.count(": ok") == len(results) >= len(FUNCTIONS)
    assert last == f"{len(results)} of {len(results)} results agree"


@needs_compiler
def test_test_program_and_a_wrong_function(tmp_path):
    exported("planar", tmp_path, "--functions", "gravity")
    source = (tmp_path / "arm.c").read_text().replace(" + ", " - ", 1)
    (tmp_path / "arm.c").write_text(source)
    subprocess.run([CC, *STRICT, "arm.c", "test_arm.c", "-lm", "-o", "test"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "test"], capture_output=True, check=False).returncode != 0


@needs_compiler
def test_c_and_kernels(tmp_path):
    exported("puma560", tmp_path, "--functions", "inverse_dynamics,forward_dynamics")
    command = [CC, *STRICT, "-shared", "-fPIC", "arm.c", "-lm", "-o", "arm.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    library, robot = ctypes.CDLL(str(tmp_path / "arm.so")), Robot.load("puma560")
    rng = np.random.default_rng(3)
    for _ in range(20):
        states = list(rng.uniform(-3, 3, (3, 6)))
        for name in ("inverse_dynamics", "forward_dynamics"):
            out = np.empty(6)
            getattr(library, f"arm_{name}")(*(ctypes.c_void_p(x.ctypes.data) for x in (*states, out)))
            expected = getattr(robot, name)(*states)
            np.testing.assert_allclose(out, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


# ---- what changes at run time ------------------------------------------------------------------------------


def changing_arm():
    """One joint of three slides; full tensors, a motor on another link, a tool; m2 and l1 are free."""
    body = {"xx": 0.3, "xy": 0.02, "xz": -0.03, "yy": 0.4, "yz": 0.01, "zz": 0.5}
    motor = {"carrier": "upper", "axis": [0.6, 0, 0.8], "gear": "kr", "inertia": 1e-3, "mass": 0.5}
    places = [
        {"xyz": [0.1, 0, 0.2]},
        {"xyz": ["l1", 0.2, 0], "rpy": [0.3, "b2", 0]},
        {"xyz": [0.1, 0, "l1/2"], "rpy": [0, 0.5, 1]},
    ]
    links = [
        {"name": "upper", "joint": "revolute", "mass": 3, "com": [0.1, "l1", 0.3]},
        {"name": "slide", "joint": "prismatic", "mass": "m2", "com": [0, 0.1, 0.2]},
        {"name": "hand", "joint": "revolute", "mass": "1 + m2", "com": [0.1, 0.2, "2*l1"], "motor": motor},
    ]
    links[1] |= {"friction": {"viscous": 0.5, "coulomb": "Fs"}}
    common = {"axis": [0, 0.6, 0.8], "inertia": body}
    table = {
        "name": "changing arm",
        "convention": "frames",
        "gravity": [0, 1, "-g"],
        "symbols": {"g": 9.81, "m2": "free", "l1": "free", "kr": 60, "Fs": 0.4, "b2": "pi/7"},
        "tool": {"xyz": [0.1, 0.2, "l1"], "rpy": [0.4, 0.2, 0.1]},
        "link": [{**link, **common, "origin": at} for link, at in zip(links, places, strict=True)],
    }
    return Robot.from_dict(table)


def given_at_run_time(robot, rng):
    """Values of symbols, parameters, a wrench and a payload, and the robot that has all but the wrench."""
    symbols = {"m2": rng.uniform(1, 3), "l1": rng.uniform(0.2, 0.5), "kr": rng.uniform(-80, 80), "b2": 0.3}
    changed = robot.with_symbols(symbols)
    parameters = changed.parameters * rng.uniform(0.9, 1.1, len(changed.parameters))
    com, spread = rng.uniform(-0.2, 0.2, 3), rng.uniform(-0.1, 0.1, (3, 5))
    tensor = (np.trace(spread @ spread.T) * np.eye(3) - spread @ spread.T)[np.triu_indices(3)]
    payload = np.array([rng.uniform(0.5, 5), *com, *tensor])
    given = {"wrench": rng.normal(size=6), "payload": payload, "parameters": parameters}
    given["symbols"] = np.array(list(symbols.values()))
    return list(symbols), given, changed.with_payload(payload[0], com, tensor)


FEW = ("inverse_dynamics", "inertia", "gravity", "pose")
SCALARS = {"double": (np.float64, 1e-12), "float": (np.float32, 1e-4)}


LONG = [name for name, row in FUNCTIONS.items() if row.on_request]


@needs_compiler
@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize(
    ("functions", "own"),
    [
        (FEW, False),
        pytest.param("all", False, marks=pytest.mark.slow),
        pytest.param("all", True, marks=pytest.mark.slow),
        pytest.param(LONG, True, marks=pytest.mark.slow),
    ],
)
def test_inputs_at_run_time_and_robots_that_have_these_numbers(tmp_path, functions, own, scalar):
    """Symbols, payloads, wrenches and (own) parameters, in the place of constants."""
    robot, rng, (kind, tolerance) = changing_arm(), np.random.default_rng(5), SCALARS[scalar]
    symbols, _, _ = given_at_run_time(robot, rng)
    names = ["wrench", "payload", *(["parameters"] if own else []), *symbols]
    robot.export_c(functions, names, prefix="arm", scalar=scalar).write(str(tmp_path))
    run = partial(subprocess.run, cwd=tmp_path, check=True)
    run([CC, *STRICT, "-Wconversion", "-shared", "-fPIC", "arm.c", "-lm", "-o", "libarm.so"])
    run([CC, *STRICT, "-Wconversion", "test_arm.c", "./libarm.so", "-lm", "-o", "test"])
    assert "FAILED" not in run(["./test"], capture_output=True, text=True).stdout
    library = ctypes.CDLL(str(tmp_path / "libarm.so"))
    chosen = usual_functions(robot.model) if functions == "all" else functions
    programs = {x: robot.program(x, [y for y in names if y in inputs_of(robot.model, x)]) for x in chosen}
    for _ in range(3):
        _, given, changed = given_at_run_time(robot, rng)
        if own:
            changed = robot.with_symbols(dict(zip(symbols, given["symbols"], strict=True)))
            changed = changed.with_parameters(given["parameters"])
            changed = changed.with_payload(given["payload"][0], given["payload"][1:4], given["payload"][4:])
        for name, program in programs.items():
            values = {x: given.get(x, rng.uniform(-2, 2, size)) for x, size in program.inputs}
            wrench = {"wrench": values["wrench"]} if "wrench" in values else {}
            with backend("evaluator"):
                right = getattr(changed, name)(*(values[x] for x in FUNCTIONS[name].inputs), **wrench)
            out = [np.empty(shape, kind) for _, shape in program.outputs]
            arrays = [np.ascontiguousarray(values[x], kind) for x, _ in program.inputs]
            getattr(library, f"arm_{name}")(*(ctypes.c_void_p(x.ctypes.data) for x in (*arrays, *out)))
            for found, expected in zip(out, right if len(out) > 1 else [right], strict=True):
                assert_same(found, expected, tolerance)


def test_inputs_that_cannot_be(tmp_path):
    robot = Robot.load("planar")
    for wrong, message in [
        ({"inputs": "wrench"}, "inputs: found 'wrench'; a list of different names"),
        ({"functions": ["x"]}, "functions: found 'x'; allowed: inverse_dynamics"),
        ({"functions": []}, "functions: found none; allowed"),
        ({"inputs": ["m7"]}, "inputs: found 'm7'; allowed with inverse_dynamics: wrench, .*payload, g, a1"),
        ({"functions": ["pose"], "inputs": ["payload"]}, "found 'payload'; allowed with pose: g"),
        ({"inputs": ["base.angular_velocity"]}, "a moving base takes all of"),
        ({"scalar": "half"}, "scalar: found 'half'"),
    ]:
        with pytest.raises(ArmdynError, match=message):
            robot.export_c(**wrong)
    with golden_error(ArmdynError):
        robot.with_symbols(ml1=None).export_c()
    free = robot.with_symbols(ml1=None).inverse_dynamics(*np.ones((3, 2)), parameters=robot.parameters)
    assert_same(free, robot.inverse_dynamics(*np.ones((3, 2))), 1e-12)  # no mass of its own is needed
    with golden_error(ArmdynError):
        robot.with_tip("base").export_c(inputs=["payload"])
    with golden_error(ArmdynError):
        Robot.load("four_bar").export_c(inputs=["a2"])


def test_header_says_shapes_units_counts_and_origin(tmp_path):
    exported("planar", tmp_path, "--functions", "inertia")
    header = (tmp_path / "arm.h").read_text()
    for part in (
        "two-link planar arm",
        "armdyn",
        "q[2]",
        "[rad or m]",
        "(2x2)",
        "operations:",
        "arm_inertia",
    ):
        assert part in header


def test_two_exports_are_the_same_bytes(tmp_path):
    for folder in ("a", "b"):
        exported("scara", tmp_path / folder, "--functions", "all")
    for name in (path.name for path in (tmp_path / "a").iterdir()):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


RESERVED = """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile
    while _Bool _Complex _Imaginary
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdarg stdbool
    stddef stdint stdio stdlib string tgmath time wchar wctype
    main con com1 lpt9
"""  # keywords, headers of the library, names of devices
NAMES = [
    "2R arm",
    "é",
    "",
    "a-b c",
    "PUMA 560",
    "x" * 5000,
    "_" * 70,
    "a" * 47 + "--b",
    "/etc/passwd",
    "../up",
]


@pytest.mark.parametrize("text", [*NAMES, *RESERVED.split(), "Math", "INT", "COM1"])
def test_any_name_and_a_c_identifier(text):
    found = identifier(text)
    assert found.isidentifier()
    assert found.isascii()
    assert len(found) < 60
    assert not found.startswith("_")
    assert not found.endswith("_")
    assert found not in RESERVED.split()
    assert identifier(found) == found


# ---- names in comments -------------------------------------------------------------------------------------

ATTACK = '#error "out"\nint main(void) { return system("id"); }'
ENDS = [
    "*/",
    "*\\\n/",
    "*??/\n/",
    "*\\/",
    "/*/",
    "*/*/",
    "*?\\\n?/\n/",
    "*\r/",
    "*\0/",
    "*\u2028/",
    "*\\\\/",
    "??/",
]


def robot_named(title, joint="joint"):
    link = {"name": joint, "joint": "revolute", "a": 1, "alpha": 0, "d": 0, "mass": 1}
    link |= {"inertia": {"xx": 1, "yy": 1, "zz": 1}}
    return Robot.from_dict({"name": title, "convention": "dh", "gravity": [0, 0, -9.81], "link": [link]})


def source_of(robot, names=("gravity",), scalar="double"):
    joints = [link.name for link in robot.model.moving]
    programs = {name: robot.program(name) for name in names}
    return c_source(robot.name, identifier(robot.name), programs, joints, Language(scalar), WORDS)


def compiles(source, folder):
    paths = source.write(folder)
    flags = ["-std=c99", "-trigraphs", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    done = subprocess.run(
        [CC, *flags, paths[1].name, paths[2].name, "-lm", "-o", "test"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert subprocess.run([folder / "test"], capture_output=True, check=False).returncode == 0


@needs_compiler
def test_names_that_would_leave_the_comment(tmp_path):
    """Each end of a comment, in the title and in a joint, with code behind it that would not compile."""
    for k, end in enumerate(ENDS):
        text = f"arm {end}{ATTACK}"
        source = c_source(
            text,
            "arm",
            {"gravity": robot_named("arm").program("gravity")},
            [text, text[::-1]],
            Language(),
            WORDS,
        )
        compiles(source, tmp_path / str(k))


@needs_compiler
def test_a_robot_with_such_a_name(tmp_path):
    compiles(source_of(robot_named(f"arm *\\\n/{ATTACK}", f"j *??/\n/{ATTACK}")), tmp_path / "out")


def test_any_text_as_a_comment():
    rng = random.Random(5)
    for _ in range(3000):
        text = "".join(rng.choice("*/\\?\n\r\t\v\0\x1b\u2028\u202eaé<") for _ in range(rng.randint(0, 12)))
        line = commented(text)
        assert line.isprintable()
        for part in ("\\", "??", "*/", "/*", "\n"):
            assert part not in f" * {line}"
        assert commented(line) == line
    assert commented("two-link arm, 5 % (v. 2)?") == "two-link arm, 5 % (v. 2)?"


# ---- numbers beyond the type -------------------------------------------------------------------------------


def program_of(constant):
    return record(lambda x: [x[0] * constant], [("q", 1)], [("out", (1,))])


@pytest.mark.parametrize(
    ("constant", "scalar"),
    [(np.inf, "double"), (-np.inf, "double"), (np.nan, "double"), (1e39, "float"), (-1e300, "float")],
)
def test_a_constant_beyond_the_type_is_refused(constant, scalar):
    with pytest.raises(ArmdynError, match=rf"gravity: the constant .* cannot be written as a {scalar} of C"):
        c_source("arm", "arm", {"gravity": program_of(float(constant))}, ["j"], Language(scalar), WORDS)


@needs_compiler
@pytest.mark.parametrize("scalar", ["double", "float"])
@pytest.mark.parametrize("constant", [1e37, slowly(-1e37), slowly(3e38), 1e-300, slowly(-1e-60), -0.0])
def test_constants_within_the_type(tmp_path, constant, scalar):
    compiles(
        c_source("arm", "arm", {"gravity": program_of(constant)}, ["j"], Language(scalar), WORDS),
        tmp_path / "out",
    )


def test_a_value_of_the_test_beyond_the_type_is_refused():
    product = record(lambda x: [(x[0] + 3e38) * (x[1] + 3e38)], [("q", 2)], [("out", (1,))])
    with golden_error(ArmdynError):
        c_source("arm", "arm", {"gravity": product}, ["j"], Language("float"), WORDS)


# ---- files -------------------------------------------------------------------------------------------------


def test_the_folder_is_made_but_not_those_above(tmp_path):
    source = source_of(robot_named("arm"))
    with golden_error(ArmdynError):
        source.write(tmp_path / "no" / "such")
    assert list(tmp_path.iterdir()) == []
    names = ["arm.h", "arm.c", "test_arm.c", "arm.hpp", "CMakeLists.txt", "README.md"]
    assert [path.name for path in source.write(tmp_path / "new")] == names
    (tmp_path / "file").write_text("")
    with golden_error(ArmdynError):
        source.write(tmp_path / "file")


def test_all_files_or_none(tmp_path):
    source = source_of(robot_named("arm"))
    (tmp_path / "test_arm.c").mkdir()
    with golden_error(ArmdynError):
        source.write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["test_arm.c"]


def test_files_of_others_with_common_names_stay(tmp_path):
    """A project's CMake file and README, or those of another prefix; those of this one are replaced."""
    source = source_of(robot_named("arm"))
    for name in ("CMakeLists.txt", "README.md"):
        (tmp_path / name).write_text("project(mine)")
        with golden_error(ArmdynError):
            source.write(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == [name]
        (tmp_path / name).unlink()
    source.write(tmp_path)
    source_of(robot_named("arm"), scalar="float").write(tmp_path)
    with golden_error(ArmdynError):
        source_of(robot_named("other_arm")).write(tmp_path)


def test_unknown_function_is_named(tmp_path):
    result = CliRunner().invoke(app, ["export", "c", "planar", "-o", str(tmp_path), "--functions", "torque"])
    assert result.exit_code != 0
    assert "torque" in str(result.exception)
    assert "inverse_dynamics" in str(result.exception)


@needs_compiler
def test_springs_in_c(tmp_path):
    """At joints, between points with a rest length and a force, and without either."""
    robot = Robot(sprung(Robot.load("elbow").model, 3))
    names = ("springs", "inverse_dynamics", "forward_dynamics", "potential_energy", "joint_wrenches")
    compiles(source_of(robot, names), tmp_path / "out")


def test_all_leaves_out_second_derivatives():
    text = Robot.load("rp").export_c("all", prefix="arm").header
    assert "arm_forward_dynamics_derivatives(" in text
    assert "second_derivatives" not in text
    assert "arm_forward_dynamics_hessian_product(" in Robot.load("rp").export_c(LONG, prefix="arm").header
