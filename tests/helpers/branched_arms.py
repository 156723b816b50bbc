"""Robots with several tips: copies of a bundled arm, side by side on a base or on a torso that turns."""

from dataclasses import replace

from armdyn import Robot
from armdyn.expression import expression
from armdyn.model import Link, Transform
from armdyn.model.inertia import Inertia

TORSO = tuple(expression(x) for x in ("1/2", "1/20", "1/30", "3/5", "1/25", "4/5"))  # xx xy xz yy yz zz
SIDES = {"left": 1, "right": -1}


def dual_arm(name: str = "stanford", torso: bool = True, sides: tuple[str, ...] = ("left", "right")) -> Robot:
    """Copies of an arm on a "torso", each with a "left gripper" or a "right gripper" welded to its tip."""
    model = Robot.load(name).model
    bearing = "torso" if torso else model.root
    links = []
    if torso:
        body = Inertia.at_com(expression(9), (0, 0, 0), TORSO)
        links.append(
            Link("torso", model.root, "revolute", Transform(p=(0, 0, expression("2/5"))), inertia=body)
        )
    for side in sides:
        s = SIDES[side]
        names = {model.root: bearing, **{link: f"{side} {link}" for link in model.index}}
        mount = Transform(((1, 0, 0), (0, 0, -s), (0, s, 0)), (0, expression(s) / 5, expression("1/4")))
        for link in model.links:
            motor = link.motor and replace(
                link.motor,
                carrier=names[link.motor.carrier],
                coupling=tuple((names[other], k) for other, k in link.motor.coupling),
            )
            before = mount @ link.before if link.parent == model.root else link.before
            links.append(
                replace(link, name=names[link.name], parent=names[link.parent], before=before, motor=motor)
            )
        links.append(Link(f"{side} gripper", names[model.tip], "fixed", model.tool))
    return Robot(
        replace(model, name=f"dual {name}", links=tuple(links), tip=links[-1].name, tool=Transform())
    )
