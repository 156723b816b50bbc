"""The equations of motion in base parameters: the reduced regressor, exactly."""

from __future__ import annotations

from functools import cached_property

from armdyn.exact.base.grouping import Grouping
from armdyn.exact.base.writing import spelled
from armdyn.exact.engine.closed_form import ClosedForm, lagrange
from armdyn.exact.engine.form import Array, Entry
from armdyn.exact.engine.ring import Poly
from armdyn.exact.engine.size import check_written
from armdyn.exact.engine.springs import SpringError
from armdyn.exact.printing import document
from armdyn.exact.printing.document import Section
from armdyn.exact.printing.printer import Printer
from armdyn.exact.printing.styles import LATEX, PAGE, TEXT, Style
from armdyn.model.robot_model import RobotModel


class BaseEquations:
    """τ = Y_b π_b with Y_b (n, b): the columns of the leading parameters in the regressor (7.81)."""

    def __init__(self, model: RobotModel, grouping: Grouping) -> None:
        if model.springs:
            raise SpringError(
                "base parameters of a robot with springs between points are found in numbers: they have no "
                "exact equations; base.regressor(q, qd, qdd) has their columns"
            )
        self.model, self.grouping = model, grouping
        self._closed = ClosedForm(model)

    @cached_property
    def regressor(self) -> Array[Entry]:
        """Y_b, exact entries that print and compare as those of `Equations` do."""
        closed = self._closed
        columns = [self._column(p) for p in self.grouping.leading]
        return Array([[Entry(closed.basis, column[i]) for column in columns] for i in range(closed.n)])

    def _column(self, p: int) -> list[Poly]:
        closed, zero = self._closed, self._closed.basis.kinematic.zero
        if p in closed.beta_T or p in closed.beta_U:
            return lagrange(closed.beta_T.get(p, zero), closed.beta_U.get(p, zero), closed.n)
        return [zero + torques.get(p, 0) for torques in closed.friction_columns]

    def text(self) -> str:
        """Each row of τ = Y_b π_b, as plain text; also `str(equations)`."""
        return document.text(self._title, self._sections(TEXT))

    def latex(self, width: str = PAGE) -> str:
        """The rows as LaTeX (amsmath), in rows of at most a width."""
        return document.latex(self._title, self._sections(LATEX), width)

    def markdown(self, width: str = PAGE) -> str:
        """The rows as Markdown with formulas between $$, in rows of at most a width."""
        return document.markdown(self._title, self._sections(LATEX), width)

    def __str__(self) -> str:
        return self.text()

    @property
    def _title(self) -> str:
        return f"{self.model.name}: base parameters"

    def _sections(self, style: Style) -> list[Section]:
        check_written(sum(len(entry.poly) for row in self.regressor for entry in row))
        printer = Printer(self._closed.basis, style)
        lines = []
        for i, row in enumerate(self.regressor):
            terms = [
                printer.times(printer.poly_parts(entry.poly), spelled(style, k))
                for k, entry in enumerate(row)
                if entry.poly
            ]
            lines.append((style.entry("tau", (i + 1,)), terms or [style.zero]))
        found = [Section("Equations of motion", "", lines)]
        if printer.definitions:
            found.append(Section("Where", "", list(printer.definitions.items())))
        return found
