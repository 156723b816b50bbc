"""FMUs, checked and run by FMPy, against `simulate`."""

import os
import shutil
import subprocess
import tempfile
import zipfile
from ctypes import c_double
from pathlib import Path

import numpy as np
import pytest

from armdyn import Robot, simulate
from armdyn.expression import MissingValueError
from armdyn.model import ModelError
from armdyn.simulation import PDGravity, SimulationError, SimulationWarning
from armdyn.simulation.fmu import arm_of, base_units
from arms import law, robots
from elastic_arms import elastic_robots
from friction_arms import rubbing as rubbing_arms
from golden_messages import golden_error

fmpy = pytest.importorskip("fmpy", reason='FMPy is not installed: pip install "armdyn[peers]"')
from fmpy.validation import validate_fmu  # noqa: E402

pytestmark = pytest.mark.skipif(
    all(shutil.which(x) is None for x in ("cc", "gcc", "clang")), reason="no C compiler on this machine"
)

KINDS = ("CoSimulation", "ModelExchange")
VERSIONS = ("3.0", "2.0")


def fmu_of(robot: Robot, folder: Path, version: str = "3.0", **options) -> Path:
    return robot.save(folder / f"arm{version[0]}.fmu", version=version, **options)


def ran(path: Path, kind: str, torques, duration: float, outputs, **start):
    """The same with torques (K, n) of all joints."""
    torques = np.atleast_2d(torques)
    names = [f"tau[{i + 1}]" for i in range(torques.shape[1])]
    return ran_named(path, kind, names, torques, duration, outputs, **start)


def ran_named(path: Path, kind: str, names, torques, duration: float, outputs, tolerance=1e-10, **start):
    """Columns of outputs at every 10 ms; rows of the inputs (K, m) are held for an equal part of the time."""
    edges = np.linspace(0, duration, len(torques) + 1)
    columns = [("time", float), *((name, float) for name in names)]
    rows = [(t, *x) for k, x in enumerate(torques) for t in edges[k : k + 2]]
    found = fmpy.simulate_fmu(
        str(path), stop_time=duration, fmi_type=kind, solver="CVode", relative_tolerance=tolerance,
        output_interval=0.01, record_events=False, output=outputs,
        input=np.array(rows, columns) if names else None,
        start_values=start, logger=lambda *told: print(told[-1]),
    )  # fmt: skip
    return np.stack([found[name] for name in outputs], -1)


def simulated(robot: Robot, q0, torques, duration: float, wrenches=None):
    """q, q̇ of `simulate` at every 10 ms, piece by piece, and its events."""
    torques = np.atleast_2d(torques)
    wrenches = [None] * len(torques) if wrenches is None else wrenches
    part, q, qd, states, events = duration / len(torques), np.asarray(q0, float), np.zeros(robot.n), [], []
    for k, (tau, wrench) in enumerate(zip(torques, wrenches, strict=True)):
        run = simulate(robot, q, qd, part, tau, wrench=wrench, output=0.01, limits="ignore")
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


WRENCH = [f"wrench[{k + 1}]" for k in range(6)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrench_at_the_tip_is_that_of_simulate(planar, kind):
    robot, tau = Robot.load("planar"), np.array([[900.0, 300.0], [200.0, 400.0]])
    wrench = np.array([[40.0, -70.0, 5.0, 3.0, -2.0, 20.0], [-30.0, 10.0, 0.0, 0.0, 0.0, -60.0]])
    wanted, _ = simulated(robot, [0, 0], tau, 1.0, wrench)
    names, inputs = ["tau[1]", "tau[2]", *WRENCH], np.concatenate([tau, wrench], -1)
    outputs = [*states_of(robot), "wrench_work"]
    found = ran_named(planar["3.0"], kind, names, inputs, 1.0, outputs)
    assert np.abs(found[:, :4] - wanted).max() < 1e-6
    assert np.abs(simulated(robot, [0, 0], tau, 1.0)[0] - wanted).max() > 1e-2
    half = simulate(robot, [0, 0], 0, 0.5, tau[0], wrench=wrench[0], output=0.01)
    assert found[50, 4] == pytest.approx(half.wrench_work[-1], rel=1e-6)


# ---- what is set while it runs -----------------------------------------------------------------------------


def test_payload_that_is_set_is_that_of_with_payload(planar):
    robot, torques = Robot.load("planar"), [[900.0, 300.0], [200.0, 400.0]]
    heavier = robot.with_payload(8.0, (0.2, -0.1, 0.0), [0.5, 0.02, 0, 0.7, 0, 0.9])
    wanted, _ = simulated(heavier, [0, 0], torques, 1.0)
    set_ = {"payload.mass": 8, "payload.com[1]": 0.2, "payload.com[2]": -0.1}
    set_ |= {"payload.inertia.xx": 0.5, "payload.inertia.xy": 0.02, "payload.inertia.yy": 0.7}
    set_ |= {"payload.inertia.zz": 0.9}
    for kind in KINDS:
        found = ran(planar["3.0"], kind, torques, 1.0, states_of(robot), **set_)
        assert np.abs(found - wanted).max() < 1e-6
    assert np.abs(simulated(robot, [0, 0], torques, 1.0)[0] - wanted).max() > 1e-2


def test_symbols_and_friction_that_are_set_are_those_of_another_robot(planar):
    robot, torques = Robot.load("planar"), [[900.0, 300.0], [200.0, 400.0]]
    values = {"a1": 0.8, "kr2": 60.0, "ml2": 40.0, "g": 3.7}
    other = robot.with_symbols(values).with_friction({"link 1": {"viscous": 25.0}})
    wanted, _ = simulated(other, [0, 0], torques, 1.0)
    set_ = {"friction.Fv1": 25.0} | {f"symbols.{name}": x for name, x in values.items()}
    names = [*states_of(robot), "motor_torque[2]", "motor_velocity[2]", "tip_position[1]", "dissipated"]
    for kind in KINDS:
        found = ran(planar["2.0"], kind, torques, 1.0, names, **set_)
        assert np.abs(found[:, :4] - wanted).max() < 1e-6
        q, qd = found[-1, :2], found[-1, 2:4]
        assert found[-1, 4] == pytest.approx(400.0 / 60.0)
        assert found[-1, 5] == pytest.approx(60.0 * qd[1])
        assert found[-1, 6] == pytest.approx(other.pose(q)[0, 3])
        assert found[-1, 7] > 1.0


def test_outputs_are_what_the_robot_computes(planar):
    robot, q, qd, tau = Robot.load("planar"), np.array([0.3, -0.8]), np.array([1.1, 0.4]), [300.0, -50.0]
    start = {f"{x}[{i + 1}]": v[i] for x, v in (("q", q), ("qd", qd), ("tau", tau)) for i in range(2)}
    places = [f"tip_position[{i}]" for i in (1, 2, 3)]
    places += [f"tip_rotation[{i},{k}]" for i in (1, 2, 3) for k in (1, 2, 3)]
    motors = [f"motor_{x}[{i}]" for x in ("torque", "velocity", "power") for i in (1, 2)]
    names = ["qdd[1]", "qdd[2]", *places, *motors, "kinetic_energy", "potential_energy"]
    with Instance(planar["3.0"], "ModelExchange", **start) as arm:
        found = arm.get(*names)
    T, P, K = robot.pose(q), robot.drives.to_motors, robot.transmission
    wanted = [*robot.forward_dynamics(q, qd, tau), *T[:3, 3], *T[:3, :3].ravel()]
    wanted += [*(P @ tau), *(K @ qd), *(P @ tau * (K @ qd))]
    wanted += [robot.kinetic_energy(q, qd), robot.potential_energy(q)]
    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("version", VERSIONS)
def test_directional_derivatives_are_differences(planar, version):
    start = {"q[1]": 0.3, "q[2]": -0.8, "qd[1]": 1.1, "qd[2]": 0.4, "tau[1]": 300.0, "wrench[1]": 50.0}
    assert check_slopes(planar[version], start) > 0.95


def check_slopes(path: Path, start) -> float:
    """Returns how much of what is said to depend on something changes with it, in this state."""
    rng, h = np.random.default_rng(5), 1e-5
    with Instance(path, "ModelExchange", **start) as arm:
        variables = arm.description.modelVariables
        inputs = [v.name for v in variables if v.causality == "input"]
        names = [v.name for v in variables if v.derivative is not None]
        names += [v.name for v in variables if v.causality == "output" and v.type in ("Real", "Float64")]
        states = [v.derivative.name for v in variables if v.derivative is not None]
        knowns, seed = [*states, *inputs], rng.uniform(-1, 1, len(states) + len(inputs))
        references = [[arm.references[x] for x in group] for group in (names, knowns)]
        found = arm.fmu.getDirectionalDerivative(*references, list(seed))
        x, at = np.array(arm.get(*states)), []
        u = np.array(arm.get(*inputs))
        array = c_double * len(states)
        arm.fmu.enterContinuousTimeMode()
        for k in (-1, 1):
            arm.fmu.setContinuousStates(array(*(x + k * h * seed[: len(x)])), len(x))
            arm.set(**dict(zip(inputs, u + k * h * seed[len(x) :], strict=True)))
            at.append(np.array(arm.get(*names)))
        wanted = (at[1] - at[0]) / (2 * h)
        assert np.abs(found - wanted).max() < 1e-6 * np.abs(wanted).max()
        return share_of_dependencies(arm, knowns)


def share_of_dependencies(arm: "Instance", knowns) -> float:
    """Nothing changes with what the description leaves out of its dependencies."""
    told = {x.variable.name: x.dependencies for x in (*arm.description.outputs, *arm.description.derivatives)}
    told = {name: {v.name for v in found} for name, found in told.items() if found is not None}
    references = [arm.references[name] for name in told]
    slopes = {x: arm.fmu.getDirectionalDerivative(references, [arm.references[x]], [1.0]) for x in knowns}
    changes = {name: {x for x in knowns if slopes[x][k] != 0} for k, name in enumerate(told)}
    assert all(changes[name] <= found for name, found in told.items())
    assert changes["q[1]"] == told["q[1]"] == {"q[1]"}
    assert told["qdd[1]"] != set(knowns)  # the works are states, too
    return sum(map(len, changes.values())) / sum(map(len, told.values()))


def test_angles_are_shown_in_degrees(planar):
    for path in planar.values():
        description = fmpy.read_model_description(str(path))
        units = {x.name: x for x in description.unitDefinitions}
        shown = {v.name: (v.unit, v.displayUnit) for v in description.modelVariables if v.displayUnit}
        assert shown["q[1]"] == ("rad", "deg")
        assert shown["qd[2]"] == shown["motor_velocity[1]"] == ("rad/s", "deg/s")
        assert {unit for unit, _ in shown.values()} == {"rad", "rad/s", "rad/s2"}
        for unit, other in shown.values():
            (display,) = units[unit].displayUnits
            assert display.name == other
            assert np.radians(float(display.factor)) == pytest.approx(1.0, rel=1e-15)


# ---- friction that sticks, joints at their limits ----------------------------------------------------------


@pytest.fixture(scope="module")
def rubbing() -> Robot:
    """Both joints stick, and the first has a limit nearby."""
    robot = Robot.load("planar").with_symbols(g=0)
    robot = robot.with_friction({"link 1": {"coulomb": 60.0}, "link 2": {"coulomb": 20.0, "viscous": 5.0}})
    return robot.with_limits({"link 1": {"position": [-1.0, 0.2]}})


@pytest.fixture(scope="module")
def rubs(rubbing, tmp_path_factory) -> Path:
    return fmu_of(rubbing, tmp_path_factory.mktemp("rubs"))


PUSHED = [[250.0, 40.0], [-250.0, -60.0], [0.0, 120.0], [0.0, 0.0]]


@pytest.mark.parametrize("kind", KINDS)
def test_changes_between_sticking_and_sliding_are_found_when_simulate_finds_them(rubbing, rubs, kind):
    wanted, events = simulated(rubbing, [0, 0], PUSHED, 2.0)
    found = ran(rubs, kind, PUSHED, 2.0, [*states_of(rubbing), "change_time"])
    assert np.abs(found[:, :-1] - wanted).max() < 1e-6
    times = np.unique(found[:, -1])
    inner = [t for t in events if abs(t * 2 - round(t * 2)) > 1e-9]  # not where torques jump
    assert len(inner) >= 3
    for t in inner:
        assert np.abs(times - t).min() < 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_joints_stop_at_their_limits_when_simulate_stops_them(rubbing, rubs, kind):
    with pytest.warns(SimulationWarning, match="passes its limit"):
        run = simulate(rubbing, [0, 0], 0.0, 2.0, [200.0, 0.0], limits="stop")
    time, start = run.limits_passed[0].time, {"tau[1]": 200.0, "stop_at_limits": True}
    with Instance(rubs, kind, **start) as arm:
        stopped = arm.run(2.0)
        q, when, which, modes = (
            *arm.get("q[1]", "limit_time"),
            arm.get_int("limit_passed"),
            arm.get_int("sliding[1]"),
        )
    assert stopped == pytest.approx(time, abs=1e-7)
    assert when == pytest.approx(time, abs=1e-7)
    assert (which, modes) == (1, 1)
    assert q == pytest.approx(0.2, abs=1e-7)


def test_friction_levels_can_be_set(rubbing, rubs):
    other = rubbing.with_friction({"link 1": {"coulomb": 20.0}, "link 2": {"coulomb": 35.0, "viscous": 5.0}})
    wanted, _ = simulated(other, [0, 0], PUSHED, 2.0)
    for kind in KINDS:
        found = ran(rubs, kind, PUSHED, 2.0, states_of(other), **{"friction.Fs1": 20.0, "friction.Fs2": 35.0})
        assert np.abs(found - wanted).max() < 1e-6


# ---- instances ---------------------------------------------------------------------------------------------


class Instance:
    """An instance of an FMU, started, by FMPy's functions."""

    def __init__(self, path: Path, kind: str, **start) -> None:
        self.folder, self.said = fmpy.extract(str(path)), list[str]()
        self.description = fmpy.read_model_description(self.folder)
        self.references = {v.name: v.valueReference for v in self.description.modelVariables}
        self.three, self.kind = self.description.fmiVersion == "3.0", kind
        self.fmu = fmpy.instantiate_fmu(
            self.folder,
            self.description,
            kind,
            debug_logging=True,
            logger=lambda *told: self.said.append(told[-1].decode()),
        )
        self.begin(**start)

    def begin(self, stop=None, **start) -> None:
        if self.three:
            self.fmu.enterInitializationMode(startTime=0.0, stopTime=stop)
        else:
            self.fmu.setupExperiment(startTime=0.0, stopTime=stop)
            self.fmu.enterInitializationMode()
        self.set(**start)
        self.fmu.exitInitializationMode()

    def __enter__(self) -> "Instance":
        return self

    def __exit__(self, *_) -> None:
        self.fmu.freeInstance()
        shutil.rmtree(self.folder, ignore_errors=True)

    def set(self, **values) -> None:
        for name, x in values.items():
            if isinstance(x, bool):
                self.fmu.setBoolean([self.references[name]], [x])
            else:
                (self.fmu.setFloat64 if self.three else self.fmu.setReal)([self.references[name]], [float(x)])

    def get(self, *names) -> list[float]:
        references = [self.references[name] for name in names]
        return list((self.fmu.getFloat64 if self.three else self.fmu.getReal)(references))

    def get_int(self, name: str) -> int:
        return (self.fmu.getInt32 if self.three else self.fmu.getInteger)([self.references[name]])[0]

    def steps(self, first: int, last: int, step: float = 0.01) -> None:
        for k in range(first, last):
            self.fmu.doStep(k * step, step)

    def run(self, end: float) -> float:
        """Until it stops."""
        if self.kind == "CoSimulation":
            for k in range(round(end / 0.01)):
                *_, terminated, _, time = self.fmu.doStep(k * 0.01, 0.01)
                if terminated:
                    return float(time)
            return end
        return self._run_by_importer(end)

    def _run_by_importer(self, end: float) -> float:
        """An importer of its own for model exchange: SciPy's DOP853, events on its dense output."""
        from scipy.integrate import solve_ivp

        fmu, nx = self.fmu, self.description.numberOfContinuousStates
        nz = self.description.numberOfEventIndicators
        x, dx, z = (c_double * nx)(), (c_double * nx)(), (c_double * nz)()

        def at(t, values) -> None:
            fmu.setTime(t)
            x[:] = list(values)
            fmu.setContinuousStates(x, nx)

        def rate(t, values):
            at(t, values)
            fmu.getContinuousStateDerivatives(dx, nx)
            return np.array(dx)

        def indicator(k):
            def value(t, values) -> float:
                at(t, values)
                fmu.getEventIndicators(z, nz)
                return z[k]

            value.terminal, value.direction = True, -1
            return value

        t = 0.0
        while True:
            _, terminate, *_ = fmu.updateDiscreteStates()
            if terminate or t >= end:
                return t
            fmu.enterContinuousTimeMode()
            fmu.getContinuousStates(x, nx)
            found = solve_ivp(
                rate, (t, end), np.array(x), "DOP853", rtol=1e-10, atol=1e-12,
                events=[indicator(k) for k in range(nz)],
            )  # fmt: skip
            t = float(found.t[-1])
            at(t, found.y[:, -1])
            fmu.completedIntegratorStep()
            fmu.enterEventMode()


def test_reset_and_run_again_is_equal_to_the_last_bit(rubs):
    start = {"tau[1]": 200.0, "tau[2]": 30.0}
    names = ["q[1]", "q[2]", "qd[1]", "qd[2]", "torque_work", "dissipated", "change_time"]
    with Instance(rubs, "CoSimulation", **start) as arm:
        arm.steps(0, 40)
        first = arm.get(*names)
        arm.set(**{"payload.mass": 3.0, "friction.Fs1": 1.0})
        arm.fmu.reset()
        arm.begin(**start)
        arm.steps(0, 40)
        assert arm.get(*names) == first


def test_instances_do_not_know_each_other_and_states_can_be_kept(rubs):
    names = ["q[1]", "q[2]", "qd[1]", "qd[2]", "dissipated"]
    with (
        Instance(rubs, "CoSimulation", **{"tau[1]": 200.0}) as one,
        Instance(rubs, "CoSimulation", **{"tau[1]": 150.0, "payload.mass": 4.0}) as two,
        Instance(rubs, "CoSimulation", **{"tau[1]": 200.0}) as alone,
    ):
        for k in range(30):
            one.steps(k, k + 1)
            two.steps(k, k + 1)
        alone.steps(0, 20)
        kept = alone.fmu.getFMUState()
        alone.steps(20, 30)
        assert one.get(*names) == alone.get(*names) != two.get(*names)
        alone.set(**{"tau[1]": -100.0})
        alone.fmu.setFMUState(kept)
        alone.steps(20, 30)
        assert alone.get(*names) == one.get(*names)
        bytes_ = alone.fmu.serializeFMUState(kept)
        two.fmu.setFMUState(two.fmu.deserializeFMUState(bytes_))
        two.steps(20, 30)
        assert two.get(*names) == one.get(*names)
        alone.fmu.freeFMUState(kept)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"tau[1]": np.nan}, "not a finite number"),
        ({"tau[1]": np.inf}, "not a finite number"),
        ({"payload.mass": -1.0}, "less than its least value"),
        ({"friction.Fs1": -1.0}, "less than its least value"),
        ({"qdd[1]": 1.0}, "no real variable with this value reference can be set"),
        ({"q[1]": 1.0}, "before the simulation begins only"),
    ],
)
def test_wrong_values_are_refused_and_change_nothing(rubs, values, told):
    with (
        Instance(rubs, "CoSimulation", **{"tau[1]": 200.0}) as arm,
        Instance(rubs, "CoSimulation", **{"tau[1]": 200.0}) as other,
    ):
        arm.steps(0, 5)
        with pytest.raises(fmpy.fmi1.FMICallException):
            arm.set(**values)
        assert told in arm.said[-1]
        arm.steps(5, 10)
        other.steps(0, 10)
        assert arm.get("q[1]", "qd[1]") == other.get("q[1]", "qd[1]")


@pytest.mark.parametrize("version", VERSIONS)
def test_steps_end_at_the_stop_time_and_calls_at_terminate(planar, version):
    with Instance(planar[version], "CoSimulation", stop=0.1) as arm:
        arm.steps(0, 9)
        for start, step, told in (
            (0.09, 0.02, "beyond the stop"),
            (0.09, 0.0, "positive"),
            (0.0, 0.01, "last"),
        ):
            with pytest.raises(fmpy.fmi1.FMICallException):
                arm.fmu.doStep(start, step)
            assert told in arm.said[-1]
        arm.steps(9, 10)
        arm.fmu.terminate()
        assert np.isfinite(arm.get("q[1]", "tip_position[1]")).all()
        for call in (arm.fmu.terminate, lambda: arm.set(**{"tau[1]": 1.0}), lambda: arm.steps(10, 11)):
            with pytest.raises(fmpy.fmi1.FMICallException):
                call()
        arm.fmu.reset()
        arm.begin()
        arm.steps(0, 20)


def test_values_before_the_start_are_those_at_the_start(rubs):
    folder = fmpy.extract(str(rubs))
    arm = object.__new__(Instance)
    arm.folder, arm.said, arm.three, arm.kind = folder, [], True, "ModelExchange"
    arm.description = fmpy.read_model_description(folder)
    arm.references = {v.name: v.valueReference for v in arm.description.modelVariables}
    arm.fmu = fmpy.instantiate_fmu(folder, arm.description, arm.kind)
    with arm:
        arm.fmu.enterInitializationMode(startTime=2.0)
        arm.set(**{"q[1]": 0.5, "qd[1]": -1.0, "tau[2]": 300.0})
        names = ["qdd[1]", "qdd[2]", "indicator[1]", "indicator[2]", "limit_time"]
        whole = ["sliding[1]", "sliding[2]", "limit_passed"]
        before = [*arm.get(*names), *map(arm.get_int, whole)]
        arm.fmu.exitInitializationMode()
        assert before == [*arm.get(*names), *map(arm.get_int, whole)]
        assert before[-4:] == [2.0, -1, 1, 1]


def test_a_kept_state_fits_only_where_it_was_kept(rubs, planar):
    with (
        Instance(rubs, "CoSimulation") as one,
        Instance(rubs, "ModelExchange") as other_kind,
        Instance(planar["3.0"], "CoSimulation") as other_arm,
    ):
        kept = one.fmu.getFMUState()
        with pytest.raises(fmpy.fmi1.FMICallException):
            other_kind.fmu.setFMUState(kept)
        assert "other kind" in other_kind.said[-1]
        with pytest.raises(fmpy.fmi1.FMICallException):
            other_arm.fmu.deserializeFMUState(one.fmu.serializeFMUState(kept))
        bytes_ = bytearray(one.fmu.serializeFMUState(kept))
        bytes_[3] ^= 1
        with pytest.raises(fmpy.fmi1.FMICallException):
            one.fmu.deserializeFMUState(bytes(bytes_))
        assert "not a state of this FMU" in one.said[-1]
        one.fmu.freeFMUState(kept)


def test_units_are_powers_of_those_of_si():
    assert base_units("N.m.s3/rad3") == {"kg": 1, "m": 2, "s": 1, "rad": -3}
    assert base_units("W") == {"kg": 1, "m": 2, "s": -3}


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_a_loop_that_cannot_close_there_asks_for_another_state(version, tmp_path):
    """Model exchange: an importer may try a shorter step. What shapes the loop is said to be fixed."""
    path = fmu_of(Robot.load("five_bar").with_symbols(a2=0.35), tmp_path, version)
    with Instance(path, "ModelExchange") as arm:
        assert "Held fixed, as symbols of loops or of couplings: w = 0.2, a1" in arm.description.description
        arm.fmu.enterContinuousTimeMode()
        count = arm.description.numberOfContinuousStates
        x, dx = (c_double * count)(), (c_double * count)()
        rate = arm.fmu.getContinuousStateDerivatives if arm.three else arm.fmu.getDerivatives
        arm.fmu.getContinuousStates(x, count)
        rate(dx, count)
        wanted, start = list(dx), list(x)
        x[0], x[1] = 3.1, 0.0
        arm.fmu.setContinuousStates(x, count)
        with pytest.raises(fmpy.fmi1.FMICallException, match="discard"):
            rate(dx, count)
        assert "cannot be closed" in arm.said[-1]
        x[:] = start
        arm.fmu.setContinuousStates(x, count)
        rate(dx, count)
        assert list(dx) == wanted


def test_a_payload_that_no_body_has_is_refused(rubs):
    with Instance(rubs, "CoSimulation") as arm:
        arm.set(**{"payload.inertia.xx": 0.1, "payload.inertia.yy": 0.1, "payload.inertia.xy": 0.3})
        with pytest.raises(fmpy.fmi1.FMICallException):
            arm.steps(0, 1)
        assert "no body has this tensor" in arm.said[-1]


# ---- files -------------------------------------------------------------------------------------------------


def test_names_may_have_any_characters(tmp_path):
    table = Robot.load("pendulum").to_dict()
    table["name"] = 'arm <1> & "two"\x01 \u00e9\U0001f9be */'
    table["link"][0]["name"] = 'upper <&> "arm"\''
    robot = Robot.from_dict(table)
    path = fmu_of(robot, tmp_path, "2.0")
    assert validate_fmu(str(path)) == []
    wanted, _ = simulated(robot, [0], [0.3], 0.2)
    found = ran(path, "CoSimulation", [0.3], 0.2, states_of(robot))
    assert np.abs(found - wanted).max() < 1e-8


def test_same_robot_gives_the_same_file(tmp_path):
    robot = Robot.load("pendulum")
    one, two = (robot.save(tmp_path / name, binary=False).read_bytes() for name in ("one.fmu", "two.FMU"))
    assert one == two


def test_what_is_refused(tmp_path):
    robot, path = Robot.load("planar"), tmp_path / "arm.fmu"
    with golden_error(SimulationError):
        robot.save(path, version="1.0")
    with golden_error(SimulationError):
        robot.save(path, q0=[0, 0, 0])
    with golden_error(SimulationError):
        robot.save(path, q0=[0, np.nan])
    with golden_error(SimulationError):
        robot.save(path, qd0=[[0, 0]])
    with golden_error(SimulationError):
        robot.export_fmu(path, controller=[1, 2])
    with golden_error(SimulationError):
        robot.export_fmu(path, PDGravity(Robot.load("puma560"), np.zeros(6), stiffness=1, damping=1))
    with golden_error(MissingValueError):
        robot.with_symbols(g=None).save(path)
    with golden_error(ModelError):
        robot.save(tmp_path / "arm.toml", version="2.0")
    assert not list(tmp_path.iterdir())


# ---- robots of every kind ----------------------------------------------------------------------------------


def five_bar_pushed(robot: Robot) -> np.ndarray:
    """Torques that move it to and fro, away from singular postures."""
    weight = robot.gravity(arm_of(robot, None, None, 0.0).q0)
    return np.array([weight + 0.08 * np.array([0.9, 0.6]) * k for k in (1, -1, -1, 1, 1, -1, -1, 1)])


ROBOTS = {
    "puma560": lambda robot: np.random.default_rng(1).uniform(-15, 15, (4, 6)) * [1, 1, 1, 0.2, 0.2, 0.2],
    "five_bar": five_bar_pushed,
    "elastic_link": lambda robot: np.array([[0, 5.0], [0, -8.0], [0, 12.0], [0, 0]]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("version", VERSIONS)
def test_every_kind_of_robot(name, version, tmp_path):
    robot = Robot.load(name)
    path, arm = fmu_of(robot, tmp_path, version), arm_of(robot, None, None, 0.0)
    assert validate_fmu(str(path)) == []
    torques = ROBOTS[name](robot)
    wanted, events = simulated(robot, arm.q0, torques, 2.0)
    for kind in KINDS:
        driven = [[f"tau[{i + 1}]" for i in arm.driven], torques[:, arm.driven]]
        found = ran_named(path, kind, *driven, 2.0, [*states_of(robot), "change_time"], tolerance=1e-12)
        assert np.abs(found[:, :-1] - wanted).max() < 1e-6
        check_slopes(path, {"qd[1]": 0.4})
        part = 2.0 / len(torques)
        for t in events:  # of those that are the last before an output
            if abs(t / part - round(t / part)) > 1e-9 and not any(0 < x - t < 0.01 for x in events):
                assert np.abs(found[:, -1] - t).min() < 1e-6
    if robot.drives.passive == ():
        heavier, set_ = robot.with_payload(0.3), {"payload.mass": 0.3}
        wrench = np.array([[0.4, -0.3, 0.5, 0.02, 0.03, -0.01]])
        wanted, _ = simulated(heavier, arm.q0, torques[:1], 0.3, wrench)
        pushed = [*driven[0], *WRENCH], np.concatenate([driven[1][:1], wrench], -1)
        for kind in KINDS:
            found = ran_named(path, kind, *pushed, 0.3, states_of(robot), 1e-12, **set_)
            assert np.abs(found - wanted).max() < 1e-6


@pytest.mark.slow
@law(rubbing_arms((2, 3), couplings=False) | elastic_robots((2, 3)) | robots((2, 4)), examples=4, thorough=6)
def test_random_arms(robot):
    """Full inertias, sliding joints, motors anywhere and coupled, all terms of friction, elastic joints."""
    with tempfile.TemporaryDirectory() as folder:
        check_motion(robot, Path(folder))


def check_motion(robot: Robot, folder: Path) -> None:
    path, rng = fmu_of(robot, folder), np.random.default_rng(3)
    assert validate_fmu(str(path)) == []
    arm, size = arm_of(robot, None, None, 0.0), 3 + np.abs(robot.gravity(np.zeros(robot.n))).max()
    torques = size * rng.uniform(-1, 1, (4, robot.n)) @ robot.drives.given.T
    wrenches = 0.2 * size * rng.uniform(-1, 1, (4, 6)) if arm.wrench else None
    try:
        wanted, _ = simulated(robot, arm.q0, torques, 0.8, wrenches)
    except SimulationWarning:  # it diverges, or motors turn too fast: `simulate` says so
        return
    names = [*(f"tau[{i + 1}]" for i in arm.driven), *WRENCH[: 6 * len(arm.wrench)]]
    inputs = np.concatenate([torques[:, arm.driven], np.zeros((4, 0)) if wrenches is None else wrenches], -1)
    for kind in KINDS:
        found = ran_named(path, kind, names, inputs, 0.8, states_of(robot), 1e-11)
        assert np.abs(found - wanted).max() < 1e-6 * max(1.0, np.abs(wanted).max())


@pytest.mark.slow
@pytest.mark.parametrize("rate", [None, 200.0])
@pytest.mark.parametrize("name", ["planar", "five_bar"])
def test_controllers_are_inside_and_their_targets_are_inputs(name, rate, tmp_path):
    robot = Robot.load(name)
    q0 = arm_of(robot, None, None, 0.0).q0
    gains = {"planar": (3000.0, 800.0), "five_bar": (20.0, 3.0)}[name]
    control = PDGravity(robot, q0 + 0.2, *gains, rate=rate)
    path = fmu_of(robot, tmp_path, controller=control)
    assert validate_fmu(str(path)) == []
    for kind in KINDS:
        for target, told in ((q0 + 0.2, {}), (q0 - 0.1, {f"target[{i + 1}]": q0[i] - 0.1 for i in range(2)})):
            run = simulate(robot, q0, 0.0, 0.5, PDGravity(robot, target, *gains, rate=rate), output=0.01)
            found = ran_named(path, kind, [], np.zeros((1, 0)), 0.5, states_of(robot), 1e-12, **told)
            assert np.abs(found - np.concatenate([run.q, run.qd], -1)).max() < 1e-6


@pytest.mark.skipif(os.name == "nt", reason="Windows runs no scripts of sh")
def test_a_compiler_that_fails_is_named_and_what_helps(tmp_path, monkeypatch):
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho no developer tools were found >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with golden_error(SimulationError):
        Robot.load("planar").save(tmp_path / "arm.fmu")
    assert not (tmp_path / "arm.fmu").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planar", "puma560", "five_bar", "elastic_link"])
def test_sources_compile_without_a_warning(name, tmp_path):
    for version in VERSIONS:
        with zipfile.ZipFile(
            Robot.load(name).save(tmp_path / "x.fmu", version=version, binary=False)
        ) as file:
            file.extractall(tmp_path / version)
        for compiler in filter(None, map(shutil.which, ("gcc", "clang", "x86_64-w64-mingw32-gcc"))):
            source = next((tmp_path / version / "sources").glob("*.c"))
            flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-c"]
            subprocess.run([compiler, *flags, source.name, "-o", "x.o"], cwd=source.parent, check=True)


@pytest.mark.slow
def test_no_address_is_wrong_and_nothing_is_undefined(rubbing, tmp_path):
    """A driver in C runs three instances side by side, under the sanitizers of gcc."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc on this machine")
    with zipfile.ZipFile(rubbing.save(tmp_path / "x.fmu", binary=False)) as file:
        file.extractall(tmp_path)
    folder = tmp_path / "sources"
    source, driver = next(folder.glob("*.c")), Path(__file__).with_name("fmu_driver.c")
    token = fmpy.read_model_description(str(tmp_path / "x.fmu")).instantiationToken
    flags = ["-std=c99", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I."]
    subprocess.run(["gcc", *flags, source.name, driver, "-lm", "-o", "run"], cwd=folder, check=True)
    subprocess.run([folder / "run", token], check=True, timeout=300)
