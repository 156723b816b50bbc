"""`Equations`: the exact equations of motion as a user meets them: to read, to prove, to hand over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from armdyn.exact import steps
from armdyn.exact.closed_form import ClosedForm
from armdyn.exact.coordinates import (
    InCoordinates,
    in_coordinates,
    in_motor_coordinates,
    in_terms_of,
    motor_torques,
)
from armdyn.exact.form import Array, Entry
from armdyn.exact.printing import document
from armdyn.exact.printing.mathml import MATHML, mathml
from armdyn.exact.printing.styles import LATEX, PAGE, TEXT
from armdyn.exact.proof import Proof, prove
from armdyn.exact.ring import check_written
from armdyn.exact.rotors import RotorCoupling, rotor_couplings
from armdyn.exact.written import Notation, equations_latex, sections
from armdyn.expression import ArmdynError, shown
from armdyn.model import edit
from armdyn.model.inertia import Number

if TYPE_CHECKING:
    from armdyn.exact.handover import SympyEquations


class Equations(ClosedForm):
    """Closed-form dynamics of a robot.

    `.B .C .g .friction .christoffel .h .N .regressor .tau` are exact arrays. An entry prints as the book
    writes it, typesets itself with `.latex()`, and compares with texts (`eq.B[0, 1] == "Il2 + …"`) and with
    SymPy expressions. `.substitute(…)`, `.diff("q1")` and `.value(q=…)` change it and give its number.
    """

    def latex(self, notation: Notation = "book", width: str = PAGE) -> str:
        """All terms as LaTeX, in the book's notation or with Craig's M, V, G.

        Sections with align* environments for a document with amsmath. No row is wider than `width` ("8.8cm",
        also in mm, in, pt or em) in 10 pt type: long sums are broken, also within brackets.
        """
        return document.latex(self.model.name, sections(self, LATEX, notation), width)

    def markdown(self, notation: Notation = "book", width: str = PAGE) -> str:
        """All terms as a Markdown document with formulas between $$, in rows of at most a width."""
        return document.markdown(self.model.name, sections(self, LATEX, notation), width)

    def mathml(self, notation: Notation = "book", width: str = "40em") -> str:
        """All terms as a fragment of HTML, formulas in MathML, which browsers typeset by themselves."""
        return mathml(self.model.name, sections(self, MATHML, notation), width)

    def text(self, notation: Notation = "book") -> str:
        """All terms as plain text; also `str(equations)`."""
        return document.text(self.model.name, sections(self, TEXT, notation))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        joints = "1 joint" if self.n == 1 else f"{self.n} joints"
        return f"<Equations of '{self.model.name}', {joints}>"

    def _repr_latex_(self) -> str | None:
        return equations_latex(self)

    def steps(self, form: Literal["text", "latex", "markdown"] = "text", width: str = PAGE) -> str:
        """The Newton–Euler recursion link by link in symbols, as in 7.5.3, in rows of at most a width."""
        if form not in ("text", "latex", "markdown"):
            raise ArmdynError(f"form: found {shown(form)}; allowed: 'text', 'latex', 'markdown'")
        title = f"{self.model.name}: Newton-Euler recursion"
        if form == "text":
            return document.text(title, steps.sections(self, TEXT))
        render = document.latex if form == "latex" else document.markdown
        return render(title, steps.sections(self, LATEX), width)

    def sympy(self, symbols: Mapping[str, Any] | Iterable[Any] = ()) -> SympyEquations:
        """SymPy matrices .B .C .g .friction .springs .tau in q1 …, qd1 …, qdd1 … and the symbols.

        All are real symbols, unless `symbols` has others for them: SymPy symbols, which count by their names,
        or a table of names and expressions (`{"q1": theta(t), "m1": M}`).
        """
        from armdyn.exact.handover import to_sympy  # SymPy takes a while to load

        check_written(
            sum(x.size for x in (*(x for M in (self.B, self.C) for row in M for x in row), *self.g))
        )
        terms = {name: getattr(self, name) for name in ("B", "C", "g", "springs", "friction")}
        return to_sympy(self.basis, terms, symbols)

    def sympy_source(self) -> str:
        """A Python script that builds the same SymPy matrices."""
        from armdyn.exact.handover import sympy_source

        return sympy_source(self.model.name, self.sympy())

    def in_coordinates(self, J: Sequence[Sequence[Any]]) -> InCoordinates:
        """The equations in generalized coordinates p with dp = J dq.

        J has numbers or texts in the symbols (constant: absolute angles, for example) or also in c1, s1, q1.
        """
        return in_coordinates(self, J)

    def in_motor_coordinates(self) -> InCoordinates:
        """The equations in the motors' angles θ_m = K q, forces being the motors' torques."""
        return in_motor_coordinates(self)

    def motor_torques(self) -> Array[Entry]:
        """Torques of the motors, τ_m = K⁻ᵀ τ, as functions of q, q̇, q̈."""
        return motor_torques(self)

    def rotor_couplings(self) -> list[RotorCoupling]:
        """Couplings z_mᵀω of motors with their carriers: where zero, the diagonal rotor model is exact."""
        return rotor_couplings(self.basis)

    def in_terms_of(self, combinations: Mapping[str, str]) -> Equations:
        """The equations in new symbols that stand for combinations of the description's.

        `{"pi6": "m3*lc3", …}`: each combination is solved for one symbol in it, which then disappears.
        """
        return Equations(in_terms_of(self.model, combinations))

    def substitute(self, values: Mapping[str, Number] | None = None, /, **more: Number) -> Equations:
        """The equations with symbols replaced, exactly: `equations.substitute(a1=0.8, m2="2*m1")`.

        A number or an expression stands in the place of each symbol, all at once. Symbols in expressions may
        be new ones.
        """
        return Equations(edit.replaced(self.model, edit.named(values, more)))

    def prove(self) -> Proof:
        """Establish the equations by polynomial identity; raises `ProofError` if any identity fails."""
        return prove(self)
