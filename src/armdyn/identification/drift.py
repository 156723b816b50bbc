"""What changed of a robot between two fits: wear, temperature, a payload.

Two fits of one arm have estimates of the same base parameters, π_old and π_new, with covariances C_old and
C_new. If nothing changed, d = π_new − π_old has the covariance C = C_old + C_new: each z = d/√C_kk is
standard normal, and dᵀ C⁻¹ d has a chi-square distribution.

A cause is a change of certain parameters δ of the arm: of the friction of one joint, or of the ten of a body,
the one that moves the tip with what it carries among them. It changes the base parameters by S δ, S being
columns of the base matrix. Some causes explain d if what least squares leaves of it, the least
(d − S δ)ᵀ C⁻¹ (d − S δ), is no more than chance leaves. A cause is named where all others together do not
explain d, and those that are named do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import chi2, norm

from armdyn.identification.coverage import columns
from armdyn.identification.errors import IdentificationError, check
from armdyn.identification.fit import Fit, entry
from armdyn.identification.template import Free
from armdyn.model.friction import TERMS
from armdyn.robot.joints import joint_name

LEVEL = 0.99  # with which a change is no chance
_SAME = 1e-9  # of combinations and of the smallest direction of a covariance, relative
_NEAR = 0.1  # Stribeck velocities and widths of the sign that differ less are the same


@dataclass(frozen=True)
class DriftRow:
    """A base parameter in both fits."""

    name: str
    label: str
    joint: int  # of its leading parameter, counted from 1
    unit: str
    old: float
    new: float
    standard_error: float  # of the change
    changed: bool  # beyond what chance gives any of the parameters

    @property
    def change(self) -> float:
        return self.new - self.old

    @property
    def z(self) -> float:
        """The change in standard errors."""
        return self.change / self.standard_error


@dataclass(frozen=True)
class Drift:
    """What `drift` found; `bool(drift)` is whether anything changed."""

    rows: tuple[DriftRow, ...] = field(repr=False)
    chi_square: float  # of all changes together
    freedom: int
    probability: float  # of so much by chance, if nothing changed
    causes: tuple[str, ...]  # where they are sure
    possible: tuple[str, ...]  # else those each of which alone explains all changes
    not_compared: tuple[str, ...] = field(repr=False)  # base parameters that a fit did not find
    notes: tuple[str, ...] = field(default=(), repr=False)
    level: float = field(default=LEVEL, repr=False)

    @property
    def changed(self) -> tuple[str, ...]:
        """Names of the base parameters that changed."""
        return tuple(row.name for row in self.rows if row.changed)

    def __bool__(self) -> bool:
        return self.probability < 1 - self.level or any(row.changed for row in self.rows)

    def summary(self) -> list[str]:
        """Lines: whether anything changed, what it probably is, what was not compared."""
        share = f"probability {self.probability:.2g}" if self.probability > 1e-12 else "no chance"
        test = f"chi-square {self.chi_square:.4g} with {self.freedom} degrees of freedom, {share}"
        count = len(self.changed)
        what = (
            f"{count} of {len(self.rows)} base parameters changed" if count else "no base parameter changed"
        )
        if self and not count:
            what = "the base parameters changed together, none of them surely by itself"
        lines = entry(
            "changed", [f"{what} beyond the uncertainty of both fits ({100 * self.level:g} %)", test]
        )
        unsure = ["not sure: several explain the changes, or none does"] if self else []
        if self.possible:
            unsure = ["not sure; one of these alone explains the changes:", *self.possible]
        lines += entry("cause", self.causes or unsure)
        lines += entry("left out", ["; ".join(self.not_compared)] if self.not_compared else [])
        return lines + entry("notes", self.notes)

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Heading and rows of texts."""
        heading = ("parameter", "unit", "old", "new", "change", "± error", "z", "")
        cells: list[tuple[str, ...]] = [
            (
                *(row.label, row.unit, f"{row.old:.4g}", f"{row.new:.4g}", f"{row.change:.3g}"),
                *(f"{row.standard_error:.2g}", f"{row.z:.1f}", "changed" if row.changed else ""),
            )
            for row in self.rows
        ]
        return heading, cells

    def __str__(self) -> str:
        heading, rows = self.table()
        lines = [*columns([list(heading), *map(list, rows)]), "", *self.summary()]
        return "\n".join(line.rstrip() for line in lines)


def drift(old: Fit, new: Fit, level: float = LEVEL) -> Drift:
    """Which base parameters changed from one fit of an arm to another beyond the uncertainty of both.

    Both fits must have the same base parameters: the same arm, the same friction terms. `level` is the
    probability with which an arm that did not change has no parameter that is called changed (Holm's
    correction for the number of parameters).
    """
    for name, fit in (("old", old), ("new", new)):
        if not isinstance(fit, Fit):
            raise IdentificationError(
                f"{name}: expected a Fit, found {type(fit).__name__}; Fit.load reads files"
            )
    if not 0 < check.number("level", level) < 1:
        raise IdentificationError(f"level: found {level:g}; between 0 and 1 is allowed")
    _check_same(old, new)
    C, d = _covariance(old) + _covariance(new), new.parameters - old.parameters
    kept = ~old.not_shown & ~new.not_shown
    for fit in (old, new):
        kept &= np.diag(_covariance(fit)) > 0  # what was known beforehand has none
    if not kept.any():
        raise IdentificationError("the fits have no base parameter that both of them found")
    errors = np.sqrt(np.diag(C)[kept])
    changed = _holm(2 * norm.sf(np.abs(d[kept] / errors)), 1 - level)
    whitened = _whitening(C[np.ix_(kept, kept)])
    total, freedom = _left(whitened @ d[kept], np.zeros((len(whitened), 0)))
    rows = [row for row, use in zip(new.table(), kept, strict=True) if use]
    causes, possible = _causes(new, kept, whitened, whitened @ d[kept], 1 - level)
    return Drift(
        rows=tuple(
            DriftRow(r.name, r.label, r.joint, r.unit, float(a), float(b), float(s), bool(c))
            for r, a, b, s, c in zip(
                rows, old.parameters[kept], new.parameters[kept], errors, changed, strict=True
            )
        ),
        chi_square=total,
        freedom=freedom,
        probability=float(chi2.sf(total, freedom)),
        causes=causes,
        possible=possible,
        not_compared=tuple(label for label, use in zip(new.labels, kept, strict=True) if not use),
        notes=_notes(old, new),
        level=float(level),
    )


def _covariance(fit: Fit) -> np.ndarray:
    """(b, b), also of what the data do not show."""
    return np.asarray(fit.base.matrix @ fit.covariance_x @ fit.base.matrix.T)


def _holm(probabilities: np.ndarray, level: float) -> np.ndarray:
    """Which of several tests are significant together, by Holm's steps down."""
    order = np.argsort(probabilities, kind="stable")
    passed = probabilities[order] <= level / np.arange(len(order), 0, -1)
    found = np.zeros(len(order), bool)
    found[order[: int(np.argmin(np.append(passed, False)))]] = True
    return found


def _whitening(C: np.ndarray) -> np.ndarray:
    """(r, b) W with WᵀW = C⁻¹ on what C has; directions without variance are left out."""
    s = np.sqrt(np.diag(C))
    values, V = np.linalg.eigh(C / np.outer(s, s))
    kept = values > _SAME * values.max()
    return np.asarray((V[:, kept] / np.sqrt(values[kept])).T / s)


def _left(d: np.ndarray, S: np.ndarray) -> tuple[float, int]:
    """What the columns of S leave of d, squared, and its degrees of freedom."""
    lengths = np.linalg.norm(S, axis=0)
    U, s, _ = np.linalg.svd(S / np.where(lengths > 0, lengths, 1.0), full_matrices=False)
    U = U[:, s > _SAME * max(s.max(initial=0.0), 1e-300)]
    rest = d - U @ (U.T @ d)
    return float(rest @ rest), len(d) - U.shape[1]


# ---- causes ------------------------------------------------------------------------------------------------


def _causes(
    fit: Fit, kept: np.ndarray, W: np.ndarray, d: np.ndarray, level: float
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Causes without which the changes stay unexplained, where they explain all of them; else those that may.

    Of the latter each alone explains all changes.
    """
    if _explained(d, np.zeros((len(d), 0)), level):
        return (), ()
    known = {text: W @ fit.base.matrix[kept][:, mask] for text, mask in _parts(fit)}

    def explain(texts: Sequence[str]) -> bool:
        return _explained(d, np.hstack([np.zeros((len(d), 0)), *(known[text] for text in texts)]), level)

    needed = [text for text in known if not explain([other for other in known if other != text])]
    if needed and explain(needed):
        return tuple(needed), ()
    return (), tuple(text for text in known if explain([text]))


def _explained(d: np.ndarray, S: np.ndarray, level: float) -> bool:
    left, freedom = _left(d, S)
    return freedom == 0 or bool(chi2.sf(left, freedom) > level)


def _parts(fit: Fit) -> list[tuple[str, np.ndarray]]:
    """Possible causes, and the parameters (p,) bool that they change; together they are all parameters."""
    template, links = fit.model.problem.template, fit.robot.model.moving
    tip = Free("payload").mask(template)
    places: dict[str, list[int]] = {}
    for k, parameter in enumerate(template.layout):
        if parameter.kind.part in ("joint", "motor", "idler", "damper") and parameter.kind.entry in TERMS:
            text = f"friction of {_joint(fit, parameter.joint)} (wear, temperature, lubrication)"
        elif tip[k]:
            text = "gravity and inertia of the link that moves the tip (a payload or tool)"
        elif parameter.kind.part == "body":
            text = f"gravity and inertia of link '{links[parameter.joint].name}'"
        else:
            text = f"{parameter.kind.part} {parameter.kind.entry} ({parameter.name})"
        places.setdefault(text, []).append(k)
    return [(text, np.isin(np.arange(len(tip)), some)) for text, some in places.items()]


def _joint(fit: Fit, j: int) -> str:
    """The joint that link j moves with."""
    link, names = fit.robot.model.moving[j], [x.name for x in fit.robot.model.coordinates]
    return joint_name(fit.robot, names.index(link.name)) if link.name in names else f"joint '{link.name}'"


# ---- what can be compared ----------------------------------------------------------------------------------


def _check_same(old: Fit, new: Fit) -> None:
    """Refuse fits whose base parameters are not the same."""
    advice = (
        "identify the new one with the terms of the old: friction=old.model.friction, --friction OLD.json"
    )
    if old.described.coordinates != new.described.coordinates:
        theirs, own = (", ".join(fit.described.coordinates) for fit in (old, new))
        raise IdentificationError(f"the fits are of different arms: joints {theirs} and {own}")
    if old.full_names != new.full_names:
        only = sorted(set(old.full_names) ^ set(new.full_names))
        raise IdentificationError(
            f"the fits have different parameters: only one of them has {', '.join(only)}; {advice}"
        )
    M, N = old.base.matrix, new.base.matrix
    if M.shape != N.shape or not np.allclose(M, N, rtol=_SAME, atol=_SAME):
        raise IdentificationError(
            "the fits have different base parameters: the geometry, gears or rotors of their robots differ"
        )
    for what, a, b in (
        ("Stribeck velocities", _velocities(old), _velocities(new)),
        ("widths of the sign", old.model.problem.width, new.model.problem.width),
    ):
        if a.shape != b.shape or (np.abs(a - b) > _NEAR * np.maximum(np.abs(a), np.abs(b))).any():
            raise IdentificationError(f"the fits describe friction by different {what}; {advice}")


def _velocities(fit: Fit) -> np.ndarray:
    """Stribeck velocities of the surfaces; 0 where there is none."""
    problem = fit.model.problem
    own = {e for _, e, term in problem.friction if term == "stribeck"}
    return np.array(
        [float(x.stribeck_velocity) if e in own else 0.0 for e, x in enumerate(problem.surfaces.of)]
    )


def _notes(old: Fit, new: Fit) -> tuple[str, ...]:
    found = []
    for name, fit in (("old", old), ("new", new)):
        if fit.model.damping:
            found.append(
                f"the {name} fit is damped: its standard errors do not count that; damping=0 is safer"
            )
        if fit.consistency_cost:
            found.append(
                f"the {name} fit keeps to bodies that can exist: its standard errors do not count that"
            )
    return tuple(found)
