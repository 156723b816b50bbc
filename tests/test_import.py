"""What `import armdyn` gives, and what it leaves alone."""

import os
import subprocess
import sys

import pytest

import armdyn

FOLDERS = ("analysis", "kernels", "motion", "report", "simulation")


def python(script, **environment):
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, **environment})


@pytest.mark.slow
def test_folders_are_found_without_being_imported():
    python("""
import sys
import armdyn
assert not {"numpy", "scipy", "matplotlib", "flint", "llvmlite"} & set(sys.modules)
armdyn.Robot
assert not {"scipy", "matplotlib", "flint", "llvmlite"} & set(sys.modules)
armdyn.report.write_report
armdyn.motion.Trajectory, armdyn.simulation.simulate, armdyn.analysis.contributions
assert "matplotlib.pyplot" not in sys.modules
""")


def test_numbers_need_neither_llvmlite_nor_flint():
    """Where they cannot be imported, robots load, numbers come from the evaluator, motions are made."""
    python("""
import sys
sys.modules["flint"] = sys.modules["llvmlite"] = None  # importing them fails
import armdyn
import numpy as np
armdyn.set_backend("evaluator")
robot = armdyn.Robot.load("puma560").with_payload(1.0)
q = np.full((3, 6), 0.2)
tau = robot.inverse_dynamics(q, q, q)
assert np.allclose(robot.forward_dynamics(q, q, tau), q)
assert robot.regressor(q, q, q) @ robot.parameters is not None
motion = armdyn.Trajectory.quintic(q[0], q[0] + 0.1, 1.0)
assert armdyn.contributions(robot, motion.q, motion.qd, motion.qdd).total.shape == motion.q.shape
for name in ("llvmlite", "flint"):
    assert sys.modules[name] is None
""")


@pytest.mark.parametrize("name", FOLDERS)
def test_folders_are_listed(name):
    assert name in dir(armdyn)
    assert getattr(armdyn, name).__name__ == f"armdyn.{name}"


def test_every_public_name_is_there():
    assert set(armdyn.__all__) == set(armdyn._HOMES)
    assert all(getattr(armdyn, name) is not None for name in armdyn.__all__)


def test_what_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'armdyn' has no attribute 'nothing'"):
        _ = armdyn.nothing


@pytest.mark.parametrize(
    ("backend", "kept"),
    [
        ("svg", "svg"),
        pytest.param("module://some.where", "module://some.where", marks=pytest.mark.slow),
        pytest.param("nonsense", None, marks=pytest.mark.slow),
    ],
)
def test_the_users_backend_stays(backend, kept, tmp_path):
    """Also one that does not exist: then matplotlib chooses, when it has to; pyplot is never loaded."""
    path = tmp_path / "arm.png"
    python(
        f"""
import os, sys
import armdyn.report
assert "matplotlib" not in sys.modules  # only when a figure is asked for
armdyn.report.plot_arm(armdyn.Robot.load("pendulum"), [0.1]).savefig({str(path)!r})
assert "matplotlib.pyplot" not in sys.modules
import matplotlib
assert matplotlib.rcParams._get_backend_or_none() == {kept!r}
assert os.environ["MPLBACKEND"] == {backend!r}
""",
        MPLBACKEND=backend,
    )
    assert path.stat().st_size > 1000
