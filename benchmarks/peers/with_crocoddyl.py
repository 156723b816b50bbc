"""Crocoddyl: a step of its solver for differential dynamic programming, for a problem of examples/ilqr.py."""

from __future__ import annotations

from typing import Any

import crocoddyl
import numpy as np

from armdyn import Robot
from peers.with_pinocchio import Pinocchio

NAME = f"Crocoddyl {crocoddyl.__version__}"


class Step:
    """Derivatives, backward pass and rollout of one arm, the `arm`-th of a task, about states and torques.

    The models are Crocoddyl's own: forward dynamics by Pinocchio, its Euler steps (speeds first, as ours),
    weighted squares of states and torques; nothing is added to Hessians.
    """

    def __init__(self, loop: Any, task: Any, x: np.ndarray, u: np.ndarray, arm: int) -> None:
        state, actuation = self._multibody(task.robot)
        off = crocoddyl.CostModelResidual(
            state,
            crocoddyl.ActivationModelWeightedQuad(task.weights),
            crocoddyl.ResidualModelState(state, task.goal[arm], task.n),
        )
        effort = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, task.hold[arm]))
        on_the_way, last = (crocoddyl.CostModelSum(state, task.n) for _ in range(2))
        on_the_way.addCost("off", off, 1.0)
        on_the_way.addCost("effort", effort, loop.EFFORT)
        last.addCost("off", off, loop.LAST)
        run, end = (
            crocoddyl.IntegratedActionModelEuler(
                crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs), step
            )
            for costs, step in ((on_the_way, loop.STEP), (last, 0.0))
        )
        self.problem = crocoddyl.ShootingProblem(task.x0[arm], [run] * loop.KNOTS, end)
        self.problem.nthreads = 1
        self.solver = crocoddyl.SolverDDP(self.problem)
        self.solver.setCandidate(list(x[:, arm]), list(u[:, arm]), True)
        self.solver.preg = 0.0
        self.solver.dreg = 0.0
        self.problem.calc(self.solver.xs, self.solver.us)  # as the rollout of the step before has done
        self.x, self.u = self.solver.xs, self.solver.us

    @staticmethod
    def _multibody(robot: Robot) -> tuple[Any, Any]:
        state = crocoddyl.StateMultibody(Pinocchio(robot).model)
        return state, crocoddyl.ActuationModelFull(state)

    def __call__(self) -> None:
        """What every step needs; `computeDirection` would repeat the rollout of the step before."""
        self.derivatives()
        self.solver.backwardPass()
        self.rollout()

    def derivatives(self) -> None:
        self.problem.calcDiff(self.x, self.u)

    def rollout(self) -> None:
        """With gains but no feedforward: it takes the same time, and what `derivatives` reads stays right."""
        self.solver.forwardPass(0.0)

    def results(self) -> tuple[np.ndarray, np.ndarray, float]:
        """k (KNOTS, n) and K (KNOTS, n, 2n) in armdyn's signs, and the cost after a whole step."""
        self.solver.computeDirection(True)
        fell = self.solver.tryStep(1.0)
        k, K = (-np.array([np.array(y) for y in x]) for x in (self.solver.k, self.solver.K))
        self.problem.calc(self.x, self.u)
        return k, K, float(self.solver.cost - fell)
