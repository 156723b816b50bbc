"""A robot as something described: made, changed, looked at. What it computes is in `robot.robot`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from armdyn.description import from_table, load, physics_warnings, read_tool
from armdyn.description.importing.options import Options
from armdyn.expression import shown
from armdyn.kernels.arrays import Floats, Numbers
from armdyn.model import Mechanism, ModelError, RobotModel, edit, impossible_inertia
from armdyn.model.arguments import numbers, three, word
from armdyn.model.inertia import Number
from armdyn.model.parameters import Layout, layout, parameter_vector, with_parameters
from armdyn.model.parts import RotorModel, Transform
from armdyn.robot import related
from armdyn.robot.wrenches import check_link

if TYPE_CHECKING:
    from armdyn.exact import Equations


class Described:
    """A robot by its model. Immutable: what changes it makes a new one."""

    def __init__(self, model: RobotModel) -> None:
        if not isinstance(model, RobotModel):
            raise TypeError(
                f"expected a RobotModel, found {shown(model)}; see Robot.load and Robot.from_dict"
            )
        self._model = model
        self._tips: dict[str, Self] = {}  # by `with_tip`: what is asked for at every state is made once

    def _of(self, model: RobotModel) -> Self:
        return type(self)(model)

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

        For URDF and MJCF: `base` is the link to stand on, `tip` ends the chain (joints beside it are welded
        at 0, their masses count), `lock` = {joint or link: position} welds joints, `repair` mends what is
        safe to mend, `snap` makes rounded angles and axes exact. `model.notes` says what was changed.
        """
        return cls(load(robot, Options(base, tip, lock, repair, snap)))

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Self:
        """A robot from a table with the keys of the robot file; numbers may also be expressions in text."""
        return cls(from_table(table))

    def with_payload(
        self,
        mass: Number,
        com: Sequence[Number] = (0, 0, 0),
        inertia: Mapping[str, Number] | None = None,
        link: str | None = None,
    ) -> Self:
        """The robot carrying a body fixed to its tip frame (or to the frame of `link`).

        `com` is in that frame; `inertia` has the tensor's entries xx … yz about the body's centre of mass.
        Symbols in the arguments must be the robot's own or are added as free ones.
        """
        load = edit.payload(mass, com, inertia)
        model = edit.declared(self._model, (load.mass, *load.moment, *load.tensor))
        for problem in impossible_inertia(model, load):
            raise ModelError(f"payload: {problem}")
        return self._of(edit.with_payload(model, load, link))

    def with_tip(self, link: str, tool: Mapping[str, Any] | None = None) -> Self:
        """The robot whose tip is the frame of `link`, or a `tool` on it: {xyz: …, rpy: …} as in a robot file.

        Its numeric functions share their machine code with this robot's. The base may be the tip, too.
        """
        tip = check_link(self._model, "link", link)
        if tool is None and tip in self._tips:
            return self._tips[tip]
        frame = Transform() if tool is None else read_tool(tool, self._model.symbols)
        found = self._of(replace(self._model, tip=tip, tool=frame))
        if tool is None:
            self._tips[tip] = found
        return found

    def with_rotors(self, rotors: RotorModel) -> Self:
        """The robot with rotors "exact", "reflected" (diagonal, as other tools do) or "none"."""
        word("rotors", rotors, ("exact", "reflected", "none"))
        return self._of(replace(self._model, rotors=rotors))

    def with_gravity(self, gravity: Sequence[Number]) -> Self:
        """The robot under another acceleration of gravity, base frame [m/s²]."""
        g = three("gravity", gravity)
        return self._of(replace(edit.declared(self._model, g), gravity=g))

    def with_parameters(self, parameters: Sequence[Number] | np.ndarray) -> Self:
        """The robot whose `parameters` are these, in the order of `parameter_names`.

        They need not be those of possible bodies. An extra parameter set to zero is gone from the new robot.
        """
        values = numbers("parameters", parameters)
        return self._of(with_parameters(edit.declared(self._model, values), values))

    def symbolic(self, zeros: Literal["given", "free"] = "given") -> Self:
        """The same robot with every number of the description a symbol.

        Zeros, directions and quarter turns stay as they are; with zeros="free" inertial parameters that are
        zero become symbols too.
        """
        word("zeros", zeros, ("given", "free"))
        return self._of(edit.symbolic(self._model, zeros))

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

    # ---- as a value ------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Described) and self._model == other._model

    def __hash__(self) -> int:
        return hash(self._model)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._model,))

    def __repr__(self) -> str:
        kinds = "".join("R" if link.joint == "revolute" else "P" for link in self._model.moving)
        followers = len(self._model.moving) - self.n
        following = f", {followers} following others" if followers else ""
        return f"<Robot '{self.name}' {kinds}{following}, rotors {self._model.rotors}>"
