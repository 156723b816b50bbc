"""Functions for MATLAB and Octave: what Octave computes is what the kernels compute."""

import re
import shutil
import subprocess
from functools import partial

import numpy as np
import pytest
from scipy.io import loadmat, savemat
from tests.helpers.golden_messages import golden_error

from armdyn import ArmdynError, Robot, Trajectory, simulate
from armdyn.program.evaluate import evaluate
from armdyn.robot.functions import usual_functions
from armdyn.robot.postures import random_postures

OCTAVE = shutil.which("octave-cli") or shutil.which("octave")
COMPILED = "inverse_dynamics forward_dynamics inertia coriolis gravity pose jacobian regressor kinetic_energy"
octave = pytest.mark.skipif(OCTAVE is None, reason="no GNU Octave")


def run_octave(folder, commands):
    found = subprocess.run(
        [OCTAVE, "--quiet", "--no-gui", "--eval", commands],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert found.returncode == 0, found.stdout[-2000:] + found.stderr[-2000:]
    return found.stdout


@octave
@pytest.mark.parametrize(
    "name",
    ["planar", "five_bar", *(pytest.param(x, marks=pytest.mark.slow) for x in ("puma560", "panda", "scara"))],
)
def test_octave_agrees_with_the_kernels(name, tmp_path):
    """Twenty functions at five states in one call each; rows of NumPy are columns of Octave."""
    robot, rng = Robot.load(name), np.random.default_rng(3)
    names = [*usual_functions(robot.model), "inverse_dynamics_second_derivatives"]
    robot.export_matlab(tmp_path, names, prefix="arm")
    programs = {x: robot.program(x) for x in names}
    assert len(programs) >= 20
    given = {x: rng.uniform(-1, 1, (5, size)) for program in programs.values() for x, size in program.inputs}
    if robot.model.loops:
        given["q"] = robot.assembly(random_postures(robot.assembly, rng, 5))
    savemat(tmp_path / "in.mat", {x: values.T for x, values in given.items()})
    lines = ["load in.mat"]
    for x, program in programs.items():
        results = [f"r.{x}_{k}" for k in range(len(program.outputs))]
        lines.append(f"[{', '.join(results)}] = arm.{x}({', '.join(a for a, _ in program.inputs)})")
    run_octave(tmp_path, "; ".join([*lines, "save -v7 out.mat r"]))
    found = loadmat(tmp_path / "out.mat")["r"][0, 0]
    for x, program in programs.items():
        arrays = [given[a] for a, _ in program.inputs]
        public = getattr(robot, x) if x in COMPILED.split() else None  # machine code; the others NumPy
        values = (public or partial(evaluate, program))(*arrays)
        values = values if isinstance(values, tuple | list) else [values]
        for k, value in enumerate(values):
            expected = np.moveaxis(np.asarray(value), 0, -1)
            scale = max(1.0, np.abs(expected).max())
            got = found[f"{x}_{k}"].reshape(expected.shape)
            np.testing.assert_allclose(got / scale, expected / scale, rtol=0, atol=1e-12, err_msg=x)


@octave
def test_the_test_of_a_package_passes_and_can_fail(tmp_path):
    robot = Robot.load("five_bar")
    robot.export_matlab(tmp_path, ["inverse_dynamics", "pose"])
    assert "assemble: ok\ninverse_dynamics out: ok\npose out: ok" in run_octave(tmp_path, "test_five_bar")
    path = tmp_path / "+five_bar" / "pose.m"
    path.write_text(re.sub(r"(out\(1, :\) = )", r"\g<1>1e-9 + ", path.read_text()))
    assert "pose out: FAILED" in run_octave(tmp_path, "try test_five_bar, catch, end")


@octave
def test_inputs_at_run_time(tmp_path):
    """Payload, wrench, parameters and symbols are arguments; a column counts for all states."""
    robot = Robot.load("planar")
    inputs = ["wrench", "payload", "a1", "g"]
    robot.export_matlab(tmp_path, ["inverse_dynamics", "gravity"], inputs, prefix="two")
    robot.export_matlab(tmp_path, ["inverse_dynamics"], ["parameters"], prefix="by_parameters")
    out = run_octave(
        tmp_path,
        "test_two; test_by_parameters; s = two.symbols(); q = [0.1 0.2; 0.3 0.4]; w = [1;2;0;0;0;3]; "
        "load_ = [2; 0.1; 0; 0; 0.02; 0; 0; 0.03; 0; 0.03]; s(1) = 1.5; "
        "printf('%.15g ', two.inverse_dynamics(q, 0*q, 0*q, w, load_, s)); "
        "printf('%.15g ', by_parameters.inverse_dynamics(q, q, q, by_parameters.parameters()))",
    )
    numbers = [float(x) for x in out.split("ok")[-1].split()]
    q = np.array([[0.1, 0.3], [0.2, 0.4]])
    loaded = robot.with_symbols(a1=1.5).with_payload(2, com=[0.1, 0, 0], inertia=np.diag([0.02, 0.03, 0.03]))
    expected = loaded.inverse_dynamics(q, 0 * q, 0 * q, wrench=[1, 2, 0, 0, 0, 3])
    np.testing.assert_allclose(numbers[:4], expected.ravel(), rtol=1e-12)
    np.testing.assert_allclose(numbers[4:], robot.inverse_dynamics(q, q, q).ravel(), rtol=1e-12)


@octave
def test_a_wrong_size_is_said(tmp_path):
    Robot.load("planar").export_matlab(tmp_path, ["gravity"])
    said = run_octave(tmp_path, "try, two_link_planar_arm.gravity([1 2]), catch e, disp(e.message), end")
    assert said.strip() == "q: found 1 rows; 2 are expected"


def test_what_is_refused(tmp_path):
    robot = Robot.load("planar")
    with golden_error(ArmdynError):
        robot.export_matlab(tmp_path, ["inverse"])
    with golden_error(ArmdynError):
        robot.export_matlab(tmp_path, ["poses"], ["payload"])
    (tmp_path / "file").write_text("")
    with pytest.raises(ArmdynError, match="cannot write to"):
        robot.export_matlab(tmp_path / "file")
    assert not (tmp_path / "+two_link_planar_arm").exists()


@octave
@pytest.mark.slow
def test_equations_in_symbols(tmp_path):
    """The script's matrices, with numbers for symbols, are the kernels'."""
    if "symbolic" not in run_octave(tmp_path, "pkg list"):
        pytest.skip("Octave has no package symbolic")
    for name in ("planar", "scara"):
        robot = Robot.load(name)
        text = robot.equations().matlab_source()
        (tmp_path / "eqs.m").write_text(text)
        symbols = [x for line in re.findall("syms (.*) real", text) for x in line.split()]
        q, qd = 0.3 + np.arange(robot.n) / 7, 1 - np.arange(robot.n) / 5
        values = {**{f"q{i + 1}": x for i, x in enumerate(q)}, **{f"qd{i + 1}": x for i, x in enumerate(qd)}}
        values |= dict(robot.symbols)
        numbers = ", ".join(repr(float(values[x])) for x in symbols)
        lines = ["pkg load symbolic", "eqs"]
        for x in ("inertia", "coriolis", "gravity"):
            found = f"double(subs({x}, {{{', '.join(symbols)}}}, {{{numbers}}}))"
            lines.append(f"printf('%.15g ', {found})")
        n = robot.n
        numbers = [float(x) for x in run_octave(tmp_path, "; ".join(lines)).rsplit("\n")[-1].split()]
        B, C = (np.reshape(numbers[k * n * n : (k + 1) * n * n], (n, n), order="F") for k in (0, 1))
        np.testing.assert_allclose(B, robot.inertia(q), rtol=1e-12)
        np.testing.assert_allclose(C, robot.coriolis(q, qd), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(numbers[2 * n * n :], robot.gravity(q), rtol=1e-12, atol=1e-13)


def test_numbers_of_scripts_are_exact():
    """What no double holds is written as an exact number."""
    text = Robot.load("puma560").equations().matlab_source()
    assert re.search(r"sym\(\d+\)/\d+", text)
    assert not re.search(r"(?<![\d'])\d{17,}", text)  # beyond 2^53 in quotes only


def test_motions_and_runs_as_mat_files(tmp_path):
    robot, motion = Robot.load("planar"), Trajectory.quintic([0, 0], [1, 0.5], 0.1)
    motion.to_mat(tmp_path / "motion.mat")
    found, at = loadmat(tmp_path / "motion.mat"), motion.samples()
    for name in ("q", "qd", "qdd"):
        np.testing.assert_array_equal(found[name], getattr(at, name))
    assert found["t"].shape == (len(at.t), 1)
    run = simulate(robot, [0.1, 0.2], [0, 0], 0.05)
    run.to_mat(tmp_path / "run.mat")
    found = loadmat(tmp_path / "run.mat")
    np.testing.assert_array_equal(found["q"], run.q)
    np.testing.assert_array_equal(found["energy"][:, 0], run.energy)
