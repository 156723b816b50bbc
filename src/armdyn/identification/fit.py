"""`Fit`: what identification found, what it is worth, and what it predicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from textwrap import wrap
from typing import Any, Self, overload

import numpy as np

from armdyn.display import Shown
from armdyn.identification import fit_file
from armdyn.identification.coverage import (
    Covers,
    Model,
    Training,
    columns,
    extent_of_logs,
    extent_of_record,
    extent_of_trajectory,
    extrapolation,
)
from armdyn.identification.errors import (
    IdentificationError,
    IdentificationWarning,
    NothingUsableError,
    check,
)
from armdyn.identification.intervals import (
    Evidence,
    Prediction,
    Scatter,
    half_widths,
    normal_quantile,
)
from armdyn.identification.log import Log, Record
from armdyn.identification.log_files import LogFile
from armdyn.identification.log_set import LogDigest, LogSet, left_out
from armdyn.identification.methods import basis_of
from armdyn.identification.regression import RANK, Factors
from armdyn.identification.selection import NEAR, TOGGLED, Chosen
from armdyn.identification.shown import not_shown
from armdyn.identification.signals import Kinematics, kinematics
from armdyn.identification.validation import (
    Comparison,
    CrossValidation,
    JointResiduals,
    Validation,
    comparisons,
    cross_validate,
    gathered,
    validate,
)
from armdyn.model.friction import TERMS
from armdyn.model.parameters import Parameter, layout
from armdyn.motion.trajectory import Trajectory
from armdyn.remarks import Remark, warn
from armdyn.robot import Robot
from armdyn.robot.base_parameters import BaseParameters
from armdyn.robot.joints import joint_units

# ------------------------------------------------------------------------------------------------------------
# The estimates as data: a row for each base parameter, and the whole fit for JSON.


_BODY = {"m": "kg"} | dict.fromkeys(("mx", "my", "mz"), "kg m")


@dataclass(frozen=True)
class EstimateRow:
    """A base parameter: what it is, and what was found for it."""

    name: str  # its leading parameter
    label: str  # its combination as it is printed, "Izz2 − a2²·m2"; a long one ends with "…"
    combination: str  # in the robot's parameters, with numbers
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


def unit(robot: Robot, parameter: Parameter) -> str:
    """The unit of a parameter of the vector."""
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
    return TERMS[kind.entry].unit(effort, speed[:-2]) if kind.entry in TERMS else effort


def _validation(found: Validation) -> dict[str, Any]:
    joints = [
        asdict(joint) | {"relative": joint.relative, "verdict": joint.whiteness.verdict}
        for joint in found.joints
    ]
    return {
        "error": found.error,
        "filtered_error": found.filtered_error,
        "errors": found.errors,
        "overlap": found.overlap,
        "warnings": found.warnings,
        "covers": {
            "inside": found.covers.inside,
            "outside": [x.text for x in found.covers.outside],
            "leverage": found.covers.leverage,
            "slow": found.covers.slow,
        },
        "joints": joints,
    }


def plain(x: Any) -> Any:
    """Lists, texts, numbers, truth values and None."""
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    if isinstance(x, list | tuple | np.ndarray):
        return [plain(value) for value in x]
    if isinstance(x, bool | np.bool_):
        return bool(x)
    if isinstance(x, float | np.floating):
        return float(x) if np.isfinite(x) else None
    return int(x) if isinstance(x, np.integer) else x


# ------------------------------------------------------------------------------------------------------------
# Which model was fitted and why, in words: filter, friction, width of the sign, damping, added terms.


def reasons(fit: Fit) -> list[tuple[str, list[str]]]:
    """Titles and sentences."""
    return [
        ("filter", [_filter(fit)]),
        ("friction", _friction(fit)),
        ("sign", [_sign(fit)]),
        ("damping", [_damping(fit)]),
        ("bodies", [_bodies(fit)]),
        ("added", [", ".join(fit.added) or "nothing: the description has all terms"]),
    ]


def _filter(fit: Fit) -> str:
    cutoff, tried = fit.model.problem.cutoff, fit.model.cutoffs
    if cutoff is None:
        return "none: the logs have accelerations"
    if not tried:
        return f"cut-off {cutoff:.3g} Hz, as asked for"
    best = min(tried, key=lambda pair: pair[1])[0]
    lowest = cutoff if fit.method != "instrumental" else _lowest(fit)
    wider = "" if lowest == cutoff else f"wider than {lowest:.3g} Hz, "
    text = f"cut-off {cutoff:.3g} Hz: {wider}the lowest of {len(tried)} (from {tried[-1][0]:.2g} to "
    text += f"{tried[0][0]:.3g} Hz) whose error on data left out is within {100 * NEAR:.0f} % of the least"
    return text if best == lowest else f"{text} (at {best:.3g} Hz)"


def _lowest(fit: Fit) -> float:
    """The cut-off that least squares would take [Hz]."""
    least = min(error for _, error in fit.model.cutoffs)
    return min(cutoff for cutoff, error in fit.model.cutoffs if error <= (1 + NEAR) * least)


def _friction(fit: Fit) -> list[str]:
    found = fit.model.friction
    if not fit.model.worth:
        each = dict.fromkeys(map(str, found))
        if len(each) == 1:
            return [f"{next(iter(each))}, as asked for"]
        return ["as asked for:", *(f"joint {j + 1}: {one}" for j, one in enumerate(found))]
    text = "viscous and Coulomb at every joint; (+ %): how much greater the error on kinds of motion left "
    return [f"{text}out is without a further term"]


def friction_rows(fit: Fit) -> list[list[str]]:
    """Friction of each joint in SI units with standard errors: headings, then a row for each."""
    rows = [["joint", "viscous", "± error", "Coulomb", "± error", "further terms"]]
    model, estimates = fit.robot.model, {row.name: row for row in fit.table()}
    values = dict(zip(fit.robot.parameter_names, fit.robot.parameters.tolist(), strict=True))
    for j, (link, own) in enumerate(zip(model.coordinates, fit.model.friction, strict=True)):
        joint = model.moving.index(link)
        names = {x.kind.entry: x.name for x in layout(model) if (x.kind.part, x.joint) == ("joint", joint)}
        worth = {x.term: x for x in fit.model.worth if x.joint == j and x.taken}
        row = [str(j + 1)]
        for term in ("viscous", "coulomb"):
            found = estimates.get(names.get(term, ""))
            row += ["–", "–"] if found is None else [estimate_text(fit, found), _error_text(found)]
        further = []
        for term in [*(x for x in TERMS if names.get(x) and x not in ("viscous", "coulomb")), *worth]:
            if term in names and not values[names[term]] and term not in worth:
                continue
            text = own.named(term) if term in TOGGLED else term
            text += f" {values[names[term]]:.3g}" if term in names else ""
            text += f" ({percent(1 + worth[term].gain)})" if term in worth else ""
            further.append(text)
        rows.append([*row, ", ".join(dict.fromkeys(further)) or "none"])
    return rows if any(x != "–" for row in rows[1:] for x in row[1:5]) else []


def friction_terms(fit: Fit) -> list[tuple[str, str]]:
    """Of each joint the further terms that were chosen and those that were not, with what they are worth."""
    rows = []
    for j, own in enumerate(fit.model.friction):
        texts: dict[bool, list[str]] = {True: [], False: []}
        for x in fit.model.worth:
            if x.joint == j:
                texts[x.taken].append(
                    f"{own.named(x.term)} {percent(1 + x.gain)[:-2]} ± {100 * x.spread:.1f} %"
                )
        rows.append((", ".join(texts[True]) or "none", ", ".join(texts[False]) or "none"))
    return rows


def percent(ratio: float) -> str:
    """A text: by how much an error differs from the chosen model's."""
    change = round(100 * (ratio - 1), 1)
    return f"{change:+.1f} %".replace("-", "−") if change else "0 %"


def _sign(fit: Fit) -> str:
    width, n = fit.model.problem.width, fit.robot.n
    if not width.any():
        return "as it is, a step at zero speed"
    each = ", ".join(f"{x:.2g}" for x in width[:n])
    units = dict.fromkeys(joint_units(fit.robot, j).velocity for j in range(n))
    shares = ", ".join(dict.fromkeys(f"{100 * (x.width or 0):g}" for x in fit.model.friction))
    whose = " as in the description"
    if fit.model.friction[0].width is not None:
        several = len({x.width for x in fit.model.friction}) > 1
        shares = ", ".join(f"{100 * (x.width or 0):g}" for x in fit.model.friction) if several else shares
        whose = f" {shares} % of each joint's greatest speed"
    return f"tanh(speed/width), width{whose}: {each} {' or '.join(units)}; 0 is a step"


def _damping(fit: Fit) -> str:
    damping = fit.model.damping
    how = "chosen" if fit.model.dampings else "as asked for"
    what = "none" if not damping else f"{damping:g} of the columns' lengths, toward the description"
    return f"{what}, {how}"


def _bodies(fit: Fit) -> str:
    if not fit.consistent:
        return "as estimated, whether they can exist or not"
    ratio = percent(1 + fit.consistency_cost)
    return f"can exist, and rotors and friction, too; filtered error against free estimates: {ratio}"


# ------------------------------------------------------------------------------------------------------------
# The verdict: is it good, what to believe, what next.


GOOD, USABLE = 0.05, 0.15  # errors of predicted torques, relative
_FAR = 2.0  # times the error of all joints: a joint to be named


def verdict(fit: Fit) -> tuple[str, str, str]:
    """Three sentences: whether the fit is good, what of it to believe, what to do next."""
    return _good(fit), _believed(fit), _next(fit)


def _good(fit: Fit) -> str:
    if fit.validation is None:
        off = f"{100 * fit.training_error:.1f} %"
        return f"Untried: its torques are {off} off where it learnt, which says little of other motions."
    error = fit.validation.error
    word = "Good" if error <= GOOD else "Usable" if error <= USABLE else "Poor"
    return f"{word}: its torques are {100 * error:.1f} % off on data that it did not learn from."


def _believed(fit: Fit) -> str:
    tried = fit.validation
    joints, error = (fit.residuals, fit.training_error) if tried is None else (tried.joints, tried.error)
    text = "Believe torques of motions like those recorded"
    shares = [0.0 if np.isnan(x.relative) else x.relative for x in joints]
    worst = int(np.argmax(shares))
    if shares[worst] > _FAR * error:
        text += f", least at joint {worst + 1} ({100 * shares[worst]:.0f} % of its torque)"
    known, count = int(fit.essential.sum()), len(fit.base)
    which = "all" if known == count else "none" if not known else f"the {known} of {count}"
    sure = " that are known to 30 % or better" if 0 < known < count else ""
    return f"{text}; of single parameters believe {which}{sure}."


def _next(fit: Fit) -> str:
    tried = fit.validation
    if tried is None:
        return "Next, try it on data that it did not learn from: another log, or a part of this one."
    if tried.error > USABLE:
        return "Next, see what is left over time, position and speed: the report draws it."
    if not tried.covers.inside:
        return f"Next, record motions that go farther: {_beyond(tried)}."
    if 2 * int(fit.essential.sum()) < len(fit.base):
        return "Next, use it; to know more of single parameters, record what look asks for."
    return "Next, use it."


# ------------------------------------------------------------------------------------------------------------
# A fit in plain text.


_WIDTH = 100
_INDENT = 12
_AT_BOUND = 1e-6  # standard errors


def text(fit: Fit, parameters: bool = True) -> str:
    """A text: what was found, what it is worth and why this model."""
    robot = fit.robot
    count = int(fit.factors.rows.sum())
    lines = [
        f"{robot.name}: {len(fit.base)} base parameters by {method_text(fit)}, from {count} torques",
        "",
        *entry("verdict", verdict(fit)),
        *entry("error", _errors(fit)),
        *entry("covers", _covers(fit)),
        *["", *_joints(fit), ""],
    ]
    for title, found in reasons(fit):
        lines += entry(title, found)
        if title == "friction" and (rows := friction_rows(fit)):
            lines.append("")
            for begun, row in zip(columns([row[:-1] for row in rows]), rows, strict=True):
                ends = wrap(row[-1], _WIDTH - len(begun) - 2)
                lines += [f"{begun if not k else '':{len(begun)}}  {end}" for k, end in enumerate(ends)]
            lines.append("")
    lines.append("")
    if parameters:
        lines += [*_parameters(fit), ""]
    lines += _worth(fit, parameters)
    beware = () if fit.validation is None else fit.validation.warnings
    lines += entry("beware", beware)
    lines += entry("notes", fit.notes)
    return "\n".join(printable(line.rstrip()) for line in lines)


def printable(line: str) -> str:
    """Without what a terminal might act on; names of robots and logs come from files."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)


def entry(title: str, texts: Iterable[str]) -> list[str]:
    """A title and texts beside it, wrapped; nothing where there are none."""
    lines = [
        line
        for text in texts
        for line in wrap(text, _WIDTH - _INDENT, break_long_words=False, break_on_hyphens=False)
    ]
    return [f"{title if not k else '':{_INDENT}}{line}" for k, line in enumerate(lines)]


def method_text(fit: Fit) -> str:
    bodies = ", bodies that can exist" if fit.consistent else ""
    return f"least squares ({fit.method}{bodies})"


def _errors(fit: Fit) -> list[str]:
    found = [f"{100 * fit.training_error:.2f} % in training"]
    tried = fit.validation
    if tried is None:
        found[0] += "; not validated"
    else:
        several = len(tried.errors) > 1
        each = [f"{name} {100 * x:.2f} %" if several else name for name, x in tried.errors.items()]
        found[0] += f", {100 * tried.error:.2f} % in validation ({', '.join(each)})"
    if fit.model.problem.cutoff is not None:
        found.append(f"of recorded torques; {filtered_text(fit)} of torques through the filter of the fit")
    if tried is None:
        found.append('samples=… with validate="rest" learns from a part of the log and tries the rest')
    elif tried.error < fit.training_error:
        found.append(f"lower in validation, because {_why_lower(fit, tried)}: no sign of a better model")
    return found


def _why_lower(fit: Fit, tried: Validation) -> str:
    """Why the error in validation is below that in training."""
    if fit.model.problem.cutoff is not None and fit.filtered_error < tried.filtered_error:
        return "the training data have more noise above the filter's cut-off"
    before, after = (
        np.linalg.norm([x.torque_rms for x in joints]) for joints in (fit.residuals, tried.joints)
    )
    return "torques are larger there" if after > before else "its motion asks less of the model"


def filtered_text(fit: Fit) -> str:
    """Errors in training and, where there is one, in validation, of torques through the filter of the fit."""
    both = [fit.filtered_error] + ([] if fit.validation is None else [fit.validation.filtered_error])
    return " and ".join(f"{100 * x:.2f} %" for x in both)


def _covers(fit: Fit) -> list[str]:
    """Whether the validation lies where the training data were."""
    if fit.validation is None:
        return []
    found = fit.validation.covers
    if found.inside:
        return ["the validation data lie where the training data were"]
    return [f"the validation data go beyond the training data: {_beyond(fit.validation)}"]


def _beyond(tried: Validation) -> str:
    """The joints and quantities in which the validation data lie beyond the training data."""
    found = tried.covers
    each = [
        f"joint {j + 1} ({', '.join(dict.fromkeys(x.quantity for x in found.outside if x.joint == j))})"
        for j in np.flatnonzero(~found.inside_of)
    ]
    return ", ".join(each)


def _joints(fit: Fit) -> list[str]:
    """Residuals of each joint in training and, where there is one, in validation."""
    heading = ["joint", "residual", "unit"]
    if fit.validation is not None:
        heading += ["validation", "of torque", "worst", "at [s]", "noise"]
    rows = [heading]
    for j, own in enumerate(fit.residuals):
        row = [str(j + 1), f"{own.rms:.3g}", joint_units(fit.robot, j).torque]
        if fit.validation is not None:
            x = fit.validation.joints[j]
            row += [f"{x.rms:.3g}", f"{100 * x.relative:.1f} %", f"{x.worst.residual:.3g}"]
            row += [f"{x.worst.time:.2f}", x.whiteness.verdict]
        rows.append(row)
    return columns(rows)


def _parameters(fit: Fit) -> list[str]:
    """In SI units."""
    rows = [["parameter", "estimate", "± error", "%", "nominal"]]
    for row in fit.table():
        relative = f"{100 * row.relative_error:.1f}" if row.relative_error < 10 else "> 1000"
        if not row.shown or at_bound(fit, row):
            relative = "–"
        label = row.label + {"": "", "poorly": " *", "not shown": " ?"}[row.flag]
        rows.append([label, estimate_text(fit, row), _error_text(row), relative, f"{row.nominal:.4g}"])
    return columns(rows)


def at_bound(fit: Fit, row: EstimateRow) -> bool:
    """Whether an estimate is 0 because less cannot be: a solver stops just inside."""
    return fit.consistent and row.shown and abs(row.estimate) < _AT_BOUND * row.standard_error


def estimate_text(fit: Fit, row: EstimateRow) -> str:
    """An estimate in SI units."""
    return "0 (at its bound)" if at_bound(fit, row) else f"{row.estimate:.4g}"


def _error_text(row: EstimateRow) -> str:
    return f"{row.standard_error:.2g}" if row.shown else "–"


def _worth(fit: Fit, parameters: bool) -> list[str]:
    """How many parameters the data show, and which they do not."""
    table = fit.table()
    unseen = [row.label for row in table if not row.shown]
    poorly = [row.label for row in table if row.flag == "poorly"]
    known = len(table) - len(unseen) - len(poorly)
    texts = [f"{known} of {len(table)} base parameters to 30 % or better; condition {fit.condition:.3g}"]
    if poorly:
        texts.append(f"{len(poorly)} poorly shown (*): the standard error is above 30 % of the estimate")
    if unseen:
        texts.append(
            f"not shown by these data (?), as near to the description as they allow: {'; '.join(unseen)}"
        )
    if parameters and any(row.label.endswith("…") for row in table):
        texts.append("a combination that ends with … goes on: fit.base.combinations has all of it")
    return entry("worth", texts)


# ------------------------------------------------------------------------------------------------------------
# `Fit`: what identification found, what it is worth, and what it predicts.


LEVEL = 0.99  # of the intervals
ESSENTIAL = 0.3  # relative standard deviation up to which a parameter counts as known


def _unsound(fit: Fit) -> str:
    """A sentence on numbers that cannot be those of a fit of this robot; empty where all can."""
    n, p = fit.described.n, len(fit.full_names)
    if fit.robot.n != n:
        return f"the robot that was found has {fit.robot.n} joints, the described one {n}"
    coverage, scatter, training = fit.training.coverage, fit.scatter, fit.training
    expected: dict[str, tuple[np.ndarray, tuple[int, ...]]] = {
        "x": (fit.x, (p,)),
        "covariance_x": (fit.covariance_x, (p, p)),
        "open": (fit.open, (p, -1)),
        "held": (fit.held, (len(fit.base),)),
        "free": (fit.free, (p,)),
        "scale": (fit.scale, (n,)),
        "repeats": (fit.repeats, (n,)),
        "factors.rows": (fit.factors.rows, (n,)),
        "scatter.residuals": (scatter.residuals, (*scatter.shape, n)),
        "scatter.greatest": (scatter.greatest, (n,)),
        "scatter.halves": (scatter.halves, (p, -1)),
        "training.slow": (training.slow, (n,)),
        "training.leverage": (training.leverage, (n,)),
        "training.matters": (training.matters, (n,)),
    }
    expected |= {f"factors.R[{j}]": (R, (-1, p + 1)) for j, R in enumerate(fit.factors.R)}
    expected |= {f"training.coverage.{f.name}": (getattr(coverage, f.name), (n,)) for f in fields(coverage)}
    for name, (x, shape) in expected.items():
        if len(x.shape) != len(shape) or any(k not in (-1, m) for k, m in zip(shape, x.shape, strict=True)):
            return f"fit.{name}: found an array of {x.shape}, which is not that of {n} joints"
        if not np.isfinite(x).all():
            return f"fit.{name}: not all of its numbers are finite"
    joints = [
        fit.factors.R,
        fit.residuals,
        fit.model.friction,
        *([] if fit.validation is None else [fit.validation.joints]),
    ]
    if any(len(x) != n for x in joints):
        return f"something else than {n} joints has factors, friction or residuals"
    return ""


def _share(name: str, x: Any) -> float:
    """A number between 0 and 1."""
    found = float(check.number(name, x))
    if not 0 < found < 1:
        raise IdentificationError(f"{name}: found {found:g}; between 0 and 1 is allowed")
    return found


@dataclass(frozen=True, eq=False)
class Fit(Shown):
    """The result of `identify`.

    `parameters` (b,) are estimates of the base parameters, what torques can show at all: combinations, which
    `labels` show and `base.combinations` has in full. Programs find them by `names`, those of their leading
    parameters. `robot` is a full robot with them: what the data do not show is as near to the description as
    they allow. `robot.parameters` are its own parameters.
    """

    robot: Robot
    described: Robot = field(repr=False)  # what `identify` was given
    x: np.ndarray = field(repr=False)  # (p,) the template's parameters
    covariance_x: np.ndarray = field(repr=False)  # (p, p)
    open: np.ndarray = field(repr=False)  # (p, k) directions that the data do not show
    held: np.ndarray = field(repr=False)  # (b,) bool: base parameters of which the description says more
    model: Chosen = field(repr=False)
    method: str
    free: np.ndarray = field(repr=False)  # (p,) bool: what was estimated; the rest was known
    scale: np.ndarray = field(repr=False)  # (n,) standard deviation of the residuals [N m or N]
    repeats: np.ndarray = field(repr=False)  # (n,) samples that count as one
    factors: Factors = field(repr=False)
    singular_values: np.ndarray = field(repr=False)
    training_error: float  # ‖τ − τ̂‖/‖τ‖ over all joints, τ as recorded: `error` of the training data
    filtered_error: float  # the same with τ through the filter of the fit, as τ̂ is
    residuals: tuple[JointResiduals, ...] = field(repr=False)  # of the training data, as recorded
    consistent: bool  # whether bodies, rotors and friction are such as can exist
    consistency_cost: float  # by which part that raises `filtered_error`; 0 where it is for nothing
    remarks: tuple[Remark, ...] = field(repr=False)
    training: Training = field(repr=False)  # where the data moved that entered the fit
    scatter: Scatter = field(repr=False)  # how far measured torques were from predictions there
    validation: Validation | None = field(default=None, repr=False)  # on the logs of `validate=`
    logs: tuple[LogDigest, ...] = field(default=(), repr=False)  # that were learnt from

    @property
    def notes(self) -> tuple[str, ...]:
        """The texts of the remarks, with the logs that they are about."""
        return tuple(map(str, self.remarks))

    # ---- the base parameters ---------------------------------------------------------------------------

    @property
    def base(self) -> BaseParameters:
        """The combinations that torques can show, over the parameters of the model that was fitted."""
        return self.model.problem.template.base

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the base parameters, those of their leading parameters."""
        return self.base.leading

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The base parameters as they are printed: "Izz2 − a2²·m2", "Fv1"; a long one ends with "…"."""
        return self.base.labels()

    @property
    def parameters(self) -> np.ndarray:
        """Estimates of the base parameters (b,)."""
        return np.asarray(self.base.matrix @ self.x)

    def values_of(self, robot: Robot) -> np.ndarray:
        """The base parameters (b,) of another robot of the same structure; terms it has not are zero."""
        if check.robot(robot).n != self.robot.n:
            raise IdentificationError(
                f"robot: expected one with {self.robot.n} joints, found {robot.name} with {robot.n}"
            )
        known = dict(zip(robot.parameter_names, robot.parameters, strict=True))
        return np.asarray(self.base.matrix @ [known.get(name, 0.0) for name in self.full_names])

    @property
    def full_names(self) -> tuple[str, ...]:
        """Names of all p parameters of the model that was fitted."""
        return self.model.problem.template.names

    @cached_property
    def covariance(self) -> np.ndarray:
        """(b, b) of the base parameters, without those of `not_shown`, whose rows are infinite."""
        M = self.base.matrix
        C = M @ self.covariance_x @ M.T
        C[self.not_shown] = C[:, self.not_shown] = 0.0
        C[self.not_shown, self.not_shown] = np.inf
        return np.asarray(C)

    @cached_property
    def not_shown(self) -> np.ndarray:
        """(b,) bool: base parameters that keep the description's values, in the order of `names`.

        These data say nothing of them, or less than the description does.
        """
        return np.asarray(not_shown(self.base, self.open) | self.held)

    @property
    def not_shown_names(self) -> tuple[str, ...]:
        """Names of the base parameters of which these data say nothing, or less than the description.

        They have the description's values, as near as the rest allows.
        """
        return tuple(name for name, hidden in zip(self.names, self.not_shown, strict=True) if hidden)

    @property
    def standard_errors(self) -> np.ndarray:
        """(b,)"""
        return np.sqrt(np.diag(self.covariance))

    def interval(self, level: float = LEVEL) -> np.ndarray:
        """(b, 2): where the base parameters lie with this probability."""
        half = normal_quantile(_share("level", level)) * self.standard_errors
        return np.stack([self.parameters - half, self.parameters + half], axis=1)

    @property
    def intervals(self) -> np.ndarray:
        """(b, 2): where the base parameters lie with a probability of 99 %."""
        return self.interval()

    @property
    def relative_errors(self) -> np.ndarray:
        """(b,) standard errors as parts of the estimates."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.standard_errors / np.abs(self.parameters))

    @property
    def correlation(self) -> np.ndarray:
        """(b, b); zero for parameters that are not shown."""
        s = self.standard_errors
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.covariance / np.outer(s, s)
        found[~np.isfinite(found)] = 0.0
        np.fill_diagonal(found, 1.0)
        return np.asarray(found)

    @property
    def essential(self) -> np.ndarray:
        """(b,) bool: base parameters whose relative standard deviation is at most 30 %."""
        return np.asarray(self.relative_errors <= ESSENTIAL)

    @property
    def condition(self) -> float:
        """Condition number of the weighted regressor, columns of length 1, without what is not shown."""
        s = self.singular_values
        kept = s[s > RANK * s.max(initial=0.0)]
        return float(kept.max() / kept.min()) if len(kept) else float("inf")

    @property
    def added(self) -> tuple[str, ...]:
        """Parameters that the description does not have and that were estimated."""
        free = {name for name, is_free in zip(self.full_names, self.free, strict=True) if is_free}
        return tuple(name for name in self.model.problem.template.added if name in free)

    # ---- predictions -----------------------------------------------------------------------------------

    @overload
    def predict(self, log: Log, interval: None = None) -> np.ndarray: ...
    @overload
    def predict(self, log: Log, interval: float) -> Prediction: ...

    def predict(self, log: Log, interval: float | None = None) -> np.ndarray | Prediction:
        """Torques (samples, n) at the samples of a log, its positions filtered as in the fit.

        The torques Jᵀh_e for a wrench that the log has are among them.
        Samples that say nothing (a repeated time stamp, say) get the torques of the sample before.

        With `interval=0.95` they come with the half widths of intervals that should have 95 % of what is
        measured: `p.tau`, `p.half`, `p.lower`, `p.upper`, (samples, n) each. Counted are noise and friction
        left over in training, by speed; friction that holds a joint at rest; and how unsure estimates are, by
        noise and by what differs between halves of the training data: it shows what a model that is not quite
        right costs elsewhere. Half widths are infinite where a torque needs what the data do not show.

        Warns (`IdentificationWarning`) where the log goes beyond the training data; `covers` says more.
        """
        if isinstance(log, LogFile):
            raise IdentificationError(
                "log: a file is predicted block by block: for rows, tau in fit.predictions(file); "
                "or read it whole with file.read()"
            )
        if not isinstance(log, Log):
            raise IdentificationError(f"log: expected a Log, found {type(log).__name__}")
        if interval is not None:
            interval = _share("interval", interval)
        record = log.at_joints(self.described)
        tau, motion = (
            self.model.problem.torques(record, self.x),
            kinematics(record, self.model.problem.cutoff),
        )
        self._warn_beyond(record, motion, tau)
        found = self._rows_of_log(record, tau)
        if interval is None:
            return found
        half = self.half_widths(motion, interval)
        return Prediction(found, self._rows_of_log(record, half), interval)

    def half_widths(self, motion: Kinematics, level: float) -> np.ndarray:
        """(M, n) half widths of the intervals about predictions, along a motion filtered as in the fit."""
        known = self._known
        return half_widths(known.problem, known.x, known.scatter, known.evidence, motion, level)

    def covers(self, motion: Any) -> Covers:
        """Whether a log, a list of logs or a `Trajectory` lies where the training data were.

        For each joint and in sum: positions, speeds in both directions, accelerations, predicted torques, the
        share of slow samples, and the leverage y (YᵀWY)⁻¹ yᵀ of its rows y of the regressor, relative to the
        greatest in training. `found.inside` is the verdict, `found.outside` what goes farther, and where;
        `print(found)` is a table of it.
        """
        if isinstance(motion, Trajectory):
            extent = extent_of_trajectory(self._known, motion)
        elif isinstance(motion, Log | LogFile | Sequence):
            extent = extent_of_logs(self._known, LogSet.of(self.described, motion))
        else:
            raise IdentificationError(
                f"covers: expected a Log, a list of them or a Trajectory, found {type(motion).__name__}"
            )
        return Covers.of(self.robot, extent, self.training)

    @cached_property
    def _known(self) -> Model:
        basis = basis_of(self.factors.weighted(self.scale)[:, :-1], self.free)
        evidence = Evidence(basis, self.open, self.scatter.halves)
        return Model(self.model.problem, self.x, evidence, self.scatter, self.training)

    def _warn_beyond(self, record: Record, motion: Kinematics, tau: np.ndarray) -> bool:
        """Whether a record of which these torques were predicted goes beyond the training data; warns."""
        extent = extent_of_record(self._known, record, motion, tau)
        if extent is None:
            return False
        found = extrapolation(Covers.of(self.robot, extent, self.training))
        warn([Remark(text, "warning") for text in found], IdentificationWarning, 3)
        return bool(found)

    def predictions(self, file: Log | LogFile) -> Iterator[tuple[slice, np.ndarray]]:
        """`predict` of a log block by block, in little memory: rows of the log, and their torques (rows, n).

        In a block of which nothing can be used, torques are NaN. Warns at the first block that goes beyond
        the training data.
        """
        samples, problem, told = LogSet.of(self.described, [file]), self.model.problem, False
        for log in samples.parts(0, problem.cutoff):
            core = log.rows
            first = 0 if isinstance(file, Log) else log.first
            try:
                record = samples.record(0, log)
                found = problem.torques(record, self.x)
                told = told or self._warn_beyond(record, kinematics(record, problem.cutoff), found)
                tau = self._rows_of_log(record, found)[core]
            except NothingUsableError as reason:
                left_out(log, reason)
                tau = np.full((core.stop - core.start, self.robot.n), np.nan)
            yield slice(first + core.start, first + core.stop), tau

    def _rows_of_log(self, record: Record, tau: np.ndarray) -> np.ndarray:
        before = np.searchsorted(record.rows, np.arange(record.size), side="right") - 1
        return np.asarray(tau[np.clip(before, 0, len(tau) - 1)])

    def error(self, logs: Any, samples: Any = None) -> float:
        """‖τ − τ̂‖/‖τ‖ over all joints of a log or a list of logs, τ as recorded.

        Every sample counts at which a torque was measured (and `samples` allows it), up to the ends. In a log
        with a wrench, ‖τ‖ is that of τ − Jᵀh_e: pressing hard makes no model good.
        """
        return gathered(self.model.problem, self.x, LogSet.of(self.described, logs, samples)).error

    # ---- trials ----------------------------------------------------------------------------------------

    @property
    def validation_errors(self) -> tuple[float, ...]:
        """‖τ − τ̂‖/‖τ‖ of each log that `identify` was given to validate with."""
        return () if self.validation is None else tuple(self.validation.errors.values())

    def validate(self, logs: Any, samples: Any = None) -> Validation:
        """The fit tried on other logs: errors, residuals of each joint, whether they are white noise.

        Warns (`IdentificationWarning`) where the logs were in the training data or hardly move.
        """
        tried = LogSet.of(self.described, logs, samples)
        return validate(self._known, tried)

    def cross_validate(self, logs: Any, samples: Any = None, folds: int = 5) -> CrossValidation:
        """The fit repeated without each of `folds` stretches of its logs, and tried on what was left out.

        Filter, friction terms, what is known, weights of the joints and damping stay; the refits are least
        squares, whether their bodies can exist or not.
        """
        folds = check.whole_number("folds", folds, 2)
        train = LogSet.of(self.described, logs, samples)
        return cross_validate(self.model.problem, train, self.scale, self.model.damping, self.free, folds)

    def compare(self, logs: Any, samples: Any = None) -> list[Comparison]:
        """Measured and predicted torques of logs, with the filtered motion, in memory: for figures."""
        return list(comparisons(self.model.problem, self.x, LogSet.of(self.described, logs, samples)))

    # ---- to read and to keep ---------------------------------------------------------------------------

    def table(self) -> tuple[EstimateRow, ...]:
        """A row for each base parameter: combination, estimate, standard error, interval, nominal value."""
        errors, intervals, nominal = self.standard_errors, self.intervals, self.values_of(self.described)
        leading = [self.base.grouping.layout[p] for p in self.base.grouping.leading]
        return tuple(
            EstimateRow(
                name=parameter.name,
                label=self.labels[k],
                combination=self.base.combinations[k],
                joint=parameter.joint + 1,
                unit=unit(self.robot, parameter),
                estimate=float(self.parameters[k]),
                standard_error=float(errors[k]),
                low=float(intervals[k, 0]),
                high=float(intervals[k, 1]),
                nominal=float(nominal[k]),
                shown=not self.not_shown[k],
                essential=bool(self.essential[k]),
            )
            for k, parameter in enumerate(leading)
        )

    def summary(self, parameters: bool = True) -> str:
        """Errors, filter, friction and why, added terms, notes and, if wanted, every base parameter."""
        return text(self, parameters)

    def save(self, path: str | Path) -> Path:
        """Write all of the fit to a JSON file that `Fit.load` reads: it predicts the same, bit for bit.

        The file has robot, description, choices, estimates, their covariance, where the logs moved, and what
        the logs were (SHA-256), with a checksum and the version of armdyn.
        """
        return fit_file.save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a fit that `save` wrote; a damaged file, or one of another version, is refused."""
        found = fit_file.load(cls, path)
        if wrong := _unsound(found):
            raise IdentificationError(f"{path}: the file is damaged: {wrong}")
        return found

    def to_dict(self) -> dict[str, Any]:
        """All numbers of the fit in lists and texts, for JSON; infinite ones are None."""
        model = self.model
        found: dict[str, Any] = {
            "robot": self.robot.name,
            "method": self.method,
            "consistent": self.consistent,
            "consistency_cost": self.consistency_cost,
            "training_error": self.training_error,
            "filtered_error": self.filtered_error,
            "cutoff": model.problem.cutoff,
            "friction": [asdict(one) for one in model.friction],
            "sign_width": model.problem.width,
            "damping": model.damping,
            "condition": self.condition,
            "singular_values": self.singular_values,
            "added": self.added,
            "parameters": dict(zip(self.robot.parameter_names, self.robot.parameters, strict=True)),
            "base": [asdict(row) | {"relative_error": row.relative_error} for row in self.table()],
            "joints": [
                {"scale": float(s), "repeats": float(r)}
                for s, r in zip(self.scale, self.repeats, strict=True)
            ],
            "validation": None if self.validation is None else _validation(self.validation),
            "notes": self.notes,
        }
        return plain(found)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return (
            f"<Fit of {self.robot.name}: {len(self.base)} base parameters, "
            f"training error {100 * self.training_error:.3g} %>"
        )
