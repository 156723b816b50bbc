"""The live part of a report as HTML: data, scripts, and the policy that lets these scripts alone run."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from itertools import product
from typing import Any

import numpy as np

from armdyn.drawing.errors import ReportError
from armdyn.drawing.solids import Solids, solids
from armdyn.drawing.views import nice_below, view_of
from armdyn.dynamics import CAUSES
from armdyn.expression import ArmdynError
from armdyn.kernels.javascript import function_text, loop_text
from armdyn.motion.torques import SteadyWrench
from armdyn.names import one_line
from armdyn.program import Program, record
from armdyn.program.program import inline
from armdyn.report.page import POLICY, Live, Markup, warning
from armdyn.report.subject import Subject
from armdyn.robot import Robot
from armdyn.robot.assembly import assembly_loop
from armdyn.robot.closing import Closed
from armdyn.robot.joints import joint_limits, joint_units

# ------------------------------------------------------------------------------------------------------------
# What a page computes, as programs: torques by what causes them, and where the bodies are.


PARTS = (*CAUSES[:-1], "rotor coupling", CAUSES[-1])  # as in `Contributions.parts`


def torques_program(robot: Robot, wrench: SteadyWrench = None) -> Program:
    """Torques (9, n) by what causes them, in the order of `PARTS`, and their sum (n,) [N m or N].

    Inputs are q (all positions, loops closed), q̇ and q̈ (n). Inertia, centrifugal and Coriolis torques are
    those of the diagonal rotor model; rotor coupling is what is missing then.
    """
    numbers, links = _numbers(wrench)
    optional = ["wrench"] if numbers else []
    causes, torques = (robot.program(name, optional, links) for name in ("contributions", "inverse_dynamics"))
    exact = robot.model.rotors == "exact" and bool(robot.mechanism.rotors)
    plain = robot.with_rotors("reflected").program("contributions", optional, links) if exact else causes
    n = robot.n

    def function(*state: Any) -> Any:
        given = (*state, numbers) if numbers else state
        own, diagonal, total = (inline(program, given)[0] for program in (causes, plain, torques))
        moving, others = diagonal[: 3 * n], own[3 * n :]
        coupling: list[Any] = [0] * n
        for i in range(n) if exact else ():
            coupling[i] = total[i] - sum(moving[i::n]) - sum(others[i::n])
        return [*moving, *others[:-n], *coupling, *others[-n:]], total

    inputs = [(name, size) for name, size in causes.inputs if name != "wrench"]
    return record(function, inputs, [("parts", (len(PARTS), n)), ("total", (n,))])


def _numbers(wrench: SteadyWrench) -> tuple[list[float], list[str]]:
    """The numbers of wrenches, one after the other, and the links that exert them; none: the tip."""
    if not isinstance(wrench, dict):
        return [] if wrench is None else [float(x) for x in wrench], []
    return [float(x) for h in wrench.values() for x in h], list(wrench)


# ------------------------------------------------------------------------------------------------------------
# The functions of a live page as JavaScript, printed from the programs that Python runs.


_LONGEST = 60_000  # operations: about 1.5 MB of text


def functions_text(robot: Robot, robots: Sequence[Robot], wrench: SteadyWrench) -> str:
    """`printed`: torques(k, q, qd, qdd, parts, total) of each of the robots, poses(q, out), assemble(…).

    The q of these functions are all positions; `assemble` finds them from the coordinates, where there are
    loops.
    """
    programs = [torques_program(other, wrench) for other in robots]
    _check_length(programs)
    texts = [function_text(f"torques{k}", program) for k, program in enumerate(programs)]
    texts.append(function_text("poses", robot.program("poses")))
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


# ------------------------------------------------------------------------------------------------------------
# What the live part of a report has: the functions that it runs, and the numbers that they are run with.


SAMPLES = 301  # of a motion
_FINE = 20_000  # parts of the arm's size: how finely its shapes are given
_TURN, _SLIDE = np.pi, 0.5  # ranges where there is no limit: of positions [rad], of the arm's size [m]
_RATES = {"revolute": (3.0, 10.0), "prismatic": (1.0, 5.0)}  # of velocities and accelerations, at least


def _motion(subject: Subject) -> tuple[np.ndarray, list[np.ndarray], list[int], list[Robot]]:
    """Instants (N,), states (N, n), which of the robots carries what it carries then, and these robots."""
    trajectory = subject.trajectory
    times = np.linspace(0.0, trajectory.duration, SAMPLES)
    last = trajectory(times[-1:], "before")
    states = [np.concatenate([x[:-1], y]) for x, y in zip(trajectory(times), last, strict=True)]
    loaded = trajectory.loaded(subject.robot)
    robots: list[Robot] = []
    for robot in loaded.robots:
        if not any(robot is other for other in robots):
            robots.append(robot)
    number = [next(k for k, other in enumerate(robots) if other is robot) for robot in loaded.robots]
    return times, states, [number[i] for i in loaded.index(times)], robots


def _joints(subject: Subject, states: list[np.ndarray]) -> list[dict[str, Any]]:
    """Names, units, limits of torque, and what sliders go from and to."""
    robot, limits = subject.robot, joint_limits(subject.robot)
    found = []
    for i, link in enumerate(robot.model.coordinates):
        moved = [(float(x[:, i].min()), float(x[:, i].max())) for x in states]
        positions = float(limits.lower[i]), float(limits.upper[i])
        rates = [
            _symmetric(float(limit[i]), moved[k], _RATES[link.joint][k - 1])
            for k, limit in ((1, limits.velocity), (2, limits.acceleration))
        ]
        found.append(
            {
                "name": one_line(link.joint_label),
                "units": list(joint_units(robot, i)),
                "ranges": [_positions(positions, moved[0], link.joint, subject), *rates],
                "limit": _finite(float(limits.torque[i])),
            }
        )
    return found


def _positions(
    limits: tuple[float, float], moved: tuple[float, float], joint: str, subject: Subject
) -> list[float]:
    """The limits of a position; where there is none, half a turn, and what the motion needs."""
    reach = _TURN if joint == "revolute" else _SLIDE * subject.middle.arm.size
    middle = 0.0 if joint == "revolute" else (moved[0] + moved[1]) / 2
    low = limits[0] if np.isfinite(limits[0]) else min(middle - reach, moved[0])
    high = limits[1] if np.isfinite(limits[1]) else max(middle + reach, moved[1])
    return [min(low, moved[0]), max(high, moved[1])]


def _symmetric(limit: float, moved: tuple[float, float], least: float) -> list[float]:
    """Both ways as far as a limit, or half as far again as the motion."""
    peak = max(abs(moved[0]), abs(moved[1]))
    bound = max(limit, peak) if np.isfinite(limit) else max(least, 1.5 * peak)
    return [-bound, bound]


def _finite(x: float) -> float | None:
    return x if np.isfinite(x) else None


def _loops(robot: Robot) -> dict[str, Any] | None:
    """What assembly begins with."""
    if not robot.model.loops:
        return None
    choice = robot.model.choice
    assert choice is not None
    return {
        "posture": [float(x) for x in choice.posture],
        "free": list(choice.free),
        "turning": robot.assembly.turning.tolist(),
    }


# ---- what is seen ------------------------------------------------------------------------------------------


def _arm(robot: Robot, subject: Subject, q: np.ndarray, joints: list[dict[str, Any]]) -> dict[str, Any]:
    """The solids, and from where they are looked at."""
    ends = np.array([joint["ranges"][0] for joint in joints]).T
    along = q if robot.model.loops else np.vstack([q, ends])  # loops may not close at the ends
    arm, view = solids(robot, along), view_of(robot, subject.middle.arm)
    unit, bodies = arm.size / _FINE, len(robot.joints) + 1  # the base is the last
    points = _points(robot, arm, q)
    centre, radius = _room(points)
    return {
        "size": arm.size,
        "unit": unit,
        "bodies": bodies,
        "solids": [
            {
                "body": solid.body % bodies,
                "kind": solid.kind,
                "colour": solid.colour,
                "vertices": np.rint(solid.vertices.ravel() / unit).astype(int).tolist(),
                "triangles": solid.triangles.ravel().tolist(),
            }
            for solid in arm.solids
        ],
        "struts": [
            [[body % bodies, *point.tolist()] for body, point in zip(s.tied, s.points, strict=True)]
            for s in arm.struts
        ],
        "tip": [robot.mechanism.tip % bodies, *(float(x) for x in robot.mechanism.p_tip)],
        "base": np.array(robot.mechanism.R_base, float).tolist(),
        "centre": centre.tolist(),
        "radius": radius,
        "towards": view.towards.tolist(),
        "vertical": view.vertical.tolist(),
        "planar": view.planar,
        "ground": arm.ground.tolist(),
        "up": arm.up.tolist(),
        "step": nice_below(arm.size / 5),
        "grid": bool(((points - arm.ground) @ arm.up).min() > -0.1 * arm.size),
    }


def _points(robot: Robot, arm: Solids, q: np.ndarray) -> np.ndarray:
    """(N, 3): the corners of boxes around all solids, at some instants of the motion."""
    poses = robot.poses(q[:: SAMPLES // 10])
    found = [
        solid.vertices @ pose[solid.body, :3, :3].T + pose[solid.body, :3, 3]
        for pose in poses
        for solid in arm.solids
    ]
    signs = np.array(list(product((0.0, 1.0), repeat=3)))
    return np.vstack([x.min(0) + signs * np.ptp(x, axis=0) for x in found])


def _room(points: np.ndarray) -> tuple[np.ndarray, float]:
    """A ball with points (N, 3) in it: its centre (3,) and radius [m]."""
    centre = (points.min(0) + points.max(0)) / 2
    return centre, float(np.linalg.norm(points - centre, axis=1).max())


# ------------------------------------------------------------------------------------------------------------
# The live part of a report as HTML: data, scripts, and the policy that lets these scripts alone run.


_SCRIPTS = ("model.js", "camera.js", "solids.js", "bars.js", "chart.js", "live.js")
TITLE = "The arm, live"


def write_live(subject: Subject) -> Live:
    """A section that is hidden until its script shows it; a warning where there can be none."""
    try:
        return _live(*live_data(subject))
    except ArmdynError as problem:
        return Live(Markup(), warning(f"A live part is not possible here: {problem}."), POLICY, "")


def live_data(subject: Subject) -> tuple[str, dict[str, Any]]:
    """Functions as JavaScript, and data as JSON has them: the arm, its joints with their ranges, its motion.

    A symbol without a value is an error.
    """
    robot = subject.robot
    if subject.free_symbols:
        names = ", ".join(one_line(name) for name in subject.free_symbols)
        raise ReportError(f"symbols without a value: {names}; a live part needs numbers")
    times, states, loads, robots = _motion(subject)
    joints = _joints(subject, states)
    data = {
        "joints": joints,
        "parts": list(PARTS),
        "arm": _arm(robot, subject, states[0], joints),
        "motion": {
            "t": times.tolist(),
            **{name: x.tolist() for name, x in zip(("q", "qd", "qdd"), states, strict=True)},
            "load": loads,
        },
        "loops": _loops(robot),
    }
    return functions_text(robot, robots, subject.wrench), data


def _live(functions: str, data: dict[str, Any]) -> Live:
    here = files("armdyn.report") / "live"
    scripts = [functions, *(here.joinpath(name).read_text("utf-8") for name in _SCRIPTS)]
    return Live.of(TITLE, scripts, data, here.joinpath("live.css").read_text("utf-8"))
