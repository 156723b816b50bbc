"""The front door: `Robot`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from armdyn.description import exporting, from_table, load, physics_warnings
from armdyn.description.importing.options import Options
from armdyn.dynamics import BaseMotion
from armdyn.expression import shown
from armdyn.kernels import Kernel
from armdyn.kernels.arrays import Floats, Numbers, Scalars
from armdyn.model import Mechanism, ModelError, RobotModel, edit, impossible_inertia
from armdyn.model.arguments import numbers, three, word
from armdyn.model.inertia import Number
from armdyn.model.parameters import Layout, layout, parameter_vector, with_parameters
from armdyn.model.parts import RotorModel
from armdyn.program import Program
from armdyn.robot import related
from armdyn.robot.functions import BASE_INPUTS, FUNCTIONS, Kernels, check_function, make_kernel

if TYPE_CHECKING:
    from armdyn.exact import Equations


class Robot:
    """A manipulator and its dynamics: numbers for any number of states at once, and exact equations.

    Immutable; equal and hashable by content; picklable. Positions `q`, velocities `qd`, accelerations
    `qdd` and torques `tau` are (..., n) over the n moving joints, SI units and radians, and broadcast like
    NumPy's gufuncs; `out=` takes the result.
    """

    def __init__(self, model: RobotModel) -> None:
        if not isinstance(model, RobotModel):
            raise TypeError(
                f"expected a RobotModel, found {shown(model)}; see Robot.load and Robot.from_dict"
            )
        self._model = model
        self._kernels = Kernels(self._kernel)

    # ---- making ----------------------------------------------------------------------------------------

    @classmethod
    def load(
        cls, robot: str | Path, *, base: str | None = None, tip: str | None = None,
        lock: Mapping[str, Number] | None = None, repair: bool = False, snap: bool = False,
    ) -> Robot:  # fmt: skip
        """A bundled robot by name; a robot file (.toml), a URDF or an MJCF file by path; or XML as a text.

        For URDF and MJCF: `base` is the link to stand on, `tip` ends the chain (joints beside it are welded
        at 0, their masses count), `lock` = {joint or link: position} welds joints, `repair` mends what is
        safe to mend, `snap` makes rounded angles and axes exact. `model.notes` says what was changed.
        """
        return cls(load(robot, Options(base, tip, lock, repair, snap)))

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Robot:
        """A robot from a table with the keys of the robot file; numbers may also be expressions in text."""
        return cls(from_table(table))

    def save(self, path: str | Path) -> Path:
        """Write a .toml, .urdf or .xml (MJCF) file; a warning names each thing that its format cannot say."""
        return exporting.save(self._model, path)

    def with_payload(
        self,
        mass: Number,
        com: Sequence[Number] = (0, 0, 0),
        inertia: Mapping[str, Number] | None = None,
        link: str | None = None,
    ) -> Robot:
        """The robot carrying a body fixed to its tip frame (or to the frame of `link`).

        `com` is in that frame; `inertia` has the tensor's entries xx … yz about the body's centre of mass.
        Symbols in the arguments must be the robot's own or are added as free ones.
        """
        load = edit.payload(mass, com, inertia)
        model = edit.declared(self._model, (load.mass, *load.moment, *load.tensor))
        for problem in impossible_inertia(model, load):
            raise ModelError(f"payload: {problem}")
        return Robot(edit.with_payload(model, load, link))

    def with_rotors(self, rotors: RotorModel) -> Robot:
        """The robot with rotors "exact", "reflected" (diagonal, as other tools do) or "none"."""
        word("rotors", rotors, ("exact", "reflected", "none"))
        return Robot(replace(self._model, rotors=rotors))

    def with_gravity(self, gravity: Sequence[Number]) -> Robot:
        """The robot under another acceleration of gravity, base frame [m/s²]."""
        g = three("gravity", gravity)
        return Robot(replace(edit.declared(self._model, g), gravity=g))

    def with_parameters(self, parameters: Sequence[Number] | np.ndarray) -> Robot:
        """The robot whose `parameters` are these, in the order of `parameter_names`.

        They need not be those of possible bodies. An extra parameter set to zero is gone from the new robot.
        """
        values = numbers("parameters", parameters)
        return Robot(with_parameters(edit.declared(self._model, values), values))

    def symbolic(self, zeros: Literal["given", "free"] = "given") -> Robot:
        """The same robot with every number of the description a symbol.

        Zeros, directions and quarter turns stay as they are; with zeros="free" inertial parameters that are
        zero become symbols too.
        """
        word("zeros", zeros, ("given", "free"))
        return Robot(edit.symbolic(self._model, zeros))

    # ---- looking ---------------------------------------------------------------------------------------

    @property
    def model(self) -> RobotModel:
        """The description as data."""
        return self._model

    @property
    def mechanism(self) -> Mechanism:
        """What the algorithms work on, in floats: bodies, rotors, gravity. Free symbols are refused."""
        return self._model.mechanism

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def n(self) -> int:
        """The number of independent joints: of all moving joints, unless some follow others."""
        return self._model.n

    @property
    def joints(self) -> tuple[str, ...]:
        """The names of all moving joints, those that follow others included."""
        return tuple(link.joint_label for link in self._model.moving)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The names of the joints that q stands for, in its order."""
        return tuple(link.joint_label for link in self._model.coordinates)

    def joint_positions(self, q: Numbers) -> Floats:
        """Positions (..., joints) of all moving joints at q (..., n): S q + s₀ where joints are related."""
        return related.joint_positions(self._model, q)

    def joint_velocities(self, qd: Numbers) -> Floats:
        """Velocities (..., joints) of all moving joints at q̇ (..., n)."""
        return related.joint_velocities(self._model, qd)

    @property
    def warnings(self) -> list[str]:
        """What in the description looks wrong."""
        return physics_warnings(self._model)

    @cached_property
    def _layout(self) -> Layout:
        return layout(self._model)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self._layout)

    @cached_property
    def parameters(self) -> np.ndarray:
        """The parameter vector (p,): per joint m, m·x, m·y, m·z, Ixx … Izz, Im, Fv, Fs; then extras."""
        values = np.array([float(x) for x in parameter_vector(self.mechanism, self._layout)])
        values.flags.writeable = False
        return values

    def equations(self) -> Equations:
        """The exact equations of motion in closed form."""
        from armdyn.exact import Equations  # brings FLINT: only when asked for

        return Equations(self._model)

    # ---- numbers ---------------------------------------------------------------------------------------
    #
    # `parameters` (..., p), where taken, replaces the robot's own parameter vector row by row.

    def inverse_dynamics(
        self,
        q: Numbers,
        qd: Numbers,
        qdd: Numbers,
        wrench: Numbers | None = None,
        *,
        base: BaseMotion | None = None,
        parameters: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Torques (..., n) for a motion (7.42), by Newton–Euler (7.107)–(7.114).

        `wrench` (..., 6) is h_e, force and moment the tip exerts on its surroundings, base axes.
        """
        if wrench is None and base is None and parameters is None:
            return self._kernels["inverse_dynamics"].call((q, qd, qdd), out)
        if base is not None and not isinstance(base, BaseMotion):
            raise TypeError(f"base: expected a BaseMotion, found {type(base).__name__}")
        motion = (
            ()
            if base is None
            else (base.angular_velocity, base.angular_acceleration, base.linear_acceleration)
        )
        further: dict[str, Any] = dict(zip(BASE_INPUTS, motion, strict=False))
        return self._run(
            "inverse_dynamics", (q, qd, qdd), out, wrench=wrench, parameters=parameters, **further
        )

    def forward_dynamics(
        self,
        q: Numbers,
        qd: Numbers,
        tau: Numbers,
        wrench: Numbers | None = None,
        *,
        parameters: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Accelerations (..., n) under torques (7.115)."""
        if wrench is None and parameters is None:
            return self._kernels["forward_dynamics"].call((q, qd, tau), out)
        return self._run("forward_dynamics", (q, qd, tau), out, wrench=wrench, parameters=parameters)

    def inertia(self, q: Numbers, *, parameters: Numbers | None = None, out: Floats | None = None) -> Floats:
        """B(q), (..., n, n) (7.32)."""
        if parameters is None:
            return self._kernels["inertia"].call((q,), out)
        return self._run("inertia", (q,), out, parameters=parameters)

    def coriolis(
        self, q: Numbers, qd: Numbers, *, parameters: Numbers | None = None, out: Floats | None = None
    ) -> Floats:
        """C(q, q̇), (..., n, n), Christoffel's choice (7.44)–(7.45): Ḃ − 2C is skew-symmetric."""
        if parameters is None:
            return self._kernels["coriolis"].call((q, qd), out)
        return self._run("coriolis", (q, qd), out, parameters=parameters)

    def gravity(self, q: Numbers, *, parameters: Numbers | None = None, out: Floats | None = None) -> Floats:
        """g(q), (..., n) (7.39)."""
        if parameters is None:
            return self._kernels["gravity"].call((q,), out)
        return self._run("gravity", (q,), out, parameters=parameters)

    def friction(
        self, qd: Numbers, *, parameters: Numbers | None = None, out: Floats | None = None
    ) -> Floats:
        """Friction torques (..., n) at joint velocities; sign(0) = 0."""
        if parameters is None:
            return self._kernels["friction"].call((qd,), out)
        return self._run("friction", (qd,), out, parameters=parameters)

    def kinetic_energy(
        self, q: Numbers, qd: Numbers, *, parameters: Numbers | None = None, out: Floats | None = None
    ) -> Scalars:
        """T, (...) (7.31)."""
        if parameters is None:
            return self._kernels["kinetic_energy"].call((q, qd), out)
        return self._run("kinetic_energy", (q, qd), out, parameters=parameters)

    def potential_energy(
        self, q: Numbers, *, parameters: Numbers | None = None, out: Floats | None = None
    ) -> Scalars:
        """U, (...) (7.36); a mass at the base origin has none."""
        if parameters is None:
            return self._kernels["potential_energy"].call((q,), out)
        return self._run("potential_energy", (q,), out, parameters=parameters)

    def pose(self, q: Numbers, link: str | None = None, *, out: Floats | None = None) -> Floats:
        """Homogeneous transform (..., 4, 4) of the tip frame, or of a link's, in the base frame."""
        if link is None:
            return self._kernels["pose"].call((q,), out)
        return self._run("pose", (q,), out, link)

    def jacobian(self, q: Numbers, link: str | None = None, *, out: Floats | None = None) -> Floats:
        """Geometric Jacobian (..., 6, n) of the tip (or a link's origin): linear over angular, base axes."""
        if link is None:
            return self._kernels["jacobian"].call((q,), out)
        return self._run("jacobian", (q,), out, link)

    def jacobian_dot(
        self, q: Numbers, qd: Numbers, link: str | None = None, *, out: Floats | None = None
    ) -> Floats:
        """Time derivative (..., 6, n) of the Jacobian."""
        if link is None:
            return self._kernels["jacobian_dot"].call((q, qd), out)
        return self._run("jacobian_dot", (q, qd), out, link)

    def joint_wrenches(
        self,
        q: Numbers,
        qd: Numbers,
        qdd: Numbers,
        wrench: Numbers | None = None,
        *,
        parameters: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """f_i over μ_i of (7.112)–(7.113), (..., n, 6), each in its link frame's axes.

        μ_i is about the point where joint i sits on its parent: frame i−1's origin in standard DH.
        """
        if wrench is None and parameters is None:
            return self._kernels["joint_wrenches"].call((q, qd, qdd), out)
        return self._run("joint_wrenches", (q, qd, qdd), out, wrench=wrench, parameters=parameters)

    def regressor(self, q: Numbers, qd: Numbers, qdd: Numbers, *, out: Floats | None = None) -> Floats:
        """Y, (..., n, p) with tau = Y @ parameters (7.81)."""
        return self._kernels["regressor"].call((q, qd, qdd), out)

    def inverse_dynamics_derivatives(
        self,
        q: Numbers,
        qd: Numbers,
        qdd: Numbers,
        wrench: Numbers | None = None,
        *,
        parameters: Numbers | None = None,
        out: tuple[Floats | None, Floats | None, Floats | None] | None = None,
    ) -> tuple[Floats, Floats, Floats]:
        """∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈, each (..., n, n)."""
        if wrench is None and parameters is None:
            return self._kernels["inverse_dynamics_derivatives"].call((q, qd, qdd), out)
        return self._run(
            "inverse_dynamics_derivatives", (q, qd, qdd), out, wrench=wrench, parameters=parameters
        )

    def forward_dynamics_derivatives(
        self,
        q: Numbers,
        qd: Numbers,
        tau: Numbers,
        wrench: Numbers | None = None,
        *,
        parameters: Numbers | None = None,
        out: tuple[Floats | None, Floats | None, Floats | None] | None = None,
    ) -> tuple[Floats, Floats, Floats]:
        """∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ, each (..., n, n)."""
        if wrench is None and parameters is None:
            return self._kernels["forward_dynamics_derivatives"].call((q, qd, tau), out)
        return self._run(
            "forward_dynamics_derivatives", (q, qd, tau), out, wrench=wrench, parameters=parameters
        )

    def program(self, function: str, optional: Sequence[str] = ()) -> Program:
        """The straight-line program of a function, with optional inputs such as "wrench"."""
        check_function(function, optional)
        return self._kernel((function, "", *optional)).program

    def compile(self, *functions: str | tuple[str, ...]) -> None:
        """Compile and load functions, all if none is named, so that the first call is as fast as the others.

        A tuple names a function and optional inputs: `compile("gravity", ("inverse_dynamics", "wrench"))`.
        """
        keys = [(x or ("",)) if isinstance(x, tuple) else (x,) for x in functions or FUNCTIONS]
        for name, *optional in keys:
            check_function(name, optional)
        for name, *optional in keys:
            given = [key for key in FUNCTIONS[name].optional if key in optional]  # in the order of calls
            self._kernels[(name, "", *given) if given else name].on("compiled")

    # ---- inside ----------------------------------------------------------------------------------------

    def _run(
        self,
        name: str,
        arguments: tuple[Numbers, ...],
        out: Any,
        link: str | None = None,
        **optional: Numbers | None,
    ) -> Any:
        """Call the kernel of a function for a link or with optional inputs."""
        if link is not None and link not in list(self._model.index):
            raise ModelError(f"link: found {shown(link)}; links: {', '.join(self._model.index)}")
        given = {key: x for key, x in optional.items() if x is not None or key in BASE_INPUTS}
        return self._kernels[(name, link or "", *given)].call((*arguments, *given.values()), out)

    def _kernel(self, key: str | tuple[str, ...]) -> Kernel:
        name, link, *optional = (key, "") if isinstance(key, str) else key
        mechanism = self._model.mechanism_to(link) if link else self.mechanism
        return make_kernel(name, mechanism, self._layout, optional)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self._model == other._model

    def __hash__(self) -> int:
        return hash(self._model)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Robot, (self._model,))

    def __repr__(self) -> str:
        kinds = "".join("R" if link.joint == "revolute" else "P" for link in self._model.moving)
        followers = len(self._model.moving) - self.n
        following = f", {followers} following others" if followers else ""
        return f"<Robot '{self.name}' {kinds}{following}, rotors {self._model.rotors}>"
