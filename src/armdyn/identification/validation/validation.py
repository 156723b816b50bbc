"""`Validation`: a fit tried on other logs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from armdyn.identification.errors import IdentificationError, IdentificationWarning
from armdyn.identification.regression.pieces import Source
from armdyn.identification.regression.problem import Problem
from armdyn.identification.validation.comparison import comparisons
from armdyn.identification.validation.coverage import Coverage
from armdyn.identification.validation.residuals import Gathered, JointResiduals
from armdyn.identification.validation.training import Training
from armdyn.robot import Robot
from armdyn.robot.joints import joint_units

_OVERLAP = 0.05  # of the samples: more of them from the training data make the test no test
_HARDLY = 0.1  # of the speeds or of the span in training


@dataclass(frozen=True)
class Validation:
    """What a fit predicts on logs, and whether they are a test of it."""

    error: float  # ‖τ − τ̂‖/‖τ‖ over all joints and logs
    errors: dict[str, float]  # of each log
    joints: tuple[JointResiduals, ...] = field(repr=False)
    coverage: Coverage = field(repr=False)  # how far and fast these logs moved
    overlap: float  # part of the samples that were in the training data, or touch them
    warnings: tuple[str, ...] = ()

    def summary(self) -> str:
        """A line for each joint, and what to beware of."""
        lines = [f"error {100 * self.error:.2f} %"]
        lines += [f"  {name}: {100 * error:.2f} %" for name, error in self.errors.items()]
        lines += [
            f"  joint {j + 1}: RMS {x.rms:.3g} ({100 * x.relative:.1f} % of the torque's), worst "
            f"{x.worst.residual:.3g} at {x.worst.time:.3f} s of {x.worst.log}; {x.whiteness.verdict}"
            for j, x in enumerate(self.joints)
        ]
        return "\n".join([*lines, *(f"  beware: {text}" for text in self.warnings)])

    def __str__(self) -> str:
        return self.summary()


def validate(
    robot: Robot,
    problem: Problem,
    x: np.ndarray,
    logs: Sequence[Source],
    training: Training,
    what: str = "validation",
) -> Validation:
    """Try parameters x (p,) on logs; warn where these are no test."""
    every = Gathered(robot.n)
    each: dict[str, Gathered] = {}
    coverage: Coverage | None = None
    shared = samples = 0
    for number, source in enumerate(logs, 1):
        name = source.name if source.name not in each else f"{source.name} ({number})"
        own = each[name] = Gathered(robot.n)
        for found in comparisons(robot, problem, x, [source]):
            every.add(found)
            own.add(found)
            here = Coverage.of(found.motion, found.use)
            coverage = here if coverage is None else coverage + here
            used = np.asarray(found.use.any(1))
            shared += training.shared(found.record, used)
            samples += int(used.sum())
    if coverage is None:
        raise IdentificationError(f"{what}: no sample of these logs has a torque to compare with")
    overlap = shared / samples
    texts = (*_overlap(overlap), *_standstill(robot, coverage, training.coverage))
    for text in texts:
        warnings.warn(f"{what}: {text}", IdentificationWarning, stacklevel=3)
    errors = {name: own.error for name, own in each.items()}
    return Validation(every.error, errors, every.joints(), coverage, overlap, texts)


def rest(logs: Sequence[Source]) -> tuple[Source, ...]:
    """The samples of the training logs that did not enter the fit."""
    found = tuple(
        Source(source.log, ~source.samples)
        for source in logs
        if source.samples is not None and not source.samples.all()
    )
    if not found:
        raise IdentificationError(
            'validate: "rest" are the samples that samples= leaves out of the fit, and it leaves out none'
        )
    return found


def _overlap(overlap: float) -> list[str]:
    if overlap <= _OVERLAP:
        return []
    text = f"{100 * overlap:.0f} % of the samples are in the training data or next to samples that are: "
    return [f"{text}the error is no test of the fit there"]


def _standstill(robot: Robot, here: Coverage, training: Coverage) -> list[str]:
    """Joints that moved in training and hardly do here."""
    found = []
    for kind, own, theirs, rate in (
        ("RMS speed", here.rms_speed, training.rms_speed, "/s"),
        ("range", here.span, training.span, ""),
    ):
        for j in np.flatnonzero((own < _HARDLY * theirs) & (theirs > 0)):
            unit = joint_units(robot, int(j)).position + rate
            found.append(f"joint {j + 1} ({kind} {own[j]:.2g} {unit}, {theirs[j]:.2g} {unit} in training)")
    if not found:
        return []
    return [f"these logs hardly move {', '.join(found)}: the error says little about them"]
