"""Which model a fit uses: the cut-off of the filters, friction terms and damping, chosen or as asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from armdyn.expression.functions import smooth_sign
from armdyn.identification.errors import IdentificationError
from armdyn.identification.log import Log, Record
from armdyn.identification.log_set import BLOCK, SLOWEST, LogSet, reach
from armdyn.identification.regression import (
    Factors,
    Problem,
    column_scales,
    joint_scales,
    solve,
)
from armdyn.identification.signals import DENSE, Kinematics, States, segments_of, states
from armdyn.identification.template import Free, FrictionTerms, Surfaces, Template, make_template
from armdyn.model.friction import TERMS, Sliding
from armdyn.model.parameters import Parameter, symbol
from armdyn.robot import Robot
from armdyn.robot.friction import speeds_of

# ------------------------------------------------------------------------------------------------------------
# Cross-validation inside the training data, from one product matrix for each fold.
#
# The samples are cut into folds, each a stretch of time: neighbouring samples are too alike to check each
# other. Whatever set of columns and whatever damping is tried, its error on the fold left out follows from
# the products [Y τ]ᵀ[Y τ] of the folds.


FOLDS = 10
_ROUNDING = 1e-12  # of the greatest eigenvalue


# Columns (M, n, …) as Y (M, n, P), torques that are known (M, n), and the joints' scales (n,).
Split: TypeAlias = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Products:
    """G = [Y z]ᵀ[Y z] of each fold, (folds, P + 1, P + 1), rows divided by their joints' scales."""

    G: np.ndarray
    rows: int

    @staticmethod
    def of(parts: Sequence[States], columns: Callable[[Kinematics], np.ndarray], split: Split) -> Products:
        """Products of parts in the order of time; z are torques less what `split` finds known of them."""
        used = np.concatenate([part.use.any(1) for part in parts])
        fold = np.minimum(np.cumsum(used) * FOLDS // max(int(used.sum()), 1), FOLDS - 1)
        G = np.zeros(0)
        for part, own in zip(parts, np.split(fold, np.cumsum([len(part) for part in parts])), strict=False):
            for at, seen in part.seen_by(columns):
                Y, known, scale = split(seen)
                G = G if G.size else np.zeros((FOLDS, Y.shape[2] + 1, Y.shape[2] + 1))
                _add(G, Y / scale[:, None], (part.tau[at] - known) / scale, part.use[at], own[at])
        return Products(G, int(sum(part.use.sum() for part in parts)))

    def less(self, known: np.ndarray) -> Products:
        """The same of torques less what the columns give with coefficients `known` (P,)."""
        G = self.G.copy()
        part = G[:, :, :-1] @ known
        G[:, -1, -1] += part[:, :-1] @ known - 2 * part[:, -1]
        G[:, :-1, -1] -= part[:, :-1]
        G[:, -1, :-1] -= part[:, :-1]
        return Products(G, self.rows)

    def errors(self, columns: np.ndarray, dampings: Sequence[float]) -> np.ndarray:
        """Mean squares of the folds left out, (folds, dampings), that add up to the error per row."""
        total = self.G.sum(0)
        found = np.empty((len(self.G), len(dampings)))
        inner = np.ix_(columns, columns)
        for k, G in enumerate(self.G):
            for d, x in enumerate(self._solutions(total - G, columns, dampings)):
                found[k, d] = x @ G[inner] @ x - 2 * x @ G[columns, -1] + G[-1, -1]
        return np.maximum(found, 0) / max(self.rows, 1)  # squares: less than zero is rounding

    @staticmethod
    def _solutions(G: np.ndarray, columns: np.ndarray, dampings: Sequence[float]) -> list[np.ndarray]:
        H, b = G[np.ix_(columns, columns)], G[columns, -1]
        D = column_scales(np.sqrt(np.maximum(np.diag(H), 0)))
        values, V = np.linalg.eigh(H / np.outer(D, D))
        right = V.T @ (b / D)
        floor = _ROUNDING * max(float(values.max(initial=0.0)), 1e-300)
        kept = values > floor * len(values)
        return [V[:, kept] @ (right[kept] / (values[kept] + d)) / D for d in dampings]


def _add(G: np.ndarray, Y: np.ndarray, z: np.ndarray, use: np.ndarray, fold: np.ndarray) -> None:
    """Add the rows to the products of their folds, joint by joint: most columns of a joint are zero."""
    for j in range(z.shape[1]):
        alive = np.append(Y[:, j].any(0), True)
        for k in np.unique(fold):
            at = (fold == k) & use[:, j]
            A = np.column_stack([Y[at, j][:, alive[:-1]], z[at, j]])
            G[np.ix_([k], alive, alive)] += A.T @ A


# ------------------------------------------------------------------------------------------------------------
# Which friction terms, width of the sign and damping predict data best that were left out.


WIDTHS = (0.0, 0.02, 0.05, 0.1)  # of a surface's greatest speed
VELOCITIES = (0.05, 0.1, 0.2, 0.4)  # of a joint's greatest speed, for the Stribeck term
DAMPINGS = (0.0, 1e-3, 3e-3, 1e-2, 3e-2)
DAMPED = (1e-6, 1e-5, 1e-4, *DAMPINGS[1:], 1e-1)  # where damping is asked for
_WORTH = 0.005  # of the error: what a further term must gain at least
_NOTHING = 1e-3  # in units of the noise: less is rounding


@dataclass(frozen=True, order=True)
class Friction:
    """A way to model friction, the same for all joints, relative to their greatest speeds.

    With width=None friction is that of the description: its widths, its terms.
    """

    width: float | None = 0.0  # of the smooth sign
    stribeck: float | None = None  # the velocity of the Stribeck term; None: without
    cubic: bool = False

    @property
    def terms(self) -> int:
        return (self.stribeck is not None) + self.cubic

    def __str__(self) -> str:
        parts = ["viscous, Coulomb, offset"]
        if self.stribeck is not None:
            parts.append(f"Stribeck at {100 * self.stribeck:g} % of the greatest speed")
        if self.cubic:
            parts.append("cubic")
        return ", ".join(parts)


@dataclass(frozen=True)
class Trial:
    """A model that was tried: its error on the folds that were left out."""

    friction: Friction
    damping: float
    error: float  # mean square, in units of the joints' noise
    folds: np.ndarray = field(repr=False)  # (folds,) that add up to it


def greatest_speeds(surfaces: Surfaces, parts: Sequence[States]) -> np.ndarray:
    """(E,) the speed that one sample in a thousand exceeds, per surface."""
    used = [(part.motion, part.use.any(1)) for part in parts]
    speeds = [np.abs(surfaces.speeds(motion.q[use], motion.qd[use])) for motion, use in used]
    return np.asarray(np.quantile(np.concatenate(speeds), 0.999, axis=0))


def friction_terms(friction: Friction, greatest: np.ndarray, own: np.ndarray) -> FrictionTerms | None:
    """The terms of each coordinate, whose surfaces are `own` (n,); joints that hardly move get none.

    None where they are those of the description.
    """
    if friction.width is None:
        return None
    speed = greatest[own]
    moving = speed > 0
    share = np.nan if friction.stribeck is None else friction.stribeck
    return FrictionTerms(np.where(moving, share * speed, np.nan), moving & friction.cubic)


def sign_widths(friction: Friction, greatest: np.ndarray, described: np.ndarray) -> np.ndarray:
    """(E,) widths of the sign of surfaces; those that do not move keep the description's."""
    if friction.width is None:
        return described
    return np.where(greatest > 0, friction.width * greatest, described)


class Candidates:
    """The columns of every model that is tried, side by side, and which of them each one has.

    What the description says of friction that depends on the direction is taken off the torques by each
    model's own columns (`Products.less`): by columns of another width it would leave what none explains.
    """

    def __init__(
        self,
        template: Template,
        parts: Sequence[States],
        scale: np.ndarray,
        free: np.ndarray,
        models: Sequence[Friction],
        levels: Mapping[str, np.ndarray],
    ) -> None:
        """The template has none of the terms that the models add; `levels` are the description's (n,)."""
        self.models, self.levels = models, levels
        self.widths = list(dict.fromkeys(model.width for model in models))
        self.velocities = list(dict.fromkeys(x.stribeck for x in models if x.stribeck is not None))
        self.plain = Problem(template)
        self.greatest = greatest_speeds(self.plain.surfaces, parts)
        self.template = template
        self.n = template.robot.n
        self.turning = [(p, e, term) for p, e, term in self.plain.friction if TERMS[term].turns]
        self.turned = np.array([p for p, *_ in self.turning], int)
        self.kept = np.ones(len(template.layout), bool)
        self.kept[self.turned] = False
        self.free = np.flatnonzero(free[self.kept])
        self.free_turned = np.flatnonzero(free[self.turned])
        self.products = Products.of(parts, self._wide, lambda x: (x[..., :-1], x[..., -1], scale))

    def _wide(self, motion: Kinematics) -> np.ndarray:
        """The columns of all models, and the torques of the description without friction of `turning`."""
        Y = self.plain(motion)[:, :, self.kept]
        known = (Y @ self.template.prior[self.kept])[:, :, None]
        return np.concatenate([Y, self._friction(motion), known], axis=2)

    def _friction(self, motion: Kinematics) -> np.ndarray:
        """(M, n, T·W + n·(1 + W·V)): columns of T terms that depend on the direction, cubic, Stribeck."""
        surfaces = self.plain.surfaces
        found = surfaces.at(motion.q)
        v = speeds_of(found, motion.qd)
        rows = np.swapaxes(found, -1, -2)
        shares = [Friction(w) for w in self.widths]
        signs = [smooth_sign(v, sign_widths(x, self.greatest, surfaces.widths)) for x in shares]
        blocks = []
        for s, (_, e, term) in product(signs, self.turning):
            slides = Sliding(v[:, e], s[:, e], surfaces.of[e].stribeck_velocity)
            blocks.append((TERMS[term].of(slides)[:, None] * rows[..., e])[:, :, None])
        joints = surfaces.own
        speed = np.where(self.greatest > 0, self.greatest, 1.0)[joints]
        cubic = TERMS["cubic"].of(Sliding(v[:, joints], np.sign(v[:, joints])))
        blocks.append(cubic[:, None, :] * rows[..., joints])
        for s, share in product(signs, self.velocities):
            stribeck = TERMS["stribeck"].of(Sliding(v[:, joints], s[:, joints], share * speed))
            blocks.append(stribeck[:, None, :] * rows[..., joints])
        return np.concatenate(blocks, axis=2)

    def columns(self, friction: Friction) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of a model's columns, and what the description says of its friction (P,)."""
        first, T, n = int(self.kept.sum()), len(self.turning), self.n
        known = np.zeros(self.products.G.shape[-1] - 1)
        w = self.widths.index(friction.width)
        turned, cubic = first + w * T, first + len(self.widths) * T
        known[turned : turned + T] = self.template.prior[self.turned]
        found = [self.free, turned + self.free_turned]
        if friction.cubic:
            found.append(cubic + np.arange(n))
            known[found[-1]] = self.levels["cubic"]
        if friction.stribeck is not None:
            block = w * len(self.velocities) + self.velocities.index(friction.stribeck)
            found.append(cubic + n * (1 + block) + np.arange(n))
            known[found[-1]] = self.levels["stribeck"]
        return np.concatenate(found), known

    def trials(self, dampings: Sequence[float]) -> list[Trial]:
        found = []
        for friction in self.models:
            columns, known = self.columns(friction)
            errors = self.products.less(known).errors(columns, dampings)
            found += [
                Trial(friction, damping, float(errors[:, d].sum()), errors[:, d])
                for d, damping in enumerate(dampings)
            ]
        return found


# A Stribeck term that fades within the width of the sign could not be told from a lower level.
FAMILY = tuple(
    Friction(width, velocity, cubic)
    for width, velocity, cubic in product(WIDTHS, (None, *VELOCITIES), (False, True))
    if velocity is None or velocity >= width
)


def choose(trials: Sequence[Trial]) -> Trial:
    """The model of fewest terms, then least damping, whose error is within half a percent of the least."""
    least = min(trial.error for trial in trials)
    rivals = [trial for trial in trials if trial.error <= (1 + _WORTH) * least + _NOTHING]
    return min(rivals, key=lambda trial: (trial.friction.terms, trial.damping, trial.error))


# ------------------------------------------------------------------------------------------------------------
# Which model a fit uses: the cut-off of the filters, friction terms and damping, chosen or as asked for.


FASTEST, STEP = 80.0, 1.3  # Hz: the highest cut-off that is tried; each is STEP times the next
NYQUIST_SHARE = 0.25  # of a log's rate: the highest cut-off
NEAR = 0.03  # of the least error: the lowest cut-off within it is taken
SPARSER = 4.0  # times fewer instants than a fit has, which is enough to compare cut-offs
HOPELESS = 2.0  # times the least error: lower cut-offs are not tried
START = 0.02  # width of the sign while the cut-off is chosen, of the greatest speed
ENOUGH, SPANS = 20_000, 10  # states from which choices are made, and spans of a long log that have them
WIDER = 3.0  # times the cut-off of least squares for instruments: noise costs variance there and no bias
LONG = 200_000  # samples from which it is seen how alike neighbouring residuals are


@dataclass(frozen=True)
class Request:
    """The options of `identify`; None is chosen from the data."""

    method: str
    cutoff: float | None
    friction: Friction | None  # with its width
    damping: float | None
    add: bool  # terms that the description does not have
    free: Free  # what is estimated
    instruments: Any = None
    consistent: bool | None = False  # None: where it is found
    prior: Any = None  # for bodies that can exist


@dataclass(frozen=True)
class Chosen:
    """The model of a fit, and why."""

    problem: Problem
    friction: Friction
    damping: float
    cutoffs: tuple[tuple[float, float], ...]  # cut-offs that were tried [Hz], and their errors
    trials: tuple[Trial, ...] = field(repr=False)  # of friction and damping; none where both were given
    greatest: np.ndarray  # (E,) speeds of the surfaces [rad/s or m/s]


def choose_model(robot: Robot, records: Sequence[Record], request: Request) -> Chosen:
    """The model for the logs that these records are of; `enough_records` are enough to choose by."""
    described = request.friction is not None and request.friction.width is None
    without = None if described else FrictionTerms.none(robot.n)
    template = make_template(robot, without, request.add)
    free = request.free.mask(template)
    cutoff, tried = _cutoff(template, records, request, free)
    parts = _parts(records, cutoff)
    if not sum(int(part.use.sum()) for part in parts):
        raise IdentificationError("no sample is left for the fit: all are at the ends of short stretches")
    surfaces = Surfaces.of_robot(template.robot)
    greatest = greatest_speeds(surfaces, parts)
    friction, damping, trials = request.friction, request.damping, list[Trial]()
    if friction is None or damping is None:
        models = FAMILY if friction is None else (friction,)
        several = DAMPED if request.method == "damped" else DAMPINGS
        dampings = several if damping is None else (damping,)
        scale = noise_scale(Problem(template.with_widths(START * greatest)), parts, free)
        levels = {term: _described(robot, surfaces, term) for term in ("stribeck", "cubic")}
        trials = Candidates(template, parts, scale, free, models, levels).trials(dampings)
        best = choose(trials)
        friction, damping = best.friction, best.damping
    full = make_template(robot, friction_terms(friction, greatest, surfaces.own), request.add)
    problem = Problem(full.with_widths(sign_widths(friction, greatest, surfaces.widths)), cutoff)
    return Chosen(problem, friction, damping, tried, tuple(trials), greatest)


def _described(robot: Robot, surfaces: Surfaces, term: str) -> np.ndarray:
    """(n,) what the description says of a term of friction; 0 where it says nothing."""
    known = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    names = [Parameter(symbol("joint", term), int(joint)).name for joint in surfaces.own]
    return np.array([known.get(name, 0.0) for name in names])


def enough_records(samples: LogSet) -> list[Record]:
    """Records for choices: all of the logs, or, of long ones, spans spread over them.

    What may enter the fit counts, in states as dense as the fastest filter wants them.
    """
    logs = samples.logs
    rates = [log.rate for log in logs]
    thin = [max(1, int(rate / (DENSE * FASTEST))) if np.isfinite(rate) else 1 for rate in rates]
    sizes = np.array([samples.allowed(k) / thin[k] for k in range(len(logs))])
    if sizes.sum() <= ENOUGH:
        return list(samples.records())
    found: list[Record] = []
    ends = np.cumsum(sizes)
    spans = max(SPANS, min(len(logs), int(ENOUGH / sizes.mean())))  # more where the logs are short
    before = (-1, 0)  # log and row where the last span ended
    for place in (np.arange(spans) + 0.5) / spans * ends[-1]:
        k = int(np.searchsorted(ends, place))
        middle = samples.row(k, int((place - ends[k] + sizes[k]) * thin[k]))
        half = ENOUGH * thin[k] // (2 * spans)
        rows = len(logs[k])
        start = max(min(middle - half, rows - 2 * half), before[1] if before[0] == k else 0)
        stop = min(start + 2 * half, rows)
        before = (k, stop)
        around = int(np.ceil(rates[k] / SLOWEST)) if np.isfinite(rates[k]) else 0
        found += samples.span(k, start, stop, around)
    return found


def long_records(samples: LogSet, cutoff: float | None) -> list[Record]:
    """Records as long as they get, of some logs: whole ones from memory, of files a part in the middle."""
    logs, most = samples.logs, BLOCK
    lengths = [min(len(log), most) for log in logs]
    count = min(len(logs), max(4, LONG * len(logs) // sum(lengths)))
    found: list[Record] = []
    for k in np.unique(np.linspace(0, len(logs) - 1, count).astype(int)).tolist():
        rows = len(logs[k])
        if isinstance(logs[k], Log) or rows <= most:
            found += samples.records(cutoff, k)
        else:
            start = min(max(samples.row(k, samples.allowed(k) // 2) - most // 2, 0), rows - most)
            found += samples.span(k, start, start + most, reach(logs[k].rate, cutoff))
    some = any((record.own[:, None] & record.usable).any() for record in found)
    return found if some else enough_records(samples)


def _parts(records: Iterable[Record], cutoff: float | None, fastest: float | None = None) -> list[States]:
    return [part for record in records for part in states(record, cutoff, fastest)]


# ---- the cut-off -------------------------------------------------------------------------------------------


def _cutoff(
    template: Template, records: Sequence[Record], request: Request, free: np.ndarray
) -> tuple[float | None, tuple[tuple[float, float], ...]]:
    """The lowest cut-off that predicts nearly as well as the best; lower ones pass less noise on."""
    if all(record.qdd is not None for record in records):
        return None, ()
    if request.cutoff is not None:
        return request.cutoff, ()
    rates = [segment.rate for record in records for segment in segments_of(record)]
    highest = min(FASTEST, NYQUIST_SHARE * min(rates, default=np.inf))
    count = max(1, int(np.log(highest / SLOWEST) / np.log(STEP)) + 1)
    dampings = DAMPINGS if request.damping is None else (request.damping,)
    tried, scale = [], None
    for cutoff in highest / STEP ** np.arange(count):
        parts = _trimmed(_parts(records, float(cutoff), highest / SPARSER))
        if not parts:
            break
        greatest = greatest_speeds(Surfaces.of_robot(template.robot), parts)
        problem = Problem(template.with_widths(START * greatest))
        scale = noise_scale(problem, parts, free) if scale is None else scale
        tried.append((float(cutoff), _error(problem, parts, scale, free, dampings)))
        if tried[-1][1] > HOPELESS * min(error for _, error in tried):
            break
    if not tried:
        return float(highest), ()
    least = min(error for _, error in tried)
    chosen = min(cutoff for cutoff, error in tried if error <= (1 + NEAR) * least)
    wider = WIDER if request.method == "instrumental" else 1.0
    return float(min(wider * chosen, highest)), tuple(tried)


def _trimmed(parts: Sequence[States]) -> list[States]:
    """The samples that every cut-off shares: without the ends that the slowest filter needs."""
    found = []
    for part in parts:
        inside = np.arange(len(part))
        edge = min(part.rate / SLOWEST / 2, len(part) / 4)
        use = part.use & ((inside >= edge) & (inside < len(part) - edge))[:, None]
        if use.any():
            found.append(replace(part, use=use))
    return found


def _error(
    problem: Problem, parts: Sequence[States], scale: np.ndarray, free: np.ndarray, dampings: Sequence[float]
) -> float:
    """The error of the plain model on folds that were left out, with the best damping."""
    prior = problem.template.prior
    products = Products.of(parts, problem, lambda Y: (Y, Y @ prior, scale))
    errors = products.errors(np.flatnonzero(free), dampings)
    return float(errors.sum(0).min())


def noise_scale(problem: Problem, parts: Sequence[States], free: np.ndarray) -> np.ndarray:
    """(n,) what plain least squares does not explain, per joint."""
    factors = problem.factors(parts)
    assert factors is not None
    return weighted(factors, problem.template.prior, free=free)[1]


def weighted(
    factors: Factors, prior: np.ndarray, damping: float = 0.0, free: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Estimates and joint scales (n,) of least squares, each joint divided by what it leaves unexplained."""
    scale = factors.sizes()
    floor = 1e-6 * scale
    for _ in range(6):
        found = solve(factors.weighted(scale), prior, damping, free)
        before, scale = scale, joint_scales(factors.squares(found.x), factors.rows, found.rank, floor)
        if np.allclose(scale, before, rtol=1e-4):
            break
    return found.x, scale
