"""Joint motions that take the tip along a path: posture, and its derivatives, at every point of it.

With s the path's parameter, x(s) the tip's task and J its Jacobian at the task's rank,

    q' = J⁺ x',    q'' = J⁺ (x'' − J' q') + (1 − J⁺J) J'ᵀ (J⁺)ᵀ q'

and in time q̇ = q' ṡ, q̈ = q'' ṡ² + q' s̈. For an arm without redundancy the last term is zero. For a redundant
one the posture is the integral of the first equation, least joint speed for the tip's; the second is its
derivative, so that q, q̇ and q̈ fit each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from armdyn.motion.tip.closed_forms import closed_form_solutions
from armdyn.motion.tip.inverse_kinematics import damped, missing_text, nearest, nearest_reachable, place_text
from armdyn.motion.tip.paths import TipPath
from armdyn.motion.tip.task import SINGULAR, TipTask
from armdyn.motion.trajectories.motion import States
from armdyn.motion.trajectories.piecewise import Profile, hermite

STEPS = 16  # of the first pass along the path; halved where the posture changes fast
NEAR = 0.02  # rad: a posture this near to the one expected is its continuation
MOST_CALLS = 50_000  # of the slope of a redundant arm's posture; a path takes some hundreds
STILL = 1e-12  # rad or m: a joint that stays this close to its start along the whole path stands still
PLACES = np.arange(4) / 4  # fractions of the intervals between nodes at which joints are checked for rest
INTERPOLATION = 1e-11  # rad: between the nodes of a redundant arm's posture


class LostPath(Exception):
    """The arm cannot follow: from where on, and why."""

    def __init__(self, s: float, why: str) -> None:
        super().__init__(why)
        self.s, self.why = s, why


@dataclass(frozen=True)
class Follower:
    """The posture of an arm along a path."""

    task: TipTask
    path: TipPath
    nodes: Profile  # posture over s, good enough to start Newton's method from
    start: np.ndarray  # (n,) the posture at s = 0
    still: np.ndarray  # (n,) whether a joint stands still along the whole path

    def posture(self, s: np.ndarray) -> tuple[States, np.ndarray]:
        """q, q', q'' at s (N,), each (N, n), and how far from singular (N,)."""
        q, _, _ = self.nodes.evaluate(s, "after")
        q = np.where(self.still, self.start, corrected(self.task, self.path.poses(s), q))
        (_, first, second), ratio = slopes(self.task, self.path, s, q)
        return (q, np.where(self.still, 0.0, first), np.where(self.still, 0.0, second)), ratio

    def states(self, s: np.ndarray, sd: np.ndarray, sdd: np.ndarray) -> States:
        """q, q̇, q̈ where the path's parameter, its speed and acceleration are these (N,)."""
        (q, first, second), _ = self.posture(s)
        return q, first * sd[:, None], second * sd[:, None] ** 2 + first * sdd[:, None]


def corrected(task: TipTask, targets: np.ndarray, q: np.ndarray, steps: int = 5) -> np.ndarray:
    """Newton's method from postures (N, n) near the targets (N, 4, 4)."""
    for _ in range(steps):
        error = task.error(q, targets)
        inverse, _ = task.inverse(task.jacobian(q))
        q = q + (inverse @ error[..., None])[..., 0]
        if np.abs(error).max(initial=0.0) <= 1e-9 * task.length:
            break  # the step just made squares it
    return q


def slopes(task: TipTask, path: TipPath, s: np.ndarray, q: np.ndarray) -> tuple[States, np.ndarray]:
    """q, q', q'' and how far from singular, at s (N,) and postures q (N, n).

    A q' smaller than its rounding error is set to zero, so that rounding does not decide a joint's direction.
    """
    x1, x2 = (task.rows(x)[..., None] for x in path.slopes(s))
    J = task.jacobian(q)
    inverse, ratio = task.inverse(J)
    first = inverse @ x1
    J1 = task.jacobian_dot(q, first[..., 0])
    second = inverse @ (x2 - J1 @ first)
    if task.redundant:
        own = J1.swapaxes(1, 2) @ (inverse.swapaxes(1, 2) @ first)
        second = second + own - inverse @ (J @ own)
    slope = first[..., 0]
    slope = np.where(np.abs(slope) <= task.slope_accuracy(q, inverse, slope), 0.0, slope)
    return (q, slope, second[..., 0]), ratio


def follow(task: TipTask, path: TipPath, q0: np.ndarray) -> Follower:
    """The arm from the posture q0 along a path, keeping to the branch it is on."""
    find = _integrated if task.redundant else _continued
    nodes = find(task, path, q0)
    return Follower(task, path, nodes, q0, _still(task, path, q0, nodes))


def _still(task: TipTask, path: TipPath, q0: np.ndarray, nodes: Profile) -> np.ndarray:
    """The joints (n,) that stay at q0 along the whole path, to the accuracy of postures.

    Lines and arcs are analytic: a joint that stands still on a part of one does so on all of it.
    """
    s = np.append((nodes.breaks[:-1, None] + np.diff(nodes.breaks)[:, None] * PLACES).ravel(), path.size)
    q = corrected(task, path.poses(s), nodes.evaluate(s)[0])
    accuracy = task.accuracy(q, task.inverse(task.jacobian(q))[0])
    return np.asarray((np.abs(q - q0) <= np.maximum(accuracy, STILL)).all(0))


# ---- arms without redundancy -------------------------------------------------------------------------------


def _continued(task: TipTask, path: TipPath, q0: np.ndarray) -> Profile:
    """Nodes one after the other: expected from the last one, found in closed form or by the damped method."""
    s, q, h = 0.0, q0, path.size / STEPS
    nodes = [(s, *_node(task, path, s, q))]
    while s < path.size:
        last = h >= (path.size - s) * (1 - 1e-9)
        ahead = path.size if last else s + h
        _, q, first, second = nodes[-1]
        step = ahead - s
        expected = q + step * (first + step / 2 * second)
        found = _solution(task, path.poses(np.array([ahead]))[0], expected)
        gap = np.inf if found is None else np.abs((found - expected) * task.weights).max()
        if found is not None and gap <= NEAR:
            s = ahead
            nodes.append((s, *_node(task, path, s, found)))
            h = min(2 * h, path.size / STEPS) if gap < NEAR / 10 else h
        elif h < 1e-9 * path.size:
            raise LostPath(ahead, _why(task, path, ahead, q))
        else:
            h /= 2
    return _profile(nodes)


def _node(task: TipTask, path: TipPath, s: float, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, q', q'' at one point; a path along which the tip cannot go, and a singular posture, are refused."""
    (_, first, second), ratio = slopes(task, path, np.array([s]), q[None])
    if ratio[0] < SINGULAR:
        raise LostPath(s, _why(task, path, s, q))
    wanted = task.rows(path.slopes(np.array([s]))[0])[0]
    moved = task.jacobian(q) @ first[0]
    if np.linalg.norm(moved - wanted) > 1e-6 * np.linalg.norm(wanted):
        what = "turn and move" if task.orientation else "move"
        raise LostPath(s, f"the joints cannot {what} the tip in the direction of the path")
    return q, first[0], second[0]


def _solution(task: TipTask, target: np.ndarray, expected: np.ndarray) -> np.ndarray | None:
    solutions = closed_form_solutions(task.robot, target, task.orientation)
    if solutions is not None and len(solutions):
        return nearest(task, solutions, expected)
    q, missing = damped(task, target, expected, iterations=30)
    return q if missing <= 1e-10 * task.length else None


def _why(task: TipTask, path: TipPath, s: float, q: np.ndarray) -> str:
    """Why the posture q cannot be continued at s: what follows is out of reach, or the posture singular."""
    ahead = min(s + 1e-3 * path.size, path.size)
    target = path.poses(np.array([ahead]))[0]
    solutions = closed_form_solutions(task.robot, target, task.orientation)
    best, missing = nearest_reachable(task, target, q, restarts=10)
    if not (solutions is not None and len(solutions)) and missing > 1e-9 * task.length:
        return f"the tip cannot reach {place_text(target)}: {missing_text(task, best, target)}"
    _, ratio = task.inverse(task.jacobian(q))
    return singular_text(float(ratio))


def singular_text(ratio: float) -> str:
    """The criterion: singular values of the Jacobian with its angular rows in metres (see TipTask)."""
    found = f"the smallest singular value of the tip's Jacobian is {ratio:.2g} times the largest"
    if ratio < SINGULAR:
        return f"the posture is singular: {found}; at least {SINGULAR:g} is needed"
    return f"the posture cannot be continued: {found}, and the joints would have to move without bound"


# ---- redundant arms ----------------------------------------------------------------------------------------


def _integrated(task: TipTask, path: TipPath, q0: np.ndarray) -> Profile:
    """Nodes of the integral of q' = J⁺ x', as many as make interpolation between them accurate."""
    _node(task, path, 0.0, q0)
    calls = 0

    def slope(s: float, q: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        x1, _ = path.slopes(np.array([s]))
        inverse, ratio = task.inverse(task.jacobian(q))
        # A trial step may stray; only one that cannot be told from a singular posture ends the path.
        if ratio < 1e-3 * SINGULAR or calls > MOST_CALLS:
            raise LostPath(s, _why(task, path, s, q))
        return np.asarray(inverse @ task.rows(x1)[0])

    run = solve_ivp(
        slope, (0.0, path.size), q0, method="DOP853", rtol=1e-12, atol=1e-13, dense_output=True,
        max_step=path.size / 16,
    )  # fmt: skip
    if not run.success:
        raise LostPath(float(run.t[-1]), "the posture changes too fast to be followed")
    for count in STEPS * 2 ** np.arange(10):
        s = np.linspace(0.0, path.size, int(count) + 1)
        q = corrected(task, path.poses(s), run.sol(s).T)
        q[0] = q0
        (_, first, second), ratio = slopes(task, path, s, q)
        if (ratio < SINGULAR).any():
            k = int((ratio < SINGULAR).argmax())
            raise LostPath(float(s[k]), _why(task, path, float(s[k]), q[k]))
        found = _profile(list(zip(s, q, first, second, strict=True)))
        middle = (s[1:] + s[:-1]) / 2
        if np.abs(found.evaluate(middle)[0] - run.sol(middle).T).max() < INTERPOLATION:
            break
    return found


def _profile(nodes: list[tuple[float, np.ndarray, np.ndarray, np.ndarray]]) -> Profile:
    s, q, first, second = (np.array(x) for x in zip(*nodes, strict=True))
    return hermite(s, (q[:-1], first[:-1], second[:-1]), (q[1:], first[1:], second[1:]))
