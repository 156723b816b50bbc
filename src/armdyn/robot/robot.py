"""The front door: `Robot`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Never, Self, cast

import numpy as np

from armdyn.description.changing import with_friction, with_limits, with_motors
from armdyn.description.plausibility import payload_problem, physics_warnings
from armdyn.description.robot_file import from_table, load, read_place
from armdyn.description.source import Options, parse_text
from armdyn.description.writing import save
from armdyn.display import Shown
from armdyn.dynamics import BaseMotion
from armdyn.expression import Expression, shown
from armdyn.kernels import Kernel
from armdyn.kernels.arrays import Floats, Numbers, Scalars, real_array
from armdyn.kernels.kernel import Kernels, Key, library_of
from armdyn.model import (
    Inertia,
    Mechanism,
    ModelError,
    PhysicsWarning,
    RobotModel,
    edit,
    impossible_inertia,
)
from armdyn.model.edit import At, check_link, motor_named, point_named
from armdyn.model.errors import is_nested, numbers, three, word
from armdyn.model.inertia import Number
from armdyn.model.parameters import Layout, layout, parameter_vector, with_parameters
from armdyn.model.parts import Link, Motor, RotorModel, Transform
from armdyn.model.robot_model import driven_positions, rotor_alone
from armdyn.names import listed, quoted
from armdyn.program import Program
from armdyn.robot.assembly import Assembly, ClosedKernel, Related, refuse_loops
from armdyn.robot.closing import with_choice
from armdyn.robot.drives import Drives
from armdyn.robot.functions import (
    BASE_INPUTS,
    FUNCTIONS,
    MEANINGS,
    ROTOR_JACOBIAN,
    SYMBOLS,
    Function,
    Symbols,
    Wrench,
    as_columns,
    check_function,
    check_program,
    functions_of,
    make_kernel,
    numeric_mechanism,
    of_links,
    of_symbols,
    side_by_side,
    usual_functions,
)
from armdyn.robot.postures import assembly_modes, near_positions, with_posture

if TYPE_CHECKING:
    from armdyn.description.dh_form import Convention
    from armdyn.description.dh_table import DhTable
    from armdyn.description.difference import Difference
    from armdyn.exact import Equations
    from armdyn.kernels.c_package import CSource
    from armdyn.robot.base_parameters import BaseParameters

Place = Sequence[Any] | Mapping[str, Any] | np.ndarray  # [x, y, z], {xyz, rpy}, or a 4×4 matrix
_FRAME: At = "frame"  # one object with the constant of callers: compared in no time


class Robot(Shown):
    """A manipulator and its dynamics: numbers for any number of states at once, and exact equations.

    Immutable; equal and hashable by content; picklable. Positions `q` [rad or m], velocities `qd`,
    accelerations `qdd` and torques `tau` [N m or N] are (..., n) over the n moving joints and broadcast like
    NumPy's gufuncs; `out=` takes the result. `parameters` (..., p), where taken, replaces the robot's own
    parameter vector row by row; `symbols`, such as {"a2": 0.4, "m1": (...)}, replaces values of its symbols.
    With loops, `near` (..., positions) is the posture from which they are closed, as `assembly` gives it.

        >>> robot = Robot.load("puma560")
        >>> tau = robot.inverse_dynamics(q, qd, qdd)  # (..., 6) torques for a motion
        >>> qdd = robot.forward_dynamics(q, qd, tau)  # and back
        >>> B, g = robot.inertia(q), robot.gravity(q)  # the terms of τ = B q̈ + C q̇ + g + friction
        >>> heavier = robot.with_payload(2.0)  # every change is a new robot

    Make one with `load`, `from_dict` or `from_toml`; change it with the `with_…` methods; read it with
    `equations()`, `parameters`, `base_parameters()`. docs/functions.md lists every numeric function with
    shapes and units, docs/robots.md how robots are described, docs/changing.md how they are changed.
    """

    __slots__ = ("_kernels",)  # read at every call: half as long as from a dict

    def __init__(self, model: RobotModel) -> None:
        if not isinstance(model, RobotModel):
            raise TypeError(
                f"expected a RobotModel, found {shown(model)}; see Robot.load and Robot.from_dict"
            )
        self._model = with_choice(model)
        self._kernels = Kernels(self._kernel)
        self._tips: dict[Any, Self] = {}  # with other tips: what is asked for at every state is made once

    # ---- reading -----------------------------------------------------------------------------------------

    @classmethod
    def load(
        cls,
        robot: str | Path,
        *,
        base: str | None = None,
        tip: str | None = None,
        lock: Mapping[str, Number] | None = None,
        repair: bool = False,
        snap: bool = False,
        **others: Never,
    ) -> Self:
        """A bundled robot by name; a robot file (.toml), a URDF or an MJCF file by path; or XML as a text.

        `tip` ends the chain (joints beside it are welded at 0, their masses count), `lock` = {joint or link:
        position} locks joints, as `locked` does. For URDF and MJCF alone: `base` is the link to stand on,
        `repair` mends what is safe to mend, `snap` makes rounded angles and axes exact. `model.notes` says
        what was changed. Payload, rotors, limits and so on are for the `with_…` methods.
        """
        for name in others:
            method = f"with_{name}"
            hint = f"; Robot.load(…).{method}(…) is for that" if hasattr(cls, method) else ""
            options = "base, tip, lock, repair, snap"
            raise TypeError(f"Robot.load: no option {shown(name)}; allowed: {options}{hint}")
        return cls(load(robot, Options(base, tip, lock, repair, snap)))

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Self:
        """A robot from a table with the keys of the robot file; numbers may also be expressions in text."""
        return cls(from_table(table))

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """A robot from the text of a robot file, such as `to_toml` gives."""
        return cls(from_table(parse_text(text)))

    # ---- looking -----------------------------------------------------------------------------------------

    @property
    def model(self) -> RobotModel:
        """The description as data."""
        return self._model

    @cached_property
    def mechanism(self) -> Mechanism:
        """What the algorithms work on, in floats: bodies, rotors, gravity.

        Free symbols are refused, but for those that neither torques nor energy nor the tip depend on.
        """
        return numeric_mechanism(self._model, self._layout)

    @property
    def name(self) -> str:
        """What the description calls the robot."""
        return self._model.name

    @property
    def n(self) -> int:
        """The number of coordinates: of all moving joints, unless some follow others; of each elastic joint
        the motor's, too.
        """
        return self._model.n

    @property
    def joints(self) -> tuple[str, ...]:
        """The names of all moving joints, those that follow others included."""
        return tuple(link.joint_label for link in self._model.moving)

    @property
    def bodies(self) -> tuple[str, ...]:
        """The names of the links of `poses`: those behind moving joints, in their order, then the base."""
        return (*(link.name for link in self._model.moving), self._model.root)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The names of the joints that q stands for, in its order; motors of elastic joints come last."""
        return tuple(link.joint_label for link in self._model.coordinates)

    @property
    def actuated(self) -> tuple[str, ...]:
        """The names of the coordinates and following joints that something drives."""
        positions = self._model.positions
        return tuple(positions[i].joint_label for i in driven_positions(self._model))

    @cached_property
    def assembly(self) -> Assembly:
        """All positions of a robot with loops from its coordinates: `robot.assembly(q)`."""
        if not self._model.loops:
            raise ModelError(f"{self.name} has no loops; joint_positions(q) gives all joints")
        return Assembly(self._model)

    @cached_property
    def _related(self) -> Related:
        return Related.of(self._model)

    @cached_property
    def drives(self) -> Drives:
        """The motors as arrays: names, units, transmission, limits and torque constants. Read-only."""
        return Drives(self._model)

    @property
    def transmission(self) -> Floats:
        """K (m, n) of the motors: their angles are θ_m = K q, and joint torques Kᵀ τ_m (7.22), (7.23).

        A joint without a motor has a row of its own with 1: it counts as driven directly.
        """
        return self.drives.transmission

    @property
    def warnings(self) -> list[str]:
        """What in the description looks wrong."""
        return physics_warnings(self._model)

    def dh_table(self, convention: Convention = "dh") -> DhTable:
        """The Denavit–Hartenberg table of a serial chain, standard ("dh") or modified ("mdh")."""
        from armdyn.description.dh_table import dh_table

        word("convention", convention, ("dh", "mdh"))
        return dh_table(self._model, convention)

    @property
    def symbols(self) -> Mapping[str, float | None]:
        """The values of the description's symbols, in its order; None for free ones. Read-only."""
        values = self._model.values
        return MappingProxyType({name: values.get(name) for name, _ in self._model.symbols})

    @cached_property
    def _layout(self) -> Layout:
        return layout(self._model)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of `parameters`, in its order: "m1", "mx1", …"""
        return tuple(parameter.name for parameter in self._layout)

    @cached_property
    def parameters(self) -> np.ndarray:
        """The parameter vector (p,): per joint m, m·x, m·y, m·z, Ixx … Izz, Im, Fv, Fs; then extras."""
        values = np.array([float(x) for x in parameter_vector(self._model.mechanism, self._layout)])
        values.flags.writeable = False
        return values

    # ---- changing ----------------------------------------------------------------------------------------

    def with_symbols(
        self, values: Mapping[str, Number | None] | None = None, /, **more: Number | None
    ) -> Self:
        """The robot with other values of its symbols: `robot.with_symbols(a1=0.8, m2="2*m1", g=None)`.

        A number is the symbol's new value. An expression in other symbols stands in the symbol's place
        everywhere; the symbol is then gone. None leaves the symbol without a value, free.
        """
        return type(self)(edit.with_symbols(self._model, edit.named(values, more)))

    def with_payload(
        self,
        mass: Number | Inertia,
        com: Place = (0, 0, 0),
        inertia: Mapping[str, Number] | Sequence[Any] | np.ndarray | None = None,
        link: str | None = None,
    ) -> Self:
        """The robot carrying a body fixed to its tip frame (or to the frame of `link`).

        `com` is in that frame [m]; `inertia` is the tensor about the body's centre of mass [kg m²]: entries
        by name (xx … yz), a 3×3 matrix, or six numbers xx xy xz yy yz zz. `mass` [kg] may be a whole
        `Inertia`, such as `box(…)`, whose centre `com` then places. In the place of `com` there may be the
        pose of the body's own frame, {xyz: …, rpy: …} or a 4×4 matrix: the tensor is then in the axes of that
        frame, and the centre of mass at its origin (of an `Inertia`, where it says). Symbols in the arguments
        must be the robot's own or are added as free ones. The robot's name says what it carries. A tensor
        that no body has gives a PhysicsWarning.
        """
        place: Any = com
        if isinstance(com, Mapping) or is_nested(com):
            place = read_place(com, "payload", "com", dict(self._model.symbols))
        load = edit.payload(mass, place, inertia)
        model = edit.declared(self._model, (load.mass, *load.moment, *load.tensor))
        for problem in impossible_inertia(model, load):
            raise ModelError(f"payload: {problem}")
        loaded = edit.with_payload(model, load, link)
        if doubt := payload_problem(model, load, model.tip if link is None else link):
            warnings.warn(f"payload: {doubt}", PhysicsWarning, stacklevel=2)
        return type(self)(loaded)

    def with_tip(self, link: str, tool: Place | None = None) -> Self:
        """The robot whose tip is the frame of `link`, or a `tool` on it, given in that frame.

        The tool is {xyz: …, rpy: …} as in a robot file, [x, y, z], or a 4×4 matrix as `pose` returns it. The
        numeric functions share their machine code with this robot's. The base may be the tip, too.
        """
        tip = check_link(self._model, "link", link)
        if tool is None and (tip, "frame") in self._tips:
            return self._tips[tip, "frame"]
        frame = (
            Transform() if tool is None else read_place(tool, "with_tip", "tool", dict(self._model.symbols))
        )
        found = type(self)(replace(self._model, tip=tip, tool=frame))
        if tool is None:
            self._tips[tip, "frame"] = found
        return found

    def _at(self, link: str | None, at: At) -> Self:
        """The robot whose tip is a point of a link, with the link's axes."""
        if isinstance(at, str) and at == "frame":
            return self if link is None else self.with_tip(link)
        if isinstance(at, str) and (link, at) in self._tips:
            return self._tips[link, at]
        tip, tool, _ = point_named(self._model, link, at)
        known = dict(self._model.symbols)
        if unknown := sorted({name for x in tool.p for name in Expression.of(x).symbols()} - known.keys()):
            raise ModelError(
                f"at: {shown(unknown[0])} is no symbol of this robot; symbols: {listed(list(known))}"
            )
        found = type(self)(replace(self._model, tip=tip, tool=tool))
        if isinstance(at, str):
            self._tips[link, at] = found
        return found

    def _at_rotor(self, link: Link, motor: Motor) -> Self:
        """The robot whose tip is the centre of a rotor."""
        key = (link.name, "motor")
        if key not in self._tips:
            place = Transform(p=motor.position)
            self._tips[key] = type(self)(
                replace(self._model, tip=motor.carrier, tool=place, rotors="exact")  # these have their axes
            )
        return self._tips[key]

    def with_rotors(self, rotors: RotorModel) -> Self:
        """The robot with rotors "exact", "reflected" (diagonal, as other tools do) or "none".

        With elastic joints "reflected" is the reduced model: a rotor spins about its own axis only. Without
        rotors these joints are rigid, as no motor is left that could have a coordinate.
        """
        word("rotors", rotors, ("exact", "reflected", "none"))
        return type(self)(replace(self._model, rotors=rotors))

    def with_rigid_joints(self) -> Self:
        """The robot with its elastic joints rigid: motors turn with their links, and have no coordinates."""
        return type(self)(edit.with_rigid_joints(self._model))

    def with_motors(self, motors: Mapping[str, Mapping[str, Any]], *, rotors: RotorModel = "exact") -> Self:
        """The robot with motors put in or changed, by the names of their links or joints.

        The entries are those of [link.motor] in the robot file. What is not given stays as it was; only
        where `gear` is given without `inertia`, k²·Im at the joint stays, which is what imported files know.
        """
        word("rotors", rotors, ("exact", "reflected", "none"))
        return type(self)(replace(with_motors(self._model, motors), rotors=rotors))

    def with_friction(
        self,
        friction: Mapping[str, Mapping[str, Any] | None] | None = MappingProxyType({}),
        *,
        width: Any = None,
    ) -> Self:
        """The robot with other friction of its joints: `robot.with_friction({"joint 3": {"viscous": 2.5}})`.

        By the names of joints or links, with the keys of `friction` in the robot file. What is not given
        stays, and so does friction at the shafts of motors, which `with_motors` changes. None takes away: in
        the place of a number that term, of a table all friction of the joint and its motor;
        `with_friction(None)` is the robot without any. Damping of elastic transmissions stays. `width` gives
        all joints tanh(q̇/width) in the place of the sign, 0 the sign: one number, or one for each joint.
        """
        return type(self)(with_friction(self._model, friction, width))

    def with_limits(self, limits: Mapping[str, Mapping[str, Any] | None] | None) -> Self:
        """The robot with other limits of its joints: `robot.with_limits({"joint 3": {"velocity": 1.5}})`.

        By the names of joints or links, with the keys of `limits` in the robot file. What is not given stays,
        and so do limits at the shafts of motors, which `with_motors` changes. None takes away: in the place
        of a number that limit, of a table all limits of the joint and its motor; `with_limits(None)` leaves
        none.
        """
        return type(self)(with_limits(self._model, limits))

    def locked(self, positions: Mapping[str, Number]) -> Self:
        """The robot with joints locked: `robot.locked({"joint 3": 0.5, "joint 4": "pi/2"})` [rad or m].

        By the names of joints or links. A locked joint is a fixed one, without friction, spring and limits.
        Its motor rides on its carrier with its rotor locked, and an elastic joint is locked with its motor; a
        motor that is coupled with further joints still spins with these. Joints that closures tie to locked
        ones are locked too where they cannot move. The torques are those of this robot with the joints held
        there. `model.notes` says what was locked.
        """
        model = self._model
        if model.loops and model.choice is not None:  # the others stay in the mode they are in
            model = near_positions(model, edit.lock_positions(model, positions))
        return type(self)(edit.locked(model, positions))

    def without(self, link: str) -> Self:
        """The robot without a link and all that hangs on it: `robot.without("hand")`.

        Their motors are gone with them, wherever these sit, and closures and springs that end on them. Motors
        of other joints lose their coupling with them. If the tip was among them, it is now the frame of the
        link that they hung on. Refused where a motor of a joint that stays sits on a link that goes.
        """
        return type(self)(edit.without(self._model, link))

    def in_dh(self, convention: Convention = "dh") -> Self:
        """The same robot described by Denavit–Hartenberg parameters, standard or modified ("mdh").

        A function of q of the one is that of the other; what changes are the frames of the links, in which
        bodies and motors are given, and the base frame, of whose origin `BaseMotion`
        tells. Only serial chains have such a table.
        """
        from armdyn.description.dh_table import in_dh

        word("convention", convention, ("dh", "mdh"))
        return type(self)(in_dh(self._model, convention))

    def with_posture(self, joints: Sequence[float] | np.ndarray) -> Self:
        """The robot with its loops assembled near these positions of all moving joints: another mode.

        `assembly_modes(q)` lists them. The description keeps the choice, as `guess` of its links.
        """
        if not self._model.loops:
            raise ModelError(f"{self._model.name} has no loops: there is nothing to assemble")
        return type(self)(with_posture(self._model, np.asarray(joints, float).tolist()))

    def with_gravity(self, gravity: Sequence[Number]) -> Self:
        """The robot under another acceleration of gravity, base frame [m/s²]."""
        g = three("gravity", gravity)
        return type(self)(replace(edit.declared(self._model, g), gravity=g))

    def with_parameters(self, parameters: Sequence[Number] | np.ndarray) -> Self:
        """The robot whose `parameters` are these, in the order of `parameter_names`.

        They need not be those of possible bodies. An extra parameter set to zero is gone from the new robot.
        """
        values = numbers("parameters", parameters)
        return type(self)(with_parameters(edit.declared(self._model, values), values))

    def symbolic(self, zeros: Literal["given", "free"] = "given") -> Self:
        """The same robot with every number of the description a symbol.

        Lengths of a DH table are called a2 and d3 as there, other positions px2, py2 and pz2. Zeros,
        directions and quarter turns stay as they are; with zeros="free" inertial parameters that are zero
        become symbols too.
        """
        word("zeros", zeros, ("given", "free"))
        from armdyn.description.writing.table import placement_of

        return type(self)(edit.symbolic(self._model, zeros, placement_of(self._model)))

    def opened(self) -> Self:
        """The robot without its closures: the tree, all of whose joints move by themselves (7.3.3).

        Loops are cut open and relations left out. Passive joints that these held have a torque there, like
        any other: the torques τ' of the book's tree, of which the closed chain takes Υᵀτ'.
        """
        return type(self)(edit.opened(self._model))

    # ---- computing: docs/functions.md lists these with shapes and units ----------------------------------

    def inverse_dynamics(
        self,
        q: Numbers,
        qd: Numbers,
        qdd: Numbers,
        wrench: Wrench | None = None,
        *,
        base: BaseMotion | None = None,
        parameters: Numbers | None = None,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Torques (..., n) [N m or N] for a motion (7.42), by Newton–Euler (7.107)–(7.114).

        `q`, `qd`, `qdd` (..., n) are positions [rad or m], velocities and accelerations. `robot.n` is n.

            >>> robot = Robot.load("planar")
            >>> robot.inverse_dynamics([0, 0], [0, 0], [0, 0])  # what holds the arm
            array([1030.05,  245.25])
            >>> motion = Trajectory.quintic([0, 0], [1, -0.5], duration=1.0)
            >>> robot.inverse_dynamics(motion.q, motion.qd, motion.qdd).shape
            (1001, 2)

        `wrench` (..., 6) is h_e, force and moment the tip exerts on its surroundings, world axes. A mapping
        {link: (..., 6)} says what several links exert, each at the origin of its own frame: of the tip's
        link too, without the tool. What the base exerts has no effect. `base` is how the robot's foot moves.
        docs/torques.md goes on from here; `contributions` says what the torques consist of.
        """
        if wrench is None and base is None and parameters is None and symbols is None:
            return self._kernels["inverse_dynamics"].call((q, qd, qdd), out, near)
        given: dict[str, Any] = {"wrench": wrench, "parameters": parameters, **_base_inputs(base)}
        return self._run("inverse_dynamics", (q, qd, qdd), out, symbols=symbols, near=near, **given)

    def forward_dynamics(
        self,
        q: Numbers,
        qd: Numbers,
        tau: Numbers,
        wrench: Wrench | None = None,
        *,
        base: BaseMotion | None = None,
        parameters: Numbers | None = None,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Accelerations (..., n) [rad/s² or m/s²] under torques (7.115): the inverse of `inverse_dynamics`.

        `tau` (..., n) [N m or N]; `wrench` and `base` are as there. `simulate` integrates this over time:
        docs/simulation.md.
        """
        if wrench is None and base is None and parameters is None and symbols is None:
            return self._kernels["forward_dynamics"].call((q, qd, tau), out, near)
        given: dict[str, Any] = {"wrench": wrench, "parameters": parameters, **_base_inputs(base)}
        return self._run("forward_dynamics", (q, qd, tau), out, symbols=symbols, near=near, **given)

    def inertia(
        self,
        q: Numbers,
        *,
        parameters: Numbers | None = None,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Inertia matrix B(q), (..., n, n) (7.32) [kg m², kg m, kg]: symmetric, rotors included."""
        if parameters is None and symbols is None:
            return self._kernels["inertia"].call((q,), out, near)
        return self._run("inertia", (q,), out, parameters=parameters, symbols=symbols, near=near)

    def coriolis(
        self,
        q: Numbers,
        qd: Numbers,
        *,
        parameters: Numbers | None = None,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """C(q, q̇), (..., n, n), Christoffel's choice (7.44)–(7.45): Ḃ − 2C is skew-symmetric."""
        if parameters is None and symbols is None:
            return self._kernels["coriolis"].call((q, qd), out, near)
        return self._run("coriolis", (q, qd), out, parameters=parameters, symbols=symbols, near=near)

    def gravity(
        self,
        q: Numbers,
        *,
        parameters: Numbers | None = None,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Gravity torques g(q), (..., n) (7.39) [N m or N]: what holds an arm without springs at rest."""
        if parameters is None and symbols is None:
            return self._kernels["gravity"].call((q,), out, near)
        return self._run("gravity", (q,), out, parameters=parameters, symbols=symbols, near=near)

    def springs(
        self,
        q: Numbers,
        *,
        parameters: Numbers | None = None,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Torques (..., n) [N m or N] that hold the robot against its springs, those of elastic joints too.

        They are ∂U/∂q of the springs' energy. A spring between points that meet has no direction and gives
        NaN, unless it has neither a rest length nor a force.
        """
        if parameters is None and symbols is None:
            return self._kernels["springs"].call((q,), out, near)
        return self._run("springs", (q,), out, parameters=parameters, symbols=symbols, near=near)

    def friction(
        self,
        qd: Numbers,
        *,
        q: Numbers | None = None,
        parameters: Numbers | None = None,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Friction torques (..., n) at joint velocities; sign(0) = 0.

        A robot with loops needs `q` (..., n) too: how its joints follow depends on the posture.

        Load friction Fl |τ_r| sign(q̇), which depends on the torque, is not among them: it is what
        `inverse_dynamics` has more than this and the robot without friction.
        """
        given = (qd,) if not self._model.loops else (self._posture(q), qd)
        if parameters is None and symbols is None:
            return self._kernels["friction"].call(given, out, near)
        return self._run("friction", given, out, parameters=parameters, symbols=symbols, near=near)

    def kinetic_energy(
        self,
        q: Numbers,
        qd: Numbers,
        *,
        parameters: Numbers | None = None,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Scalars:
        """Kinetic energy T, (...) (7.31) [J]."""
        if parameters is None and symbols is None:
            return self._kernels["kinetic_energy"].call((q, qd), out, near)
        return self._run("kinetic_energy", (q, qd), out, parameters=parameters, symbols=symbols, near=near)

    def potential_energy(
        self,
        q: Numbers,
        *,
        parameters: Numbers | None = None,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Scalars:
        """Potential energy U, (...) (7.36) [J], springs included.

        A mass at the base origin has none, nor has a spring at q = 0, one between points at length 0.
        """
        if parameters is None and symbols is None:
            return self._kernels["potential_energy"].call((q,), out, near)
        return self._run("potential_energy", (q,), out, parameters=parameters, symbols=symbols, near=near)

    def pose(
        self,
        q: Numbers,
        link: str | None = None,
        *,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Homogeneous transform (..., 4, 4) of the tip frame, or of a link's, in the world."""
        if link is None and symbols is None:
            return self._kernels["pose"].call((q,), out, near)
        return (self if link is None else self.with_tip(link))._run(
            "pose", (q,), out, symbols=symbols, near=near
        )

    def poses(
        self,
        q: Numbers,
        *,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Homogeneous transforms (..., bodies, 4, 4) of the frames of all moving links in the world.

        They are in the order of `robot.bodies`, that of the links: joints that follow others, by relations or
        loops, are where they have to be. The base is the last. A fixed link moves with the link that it is
        fixed to: `pose(q, link)`.
        """
        return self._run("poses", (q,), out, symbols=symbols, near=near)

    def com_position(
        self, q: Numbers, link: str, *, symbols: Symbols | None = None, near: Numbers | None = None
    ) -> Floats:
        """Centre of mass (..., 3) of a link in the world: of the link alone, without motors it carries."""
        return self._at(check_link(self._model, "link", link), "com").pose(q, symbols=symbols, near=near)[
            ..., :3, 3
        ]

    def jacobian(
        self,
        q: Numbers,
        link: str | None = None,
        at: At = "frame",
        *,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Geometric Jacobian (..., 6, n) of the tip or a point of a link: linear over angular, world axes.

        `at` is "frame", the origin of the link's frame; "com", its centre of mass (of the link alone, without
        motors that it carries), (7.16)–(7.19); or a point [x, y, z] in its frame; without a link, in that of
        the tip.
        """
        if link is None and symbols is None and at is _FRAME:  # the usual case, quicker
            return self._kernels["jacobian"].call((q,), out, near)
        return self._at(link, at)._run("jacobian", (q,), out, symbols=symbols, near=near)

    def jacobian_dot(
        self,
        q: Numbers,
        qd: Numbers,
        link: str | None = None,
        at: At = "frame",
        *,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Time derivative (..., 6, n) of the Jacobian, of the same points."""
        if link is None and symbols is None and at is _FRAME:
            return self._kernels["jacobian_dot"].call((q, qd), out, near)
        return self._at(link, at)._run("jacobian_dot", (q, qd), out, symbols=symbols, near=near)

    def rotor_jacobian(
        self,
        q: Numbers,
        motor: str,
        *,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Geometric Jacobian (..., 6, n) of the rotor of a motor, at the rotor's place (7.25)–(7.29).

        `motor` names the link or joint that it drives. The angular rows are those of the motor's carrier and
        of the rotor's own spin, k_j z_m.
        """
        link, own = motor_named(self._model, motor)
        return self._at_rotor(link, own)._run(
            ROTOR_JACOBIAN, (q,), out, link.name, symbols=symbols, near=near
        )

    def contributions(
        self,
        q: Numbers,
        qd: Numbers,
        qdd: Numbers,
        wrench: Wrench | None = None,
        *,
        parameters: Numbers | None = None,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Torques (..., 8, n) [N m or N] of a motion by cause; they add up to `inverse_dynamics`.

        The causes are inertia, centrifugal, Coriolis, gravity, springs, viscous friction (all that grows with
        speed), dry friction (Coulomb, Stribeck, load friction and offsets), wrench. What rotors do is part of
        the first three: `armdyn.contributions` tells the coupling of rotors and links apart, and joint from
        joint.
        """
        if wrench is None and parameters is None and symbols is None:
            return self._kernels["contributions"].call((q, qd, qdd), out, near)
        return self._run(
            "contributions",
            (q, qd, qdd),
            out,
            wrench=wrench,
            parameters=parameters,
            symbols=symbols,
            near=near,
        )

    def joint_wrenches(
        self,
        q: Numbers,
        qd: Numbers,
        qdd: Numbers,
        wrench: Wrench | None = None,
        *,
        parameters: Numbers | None = None,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """f_i over μ_i of (7.112)–(7.113), (..., n, 6), each in its link frame's axes.

        μ_i is about the point where joint i sits on its parent: frame i−1's origin in standard DH.
        """
        if wrench is None and parameters is None and symbols is None:
            return self._kernels["joint_wrenches"].call((q, qd, qdd), out, near)
        return self._run(
            "joint_wrenches",
            (q, qd, qdd),
            out,
            wrench=wrench,
            parameters=parameters,
            symbols=symbols,
            near=near,
        )

    def loop_wrenches(
        self,
        q: Numbers,
        qd: Numbers,
        qdd: Numbers,
        wrench: Wrench | None = None,
        *,
        parameters: Numbers | None = None,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Force [N] over moment [N m] that the first link of each loop exerts on the second, (..., loops, 6).

        In the axes of the loop's frame on the first link. Where a loop has rows that follow from others, they
        count as unloaded: rigid bodies do not tell how such forces are shared.
        """
        check_function(self._model, "loop_wrenches")
        return self._run(
            "loop_wrenches",
            (q, qd, qdd),
            out,
            wrench=wrench,
            parameters=parameters,
            symbols=symbols,
            near=near,
        )

    def actuator_torques(
        self,
        q: Numbers,
        tau: Numbers,
        *,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Torques (..., driven) [N m or N] of all driven joints of a robot with loops that amount to `tau`.

        With as many drives as coordinates these are `tau` (..., n) itself. More drives (redundant actuation)
        share it: of all torques that do the same, the ones with the least sum of squares.
        `robot.actuated` names the joints.
        """
        check_function(self._model, "actuator_torques")
        return self._run("actuator_torques", (q, tau), out, symbols=symbols, near=near)

    def regressor(
        self,
        q: Numbers,
        qd: Numbers,
        qdd: Numbers,
        *,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Y, (..., n, p) with tau = Y @ parameters (7.81).

        Load friction, which is not linear in the parameters, is excepted: its columns (Fl) are zero.
        """
        return self._run("regressor", (q, qd, qdd), out, symbols=symbols, near=near)

    def adaptive_regressor(
        self,
        q: Numbers,
        qd: Numbers,
        qd_r: Numbers,
        qdd_r: Numbers,
        *,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Y of Slotine and Li, (..., n, p): Y @ parameters = B q̈_r + C(q, q̇) q̇_r + g + friction.

        C is Christoffel's, that of `coriolis`. Friction goes by q̇, as in `regressor`: viscous, Coulomb and
        all other terms of the velocities `qd`, not of the reference. Load friction is excepted as there.
        """
        return self._run("adaptive_regressor", (q, qd, qd_r, qdd_r), out, symbols=symbols, near=near)

    def inverse_dynamics_derivatives(
        self,
        q: Numbers,
        qd: Numbers,
        qdd: Numbers,
        wrench: Wrench | None = None,
        *,
        parameters: Numbers | None = None,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: tuple[Floats | None, Floats | None, Floats | None] | None = None,
    ) -> tuple[Floats, Floats, Floats]:
        """∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈, each (..., n, n)."""
        if wrench is None and parameters is None and symbols is None:
            return self._kernels["inverse_dynamics_derivatives"].call((q, qd, qdd), out, near)
        return self._run(
            "inverse_dynamics_derivatives",
            (q, qd, qdd),
            out,
            wrench=wrench,
            parameters=parameters,
            symbols=symbols,
            near=near,
        )

    def forward_dynamics_derivatives(
        self,
        q: Numbers,
        qd: Numbers,
        tau: Numbers,
        wrench: Wrench | None = None,
        *,
        parameters: Numbers | None = None,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: tuple[Floats | None, Floats | None, Floats | None] | None = None,
    ) -> tuple[Floats, Floats, Floats]:
        """∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ, each (..., n, n)."""
        if wrench is None and parameters is None and symbols is None:
            return self._kernels["forward_dynamics_derivatives"].call((q, qd, tau), out, near)
        return self._run(
            "forward_dynamics_derivatives",
            (q, qd, tau),
            out,
            wrench=wrench,
            parameters=parameters,
            symbols=symbols,
            near=near,
        )

    def inverse_dynamics_second_derivatives(
        self,
        q: Numbers,
        qd: Numbers,
        qdd: Numbers,
        wrench: Wrench | None = None,
        *,
        parameters: Numbers | None = None,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: tuple[Floats | None, Floats | None, Floats | None, Floats | None] | None = None,
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """∂²τ/∂q∂q, ∂²τ/∂q̇∂q, ∂²τ/∂q̈∂q = ∂B/∂q, ∂²τ/∂q̇∂q̇, each (..., n, n, n).

        The first index is that of the torque; the last is that of the second differentiation: entry i, j, k
        of the second array is ∂(∂τ_i/∂q̇_j)/∂q_k. So the first three are the slopes by q of what
        `inverse_dynamics_derivatives` gives, the last is that of ∂τ/∂q̇ by q̇. All others are zero. Load
        friction with a width has more, and is refused; `inverse_dynamics_hessian_product` has it.
        """
        if wrench is None and parameters is None and symbols is None:
            return self._kernels["inverse_dynamics_second_derivatives"].call((q, qd, qdd), out, near)
        return self._run(
            "inverse_dynamics_second_derivatives",
            (q, qd, qdd),
            out,
            wrench=wrench,
            parameters=parameters,
            symbols=symbols,
            near=near,
        )

    def forward_dynamics_second_derivatives(
        self,
        q: Numbers,
        qd: Numbers,
        tau: Numbers,
        wrench: Wrench | None = None,
        *,
        parameters: Numbers | None = None,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: tuple[Floats | None, Floats | None, Floats | None, Floats | None] | None = None,
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """∂²q̈/∂q∂q, ∂²q̈/∂q̇∂q, ∂²q̈/∂τ∂q = ∂B⁻¹/∂q, ∂²q̈/∂q̇∂q̇, each (..., n, n, n).

        Indices are in the order of `inverse_dynamics_second_derivatives`: entry i, j, k of the second array
        is ∂(∂q̈_i/∂q̇_j)/∂q_k. All others are zero. The operations grow with n⁴;
        `forward_dynamics_hessian_product` takes n³.
        """
        if wrench is None and parameters is None and symbols is None:
            return self._kernels["forward_dynamics_second_derivatives"].call((q, qd, tau), out, near)
        return self._run(
            "forward_dynamics_second_derivatives",
            (q, qd, tau),
            out,
            wrench=wrench,
            parameters=parameters,
            symbols=symbols,
            near=near,
        )

    def inverse_dynamics_hessian_product(
        self,
        q: Numbers,
        qd: Numbers,
        qdd: Numbers,
        multipliers: Numbers,
        wrench: Wrench | None = None,
        *,
        parameters: Numbers | None = None,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """λᵀ ∂²τ/∂x∂x with x = (q, q̇, q̈), (..., 3n, 3n): symmetric, the Hessian of λᵀτ.

        `multipliers` (..., n) is λ. Of long chains it takes far fewer operations than all second derivatives,
        and its 9n² numbers stand for their 4n³.
        """
        if wrench is None and parameters is None and symbols is None:
            return self._kernels["inverse_dynamics_hessian_product"].call(
                (q, qd, qdd, multipliers), out, near
            )
        return self._run(
            "inverse_dynamics_hessian_product",
            (q, qd, qdd, multipliers),
            out,
            wrench=wrench,
            parameters=parameters,
            symbols=symbols,
            near=near,
        )

    def forward_dynamics_hessian_product(
        self,
        q: Numbers,
        qd: Numbers,
        tau: Numbers,
        multipliers: Numbers,
        wrench: Wrench | None = None,
        *,
        parameters: Numbers | None = None,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """λᵀ ∂²q̈/∂x∂x with x = (q, q̇, τ), (..., 3n, 3n): symmetric, the Hessian of λᵀq̈.

        `multipliers` (..., n) is λ: in differential dynamic programming the slope of the value by the
        velocities, times the time step. The state's block is [:2n, :2n], that of torques and state
        [2n:, :2n]; that of the torques is zero. docs/control.md has an example.
        """
        if wrench is None and parameters is None and symbols is None:
            return self._kernels["forward_dynamics_hessian_product"].call(
                (q, qd, tau, multipliers), out, near
            )
        return self._run(
            "forward_dynamics_hessian_product",
            (q, qd, tau, multipliers),
            out,
            wrench=wrench,
            parameters=parameters,
            symbols=symbols,
            near=near,
        )

    def joint_positions(self, q: Numbers) -> Floats:
        """Positions (..., joints) of all moving joints at q (..., n): S q + s₀ where joints are related.

        With loops, those of the assembly mode that can be reached from the robot's first posture.
        """
        if library_of([q]) is not None:
            return cast(Floats, self._kernels["joint_positions"].call((q,), None))
        return self._related.positions(self.assembly(q) if self._model.loops else q)

    def joint_velocities(self, qd: Numbers, q: Numbers | None = None) -> Floats:
        """Velocities (..., joints) of all moving joints at q̇ (..., n); with loops q (..., n) is needed."""
        given = (self._posture(q), qd) if self._model.loops else (qd,)
        if library_of(given) is not None:
            return cast(Floats, self._kernels["joint_velocities"].call(given, None))
        return self._related.velocities(self.assembly.velocities(*given) if self._model.loops else qd)

    def _posture(self, q: Numbers | None) -> Numbers:
        if q is None:
            raise ModelError("q: this robot has loops, and how its joints follow depends on q; give it")
        return q

    def assembly_modes(self, q: Numbers) -> Floats:
        """All postures found that close the loops at q (n,): positions (modes, joints) of the moving joints.

        Planar loops have few and all are found; they are sought from random postures. `with_posture` makes
        one of them the robot's own.
        """
        given = np.array(real_array("q", q, f"{self.n} numbers", ModelError), float)
        if given.shape != (self.n,):
            raise ModelError(f"q: expected ({self.n},), found {given.shape}")
        return self._related.positions(assembly_modes(self.assembly, given))

    # ---- exactly -----------------------------------------------------------------------------------------

    def equations(self, wrench: bool = False) -> Equations:
        """The exact equations of motion in closed form.

        With `wrench` they have the tip force: h_e, force and moment the tip exerts on its surroundings, as
        the symbols fx, fy, fz, mux, muy, muz; Jᵀh_e is then a part of the torques.
        """
        from armdyn.exact import Equations  # brings FLINT: only when asked for

        if not isinstance(wrench, bool):
            raise ModelError(
                f"wrench: found {shown(wrench)}; allowed: True, False; entries take its numbers, "
                "value(fx=10, …)"
            )
        return Equations.with_tip_force(self._model) if wrench else Equations(self._model)

    def base_parameters(
        self,
        zeros: Literal["free", "given"] = "free",
        friction: bool = False,
        *,
        route: Literal["exact", "numeric"] | None = None,
        tolerance: float = 1e-6,
    ) -> BaseParameters:
        """The combinations of parameters that the torques depend on, as few as there can be.

        With zeros="given", parameters that are zero in the description stay zero. `friction` counts friction
        and offsets too. By default they are found exactly, for general values of the symbols, and a warning
        says where the robot's numbers disagree; route="numeric" goes by the numbers alone, up to `tolerance`,
        and is taken by itself where springs tie points of links.
        """
        from armdyn.robot.base_parameters import base_parameters  # brings FLINT: only when asked for

        return base_parameters(self, zeros, friction, route, tolerance)

    # ---- writing and comparing ---------------------------------------------------------------------------

    def save(self, path: str | Path, **options: Any) -> Path:
        """Write a .toml, .urdf or .xml (MJCF) file; a warning names each thing that its format cannot say.

        Or an .fmu, which has the arm's motion for Simulink and other tools: options as in `export_fmu`.
        """
        if str(path).lower().endswith(".fmu"):
            return self.export_fmu(path, **options)
        if options:
            raise ModelError(f"{next(iter(options))}: only an .fmu file has options; see export_fmu")
        return save(self._model, path)

    def to_dict(self) -> dict[str, Any]:
        """The robot as a table with the keys of the robot file; `Robot.from_dict` makes an equal robot of it.

        Its numbers are integers, floats and texts, so JSON can hold it.
        """
        from armdyn.description.writing.toml import table_of  # here and below: only when asked for

        return table_of(self._model)

    def to_toml(self) -> str:
        """The robot as the text of a robot file; `Robot.from_toml` makes an equal robot of it."""
        from armdyn.description.writing.toml import toml_text

        return toml_text(self._model)

    def diff(self, other: Robot) -> Difference:
        """What differs from this robot to another, in words and numbers; falsy when the two are equal."""
        if not isinstance(other, Robot):
            raise TypeError(f"expected a Robot, found {shown(other)}")
        from armdyn.description.difference import difference

        return difference(self._model, other._model)

    # ---- as programs, for other libraries, as C ----------------------------------------------------------

    def program(self, function: str, optional: Sequence[str] = (), links: Sequence[str] = ()) -> Program:
        """The straight-line program of a function, with optional inputs.

        They are "wrench", "parameters", those of a moving base, and two more: "payload" (10) is what the tip
        carries, by mass, centre of mass and the tensor about it, as `with_payload` takes it. Names of
        `symbols` make these, free or not, the entries of one input "symbols", which comes last. With `links`
        the input "wrench" (6 k) is what these k links exert, one after the other.
        """
        return self._kernel(self._key(function, optional, links)).program

    def jax(
        self, function: str, optional: Sequence[str] = (), links: Sequence[str] = ()
    ) -> Callable[..., Any]:
        """A pure function for JAX, jitted, of the inputs of `program(function, optional, links)`.

        They are (..., size) and broadcast; outputs are (..., *shape), several in a tuple. Precision is JAX's:
        float32, unless jax_enable_x64 is set. Robots with loops are refused. See docs/other-libraries.md.
        """
        refuse_loops(self._model, "jax")
        kernel = self._kernels[self._key(function, optional, links)]
        from armdyn.kernels.jax import jax_function  # brings JAX: only when asked for

        return jax_function(kernel)

    def casadi(self, function: str, optional: Sequence[str] = (), links: Sequence[str] = ()) -> Any:
        """A `casadi.Function` in SX of the inputs of `program(function, optional, links)`.

        They are columns with the program's names (dots are underscores); outputs are matrices of their
        shapes, several one below the other. Robots with loops are refused. See docs/other-libraries.md.
        """
        refuse_loops(self._model, "casadi")
        kernel = self._kernels[self._key(function, optional, links)]
        from armdyn.kernels.casadi import casadi_function  # brings CasADi: only when asked for

        results = functions_of(self._model)[function].results
        names = [function] if len(results) == 1 else [result.meaning for result in results]
        return casadi_function(kernel, names)

    def export_c(
        self,
        functions: Sequence[str] | Literal["all"] = ("inverse_dynamics",),
        inputs: Sequence[str] = (),
        *,
        prefix: str | None = None,
        scalar: str = "double",
        libm: bool = True,
    ) -> CSource:
        """Functions as a package of C99, in "double" or "float": `.write(folder)` writes its files.

            >>> robot.export_c(["inverse_dynamics", "gravity"], ["wrench", "payload"]).write("arm_c")

        `inputs` are what the C functions take beyond the usual, as `program` does: "wrench", "payload",
        "parameters", those of a moving base, and names of `symbols`. Each function has those that it can
        have. "all" is all functions but second derivatives, which are named. The header says what every
        argument is, and how much stack a function takes at most. Names begin with `prefix`, by default the
        robot's name. Without `libm` the package has sines and roots of its own and needs no library.
        A C++17 wrapper, a test with reference vectors and a CMake file are in it, too.
        See docs/c-code.md; `armdyn export c` is the same in a terminal.
        """
        from armdyn.robot.in_languages import robot_in_c  # here: it asks robots

        return robot_in_c(self, functions, inputs, prefix, scalar, libm)

    def export_matlab(
        self,
        folder: str | Path,
        functions: Sequence[str] | Literal["all"] = "all",
        inputs: Sequence[str] = (),
        *,
        prefix: str | None = None,
        equations: bool = False,
    ) -> list[Path]:
        """Write functions for MATLAB and GNU Octave, which need no toolbox, into a folder; the files' paths.

            >>> robot.export_matlab("arm_m", ["inverse_dynamics"], ["payload"])

        `PREFIX.inverse_dynamics(q, qd, qdd)` takes columns, N states as N columns at once. `prefix` is by
        default the robot's name; `functions` and `inputs` are as in `export_c`. `test_PREFIX` compares all
        functions with values computed here. With `equations`, `PREFIX_equations.m` is a script of the exact
        equations, as `equations().matlab_source()`. See docs/matlab.md; `armdyn export matlab` is the same.
        """
        from armdyn.robot.in_languages import robot_in_matlab  # here: it asks robots

        script = self.equations().matlab_source() if equations else None
        return robot_in_matlab(self, folder, functions, inputs, prefix, script)

    def export_fmu(
        self,
        path: str | Path,
        controller: Any = None,
        *,
        version: str = "3.0",
        q0: Numbers | None = None,
        qd0: Numbers | float = 0.0,
        binary: bool | None = None,
    ) -> Path:
        """Write the arm's motion as an FMU of FMI 3.0 or 2.0: model exchange and co-simulation in one file.

            >>> robot.export_fmu("arm.fmu")  # or robot.save("arm.fmu")

        Inputs are torques or, with a `controller`, its targets; outputs are positions, velocities,
        accelerations, the tip's pose, loads of motors and energies. Payload, friction and symbols can be set
        while it runs. `q0` and `qd0` are where it starts, unless the importer says otherwise. C sources are
        inside; a library for this machine is too where there is a C compiler (`binary`: None), never (False),
        or else an error is raised (True). See docs/fmu.md; `armdyn export fmu` is the same in a terminal.
        """
        writer = import_module("armdyn.simulation.fmu")  # it simulates robots, so it comes after them
        written: Path = writer.write_fmu(
            self, path, controller, version=version, q0=q0, qd0=qd0, binary=binary
        )
        return written

    def compile(self, *functions: str | tuple[str, ...]) -> None:
        """Compile and load functions, so that the first call is as fast as the others.

        If none is named, all but second derivatives, whose code is long. A tuple names a function and
        optional inputs: `compile("gravity", ("inverse_dynamics", "wrench"))`.
        """
        known = functions_of(self._model)
        keys = [
            (x or ("",)) if isinstance(x, tuple) else (x,) for x in functions or usual_functions(self._model)
        ]
        for name, *optional in keys:
            check_function(self._model, name, optional)
        for name, *optional in keys:
            given = [key for key in known[name].optional if key in optional]  # in the order of calls
            self._kernels[(name, "", *given) if given else name].compile()

    # ---- as a value --------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self._model == other._model

    def __hash__(self) -> int:
        return hash(self._model)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._model,))

    def __repr__(self) -> str:
        kinds = "".join("R" if link.joint == "revolute" else "P" for link in self._model.moving)
        elastic = len(self._model.elastic)
        followers = len(self._model.moving) + elastic - self.n
        following = f", {followers} following others" if followers else ""
        if loops := len(self._model.loops):
            following += f", {loops} loop{'s' if loops > 1 else ''}"
        following += f", {elastic} elastic" if elastic else ""
        has_motors = any(link.motor for link in self._model.links)
        motors = f"rotors {self._model.rotors}" if has_motors else "no motors"
        return f"<Robot {quoted(self.name)} {kinds}{following}, {motors}>"

    # ---- inside ------------------------------------------------------------------------------------------

    def _run(
        self,
        name: str,
        arguments: tuple[Numbers, ...],
        out: Any,
        links: Any = "",
        *,
        symbols: Symbols | None = None,
        near: Numbers | None = None,
        **optional: Wrench | None,
    ) -> Any:
        """Call the kernel of a function with optional inputs; values of symbols are the last of them.

        With loops, their assembly begins at the postures `near`.
        """
        if symbols is None and near is None and not optional:
            return self._kernels[(name, links) if links else name].call(arguments, out, near)
        given: dict[str, Any] = {key: x for key, x in optional.items() if x is not None or key in BASE_INPUTS}
        wrench = given.get("wrench")
        if type(wrench) is not np.ndarray and isinstance(wrench, Mapping):  # an array is the usual case
            if wrenches := of_links(self._model, wrench):
                links, given["wrench"] = tuple(wrenches), side_by_side(wrenches, arguments)
            else:
                del given["wrench"]
        key, inputs = (name, links, *given), (*arguments, *given.values())
        if symbols is not None and (values := of_symbols(self._model, symbols)):
            key, inputs = (*key, *values), (*inputs, as_columns(values, arguments))
        return self._kernels[key].call(inputs, out, near)

    def _key(self, function: str, optional: Sequence[str], links: Sequence[str]) -> Key:
        check_program(self._model, function, optional)
        if isinstance(links, str):
            raise ModelError(f"links: found {shown(links)}; a list of names is expected")
        return (function, tuple(check_link(self._model, "links", link) for link in links), *optional)

    def _kernel(self, key: Key) -> Kernel:
        name, links, *optional = (key, ()) if isinstance(key, str) else key
        symbols = [x for x in optional if x not in MEANINGS]
        related = name in ("joint_positions", "joint_velocities")
        mechanism = self.mechanism if related else self._model.mechanism_in(symbols)
        if name == ROTOR_JACOBIAN:
            link = self._model.links[self._model.index[links]]
            mechanism = replace(mechanism, rotors=(rotor_alone(self._model, mechanism, link),))
        elif links:
            mechanism = replace(mechanism, places=self._model.places(links, symbols))
        if related:
            kernel = self._related.kernel(name, mechanism)
        else:
            given = [x for x in optional if x in MEANINGS]
            kernel = make_kernel(name, mechanism, self._layout, given, symbols)
        return ClosedKernel(kernel, self.assembly) if mechanism.loops else kernel


def _base_inputs(base: BaseMotion | None) -> dict[str, Any]:
    """A motion of the base as inputs of a kernel; none without one."""
    if base is None:
        return {}
    if not isinstance(base, BaseMotion):
        raise TypeError(f"base: expected a BaseMotion, found {type(base).__name__}")
    motion = (base.angular_velocity, base.angular_acceleration, base.linear_acceleration)
    return dict(zip(BASE_INPUTS, motion, strict=True))


def _method(name: str, row: Function) -> Callable[..., Any]:
    """The method of a function that is not written above: its inputs, then the optional ones by name."""
    optional = [x for x in row.optional if x not in BASE_INPUTS]
    parameters = [Parameter(x, Parameter.POSITIONAL_OR_KEYWORD) for x in ("self", *row.inputs)]
    parameters += [
        Parameter(x, Parameter.KEYWORD_ONLY, default=None) for x in (*optional, SYMBOLS, "near", "out")
    ]
    signature = Signature(parameters)

    def method(*args: Any, **named: Any) -> Any:
        given = signature.bind(*args, **named).arguments
        further = {x: given.get(x) for x in (*optional, SYMBOLS, "near")}
        return given["self"]._run(name, tuple(given[x] for x in row.inputs), given.get("out"), **further)

    meaning = "; ".join(result.meaning for result in row.results)
    shapes = ", ".join(f"({', '.join(map(str, ('...', *result.shape)))})" for result in row.results)
    method.__name__, method.__doc__ = name, f"{meaning[:1].upper()}{meaning[1:]}: {shapes}."
    method.__signature__ = signature  # type: ignore[attr-defined]
    return method


for _name, _row in FUNCTIONS.items():
    if not hasattr(Robot, _name):
        setattr(Robot, _name, _method(_name, _row))
