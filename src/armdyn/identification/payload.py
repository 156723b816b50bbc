"""Payload: the body that a robot carries, from its joint torques or from a force–torque sensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from scipy.stats import norm

from armdyn.expression import shown
from armdyn.identification.consistency import (
    BODIES,
    SIZE,
    Space,
    WeightedRows,
    at_centre,
    congruence,
    is_possible,
    nearest,
    pseudo_inertia,
    stacked,
)
from armdyn.identification.errors import IdentificationError, check, on_one_thread
from armdyn.identification.log import Log, Record
from armdyn.identification.looking_over import look_over
from armdyn.identification.methods import repetition
from armdyn.identification.regression import Factors, merged
from armdyn.identification.signals import Kinematics, States, cutoff_of_motion, states
from armdyn.model import FIXED_BASE, Transform
from armdyn.model.inertia import ENTRIES, TENSOR_KEYS, Inertia, steiner
from armdyn.progress import progress_bar, stage
from armdyn.remarks import Remark
from armdyn.robot import Robot

# ------------------------------------------------------------------------------------------------------------
# Least squares for a body of ten parameters among others that nobody asks for.
#
# y = X e + Z η + noise, per channel (a joint, or an axis of a sensor), with X (samples, channels, 10).
# Channels have noise of their own size, found from their residuals. The noise of a channel may be correlated
# in time: standard errors count by how much. What the samples do not show is found by the size of standard
# errors, in units of what bodies of the mass found have, and set to what a point mass has.


PASSES = 4
RANK = 1e-10  # of the greatest singular value of the nuisance, columns of length one
ARM = 0.1  # m: the size of a payload, for what counts as shown
SHOWN = 0.5  # the largest standard error of what is shown, in units of mass, mass · ARM, mass · ARM²
UNITS = np.array([1.0] + [ARM] * 3 + [ARM**2] * 6)  # of the ten entries, per mass


@dataclass(frozen=True)
class PayloadRows:
    """Columns and readings of some samples of a log."""

    X: np.ndarray  # (samples, channels, 10)
    Z: np.ndarray  # (samples, channels, k)
    y: np.ndarray  # (samples, channels)
    usable: np.ndarray  # (samples, channels)


RowsMaker: TypeAlias = Callable[[], PayloadRows]  # made when needed: a long log need not be in memory as rows


@dataclass(frozen=True)
class BodyEstimate:
    """The ten parameters about the frame's origin, their covariance, and what is behind them."""

    entries: np.ndarray  # (10,)
    covariance: np.ndarray  # (10, 10)
    information: np.ndarray  # (r, 10): of what is shown, its square is the inverse covariance
    not_shown: tuple[str, ...]  # of ENTRIES
    residual: np.ndarray  # (channels,) RMS
    without: np.ndarray  # (channels,) RMS without the payload
    others: np.ndarray  # (k,)


def estimate(blocks: Sequence[RowsMaker], origin: np.ndarray, basis: np.ndarray) -> BodyEstimate:
    """Fit e = origin + basis θ to all blocks; `basis` (10, r) is the identity where nothing is known."""
    factors = merged(Factors.of(np.concatenate([x.Z, x.X], -1), x.y, x.usable) for x in (f() for f in blocks))
    scale = np.ones(len(factors.R))
    floor = [1e-12 * (1 + float(np.abs(R).max(initial=0.0))) for R in factors.R]
    for _ in range(PASSES):
        theta, eta, _ = _solved(factors.weighted(scale), origin, basis)
        scale = np.maximum(_rms(factors, origin + basis @ theta, eta), floor)
    scale = scale * np.sqrt(_repetition(blocks, origin + basis @ theta, eta))
    theta, eta, information = _solved(factors.weighted(scale), origin, basis)
    return _shown(factors, origin, basis, theta, eta, information)


def _solved(
    R: np.ndarray, origin: np.ndarray, basis: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """θ, the least η beside it, and the rows that say something about θ whatever η is."""
    Z, body = R[:, : -len(origin) - 1], R[:, -len(origin) - 1 : -1]
    X, y = body @ basis, R[:, -1] - body @ origin
    lengths = np.linalg.norm(Z, axis=0)
    scaled = Z / np.where(lengths > 0, lengths, 1.0)
    U, values, Vt = np.linalg.svd(scaled, full_matrices=False)
    rank = int((values > RANK * values.max(initial=0.0)).sum()) if values.size else 0
    U, values, Vt = U[:, :rank], values[:rank], Vt[:rank]
    rest, left = X - U @ (U.T @ X), y - U @ (U.T @ y)
    information = np.asarray(np.linalg.qr(rest, mode="r"))
    theta = np.linalg.lstsq(rest, left, rcond=RANK)[0]
    eta = Vt.T @ ((U.T @ (y - X @ theta)) / values) / np.where(lengths > 0, lengths, 1.0)
    return np.asarray(theta), np.asarray(eta), information


def _rms(factors: Factors, entries: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """(channels,) root mean square of what a body and the other parameters leave unexplained."""
    return np.asarray(np.sqrt(factors.squares(np.concatenate([eta, entries])) / np.maximum(factors.rows, 1)))


def _repetition(blocks: Sequence[RowsMaker], entries: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """(channels,) how many samples count as one."""
    residuals, use = [], []
    for block in blocks:
        rows = block()
        residuals.append(rows.y - rows.X @ entries - rows.Z @ eta)
        use.append(rows.usable)
    return repetition(residuals, use)


def _shown(
    factors: Factors,
    origin: np.ndarray,
    basis: np.ndarray,
    theta: np.ndarray,
    eta: np.ndarray,
    information: np.ndarray,
) -> BodyEstimate:
    """The estimate with what is not shown left as a point mass has it."""
    mass = max(abs(float((origin + basis @ theta)[0])), 0.1)
    sizes = mass * UNITS
    scale = np.maximum(np.abs(basis.T @ sizes), 1e-12)  # of θ, which is entries of e or their multiples
    values, axes = np.linalg.svd(information * scale)[1:]
    values = np.concatenate([values, np.zeros(len(axes) - len(values))])
    shown = values * SHOWN > 1.0
    hidden = axes[~shown].T
    theta = theta.copy()
    for _ in range(10):  # the moments of a point mass depend on the mass and the centre found
        entries = origin + basis @ theta
        wanted = np.linalg.lstsq(basis, _point(entries) - origin, rcond=None)[0]
        theta = theta + scale * (hidden @ (hidden.T @ ((wanted - theta) / scale)))
    kept = axes[shown].T
    # what is not shown may be off by as much as bodies of this mass differ: one unit
    spread = basis @ (scale[:, None] * np.column_stack([kept / values[shown], hidden]))
    covariance = spread @ spread.T
    entries = origin + basis @ theta
    residual, without = _rms(factors, entries, eta), _rms(factors, 0 * entries, 0 * eta)
    return BodyEstimate(
        entries,
        covariance,
        (values[shown, None] * kept.T / scale) @ np.linalg.pinv(basis),
        not_shown(covariance, mass),
        residual,
        without,
        eta,
    )


def not_shown(covariance: np.ndarray, mass: float) -> tuple[str, ...]:
    """The entries of a body of this mass whose standard errors are too large to say anything."""
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return tuple(
        name for name, error, unit in zip(ENTRIES, errors, UNITS, strict=True) if error > SHOWN * mass * unit
    )


def _point(entries: np.ndarray) -> np.ndarray:
    """Entries that stand for what is not shown: no first moment, the tensor of a point with those found."""
    m, x, y, z = (float(v) for v in entries[:4])
    tensor = steiner(1 / m, (x, y, z)) if abs(m) > 1e-9 else (0.0,) * 6
    return np.array([m, 0.0, 0.0, 0.0, *tensor])


# ------------------------------------------------------------------------------------------------------------
# A log as states to fit: filtered as `identify` does, with a cut-off from the positions' spectrum.


SLOW = 0.02  # of a joint's greatest speed: below, the direction of its friction is not sure
STILL = 1e-3  # rad/s or m/s: a joint that is never faster does not move
LEAST_SAMPLES = 20


def record_of(robot: Robot, log: Any, name: str, sensor: bool = False) -> Record:
    """A log at the joints, or a record as it is; with `sensor`, the log's wrench in the place of torques."""
    if sensor:
        record = look_over(log, robot, sensor=True)
    else:
        record = log.at_joints(robot) if hasattr(log, "at_joints") else log
    if not isinstance(record, Record):
        raise IdentificationError(f"{name}: expected a Log, found {type(log).__name__}")
    if record.n != robot.n:
        raise IdentificationError(
            f"{name}: it has {record.n} joints, but {robot.name} has {robot.n} coordinates"
        )
    if len(record.t) < LEAST_SAMPLES:
        found = f"found {len(record.t)}"
        raise IdentificationError(f"{name}: at least {LEAST_SAMPLES} samples are needed, {found}")
    return record


def states_of(record: Record, cutoff: float | None, name: str) -> list[States]:
    """The states of a record; without a cut-off [Hz], that of its motion."""
    cutoff = cutoff_of_motion(record) if cutoff is None else check.positive("cutoff", cutoff)
    found = list(states(record, cutoff))
    return _some_left(found, f"{name}: no sample is left of {len(record.t)}: the log is too short")


def sliding(parts: Sequence[States], name: str) -> list[States]:
    """Without instants in which the direction of a joint's friction is not sure.

    Of a joint that never moves all instants stay.
    """
    fastest = np.max([np.abs(part.motion.qd).max(axis=0) for part in parts], axis=0)
    sure = [(np.abs(part.motion.qd) >= SLOW * fastest) | (fastest < STILL) for part in parts]
    found = [replace(part, use=part.use & ok) for part, ok in zip(parts, sure, strict=True)]
    return _some_left(found, f"{name}: no sample is left: all joints are slow")


def blocks_of(parts: Sequence[States]) -> list[tuple[States, int, int]]:
    """All of them, some thousands of instants at a time: where they start and stop in their part."""
    return [(part, start, stop) for part in parts for start, stop in part.blocks]


def _some_left(parts: list[States], message: str) -> list[States]:
    if not any(part.use.any() for part in parts):
        raise IdentificationError(message)
    return parts


# ------------------------------------------------------------------------------------------------------------
# The possible body nearest to an estimate, in the metric of its standard errors.


MARGIN = 1e-5
_PULL = 1e-3  # toward a ball of this mass, for what the data do not show
_BALL = 0.2 * (ARM / 2) ** 2  # Σ of a solid ball per mass and axis, radius ARM / 2


def possible_body(estimate: BodyEstimate, known: Mapping[str, Any]) -> np.ndarray:
    """The ten numbers (10,) of the possible body with the least weighted distance to the estimate."""
    mass = float(max(estimate.entries[0], known.get("mass", 1e-2)))
    centre = np.asarray(known.get("com", estimate.entries[1:4] / mass), float)
    ball = at_centre(mass, centre, mass * _BALL * np.eye(3))
    L = np.linalg.cholesky(ball)
    G = BODIES @ congruence(L)
    start = stacked(np.eye(4))  # the ball itself, which is possible and has what is known
    fixed = _fixed(known) @ G
    free = np.linalg.svd(fixed)[2][len(fixed) :].T if len(fixed) else np.eye(SIZE)
    space = Space(np.zeros(SIZE), G, start, np.zeros((0, SIZE)), np.zeros(0), (), 1)
    A, b = estimate.information @ G, estimate.information @ estimate.entries
    U, values, Vt = np.linalg.svd(A, full_matrices=False)
    rows = WeightedRows(Vt, (U.T @ b) / values, values**2)
    found = nearest(space, start, MARGIN, free=free, start=start, rows=rows, weight=_PULL)
    return space.parameters(found.x)


def _fixed(known: Mapping[str, Any]) -> np.ndarray:
    """Rows (k, 10) of entries that what is known keeps."""
    rows = []
    if "mass" in known:
        rows.append(np.eye(SIZE)[0])
    if "com" in known:
        com = np.asarray(known["com"], float)
        rows += [np.eye(SIZE)[1 + i] - com[i] * np.eye(SIZE)[0] for i in range(3)]
    return np.array(rows).reshape(-1, SIZE)


# ------------------------------------------------------------------------------------------------------------
# `Payload`: a body found from data, with what is known about it.


KNOWN = ("mass", "com")


@dataclass(frozen=True)
class Payload:
    """A body fixed to the tip frame (or to the frame of `link`), as `robot.with_payload` takes it.

    `entries` (10,) are m, mx, my, mz, Ixx … Izz about that frame's origin, (7.77), with their `covariance`.
    `not_shown` names those that the motion does not show: of them, first moments are zero and the tensor is
    that of a point mass. For each channel (a joint, or an axis of the sensor) `residual` is the RMS of
    what stays unexplained, and `without` that of all that was to explain: torques beside the arm's model, all
    torques where the arm was free, or readings of the sensor. `offsets` are those found beside the payload.
    """

    mass: float  # kg
    com: np.ndarray  # (3,) m
    inertia: np.ndarray | None  # (3, 3) kg m² about the centre of mass; None where it is not shown
    entries: np.ndarray = field(repr=False)
    covariance: np.ndarray = field(repr=False)
    link: str | None
    not_shown: tuple[str, ...]
    consistent: bool  # whether the body was made possible by `consistent`
    residual: np.ndarray = field(repr=False)
    without: np.ndarray = field(repr=False)
    offsets: np.ndarray = field(repr=False)
    remarks: tuple[Remark, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """The texts of the remarks, with the logs that they are about."""
        return tuple(map(str, self.remarks))

    @property
    def arguments(self) -> dict[str, Any]:
        """For `robot.with_payload(**payload.arguments)`."""
        found: dict[str, Any] = {"mass": self.mass, "com": [float(x) for x in self.com]}
        if self.inertia is not None:
            pairs = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
            found["inertia"] = {
                key: float(self.inertia[i, j]) for key, (i, j) in zip(TENSOR_KEYS, pairs, strict=True)
            }
        return found | ({} if self.link is None else {"link": self.link})

    @property
    def first_moment(self) -> np.ndarray:
        """m c, (3,) [kg m]."""
        return np.asarray(self.entries[1:4])

    @property
    def standard_errors(self) -> dict[str, float]:
        """Standard errors of the ten parameters about the frame's origin; infinite for what is not shown."""
        values = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return {
            name: np.inf if name in self.not_shown else float(x)
            for name, x in zip(ENTRIES, values, strict=True)
        }

    def intervals(self, confidence: float = 0.95) -> dict[str, tuple[float, float]]:
        """In which the ten parameters lie with this confidence, if the noise is Gaussian."""
        level = check.number("confidence", confidence)
        if not 0 < level < 1:
            raise IdentificationError(f"confidence: found {level:g}; between 0 and 1 is allowed")
        k = float(norm.ppf(0.5 + level / 2))
        errors = self.standard_errors
        return {
            name: (float(x) - k * errors[name], float(x) + k * errors[name])
            for name, x in zip(ENTRIES, self.entries, strict=True)
        }

    def text(self) -> str:
        """The payload in a few lines, with 95 % intervals."""
        errors = self.standard_errors
        lines = [f"mass {self.mass:.4g} kg{_either_side(errors['m'])}"]
        for i, (axis, c) in enumerate(zip("xyz", self.com, strict=True)):
            known = np.isfinite(errors[f"m{axis}"])
            lines.append(f"com {axis} {c:+.4f} m{_either_side(self._com_error(i) if known else np.inf)}")
        if self.inertia is None:
            lines.append("inertia: not shown by this motion; the body counts as a point")
        else:
            moments = np.linalg.eigvalsh(self.inertia)
            lines.append(f"principal moments {', '.join(f'{x:.3g}' for x in moments)} kg m²")
        return "\n".join([*lines, *self.notes])

    def _com_error(self, axis: int) -> float:
        """The standard error of a coordinate of the centre of mass, a quotient of two entries [m]."""
        slope = np.zeros(len(self.entries))
        slope[0], slope[1 + axis] = -self.com[axis] / self.mass, 1 / self.mass
        return float(np.sqrt(max(slope @ self.covariance @ slope, 0.0)))


def _either_side(error: float) -> str:
    if error <= 1e-12:
        return " (given)"
    return f" ± {1.96 * error:.2g}" if np.isfinite(error) else " (not shown)"


def payload_of(
    found: BodyEstimate,
    link: str | None,
    known: dict[str, Any],
    consistent: bool | None,
    remarks: Sequence[Remark],
    offsets: np.ndarray,
) -> Payload:
    """The payload of an estimate: possible, and with what is not shown said."""
    if "m" in found.not_shown and "mass" not in known:
        raise IdentificationError(
            "the motion does not show the payload's mass: "
            'move joints that lift or accelerate it more, or give known={"mass": …}'
        )
    entries, made, notes = found.entries, bool(consistent), []
    if consistent is None:
        possible = entries[0] > 0 and is_possible(pseudo_inertia(entries), 1e-12)
        made = not possible and not _is_point(found.not_shown)
        if made:
            notes.append("the body that fits best is not possible; the possible one that fits best is used")
    if made:
        entries = possible_body(found, known)
    hidden = [name for name in found.not_shown if name != "m" or "mass" not in known]
    if hidden:
        notes.append(f"the motion does not show {', '.join(hidden)}")
    mass, error = float(entries[0]), float(np.sqrt(found.covariance[0, 0]))
    if mass <= 0:
        raise IdentificationError(
            f"found a payload of {mass:.3g} kg: a mass is positive; nothing is carried?"
        )
    if mass < 3 * error:
        notes.append(f"the mass {mass:.3g} kg is less than three times its standard error {error:.2g} kg")
    return Payload(
        mass,
        *_com_and_tensor(entries, found.not_shown),
        entries,
        found.covariance,
        link,
        found.not_shown,
        made,
        found.residual,
        found.without,
        offsets,
        (*remarks, *map(Remark, notes)),
    )


def _com_and_tensor(entries: np.ndarray, not_shown: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray | None]:
    """Centre of mass, and the tensor about it, None where nothing of it is shown."""
    body = Inertia.of([float(x) for x in entries])
    tensor = Inertia((1), (0, 0, 0), body.tensor_at_com).matrix
    return np.array(body.com, float), None if _is_point(not_shown) else np.array(tensor, float)


def _is_point(not_shown: tuple[str, ...]) -> bool:
    """Whether nothing is shown of the tensor."""
    return all(f"I{key}" in not_shown for key in TENSOR_KEYS)


def known_entries(known: Any) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """The knowledge of a caller, as entries = origin + basis θ."""
    if known is not None and not isinstance(known, Mapping):
        raise IdentificationError(
            f"known: expected {{name: value}} of {', '.join(KNOWN)}, found {shown(known)}"
        )
    given = {} if known is None else dict(known)
    if wrong := sorted(set(given) - set(KNOWN)):
        raise IdentificationError(f"known: found {wrong[0]!r}; allowed: {', '.join(KNOWN)}")
    origin, basis = np.zeros(10), np.eye(10)
    if "com" in given:
        com = check.point('known["com"]', given["com"])
        basis[1:4, 0] = com
        basis = np.delete(basis, (1, 2, 3), axis=1)
    if "mass" in given:
        mass = check.positive('known["mass"]', given["mass"])
        origin = mass * basis[:, 0]
        basis = basis[:, 1:]
    return given, origin, basis


# ------------------------------------------------------------------------------------------------------------
# A payload from joint torques: with the arm's own model known, or beside a log without the payload.


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
    carrier = carrier_of(robot, link)
    given, origin, basis = known_entries(known)
    records = [record_of(robot, loaded, "loaded")]
    if unloaded is not None:
        records.append(record_of(robot, unloaded, "unloaded"))
    with_arm = unloaded is not None
    with progress_bar("payload", progress):
        with stage("filters"):
            parts = [
                partial(
                    _rows, *block, partial(_columns, carrier, name == "loaded", with_arm, offsets, friction)
                )
                for name, record in zip(("loaded", "unloaded"), records, strict=False)
                for block in blocks_of(sliding(states_of(record, cutoff, name), name))
            ]
        with stage("estimating"):
            found = estimate(parts, origin, basis)
    remarks = [replace(remark, place=record.name) for record in records for remark in record.remarks]
    moved = found.others[-robot.n :] if offsets else np.zeros(robot.n)
    return payload_of(found, link, given, consistent, remarks, moved)


def carrier_of(robot: Robot, link: str | None) -> Robot:
    """The robot whose tip frame carries the payload: its own, or that of `link`."""
    carrier = robot if link is None else robot.with_tip(link)
    if carrier.mechanism.tip == FIXED_BASE:
        raise IdentificationError(
            "the tip is fixed to the base: a payload there is in no torque; name a link"
        )
    return carrier


def _rows(part: States, start: int, stop: int, columns: Callable[[Kinematics], np.ndarray]) -> PayloadRows:
    """Rows of some instants: the payload's columns, the nuisance's, and torques beside what is known."""
    A = part.seen_between(columns, start, stop)
    some, size = part.between(start, stop), len(ENTRIES)
    return PayloadRows(A[..., :size], A[..., size:-1], some.tau - A[..., -1], some.use)


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


# ------------------------------------------------------------------------------------------------------------
# A payload from a force–torque sensor at the wrist, with the sensor's offsets.


@on_one_thread
def payload_from_sensor(
    robot: Robot,
    log: Any,
    wrench: Any = None,
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
    pose (4, 4), the tip frame itself if not given. `known` is in the sensor's frame. Without `wrench` the
    readings are the log's own, `Log(…, wrench=…, wrench_frame="tip")`, which may be without torques: what
    the tip exerts on the tool, at the tip frame.

    The payload returned is at the tip frame, as `with_payload` takes it. It is all that is beyond the sensor:
    if the robot's description has a tool there, that tool is in it a second time. `payload.offsets` (6,) are
    to be subtracted from the sensor's readings.
    """
    robot = check.robot(robot)
    check.one_of("measures", measures, "on_tool", "by_tool")
    T = _pose(sensor)
    given, origin, basis = known_entries(known)
    if wrench is None:
        _check_readings(log, sensor, measures)
        record = record_of(robot, log, "log", sensor=True)
    else:
        record = _with_readings(record_of(robot, log, "log"), wrench)
    sign = 1.0 if measures == "on_tool" else -1.0
    blocks = blocks_of(states_of(record, cutoff, "log"))
    found = estimate([partial(_sensor_rows, robot, T, sign, *block) for block in blocks], origin, basis)
    remarks = [replace(remark, place=record.name) for remark in record.remarks]
    at_sensor = payload_of(found, None, given, consistent, remarks, found.others)
    M = moved_body(T)
    entries, covariance = M @ at_sensor.entries, M @ found.covariance @ M.T
    hidden = not_shown(covariance, at_sensor.mass)
    com, inertia = _com_and_tensor(entries, hidden)
    return replace(
        at_sensor,
        mass=float(entries[0]),
        com=com,
        inertia=inertia,
        entries=entries,
        covariance=covariance,
        not_shown=hidden,
    )


def _pose(sensor: Any) -> np.ndarray:
    if sensor is None:
        return np.eye(4)
    if isinstance(sensor, Transform):
        T = np.eye(4)
        T[:3, :3] = [[float(x) for x in row] for row in sensor.R]
        T[:3, 3] = [float(x) for x in sensor.p]
        return T
    return check.pose("sensor", sensor)


def _check_readings(log: Any, sensor: Any, measures: str) -> None:
    """Whether a log has readings, at the tip frame."""
    if not isinstance(log, Log) or log.wrench is None:
        raise IdentificationError("wrench: none is given, and the log has none")
    if log.wrench_frame != "tip":
        raise IdentificationError(
            f"{log.name}: its wrench is in {log.wrench_frame} axes; readings of a sensor are expected, "
            "with wrench_frame='tip'"
        )
    if sensor is not None or measures != "on_tool":
        raise IdentificationError(
            "sensor and measures are for wrench=; the wrench of a log is what the tip exerts, at its frame"
        )


def _with_readings(record: Record, wrench: Any) -> Record:
    """The record with the sensor's readings for torques; a reading that is not a number does not enter."""
    if record.contact is not None:
        raise IdentificationError("wrench: the log has one, too; give readings in one place")
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


def _sensor_rows(
    robot: Robot, T: np.ndarray, sign: float, part: States, start: int, stop: int
) -> PayloadRows:
    """Rows of the sensor at some instants: the body's wrench and six offsets."""
    some = part.between(start, stop)
    X = part.seen_between(lambda x: sign * body_wrenches(robot, x.q, x.qd, x.qdd, T), start, stop)
    return PayloadRows(X, np.broadcast_to(np.eye(6), (len(some), 6, 6)), some.tau, some.use)


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
