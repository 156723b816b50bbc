"""How the parameters of a robot group into base parameters, whichever way that was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from armdyn.exact.base.dependence import Dependence, dependence
from armdyn.exact.base.rows import energies, rows
from armdyn.exact.printing.names import in_decimals
from armdyn.expression import ONE, ZERO, Expression
from armdyn.model.friction import TERMS
from armdyn.model.lowering import lower
from armdyn.model.mechanism import Body
from armdyn.model.parameters import SPRINGS, Layout, Parameter, layout, parameter_vector
from armdyn.model.robot_model import RobotModel
from armdyn.model.vector import apply_transposed

Zeros: TypeAlias = Literal["free", "given"]
_TENSOR_FIRST = ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz", "mx", "my", "mz", "m")
_OFFSET_FIRST = ("offset", "asymmetry")  # of two that differ at rest alone, the one that does not jump
_COUNTED = ("body", "rotor", *SPRINGS, "idler")  # always
_PARTS = {part: k for k, part in enumerate((*_COUNTED, "joint", "motor", "damper"))}


@dataclass(frozen=True)
class Grouping:
    """Base parameters π_b = Σ c_p π_p: for each, its leading parameter, with coefficient 1, and the others.

    A column of the regressor that depends on others is a combination of leading columns; its parameter
    therefore adds to those. The leading ones are as near to the base as possible.
    """

    layout: Layout
    considered: tuple[int, ...]  # parameters that could matter, in the order in which they may lead
    rows: tuple[dict[int, Expression], ...]  # for each base parameter, the leading parameter first
    absent: tuple[int, ...]  # parameters that never appear

    @staticmethod
    def of(layout: Layout, considered: Sequence[int], absent: set[int], dependent: Dependence) -> Grouping:
        """From the columns that depend on others."""
        found = {p: {p: ONE} for p in considered if p not in absent and p not in dependent}
        for j in considered:
            for p, x in dependent.get(j, {}).items():
                found[p][j] = x
        gone = tuple(p for p in range(len(layout)) if p in absent)
        return Grouping(layout, tuple(considered), tuple(found.values()), gone)

    @cached_property
    def leading(self) -> tuple[int, ...]:
        """The parameter that each base parameter is named after in the regressor: its column is kept."""
        return tuple(next(iter(row)) for row in self.rows)

    @cached_property
    def decimals(self) -> bool:
        """Whether numbers are written as decimals, as in equations."""
        return in_decimals(c for row in self.rows for x in row.values() for _, c in x.terms)

    @property
    def alone(self) -> tuple[int, ...]:
        """Parameters that are base parameters by themselves."""
        return tuple(sorted(p for row in self.rows if len(row) == 1 for p in row))

    @property
    def combined(self) -> tuple[int, ...]:
        """Parameters that appear in combinations alone."""
        return tuple(sorted({p for row in self.rows if len(row) > 1 for p in row}))

    @property
    def left_out(self) -> tuple[int, ...]:
        """Parameters not asked about: friction, those that the description sets to zero, load friction."""
        return tuple(p for p in range(len(self.layout)) if p not in set(self.considered))


def considered(model: RobotModel, zeros: Zeros, friction: bool) -> tuple[int, ...]:
    """The parameters to group, in the order in which they may lead.

    Coefficients of load friction are never among them: the torque is not linear in them.
    Links come before rotors, rotors before springs, springs before friction, each from the base to the tip.
    Of a link, tensors come before first moments and these before the mass: so what a joint does not tell
    apart goes to the link before, as in the literature (M. Gautier, W. Khalil, "Direct calculation of minimum
    set of inertial parameters of serial robots", IEEE Trans. Robotics and Automation 6 (1990) 368–373).
    """
    wanted = layout(model)
    exact = lower(model, lambda x: x)
    values = parameter_vector(exact, wanted)
    last = [_last_of_tensor(body) for body in exact.bodies]
    kept = [
        p
        for p, parameter in enumerate(wanted)
        if (_is_counted(parameter) or (friction and parameter.kind.entry != "load"))
        and (zeros == "free" or not Expression.of(values[p]).is_zero)
    ]
    return tuple(sorted(kept, key=lambda p: (*_place(wanted[p], last), p)))


def _is_counted(parameter: Parameter) -> bool:
    return parameter.kind.part in _COUNTED and parameter.kind.entry not in TERMS


def _place(parameter: Parameter, last: Sequence[str]) -> tuple[int, int, float]:
    """Where a parameter stands; `last` has the entry that is the last of each link's tensor."""
    kind, within = parameter.kind, 0.0
    if kind.part == "body":
        within = _TENSOR_FIRST.index(parameter.symbol)
        if kind.entry == last[parameter.joint]:
            within = _TENSOR_FIRST.index("mx") - 0.5
    elif kind.entry in _OFFSET_FIRST:
        within = 1 + _OFFSET_FIRST.index(kind.entry)
    return _PARTS[kind.part], parameter.joint, within


def _last_of_tensor(body: Body) -> str:
    """The entry that a joint's axis u makes superfluous: a tensor 1 − u uᵀ moves as one of the link before.

    About an axis across u it has the coefficient 1, so that nothing has to be divided.
    """
    u = apply_transposed(body.R_after, body.axis)
    across = [axis for axis, x in zip("xyz", u, strict=True) if Expression.of(x).is_zero]
    return f"I{across[-1]}{across[-1]}" if across else "Izz"


def exact_grouping(model: RobotModel, zeros: Zeros, friction: bool) -> Grouping:
    """By linear algebra over the energies, exactly, for any value of the geometry's symbols."""
    columns = considered(model, zeros, friction)
    closed = energies(model)
    matrix = rows(closed, columns)
    present = {p for row in matrix for p, x in row.items() if not x.is_zero()}
    moved = [p for p in columns if p in present]
    dependent = dependence(closed.basis.kinematic, matrix, moved)
    return Grouping.of(closed.basis.layout, columns, set(columns) - present, dependent)


def written_values(grouping: Grouping, parameters: Sequence[Expression]) -> list[Expression]:
    """The base parameters in the symbols of the description."""
    found = []
    for row in grouping.rows:
        total = ZERO
        for p, x in row.items():
            total = total + x * parameters[p]
        found.append(total)
    return found
