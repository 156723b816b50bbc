"""The functions of a live page as JavaScript, printed from the programs that Python runs."""

from __future__ import annotations

from collections.abc import Sequence

from armdyn.kernels.javascript.loop import loop_text
from armdyn.kernels.javascript.program import function_text
from armdyn.motion.timing.speed_parts import SteadyWrench
from armdyn.program import Program
from armdyn.report.errors import ReportError
from armdyn.report.findings.drawn.poses import poses_program
from armdyn.report.live.programs import torques_program
from armdyn.robot import Robot
from armdyn.robot.loops.closing import Closed
from armdyn.robot.loops.steps import assembly_loop

_LONGEST = 60_000  # operations: about 1.5 MB of text


def functions_text(robot: Robot, robots: Sequence[Robot], wrench: SteadyWrench) -> str:
    """`printed`: torques(k, q, qd, qdd, parts, total) of each of the robots, poses(q, out), assemble(…).

    The q of these functions are all positions; `assemble` finds them from the coordinates, where there are
    loops.
    """
    programs = [torques_program(other, wrench) for other in robots]
    _check_length(programs)
    texts = [function_text(f"torques{k}", program) for k, program in enumerate(programs)]
    texts.append(function_text("poses", poses_program(robot.mechanism)))
    names = ", ".join(f"torques{k}" for k in range(len(programs)))
    entries = [f"torques: [{names}]", "poses"]
    if robot.mechanism.loops:
        texts.append(loop_text("assemble", assembly_loop(Closed.of(robot.model))))
        entries.append("assemble")
    return "\n".join([*texts, f"const printed = {{ {', '.join(entries)} }};\n"])


def _check_length(programs: Sequence[Program]) -> None:
    length = sum(len(program.nodes) for program in programs)
    if length > _LONGEST:
        whose = "this robot" if len(programs) == 1 else f"this robot with {len(programs)} loads"
        raise ReportError(
            f"the torques of {whose} take {length} operations, too many for a page; "
            f"at most {_LONGEST} are allowed"
        )
