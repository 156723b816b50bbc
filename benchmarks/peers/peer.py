"""What a peer offers, and the arm as every peer wants it: bodies in the frames of their joints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import atan2
from typing import Any, ClassVar

import numpy as np
from timing import Call

from armdyn import Robot

State = tuple[np.ndarray, np.ndarray, np.ndarray]  # q, q̇ and q̈ (or τ)


class Unsuitable(Exception):
    """The peer cannot have this arm."""


class Peer(ABC):
    """A library holding one arm.

    A `Call` of a single function returns what the library returns. `read` brings that to armdyn's form, or to
    the form in which the two can be compared (see `kernels.comparable`).
    """

    name: ClassVar[str]
    package: ClassVar[str]  # on PyPI

    @abstractmethod
    def __init__(self, robot: Robot) -> None: ...

    @abstractmethod
    def single(self, function: str, state: State) -> Call | None:
        """One evaluation, called from Python; None where the library has no such function."""

    def batch(self, function: str, states: State, threads: int) -> Call | None:
        """All rows in one call of the library, or else (one thread only) a Python loop of single calls."""
        return None

    def read(self, function: str, result: Any, state: State) -> Any:
        """The result of a single call in armdyn's form."""
        return result

    def read_batch(self, function: str, result: Any, states: State) -> Any:
        """The result of a batch call in armdyn's form; None where a loop keeps nothing."""
        return result


def looped(calls: Sequence[Call], note: str) -> Call:
    """Single calls one after another; what they return is dropped."""
    function = calls[0].function
    return Call(_loop, (function, [call.arguments for call in calls]), rows=len(calls), note=note)


def _loop(function: Callable[..., Any], rows: list[tuple[Any, ...]]) -> None:
    for arguments in rows:
        function(*arguments)


@dataclass(frozen=True)
class RigidBody:
    """A link in the frame of its joint, which sits at (R, p) in the frame of its parent's joint."""

    parent: int  # −1: the base
    R: np.ndarray
    p: np.ndarray
    axis: np.ndarray
    mass: float
    com: np.ndarray
    tensor: np.ndarray  # about the centre of mass
    armature: float


@dataclass(frozen=True)
class Tree:
    bodies: list[RigidBody]
    gravity: np.ndarray
    tip: int
    R_tip: np.ndarray  # in the frame of the tip's joint
    p_tip: np.ndarray


def tree_of(robot: Robot) -> Tree:
    """The arm with joint frames as body frames: what is behind a joint moves into the rest."""
    mechanism = robot.mechanism
    if any(body.joint != "revolute" for body in mechanism.bodies):
        raise Unsuitable("only revolute joints")
    if any(x for surface in mechanism.friction for x in surface.values):
        raise Unsuitable("no friction")
    armature = np.zeros(robot.n)
    for rotor in mechanism.rotors:
        if any(rotor.axis) or [j for j, _ in rotor.row] != [rotor.joint]:
            raise Unsuitable("only reflected rotors, one to a joint")
        armature[rotor.joint] = rotor.inertia * rotor.row[0][1] ** 2
    after = [(np.array(b.R_after, float), np.array(b.p_after, float)) for b in mechanism.bodies]
    bodies = []
    for i, body in enumerate(mechanism.bodies):
        R, p = np.array(body.R_before, float), np.array(body.p_before, float)
        if body.parent >= 0:
            R_parent, p_parent = after[body.parent]
            R, p = R_parent @ R, p_parent + R_parent @ p
        placed = body.inertia.placed(body.R_after, body.p_after)
        mass, moment = float(placed.mass), np.array(placed.moment, float)
        com = moment / mass
        tensor = np.array(placed.matrix, float) - mass * (com @ com * np.eye(3) - np.outer(com, com))
        axis = np.array(body.axis, float)
        bodies.append(RigidBody(body.parent, R, p, axis, mass, com, tensor, float(armature[i])))
    R_after, p_after = after[mechanism.tip]
    R_tip, p_tip = np.array(mechanism.R_tip, float), np.array(mechanism.p_tip, float)
    return Tree(
        bodies, np.array(mechanism.gravity, float), mechanism.tip, R_after @ R_tip, p_after + R_after @ p_tip
    )


def dh_row(body: Any) -> tuple[bool, float, float, float]:
    """Whether the row is one of modified DH, and its d, a and alpha, for a joint whose theta is zero."""
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
        return False, z, x, alpha
    d = float(R[:, 2] @ np.array([x, y, z]))
    if not np.allclose(d * R[:, 2], [0, y, z], atol=1e-12):
        raise Unsuitable("not an arm in DH parameters")
    return True, d, x, alpha
