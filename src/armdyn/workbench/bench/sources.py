"""The Python lines that make the robot that was given."""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Iterator

from armdyn.description.bundled import bundled_robots, bundled_text
from armdyn.expression import ArmdynError
from armdyn.robot import Robot


def loading_lines(robot: Robot, source: str | None, called: str = "robot") -> list[str]:
    """Lines after which the name `called` is the robot given: `Robot.load(…)` where that gives an equal one.

    `source` is the name or file that it may have come from; without one, bundled robots of its name are
    looked at. If nothing loads an equal robot, its robot file stands in the lines.
    """
    for name in (source,) if source else _namesakes(robot):
        loaded = _loaded(name)
        if loaded is not None and (more := _differences(loaded, robot)) is not None:
            return [f"{called} = Robot.load({name!r}){more}"]
    return [f"{called} = Robot.from_toml({literal(robot.to_toml())})"]


def _namesakes(robot: Robot) -> Iterator[str]:
    for name in bundled_robots():
        if tomllib.loads(bundled_text(name)).get("name") == robot.name:
            yield name


def _loaded(name: str) -> Robot | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it was loaded before, and told then
        try:
            return Robot.load(name)
        except (ArmdynError, OSError):
            return None


def _differences(loaded: Robot, robot: Robot) -> str | None:
    """The calls that make `robot` of `loaded`, for what the command line can change; None: there are none."""
    more = ""
    if loaded.model.rotors != robot.model.rotors:
        loaded, more = loaded.with_rotors(robot.model.rotors), f".with_rotors({robot.model.rotors!r})"
    if loaded.model != robot.model and loaded.model.tip != robot.model.tip:
        try:
            loaded, more = loaded.with_tip(robot.model.tip), f"{more}.with_tip({robot.model.tip!r})"
        except ArmdynError:
            return None
    return more if loaded.model == robot.model else None


def literal(text: str) -> str:
    """A text in Python, over several lines where nothing in it could be misread there."""
    plain = all(c.isprintable() or c == "\n" for c in text)
    if plain and text.endswith("\n") and "'''" not in text:
        return f"r'''{text}'''"
    return ascii(text)
