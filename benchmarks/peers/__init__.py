"""Other people's libraries with the same arms, each called the way it is at its fastest from Python."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from peers.peer import Peer, Unsuitable

_PEERS = {  # what is imported: our module
    "pinocchio": "peers.with_pinocchio",
    "casadi": "peers.with_casadi",
    "mujoco": "peers.with_mujoco",
    "roboticstoolbox": "peers.with_roboticstoolbox",
    "sympybotics": "peers.with_sympybotics",
}

__all__ = ["Peer", "Unsuitable", "installed", "missing"]


def missing() -> list[str]:
    """The peers that are not installed."""
    return [name for name in _PEERS if find_spec(name) is None]


def installed() -> list[type[Peer]]:
    """The peers that are."""
    return [import_module(module).PEER for name, module in _PEERS.items() if find_spec(name) is not None]
