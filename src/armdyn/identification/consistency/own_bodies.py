"""Links without the motors they carry and without the links fixed to them, as functions of the parameters.

The parameter vector has augmented links. `Robot.with_parameters` keeps the motors and the fixed links of the
description and gives the rest to the moving links. That rest is what has to be possible:

own = augmented − fixed links − motors with their rotors locked.

Of a rotor, exact rotors have Im z zᵀ in the tensor of its carrier, so the own body depends on Im, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.identification.consistency.pseudo_inertia import SIZE, pseudo_inertia
from armdyn.model.inertia import ENTRIES
from armdyn.model.parameters import Parameter, layout, symbol
from armdyn.robot import Robot


@dataclass(frozen=True)
class OwnBodies:
    """own (joints, 10) = parameters[places] − fixed − Σ Im z zᵀ."""

    places: np.ndarray  # (joints, 10): where in the vector a body's numbers are
    fixed: np.ndarray  # (joints, 10): fixed links, and motors but for Im
    rotors: np.ndarray  # (joints, 10, r): what the inertias of r rotors add to their carriers
    rotor_places: np.ndarray  # (r,): where in the vector those inertias are

    @staticmethod
    def of(robot: Robot) -> OwnBodies:
        model, mechanism = robot.model, robot.mechanism
        index = {parameter: i for i, parameter in enumerate(layout(model))}
        joints = range(len(model.moving))
        places = np.array([[index[Parameter(entry, j)] for entry in ENTRIES] for j in joints])
        rotors = np.zeros((len(joints), SIZE, len(mechanism.rotors)))
        for k, rotor in enumerate(mechanism.rotors):
            if rotor.carrier >= 0:
                z = np.array([float(x) for x in rotor.axis])
                rotors[rotor.carrier, 4:, k] = np.outer(z, z)[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
        inertias_of = [Parameter(symbol(rotor.part, "inertia"), rotor.joint) for rotor in mechanism.rotors]
        rotor_places = np.array([index[parameter] for parameter in inertias_of], int)
        own = np.array([[model.number(x) for x in link.inertia.entries] for link in model.moving])
        inertias = robot.parameters[rotor_places]
        return OwnBodies(places, robot.parameters[places] - own - rotors @ inertias, rotors, rotor_places)

    def __call__(self, parameters: np.ndarray) -> np.ndarray:
        """The links' own bodies (joints, 10)."""
        rotors = self.rotors @ parameters[self.rotor_places]
        return np.asarray(parameters[self.places] - self.fixed - rotors)


def impossible_links(robot: Robot, tolerance: float = 1e-9) -> tuple[str, ...]:
    """The moving links whose own body cannot exist: mass, a principal moment or the triangle inequality."""
    own = OwnBodies.of(robot)(robot.parameters)
    found = []
    for link, body in zip(robot.model.moving, own, strict=True):
        P = pseudo_inertia(body)
        size = np.sqrt(np.maximum(np.abs(np.diag(P)), 1e-300))
        if np.linalg.eigvalsh(P / np.outer(size, size)).min() < -tolerance:
            found.append(link.name)
    return tuple(found)
