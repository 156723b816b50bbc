"""Robotics Toolbox for Python: arms given by DH parameters; all of their dynamics is by Newton–Euler."""

from __future__ import annotations

import numpy as np
import roboticstoolbox as rtb
from timing import Call

from armdyn import Robot
from peers.peer import Peer, State, dh_row, looped

_LOOP_ROWS = 200  # of a loop of single calls


class RoboticsToolbox(Peer):
    name = "Roboticstoolbox"
    package = "roboticstoolbox-python"

    def __init__(self, robot: Robot) -> None:
        mechanism = robot.mechanism
        motors = {rotor.joint: (rotor.inertia, rotor.row[0][1]) for rotor in mechanism.rotors}
        links = []
        for i, body in enumerate(mechanism.bodies):
            modified, d, a, alpha = dh_row(body)
            kind = rtb.RevoluteMDH if modified else rtb.RevoluteDH
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
        calls = {
            "inverse_dynamics": Call(self.robot.rne, state),
            "forward_dynamics": Call(self.robot.accel, state),
            "inertia": Call(self.robot.inertia, state[:1]),
        }
        return calls.get(function)

    def batch(self, function: str, states: State, threads: int) -> Call | None:
        if threads > 1:
            return None
        if function == "inverse_dynamics":
            return Call(self.robot.rne, states, rows=len(states[0]), note="rne of a trajectory")
        rows = zip(*(x[:_LOOP_ROWS] for x in states), strict=True)
        calls = [call for state in rows if (call := self.single(function, state))]
        return looped(calls, "loop of single calls") if calls else None

    def read(self, function: str, result: np.ndarray, state: State) -> np.ndarray:
        result = np.asarray(result)
        return result if function == "inertia" else result.reshape(-1)


PEER = RoboticsToolbox
