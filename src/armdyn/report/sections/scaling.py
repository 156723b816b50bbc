"""How fast the motion may be under the robot's limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from armdyn.drawing.curves import colour, curve, dash, effort_label, framed, joint_title, limit_lines
from armdyn.drawing.sheet import Given, sheet, sheet_of
from armdyn.drawing.style import GREY, styled
from armdyn.expression import ArmdynError
from armdyn.identification.looking_over import runs
from armdyn.motion.timing.limits import MotionLimits, limits_for
from armdyn.motion.timing.scaling import Scaled
from armdyn.motion.timing.time_optimal import TimeOptimal
from armdyn.motion.torques import check_robot
from armdyn.motion.trajectory import Trajectory
from armdyn.report.page import Part, Picture, cited, number, paragraph, warning
from armdyn.report.subject import Subject
from armdyn.robot import Robot

KINDS = ("torque", "velocity", "acceleration")
_AT_LIMIT = 0.999  # of a limit: from here on it counts as reached


@dataclass(frozen=True)
class PathSpeed:
    """The speed along a path in least time, and where joints and motors are at a limit.

    `names` are the n joints, 1 to n, then the motors that have limits of their own, M and a number.
    """

    names: tuple[str, ...]
    s: np.ndarray  # (N + 1,)
    speed: np.ndarray  # (N + 1,) [1/s]
    at_limit: dict[str, np.ndarray]  # limit -> (N, names): whether it is reached on an interval of the path

    @property
    def has_motors(self) -> bool:
        return self.names[-1].startswith("M")

    @property
    def covered(self) -> float:
        """The part of the path on which some limit is reached."""
        anywhere = np.any([reached.any(1) for reached in self.at_limit.values()], axis=0)
        return float(np.diff(self.s)[anywhere].sum())


def path_speed(robot: Robot, optimal: TimeOptimal) -> PathSpeed:
    check_robot(robot, optimal.trajectory)
    limits = _limits(robot, optimal)
    middle = (optimal.t[0::2] + optimal.t[1::2]) / 2
    q, qd, qdd = optimal.trajectory(middle)
    torque = limits.torque.share(optimal.torque).reshape(len(middle), 2, -1).max(1)
    speeds, accelerations = limits.velocities(q, qd), limits.accelerations(q, qd, qdd)
    shares = (torque, limits.velocity.share(speeds), limits.acceleration.share(accelerations))
    labels = [limit for rows in limits.kinds for limit in rows.limits]
    motors = sorted({limit.index for limit in labels if limit.of_motor})
    place = {index: robot.n + k for k, index in enumerate(motors)}
    reached = {kind: np.zeros((len(middle), robot.n + len(motors)), bool) for kind in KINDS}
    for kind, rows, share in zip(KINDS, limits.kinds, shares, strict=True):
        for limit, x in zip(rows.limits, share.T, strict=True):
            if limit.of_follower:
                continue  # it has no line of its own among the joints
            reached[kind][:, place[limit.index] if limit.of_motor else limit.index] |= x >= _AT_LIMIT
    names = (*(str(j + 1) for j in range(robot.n)), *(f"M{i + 1}" for i in motors))
    return PathSpeed(names, optimal.s, optimal.speed, reached)


def _limits(robot: Robot, timing: TimeOptimal | Scaled | None) -> MotionLimits:
    """The limits of joints and motors that a timing was computed with; without one, those of the robot."""
    if timing is None:
        return limits_for(robot)
    joint, motor = timing.limits, timing.motor_limits
    own = (joint.torque, joint.velocity, joint.acceleration)
    return limits_for(robot, *own, motor_torque=motor.torque, motor_velocity=motor.velocity)


_GIVEN, _LINEAR, _LEAST = 2, 0, 1  # line styles of the motion as given, scaled linearly, in least time
_FULL_WIDTH = 3  # joints up to which each has a panel as wide as the sheet


def plot_scaling(
    robot: Robot,
    trajectory: Trajectory,
    scaled: Scaled | None = None,
    optimal: TimeOptimal | None = None,
    *,
    wrench: Any = None,
    ax: Given = None,
) -> Figure:
    """Torques of a motion as given, scaled linearly and in least time, with their limits, joint by joint.

    `ax` takes n axes.
    """
    return _draw_torques(Subject.of(robot, trajectory, wrench), scaled, optimal, ax=ax)


def torque_bounds(robot: Robot, timing: TimeOptimal | Scaled | None) -> np.ndarray:
    """(n,): the limits of torque that a timing was computed with.

    A limit is that of the joint, or of a motor that drives it alone, whichever is lower.
    """
    return np.asarray(_limits(robot, timing).torque.bound[: robot.n])


@styled
def _draw_torques(
    subject: Subject, scaled: Scaled | None, optimal: TimeOptimal | None, *, ax: Given = None
) -> Figure:
    robot, bounds = subject.robot, torque_bounds(subject.robot, optimal or scaled)
    torques = [(f"as given, {subject.trajectory.duration:.4g} s", _GIVEN, subject.samples.t, subject.torque)]
    if scaled is not None:
        name = f"scaled linearly, {scaled.trajectory.duration:.4g} s"
        torques.append((name, _LINEAR, scaled.t, scaled.torque))
    if optimal is not None:
        torques.append((f"least time, {optimal.duration:.4g} s", _LEAST, optimal.t, optimal.torque))
    columns, height = (1, 2.0) if robot.n <= _FULL_WIDTH else (2, 1.7)
    paper = sheet_of(robot.n, columns, 0.8, height, ax=ax, sharex=True)
    limited = False
    for i, panel in enumerate(paper.panels):
        for _, k, t, tau in torques:
            curve(panel, t, tau[:, i], k, lw=1.3)
        framed(panel, effort_label(robot, i), joint_title(robot, i))
        limited = limit_lines(panel, float(bounds[i])) or limited
    handles = [Line2D([], [], color=colour(k), linestyle=dash(k), label=name) for name, k, _, _ in torques]
    if limited:
        handles.append(Line2D([], [], color=GREY, lw=0.9, label="limit"))
    paper.under("time [s]")
    paper.legend(handles, ncols=len(handles))
    return paper.figure


def plot_path_speed(robot: Robot, optimal: TimeOptimal, *, ax: Given = None) -> Figure:
    """The speed along a path in least time, and which limit each joint or motor is at (7.7's phase plane).

    `ax` takes 2 axes.
    """
    return _draw_path(path_speed(robot, optimal), ax=ax)


@styled
def _draw_path(found: PathSpeed, *, ax: Given = None) -> Figure:
    n, kinds = len(found.names), found.at_limit
    low = 0.3 + 0.2 * n
    paper = sheet(2.3 + low, 2, 1, ax=ax, sharex=True, gridspec_kw={"height_ratios": [1.9, low]})
    speed, strips = paper.panels
    curve(speed, found.s, found.speed, 0)
    framed(speed, "path speed [1/s]")
    for j, active in enumerate(kinds.values()):
        for i in range(n):
            for start, end in runs(active[:, i]):
                along = [found.s[start], found.s[end]]
                strips.plot(along, [i + 1, i + 1], color=colour(j), lw=6 - 1.8 * j, solid_capstyle="butt")
    strips.set_ylim(n + 0.6, 0.4)
    strips.set_yticks(range(1, n + 1), found.names)
    strips.set_ylabel("at a limit" if found.has_motors else "joint at\na limit")
    paper.under("path parameter s [1], from start to end")
    handles = [
        Line2D([], [], color=colour(j), lw=6 - 1.8 * j, label=name)
        for j, (name, active) in enumerate(kinds.items())
        if active.any()
    ]
    if handles:
        paper.legend(handles, ncols=3, handlelength=2.2)
    return paper.figure


_EVERYWHERE = 0.99  # of a path: what is less than this from its whole is a matter of the grid


def write_scaling(subject: Subject) -> list[Part]:
    robot = subject.robot
    if not subject.has_limits:
        text = "The description gives no limits of torque, velocity or acceleration"
        free = "" if robot.drives.passive else ", so the motion may be as fast as one likes"
        return [paragraph(f"{text}{free}.")]
    if not np.ptp(subject.samples.q, axis=0).any():
        return [paragraph("The motion stands still, so there is no speed to limit.")]
    attempts = {"Scaling the motion linearly": subject.scaled, "The path in least time": subject.optimal}
    problems: list[Part] = [
        warning(f"{what} is not possible: {found}.")
        for what, found in attempts.items()
        if isinstance(found, ArmdynError)
    ]
    scaled = subject.scaled if isinstance(subject.scaled, Scaled) else None
    optimal = subject.optimal if isinstance(subject.optimal, TimeOptimal) else None
    timings = _timings(subject, scaled, optimal) if scaled or optimal else []
    if optimal is None:
        return [*problems, *timings]
    path = path_speed(robot, optimal)
    picture = Picture(_draw_path(path), "speed along the path in least time", [path_text(path)])
    return [*problems, *timings, picture]


def path_text(path: PathSpeed) -> str:
    who = "each joint, and each motor (M)," if path.has_motors else "each joint"
    text = f"Least time: the speed along the path, and below it the parts of the path on which {who} is at "
    text += "one of its limits. "
    if path.covered > _EVERYWHERE:
        return text + "At every point some limit is reached, or the motion could be faster."
    return text + f"Some limit is reached on {100 * path.covered:.0f} % of the path."


def _timings(subject: Subject, scaled: Scaled | None, optimal: TimeOptimal | None) -> list[Part]:
    text: list[str] = []
    if scaled is not None:
        text += _linear_text(subject.robot, subject.trajectory.duration, scaled)
    if optimal is not None:
        text += _optimal_text(scaled, optimal)
    what = "torques of the motion as given, scaled linearly and in least time"
    picture = _draw_torques(subject, scaled, optimal)
    return [paragraph(*text), Picture(picture, what, _torque_caption(subject.robot, scaled, optimal))]


def _linear_text(robot: Robot, duration: float, scaled: Scaled) -> list[str]:
    faster = scaled.factor < 1
    text: list[str] = [
        "Sped up" if faster else "Slowed down",
        cited(" as a whole (section 7.7), the motion just meets the robot's limits: it takes "),
        number(scaled.trajectory.duration),
        f" s instead of {duration:g} s, a factor c = ",
        number(scaled.factor),
        " with c² = ",
        number(scaled.factor**2, 5),
        ".",
    ]
    limit = scaled.limited_by
    if limit is not None and scaled.instant is not None:
        text.append(f" Its speed is limited by the {limit.quantity} of {limit.name(robot)} at ")
        text += [number(scaled.instant, 3), " s."]
    return text


def _optimal_text(scaled: Scaled | None, optimal: TimeOptimal) -> list[str]:
    text: list[str] = [" In least time the same path takes ", number(optimal.duration), " s"]
    if scaled is not None:
        share = round(100 * (1 - optimal.duration / scaled.trajectory.duration))
        text.append(
            f", {share} % less than scaled linearly" if share > 0 else ", the same as scaled linearly"
        )
    return [*text, ". The torques include friction."]


def _torque_caption(robot: Robot, scaled: Scaled | None, optimal: TimeOptimal | None) -> list[str]:
    used = _limits(robot, optimal or scaled)
    bounds = used.torque.bound[: robot.n]
    limited, motors = bool(np.isfinite(bounds).any()), bool(np.isfinite(used.motor.torque).any())
    text: list[str] = ["Torques of the motion as given (dotted)"]
    if scaled is not None:
        text.append(", scaled linearly (solid)")
    if optimal is not None:
        text.append(" and in least time (dashed)")
    limits = "limits of the joints, or of their motors where these are lower" if motors else "limits"
    text.append(f". Grey lines are the {limits}, where the torques come near them." if limited else ".")
    for name, result in (("linear scaling", scaled), ("least time", optimal)):
        if result is not None and limited:
            share = number(100 * float((np.abs(result.torque) / bounds).max()), 4)
            text += [f" With {name} the largest torque is ", share, " % of its limit."]
    return text
