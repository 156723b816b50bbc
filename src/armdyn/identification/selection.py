"""Which model a fit uses: the cut-off of the filters, friction terms and damping, chosen or as asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import cho_factor, cho_solve

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
from armdyn.robot import Robot
from armdyn.robot.friction import speeds_of
from armdyn.robot.joints import revolute_joints

# ------------------------------------------------------------------------------------------------------------
# Cross-validation inside the training data, from one product matrix for each fold.
#
# Whatever set of columns and whatever damping is tried, its error on the fold left out follows from the
# products [Y τ]ᵀ[Y τ] of the folds. A fold is a kind of motion: stretches of time, wherever they are, that
# are alike in speeds, directions and loads of the joints. Neighbouring samples are too alike to check each
# other. What is left out is meant to be like another motion, such as moves after sines, which dwell, creep
# and carry other loads. On logs of three real arms it chose about as well as folds in the order of time.


FOLDS = 10  # in the order of time, to compare filters
HALVINGS = 4  # of the stretches, which make 2⁴ kinds of motion
STRETCHES = 320  # at most, into which the samples are cut
_ROUNDING = 1e-12  # of the greatest eigenvalue


# Columns (M, n, …) as Y (M, n, P), torques that are known (M, n), and the joints' scales (n,).
Split: TypeAlias = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


def folds_in_time(parts: Sequence[States]) -> list[np.ndarray]:
    """For each part the folds (M,) of its instants, stretches of as many usable ones each."""
    used = np.concatenate([part.use.any(1) for part in parts])
    fold = np.minimum(np.cumsum(used) * FOLDS // max(int(used.sum()), 1), FOLDS - 1)
    return np.split(fold, np.cumsum([len(part) for part in parts]))[:-1]


def folds_of_kinds(parts: Sequence[States]) -> list[np.ndarray]:
    """For each part the folds (M,) of its instants: stretches that are alike in speed, direction and load.

    The stretches are halved, and the halves again, where they differ most: across the first principal axis
    of mean speeds (their square roots: slow ones count), directions and torques of all joints.
    """
    total = sum(len(part) for part in parts)
    features: list[np.ndarray] = []
    sizes: list[int] = []
    stretches: list[np.ndarray] = []
    for part in parts:
        least = 1 if part.cutoff is None else int(np.ceil(part.rate / part.cutoff))
        count = max(1, len(part) // max(least, total // STRETCHES, 1))
        number = np.arange(len(part)) * count // len(part)
        stretches.append(number + len(sizes))
        speed = np.abs(part.motion.qd)
        for k in range(count):
            at = number == k
            v, tau = part.motion.qd[at], part.tau[at]
            size = speed[at].mean(0)
            way = v.mean(0) / np.where(size > 0, size, 1.0)
            features.append(np.concatenate([np.sqrt(size), way, tau.mean(0)]))
            sizes.append(int(part.use[at].any(1).sum()))
    found = _halved(np.array(features), np.array(sizes, float))
    return [found[own] for own in stretches]


def _halved(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(S,) numbers of groups of rows of X (S, f) that are alike, of equal weights (S,) as far as they can."""
    spread = X.std(0)
    X = (X - X.mean(0)) / np.where(spread > 0, spread, 1.0)
    group = np.zeros(len(X), int)
    for _ in range(HALVINGS):
        for k in np.unique(group):
            own = np.flatnonzero(group == k)
            if len(own) < 2:
                continue
            Z = X[own] - X[own].mean(0)
            axis = np.linalg.svd(Z, full_matrices=False)[2][0]
            order = own[np.argsort(Z @ (axis * np.sign(axis[np.argmax(np.abs(axis))])), kind="stable")]
            share = np.cumsum(weights[order])
            upper = order[share - weights[order] / 2 > share[-1] / 2]
            group[upper] = group.max() + 1
    return np.asarray(np.unique(group, return_inverse=True)[1])


@dataclass(frozen=True)
class Products:
    """G = [Y z]ᵀ[Y z] of each fold, (folds, P + 1, P + 1), rows divided by their joints' scales."""

    G: np.ndarray
    rows: np.ndarray  # (folds,)

    @staticmethod
    def of(
        parts: Sequence[States],
        folds: Sequence[np.ndarray],
        columns: Callable[[Kinematics], np.ndarray],
        split: Split,
    ) -> Products:
        """Products of parts in the order of time; z are torques less what `split` finds known of them."""
        count = max(int(fold.max()) for fold in folds) + 1
        G, rows = np.zeros(0), np.zeros(count)
        for part, fold in zip(parts, folds, strict=True):
            rows += np.bincount(fold, part.use.sum(1), count)
            for at, seen in part.seen_by(columns):
                Y, known, scale = split(seen)
                G = G if G.size else np.zeros((count, Y.shape[2] + 1, Y.shape[2] + 1))
                _add(G, Y / scale[:, None], (part.tau[at] - known) / scale, part.use[at], fold[at])
        return Products(G[rows > 0], rows[rows > 0])

    def errors(self, columns: np.ndarray, dampings: Sequence[float]) -> np.ndarray:
        """Mean squares of the folds left out, (folds, dampings), that add up to the error per row."""
        total = self.G.sum(0)
        found = np.empty((len(self.G), len(dampings)))
        inner = np.ix_(columns, columns)
        for k, G in enumerate(self.G):
            for d, x in enumerate(self._solutions(total - G, columns, dampings)):
                found[k, d] = x @ G[inner] @ x - 2 * x @ G[columns, -1] + G[-1, -1]
        return np.asarray(np.maximum(found, 0) / max(self.rows.sum(), 1))  # squares: below zero is rounding

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
# How the friction of each joint is modelled.


VELOCITIES = (0.04, 0.06, 0.1, 0.16, 0.25, 0.4)  # of a joint's greatest speed, for the Stribeck term
DAMPINGS = (0.0, 1e-3, 3e-3, 1e-2, 3e-2)
DAMPED = (1e-6, 1e-5, 1e-4, *DAMPINGS[1:], 1e-1)  # where damping is asked for


@dataclass(frozen=True)
class Friction:
    """How the friction of a joint is modelled beyond viscous and Coulomb friction; speeds are relative to
    the joint's greatest one.

    With width=None friction is that of the description: its width, its terms.
    """

    width: float | None = 0.0  # of the smooth sign
    stribeck: float | None = None  # the velocity of the Stribeck term; None: without
    cubic: bool = False
    asymmetry: bool = False  # Coulomb friction that differs by direction
    offset: bool = True
    load: bool = False  # a part of the joint's torque without friction
    rotor: bool = True  # its inertia, of a joint whose motor the description does not have
    spring: bool = False  # a torque that grows with the position, with the offset as its rest
    slow: float = 0.0  # up to this speed the joint may stick: its torques then are left out of the fit

    def __str__(self) -> str:
        parts = ["viscous, Coulomb", *self.further]
        return ", ".join(parts)

    @property
    def further(self) -> list[str]:
        """Its terms beyond viscous and Coulomb friction, in words."""
        return [self.named(term) for term in TOGGLED if self.has(term)]

    def named(self, term: str) -> str:
        """A term in words."""
        if term == "stribeck" and self.stribeck is not None:
            return f"Stribeck at {100 * self.stribeck:g} % of the greatest speed"
        return TOGGLED[term]

    def has(self, term: str) -> bool:
        return getattr(self, term) not in (None, False)

    def without(self, term: str) -> Friction:
        changes: dict[str, Any] = {term: None if term == "stribeck" else False}
        return replace(self, **changes)


TOGGLED = {  # what a joint may have or not, in words
    "offset": "offset",
    "asymmetry": "asymmetric Coulomb",
    "stribeck": "Stribeck",
    "cubic": "cubic",
    "load": "load-dependent",
    "rotor": "rotor inertia",
    "spring": "spring",
}
CHOSEN = tuple(term for term in TOGGLED if term != "asymmetry")  # joint by joint; the offset stands for it
PLAIN = Friction()


@dataclass(frozen=True)
class Worth:
    """What a term of a joint is worth: how much greater the error on data left out is without it.

    Of terms that were not taken, how much greater it would be without them than with them.
    """

    joint: int
    term: str  # a key of `TOGGLED`
    gain: float  # of the error (RMS) on kinds of motion left out, relative
    spread: float  # its standard error
    taken: bool


def greatest_speeds(surfaces: Surfaces, parts: Sequence[States]) -> np.ndarray:
    """(E,) the speed that one sample in a thousand exceeds, per surface; zero where no sample is used."""
    used = [(part.motion, part.use.any(1)) for part in parts]
    speeds = [np.abs(surfaces.speeds(motion.q[use], motion.qd[use])) for motion, use in used]
    every = np.concatenate(speeds)
    return np.asarray(np.quantile(every, 0.999, axis=0)) if len(every) else np.zeros(len(surfaces.of))


def described(friction: Sequence[Friction]) -> bool:
    """Whether friction is that of the description."""
    return friction[0].width is None


def friction_terms(
    friction: Sequence[Friction], greatest: np.ndarray, own: np.ndarray, load: np.ndarray
) -> FrictionTerms | None:
    """The terms of each coordinate, whose surfaces are `own` (n,); joints that hardly move get few.

    None where they are those of the description.
    """
    if described(friction):
        return None
    speed = greatest[own]
    moving = speed > 0
    shares = np.array([np.nan if x.stribeck is None else x.stribeck for x in friction])

    def has(term: str) -> np.ndarray:
        return np.array([x.has(term) for x in friction])

    return FrictionTerms(
        stribeck=np.where(moving, shares * speed, np.nan),
        cubic=moving & has("cubic"),
        asymmetry=moving & has("asymmetry"),
        offset=has("offset"),
        load=np.where(moving, load, 0.0),
        rotor=has("rotor"),
        spring=moving & has("spring"),
    )


def sign_widths(friction: Sequence[Friction], greatest: np.ndarray, surfaces: Surfaces) -> np.ndarray:
    """(E,) widths of the sign of surfaces; those that do not move keep the description's."""
    if described(friction):
        return surfaces.widths
    shares = np.array([x.width for x in friction])
    unit = units_of(surfaces)
    share = np.where(unit >= 0, shares[unit], np.median(shares))
    return np.where(greatest > 0, share * greatest, surfaces.widths)


def units_of(surfaces: Surfaces) -> np.ndarray:
    """(E,) the coordinate that a surface belongs to, its own or its motor's; −1 for joints that follow."""
    coordinates = {int(e): i for i, e in enumerate(surfaces.own)}
    return np.array([coordinates.get(surface.joint, -1) for surface in surfaces.of])


class Candidates:
    """The columns of every model that is tried, side by side, and where they are.

    Nothing that the description says of friction is taken off the torques: what is chosen does not depend on
    it. `x` (p,) are parameters of the plain model, whose torques without friction stand for the loads.
    """

    def __init__(
        self,
        template: Template,
        parts: Sequence[States],
        scale: np.ndarray,
        free: np.ndarray,
        x: np.ndarray,
        slow: np.ndarray,
        springs: bool = True,
    ) -> None:
        """The template has offsets and rotors and none of the other terms that are chosen.

        Whether `springs` may be among these: where all parameters are estimated.
        """
        self.slow = slow
        self.plain, self.template, self.x = Problem(template), template, x
        self.n = template.robot.n
        surfaces = self.plain.surfaces
        self.greatest = greatest_speeds(surfaces, parts)
        self.unit = units_of(surfaces)
        self.moving = self.greatest[surfaces.own] > 0
        self.turning = [(p, e, term) for p, e, term in self.plain.friction if TERMS[term].turns]
        self.kept = np.ones(len(template.layout), bool)
        self.kept[[p for p, *_ in self.turning]] = False
        # Bodies that can exist bound the asymmetry of a motor's friction: an offset must not stand in it.
        self.one_sided = {self.unit[e] for p, e, term in self.turning if term == "asymmetry" and free[p]}
        self.may_pull = springs & self._turns_once(parts)
        self.places = self._places(free)
        self.known = np.where(free, 0.0, template.prior)
        folds = folds_of_kinds(parts)
        self.products = Products.of(parts, folds, self._wide, lambda x: (x[..., :-1], x[..., -1], scale))
        for place in self.places:
            if any(self._is_spanned(k) for k in place.get("rotor", ())):
                del place["rotor"]

    def _is_spanned(self, k: int) -> bool:
        """Whether columns that every model has combine to column k: it then has nothing to add to a model."""
        at = [*self.places[-1]["base"], k]
        G = self.products.G.sum(0)[np.ix_(at, at)]
        (x,) = Products._solutions(G, np.arange(len(at) - 1), (0.0,))
        return bool(G[-1, -1] - x @ G[:-1, -1] <= _TINY * G[-1, -1])

    def _turns_once(self, parts: Sequence[States]) -> np.ndarray:
        """(n,) bool: coordinates that can have a spring; those that turn round and round have none."""
        model = self.template.robot.model
        if model.elastic or model.loops:
            return np.zeros(self.n, bool)
        q = np.concatenate([part.motion.q for part in parts])
        return np.asarray((np.ptp(q, axis=0) < 2 * np.pi) | ~revolute_joints(self.template.robot))

    def _places(self, free: np.ndarray) -> list[dict[Any, list[int]]]:
        """Of each coordinate the numbers of its columns, by term and velocity; the last has the rest.

        Key "base" has the columns that every model has.
        """
        found: list[dict[Any, list[int]]] = [{} for _ in range(self.n + 1)]
        numbers = np.cumsum(self.kept) - 1
        chosen = set()
        for p, i, term in self._toggled():
            if free[p]:
                found[i][term] = [int(numbers[p])]
                chosen.add(p)
        found[-1]["base"] = [int(numbers[p]) for p in np.flatnonzero(self.kept & free) if p not in chosen]
        next_one = int(self.kept.sum())
        for p, e, _ in self.turning:
            if free[p]:
                found[self.unit[e]].setdefault("turning", []).append(next_one)
            next_one += 1
        for key in ("spring", "load", "cubic", *(("stribeck", share) for share in VELOCITIES)):
            for i in range(self.n):
                found[i][key] = [next_one]
                next_one += 1
        return found

    def _toggled(self) -> Iterator[tuple[int, int, str]]:
        """Offsets and added rotors: parameter, coordinate and term."""
        model, own = self.template.robot.model, self.plain.surfaces.own.tolist()
        names = [link.name for link in model.coordinates]
        for p, parameter in enumerate(self.template.layout):
            kind, joint = parameter.kind, parameter.joint
            if kind.part == "joint" and kind.entry == "offset" and joint in own:
                yield p, own.index(joint), "offset"
            added = kind.part == "rotor" and parameter.name in self.template.added
            if added and model.moving[joint].name in names:
                yield p, names.index(model.moving[joint].name), "rotor"

    def _wide(self, motion: Kinematics) -> np.ndarray:
        """The columns of all models, and torques that are known."""
        Y = self.plain(motion)
        known = (Y @ self.known)[:, :, None]
        rigid = self.plain.rigid
        load = np.abs(Y[:, :, rigid] @ self.x[rigid])
        return np.concatenate([Y[:, :, self.kept], self._friction(motion, load), known], axis=2)

    def _friction(self, motion: Kinematics, load: np.ndarray) -> np.ndarray:
        """(M, n, …): columns of terms that depend on the direction, then of the others, as in `_places`.

        That of a spring is the position.
        """
        surfaces = self.plain.surfaces
        found = surfaces.at(motion.q)
        v = speeds_of(found, motion.qd)
        rows = np.swapaxes(found, -1, -2)
        joints = surfaces.own
        own, speed = v[:, joints], np.where(self.greatest > 0, self.greatest, 1.0)[joints]
        signs, blocks = np.sign(v), []
        for _, e, term in self.turning:
            column = TERMS[term].of(Sliding(v[:, e], signs[:, e], surfaces.of[e].stribeck_velocity))
            blocks.append((column[:, None] * rows[..., e])[:, :, None])
        paces = [("stribeck", share * speed) for share in VELOCITIES]
        blocks.append(motion.q[:, None, :] * np.eye(self.n))
        for term, pace in [("load", 1.0), ("cubic", 1.0), *paces]:
            column = TERMS[term].of(Sliding(own, signs[:, joints], pace, load))
            blocks.append(column[:, None, :] * rows[..., joints])
        return np.concatenate(blocks, axis=2)

    def columns(self, i: int, friction: Friction) -> list[int]:
        """The numbers of the columns of coordinate i."""
        place = self.places[i]
        found = list(place.get("turning", ()))
        for term in CHOSEN:
            if friction.has(term) and (self.moving[i] or term in ("offset", "rotor")):
                found += place.get(("stribeck", friction.stribeck) if term == "stribeck" else term, ())
        return found

    def plain_model(self, i: int) -> Friction:
        """The model of coordinate i with which the choice begins."""
        place = self.places[i]
        return replace(PLAIN, offset="offset" in place, rotor="rotor" in place, slow=float(self.slow[i]))

    def options(self, i: int) -> list[Friction]:
        """The models of coordinate i that are tried."""
        place, plain = self.places[i], self.plain_model(i)
        if not self.moving[i] or "turning" not in place:
            return [plain]
        terms = [] if "offset" not in place or i in self.one_sided else ["offset"]
        terms += [*(["rotor"] if "rotor" in place else []), "cubic"]
        terms += [] if self.template.robot.model.elastic else ["load"]
        terms += ["spring"] if "offset" in terms and self.may_pull[i] else []
        sets = [dict(zip(terms, some, strict=True)) for some in product((False, True), repeat=len(terms))]
        sets = [some for some in sets if some.get("offset") or not some.get("spring")]
        return [replace(plain, stribeck=v, **some) for v in (None, *VELOCITIES) for some in sets]


# ------------------------------------------------------------------------------------------------------------
# The choice, joint by joint.
#
# One joint's models are compared while the others keep theirs; then the next joint's, until nothing changes.
# What the joints share, bodies and other joints' friction, is eliminated once for all models of a joint.
# Its combinations have length one over all folds and are drawn toward what all folds say of them, a little:
# what one kind of motion alone shows would else be lost with its fold, for all models alike.


_DRAWN = 0.1  # of what all data say of a combination of bodies
_TINY = 1e-6  # of a column's length
_SURE = 2.0  # standard errors: a further term gains more
_LEAST = 5e-3  # of the error (mean square): and more than that
_REST = frozenset({"offset"})  # what a spring needs
_POSITIVE = ("load", "spring")  # their coefficients are not negative
_NOTHING = 1e-3  # in units of the noise: a smaller error is rounding
_SWEEPS = 3


class FrictionSearch:
    """The models of all coordinates, chosen."""

    def __init__(self, candidates: Candidates) -> None:
        self.candidates = candidates
        G, self.rows = candidates.products.G, candidates.products.rows
        base = candidates.places[-1]["base"]
        total = G.sum(0)
        self.T = self._transform(total, base)
        self.base = np.arange(self.T.shape[1] - (G.shape[1] - len(base)))
        others = [k for k in range(G.shape[1]) if k not in set(base)]
        self.at = {k: len(self.base) + j for j, k in enumerate(others)}
        self.G = self.T.T @ G @ self.T
        self.total = self.G.sum(0)
        self.options = [candidates.options(i) for i in range(candidates.n)]
        self.chosen = [candidates.plain_model(i) for i in range(candidates.n)]
        self.worth: list[Worth] = []

    @staticmethod
    def _transform(total: np.ndarray, base: list[int]) -> np.ndarray:
        """(P + 1, r + …): combinations of the base columns of length one, then the others of length one."""
        D = column_scales(np.sqrt(np.maximum(np.diag(total), 0)))
        H = total[np.ix_(base, base)] / np.outer(D[base], D[base])
        values, V = np.linalg.eigh(H)
        kept = values > _ROUNDING * max(float(values.max(initial=0.0)), 1e-300) * len(values)
        others = [k for k in range(len(total)) if k not in set(base)]
        T = np.zeros((len(total), int(kept.sum()) + len(others)))
        T[base, : kept.sum()] = V[:, kept] / np.sqrt(values[kept]) / D[base, None]
        T[others, np.arange(kept.sum(), T.shape[1])] = 1 / D[others]
        T[-1, -1] = 1.0
        return T

    def _shared(self, i: int) -> np.ndarray:
        """Numbers of the columns that do not belong to coordinate i."""
        found = [c for k, x in enumerate(self.chosen) if k != i for c in self.candidates.columns(k, x)]
        found += self.candidates.places[-1].get("turning", [])
        return np.concatenate([self.base, [self.at[c] for c in found]]).astype(int)

    def _solved(self) -> np.ndarray:
        """The combinations of the base columns that all data give, with the models chosen so far."""
        S = self._shared(-1)
        H = self.total[np.ix_(S, S)] + _TINY * np.eye(len(S))
        return np.linalg.solve(H, self.total[S, -1])[: len(self.base)]

    def errors(self, i: int, models: Sequence[Friction]) -> tuple[np.ndarray, np.ndarray]:
        """Mean squares (models, folds) of folds left out, and whether the model can be (models,) bool."""
        S = self._shared(i)
        own = sorted({c for x in models for c in self.candidates.columns(i, x)})
        C = np.array([self.at[c] for c in own] + [self.G.shape[1] - 1])
        place = {c: k for k, c in enumerate(own)}
        ridge = np.full(len(S), _TINY)
        ridge[: len(self.base)] = _DRAWN
        drawn = np.zeros(len(S))
        drawn[: len(self.base)] = _DRAWN * self._solved()
        reduced: list[np.ndarray] = []
        tests: list[np.ndarray] = []
        for G in [*self.G, np.zeros_like(self.total)]:  # the last: nothing is left out
            R = self.total - G
            B = R[np.ix_(S, C)]
            right = B.copy()
            right[:, -1] += drawn
            A = cho_solve(cho_factor(R[np.ix_(S, S)] + np.diag(ridge), check_finite=False), right)
            reduced.append(R[np.ix_(C, C)] - B.T @ A)
            cross = A.T @ G[np.ix_(S, C)]
            tests.append(G[np.ix_(C, C)] - cross - cross.T + A.T @ G[np.ix_(S, S)] @ A)
        M, N = np.array(reduced), np.array(tests)
        found, possible = np.empty((len(models), len(self.G))), np.ones(len(models), bool)
        for k, x in enumerate(models):
            columns = self.candidates.columns(i, x)
            at = np.array([place[c] for c in columns])
            inner = M[:, at[:, None], at] + _TINY * np.eye(len(at))
            c = np.linalg.solve(inner, M[:, at, -1:])[..., 0]
            e = N[:, -1, -1] - 2 * np.einsum("ki,ki->k", c, N[:, at, -1])
            e += np.einsum("ki,kij,kj->k", c, N[:, at[:, None], at], c)
            found[k] = np.maximum(e[:-1], 0) / self.rows
            for term in _POSITIVE:
                if x.has(term):
                    possible[k] &= c[-1, columns.index(self.candidates.places[i][term][0])] > 0
        return found, possible

    def run(self) -> tuple[tuple[Friction, ...], tuple[Worth, ...]]:
        """The friction of each coordinate, and what its terms are worth."""
        for _ in range(_SWEEPS):
            before, self.worth = list(self.chosen), []
            for i in reversed(range(self.candidates.n)):
                self._choose(i)
            if before == self.chosen:
                break
        return tuple(self.chosen), tuple(self.worth)

    def _choose(self, i: int) -> None:
        """The best model of coordinate i, without the terms that do not surely gain."""
        models = self.options[i]
        if len(models) == 1:
            self.chosen[i] = models[0]
            return
        errors, possible = self.errors(i, models)
        means = np.where(possible, errors.mean(1), np.inf)
        best: dict[frozenset[str], int] = {}
        for k in np.argsort(means, kind="stable"):
            best.setdefault(frozenset(t for t in CHOSEN if models[k].has(t)), int(k))
        free = {t for t in CHOSEN if len({m.has(t) for m in models}) == 2}
        terms = next(iter(best))
        while True:
            loose = terms & free - (_REST if "spring" in terms else set())
            own = [(*self._gain(errors[best[terms - {t}]], errors[best[terms]]), t) for t in loose]
            weak = [
                (g / s if s else np.sign(g) * np.inf, t) for g, s, t in own if g <= max(_SURE * s, _LEAST)
            ]
            if not weak:
                break
            terms = terms - {min(weak)[1]}
        self.chosen[i] = models[best[terms]]
        for t in CHOSEN:
            if t in free:
                with_it = terms | ({t} | _REST if t == "spring" else {t})
                without = with_it - ({t, "spring"} if t in _REST else {t})
                pair = (best[without], best[with_it])
                g, s = self._gain(errors[pair[0]], errors[pair[1]])
                self.worth.append(Worth(i, t, g / 2, s / 2, t in terms))

    @staticmethod
    def _gain(without: np.ndarray, with_it: np.ndarray) -> tuple[float, float]:
        """How much more the error is without a term, relative, and its standard error."""
        d = (without - with_it) / max(with_it.mean(), _NOTHING)
        spread = d.std(ddof=1) / np.sqrt(len(d)) if len(d) > 1 else np.inf  # one kind of motion tells nothing
        return float(d.mean()), float(spread)


# ------------------------------------------------------------------------------------------------------------
# Which model a fit uses: the cut-off of the filters, friction terms and damping, chosen or as asked for.


STICKING = 0.01  # of the greatest speed: slower joints may stick,
DWELLS = 0.1  # where they are that for more of the time than this: less is that of turning back
LEFT = 0.3  # of the torques, at least, where those of joints that may stick are left out
FASTEST, STEP = 80.0, 1.3  # Hz: the highest cut-off that is tried; each is STEP times the next
NYQUIST_SHARE = 0.25  # of a log's rate: the highest cut-off
NEAR = 0.03  # of the least error: the lowest cut-off within it is taken
SPARSER = 4.0  # times fewer instants than a fit has, which is enough to compare cut-offs
HOPELESS = 2.0  # times the least error: lower cut-offs are not tried
START = 0.02  # width of the sign while the cut-off is chosen, of the greatest speed
ENOUGH, SPANS = 20_000, 10  # states from which choices are made, and spans of a long log that have them
WIDER = 3.0  # times the cut-off of least squares for instruments: noise costs variance there and no bias
_PASSES = 3  # over the states, to profile load friction
_MOST_LOAD = 0.9  # Fl
_NOTHING = 1e-3  # in units of the noise: less is rounding
LONG = 200_000  # samples from which it is seen how alike neighbouring residuals are


@dataclass(frozen=True)
class Request:
    """The options of `identify`; None is chosen from the data."""

    method: str
    cutoff: float | None
    friction: tuple[Friction, ...] | None  # of each joint, with its width
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
    friction: tuple[Friction, ...]  # of each coordinate
    damping: float
    cutoffs: tuple[tuple[float, float], ...]  # cut-offs that were tried [Hz], and their errors
    worth: tuple[Worth, ...] = field(repr=False)  # of terms; none where friction was given
    dampings: tuple[tuple[float, float], ...] = field(repr=False)  # that were tried, and their errors
    greatest: np.ndarray  # (E,) speeds of the surfaces [rad/s or m/s]

    def loaded_by(self, x: np.ndarray) -> Chosen:
        """The same where torques without friction have the signs that parameters x (p,) give them."""
        return replace(self, problem=self.problem.loaded_by(x))


def choose_model(robot: Robot, records: Sequence[Record], request: Request) -> Chosen:
    """The model for the logs that these records are of; `enough_records` are enough to choose by."""
    given = request.friction
    without = None if given and described(given) else FrictionTerms.plain(robot.n)
    template = make_template(robot, without, request.add)
    free = request.free.mask(template)
    cutoff, tried = _cutoff(template, records, request, free)
    parts = _parts(records, cutoff)
    surfaces = Surfaces.of_robot(template.robot)
    greatest = greatest_speeds(surfaces, parts) if parts else np.zeros(len(surfaces.of))
    slow = _shares_of_sticking(parts, greatest[surfaces.own], given)
    plain = Problem(template.with_widths(START * greatest), slow=slow * greatest[surfaces.own])
    parts = [plain.sliding(part) for part in parts]
    if not sum(int(part.use.sum()) for part in parts):
        raise IdentificationError("no sample is left for the fit: all are at the ends of short stretches")
    x, scale = noise_scale(plain, parts, free)
    friction, worth = given, tuple[Worth, ...]()
    if friction is None:
        search = FrictionSearch(Candidates(template, parts, scale, free, x, slow, request.free.everything))
        friction, worth = search.run()
    widths = sign_widths(friction, greatest, surfaces)

    def problem(load: np.ndarray) -> Problem:
        terms = friction_terms(friction, greatest, surfaces.own, load)
        return replace(
            plain, template=make_template(robot, terms, request.add).with_widths(widths), cutoff=cutoff
        )

    found = problem(np.zeros(robot.n))
    if any(one.load for one in friction):
        load, known = profiled(found, parts, scale, request.free, [one.load for one in friction])
        found = problem(load)
        found = replace(found, loads=found.template.values_of(known))
    elif template.has_load:  # as described
        found = replace(found, loads=x)
        found = replace(found, loads=noise_scale(found, parts, free)[0])
    damping, dampings = request.damping, tuple[tuple[float, float], ...]()
    if damping is None:
        damping, dampings = _damped(found, parts, scale, request)
    return Chosen(found, friction, damping, tried, worth, dampings, greatest)


def _shares_of_sticking(
    parts: Sequence[States], greatest: np.ndarray, given: Sequence[Friction] | None
) -> np.ndarray:
    """(n,) parts of the greatest speeds below which joints may stick; 0 of joints that hardly dwell.

    A joint that sticks holds any torque up to its friction at rest: no function of the state predicts it, and
    a fit to it takes something between. Fits to moves with dwells then miss other motions.
    """
    if given is not None or not parts:
        return np.array([one.slow for one in given or ()]) if given else np.zeros(len(greatest))
    use = np.concatenate([part.use for part in parts])
    speed = np.abs(np.concatenate([part.motion.qd for part in parts]))
    slow = (use & (speed < STICKING * greatest)).sum(0) / np.maximum(use.sum(0), 1)
    return np.where((slow > DWELLS) & (slow < 1 - LEFT), STICKING, 0.0)


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
    """The lowest cut-off that predicts nearly as well as the best, inside and with the ends of the logs.

    Lower ones pass less noise on.
    """
    if all(record.qdd is not None for record in records):
        return None, ()
    if request.cutoff is not None:
        return request.cutoff, ()
    rates = [segment.rate for record in records for segment in segments_of(record)]
    highest = min(FASTEST, NYQUIST_SHARE * min(rates, default=np.inf))
    count = max(1, int(np.log(highest / SLOWEST) / np.log(STEP)) + 1)
    dampings = DAMPINGS if request.damping is None else (request.damping,)
    tried, everywhere = list[tuple[float, float]](), list[tuple[float, float]]()
    scale, allowed = None, list[np.ndarray]()
    for cutoff in highest / STEP ** np.arange(count):
        parts = _parts(records, float(cutoff), highest / SPARSER)
        allowed = allowed or [part.use for part in parts]  # the highest cut-off leaves out least at ends
        parts, inside = _with_ends(parts, allowed)
        if not parts:
            break
        greatest = greatest_speeds(Surfaces.of_robot(template.robot), _inner(parts, inside))
        own = greatest[Surfaces.of_robot(template.robot).own]
        slow = _shares_of_sticking(_inner(parts, inside), own, request.friction) * own
        slow *= np.mean(slow > 0) > 0.5  # of an arm that dwells
        problem = Problem(template.with_widths(START * greatest), slow=slow)
        parts = [problem.sliding(part) for part in parts]
        scale = noise_scale(problem, _inner(parts, inside), free)[1] if scale is None else scale
        errors = _errors(problem, parts, inside, scale, free, dampings)
        tried.append((float(cutoff), errors[0]))
        everywhere.append((float(cutoff), errors[1]))
        if tried[-1][1] > HOPELESS * min(error for _, error in tried):
            break
    if not tried:
        return float(highest), ()
    chosen = min(_near(tried) & _near(everywhere) or _near(tried))
    wider = WIDER if request.method == "instrumental" else 1.0
    return float(min(wider * chosen, highest)), tuple(tried)


def _near(tried: Sequence[tuple[float, float]]) -> set[float]:
    """The cut-offs whose errors are near to the least."""
    least = min(error for _, error in tried)
    return {cutoff for cutoff, error in tried if error <= (1 + NEAR) * least}


def _with_ends(
    parts: Sequence[States], allowed: Sequence[np.ndarray]
) -> tuple[list[States], list[np.ndarray]]:
    """The parts with samples that every cut-off shares, and which (M,) of their instants are inside.

    The others are the ends that the slowest filter needs, with what is `allowed` of their samples.
    """
    found = []
    for part, use in zip(parts, allowed, strict=True):
        number = np.arange(len(part))
        edge = min(part.rate / SLOWEST / 2, len(part) / 4)
        inside = (number >= edge) & (number < len(part) - edge)
        if part.use[inside].any():
            found.append((replace(part, use=np.where(inside[:, None], part.use, use)), inside))
    return [part for part, _ in found], [inside for _, inside in found]


def _inner(parts: Sequence[States], inside: Sequence[np.ndarray]) -> list[States]:
    pairs = zip(parts, inside, strict=True)
    return [replace(part, use=part.use & own[:, None]) for part, own in pairs]


def _errors(
    problem: Problem,
    parts: Sequence[States],
    inside: Sequence[np.ndarray],
    scale: np.ndarray,
    free: np.ndarray,
    dampings: Sequence[float],
) -> tuple[float, float]:
    """The error of the plain model on folds that were left out, with the best damping; and with the ends.

    At the ends, which are in no fold, it is that of what all folds together give.
    """
    prior, columns = problem.template.prior, np.flatnonzero(free)
    folds = folds_in_time(_inner(parts, inside))
    folds = [np.where(own, fold, FOLDS) for fold, own in zip(folds, inside, strict=True)]
    found = Products.of(parts, folds, problem, lambda Y: (Y, Y @ prior, scale))
    some = any(part.use[~own].any() for part, own in zip(parts, inside, strict=True))
    folded = Products(found.G[:-1], found.rows[:-1]) if some else found
    each = folded.errors(columns, dampings).sum(0)
    best = int(each.argmin())
    if not some:
        return float(each[best]), float(each[best])
    (x,) = Products._solutions(folded.G.sum(0), columns, [dampings[best]])
    wide, residual = np.append(columns, -1), np.append(x, -1.0)  # of the torques, the last column
    at_ends = float(residual @ found.G[-1][np.ix_(wide, wide)] @ residual)
    total = each[best] * folded.rows.sum() + max(at_ends, 0.0)
    return float(each[best]), float(total / found.rows.sum())


# ---- load friction and damping -----------------------------------------------------------------------------


def profiled(
    problem: Problem, parts: Sequence[States], scale: np.ndarray, wanted: Free, loaded: Sequence[bool]
) -> tuple[np.ndarray, dict[str, float]]:
    """Fl (n,) of the coordinates that have it, and the other parameters by name.

    Torques without friction depend on these: |τ_r| of the estimates before is a column beside the others.
    """
    template, n = problem.template, problem.template.robot.n
    free, own, joints = wanted.mask(template), np.flatnonzero(loaded), problem.surfaces.own
    x, load = template.prior, np.zeros(n)
    known = np.where(free, 0.0, x)
    columns = np.append(np.flatnonzero(free), len(x) + np.arange(len(own)))

    def wide(motion: Kinematics) -> np.ndarray:
        Y = problem(motion)
        v, rows = speeds_of(found := problem.surfaces.at(motion.q), motion.qd), np.swapaxes(found, -1, -2)
        s = smooth_sign(v[:, joints], problem.surfaces.widths[joints])
        torque = TERMS["load"].of(
            Sliding(v[:, joints], s, 1.0, np.abs(Y[:, :, problem.rigid] @ x[problem.rigid]))
        )
        loads = (torque[:, None, :] * rows[..., joints])[:, :, own]
        return np.concatenate([Y, loads, (Y @ known)[:, :, None]], axis=2)

    for k in range(_PASSES + 1):
        if k:
            whole = [np.zeros(len(part), int) for part in parts]
            total = Products.of(parts, whole, wide, lambda Y: (Y[..., :-1], Y[..., -1], scale)).G[0]
            (found,) = Products._solutions(total, columns, (0.0,))
            x = known.copy()
            x[free] = found[: len(columns) - len(own)]
            load[own] = np.clip(found[len(columns) - len(own) :], 0.0, _MOST_LOAD)
        else:
            x = noise_scale(problem, parts, free)[0]
    return load, dict(zip(template.names, x.tolist(), strict=True))


def _damped(
    problem: Problem, parts: Sequence[States], scale: np.ndarray, request: Request
) -> tuple[float, tuple[tuple[float, float], ...]]:
    """The least damping that is not surely worse than the best, and what was tried with its error."""
    several = DAMPED if request.method == "damped" else DAMPINGS
    prior, free = problem.template.prior, request.free.mask(problem.template)
    products = Products.of(parts, folds_of_kinds(parts), problem, lambda Y: (Y, Y @ prior, scale))
    errors = products.errors(np.flatnonzero(free), several)
    best = errors[:, int(errors.sum(0).argmin())]
    worse = errors - best[:, None]
    bound = worse.std(0, ddof=1) * np.sqrt(len(errors)) if len(errors) > 1 else np.zeros(len(several))
    chosen = int(np.argmax(worse.sum(0) <= bound + _NOTHING))
    tried = tuple((damping, float(error)) for damping, error in zip(several, errors.sum(0), strict=True))
    return several[chosen], tried


def noise_scale(problem: Problem, parts: Sequence[States], free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Estimates of plain least squares, and what they do not explain per joint (n,)."""
    factors = problem.factors(parts)
    assert factors is not None
    return weighted(factors, problem.template.prior, free=free)


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
