"""What other people's programs lean on, listed in public_face.txt: a change of it is seen and meant.

docs/stable.md says what is promised about it. Where a change is meant, renew the list, read the difference:

    ARMDYN_UPDATE_GOLDEN=1 pytest tests/golden/test_public_face.py

A line that goes, or changes so that calls written for it fail, needs `armdyn.names.deprecated` first, and
a new major version.
"""

import inspect
import os
import re
from difflib import unified_diff
from importlib import import_module
from pathlib import Path

import click
import pytest
import typer

from armdyn import Robot
from armdyn.cli import app
from armdyn.description import DescriptionError
from armdyn.identification import fit_file
from armdyn.robot.functions import FUNCTIONS
from armdyn.studies import store

FILE = Path(__file__).parent / "public_face.txt"
FACES = ("armdyn", "armdyn.robot", "armdyn.analysis", "armdyn.motion", "armdyn.simulation", "armdyn.exact")
FACES += ("armdyn.identification", "armdyn.studies", "armdyn.report", "armdyn.workbench")


# ---- Python: names, parameters with their defaults, members of classes ------------------------------------


def call(thing):
    """Parameters as they are written, without types: what is a compatible type, mypy says."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(…)"
    plain = [p.replace(annotation=p.empty, default=_default(p)) for p in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=signature.empty))


class _Written:
    """A default value as text, the same in every version of Python."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def _default(parameter):
    value = parameter.default
    if value is parameter.empty or value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list, dict)) and not value:
        return value
    if isinstance(value, tuple) and all(isinstance(x, (bool, int, float, str)) for x in value):
        return value
    return _Written("…")


def members(cls):
    """Public members that armdyn's own classes give it, each as a line."""
    own = [base for base in cls.__mro__ if base.__module__.startswith("armdyn")]
    found = {}
    for base in reversed(own):
        names = [*vars(base), *inspect.get_annotations(base)]
        found |= {name: base for name in names if not name.startswith("_") or name == "__call__"}
    for name in sorted(found):
        value = inspect.getattr_static(cls, name, None)
        kind = {staticmethod: "static ", classmethod: "class "}.get(type(value), "")
        value = value.__func__ if kind else value
        yield f"  .{name}{f'{call(value)} {kind}'.rstrip() if inspect.isfunction(value) else ''}"


def python_face():
    seen = {}
    for face in FACES:
        module = import_module(face)
        yield f"\n# {face}"
        for name in sorted(module.__all__):
            value = getattr(module, name)
            if id(value) in seen:
                yield f"{name} = {seen[id(value)]}"
                continue
            seen[id(value)] = f"{face}.{name}"
            if not inspect.isclass(value):
                yield f"{name}{call(value) if callable(value) else ''}"
            elif issubclass(value, Exception):
                yield f"{name}({', '.join(base.__name__ for base in value.__bases__)})"
            else:
                yield f"class {name}{call(value)}"
                yield from members(value)


# ---- what else is written down in other people's files -----------------------------------------------------


def functions():
    yield "\n# numeric functions of every robot: inputs, further ones that they take, shapes of results"
    for name, row in FUNCTIONS.items():
        shapes = " ".join(f"({', '.join(map(str, result.shape))})" for result in row.results)
        further = f" [{', '.join(row.optional)}]" if row.optional else ""
        yield f"{name}: {', '.join(row.inputs)}{further} -> {shapes}"


def commands(command, name="armdyn"):
    options = []
    for parameter in command.params:
        spelled = "/".join([*parameter.opts, *parameter.secondary_opts])
        options.append(
            spelled if isinstance(parameter, click.Option) or spelled[:1] == "-" else spelled.upper()
        )
    yield f"{name} {' '.join(options)}".rstrip()
    if hasattr(command, "commands") or hasattr(command, "list_commands"):
        context = click.Context(command)
        for verb in command.list_commands(context):
            yield from commands(command.get_command(context, verb), f"{name} {verb}")


ARM = """
name = "arm"
convention = "{convention}"
gravity = [0, 0, -9.81]
{top}
[[link]]
joint = "revolute"
{geometry}
{link}
[[link]]
joint = "revolute"
{geometry}
{end}
"""
USUAL = {"convention": "dh", "geometry": "a = 1\nalpha = 0\nd = 0", "top": "", "link": "", "end": ""}
PLACES = {
    "top": {"top": "zzz = 1"},
    "link": {"link": "zzz = 1"},
    "link, frames": {
        "convention": "frames",
        "geometry": "origin = { xyz = [1, 0, 0] }\naxis = [0, 0, 1]",
        "link": "zzz = 1",
    },
    "link.inertia": {"link": "mass = 1\ninertia = { zzz = 1 }"},
    "link.motor": {"link": "motor = { gear = 1, inertia = 1, zzz = 1 }"},
    "link.motor.limits": {"link": "motor = { gear = 1, inertia = 1, limits = { zzz = 1 } }"},
    "link.friction": {"link": "friction = { zzz = 1 }"},
    "link.friction.stribeck": {"link": "friction = { stribeck = { level = 1, velocity = 1, zzz = 1 } }"},
    "link.limits": {"link": "limits = { zzz = 1 }"},
    "link.spring": {"link": "spring = { stiffness = 1, zzz = 1 }"},
    "tool": {"top": "tool = { zzz = 1 }"},
    "spring": {
        "end": '[[spring]]\nbetween = ["base", "link2"]\nat = [[0, 0, 1], [0, 0, 0]]\nstiffness = 1\nzzz = 1'
    },
    "closure with a relation": {"end": "[[closure]]\nrelation = { link1 = 1, link2 = -1 }\nzzz = 1"},
    "closure of a loop": {"end": '[[closure]]\nbetween = ["base", "link2"]\njoint = "revolute"\nzzz = 1'},
}


def keys():
    yield "\n# the robot file: keys that its tables take"
    for place, texts in PLACES.items():
        with pytest.raises(DescriptionError) as caught:
            Robot.from_toml(ARM.format(**(USUAL | texts)))
        (allowed,) = re.findall(r"zzz: unknown key; allowed here: (.*)", str(caught.value))
        yield f"{place}: {allowed}"


def c_names():
    yield "\n# C: what a header declares (planar.h)"
    header = Robot.load("planar").export_c(["inverse_dynamics", "forward_dynamics"]).header
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    for declaration in re.findall(r"^[a-z][^#;{}]*;", code, flags=re.MULTILINE):
        yield " ".join(declaration.split())


def formats():
    yield "\n# versions of files that are read again"
    yield f"fit {fit_file.VERSION}"
    yield f"study {store.FORMAT}"


def public_face():
    lines = [*python_face(), *functions(), "\n# commands", *commands(typer.main.get_command(app))]
    return "\n".join([*lines, *keys(), *c_names(), *formats()]).lstrip() + "\n"


def test_the_public_face_is_what_the_list_says():
    text = public_face()
    if os.environ.get("ARMDYN_UPDATE_GOLDEN") == "1":
        FILE.write_text(text, "utf-8", newline="\n")
    kept = FILE.read_text("utf-8")
    changed = "\n".join(
        unified_diff(kept.splitlines(), text.splitlines(), "listed", "found", n=0, lineterm="")
    )
    assert text == kept, f"{changed}\nIf this is meant: ARMDYN_UPDATE_GOLDEN=1 pytest {Path(__file__).name}"
