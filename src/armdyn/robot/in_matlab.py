"""The functions of a robot as a package of MATLAB and GNU Octave, its equations as a script of symbols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from armdyn.expression import ArmdynError
from armdyn.files import write_files
from armdyn.kernels.cache import own_version
from armdyn.kernels.matlab import (
    comment,
    function_text,
    identifier,
    loop_text,
    matrix,
    test_text,
)
from armdyn.model.parameters import layout
from armdyn.robot.assembly import assembly_loop
from armdyn.robot.closing import Closed
from armdyn.robot.functions import MEANINGS
from armdyn.robot.in_c import (
    ASSEMBLED,
    OWN,
    chosen_programs,
    described,
    own_values,
    positions_described,
    words_with_loops,
)
from armdyn.robot.joints import RobotLike, joint_descriptions
from armdyn.robot.postures import random_postures


def robot_in_matlab(
    robot: RobotLike,
    folder: str | Path,
    functions: Sequence[str],
    inputs: Sequence[str],
    prefix: str | None,
    equations: str | None,
) -> list[Path]:
    """Write `+PREFIX`, a folder of functions, `test_PREFIX.m` and the text of equations; the files' paths."""
    programs, given = chosen_programs(robot, functions, inputs)
    package = identifier(prefix or robot.name)
    symbols = [x for x in given if x not in MEANINGS]
    words, joints = described(symbols), joint_descriptions(robot)
    own, tried = own_values(robot, given, symbols)
    texts, assembly = dict[str, str](), ""
    if robot.model.loops:
        joints, words = positions_described(robot.assembly), words_with_loops(words, f"{package}.assemble")
        more, assembly, tried["q"] = _assembly(robot, package)
        texts |= more
    title = f"{robot.name}, made by armdyn {own_version()}"
    for name, program in programs.items():
        texts[name] = function_text(package, name, program, words, joints, title)
    names = {"parameters": ", ".join(x.name for x in layout(robot.model)), "symbols": ", ".join(symbols)}
    for name, values in own.items():
        lines = [f"{package}.{name}: {OWN[name]}: {names[name]}"]
        texts[name] = _constant(name, values, lines)
    parts = {f"+{package}/{name}.m": text for name, text in texts.items()}
    parts[f"test_{package}.m"] = test_text(package, programs, tried, assembly)
    if equations is not None:
        parts[f"{package}_equations.m"] = equations
    return _written(Path(folder), package, parts)


def _written(folder: Path, package: str, parts: dict[str, str]) -> list[Path]:
    try:
        (folder / f"+{package}").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArmdynError(f"cannot write to '{folder}': {error.strerror}") from None
    return write_files({folder / name: text for name, text in parts.items()})


def _constant(name: str, values: np.ndarray, lines: Sequence[str]) -> str:
    return f"function out = {name}()\n{comment(lines)}  out = {matrix(values[:, None])};\nend\n"


def _assembly(robot: RobotLike, package: str) -> tuple[dict[str, str], str, np.ndarray]:
    """`assemble` and `posture` of a robot with loops, lines that test them, and closed positions."""
    model = robot.assembly.model
    assert model.choice is not None
    loop = replace(assembly_loop(Closed.of(model)), name="assemble")
    lines = [
        f"[y, state] = {package}.assemble(x, start): positions of all joints where the loops are closed",
        f"x ({model.mechanism.n}, 1): positions of the coordinates [rad or m]",
        f"start ({len(model.positions)}, 1): a posture near by with closed loops, as {package}.posture()",
        "y: the q of the other functions",
        f"state (3, 1): {ASSEMBLED}",
    ]
    posture = _constant(
        "posture",
        np.array(model.choice.posture),
        ["positions of all joints in which the loops are closed [rad or m]"],
    )
    x = random_postures(robot.assembly, np.random.default_rng(7), 1)[0]
    y = robot.assembly(x)
    tests = (
        f"  [found, state] = {package}.assemble({matrix(x[:, None])}, {package}.posture());\n"
        f"  bad = bad + (state(1) > 0) + differs('assemble', found, {matrix(y[:, None])});"
    )
    return {"assemble": loop_text("assemble", loop, lines), "posture": posture}, tests, y
