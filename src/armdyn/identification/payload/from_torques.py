"""A payload from joint torques: with the arm's own model known, or beside a log without the payload."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from armdyn.identification.blas import on_one_thread
from armdyn.identification.checks import check
from armdyn.identification.consistency.pseudo_inertia import BODIES, congruence, pseudo_inertia, stacked
from armdyn.identification.errors import IdentificationError
from armdyn.identification.payload.estimate import Rows, estimate
from armdyn.identification.payload.motion import Block, blocks_of, record_of, sliding, states_of
from armdyn.identification.payload.payload import Payload, known_entries, payload_of
from armdyn.identification.signals.kinematics import Kinematics
from armdyn.model import FIXED_BASE
from armdyn.model.inertia import ENTRIES
from armdyn.output import progress_bar, stage
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
    progress: bool | None = None,
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
    it is chosen from the spectrum of the positions if not given. `progress`: whether a bar is shown; by
    default on a terminal.
    """
    robot = check.robot(robot)
    carrier = robot if link is None else robot.with_tip(link)
    if carrier.mechanism.tip == FIXED_BASE:
        raise IdentificationError(
            "the tip is fixed to the base: a payload there is in no torque; name a link"
        )
    given, origin, basis = known_entries(known)
    records = [record_of(robot, loaded, "loaded")]
    if unloaded is not None:
        records.append(record_of(robot, unloaded, "unloaded"))
    with_arm = unloaded is not None
    with progress_bar("payload", progress):
        with stage("filters"):
            parts = [
                partial(
                    _rows, block, partial(_columns, carrier, name == "loaded", with_arm, offsets, friction)
                )
                for name, record in zip(("loaded", "unloaded"), records, strict=False)
                for block in blocks_of(sliding(states_of(record, cutoff, name), name))
            ]
        with stage("estimating"):
            found = estimate(parts, origin, basis)
    notes = [f"{record.name}: {note}" for record in records for note in record.notes]
    moved = found.others[-robot.n :] if offsets else np.zeros(robot.n)
    return payload_of(found, link, given, consistent, notes, moved)


def _rows(block: Block, columns: Callable[[Kinematics], np.ndarray]) -> Rows:
    """What a block says: the payload's columns, the nuisance's, and torques beside what is known."""
    A = block.states.seen_between(columns, block.start, block.stop)
    some, size = block.states.between(block.start, block.stop), len(ENTRIES)
    return Rows(A[..., :size], A[..., size:-1], some.tau - A[..., -1], some.use)


def _columns(
    robot: Robot, carries: bool, with_arm: bool, offsets: bool, friction: bool, motion: Kinematics
) -> np.ndarray:
    """(M, n, 10 + k + 1): the payload, k nuisances, and the torques of an arm that is known.

    `carries`: the log has the payload; `with_arm`: the arm's parameters are nuisances, too.
    """
    q, qd, qdd = motion.q, motion.qd, motion.qdd
    Y = robot.regressor(q, qd, qdd)
    X = Y[..., _tip_places(robot)] @ placing(robot) if carries else np.zeros((*q.shape, len(ENTRIES)))
    found = [X, Y] if with_arm else [X]
    eye = np.eye(robot.n)
    if friction:
        # beside an arm that is free, what differs is the friction of the loaded log alone
        share = 1.0 if carries else 0.0
        found += [share * qd[..., None] * eye, share * np.sign(qd)[..., None] * eye]
    if offsets:
        if with_arm:
            found.append(np.broadcast_to(eye, (*q.shape, robot.n)))
        found.append(np.broadcast_to(eye if carries else 0 * eye, (*q.shape, robot.n)))
    known = np.zeros_like(q) if with_arm else robot.inverse_dynamics(q, qd, qdd)
    return np.concatenate([*found, known[..., None]], axis=-1)


def _tip_places(robot: Robot) -> np.ndarray:
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
