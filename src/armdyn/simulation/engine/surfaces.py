"""Where dry friction holds and slides, as the programs of `integrand` and the checks before them need it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from armdyn.expression.functions import select, sign
from armdyn.model.friction import Surface
from armdyn.model.mechanism import Mechanism
from armdyn.robot import Robot
from armdyn.robot.joints import joint_name
from armdyn.simulation.control.laws import Scalars
from armdyn.simulation.errors import SimulationError

AT_REST = 1e-12  # of the terms of its sum: a speed or an acceleration less than this is zero


def sliding(mechanism: Mechanism) -> tuple[Surface, ...]:
    """Where dry friction differs with direction, so that it can stick; rows are over coordinates."""
    found = tuple(f for f in mechanism.friction if sticks(f))
    if not mechanism.loops:
        return found
    place = {position: i for i, position in enumerate(mechanism.free)}
    return tuple(replace(f, row=tuple((place[j], k) for j, k in f.row)) for f in found)


def sticks(surface: Surface) -> bool:
    return not all(_is_zero(x) for x in (surface.coulomb, surface.stribeck, surface.load))


def held_levels(surface: Surface) -> tuple[Any, Any]:
    """What `held` is when a surface begins to slide forward and backward."""
    return surface.levels if _is_zero(surface.load) else (1, -1)


def in_parts(surface: Surface, f: Any, driving: Scalars) -> Any:
    """Friction f that holds a surface: where its load counts, as a part of the most that could.

    At rest τ_r is what drives the joint less f. The last term is for a joint without load and level.
    """
    if _is_zero(surface.load):
        return f
    ((i, _),) = surface.row
    beyond = f - surface.asymmetry
    most = surface.coulomb + surface.stribeck + surface.load * abs(driving[i] - f)
    return beyond / (most + (1e-12 * abs(beyond) + 1e-300))


def divided_by_load(surfaces: Sequence[Surface], modes: Scalars, driving: Scalars) -> Scalars:
    """τ_r of the torques τ_r + Fl |τ_r| s, where surfaces slide in the directions s."""
    rigid = list(driving)
    for surface, s in zip(surfaces, modes, strict=True):
        if not _is_zero(surface.load):
            ((i, _),) = surface.row
            rigid[i] = driving[i] / (1 + surface.load * (s * sign(driving[i])))
    return rigid


def _is_zero(x: Any) -> bool:
    return isinstance(x, int | float) and x == 0


def without_modes(mechanism: Mechanism) -> Mechanism:
    """Without the dry friction that modes stand for; a joint whose two levels are equal has an offset."""
    friction = tuple(
        replace(f.smooth, offset=f.offset + (0 if sticks(f) else f.asymmetry)) for f in mechanism.friction
    )
    return replace(mechanism, friction=friction)


def along(surface: Surface, x: Scalars) -> Any:
    """The speed or acceleration of a surface; zero where a sum leaves only rounding."""
    total = surface.speed(x)
    if len(surface.row) == 1:
        return total
    size: Any = 0
    for j, k in surface.row:
        size = size + abs(k * x[j])
    return select(abs(total) - AT_REST * size, total, 0)


def surface_name(robot: Robot, surface: Surface) -> str:
    if len(surface.row) == 1:
        return joint_name(robot, surface.row[0][0])
    joints = ", ".join(str(j + 1) for j, _ in surface.row)
    if surface in robot.mechanism.joint_friction:
        return f"'{robot.model.moving[surface.joint].joint_label}', which moves with joints {joints}"
    return f"the motor that turns with joints {joints}"


def check_friction(robot: Robot) -> None:
    """Refuse dry friction that would push, and load friction beside dry friction of several joints.

    With loops, also dry friction of joints that follow: how much of it acts on the coordinates changes with
    the posture, and so does what holds them.
    """
    _check_followers(robot)
    surfaces = sliding(robot.mechanism)
    loaded = {surface.row[0][0] for surface in surfaces if surface.load}
    for surface in surfaces:
        for j, _ in surface.row if len(surface.row) > 1 and sticks(surface) else ():
            if j in loaded:
                raise SimulationError(
                    f"friction of {joint_name(robot, j)}: load friction cannot be simulated here, because "
                    f"dry friction of {surface_name(robot, surface)} acts on the same joint"
                )
    for surface in surfaces:
        forward, backward = surface.levels
        if forward < backward:
            raise SimulationError(
                f"friction of {surface_name(robot, surface)}: found {forward:g} forward and {backward:g} "
                "backward; the first must not be less than the second"
            )


def _check_followers(robot: Robot) -> None:
    mechanism, names = robot.mechanism, [link.joint_label for link in robot.model.positions]
    for surface in mechanism.friction if mechanism.loops else ():
        moved = [j for j, _ in surface.row if j not in mechanism.free]
        if moved and sticks(surface):
            allowed = ", ".join(f"'{names[i]}'" for i in mechanism.free)
            raise SimulationError(
                f"friction of '{names[moved[0]]}': its joint follows others in a loop, where dry friction "
                f"cannot be simulated; joints that may have it: {allowed}. Viscous friction may be anywhere"
            )
