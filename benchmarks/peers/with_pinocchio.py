"""Pinocchio. Its second derivatives are C++ alone: they are compiled here, where there is a compiler."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import tempfile
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
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
_SECOND = "inverse_dynamics_second_derivatives"
_SOURCE = Path(__file__).with_name("pinocchio_second.cpp")
_FLAGS = ("-O3", "-march=native", "-DNDEBUG", "-std=c++17", "-shared", "-fPIC", "-w")
_BOOST = ("BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS", "BOOST_MPL_LIMIT_LIST_SIZE=30")  # as its CMake files say
_BOOST += ("BOOST_MPL_LIMIT_VECTOR_SIZE=30", "BOOST_FUSION_INVOKE_MAX_ARITY=12")
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
        numbers = [
            [x.parent, *x.R.ravel(), *x.p, *x.axis, x.mass, *x.com, *x.tensor.ravel(), x.armature]
            for x in tree.bodies
        ]
        self._numbers, self._gravity = np.array(numbers, float), np.array(tree.gravity, float)
        self._found: list[np.ndarray] = []  # tensors of the last rows
        self.parameters = np.concatenate([i.toDynamicParameters() for i in list(self.model.inertias)[1:]])

    def single(self, function: str, state: State) -> Call | None:
        if function == "jacobian":
            where = (self.tip, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
            return Call(pin.computeFrameJacobian, (self.model, self.data, state[0], *where))
        if function == _SECOND:
            return self._second(*(x[None] for x in state))
        if function not in _SINGLE:
            return None
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
        if threads > 1 or (function not in _SINGLE and function != _SECOND):
            return None
        if function == _SECOND:
            return self._second(*states)
        rows = zip(*(x[:_LOOP_ROWS] for x in states), strict=True)
        calls = [self.single(function, (q, qd, x)) for q, qd, x in rows]
        return looped([call for call in calls if call], "loop of single calls")

    def _second(self, *states: np.ndarray) -> Call | None:
        """All rows in a loop of C++, into arrays of their own."""
        if (library := _library()) is None:
            return None
        rows, n = states[0].shape
        self._found = [np.zeros((rows, n, n, n)) for _ in range(4)]
        given = [np.ascontiguousarray(x) for x in states]
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*given, *self._found)]
        arguments = (self._arm, ctypes.c_long(rows), *pointers, ctypes.c_long(n**3))
        return Call(_of(library.second_derivatives, given), arguments, rows=rows, note="compiled C++")

    @cached_property
    def _arm(self) -> ctypes.c_void_p:
        library = _library()
        numbers, gravity = (ctypes.c_void_p(x.ctypes.data) for x in (self._numbers, self._gravity))
        return ctypes.c_void_p(library.arm(len(self._numbers), numbers, gravity))

    def _tensors(self) -> tuple[np.ndarray, ...]:
        """In armdyn's order; theirs have columns first, and ∂²τ/∂q∂q̇ in the place of ∂²τ/∂q̇∂q."""
        qq, vv, qv, aq = (x.transpose(0, 3, 2, 1) for x in self._found)
        return qq, qv.swapaxes(-1, -2), aq, vv

    def simulation(self, q: np.ndarray, qd: np.ndarray) -> Call:
        """A step of Runge–Kutta for every row, of which only the four calls of `aba` are counted."""
        tau = np.zeros(q.shape[-1])
        rows = [(self.model, self.data, *state, tau) for state in zip(q, qd, strict=True)]
        return Call(_four_calls, (pin.aba, rows), rows=len(rows), note="loop of 4 aba a step")

    def read(self, function: str, result: Any, state: State) -> Any:
        if function == _SECOND:
            return tuple(x[0] for x in self._tensors())
        if function == "regressor":  # its columns are about joint frames: compare the torques
            return result @ self.parameters + self.model.armature * state[2]
        return tuple(map(np.array, result)) if isinstance(result, tuple) else np.array(result)

    def read_batch(self, function: str, result: Any, states: State) -> Any:
        if function == _SECOND:
            return self._tensors()
        return None if result is None else result.T


def _of(function: Any, kept: list[np.ndarray]) -> Any:
    """A function of C whose arguments point into arrays that are kept with it."""
    function.kept = kept
    return function


@lru_cache
def _library() -> Any:
    """The compiled `pinocchio_second.cpp`, kept in the folder of temporary files; None where it cannot be.

    It takes a minute or two. Eigen, without which Pinocchio's headers are of no use, comes with CasADi, too.
    """
    root = Path(pin.__file__).parents[4]  # include/ and lib/ beside each other
    eigen = [Path("/usr/include/eigen3"), *(Path(x) / "casadi/include/eigen3" for x in sys.path)]
    found = next((x for x in eigen if (x / "unsupported/Eigen").exists()), None)
    compiler = shutil.which("g++")
    if compiler is None or found is None or not (root / "include/pinocchio").exists():
        return None
    name = sha256(f"{pin.__version__} {_FLAGS} {_BOOST} {_SOURCE.read_text()}".encode()).hexdigest()[:16]
    target = Path(tempfile.gettempdir()) / f"armdyn-benchmark-{name}.so"
    if not target.exists():
        library = root / "lib"
        places = [f"-I{root / 'include'}", f"-I{found}", f"-L{library}", f"-Wl,-rpath,{library}"]
        part = target.with_suffix(".part")
        command = [compiler, *_FLAGS, *(f"-D{x}" for x in _BOOST), *places, str(_SOURCE), "-o", str(part)]
        subprocess.run([*command, "-lpinocchio_default"], check=True)
        part.replace(target)
    opened = ctypes.CDLL(str(target))
    opened.arm.restype = ctypes.c_void_p
    opened.second_derivatives.restype = None
    return opened


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
