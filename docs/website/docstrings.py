"""An extension of griffe: what the reference shows of docstrings, which are plain prose.

Comments beside fields are their texts, pages that docstrings name are links, and below the text of a function
stand tables of its parameters, each with what the docstring says of it, its result and its errors.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import (
    Docstring,
    DocstringParameter,
    DocstringRaise,
    DocstringReturn,
    DocstringSectionParameters,
    DocstringSectionRaises,
    DocstringSectionReturns,
    DocstringSectionText,
    Extension,
    Function,
    Object,
    ParameterKind,
)

PAGE = re.compile(r"(?<![\w/(\[])docs/([\w-]+)\.md\b")
COMMENT = re.compile(r"""^[^"'#]*#\s*(?!type:|noqa)(?P<said>.+)$""")
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`λτ(])|\n\s*\n|\n\s*- ")
REFUSAL = re.compile(r"\berrors?\b|\brefused?s?\b|\brais(?:e|es|ed)\b|\bmust\b|\bcannot\b")

# What a name means wherever it stands, for docstrings that have no need to say it.
MEANINGS = {
    "q": "positions (..., n) [rad or m]",
    "qd": "velocities (..., n) [rad/s or m/s]",
    "qdd": "accelerations (..., n) [rad/s² or m/s²]",
    "qd_r": "reference velocities (..., n) [rad/s or m/s]",
    "qdd_r": "reference accelerations (..., n) [rad/s² or m/s²]",
    "tau": "torques (..., n) [N m or N]",
    "q0": "positions at the start (n,) [rad or m]",
    "q1": "positions at the end (n,) [rad or m]",
    "qd0": "velocities at the start (n,) [rad/s or m/s]",
    "qd1": "velocities at the end (n,) [rad/s or m/s]",
    "qdd0": "accelerations at the start (n,) [rad/s² or m/s²]",
    "qdd1": "accelerations at the end (n,) [rad/s² or m/s²]",
    "multipliers": "λ (..., n), by which the torques or accelerations are weighed",
    "wrench": "force and moment (..., 6) of the tip on its surroundings, in world axes, or {link: (..., 6)}",
    "base": "how the foot of the robot moves, a `BaseMotion`; without it, it is at rest",
    "parameters": "dynamic parameters (..., p) in the place of `robot.parameters`",
    "symbols": "values (...) of the robot's symbols by name",
    "near": "postures (..., positions) from which loops are closed; only for robots with loops",
    "out": "an array, or arrays, that take the result",
    "link": "the name of a link, whose frame takes the place of the tip",
    "at": '"frame", "com" or a point (3,) in the link\'s frame [m]',
    "motor": "the link or joint that the motor drives",
    "robot": "the robot",
    "trajectory": "the motion",
    "motion": "the motion",
    "t": "time [s]",
    "step": "time between samples [s]",
    "duration": "how long it takes [s]",
    "acceleration_time": "how long it speeds up, and slows down [s]",
    "max_velocity": "the largest velocity, of all joints or (n,) [rad/s or m/s]",
    "max_acceleration": "the largest acceleration, of all joints or (n,) [rad/s² or m/s²]",
    "max_jerk": "the largest jerk, of all joints or (n,) [rad/s³ or m/s³]",
    "torque": "limits in the place of the description's (n,) [N m or N]",
    "velocity": "limits in the place of the description's (n,) [rad/s or m/s]",
    "acceleration": "limits of acceleration (n,) [rad/s² or m/s²]",
    "check_limits": "whether limits of positions are watched",
    "mass": "mass [kg]",
    "com": "centre of mass (3,) [m]",
    "inertia": "tensor about the centre of mass, (3, 3) or its entries [kg m²]",
    "length": "length [m]",
    "radius": "radius [m]",
    "path": "a path of a file",
    "log": "a recorded motion",
    "logs": "recorded motions",
    "fit": "what `identify` found",
    "run": "what a simulation gave",
    "look": "what `look` found",
    "progress": "whether progress is shown; by default on a terminal",
    "prefix": "what the names of C functions begin with",
    "scalar": '"double" or "float"',
    "ax": "axes of Matplotlib to draw on; without them a new figure",
    "seed": "the seed of what is drawn at random",
    "name": "its name",
    "notation": '"book", or "craig" for Craig\'s letters',
    "width": 'of the page or column, such as "16cm"',
}
ERRORS = {  # what functions of a package raise
    "analysis": "AnalysisError",
    "motion": "MotionError",
    "simulation": "SimulationError",
    "identification": "IdentificationError",
    "studies": "StudyError",
    "report": "ReportError",
    "workbench": "ViewError",
    "description": "DescriptionError",
}


class Texts(Extension):
    """Completes what griffe reads. The reference lies one folder below the pages."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.is_attribute and obj.docstring is None and obj.lineno == obj.endlineno:
            found = COMMENT.match(obj.source)
            if found:
                obj.docstring = Docstring(found["said"], parent=obj, lineno=obj.lineno)
        if obj.docstring:
            obj.docstring.value = PAGE.sub(r"[docs/\1.md](../\1.html)", obj.docstring.value)
        if obj.docstring and isinstance(obj, Function) and "property" not in obj.labels:
            vars(obj.docstring)["parsed"] = sections(obj, obj.docstring.value)


def sections(function: Function, text: str) -> list[Any]:
    """The text of a function, and tables of what it takes, gives and refuses."""
    sentences = [" ".join(sentence.split()) for sentence in SENTENCE.split(text) if sentence.strip()]
    found: list[Any] = [DocstringSectionText(text)]
    taken = [
        DocstringParameter(
            f"*{name}" if parameter.kind is ParameterKind.var_positional else name,
            description=said(name, sentences),
            annotation=parameter.annotation,
            value=parameter.default,
        )
        for parameter in function.parameters
        if (name := parameter.name.lstrip("*")) not in ("self", "cls")
    ]
    if taken:
        found.append(DocstringSectionParameters(taken))
    if function.returns is not None and str(function.returns) != "None":
        result = DocstringReturn("", description=sentences[0], annotation=function.returns)
        found.append(DocstringSectionReturns([result]))
    refused = " ".join(sentence for sentence in sentences[1:] if REFUSAL.search(sentence))
    if taken and refused:
        kind = ERRORS.get(function.path.split(".")[1], "ArmdynError")
        found.append(DocstringSectionRaises([DocstringRaise(annotation=kind, description=refused)]))
    return found


def said(name: str, sentences: list[str]) -> str:
    """What a docstring says of a parameter: the sentence that has it as code, else one that names it."""
    word = re.escape(name)
    for pattern in (rf"`{word}\b|\b{word}=", rf"(?<![\w.`]){word}(?![\w`])"):
        for sentence in sentences[0 if len(name) > 1 else 1 :]:
            if re.search(pattern, sentence):
                return sentence
    return MEANINGS.get(name, "")
