"""Robotics Toolbox for Python: Newton–Euler of arms given by DH parameters."""

from __future__ import annotations

from math import atan2

import numpy as np
import roboticstoolbox as rtb
from timing import Call

from armdyn import Robot
from peers.peer import Peer, State, Unsuitable


class RoboticsToolbox(Peer):
    name = "Roboticstoolbox"
    package = "roboticstoolbox-python"

    def __init__(self, robot: Robot) -> None:
        mechanism = robot.mechanism
        motors = {rotor.joint: (rotor.inertia, rotor.row[0][1]) for rotor in mechanism.rotors}
        links = []
        for i, body in enumerate(mechanism.bodies):
            kind, d, a, alpha = _dh(body)
            Jm, G = motors.get(i, (0.0, 1.0))
            links.append(
                kind(
                    d=d,
                    a=a,
                    alpha=alpha,
                    m=float(body.inertia.mass),
                    r=np.array(body.inertia.com, float),
                    I=[float(body.inertia.tensor_at_com[k]) for k in (0, 3, 5, 1, 4, 2)],  # xx yy zz xy yz xz
                    Jm=float(Jm),
                    G=float(G),
                    B=0.0,
                    Tc=[0.0, 0.0],
                )
            )
        self.robot = rtb.DHRobot(links)
        down = np.sign(
            self.robot.gravity[2]
        )  # by default gravity points down; its sign depends on the version
        self.robot.gravity = -down * np.array(mechanism.gravity, float)

    def single(self, function: str, state: State) -> Call | None:
        return Call(self.robot.rne, state) if function == "inverse_dynamics" else None

    def batch(self, function: str, states: State, threads: int) -> Call | None:
        if function != "inverse_dynamics" or threads > 1:
            return None
        return Call(self.robot.rne, states, rows=len(states[0]), note="rne of a trajectory")

    def read(self, function: str, result: np.ndarray, state: State) -> np.ndarray:
        return np.asarray(result).reshape(-1)


def _dh(body) -> tuple[type, float, float, float]:
    """Link class, d, a and alpha of a joint whose frames follow a DH table with theta zero."""
    before, after = np.array(body.R_before, float), np.array(body.R_after, float)
    standard = np.array_equal(before, np.eye(3)) and not any(body.p_before)
    modified = np.array_equal(after, np.eye(3)) and not any(body.p_after)
    R, p = (after, body.p_after) if standard else (before, body.p_before)
    if not (standard or modified) or R[0, 0] != 1 or tuple(body.axis) != (0, 0, 1):
        raise Unsuitable("not an arm in DH parameters")
    x, y, z = map(float, p)
    alpha = atan2(R[2, 1], R[1, 1])
    if standard:
        if y:
            raise Unsuitable("not an arm in DH parameters")
        return rtb.RevoluteDH, z, x, alpha
    d = float(R[:, 2] @ np.array([x, y, z]))
    if not np.allclose(d * R[:, 2], [0, y, z], atol=1e-12):
        raise Unsuitable("not an arm in DH parameters")
    return rtb.RevoluteMDH, d, x, alpha


PEER = RoboticsToolbox
