"""Adaptive control of Slotine and Li (On the adaptive control of robot manipulators, IJRR 6(3), 1987)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from armdyn.dynamics import adaptive_regressor
from armdyn.expression import shown
from armdyn.model.mechanism import Mechanism, unchanged
from armdyn.model.parameters import Layout, layout, mechanism_with
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.robot import Robot
from armdyn.simulation.control import laws
from armdyn.simulation.control.controller import Array, Arrays, Rate, Target, gains_of, place_of
from armdyn.simulation.control.controllers import JointControl
from armdyn.simulation.control.laws import Given, Scalars, dot
from armdyn.simulation.errors import SimulationError, check

if TYPE_CHECKING:
    from armdyn.robot.base_parameters import BaseParameters

INSTANTS = 1000  # of the target, for the usual adaptation
TINY = 1e-12  # of the largest: what a motion shows of a parameter by rounding alone


@dataclass(frozen=True, eq=False)
class AdaptiveControl(JointControl):
    """Control that learns parameters while it moves: τ = Y(q, q̇, q̇_r, q̈_r) π̂ − K_D s, dπ̂/dt = −Γ Yᵀ s.

    s = q̇ − q̇_r with the reference q̇_r = q̇_d − Λ (q − q_d). `parameters` are the names of those that are
    estimated, or base parameters (`robot.base_parameters(friction=True)`); others keep the values of the
    model. `estimates` (..., m) are the values at the start, by default the model's. They are the controller's
    memory, and change at every sample by the sampling period times −Γ Yᵀ s.

    `bandwidth` Λ [1/s] and `damping` K_D [N m s/rad or N s/m] are numbers or (..., n); by default K_D is Λ
    times the mean of B's diagonal along the target. `adaptation` is the diagonal of Γ, a number or (..., m),
    in the unit of the parameter squared per joule. By default 1/Γ is the mean of Yᵀ K_D⁻¹ Y along the target:
    an estimate that alone is wrong loses its error within seconds. Where the target shows nothing of a
    parameter, its Γ is zero. Dry friction goes by the sign of the *target's* velocity. Load friction, in
    which torques are not linear, is left out.
    """

    robot: Robot
    target: Target
    parameters: Sequence[str] | BaseParameters
    adaptation: Array = None
    bandwidth: Array = 10.0
    damping: Array = None
    estimates: Array = None
    saturated: bool = False
    rate: Rate = "auto"
    followed = ("target", "target_velocity", "target_acceleration")

    def __post_init__(self) -> None:
        self._check_parameters()
        super().__post_init__()
        _ = self.memory, self.period

    def _check_parameters(self) -> None:
        check.robot(self.robot)
        if self._base is not None:
            if _geometry(self._base.robot) != _geometry(self.robot):
                raise SimulationError("parameters: these base parameters are those of another robot")
            return
        known, given = self.robot.parameter_names, self.names
        for name in given:
            if name not in known:
                raise SimulationError(f"parameters: no parameter {shown(name)}; allowed: {', '.join(known)}")
            if self._layout[known.index(name)].kind.entry == "load":
                raise SimulationError(f"parameters: torques are not linear in {name}; it cannot be estimated")
        if len(set(given)) < len(given):
            raise SimulationError(f"parameters: found {shown(list(given))}; each name once is expected")

    # ---- what is estimated -----------------------------------------------------------------------------

    @cached_property
    def _base(self) -> BaseParameters | None:
        """The base parameters; None where parameters are given by name."""
        given: Any = self.parameters
        if isinstance(given, list | tuple) and given:
            return None
        from armdyn.robot.base_parameters import BaseParameters  # brings FLINT: only when asked for

        if not isinstance(given, BaseParameters):
            raise SimulationError(
                f"parameters: found {shown(given)}; a list of names or base parameters are expected"
            )
        return given

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the estimates are called, (m): parameters, or how base parameters are written in them."""
        given: Any = self.parameters if self._base is None else self._base.combinations
        return tuple(given)

    @cached_property
    def memory(self) -> np.ndarray:
        """The estimates at the start, (..., m)."""
        if self.estimates is None:
            return np.asarray(self._matrix @ self.robot.parameters)
        return place_of("estimates", self.estimates, len(self.names))

    def by_name(self, memory: Any) -> dict[str, np.ndarray]:
        """Estimates by name, (...) each, from those side by side (..., m), as `run.memory` has them."""
        found = check.wide("memory", memory, len(self.names))
        return {name: found[..., k] for k, name in enumerate(self.names)}

    def learnt(self, memory: Any) -> Robot:
        """The robot with estimates (m,), such as `run.memory[-1]`; what is not estimated is the model's."""
        found = check.numbers("memory", memory)
        if found.shape != (len(self.names),):
            raise SimulationError(f"memory: expected ({len(self.names)},), found {found.shape}")
        known = self.robot.parameters
        return self.robot.with_parameters(known + self._spread @ (found - self._matrix @ known))

    @cached_property
    def _matrix(self) -> np.ndarray:
        """(m, p): what is estimated, from all parameters."""
        if self._base is not None:
            return self._base.matrix
        return self._spread.T

    @cached_property
    def _spread(self) -> np.ndarray:
        """(p, m): parameters that have given estimates; `_matrix` times this is the identity."""
        if self._base is not None:
            return self._base.right_inverse
        known = self.robot.parameter_names
        return np.eye(len(known))[:, [known.index(name) for name in self.names]]

    @cached_property
    def _layout(self) -> Layout:
        return layout(self.robot.model)

    @cached_property
    def _columns(self) -> Layout:
        """The parameters whose columns of the regressor the estimates have, (m)."""
        return tuple(self._layout[int(p)] for p in np.argmax(self._spread, axis=0))

    @cached_property
    def _known(self) -> Mechanism:
        """The model with zeros in the place of what is estimated."""
        estimated = np.abs(self._matrix).max(axis=0) > 0
        values = [0 if e else float(x) for e, x in zip(estimated, self.robot.parameters, strict=True)]
        return mechanism_with(self.robot.mechanism, values, self._layout)

    # ---- the law ---------------------------------------------------------------------------------------

    def constants(self) -> Arrays:
        found = self.set_point() | gains_of(self.robot.n, bandwidth=self.bandwidth, damping=self._damping)
        found |= gains_of(len(self.names), adaptation=self._adaptation)
        return found | {"period": np.array([self.period])}

    @cached_property
    def _along(self) -> tuple[np.ndarray, ...]:
        """The target and its derivatives at some instants, (N, ..., n) each."""
        if isinstance(self.target, Trajectory):
            return self.target(np.linspace(0.0, self.target.duration, INSTANTS))
        place = self.set_point()["target"][None]
        return place, 0 * place, 0 * place

    @property
    def _damping(self) -> Any:
        """K_D, by default Λ times the mean of the diagonal of B: then s fades as fast as the error."""
        if self.damping is not None:
            return self.damping
        inertias = np.diagonal(self.robot.inertia(self._along[0]), axis1=-2, axis2=-1)
        return check.floats("bandwidth", self.bandwidth) * inertias.mean(axis=0)

    @cached_property
    def _adaptation(self) -> Any:
        """Γ, by default such that with s ≈ K_D⁻¹ Y (π̂ − π) each estimate's own rate is 1/s."""
        if self.adaptation is not None:
            return self.adaptation
        damping = gains_of(self.robot.n, damping=self._damping)["damping"]
        if not (damping > 0).all():
            raise SimulationError("damping: found zeros; without adaptation= positive numbers are expected")
        q, qd, qdd = self._along
        Y = self.robot.adaptive_regressor(q, qd, qd, qdd) @ self._spread  # (N, ..., n, m)
        seen = np.einsum("...ij,...i->...j", np.mean(Y**2, axis=0), 1 / damping)
        return np.divide(1.0, seen, out=np.zeros_like(seen), where=seen > TINY * seen.max(initial=TINY))

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> tuple[Scalars, Scalars]:
        estimates, v, a = given["memory"], *laws.reference(q, qd, given)
        s = [x - r for x, r in zip(qd, v, strict=True)]
        sliding = given.get("target_velocity", [0] * len(q))
        y = laws.posture(self.robot.mechanism, q, given)
        Y = adaptive_regressor(self.robot.mechanism, y, qd, v, a, self._columns, sliding)
        tau = laws.reference_torques(self._known, y, qd, v, a, sliding)
        tau = [t + dot(row, estimates) for t, row in zip(tau, Y, strict=True)]
        tau = [t - k * x for t, k, x in zip(tau, given["damping"], s, strict=True)]
        (period,) = given["period"]
        slopes = [dot(column, s) for column in zip(*Y, strict=True)]
        rates = zip(estimates, given["adaptation"], slopes, strict=True)
        return tau, [pi - period * gamma * slope for pi, gamma, slope in rates]


def _geometry(robot: Robot) -> Mechanism:
    """What base parameters depend on: the mechanism without its parameters."""
    return replace(robot.mechanism.map(unchanged, lambda _: 0), places=())
