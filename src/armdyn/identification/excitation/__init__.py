"""Excitation: motions that show a robot's parameters in its torques, within its limits."""

from armdyn.identification.excitation.bounds import Workspace
from armdyn.identification.excitation.excite import Excitation, excite

__all__ = ["Excitation", "Workspace", "excite"]
