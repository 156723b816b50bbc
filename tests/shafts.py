"""Robots with limits at their motors' shafts, for the tests."""

from dataclasses import replace

from armdyn import Robot
from armdyn.expression import Expression
from armdyn.model import MotorLimits


def with_motor(robot, **changes):
    """The robot with its motors changed: link name -> fields of its motor."""
    links = [
        link if link.name not in changes else replace(link, motor=replace(link.motor, **changes[link.name]))
        for link in robot.model.links
    ]
    return Robot(replace(robot.model, links=tuple(links)))


def limits(torque=None, velocity=None, current=None):
    given = (None if x is None else Expression.of(x) for x in (torque, velocity, current))
    return MotorLimits(*given)
