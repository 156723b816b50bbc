"""Values in notebooks: a card for each kind, a small page with facts, a table or a picture.

Classes ask for theirs by `armdyn.output.Shown`. A new card is a function of the value, and a row here.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from armdyn.expression import ArmdynError

_MAKERS = {  # by the name of the class: the module here, and the function in it
    "Robot": ("robot", "robot_card"),
    "Trajectory": ("motions", "trajectory_card"),
    "Run": ("motions", "run_card"),
    "Scaled": ("timing", "scaled_card"),
    "TimeOptimal": ("timing", "time_optimal_card"),
    "MotorLoads": ("motions", "motor_loads_card"),
    "Ellipsoid": ("ellipsoid", "ellipsoid_card"),
    "BaseParameters": ("parameters", "base_card"),
    "Fit": ("parameters", "fit_card"),
    "Proof": ("parameters", "proof_card"),
}


def card(value: Any) -> str:
    """HTML that shows a value and needs nothing else."""
    for kind in type(value).__mro__:
        if kind.__name__ in _MAKERS and kind.__module__.startswith("armdyn."):
            module, function = _MAKERS[kind.__name__]
            return str(getattr(import_module(f"{__name__}.{module}"), function)(value))
    raise ArmdynError(f"there is no card for a {type(value).__name__}")
