"""Which model was fitted and why, in words: filter, friction, width of the sign, damping, added terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from armdyn.identification.selection.choice import Friction, Trial
from armdyn.identification.selection.model import NEAR
from armdyn.robot.joints import joint_units

if TYPE_CHECKING:
    from armdyn.identification.estimation.fit import Fit

_SETS = {
    (False, False): "viscous, Coulomb and offset alone",
    (True, False): "with Stribeck",
    (False, True): "with a cubic term",
    (True, True): "with Stribeck and a cubic term",
}


def reasons(fit: Fit) -> list[tuple[str, list[str]]]:
    """Titles and sentences."""
    return [
        ("filter", [_filter(fit)]),
        ("friction", _friction(fit)),
        ("sign", [_sign(fit)]),
        ("damping", [_damping(fit)]),
        ("added", [", ".join(fit.added) or "nothing: the description has all terms"]),
    ]


def term_set(friction: Friction) -> tuple[bool, bool]:
    """Whether it has a Stribeck and a cubic term."""
    return friction.stribeck is not None, friction.cubic


def own_terms(fit: Fit) -> str:
    """The set of terms that was fitted, in words as in `rivals`."""
    return _SETS[term_set(fit.model.friction)]


def rivals(fit: Fit) -> dict[str, float]:
    """The least error of each set of friction terms on data left out, as a part of the chosen model's."""
    trials = () if fit.model.choice is None else fit.model.choice.trials
    chosen = _chosen(fit, trials)
    if chosen is None:
        return {}
    best: dict[str, float] = {}
    for trial in trials:
        name = _SETS[term_set(trial.friction)]
        best[name] = min(best.get(name, np.inf), trial.error)
    return {name: float(np.sqrt(error / chosen.error)) for name, error in best.items()}


def _chosen(fit: Fit, trials: Sequence[Trial]) -> Trial | None:
    own = (fit.model.friction, fit.model.damping)
    return next((x for x in trials if (x.friction, x.damping) == own and x.error > 0), None)


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
    found = rivals(fit)
    own = own_terms(fit)
    if len(found) < 2:
        return [f"{fit.model.friction}, as asked for"]
    others = [f"{name} {percent(ratio)}" for name, ratio in found.items() if name != own]
    text = str(fit.model.friction)
    return [f"{text}: chosen by the error on data left out", f"against it: {'; '.join(others)}"]


def percent(ratio: float) -> str:
    """By how much an error differs from the chosen model's."""
    change = round(100 * (ratio - 1), 1)
    return f"{change:+.1f} %".replace("-", "−") if change else "0 %"


def _sign(fit: Fit) -> str:
    width, n = fit.model.problem.width, fit.robot.n
    if not width.any():
        return "as it is, a step at zero speed" + _widths(fit)
    each = ", ".join(f"{x:.2g}" for x in width[:n])
    units = dict.fromkeys(joint_units(fit.robot, j).velocity for j in range(n))
    share = 100 * fit.model.friction.width
    text = f"tanh(speed/width), width {share:g} % of each joint's greatest speed: {each} {' or '.join(units)}"
    return text + _widths(fit)


def _widths(fit: Fit) -> str:
    """What other widths would have cost."""
    trials = () if fit.model.choice is None else fit.model.choice.trials
    chosen, own = _chosen(fit, trials), fit.model.friction
    best: dict[float, float] = {}
    for trial in trials:
        if term_set(trial.friction) == term_set(own):
            width = trial.friction.width
            best[width] = min(best.get(width, np.inf), trial.error)
    if chosen is None or len(best) < 2:
        return ""
    costs = [
        f"{100 * width:g} % {percent(np.sqrt(error / chosen.error))}"
        for width, error in best.items()
        if width != own.width
    ]
    return f" (error with {', '.join(costs)})"


def _damping(fit: Fit) -> str:
    damping, choice = fit.model.damping, fit.model.choice
    if fit.consistent:
        return "none: bodies that can exist take none"
    how = "as asked for" if choice is None or len({x.damping for x in choice.trials}) < 2 else "chosen"
    what = "none" if not damping else f"{damping:g} of the columns' lengths, toward the description"
    return f"{what}, {how}"
