"""Random MJCF documents: what files in the wild have, in all spellings, with meshes that lie nowhere."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ElementTree

import numpy as np

Element = ElementTree.Element


def _numbers(rng: random.Random, count: int, size: float = 1.0) -> str:
    return " ".join(f"{rng.uniform(-size, size):.{rng.randint(1, 6)}g}" for _ in range(count))


def _add(parent: Element, tag: str, **attributes: str) -> Element:
    return ElementTree.SubElement(parent, tag, {key.rstrip("_"): x for key, x in attributes.items()})


def _orientation(rng: random.Random, degrees: bool) -> dict[str, str]:
    size = 180 if degrees else 3
    return rng.choice(
        (
            {},
            {"quat": rng.choice(("1 0 0 1", "0.5 0.5 -0.5 0.5", "1 -1 0 0", "0.707107 0 0 0.707107"))},
            {"quat": f"{rng.uniform(0.1, 1):.4g} {_numbers(rng, 3)}"},
            {"euler": _numbers(rng, 3, size)},
            {"axisangle": f"0 1 {rng.uniform(-1, 1):.3g} {rng.uniform(-size, size):.4g}"},
            {"zaxis": f"{_numbers(rng, 2)} {rng.uniform(0.1, 1):.3g}"},
        )
    )


def _inertial(rng: random.Random, body: Element, degrees: bool) -> None:
    mass = f"{rng.choice((0.01, 0.5, 20)) * rng.uniform(0.5, 2):.6g}"
    points = np.array([[rng.gauss(0, 0.2) for _ in range(3)] for _ in range(5)])
    S = points.T @ points
    full = np.trace(S) * np.eye(3) - S
    at = _numbers(rng, 3, 0.2)
    if rng.random() < 0.5:
        entries = [full[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        text = " ".join(f"{x:.9g}" for x in entries)
        _add(body, "inertial", pos=at, mass=mass, fullinertia=text)
        return
    moments = " ".join(f"{x:.9g}" for x in np.linalg.eigvalsh(full) * [1.001, 1.001, 1])
    _add(body, "inertial", pos=at, mass=mass, diaginertia=moments, **_orientation(rng, degrees))


def _geoms(rng: random.Random, body: Element, degrees: bool, heavy: bool) -> None:
    """Geometry; `heavy` where the body's mass comes from it."""
    for _ in range(rng.randint(1 if heavy else 0, 2)):
        weight = {"mass": f"{rng.uniform(0.1, 2):.3g}"} if rng.random() < 0.5 else {}
        kind = rng.choice(("box", "sphere", "ellipsoid", "cylinder", "capsule"))
        place: dict[str, str] = {"pos": _numbers(rng, 3, 0.2), **_orientation(rng, degrees)}
        if kind in ("cylinder", "capsule") and rng.random() < 0.5:
            place = {"fromto": _numbers(rng, 6, 0.3)}
        _add(body, "geom", type_=kind, size="0.1 0.2 0.15", material="steel", **place, **weight)
    if not heavy or rng.random() < 0.5:
        light = {"density": "0"} if rng.random() < 0.5 else {"mass": "0"}
        _add(body, "geom", type_="mesh", mesh="nowhere", **(light if heavy else {}))


def _joints(rng: random.Random, body: Element, names: list[str], degrees: bool) -> None:
    for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 3))):
        name = f"j{len(names) + 1}"
        names.append(name)
        given = {
            "axis": rng.choice(("0 0 1", "0 -1 0", "1 1 0", "0.3 0.4 0.5", _numbers(rng, 3))),
            "pos": _numbers(rng, 3, 0.3),
            "type": rng.choice(("hinge", "hinge", "slide")),
            "ref": f"{rng.uniform(-1, 1):.3g}",
            "range": "-90 80" if degrees else "-1.5 1.4",
            "armature": f"{rng.uniform(0, 0.2):.3g}",
            "damping": f"{rng.uniform(0, 2):.3g}",
            "frictionloss": f"{rng.uniform(0, 1):.3g}",
            "actuatorfrcrange": "-20 20",
            "class": "a",
        }
        kept = {key: x for key, x in given.items() if key == "axis" or rng.random() < 0.4}
        ElementTree.SubElement(body, "joint", {"name": name, **kept})


def document(rng: random.Random) -> Element:
    """A tree of one to six bodies that moves."""
    root = Element("mujoco", {"model": "random"})
    degrees = rng.random() < 0.5
    _add(root, "compiler", angle="degree" if degrees else "radian", meshdir="nowhere")
    _add(root, "option", gravity=rng.choice(("0 0 -9.81", "0 0 0", _numbers(rng, 3, 10))))
    default = _add(root, "default")
    inner = _add(default, "default", class_="a")
    _add(inner, "joint", damping="0.7", armature="0.03")
    _add(inner, "position", kp="10", forcerange="-8 8")
    _add(_add(root, "asset"), "mesh", name="nowhere", file="nowhere.obj")
    world = _add(root, "worldbody")
    _add(world, "light", pos="0 0 1")
    _add(world, "geom", type_="plane", size="1 1 1", material="steel")
    bodies, names = [world], list[str]()
    for i in range(rng.randint(1, 6)):
        parent = rng.choice(bodies[-3:])
        if rng.random() < 0.15:
            parent = _add(parent, "frame", pos=_numbers(rng, 3), **_orientation(rng, degrees))
        body = _add(parent, "body", name=f"b{i}", pos=_numbers(rng, 3), **_orientation(rng, degrees))
        if rng.random() < 0.2:
            body.set("childclass", "a")
        explicit = rng.random() < 0.7
        if explicit:
            _inertial(rng, body, degrees)
        _joints(rng, body, names, degrees)
        _geoms(rng, body, degrees, heavy=not explicit)
        _add(body, "site", name=f"s{i}", size="0.01")
        bodies.append(body)
    if not names:
        _add(bodies[-1], "joint", name="j1")
        names.append("j1")
    _related(rng, root, names)
    return root


def _related(rng: random.Random, root: Element, names: list[str]) -> None:
    """Equalities between joints, actuators, a tendon that does nothing."""
    if len(names) > 1 and rng.random() < 0.4:
        first, second = rng.sample(names, 2)
        equality = _add(root, "equality")
        _add(equality, "joint", joint1=first, joint2=second, polycoef=f"{_numbers(rng, 2)} 0 0 0")
    actuator = _add(root, "actuator")
    for name in names:
        gear = rng.choice(("1", "50", "-3.5"))
        if rng.random() < 0.3:
            _add(actuator, "motor", name=f"m {name}", joint=name, gear=gear)
        elif rng.random() < 0.5:
            _add(actuator, "position", class_="a", joint=name, gear=gear, kp="30")
    if rng.random() < 0.2:
        _add(_add(_add(root, "tendon"), "fixed", name="t"), "joint", joint=names[0], coef="2")


def text_of(root: Element) -> str:
    return ElementTree.tostring(root, "unicode").replace("><", ">\n<")
