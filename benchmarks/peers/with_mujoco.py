"""MuJoCo, without contacts and constraints."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from mujoco import rollout
from timing import Call

from armdyn import Robot
from peers.peer import Peer, RigidBody, State, Tree, Unsuitable, tree_of

_QFRC = mujoco.mjtState.mjSTATE_QFRC_APPLIED.value


class MuJoCo(Peer):
    name = "MuJoCo"
    package = "mujoco"

    def __init__(self, robot: Robot) -> None:
        try:
            self.text = mjcf(tree_of(robot))
            self.model = mujoco.MjModel.from_xml_string(self.text)
        except ValueError as error:
            raise Unsuitable(str(error).strip()) from error
        self.data = mujoco.MjData(self.model)
        n = robot.n
        self.n, self.B, self.tau = n, np.empty((n, n)), np.empty(n)
        self.armature = self.model.dof_armature.copy()
        self.has_armature = bool(self.armature.any())
        self.J_P, self.J_O = np.empty((3, n)), np.empty((3, n))
        self._views = self.data.qpos, self.data.qvel, self.data.qacc, self.data.qfrc_applied

    def single(self, function: str, state: State) -> Call | None:
        call = {
            "inverse_dynamics": self.inverse_dynamics,
            "forward_dynamics": self.forward_dynamics,
            "inertia": self.inertia,
            "jacobian": self.jacobian,
        }.get(function)
        takes = 1 if function in ("inertia", "jacobian") else 3
        return Call(call, state[:takes]) if call else None

    def inverse_dynamics(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> Any:
        """The parts of mj_inverse that torques need; the whole takes twice as long for long arms."""
        m, d = self.model, self.data
        qpos, qvel, qacc, _ = self._views
        qpos[:], qvel[:], qacc[:] = q, qd, qdd
        mujoco.mj_kinematics(m, d)
        mujoco.mj_comPos(m, d)
        mujoco.mj_comVel(m, d)
        mujoco.mj_rne(m, d, 1, self.tau)
        return self.tau + self.armature * qdd if self.has_armature else self.tau

    def forward_dynamics(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> Any:
        qpos, qvel, _, applied = self._views
        qpos[:], qvel[:], applied[:] = q, qd, tau
        mujoco.mj_forward(self.model, self.data)
        return self.data.qacc

    def inertia(self, q: np.ndarray) -> Any:
        m, d = self.model, self.data
        self._views[0][:] = q
        mujoco.mj_kinematics(m, d)
        mujoco.mj_comPos(m, d)
        mujoco.mj_makeM(m, d)
        _full(m, d, self.B)
        return self.B

    def jacobian(self, q: np.ndarray) -> Any:
        m, d = self.model, self.data
        self._views[0][:] = q
        mujoco.mj_kinematics(m, d)
        mujoco.mj_comPos(m, d)
        mujoco.mj_jacSite(m, d, self.J_P, self.J_O, 0)
        return self.J_P, self.J_O

    def batch(self, function: str, states: State, threads: int) -> Call | None:
        """Its batch call is a step of simulation; one of Euler's with dt = 1 s gives the acceleration."""
        if function != "forward_dynamics":
            return None
        q, qd, tau = states
        rows = len(q)
        first = np.hstack([np.zeros((rows, 1)), q, qd])  # time, positions, velocities
        if mujoco.mj_stateSize(self.model, mujoco.mjtState.mjSTATE_FULLPHYSICS.value) != first.shape[1]:
            return None
        last = np.empty((rows, 1, first.shape[1]))
        sensors = np.empty((rows, 1, 0))
        data = [mujoco.MjData(self.model) for _ in range(threads)]
        pool = rollout.Rollout(nthread=threads if threads > 1 else 0)
        arguments = (pool, self.model, data, first, tau[:, None, :].copy(), last, sensors)
        return Call(_step, arguments, rows=rows, note="rollout, one step")

    def simulation(self, q: np.ndarray, qd: np.ndarray, step: float, steps: int) -> list[Call]:
        """Its own Runge–Kutta, stepped from Python and in one call; each gives the last state."""
        model = mujoco.MjModel.from_xml_string(self.text)
        model.opt.timestep, model.opt.integrator = step, mujoco.mjtIntegrator.mjINT_RK4
        data, first = mujoco.MjData(model), np.hstack([0.0, q, qd])[None]
        return [
            Call(_stepped, (model, data, q, qd, steps), rows=steps, note="loop of mj_step"),
            Call(_rolled_out, (model, data, first, steps), rows=steps, note="rollout, one call"),
        ]

    def read(self, function: str, result: Any, state: State) -> Any:
        return np.vstack(result) if function == "jacobian" else np.array(result)

    def read_batch(self, function: str, result: Any, states: State) -> Any:
        return result[:, 0, 1 + self.n :] - states[1]


def _step(pool: Any, model: Any, data: Any, first: Any, tau: Any, last: Any, sensors: Any) -> np.ndarray:
    pool.rollout(model, data, first, tau, control_spec=_QFRC, state=last, sensordata=sensors)
    return last


def _stepped(model: Any, data: Any, q: np.ndarray, qd: np.ndarray, steps: int) -> Any:
    mujoco.mj_resetData(model, data)
    data.qpos[:], data.qvel[:] = q, qd
    for _ in range(steps):
        mujoco.mj_step(model, data)
    return data.qpos.copy(), data.qvel.copy()


def _rolled_out(model: Any, data: Any, first: np.ndarray, steps: int) -> Any:
    states, _ = rollout.rollout(model, data, first, nstep=steps)
    n = (first.shape[1] - 1) // 2
    return states[0, -1, 1 : 1 + n], states[0, -1, 1 + n :]


def _full(model: Any, data: Any, B: np.ndarray) -> None:
    try:
        mujoco.mj_fullM(model, data, B)
    except TypeError:  # before MuJoCo 4
        mujoco.mj_fullM(model, B, data.qM)


def mjcf(tree: Tree) -> str:
    """The arm as MJCF, numbers in full."""
    flat = all(np.allclose(abs(b.axis), [0, 0, 1]) and np.allclose(b.R[2], [0, 0, 1]) for b in tree.bodies)
    text = "".join(_opening(tree, i, flat) for i in range(len(tree.bodies))) + "</body>" * len(tree.bodies)
    if any(body.parent != i - 1 for i, body in enumerate(tree.bodies)):
        raise Unsuitable("only unbranched chains")
    return (
        f'<mujoco><compiler angle="radian"/><option gravity="{_text(tree.gravity)}" timestep="1" '
        'integrator="Euler"><flag contact="disable" constraint="disable" eulerdamp="disable" '
        f'autoreset="disable"/></option><worldbody>{text}</worldbody></mujoco>'
    )


def _opening(tree: Tree, i: int, flat: bool) -> str:
    body = tree.bodies[i]
    site = f'<site name="tip" {_pose(tree.R_tip, tree.p_tip)}/>' if i == tree.tip else ""
    return (
        f"<body {_pose(body.R, body.p)}>"
        f'<joint type="hinge" axis="{_text(body.axis)}" armature="{body.armature!r}"/>'
        f'<inertial mass="{body.mass!r}" pos="{_text(body.com)}" fullinertia="{_tensor(body, flat)}"/>{site}'
    )


def _tensor(body: RigidBody, flat: bool) -> str:
    """xx yy zz xy xz yz. In a planar arm only zz counts, and MuJoCo refuses a tensor with nothing else."""
    I = np.eye(3) * body.tensor[2, 2] if flat else body.tensor
    return _text([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])


def _pose(R: np.ndarray, p: np.ndarray) -> str:
    return f'pos="{_text(p)}" xyaxes="{_text([*R[:, 0], *R[:, 1]])}"'


def _text(numbers: Any) -> str:
    return " ".join(repr(float(x)) for x in numbers)


PEER = MuJoCo
