"""A robot's friction as arrays, by how it depends on speed, for whole motions at once.

friction(q̇) = viscous · q̇ + Σ_e a_e f_e(sign(a_e · q̇)) + Σ_k a_k c_k(a_k · q̇) + offset

Dry friction acts on surfaces e: a joint (a_e is a unit vector), or a motor whose transmission couples several
joints (a_e is its row, so that a_e · q̇ is the motor's speed). f_e are the levels at which a surface begins to
slide. The curves c_k are the other terms, such as the cubic one, and what Stribeck friction has less than at
rest once a surface slides. Load friction Fl |τ_r| sign(q̇) comes on top: τ_r are the joints' torques without
friction. Which term is what, `TERMS` says.

Of a surface with a width, whose friction does not jump, all terms that depend on the direction are curves.

In a robot with loops the surfaces of joints that follow move with the coordinates by rows that depend on the
posture: a_e(q) = (row over positions) S(q). Then rows, `viscous` and `offset` have the axes of q in front.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from armdyn.expression.functions import smooth_sign
from armdyn.model.errors import ModelError
from armdyn.model.friction import TERMS, Sliding, Surface, Term
from armdyn.program import Program, evaluate, jacobian, record
from armdyn.robot.robot import Robot


def speeds_of(rows: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """rows @ qd (..., E), for rows (E, n) or, one set for each state, (..., E, n)."""
    return np.asarray(qd @ rows.T if rows.ndim == 2 else np.einsum("...ej,...j->...e", rows, qd))


def gathered(rows: np.ndarray, torques: np.ndarray) -> np.ndarray:
    """What torques (..., E) on surfaces are at the coordinates (..., n): rowsᵀ times them."""
    return np.asarray(torques @ rows if rows.ndim == 2 else np.einsum("...ej,...e->...j", rows, torques))


@dataclass(frozen=True)
class Curves:
    """K terms of surfaces that are curved over speed, less what they are as the surface begins to slide."""

    rows: np.ndarray  # (K, n), with loops (..., K, n): speed of a surface = rows @ qd
    coefficient: np.ndarray  # (K,)
    velocity: np.ndarray  # (K,) v_s of the surfaces [rad/s or m/s]
    width: np.ndarray  # (K,) w of the surfaces [rad/s or m/s]; 0: they have the sign itself
    terms: tuple[str, ...]  # (K,)

    def only(self, kind: Callable[[Term], bool]) -> Curves:
        """Those of terms of a kind."""
        k = [k for k, name in enumerate(self.terms) if kind(TERMS[name])]
        kept = self.rows[..., k, :], self.coefficient[k], self.velocity[k], self.width[k]
        return Curves(*kept, tuple(self.terms[i] for i in k))

    def at(self, speed: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Torques (..., K) on surfaces at speeds (..., K), sliding in these directions.

        With a width they are smooth functions of the speed alone, whole ones: zero at rest.
        """
        found = np.empty(speed.shape)
        for term, k, v, s, pace, width in self._by_term(speed, direction):
            way, start = (np.where(width > 0, x, s) for x in (smooth_sign(v, width), 0.0))
            found[..., k] = term.of(Sliding(v, way, pace)) - term.of(Sliding(0, start, pace))
        return self.coefficient * found

    def slope(self, speed: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Their derivatives (..., K) by the speeds."""
        found = np.empty(speed.shape)
        for term, k, *inputs in self._by_term(speed, direction):
            columns = [x[..., None] for x in np.broadcast_arrays(*inputs)]
            slope = evaluate(_slope(term, False), *columns[:3])[0][..., 0, 0]
            if self.width[k].any():
                rounded = columns[3][..., 0] > 0
                safe = np.where(rounded[..., None], columns[3], 1.0)
                smooth = evaluate(_slope(term, True), columns[0], safe, columns[2])[0][..., 0, 0]
                slope = np.where(rounded, smooth, slope)
            found[..., k] = slope
        return self.coefficient * found

    def torque(self, qd: np.ndarray) -> np.ndarray:
        """Friction (..., n) at joint velocities (..., n)."""
        speed = speeds_of(self.rows, qd)
        return gathered(self.rows, self.at(speed, np.sign(speed)))

    def _by_term(self, speed: np.ndarray, direction: np.ndarray) -> Sequence[Any]:
        """Each term: its columns, and of these the speeds, directions, velocities and widths."""
        names = np.array(self.terms)
        columns = {name: np.flatnonzero(names == name) for name in dict.fromkeys(self.terms)}
        return [
            (TERMS[x], k, speed[..., k], direction[..., k], self.velocity[k], self.width[k])
            for x, k in columns.items()
        ]


@lru_cache
def _slope(term: Term, rounded: bool) -> Program:
    """The derivative of a term by the speed; of a rounded one the width is given instead of the direction."""

    def function(v: Any, s: Any, pace: Any) -> Any:
        return [term.of(Sliding(v[0], smooth_sign(v[0], s[0]) if rounded else s[0], pace[0]))]

    inputs = [("speed", 1), ("direction", 1), ("velocity", 1)]
    return jacobian(record(function, inputs, [("friction", (1,))]), ["speed"])


@dataclass(frozen=True)
class FrictionParts:
    """Friction as arrays, for n joints and E surfaces with dry friction."""

    viscous: np.ndarray  # (n, n), symmetric [N m s/rad]; with loops (..., n, n), and so rows and offset
    rows: np.ndarray  # (E, n): speed of a surface = rows @ qd
    forward: np.ndarray  # (E,) torque on the surface as it begins to move forward [N m]
    backward: np.ndarray  # (E,) torque as it begins to move backward, negative as a rule
    load: np.ndarray  # (E,) Fl, not zero for joints only
    width: np.ndarray  # (E,) w of the smooth sign of load friction; other dry friction here has none
    offset: np.ndarray  # (n,) torque at any speed
    curves: Curves

    def growing(self, qd: np.ndarray) -> np.ndarray:
        """Friction (..., n) that grows with speed, at joint velocities (..., n)."""
        return np.asarray(self.linear(qd) + self.curves.only(lambda term: term.grows).torque(qd))

    def linear(self, qd: np.ndarray) -> np.ndarray:
        """Viscous friction (..., n)."""
        return gathered(self.viscous, qd)  # it is symmetric

    def speed(self, qd: np.ndarray) -> np.ndarray:
        """Of the surfaces with dry friction (..., E), at joint velocities (..., n)."""
        return speeds_of(self.rows, qd)

    def fading(self, qd: np.ndarray) -> np.ndarray:
        """Stribeck friction (..., n) less that of surfaces that begin to slide in the same directions."""
        return self.curves.only(lambda term: not term.grows).torque(qd)

    def dry(self, direction: np.ndarray) -> np.ndarray:
        """Dry friction (..., n) near rest, for velocities with the signs of `direction` (..., n)."""
        return self.dry_of(self.speed(direction))

    def dry_of(self, speed: np.ndarray) -> np.ndarray:
        """Dry friction (..., n) where the surfaces begin to slide with the signs of `speed` (..., E)."""
        levels: np.ndarray = np.where(speed > 0, self.forward, np.where(speed < 0, self.backward, 0.0))
        return gathered(self.rows, levels)

    def shares(self, speed: np.ndarray) -> np.ndarray:
        """Fl s (..., n): what part of |τ_r| load friction is, for the signs s of `speed` (..., E)."""
        return gathered(self.rows, self.load * np.sign(speed))

    def shares_of(self, qd: np.ndarray) -> np.ndarray:
        """Fl s (..., n) at joint velocities (..., n), s the smooth sign where there is a width."""
        return gathered(self.rows, self.load * smooth_sign(self.speed(qd), self.width))

    def slowness(self, qd: np.ndarray) -> np.ndarray:
        """w/|v| (..., n) of joints with load friction, at joint velocities (..., n); 0 for all others."""
        small = self.width * (self.load != 0) / np.maximum(np.abs(self.speed(qd)), 1e-200)
        return gathered(np.abs(self.rows), small)

    def rigid(self, loaded: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """τ_r (..., n) of τ_r + Fl |τ_r| s: of torques less all friction but that of the load."""
        if not self.load.any():
            return loaded
        return np.asarray(loaded / (1 + self.shares_of(qd) * np.sign(loaded)))


def friction_parts(robot: Robot, q: Any = None) -> FrictionParts:
    """The friction of a robot, joints first, then motors with a coupled row; read-only.

    With loops it is that at q (..., n); of other robots q is not looked at.
    """
    if not robot.mechanism.loops:
        return _of_positions(robot)
    if q is None:
        raise ModelError("q: the friction of a robot with loops depends on its posture; give q")
    found, S = _of_positions(robot), robot.assembly.rates(q)
    return replace(
        found,
        viscous=np.swapaxes(S, -1, -2) @ found.viscous @ S,
        rows=found.rows @ S,
        offset=found.offset @ S,
        curves=replace(found.curves, rows=found.curves.rows @ S),
    )


def dry_surfaces(robot: Robot) -> int:
    """How many surfaces have dry friction."""
    return len(_of_positions(robot).rows)


def surface_speeds(robot: Robot) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """A function of q and q̇ (..., n): the speeds (..., E) of the surfaces with dry friction."""
    rows = _of_positions(robot).rows
    if not robot.mechanism.loops:
        return lambda _, qd: speeds_of(rows, qd)
    return lambda q, qd: speeds_of(rows, robot.assembly.velocities(q, qd))


@lru_cache(maxsize=64)  # numbers out of a description take a millisecond
def _of_positions(robot: Robot) -> FrictionParts:
    """The friction over positions: those of the coordinates, with loops also those that follow."""
    mechanism = robot.mechanism
    n = mechanism.positions
    viscous, offset = np.zeros((n, n)), np.zeros(n)
    dry: list[tuple[np.ndarray, Surface]] = []
    curved: list[tuple[np.ndarray, Surface, str]] = []
    for surface in mechanism.friction:
        if not surface.row:  # a joint that relations hold in its place
            continue
        row = np.zeros(n)
        row[[j for j, _ in surface.row]] = [k for _, k in surface.row]
        viscous += surface.only(lambda term: term.is_linear).torque(1, 1) * np.outer(row, row)
        offset += surface.only(lambda term: term.is_constant).torque(0, 0) * row
        if surface.is_dry or surface.has_load:
            dry.append((row, surface))
        curved += [(row, surface, x) for x, term in TERMS.items() if surface[x] and _is_curve(surface, term)]
    rows = np.array([row for row, _ in dry]).reshape(-1, n)
    numbers = [(*surface.levels, surface.share, surface.width) for _, surface in dry]
    levels = np.array(numbers, float).reshape(-1, 4)
    curves = Curves(
        np.array([row for row, *_ in curved]).reshape(-1, n),
        np.array([surface[name] for _, surface, name in curved], float),
        np.array([surface.stribeck_velocity for _, surface, _ in curved], float),
        np.array([surface.width for _, surface, _ in curved], float),
        tuple(name for *_, name in curved),
    )
    forward, backward, load, width = np.ascontiguousarray(levels.T)
    for array in (viscous, rows, forward, backward, load, width, offset):
        array.flags.writeable = False
    return FrictionParts(viscous, rows, forward, backward, load, width, offset, curves)


def _is_curve(surface: Surface, term: Term) -> bool:
    """Whether friction of a surface by this term is one of the curves."""
    return term.is_curved or (surface.is_rounded and term.turns and not term.is_loaded)
