"""The functions of a robot as C99, MATLAB and GNU Octave, with what changes at run time as arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from armdyn.expression import ArmdynError, Expression, shown
from armdyn.expression.functions import over_scalars
from armdyn.files import write_files
from armdyn.kernels import matlab
from armdyn.kernels.c import Words, comment_block, constant_array, identifier, initializer
from armdyn.kernels.c_package import CSource, Further, Language, ReferenceVectors, c_source, loop_function
from armdyn.kernels.cache import own_version
from armdyn.model.errors import ModelError, word
from armdyn.model.parameters import layout, parameter_vector
from armdyn.program.evaluate import evaluate_loop
from armdyn.program.program import Program
from armdyn.robot.assembly import FINE, Assembly, assembly_loop
from armdyn.robot.closing import Closed
from armdyn.robot.functions import (
    CLOSED_FUNCTIONS,
    FUNCTIONS,
    MEANINGS,
    PAYLOAD,
    SYMBOLS,
    functions_of,
    inputs_of,
    usual_functions,
)
from armdyn.robot.joints import RobotLike, joint_descriptions
from armdyn.robot.postures import random_postures

# ---- the assembly of a robot with loops: what its other functions take as q --------------------------------

TRIED = 10  # postures in the test
ROUGH = 1e-4  # in single precision: what a last correction may be
ASSEMBLED = (
    "0 where the loops are closed, 1 where they stay open; the least squared sine of a joint that follows "
    "against the others, nearly 0 in singular postures; how many steps gaped"
)


def assembly_in_c(assembly: Assembly, prefix: str, language: Language) -> Further:
    """`PREFIX_assemble` and the posture `PREFIX_posture` to begin with; other functions are tested closed."""
    model, scalar = assembly.model, language.scalar
    fine = FINE if scalar == "double" else ROUGH
    loop = assembly_loop(Closed.of(model), fine)
    meanings = {
        "x": "positions of the coordinates [rad or m]",
        "start": f"a posture near by in which the loops are closed, such as {prefix}_posture",
        "y": "positions of all joints listed above: the q of the other functions",
        "state": ASSEMBLED,
    }
    assert model.choice is not None
    posture = np.array(model.choice.posture)
    name = f"{prefix}_posture"
    origin = comment_block(["positions of all joints in which the loops are closed [rad or m]"])
    x = language.rounded(random_postures(assembly, np.random.default_rng(7), TRIED))
    y, state = np.zeros((1, len(x), len(posture))), np.zeros((1, len(x), 3))
    given = {"x": x[None], "start": language.rounded(posture)[None, None], "y": y, "state": state}
    evaluate_loop(loop, len(x), {}, given)
    close = 1e-12 if scalar == "double" else 1e-4
    allowed = {"y": close * max(1.0, float(abs(y).max())), "state": 100 * close}
    vectors = ReferenceVectors({"x": x, "start": posture}, {"y": y[0], "state": state[0]}, allowed)
    function = loop_function(prefix, replace(loop, name="assemble"), language, meanings, vectors)
    first = f"{constant_array(scalar, name, posture, 'const')}\n"
    function = replace(
        function,
        declaration=f"{origin}extern const {scalar} {name}[{len(posture)}];\n\n{function.declaration}",
        definitions=[first, *function.definitions],
    )
    return Further(functions=[function], inputs={"q": y[0]})


def words_with_loops(words: Words, assemble: str) -> Words:
    """The meanings of inputs, where q has all positions and the rest belongs to coordinates."""
    of = "of the coordinates"
    inputs = dict(words.inputs)
    inputs |= {
        "q": f"positions of all joints listed above, loops closed: what {assemble} gives [rad or m]",
        "qd": f"velocities {of} [rad/s or m/s]",
        "qdd": f"accelerations {of} [rad/s^2 or m/s^2]",
        "tau": f"torques {of} [N m or N]",
    }
    return Words(inputs, words.results)


def positions_described(assembly: Assembly) -> list[str]:
    """The positions in their order: the link, what its joint does, and whether it is a coordinate."""
    free = list(assembly.model.mechanism.free)
    return [
        f"{link.joint_label} ({link.joint}), "
        + (f"coordinate {free.index(i) + 1}" if i in free else "follows")
        for i, link in enumerate(assembly.model.positions)
    ]


# ---- the functions in C ------------------------------------------------------------------------------------

_UNITS = (
    "m [kg], mx my mz [kg m] and Ixx ... Izz [kg m^2] of an augmented link about the origin of its frame; "
    "Im [kg m^2]; Fv [N m s/rad or N s/m], Fs [N m or N]; all others in SI units, too"
)
WORDS = Words(
    MEANINGS,
    {
        name: [result.meaning for result in row.results]
        for name, row in {**FUNCTIONS, **CLOSED_FUNCTIONS}.items()
    },
)
EXAMPLE_PAYLOAD = (1.5, 0.02, -0.03, 0.1, 0.02, 0.001, -0.002, 0.03, 0.003, 0.025)  # a payload to test with


def robot_in_c(
    robot: RobotLike,
    functions: Sequence[str],
    inputs: Sequence[str],
    prefix: str | None,
    scalar: str,
    libm: bool,
) -> CSource:
    """`PREFIX_FUNCTION` for each function; of `inputs`, it takes those that its program can have."""
    word("scalar", scalar, ("double", "float"))
    language = Language(scalar, libm)
    programs, given = chosen_programs(robot, functions, inputs)
    own = identifier(prefix or robot.name)
    symbols = [x for x in given if x not in MEANINGS]
    further, words = _run_time(robot, own, given, symbols, scalar), described(symbols)
    joints = joint_descriptions(robot)
    if robot.model.loops:
        joints, words = positions_described(robot.assembly), words_with_loops(words, f"{own}_assemble")
        closed = assembly_in_c(robot.assembly, own, language)
        further = replace(further, functions=closed.functions, inputs={**closed.inputs, **further.inputs})
    return c_source(robot.name, own, programs, joints, language, words, further)


def chosen_programs(
    robot: RobotLike, functions: Sequence[str], inputs: Sequence[str]
) -> tuple[dict[str, Program], list[str]]:
    """Programs of functions by name, checked, each with those of `inputs` that it can have; and `inputs`."""
    known = list(functions_of(robot.model))
    chosen = usual_functions(robot.model) if functions == "all" else functions
    names, given = _names("functions", chosen), _names("inputs", inputs)
    if not names or not set(names) <= set(known):
        wrong = [shown(name) for name in names if name not in known]
        raise ModelError(f"functions: found {(wrong or ['none'])[0]}; allowed: {', '.join(known)}, or 'all'")
    possible = {name: inputs_of(robot.model, name) for name in names}
    allowed = list(dict.fromkeys(x for taken in possible.values() for x in taken))
    if unknown := [x for x in given if x not in allowed]:
        found, few = shown(unknown[0]), ", ".join(allowed) or "none"
        raise ModelError(f"inputs: found {found}; allowed with {', '.join(names)}: {few}")
    return {name: robot.program(name, [x for x in given if x in possible[name]]) for name in names}, given


def _names(what: str, names: Sequence[str]) -> list[str]:
    """A list of different names."""
    right = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
    if not right or len(set(names)) != len(names):
        raise ModelError(f"{what}: found {shown(names)}; a list of different names is expected")
    return list(names)


def described(symbols: Sequence[str]) -> Words:
    """What the header says of inputs, with the names of symbols."""
    meanings = dict(WORDS.inputs)
    meanings["parameters"] = "dynamic parameters, in the order above"
    meanings[SYMBOLS] = f"values of {', '.join(symbols)}, in the units of the robot's description"
    return Words(meanings, WORDS.results)


def _run_time(
    robot: RobotLike, prefix: str, given: Sequence[str], symbols: Sequence[str], scalar: str
) -> Further:
    """The robot's own parameters and symbols as macros, and values to test with."""
    own, tried = own_values(robot, given, symbols)
    macros = []
    if "parameters" in given:
        names = ", ".join(x.name for x in layout(robot.model))
        macros.append(comment_block([f"parameters: {names}", f"units: {_UNITS}"]))
    macros += [initializer(prefix, name, x, scalar, OWN[name]) for name, x in own.items()]
    return Further(macros, inputs=tried)


OWN = {"parameters": "parameters of this robot", SYMBOLS: "values that these symbols have"}


def own_values(
    robot: RobotLike, given: Sequence[str], symbols: Sequence[str]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The robot's own parameters and symbols, where they are numbers; values to test with, a little off."""
    rng = np.random.default_rng(11)
    known = {name: x for name, x in robot.symbols.items() if x is not None}
    tried = {name: known.get(name, 1.0) * rng.uniform(0.9, 1.1) for name in robot.symbols}
    own = dict[str, np.ndarray]()
    inputs = {PAYLOAD: np.array(EXAMPLE_PAYLOAD), SYMBOLS: np.array([tried[name] for name in symbols])}
    if "parameters" in given:
        found = parameter_vector(
            robot.model.mechanism_in(()), layout(robot.model)
        )  # of free symbols, expressions
        values = [over_scalars(x, tried) if isinstance(x, Expression) else x for x in found]
        inputs["parameters"] = np.array(values, float) * rng.uniform(0.95, 1.05, len(values))
        if not any(isinstance(x, Expression) for x in found):
            own["parameters"] = np.array(found, float)
    if symbols and all(name in known for name in symbols):
        own[SYMBOLS] = np.array([known[name] for name in symbols])
    return own, inputs


# ---- MATLAB and GNU Octave ---------------------------------------------------------------------------------


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
    package = matlab.identifier(prefix or robot.name)
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
        texts[name] = matlab.function_text(package, name, program, words, joints, title)
    names = {"parameters": ", ".join(x.name for x in layout(robot.model)), "symbols": ", ".join(symbols)}
    for name, values in own.items():
        lines = [f"{package}.{name}: {OWN[name]}: {names[name]}"]
        texts[name] = _constant(name, values, lines)
    parts = {f"+{package}/{name}.m": text for name, text in texts.items()}
    parts[f"test_{package}.m"] = matlab.test_text(package, programs, tried, assembly)
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
    return f"function out = {name}()\n{matlab.comment(lines)}  out = {matlab.matrix(values[:, None])};\nend\n"


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
        f"  [found, state] = {package}.assemble({matlab.matrix(x[:, None])}, {package}.posture());\n"
        f"  bad = bad + (state(1) > 0) + differs('assemble', found, {matlab.matrix(y[:, None])});"
    )
    return {"assemble": matlab.loop_text("assemble", loop, lines), "posture": posture}, tests, y
