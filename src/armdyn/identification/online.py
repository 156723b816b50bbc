"""`OnlineFit`: a payload, friction and other parameters while the arm moves, sample by sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np

from armdyn.dynamics.friction import friction_torques, has_load, load_factors, rigid_of
from armdyn.dynamics.momentum import momentum_regressor
from armdyn.dynamics.newton_euler import rigid_torques
from armdyn.dynamics.regressor import regressor, with_friction
from armdyn.expression import shown
from armdyn.expression.functions import select, sqrt
from armdyn.identification.errors import IdentificationError, check
from armdyn.identification.fit import unit
from armdyn.identification.payload import (
    SHOWN,
    UNITS,
    BodyEstimate,
    Payload,
    carrier_of,
    not_shown,
    payload_of,
    placing,
)
from armdyn.identification.template import exists
from armdyn.kernels.c import Words, identifier, initializer
from armdyn.kernels.c_package import CSource, Further, Language, c_source, loop_function, loop_state
from armdyn.kernels.kernel import Kernel
from armdyn.kernels.loop_kernel import LoopKernel
from armdyn.model.friction import TERMS
from armdyn.model.inertia import ENTRIES
from armdyn.model.parameters import Parameter, layout, symbol
from armdyn.program import Program, record
from armdyn.program.loops import Argument, Block, Call, Count, Counter, Fetch, For, If, Local, Loop, Save
from armdyn.robot import Robot
from armdyn.robot.functions import MEANINGS
from armdyn.robot.joints import joint_descriptions, joint_limits
from armdyn.robot.postures import random_postures
from armdyn.simulation.laws import ALL_POSITIONS
from armdyn.simulation.observer import balance

# ------------------------------------------------------------------------------------------------------------
# What is estimated: columns for each parameter, and where they are not zero.
#
# Of the equations of motion ṗ = τ + Cᵀ q̇ − g − friction the parts that the parameters θ are in are linear:
# Y_p θ of the momentum, Y_s θ of gravity and friction less Cᵀ q̇. With δ = θ − θ₀, what the description lacks,
#
#     d/dt (Y_p δ) + Y_s δ = τ − (ṗ − β)₀,
#
# the right side with the parameters of the description. Over a step h both sides are differences of momenta
# and means of the rest. Both pass through one filter of first order, which the equation allows and which
# takes the noise from the differences: no acceleration is needed. This is the residual of the momentum
# observer, explained by parameters. Where accelerations are given, Y δ = τ − τ₀ passes the same filter.
#
# In a robot with load friction all is divided by its factor: then the torques are those that it depends on.


Scalars: TypeAlias = list[Any]
EVERYWHERE = ("viscous", "coulomb", "offset")  # the terms of "friction"
MOST = 64  # parameters: the code grows with the square of their number


@dataclass(frozen=True)
class Sought:
    """All that the code of an online fit depends on.

    `friction` and `others` are parameters of the robot; `payload`: the ten of a body at the tip follow them.
    `held`: torques stay from one sample to the next. `accelerated`: accelerations are given.
    """

    robot: Robot
    friction: tuple[Parameter, ...]
    others: tuple[Parameter, ...]
    payload: bool
    held: bool = False
    accelerated: bool = False

    @property
    def size(self) -> int:
        """k, the number of parameters."""
        return len(self.friction) + len(self.others) + len(ENTRIES) * self.payload

    @property
    def sample(self) -> list[tuple[str, int]]:
        """What each sample has: names and sizes."""
        n = self.robot.n
        found = [("q", self.robot.mechanism.positions), ("qd", n), ("qdd", n), ("tau", n)]
        return [x for x in found if self.accelerated or x[0] != "qdd"]

    @property
    def settings(self) -> int:
        """Step; weights of a sample in the filters of torques and of noise; what is kept of the past, and its
        root; for each joint 1/noise, 0 where it is to be found; for each joint the speed that is slow.
        """
        return 5 + 2 * self.robot.n

    @cached_property
    def state(self) -> dict[str, slice]:
        """The parts of the state."""
        n = self.robot.n
        pairs = 0 if self.accelerated else 1
        parts = {
            "seen": 1,
            "ignored": 1,
            "time": 1,
            "scale": 1,
            "columns": pairs * len(self.kept),
            "torques": pairs * n,
        }
        parts |= {"filtered": len(self.kept), "right": n}
        parts |= dict.fromkeys(("slow", "used", "loads", "noise", "levels", "squares", "before"), n)
        found, start = {}, 0
        for name, size in (parts | {"factor": len(self.entries) + self.size}).items():
            found[name] = slice(start, start + size)
            start += size
        return found

    @property
    def width(self) -> int:
        """The size of the state."""
        return int(self.state["factor"].stop)

    @cached_property
    def kept(self) -> tuple[tuple[int, int], ...]:
        """Joint and parameter of the columns' entries that are not always zero, row by row."""
        n, k = self.robot.n, self.size
        program = record(lambda *sample: list(self.columns(*sample)), self.sample, [("columns", (2, n, k))])
        zero = np.array([program.nodes[x] == ("const", 0.0) for x in program.results]).reshape(2, n, k)
        return tuple((int(i), int(p)) for i, p in np.argwhere(~zero.all(axis=0)))

    @cached_property
    def beside(self) -> tuple[tuple[int, ...], ...]:
        """Of each row of the factor: the columns beside the diagonal that are not always zero."""
        found: list[set[int]] = [set() for _ in range(self.size)]
        before = -1
        while before < (before := sum(map(len, found))):
            for joint in range(self.robot.n):
                left = {p for i, p in self.kept if i == joint}
                while left:
                    first = min(left)
                    left = found[first] | left - {first}
                    found[first] = left
        return tuple(tuple(sorted(others)) for others in found)

    @cached_property
    def entries(self) -> tuple[tuple[int, int], ...]:
        """Row and column of each entry kept of the factor."""
        return tuple((x, y) for x, others in enumerate(self.beside) for y in (x, *others))

    def columns(self, q: Scalars, qd: Scalars, *others: Scalars) -> tuple[list[Scalars], list[Scalars]]:
        """Y_p and Y_s (n, k) of a sample; with accelerations zeros and Y."""
        M, still = self.robot.mechanism, [0] * self.robot.n
        tip = [Parameter(symbol("body", x), M.tip) for x in ENTRIES] if self.payload else []
        bodies = [*self.others, *tip]
        *given, tau = others
        p: list[Scalars] = [[0] * len(bodies) for _ in still]
        if given:
            s = regressor(M, q, qd, given[0], bodies)
        elif bodies:
            p, d = momentum_regressor(M, q, qd, bodies)
            g = regressor(M, q, still, still, bodies)  # with springs
            s = [[x - y for x, y in zip(*rows, strict=True)] for rows in zip(g, d, strict=True)]
        else:
            s = p
        none, rubbing = [0] * len(self.friction), self._rubbing(q, qd, tau)
        p, s = ([self._at_tip(row) for row in Y] for Y in (p, s))
        return [[*none, *row] for row in p], [[*f, *row] for f, row in zip(rubbing, s, strict=True)]

    def _rubbing(self, q: Scalars, qd: Scalars, tau: Scalars) -> list[Scalars]:
        """The columns of friction."""
        M = self.robot.mechanism
        Y = with_friction([[0] * len(self.friction) for _ in tau], M, self.friction, q, qd)
        if not has_load(M):
            return Y
        rest = [t - f for t, f in zip(tau, friction_torques(M, qd, q=q), strict=True)]
        return [[y / x for y in row] for row, x in zip(Y, load_factors(M, qd, rest), strict=True)]

    def _at_tip(self, row: Scalars) -> Scalars:
        """With the columns of the tip's link made those of a body in the tip frame."""
        first = len(self.others)
        if not self.payload:
            return row
        P = placing(self.robot).tolist()
        turned: Scalars = [0] * len(ENTRIES)
        for y, factors in zip(row[first:], P, strict=True):
            turned = [x if k == 0 else x + y * k for x, k in zip(turned, factors, strict=True)]
        return [*row[:first], *turned]


# ------------------------------------------------------------------------------------------------------------
# One sample, and the loop over samples.
#
# What the samples say is kept as a triangular factor: rows R, z with the least |R δ − z|, to which each
# sample adds a row for each joint, weighted by 1/noise, by plane rotations. Nothing is squared, so nothing
# loses its sign. Forgetting multiplies all rows by a number below 1. What is known before stands beside the
# factor and is not forgotten: a direction that the motion no longer shows returns to it, with its
# uncertainty, and no estimate runs away.
#
# The last number of a row after its rotations is what that sample adds to the squares left: the torque that
# the parameters do not explain. Its mean over `SLOWEST` shows noise that is correlated in time, errors of the
# model among it: the noise of a joint is that of white noise with the same spectrum at low frequencies. Until
# something is known of it, it is 1 % of the torques, for as long. Rows are weighted by what the noises of the
# joints are to each other. What is common to them, the scale, applies to the past too: a load that is picked
# up looks like noise at first, and what was seen before shall not count more for that.
#
# Of a slow joint it is not sure which way friction acts. Its rows do not count, nor while the filter still
# remembers such samples. A sample with a number that is none does not count either, nor the step that
# follows it.


ROWS, ROW = Count("rows"), Counter("row")
SLOWEST = 0.3  # s: noise is correlated for less
FIRST = 0.3  # s of samples that the first guess of the noise counts as
GUESS = 0.01  # noise over torque
MIXED = 0.02  # of slow samples in the filter's memory: with fewer, a row counts
LEAST = 1e-30  # squares below are zero
LARGEST = 1e30  # a sample beyond is none


@lru_cache(32)
def online_kernel(sought: Sought) -> LoopKernel:
    return LoopKernel(online_loop(sought))


@lru_cache(32)
def estimate_kernel(sought: Sought) -> Kernel:
    return Kernel.of("estimate", estimate_program(sought))


def online_loop(sought: Sought) -> Loop:
    """The loop. Arguments: `settings`; q, q̇, q̈ if given and τ of each row; the `state`, which is changed."""
    settings, state = Argument("settings", sought.settings), Argument("state", sought.width, written=True)
    samples = [Argument(name, size) for name, size in sought.sample]
    given = [Local(argument.name, argument.columns) for argument in samples]
    told, kept, usable = Local("settings", sought.settings), Local("state", sought.width), Local("usable", 1)
    columns, head = tuple(x.all for x in given), kept[:2]
    one: Block = (
        *(Fetch(local.all, argument, ROW) for local, argument in zip(given, samples, strict=True)),
        Call("usable", columns, (usable.all,)),
        If(
            usable.all,
            (Call("advance", (*columns, told.all, kept.all), (kept.all,)),),
            (Call("ignore", (head,), (head,)),),
        ),
    )
    statements: Block = (
        Fetch(told.all, settings),
        Fetch(kept.all, state),
        For(ROW, 0, ROWS, one),
        Save(state, 0, kept.all),
    )
    programs = {
        "usable": record(_usable, sought.sample, [("usable", (1,))]),
        "advance": _advance(sought),
        "ignore": record(lambda head: [0, head[1] + 1], [("head", 2)], [("head", (2,))]),
    }
    return Loop("online", (ROWS,), (settings, *samples, state), statements, programs)


def _usable(*sample: Scalars) -> Any:
    total: Any = 0
    for x in [x for part in sample for x in part]:
        total = total + abs(x)
    return [select(LARGEST - total, 1, 0)]  # of NaN it is 0


def _advance(sought: Sought) -> Program:
    """Program from a sample and the state before to the state after."""

    def advance(*given: Scalars) -> Any:
        *sample, settings, state = given
        return _Step(sought, sample, settings, state).after()

    inputs = [*sought.sample, ("settings", sought.settings), ("state", sought.width)]
    return record(advance, inputs, [("state", (sought.width,))])


@dataclass
class _Step:
    """A sample that is taken in, over any scalar."""

    sought: Sought
    sample: Sequence[Scalars]
    settings: Scalars
    state: Scalars

    def __post_init__(self) -> None:
        n = self.sought.robot.n
        self.step, self.filter, self.smoothing, self.past, self.root = self.settings[:5]
        self.known, self.slow = self.settings[5 : 5 + n], self.settings[5 + n :]
        self.old = {name: self.state[part] for name, part in self.sought.state.items()}
        self.new = dict(self.old)

    def after(self) -> Scalars:
        """The state after it."""
        (seen,) = [1] if self.sought.accelerated else self.old["seen"]
        columns, right = self._equations()
        share = self.filter if self.sought.accelerated else select(seen, self.filter, 0)
        self._mix("filtered", columns, share)
        self._mix("right", right, share)
        is_slow = [select(v - abs(x), 1, 0) for v, x in zip(self.slow, self.sample[1], strict=True)]
        self._mix("slow", is_slow, self.filter)
        use = [select(MIXED - x, 1, 0) for x in self.new["slow"]]
        use = use if self.sought.accelerated else [select(seen, x, 0) for x in use]
        self.new["seen"] = [1]
        weights = self._weights()
        left = self._rotate([x * w for x, w in zip(use, weights, strict=True)])
        self._judge(use, [x / w for x, w in zip(left, weights, strict=True)])
        return [x for name in self.sought.state for x in self.new[name]]

    def _mix(self, name: str, values: Scalars, share: Any) -> None:
        """A part of the state after a filter of first order."""
        pairs = zip(self.old[name], values, strict=True)
        self.new[name] = [old + share * (x - old) for old, x in pairs]

    def _add(self, name: str, values: Scalars) -> None:
        """A part of the state that is a sum over time, less what is forgotten."""
        pairs = zip(self.old[name], values, strict=True)
        self.new[name] = [self.past * old + self.step * x for old, x in pairs]

    def _equations(self) -> tuple[Scalars, Scalars]:
        """Columns and right side of this step, which the filter takes."""
        sought, M = self.sought, self.sought.robot.mechanism
        q, qd, *given, tau = self.sample
        p, s = sought.columns(*self.sample)
        if given:
            free, rigid = rigid_of(M, qd, tau, q), rigid_torques(M, q, qd, given[0])
            return [s[i][k] for i, k in sought.kept], [x - y for x, y in zip(free, rigid, strict=True)]
        moved, half = [p[i][k] / self.step for i, k in sought.kept], [s[i][k] / 2 for i, k in sought.kept]
        self.new["columns"] = [x - y for x, y in zip(moved, half, strict=True)]
        columns = [x + y - z for x, y, z in zip(moved, half, self.old["columns"], strict=True)]
        before, after = (1, 0) if sought.held else (0.5, 0.5)
        parts = list(zip(*balance(M, q, qd, tau), tau, self.old["torques"], strict=True))
        self.new["torques"] = [x / self.step + beta / 2 + before * t for x, beta, t, _ in parts]
        return columns, [old - x / self.step + beta / 2 + after * t for x, beta, t, old in parts]

    def _weights(self) -> Scalars:
        """1/noise of each joint, times the scale."""
        self._add("time", [1])
        self._add("loads", [t * t for t in self.sample[-1]])
        white = 2 / self.smoothing - 1  # so much less is noise that is white after this filter
        loads = [x / self.new["time"][0] + LEAST for x in self.new["loads"]]
        squares = [
            white * (FIRST * GUESS * GUESS * load + level) / (FIRST + used)
            for load, level, used in zip(loads, self.old["levels"], self.old["used"], strict=True)
        ]
        total: Any = 0
        for square, load in zip(squares, loads, strict=True):
            total = total + square / load
        scale = sqrt(total / len(loads))
        self.new["scale"] = [select(self.known[0], 1, scale)]
        found = [scale / sqrt(square) for square in squares]
        return [select(known, known, x) for known, x in zip(self.known, found, strict=True)]

    def _rotate(self, weights: Scalars) -> Scalars:
        """What is left of the right sides after the rows have been added to the factor."""
        kept = [self.root * x for x in self.old["factor"]]
        factor = Factor(self.sought, kept)
        left = []
        for joint, (weight, y) in enumerate(zip(weights, self.new["right"], strict=True)):
            columns = zip(self.sought.kept, self.new["filtered"], strict=True)
            row = {k: weight * x for (i, k), x in columns if i == joint}
            left.append(factor.add(row, weight * y))
        self.new["factor"] = factor.numbers
        return left

    def _judge(self, use: Scalars, left: Scalars) -> None:
        """Torques left, and what they say of the noise."""
        pairs = list(zip(use, left, self.old["noise"], self.new["right"], strict=True))
        self.new["noise"] = [old + u * (self.smoothing * (x - old)) for u, x, old, _ in pairs]
        self._add("used", use)
        self._add("levels", [u * x * x for u, x in zip(use, self.new["noise"], strict=True)])
        self._add("squares", [u * x * x for u, x, _, _ in pairs])
        self._add("before", [u * y * y for u, _, _, y in pairs])


class Factor:
    """The triangular factor R and z, over any scalar, without its entries that are always zero."""

    def __init__(self, sought: Sought, numbers: Scalars) -> None:
        self.beside, size = sought.beside, len(sought.entries)
        self.R = dict(zip(sought.entries, numbers[:size], strict=True))
        self.z = list(numbers[size:])

    @property
    def numbers(self) -> Scalars:
        return [*self.R.values(), *self.z]

    def add(self, row: dict[int, Any], y: Any) -> Any:
        """Take in a row by plane rotations; what is left of its right side."""
        left = dict(row)
        while left:
            k = min(left)
            r, x = self.R[k, k], left.pop(k)
            square = r * r + x * x
            inverse = select(square - LEAST, 1 / sqrt(square.maximum(LEAST)), 0)
            c, s = select(inverse, r * inverse, 1), x * inverse
            self.R[k, k] = c * r + s * x
            for j in self.beside[k]:
                r, x = self.R[k, j], left.get(j, 0)
                self.R[k, j], left[j] = c * r + s * x, c * x - s * r
            self.z[k], y = c * self.z[k] + s * y, c * y - s * self.z[k]
        return y


def estimate_program(sought: Sought) -> Program:
    """Program from the state and from what is known before to the estimate (k) and a root (k, k).

    `prior` has k values, then k times 1/deviation. The root is triangular; times itself transposed it is the
    covariance.
    """
    size = sought.size

    def estimate(state: Scalars, prior: Scalars) -> Any:
        (scale,) = state[sought.state["scale"]]
        share = select(scale, 1 / scale, 1)
        factor = Factor(sought, [share * x for x in state[sought.state["factor"]]])
        for k, x in enumerate(prior[size:]):
            factor.add({k: x}, 0)
        R, beside = factor.R, sought.beside
        found: Scalars = [0] * size
        root: list[Scalars] = [[0] * size for _ in range(size)]
        for k in reversed(range(size)):
            inverse = 1 / R[k, k]
            root[k][k] = inverse
            found[k] = factor.z[k]
            for j in beside[k]:
                found[k] = found[k] - R[k, j] * found[j]
                for i in range(j, size):
                    root[k][i] = root[k][i] - R[k, j] * root[j][i]
            found[k] = found[k] * inverse
            for i in range(k + 1, size):
                root[k][i] = root[k][i] * inverse
        return [x + known for x, known in zip(found, prior[:size], strict=True)], root

    inputs = [("state", sought.width), ("prior", 2 * size)]
    return record(estimate, inputs, [("estimate", (size,)), ("root", (size, size))])


# ------------------------------------------------------------------------------------------------------------
# What is known before: which parameters, their values and how far these may be off.


CARRIED = 0.25  # of the arm's moving mass: how heavy a payload may be
RUBBED = 0.2  # of a joint's torque: how large its friction may be
FAST = 1.0  # rad/s or m/s, of joints without a limit of velocity
WIDEST = 1e9  # an uncertainty, beyond which sums of squares lose it
SLOW, SLOW_PART = 0.02, 0.01  # rad/s or m/s; of a limit of velocity


def _group(robot: Robot, parameters: Any) -> tuple[list[Parameter], bool]:
    """The parameters of the robot in their order, and whether a payload is among what is sought."""
    names = [parameters] if isinstance(parameters, str) else parameters
    allowed = (
        f"allowed: 'payload', 'friction', names such as {robot.parameter_names[0]}, patterns such as Fv*, "
        "and lists of these"
    )
    if not isinstance(names, Sequence) or not names or not all(isinstance(x, str) for x in names):
        raise IdentificationError(f"parameters: found {shown(parameters)}; {allowed}")
    possible, found = _possible(robot), set[Parameter]()
    for name in names:
        own = _own(robot) if name == "friction" else [p for p in possible if fnmatchcase(p.name, name)]
        found |= set(own)
        if own or name == "payload":
            continue
        if any(fnmatchcase(x, name) for x in robot.parameter_names):
            raise IdentificationError(
                f"parameters: {name!r} cannot be fitted: torques are not linear in load friction, "
                "and of a joint without a rotor there is no Im"
            )
        raise IdentificationError(f"parameters: {name!r} is none of {robot.name}; {allowed}")
    return [p for p in possible if p in found], "payload" in names


def _own(robot: Robot) -> list[Parameter]:
    """Viscous friction, Coulomb friction and offset of the joints that are coordinates."""
    model = robot.model
    joints = [j for j, link in enumerate(model.moving) if link in model.coordinates]
    return [Parameter(symbol("joint", term), j) for j in joints for term in EVERYWHERE]


def _possible(robot: Robot) -> list[Parameter]:
    """All parameters that can be sought: offsets also where the robot has none."""
    there = [p for p in layout(robot.model) if p.kind.is_linear and exists(robot.model, p)]
    return there + [p for p in _own(robot) if p not in there]


def _is_friction(parameter: Parameter) -> bool:
    return parameter.kind.entry in TERMS and parameter.kind.part in ("joint", "motor", "idler", "damper")


def _torques(robot: Robot) -> np.ndarray:
    """(n,) how large torques of joints may be: their limits, or what gravity and 1 rad/s² ask for."""
    limits, rng = joint_limits(robot).torque, np.random.default_rng(0)
    if np.isfinite(limits).all():
        return limits
    loops = robot.model.loops
    q = random_postures(robot.assembly, rng, 16) if loops else rng.uniform(-1, 1, (64, robot.n))
    needed = np.abs(robot.gravity(q)).max(axis=0) + np.abs(robot.inertia(q)).sum(axis=-1).max(axis=0)
    return np.where(np.isfinite(limits), limits, needed)


def _uncertainty(sought: Sought, names: Sequence[str], prior: np.ndarray, given: Any) -> np.ndarray:
    """(k,) standard deviations of what is known before."""
    if given is not None and not isinstance(given, Mapping):
        raise IdentificationError(f"uncertainty: expected {{name: deviation}}, found {shown(given)}")
    wanted: dict[str, float] = {}
    for pattern, x in (given or {}).items():
        some = [name for name in names if isinstance(pattern, str) and fnmatchcase(name, pattern)]
        if not some:
            raise IdentificationError(
                f"uncertainty: found {shown(pattern)}; allowed: {', '.join(names)}, and patterns of them"
            )
        deviation = check.positive(f"uncertainty[{pattern!r}]", x)
        if not 1 / WIDEST <= deviation <= WIDEST:
            raise IdentificationError(
                f"uncertainty[{pattern!r}]: found {deviation:g}; {1 / WIDEST:g} to {WIDEST:g} is allowed"
            )
        wanted |= dict.fromkeys(some, deviation)
    robot, own = sought.robot, (*sought.friction, *sought.others)
    sizes = [_size(robot, p) for p in own]
    if sought.payload:
        arm = dict(zip(robot.parameter_names, robot.parameters, strict=True))
        mass = sum(arm[f"m{j + 1}"] for j in range(len(robot.model.moving)))
        sizes += [wanted.get("m", CARRIED * mass) * x for x in UNITS]
    found = np.maximum(sizes, np.abs(prior))
    found = np.array([wanted.get(name, x) for name, x in zip(names, found, strict=True)])
    if not found.all():
        name = names[int(np.argmin(found))]
        raise IdentificationError(
            f"uncertainty: the description says nothing of the size of {name}; "
            f"give uncertainty={{{name!r}: …}}"
        )
    return found


def _size(robot: Robot, parameter: Parameter) -> float:
    """How large a parameter may be that the description says is zero; 0: nobody knows."""
    joint, kind = parameter.joint, parameter.kind
    if kind.part == "body":
        mass = robot.parameters[robot.parameter_names.index(f"m{joint + 1}")]
        return float(mass * UNITS[ENTRIES.index(kind.entry)])
    if kind.part != "joint":
        return 0.0
    i = robot.model.coordinates.index(robot.model.moving[joint])
    fastest = joint_limits(robot).velocity[i]
    speed = fastest if np.isfinite(fastest) else FAST
    return float(RUBBED * _torques(robot)[i] / speed ** float(TERMS[kind.entry].power))


# ------------------------------------------------------------------------------------------------------------
# The fit.


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of an online fit over time: `parameters` (T, ..., k) with their standard `deviations`.

    `t` (T,) [s] counts from the first sample of the fit; `names` (k) are those of the parameters.
    """

    names: tuple[str, ...]
    t: np.ndarray = field(repr=False)
    parameters: np.ndarray = field(repr=False)
    deviations: np.ndarray = field(repr=False)

    def __getitem__(self, name: str) -> np.ndarray:
        """The estimates (T, ...) of one parameter."""
        if name not in self.names:
            raise IdentificationError(f"found {shown(name)}; allowed: {', '.join(self.names)}")
        return np.asarray(self.parameters[..., self.names.index(name)])


class OnlineFit:
    """Recursive least squares for parameters of a robot while it moves: one sample after the other.

    `parameters`: "payload", the ten numbers of a body at the tip frame (or at the frame of `link`) beside
    what the description carries; "friction", viscous and Coulomb friction and offset of each joint; names or
    patterns of the robot's parameters, such as "m6" and "Fv*"; or a list of these. All others keep the values
    of the description.

    `update` takes positions, velocities and torques, `step` [s] after those before, in turn; accelerations
    are not needed. Torques and model pass a filter of first order with the `cutoff` [Hz]. `held`: torques are
    commands that stay from one sample to the next. `forgetting` [s] is the time after which a sample counts
    1/e; infinite, all count the same, and the estimates are those of least squares over all samples.

    `uncertainty` {name or pattern: standard deviation} says how far values of the description may be off. By
    default: as much as the values themselves, and what arms of this size may have. It does not fade. `noise`
    [N m or N], one number or (n,), is that of a torque sample, if it is white; by default it is found from
    what the fit leaves unexplained. Joints slower than `slow` [rad/s or m/s] do not count, as the direction
    of their friction is not sure; by default 1 % of their limit of velocity, or 0.02, where there is dry
    friction, else 0.
    """

    def __init__(
        self,
        robot: Robot,
        parameters: str | Sequence[str] = "payload",
        step: float = 1e-3,
        *,
        cutoff: float = 5.0,
        forgetting: float = np.inf,
        uncertainty: Mapping[str, float] | None = None,
        noise: Any = None,
        slow: Any = None,
        held: bool = False,
        link: str | None = None,
    ) -> None:
        given = check.robot(robot)
        chosen, payload = _group(given, parameters)
        if link is not None and not payload:
            raise IdentificationError("link: it is where a payload is; leave it out")
        self.link, self.robot_before = link, given
        carrier = carrier_of(given, link) if payload else given
        if not isinstance(held, bool):
            raise IdentificationError(f"held: found {held!r}; True or False is expected")
        friction = tuple(p for p in chosen if _is_friction(p))
        others = tuple(p for p in chosen if not _is_friction(p))
        self._sought = Sought(carrier, friction, others, payload, held)
        if self._sought.size > MOST:
            raise IdentificationError(
                f"parameters: found {self._sought.size}; at most {MOST} are fitted online"
            )
        self.names = (*(p.name for p in (*friction, *others)), *(ENTRIES if payload else ()))
        known = dict(zip(given.parameter_names, given.parameters, strict=True))
        self.prior = np.array([known.get(x, 0.0) for x in self.names])
        self.uncertainty = _uncertainty(self._sought, self.names, self.prior, uncertainty)
        self.step = check.positive_time("step", step)
        self.cutoff = check.positive("cutoff", cutoff)
        self.forgetting = _forgetting(forgetting, self.step)
        self._noise = None if noise is None else _positive("noise", noise, given.n)
        self.slow = self._slow(slow)
        self.reset()

    def _slow(self, slow: Any) -> np.ndarray:
        robot, n = self.robot_before, self.robot_before.n
        if slow is not None:
            found = np.array(check.per_joint("slow", slow, n))
            if not (np.isfinite(found) & (found >= 0)).all():
                raise IdentificationError(f"slow: found {shown(slow)}; speeds of 0 or more are expected")
            return found
        jumps = any(TERMS[p.kind.entry].jumps for p in self._sought.friction)
        if not jumps and not any(surface.is_dry for surface in robot.mechanism.friction):
            return np.zeros(n)
        fastest = joint_limits(robot).velocity
        return np.where(np.isfinite(fastest), SLOW_PART * fastest, SLOW)

    def reset(self) -> None:
        """Forget all samples: the next one begins anew."""
        self._state: np.ndarray | None = None
        self._batch: tuple[int, ...] = ()
        self._code = self._sought
        self._count = 0
        self._found: tuple[np.ndarray, np.ndarray] | None = None

    # ---- samples -----------------------------------------------------------------------------------------

    def update(self, q: Any, qd: Any, tau: Any, qdd: Any = None) -> None:
        """Take in one more sample q, q̇, τ (..., n), of any batch of arms; with q̈, if it is known.

        A sample with a number that is not finite is left out, and counted in `ignored`.
        """
        self._take_in([x[None] for x in self._begun(q, qd, tau, qdd, 0)])

    def run(self, q: Any, qd: Any, tau: Any, qdd: Any = None, *, every: int = 1) -> Estimates:
        """Take in T samples (T, ..., n), as `update` does one after the other; the estimates on the way.

        Estimates are given after each of the samples, or after `every` so many of them.
        """
        size = check.whole_number("every", every, 1)
        samples, before = self._begun(q, qd, tau, qdd, 1), self._count
        states = []
        for start in range(0, len(samples[0]), size):
            self._take_in([x[start : start + size] for x in samples])
            states.append(self._states.copy())
        estimate, root = self._estimated(np.array(states))
        ends = np.minimum(size * np.arange(1, len(states) + 1), len(samples[0])) - 1
        return Estimates(self.names, self.step * (before + ends), estimate, _deviations(root))

    def _begun(self, q: Any, qd: Any, tau: Any, qdd: Any, over_time: int) -> list[np.ndarray]:
        """The samples as arrays that the code takes; what does not go with those before is refused."""
        n = self.robot_before.n
        given = {"q": q, "qd": qd} | ({} if qdd is None else {"qdd": qdd}) | {"tau": tau}
        arrays = [check.floats(name, x) for name, x in given.items()]
        for name, x in zip(given, arrays, strict=True):
            if x.shape[-1:] != (n,):
                raise IdentificationError(f"{name}: expected (..., {n}), found {x.shape}")
        try:
            arrays = list(np.broadcast_arrays(*arrays))
        except ValueError:
            found = ", ".join(f"{name} {x.shape}" for name, x in zip(given, arrays, strict=True))
            raise IdentificationError(f"shapes do not fit together: {found}") from None
        lead = arrays[0].shape[:-1]
        if len(lead) < over_time or 0 in lead:
            raise IdentificationError(
                f"q, qd, tau: expected samples over time (T, ..., {n}), found {(*lead, n)}"
            )
        batch = lead[over_time:]
        if self._state is None:
            self._code = replace(self._sought, accelerated=qdd is not None)
            self._batch, self._state = batch, np.zeros((1, int(np.prod(batch)), self._code.width))
        if batch != self._batch:
            raise IdentificationError(
                f"q, qd, tau: found arms {batch}, before {self._batch}; reset() begins with others"
            )
        if self._code.accelerated != (qdd is not None):
            raise IdentificationError("qdd: give it with every sample or with none; reset() begins anew")
        if self.robot_before.model.loops:
            arrays[0] = self._positions(arrays[0])
        return arrays

    def _positions(self, q: np.ndarray) -> np.ndarray:
        """All positions (..., positions) of coordinates; those that are no numbers stay so."""
        right = np.isfinite(q).all(axis=-1)
        found = np.full((*q.shape[:-1], self._sought.robot.mechanism.positions), np.nan)
        found[right] = self.robot_before.assembly(q[right])
        return found

    def _take_in(self, samples: Sequence[np.ndarray]) -> None:
        """Samples (T, ..., size) in their order."""
        assert self._state is not None
        rows, arms = len(samples[0]), self._state.shape[1]
        names = [name for name, _ in self._code.sample]
        given = {
            name: np.ascontiguousarray(x).reshape(rows, arms, x.shape[-1])
            for name, x in zip(names, samples, strict=True)
        }
        given |= {"settings": self.settings[None, None], "state": self._state}
        online_kernel(self._code)(arms, {"rows": rows}, given)
        self._count, self._found = self._count + rows, None

    @cached_property
    def settings(self) -> np.ndarray:
        """Settings of the compiled loop, as `Sought.settings` lists them."""
        weights = -np.expm1(-self.step * np.array([2 * np.pi * self.cutoff, 1 / SLOWEST]))
        kept = np.exp(-self.step / self.forgetting * np.array([1, 0.5]))
        noise = np.zeros(self.robot_before.n) if self._noise is None else 1 / self._noise
        return np.concatenate([[self.step], weights, kept, noise, self.slow])

    # ---- estimates ---------------------------------------------------------------------------------------

    @property
    def parameters(self) -> np.ndarray:
        """The estimates (..., k), in the order of `names`."""
        return self._now[0]

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations (..., k) of the estimates."""
        return _deviations(self._now[1])

    @property
    def covariance(self) -> np.ndarray:
        """The covariance (..., k, k) of the estimates."""
        root = self._now[1]
        return np.asarray(root @ np.swapaxes(root, -1, -2))

    @property
    def not_shown(self) -> tuple[str, ...]:
        """Parameters that the motion has not shown so far: of one arm of a batch, if not of all.

        Their standard deviation is more than half of their uncertainty; of a payload, more than half of what
        bodies of the mass found have: the mass, times 0.1 m for first moments, (0.1 m)² for the tensor.
        """
        allowed = SHOWN * np.broadcast_to(self.uncertainty, self.parameters.shape).copy()
        if self._sought.payload:
            mass = np.maximum(np.abs(self.parameters[..., -len(ENTRIES)]), 0.1)
            allowed[..., -len(ENTRIES) :] = SHOWN * mass[..., None] * UNITS
        hidden = np.any((self.deviations > allowed).reshape(-1, len(self.names)), axis=0).tolist()
        return tuple(name for name, x in zip(self.names, hidden, strict=True) if x)

    @property
    def payload(self) -> Payload:
        """What the arm carries, as `identify_payload` gives it; refused while its mass is not shown."""
        self._alone("payload")
        if not self._sought.payload:
            raise IdentificationError("payload: it is not among the parameters of this fit")
        k = len(ENTRIES)
        entries, root = self.parameters[-k:], self._now[1][-k:, -k:]
        covariance = root @ root.T
        hidden = not_shown(covariance, max(abs(float(entries[0])), 0.1))
        if "m" in hidden:
            raise IdentificationError(
                "payload: the motion so far does not show its mass: move joints that lift or accelerate it"
            )
        found = BodyEstimate(
            entries,
            covariance,
            np.linalg.inv(root),
            hidden,
            self.residual,
            self._mean("before"),
            np.zeros(0),
        )
        return payload_of(found, self.link, {}, None, [], self._offsets)

    @property
    def robot(self) -> Robot:
        """The robot with the estimates: the parameters, and what it carries."""
        self._alone("robot")
        robot = self.robot_before
        found = dict(zip(self.names, self.parameters.tolist(), strict=True))
        added = {p.joint: found[p.name] for p in self._sought.friction if p.name not in robot.parameter_names}
        if added:
            joints = {robot.model.moving[j].name: {"offset": x} for j, x in added.items()}
            robot = robot.with_friction(joints)
        values = [found.get(x, y) for x, y in zip(robot.parameter_names, robot.parameters, strict=True)]
        robot = robot.with_parameters(values)
        return robot.with_payload(**self.payload.arguments) if self._sought.payload else robot

    @property
    def residual(self) -> np.ndarray:
        """Root mean square (..., n) of the filtered torques that the parameters do not explain [N m or N]."""
        return self._mean("squares")

    @property
    def noise(self) -> np.ndarray:
        """The noise (..., n) of a torque sample by which the joints are weighted [N m or N]."""
        if self._noise is not None:
            return self._noise
        white = 2 / self.settings[2] - 1
        guess = FIRST * GUESS**2 * self._part("loads") / self._part("time")
        return np.asarray(
            np.sqrt(white * (guess + self._part("levels")) / (FIRST + self._part("used")) + LEAST)
        )

    @property
    def ignored(self) -> np.ndarray:
        """How many samples (...) were left out, as a number of them was none."""
        return np.asarray(self._part("ignored")[..., 0].astype(int))

    @property
    def _offsets(self) -> np.ndarray:
        """(n,) the offsets of the joints, where they are estimated."""
        model, found = self.robot_before.model, np.zeros(self.robot_before.n)
        for name, p in zip(self.names, self._sought.friction, strict=False):
            if p.kind.entry == "offset":
                found[model.coordinates.index(model.moving[p.joint])] = self.parameters[
                    self.names.index(name)
                ]
        return found

    def text(self) -> str:
        """The estimates with 95 % intervals, a line each."""
        self._alone("text")
        hidden, lines = self.not_shown, []
        units = [unit(self.robot_before, p) for p in (*self._sought.friction, *self._sought.others)]
        units += ["kg", *["kg m"] * 3, *["kg m²"] * 6] * self._sought.payload
        for name, x, deviation, of in zip(self.names, self.parameters, self.deviations, units, strict=True):
            doubt = " (not shown)" * (name in hidden)
            lines.append(f"{name} {x:.4g} ± {1.96 * deviation:.2g} {of}{doubt}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        arms = f", arms {self._batch}" if self._batch else ""
        return (
            f"<OnlineFit of '{self.robot_before.name}': {len(self.names)} parameters{arms}, "
            f"{self._count} samples>"
        )

    @property
    def _now(self) -> tuple[np.ndarray, np.ndarray]:
        """Estimates and roots of their covariances after the samples so far."""
        if self._found is None:
            self._found = self._estimated(self._states)
        return self._found

    @property
    def _states(self) -> np.ndarray:
        """(..., size); zeros before the first sample."""
        if self._state is None:
            return np.zeros(self._code.width)
        return np.asarray(self._state[0].reshape(*self._batch, -1))

    def _part(self, name: str) -> np.ndarray:
        return np.asarray(self._states[..., self._code.state[name]])

    def _mean(self, name: str) -> np.ndarray:
        """The root of the mean of squares that the state sums up, (..., n); 0 before samples count."""
        time = self._part("used")
        return np.asarray(np.sqrt(self._part(name) / np.where(time > 0, time, 1)))

    def _estimated(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        estimate, root = estimate_kernel(self._code)(states, self._known)
        return estimate, root

    @cached_property
    def _known(self) -> np.ndarray:
        """What the estimate takes as known before: values, then 1/deviation."""
        return np.concatenate([self.prior, 1 / self.uncertainty])

    def _alone(self, what: str) -> None:
        if self._batch:
            raise IdentificationError(f"{what}: it is of one arm; found arms {self._batch}")


def _deviations(root: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(np.square(root).sum(axis=-1)))


def _forgetting(x: Any, step: float) -> float:
    found = check.number("forgetting", x)
    if not found > step:
        raise IdentificationError(
            f"forgetting: found {found:g} s; more than the step, {step:g} s, is expected"
        )
    return found


def _positive(name: str, x: Any, n: int) -> np.ndarray:
    found = np.array(check.per_joint(name, x, n))
    if not (np.isfinite(found) & (found > 0)).all():
        raise IdentificationError(f"{name}: found {shown(x)}; positive numbers are expected")
    return found


# ------------------------------------------------------------------------------------------------------------
# The same as C.


SAMPLES = 8  # that a step is tested with


def online_source(
    fit: OnlineFit, prefix: str | None = None, scalar: str = "double", libm: bool = True
) -> CSource:
    """`PREFIX_online(rows, settings, q, qd, tau, state)` and `PREFIX_estimate(state, prior, out1, out2)`.

    The first takes in a sample in each cycle of a controller, with rows = 1 and one `state` that was zero
    before the first. The second gives estimates and a root of their covariance at any time. The header has
    `PREFIX_SETTINGS` and `PREFIX_PRIOR`, those of this fit as initializers, and `PREFIX_STATE`, the size of
    the state. A fit that has been given accelerations takes them in C too, after qd.
    """
    if not isinstance(fit, OnlineFit):
        raise IdentificationError(f"fit: expected an OnlineFit, found {type(fit).__name__}")
    check.one_of("scalar", scalar, "double", "float")
    sought, robot, n = fit._code, fit.robot_before, fit.robot_before.n
    name, size = identifier(prefix or robot.name), sought.size
    meanings = {x: f"of each sample, {MEANINGS[x]}" for x, _ in sought.sample}
    if robot.model.loops:
        meanings["q"] = f"of each sample, {ALL_POSITIONS}"
    if sought.held:
        meanings["tau"] += ", held until the next sample"
    parts = ", ".join(f"{x} ({part.stop - part.start})" for x, part in sought.state.items())
    settings = (
        "step [s]; weights of a sample in the filters of torques and of noise; what is kept of the past, and "
        f"its root; 1/noise, 0 where it is to be found ({n}); speeds that are slow ({n})"
    )
    state = f"zeros before the first sample; then for the next call: {parts}"
    meanings |= {"rows": "samples", "settings": settings, "state": state}
    language = Language(scalar, libm)
    loop = online_loop(sought)
    function = loop_function(name, loop, language, meanings)
    kept = {"settings": ("settings", fit.settings), "state": ("memory", np.zeros(sought.width))}
    rng = np.random.default_rng(7)
    samples = {x: rng.uniform(-1.0, 1.0, (SAMPLES, size)) for x, size in sought.sample}
    said = {x: text.removeprefix("of each sample, ") for x, text in meanings.items()}
    taken = loop_state(name, loop, language, kept, samples, said)
    prior, listed = fit._known, ", ".join(fit.names)
    macros = [
        f"#define {name.upper()}_STATE {sought.width} /* numbers of the state */\n",
        initializer(name, "settings", fit.settings, scalar, "settings of this fit"),
        initializer(name, "prior", prior, scalar, "what is known before, by the description of this robot"),
    ]
    root = "S, with the covariance S S^T: standard deviations are the roots of the sums of its rows' squares"
    words = Words(
        {
            "state": "the state after a sample",
            "prior": f"what is known before of {listed}: values, then 1/standard deviation",
        },
        {"estimate": [f"estimates of {listed}", root]},
    )
    example = np.zeros(sought.width)
    example[sought.state["factor"]] = [*(float(i == j) for i, j in sought.entries), *np.linspace(-1, 1, size)]
    further = Further(macros, [function], taken, inputs={"state": example, "prior": prior})
    programs = {"estimate": estimate_program(sought)}
    title = f"Online fit of {robot.name}"
    return c_source(title, name, programs, joint_descriptions(robot), language, words, further)
