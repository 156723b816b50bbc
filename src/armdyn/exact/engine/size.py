"""How large exact equations may get. What is too large is refused before it is made.

Terms multiply with every joint whose axis is not parallel to the one before. Measured on one core: the Panda
has 48 000 terms in B, C and g, which take 1 s to prove and 6 s to print; six revolute joints in general
position have 470 000, proved in 5 s with 0.6 GB; seven need twelve times as much, and a little later FLINT
stops the process because it gets no memory. Numbers are for any number of joints.
"""

from __future__ import annotations

from armdyn.expression import ArmdynError
from armdyn.model.errors import ModelError
from armdyn.model.robot_model import RobotModel

MAX_JOINTS = 30
MAX_PRODUCTS = 500_000  # of terms, in one multiplication: six joints in general position need 250 000,
MAX_TERMS = 250_000  # and have 183 000 in one polynomial when they are proved
MAX_EXPANDED = 1_000_000  # terms of an entry written out in the description's symbols
MAX_PROVED = 600_000
MAX_WRITTEN = 200_000  # terms of what is printed or handed over at once
_NUMBERS = "numeric functions (robot.inertia and so on, exported C) need no equations"


class SizeError(ArmdynError):
    """Exact equations are too large to be made or written."""


class LoopsError(ModelError):
    """A robot with loops has no closed form."""


def check_loops(model: RobotModel) -> None:
    """Refuse loops, whose joints follow by equations that have no closed form."""
    if model.loops:
        found = ", ".join(loop.label for loop in model.loops)
        raise LoopsError(
            f"equations: {model.name} has loops ({found}), and closed "
            "forms exist for trees and linear relations between joints (closure.relation) only; "
            f"{_NUMBERS}, and robot.opened().equations() are those of the tree with its loops cut open"
        )


def check_joints(joints: int) -> None:
    if joints > MAX_JOINTS:
        raise SizeError(
            f"exact equations are made for at most {MAX_JOINTS} moving joints, this robot has {joints}; "
            f"{_NUMBERS}"
        )


def check_product(a: int, b: int) -> None:
    """Before polynomials of a and b terms are multiplied."""
    if a * b > MAX_PRODUCTS:
        raise SizeError(
            f"the exact equations of this robot are too large: they need a product of {a} and {b} terms, "
            f"at most {MAX_PRODUCTS} products of terms are allowed; {_NUMBERS}"
        )


def check_terms(terms: int) -> None:
    """Of a polynomial, before it is used further."""
    if terms > MAX_TERMS:
        raise SizeError(
            f"the exact equations of this robot are too large: a polynomial in them has {terms} terms, "
            f"at most {MAX_TERMS} are allowed; {_NUMBERS}"
        )


def check_expanded(terms: int) -> None:
    """Before an entry is written out."""
    if terms > MAX_EXPANDED:
        raise SizeError(
            f"an entry of these equations may have {terms} terms, at most {MAX_EXPANDED} are allowed; "
            f"{_NUMBERS}"
        )


def check_proved(terms: int) -> None:
    """Before equations are proved."""
    if terms > MAX_PROVED:
        raise SizeError(f"these equations have {terms} terms, at most {MAX_PROVED} can be proved; {_NUMBERS}")


def check_written(terms: int) -> None:
    """Before equations are printed or handed over as a whole."""
    if terms > MAX_WRITTEN:
        raise SizeError(
            f"these equations have {terms} terms, at most {MAX_WRITTEN} can be written at once; print single "
            f"entries, or use numbers: {_NUMBERS}"
        )
