"""Which springs closed forms have: all at joints, and those between points whose energy is a polynomial.

The energy of a spring between points is ½ k l² − P l. Its length l is a square root, l² is a polynomial: so
what has neither a rest length nor a force is exact.
"""

from __future__ import annotations

from armdyn.expression import ArmdynError, Expression
from armdyn.model.mechanism import Mechanism
from armdyn.model.parameters import Parameter
from armdyn.model.robot_model import RobotModel, quoted


class SpringError(ArmdynError):
    """A spring has no closed form."""


def check_struts(model: RobotModel, exact: Mechanism) -> None:
    """Refuse springs between points with a rest length or a force."""
    for strut in exact.struts:
        if not Expression.of(strut.preload).is_zero:
            spring = model.springs[strut.number]
            a, b = (quoted(name) for name in spring.between)
            raise SpringError(
                f"spring {quoted(spring.name) if spring.name else strut.number + 1} between {a} and {b} has "
                "a rest length or a force: its torques hold the square root of a sum, which exact equations "
                "do not have; springs at joints are exact, and springs between points without rest length "
                "and force; numeric functions (robot.springs and so on, exported C) take all springs"
            )


def is_polynomial(parameter: Parameter) -> bool:
    """Whether the regressor's column of a parameter is a polynomial: that of a preload P is not."""
    return parameter.kind.entry != "preload"
