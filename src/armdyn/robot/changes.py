"""What makes robots of robots, writes them down and compares them: what of `Robot` needs no numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from armdyn.expression import shown
from armdyn.model import Inertia, ModelError, RobotModel, edit, impossible_inertia
from armdyn.model.inertia import Number

if TYPE_CHECKING:
    from armdyn.description.difference import Difference

Numbers3 = Sequence[Number] | np.ndarray


class Changeable:
    """A robot as its description: to change, to write down, to compare."""

    def __init__(self, model: RobotModel) -> None:
        self._model = model

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
        com: Numbers3 = (0, 0, 0),
        inertia: Mapping[str, Number] | Sequence[Any] | np.ndarray | None = None,
        link: str | None = None,
    ) -> Self:
        """The robot carrying a body fixed to its tip frame (or to the frame of `link`).

        `com` is in that frame [m]; `inertia` is the tensor about the body's centre of mass [kg m²]: entries
        by name (xx … yz), a 3×3 matrix, or six numbers xx xy xz yy yz zz. `mass` [kg] may be a whole
        `Inertia`, such as `box(…)`, whose centre `com` then places. Symbols in the arguments must be the
        robot's own or are added as free ones. The robot's name says what it carries.
        """
        load = edit.payload(mass, com, inertia)
        model = edit.declared(self._model, (load.mass, *load.moment, *load.tensor))
        for problem in impossible_inertia(model, load):
            raise ModelError(f"payload: {problem}")
        return type(self)(edit.with_payload(model, load, link))

    # ---- writing ---------------------------------------------------------------------------------------

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
        from armdyn.description.difference import difference

        return difference(self._model, other._model)
