"""Pinocchio."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from timing import Call

from armdyn import Robot
from peers.peer import Peer, State, looped, tree_of

_SINGLE = {  # the call, and how many of q, q̇, q̈ it takes
    "inverse_dynamics": (pin.rnea, 3),
    "forward_dynamics": (pin.aba, 3),
    "inertia": (pin.crba, 1),
    "coriolis": (pin.computeCoriolisMatrix, 2),
    "gravity": (pin.computeGeneralizedGravity, 1),
    "regressor": (pin.computeJointTorqueRegressor, 3),
    "inverse_dynamics_derivatives": (pin.computeRNEADerivatives, 3),
    "forward_dynamics_derivatives": (pin.computeABADerivatives, 3),
}
_BATCH = {"inverse_dynamics": "rneaInParallel", "forward_dynamics": "abaInParallel"}
_LOOP_ROWS = 2000  # of a loop of single calls: enough, as the time of one does not depend on their number


class Pinocchio(Peer):
    name = "Pinocchio"
    package = "pin"

    def __init__(self, robot: Robot) -> None:
        tree = tree_of(robot)
        self.model = pin.Model()
        for i, body in enumerate(tree.bodies):
            place = pin.SE3(body.R, body.p)
            joint = self.model.addJoint(body.parent + 1, _joint(body.axis), place, f"joint {i + 1}")
            inertia = pin.Inertia(body.mass, body.com, body.tensor)
            self.model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        self.model.armature = np.array([body.armature for body in tree.bodies])
        self.model.gravity.linear = tree.gravity
        tip = pin.SE3(tree.R_tip, tree.p_tip)
        self.tip = self.model.addFrame(pin.Frame("tip", tree.tip + 1, tip, pin.FrameType.OP_FRAME))
        self.data = self.model.createData()
        self.parameters = np.concatenate([i.toDynamicParameters() for i in list(self.model.inertias)[1:]])

    def single(self, function: str, state: State) -> Call | None:
        if function == "jacobian":
            where = (self.tip, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
            return Call(pin.computeFrameJacobian, (self.model, self.data, state[0], *where))
        call, takes = _SINGLE[function]
        return Call(call, (self.model, self.data, *state[:takes]))

    def batch(self, function: str, states: State, threads: int) -> Call | None:
        if function in _BATCH:
            pool = pin.ModelPool(self.model, threads)
            columns = [np.asfortranarray(x.T) for x in states]
            result = np.empty_like(columns[0])
            arguments = (threads, pool, *columns, result)
            call = getattr(pin, _BATCH[function])
            return Call(_returning, (call, arguments, result), rows=len(states[0]), note=_BATCH[function])
        if threads > 1:
            return None
        rows = zip(*(x[:_LOOP_ROWS] for x in states), strict=True)
        calls = [self.single(function, (q, qd, x)) for q, qd, x in rows]
        return looped([call for call in calls if call], "loop of single calls")

    def simulation(self, q: np.ndarray, qd: np.ndarray) -> Call:
        """A step of Runge–Kutta for every row, of which only the four calls of `aba` are counted."""
        tau = np.zeros(q.shape[-1])
        rows = [(self.model, self.data, *state, tau) for state in zip(q, qd, strict=True)]
        return Call(_four_calls, (pin.aba, rows), rows=len(rows), note="loop of 4 aba a step")

    def read(self, function: str, result: Any, state: State) -> Any:
        if function == "regressor":  # its columns are about joint frames: compare the torques
            return result @ self.parameters + self.model.armature * state[2]
        return tuple(map(np.array, result)) if isinstance(result, tuple) else np.array(result)

    def read_batch(self, function: str, result: Any, states: State) -> Any:
        return None if result is None else result.T


def _returning(call: Any, arguments: tuple[Any, ...], result: np.ndarray) -> np.ndarray:
    call(*arguments)
    return result


def _four_calls(aba: Any, rows: list[tuple[Any, ...]]) -> None:
    for _ in range(4):
        for arguments in rows:
            aba(*arguments)


def _joint(axis: np.ndarray) -> Any:
    """The joint with the least arithmetic."""
    for unit, joint in zip(np.eye(3), (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ), strict=True):
        if np.array_equal(axis, unit):
            return joint()
    return pin.JointModelRevoluteUnaligned(axis)


PEER = Pinocchio
