"""FMUs, checked and run by FMPy, against `simulate`."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from armdyn import Robot, simulate

fmpy = pytest.importorskip("fmpy", reason='FMPy is not installed: pip install "armdyn[peers]"')
from fmpy.validation import validate_fmu  # noqa: E402

pytestmark = pytest.mark.skipif(
    all(shutil.which(x) is None for x in ("cc", "gcc", "clang")), reason="no C compiler on this machine"
)

KINDS = ("CoSimulation", "ModelExchange")
VERSIONS = ("3.0", "2.0")


def fmu_of(robot: Robot, folder: Path, version: str = "3.0", **options) -> Path:
    return robot.save(folder / f"arm{version[0]}.fmu", version=version, **options)


def ran(path: Path, kind: str, torques, duration: float, outputs, tolerance: float = 1e-10, **start):
    """Columns of outputs at every 10 ms; torques (K, n) are held for an equal part of the duration each."""
    torques = np.atleast_2d(torques)
    edges = np.linspace(0, duration, len(torques) + 1)
    columns = [("time", float)] + [(f"tau[{i + 1}]", float) for i in range(torques.shape[1])]
    rows = [(t, *x) for k, x in enumerate(torques) for t in edges[k : k + 2]]
    found = fmpy.simulate_fmu(
        str(path), stop_time=duration, fmi_type=kind, solver="CVode", relative_tolerance=tolerance,
        output_interval=0.01, record_events=False, input=np.array(rows, columns), output=outputs,
        start_values=start, logger=lambda *told: print(told[-1]),
    )  # fmt: skip
    return np.stack([found[name] for name in outputs], -1)


def simulated(robot: Robot, q0, torques, duration: float):
    """q, q̇ of `simulate` at every 10 ms, piece by piece, and its events."""
    torques = np.atleast_2d(torques)
    part, q, qd, states, events = duration / len(torques), np.asarray(q0, float), np.zeros(robot.n), [], []
    for k, tau in enumerate(torques):
        run = simulate(robot, q, qd, part, tau, output=0.01, limits="ignore")
        assert run.completed
        both = np.concatenate([run.q, run.qd], -1)
        states.append(both if k == len(torques) - 1 else both[:-1])
        events += [event.time + k * part for event in run.events]
        q, qd = run.positions[-1], run.qd[-1]
    return np.concatenate(states), events


def states_of(robot: Robot) -> list[str]:
    return [f"{x}[{i + 1}]" for x in ("q", "qd") for i in range(robot.n)]


@pytest.fixture(scope="module")
def planar(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("planar")
    return {version: fmu_of(Robot.load("planar"), folder, version) for version in VERSIONS}


@pytest.mark.parametrize("version", VERSIONS)
def test_fmpy_finds_no_fault(planar, version):
    assert validate_fmu(str(planar[version])) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", VERSIONS)
def test_fmu_moves_as_simulate(planar, version, kind):
    robot = Robot.load("planar")
    torques = [[900.0, 200.0], [200.0, 400.0], [-500.0, 0.0], [0.0, -200.0]]
    wanted, _ = simulated(robot, [0, 0], torques, 2.0)
    found = ran(planar[version], kind, torques, 2.0, states_of(robot))
    assert np.abs(found - wanted).max() < 1e-6
