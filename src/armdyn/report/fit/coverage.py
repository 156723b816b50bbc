"""Where the model holds: the validation beside the training data, and what intervals promised and kept."""

from __future__ import annotations

import numpy as np

from armdyn.identification.coverage import Coverage, Covers
from armdyn.identification.fit import Fit
from armdyn.identification.validation import Comparison
from armdyn.report.fit.subject import FitSubject
from armdyn.report.fit.summary import LEVEL, bands_of
from armdyn.report.page import Amount, Markup, Part, TableCell, items, paragraph, table, tag

_LEVELS = (0.8, LEVEL, 0.99)


def write_coverage(subject: FitSubject) -> list[Part]:
    """Of the validation data; nothing where there are none."""
    fit, data = subject.fit, subject.validation
    if not data:
        return []
    covers = fit.validation.covers if fit.validation else None
    parts: list[Part] = []
    if covers is not None:
        parts += [paragraph(_verdict(covers)), _ranges(covers)]
        if not covers.inside:
            parts.append(items([x.text for x in covers.outside]))
    text = (
        "A prediction comes with an interval, fit.predict(log, interval=0.95). It counts noise and friction "
    )
    text += "left over in training, by speed, friction at rest, and how unsure the parameters are. Of the "
    text += "measured torques of the validation lie inside:"
    return [*parts, tag("h3", "Intervals of predictions"), paragraph(text), _kept(fit, data)]


def _verdict(covers: Covers) -> str:
    if covers.inside:
        return "The validation data lie where the training data were."
    return "The validation data go beyond the training data: predictions extrapolate there."


def _ranges(covers: Covers) -> Markup:
    """Two rows for each joint, validation and training."""
    headings = ["joint", "data", "positions", "speeds", "acceleration", "torques", "slow", "leverage"]
    rows: list[list[TableCell]] = []
    for j, (name, unit) in enumerate(zip(covers.joints, covers.units, strict=True)):
        for what, x, slow, leverage in (
            ("validation", covers.here, covers.slow, covers.leverage),
            ("training", covers.training, covers.slow_in_training, np.ones(len(covers.joints))),
        ):
            rows.append(
                [
                    name if what == "validation" else "",
                    what,
                    *_of_joint(x, j, (unit.position, unit.velocity, unit.acceleration, unit.torque)),
                    Amount(round(100 * float(slow[j]), 1), 4, "%"),
                    Amount(float(leverage[j]), 2, ""),
                ]
            )
    return table(headings, rows)


def _of_joint(x: Coverage, j: int, units: tuple[str, str, str, str]) -> list[TableCell]:
    q, qd, qdd, tau = units
    return [
        f"{x.lowest[j]:.2f} … {x.highest[j]:.2f} {q}",
        f"{-x.backward[j]:.2f} … {x.forward[j]:.2f} {qd}",
        Amount(float(x.greatest_acceleration[j]), 3, qdd),
        f"{x.least_torque[j]:.3g} … {x.greatest_torque[j]:.3g} {tau}",
    ]


def _kept(fit: Fit, data: tuple[Comparison, ...]) -> Markup:
    """The share of measured torques in the intervals of each level, joint by joint and of all."""
    use = np.concatenate([found.use for found in data])
    size = np.concatenate([np.abs(found.residual) for found in data])
    shares = []
    for level in _LEVELS:
        half = np.concatenate(bands_of(fit, data, level) or [])
        inside = use & (size <= half)
        each = inside.sum(0) / np.maximum(use.sum(0), 1)
        shares.append([*each, inside.sum() / max(use.sum(), 1)])
    names = [f"{j + 1}, {link.joint_label}" for j, link in enumerate(fit.robot.model.coordinates)]
    rows: list[list[TableCell]] = [
        [name, *(Amount(round(100 * float(share[k]), 1), 4, "%") for share in shares)]
        for k, name in enumerate([*names, "all"])
    ]
    return table(["joint", *(f"in {100 * level:g} % intervals" for level in _LEVELS)], rows)
