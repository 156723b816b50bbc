"""Optimal control of a Panda without a library: iLQR, and Newton's method with exact second derivatives.

Many arms go from where they are to a posture of their own and come to rest there, with little torque. All
are solved side by side: a call of `forward_dynamics_derivatives` has the slopes at all knots of all arms,
and one of `forward_dynamics_hessian_product` what iLQR leaves out: how these slopes change. Near the solution
this takes fewer steps.
"""

import numpy as np

from armdyn import Robot

KNOTS, STEP = 64, 0.015  # torques are constant for a step [s]
REST, EFFORT, LAST = (
    1e-2,
    1e-4,
    1e2,
)  # weights: of speeds, of torques beyond those that hold the arm, of the end
SHORTER = 0.5 ** np.arange(8)  # parts of a step that are tried, side by side
Arrays = tuple[np.ndarray, ...]


class Reaching:
    """Arms at q0 (arms, n) that are to be at `target` after KNOTS steps. States x are q beside q̇."""

    def __init__(self, robot: Robot, q0: np.ndarray, target: np.ndarray) -> None:
        self.robot, self.n = robot, robot.n
        self.x0 = np.concatenate([q0, np.zeros_like(q0)], axis=-1)
        self.goal = np.concatenate([target, np.zeros_like(target)], axis=-1)
        self.hold = robot.gravity(target)
        self.weights = np.repeat([1.0, REST], robot.n)

    def step(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The next state: speeds first, which then move the joints."""
        q, qd = x[..., : self.n], x[..., self.n :]
        qd = qd + STEP * self.robot.forward_dynamics(q, qd, u)
        return np.concatenate([q + STEP * qd, qd], axis=-1)

    def cost(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Of states (KNOTS + 1, …, 2n) and torques (KNOTS, …, n)."""
        off = self.weights * (x - self.goal) ** 2
        effort = EFFORT * (u - self.hold) ** 2
        return 0.5 * (STEP * (off[:-1].sum((0, -1)) + effort.sum((0, -1))) + LAST * off[-1].sum(-1))

    def smooth(self) -> Arrays:
        """States and torques with which to begin: a smooth motion to the goal, held by computed torque."""
        s = (np.arange(KNOTS)[:, None, None] + 0.5) / KNOTS
        way, duration = (self.goal - self.x0)[:, : self.n], KNOTS * STEP
        q = self.x0[:, : self.n] + way * s**3 * (10 - 15 * s + 6 * s**2)
        qd, qdd = (
            way * 30 * s**2 * (1 - s) ** 2 / duration,
            way * 60 * s * (1 - s) * (1 - 2 * s) / duration**2,
        )
        u, B = self.robot.inverse_dynamics(q, qd, qdd), self.robot.inertia(q)
        gains = -np.concatenate([100 * B, 20 * B], axis=-1)
        x, u = self.follow(u, np.concatenate([q, qd], axis=-1), 0 * u, gains, np.ones(1))
        return x[:, 0], u[:, 0]

    def follow(self, u: np.ndarray, x: np.ndarray, k: np.ndarray, K: np.ndarray, part: np.ndarray) -> Arrays:
        """States and torques under u + part k + K (x_new − x), for each part: (KNOTS, parts, arms, …)."""
        now = np.broadcast_to(self.x0, (len(part), *self.x0.shape))
        states, torques = [now], []
        for i in range(KNOTS):
            torques.append(u[i] + part[:, None, None] * k[i] + (K[i] @ (now - x[i])[..., None])[..., 0])
            now = self.step(now, torques[-1])
            states.append(now)
        return np.array(states), np.array(torques)

    def slopes(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """∂next/∂(x, u) at all knots, (KNOTS, arms, 2n, 3n)."""
        q, qd = np.split(x[:-1], 2, axis=-1)
        speed = STEP * np.concatenate(self.robot.forward_dynamics_derivatives(q, qd, u), axis=-1)
        speed += np.eye(self.n, 3 * self.n, self.n)
        return np.concatenate([STEP * speed + np.eye(self.n, 3 * self.n), speed], axis=-2)

    def bends(self, x: np.ndarray, u: np.ndarray, f: np.ndarray) -> np.ndarray:
        """pᵀ ∂²next/∂(x, u)², (KNOTS, arms, 3n, 3n), where p is the slope of the cost by the next state."""
        p, by_x = [LAST * self.weights * (x[-1] - self.goal)], f[..., : 2 * self.n]
        for i in reversed(range(1, KNOTS)):
            p.append(STEP * self.weights * (x[i] - self.goal) + np.einsum("aij,ai->aj", by_x[i], p[-1]))
        of_q, of_qd = np.split(np.array(p[::-1]), 2, axis=-1)
        q, qd = np.split(x[:-1], 2, axis=-1)
        return self.robot.forward_dynamics_hessian_product(q, qd, u, STEP * (of_qd + STEP * of_q))


def feedback(task: Reaching, x: np.ndarray, u: np.ndarray, exact: np.ndarray, damping: np.ndarray) -> Arrays:
    """k and K by the backward pass; `exact` (arms) says who takes second derivatives of the dynamics."""
    n, f = task.n, task.slopes(x, u)
    bends = exact[:, None, None] * task.bends(x, u, f) if exact.any() else None
    own = STEP * np.concatenate([task.weights * (x[:-1] - task.goal), EFFORT * (u - task.hold)], axis=-1)
    weights = STEP * np.diag([*task.weights, *np.full(n, EFFORT)])
    p, P = LAST * task.weights * (x[-1] - task.goal), LAST * np.diag(task.weights)
    k, K = np.empty_like(u), np.empty((*u.shape, 2 * n))
    for i in reversed(range(KNOTS)):
        Q = np.swapaxes(f[i], -1, -2) @ (P @ f[i])
        Q += weights if bends is None else weights + bends[i]
        slope = own[i] + (p[:, None] @ f[i])[:, 0]
        Q_xu, Q_uu = Q[:, : 2 * n, 2 * n :], Q[:, 2 * n :, 2 * n :] + damping[:, None, None] * np.eye(n)
        found = -np.linalg.solve(
            Q_uu, np.concatenate([slope[:, 2 * n :, None], Q[:, 2 * n :, : 2 * n]], axis=-1)
        )
        k[i], K[i] = found[..., 0], found[..., 1:]
        p = slope[:, : 2 * n] + (Q_xu @ k[i][..., None])[..., 0]
        P = Q[:, : 2 * n, : 2 * n] + Q_xu @ K[i]
    return k, K


def solve(
    task: Reaching, newton: bool, most: int = 60, tolerance: float = 1e-12
) -> tuple[Arrays, np.ndarray]:
    """States, torques and costs; the numbers of steps (arms,) until costs fell by less than the tolerance."""
    arms, everyone = len(task.x0), np.arange(len(task.x0))
    x, u = task.smooth()
    cost, damping = task.cost(x, u), np.full(arms, 1e-6)
    exact, steps = np.zeros(arms, bool), np.zeros(arms, int)
    busy = np.ones(arms, bool)
    for _ in range(most):
        k, K = feedback(task, x, u, exact, damping)
        with np.errstate(over="ignore", invalid="ignore"):  # of steps that are far too long
            states, torques = task.follow(u, x[:-1], k, K, SHORTER)
            tried = np.nan_to_num(task.cost(states, torques), nan=np.inf)
        best = tried.argmin(0)
        fell = (cost - tried[best, everyone]) / cost
        better, steps = busy & (fell > 0), steps + busy
        x[:, better], u[:, better] = (y[:, best, everyone][:, better] for y in (states, torques))
        cost = np.where(better, tried[best, everyone], cost)
        damping = np.clip(np.where(better, damping / 10, damping * 30), 1e-9, 1e6)
        busy &= ~((np.abs(fell) < tolerance) & (exact if newton else True)) & (damping < 1e6)
        exact = newton & (better & (fell < 0.1) & (best == 0))
        if not busy.any():
            break
    return (x, u, cost), steps


def main() -> None:
    robot, rng = Robot.load("panda"), np.random.default_rng(1)
    low, high = np.array([link.limits.position for link in robot.model.moving], float).T
    q0, target = (low + (high - low) * rng.uniform(0.35, 0.65, (8, robot.n)) for _ in range(2))
    task = Reaching(robot, q0, target)
    costs, counts = [], []
    for name, newton in (("iLQR", False), ("with second derivatives", True)):
        (x, _, cost), steps = solve(task, newton)
        costs.append(cost)
        counts.append(steps.sum())
        off = abs(x[-1] - task.goal).max()
        print(f"{name}: {steps.mean():.1f} steps an arm, at most {steps.max()}; at the end off by {off:.3f}")
    print("the same costs:", np.allclose(*costs, rtol=1e-8))
    print("fewer steps with second derivatives:", counts[1] < counts[0])


if __name__ == "__main__":
    main()
