"""SymPyBotics: symbolic Newton–Euler of arms given by DH parameters, as the Python code that it generates.

It is not on PyPI: https://github.com/cdsousa/SymPyBotics.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy
import sympybotics
from sympybotics.dynamics import Dynamics
from sympybotics.geometry import Geometry
from sympybotics.robotcodegen import robot_code_to_func
from sympybotics.symcode import Subexprs
from timing import Call

from armdyn import Robot
from peers.peer import Peer, State, Unsuitable, dh_row, looped, tree_of

# Ixx Ixy Ixz Iyy Iyz Izz mx my mz m, in places of armdyn's m mx my mz Ixx Ixy Ixz Iyy Iyz Izz
ORDER = [4, 5, 6, 7, 8, 9, 1, 2, 3, 0]
_LOOP_ROWS = 200


class SymPyBotics(Peer):
    name = "SymPyBotics"
    package = "sympybotics"

    def __init__(self, robot: Robot) -> None:
        if any(body.armature for body in tree_of(robot).bodies):  # which also refuses friction
            raise Unsuitable("no motors")
        rows = [dh_row(body) for body in robot.mechanism.bodies]
        convention = "modified" if rows[0][0] else "standard"
        table = [(_exact(alpha), a, d, "q") for _, d, a, alpha in rows]
        self.definition = sympybotics.RobotDef(robot.name, table, dh_convention=convention)
        self.definition.gravityacc = sympy.Matrix([float(x) for x in robot.mechanism.gravity])
        self.dynamics = Dynamics(self.definition, Geometry(self.definition))
        self.parameters = robot.parameters.reshape(robot.n, 13)[:, ORDER].ravel().tolist()
        self.n, self._functions = robot.n, {}

    def single(self, function: str, state: State) -> Call | None:
        """Generated functions take lists and give lists, which is fastest."""
        makers = {
            "inverse_dynamics": (self.dynamics.gen_invdyn, "invdyn", 3),
            "inertia": (self.dynamics.gen_inertiamatrix, "M", 1),
        }
        if function not in makers:
            return None
        make, attribute, takes = makers[function]
        if function not in self._functions:
            self._functions[function] = self._generated(make, attribute)
        return Call(self._functions[function], (self.parameters, *(x.tolist() for x in state[:takes])))

    def batch(self, function: str, states: State, threads: int) -> Call | None:
        rows = zip(*(x[:_LOOP_ROWS] for x in states), strict=True)
        if threads > 1:
            return None
        calls = [call for state in rows if (call := self.single(function, state))]
        return looped(calls, "loop of single calls") if calls else None

    def read(self, function: str, result: Any, state: State) -> np.ndarray:
        return np.array(result).reshape((self.n, self.n) if function == "inertia" else -1)

    def read_batch(self, function: str, result: Any, states: State) -> None:
        return None

    def _generated(self, make: Callable[[Any], None], attribute: str) -> Callable[..., list[float]]:
        parts = Subexprs()
        make(parts.collect)
        code = parts.get(getattr(self.dynamics, attribute))
        scope: dict[str, Any] = {"math": math}
        exec(robot_code_to_func("python", code, "out", "generated", self.definition), scope)
        return scope["generated"]


def _exact(alpha: float) -> Any:
    """Quarter turns as multiples of π, so that their sines and cosines are integers."""
    quarters = round(2 * alpha / math.pi)
    return quarters * sympy.pi / 2 if math.isclose(alpha, quarters * math.pi / 2) else alpha


PEER = SymPyBotics
