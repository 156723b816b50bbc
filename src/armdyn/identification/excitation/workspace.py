"""Where the arm may be: points of its links within a box and on one side of planes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from armdyn.expression import shown
from armdyn.identification.checks import check
from armdyn.identification.errors import IdentificationError
from armdyn.robot import Robot
from armdyn.robot.wrenches import check_link

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
        """Of `excess` by q, (N, S P, n)."""
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
