"""`Equations`: the exact equations of motion as a user meets them: to read, to prove, to hand over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

from armdyn.exact import kinematics, steps
from armdyn.exact.augmented import AugmentedLink, Energy, augmented_link, link_energy, motor_energy
from armdyn.exact.basis import WRENCH
from armdyn.exact.closed_form import ClosedForm
from armdyn.exact.coordinates import (
    InCoordinates,
    in_coordinates,
    in_motor_coordinates,
    in_terms_of,
    motor_torques,
)
from armdyn.exact.form import Array, Entry, in_page
from armdyn.exact.kinematics import AnalyticalJacobian, Jacobian, point_on
from armdyn.exact.printing import document
from armdyn.exact.printing.document import Passage
from armdyn.exact.printing.mathml import MATHML, mathml
from armdyn.exact.printing.styles import LATEX, PAGE, TEXT, Style, in_em
from armdyn.exact.proof import Proof, prove
from armdyn.exact.rotors import RotorCoupling, rotor_couplings
from armdyn.exact.written import Notation, equations_latex, equations_mathml, sections
from armdyn.expression import ArmdynError, Expression, shown
from armdyn.model import edit
from armdyn.model.edit import At
from armdyn.model.errors import number, word
from armdyn.model.inertia import Number
from armdyn.model.robot_model import RobotModel

if TYPE_CHECKING:
    from armdyn.exact.handover import SympyEquations


_ACTING = ("Fx", "Fy", "Fz", "Nx", "Ny", "Nz")  # F_ext, in the order of h_e


class Equations(ClosedForm):
    """Closed-form dynamics of a robot.

    `.B .C .g .friction .christoffel .h .N .c .Gamma .regressor .tau` are exact arrays, and so are `.pose()`,
    `.velocity()`, `.jacobian()` of links and motors; `.energy()` and `.augmented_link()` say what one link or
    rotor contributes. Arrays are indexed from 0, as in NumPy. An entry prints as the book writes it, typesets
    itself with `.latex()`, and compares with texts (`eq.B[0, 1] == "Il2 + …"`) and with SymPy expressions.
    `.substitute(…)`, `.diff("q1")` and `.value(q=…)` change it and give its number.
    """

    @classmethod
    def with_tip_force(cls, model: RobotModel) -> Self:
        """The equations with h_e as six symbols."""
        if taken := [name for name, _ in model.symbols if name in WRENCH]:
            raise ArmdynError(
                f"wrench: {', '.join(WRENCH)} are the tip force here, and the robot has a symbol "
                f"{shown(taken[0])} already; rename it"
            )
        symbols = [Expression.symbol(name) for name in WRENCH]
        return cls(
            replace(model, symbols=(*model.symbols, *((name, None) for name in WRENCH))), wrench=symbols
        )

    def latex(self, notation: Notation = "book", width: str = PAGE) -> str:
        """All terms as LaTeX, in the book's notation or with Craig's M, V, G.

        Sections with align* environments for a document with amsmath. No row is wider than `width` ("8.8cm",
        also in mm, in, pt or em) in 10 pt type: long sums are broken, also within brackets.
        """
        return document.latex(self.model.name, self._sections(LATEX, notation), width)

    def markdown(self, notation: Notation = "book", width: str = PAGE) -> str:
        """All terms as a Markdown document with formulas between $$, in rows of at most a width."""
        return document.markdown(self.model.name, self._sections(LATEX, notation), width)

    def mathml(self, notation: Notation = "book", width: str = "40em") -> str:
        """All terms as a fragment of HTML, formulas in MathML, which browsers typeset by themselves."""
        return mathml(self.model.name, self._sections(MATHML, notation), width)

    def text(self, notation: Notation = "book") -> str:
        """All terms as plain text; also `str(equations)`."""
        return document.text(self.model.name, self._sections(TEXT, notation))

    def _sections(self, style: Style, notation: Notation) -> list[Passage]:
        written = self._acted_on() if notation == "asada" and self.wrench else self
        return sections(written, style, notation)

    def _acted_on(self) -> Equations:
        """The equations in F_ext = −h_e, what the surroundings exert on the tip (Asada and Slotine, 5-33)."""
        known = dict(self.model.symbols)
        signs = {name: f"-{ours}" for name, ours in zip(WRENCH, _ACTING, strict=True) if name in known}
        if taken := [name for name in _ACTING if name in known]:
            raise ArmdynError(
                f"notation 'asada': the robot has a symbol {shown(taken[0])} already; rename it"
            )
        return self.substitute(signs)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        joints = "1 joint" if self.n == 1 else f"{self.n} joints"
        return f"<Equations of '{self.model.name}', {joints}>"

    def _repr_latex_(self) -> str | None:
        return equations_latex(self)

    def _repr_html_(self) -> str | None:
        return in_page(self._repr_latex_(), lambda: equations_mathml(self))

    # ---- kinematics --------------------------------------------------------------------------------------

    def pose(self, link: str | None = None) -> Array[Entry]:
        """The homogeneous transform, 4×4, of the tip frame or of a link's frame in the base frame."""
        return kinematics.pose(point_on(self.basis, link, "frame"))

    def rotation(self, link: str | None = None) -> Array[Entry]:
        """The rotation matrix, 3×3, of the tip frame or of a link's."""
        return kinematics.rotation(point_on(self.basis, link, "frame"))

    def position(self, link: str | None = None, at: At = "frame") -> Array[Entry]:
        """The position, 3, of the tip or of a point of a link, base frame.

        `at` is "frame", the origin of the link's frame; "com", its centre of mass (of the link alone, without
        motors that it carries); or a point [x, y, z] in the link's frame, numbers or texts.
        """
        return kinematics.position(point_on(self.basis, link, at))

    def velocity(self, link: str | None = None, at: At = "frame") -> Array[Entry]:
        """The velocity, 3, of such a point: J_P q̇ (7.14), base axes."""
        return kinematics.velocity(point_on(self.basis, link, at))

    def angular_velocity(
        self, link: str | None = None, frame: Literal["base", "link"] = "base"
    ) -> Array[Entry]:
        """The angular velocity, 3, of the tip's link or of another: J_O q̇ (7.15); or in the link's axes."""
        return kinematics.angular_velocity(point_on(self.basis, link, "frame"), frame)

    def jacobian(self, link: str | None = None, at: At = "frame", *, motor: str | None = None) -> Jacobian:
        """The geometric Jacobian, 6×n, of the tip or of a point of a link (7.16)–(7.19), base axes.

        `.position_part` is J_P, `.orientation_part` J_O. `motor` names the link or joint that a motor drives:
        the Jacobian is that of its rotor, at the rotor's place (7.25)–(7.29).
        """
        if motor is None:
            return kinematics.jacobian(point_on(self.basis, link, at))
        if link is not None or at != "frame":
            raise ArmdynError("motor: a rotor has its own place; link and at are of links")
        return kinematics.rotor_jacobian(self.basis, motor)

    def jacobian_dot(self, link: str | None = None, at: At = "frame") -> Jacobian:
        """The time derivative of the Jacobian, 6×n."""
        return kinematics.jacobian_dot(point_on(self.basis, link, at))

    def analytical_jacobian(
        self, angles: Literal["zyz", "rpy"] = "zyz", link: str | None = None, at: At = "frame"
    ) -> AnalyticalJacobian:
        """J_A = T_A⁻¹ J, 6×n, with the rates of angles in its lower rows (7.128); `.T_A` is T_A, 6×6.

        The angles are symbols: phi, theta, psi of Rz(φ)Ry(ϑ)Rz(ψ), or roll, pitch, yaw.
        """
        return kinematics.analytical_jacobian(point_on(self.basis, link, at), angles)

    # ---- links and rotors --------------------------------------------------------------------------------

    def energy(self, link: str | None = None, *, motor: str | None = None) -> Energy:
        """Kinetic and potential energy of a link by itself (7.13), or of the rotor of a motor (7.30).

        `.kinetic` is `.translation` of the centre of mass plus `.rotation` about it (König). `motor` names
        the link or joint that the motor drives. `augmented_link(link).energy` is that of (7.52).
        """
        if (link is None) == (motor is None):
            raise ArmdynError(
                f"energy: found {'neither' if link is None else 'both'}; link= or motor= says whose it is; "
                "kinetic_energy and potential_energy are those of the whole robot"
            )
        return link_energy(self, str(link)) if motor is None else motor_energy(self, motor)

    def augmented_link(self, link: str) -> AugmentedLink:
        """A link with what is fixed to it and the motors it carries, rotors locked (7.52)–(7.77).

        Its mass, moment, tensors and parameters π_i; `print` shows how Steiner's theorem puts them together.
        """
        return augmented_link(self, link)

    # ---- other forms -------------------------------------------------------------------------------------

    def steps(
        self,
        form: Literal["text", "latex", "markdown", "mathml"] = "text",
        width: str = PAGE,
        *,
        base: bool = False,
        frame: Literal["link", "base"] = "link",
        notation: Literal["book", "craig"] = "book",
        at: steps.At | None = None,
    ) -> str:
        """The Newton–Euler recursion link by link in symbols, as in 7.5.3, in rows of at most a width.

        Of equations with a tip force it ends with that: f, μ of link n+1. With `base` it starts with a moving
        base, whose ω, ω̇, p̈ are symbols (w0x … pdd0z; world axes, as `BaseMotion` has them). `frame="base"`
        has all vectors in base axes (7.93)–(7.106), with ṗ_i, and ṗ_0 where the base moves.
        `notation="craig"` is Craig's iteration, with F_i and N_i, of frames that sit at their joints.

        `at=(q, qd, qdd)` writes numbers beside the symbols; a table has values of further symbols, too, which
        the description's give way to: `at={"q": [0, "pi/2"], "qd": …, "qdd": …, "fx": 10, "m1": 2.5}`.
        """
        word("form", form, ("text", "latex", "markdown", "mathml"))
        word("frame", frame, ("link", "base"))
        word("notation", notation, ("book", "craig"))
        if not isinstance(base, bool):
            raise ArmdynError(
                f"base: found {shown(base)}; allowed: True, False; at= has the values of its motion"
            )
        if notation == "craig" and frame == "base":
            raise ArmdynError("steps: Craig's vectors are in the axes of the links, frame='link'")
        style = {"text": TEXT, "mathml": MATHML}.get(form, LATEX)
        if form != "text":
            style = replace(style, width=in_em(width))
        passages = steps.sections(self, style, base, frame, notation == "craig", at)
        title = f"{self.model.name}: Newton-Euler {'iteration' if notation == 'craig' else 'recursion'}"
        title += ", base axes" if frame == "base" else ""
        if form == "text":
            return document.text(title, passages)
        render = {"latex": document.latex, "markdown": document.markdown, "mathml": mathml}[form]
        return render(title, passages, width)

    def sympy(self, symbols: Mapping[str, Any] | Iterable[Any] = ()) -> SympyEquations:
        """The terms in SymPy: .B .C .g .friction .springs .tau .c .Gamma .N .regressor .T .U and others.

        They are in q1 …, qd1 …, qdd1 … and the symbols, all real, unless `symbols` has others for them: SymPy
        symbols, which count by their names, or a table of names and expressions (`{"q1": theta(t)}`).
        """
        from armdyn.exact.handover import SympyEquations  # SymPy takes a while to load

        return SympyEquations(self, symbols)

    def sympy_source(self) -> str:
        """A Python script that builds the same SymPy matrices."""
        from armdyn.exact.handover import sympy_source

        return sympy_source(self.model.name, self.sympy())

    def matlab_source(self) -> str:
        """A script of the same matrices for MATLAB's Symbolic Math Toolbox or Octave's package symbolic."""
        from armdyn.exact.handover import matlab_source

        return matlab_source(self.model.name, self.sympy())

    def in_coordinates(self, J: Sequence[Sequence[Any]]) -> InCoordinates:
        """The equations in generalized coordinates p with dp = J dq.

        J has numbers or texts in the symbols (constant: absolute angles, for example) or also in c1, s1, q1;
        or entries, such as rows of `jacobian()`.
        """
        return in_coordinates(self, J)

    def in_motor_coordinates(self) -> InCoordinates:
        """The equations in the motors' angles θ_m = K q, forces being the motors' torques."""
        return in_motor_coordinates(self)

    def motor_torques(self) -> Array[Entry]:
        """Torques of the motors, τ_m = K⁻ᵀ τ, as functions of q, q̇, q̈."""
        return motor_torques(self)

    def rotor_couplings(self) -> list[RotorCoupling]:
        """Motors and their carriers: z_mᵀω, and whether the reflected model is exact for each motor.

        `diagonal_is_exact` compares with `with_rotors("reflected")`; `uncoupled` is z_mᵀω = 0, the criterion
        of a diagonal model that counts the locked rotor's tensor in its carrier. Both are decided by numbers
        at random states, to rounding.
        """
        return rotor_couplings(self.basis)

    def in_terms_of(self, combinations: Mapping[str, str]) -> Equations:
        """The equations in new symbols that stand for combinations of the description's.

        `{"pi6": "m3*lc3", …}`: each combination is solved for one symbol in it, which then disappears.
        """
        return Equations(in_terms_of(self.model, combinations), wrench=self.wrench)

    def substitute(self, values: Mapping[str, Number] | None = None, /, **more: Number) -> Equations:
        """The equations with symbols replaced, exactly: `equations.substitute(a1=0.8, m2="2*m1")`.

        A number or an expression stands in the place of each symbol, all at once. Symbols in expressions may
        be new ones.
        """
        given = edit.named(values, more)
        model = edit.replaced(self.model, given)
        exact = {name: number(name, x) for name, x in given.items()}
        return Equations(model, wrench=[x.substitute(exact) for x in self.wrench])

    def prove(self) -> Proof:
        """Establish the equations by polynomial identity; raises `ProofError` if any identity fails."""
        return prove(self)
