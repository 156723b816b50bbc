"""What makes robots of robots, writes them down and compares them: what of `Robot` needs no numbers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from armdyn.description import exporting, payload_problem, read_place
from armdyn.description.changing import with_friction, with_limits, with_motors
from armdyn.expression import shown
from armdyn.model import Inertia, ModelError, PhysicsWarning, RobotModel, edit, impossible_inertia, surgery
from armdyn.model.arguments import is_nested, numbers, three, word
from armdyn.model.inertia import Number
from armdyn.model.parameters import with_parameters
from armdyn.model.parts import RotorModel, Transform
from armdyn.robot.loops.choosing import with_choice
from armdyn.robot.loops.modes import near_positions, with_posture
from armdyn.robot.wrenches import check_link

if TYPE_CHECKING:
    from armdyn.description.comparing.difference import Difference
    from armdyn.description.conversion.dh_form import Convention

Place = Sequence[Any] | Mapping[str, Any] | np.ndarray  # [x, y, z], {xyz, rpy}, or a 4×4 matrix


class Changeable:
    """A robot as its description: to change, to write down, to compare."""

    def __init__(self, model: RobotModel) -> None:
        if not isinstance(model, RobotModel):
            raise TypeError(
                f"expected a RobotModel, found {shown(model)}; see Robot.load and Robot.from_dict"
            )
        self._model = with_choice(model)
        self._tips: dict[str, Self] = {}  # by `with_tip`: what is asked for at every state is made once

    # ---- changing --------------------------------------------------------------------------------------

    @property
    def symbols(self) -> Mapping[str, float | None]:
        """The values of the description's symbols, in its order; None for free ones. Read-only."""
        values = self._model.values
        return MappingProxyType({name: values.get(name) for name, _ in self._model.symbols})

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
        if tool is None and tip in self._tips:
            return self._tips[tip]
        frame = (
            Transform() if tool is None else read_place(tool, "with_tip", "tool", dict(self._model.symbols))
        )
        found = type(self)(replace(self._model, tip=tip, tool=frame))
        if tool is None:
            self._tips[tip] = found
        return found

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

    def with_friction(self, friction: Mapping[str, Mapping[str, Any] | None] | None) -> Self:
        """The robot with other friction of its joints: `robot.with_friction({"joint 3": {"viscous": 2.5}})`.

        By the names of joints or links, with the keys of `friction` in the robot file. What is not given
        stays, and so does friction at the shafts of motors, which `with_motors` changes. None takes away: in
        the place of a number that term, of a table all friction of the joint and its motor;
        `with_friction(None)` is the robot without any. Damping of elastic transmissions stays.
        """
        return type(self)(with_friction(self._model, friction))

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
            model = near_positions(model, surgery.lock_positions(model, positions))
        return type(self)(surgery.locked(model, positions))

    def without(self, link: str) -> Self:
        """The robot without a link and all that hangs on it: `robot.without("hand")`.

        Their motors are gone with them, wherever these sit, and closures and springs that end on them. Motors
        of other joints lose their coupling with them. If the tip was among them, it is now the frame of the
        link that they hung on. Refused where a motor of a joint that stays sits on a link that goes.
        """
        return type(self)(surgery.without(self._model, link))

    def in_dh(self, convention: Convention = "dh") -> Self:
        """The same robot described by Denavit–Hartenberg parameters, standard or modified ("mdh").

        A function of q of the one is that of the other; what changes are the frames of the links, in which
        bodies and motors are given, and the base frame, of whose origin `BaseMotion`
        tells. Only serial chains have such a table.
        """
        from armdyn.description.conversion.in_dh import in_dh

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
        from armdyn.description.exporting.table import placement_of

        return type(self)(edit.symbolic(self._model, zeros, placement_of(self._model)))

    def opened(self) -> Self:
        """The robot with its loops cut open: a tree, all of whose joints move by themselves."""
        return type(self)(replace(self._model, loops=(), choice=None))

    # ---- writing ---------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> Path:
        """Write a .toml, .urdf or .xml (MJCF) file; a warning names each thing that its format cannot say."""
        return exporting.save(self._model, path)

    def to_dict(self) -> dict[str, Any]:
        """The robot as a table with the keys of the robot file; `Robot.from_dict` makes an equal robot of it.

        Its numbers are integers, floats and texts, so JSON can hold it.
        """
        from armdyn.description.exporting.toml import table_of  # here and below: only when asked for

        return table_of(self._model)

    def to_toml(self) -> str:
        """The robot as the text of a robot file; `Robot.from_toml` makes an equal robot of it."""
        from armdyn.description.exporting.toml import toml_text

        return toml_text(self._model)

    # ---- comparing -------------------------------------------------------------------------------------

    def diff(self, other: Changeable) -> Difference:
        """What differs from this robot to another, in words and numbers; falsy when the two are equal."""
        if not isinstance(other, Changeable):
            raise TypeError(f"expected a Robot, found {shown(other)}")
        from armdyn.description.comparing.difference import difference

        return difference(self._model, other._model)
