"""A payload from a force–torque sensor at the wrist, with the sensor's offsets."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from armdyn.identification.blas import on_one_thread
from armdyn.identification.checks import check
from armdyn.identification.errors import IdentificationError
from armdyn.identification.logs.record import Record
from armdyn.identification.payload.estimate import Rows, estimate, not_shown
from armdyn.identification.payload.from_torques import moved_body
from armdyn.identification.payload.motion import Block, blocks_of, record_of, states_of
from armdyn.identification.payload.payload import Payload, known_entries, payload_of
from armdyn.model import Transform
from armdyn.model.inertia import ENTRIES
from armdyn.robot import Robot


@on_one_thread
def payload_from_sensor(
    robot: Robot,
    log: Any,
    wrench: Any,
    *,
    sensor: Any = None,
    measures: str = "on_tool",
    known: Any = None,
    consistent: bool | None = None,
    cutoff: float | None = None,
) -> Payload:
    """The body beyond a force–torque sensor at the tip, and the sensor's six offsets.

    `wrench` (samples, 6) has a row for each row of the log: force, then moment about the sensor's origin, in
    the sensor's axes. `measures` says whose: "on_tool", what the arm exerts on the tool through the sensor
    (at rest it holds the weight: the force points up), or "by_tool", the opposite, what the tool exerts on
    the arm (the weight: it points down). `sensor` is the sensor's frame in the tip frame: a `Transform` or a
    pose (4, 4), the tip frame itself if not given. `known` is in the sensor's frame.

    The payload returned is at the tip frame, as `with_payload` takes it. It is all that is beyond the sensor:
    if the robot's description has a tool there, that tool is in it a second time. `payload.offsets` (6,) are
    to be subtracted from the sensor's readings.
    """
    robot = check.robot(robot)
    check.one_of("measures", measures, "on_tool", "by_tool")
    T = _pose(sensor)
    given, origin, basis = known_entries(known)
    record = _with_readings(record_of(robot, log, "log"), wrench)
    sign = 1.0 if measures == "on_tool" else -1.0
    blocks = blocks_of(states_of(record, cutoff, "log"))
    found = estimate([partial(_rows, robot, block, T, sign) for block in blocks], origin, basis)
    notes = [f"{record.name}: {note}" for note in record.notes]
    at_sensor = payload_of(found, None, given, consistent, notes, found.others)
    M = moved_body(T)
    covariance = M @ found.covariance @ M.T
    moved = replace(
        found,
        entries=M @ at_sensor.entries,
        covariance=covariance,
        information=found.information @ np.linalg.inv(M),
        not_shown=not_shown(covariance, at_sensor.mass),
    )
    payload = payload_of(moved, None, {"mass": 1}, False, [], found.others)
    return replace(payload, consistent=at_sensor.consistent, notes=at_sensor.notes)


def _pose(sensor: Any) -> np.ndarray:
    if sensor is None:
        return np.eye(4)
    if isinstance(sensor, Transform):
        T = np.eye(4)
        T[:3, :3] = [[float(x) for x in row] for row in sensor.R]
        T[:3, 3] = [float(x) for x in sensor.p]
        return T
    return check.pose("sensor", sensor)


def _with_readings(record: Record, wrench: Any) -> Record:
    """The record with the sensor's readings for torques; a reading that is not a number does not enter."""
    h = check.floats("wrench", wrench)
    if h.shape != (record.size, 6):
        raise IdentificationError(
            f"wrench: expected ({record.size}, 6), a row for each row of the log, found {h.shape}"
        )
    h = h[record.rows]
    finite = np.isfinite(h)
    for k in np.flatnonzero(~finite.all(axis=0) & finite.any(axis=0)):  # filters take no holes
        h[:, k] = np.interp(record.t, record.t[finite[:, k]], h[finite[:, k], k])
    usable = record.usable.any(axis=1, keepdims=True) & finite
    return replace(record, tau=np.where(np.isfinite(h), h, 0.0), usable=usable)


def _rows(robot: Robot, block: Block, T: np.ndarray, sign: float) -> Rows:
    """What the sensor says at some instants: the body's wrench and six offsets."""
    some = block.states.between(block.start, block.stop)
    X = block.states.seen_between(
        lambda x: sign * body_wrenches(robot, x.q, x.qd, x.qdd, T), block.start, block.stop
    )
    return Rows(X, np.broadcast_to(np.eye(6), (len(some), 6, 6)), some.tau, some.use)


def body_wrenches(robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, T: np.ndarray) -> np.ndarray:
    """(samples, 6, 10): force and moment that move a body fixed to the sensor, linear in its ten numbers.

    With ω, ω̇ and the acceleration a of the sensor's origin, less gravity, in the sensor's axes:
    f = m a + ω̇ × h + ω × (ω × h), μ = I ω̇ + ω × I ω + h × a, as (7.112)–(7.113) of one link.
    """
    J, Jd = robot.jacobian(q), robot.jacobian_dot(q, qd)
    velocity = np.einsum("...ij,...j->...i", J, qd)
    acceleration = np.einsum("...ij,...j->...i", J, qdd) + np.einsum("...ij,...j->...i", Jd, qd)
    R_tip = robot.pose(q)[..., :3, :3]
    mechanism = robot.mechanism
    gravity = np.array(mechanism.R_base, float) @ np.array(mechanism.gravity, float)
    w, dw, a = velocity[..., 3:], acceleration[..., 3:], acceleration[..., :3] - gravity
    p = R_tip @ T[:3, 3]
    a = a + np.cross(dw, p) + np.cross(w, np.cross(w, p))
    R = R_tip @ T[:3, :3]
    w, dw, a = (np.einsum("...ji,...j->...i", R, v) for v in (w, dw, a))
    found = np.zeros((len(q), 6, len(ENTRIES)))
    W, D = _skew(w), _skew(dw)
    found[:, :3, 0] = a
    found[:, :3, 1:4] = D + W @ W
    found[:, 3:, 1:4] = -_skew(a)
    found[:, 3:, 4:] = _times_tensor(dw) + W @ _times_tensor(w)
    return found


def _skew(v: np.ndarray) -> np.ndarray:
    """S(v) with S(v) u = v × u, (..., 3, 3)."""
    x, y, z = np.moveaxis(v, -1, 0)
    zero = np.zeros_like(x)
    return np.moveaxis(np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]]), (0, 1), (-2, -1))


def _times_tensor(v: np.ndarray) -> np.ndarray:
    """(..., 3, 6): I v from the entries xx xy xz yy yz zz of I."""
    x, y, z = np.moveaxis(v, -1, 0)
    o = np.zeros_like(x)
    rows = [[x, y, z, o, o, o], [o, x, o, y, z, o], [o, o, x, o, y, z]]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))
