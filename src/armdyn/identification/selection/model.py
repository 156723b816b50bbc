"""Which model a fit uses: the cut-off of the filters, friction terms and damping, chosen or as asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from armdyn.identification.errors import IdentificationError
from armdyn.identification.logs.log import Log
from armdyn.identification.regression.columns import Columns, Surfaces
from armdyn.identification.regression.factor import Factors, merged
from armdyn.identification.regression.free import Free
from armdyn.identification.regression.pieces import BLOCK, SLOWEST, Piece, Source, reach
from armdyn.identification.regression.problem import Problem
from armdyn.identification.regression.solve import joint_scales, solve
from armdyn.identification.regression.states import DENSE, States, states
from armdyn.identification.regression.template import Template, make_template
from armdyn.identification.selection.choice import (
    DAMPINGS,
    FAMILY,
    Candidates,
    Choice,
    Friction,
    choose,
    friction_terms,
    greatest_speeds,
)
from armdyn.identification.selection.crossval import Products
from armdyn.identification.signals.stretch import stretches
from armdyn.robot import Robot

FASTEST, STEP = 80.0, 1.3  # Hz: the highest cut-off that is tried; each is STEP times the next
NYQUIST_SHARE = 0.25  # of a log's rate: the highest cut-off
NEAR = 0.03  # of the least error: the lowest cut-off within it is taken
SPARSER = 4.0  # times fewer instants than a fit has, which is enough to compare cut-offs
HOPELESS = 2.0  # times the least error: lower cut-offs are not tried
START = 0.02  # width of the sign while the cut-off is chosen, of the greatest speed
ENOUGH, SPANS = 20_000, 10  # states from which choices are made, and spans of a long log that have them
LONG = 200_000  # samples from which it is seen how alike neighbouring residuals are


@dataclass(frozen=True)
class Wishes:
    """What the caller fixes; None is chosen from the data."""

    cutoff: float | None = None
    friction: Friction | None = None  # with its width
    damping: float | None = None
    add: bool = True  # terms that the description does not have
    free: Free = field(default_factory=Free)  # what is estimated
    dampings: tuple[float, ...] = DAMPINGS  # to choose from
    wider: float = 1.0  # times the cut-off that is chosen


@dataclass(frozen=True)
class Chosen:
    """The model of a fit, and why."""

    problem: Problem
    friction: Friction
    damping: float
    cutoffs: tuple[tuple[float, float], ...]  # cut-offs that were tried [Hz], and their errors
    choice: Choice | None  # None where nothing was left to choose
    greatest: np.ndarray  # (E,) speeds of the surfaces [rad/s or m/s]


def choose_model(robot: Robot, pieces: Sequence[Piece], wishes: Wishes) -> Chosen:
    """The model for the logs that these pieces are of; `enough_pieces` are enough to choose by."""
    template = make_template(robot, add=wishes.add)
    free = wishes.free.mask(template)
    cutoff, tried = _cutoff(template, pieces, wishes, free)
    parts = _parts(pieces, cutoff)
    if not sum(int(part.use.sum()) for part in parts):
        raise IdentificationError("no sample is left for the fit: all are at the ends of short stretches")
    surfaces = Surfaces.of_robot(template.robot)
    greatest = greatest_speeds(surfaces, parts)
    friction, damping, choice = wishes.friction, wishes.damping, None
    if friction is None or damping is None:
        models = FAMILY if friction is None else (friction,)
        dampings = wishes.dampings if damping is None else (damping,)
        choice = _choice(template, parts, greatest, models, dampings, free)
        friction, damping = choice.friction, choice.damping
    full = make_template(robot, friction_terms(friction, greatest, surfaces.own), wishes.add)
    problem = Problem(full, friction.width * greatest, cutoff)
    return Chosen(problem, friction, damping, tried, choice, greatest)


def enough_pieces(robot: Robot, logs: Sequence[Source]) -> list[Piece]:
    """Pieces for choices: all of the logs, or, of long ones, spans spread over them.

    What may enter the fit counts, in states as dense as the fastest filter wants them.
    """
    rates = [log.log.rate for log in logs]
    thin = [max(1, int(rate / (DENSE * FASTEST))) if np.isfinite(rate) else 1 for rate in rates]
    sizes = np.array([log.allowed / k for log, k in zip(logs, thin, strict=True)])
    if sizes.sum() <= ENOUGH:
        return [piece for log in logs for piece in log.pieces(robot)]
    found: list[Piece] = []
    ends = np.cumsum(sizes)
    spans = max(SPANS, min(len(logs), int(ENOUGH / sizes.mean())))  # more where the logs are short
    before = (-1, 0)  # log and row where the last span ended
    for place in (np.arange(spans) + 0.5) / spans * ends[-1]:
        k = int(np.searchsorted(ends, place))
        middle = logs[k].row(int((place - ends[k] + sizes[k]) * thin[k]))
        half = ENOUGH * thin[k] // (2 * spans)
        rows = len(logs[k].log)
        start = max(min(middle - half, rows - 2 * half), before[1] if before[0] == k else 0)
        stop = min(start + 2 * half, rows)
        before = (k, stop)
        around = int(np.ceil(rates[k] / SLOWEST)) if np.isfinite(rates[k]) else 0
        found += logs[k].span(robot, start, stop, around)
    return found


def long_pieces(robot: Robot, logs: Sequence[Source], cutoff: float | None) -> list[Piece]:
    """Pieces as long as they get, of some logs: whole ones from memory, of files a block in the middle."""
    lengths = [min(len(log.log), BLOCK) for log in logs]
    count = min(len(logs), max(4, LONG * len(logs) // sum(lengths)))
    found: list[Piece] = []
    for k in np.unique(np.linspace(0, len(logs) - 1, count).astype(int)):
        log, rows = logs[k], len(logs[k].log)
        if isinstance(log.log, Log) or rows <= BLOCK:
            found += log.pieces(robot, cutoff)
        else:
            start = min(max(log.row(log.allowed // 2) - BLOCK // 2, 0), rows - BLOCK)
            found += log.span(robot, start, start + BLOCK, reach(log.log.rate, cutoff))
    some = any((piece.samples[:, None] & piece.record.usable).any() for piece in found)
    return found if some else enough_pieces(robot, logs)


def _parts(pieces: Iterable[Piece], cutoff: float | None, fastest: float | None = None) -> list[States]:
    return [
        part
        for piece in pieces
        for part in states(piece.record, piece.samples, cutoff, fastest, piece.allowed)
    ]


# ---- the cut-off -------------------------------------------------------------------------------------------


def _cutoff(
    template: Template, pieces: Sequence[Piece], wishes: Wishes, free: np.ndarray
) -> tuple[float | None, tuple[tuple[float, float], ...]]:
    """The lowest cut-off that predicts nearly as well as the best; lower ones pass less noise on."""
    if all(piece.record.qdd is not None for piece in pieces):
        return None, ()
    if wishes.cutoff is not None:
        return wishes.cutoff, ()
    rates = [stretch.rate for piece in pieces for stretch in stretches(piece.record)]
    highest = min(FASTEST, NYQUIST_SHARE * min(rates, default=np.inf))
    count = max(1, int(np.log(highest / SLOWEST) / np.log(STEP)) + 1)
    tried, scale = [], None
    for cutoff in highest / STEP ** np.arange(count):
        parts = _trimmed(_parts(pieces, float(cutoff), highest / SPARSER))
        if not parts:
            break
        columns = Columns(template, START * greatest_speeds(Surfaces.of_robot(template.robot), parts))
        scale = noise_scale(columns, parts, free) if scale is None else scale
        tried.append((float(cutoff), _error(columns, parts, scale, free)))
        if tried[-1][1] > HOPELESS * min(error for _, error in tried):
            break
    if not tried:
        return float(highest), ()
    least = min(error for _, error in tried)
    chosen = min(cutoff for cutoff, error in tried if error <= (1 + NEAR) * least)
    return float(min(wishes.wider * chosen, highest)), tuple(tried)


def _trimmed(parts: Sequence[States]) -> list[States]:
    """The same samples for every cut-off: without the ends that the slowest filter needs."""
    found = []
    for part in parts:
        inside = np.arange(len(part))
        edge = min(part.rate / SLOWEST / 2, len(part) / 4)
        use = part.use & ((inside >= edge) & (inside < len(part) - edge))[:, None]
        if use.any():
            found.append(replace(part, use=use))
    return found


def _error(columns: Columns, parts: Sequence[States], scale: np.ndarray, free: np.ndarray) -> float:
    """Of the plain model on folds that were left out, with the best damping."""

    def data(part: States, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        Y = part.seen_between(columns, start, stop)
        z = part.tau[start:stop] - Y @ columns.template.prior
        return Y / scale[:, None], z / scale

    errors = Products.of(parts, data).errors(np.flatnonzero(free), DAMPINGS)
    return float(errors.sum(0).min())


def noise_scale(columns: Columns, parts: Sequence[States], free: np.ndarray) -> np.ndarray:
    """(n,) what plain least squares does not explain, per joint."""
    factors = merged(
        Factors.of(part.seen_between(columns, start, stop), part.tau[start:stop], part.use[start:stop])
        for part in parts
        for start, stop in part.blocks
    )
    return weighted(factors, columns.template.prior, free=free)[1]


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


# ---- friction and damping ----------------------------------------------------------------------------------


def _choice(
    template: Template,
    parts: Sequence[States],
    greatest: np.ndarray,
    models: Sequence[Friction],
    dampings: Sequence[float],
    free: np.ndarray,
) -> Choice:
    scale = noise_scale(Columns(template, START * greatest), parts, free)
    trials = Candidates(template, parts, scale, free, models).trials(dampings)
    best = choose(trials)
    return Choice(best.friction, best.damping, tuple(trials))
