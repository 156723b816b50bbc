"""The equations of motion: how long they are, what was proved about them, where rotors couple with links."""

from __future__ import annotations

from dataclasses import dataclass

from armdyn.exact import Equations, Proof, SizeError, SpringError
from armdyn.exact.engine.form import Form
from armdyn.exact.engine.rotors import RotorCoupling
from armdyn.exact.engine.size import LoopsError, check_loops
from armdyn.report.findings.subject import Subject
from armdyn.robot import Robot

_WHOLE = 8000  # terms up to which all equations are shown
_SAMPLE = 60  # terms shown of longer equations
_PROVED = 500_000  # terms up to which a proof takes no more than seconds

NamedEntry = tuple[Form, str, tuple[int, ...]]  # an entry, the letter of its matrix, its indices from 1


@dataclass(frozen=True)
class Outline:
    """What is shown of equations that are too long to read."""

    counts: tuple[tuple[int, ...], ...]  # terms, by row: of B's entries, of g, of the torque
    shortest: tuple[NamedEntry, ...]  # entries of B and g


@dataclass(frozen=True)
class Written:
    """Equations that can be written."""

    size: int  # terms of all torques, multiplied out
    outline: Outline | None  # None: short enough to be shown whole
    proof: Proof | None  # None: too long to be proved here


@dataclass(frozen=True)
class EquationsFinding:
    """A robot's equations of motion; `problem` says why they cannot be written where `written` is None."""

    robot: Robot
    equations: Equations
    written: Written | None
    problem: str
    couplings: tuple[RotorCoupling, ...]  # of exact rotors


def find_equations(subject: Subject) -> EquationsFinding:
    robot = subject.robot
    equations = robot.opened().equations()  # with loops those of the tree, for its rotors alone
    written, problem = None, ""
    try:
        check_loops(robot.model)
        written = _written(equations)
    except (SizeError, SpringError, LoopsError) as error:
        problem = str(error)
    couplings = equations.rotor_couplings() if robot.model.rotors == "exact" else ()
    return EquationsFinding(robot, equations, written, problem, tuple(couplings))


def _written(equations: Equations) -> Written:
    size = sum(row.size for row in equations.tau)
    outline = None if size <= _WHOLE else Outline(_counts(equations), _shortest(equations))
    return Written(size, outline, equations.prove() if size <= _PROVED else None)


def _counts(equations: Equations) -> tuple[tuple[int, ...], ...]:
    joints = range(equations.n)
    return tuple(
        (*(equations.B[i, j].size for j in joints), equations.g[i].size, equations.tau[i].size)
        for i in joints
    )


def _shortest(equations: Equations) -> tuple[NamedEntry, ...]:
    """The shortest entries of B and g that are not zero, as many as fit."""
    n = equations.n
    entries: list[NamedEntry] = [
        (equations.B[i, j], "b", (i + 1, j + 1)) for i in range(n) for j in range(i, n)
    ]
    entries += [(equations.g[i], "g", (i + 1,)) for i in range(n)]
    entries = [entry for entry in entries if not entry[0].is_zero]
    entries.sort(key=lambda entry: (entry[0].size, entry[1], entry[2]))
    chosen: list[NamedEntry] = []
    total = 0
    for entry in entries:
        total += entry[0].size
        if chosen and total > _SAMPLE:
            break
        chosen.append(entry)
    return tuple(sorted(chosen, key=lambda entry: (entry[1], entry[2])))
