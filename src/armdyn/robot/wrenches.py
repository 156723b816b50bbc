"""Wrenches on links by name: {"left hand": (..., 6), "elbow": (..., 6)} as one array for a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from armdyn.expression import shown
from armdyn.kernels.arrays import Numbers, joined, real_array
from armdyn.kernels.kernel import library_of
from armdyn.model import ModelError, RobotModel
from armdyn.model.robot_model import listed

Wrench: TypeAlias = Numbers | Mapping[str, Numbers]


def check_link(model: RobotModel, name: str, link: Any) -> str:
    """Refuse what is not the name of a link or of the base."""
    if not isinstance(link, str) or (link != model.root and link not in model.index):
        raise ModelError(f"{name}: found {shown(link)}; links: {listed([model.root, *model.index])}")
    return link


def of_links(model: RobotModel, wrench: Mapping[Any, Any]) -> dict[str, Any]:
    """What is given by link, in the order of the model's links: kernels do not depend on the caller's."""
    given = {check_link(model, "wrench", link): x for link, x in wrench.items()}
    return {link: given[link] for link in (model.root, *model.index) if link in given}


def label(link: str) -> str:
    """What the wrench of a link is called in messages."""
    return f"wrench[{shown(link)}]"


def side_by_side(wrenches: Mapping[str, Any], beside: Sequence[Any]) -> Any:
    """Wrenches (..., 6) on k links, broadcast against each other: (..., 6 k), in their own library.

    Lists beside arrays of another library stay a list, which every library reads.
    """
    called = {label(link): x for link, x in wrenches.items()}
    if library := library_of(list(called.values())):
        return library.side_by_side(called)
    found = joined({name: real_array(name, x, "numbers (..., 6)") for name, x in called.items()})
    listed_only = all(isinstance(x, list | tuple) for x in called.values())
    return found.tolist() if listed_only and library_of(beside) else found
