"""What drives a robot, for the torques at its shafts: K and its inverse, names, limits, torque constants."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from armdyn.model import ModelError
from armdyn.model.lowering import driven_positions
from armdyn.motion import MotorLoads
from armdyn.output import one_line
from armdyn.robot import Robot
from armdyn.robot.joints import UNITS, Units
from armdyn.robot.motors import ShaftLimits, driven_coordinates, to_motors
from armdyn.workbench.bench.moment import Moment


@dataclass(frozen=True)
class Drives:
    """m motors: θ̇_m = K q̇ (7.22) and τ_m = P τ, with Kᵀ τ_m = τ (7.23)."""

    K: np.ndarray  # (m, n)
    P: np.ndarray  # (m, n)
    names: tuple[str, ...]
    geared: tuple[bool, ...]  # False: the joint has no motor in the description
    units: tuple[Units, ...]
    limits: ShaftLimits
    constant: np.ndarray  # N m/A
    constant_given: np.ndarray  # whether currents mean something


@lru_cache(maxsize=8)
def drives_of(robot: Robot) -> Drives | str:
    """The motors of a robot; or why there is nothing to say of them."""
    if not any(link.motor for link in robot.model.moving):
        return (
            "The description of this robot has no motors: the torques at the joints are all there is to say."
        )
    try:
        P, K = to_motors(robot.model), robot.transmission
    except ModelError as error:
        return one_line(str(error))
    none = np.zeros((1, len(P)))
    loads = MotorLoads(robot, np.zeros(1), none, none)
    names = tuple(f"{i + 1} {one_line(name)}" for i, name in enumerate(loads.names))
    constant, given = loads.torque_constant, loads.constant_given
    return Drives(K, P, names, loads.geared, loads.units, loads.limits, constant, given)


def held_links(robot: Robot) -> list[int]:
    """The coordinates on which nothing acts: links of elastic joints."""
    if not robot.model.elastic:
        return []
    return sorted(set(range(robot.n)) - set(driven_coordinates(robot.model)))


def redundant_drives(moment: Moment) -> list[tuple[str, float, float, str]]:
    """Name, torque, limit and unit of all driven joints of a closed chain that has more of them than n."""
    model = moment.robot.model
    links = [model.positions[i] for i in driven_positions(model)] if model.loops else []
    if len(links) <= model.n:
        return []
    tau = np.asarray(moment.subject.runs.actuator_torques(moment.q, moment.tau))
    found = []
    for link, torque in zip(links, tau.tolist(), strict=True):
        most = np.inf if link.limits.torque is None else model.number(link.limits.torque)
        found.append((f"drive {one_line(link.joint_label)}", torque, most, UNITS[link.joint].torque))
    return found
