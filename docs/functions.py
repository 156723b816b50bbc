"""Writes functions.md from the table of functions: python docs/functions.py"""

from inspect import signature
from pathlib import Path

from armdyn import Robot
from armdyn.robot.functions import CLOSED_FUNCTIONS, FUNCTIONS, MEANINGS, PAYLOAD, SYMBOLS

HEAD = """# Numeric functions

Every function is a method of `Robot`. Arrays have any leading axes, which broadcast as in NumPy: "..." below.
n is the number of coordinates, p that of parameters; bodies are those that `robot.bodies` names. The last two
are for robots with loops. `out=` takes the result. This page is written by
`python docs/functions.py` from the table in `src/armdyn/robot/functions.py`.

Every function also takes `symbols={"a2": 0.4, "m1": array}`: values (...) of the robot's symbols, which
broadcast like the other inputs. The result is that of `robot.with_symbols(…)`, row by row, from one compiled
function: a thousand variants of an arm in one call. Arrays are of the same kind as the others, and PyTorch
differentiates by them. Symbols may stand anywhere in the description but in the shape of loops, which are
closed with numbers.

Of a robot with loops every function takes `near=y`: postures (..., positions), as `robot.assembly(q)` gives
them, from which the loops are closed at `q` ([closed chains](closed-chains.md#one-state-after-another)).
"""
ARGUMENTS = {
    SYMBOLS: "values (...) of the robot's symbols by name; in programs and C columns (..., k), in the order "
    "in which they were named",
    "base": "a `BaseMotion`, made of the three above",
    "link": "the name of a link, whose frame is taken instead of the tip's",
    "at": 'a point of that link: `"frame"`, its frame\'s origin; `"com"`, its centre of mass; `[x, y, z]`',
    "motor": "the link or joint that a motor drives, by name",
}
BESIDES = (SYMBOLS, "near", "out")  # arguments of all methods
BESIDE = ("com_position", "rotor_jacobian")  # methods of one link or motor, made of the functions


def text() -> str:
    lines = [HEAD, "| function | inputs | optional inputs | result | what it is |", "|---|---|---|---|---|"]
    for name, row in (FUNCTIONS | CLOSED_FUNCTIONS).items():
        shapes = ", ".join(_shape(result.shape) for result in row.results)
        meanings = "; ".join(result.meaning for result in row.results).replace(", row by row", "")
        inputs, optional = (", ".join(f"`{x}`" for x in names) for names in (row.inputs, _optional(name)))
        lines.append(f"| `{name}` | {inputs} | {optional} | {shapes} | {meanings} |")
    lines += ["", "What each does, with the equations of the book:", ""]
    for name in FUNCTIONS | CLOSED_FUNCTIONS:
        first = (getattr(Robot, name).__doc__ or "").split("\n")[0]
        lines.append(f"- `{name}`: {first}")
    lines += ["", "Two more take the name of a link or motor, and are no programs by themselves:", ""]
    for name in BESIDE:
        arguments = [x for x in signature(getattr(Robot, name)).parameters if x not in ("self", *BESIDES)]
        first = (getattr(Robot, name).__doc__ or "").split("\n")[0]
        lines.append(f"- `{name}({', '.join(arguments)})`: {first}")
    lines += ["", "| input | meaning |", "|---|---|"]
    for name, meaning in (MEANINGS | ARGUMENTS).items():
        only = "in [programs and C](c-code.md) only: " if name == PAYLOAD else ""
        lines.append(f"| `{name}` | {only}{meaning} |")
    return "\n".join(lines) + "\n"


def _optional(name: str) -> list[str]:
    """Optional arguments of the method: kernels have three inputs for `base`, none for `link` and `at`."""
    parameters = signature(getattr(Robot, name)).parameters.items()
    return [x for x, p in parameters if p.default in (None, "frame") and x not in BESIDES]


def _shape(shape: tuple[int | str, ...]) -> str:
    return f"({', '.join(map(str, ('...', *shape)))})"


if __name__ == "__main__":
    Path(__file__).with_name("functions.md").write_text(text(), encoding="utf-8")
