"""A payload from joint torques: with the arm's own model known, or beside a log without the payload."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from armdyn.identification.blas import on_one_thread
from armdyn.identification.checks import check
from armdyn.identification.consistency.pseudo_inertia import BODIES, congruence, pseudo_inertia, stacked
from armdyn.identification.errors import IdentificationError
from armdyn.identification.payload.estimate import Rows, estimate
from armdyn.identification.payload.motion import Samples, samples_of
from armdyn.identification.payload.payload import Payload, known_entries, payload_of
from armdyn.model import FIXED_BASE
from armdyn.model.inertia import ENTRIES
from armdyn.robot import Robot


@on_one_thread
def identify_payload(
    robot: Robot,
    loaded: Any,
    unloaded: Any = None,
    *,
    known: Any = None,
    link: str | None = None,
    offsets: bool = True,
    friction: bool = True,
    consistent: bool | None = None,
    cutoff: float | None = None,
) -> Payload:
    """The body that an arm carries, fixed to its tip frame (or to the frame of `link`), from joint torques.

    With `unloaded`, a log of the same arm without the payload, on the same motion or another: both are
    fitted together, and all parameters of the arm are free, so that only its geometry must be known. The
    same motion is best, since then whatever the model does not know of the arm is in both logs. Without it
    the robot's own parameters are taken as they are. Nuisance beside the payload: per joint an offset
    (`offsets`), and viscous and Coulomb friction that differs from the robot's by as much as the load makes
    it (`friction`).

    `known` = {"mass": …} [kg], {"com": (x, y, z)} [m] or both, in the tip frame, is kept exactly.
    `consistent`: None takes the body that fits best if it can exist, and else the possible one that fits
    best; True always asks for a possible one; False never. `cutoff` [Hz] is that of the filter for positions;
    it is chosen from the spectrum of the positions if not given.
    """
    robot = check.robot(robot)
    carrier = robot if link is None else robot.with_tip(link)
    if carrier.mechanism.tip == FIXED_BASE:
        raise IdentificationError(
            "the tip is fixed to the base: a payload there is in no torque; name a link"
        )
    given, origin, basis = known_entries(known)
    logs = [samples_of(robot, loaded, cutoff, "loaded")]
    if unloaded is not None:
        logs.append(samples_of(robot, unloaded, cutoff, "unloaded"))
    with_arm = unloaded is not None
    blocks = [
        partial(_rows, carrier, log, part, k == 0, with_arm, offsets, friction)
        for k, log in enumerate(logs)
        for part in log.blocks
    ]
    found = estimate(blocks, origin, basis)
    notes = [f"{log.record.name}: {note}" for log in logs for note in log.record.notes]
    moved = found.others[-robot.n :] if offsets else np.zeros(robot.n)
    return payload_of(found, link, given, consistent, notes, moved)


def _rows(
    robot: Robot, log: Samples, part: slice, carries: bool, with_arm: bool, offsets: bool, friction: bool
) -> Rows:
    """What a part of a log says; `with_arm`: the arm's parameters are unknown, too."""
    q, qd, qdd = log.at(part)
    Y = robot.regressor(q, qd, qdd)
    X = Y[..., _columns(robot)] @ placing(robot) if carries else np.zeros((*q.shape, len(ENTRIES)))
    y = log.record.tau[part]
    nuisance = []
    if with_arm:
        nuisance.append(Y)
    else:
        y = y - robot.inverse_dynamics(q, qd, qdd)
    eye = np.eye(robot.n)
    if friction:
        # beside an arm that is free, what differs is the friction of the loaded log alone
        share = 1.0 if carries else 0.0
        nuisance += [share * qd[..., None] * eye, share * np.sign(qd)[..., None] * eye]
    if offsets:
        if with_arm:
            nuisance.append(np.broadcast_to(eye, (*q.shape, robot.n)))
        nuisance.append(np.broadcast_to(eye if carries else 0 * eye, (*q.shape, robot.n)))
    Z = np.concatenate(nuisance, axis=-1) if nuisance else np.zeros((*q.shape, 0))
    return Rows(X, Z, y, log.usable[part])


def _columns(robot: Robot) -> np.ndarray:
    """Where in the vector the augmented link is that the tip is fixed to."""
    index = {name: i for i, name in enumerate(robot.parameter_names)}
    return np.array([index[f"{entry}{robot.mechanism.tip + 1}"] for entry in ENTRIES])


def placing(robot: Robot) -> np.ndarray:
    """(10, 10): a body in the frame of its link from the same body in the tip frame."""
    T = np.eye(4)
    T[:3, :3] = np.array(robot.mechanism.R_tip, float)
    T[:3, 3] = np.array(robot.mechanism.p_tip, float)
    return moved_body(T)


def moved_body(T: np.ndarray) -> np.ndarray:
    """(10, 10): a body in the frame in which its own frame has the pose T (4, 4)."""
    return np.asarray(BODIES @ congruence(T) @ stacked(pseudo_inertia(np.eye(len(ENTRIES)))).T)
