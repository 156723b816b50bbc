"""Wrenches on links by name: {"left hand": (..., 6), "elbow": (..., 6)} as one array for a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from armdyn.expression import ArmdynError, shown
from armdyn.kernels.arrays import Numbers, real_array
from armdyn.kernels.backends import library_of
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


def side_by_side(wrenches: Mapping[str, Any]) -> Any:
    """Wrenches (..., 6) on k links, broadcast against each other: (..., 6 k)."""
    library = library_of(list(wrenches.values()))
    functions: Any = np if library is None else library.functions()
    arrays = dict(wrenches)
    if library is None:
        arrays = {link: real_array(label(link), x, "numbers (..., 6)") for link, x in wrenches.items()}
    for link, x in arrays.items():
        if library_of([x]) is not library:
            raise TypeError(f"{label(link)}: expected an array of {functions.__name__}, as others are")
        if tuple(x.shape[-1:]) != (6,):
            raise ArmdynError(f"{label(link)}: expected (..., 6), found {x.shape}")
    try:
        lead = np.broadcast_shapes(*(x.shape[:-1] for x in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{label(link)} {x.shape}" for link, x in arrays.items())
        raise ArmdynError(f"wrench: shapes do not fit together: {shapes}") from None
    return functions.concatenate([functions.broadcast_to(x, (*lead, 6)) for x in arrays.values()], axis=-1)
