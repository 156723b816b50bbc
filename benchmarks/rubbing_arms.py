"""Simulated arms and their logs: friction, gears, encoders and controllers that no estimator is told of.

Each arm is made of its number alone. It is simulated here, not by `armdyn.simulate`, with its motors behind
springs (stiff ones where the gear counts as rigid), so that friction sits at the motors, holds them at rest
and acts through the gear:

    J θ̈ = τ − τ_s − f(θ̇, load),  τ_s = K (θ − q) + D (θ̇ − q̇),  B(q) q̈ + n(q, q̇) = τ_s

in steps of half a millisecond: semi-implicit Euler, dry friction implicitly. The controller knows the motors'
angles by encoders, some milliseconds late, feeds forward the torques of a wrong model, and its own torques
are what is recorded; those that act are a lag and a noise away.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from armdyn import Log, Robot

STEP = 5e-4  # s of the simulation
LEAD = 2.0  # s before the record begins, so that the controller has settled
LONGEST = 2.5  # s of a move
MOTIONS = ("sines", "moves")
TERMS = ("viscous", "coulomb", "asymmetry", "offset", "stribeck", "velocity", "cubic", "load")
COUNT = 20  # arms of each kind
MADE = 2  # of the files that are kept: another number, and all are simulated again


@dataclass(frozen=True)
class Rubbing:
    """Friction of n joints, (n,): Fv v + (Fs + Fst exp(−(v/v_s)²) + Fl |load|) s + Fa s² + F0 + Fcu v³."""

    viscous: np.ndarray
    coulomb: np.ndarray
    asymmetry: np.ndarray
    offset: np.ndarray
    stribeck: np.ndarray
    velocity: np.ndarray  # v_s [rad/s or m/s]
    cubic: np.ndarray
    load: np.ndarray

    def dry(self, v: np.ndarray, way: np.ndarray, load: np.ndarray) -> np.ndarray:
        """What opposes sliding in the directions `way` (±1), (..., n)."""
        level = self.coulomb + self.stribeck * np.exp(-np.square(v / self.velocity)) + self.load * load
        return np.maximum(level + way * self.asymmetry, 0.0)

    def smooth(self, v: np.ndarray) -> np.ndarray:
        return (self.viscous + self.cubic * v * v) * v + self.offset

    def at(self, v: np.ndarray, load: np.ndarray) -> np.ndarray:
        """Friction (..., n) of joints that slide."""
        way = np.sign(v)
        return self.smooth(v) + way * self.dry(v, way, load)

    def table(self, j: int, share: float) -> dict[str, Any]:
        """A share of it, as a robot file has it."""
        x = {name: share * float(getattr(self, name)[j]) for name in TERMS if name != "velocity"}
        return {
            "viscous": x["viscous"],
            "coulomb": [x["asymmetry"] + x["coulomb"], x["asymmetry"] - x["coulomb"]],
            "offset": x["offset"],
            "cubic": x["cubic"],
            "load": x["load"],
            "stribeck": {"level": x["stribeck"], "velocity": float(self.velocity[j])},
        }


@dataclass(frozen=True)
class Traits:
    """What is special about an arm, beside its bodies."""

    rate: float  # Hz of the record
    duration: float  # s
    control: int  # steps of the simulation from one torque of the controller to the next
    delay: int  # steps from the encoder to the torque that answers it
    lag: float  # s, time constant of the drives
    bits: int  # of the positions that are recorded, per turn of the joint
    noise: float  # of recorded torques, of their rms
    ripple: float  # of acting torques, likewise
    resonance: float  # Hz of gears as springs
    warming: float  # by how much of itself viscous friction falls while the arm gets warm
    known: float  # which share of the friction the description has
    rich: bool  # whether there is more than viscous and Coulomb friction and an offset


@dataclass(frozen=True)
class Arm:
    """An arm: its links as a description has them, without friction, what rubs, and how it is recorded."""

    name: str
    table: dict[str, Any]
    rubbing: Rubbing
    rotors: np.ndarray  # (n,) at the joints [kg m² or kg]
    speeds: np.ndarray  # (n,) rad/s or m/s, greatest of the motions
    spans: np.ndarray  # (n,) rad or m, about 0
    scale: np.ndarray  # (n,) N m or N: rms of the torques without friction
    traits: Traits
    seed: int

    @property
    def bare(self) -> Robot:
        """Its links alone: no rotors, no friction."""
        links = [{k: v for k, v in link.items() if k != "motor"} for link in self.table["link"]]
        return Robot.from_dict({**self.table, "link": links})

    @property
    def true(self) -> Robot:
        """It with rigid gears."""
        return Robot.from_dict(self._with_friction(self.table, 1.0))

    def described(self, known: float | None = None) -> Robot:
        """What an estimator is told: wrong masses, centres, tensors and rotors; a share of the friction."""
        rng = np.random.default_rng([self.seed, 99])
        links = []
        for link in self.table["link"]:
            k, turn = rng.uniform(0.6, 1.5), rng.uniform(0.7, 1.4)
            motor = link["motor"] | {"inertia": link["motor"]["inertia"] * rng.uniform(0.6, 1.5)}
            links.append(
                link
                | {
                    "mass": k * link["mass"],
                    "com": [x + float(rng.normal(0, 0.02)) for x in link["com"]],
                    "inertia": {name: k * turn * x for name, x in link["inertia"].items()},
                    "motor": motor,
                }
            )
        share = self.traits.known if known is None else known
        return Robot.from_dict(self._with_friction({**self.table, "link": links}, share))

    def _with_friction(self, table: dict[str, Any], share: float) -> dict[str, Any]:
        if not share:
            return table
        links = [link | {"friction": self.rubbing.table(j, share)} for j, link in enumerate(table["link"])]
        return {**table, "link": links}


# ---- made by their numbers ---------------------------------------------------------------------------------


def arm(number: int) -> Arm:
    """An arm of the pairs: 3 to 7 joints; every fifth has plain friction."""
    rng = np.random.default_rng([17, number])
    n = 3 + number % 5
    slide = int(rng.integers(1, n - 1)) if number % 4 == 1 else None
    rich = number % 5 != 2
    elastic, warm = number % 4 == 2, number % 5 == 3
    traits = Traits(
        rate=float(rng.choice([100, 125, 200, 250, 500])),
        duration=float(rng.integers(20, 31)),
        control=int(rng.choice([2, 4])),
        delay=int(rng.integers(2, 9)),
        lag=float(rng.uniform(0.5e-3, 2e-3)),
        bits=int(rng.choice([15, 17, 19])),
        noise=float(rng.uniform(0.003, 0.02)),
        ripple=float(rng.uniform(0.002, 0.01)),
        resonance=float(rng.uniform(9, 18)) if elastic else 70.0,
        warming=float(rng.uniform(0.15, 0.35)) if warm else 0.0,
        known=(0.0, 0.5, 1.0)[number % 3],
        rich=rich,
    )
    return _made(f"arm {number:02d}", rng, n, slide, traits, number)


def geared(number: int) -> Arm:
    """An arm of the friction curves: rigid gears, Coulomb, Stribeck and load friction at every joint."""
    rng = np.random.default_rng([18, number])
    traits = Traits(250.0, 25.0, 2, 4, 1e-3, 19, 0.01, 0.005, 70.0, 0.0, 0.0, True)
    return _made(f"geared {number:02d}", rng, 3 + number % 4, None, traits, number, all_terms=True)


def _made(
    name: str,
    rng: np.random.Generator,
    n: int,
    slide: int | None,
    traits: Traits,
    number: int,
    all_terms: bool = False,
) -> Arm:
    links, size = [], 1.0
    for j in range(n):
        links.append(_link(rng, j, size, j == slide))
        size *= 0.8
    table = {
        "name": name,
        "convention": "dh",
        "gravity": [0, 0, -9.81],
        "rotors": "reflected",
        "link": links,
    }
    slides = np.array([link["joint"] == "prismatic" for link in links])
    speeds = np.where(slides, rng.uniform(0.25, 0.5, n), rng.uniform(0.8, 1.8, n))
    spans = np.where(slides, 0.15, rng.uniform(0.8, 1.4, n))
    bare = Robot.from_dict(table)
    B = bare.inertia(rng.uniform(-1, 1, (200, n)) * spans)
    moved = np.median(B.diagonal(axis1=1, axis2=2), axis=0)
    rotors = rng.uniform(0.3, 1.2, n) * np.maximum(moved, 0.03 * moved.max())
    for link, rotor in zip(links, rotors, strict=True):
        gear = float(rng.choice([50, 80, 100, 120, 160]))
        link["motor"] = {"gear": gear, "inertia": float(rotor) / gear**2}
    empty = Arm(name, table, _none(n), rotors, speeds, spans, np.ones(n), traits, number)
    q, qd, qdd = np.moveaxis([motion(empty, x, np.arange(0, 20, 0.01)) for x in MOTIONS], 1, 0)
    tau = bare.inverse_dynamics(q, qd, qdd) + rotors * qdd
    scale = np.sqrt(np.square(tau).mean((0, 1)))
    scale = np.maximum(scale, 0.03 * scale.max())
    rubs = _rubbing(rng, scale, speeds, traits.rich, all_terms)
    return replace(empty, rubbing=rubs, scale=scale)


def _link(rng: np.random.Generator, j: int, size: float, slides: bool) -> dict[str, Any]:
    """One link: a box somewhere along it, turned at random, so that its tensor is full."""
    first = j == 0
    bends = first or rng.random() < 0.6
    alpha = str(rng.choice(["pi/2", "-pi/2"])) if bends else float(rng.normal(0, 0.3))
    a = 0.0 if slides else float(rng.uniform(0.05, 0.5) * size)
    d = float(rng.uniform(0.1, 0.4)) * size
    mass = float(22 * size**2 * rng.uniform(0.7, 1.4))
    sides = rng.uniform(0.06, 0.3, 3) * size**0.5
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    J = turn @ np.diag(mass / 12 * (np.square(sides).sum() - np.square(sides))) @ turn.T
    com = [
        float(-rng.uniform(0.2, 0.8) * a + rng.normal(0, 0.03)),
        *map(float, rng.normal(0, 0.05 * size, 2)),
    ]
    pairs = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
    return {
        "name": f"link {j + 1}",
        "joint": "prismatic" if slides else "revolute",
        "a": a,
        "alpha": alpha,
        "d": 0.0 if slides else d,
        "theta": float(rng.uniform(-1, 1)) if slides else 0.0,
        "mass": mass,
        "com": com,
        "inertia": {name: float(J[at]) for name, at in pairs.items()},
    }


def _none(n: int) -> Rubbing:
    return Rubbing(*(np.ones(n) if name == "velocity" else np.zeros(n) for name in TERMS))


def _rubbing(
    rng: np.random.Generator, scale: np.ndarray, speeds: np.ndarray, rich: bool, all_terms: bool
) -> Rubbing:
    """Friction in proportion to the torques; a rich joint has each further term by chance, one at least."""
    n = len(scale)
    coulomb = scale * rng.uniform(0.05, 0.15, n)
    has = rng.random((3, n)) < 0.5
    has[rng.integers(0, 3, n), np.arange(n)] = True
    stribeck, cubic, load = has & rich
    if all_terms:
        stribeck, cubic, load = np.ones(n, bool), np.zeros(n, bool), np.ones(n, bool)
    asymmetric = np.zeros(n, bool) if all_terms else rng.random(n) < 0.4
    return Rubbing(
        viscous=scale * rng.uniform(0.05, 0.18, n) / speeds,
        coulomb=coulomb,
        asymmetry=asymmetric * rng.choice([-1, 1], n) * rng.uniform(0.1, 0.3, n) * coulomb,
        offset=(not all_terms) * rng.normal(0, 0.02, n) * scale,
        stribeck=stribeck * rng.uniform(0.3, 0.8, n) * coulomb,
        velocity=rng.uniform(0.03, 0.1, n) * speeds,
        cubic=cubic * rng.uniform(-0.05, 0.1, n) * scale / speeds**3,
        load=load * rng.uniform(0.03, 0.1, n),
    )


# ---- motions -----------------------------------------------------------------------------------------------


def motion(arm: Arm, kind: str, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, q̇, q̈ (samples, n) that are asked for: a sum of sines, or moves from rest to rest with dwells."""
    rng = np.random.default_rng([arm.seed, MOTIONS.index(kind)])
    return _sines(arm, rng, t) if kind == "sines" else _moves(arm, rng, t)


def _sines(arm: Arm, rng: np.random.Generator, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, k = len(arm.speeds), np.arange(1, 7)
    w = 2 * np.pi * rng.uniform(0.07, 0.1) * k
    a, b = rng.normal(size=(2, len(k), n)) / k[:, None] ** 0.5
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q, qd, qdd = s @ a - c @ b, c @ (w[:, None] * a) + s @ (w[:, None] * b), -s @ (w[:, None] ** 2 * a)
    qdd = qdd + c @ (w[:, None] ** 2 * b)
    fine = np.linspace(0, 15, 1500)
    S, C = np.sin(np.outer(fine, w)), np.cos(np.outer(fine, w))
    far, fast = np.abs(S @ a - C @ b).max(0), np.abs(C @ (w[:, None] * a) + S @ (w[:, None] * b)).max(0)
    size = np.minimum(arm.spans / far, arm.speeds / fast)
    return q * size, qd * size, qdd * size


def _moves(arm: Arm, rng: np.random.Generator, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = len(arm.speeds)
    q, qd, qdd = np.zeros((3, len(t), n))
    at, start = np.zeros(n), LEAD - 0.3
    while start < t[-1] + 1:
        goal = rng.uniform(-1, 1, n) * arm.spans
        goal = np.where(rng.random(n) < 0.1, at, goal)  # not all joints move in every move
        pace = rng.choice([0.2, 0.5, 0.8, 1.0])
        T = max(float((1.875 * np.abs(goal - at) / (pace * arm.speeds)).max()), 0.3)
        goal, T = at + (goal - at) * min(1.0, LONGEST / T), min(T, LONGEST)
        s = np.clip((t - start) / T, 0, 1)[:, None]
        now = ((t >= start) & (t < start + T))[:, None]
        q = np.where(t[:, None] >= start, at + (goal - at) * s**3 * (10 - 15 * s + 6 * s**2), q)
        qd = np.where(now, (goal - at) / T * 30 * s**2 * (1 - s) ** 2, qd)
        qdd = np.where(now, (goal - at) / T**2 * 60 * s * (1 - s) * (1 - 2 * s), qdd)
        at, start = goal, start + T + rng.uniform(0.1, 0.35)
    return q, qd, qdd


# ---- simulated ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recorded:
    """What an arm recorded of one motion, and what was true then."""

    log: Log
    speed: np.ndarray  # (N, n) of the motors, at the joints
    load: np.ndarray  # (N, n) N m or N that its friction depends on
    lawful: np.ndarray  # (N, n) torques that moved it, with the friction of its law also where it stuck


def recorded(arm: Arm, folder: Path) -> dict[str, Recorded]:
    """Both motions of an arm, from a file where it was simulated before."""
    told = json.dumps([MADE, arm.table, asdict(arm.traits)] + [x.tolist() for x in _numbers(arm)])
    key = hashlib.sha256(told.encode()).hexdigest()[:12]
    path = folder / f"{arm.name.replace(' ', '_')}_{key}.npz"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        made = path.with_suffix(f".{os.getpid()}.npz")
        np.savez_compressed(made, **simulated(arm))
        made.replace(path)
    with np.load(path) as x:
        return {
            name: Recorded(
                Log(x["t"], x["q"][k], x["tau"][k], name=f"{arm.name} {name}"),
                *(x[what][k] for what in ("speed", "load", "lawful")),
            )
            for k, name in enumerate(MOTIONS)
        }


def _numbers(arm: Arm) -> list[np.ndarray]:
    return [*(getattr(arm.rubbing, name) for name in TERMS), arm.rotors, arm.speeds, arm.spans]


def simulated(arm: Arm) -> dict[str, np.ndarray]:
    """Both motions side by side, (2, N, n) each: q and τ as recorded, and what is true of them."""
    x, rng, n = arm.traits, np.random.default_rng([arm.seed, 7]), len(arm.speeds)
    steps = round((LEAD + x.duration) / STEP)
    every = round(1 / x.rate / STEP)
    t = STEP * np.arange(steps + 1)
    q_r, qd_r, qdd_r = np.moveaxis([motion(arm, kind, t) for kind in MOTIONS], 1, 0)
    bare, K, D = arm.bare, *_springs(arm)
    wrong = rng.uniform(0.75, 1.1, n)
    forward = wrong * (bare.inverse_dynamics(q_r, qd_r, qdd_r) + arm.rotors * qdd_r)
    P, V, I = _gains(arm)
    unit = 2 * np.pi / 2**x.bits * np.where(arm.spans < 0.2, 0.05, 1.0)
    fine = 2.0**-20  # rad or m of what the drives see themselves
    shake = x.ripple * arm.scale * _coloured(rng, (steps, len(MOTIONS), n), 20 * STEP)
    misread = x.noise * arm.scale * rng.normal(size=(steps, len(MOTIONS), n))
    warm = np.array([[0.0], [0.5]])  # the second motion begins with the arm half warm
    rubs, hold = arm.rubbing, 1 - np.exp(-STEP / x.lag)
    q, qd = q_r[:, 0].copy(), qd_r[:, 0].copy()
    spring = bare.inverse_dynamics(q, qd, qdd_r[:, 0])
    theta, w = q + spring / K, qd.copy()
    seen = [theta] * (x.delay + 1)
    u = acting = forward[:, 0].copy()
    before, slow, summed, felt = seen[0], w.copy(), np.zeros_like(q), np.zeros_like(q)
    follow = min(2 * np.pi * 60 * STEP * x.control, 0.7)
    found = {x: np.empty((2, -(-steps // every), n)) for x in ("q", "tau", "speed", "load", "lawful")}
    for k in range(steps):
        if k % x.control == 0:
            at, h = seen[0], STEP * x.control
            slow = slow + follow * ((at - before) / h - slow)
            before = at
            late = max(k - x.delay, 0)
            error = q_r[:, late] - at
            summed = summed + I * h * error
            u = forward[:, k] + P * error + V * (qd_r[:, late] - slow) + summed
        acting = acting + hold * (u - acting)
        spring = K * (theta - q) + D * (w - qd)
        drive = acting + shake[k]
        load = np.abs(spring) if x.resonance < 50 else np.abs(drive - felt)
        heat = 1 - x.warming * (warm + (1 - warm) * (1 - np.exp(-k * STEP / 15)))
        smooth = heat * (rubs.smooth(w) - rubs.offset) + rubs.offset
        rest = w + STEP / arm.rotors * (drive - spring - smooth)
        dry = (1 + (heat - 1) / 3) * rubs.dry(w, np.sign(rest), load)
        after = np.sign(rest) * np.maximum(np.abs(rest) - STEP / arm.rotors * dry, 0.0)
        felt = drive - spring - arm.rotors * (after - w) / STEP
        if k % every == 0:
            i = k // every
            found["q"][:, i], found["tau"][:, i] = np.round(theta / unit) * unit, u + misread[k]
            found["speed"][:, i], found["load"][:, i] = w, load
            found["lawful"][:, i] = drive - felt + smooth + np.sign(w) * dry
        w = after
        qd = qd + STEP * bare.forward_dynamics(q, qd, spring)
        q, theta = q + STEP * qd, theta + STEP * w
        seen = [*seen[1:], np.round(theta / fine) * fine]
    first = round(LEAD * x.rate)
    kept = {name: values[:, first:] for name, values in found.items()}
    if not np.isfinite(kept["tau"]).all() or np.abs(kept["q"] - q_r[:, :steps:every][:, first:]).max() > 0.3:
        raise RuntimeError(f"{arm.name} does not follow its motion")
    return {"t": np.arange(kept["q"].shape[1]) / x.rate, **kept}


def _springs(arm: Arm) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and damping (n,) of gears that let each link swing at the resonance before a held motor."""
    B = _carried(arm)
    w = 2 * np.pi * arm.traits.resonance
    return w**2 * B, 2 * 0.05 * w * B


def _gains(arm: Arm) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P, D and I (n,) of a controller that takes each joint for itself."""
    rng = np.random.default_rng([arm.seed, 6])
    moved = _carried(arm) + arm.rotors
    w = 2 * np.pi * min(rng.uniform(3.5, 5), arm.traits.resonance / 3)
    return moved * w**2, 2 * 0.8 * moved * w, moved * w**3 / 8


def _carried(arm: Arm) -> np.ndarray:
    """(n,) kg m² or kg that each motor moves while the others stand, on average over the postures."""
    rng = np.random.default_rng([arm.seed, 5])
    q = rng.uniform(-1, 1, (200, len(arm.spans))) * arm.spans
    return np.asarray(arm.bare.inertia(q).diagonal(axis1=1, axis2=2).mean(0))


def _coloured(rng: np.random.Generator, shape: tuple[int, ...], time: float) -> np.ndarray:
    """Noise of size 1 that stays alike for `time` [s]."""
    from scipy.signal import lfilter

    keep = np.exp(-STEP / time)
    return np.asarray(lfilter([np.sqrt(1 - keep**2)], [1, -keep], rng.normal(size=shape), axis=0))
