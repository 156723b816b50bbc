"""Within which limits a motion has to stay: the robot's, or those given instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from armdyn.expression import shown
from armdyn.identification.errors import IdentificationError, check
from armdyn.model.edit import check_link
from armdyn.robot import Robot
from armdyn.robot.joints import JointLimits, followers, joint_limits, joint_name, revolute_joints

# ------------------------------------------------------------------------------------------------------------
# Limits of joints that follow several others, along a motion: rows over the coordinates.


_ORDERS = ("velocity", "acceleration", "jerk")


@dataclass(frozen=True)
class Followed:
    """m limits low ≤ R q + shift ≤ high, or of derivatives of R q; at the ends the part used is 1."""

    order: np.ndarray  # (m,) 0 for positions, 1 for velocities, …
    rows: np.ndarray  # (m, n)
    shift: np.ndarray  # (m,)
    low: np.ndarray  # (m,) infinite where there is none
    high: np.ndarray
    scale: np.ndarray  # (m,) half of the range, or 1

    def sides(self, states: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The parts (N, m) used toward the upper and the lower ends, of q and three derivatives (N, n)."""
        x = np.stack([states[k] @ row for k, row in zip(self.order, self.rows, strict=True)], -1) + self.shift
        return 1 + (x - self.high) / self.scale, 1 + (self.low - x) / self.scale

    def slopes(self, functions: list[np.ndarray], weight: np.ndarray) -> np.ndarray:
        """(m, d, n) by coefficients, from derivatives (N, m) by `above`; functions (N, d) by order."""
        parts = [functions[k].T @ w for k, w in zip(self.order, (weight / self.scale).T, strict=True)]
        return np.asarray(np.array(parts)[:, :, None] * self.rows[:, None, :])


def followed(robot: Robot, part: float) -> Followed | None:
    """The part of the limits of followers that a motion may use; None where there are none."""
    others = followers(robot)
    linear = others.linear if others is not None else None
    if others is None or linear is None:
        return None
    found = others.limits
    lines: list[tuple[int, int, float, float]] = []
    for k in range(len(others.joints)):
        low, high = found.lower[k], found.upper[k]
        if np.isfinite((low, high)).any():
            spare = (1 - part) * (high - low) / 2 if np.isfinite((low, high)).all() else 0.0
            lines.append((0, k, low + spare, high - spare))
        for order, name in enumerate(_ORDERS, 1):
            bound = part * getattr(found, name)[k]
            if np.isfinite(bound):
                lines.append((order, k, -bound, bound))
    if not lines:
        return None
    orders, which, lows, highs = (np.array(column) for column in zip(*lines, strict=True))
    half = (highs - lows) / 2
    scale = np.where(np.isfinite(half) & (half > 0), half, 1.0)
    shift = np.where(orders == 0, linear.s0[which], 0.0)
    return Followed(orders, linear.S[which], shift, lows, highs, scale)


# ------------------------------------------------------------------------------------------------------------
# Where the arm may be: points of its links within a box and on one side of planes.


MOVES = 1e-9  # m/rad: a point that moves less stands still


@dataclass(frozen=True)
class Workspace:
    """Limits of the space that an arm may use, in world axes [m].

    `lower` and `upper` (3,) are the corners of a box; entries may be infinite. `floor` is the least height z.
    `planes` are pairs (normal (3,), distance): normal · p ≤ distance for every point p. The points are the
    tip and the origins of all links that move; `links` names other ones, None being the tip, and `points`
    has further points by link, {link: (..., 3)} in the link's frame.
    """

    lower: Any = None
    upper: Any = None
    floor: float | None = None
    planes: Any = ()
    links: Any = None
    points: Mapping[str | None, Any] = field(default_factory=dict)

    def half_spaces(self) -> tuple[np.ndarray, np.ndarray]:
        """Normals (P, 3) of unit length and distances (P,)."""
        rows = []
        for name, sign in (("lower", -1.0), ("upper", 1.0)):
            corner = getattr(self, name)
            if corner is not None:
                found = check.floats(f"workspace {name}", corner)
                if found.shape != (3,) or np.isnan(found).any():
                    raise IdentificationError(
                        f"workspace {name}: found {shown(corner)}; three coordinates are expected"
                    )
                rows += [(sign * np.eye(3)[k], sign * x) for k, x in enumerate(found) if np.isfinite(x)]
        if self.floor is not None:
            height = check.number("workspace floor", self.floor)
            if not np.isfinite(height):
                raise IdentificationError(f"workspace floor: found {height:g}; a finite height is expected")
            rows.append((np.array([0.0, 0.0, -1.0]), -height))
        for plane in self.planes:
            rows.append(_plane(plane))
        if not rows:
            raise IdentificationError("workspace: it has no limit; give lower, upper, floor or planes")
        return np.array([normal for normal, _ in rows]), np.array([distance for _, distance in rows])


def _plane(plane: Any) -> tuple[np.ndarray, float]:
    if not hasattr(plane, "__len__") or len(plane) != 2:
        raise IdentificationError(
            f"workspace planes: found {shown(plane)}; pairs (normal, distance) are expected"
        )
    normal = check.point("workspace planes, normal", plane[0])
    size = float(np.linalg.norm(normal))
    if not size > 0:
        raise IdentificationError("workspace planes: found a normal of zero length")
    return normal / size, check.number("workspace planes, distance", plane[1]) / size


@dataclass(frozen=True)
class Spot:
    """A point fixed to a link: its place in the link's frame."""

    robot: Robot  # its tip is the link's frame
    place: np.ndarray  # (3,)
    name: str

    def at(self, q: np.ndarray) -> np.ndarray:
        """Where it is (N, 3) at positions (N, n), world axes."""
        pose = self.robot.pose(q)
        return np.asarray(pose[..., :3, 3] + pose[..., :3, :3] @ self.place)

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """(N, 3, n)"""
        J = self.robot.jacobian(q)
        arm = self.robot.pose(q)[..., :3, :3] @ self.place
        return np.asarray(J[..., :3, :] + np.cross(J[..., 3:, :], arm[..., None], axis=-2))


@dataclass(frozen=True)
class Fence:
    """A workspace for a robot: its half-spaces and the points they hold for."""

    normals: np.ndarray  # (P, 3)
    distances: np.ndarray  # (P,)
    spots: tuple[Spot, ...]

    def excess(self, q: np.ndarray) -> np.ndarray:
        """How far beyond each limit (N, S P) the points are [m]; negative inside."""
        found = [spot.at(q) @ self.normals.T - self.distances for spot in self.spots]
        return np.concatenate(found, axis=-1)

    def changes(self, q: np.ndarray) -> np.ndarray:
        """Derivatives of `excess` by q, (N, S P, n)."""
        return np.concatenate([self.normals @ spot.jacobian(q) for spot in self.spots], axis=-2)


def fence_for(robot: Robot, workspace: Workspace | None, q: np.ndarray) -> Fence | None:
    """The workspace for a robot; q (N, n) are random postures, which show the points that move."""
    if workspace is None:
        return None
    if not isinstance(workspace, Workspace):
        raise IdentificationError(f"workspace: expected a Workspace, found {type(workspace).__name__}")
    normals, distances = workspace.half_spaces()
    moving = [link.name for link in robot.model.moving]
    links = [None, *moving] if workspace.links is None else list(workspace.links)
    spots = [_spot(robot, link, np.zeros(3)) for link in links]
    for link, places in workspace.points.items():
        places = np.atleast_2d(check.numbers("workspace points", places, 3))
        spots += [_spot(robot, link, place) for place in places]
    spots = [spot for spot in spots if np.abs(spot.jacobian(q)).max() > MOVES]
    if not spots:
        raise IdentificationError("workspace: none of its points moves")
    return Fence(normals, distances, tuple(_distinct(spots, q)))


def _spot(robot: Robot, link: str | None, place: np.ndarray) -> Spot:
    if link is None:
        return Spot(robot, place, "the tip")
    name = check_link(robot.model, "workspace links", link)
    return Spot(robot.with_tip(name), place, f"link '{name}'")


def _distinct(spots: list[Spot], q: np.ndarray) -> list[Spot]:
    """Without points that are always where another one is."""
    places: list[np.ndarray] = []
    found = []
    for spot in spots:
        at = spot.at(q)
        if not any(np.abs(at - other).max() < MOVES for other in places):
            places.append(at)
            found.append(spot)
    return found


# ------------------------------------------------------------------------------------------------------------
# Within which limits a motion has to stay: the robot's, or those given instead.


SPEEDS = ("velocity", "acceleration", "jerk", "torque")


@dataclass(frozen=True)
class Bounds:
    """Limits (n,) and the part of them that a motion may use."""

    limits: JointLimits
    allowed: JointLimits  # the part: of a range of positions, that around its middle
    part: float
    reach: np.ndarray  # (n,) half of the allowed range; half a turn or 1 m where there is none

    @property
    def middle(self) -> np.ndarray:
        """(n,) of the range of positions; near an only limit; zero where there is none."""
        low, high = self.allowed.lower, self.allowed.upper
        both = np.where(np.isfinite(low), low + self.reach, np.where(np.isfinite(high), high - self.reach, 0))
        return np.asarray(both)


def bounds_for(robot: Robot, use: Any, position: Any, **given: Any) -> Bounds:
    """The robot's limits with those given instead: one number, or one per joint; infinite for none.

    `position` is (lower, upper). A joint needs a limit to its speed (of velocity, acceleration or torque)
    and, if it slides, a range.
    """
    part = check.positive("use", use)
    if part > 1:
        raise IdentificationError(f"use: found {shown(use)}; the part of the limits to use is at most 1")
    limits = joint_limits(robot)
    changed = {
        name: np.array(check.per_joint(name, x, robot.n)) for name, x in given.items() if x is not None
    }
    if position is not None:
        changed |= dict(zip(("lower", "upper"), _range(position, robot.n), strict=True))
    limits = replace(limits, **changed)
    _refuse(robot, limits)
    with np.errstate(invalid="ignore"):
        half = (limits.upper - limits.lower) / 2
        spare = np.where(np.isfinite(half), (1 - part) * half, 0.0)
        reach = np.where(np.isfinite(half), part * half, np.where(revolute_joints(robot), np.pi, 1.0))
    allowed = JointLimits(
        limits.lower + spare, limits.upper - spare, *(part * getattr(limits, name) for name in SPEEDS)
    )
    return Bounds(limits, allowed, part, reach)


def _range(position: Any, n: int) -> list[np.ndarray]:
    if not hasattr(position, "__len__") or len(position) != 2:
        raise IdentificationError(f"position: found {shown(position)}; two are expected, (lower, upper)")
    return [np.array(check.per_joint("position", x, n)) for x in position]


def _refuse(robot: Robot, limits: JointLimits) -> None:
    """Limits that are wrong or missing."""
    for name in SPEEDS:
        bad = np.flatnonzero(~(getattr(limits, name) > 0))
        if bad.size:
            found = getattr(limits, name)[bad[0]]
            raise IdentificationError(
                f"{name}: the limit of {joint_name(robot, bad[0])} is {found:g}; positive is expected"
            )
    wrong = np.flatnonzero(~(limits.lower <= limits.upper))
    if wrong.size:
        i = int(wrong[0])
        raise IdentificationError(
            f"position: the range of {joint_name(robot, i)} is {limits.lower[i]:g} to {limits.upper[i]:g}; "
            "its lower end must come first"
        )
    bounded = np.isfinite(limits.velocity) | np.isfinite(limits.acceleration) | np.isfinite(limits.torque)
    ranged = np.isfinite(limits.lower) & np.isfinite(limits.upper) | revolute_joints(robot)
    missing = []
    if not bounded.all():
        names = _names(robot, ~bounded)
        missing.append(f"{names}: no limit of velocity, acceleration or torque; give velocity= or torque=")
    if not ranged.all():
        missing.append(f"{_names(robot, ~ranged)}: no range of positions; give position=(lower, upper)")
    if missing:
        raise IdentificationError(f"{robot.name}: limits are missing: {'; '.join(missing)}")


def _names(robot: Robot, chosen: np.ndarray) -> str:
    return ", ".join(joint_name(robot, int(i)) for i in np.flatnonzero(chosen))
