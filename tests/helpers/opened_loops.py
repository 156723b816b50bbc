"""Mechanisms with their loops left open: where frames and points of links are for any positions of joints."""

from dataclasses import replace

import numpy as np

import armdyn
from armdyn import Robot


def rod(name, **others):
    """The table of a link that turns about z, in frames; `others` replaces or adds keys."""
    body = {"mass": 1, "com": [0.5, 0, 0], "inertia": {"xx": 0.1, "yy": 0.2, "zz": 0.2}}
    return (
        {"name": name, "joint": "revolute", "origin": {"xyz": [0, 0, 0]}, "axis": [0, 0, 1]} | body | others
    )


def links(model, q):
    """T of every link in the base frame; q are all moving joints."""
    robot = Robot(replace(model, loops=(), springs=(), relations=(), rotors="none"))
    with armdyn.backend("evaluator"):
        found = {link.name: robot.pose(q, link=link.name) for link in model.links}
    return found | {model.root: np.eye(4)}


def frames(model, q):
    """Every loop with R and p of its two frames."""
    T = links(model, q)
    for loop in model.loops:
        pair = []
        for name, at in zip(loop.between, loop.at, strict=True):
            R = np.array([[model.number(x) for x in row] for row in at.R])
            p = np.array([model.number(x) for x in at.p])
            pair.append((T[name][:3, :3] @ R, T[name][:3, :3] @ p + T[name][:3, 3]))
        yield loop, pair


def tension(model, spring, q):
    """With which force a spring pulls its two points together."""
    T = links(model, q)
    ends = [
        T[name][:3, :3] @ [model.number(x) for x in p] + T[name][:3, 3]
        for name, p in zip(spring.between, spring.at, strict=True)
    ]
    length = float(np.linalg.norm(ends[1] - ends[0]))
    return model.number(spring.stiffness) * (length - model.number(spring.rest)) + model.number(spring.force)
