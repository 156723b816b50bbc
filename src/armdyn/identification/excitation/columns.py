"""The columns of the base regressor, and their changes: what torques of a motion say about parameters.

Which columns are independent is asked at states within the limits: a joint with a short range, or one that
cannot move, shows less than `robot.base_parameters` has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from armdyn.expression import shown
from armdyn.identification.errors import IdentificationError
from armdyn.identification.template import Surfaces, make_template
from armdyn.model.parameters import KINDS, layout
from armdyn.robot import Robot, base_parameters
from armdyn.robot.friction import speeds_of

# ------------------------------------------------------------------------------------------------------------
# How well a motion shows the parameters, as a number to be made small, from its regressor W (rows, b).


Criterion: TypeAlias = Literal["condition", "scaled", "determinant"]
CRITERIA = get_args(Criterion)

MATTERS = 3e-3  # of the largest effect: eigenvectors with a smaller one are left out of a gradient
CLEAR = 1e-9  # of the largest eigenvalue of WᵀW: smaller ones are found from W itself


def of_regressor(criterion: Criterion, W: np.ndarray) -> float:
    """The criterion itself: log of W's condition number, or minus the mean log of its singular values."""
    if criterion == "determinant":
        return float(-0.5 * np.log(_eigenvalues(W)[0]).mean())
    found = _eigenvalues(W if criterion == "condition" else _scaled(W)[0])[0]
    return float(0.5 * np.log(found[-1] / found[0]))


def smoothed(criterion: Criterion, W: np.ndarray, power: float) -> tuple[float, np.ndarray, np.ndarray]:
    """The criterion, smooth also where eigenvalues meet, and its derivative Σ_k c_k v_k v_kᵀ by G = WᵀW.

    Returns the value, c (k,) and v (b, k). The largest eigenvalue is (Σ λ^p)^(1/p) with p = `power`, the
    smallest likewise.
    """
    if criterion == "condition":
        return _condition(W, power)
    if criterion == "determinant":
        values, v = _eigenvalues(W)
        return float(-0.5 * np.log(values).mean()), -0.5 / (len(values) * values), v
    scaled, size = _scaled(W)
    value, c, v = _condition(scaled, power)
    # d(D^-½ G D^-½) also has the change of D = diag G: a term for each column, with Σ_k c_k λ_k v_k².
    columns = -(c * (scaled @ v * (scaled @ v)).sum(0) * v**2).sum(1) / size**2
    return value, np.append(c, columns), np.column_stack([v / size[:, None], np.eye(len(size))])


def _condition(W: np.ndarray, power: float) -> tuple[float, np.ndarray, np.ndarray]:
    values, v = _eigenvalues(W)
    log = np.log(values)
    high, low = np.exp(power * (log - log[-1])), np.exp(power * (log[0] - log))
    value = 0.5 * (log[-1] - log[0] + (np.log(high.sum()) + np.log(low.sum())) / power)
    effect = 0.5 * (high / high.sum() - low / low.sum())  # by log λ
    kept = np.abs(effect) > MATTERS
    return float(value), effect[kept] / values[kept], v[:, kept]


def _eigenvalues(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of WᵀW, growing (b,), and eigenvectors (b, b)."""
    values, v = np.linalg.eigh(W.T @ W)
    if values[0] < CLEAR * values[-1]:
        _, singular, rows = np.linalg.svd(np.linalg.qr(W, mode="r"))
        values, v = singular[::-1] ** 2, rows[::-1].T
    return np.maximum(values, 1e-300), v


def _scaled(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """W with columns of unit length, and their lengths."""
    size = np.sqrt(np.maximum((W**2).sum(0), 1e-300))
    return W / size, size


# ------------------------------------------------------------------------------------------------------------
# What the torques of a motion say about parameters: the columns of the base regressor, and their changes.


DEPENDENT = 1e-8  # of a column's own length: what others do not explain of it, where it depends on them


@dataclass(frozen=True)
class Softening:
    """The sign of a speed as a smooth function: tanh(s/s₀), s₀ a small part of the speeds (n,) of joints.

    A search that follows derivatives needs it: at samples where a joint reverses the sign would jump.
    """

    speeds: np.ndarray  # (n,) [rad/s or m/s]

    def sign(self, qd: np.ndarray, surfaces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Signs of surfaces (E, n) at joint velocities (N, n), and derivatives by their speeds: (N, E) each.

        With loops the surfaces are (N, E, n).
        """
        small = np.maximum(np.abs(surfaces) @ self.speeds, 1e-300)
        found = np.tanh(speeds_of(surfaces, qd) / small)
        return found, (1 - found**2) / small

    @staticmethod
    def spread(slope: np.ndarray, surfaces: np.ndarray) -> np.ndarray:
        """Σ_e slope_e a_e a_eᵀ (..., n, n) of slopes (..., E)."""
        return np.asarray((slope[..., None, :] * np.swapaxes(surfaces, -1, -2)) @ surfaces)


@dataclass(frozen=True)
class BaseColumns:
    """b columns of a robot's regressor that do not depend on each other."""

    robot: Robot  # with the drives' terms that identification adds, where they are asked for
    kept: np.ndarray  # (b,) indices into robot.parameters

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.robot.parameter_names[k] for k in self.kept)

    def __len__(self) -> int:
        return len(self.kept)

    @cached_property
    def dry(self) -> tuple[np.ndarray, Surfaces]:
        """Which columns are Coulomb friction (E,), and the surfaces it acts on."""
        surfaces, names = Surfaces.of_robot(self.robot), layout(self.robot.model)
        found = surfaces.columns([names[i] for i in self.kept])
        dry = [(k, e) for k, e, term in found if term == "coulomb" and not surfaces.of[e].is_rounded]
        which, places = np.array(dry, int).reshape(-1, 2).T
        return which, Surfaces(self.robot, tuple(surfaces.of[e] for e in places), surfaces.rows[places])

    def matrix(
        self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, smooth: Softening | None = None
    ) -> np.ndarray:
        """The columns (N, n, b) at states (N, n); with `smooth`, dry friction without its jump at rest."""
        found = np.array(self.robot.regressor(q, qd, qdd)[..., self.kept])
        if smooth is not None:
            which, surfaces = self.dry
            rows = surfaces.at(q)
            level, _ = smooth.sign(qd, rows)
            found[..., which] = np.swapaxes(rows, -1, -2) * level[..., None, :]
        return found

    def changes(
        self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, v: np.ndarray, smooth: Softening
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """∂(Y v)/∂q, ∂q̇, ∂q̈ (k, N, n, n) at states (N, n) for k combinations v (b, k) of the columns.

        Y v are the torques of an arm with parameters v, so these are derivatives of inverse dynamics. With
        loops, what smoothing takes off the dry friction of joints that follow counts as if it did not depend
        on q: near rest only.
        """
        full = np.zeros((v.shape[1], 1, len(self.robot.parameters)))
        full[:, 0, self.kept] = v.T
        found = self.robot.inverse_dynamics_derivatives(q, qd, qdd, parameters=full)
        which, surfaces = self.dry
        rows = surfaces.at(q)
        _, slope = smooth.sign(qd, rows)
        found[1][:] += smooth.spread(slope * v[which].T[:, None], rows)
        return found


def columns_for(
    robot: Robot,
    parameters: Any,
    drives: bool,
    states: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> BaseColumns:
    """The base columns at random states (N, n) for parameters by name or link, all where None.

    `drives`: also what identification adds for the drives. Without it rotors, friction and offsets count as
    known. Neither matters where parameters are named.
    """
    if parameters is None and drives:
        robot = make_template(robot).robot
    names = layout(robot.model)
    if parameters is not None:
        wanted = _named(robot, parameters)
    else:
        wanted = [k for k, x in enumerate(names) if drives or x.kind.part == "body"]
    # A mass acts much like moments of its link: what it alone shows is little, so it comes after them.
    wanted.sort(key=lambda k: (names[k].joint, names[k].symbol == "m", k))
    every = BaseColumns(robot, np.array(wanted, int))
    found = every.kept[independent(every.matrix(*states).reshape(-1, len(every)))]
    if not len(found):
        raise IdentificationError("parameters: within the limits none of them has an effect on the torques")
    return BaseColumns(robot, np.sort(found))


def independent(W: np.ndarray) -> np.ndarray:
    """Indices of columns of W (N, p) that no earlier ones explain: a numerical base of the parameters.

    Columns are taken in their order, from the base of the arm to its tip, so that parameters that act only
    together are grouped toward the base.
    """
    scale = np.sqrt((W**2).sum(0))
    there = scale > 1e-12 * scale.max(initial=0.0)
    unit = np.where(there, W, 0.0) / np.where(there, scale, 1.0)
    return np.array(base_parameters.independent(unit, DEPENDENT), int)


def _named(robot: Robot, parameters: Any) -> list[int]:
    """Indices of parameters, from their names or those of links: a link stands for its ten numbers."""
    given = [parameters] if isinstance(parameters, str) else parameters
    if not isinstance(given, Sequence) or not len(given):
        raise IdentificationError(
            f"parameters: found {shown(parameters)}; names of parameters or links are expected"
        )
    names = {x.name: [k] for k, x in enumerate(layout(robot.model))}
    for joint, link in enumerate(robot.model.moving):
        bodies = [
            k
            for k, x in enumerate(layout(robot.model))
            if x.joint == joint and KINDS[x.symbol].part == "body"
        ]
        names.setdefault(link.name, bodies)
    for name in given:
        if not isinstance(name, str) or name not in names:
            links = ", ".join(f"'{link.name}'" for link in robot.model.moving)
            raise IdentificationError(
                f"parameters: found {shown(name)}; allowed are names such as 'm1' of robot.parameter_names "
                f"and the links {links}"
            )
    return sorted({k for name in given for k in names[name]})
