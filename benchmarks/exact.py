"""How long exact equations take: best of several runs, each with a new robot and new equations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from run import best

from armdyn import Equations, Robot
from armdyn.exact.kinematics import Jacobian
from armdyn.exact.printing import angles

TITLE = "Exact equations of motion"

Row = tuple[str, float, float | None]


def forget() -> None:
    """Empty the caches that printing fills, so that every run starts cold."""
    for item in vars(angles).values():
        if hasattr(item, "cache_clear"):
            item.cache_clear()


def symbolic_puma() -> Robot:
    """Geometry, inertial and motor parameters all symbols, also those that are zero in the description."""
    return Robot.load("puma560").symbolic(zeros="free")


def terms(robot: Robot) -> Equations:
    equations = robot.equations()
    _ = equations.B, equations.C, equations.g
    return equations


def derived_puma() -> Equations:
    """Equations whose terms are there: what is left is printing."""
    forget()
    equations = terms(symbolic_puma())
    _ = equations.tau, equations.friction
    return equations


def jacobians(robot: Robot) -> list[Jacobian]:
    """Of the centre of mass of every link, and of every rotor."""
    equations, links = robot.equations(), robot.model.moving
    found = [equations.jacobian(link.name, at="com") for link in links]
    return found + [equations.jacobian(motor=link.name) for link in links if link.motor]


def derived_jacobians() -> list[Jacobian]:
    forget()
    return jacobians(symbolic_puma())


def chain(n: int) -> Robot:
    """A planar chain of n joints, every length, mass and inertia a symbol."""
    names = [f"{kind}{i}" for i in range(1, n + 1) for kind in ("a", "l", "m", "I")]
    links = [
        {"name": f"link {i}", "joint": "revolute", "a": f"a{i}", "alpha": 0, "d": 0, "theta": 0}
        | {"mass": f"m{i}", "com": [f"l{i} - a{i}", 0, 0], "inertia": {"zz": f"I{i}"}}
        for i in range(1, n + 1)
    ]
    table = {"name": f"planar chain of {n} joints", "convention": "dh", "gravity": [0, "-g", 0]}
    return Robot.from_dict(table | {"symbols": dict.fromkeys(names, 1) | {"g": 9.81}, "link": links})


def derived_chain() -> Equations:
    forget()
    equations = terms(chain(12))
    _ = equations.friction
    return equations


def described(name: str) -> Callable[[], Robot]:
    return lambda: Robot.load(name)


def measure() -> Iterator[Row]:
    """What, seconds, target in seconds. Making the robot counts in the first row only."""
    yield (
        "planar arm: load, B, C and g, text",
        best(forget, lambda _: terms(Robot.load("planar")).text(), 20),
        0.02,
    )
    puma = "PUMA 560, every parameter a symbol"
    yield f"{puma}: B", best(symbolic_puma, lambda r: r.equations().B, 10), 0.1
    yield f"{puma}: B, C and g", best(symbolic_puma, terms, 10), 1.0
    yield f"{puma}: regressor", best(symbolic_puma, lambda r: r.equations().regressor, 10), None
    yield f"{puma}: proof", best(symbolic_puma, lambda r: r.equations().prove(), 5), 10.0
    yield f"{puma}: printing, text", best(derived_puma, lambda e: e.text(), 5), 2.0
    yield f"{puma}: printing, LaTeX", best(derived_puma, lambda e: e.latex(), 5), 2.0
    yield f"{puma}: base parameters", best(symbolic_puma, lambda r: r.base_parameters(), 5), 2.0
    yield f"{puma}: all link and motor Jacobians", best(symbolic_puma, jacobians, 10), 0.2
    yield f"{puma}: printing them, text", best(derived_jacobians, lambda found: list(map(str, found)), 5), 2.0
    yield (
        f"{puma}: printing them, LaTeX",
        best(derived_jacobians, lambda found: [J.latex() for J in found], 5),
        2.0,
    )
    long = "planar chain of 12 joints, symbolic"
    yield f"{long}: B, C and g", best(lambda: chain(12), terms, 5), None
    yield f"{long}: proof", best(lambda: chain(12), lambda r: r.equations().prove(), 3), None
    yield f"{long}: printing, text", best(derived_chain, lambda e: e.text(), 5), 2.0
    yield f"{long}: printing, LaTeX", best(derived_chain, lambda e: e.latex(), 5), 2.0
    for name in ("puma560", "ur10", "panda"):
        robot = described(name)
        title = f"{robot().name}, numbers as described"
        yield f"{title}: regressor", best(robot, lambda r: r.equations().regressor, 5), None
        yield f"{title}: proof", best(robot, lambda r: r.equations().prove(), 5), None
        yield f"{title}: base parameters", best(robot, lambda r: r.base_parameters(), 5), None
