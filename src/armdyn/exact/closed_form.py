"""The terms of the equations of motion in closed form: B q̈ + C q̇ + friction + g + springs = τ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from math import gcd, lcm
from operator import sub
from typing import Any, Literal

from armdyn import dynamics
from armdyn.dynamics.springs import spring_energies
from armdyn.exact.basis import Basis, check_struts
from armdyn.exact.form import Array, Entry, Form, NamedArray
from armdyn.exact.ring import Poly, Ring, check_loops
from armdyn.exact.runs import picking
from armdyn.expression import ONE, Expression, shown
from armdyn.model.mechanism import Mechanism
from armdyn.model.parameters import Parameter
from armdyn.model.robot_model import RobotModel


class ClosedForm:
    """The terms of (7.42) as exact arrays, from the energies β_T, β_U of (7.76); each is made on demand."""

    def __init__(
        self, model: RobotModel, basis: Basis | None = None, wrench: Sequence[Expression] = ()
    ) -> None:
        """`wrench`: the six entries of h_e, if the tip force is part of the equations."""
        check_loops(model)
        self.model = model
        self.wrench = tuple(wrench)
        self.basis = basis or Basis(model, wrench=self.wrench)
        self.n = self.basis.n

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of the parameters π of `regressor`, `beta_T` and `beta_U`, in their order."""
        return self.basis.parameter_names

    # ---- energies --------------------------------------------------------------------------------------

    @property
    def beta_T(self) -> NamedArray[Entry]:
        """β_T (p,) with T = β_Tᵀ π (7.76), in the order of `parameter_names`: `beta_T["Izz1"]`."""
        return self._energy_row("Energy regressor beta_T", self.kinetic_columns)

    @property
    def beta_U(self) -> NamedArray[Entry]:
        """β_U (p,) with U = β_Uᵀ π (7.76), in the order of `parameter_names`."""
        return self._energy_row("Energy regressor beta_U", self.potential_columns)

    def _energy_row(self, called: str, columns: dict[int, Poly]) -> NamedArray[Entry]:
        zero = self.basis.kinematic.zero
        entries = [Entry(self.basis, columns.get(p, zero)) for p in range(len(self.parameter_names))]
        return NamedArray(entries, self.parameter_names, called, "(7.76)")

    @cached_property
    def kinetic_columns(self) -> dict[int, Poly]:
        """Coefficient of each parameter in the kinetic energy; zero ones left out."""
        q, qd, _ = self.basis.kinematic.joint_variables()
        return self._by_parameter(dynamics.kinetic_regressor(self._mechanism, q, qd))

    @cached_property
    def potential_columns(self) -> dict[int, Poly]:
        """Coefficient of each parameter in the potential energy; zero ones left out."""
        return self.gravity_columns | self._spring_columns

    @cached_property
    def gravity_columns(self) -> dict[int, Poly]:
        q, _, _ = self.basis.kinematic.joint_variables()
        heavy = replace(self._mechanism, springs=(), struts=())
        return self._by_parameter(dynamics.potential_regressor(heavy, q))

    @cached_property
    def _spring_columns(self) -> dict[int, Poly]:
        check_struts(self.model, self.basis.exact)
        mechanism = self._mechanism
        if not (mechanism.springs or mechanism.struts):
            return {}
        q, _, _ = self.basis.kinematic.joint_variables()
        return self._by_parameter(spring_energies(mechanism, q))

    @cached_property
    def _mechanism(self) -> Mechanism:
        return self.basis.mechanism()

    def _by_parameter(self, beta: dict[Parameter, Any]) -> dict[int, Poly]:
        zero = self.basis.kinematic.zero
        return {p: zero + x for p, key in enumerate(self.basis.layout) if (x := beta.get(key, 0)) != 0}

    @property
    def kinetic_energy(self) -> Form:
        """T."""
        return self._form(self.kinetic_columns)

    @property
    def potential_energy(self) -> Form:
        """U, zero at the base origin; springs included, zero at q = 0 or at length 0."""
        return self._form(self.potential_columns)

    @cached_property
    def gravity_energy(self) -> Form:
        """The part of U that is due to gravity."""
        return self._form(self.gravity_columns)

    def _form(self, coefficients: dict[int, Poly]) -> Form:
        """A form in the parameters that are not zero in the description."""
        present = {p: a for p, a in coefficients.items() if not self.basis.parameters[p].is_zero}
        return Form(self.basis, present)

    @cached_property
    def terms(self) -> int:
        """Number of terms of B, the Christoffel symbols and g: the cost of writing them."""
        forms = [self.B[i, j] for i in range(self.n) for j in range(i, self.n)]
        forms += [c for i in range(self.n) for j in range(self.n) for c in self.christoffel[i][j][j:]]
        return sum(len(a) for form in (*forms, *self.g) for a in form.coefficients.values())

    # ---- the terms of (7.42) ---------------------------------------------------------------------------

    @cached_property
    def B(self) -> Array[Form]:
        """The inertia matrix: b_ij = ∂²T/∂q̇_i∂q̇_j (7.31)."""
        momenta = [self.kinetic_energy.derivative(f"qd{i + 1}") for i in range(self.n)]
        B: list[list[Form]] = [[Form(self.basis, {})] * self.n for _ in range(self.n)]
        for i in range(self.n):
            for j in range(i, self.n):
                B[i][j] = B[j][i] = momenta[i].derivative(f"qd{j + 1}")
        return Array(B, "Inertia matrix B", "(7.32)")

    @cached_property
    def _dB(self) -> list[list[list[Form]]]:
        """∂b_ij/∂q_k, indexed [i][j][k]."""
        n = self.n
        d = {(i, j): self.B[i, j].gradient() for i in range(n) for j in range(i, n)}
        return [[d[min(i, j), max(i, j)] for j in range(n)] for i in range(n)]

    @cached_property
    def h(self) -> Array[list[Form]]:
        """h_ijk = ∂b_ij/∂q_k − ½ ∂b_jk/∂q_i (7.41)."""
        n, d = self.n, self._dB
        rows = [[[d[i][j][k] - _half(d[j][k][i]) for k in range(n)] for j in range(n)] for i in range(n)]
        return Array(rows, "h_ijk", "(7.41)")

    @cached_property
    def christoffel(self) -> Array[list[Form]]:
        """c_ijk of (7.45), symmetric in j and k; [i] is the matrix C_i(q) with c_i = q̇ᵀC_i q̇."""
        n, d = self.n, self._dB
        empty = Form(self.basis, {})
        c = [[[empty] * n for _ in range(n)] for _ in range(n)]
        for i in range(n):
            for j in range(n):
                for k in range(j, n):
                    c[i][j][k] = c[i][k][j] = _half(d[i][j][k] + d[i][k][j] - d[j][k][i])
        return Array(c, "Christoffel symbols", "(7.45)")

    @cached_property
    def C(self) -> Array[Form]:
        """The Coriolis matrix of Christoffel symbols (7.44): Ḃ − 2C is skew-symmetric."""
        return self._contract(self.christoffel, "Coriolis matrix C", "(7.44)")

    def coriolis(self, choice: Literal["christoffel", "h"] = "christoffel") -> Array[Form]:
        """C by Christoffel symbols, or c_ij = Σ_k h_ijk q̇_k, another choice that satisfies (7.43)."""
        if choice not in ("christoffel", "h"):
            raise ValueError(f"choice: found {shown(choice)}; allowed: 'christoffel', 'h'")
        return self.C if choice == "christoffel" else self._contract(self.h, "Coriolis matrix by h", "(7.43)")

    def _contract(self, symbols: Array[list[Form]], called: str, equation: str) -> Array[Form]:
        rows = [
            [
                sum((x.times_generator(f"qd{k + 1}") for k, x in enumerate(entry)), Form(self.basis, {}))
                for entry in row
            ]
            for row in symbols
        ]
        return Array(rows, called, equation)

    @cached_property
    def c(self) -> Array[Form]:
        """c(q, q̇) = C q̇: centrifugal and Coriolis torques, Craig's V(q, q̇)."""
        both = zip(self.centrifugal_torques, self.coriolis_torques, strict=True)
        return Array([a + b for a, b in both], "Centrifugal and Coriolis torques c", "(7.43)")

    @cached_property
    def centrifugal_torques(self) -> Array[Form]:
        """The part of c with squares of velocities, Σ_j c_ijj q̇_j²."""
        return self._products("Centrifugal torques", lambda j, k: j == k)

    @cached_property
    def coriolis_torques(self) -> Array[Form]:
        """The part of c with products of different velocities, Σ_{j<k} 2 c_ijk q̇_j q̇_k."""
        return self._products("Coriolis torques", lambda j, k: j < k)

    def _products(self, called: str, chosen: Callable[[int, int], bool]) -> Array[Form]:
        found = []
        for i in range(self.n):
            total = Form(self.basis, {})
            for j, k in self._pairs:
                if chosen(j, k):
                    symbol = self.Gamma[i, self._pairs.index((j, k))]
                    total = total + symbol.times_generator(f"qd{j + 1}").times_generator(f"qd{k + 1}")
            found.append(total)
        return Array(found, called, "(7.43)")

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        """The joints j ≤ k of products q̇_j q̇_k, in the order of (7.117)."""
        return [(j, k) for j in range(self.n) for k in range(j, self.n)]

    @cached_property
    def Gamma(self) -> Array[Form]:
        """Γ(q) of (7.117), n × n(n+1)/2, with c = Γ [q̇q̇]: c_ijj for squares, 2 c_ijk for products."""
        c = self.christoffel
        rows = [[c[i, j, k] if j == k else c[i, j, k] * 2 for j, k in self._pairs] for i in range(self.n)]
        return Array(rows, "Gamma", "(7.117)")

    @property
    def speed_products(self) -> Array[Entry]:
        """[q̇q̇] of (7.117): q̇_1², q̇_1q̇_2, …, q̇_1q̇_n, q̇_2², …, q̇_n²."""
        qd = [self.basis.kinematic.gen(f"qd{j + 1}") for j in range(self.n)]
        products = [Entry(self.basis, qd[j] * qd[k]) for j, k in self._pairs]
        return Array(products, "Products of velocities", "(7.117)")

    @cached_property
    def B_dot(self) -> Array[Form]:
        """Ḃ = Σ_k ∂B/∂q_k q̇_k."""
        return self._contract(Array(self._dB), "Time derivative of B", "(7.47)")

    @property
    def N(self) -> Array[Form]:
        """N = Ḃ − 2C (7.47)."""
        return self.skew(self.C)

    def skew(self, C: Array[Form]) -> Array[Form]:
        """Ḃ − 2C for any choice of C."""
        n = self.n
        return Array([[self.B_dot[i, j] - C[i, j] * 2 for j in range(n)] for i in range(n)], "N", "(7.47)")

    @cached_property
    def g(self) -> Array[Form]:
        """Gravity torques g_i = ∂U/∂q_i (7.39), U without springs."""
        return Array(self.gravity_energy.gradient(), "Gravity torques g", "(7.39)")

    @cached_property
    def springs(self) -> Array[Form]:
        """The torques that hold the robot against its springs, ∂U/∂q_i of their energy."""
        return Array(self._form(self._spring_columns).gradient(), "Torques of the springs")

    @cached_property
    def tip_torques(self) -> Array[Form]:
        """Jᵀh_e of (7.42): what the tip force asks of the joints; zeros where it is not part of this."""
        return Array([self._form(row) for row in self._tip_columns], "Torques of the tip force", "(7.42)")

    @cached_property
    def _tip_columns(self) -> list[dict[int, Poly]]:
        """Torques of a unit force or moment, row by row."""
        if not self.wrench:
            return [{} for _ in range(self.n)]
        q, _, _ = self.basis.kinematic.joint_variables()
        J, zero, first = (
            dynamics.jacobian(self._mechanism, q),
            self.basis.kinematic.zero,
            len(self.basis.layout),
        )
        return [{first + k: zero + row[i] for k, row in enumerate(J)} for i in range(self.n)]

    @cached_property
    def friction(self) -> Array[Form]:
        """F_v q̇ + F_s sgn(q̇) of (7.42) and all further terms, motor friction included.

        Signs are opaque, and so are exp(−(q̇/v)²) of Stribeck friction (bell1 …) and |τ_r| of load friction
        (absr1 …).
        """
        return Array([self._form(row) for row in self.friction_columns], "Friction torques", "(7.42)")

    @cached_property
    def regressor(self) -> Array[Entry]:
        """Y with τ = Y π (7.79)–(7.81), n×p, from the energies: every column, also of zero parameters.

        With a tip force the last six columns are Jᵀ, those of fx … muz. The columns of load friction are
        zero: |τ_r| depends on the other parameters. So are those of preloads Pp of springs between points,
        which are zero here themselves.
        """
        rows = [[Entry(self.basis, y) for y in row] for row in self.Y]
        return Array(rows, "Regressor Y", "(7.79)-(7.81)")

    @cached_property
    def Y(self) -> Array[Poly]:
        """The regressor's polynomials."""
        n, zero = self.n, self.basis.kinematic.zero
        Y = [[zero] * len(self.basis.parameters) for _ in range(n)]
        T, U = self.kinetic_columns, self.potential_columns
        for p in sorted(T.keys() | U.keys()):
            for i, y in enumerate(lagrange(T.get(p, zero), U.get(p, zero), n)):
                Y[i][p] = y
        for i, row in enumerate(self._tip_columns):
            for p, y in row.items():
                Y[i][p] = y
        for i, row in enumerate(self.friction_columns):
            for p, y in row.items():
                if self.basis.layout[p].kind.is_linear:
                    Y[i][p] = zero + y
        return Array(Y)

    @cached_property
    def friction_columns(self) -> list[dict[int, Poly]]:
        """Torques of unit friction parameters, row by row; those of load friction with |τ_r| opaque."""
        names = self.basis.with_parameter_names
        _, qd, _ = names.joint_variables()
        torques = dynamics.friction_torques(self.basis.named_mechanism(), qd, rigid=[names.one] * self.n)
        rows: list[dict[int, Poly]] = []
        for torque in torques:
            row = {}
            for p, name in enumerate(self.basis.parameter_names):
                if coefficient := (names.zero + torque).derivative(f"[{name}]"):
                    row[p] = self.basis.kinematic.include(coefficient)
            rows.append(row)
        return rows

    @cached_property
    def tau(self) -> Array[Form]:
        """The torques of (7.42): Σ b_ij q̈_j + Σ c_ijk q̇_j q̇_k + friction + g_i + springs + Jᵀh_e."""
        return Array([self._form(row) for row in self.columns], "Torques", "(7.42)")

    @cached_property
    def columns(self) -> list[dict[int, Poly]]:
        """Factors of the parameters in the torques, row by row: Y, and |τ_r| of load friction."""
        linear = [{p: y for p, y in enumerate(row) if y} for row in self.Y]
        return [row | friction for row, friction in zip(linear, self.friction_columns, strict=True)]


def _half(form: Form) -> Form:
    return form.map(lambda a: a / 2)


def lagrange(T: Poly, U: Poly, n: int) -> list[Poly]:
    """d/dt ∂L/∂q̇_i − ∂L/∂q_i (7.2) for L = T − U, row by row."""
    ring = T.ring
    rows = []
    for i, (dT, dU) in enumerate(zip(T.gradient(), U.gradient(), strict=True)):
        momentum = T.derivative(f"qd{i + 1}")
        total = dU - dT
        if momentum:
            for k, dm in enumerate(momentum.gradient()):
                total = total + momentum.derivative(f"qd{k + 1}") * ring.gen(f"qdd{k + 1}")
                total = total + dm * ring.gen(f"qd{k + 1}")
        rows.append(total)
    return rows


# ------------------------------------------------------------------------------------------------------------
# Equations of long runs of parallel axes in fewer parameters: sums that always occur together get one name.
#
# In a planar chain the cosine of q_{a+1} + … + q_b always comes with a_a (m_b ℓ_b + a_b (m_{b+1} + …)). The
# bracket is the same in every entry of B and g, so it is a parameter there; the entries of B then have as
# many terms as there are angles, and C follows from them as always.


Exponents = tuple[int, ...]
Constant = tuple[tuple[Exponents, Any], ...]  # exponents of the constants, numbers of FLINT


def grouped(equations: ClosedForm) -> ClosedForm:
    """The same B, C and g in parameters that are sums of constants; without friction and springs."""
    groups = _Groups(equations.basis)
    T, U = groups.form(equations.kinetic_energy), groups.form(equations.gravity_energy)
    found = ClosedForm(equations.model, groups.basis)
    found.__dict__.update(kinetic_columns=T.coefficients, gravity_energy=U)  # known, not to be derived
    return found


def coriolis_in_rates(equations: ClosedForm) -> list[list[Form]]:
    """C with the generator q̇_k of a joint in a long run standing for the rate of the sum of angles up to it.

    Σ_k c_ijk q̇_k with q̇_k = φ̇_k − φ̇_{k−1}: a sum of rates q̇_a + … + q̇_b has two terms.
    """
    n, summed = equations.n, equations.basis.kinematic.summed
    following = {joints[-2]: k for k, joints in enumerate(summed) if len(joints) > 1}
    rates = [f"qd{k + 1}" for k in range(n)]
    rows = []
    for i in range(n):
        symbols = equations.christoffel[i]
        row = []
        for j in range(n):
            total = Form(equations.basis, {})
            for k in range(n):
                symbol = symbols[j][k]
                if k in following:
                    symbol = symbol - symbols[j][following[k]]
                total = total + symbol.times_generator(rates[k])
            row.append(total)
        rows.append(row)
    return rows


class _Groups:
    """Sums of constants by what they are, and a basis in which they are the parameters.

    Their values are polynomials; what the basis has as expressions only says that they are not zero.
    """

    def __init__(self, basis: Basis) -> None:
        self.full, self.kinematic = basis.full, basis.kinematic
        self.basis = copy(basis)
        self.basis.decimals = basis.decimals
        self.basis.values, self.basis.value_sizes, self.basis.parameters = [], [], []
        self.basis.named_groups = True
        self._index: dict[Constant, int] = {}
        still = {str(atom) for atom in self.full.constants} | {f"1/{atom}" for atom in self.full.inverted}
        indices = range(len(self.full.names))
        self._constants = [k for k in indices if self.full.names[k] in still]
        self._moving = [k for k in indices if self.full.names[k] not in still]
        names = [self.full.names[k] for k in self._constants]
        self._lengths = [i for i, name in enumerate(names) if name in self.kinematic.index]
        self._of_lengths = picking(self._lengths)
        self._split = picking(self._moving), picking(self._constants)

    def form(self, entry: Form) -> Form:
        """An entry, collected by angles and motion; each constant without common factors."""
        moving, constants = self._split
        parts: dict[Exponents, dict[Exponents, Any]] = {}
        for monomial, c in entry.expanded.p.to_dict().items():
            parts.setdefault(moving(monomial), {})[constants(monomial)] = c
        found: dict[int, dict[Exponents, Any]] = {}
        for outer, constant in parts.items():
            content, shared, rest = self._primitive(constant)
            factor = self._monomial(self.kinematic, outer, shared)
            found.setdefault(self._parameter(rest), {})[factor] = content
        context = self.kinematic.context
        return Form(self.basis, {p: Poly(self.kinematic, context.from_dict(a)) for p, a in found.items()})

    def _primitive(self, constant: dict[Exponents, Any]) -> tuple[Any, Exponents, Constant]:
        """Number and geometry that all terms have in common, and the rest."""
        shared = [0] * len(self._constants)
        for k, column in zip(self._lengths, zip(*map(self._of_lengths, constant), strict=True), strict=True):
            shared[k] = min(column)
        first, values = next(iter(constant.values())), set(constant.values())  # few differ
        content = type(first)(gcd(*(int(c.p) for c in values)), lcm(*(int(c.q) for c in values)))
        content = -content if first < 0 else content
        divided = {c: c / content for c in values}
        rest = [(tuple(map(sub, m, shared)), divided[c]) for m, c in constant.items()]
        return content, tuple(shared), tuple(sorted(rest, reverse=True))

    def _monomial(self, ring: Ring, moving: Exponents, constants: Exponents) -> Exponents:
        found = [0] * len(ring.names)
        for indices, exponents in ((self._moving, moving), (self._constants, constants)):
            for k, e in zip(indices, exponents, strict=True):
                if e:
                    found[ring.index[self.full.names[k]]] = e
        return tuple(found)

    def _parameter(self, constant: Constant) -> int:
        known = self._index.get(constant)
        if known is None:
            known = self._index[constant] = len(self._index)
            still = (0,) * len(self._moving)
            terms = {self._monomial(self.full, still, m): c for m, c in constant}
            self.basis.values.append(Poly(self.full, self.full.context.from_dict(terms)))
            self.basis.value_sizes.append(len(constant))
            self.basis.parameters.append(ONE)
        return known
