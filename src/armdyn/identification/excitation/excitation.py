"""`Excitation`: the motion found, how well it shows the parameters and how much of the limits it uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from armdyn.identification.checks import check
from armdyn.identification.excitation.basis import Basis
from armdyn.motion.trajectories.motion import STEP
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.output import one_line
from armdyn.robot import Robot
from armdyn.robot.joints import JointLimits, joint_name

SOUGHT = {
    "condition": "the least condition number",
    "scaled": "the least condition number with scaled columns",
    "determinant": "the largest determinant (D-optimality)",
}


@dataclass(frozen=True)
class Quality:
    """What is known of an excitation besides its motion."""

    criterion: str
    condition: float  # of the base regressor W along the motion
    scaled_condition: float  # the same with W's columns divided by their lengths
    singular_values: np.ndarray  # (b,) of W/√N, falling
    weakest: np.ndarray  # (b,) what is seen least: the combination of parameters of the last singular value
    parameters: tuple[str, ...]  # (b,) names of the base columns
    usage: Mapping[str, np.ndarray]  # by kind of limit, the largest part (n,) used; 0 without one
    starts: tuple[tuple[float, float], ...]  # of each: the criterion of its first motion and of its best
    checked: float  # s between the instants at which limits were checked


class Excitation(Trajectory):
    """A `Trajectory` for identification, from rest back to the same posture at rest, within all limits.

    `quality` says what it is worth; its entries are attributes here, too. `coefficients` (d, n) are those of
    the functions `basis`.
    """

    def __init__(
        self,
        robot: Robot,
        limits: JointLimits,
        basis: Basis,
        coefficients: np.ndarray,
        quality: Quality,
        step: float = STEP,
    ) -> None:
        super().__init__(basis.motion(coefficients), step)
        self.robot, self.limits, self.basis = robot, limits, basis
        self.coefficients, self.quality = coefficients, quality

    def __reduce__(self) -> tuple[Any, ...]:
        return Excitation, (
            self.robot,
            self.limits,
            self.basis,
            self.coefficients,
            self.quality,
            self.step,
        )

    # ---- what it is worth ------------------------------------------------------------------------------

    @property
    def criterion(self) -> str:
        """What was sought: "condition", "scaled" or "determinant"."""
        return self.quality.criterion

    @property
    def condition(self) -> float:
        """The condition number of the base regressor, all samples of all joints one below the other."""
        return self.quality.condition

    @property
    def scaled_condition(self) -> float:
        """The same with columns of unit length: it does not depend on units of the parameters."""
        return self.quality.scaled_condition

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the base columns."""
        return self.quality.parameters

    @property
    def usage(self) -> Mapping[str, np.ndarray]:
        """By kind of limit, the largest part (n,) of each joint's limit used; 0 where there is none."""
        return self.quality.usage

    # ---- handing it on ---------------------------------------------------------------------------------

    def repeated(self, periods: int) -> Trajectory:
        """The motion several times without a pause: averages over periods have less noise."""
        times = check.whole_number("periods", periods, 1)
        return Trajectory(self.basis.motion(self.coefficients, times), self.step)

    def save(self, path: str | Path, step: float | None = None) -> None:
        """Write t, q, qd, qdd as a CSV file, as `to_csv` does."""
        self.to_csv(path, step)

    def report(self) -> str:
        """A few lines of plain text: what was found, and a table of the limits used."""
        found, robot = self.quality, self.robot
        kinds = [kind for kind in found.usage if kind != "workspace"]
        names = [one_line(joint_name(robot, i)) for i in range(robot.n)]
        wide = max(len(name) for name in names)
        heading = f"limits used at most, in percent, looked at every {1e3 * found.checked:.3g} ms:"
        lines = [one_line(robot.name), *self.summary(), heading, "  ".join([" " * wide, *kinds])]
        for i, name in enumerate(names):
            cells = [f"{100 * u[i]:.1f}" if (u := found.usage[kind])[i] > 0 else "-" for kind in kinds]
            columns = (cell.rjust(len(kind)) for cell, kind in zip(cells, kinds, strict=True))
            lines.append("  ".join([name.ljust(wide), *columns]))
        return "\n".join(lines)

    def summary(self) -> list[str]:
        """What was found, a line each."""
        found = self.quality
        conditions = f"{found.condition:.4g}, with scaled columns {found.scaled_condition:.4g}"
        lines = [
            f"{self.motion.label}, {self.duration:g} s, from rest to rest",
            f"{len(found.parameters)} base parameters; condition number of the regressor {conditions}",
            f"sought: {SOUGHT[found.criterion]}, from {len(found.starts)} starts",
            f"seen least: {self._least()}",
        ]
        return lines + (["the workspace is kept"] if "workspace" in found.usage else [])

    def _least(self) -> str:
        """The parameters with the largest parts in what is seen least."""
        order = np.argsort(-np.abs(self.quality.weakest), kind="stable")
        kept = [k for k in order[:4] if abs(self.quality.weakest[k]) > 0.2]
        terms = [f"{self.quality.weakest[k]:+.2f} {self.parameters[k]}" for k in kept]
        return " ".join(terms)

    def __repr__(self) -> str:
        return (
            f"<Excitation {self.motion.label}, {self.n} joints, {self.duration:g} s, condition "
            f"{self.condition:.4g}>"
        )
