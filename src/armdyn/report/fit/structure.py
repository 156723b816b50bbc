"""What torques can show at all, and what is not known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.identification.fit import ESSENTIAL, Fit
from armdyn.identification.signals import Kinematics
from armdyn.report.fit.subject import FitSubject
from armdyn.report.page import (
    Amount,
    Heading,
    Markup,
    Part,
    TableCell,
    code,
    folded,
    items,
    join,
    paragraph,
    table,
    tag,
    warning,
)
from armdyn.robot.joints import joint_limits, joint_units
from armdyn.robot.postures import can_be

# ---- what is not known, and which motion would show it --------------------------------------------------
#
# Motions that may be added are tried on the regressor: one joint after the other moving as far and as fast
# as it may while the others hold still in many postures, and all of them together. What the estimates'
# standard errors would then be follows from the information that such a recording adds.


_STATES = 400  # of a motion that is tried: as many independent samples
_SPEED = {"revolute": 1.0, "prismatic": 0.5}  # per s, where neither limits nor the log say more
_WORSE = 1.5  # times what all joints together reach: one joint that reaches this is enough


@dataclass(frozen=True)
class Advice:
    """A base parameter that these data do not show well, and what would."""

    name: str  # its leading parameter, which `armdyn excite` takes
    label: str
    shown: bool
    size: float  # the greater of estimate and description
    now: float  # standard error; infinite where not shown
    then: float  # after the motion
    joint: int | None  # that should move; None: all of them

    @property
    def helps(self) -> bool:
        """Whether the motion shows it to 30 % or, where nothing was known, at all."""
        if not self.shown and not self.size:
            return bool(np.isfinite(self.then))
        return self.then <= ESSENTIAL * self.size


def advice(fit: Fit) -> tuple[Advice, ...]:
    """For every base parameter that is not shown or known worse than to 30 % of its size."""
    rows = fit.table()
    sizes = [max(abs(row.estimate), abs(row.nominal)) for row in rows]
    poor = [k for k, row in enumerate(rows) if not row.standard_error <= ESSENTIAL * sizes[k]]
    if not poor:
        return ()
    motions: tuple[int | None, ...] = (None, *range(fit.robot.n))
    own = _own_information(fit)
    after = {joint: _errors(own + _added(fit, joint)) for joint in motions}
    found = []
    for k in poor:
        single = min(range(fit.robot.n), key=lambda j: float(after[j][k]))
        enough = after[single][k] <= _WORSE * after[None][k]
        joint = single if enough else None
        row, then = rows[k], float(after[joint][k])
        found.append(Advice(row.name, row.label, row.shown, sizes[k], row.standard_error, then, joint))
    return tuple(found)


def _own_information(fit: Fit) -> np.ndarray:
    """(b, b) of the training data: the inverse of the covariance they give."""
    own = [
        R[:, :-1] / (s * np.sqrt(r)) for R, s, r in zip(fit.factors.R, fit.scale, fit.repeats, strict=True)
    ]
    A = np.vstack(own) @ fit.base.right_inverse
    return np.asarray(A.T @ A)


def _reach(fit: Fit) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Lowest and highest positions, speeds and accelerations that a motion may have, (n,) each."""
    seen, limits = fit.training.coverage, joint_limits(fit.described)
    kinds = [link.joint for link in fit.described.model.coordinates]
    middle = (seen.lowest + seen.highest) / 2
    half = np.maximum(seen.span / 2, [np.pi / 2 if kind == "revolute" else 0.0 for kind in kinds])
    low = np.where(np.isfinite(limits.lower), limits.lower, middle - half)
    high = np.where(np.isfinite(limits.upper), limits.upper, middle + half)
    usual = np.maximum(seen.greatest_speed, [_SPEED[kind] for kind in kinds])
    speed = np.where(np.isfinite(limits.velocity), limits.velocity, usual)
    sharp = np.maximum(seen.greatest_acceleration, 3 * speed)
    return low, high, speed, np.where(np.isfinite(limits.acceleration), limits.acceleration, sharp)


def _added(fit: Fit, joint: int | None) -> np.ndarray:
    """(b, b) the information of a recording in which this joint moves, or all."""
    rng = np.random.default_rng(0 if joint is None else joint + 1)
    low, high, speed, acceleration = _reach(fit)
    moves = np.ones(fit.robot.n) if joint is None else np.eye(fit.robot.n)[joint]
    q = rng.uniform(low, high, (_STATES, fit.robot.n))
    if fit.robot.model.loops:
        q = q[can_be(fit.robot.assembly, q)]
    qd, qdd = (moves * x * rng.uniform(-1, 1, q.shape) for x in (speed, acceleration))
    Y = fit.model.problem(Kinematics(q, qd, qdd)) / fit.scale[:, None]
    A = Y.reshape(-1, Y.shape[2]) @ fit.base.right_inverse
    return np.asarray(A.T @ A)


def _errors(information: np.ndarray) -> np.ndarray:
    """(b,) standard errors; infinite where the information is none."""
    D = np.sqrt(np.maximum(np.diag(information), 0.0))
    D = np.where(D > 0, D, 1.0)
    values, V = np.linalg.eigh(information / np.outer(D, D))
    kept = values > 1e-13 * values.max(initial=0.0)
    spread = np.square(V[:, kept]) @ (1 / values[kept])
    lost = np.square(V[:, ~kept]).sum(1) > 1e-6
    return np.asarray(np.where(lost, np.inf, np.sqrt(spread) / D))


# ---- the sections ----------------------------------------------------------------------------------------


_MANY = 3  # parameters in an example of a command


def write_structure(subject: FitSubject) -> list[Part]:
    base = subject.fit.base
    count = len(base.grouping.considered)
    parts: list[Part] = [
        paragraph(
            f"The model has {count} parameters. Torques depend on {len(base)} combinations of them, the base "
            f"parameters: {len(base.alone)} parameters stand alone, {len(base.combined)} appear only in "
            f"combinations, {len(base.absent)} never appear. No motion tells the parts of a combination "
            "from one another."
        )
    ]
    if base.absent:
        parts.append(paragraph("No torque depends on ", _names(base.absent), "."))
    pairs = zip(base.leading, base.labels(np.inf), strict=True)
    lines = [tag("li", code(text)) for name, text in pairs if name != text]
    if lines:
        parts.append(folded(f"{len(lines)} combinations of more than one parameter", tag("ul", *lines)))
    if subject.fit.added:
        added = _names(subject.fit.added)
        parts.append(paragraph("Terms that the description does not have and that were added: ", added, "."))
    return parts


def _names(names: tuple[str, ...]) -> Markup:
    return join((code(name) for name in names), ", ")


def write_unknown(subject: FitSubject) -> list[Part]:
    """What these data leave open, and which motion would show it."""
    fit = subject.fit
    found = advice(fit)
    if not found:
        return [paragraph("These data show every base parameter to 30 % of its size or better.")]
    lost = [x for x in found if not x.shown]
    poor = [x for x in found if x.shown]
    texts = []
    if lost:
        text = f"{len(lost)} of {len(fit.base)} base parameters are not shown by these data at all; "
        texts.append(f"{text}they stay as near to the description as the data allow.")
    if poor:
        text = f"{len(poor)} of {len(fit.base)} base parameters have a standard error above "
        texts.append(f"{text}30 % of their size, the greater of estimate and description.")
    parts: list[Part] = [
        paragraph(" ".join(texts)),
        paragraph(
            "For each motion below the table says what the standard error would become after a further "
            "recording of 400 independent samples. Joints move within their limits where the description "
            "has them, otherwise as in the log or a little more."
        ),
    ]
    helped = [x for x in found if x.helps]
    for joint in (*range(fit.robot.n), None):
        those = [x for x in helped if x.joint == joint]
        if those:
            parts += [tag("h3", motion_text(fit, joint).capitalize()), _table(those)]
    hopeless = [x for x in found if not x.helps]
    if hopeless:
        names = _names(tuple(x.label for x in hopeless))
        text = "Too small to be seen beside the noise by any of these motions: "
        parts.append(paragraph(text, names, ". For torques they hardly matter."))
    if helped:
        parts.append(_command(fit, helped))
    if any(x for x in lost if not x.helps):
        parts.append(
            warning("What is not shown rests on the description: check those values where they matter.")
        )
    return parts


def motion_text(fit: Fit, joint: int | None) -> str:
    """A motion that was tried, in words."""
    if joint is None:
        return "all joints moving together"
    speed, unit = _reach(fit)[2][joint], joint_units(fit.described, joint).velocity
    return f"joint {joint + 1} moving up to {speed:.2g} {unit}, others at rest"


def _table(those: list[Advice]) -> Markup:
    rows = []
    for x in those:
        now = _error(x.now, x.size) if x.shown else ("not shown", "")
        rows.append((code(x.label), Amount(x.size, 3), *now, *_error(x.then, x.size)))
    headings: list[Heading] = ["base parameter", "size"]
    for when in ("standard error now", "after the motion"):
        headings += [(when, "±"), (when, "of the size")]
    return table(headings, rows)


def _error(error: float, size: float) -> tuple[TableCell, TableCell]:
    part = 100 * error / size if size else float("inf")
    return Amount(error, 2), Amount(float(np.round(part)), 6, "%") if part >= 1 else "< 1"


def _command(fit: Fit, helped: list[Advice]) -> Markup:
    described = [x for x in helped if x.name in fit.described.parameter_names and x.size]
    names = [x.name for x in sorted(described, key=lambda x: -x.now / x.size)][:_MANY]
    some = "".join(f" --parameters {name}" for name in names)
    commands = [join([code("armdyn excite ROBOT -o excitation.csv"), " for all parameters"])]
    if names:
        commands.append(join([code(f"armdyn excite ROBOT{some} -o excitation.csv"), " for the least known"]))
    return tag(
        "div",
        paragraph("Such motions, within all limits of the robot, are found by"),
        items(commands),
        class_="note",
    )
