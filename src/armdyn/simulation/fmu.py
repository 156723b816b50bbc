"""A robot as an FMU of FMI 3.0 or 2.0: model exchange and co-simulation in one file, with sources.

`Tunable` is the integrand that knows payload, friction and symbols as numbers given at run time; `ArmSource`
writes its programs as C, followed by the engine and the interface of `fmi/`; `variables_of` lists what an
importer sees, and `description` writes it as XML.
"""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from math import prod
from pathlib import Path
from platform import machine
from typing import Any

import numpy as np

from armdyn.dynamics import kinetic_energy, potential_energy
from armdyn.dynamics.tip import pose
from armdyn.expression import Expression, MissingValueError
from armdyn.expression.functions import over_scalars
from armdyn.files import write_whole
from armdyn.kernels.c import comment_block, definition, identifier, loop_parts, number
from armdyn.kernels.cache import own_version
from armdyn.model.errors import ModelError
from armdyn.model.friction import TERMS
from armdyn.model.mechanism import FIXED_BASE, Mechanism
from armdyn.model.parameters import Parameter, parameter_values
from armdyn.model.robot_model import RobotModel
from armdyn.names import one_line
from armdyn.program import Program, record
from armdyn.program.derive import time_derivative
from armdyn.program.evaluate import evaluate
from armdyn.program.loops import Loop
from armdyn.program.program import Recorder, Tape, finished, inline
from armdyn.robot import Robot
from armdyn.robot.assembly import assembly_loop
from armdyn.robot.closing import Closed
from armdyn.robot.functions import NUMBERS
from armdyn.robot.joints import UNITS, joint_descriptions, joint_limits, joint_units
from armdyn.simulation.controller import Controller
from armdyn.simulation.errors import SimulationError, check
from armdyn.simulation.integrand import (
    Drive,
    Integrand,
    all_positions,
    check_friction,
    following,
    held_levels,
    law_program,
    sliding,
    tau_as_given,
    width,
)
from armdyn.simulation.laws import FOLLOWERS, Scalars, at_least
from armdyn.simulation.limits import Watched, watch_of
from armdyn.simulation.steps import Stepping
from armdyn.simulation.variable_steps import one_step

FOLDER = Path(__file__).with_name("fmi")
VERSIONS = ("3.0", "2.0")

# ------------------------------------------------------------------------------------------------------------
# What can be set at run time: payload, friction, symbols.


@dataclass(frozen=True)
class Setting:
    """A number that can be set while the arm moves."""

    name: str
    start: float
    meaning: str
    unit: str = ""
    least: float = -np.inf


_AXES = "xyz"
_TENSOR = ("xx", "xy", "xz", "yy", "yz", "zz")


def payload_settings() -> list[Setting]:
    """What the tip carries, as `with_payload` takes it."""
    found = [Setting("payload.mass", 0.0, "mass that the tip carries", "kg", 0.0)]
    found += [
        Setting(f"payload.com[{k + 1}]", 0.0, f"centre of mass of the payload in the tip frame, {x}", "m")
        for k, x in enumerate(_AXES)
    ]
    about = "inertia tensor of the payload about its centre of mass, axes of the tip frame"
    return found + [Setting(f"payload.inertia.{x}", 0.0, f"{about}, {x}", "kg.m2") for x in _TENSOR]


@dataclass(frozen=True)
class Settings:
    """The settings of a robot, and its mechanism as a function of them."""

    robot: Robot
    payload: bool
    frictions: tuple[tuple[str, int, str], ...]  # part, joint and term of the coefficients
    symbols: tuple[str, ...]
    gains: tuple[Setting, ...] = ()  # of a controller

    @staticmethod
    def of(robot: Robot, gains: Sequence[Setting] = ()) -> Settings:
        model = robot.model
        symbols = tuple(name for name in robot.symbols if name not in _fixed(model))
        mechanism = model.mechanism_in(symbols)
        frictions = tuple(
            (key.kind.part, key.joint, key.kind.entry)
            for key, x in parameter_values(mechanism).items()
            if key.kind.entry in TERMS and not isinstance(x, Expression)
            if float(x) != 0 or (key.kind.part == "joint" and key.kind.entry == "viscous")
        )
        return Settings(robot, mechanism.tip != FIXED_BASE, frictions, symbols, tuple(gains))

    @cached_property
    def all(self) -> list[Setting]:
        """In the order of the program's input."""
        found = payload_settings() if self.payload else []
        model, values = self.robot.model, parameter_values(self.robot.mechanism)
        links = (*model.moving, *model.positions[len(model.positions) - len(model.elastic) :])
        by_place: dict[tuple[str, int, str], tuple[Parameter, float]] = {
            (key.kind.part, key.joint, key.kind.entry): (key, float(x)) for key, x in values.items()
        }
        for place in self.frictions:
            key, x = by_place[place]
            link = links[key.joint]
            term = TERMS[key.kind.entry]
            least = 0.0 if term.brakes else -np.inf
            what = term.words or key.kind.entry
            own = key.kind.part == "joint"
            of = "" if own else f"{key.kind.part} of "
            units = UNITS[link.joint if own else "revolute"]
            unit = _unit(term.unit(units.torque, units.position))
            meaning = f"{what} friction, {of}{link.joint_label}"
            found.append(Setting(f"friction.{key.name}", x, meaning, unit, least))
        for name in self.symbols:
            value = self.robot.symbols[name]
            assert value is not None
            found.append(Setting(f"symbols.{name}", value, f"the symbol {name} of the description"))
        return found + list(self.gains)

    @property
    def start(self) -> np.ndarray:
        return np.array([setting.start for setting in self.all])

    def mechanism(self, p: Scalars) -> Mechanism:
        """The mechanism over the settings."""
        left = iter(p)
        payload = [next(left) for _ in range(10)] if self.payload else []
        frictions = {place: next(left) for place in self.frictions}
        values = {name: next(left) for name in self.symbols}
        found = self.robot.model.mechanism_in(self.symbols).map(
            lambda x: over_scalars(x, values) if isinstance(x, Expression) else x
        )
        surfaces = [
            f.with_coefficients(
                {name: frictions.get((f.part, f.joint, name), x) for name, x in f.coefficients.items()}
            )
            for f in found.friction
        ]
        found = replace(found, friction=tuple(surfaces))
        return (found.carrying(payload) if self.payload else found).with_friction_by_coordinate()

    def gears(self, p: Scalars) -> Scalars:
        """How much each motor's gear is of what it was (m)."""
        model, first = self.robot.model, 10 * self.payload + len(self.frictions)
        values = dict(zip(self.symbols, p[first:], strict=False))
        found: Scalars = []
        for link in self.robot.drives.links:
            now = 1.0 if link.motor is None else model.number_in(self.symbols, link.motor.gear)
            before = 1.0 if link.motor is None else model.number(link.motor.gear)
            found.append(over_scalars(now, values) / before if isinstance(now, Expression) else 1.0)
        return found


def _fixed(model: RobotModel) -> set[str]:
    """Symbols that cannot change while the arm moves: those of loops' shapes and of couplings."""
    names = [name for name, _ in model.symbols]
    mechanism = model.mechanism_in(names)
    entries: list[Any] = [k for row in mechanism.rows for _, k in row]
    entries += [k for f in mechanism.friction if len(f.row) > 1 for _, k in f.row]
    if mechanism.loops:
        entries += replace(mechanism, gravity=(0, 0, 0)).scalars(parameters=False)
    motors = [(link.motor.gear, link.motor.coupling) for link in model.links if link.motor]
    if any(coupling for _, coupling in motors) or mechanism.rows:
        entries += [x for gear, coupling in motors for x in (gear, *(k for _, k in coupling))]
    return {name for x in entries if isinstance(x, Expression) for name in x.symbols()}


@dataclass(frozen=True)
class Tunable(Integrand):
    """An integrand whose `numbers` are those that depend on settings; others are in its programs."""

    @cached_property
    def mechanism(self) -> Mechanism:
        """With settings that are zero at first as if they were not."""
        return self.structure.filled(x or 1.0 for x in self.values)


def opened(settings: Settings) -> tuple[Mechanism, Program]:
    """The mechanism with None where numbers depend on settings, and the program of these and of gears."""
    tape, count = Tape(), len(settings.all)
    p = [Recorder(tape, tape.input(k)) for k in range(count)]
    found: list[int] = []

    def kept(x: Any) -> Any:
        if not isinstance(x, Recorder):
            return x
        if (value := tape.value(x.index)) is not None:
            return value
        found.append(x.index)
        return None

    structure = settings.mechanism(p).map(kept)
    gears = [x.index if isinstance(x, Recorder) else tape.constant(x) for x in settings.gears(p)]
    outputs = [("numbers", (len(found),)), ("gears", (len(gears),))]
    return structure, finished(tape, [("p", count)], outputs, [*found, *gears])


# ------------------------------------------------------------------------------------------------------------
# The arm: its inputs, programs and sizes.


@dataclass(frozen=True)
class Arm:
    """A robot and what drives it, as an FMU has it."""

    robot: Robot
    controller: Controller | None
    q0: np.ndarray
    qd0: np.ndarray

    # ---- what drives it --------------------------------------------------------------------------------

    @cached_property
    def targets(self) -> list[tuple[str, np.ndarray]]:
        """What a controller is told while the arm moves: its set points or the targets of its motion."""
        if self.controller is None:
            return []
        signals = {name: x[0] for name, x in self.controller.signals(np.zeros(1)).items()}
        points = {k: x for k, x in self.controller.checked_constants.items() if k.startswith(_TARGETS)}
        return [(name, _one(name, x)) for name, x in {**points, **signals}.items()]

    @cached_property
    def gains(self) -> list[tuple[str, np.ndarray]]:
        if self.controller is None:
            return []
        told = [name for name, _ in self.targets]
        return [
            (name, _one(name, x)) for name, x in self.controller.checked_constants.items() if name not in told
        ]

    @cached_property
    def settings(self) -> Settings:
        gains = [
            Setting(f"controller.{name}[{k + 1}]", float(x), f"{name.replace('_', ' ')} of the controller")
            for name, values in self.gains
            for k, x in enumerate(values)
        ]
        return Settings.of(self.robot, gains)

    @cached_property
    def driven(self) -> list[int]:
        """Coordinates whose torques are inputs."""
        if self.controller is not None:
            return []
        return [int(i) for i in np.flatnonzero(np.abs(self.robot.drives.given).sum(0) > 0)]

    @cached_property
    def inputs(self) -> list[tuple[str, float, str, str]]:
        """Name, start, meaning and unit of each input."""
        links = joint_descriptions(self.robot)
        found = [
            (f"tau[{i + 1}]", 0.0, f"torque of {links[i]}", _unit(joint_units(self.robot, i).torque))
            for i in self.driven
        ]
        found += [
            (f"{name}[{k + 1}]", float(x), f"{name.replace('_', ' ')} of the controller", "")
            for name, values in self.targets
            for k, x in enumerate(values)
        ]
        return found + [
            (f"wrench[{k + 1}]", 0.0, f"{what} that the tip exerts on its surroundings, world {x}", unit)
            for k, (what, unit, x) in enumerate(
                (what, unit, x) for what, unit in (("force", "N"), ("moment", "N.m")) for x in _AXES
            )
            if self.wrench
        ]

    @cached_property
    def wrench(self) -> list[tuple[str, int]]:
        """The wrench at the tip as a constant of the drive, where a link has the tip."""
        return [("wrench", 6)] * (self.robot.mechanism.tip != FIXED_BASE)

    @cached_property
    def sampled(self) -> bool:
        return self.controller is not None and self.controller.period is not None

    @cached_property
    def drive(self) -> Drive:
        n, own = self.robot.n, self.controller
        if own is None or self.sampled:
            return Drive(tau_as_given, ((NUMBERS, self.count), ("tau", n), *self.wrench)[not self.count :])
        constants = ((NUMBERS, self.count), *own.sizes[0], *own.sizes[1], *self.wrench)
        return Drive(own.law, constants[not self.count :])

    # ---- programs --------------------------------------------------------------------------------------

    @cached_property
    def _opened(self) -> tuple[Mechanism, Program]:
        return opened(self.settings)

    @property
    def numbers(self) -> Program:
        """Settings to the numbers that depend on them, and to gears in parts of what they were."""
        return self._opened[1]

    @property
    def count(self) -> int:
        """How many numbers depend on settings."""
        return self.numbers.outputs[0][1][0]

    @cached_property
    def integrand(self) -> Integrand:
        structure, _ = self._opened
        values = np.ravel(evaluate(self.numbers, self.settings.start)[0]).tolist()
        return Tunable(self.robot, self.drive, structure, tuple(values))

    @cached_property
    def stepping(self) -> Stepping:
        return Stepping(self.integrand)

    @cached_property
    def given(self) -> Program:
        """What drives the arm, of settings, inputs and held torques: all constants after the numbers."""
        size = width(self.drive.constants) - self.count
        return record(self._given, self._blocks, [("given", (size,))])

    def _given(self, p: Scalars, u: Scalars, held: Scalars) -> Scalars:
        """The same over any scalar; linear in all three."""
        told, wrench = u[: len(u) - 6 * len(self.wrench)], u[len(u) - 6 * len(self.wrench) :]
        if self.sampled:
            return [*held, *wrench]
        if self.controller is None:
            tau = dict(zip(self.driven, told, strict=True))
            rows = [[(j, float(k)) for j, k in enumerate(row) if k] for row in self.robot.drives.given]
            return [*(sum((k * tau[j] for j, k in row if j in tau), 0.0) for row in rows), *wrench]
        named = self._told(p[len(self.settings.all) - len(self.settings.gains) :], told)
        constants, signals = self.controller.sizes
        return [*(x for name, _ in (*constants, *signals) for x in named[name]), *wrench]

    @property
    def _blocks(self) -> list[tuple[str, int]]:
        held = self.robot.n if self.sampled else 0
        return [("p", len(self.settings.all)), ("u", len(self.inputs)), ("held", held)]

    def _told(self, gains: Scalars, u: Scalars) -> dict[str, Scalars]:
        """Gains and targets by name."""
        found = dict[str, Scalars]()
        for named, values in ((self.gains, iter(gains)), (self.targets, iter(u))):
            for name, x in named:
                found[name] = [next(values) for _ in x]
        return found

    @cached_property
    def depends(self) -> dict[int, frozenset[int]]:
        """The states and inputs that derivatives and outputs are computed from, by value references."""
        first, _ = blocks_of(self)
        n, works, inputs = self.robot.n, len(self.integrand.works), len(self.inputs)
        none = frozenset[int]()
        states = [frozenset([first["STATES"] + k]) for k in range(2 * n + works)]

        def traced(program: Program, known: Mapping[str, Sequence[frozenset[int]]]) -> list[list[Any]]:
            columns = [x for name, size in program.inputs for x in known.get(name, [none] * size)]
            return program.values(columns, lambda _, *x: none.union(*x), lambda _: none)

        (given,) = traced(self.given, {"u": [frozenset([first["INPUTS"] + k]) for k in range(inputs)]})
        left = iter(given)
        known = {name: [next(left) for _ in range(k)] for name, k in self.drive.constants if name != NUMBERS}
        known |= {"q": states[:n], "qd": states[n : 2 * n]}
        known[FOLLOWERS] = [none.union(*states[:n])] * self.integrand.followers
        rate = traced(self.integrand.programs["rate"], known)
        found = dict(enumerate([*states, *states[n : 2 * n], *rate[0], *rate[-1][:works]], first["STATES"]))
        return found | dict(enumerate(traced(self.output_program, known)[0], first["OUTPUTS"]))

    @cached_property
    def law(self) -> Program:
        """A sampled controller: state, settings, inputs and memory to torques and the next memory."""
        assert self.controller is not None
        own, count = self.controller, len(self.settings.gains)
        program = law_program(own.robot, own.law, *own.sizes, own.remembered)
        n, d = self.robot.n, self.integrand.followers

        def function(
            q: Scalars, qd: Scalars, followers: Scalars, p: Scalars, u: Scalars, memory: Scalars
        ) -> Any:
            told = self._told(p[len(p) - count :] if count else [], u)
            blocks = {
                "q": q, "qd": qd, FOLLOWERS: followers, "memory": memory,
                "constants": [x for name, _ in own.sizes[0] for x in told[name]],
                "signals": [x for name, _ in own.sizes[1] for x in told[name]],
            }  # fmt: skip
            found = inline(program, [blocks[name] for name, _ in program.inputs])
            return tuple(found) if own.remembered else (found[0], [])

        sizes = [("q", n), ("qd", n), (FOLLOWERS, d), *self._blocks[:2], ("memory", own.remembered)]
        return record(function, sizes, [("tau", (n,)), ("memory", (own.remembered,))])

    @cached_property
    def margins(self) -> Program:
        """Speeds of surfaces, the sizes of their terms, and how far their friction is from a level."""
        integrand, e = self.integrand, len(self.integrand.surfaces)

        def function(qd: Scalars, held: Scalars, *numbers: Scalars) -> Any:
            speeds, sizes, distances = [], [], []
            for f, x in zip(sliding(integrand.recorded(*numbers or (None,))), held, strict=True):
                speeds.append(f.speed(qd))
                sizes.append(sum((abs(k * qd[j]) for j, k in f.row), 0.0))
                high, low = held_levels(f)
                half = at_least((high - low) / 2, 1e-300)
                forward, backward = high - x, x - low
                distances.append(forward.minimum(backward) / half)
            return speeds, sizes, distances

        inputs = [("qd", self.robot.n), ("held", e), *integrand.numbers]
        return record(function, inputs, [(name, (e,)) for name in ("speeds", "sizes", "sticking")])

    @cached_property
    def motors(self) -> tuple[np.ndarray, np.ndarray]:
        """K and P of the motors, none where their loads depend on the posture."""
        n = self.robot.n
        try:
            return self.robot.transmission, self.robot.drives.to_motors
        except ModelError:
            return np.zeros((0, n)), np.zeros((0, n))

    @cached_property
    def outputs(self) -> list[tuple[str, str, str]]:
        """Name, meaning and unit of what is computed from a state beside its rates."""
        found = [(f"tip_position[{k + 1}]", f"position of the tip, {x}", "m") for k, x in enumerate(_AXES)]
        found += [
            (f"tip_rotation[{i + 1},{k + 1}]", "rotation matrix of the tip frame, world axes", "")
            for i in range(3)
            for k in range(3)
        ]
        drives = self.robot.drives
        motors = list(zip(drives.names, drives.units, strict=True))[: len(self.motors[0])]
        for what, unit in (("torque", "torque"), ("velocity", "velocity")):
            found += [
                (
                    f"motor_{what}[{k + 1}]",
                    f"{what} at the shaft of the motor of {name}",
                    _unit(getattr(x, unit)),
                )
                for k, (name, x) in enumerate(motors)
            ]
        found += [
            (f"motor_power[{k + 1}]", f"power of the motor of {name}", "W")
            for k, (name, _) in enumerate(motors)
        ]
        found += [("kinetic_energy", "kinetic energy", "J"), ("potential_energy", "potential energy", "J")]
        if self.controller is not None:
            links = joint_descriptions(self.robot)
            found += [
                (f"tau[{i + 1}]", f"torque of {links[i]}", _unit(joint_units(self.robot, i).torque))
                for i in range(self.robot.n)
            ]
        return found + [
            (f"positions[{i + 1}]", f"position of {link.joint_label}", _unit(UNITS[link.joint].position))
            for i, link in enumerate(self.robot.model.positions)
            if self.robot.model.loops
        ]

    @cached_property
    def output_program(self) -> Program:
        integrand = self.integrand
        K, P = (x.tolist() for x in self.motors)
        sizes = [*integrand.inputs, ("gears", len(self.robot.drives))]

        def function(*columns: Scalars) -> Scalars:
            given, mechanism = integrand._given(columns[:-1])
            q, qd, gears = all_positions(mechanism, given), given["qd"], columns[-1]
            tau = integrand._torques(given)
            T = pose(mechanism, q)
            found = [T[i][3] for i in range(3)] + [T[i][k] for i in range(3) for k in range(3)]
            speeds = [_dot(row, qd) * gear for row, gear in zip(K, gears, strict=False)]
            torques = [_dot(row, tau) / gear for row, gear in zip(P, gears, strict=False)]
            found += torques + speeds + [a * b for a, b in zip(torques, speeds, strict=True)]
            found += [kinetic_energy(mechanism, q, qd), potential_energy(mechanism, q)]
            found += tau if self.controller is not None else []
            return found + (list(q) if mechanism.loops else [])

        return record(function, sizes, [("y", (len(self.outputs),))])

    @cached_property
    def slopes(self) -> Program:
        """Changes of q̈, powers and outputs with those of q, q̇ and inputs, as long as modes stay."""
        integrand, n, names = self.integrand, self.robot.n, [name for name, _ in self.integrand.inputs]
        others = [name for name, _ in self.drive.constants if name != NUMBERS]
        moving = {x: f"change of {x}" for x in names if x in ("q", "qd", FOLLOWERS, *others)}
        rate = time_derivative(integrand.programs["rate"], moving)
        outputs = time_derivative(self.output_program, moving)

        def function(*columns: Scalars) -> Any:
            *state, gears, dx, du = columns
            given, mechanism = integrand._given(state)
            values = dict(zip(names, state, strict=True)) | {"gears": gears}
            values |= {"change of q": dx[:n], "change of qd": dx[n:]}
            if integrand.followers:
                y = all_positions(mechanism, given)
                values[f"change of {FOLLOWERS}"] = following(mechanism, y, dx[:n])
            left = iter(self._given([0.0] * len(self.settings.all), du, [0.0] * n))
            values |= {f"change of {x}": [next(left) for _ in values[x]] for x in others}
            by_rate = inline(rate, [values[name] for name, _ in rate.inputs])
            by_output = inline(outputs, [values[name] for name, _ in outputs.inputs])
            powers = by_rate[-1] if integrand.works else []
            return by_rate[0], powers, by_output[0]

        sizes = [
            *integrand.inputs,
            ("gears", len(self.robot.drives)),
            ("dx", 2 * n),
            ("du", len(self.inputs)),
        ]
        results = [("qdd", (n,)), ("powers", (len(integrand.works),)), ("y", (len(self.outputs),))]
        return record(function, sizes, results)

    @cached_property
    def watches(self) -> tuple[Watched, ...]:
        """The joints that have limits."""
        return watch_of(self.robot, "warn").joints

    @cached_property
    def watched(self) -> Program:
        """Their positions, of the columns of a state."""
        outputs = [("q", (len(self.watches),))]
        return record(lambda x: [w.position(x) for w in self.watches], [("x", self.stepping.width)], outputs)


_TARGETS = ("target", "position", "rotation", "posture")  # constants of controllers that are set points


def _one(name: str, x: np.ndarray) -> np.ndarray:
    if x.ndim != 1:
        raise SimulationError(
            f"controller: {name} has the shape {x.shape}; an FMU is one arm: expected (size,)"
        )
    return x


def _dot(row: Sequence[float], x: Scalars) -> Any:
    return sum((k * y for k, y in zip(row, x, strict=True) if k), 0.0)


# ------------------------------------------------------------------------------------------------------------
# As C.


def _sized(program: Program) -> Program:
    """Without inputs and outputs of size zero, which C has not."""
    return replace(
        program,
        inputs=tuple(x for x in program.inputs if x[1]),
        outputs=tuple(x for x in program.outputs if prod(x[1])),
    )


@dataclass(frozen=True)
class ArmSource:
    """The C source of an arm, before engine and interface: sizes, start values, `model_…` functions."""

    arm: Arm
    prefix: str

    @cached_property
    def places(self) -> dict[str, str]:
        """Where in C the named parts of states and constants are."""
        found = {"q": "x", "qd": "x + N", FOLLOWERS: "x + 2 * N", "modes": "x + MODES_AT"}
        start = 0
        for name, size in self.arm.drive.constants:
            found[name] = f"constants + {start}" if start else "constants"
            start += size
        return found

    def text(self, token: str) -> str:
        arm = self.arm
        title = f"Simulation of {arm.robot.name}: made by armdyn {own_version()}, C99, needs libm only."
        joints = [f"joint {i + 1}: {joint}" for i, joint in enumerate(joint_descriptions(arm.robot))]
        parts = [comment_block([title, *joints])]
        parts.append("".join(f"#include <{name}.h>\n" for name in _STANDARD))
        parts += [self._sizes(token), self._starts(), *self._functions()]
        return "\n".join(parts)

    def _sizes(self, token: str) -> str:
        arm, s = self.arm, self.arm.stepping
        e, n = len(arm.integrand.surfaces), arm.robot.n
        states, watched = 2 * n + len(arm.integrand.works), len(arm.watches)
        own = arm.controller
        sizes: dict[str, Any] = {
            "N": n,
            "POSITIONS": arm.robot.mechanism.positions,
            "FOLLOWERS": arm.integrand.followers,
            "SURFACES": e,
            "WORKS": len(arm.integrand.works),
            "WIDTH": s.width,
            "MODES_AT": s.modes_at,
            "SIDE_AT": s.side_at,
            "WORKS_AT": s.works_at,
            "MOVING": len(s.moving),
            "NUMBERS": arm.count,
            "CONSTANTS": width(arm.drive.constants),
            "PARAMETERS": len(arm.settings.all),
            "INPUTS": len(arm.inputs),
            "HELD": n if arm.sampled else 0,
            "MEMORY": own.remembered if own is not None and arm.sampled else 0,
            "MOTORS": len(arm.robot.drives),
            "OUTPUTS": len(arm.outputs),
            "WATCHED": watched,
            "PERIOD_GIVEN": int(arm.sampled),
            "PAYLOAD_GIVEN": int(arm.settings.payload),
            "PAYLOAD_AT": 0,
        }
        references, _ = blocks_of(arm)
        sizes |= {f"VR_{name}": f"{first}u" for name, first in references.items()}
        if arm.sampled:
            assert own is not None
            assert own.period is not None
            sizes["PERIOD"] = number(own.period, "double")
        lines = [f"#define {name} {value}" for name, value in sizes.items()]
        assert states == references["DERIVATIVES"] - references["STATES"]
        return "\n".join([f'#define TOKEN "{token}"', *lines, ""])

    def _starts(self) -> str:
        arm, s = self.arm, self.arm.stepping
        x = np.zeros(s.width)
        x[: 2 * arm.robot.n] = np.append(arm.q0, arm.qd0)
        watch = arm.watches
        memory = arm.controller.first_memory if arm.controller is not None and arm.sampled else np.zeros(0)
        arrays: dict[str, Any] = {
            "start_of_states": x,
            "start_of_parameters": arm.settings.start,
            "start_of_inputs": np.array([start for _, start, _, _ in arm.inputs]),
            "start_of_memory": memory,
            "least_of_parameters": np.array([max(setting.least, -1e308) for setting in arm.settings.all]),
        }
        if watch:
            arrays |= {"lower_limits": np.array([max(w.lower, -1e308) for w in watch])}
            arrays |= {"upper_limits": np.array([min(w.upper, 1e308) for w in watch])}
        lines = [
            _array("double", name, [number(float(v), "double") for v in values])
            for name, values in arrays.items()
        ]
        if watch:
            lines.append(_array("int", "watched_joints", [str(w.joint + 1) for w in watch]))
        if arm.integrand.followers:
            choice = arm.robot.model.choice
            assert choice is not None
            free = list(arm.robot.mechanism.free)
            others = [i for i in range(arm.robot.mechanism.positions) if i not in free]
            lines.append(
                _array("double", "start_of_posture", [number(float(v), "double") for v in choice.posture])
            )
            lines.append(_array("int", "coordinates_at", [str(i) for i in free]))
            lines.append(_array("int", "followers_at", [str(i) for i in others]))
        return "\n".join([*lines, ""])

    def _functions(self) -> Iterator[str]:
        arm, at = self.arm, self.places
        yield self._program("numbers", arm.numbers, "p : constants gears")
        yield self._program("given", arm.given, "p u held : found")
        yield from self._loop(one_step(arm.integrand), _STEP, {"new": "found"})
        yield self._program("outputs", arm.output_program, "x rate constants gears : y", at)
        changes = at | {"dx": "dx", "du": "du"}
        given = "x constants gears dx du : qdd powers dy"
        yield self._program("slopes", arm.slopes, given, changes)
        if arm.integrand.surfaces:
            settle = arm.integrand.programs["settle"]
            held = at | {"qd": "qd"}
            yield self._program("margins", arm.margins, "qd held constants : speeds sizes sticking", held)
            to_rest = at | {"modes": "modes"}
            yield self._program("settle", settle, "x modes constants : qd settled", to_rest)
        if arm.watches:
            yield self._program("watched", arm.watched, "x : found")
        if arm.integrand.followers:
            assembling = replace(assembly_loop(Closed.of(arm.robot.model)), name="assemble")
            yield from self._loop(assembling, "x start : y state")
        if arm.sampled:
            yield self._program("law", arm.law, "x p u memory : tau next", at)

    def _loop(self, loop: Loop, signature: str, names: Mapping[str, str] | None = None) -> Iterator[str]:
        """The functions of a loop, and `model_NAME` that calls it."""
        _, functions = loop_parts(self.prefix, loop)
        for text in functions:
            yield text if text.startswith("static ") else f"static {text}"
        given = [count.name for count in loop.counts] + [argument.name for argument in loop.arguments]
        yield self._call(loop.name, signature, [(names or {}).get(name, name) for name in given])

    def _program(
        self, name: str, program: Program, signature: str, places: Mapping[str, str] | None = None
    ) -> str:
        """The function of a program, and `model_NAME` that calls it with parts of states and constants."""
        whole = _sized(program)
        results = signature.split(" : ")[1].split()
        told = [x for x, (_, shape) in zip(results, program.outputs, strict=True) if prod(shape)]
        given = [(places or {}).get(x, x) for x, _ in whole.inputs]
        if not told:
            return self._call(name, signature, None)
        own = f"static {definition(self.prefix, name, whole, 'double')}"
        return f"{own}\n{self._call(name, signature, [*given, *told])}"

    def _call(self, name: str, signature: str, arguments: Sequence[str] | None) -> str:
        """`model_NAME`: its parameters are the same for all arms, whatever an arm's own function takes."""
        read, written = (part.split() for part in signature.split(" : "))
        counts = [f"long {x}" for x in read if x in _COUNTS]
        parameters = [*counts, *(f"const double *{x}" for x in read if x not in _COUNTS)]
        parameters += [f"double *{x}" for x in written]
        used = set(re.findall(r"\w+", " ".join(arguments or ())))
        lines = [f"    (void){x};" for x in (*read, *written) if x not in used]
        if arguments is not None:
            lines.append(f"    {self.prefix}_{name}({', '.join(arguments)});")
        return "\n".join([f"static void model_{name}({', '.join(parameters)})", "{", *lines, "}", ""])


_STANDARD = ("math", "stdbool", "stddef", "stdint", "stdlib", "string")
_COUNTS = ("decide", "trial", "dense", "points")
_STEP = (
    "decide trial dense points settings constants places : x rate polynomial found last squares states rates"
)


def _array(kind: str, name: str, values: Sequence[str]) -> str:
    """A constant array; one that is empty has a number that nobody reads."""
    return f"static const {kind} {name}[] = {{{', '.join(x.strip('()') for x in values) or '0'}}};"


# ------------------------------------------------------------------------------------------------------------
# What an importer sees.


@dataclass(frozen=True)
class Variable:
    """A variable of the model description."""

    name: str
    reference: int
    causality: str
    variability: str
    initial: str | None
    meaning: str
    start: float | None = None
    unit: str = ""
    derivative: int | None = None  # the reference of its state
    least: float = -np.inf
    kind: str = "real"  # or "integer", "boolean"


def blocks_of(arm: Arm) -> tuple[dict[str, int], int]:
    """The first value reference of each block."""
    n, works, e = arm.robot.n, len(arm.integrand.works), len(arm.integrand.surfaces)
    states = 2 * n + works
    sizes = {
        "STATES": states,
        "DERIVATIVES": states,
        "INPUTS": len(arm.inputs),
        "PARAMETERS": len(arm.settings.all),
        "OUTPUTS": len(arm.outputs),
        "TIMES": 2,
        "INDICATORS": e + len(arm.watches),
        "INTEGERS": e + 1,
        "STOP": 1,
    }
    found, reference = {}, 1
    for name, size in sizes.items():
        found[name] = reference
        reference += size
    return found, reference


_WORKS = {
    "torque": ("torque_work", "work of the torques"),
    "wrench": ("wrench_work", "work of the surroundings at the tip"),
    "friction": ("dissipated", "energy that friction has taken"),
}


def variables_of(arm: Arm) -> list[Variable]:
    """All variables, in the order of their value references."""
    first, _ = blocks_of(arm)
    n, works = arm.robot.n, [_WORKS[x] for x in arm.integrand.works]
    joints, units = joint_descriptions(arm.robot), [joint_units(arm.robot, i) for i in range(n)]
    found = [Variable("time", 0, "independent", "continuous", None, "time", unit="s")]
    states = [("q", "position", arm.q0), ("qd", "velocity", arm.qd0)]
    names: list[str] = []
    for name, what, begin in states:
        for i in range(n):
            unit = _unit(getattr(units[i], what))
            names.append(f"{name}[{i + 1}]")
            found.append(
                Variable(
                    names[-1],
                    len(found),
                    "output",
                    "continuous",
                    "exact",
                    f"{what} of {joints[i]}",
                    float(begin[i]),
                    unit,
                )
            )
    for name, what in works:
        names.append(name)
        found.append(Variable(name, len(found), "output", "continuous", "exact", what, 0.0, "J"))
    for k, name in enumerate(names):
        unit = _unit(units[k % n].velocity if k < n else units[k % n].acceleration) if k < 2 * n else "W"
        own = (f"qdd[{k - n + 1}]", "output", f"acceleration of {joints[k - n]}") if n <= k < 2 * n else None
        label, causality, what = own or (f"der({name})", "local", f"derivative of {name}")
        state = first["STATES"] + k
        found.append(
            Variable(label, len(found), causality, "continuous", "calculated", what, None, unit, state)
        )
    for name, start, meaning, unit in arm.inputs:
        found.append(Variable(name, len(found), "input", "continuous", "exact", meaning, start, unit))
    for x in arm.settings.all:
        found.append(
            Variable(
                x.name, len(found), "parameter", "tunable", "exact", x.meaning, x.start, x.unit, least=x.least
            )
        )
    for name, meaning, unit in arm.outputs:
        found.append(Variable(name, len(found), "output", "continuous", "calculated", meaning, None, unit))
    for name, meaning in (
        ("change_time", "time of the last change between sticking and sliding; 0 before"),
        ("limit_time", "time at which a joint first left its range; 0 before"),
    ):
        found.append(Variable(name, len(found), "output", "discrete", "calculated", meaning, None, "s"))
    surfaces = arm.integrand.names
    watched = [w.name for w in arm.watches]
    changes = [f"distance from a change between sticking and sliding, {name}" for name in surfaces]
    changes += [f"distance from the nearer limit, {name}" for name in watched]
    for k, what in enumerate(changes):
        found.append(Variable(f"indicator[{k + 1}]", len(found), "local", "continuous", "calculated", what))
    for k, name in enumerate(surfaces):
        what = f"{name}: 0 sticks, 1 slides forward, -1 backward"
        found.append(
            Variable(
                f"sliding[{k + 1}]", len(found), "output", "discrete", "calculated", what, kind="integer"
            )
        )
    what = "the joint that left its range first, counted from 1; 0 for none"
    found.append(
        Variable("limit_passed", len(found), "output", "discrete", "calculated", what, kind="integer")
    )
    what = "whether the simulation ends where a joint leaves its range"
    found.append(
        Variable("stop_at_limits", len(found), "parameter", "tunable", "exact", what, 0.0, kind="boolean")
    )
    return found


_DERIVED = {"N": {"kg": 1, "m": 1, "s": -2}, "J": {"kg": 1, "m": 2, "s": -2}, "W": {"kg": 1, "m": 2, "s": -3}}


def _unit(text: str) -> str:
    """A unit as model descriptions write it; none where it has a power that they do not know."""
    if "^" in text:
        return ""
    return text.strip().replace(" ", ".").replace("²", "2").replace("³", "3")


def base_units(unit: str) -> dict[str, int]:
    """Powers of the units of SI: N.m.s/rad is kg m² s⁻¹ rad⁻¹."""
    found = dict[str, int]()
    for sign, part in zip((1, -1), unit.split("/"), strict=False):
        for name, power in re.findall(r"([A-Za-z]+)(\d*)", part):
            for base, k in _DERIVED.get(name, {name: 1}).items():
                found[base] = found.get(base, 0) + sign * k * int(power or 1)
    return {name: power for name, power in found.items() if power}


_DEGREES = {"rad": "deg", "rad/s": "deg/s", "rad/s2": "deg/s2"}  # how importers may show them


def _unit_tags(unit: str) -> list[str]:
    """The inside of a unit's element."""
    shown = {"name": _DEGREES.get(unit), "factor": repr(180 / np.pi)}
    return _tag("BaseUnit", base_units(unit)) + (_tag("DisplayUnit", shown) if shown["name"] else [])


def _said(text: str) -> str:
    """A text in an attribute of XML: one line, without what XML cannot have."""
    line = re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", one_line(text))
    return escape(line, quote=True)


def _tag(name: str, attributes: Mapping[str, Any], inner: Sequence[str] = ()) -> list[str]:
    """Lines of an element."""
    shown = {True: "true", False: "false"}
    told = "".join(
        f' {key}="{shown[x] if isinstance(x, bool) else _said(str(x))}"'
        for key, x in attributes.items()
        if x is not None
    )
    if not inner:
        return [f"<{name}{told}/>"]
    return [f"<{name}{told}>", *(f"  {line}" for line in inner), f"</{name}>"]


def describe(arm: Arm, identity: str, token: str, version: str) -> str:
    """`modelDescription.xml`."""
    variables = variables_of(arm)
    three = version == "3.0"
    indicators = [v for v in variables if v.name.startswith("indicator[")]
    if not three:
        variables = [v for v in variables if v not in indicators]
    abilities = {
        "modelIdentifier": identity,
        "canGetAndSetFMUState" if three else "canGetAndSetFMUstate": True,
        "canSerializeFMUState" if three else "canSerializeFMUstate": True,
        "providesDirectionalDerivatives" if three else "providesDirectionalDerivative": True,
    }
    root: dict[str, Any] = {
        "fmiVersion": version,
        "modelName": arm.robot.name,
        "instantiationToken" if three else "guid": token,
        "description": description_text(arm),
        "generationTool": f"armdyn {own_version()}",
        "variableNamingConvention": "structured",
    }
    if not three:
        root["numberOfEventIndicators"] = len(indicators)
    sources = [] if three else _tag("SourceFiles", {}, _tag("File", {"name": f"{identity}.c"}))
    units = sorted({v.unit for v in variables if v.unit})
    unit_tags = [line for x in units for line in _tag("Unit", {"name": x}, _unit_tags(x))]
    inner = [
        *_tag(
            "ModelExchange",
            {**abilities, "needsCompletedIntegratorStep": bool(arm.integrand.followers)}
            if three
            else {**abilities, "completedIntegratorStepNotNeeded": not arm.integrand.followers},
            sources,
        ),
        *_tag("CoSimulation", {**abilities, "canHandleVariableCommunicationStepSize": True}, sources),
        *_tag("UnitDefinitions", {}, unit_tags),
        *_tag("LogCategories", {}, [line for row in _LOGGED for line in _tag("Category", row)]),
        *_tag("DefaultExperiment", {"startTime": 0, "stopTime": 2, "tolerance": 1e-8}),
        *_tag(
            "ModelVariables",
            {},
            [line for v in variables for line in (_variable3(v) if three else _variable2(v, variables))],
        ),
        *_tag("ModelStructure", {}, (_structure3 if three else _structure2)(variables, arm.depends)),
    ]
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    return "\n".join([head, *_tag("fmiModelDescription", root, inner), ""])


_LOGGED = (
    {"name": "logStatusError", "description": "errors"},
    {"name": "logStatusDiscard", "description": "states in which the arm cannot be: a shorter step may help"},
)


def description_text(arm: Arm) -> str:
    """The sentence of the model description."""
    found = f"Dynamics of {arm.robot.name}, with the engine of armdyn."
    if arm.integrand.surfaces:
        found += " Dry friction sticks: a mode for each surface, changes at events."
    if held := [name for name in arm.robot.symbols if name in _fixed(arm.robot.model)]:
        values = ", ".join(f"{name} = {arm.robot.symbols[name]}" for name in held)
        found += f" Held fixed, as symbols of loops or of couplings: {values}."
    return found


def _variable3(v: Variable) -> list[str]:
    types = {"real": "Float64", "integer": "Int32", "boolean": "Boolean"}
    return _tag(
        types[v.kind],
        {
            "name": v.name,
            "valueReference": v.reference,
            "description": v.meaning,
            "causality": v.causality,
            "variability": v.variability,
            "initial": v.initial if v.causality != "input" else None,
            "unit": v.unit or None,
            "displayUnit": _DEGREES.get(v.unit),
            "min": None if v.least == -np.inf else f"{v.least:g}",
            "derivative": v.derivative,
            "start": _start(v),
        },
    )


def _start(v: Variable) -> Any:
    if v.start is None:
        return None
    return bool(v.start) if v.kind == "boolean" else repr(v.start)


def _variable2(v: Variable, variables: Sequence[Variable]) -> list[str]:
    types = {"real": "Real", "integer": "Integer", "boolean": "Boolean"}
    index = {x.reference: k + 1 for k, x in enumerate(variables)}
    own = {
        "unit": v.unit or None,
        "displayUnit": _DEGREES.get(v.unit),
        "min": None if v.least == -np.inf else f"{v.least:g}",
        "start": _start(v),
        "derivative": None if v.derivative is None else index[v.derivative],
    }
    initial = None if v.causality in ("input", "independent") else v.initial
    outer = {
        "name": v.name,
        "valueReference": v.reference,
        "description": v.meaning,
        "causality": v.causality,
        "variability": v.variability,
        "initial": initial,
    }
    return _tag("ScalarVariable", outer, _tag(types[v.kind], own))


def _unknown(v: Variable) -> bool:
    return v.initial == "calculated" and (v.causality == "output" or v.derivative is not None)


def _structure3(variables: Sequence[Variable], depends: Mapping[int, frozenset[int]]) -> list[str]:
    def rows(name: str, kind: Callable[[Variable], bool], known: bool = False) -> list[str]:
        found = list[str]()
        for v in variables:
            if kind(v):
                on = depends.get(v.reference) if known else None
                told = None if on is None else " ".join(map(str, sorted(on)))
                found += _tag(name, {"valueReference": v.reference, "dependencies": told})
        return found

    return [
        *rows("Output", lambda v: v.causality == "output", known=True),
        *rows("ContinuousStateDerivative", lambda v: v.derivative is not None, known=True),
        *rows("InitialUnknown", _unknown),
        *rows("EventIndicator", lambda v: v.name.startswith("indicator[")),
    ]


def _structure2(variables: Sequence[Variable], depends: Mapping[int, frozenset[int]]) -> list[str]:
    index = {v.reference: k + 1 for k, v in enumerate(variables)}

    def rows(name: str, kind: Callable[[Variable], bool], known: bool = False) -> list[str]:
        found = list[str]()
        for v in variables:
            if kind(v):
                on = depends.get(v.reference) if known else None
                told = None if on is None else " ".join(str(index[x]) for x in sorted(on))
                found += _tag("Unknown", {"index": index[v.reference], "dependencies": told})
        return _tag(name, {}, found) if found else []

    return [
        *rows("Outputs", lambda v: v.causality == "output", known=True),
        *rows("Derivatives", lambda v: v.derivative is not None, known=True),
        *rows("InitialUnknowns", _unknown),
    ]


# ------------------------------------------------------------------------------------------------------------
# The file.


_HEADERS = {
    "3.0": ("fmi3PlatformTypes.h", "fmi3FunctionTypes.h", "fmi3Functions.h"),
    "2.0": ("fmi2TypesPlatform.h", "fmi2FunctionTypes.h", "fmi2Functions.h"),
}
# What the versions call the same: types, and functions that `interface.c` defines for both.
_NAMES = {
    "3.0": {
        "FMI(name)": "fmi3##name",
        "INSTANCE": "fmi3Instance",
        "LOGGER": "fmi3LogMessageCallback",
        "RELEASE_TYPE": "void *",
    },
    "2.0": {
        "FMI(name)": "fmi2##name",
        "INSTANCE": "fmi2Component",
        "LOGGER": "fmi2CallbackLogger",
        "RELEASE_TYPE": "fmi2CallbackFreeMemory",
        "fmi2FMUState": "fmi2FMUstate",
        "fmi2GetFMUState": "fmi2GetFMUstate",
        "fmi2SetFMUState": "fmi2SetFMUstate",
        "fmi2FreeFMUState": "fmi2FreeFMUstate",
        "fmi2SerializedFMUStateSize": "fmi2SerializedFMUstateSize",
        "fmi2SerializeFMUState": "fmi2SerializeFMUstate",
        "fmi2DeserializeFMUState": "fmi2DeSerializeFMUstate",
        "fmi2GetContinuousStateDerivatives": "fmi2GetDerivatives",
    },
}


def source_text(arm: Arm, identity: str, token: str, version: str) -> str:
    """The one C file: the arm, the engine, the interface."""
    name = f"fmi{version[0]}"
    upper = name.upper()
    before = "\n".join(
        [
            f"/* Functions begin with {identity}_ where several FMUs are linked into one program. */",
            f"#ifdef {upper}_STATIC",
            f"#define {upper}_FUNCTION_PREFIX {identity}_",
            "#endif",
            "#if defined(__clang__)",
            '#pragma clang diagnostic ignored "-Wstrict-prototypes"',
            "#endif",
            f'#include "{name}Functions.h"',
            "",
            *(f"#define {own} {theirs}" for own, theirs in _NAMES[version].items()),
            "",
        ]
    )
    parts = [(FOLDER / part).read_text(encoding="utf-8") for part in ("engine.c", "interface.c", f"{name}.c")]
    return "\n".join([ArmSource(arm, identity).text(token), before, *parts])


def write_fmu(
    robot: Robot,
    path: str | Path,
    controller: Controller | None = None,
    *,
    version: str = "3.0",
    q0: Any = None,
    qd0: Any = 0.0,
    binary: bool | None = None,
) -> Path:
    """Write an FMU; see `Robot.export_fmu`."""
    check.one_of("version", version, *VERSIONS)
    arm = arm_of(robot, controller, q0, qd0)
    identity = identifier(robot.name)
    token = _token(arm, identity, version)
    source = source_text(arm, identity, token, version)
    files: dict[str, bytes] = {
        "modelDescription.xml": describe(arm, identity, token, version).encode(),
        f"sources/{identity}.c": source.encode(),
        "documentation/licenses/license.txt": (FOLDER / "license.txt").read_bytes(),
        "documentation/index.html": documentation(arm).encode(),
    }
    files |= {f"sources/{name}": (FOLDER / name).read_bytes() for name in _HEADERS[version]}
    if version == "3.0":
        files["sources/buildDescription.xml"] = _build_description(identity).encode()
    library = None if binary is False else _compiled(identity, files)
    if library is None and binary:
        raise SimulationError(
            "binary: found no C compiler (cc, gcc or clang); binary=False writes sources only"
        )
    if library is not None:
        files[f"binaries/{_platform(version)}/{identity}{_suffix()}"] = library
    return write_whole(path, _zipped(files), SimulationError)


def arm_of(robot: Robot, controller: Controller | None, q0: Any, qd0: Any) -> Arm:
    """What an FMU is made of, checked."""
    check.robot(robot)
    if free := [name for name, value in robot.symbols.items() if value is None]:
        raise MissingValueError(
            f"symbol '{free[0]}' has no value, and an FMU begins with numbers; "
            f"robot.with_symbols({free[0]}=…) gives values, which can be changed in the FMU"
        )
    check_friction(robot)
    if controller is not None and not isinstance(controller, Controller):
        raise SimulationError(f"controller: expected a Controller, found {type(controller).__name__}")
    if controller is not None and controller.robot.n != robot.n:
        raise SimulationError(
            f"controller: its robot has {controller.robot.n} joints, this one has {robot.n}"
        )
    given = {"q0": _usual_start(robot) if q0 is None else q0, "qd0": qd0}
    start, speed = (check.numbers(name, check.wide(name, x, robot.n)) for name, x in given.items())
    for name, x in zip(given, (start, speed), strict=True):
        if x.ndim > 1:
            raise SimulationError(f"{name}: an FMU is one arm: expected ({robot.n},), found {x.shape}")
    return Arm(robot, controller, start, speed)


def _usual_start(robot: Robot) -> np.ndarray:
    """Zeros where limits allow; with loops, the coordinates of the robot's first posture."""
    if robot.model.choice is not None:
        return np.array(robot.model.choice.posture)[list(robot.mechanism.free)]
    limits = joint_limits(robot)
    return np.asarray(np.clip(0.0, limits.lower, limits.upper))


def _token(arm: Arm, identity: str, version: str) -> str:
    """An identity of what the FMU computes and shows."""
    text = source_text(arm, identity, "", version) + describe(arm, identity, "", version)
    h = hashlib.sha256(text.encode()).hexdigest()
    return f"{{{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:32]}}}"


def documentation(arm: Arm) -> str:
    """A page about the variables."""
    rows = "\n".join(
        f"<tr><td>{_said(v.name)}</td><td>{v.causality}</td><td>{_said(v.unit)}</td><td>{_said(v.meaning)}</td></tr>"
        for v in variables_of(arm)
    )
    title = _said(arm.robot.name)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head><body>\n'
        f"<h1>{title}</h1>\n<p>{_said(description_text(arm))}</p>\n<table>\n{rows}\n</table>\n</body></html>\n"
    )


def _build_description(identity: str) -> str:
    files = _tag("SourceFileSet", {"language": "C99"}, _tag("SourceFile", {"name": f"{identity}.c"}))
    inner = _tag("BuildConfiguration", {"modelIdentifier": identity}, files)
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    return "\n".join([head, *_tag("fmiBuildDescription", {"fmiVersion": "3.0"}, inner), ""])


def _zipped(files: Mapping[str, bytes]) -> bytes:
    """The files in one, the same bytes whenever they are the same."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = 0o644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, files[name])
    return buffer.getvalue()


def _suffix() -> str:
    return {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")


def _platform(version: str) -> str:
    """The folder of this machine's binaries."""
    system = {"win32": "windows", "darwin": "darwin"}.get(sys.platform, "linux")
    own = re.sub("i[3-6]86", "x86", machine().lower())
    kind = {"amd64": "x86_64", "arm64": "aarch64"}.get(own, own)
    if version == "3.0":
        return f"{kind}-{system}"
    short = {"windows": "win", "darwin": "darwin", "linux": "linux"}[system]
    bits = {"x86_64": 64, "x86": 32}
    return f"{short}{bits[kind]}" if kind in bits else f"{kind}-{system}"


def _compiled(identity: str, files: Mapping[str, bytes]) -> bytes | None:
    """The shared library of the sources; None where there is no compiler."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            if name.startswith("sources/"):
                (Path(folder) / Path(name).name).write_bytes(data)
        library = f"{identity}{_suffix()}"
        flags, libraries = ["-std=c99", "-O2", "-ffp-contract=off", "-shared"], list[str]()
        if sys.platform != "win32":  # there all code may move, and no library is called m
            flags, libraries = [*flags, "-fPIC"], ["-lm"]
        command = [compiler, *flags, f"{identity}.c", *libraries, "-o", library]
        found = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", check=False
        )
        if found.returncode:
            said = found.stderr.strip()[:500]
            raise SimulationError(
                f"the C compiler '{compiler}' failed; binary=False writes sources only: {said}"
            )
        return (Path(folder) / library).read_bytes()
