"""What a robot's model tells about a state: parts of torques, operational space, manipulability, rotors."""

from armdyn.analysis.arrays import AnalysisError
from armdyn.analysis.contributions import Contributions, contributions
from armdyn.analysis.operational import Operational, OperationalWarning, operational

__all__ = [
    "AnalysisError",
    "Contributions",
    "Operational",
    "OperationalWarning",
    "contributions",
    "operational",
]
