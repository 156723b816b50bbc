"""A robot as something described: read, and looked at. What it computes is in `robot.robot`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from armdyn.description import from_table, load, physics_warnings
from armdyn.description.importing.options import Options
from armdyn.description.toml_text import parse_text
from armdyn.kernels.arrays import Floats, Numbers, real_array
from armdyn.kernels.backends import library_of
from armdyn.kernels.kept import Kernels
from armdyn.model import Mechanism, ModelError, RobotModel
from armdyn.model.arguments import word
from armdyn.model.inertia import Number
from armdyn.model.lowering import driven_positions
from armdyn.model.parameters import Layout, layout, parameter_vector
from armdyn.model.robot_model import quoted
from armdyn.output import Shown
from armdyn.robot.changes import Changeable
from armdyn.robot.functions import numeric_mechanism
from armdyn.robot.loops.assembly import Assembly
from armdyn.robot.loops.modes import assembly_modes
from armdyn.robot.motors import transmission
from armdyn.robot.related import Related

if TYPE_CHECKING:
    from armdyn.description.conversion.dh_form import Convention
    from armdyn.description.conversion.dh_table import DhTable
    from armdyn.exact import Equations


class Described(Shown, Changeable):
    """A robot by its model."""

    _kernels: Kernels

    # ---- making ----------------------------------------------------------------------------------------

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
    ) -> Self:
        """A bundled robot by name; a robot file (.toml), a URDF or an MJCF file by path; or XML as a text.

        `tip` ends the chain (joints beside it are welded at 0, their masses count), `lock` = {joint or link:
        position} locks joints, as `locked` does. For URDF and MJCF alone: `base` is the link to stand on,
        `repair` mends what is safe to mend, `snap` makes rounded angles and axes exact. `model.notes` says
        what was changed.
        """
        return cls(load(robot, Options(base, tip, lock, repair, snap)))

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Self:
        """A robot from a table with the keys of the robot file; numbers may also be expressions in text."""
        return cls(from_table(table))

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """A robot from the text of a robot file, such as `to_toml` gives."""
        return cls(from_table(parse_text(text)))

    # ---- looking ---------------------------------------------------------------------------------------

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
    def coordinates(self) -> tuple[str, ...]:
        """The names of the joints that q stands for, in its order; motors of elastic joints come last."""
        return tuple(link.joint_label for link in self._model.coordinates)

    @property
    def actuated(self) -> tuple[str, ...]:
        """The names of the coordinates and following joints that something drives."""
        positions = self._model.positions
        return tuple(positions[i].joint_label for i in driven_positions(self._model))

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
    def transmission(self) -> Floats:
        """K (m, n) of the motors: their angles are θ_m = K q, and joint torques Kᵀ τ_m (7.22), (7.23).

        A joint without a motor has a row of its own with 1: it counts as driven directly.
        """
        found, _ = transmission(self._model)
        found.flags.writeable = False
        return found

    @property
    def warnings(self) -> list[str]:
        """What in the description looks wrong."""
        return physics_warnings(self._model)

    def dh_table(self, convention: Convention = "dh") -> DhTable:
        """The Denavit–Hartenberg table of a serial chain, standard ("dh") or modified ("mdh")."""
        from armdyn.description.conversion.dh_table import dh_table

        word("convention", convention, ("dh", "mdh"))
        return dh_table(self._model, convention)

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

    def equations(self) -> Equations:
        """The exact equations of motion in closed form."""
        from armdyn.exact import Equations  # brings FLINT: only when asked for

        return Equations(self._model)

    # ---- as a value ------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Described) and self._model == other._model

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
