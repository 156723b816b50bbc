"""The front door: `Robot`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from armdyn.dynamics import BaseMotion
from armdyn.expression import shown
from armdyn.kernels import Kernel
from armdyn.kernels.arrays import Floats, Numbers, Scalars
from armdyn.kernels.c import CSource
from armdyn.kernels.kept import Kernels, Key
from armdyn.model import ModelError, RobotModel
from armdyn.program import Program
from armdyn.robot.described import Described
from armdyn.robot.functions import (
    BASE_INPUTS,
    MEANINGS,
    check_function,
    check_program,
    functions_of,
    make_kernel,
)
from armdyn.robot.loops.kernel import ClosedKernel, refuse_loops
from armdyn.robot.wrenches import Wrench, check_link, of_links, side_by_side

if TYPE_CHECKING:
    from armdyn.robot.base_parameters import BaseParameters


class Robot(Described):
    """A manipulator and its dynamics: numbers for any number of states at once, and exact equations.

    Immutable; equal and hashable by content; picklable. Positions `q` [rad or m], velocities `qd`,
    accelerations `qdd` and torques `tau` [N m or N] are (..., n) over the n moving joints and broadcast like
    NumPy's gufuncs; `out=` takes the result. `parameters` (..., p), where taken, replaces the robot's own
    parameter vector row by row.

        >>> robot = Robot.load("puma560")
        >>> tau = robot.inverse_dynamics(q, qd, qdd)  # (..., 6) torques for a motion
        >>> qdd = robot.forward_dynamics(q, qd, tau)  # and back
        >>> B, g = robot.inertia(q), robot.gravity(q)  # the terms of τ = B q̈ + C q̇ + g + friction
        >>> heavier = robot.with_payload(2.0)  # every change is a new robot

    Make one with `load`, `from_dict` or `from_toml`; change it with the `with_…` methods; read it with
    `equations()`, `parameters`, `base_parameters()`. docs/functions.md lists every numeric function with
    shapes and units, docs/robots.md how robots are described, docs/changing.md how they are changed.
    """

    def __init__(self, model: RobotModel) -> None:
        super().__init__(model)
        self._kernels = Kernels(self._kernel)

    # ---- numbers ---------------------------------------------------------------------------------------

    def inverse_dynamics(
        self,
        q: Numbers,
        qd: Numbers,
        qdd: Numbers,
        wrench: Wrench | None = None,
        *,
        base: BaseMotion | None = None,
        parameters: Numbers | None = None,
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
        wrench: Wrench | None = None,
        *,
        parameters: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Accelerations (..., n) [rad/s² or m/s²] under torques (7.115); `wrench` as for `inverse_dynamics`.

        `tau` (..., n) [N m or N]. `simulate` integrates this over time: docs/simulation.md.
        """
        if wrench is None and parameters is None:
            return self._kernels["forward_dynamics"].call((q, qd, tau), out)
        return self._run("forward_dynamics", (q, qd, tau), out, wrench=wrench, parameters=parameters)

    def inertia(self, q: Numbers, *, parameters: Numbers | None = None, out: Floats | None = None) -> Floats:
        """Inertia matrix B(q), (..., n, n) (7.32) [kg m², kg m, kg]: symmetric, rotors included."""
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
        """Gravity torques g(q), (..., n) (7.39) [N m or N]: what holds an arm without springs at rest."""
        if parameters is None:
            return self._kernels["gravity"].call((q,), out)
        return self._run("gravity", (q,), out, parameters=parameters)

    def springs(self, q: Numbers, *, parameters: Numbers | None = None, out: Floats | None = None) -> Floats:
        """Torques (..., n) [N m or N] that hold the robot against its springs, those of elastic joints too.

        They are ∂U/∂q of the springs' energy. A spring between points that meet has no direction and gives
        NaN, unless it has neither a rest length nor a force.
        """
        if parameters is None:
            return self._kernels["springs"].call((q,), out)
        return self._run("springs", (q,), out, parameters=parameters)

    def friction(
        self,
        qd: Numbers,
        *,
        q: Numbers | None = None,
        parameters: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Friction torques (..., n) at joint velocities; sign(0) = 0.

        A robot with loops needs `q` (..., n) too: how its joints follow depends on the posture.

        Load friction Fl |τ_r| sign(q̇), which depends on the torque, is not among them: it is what
        `inverse_dynamics` has more than this and the robot without friction.
        """
        given = (qd,) if not self._model.loops else (self._posture(q), qd)
        if parameters is None:
            return self._kernels["friction"].call(given, out)
        return self._run("friction", given, out, parameters=parameters)

    def kinetic_energy(
        self, q: Numbers, qd: Numbers, *, parameters: Numbers | None = None, out: Floats | None = None
    ) -> Scalars:
        """Kinetic energy T, (...) (7.31) [J]."""
        if parameters is None:
            return self._kernels["kinetic_energy"].call((q, qd), out)
        return self._run("kinetic_energy", (q, qd), out, parameters=parameters)

    def potential_energy(
        self, q: Numbers, *, parameters: Numbers | None = None, out: Floats | None = None
    ) -> Scalars:
        """Potential energy U, (...) (7.36) [J], springs included.

        A mass at the base origin has none, nor has a spring at q = 0, one between points at length 0.
        """
        if parameters is None:
            return self._kernels["potential_energy"].call((q,), out)
        return self._run("potential_energy", (q,), out, parameters=parameters)

    def pose(self, q: Numbers, link: str | None = None, *, out: Floats | None = None) -> Floats:
        """Homogeneous transform (..., 4, 4) of the tip frame, or of a link's, in the world."""
        return (self if link is None else self.with_tip(link))._kernels["pose"].call((q,), out)

    def jacobian(self, q: Numbers, link: str | None = None, *, out: Floats | None = None) -> Floats:
        """Geometric Jacobian (..., 6, n) of the tip (or a link's origin): linear over angular, world axes."""
        return (self if link is None else self.with_tip(link))._kernels["jacobian"].call((q,), out)

    def jacobian_dot(
        self, q: Numbers, qd: Numbers, link: str | None = None, *, out: Floats | None = None
    ) -> Floats:
        """Time derivative (..., 6, n) of the Jacobian."""
        return (self if link is None else self.with_tip(link))._kernels["jacobian_dot"].call((q, qd), out)

    def joint_wrenches(
        self,
        q: Numbers,
        qd: Numbers,
        qdd: Numbers,
        wrench: Wrench | None = None,
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

    def loop_wrenches(
        self,
        q: Numbers,
        qd: Numbers,
        qdd: Numbers,
        wrench: Wrench | None = None,
        *,
        parameters: Numbers | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Force [N] over moment [N m] that the first link of each loop exerts on the second, (..., loops, 6).

        In the axes of the loop's frame on the first link. Where a loop has rows that follow from others, they
        count as unloaded: rigid bodies do not tell how such forces are shared.
        """
        check_function(self._model, "loop_wrenches")
        return self._run("loop_wrenches", (q, qd, qdd), out, wrench=wrench, parameters=parameters)

    def actuator_torques(self, q: Numbers, tau: Numbers, *, out: Floats | None = None) -> Floats:
        """Torques (..., driven) [N m or N] of all driven joints of a robot with loops that amount to `tau`.

        With as many drives as coordinates these are `tau` (..., n) itself. More drives (redundant actuation)
        share it: of all torques that do the same, the ones with the least sum of squares.
        `robot.actuated` names the joints.
        """
        check_function(self._model, "actuator_torques")
        return self._kernels["actuator_torques"].call((q, tau), out)

    def regressor(self, q: Numbers, qd: Numbers, qdd: Numbers, *, out: Floats | None = None) -> Floats:
        """Y, (..., n, p) with tau = Y @ parameters (7.81).

        Load friction, which is not linear in the parameters, is excepted: its columns (Fl) are zero.
        """
        return self._kernels["regressor"].call((q, qd, qdd), out)

    def adaptive_regressor(
        self, q: Numbers, qd: Numbers, qd_r: Numbers, qdd_r: Numbers, *, out: Floats | None = None
    ) -> Floats:
        """Y of Slotine and Li, (..., n, p): Y @ parameters = B q̈_r + C(q, q̇) q̇_r + g + friction.

        C is Christoffel's, that of `coriolis`. Friction goes by q̇, as in `regressor`: viscous, Coulomb and
        all other terms of the velocities `qd`, not of the reference. Load friction is excepted as there.
        """
        return self._kernels["adaptive_regressor"].call((q, qd, qd_r, qdd_r), out)

    def inverse_dynamics_derivatives(
        self,
        q: Numbers,
        qd: Numbers,
        qdd: Numbers,
        wrench: Wrench | None = None,
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
        wrench: Wrench | None = None,
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
        from armdyn.kernels.libraries.jax import jax_function  # brings JAX: only when asked for

        return jax_function(kernel)

    def casadi(self, function: str, optional: Sequence[str] = (), links: Sequence[str] = ()) -> Any:
        """A `casadi.Function` in SX of the inputs of `program(function, optional, links)`.

        They are columns with the program's names (dots are underscores); outputs are matrices of their
        shapes. Robots with loops are refused. See docs/other-libraries.md.
        """
        refuse_loops(self._model, "casadi")
        kernel = self._kernels[self._key(function, optional, links)]
        from armdyn.kernels.libraries.casadi import casadi_function  # brings CasADi: only when asked for

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
    ) -> CSource:
        """Functions as C99 that needs libm only, in "double" or "float": `.write(folder)` writes the files.

            >>> robot.export_c(["inverse_dynamics", "gravity"], ["wrench", "payload"]).write("arm_c")

        `inputs` are what the C functions take beyond the usual, as `program` does: "wrench", "payload",
        "parameters", those of a moving base, and names of `symbols`. Each function has those that it can
        have. The header says what every argument is. Names begin with `prefix`, by default the robot's name.
        See docs/c-code.md; `armdyn export c` is the same in a terminal.
        """
        from armdyn.robot.in_c import robot_in_c  # here: it asks robots

        return robot_in_c(self, functions, inputs, prefix, scalar)

    def compile(self, *functions: str | tuple[str, ...]) -> None:
        """Compile and load functions, all if none is named, so that the first call is as fast as the others.

        A tuple names a function and optional inputs: `compile("gravity", ("inverse_dynamics", "wrench"))`.
        """
        known = functions_of(self._model)
        keys = [(x or ("",)) if isinstance(x, tuple) else (x,) for x in functions or known]
        for name, *optional in keys:
            check_function(self._model, name, optional)
        for name, *optional in keys:
            given = [key for key in known[name].optional if key in optional]  # in the order of calls
            self._kernels[(name, "", *given) if given else name].compile()

    # ---- inside ----------------------------------------------------------------------------------------

    def _run(self, name: str, arguments: tuple[Numbers, ...], out: Any, **optional: Wrench | None) -> Any:
        """Call the kernel of a function with optional inputs."""
        given: dict[str, Any] = {key: x for key, x in optional.items() if x is not None or key in BASE_INPUTS}
        links: Any = ""
        wrench = given.get("wrench")
        if type(wrench) is not np.ndarray and isinstance(wrench, Mapping):  # an array is the usual case
            if wrenches := of_links(self._model, wrench):
                links, given["wrench"] = tuple(wrenches), side_by_side(wrenches, arguments)
            else:
                del given["wrench"]
        return self._kernels[(name, links, *given)].call((*arguments, *given.values()), out)

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
        if links:
            mechanism = replace(mechanism, places=self._model.places(links, symbols))
        if related:
            kernel = self._related.kernel(name, mechanism)
        else:
            given = [x for x in optional if x in MEANINGS]
            kernel = make_kernel(name, mechanism, self._layout, given, symbols)
        return ClosedKernel(kernel, self.assembly) if mechanism.loops else kernel
