"""What a drive bears over cycles: the formulas of makers' handbooks, and all limits of many pairs at once.

At the output of gear i, which turns at the speed w, the torque y is asked for, the acceleration of its own
rotor at the ratio N included. The rotor takes

    τ_own = J (N ẇ + z·ω̇) + F_v N w + F_c sgn w

of the torque of the motor, J being all that turns with its shaft, on a carrier that turns itself. The rest
goes through the gear, whose output gives T = y − N τ_own:

    τ_m = τ_own + T/(N η)  where the motor drives (T w > 0),  τ_own + η_b T/N  where the load does,

and T/N at rest. `TorqueBounds` are those of y: where some drives are not chosen yet, an interval. T and τ_m
grow with y, so each limit is then judged by the least that it can come to: what is ruled out stays ruled out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from armdyn.studies.catalogue import Pair
from armdyn.studies.drive_loads import DriveLoads, features

_FEW = 2_000_000  # numbers of an array at once
_SETTLED = 50.0  # thermal time constants after which nothing of the start is left


# ------------------------------------------------------------------------------------------------------------
# Formulas. Torques are (..., R) over samples with weights (R,), which are times [s] unless said.


def rms(torque: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Root of the mean square (...), which warms a motor whose thermal time constant is long."""
    return np.asarray(np.sqrt((torque**2 @ weight) / weight.sum()))


def thermal_torque(torque: np.ndarray, t: np.ndarray, time_constant: np.ndarray) -> np.ndarray:
    """The steady torque (...) that warms a motor as much as the warmest instant of a periodic cycle does.

    τ_th ϑ̇ = τ_m² − ϑ with ϑ(0) = ϑ(T): the root of the largest ϑ. Between instants t (R,) the losses τ_m²
    are taken as constant, at their mean. For a time constant (...) much longer than the cycle it is the rms,
    much shorter the peak.
    """
    losses = torque**2
    mean = (losses[..., 1:] + losses[..., :-1]) / 2
    paces, which = np.unique(np.asarray(time_constant, float), return_inverse=True)
    which = which.reshape(losses.shape[:-1])
    span = t - t[0]
    theta = np.empty(losses.shape[:-1])
    for k, pace in enumerate(paces):
        rows = which == k
        if span[-1] <= _SETTLED * pace:
            # ϑ(t) e^{t/τ} = ϑ(0) + Σ u (e^{t/τ} − e^{t'/τ}), and after a period ϑ(0) again.
            grown = np.expm1(span / pace)
            added = np.cumsum(mean[rows] * np.diff(grown), -1)
            start = added[..., -1:] / grown[-1]
            warmest = ((start + added) / (1 + grown[1:])).max(-1)
            theta[rows] = np.maximum(warmest, start[..., 0])
        else:
            theta[rows] = _settled(mean[rows], np.exp(-np.diff(t) / pace))
    return np.asarray(np.sqrt(theta))


def _settled(losses: np.ndarray, cooled: np.ndarray) -> np.ndarray:
    """The largest ϑ (P,) in the second of two periods, by when nothing is left of the start."""
    x = most = np.zeros(losses.shape[:-1])
    for turn in range(2):
        for u, c in zip(losses.T, cooled, strict=True):
            x = u + (x - u) * c
            most = np.maximum(most, x) if turn else most
    return most


def mean_torque(
    torque: np.ndarray, speed: np.ndarray, weight: np.ndarray, exponent: np.ndarray
) -> np.ndarray:
    """(Σ |w| t |T|^p / Σ |w| t)^(1/p) (...), by which bearings of a gear wear; 0 where nothing turns."""
    turns = np.abs(speed) * weight
    total = turns.sum(-1)
    if not total > 0:
        return np.zeros(torque.shape[:-1])
    largest = np.maximum(np.abs(torque).max(-1), 1e-300)
    p = np.broadcast_to(np.asarray(exponent, float), largest.shape)
    scaled = np.abs(torque) / largest[..., None]
    found = np.empty(largest.shape)
    for one in np.unique(p):
        x = scaled[p == one]
        found[p == one] = (((x * x * x) if one == 3 else x**one) @ turns / total) ** (1 / one)
    return np.asarray(largest * found)


def life_hours(
    rated_life: np.ndarray,
    rated_torque: np.ndarray,
    rated_speed: np.ndarray,
    torque: np.ndarray,
    speed: np.ndarray,
    exponent: np.ndarray,
) -> np.ndarray:
    """L = L_rated (T_rated/T_mean)^p (n_rated/n_mean) [h]; infinite where nothing turns or is loaded."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = rated_life * (rated_torque / torque) ** exponent * (rated_speed / speed)
    return np.asarray(np.where((torque > 0) & (speed > 0) & np.isfinite(rated_life), found, np.inf))


def continuous_torque(
    standstill: np.ndarray, rated: np.ndarray, rated_speed: np.ndarray, speed: np.ndarray
) -> np.ndarray:
    """What a motor gives for ever at a speed [N m]: the straight line through standstill and rated point."""
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(rated_speed > 0, (rated - standstill) / rated_speed, 0.0)
    return np.asarray(np.maximum(standstill + slope * speed, 1e-6 * standstill))


def voltage(
    torque: np.ndarray, speed: np.ndarray, resistance: np.ndarray, k_t: np.ndarray, k_e: np.ndarray
) -> np.ndarray:
    """V = R τ_m/k_t + k_e ω (...) of a motor that gives a torque at a speed [V]."""
    return np.asarray(resistance * torque / k_t + k_e * speed)


def torque_at_voltage(
    bus: float, speed: np.ndarray, resistance: float, k_t: float, k_e: float, peak: float
) -> np.ndarray:
    """The largest torque (...) at speeds that a bus voltage and the peak torque allow.

    At the speed of no load it is zero, and beyond negative; where the load drives, the voltage allows more.
    """
    if resistance == 0:
        return np.where(k_e * speed <= bus, peak, -np.inf)
    return np.asarray(np.minimum(peak, (bus - k_e * speed) * k_t / resistance))


def envelope(pair: Pair, bus: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Speeds [rad/s]; the least and the largest torque [N m] of a pair's motor there for a short time."""
    motor = pair.motor
    top = min(motor.max_speed, pair.gear.max_speed)
    speed = np.linspace(-top, top, 401)
    peak = min(motor.peak_torque, motor.max_current * motor.torque_constant)
    data = motor.resistance, motor.torque_constant, motor.voltage_constant, peak
    high, low = torque_at_voltage(bus, speed, *data), -torque_at_voltage(bus, -speed, *data)
    there = high >= low
    return speed[there], low[there], high[there]


# ------------------------------------------------------------------------------------------------------------
# The limits.


class DriveLimit(NamedTuple):
    """A limit of a pair: what is compared, and its unit."""

    key: str
    text: str
    unit: str


LIMITS = (
    DriveLimit("peak_torque", "peak torque of the motor", "N m"),
    DriveLimit("thermal_torque", "continuous torque of the motor", "N m"),
    DriveLimit("motor_speed", "speed of the motor", "rad/s"),
    DriveLimit("voltage", "bus voltage", "V"),
    DriveLimit("current", "current of the motor", "A"),
    DriveLimit("gear_peak_torque", "peak torque of the gear", "N m"),
    DriveLimit("gear_average_torque", "average torque of the gear", "N m"),
    DriveLimit("gear_speed", "input speed of the gear", "rad/s"),
    DriveLimit("gear_average_speed", "mean input speed of the gear", "rad/s"),
    DriveLimit("life", "life of the gear", "h"),
    DriveLimit("inertia_ratio", "inertia ratio", ""),
    DriveLimit("holding_torque", "holding torque", "N m"),
)
PLACE = {limit.key: i for i, limit in enumerate(LIMITS)}
LIFE = PLACE["life"]


@dataclass(frozen=True)
class Demands:
    """What is asked for beside the cycles."""

    voltage: float  # V, of the bus; infinite: not looked at
    life: float  # h
    inertia_ratio: float  # of load and motor, at the shaft; infinite: any
    holding: str  # "brake", "motor" or "": what holds the arm still in any posture of the cycles


@dataclass(frozen=True)
class TorqueBounds:
    """Torques at an output (rows,): the least and the most they can be, without friction and own drive."""

    low: np.ndarray
    high: np.ndarray

    @property
    def is_known(self) -> bool:
        """True if there is no interval."""
        return self.low is self.high


@dataclass(frozen=True)
class PairLimits:
    """Limits of P pairs at a joint: values and bounds (P, limits), and what else is told of a pair, (P,)."""

    values: np.ndarray
    bounds: np.ndarray
    rms_torque: np.ndarray  # N m, of the motor, over the worst cycle
    rms_output: np.ndarray  # N m, of the gear's output, over the worst cycle
    power: np.ndarray  # W, drawn from the bus in the mean; what comes back is lost

    @property
    def use(self) -> np.ndarray:
        """(P, limits): values in parts of bounds; of life the hours asked for in parts of those there are."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.values / self.bounds
            found[self.values == 0] = 0.0
            found[:, LIFE] = self.bounds[:, LIFE] / self.values[:, LIFE]
        return np.asarray(found)


class PairTable:
    """P pairs as arrays (P,)."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = tuple(pairs)
        motors, gears = [x.motor for x in pairs], [x.gear for x in pairs]
        self.ratio = np.array([x.ratio for x in pairs])
        self.mass = np.array([x.mass for x in pairs])
        self.inertia = np.array([x.inertia for x in pairs])
        self.viscous = np.array([x.viscous for x in pairs])
        self.coulomb = np.array([x.coulomb for x in pairs])
        self.cost = np.array([x.cost for x in pairs])
        self.motor = {key: np.array([getattr(x, key) for x in motors]) for key in _MOTOR}
        self.gear = {key: np.array([getattr(x, key) for x in gears]) for key in _GEAR}
        self.brake = np.array([x.motor.brake_torque * x.brake for x in pairs])
        self.phi = features(self.mass, self.inertia, self.motor["transverse_inertia"], self.ratio)

    def __len__(self) -> int:
        return len(self.pairs)


_MOTOR = (
    *("transverse_inertia", "continuous_torque", "rated_torque", "rated_speed", "peak_torque", "max_speed"),
    *("torque_constant", "voltage_constant", "resistance", "max_current", "thermal_time_constant"),
)
_GEAR = (
    *("peak_torque", "average_torque", "max_speed", "average_speed", "rated_torque", "rated_speed"),
    *("rated_life", "life_exponent", "efficiency", "back_efficiency"),
)


class Points(NamedTuple):
    """Samples of P drives, (P, R) each: the least and the most that torques can be."""

    speed: np.ndarray  # of the motor [rad/s]
    output: tuple[np.ndarray, np.ndarray]  # torque of the gear's output [N m]
    motor: tuple[np.ndarray, np.ndarray]  # torque of the motor [N m]


def points(loads: DriveLoads, i: int, bounds: TorqueBounds, table: PairTable, chosen: np.ndarray) -> Points:
    """Speeds and torques of the pairs `chosen` (P,) at joint i over all samples of the cycles."""
    R = len(loads.at.t)
    N = table.ratio[chosen][:, None]
    w = loads.speed[i]
    friction = table.coulomb[chosen][:, None] * loads.dry[i] + table.viscous[chosen][:, None] * N * w
    own = table.inertia[chosen][:, None] * (N * loads.acceleration[i] + loads.turning[i]) + friction
    driven = loads.by_drive(i, i, table.phi[chosen])[:, :R]
    drive = table.gear["efficiency"][chosen][:, None]
    back = table.gear["back_efficiency"][chosen][:, None]
    outputs, motors = [], []
    for side in (bounds.low,) if bounds.is_known else (bounds.low, bounds.high):
        y = side[:R] + driven
        y = y + loads.share[i] * np.abs(y) + loads.friction[i] + N * friction
        T = y - N * own
        power = T * w
        passed = np.where(power > 0, T / drive, np.where(power < 0, T * back, T)) / N
        outputs.append(T)
        motors.append(own + passed)
    return Points(N * w, (outputs[0], outputs[-1]), (motors[0], motors[-1]))


def evaluate(
    loads: DriveLoads, i: int, bounds: TorqueBounds, table: PairTable, chosen: np.ndarray, demands: Demands
) -> PairLimits:
    """The limits of pairs at joint i: of those `chosen`, (P,) numbers of rows of the table."""
    rows = max(1, _FEW // len(loads.at.t))
    parts = [
        _evaluate(loads, i, bounds, table, chosen[k : k + rows], demands) for k in range(0, len(chosen), rows)
    ]
    if len(parts) == 1:
        return parts[0]
    names = PairLimits.__dataclass_fields__
    return PairLimits(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def least(sides: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The least magnitude of what lies between two sides."""
    if sides[0] is sides[1]:
        return np.asarray(np.abs(sides[0]))
    return np.asarray(np.maximum(np.maximum(sides[0], -sides[1]), 0.0))


def _evaluate(
    loads: DriveLoads, i: int, bounds: TorqueBounds, table: PairTable, chosen: np.ndarray, demands: Demands
) -> PairLimits:
    at = loads.at
    R, S = len(at.t), len(at.still)
    motor = {key: x[chosen] for key, x in table.motor.items()}
    gear = {key: x[chosen] for key, x in table.gear.items()}
    N, J = table.ratio[chosen], table.inertia[chosen]
    speed, output, torques = points(loads, i, bounds, table, chosen)
    torque, T = least(torques), least(output)
    k_t, k_e, ohm = (motor[key][:, None] for key in ("torque_constant", "voltage_constant", "resistance"))
    still = loads.by_drive(i, i, table.phi[chosen])[:, R:]
    holding = (bounds.low[R : R + S] + still[:, :S], bounds.high[R : R + S] + still[:, :S])
    held = least(holding).max(1) / N
    load = np.maximum(bounds.low[R + S :] + still[:, S:], 0.0).max(1)
    values, limit = np.empty((len(chosen), len(LIMITS))), np.full((len(chosen), len(LIMITS)), np.inf)

    def put(key: str, value: np.ndarray, bound: np.ndarray | float) -> None:
        values[:, PLACE[key]], limit[:, PLACE[key]] = value, bound

    put("peak_torque", torque.max(1), motor["peak_torque"])
    warmest = _warmest(loads, torque, speed, motor)
    put("thermal_torque", *warmest)
    put("motor_speed", np.abs(speed).max(1), motor["max_speed"])
    sides = [voltage(x, speed, ohm, k_t, k_e) for x in torques[: 1 if bounds.is_known else 2]]
    volts = least((sides[0], sides[-1]))
    put("voltage", volts.max(1), demands.voltage)
    put("current", torque.max(1) / motor["torque_constant"], motor["max_current"])
    put("gear_peak_torque", T.max(1), gear["peak_torque"])
    mean = mean_torque(T, loads.speed[i], at.operating, gear["life_exponent"])
    put("gear_average_torque", mean, gear["average_torque"])
    put("gear_speed", np.abs(speed).max(1), gear["max_speed"])
    mean_speed = np.abs(speed) @ at.operating
    put("gear_average_speed", mean_speed, gear["average_speed"])
    data = gear["rated_life"], gear["rated_torque"], gear["rated_speed"], mean, mean_speed
    put("life", life_hours(*data, gear["life_exponent"]), demands.life)
    put("inertia_ratio", load / (N * N * J), demands.inertia_ratio)
    holds = {"brake": table.brake[chosen], "motor": motor["continuous_torque"], "": np.inf}
    put("holding_torque", held, holds[demands.holding])
    each = [at.cycle == c for c in range(len(at.durations))]
    rms_torque = np.max([rms(torque[:, c], at.weight[c]) for c in each], 0)
    rms_output = np.max([rms(T[:, c], at.weight[c]) for c in each], 0)
    power = _drawn(torques, speed, ohm, k_t, k_e) @ at.operating
    return PairLimits(values, limit, rms_torque, rms_output, power)


def _warmest(
    loads: DriveLoads, torque: np.ndarray, speed: np.ndarray, motor: dict[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The thermal torque (P,) and what the motor gives for ever, of the cycle that asks for most of it."""
    at = loads.at
    values, limits = [], []
    for c in range(len(at.durations)):
        now = at.cycle == c
        lasting = np.isfinite(motor["thermal_time_constant"])
        value = rms(torque[:, now], at.weight[now])
        if lasting.any():
            pace = motor["thermal_time_constant"][lasting]
            value[lasting] = thermal_torque(torque[lasting][:, now], at.t[now], pace)
        values.append(value)
        data = motor["continuous_torque"], motor["rated_torque"], motor["rated_speed"]
        limits.append(continuous_torque(*data, rms(speed[:, now], at.weight[now])))
    worst = np.argmax(np.array(values) / np.array(limits), 0)
    rows = np.arange(len(worst))
    return np.array(values)[worst, rows], np.array(limits)[worst, rows]


def _drawn(
    torques: tuple[np.ndarray, np.ndarray],
    speed: np.ndarray,
    ohm: np.ndarray,
    k_t: np.ndarray,
    k_e: np.ndarray,
) -> np.ndarray:
    """The least electrical power (P, R) above zero, V i = (R i + k_e ω) i, for currents in an interval."""
    low = torques[0] / k_t
    if torques[0] is torques[1]:
        return np.asarray(np.maximum((ohm * low + k_e * speed) * low, 0.0))
    high = torques[1] / k_t
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.where(ohm > 0, -k_e * speed / (2 * ohm), np.where(speed > 0, -np.inf, np.inf))
    i = np.clip(best, low, high)
    return np.asarray(np.maximum((ohm * i + k_e * speed) * i, 0.0))
