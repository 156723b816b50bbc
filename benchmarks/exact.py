"""How long exact equations take: best of several runs, each with a new robot and new equations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from run import best

from armdyn import Equations, Robot
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
    for name in ("puma560", "ur10", "panda"):
        robot = described(name)
        title = f"{robot().name}, numbers as described"
        yield f"{title}: regressor", best(robot, lambda r: r.equations().regressor, 5), None
        yield f"{title}: proof", best(robot, lambda r: r.equations().prove(), 5), None
        yield f"{title}: base parameters", best(robot, lambda r: r.base_parameters(), 5), None
