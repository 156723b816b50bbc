"""Which friction terms, width of the sign and damping predict data best that were left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from armdyn.identification.regression.columns import Columns, Surfaces, smooth_sign
from armdyn.identification.regression.states import States
from armdyn.identification.regression.template import FrictionTerms, Template
from armdyn.identification.selection.crossval import Products
from armdyn.identification.signals.kinematics import Kinematics
from armdyn.robot.friction import speeds_of

WIDTHS = (0.0, 0.02, 0.05, 0.1)  # of a surface's greatest speed
VELOCITIES = (0.05, 0.1, 0.2, 0.4)  # of a joint's greatest speed, for the Stribeck term
DAMPINGS = (0.0, 1e-3, 3e-3, 1e-2, 3e-2)
DAMPED = (1e-6, 1e-5, 1e-4, *DAMPINGS[1:], 1e-1)  # where damping is asked for
_WORTH = 0.005  # of the error: what a further term must gain at least
_NOTHING = 1e-3  # in units of the noise: less is rounding


@dataclass(frozen=True, order=True)
class Friction:
    """A way to model friction, the same for all joints, relative to their greatest speeds."""

    width: float = 0.0  # of the smooth sign
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


@dataclass(frozen=True)
class Choice:
    """What was chosen, and among what."""

    friction: Friction
    damping: float
    trials: tuple[Trial, ...] = field(repr=False)


def greatest_speeds(surfaces: Surfaces, parts: Sequence[States]) -> np.ndarray:
    """(E,) the speed that one sample in a thousand exceeds, per surface."""
    used = [(part.motion, part.use.any(1)) for part in parts]
    speeds = [np.abs(surfaces.speeds(motion.q[use], motion.qd[use])) for motion, use in used]
    return np.asarray(np.quantile(np.concatenate(speeds), 0.999, axis=0))


def friction_terms(friction: Friction, greatest: np.ndarray, own: np.ndarray) -> FrictionTerms:
    """The terms of each coordinate, whose surfaces are `own` (n,); joints that hardly move get none."""
    speed = greatest[own]
    moving = speed > 0
    share = np.nan if friction.stribeck is None else friction.stribeck
    return FrictionTerms(np.where(moving, share * speed, np.nan), moving & friction.cubic)


class Candidates:
    """The columns of every model that is tried, side by side, and which of them each one has."""

    def __init__(
        self,
        template: Template,
        parts: Sequence[States],
        scale: np.ndarray,
        free: np.ndarray,
        models: Sequence[Friction],
    ) -> None:
        self.models = models
        self.widths = list(dict.fromkeys(model.width for model in models))
        self.velocities = list(dict.fromkeys(x.stribeck for x in models if x.stribeck is not None))
        self.plain = Columns(template, np.zeros(len(Surfaces.of_robot(template.robot).of)))
        self.greatest = greatest_speeds(self.plain.surfaces, parts)
        self.template = template
        self.n = template.robot.n
        kinds = [parameter.kind for parameter in template.layout]
        own = ("coulomb", "stribeck", "cubic")
        self.kept = np.array([not (k.part in ("joint", "motor", "idler") and k.entry in own) for k in kinds])
        self.free = np.flatnonzero(free[self.kept])
        coulomb = [(e, free[p]) for p, e, term in self.plain.friction if term == "coulomb"]
        self.free_coulomb = np.array([e for e, is_free in coulomb if is_free], int)
        self.scale = scale
        self.products = Products.of(parts, self._data)

    def _data(self, part: States, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        wide = part.seen_between(self._wide, start, stop)
        z = part.tau[start:stop] - wide[:, :, -1]
        return wide[:, :, :-1] / self.scale[:, None], z / self.scale

    def _wide(self, motion: Kinematics) -> np.ndarray:
        """The columns of all models, and the torques of the description."""
        Y = self.plain(motion)
        known = (Y @ self.template.prior)[:, :, None]
        return np.concatenate([Y[:, :, self.kept], self._friction(motion), known], axis=2)

    def _friction(self, motion: Kinematics) -> np.ndarray:
        """(M, n, E·W + n·(1 + W·V)): Coulomb, cubic and Stribeck columns."""
        surfaces = self.plain.surfaces
        found = surfaces.at(motion.q)
        v = speeds_of(found, motion.qd)
        rows = np.swapaxes(found, -1, -2)
        signs = [smooth_sign(v, w * self.greatest) for w in self.widths]
        blocks = [s[:, None, :] * rows for s in signs]
        joints = surfaces.own
        speed = np.where(self.greatest > 0, self.greatest, 1.0)[joints]
        blocks.append((v[:, joints] ** 3)[:, None, :] * rows[..., joints])
        for s, share in product(signs, self.velocities):
            bell = np.exp(-((v[:, joints] / (share * speed)) ** 2))
            blocks.append((s[:, joints] * bell)[:, None, :] * rows[..., joints])
        return np.concatenate(blocks, axis=2)

    def columns(self, friction: Friction) -> np.ndarray:
        """The numbers of a model's columns."""
        first, E, n = int(self.kept.sum()), len(self.greatest), self.n
        w = self.widths.index(friction.width)
        found = [self.free, first + w * E + self.free_coulomb]
        cubic = first + len(self.widths) * E
        if friction.cubic:
            found.append(cubic + np.arange(n))
        if friction.stribeck is not None:
            block = w * len(self.velocities) + self.velocities.index(friction.stribeck)
            found.append(cubic + n * (1 + block) + np.arange(n))
        return np.concatenate(found)

    def trials(self, dampings: Sequence[float]) -> list[Trial]:
        found = []
        for friction in self.models:
            errors = self.products.errors(self.columns(friction), dampings)
            found += [
                Trial(friction, damping, float(errors[:, d].sum()), errors[:, d])
                for d, damping in enumerate(dampings)
            ]
        return found


FAMILY = tuple(Friction(*x) for x in product(WIDTHS, (None, *VELOCITIES), (False, True)))


def choose(trials: Sequence[Trial]) -> Trial:
    """Of the models whose error is within half a percent of the least: fewest terms, then least damping."""
    least = min(trial.error for trial in trials)
    rivals = [trial for trial in trials if trial.error <= (1 + _WORTH) * least + _NOTHING]
    return min(rivals, key=lambda trial: (trial.friction.terms, trial.damping, trial.error))
