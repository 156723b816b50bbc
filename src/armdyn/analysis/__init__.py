"""What a robot's model tells about a state: parts of torques, operational space, manipulability, rotors."""

from armdyn.analysis.arrays import AnalysisError
from armdyn.analysis.contributions import Contributions, contributions

__all__ = ["AnalysisError", "Contributions", "contributions"]
