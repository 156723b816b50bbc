"""Errors and warnings of identification, its checks, and linear algebra on one thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

from armdyn.expression import ArmdynError
from armdyn.robot.checks import Checks

# ------------------------------------------------------------------------------------------------------------
# Linear algebra on one thread.
#
# Matrices here have a hundred columns. A threaded BLAS gains nothing on them, and where other programs are
# busy its threads wait for each other: a fit then takes thirty times as long.


P = ParamSpec("P")
T = TypeVar("T")


def on_one_thread(function: Callable[P, T]) -> Callable[P, T]:
    """The function, during which BLAS uses one thread in this process."""

    @wraps(function)
    def alone(*args: P.args, **kwargs: P.kwargs) -> T:
        with _controller().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return alone


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  # so that its BLAS is loaded and found, too

    return ThreadpoolController()


# ------------------------------------------------------------------------------------------------------------
# What goes wrong in identification.


class IdentificationError(ArmdynError):
    """A log, a motion or a request from which nothing can be identified."""


class NothingPossibleError(IdentificationError):
    """No parameters that a robot can have were found, or the solver that looks for them is missing."""


class NothingUsableError(IdentificationError):
    """A log, or a part of one, of which no sample can be used."""


class IdentificationWarning(UserWarning):
    """An estimate that deserves a second look."""


# ------------------------------------------------------------------------------------------------------------
# The checks of `robot/checks.py` with this folder's error.


check = Checks(IdentificationError)
