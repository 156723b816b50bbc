"""Packages of C: CMake, compilers and processors, C++, stack, rounding, functions that need no library."""

import ctypes
import random
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from armdyn import ComputedTorque, MomentumObserver, OnlineFit, PDGravity, Robot, Trajectory
from armdyn.identification import online_source
from armdyn.kernels import c_math
from armdyn.kernels.c import Words
from armdyn.kernels.c_package import Language, c_source, reference, rounding
from armdyn.program import record
from armdyn.program.evaluate import evaluate
from armdyn.program.ops import OPS
from armdyn.simulation import controller_source, observer_source, steps_source
from arms import Part, Plan, law, quietly, robots, slowly, table_of
from pid_controller import PID

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wdouble-promotion", "-Wshadow", "-Werror"]
COMPILERS = {  # and what runs their programs
    "gcc": [],
    "clang": [],
    "i686-linux-gnu-gcc": ["qemu-i386-static", "-L", "/usr/i686-linux-gnu"],
    "aarch64-linux-gnu-gcc": ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"],
}
MANY = ["inverse_dynamics", "forward_dynamics", "inertia", "gravity", "friction", "pose", "regressor"]


def need(*tools):
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"there is no {tool} on this machine")


def run(*command, cwd=None):
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def rubbing():
    """Two joints with friction that is smooth at rest: tanh; and Stribeck's: exp."""
    friction = {"viscous": 0.3, "coulomb": 0.5, "width": 0.2, "stribeck": {"level": 0.2, "velocity": 0.4}}
    link = {"joint": "revolute", "a": 1, "alpha": 0.3, "d": 0.1, "mass": 2, "com": [0.1, 0.2, 0.3]}
    link |= {"inertia": {"xx": 1, "yy": 2, "zz": 1.5, "xy": 0.1}, "friction": friction}
    links = [{"name": name, **link} for name in ("one", "two")]
    return Robot.from_dict({"name": "rubbing", "convention": "dh", "gravity": [0, 0, -9.81], "link": links})


def control_law(kind, robot):
    start = np.zeros(robot.n)
    motion = Trajectory.quintic(start, start + 0.3, 0.5)
    if kind == "saturated":
        return PDGravity(robot, motion, 100.0, 10.0, saturated=True)
    return ComputedTorque(robot, motion)


def source(kind, **of):
    """One package of each kind, and of what is peculiar about robots."""
    puma, planar = Robot.load("puma560"), Robot.load("planar")
    match kind:
        case "planar":
            return planar.export_c(MANY, ["wrench", "payload", "parameters"], **of)
        case "panda":
            return Robot.load("panda").export_c(MANY, ["wrench", "payload"], **of)
        case "friction":
            return rubbing().export_c(MANY, **of)
        case "five_bar" | "elastic_link":
            return Robot.load(kind).export_c(["inverse_dynamics", "forward_dynamics"], **of)
        case "law" | "saturated":
            return controller_source(control_law(kind, puma), **of, inputs=["payload"])
        case "observer":
            watch = MomentumObserver(puma, gain=100, step=1e-3, threshold=3, held=True)
            return observer_source(watch, **of, inputs=["payload"])
        case "online":
            return online_source(OnlineFit(planar, "payload", step=1e-3), **of)
        case "steps":
            return steps_source(planar, PID(planar, [0.4, 0.3], rate=500), **of)
        case "rubbing" | "held":
            return steps_source(puma, None if kind == "rubbing" else control_law("law", puma), **of)
        case "closed":
            return steps_source(Robot.load("five_bar"), [1.0, -2.0], **of)


LAWS = ["law", "saturated", "observer", "online", "steps", "rubbing", "held", "closed"]
KINDS = ["planar", "panda", "friction", "five_bar", "elastic_link", *LAWS]
VARIANTS = [("double", True), ("double", False), ("float", True), ("float", False)]
FEW = [("planar", "gcc", "float", False)]
ALL = [(kind, compiler, *x) for kind in KINDS for compiler in COMPILERS for x in (VARIANTS[0], VARIANTS[3])]
PARAMETERS = [*FEW, *(slowly(*x) for x in ALL if x not in FEW)]


@pytest.mark.parametrize(("kind", "compiler", "scalar", "libm"), PARAMETERS)
def test_code_with_all_warnings_and_reference_vectors(tmp_path, kind, compiler, scalar, libm):
    """Every kind of package, without optimisation and with it, on each processor."""
    need(compiler, *COMPILERS[compiler][:1])
    made = source(kind, prefix="arm", scalar=scalar, libm=libm)
    made.write(tmp_path)
    if not libm:
        assert "math.h" not in made.source + made.header + made.test
    library = ["-lm"] if libm else []
    for optimised in ("-O0", "-O2"):
        run(compiler, "-std=c99", optimised, *STRICT, "-c", "arm.c", cwd=tmp_path)
        run(compiler, "-std=c99", *STRICT, "arm.o", "test_arm.c", *library, "-o", "test", cwd=tmp_path)
        said = run(*COMPILERS[compiler], tmp_path / "test")
        assert "FAILED" not in said


USE = """
cmake_minimum_required(VERSION 3.15)
project(use LANGUAGES C CXX)
find_package(left CONFIG REQUIRED)
find_package(right CONFIG REQUIRED)
add_executable(use use.cpp)
set_target_properties(use PROPERTIES CXX_STANDARD 17 CXX_EXTENSIONS ON)
target_link_libraries(use PRIVATE left::left right::right)
"""
CALLS = """
#include "left.hpp"
#include "right.hpp"
#include <cstdio>

namespace left = armdyn::left;
namespace right = armdyn::right;

int main()
{
    const std::array<double, 2> q = {0.3, -0.5};
    double qd[2] = {1.0, 2.0}, qdd[2] = {0.5, -1.0};
    std::array<double, 2> tau;
    left::inverse_dynamics(q, qd, qdd, tau);
    static_assert(noexcept(left::inverse_dynamics(q, qd, qdd, tau)), "nothing throws");
    left::span<double, 2> torques = tau;
    right::stepper law;
    const float at[6] = {0.0f, 0.1f, 0.2f, 0.3f, 0.4f, 0.5f};
    const float signals[18] = {};
    float torque[6];
    law.step(at, at, signals, torque);
    for (double x : torques) {
        std::printf("%.17g\\n", x);
    }
    std::printf("%.9g\\n", static_cast<double>(torque[1]));
    return 0;
}
"""


def test_two_packages_in_one_program_of_cpp(tmp_path, monkeypatch):
    """Built and tested as their READMEs say, one without libm; installed by CMake, found, called from C++."""
    need("cmake", "g++")
    planar, puma = Robot.load("planar"), Robot.load("puma560")
    control = control_law("law", puma)
    planar.export_c(prefix="left").write(tmp_path / "left")
    controller_source(control, prefix="right", scalar="float", libm=False).write(tmp_path / "right")
    monkeypatch.setenv("CFLAGS", " ".join(STRICT))
    for name in ("left", "right"):
        folder = tmp_path / name
        told = re.search(r"```sh\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)[1]
        assert "100% tests passed, 0 tests failed out of 1" in run("sh", "-ec", told, cwd=folder)
        run("cmake", "--install", "build", "--prefix", tmp_path / "usr", cwd=folder)
    use = tmp_path / "use"
    use.mkdir()
    (use / "CMakeLists.txt").write_text(USE)
    (use / "use.cpp").write_text(CALLS)
    flags = f"-DCMAKE_CXX_FLAGS={' '.join(STRICT)} -fno-exceptions -fno-rtti"
    run("cmake", "-S", use, "-B", use / "build", flags, f"-DCMAKE_PREFIX_PATH={tmp_path / 'usr'}")
    run("cmake", "--build", use / "build")
    found = [float(x) for x in run(use / "build" / "use").split()]
    expected = planar.inverse_dynamics([0.3, -0.5], [1.0, 2.0], [0.5, -1.0])
    np.testing.assert_allclose(found[:2], expected, rtol=1e-14)
    q = np.arange(6) / 10
    constants = np.concatenate([np.ravel(x) for x in control.constants().values()])
    program = control.kernel.program
    (torque,) = evaluate(program, q, q, constants, np.zeros(18))
    np.testing.assert_allclose(found[2], torque[1], rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_cmake_and_ctest(tmp_path, compiler, variant):
    need("cmake", compiler, *COMPILERS[compiler][:1])
    source("panda", prefix="arm", scalar=variant[0], libm=variant[1]).write(tmp_path)
    emulator = ";".join(COMPILERS[compiler])
    cross = ["-DCMAKE_SYSTEM_NAME=Linux"] * bool(emulator)
    build = tmp_path / "build"
    run(
        *("cmake", "-S", tmp_path, "-B", build, "-DCMAKE_BUILD_TYPE=Release", *cross),
        *(f"-DCMAKE_C_COMPILER={compiler}", f"-DCMAKE_C_FLAGS={' '.join(STRICT)}"),
        f"-DCMAKE_CROSSCOMPILING_EMULATOR={emulator}",
    )
    run("cmake", "--build", build)
    assert "100% tests passed, 0 tests failed out of 1" in run("ctest", cwd=build)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_sanitizer_complains(tmp_path, kind):
    """Addresses and undefined behaviour, in the reference vectors."""
    need("gcc")
    for scalar, libm in (VARIANTS[0], VARIANTS[3]):
        source(kind, prefix="arm", scalar=scalar, libm=libm).write(tmp_path)
        checks = ["-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"]
        run("gcc", "-g", "-O1", *checks, "arm.c", "test_arm.c", "-lm", cwd=tmp_path)
        run(tmp_path / "a.out")


@pytest.mark.parametrize("kind", ["steps", *(slowly(x) for x in KINDS if x != "steps")])
def test_reference_vectors_and_wrong_code(tmp_path, kind):
    """A product made a sum, at four places: at least three are found."""
    need("gcc")
    made = source(kind, prefix="arm")
    products = [x.start() for x in re.finditer(r"(?<=\w|\)) \* (?=[(\w])", made.source)]
    missed = 0
    for place in products[:: len(products) // 4][:4]:
        wrong = f"{made.source[:place]} + {made.source[place + 3 :]}"
        made.write(tmp_path)
        (tmp_path / "arm.c").write_text(wrong)
        run("gcc", "-w", "-O0", "arm.c", "test_arm.c", "-lm", "-o", "test", cwd=tmp_path)
        done = subprocess.run([tmp_path / "test"], capture_output=True, text=True, check=False)
        missed += "FAILED" not in done.stdout or done.returncode == 0
    assert missed <= 1


# ---- stack -------------------------------------------------------------------------------------------------


def frames(folder, compiler, *options):
    """Bytes of stack of each function, as the compiler says."""
    run(compiler, "-std=c99", *options, "-fstack-usage", "-c", "arm.c", "-o", "arm.o", cwd=folder)
    found = {}
    for line in (folder / "arm.su").read_text().splitlines():
        where, size, kind = line.split("\t")
        assert kind in ("static", "dynamic,bounded")  # nothing whose size a number decides
        name = where.rpartition(":")[2].partition(".")[0]
        found[name] = max(found.get(name, 0), int(size))
    return found


def taken(frames, name, header):
    """Stack of a public function, if none of those that it calls shares a place with another."""
    math = sum(size for x, size in frames.items() if x.removeprefix("arm_") in ("sine", *c_math.FUNCTIONS))
    parts = sum(size for x, size in frames.items() if x.startswith(f"{name}_"))
    steps = [x for x in ("arm_torques", "arm_observer", "arm_online") if f" {x}(" in header]
    further = sum(taken(frames, x, header) for x in steps) if name == "arm_step" else math
    return frames[name] + parts + further


def said_stack(header):
    said = re.findall(r"stack: at most (\d+) bytes(?:(?!void ).)*void (\w+)\(", header, re.DOTALL)
    return {name: int(size) for size, name in said}


STACKS = [("planar", "gcc"), *(slowly("planar", x) for x in COMPILERS if x != "gcc")]
STACKS += [slowly(kind, x) for kind in KINDS if kind != "planar" for x in COMPILERS]


@pytest.mark.parametrize(("kind", "compiler"), STACKS)
def test_stack_that_is_taken_and_said(tmp_path, kind, compiler):
    need(compiler)
    for scalar, libm in (VARIANTS[0], VARIANTS[3]):
        made = source(kind, prefix="arm", scalar=scalar, libm=libm)
        made.write(tmp_path)
        said = said_stack(made.header)
        assert len(said) == made.header.count("stack: at most")
        for optimised in ("-O0", "-O2"):
            sizes = frames(tmp_path, compiler, optimised)
            for name, most in said.items():
                assert taken(sizes, name, made.header) <= most, (name, optimised)


def arm(n, seed=3):
    """A chain of n links with full tensors, joints that slide among them, motors anywhere with any axes."""
    rng, names = random.Random(seed), ["base", *(f"link {k + 1}" for k in range(n))]
    kinds = [rng.choice(("revolute", "prismatic")) for _ in range(n)]
    parts = [
        Part(name, parent, joint, rng.choice(names), (), True)
        for parent, name, joint in zip(names[:-1], names[1:], kinds, strict=True)
    ]
    return quietly(lambda: Robot.from_dict(table_of(Plan(tuple(parts), "exact", names[-1], seed))))


MEASURE = """
#include "arm.h"
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

static unsigned char stack[1 << 21];
static ucontext_t here, there;
ARRAYS
static void nothing(void) { }
FUNCTIONS
static long taken(void (*function)(void))
{
    size_t k = 0;
    memset(stack, 0xa5, sizeof stack);
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = sizeof stack;
    there.uc_link = &here;
    makecontext(&there, function, 0);
    swapcontext(&here, &there);
    while (stack[k] == 0xa5) {
        ++k;
    }
    return (long)(sizeof stack - k);
}

int main(void)
{
    const long none = taken(nothing);
CALLS
    return 0;
}
"""


def measured(folder, header, *command):
    """Bytes of a stack of its own that each function changes, beside one that does nothing."""
    arrays, functions, calls = [], [], []
    for name, given in re.findall(r"void (\w+)\((.*?)\);", header):
        own = [f"{name}_{k}" for k in range(given.count(",") + 1)]
        for array, one in zip(own, given.split(", "), strict=True):
            scalar, size = re.fullmatch(r"(?:const )?(\w+) \w+\[(\d+)\]", one).groups()
            arrays.append(f"static {scalar} {array}[{size}];")
        functions.append(f"static void call_{name}(void) {{ {name}({', '.join(own)}); }}")
        calls.append(f'    printf("{name} %ld\\n", taken(call_{name}) - none);')
    text = MEASURE.replace("ARRAYS", "\n".join(arrays)).replace("FUNCTIONS", "\n".join(functions))
    (folder / "measure.c").write_text(text.replace("CALLS", "\n".join(calls)))
    run(*command, "-w", "arm.c", "measure.c", "-o", "measure", cwd=folder)
    return {name: int(size) for name, size in (line.split() for line in run(folder / "measure").splitlines())}


SHORT = ["inverse_dynamics", "gravity", "pose", "friction"]
FRAMES = [(1, "gcc", ("-O0", "-O2")), slowly(30, "gcc", ("-O0", "-O2")), slowly(30, "clang", ("-O0",))]


@pytest.mark.parametrize(("n", "compiler", "levels"), [*FRAMES, slowly(1, "clang", ("-O0", "-O2"))])
def test_stack_of_one_joint_and_of_thirty(tmp_path, n, compiler, levels):
    """Measured while the functions run, in both types; forward dynamics of 30 joints without optimisation."""
    need(compiler)
    robot = arm(n)
    for level in levels:
        functions = SHORT if n > 1 and level != "-O0" else [*SHORT, "forward_dynamics", "inertia"]
        for scalar in ("double", "float"):
            made = robot.export_c(functions, prefix="arm", scalar=scalar, libm=False)
            made.write(tmp_path)
            said = said_stack(made.header)
            assert len(said) == len(functions)
            sizes = measured(tmp_path, made.header, compiler, "-std=gnu99", level)
            assert min(sizes.values()) < max(sizes.values())
            assert all(size <= said[name] for name, size in sizes.items()), (level, sizes, said)


# ---- rounding ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("robot", ["planar", slowly("puma560"), slowly("panda"), slowly("ur10")])
def test_rounding_and_its_bound(robot):
    """Every operation rounded to float on its own, at many states; the bound is not far off."""
    robot, language = Robot.load(robot), Language("float")
    rng = np.random.default_rng(3)
    for name in ("inverse_dynamics", "forward_dynamics", "inertia", "regressor"):
        program = robot.program(name)
        states = [language.rounded(rng.uniform(-2, 2, (20, size))) for _, size in program.inputs]
        columns = [np.float32(x[:, k]) for x in states for k in range(x.shape[1])]
        found = program.values(columns, lambda op, *x: np.float32(OPS[op].value(*x)), np.float32)
        bounds = rounding(program, states, language)
        for results, expected, bound in zip(found, evaluate(program, *states), bounds, strict=True):
            flat = expected.reshape(20, -1)
            gaps = [abs(np.asarray(x, float) - flat[:, k]).max() for k, x in enumerate(results)]
            assert bound / 1000 < max(gaps) <= bound


def in_both_types(folder, robot, functions, *level):
    """Functions compiled in double and in float: call(name, states) gives a list of results of each."""
    libraries = {}
    for scalar in ("double", "float"):
        within = folder / scalar
        robot.export_c(functions, prefix="arm", scalar=scalar).write(within)
        run("gcc", "-std=c99", *level, "-shared", "-fPIC", "arm.c", "-lm", "-o", "arm.so", cwd=within)
        libraries[scalar] = ctypes.CDLL(str(within / "arm.so"))

    def call(name, states):
        program, results = robot.program(name), []
        for scalar, kind in (("double", np.float64), ("float", np.float32)):
            out = [np.zeros(shape, kind) for _, shape in program.outputs]
            given = [np.ascontiguousarray(x, kind) for x in states]
            pointers = (ctypes.c_void_p(x.ctypes.data) for x in (*given, *out))
            getattr(libraries[scalar], f"arm_{name}")(*pointers)
            results.append(out)
        return results

    return call


@pytest.mark.slow
def test_functions_of_the_panda_in_float_and_double(tmp_path):
    """The same states in both types: within the bound of rounding to float."""
    need("gcc")
    robot, language = Robot.load("panda"), Language("float")
    call, rng = in_both_types(tmp_path, robot, MANY, "-O2"), np.random.default_rng(5)
    for name in MANY:
        program = robot.program(name)
        for _ in range(50):
            states = [np.float32(rng.uniform(-2, 2, size)) for _, size in program.inputs]
            bounds = rounding(program, [x.astype(float) for x in states], language)
            for double, single, bound in zip(*call(name, states), bounds, strict=True):
                assert abs(double - single).max() <= bound


@law(robots((1, 4)), examples=4, thorough=25)
def test_random_arms_in_float_and_double_and_what_headers_say(robot):
    """At the states of the test: within the share of the largest number of a result that the header says."""
    need("gcc")
    functions = ["inverse_dynamics", "forward_dynamics", "inertia", "pose", "regressor"]
    header = robot.export_c(functions, prefix="arm", scalar="float").header
    said = re.findall(r"rounding: at most (\S+) of (?:(?!void ).)*void arm_(\w+)\(", header, re.DOTALL)
    shares = {name: float(share) for share, name in said}
    with tempfile.TemporaryDirectory() as folder:
        call = in_both_types(Path(folder), robot, functions, "-O1")
        for name in functions:
            vectors = reference(name, robot.program(name), Language("float"), {})
            for row in range(vectors.states):
                results = call(name, [x[row] for x in vectors.inputs.values()])
                for double, single, whole in zip(*results, vectors.expected.values(), strict=True):
                    assert abs(double - single).max() <= shares[name] * abs(whole).max()


# ---- functions that need no library ------------------------------------------------------------------------


def own(folder, scalar):
    """The functions of `c_math.py`, of arrays, compiled."""
    need("gcc")
    texts = c_math.functions("my", c_math.FUNCTIONS, scalar)
    loops = [
        f"void many_{x}(long n, const {scalar} *x, {scalar} *y)\n"
        f"{{\n    for (long k = 0; k < n; ++k) {{\n        y[k] = my_{x}(x[k]);\n    }}\n}}\n"
        for x in c_math.FUNCTIONS
    ]
    (folder / "my.c").write_text("\n".join([*texts, *loops]))
    run("gcc", "-std=c99", "-O2", *STRICT, "-shared", "-fPIC", "my.c", "-o", "my.so", cwd=folder)
    library = ctypes.CDLL(str(folder / "my.so"))
    kind = np.float64 if scalar == "double" else np.float32

    def call(name, x):
        x = np.ascontiguousarray(x, kind)
        y = np.empty_like(x)
        pointers = (ctypes.c_void_p(a.ctypes.data) for a in (x, y))
        getattr(library, f"many_{name}")(ctypes.c_long(x.size), *pointers)
        return x, y

    return call


@pytest.mark.parametrize("scalar", ["double", "float"])
def test_functions_without_libm_and_what_is_said_of_them(tmp_path, scalar):
    """Compared in a type with more digits, over the whole range and near multiples of π/2."""
    call, said = own(tmp_path, scalar), c_math.PRECISIONS[scalar]
    kind, more = (np.float64, np.longdouble) if scalar == "double" else (np.float32, np.float64)
    if np.finfo(more).nmant <= np.finfo(kind).nmant:
        pytest.skip("long double has no more digits than double on this machine")
    rng, many = np.random.default_rng(1), 100_000
    limit = said.form.limit
    corners = np.pi / 2 * np.arange(-5000, 5000)
    angles = np.concatenate([rng.uniform(-limit, limit, many), rng.uniform(-7, 7, many), corners, [limit]])
    for name in ("sin", "cos"):
        x, y = call(name, angles)
        assert abs(y - getattr(np, name)(x.astype(more))).max() <= said.sine
        _, outside = call(name, [limit * 1.01, -np.inf, np.inf, np.nan])
        assert np.isnan(outside).all()
    low, high = (0.999 * np.log(float(x)) for x in (np.finfo(kind).tiny, np.finfo(kind).max))
    ranges = {
        "exp": (rng.uniform(low, high, many), rng.uniform(-1, 1, many)),
        "tanh": (rng.uniform(-30, 30, many), rng.uniform(-0.9, 0.9, many)),
        "sqrt": (np.exp(rng.uniform(low, high, many)), rng.uniform(0, 5, many)),
    }
    for (name, given), ulps in zip(ranges.items(), said.ulps, strict=True):
        x, y = call(name, np.concatenate(given))
        right = getattr(np, name)(x.astype(more))
        assert (abs(y - right) / np.spacing(abs(right.astype(kind)))).max() <= ulps, name
    for name, given, right in [
        ("exp", [-np.inf, 0, np.inf, -2e4, 2e4], [0, 1, np.inf, 0, np.inf]),
        ("tanh", [-np.inf, 0, np.inf, -2e4, 2e4], [-1, 0, 1, -1, 1]),
        ("sqrt", [0, np.inf, 1, 4, 0.25], [0, np.inf, 1, 2, 0.5]),
        ("abs", [-1.5, 0, 2, -np.inf], [1.5, 0, 2, np.inf]),
    ]:
        np.testing.assert_array_equal(call(name, given)[1], np.array(right, kind))
        assert np.isnan(call(name, [np.nan])[1]).all()
    assert np.isnan(call("sqrt", [-1.0])[1]).all()


def test_operations_that_call_libm_and_functions_in_their_place():
    assert {op for op, row in OPS.items() if "{f}" in row.c} == set(c_math.FUNCTIONS)


# ---- names -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prefix", ["all", "std", "unix", *map(slowly, ("help", "armdyn", "class", "concept"))]
)
def test_a_prefix_that_others_use(tmp_path, prefix):
    """CMake's targets, macros of compilers, words of C++."""
    need("g++")
    made = Robot.load("pendulum").export_c(prefix=prefix)
    paths = {path.suffix: path for path in made.write(tmp_path)}
    for standard in ("gnu++17", "gnu++20"):
        run("g++", f"-std={standard}", *STRICT, "-fsyntax-only", "-x", "c++", paths[".hpp"])


def test_a_name_that_would_leave_a_comment_or_a_table(tmp_path):
    need("g++")
    program = record(lambda x: [x[0] * 2], [("q", 1)], [("out", (1,))])
    name = "a*/ | `b` #error\n$(touch x) ${y} \\"
    words = Words({"q": "x"}, {"f": ["y"]})
    made = c_source(name, "arm", {"f": program}, [name], Language(), words)
    made.write(tmp_path)
    run("g++", "-std=c++17", *STRICT, "-fsyntax-only", "-x", "c++", "arm.hpp", cwd=tmp_path)
    assert made.readme.splitlines()[0] == r"# a\* / \| \`b\` \#error $(touch x) ${y} /"
    need("cmake")
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build")
