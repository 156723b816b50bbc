"""Excitation: motions that show a robot's parameters in its torques, within its limits."""

from armdyn.identification.excitation.excitation import Excitation
from armdyn.identification.excitation.excite import excite
from armdyn.identification.excitation.workspace import Workspace

__all__ = ["Excitation", "Workspace", "excite"]
