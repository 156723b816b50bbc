"""A robot as a serial chain: its joints with z as their axes, and the constant transforms between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from armdyn.description.conversion.angles import HALF_TURN, inverse, rounded
from armdyn.expression import Expression, MissingValueError
from armdyn.model.errors import ModelError
from armdyn.model.lowering import Converter, Places, places_of
from armdyn.model.parts import Link, Transform, X
from armdyn.model.robot_model import RobotModel, listed, quoted
from armdyn.model.vector import Matrix, Vector, vector

_LONG = 60  # terms in the entries of a rotation or of a vector, beyond which they are taken in decimals


@dataclass(frozen=True)
class Pose:
    """A transform, and whether its numbers are exact."""

    T: Transform = Transform()
    exact: bool = True

    def then(self, model: RobotModel, *transforms: Transform) -> Pose:
        """Further transforms behind it; in decimals where exact numbers grow long."""
        found = self
        for T in transforms:
            found = shortened(Pose(found.T @ T, found.exact), model)
        return found

    def inverted(self) -> Pose:
        return Pose(inverse(self.T), self.exact)


def shortened(pose: Pose, model: RobotModel) -> Pose:
    """In decimals where numbers are not exact or too long."""
    entries = [x for row in pose.T.R for x in row]
    if pose.exact and _terms(entries) <= _LONG and _terms(pose.T.p) <= _LONG:
        return pose
    R = vector(vector(rounded(known(model, x)) for x in row) for row in pose.T.R)
    return Pose(Transform(R, vector(rounded(x) for x in pose.T.p)), exact=False)


def known(model: RobotModel, x: object) -> float:
    """The value of an entry that decides which way an axis points."""
    try:
        return model.number(x)
    except MissingValueError as error:
        raise ModelError(
            f"dh: the directions of the joints' axes depend on symbols without a value ({error})"
        ) from None


def _terms(entries: Iterable[object]) -> int:
    return sum(len(x.terms) for x in entries if isinstance(x, Expression))


@dataclass(frozen=True)
class Chain:
    """base · steps[0] · joint 1 · steps[1] · joint 2 … joint n · steps[n] = frame of the tip's link."""

    model: RobotModel
    links: tuple[Link, ...]  # those that move, in the order of the chain
    steps: tuple[Pose, ...]
    joints: tuple[Pose, ...]  # the moving joint frame, z its axis, in the frame of its link
    tool: Transform  # the tip frame behind the last step

    def moved(self, i: int, v: Vector) -> Chain:
        """With the frame of joint i (from 1) moved by v, which a sliding joint allows."""
        there, back = Transform.translation(*v), Transform.translation(*(-x for x in v))
        steps, joints = list(self.steps), list(self.joints)
        behind = steps[i]
        steps[i - 1] = steps[i - 1].then(self.model, there)
        steps[i] = shortened(Pose(back @ behind.T, behind.exact), self.model)
        joints[i - 1] = joints[i - 1].then(self.model, there)
        return replace(self, steps=tuple(steps), joints=tuple(joints))


def chain_of(model: RobotModel) -> Chain:
    """The chain; a robot that branches into several moving links is refused."""
    places = places_of(model, Converter(lambda x: x))
    _refuse_branches(model, places)
    turns = [_to_axis(link.axis) for link in model.moving]
    steps, joints = [], []
    before = Pose()  # the link's frame in that of its joint
    for link, turn in zip(model.moving, turns, strict=True):
        _, place = places[link.parent]
        steps.append(before.then(model, place, link.before, turn))
        joints.append(Pose(inverse(link.after)).then(model, turn))
        before = joints[-1].inverted()
    (body, place), tool = places[model.tip], model.tool
    if body != len(model.moving) - 1:  # the tip is not at the end of the chain
        place = tool = Transform()
    return Chain(model, model.moving, (*steps, before.then(model, place)), tuple(joints), tool)


def _refuse_branches(model: RobotModel, places: Places) -> None:
    children: dict[int, list[str]] = {}
    for link in model.moving:
        children.setdefault(places[link.parent][0], []).append(link.name)
    for body, names in children.items():
        if len(names) > 1:
            where = quoted(model.root if body < 0 else model.moving[body].name)
            raise ModelError(
                f"dh: the robot branches at {where}, which carries the moving links {listed(names)}; "
                "a Denavit-Hartenberg table describes one chain"
            )


def _to_axis(axis: Vector) -> Transform:
    """A rotation that takes z to a unit vector, with entries that are exact where those of the vector are."""
    x, y, z = map(Expression.of, axis)
    rest = 1 - z * z
    if rest.is_zero:
        return Transform() if z == 1 else HALF_TURN.about(X)
    if z.value() < 0:
        return _to_axis((-x, -y, -z)) @ HALF_TURN.about(X)
    k = (1 - z) / rest  # 1 / (1 + z)
    R: Matrix = ((1 - k * x * x, -k * x * y, x), (-k * x * y, 1 - k * y * y, y), (-x, -y, z))
    return Transform(R)
