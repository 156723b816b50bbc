"""The estimates as data: a row for each base parameter, and the whole fit for JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armdyn.identification.validation.validation import Validation
from armdyn.model.parameters import Parameter
from armdyn.robot import Robot

if TYPE_CHECKING:
    from armdyn.identification.estimation.fit import Fit

_BODY = {"m": "kg"} | dict.fromkeys(("mx", "my", "mz"), "kg m")


@dataclass(frozen=True)
class Row:
    """A base parameter: what it is, and what was found for it."""

    name: str  # its leading parameter
    combination: str  # in the robot's parameters
    joint: int  # of its leading parameter, counted from 1
    unit: str
    estimate: float
    standard_error: float  # infinite where the data do not show it
    low: float  # of the 99 % interval
    high: float
    nominal: float  # of the description; terms that it does not have are zero
    shown: bool  # whether the data say anything about it
    essential: bool  # whether its standard error is at most 30 % of it

    @property
    def relative_error(self) -> float:
        return self.standard_error / abs(self.estimate) if self.estimate else float("inf")

    @property
    def flag(self) -> str:
        """ "not shown" by these data, "poorly" shown (more than 30 % of the estimate), or nothing."""
        if not self.shown:
            return "not shown"
        return "" if self.essential else "poorly"


def rows(fit: Fit) -> tuple[Row, ...]:
    errors, intervals, nominal = fit.standard_errors, fit.intervals, fit.values_of(fit.described)
    leading = [fit.base.grouping.layout[p] for p in fit.base.grouping.leading]
    return tuple(
        Row(
            name=parameter.name,
            combination=fit.base.combinations[k],
            joint=parameter.joint + 1,
            unit=unit(fit.robot, parameter),
            estimate=float(fit.parameters[k]),
            standard_error=float(errors[k]),
            low=float(intervals[k, 0]),
            high=float(intervals[k, 1]),
            nominal=float(nominal[k]),
            shown=not fit.not_shown[k],
            essential=bool(fit.essential[k]),
        )
        for k, parameter in enumerate(leading)
    )


def unit(robot: Robot, parameter: Parameter) -> str:
    """Of a parameter of the vector."""
    kind = parameter.kind
    if kind.part == "body":
        return _BODY.get(kind.entry, "kg m²")
    if kind.entry == "inertia":
        return "kg m²"
    if kind.part == "strut":
        return "N/m" if kind.entry == "stiffness" else "N"
    turns = kind.part in ("motor", "idler") or robot.model.moving[parameter.joint].joint == "revolute"
    effort, speed = ("N m", "rad/s") if turns else ("N", "m/s")
    if kind.entry == "stiffness":
        return f"{effort}/{speed[:-2]}"
    if kind.entry == "viscous":
        return f"{effort} s/{speed[:-2]}"
    return f"{effort}/({speed})³" if kind.entry == "cubic" else "" if kind.entry == "load" else effort


def to_dict(fit: Fit) -> dict[str, Any]:
    """The numbers of a fit as JSON has them."""
    model = fit.model
    found: dict[str, Any] = {
        "robot": fit.robot.name,
        "method": fit.method,
        "consistent": fit.consistent,
        "training_error": fit.training_error,
        "cutoff": model.problem.cutoff,
        "friction": asdict(model.friction),
        "sign_width": model.problem.width,
        "damping": model.damping,
        "condition": fit.condition,
        "singular_values": fit.singular_values,
        "added": fit.added,
        "parameters": dict(zip(fit.robot.parameter_names, fit.robot.parameters, strict=True)),
        "base": [asdict(row) | {"relative_error": row.relative_error} for row in rows(fit)],
        "joints": [
            {"scale": float(s), "repeats": float(r)} for s, r in zip(fit.scale, fit.repeats, strict=True)
        ],
        "validation": None if fit.validation is None else _validation(fit.validation),
        "notes": fit.notes,
    }
    plain: dict[str, Any] = _plain(found)
    return plain


def _validation(found: Validation) -> dict[str, Any]:
    joints = [
        asdict(joint) | {"relative": joint.relative, "verdict": joint.whiteness.verdict}
        for joint in found.joints
    ]
    return {
        "error": found.error,
        "errors": found.errors,
        "overlap": found.overlap,
        "warnings": found.warnings,
        "joints": joints,
    }


def _plain(x: Any) -> Any:
    """Lists, texts, numbers, truth values and None."""
    if isinstance(x, dict):
        return {key: _plain(value) for key, value in x.items()}
    if isinstance(x, list | tuple | np.ndarray):
        return [_plain(value) for value in x]
    if isinstance(x, bool | np.bool_):
        return bool(x)
    if isinstance(x, float | np.floating):
        return float(x) if np.isfinite(x) else None
    return int(x) if isinstance(x, np.integer) else x
