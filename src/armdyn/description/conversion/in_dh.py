"""A serial chain described anew, by Denavit–Hartenberg parameters: the same robot, other link frames.

The joint variables, the pose of the tip in the world, torques and inertias stay the same functions; bodies,
motors and fixed links are expressed in the new frames.
"""

from __future__ import annotations

from dataclasses import replace

from armdyn.description import dh
from armdyn.description.angles import numeric_rpy
from armdyn.description.conversion.angles import inverse, rounded
from armdyn.description.conversion.chain import Pose
from armdyn.description.conversion.dh_form import Convention, Form, Row, dh_form
from armdyn.description.conversion.normals import TOLERANCE
from armdyn.description.direction import unit_vector
from armdyn.expression import Expression
from armdyn.model.closures.loops import Loop
from armdyn.model.inertia import Inertia
from armdyn.model.parts import Link, Motor, Transform, X, Z
from armdyn.model.robot_model import RobotModel
from armdyn.model.springs import PointSpring
from armdyn.model.vector import Vector, add, apply, apply_transposed, vector

Placed = dict[str, Pose]  # by link: its old frame in the new one


def in_dh(model: RobotModel, convention: Convention) -> RobotModel:
    """The robot with its link frames where the convention has them; what is in it already stays as it is."""
    form = dh_form(model, convention)
    if all(Transform() == frame.T for frame in (form.base, *form.frames)):
        return model
    placed: Placed = {model.root: _turned_round(form.base, model)}
    placed |= {
        link.name: _turned_round(frame, model) for link, frame in zip(model.moving, form.frames, strict=True)
    }
    rows = dict(zip((link.name for link in model.moving), form.rows, strict=True))
    parents = dict(zip(rows, (model.root, *rows), strict=False))
    links = tuple(
        _moving(link, rows[link.name], parents[link.name], convention, placed)
        if link.name in rows
        else _fixed(link, placed, model)
        for link in model.links
    )
    base = tidy(model.base @ form.base.T, form.base.exact, model)
    tool = model.tool
    if model.tip in placed:
        old = placed[model.tip]
        tool = tidy(old.T @ tool, old.exact, model)
    gravity = _vector(apply_transposed(form.base.T.R, model.gravity), form.base.exact)
    notes = (*model.notes, *form.notes)
    loops = tuple(_loop(loop, placed, model) for loop in model.loops)
    springs = tuple(_spring(spring, placed) for spring in model.springs)
    return replace(
        model,
        links=links,
        base=base,
        tool=tool,
        gravity=gravity,
        loops=loops,
        springs=springs,
        notes=notes,
    )


def tool_of(model: RobotModel, form: Form, place: Transform) -> Transform:
    """The tip frame in the last DH frame; `place` is the tip's link in the last moving link."""
    last = form.frames[-1]
    old = _turned_round(last, model)
    return tidy(old.T @ place @ model.tool, old.exact, model)


def transform_of(row: Row, convention: Convention) -> Transform:
    """The constant part of a row's transform."""
    turn = row.theta.about(Z) @ Transform.translation(0, 0, row.d)
    if convention == "dh":
        return turn @ Transform.translation(row.a, 0, 0) @ row.alpha.about(X)
    return row.alpha.about(X) @ Transform.translation(row.a, 0, 0) @ turn


def tidy(T: Transform, exact: bool, model: RobotModel) -> Transform:
    """A transform as it is, or with its angles in decimals where it is not exact."""
    if exact:
        return T
    R = [[model.number(x) for x in row] for row in T.R]
    angles = vector(rounded(x) for x in numeric_rpy(R, flat=TOLERANCE))
    return dh.frame(_vector(T.p, exact=False), angles)


def _turned_round(frame: Pose, model: RobotModel) -> Pose:
    """The old frame in the new one; in decimals where that is not exact."""
    T = inverse(frame.T)
    if frame.exact:
        return Pose(T)
    R = vector(vector(rounded(model.number(x)) for x in row) for row in T.R)
    return Pose(Transform(R, _vector(T.p, exact=False)), exact=False)


def _vector(v: Vector, exact: bool) -> Vector:
    return v if exact else vector(rounded(x) for x in v)


def _moving(link: Link, row: Row, parent: str, convention: Convention, placed: Placed) -> Link:
    T = transform_of(row, convention)
    before, after = (Transform(), T) if convention == "dh" else (T, Transform())
    old = placed[link.name]
    return replace(
        link,
        parent=parent,
        before=before,
        axis=Z,
        after=after,
        inertia=_body(link.inertia, old),
        motor=_motor(link.motor, placed),
    )


def _fixed(link: Link, placed: Placed, model: RobotModel) -> Link:
    """A fixed link stays where it is on its parent."""
    old = placed.get(link.parent)
    if old is None:
        return link
    return replace(link, before=tidy(old.T @ link.before, old.exact, model))


def _body(inertia: Inertia, old: Pose) -> Inertia:
    found = inertia.placed(old.T.R, old.T.p)
    return found if old.exact else Inertia.of([rounded(x) for x in found.entries])


def _motor(motor: Motor | None, placed: Placed) -> Motor | None:
    """Where the motor sits and points in the new frame of its carrier; fixed links keep theirs."""
    if motor is None or motor.carrier not in placed:
        return motor
    old = placed[motor.carrier]
    axis = apply(old.T.R, motor.axis)
    if not old.exact:
        axis = unit_vector([Expression.of(rounded(x)) for x in axis])
    return replace(motor, axis=axis, position=_point(motor.position, old))


def _point(p: Vector, old: Pose | None) -> Vector:
    """A point of a link in the link's new frame; None: it has kept its frame."""
    return p if old is None else _vector(add(apply(old.T.R, p), old.T.p), old.exact)


def _spring(spring: PointSpring, placed: Placed) -> PointSpring:
    a, b = (_point(p, placed.get(name)) for name, p in zip(spring.between, spring.at, strict=True))
    return replace(spring, at=(a, b))


def _loop(loop: Loop, placed: Placed, model: RobotModel) -> Loop:
    frames = []
    for name, T in zip(loop.between, loop.at, strict=True):
        old = placed.get(name)
        frames.append(T if old is None else tidy(old.T @ T, old.exact, model))
    return replace(loop, at=(frames[0], frames[1]))
