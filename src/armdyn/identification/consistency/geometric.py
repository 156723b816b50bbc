"""Plausible bodies from geometry alone, for links whose description has no mass.

A link is taken as solid cylinders from its own joint to each joint that it carries (and to the tip), all with
one radius and one density. The two numbers below are ours. They give an arm of 1 m reach about 22 kg/m, as
industrial arms have (a UR10: 29 kg and 1.3 m; a Panda: 18 kg and 0.86 m, by their data sheets).
"""

from __future__ import annotations

import numpy as np

from armdyn.identification.consistency.pseudo_inertia import at_centre
from armdyn.model import Mechanism
from armdyn.robot import Robot

RADIUS = 0.08  # of the sum of all lengths between joints
DENSITY = 1100.0  # kg/m³: metal, motors and air
SMALLEST = 0.01  # m: a radius for robots without any length


def geometric_bodies(robot: Robot) -> np.ndarray:
    """Pseudo-inertias (joints, 4, 4) about the link frames' origins."""
    mechanism = robot.mechanism
    ends = [_ends(mechanism, j) for j in range(len(mechanism.bodies))]
    reach = sum(max((float(np.linalg.norm(b - a)) for b in far), default=0.0) for a, far in ends)
    radius = max(RADIUS * reach, SMALLEST)
    return np.array([_link(a, far, radius) for a, far in ends])


def _ends(mechanism: Mechanism, j: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Where a link's own joint is, and where the joints on it and the tip are, in the link's frame."""
    body = mechanism.bodies[j]
    R, p = _array(body.R_after), _array(body.p_after)
    far = [_array(child.p_before) for child in mechanism.bodies if child.parent == j]
    if mechanism.tip == j:
        far.append(_array(mechanism.p_tip))
    return -R.T @ p, far


def _link(start: np.ndarray, far: list[np.ndarray], radius: float) -> np.ndarray:
    return np.asarray(sum(_cylinder(start, end, radius) for end in far or [start]))


def _cylinder(start: np.ndarray, end: np.ndarray, radius: float) -> np.ndarray:
    """A solid cylinder between two points; between near ones it is as long as wide, in all directions."""
    along = end - start
    length = float(np.linalg.norm(along))
    mass = DENSITY * np.pi * radius**2 * max(length, 2 * radius)
    across = radius**2 / 4
    if length < 2 * radius:
        return at_centre(mass, (start + end) / 2, mass * across * np.eye(3))
    axis = np.outer(along, along) / length**2
    return at_centre(mass, (start + end) / 2, mass * (across * (np.eye(3) - axis) + length**2 / 12 * axis))


def _array(x: object) -> np.ndarray:
    return np.array(x, float)
