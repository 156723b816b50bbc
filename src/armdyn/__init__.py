"""armdyn: the dynamics of robot manipulators, exact to read and fast to run.

The flow, in the order of the folders: `expression` (exact numbers with symbols) → `model` (what a robot is)
→ `description` (text to model) → `dynamics` (the book's algorithms, once, over any scalar) → `exact` (closed
form and proofs) → `program` (algorithms as straight-line code) → `kernels` (compiled array functions, C) →
`robot` (the front door) → `cli`.
"""

__version__ = "0.1.0"

from armdyn.description import DescriptionError, bundled_robots
from armdyn.exact import Equations, Proof
from armdyn.expression import ArmdynError, Expression
from armdyn.kernels import get_threads, set_backend, set_threads
from armdyn.model import (
    Inertia,
    PhysicsWarning,
    box,
    cylinder,
    hollow_cylinder,
    point_mass,
    rod,
    sphere,
)
from armdyn.robot import BaseMotion, Robot

__all__ = [
    "ArmdynError",
    "BaseMotion",
    "DescriptionError",
    "Equations",
    "Expression",
    "Inertia",
    "PhysicsWarning",
    "Proof",
    "Robot",
    "box",
    "bundled_robots",
    "cylinder",
    "get_threads",
    "hollow_cylinder",
    "point_mass",
    "rod",
    "set_backend",
    "set_threads",
    "sphere",
]
