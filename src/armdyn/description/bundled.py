"""The robots that come with the package, as tables, and what kinds of robots they are."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

from armdyn.description import toml_text

# Kind of robot -> its names, each with a few words. Every file in robots/ stands here once.
KINDS: dict[str, dict[str, str]] = {
    "textbook arms": {
        "pendulum": "a pendulum driven through a gear",
        "cartesian": "two sliding joints at a right angle",
        "cartesian45": "the same at 45 degrees",
        "planar": "two links in a vertical plane",
        "planar3": "three links in a plane",
        "pr": "a slider and an arm, horizontal plane",
        "rp": "an arm and a slider, vertical plane",
        "rmit2r": "two links with point masses, modified DH",
        "scara": "three vertical turns and a quill",
        "elbow": "rotors not parallel to their joints",
        "elastic_link": "a link driven through a spring",
    },
    "closed chains": {
        "parallelogram": "two links driven from the base",
        "palletizer": "parallelograms keep its hand level",
        "four_bar": "a crank and a rocker",
        "five_bar": "two driven arms, one pen",
        "delta": "three arms, a platform that never turns",
        "gripper": "two jaws on parallelograms, one motor",
    },
    "industrial and research arms": {
        "stanford": "the Stanford arm, with a sliding boom",
        "puma560": "the most measured arm, with friction",
        "manutec_r3": "three joints, with exact rotors",
        "irb120": "ABB's small six-joint arm",
        "tx40": "Staubli's, coupled wrist, friction",
    },
    "collaborative and lightweight arms": {
        "ur10": "Universal Robots, 10 kg",
        "ur5e": "Universal Robots, 5 kg, with armatures",
        "panda": "Franka, as identified",
        "fr3": "Franka Research 3, armatures, friction",
        "gen3": "Kinova, seven joints, four without end",
        "xarm7": "UFACTORY, seven joints",
        "lwr4": "KUKA's lightweight robot, exact rotors",
    },
    "desktop arms": {
        "so101": "3D-printed, hobby servos, gripper",
    },
}


def bundled_robots() -> list[str]:
    """The names of the robots that come with the package."""
    folder = resources.files("armdyn.description") / "robots"
    return sorted(Path(f.name).stem for f in folder.iterdir() if f.name.endswith(".toml"))


def bundled_table(name: str) -> dict[str, Any]:
    """The robot file of a bundled robot."""
    return toml_text.parse_toml(bundled_text(name), name)


def bundled_text(name: str) -> str:
    """The same as text, with its comments."""
    return (resources.files("armdyn.description") / "robots" / f"{name}.toml").read_text("utf-8")
