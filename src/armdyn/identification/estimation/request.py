"""What `identify` was asked for, checked before any work begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.expression import shown
from armdyn.identification.checks import check
from armdyn.identification.errors import IdentificationError
from armdyn.identification.estimation.instrumental import WIDER, Given, check_instruments
from armdyn.identification.estimation.methods import METHODS
from armdyn.identification.regression.free import Free, free_parameters
from armdyn.identification.regression.pieces import Source
from armdyn.identification.regression.template import make_template
from armdyn.identification.selection.choice import DAMPED, DAMPINGS, Friction
from armdyn.identification.selection.model import Wishes
from armdyn.robot import Robot

UNDAMPED = ("sequential", "instrumental")
POSSIBLE = ("weighted", "ordinary", "robust")  # methods that bodies that can exist go with


@dataclass(frozen=True)
class Request:
    """The options of `identify`; None is chosen from the data."""

    method: str
    friction: Friction | None
    add: bool  # terms that the description does not have
    cutoff: float | None  # Hz
    damping: float | None
    free: Free  # what is estimated
    instruments: Sequence[Given] | None
    consistent: bool
    prior: Any  # for bodies that can exist

    @property
    def wishes(self) -> Wishes:
        """What is fixed: terms that are not estimated are not chosen either; some methods have no damping."""
        friction = Friction() if self.friction is None and not self.free.chooses_friction else self.friction
        damping = 0.0 if self.method in UNDAMPED else self.damping
        dampings = DAMPED if self.method == "damped" else DAMPINGS
        wider = WIDER if self.method == "instrumental" else 1.0
        return Wishes(self.cutoff, friction, damping, self.add and self.free.adds, self.free, dampings, wider)


def checked(
    robot: Robot,
    train: Sequence[Source],
    *,
    method: Any,
    friction: Any,
    cutoff: Any,
    damping: Any,
    parameters: Any,
    instruments: Any,
    consistent: Any,
    prior: Any,
) -> Request:
    """The request; what is wrong or does not go together is refused."""
    check.one_of("method", method, *METHODS)
    wish = _friction(friction)
    add = not (isinstance(friction, str) and friction == "given")
    cutoff = None if cutoff is None else check.positive("cutoff", cutoff)
    damping = _damping(damping, method)
    free = free_parameters(robot, parameters, make_template(robot, add=add))
    _check_possible(consistent, prior, method, damping, free)
    if instruments is not None and method != "instrumental":
        raise IdentificationError(f"instruments are for the method 'instrumental'; found {method!r}")
    given = check_instruments(instruments, train)
    return Request(method, wish, add, cutoff, damping, free, given, bool(consistent), prior)


def _friction(friction: Any) -> Friction | None:
    if isinstance(friction, Friction):
        for name in ("width", "stribeck"):
            share = getattr(friction, name)
            if share is not None and not 0 <= check.number(f"friction: {name}", share) < np.inf:
                raise IdentificationError(f"friction: {name}: found {share:g}; zero or more is allowed")
        return friction
    if isinstance(friction, str) and friction in ("plain", "given", "choose"):
        return None if friction == "choose" else Friction()
    raise IdentificationError(
        f"friction: found {shown(friction)}; allowed: choose, plain, given, Friction(…)"
    )


def _damping(damping: Any, method: str) -> float | None:
    if damping is None:
        return None
    found = check.number("damping", damping)
    if not 0 <= found < np.inf:
        raise IdentificationError(f"damping: found {found:g}; zero or more is allowed")
    if method == "damped" and found == 0:
        raise IdentificationError("method 'damped': found damping 0; a positive number, or None to choose it")
    if found and method in UNDAMPED:
        raise IdentificationError(f"method {method!r} has no damping: found {found:g}; leave it out")
    return found


def _check_possible(consistent: Any, prior: Any, method: str, damping: float | None, free: Free) -> None:
    """Whether the rest goes with bodies that can exist."""
    if not isinstance(consistent, bool | np.bool_):
        raise IdentificationError(f"consistent: found {shown(consistent)}; True or False is expected")
    if not consistent:
        if prior is not None:
            raise IdentificationError("prior is for consistent=True; without it the description is the prior")
        return
    if method not in POSSIBLE:
        text = ", ".join(POSSIBLE)
        raise IdentificationError(f"consistent=True is for the methods {text}; found {method!r}")
    if damping:
        raise IdentificationError(f"consistent=True takes no damping: found {damping:g}; leave it out")
    if not free.everything:
        raise IdentificationError("consistent=True estimates all parameters; leave out parameters=")
