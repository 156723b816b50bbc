"""The written steps of Newton–Euler read back: what every vector is, in symbols and as numbers."""

import re
from dataclasses import dataclass
from fractions import Fraction

_LINE = re.compile(r"(\w+(?:,\w+)?)(?:\[([xyz])\])?(?: - g0| = wd0)? = (.*?)(?:  \((7\.\d+)\))?")


@dataclass
class Step:
    """A line or, of a long vector, its three lines: entries and the number of the equation."""

    formulas: list[str]
    amounts: list[float | None]  # a formula without symbols is its own; None where no number is written
    number: str


def read_steps(text: str) -> dict[str, Step]:
    """Vectors and torques by their names in the text: "w1", "pddC2", "tau1"."""
    found: dict[str, Step] = {}
    for line in _whole_lines(text):
        if not (match := _LINE.fullmatch(line)):
            continue
        name, axis, right, number = match.groups()
        formulas, *amounts = (_entries(side) for side in right.split(" = "))
        step = Step(formulas, [_number(x) for x in (amounts[0] if amounts else formulas)], number or "")
        if axis in ("y", "z"):
            before = found[name]
            step = Step(before.formulas + step.formulas, before.amounts + step.amounts, step.number)
        found[name] = step
    return found


def _number(text: str) -> float | None:
    try:
        return float(Fraction(text))
    except ValueError:
        return None


def _whole_lines(text: str) -> list[str]:
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(" "):
            between = "  " if re.fullmatch(r"\s+\(7\.\d+\)", line) else " "
            lines[-1] += between + line.strip()
        else:
            lines.append(line)
    return lines


def _entries(side: str) -> list[str]:
    """The entries of a vector, split at commas outside brackets; any other formula as it is."""
    depth, parts = 0, [""]
    for i, c in enumerate(side):
        depth += (c in "[(") - (c in "])")
        if depth == 0 and i < len(side) - 1:  # the first bracket is not around all of it
            return [side]
        if c == "," and depth == 1:
            parts.append("")
        else:
            parts[-1] += c
    if len(parts) == 1:
        return [side]
    return [x.strip() for x in (parts[0][1:], *parts[1:-1], parts[-1][:-1])]
