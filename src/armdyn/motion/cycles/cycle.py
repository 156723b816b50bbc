"""A cycle file as a motion: its moves made, one after the other, with what the arm carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from armdyn.motion.checks import check
from armdyn.motion.cycles.blends import blended
from armdyn.motion.cycles.cycle_file import LIMITS, CycleFile, Move, read_cycle
from armdyn.motion.errors import MotionError
from armdyn.motion.timing.exceeded import exceeded
from armdyn.motion.tip.following import STILL
from armdyn.motion.tip.motions import LAWS
from armdyn.motion.trajectories.loads import Load
from armdyn.motion.trajectories.motion import STEP, Motion
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits, joint_name

Held = list[tuple[str, Load]]


def load_cycle(robot: Robot, cycle: str | Path | Mapping[str, Any], *, step: float = STEP) -> Trajectory:
    """The motion of a cycle file: a bundled name, a path, or the table itself, as read from TOML or JSON.

    `docs/trajectories.md` lists the keys. Numbers may be expressions, also in the robot's symbols.
    """
    step = check.positive_time("step", step)
    read = read_cycle(check.robot(robot), cycle)
    where = ""
    try:
        made = Trajectory(_motion(robot, read, step), step)
        where = "repeat: "
        made = made.repeated(read.repeat)
    except MotionError as problem:
        raise MotionError(f"{read.source}: {where}{problem}") from None
    at = made.samples()
    if read.check_limits and (beyond := exceeded(robot, at.t, at.q)):
        raise MotionError(f"{read.source}: {beyond[0]}; check_limits = false lets it pass")
    return Trajectory(replace(made.motion, label=read.name), step)


def _motion(robot: Robot, read: CycleFile, step: float) -> Motion:
    """The moves one after the other, once."""
    motions: list[Motion] = []
    held: Held = []
    q = read.start
    for move in read.moves:
        try:
            made = _made(robot, read, move, q, step)
            for load in (*read.carries, *(load for _, load in held)):
                made = made.carrying(load)
            held = _held_after(move, held)
        except MotionError as problem:
            raise MotionError(f"{move.key}: {problem}") from None
        motions.append(made.motion)
        q = made(made.duration)[0]
    _check_end(read, held)
    corners = [_corner(read, i) for i in range(len(motions) - 1)]
    return blended(motions, corners, robot, read.name, "moves")


def _made(robot: Robot, read: CycleFile, move: Move, q: np.ndarray, step: float) -> Trajectory:
    """One move from the posture q (n,)."""
    data = dict(move.data)
    if move.kind == "rest":
        return Trajectory.resting(q, data["duration"], step=step)
    if move.kind == "to":
        law = with_limits(robot, _law(move, read.joints))
        profile = _checked(law)
        if profile in ("trapezoidal", "jerk_limited"):
            law["synchronised"] = data.get("synchronised", True)
        elif "synchronised" in data:
            raise MotionError(f"synchronised: a {profile} profile does not take it; its joints always are")
        goal = np.where(np.abs(data["q1"] - q) <= STILL, q, data["q1"])  # rounding would have a direction
        made: Trajectory = getattr(Trajectory, profile)(q, goal, step=step, **law)
        return made
    law = _law(move, {key: x for key, x in read.tip.items() if key != "orientation"})
    further: dict[str, Any] = {"check_limits": read.check_limits, "step": step, **law}
    further["orientation"] = data.pop("orientation", read.tip.get("orientation", "auto"))
    if "offset" in data:
        data["centre"] = robot.pose(q)[:3, 3] + data.pop("offset")
    maker = Trajectory.line if move.kind == "line" else Trajectory.circle
    return maker(robot, q, **data, **further)


# ---- laws --------------------------------------------------------------------------------------------------


def _law(move: Move, defaults: dict[str, Any]) -> dict[str, Any]:
    """What a move says about its speed, and of the defaults what does not contradict it.

    A duration takes the place of all limits, and limits that of a duration; a profile drops what it does not
    take. A duration and nothing else is that of a quintic law.
    """
    own = {key for key in move.law if key != "profile"}
    dropped = set(defaults) - {"profile"} if "duration" in own else {"duration"} if own else set()
    if "profile" in move.law:
        dropped = dropped | (set(defaults) - {"profile", *LAWS[move.law["profile"]][1]})
    law = {key: x for key, x in defaults.items() if key not in dropped} | move.law
    alone = set(law) - {"profile"} == {"duration"}
    if alone and law.get("profile") in (None, "trapezoidal", "jerk_limited") and "profile" not in move.law:
        law["profile"] = "quintic"
    return law


def with_limits(robot: Robot, law: dict[str, Any]) -> dict[str, Any]:
    """The law of a joint move, with the robot's limits in the place of those that are missing."""
    profile = law.get("profile", "trapezoidal")
    if profile not in ("trapezoidal", "jerk_limited") or {"duration", "acceleration_time"} & set(law):
        return law
    limits = joint_limits(robot)
    names = LIMITS if profile == "jerk_limited" else LIMITS[:2]
    own = {name: getattr(limits, name.removeprefix("max_")) for name in names if name not in law}
    if without := [name for name, limit in own.items() if not np.isfinite(limit).all()]:
        lacking = np.flatnonzero(~np.isfinite([own[name] for name in without]).all(0)).tolist()
        joints = ", ".join(joint_name(robot, i) for i in lacking) if len(lacking) < robot.n else "the joints"
        kinds = " and ".join(name.removeprefix("max_") for name in without)
        wanted = " and ".join(f"{name}=" for name in without)
        other = "" if profile == "jerk_limited" else ", or duration="
        raise MotionError(f"the robot has no limits of {kinds} for {joints}: give {wanted}{other}")
    return {**law, **own}


def _checked(law: dict[str, Any]) -> str:
    """Take the profile out of a law whose data are those that it takes."""
    profile = str(law.pop("profile", "trapezoidal"))
    _, names = LAWS[profile]
    for name in law:
        if name not in names:
            raise MotionError(f"{name}: a {profile} profile does not take it, but {', '.join(names)}")
    for name in names:
        if name not in law and profile != "trapezoidal":
            raise MotionError(f"a {profile} profile needs {name}")
    return profile


# ---- corners and loads -------------------------------------------------------------------------------------


def _corner(read: CycleFile, i: int) -> float:
    """The radius of the corner after move i: its own, or the default between two moves without a stop."""
    move, following = read.moves[i], read.moves[i + 1]
    if move.blend is not None:
        return move.blend
    return 0.0 if move.is_stop or following.kind == "rest" else read.blend


def _held_after(move: Move, held: Held) -> Held:
    """What the arm holds after a move: without what it puts down, and with what it picks up."""
    names = [name for name, _ in held]
    if move.place and not held:
        raise MotionError("place: nothing has been picked up")
    for name in move.place:
        if name != "*" and name not in names:
            raise MotionError(f"place: '{name}' has not been picked up; held: {', '.join(names)}")
    kept = [] if "*" in move.place else [one for one in held if one[0] not in move.place]
    for name, load in move.pick:
        if any(name == other for other, _ in kept):
            raise MotionError(f"pick: '{name}' is held already; place puts it down")
        kept.append((name, load))
    return kept


def _check_end(read: CycleFile, held: Held) -> None:
    last = read.moves[-1]
    if last.pick:
        raise MotionError(f"{last.key}: pick: this is the last move, so nothing would be carried")
    if last.blend:
        raise MotionError(f"{last.key}: blend: this is the last move, there is no corner after it")
    if held and read.repeat > 1:
        names = ", ".join(name for name, _ in held)
        raise MotionError(
            f"repeat: found {read.repeat}, but the cycle ends with {names} in hand and begins without"
        )
