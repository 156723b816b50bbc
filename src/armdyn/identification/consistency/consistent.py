"""`consistent`: least squares over parameters that a robot can have, then nearest to what was known."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from armdyn.identification.blas import on_one_thread
from armdyn.identification.checks import check
from armdyn.identification.consistency.own_bodies import OwnBodies
from armdyn.identification.consistency.priors import prior_of
from armdyn.identification.consistency.pseudo_inertia import IDENTITY, SIZE, stacked
from armdyn.identification.consistency.solver import Rows, nearest
from armdyn.identification.consistency.space import Space
from armdyn.identification.errors import IdentificationError
from armdyn.model import RobotModel
from armdyn.model.friction import NO_FRICTION, TERMS
from armdyn.model.lowering import is_coupled, joint_friction
from armdyn.model.parts import Link
from armdyn.robot import Robot

MARGIN = 1e-5  # a link's pseudo-inertia is at least this part of the prior's
GIVE = 0.02  # of the least cost
RANK = 1e-8  # of the greatest singular value: what is smaller is not determined
_UNIT = 1e-4  # of what no parameters explain: the unit of the cost in stage one
_EXACT = 1e-14  # the same where parameters explain all, of what they explain
_PULL = 1e-3  # toward the point before, in each step of stage one, per size of the prior
_STEPS = 6
_STRONGEST, _HALVINGS = 1e5, 9  # pulls to the prior that are tried
_EXPLAINED = 1e-12  # of ‖z‖²: a cost that counts as none
_ROUNDING = 1e-9  # of an inequality
_SLACK = 1e-7  # of an inequality, to be taken back
_SETTLED = 1e-5  # of the cost
_ROOM = 10  # stage one keeps this multiple of the margin, so that stage two has room


@dataclass(frozen=True)
class Consistent:
    """Parameters that bodies, rotors and friction can have.

    `cost` is ‖R π − z‖² of `parameters`, `unconstrained_cost` that of plain least squares. `rank` counts what
    R determines: the base parameters. `prior` is the prior used, every link of it possible. `active` names
    the links whose bodies the data would make impossible. `notes` says what was replaced or adjusted.
    """

    robot: Robot = field(repr=False)  # with these parameters
    parameters: np.ndarray  # (p,), in the order of robot.parameter_names
    cost: float
    unconstrained_cost: float
    rank: int
    prior: np.ndarray  # (p,)
    active: tuple[str, ...]
    notes: tuple[str, ...]


@on_one_thread
def consistent(
    robot: Robot,
    R: Any,
    z: Any,
    *,
    prior: Any = None,
    speeds: Any = None,
    give: float = GIVE,
    margin: float = MARGIN,
    tolerance: float = RANK,
) -> Consistent:
    """The possible parameters π that minimise ‖R π − z‖², and of these the nearest to the prior.

    R (k, p) and z (k,) are weighted by the noise: a regressor, or its triangular factor. Possible means: the
    pseudo-inertia of each moving link, without the motors it carries and the links fixed to it, is at least
    `margin` of the prior's; rotor inertias and viscous friction are not negative, nor is Coulomb friction in
    any direction; with further terms, friction drives no joint at speeds up to `speeds` (n,). What R
    determines is stage one's answer: singular vectors of R, in coordinates of the prior's size, above
    `tolerance` of the greatest. The rest is as near to the prior as possible.

    `prior` is "nominal" (the robot's own parameters, the default), "geometric" (solids between the joints),
    another robot or a vector (p,).

    Where plain least squares is not possible, the cost of stage one is flat in directions that the data
    hardly show, and its least value may ask for a link of a hundred kilograms. So stage one stops short of
    it: of what costs up to 1 + `give` times the least, it takes what is near to the prior.
    """
    robot = check.robot(robot)
    R, z, speeds = _checked(robot, R, z, speeds)
    margin, tolerance = check.positive("margin", margin), check.positive("tolerance", tolerance)
    give = check.number("give", give)
    if not 0 <= give < np.inf:
        raise IdentificationError(f"give: found {give:g}; zero or more is allowed")
    own = OwnBodies.of(robot)
    known = prior_of(robot, prior, own)
    space = Space.of(robot, own, known, R, z, speeds)
    wide = _ROOM * margin
    target = _possible(space, wide)
    factor = _Factor.of(R @ space.G, z - R @ space.origin, tolerance)
    first = _least_squares(space, factor, target, wide, give)
    notes = list(known.notes) + _moved(robot, space, target)
    found = _nearest(space, target, margin, factor.free, first, notes)
    found = _inside(space, found, margin / 2, notes)
    parameters = space.parameters(found)
    cost = float(np.square(R @ parameters - z).sum())
    held = (space.least(first)[0] < 2 * wide) & (space.least(target)[0] > 2 * wide)
    held &= cost > (1 + _ROUNDING) * factor.rest + _EXPLAINED * float(z @ z)
    return Consistent(
        robot=with_possible_friction(robot, parameters),
        parameters=parameters,
        cost=cost,
        unconstrained_cost=factor.rest,
        rank=len(factor.values),
        prior=space.parameters(target),
        active=tuple(link.name for link, x in zip(robot.model.moving, held, strict=True) if x),
        notes=tuple(notes),
    )


def _checked(robot: Robot, R: Any, z: Any, speeds: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    R, z = check.numbers("R", R), check.numbers("z", z)
    p = len(robot.parameters)
    if R.ndim != 2 or R.shape[1] != p:
        raise IdentificationError(f"R: expected (k, {p}), a column for each parameter, found {R.shape}")
    if z.shape != R.shape[:1]:
        raise IdentificationError(f"z: expected ({R.shape[0]},), a number for each row of R, found {z.shape}")
    if speeds is not None:
        speeds = np.array(check.per_joint("speeds", speeds, robot.n))
        if not (np.isfinite(speeds).all() and (speeds >= 0).all()):
            raise IdentificationError(f"speeds: found {speeds.tolist()}; speeds are finite and not negative")
    return R, z, speeds


# ---- stage one ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Factor:
    """A ξ ≈ b by singular values: diag(values) Vᵀ ξ ≈ right, and what no ξ explains."""

    values: np.ndarray  # (b,)
    V: np.ndarray  # (d, b): what A determines
    free: np.ndarray  # (d, d − b): what it does not
    right: np.ndarray  # (b,)
    rest: float  # ‖A ξ − b‖² of plain least squares

    @staticmethod
    def of(A: np.ndarray, b: np.ndarray, tolerance: float) -> _Factor:
        d = A.shape[1]
        whole = np.column_stack([A, b])
        if len(whole) > d + 1:
            whole = np.asarray(np.linalg.qr(whole, mode="r"))
        U, values, Vt = np.linalg.svd(whole[:, :d], full_matrices=True)
        rank = int((values > tolerance * values.max(initial=0.0)).sum())
        right = U[:, :rank].T @ whole[:, d]
        rest = float(np.square(whole[:, d] - U[:, :rank] @ right).sum())
        return _Factor(values[:rank], Vt[:rank].T, Vt[rank:].T, right, rest)

    def cost(self, x: np.ndarray) -> float:
        """‖A ξ − b‖², without what A leaves out below the tolerance."""
        return self.rest + float(np.square(self.values * (self.V.T @ x) - self.right).sum())


def _least_squares(
    space: Space, factor: _Factor, target: np.ndarray, margin: float, give: float
) -> np.ndarray:
    """ξ of the least cost. Its base parameters count; the rest of it is only possible, and near the prior.

    A small pull toward the point before keeps what R does not determine in its place; repeating the step
    takes its influence away (the proximal point method).
    """
    if not len(factor.values):
        return target
    unit = max(_UNIT * factor.rest, _EXACT * float(factor.right @ factor.right)) or 1.0
    rows = Rows(factor.V.T, factor.right / factor.values, factor.values**2 / unit)
    x, cost = target, np.inf
    for _ in range(_STEPS):
        x = nearest(space, x, margin, rows=rows, weight=_PULL)
        plain = x + factor.V @ (factor.right / factor.values - factor.V.T @ x)
        if space.is_inside(plain, margin / 2, _ROUNDING):  # the constraints cost nothing: plain least squares
            return np.asarray(plain)
        before, cost = cost, factor.cost(x)
        if before - cost <= _SETTLED * cost:
            break
    return _near_prior(space, factor, rows, target, margin, x, (1 + give) * min(cost, before))


def _near_prior(
    space: Space,
    factor: _Factor,
    rows: Rows,
    target: np.ndarray,
    margin: float,
    least: np.ndarray,
    allowed: float,
) -> np.ndarray:
    """What the strongest pull to the prior gives at the cost allowed: its logarithm by bisection."""
    found, weak, strong = least, np.log(_PULL), np.log(_STRONGEST)
    for _ in range(_HALVINGS):
        middle = (weak + strong) / 2
        x = nearest(space, target, margin, rows=rows, weight=float(np.exp(middle)))
        if factor.cost(x) <= allowed:
            found, weak = x, middle
        else:
            strong = middle
    return found


# ---- afterwards --------------------------------------------------------------------------------------------


def _possible(space: Space, margin: float) -> np.ndarray:
    """The prior in the space: with bodies that are not too thin, rotors and friction that are possible."""
    if space.is_inside(space.prior, margin):
        return space.prior
    values, axes = np.linalg.eigh(space.bodies_of(space.prior))
    x = space.prior.copy()
    thick = (axes * np.maximum(values, margin)[:, None, :]) @ np.swapaxes(axes, 1, 2)
    x[: SIZE * space.bodies] = stacked(thick).ravel()
    return x if space.is_inside(x, margin / 2) else nearest(space, x, margin)


def _nearest(
    space: Space,
    target: np.ndarray,
    margin: float,
    free: np.ndarray,
    first: np.ndarray,
    notes: list[str],
) -> np.ndarray:
    """Stage two. Where inequalities leave no room, the solver may use a little more than they allow."""
    try:
        found = nearest(space, target, margin, free=free, start=first, slack=_SLACK)
    except IdentificationError:
        found = first
    improved = np.square(found - target).sum() < np.square(first - target).sum()
    if improved and space.is_inside(found, margin / 2, 10 * _SLACK):
        return found
    if np.square(free.T @ (first - target)).sum() > _SLACK:
        notes.append("what the data do not show is possible, but it is not the nearest to the prior")
    return first


def _moved(robot: Robot, space: Space, target: np.ndarray) -> list[str]:
    """Rotors and friction of the prior that were not possible."""
    before, after = space.parameters(space.prior), space.parameters(target)
    sizes = np.abs(space.G).max(axis=1, initial=0.0)
    bodies = set(OwnBodies.of(robot).places.ravel().tolist())
    return [
        f"{name}: the prior has {before[i]:.6g}, which is not possible; {after[i]:.6g} is used"
        for i, name in enumerate(robot.parameter_names)
        if i not in bodies and abs(after[i] - before[i]) > 1e-6 * sizes[i]
    ]


def _inside(space: Space, x: np.ndarray, margin: float, notes: list[str]) -> np.ndarray:
    """ξ with the rounding of the solver taken back: eigenvalues at least `margin`, inequalities met.

    Bodies grow by a multiple of the prior's. An inequality is met by raising one parameter.
    """
    x = x.copy()
    values, _ = space.least(x)
    bodies = x[: SIZE * space.bodies].reshape(space.bodies, SIZE)
    lacking = np.maximum(margin - values, 0.0)
    bodies += lacking[:, None] * IDENTITY
    greatest = float(lacking.max(initial=0.0))
    for _ in range(2):  # raising friction for one row serves others, too
        for row, c in zip(space.C, space.c, strict=True):
            short = float(c - row @ x)
            if short > 0:
                k = int(row.argmax() if row.max() > 0 else row.argmin())
                x[k] += short / row[k] * (1 + 1e-12)
                greatest = max(greatest, short)
    if greatest > 10 * _SLACK:
        notes.append(f"the solver left what is possible by {greatest:.1g} of the prior's sizes; taken back")
    if not space.is_inside(x, margin / 2, 1e-12):
        raise IdentificationError("the solver Clarabel found no consistent parameters")
    return x


def with_possible_friction(robot: Robot, parameters: np.ndarray) -> Robot:
    """`robot.with_parameters`, where friction at a joint may be less than its motor's in the description.

    The vector has their sum. If the motor's share is more than the sum allows, the joint gets all of it.
    """
    found = robot.with_parameters(parameters)
    wrong = {link.name for link in found.model.moving if _drives(found, link)}
    if not wrong:
        return found
    model = robot.model
    links = tuple(_at_joint(model, link) if link.name in wrong else link for link in model.links)
    return type(robot)(replace(model, links=links)).with_parameters(parameters)


def _drives(robot: Robot, link: Link) -> bool:
    """Whether the friction that the description gives to the joint itself drives it."""
    own = {name: robot.model.number(x) for name, x in link.friction.coefficients.items()}
    negative = any(own[name] < 0 for name, term in TERMS.items() if term.brakes)
    return negative or own["coulomb"] < abs(own["asymmetry"])


def _at_joint(model: RobotModel, link: Link) -> Link:
    """The link with its motor's friction at the joint; of a motor that turns with several it stays there."""
    if link.motor is None or is_coupled(link.motor):
        return link
    total = joint_friction(model, link)
    s, a = total["coulomb"], total["asymmetry"]
    friction = replace(link.friction, viscous=total["viscous"], coulomb=(a + s, a - s))  # all a motor has
    return replace(link, friction=friction, motor=replace(link.motor, friction=NO_FRICTION))
