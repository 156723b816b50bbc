"""`size_drives`: motors and gears of a catalogue for every joint, so that the arm carries its cycles.

What the drives weigh and how their rotors spin changes the loads, mostly of the joints before them. So they
are chosen together, by branch and bound: joint by joint, those first whose loads the others do not change
(of a serial arm the last). Where a drive is still open, its mass and rotor may be any of those left, and the
loads of the others lie in intervals; what a pair needs at the least (`drive_limits`) rules it out for good,
and the sum of what the joints cost at the least bounds the objective. The node with the least bound is taken
next: assignments come out in their order, and what has not come out costs at least as much as the next node.

Where to read on: `drive_loads` has the loads, `drive_limits` the formulas, `catalogue` motors and gears.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from itertools import count as counted
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from armdyn.display import Shown
from armdyn.expression import shown
from armdyn.model.edit import by_joint
from armdyn.motion.cycles import load_cycle
from armdyn.motion.timing.time_optimal import TimeOptimal, time_optimal
from armdyn.motion.torques import steady_wrench
from armdyn.motion.trajectory import Trajectory
from armdyn.names import listed, quoted
from armdyn.progress import Update, progress_bar
from armdyn.robot import Robot
from armdyn.studies.catalogue import Catalogue, Pair, load_catalogue
from armdyn.studies.drive_limits import (
    LIMITS,
    PLACE,
    Bounds,
    Demands,
    Found,
    PairTable,
    Points,
    evaluate,
    points,
)
from armdyn.studies.drive_loads import Drive, DriveLoads, Reference
from armdyn.studies.errors import StudyError, check

Objective: TypeAlias = Literal["mass", "cost", "energy", "time"]
UNITS = {"mass": "kg", "cost": "", "energy": "W", "time": "kg"}  # of the objective; `time`: of what ranks
WITHIN = 1e-9  # of a limit: exceeded by no more, it is kept
RATE = 1e-3  # to which the rate of the cycles is found
SLOWEST, FASTEST = 1 / 16, 16.0
AT_ONCE = 512  # pairs
DIVES = 200  # nodes for an assignment where the search stops without one


# ------------------------------------------------------------------------------------------------------------
# What is found.


@dataclass(frozen=True, eq=False)
class DriveRow:
    """A pair at a joint: what the cycles ask of it, against what it bears."""

    joint: str
    pair: Pair
    values: dict[str, float]  # by the keys of LIMITS; of life the hours there are
    bounds: dict[str, float]  # infinite for none; of life the hours asked for
    use: dict[str, float]  # in parts of the bound; above 1 it is exceeded
    rms_torque: float  # N m, of the motor
    rms_output: float  # N m, of the gear's output
    power: float  # W, drawn in the mean

    @classmethod
    def of(cls, joint: str, pair: Pair, found: Found, row: int = 0) -> DriveRow:
        """A row of what was found for some pairs."""

        def named(x: np.ndarray) -> dict[str, float]:
            return {limit.key: float(v) for limit, v in zip(LIMITS, x[row], strict=True)}

        numbers = (float(x[row]) for x in (found.rms_torque, found.rms_output, found.power))
        return cls(joint, pair, named(found.values), named(found.bounds), named(found.use), *numbers)

    @property
    def tightest(self) -> str:
        """The key of the limit of which most is used."""
        return max(self.use, key=lambda key: self.use[key])

    @property
    def within(self) -> bool:
        """True if the pair bears all of it."""
        return self.use[self.tightest] <= 1 + WITHIN

    @property
    def reasons(self) -> list[str]:
        """A line for each limit that is exceeded, the worst first; none where the pair bears all."""
        keys = sorted(self.use, key=lambda key: -self.use[key])
        return [limit_text(self, key) for key in keys if self.use[key] > 1 + WITHIN]


def limit_text(row: DriveRow, key: str) -> str:
    """Such as "132 % of the peak torque of the gear: 45 of 34 N m"."""
    limit, value, bound = LIMITS[PLACE[key]], row.values[key], row.bounds[key]
    unit = f" {limit.unit}" if limit.unit else ""
    if key == "life":
        return f"life of the gear: {value:.4g} of {bound:.4g} h"
    if bound == 0:
        return f"{limit.text}: {value:.4g}{unit}, and there is no brake"
    return f"{100 * row.use[key]:.4g} % of the {limit.text}: {value:.4g} of {bound:.4g}{unit}"


@dataclass(frozen=True, eq=False)
class DriveAssignment:
    """A pair for each joint, and what the cycles ask of them with one another's masses and rotors."""

    rows: tuple[DriveRow, ...]
    objective: float

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs, in the order of the joints."""
        return tuple(row.pair for row in self.rows)

    @property
    def mass(self) -> float:
        """All drives together [kg]."""
        return sum(pair.mass for pair in self.pairs)

    @property
    def cost(self) -> float:
        """All drives together, in the catalogue's unit."""
        return sum(pair.cost for pair in self.pairs)

    @property
    def power(self) -> float:
        """Drawn from the bus in the mean [W]; what comes back is lost."""
        return sum(row.power for row in self.rows)

    @property
    def within(self) -> bool:
        """True if every pair bears its part."""
        return all(row.within for row in self.rows)

    def __str__(self) -> str:
        return ", ".join(f"{row.joint}: {row.pair.name}" for row in self.rows)


@dataclass(frozen=True, eq=False)
class NextDown:
    """The pair below a chosen one in the objective, the other drives as they are, and why it does not do."""

    row: DriveRow
    saves: float  # of its joint's part of the objective
    together: DriveAssignment  # with the other drives as they are

    def __str__(self) -> str:
        name = f"{self.row.joint}: {self.row.pair.name}"
        if self.row.reasons:
            return f"{name}: {self.row.reasons[0]}"
        for row in self.together.rows:
            if row.reasons:
                return f"{name}: it bears its part, but then {row.joint} has {row.reasons[0]}"
        return f"{name}: what it saves itself, the others take more"


@dataclass(frozen=True, eq=False)
class Sizing(Shown):
    """Drives for every joint, the best assignments first.

    `complete`: no other assignment is better than these. Otherwise the search stopped early, and the best
    one could at most be better by `gap`, in parts of its objective: nothing is below `bound`.
    """

    catalogue: Catalogue
    objective: str
    assignments: tuple[DriveAssignment, ...] = field(repr=False)
    bound: float
    nodes: int  # that the search looked at
    rate: float  # how many times as fast as given the cycles are; 1 unless the objective is time
    problem: Problem = field(repr=False)

    @property
    def best(self) -> DriveAssignment:
        """The first assignment."""
        return self.assignments[0]

    @property
    def gap(self) -> float:
        """How much better than the first another assignment could be, in parts of its objective."""
        best = self.best.objective
        return max(0.0, (best - self.bound) / best) if best > 0 else 0.0

    @property
    def complete(self) -> bool:
        """Whether the first assignment is proved the best."""
        return self.gap <= WITHIN

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints whose drives were chosen."""
        return self.problem.loads.reference.names

    @property
    def durations(self) -> tuple[float, ...]:
        """How long the cycles take [s]."""
        return tuple(self.problem.loads.at.durations.tolist())

    # ---- the robot -------------------------------------------------------------------------------------

    @property
    def robot(self) -> Robot:
        """The robot with the drives of the first assignment."""
        return self.robot_with(self.best)

    def robot_with(self, assignment: DriveAssignment) -> Robot:
        """The robot with the drives of an assignment, their limits at the shafts included."""
        return self.problem.loads.reference.with_drives([Drive.of(pair) for pair in assignment.pairs])

    def least_time(
        self, cycle: int = 0, assignment: DriveAssignment | None = None, **limits: Any
    ) -> TimeOptimal:
        """A cycle on its path in least time under what the drives bear for a short time, by `time_optimal`.

        Whether they bear it for ever, and the life of the gears, are not looked at: `evaluate` does for a
        cycle. A robot file has no efficiency; of the torque of a gear at its limit the motor's is lowered.
        """
        robot, cycles = (
            self.robot_with(self.best if assignment is None else assignment),
            self.problem.loads.cycles,
        )
        if check.whole_number("cycle", cycle) >= len(cycles):
            raise StudyError(f"cycle: found {cycle}; there are {len(cycles)}, the first is 0")
        return time_optimal(robot, cycles[cycle], **limits)

    # ---- other choices ---------------------------------------------------------------------------------

    def evaluate(self, pairs: Sequence[Pair] | Mapping[str, Pair]) -> DriveAssignment:
        """What the cycles ask of these pairs, in the order of `joints` or by joint."""
        if isinstance(pairs, Mapping):
            links = self.problem.loads.reference.links
            given = by_joint(self.problem.loads.reference.robot.model, pairs, "pairs")
            missing = [link.joint_label for link in links if link.name not in given]
            if missing:
                raise StudyError(f"pairs: none for joint {quoted(missing[0])}")
            pairs = [given[link.name] for link in links]  # type: ignore[misc]
        if (
            not isinstance(pairs, list | tuple)
            or len(pairs) != len(self.joints)
            or not all(isinstance(pair, Pair) for pair in pairs)
        ):
            raise StudyError(
                f"pairs: found {shown(pairs)}; {len(self.joints)} pairs of a catalogue are expected, one for "
                "each joint"
            )
        return self.problem.assignment(tuple(pairs))

    def verdicts(self, joint: str) -> list[DriveRow]:
        """Every pair of the catalogue at a joint, the other drives being those of the first assignment.

        In the order of the objective. `row.within` says whether it carries the cycles there, `row.use` how
        much of each limit it takes, `row.reasons` what rules it out.
        """
        i = self._joint(joint)
        problem, table = self.problem, self.problem.tables[i]
        everything = np.arange(len(table))
        bounds = problem.bounds_of(i, self.best.pairs)
        found = evaluate(problem.judged, i, bounds, table, everything, problem.demands)
        costs = problem.costs(i, found, everything)
        return [
            DriveRow.of(self.joints[i], table.pairs[k], found, k) for k in np.argsort(costs, kind="stable")
        ]

    def next_down(self) -> list[NextDown]:
        """Of each joint the next pair below the chosen one in the objective, and the limit that it breaks."""
        found = []
        for i, (joint, chosen) in enumerate(zip(self.joints, self.best.rows, strict=True)):
            rows = self.verdicts(joint)
            here = self.problem.cost_of(i, chosen)
            below = [row for row in rows if self.problem.cost_of(i, row) < here * (1 - WITHIN)]
            if below:
                pairs = list(self.best.pairs)
                pairs[i] = below[-1].pair
                saves = here - self.problem.cost_of(i, below[-1])
                found.append(NextDown(below[-1], saves, self.problem.assignment(pairs)))
        return found

    def points(self, joint: str, assignment: DriveAssignment | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Speeds [rad/s] and torques [N m] (R,) of the motor at a joint over the cycles."""
        i = self._joint(joint)
        pairs = (self.best if assignment is None else assignment).pairs
        found = self.problem.points(i, pairs)
        return found.speed[0], found.motor[0][0]

    def _joint(self, name: str) -> int:
        if name in self.joints:
            return self.joints.index(name)
        links = [link.name for link in self.problem.loads.reference.links]
        if name in links:
            return links.index(name)
        raise StudyError(f"joint: found {shown(name)}; those sized: {listed(self.joints)}")

    # ---- as text ---------------------------------------------------------------------------------------

    def cells(self, assignment: DriveAssignment | None = None) -> tuple[list[str], list[list[str]]]:
        """Headings and cells of a table of an assignment, a row for each joint."""
        headings = ["joint", "motor + gear-ratio", "kg", "thermal N m", "of", "peak N m", "rad/s", "gear N m"]
        headings += ["life h", "J ratio", "most used"]
        rows = []
        for row in (self.best if assignment is None else assignment).rows:
            value, tight = row.values, row.tightest
            numbers = [row.pair.mass, value["thermal_torque"], row.bounds["thermal_torque"]]
            numbers += [value[key] for key in ("peak_torque", "motor_speed", "gear_peak_torque")]
            life = "∞" if np.isinf(value["life"]) else f"{value['life']:.4g}"
            cells = [row.joint, row.pair.name, *(f"{x:.4g}" for x in numbers), life]
            used = f"{tight.replace('_', ' ')} {100 * row.use[tight]:.0f} %{'' if row.within else ' !'}"
            rows.append([*cells, f"{value['inertia_ratio']:.3g}", used])
        return headings, rows

    def sentences(self) -> list[str]:
        """What there is to say about all drives together, and about the search."""
        best = self.best
        text = [
            f"drives: {best.mass:.5g} kg, cost {best.cost:.6g}, {best.power:.5g} W drawn in the mean",
            f"cycle{'s' * (len(self.durations) > 1)} of {', '.join(f'{x:.5g}' for x in self.durations)} s",
        ]
        if self.rate != 1:
            text.append(f"the cycles go {self.rate:.4g} times as fast as given")
        if self.complete:
            text.append(f"no other assignment has less {self._what}: {self.nodes} nodes were looked at")
        else:
            text.append(
                f"the search stopped after {self.nodes} nodes: another assignment may have up to "
                f"{100 * self.gap:.3g} % less {self._what}"
            )
        if not self.problem.judged.feedback:
            text.append("chosen by the loads of the arm without drives: evaluate(pairs) says what they carry")
        if np.isinf(self.problem.demands.voltage):
            text.append("no bus voltage was given, so none limits the speed")
        return text

    @property
    def _what(self) -> str:
        return {"time": "mass at this pace", "energy": "power"}.get(self.objective, self.objective)

    def __str__(self) -> str:
        headings, rows = self.cells()
        widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
        lines = [
            "  ".join([*(x.ljust(w) for x, w in zip(line, widths, strict=True))]).rstrip()
            for line in (headings, *rows)
        ]
        down = [f"one size down: {one}" for one in self.next_down()]
        return "\n".join([*lines, *self.sentences(), *down])

    def markdown(self) -> str:
        """The first assignment as a table in Markdown, and the others in a list."""
        headings, rows = self.cells()
        lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
        lines += [f"| {' | '.join(row)} |" for row in rows]
        lines += ["", *(f"- {text}" for text in self.sentences())]
        lines += [f"- one size down: {one}" for one in self.next_down()]
        unit = f" {UNITS[self.objective]}".rstrip()
        others = [f"{i}. {x.objective:.5g}{unit}: {x}" for i, x in enumerate(self.assignments, 1)]
        return "\n".join([*lines, "", *others, ""])

    def to_dict(self) -> dict[str, Any]:
        """All assignments as plain data, for JSON; what has no bound is None."""

        def plain(x: float) -> float | None:
            return float(x) if np.isfinite(x) else None

        def row_of(row: DriveRow) -> dict[str, Any]:
            pair = row.pair
            limits = {
                key: {"value": plain(row.values[key]), "bound": plain(row.bounds[key]), "use": plain(use)}
                for key, use in row.use.items()
            }
            return {
                "joint": row.joint,
                "motor": pair.motor.name,
                "gear": pair.gear.name,
                "ratio": pair.ratio,
                "brake": pair.brake,
                "mass": pair.mass,
                "cost": pair.cost,
                "rms_torque": row.rms_torque,
                "rms_output": row.rms_output,
                "power": row.power,
                "limits": limits,
            }

        return {
            "robot": self.problem.loads.reference.robot.name,
            "catalogue": self.catalogue.name,
            "objective": self.objective,
            "bound": plain(self.bound),
            "gap": self.gap,
            "nodes": self.nodes,
            "rate": self.rate,
            "durations": list(self.durations),
            "assignments": [
                {
                    "objective": x.objective,
                    "mass": x.mass,
                    "cost": x.cost,
                    "power": x.power,
                    "drives": [row_of(row) for row in x.rows],
                }
                for x in self.assignments
            ],
        }

    def to_json(self) -> str:
        """The same as JSON."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False)

    def __repr__(self) -> str:
        state = "complete" if self.complete else f"gap {100 * self.gap:.3g} %"
        return f"<Sizing of {len(self.joints)} drives for {self.objective}, {state}: {self.best}>"


# ------------------------------------------------------------------------------------------------------------
# The problem: loads, pairs and demands, and intervals of loads where drives are open.

Choice: TypeAlias = tuple[int, ...]  # by joint, the row of its table; -1 where it is open


@dataclass(frozen=True)
class Problem:
    """Loads at k joints, the pairs that each may have, and what is asked for.

    `judged` are the loads that pairs are chosen by: `loads`, but where feedback is left out.
    """

    loads: DriveLoads
    judged: DriveLoads
    tables: tuple[PairTable, ...]
    demands: Demands
    objective: str

    def costs(self, i: int, found: Found, chosen: np.ndarray) -> np.ndarray:
        """What pairs add to the objective (P,), at the least."""
        if self.objective == "energy":
            return found.power
        table = self.tables[i]
        return np.asarray((table.cost if self.objective == "cost" else table.mass)[chosen])

    def cost_of(self, i: int, row: DriveRow) -> float:
        """What a row adds to the objective."""
        if self.objective == "energy":
            return row.power
        return row.pair.cost if self.objective == "cost" else row.pair.mass

    def bounds_of(self, i: int, pairs: Sequence[Pair], exact: bool = False) -> Bounds:
        """The torques at joint i that all other drives make, these being known."""
        loads = self.loads if exact else self.judged
        phi = PairTable(pairs).phi
        y = loads.base[i].copy()
        for j in range(loads.k):
            if j != i and loads.depends[i, j]:
                y += loads.by_drive(i, j, phi[j])
        return Bounds(y, y)

    def points(self, i: int, pairs: Sequence[Pair]) -> Points:
        """Samples of one pair at joint i."""
        return points(self.loads, i, self.bounds_of(i, pairs, True), PairTable([pairs[i]]), np.array([0]))

    def assignment(self, pairs: Sequence[Pair], exact: bool = True) -> DriveAssignment:
        """What the cycles ask of these pairs."""
        rows, total = [], 0.0
        loads = self.loads if exact else self.judged
        for i, name in enumerate(loads.reference.names):
            table = PairTable([pairs[i]])
            found = evaluate(loads, i, self.bounds_of(i, pairs, exact), table, np.array([0]), self.demands)
            rows.append(DriveRow.of(name, pairs[i], found))
            total += self.cost_of(i, rows[-1])
        return DriveAssignment(tuple(rows), total)


@dataclass(frozen=True)
class _Open:
    """What is left for a joint: pairs that are not ruled out, and what each adds to the objective."""

    chosen: np.ndarray
    costs: np.ndarray

    @cached_property
    def least(self) -> float:
        return float(self.costs.min())

    def cut(self, most: float) -> _Open:
        """Without the pairs that add more."""
        kept = self.costs <= most
        return self if kept.all() else _Open(self.chosen[kept], self.costs[kept])


@dataclass(frozen=True)
class _Node:
    """Some joints with their pairs; what is left for all. `tight`: looked at with the last choice known."""

    choice: Choice
    left: tuple[_Open, ...]
    tight: bool
    depth: int

    @cached_property
    def least(self) -> float:
        """What the objective is at the least."""
        return sum(x.least for x in self.left)


@dataclass(frozen=True)
class _Miss:
    """A joint for which no pair is left, and the pair that came closest."""

    row: DriveRow
    choice: Choice

    @property
    def use(self) -> float:
        return self.row.use[self.row.tightest]


class _Search:
    """Branch and bound over the pairs of all joints; the best node first."""

    def __init__(self, problem: Problem, nodes: int, update: Update) -> None:
        self.problem, self.loads, self.most, self.update = problem, problem.judged, nodes, update
        self.k, self.nodes = problem.judged.k, 0
        self.misses: list[_Miss] = []
        self.cutoff = np.inf  # what is worse is left out
        self.order = self._order()
        self.ranges: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}

    def _order(self) -> tuple[int, ...]:
        """Joints so that each depends on as few later ones as can be; of a serial arm from its end."""
        depends, placed = self.loads.depends, list[int]()
        while len(placed) < self.k:
            left = [i for i in range(self.k) if i not in placed]
            placed.append(min(left, key=lambda i: (sum(depends[i, j] for j in left if j != i), -i)))
        return tuple(placed)

    def run(self, count: int) -> tuple[list[Choice], float]:
        """The best `count` choices in order, and a bound of all that are not among them.

        A dive down the best children first finds some assignments; what is worse than the last of as many as
        are asked for is left out from then on, and the intervals of the root become narrower.
        """
        root = self._root(2)
        if root is None:
            return [], np.inf
        some = self._dive([root], count, count + DIVES)
        if len(some) == count:
            self.cutoff = some[-1][0] * (1 + WITHIN)
            root = self._root(1, root)
            assert root is not None
        heap: list[tuple[float, int, int, _Node]] = []
        number = counted()

        def push(node: _Node) -> None:
            if node.least <= self.cutoff:
                heappush(heap, (node.least, -node.depth, next(number), node))

        push(root)
        found: list[Choice] = []
        while heap and len(found) < count and self.nodes < self.most:
            *_, node = heappop(heap)
            if not node.tight:
                tight = self._tightened(node)
                if tight is not None:
                    push(tight)
            elif node.depth == self.k:
                found.append(node.choice)
            else:
                for child in self._children(node):
                    push(child)
        if not heap and len(found) < count and self.nodes < self.most:
            return found, np.inf
        bound = heap[0][0] if heap else self.cutoff
        if len(found) < count:  # stopped early: of those that were met on the way the best
            met = {*some, *self._dive([node for *_, node in heap], count, DIVES)}
            found += [choice for _, choice in sorted(met) if choice not in found][: count - len(found)]
        return found, bound

    def _root(self, passes: int, node: _Node | None = None) -> _Node | None:
        """All pairs but those that are ruled out whatever the others are; fewer at the second pass.

        None where a joint has no pair left.
        """
        nothing = (-1,) * self.k
        chosen = [np.arange(len(x)) for x in self.problem.tables] if node is None else self._kept(node.left)
        for _ in range(passes):
            self.ranges = {
                (i, j): self._range(i, j, chosen[j])
                for i in range(self.k)
                for j in range(self.k)
                if i != j and self.loads.depends[i, j]
            }
            left = [self._left(i, nothing, chosen[i]) for i in range(self.k)]
            open_ = tuple(x for x in left if x is not None)
            if len(open_) < self.k:
                return None
            chosen = self._kept(open_)
            node = _Node(nothing, open_, True, 0)
        return node

    def _kept(self, left: Sequence[_Open]) -> list[np.ndarray]:
        """Pairs of each joint that are not worse than the cutoff, with the least of all others."""
        slack = self.cutoff - sum(x.least for x in left)
        return [x.chosen[x.costs <= x.least + slack] for x in left]

    def _range(self, i: int, j: int, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The least and the most (rows,) that pairs of joint j add at joint i."""
        phi = self.problem.tables[j].phi[chosen]
        sides = [(x.min(0), x.max(0)) for x in (self.loads.by_drive(i, j, part) for part in _pieces(phi))]
        low, high = zip(*sides, strict=True)
        return np.min(low, 0), np.max(high, 0)

    def _bounds(self, i: int, choice: Choice) -> Bounds:
        low = self.loads.base[i].copy()
        high = low.copy()
        for j in range(self.k):
            if j == i or not self.loads.depends[i, j]:
                continue
            if choice[j] < 0:
                low += self.ranges[i, j][0]
                high += self.ranges[i, j][1]
            else:
                added = self.loads.by_drive(i, j, self.problem.tables[j].phi[choice[j]])
                low += added
                high += added
        open_ = any(choice[j] < 0 for j in range(self.k) if j != i and self.loads.depends[i, j])
        return Bounds(low, high if open_ else low)

    def _left(self, i: int, choice: Choice, chosen: np.ndarray) -> _Open | None:
        """The pairs that joint i can have beside a choice; None for none, which is noted."""
        problem = self.problem
        if choice[i] >= 0:
            chosen = np.array([choice[i]])
        table = problem.tables[i]
        found = evaluate(self.loads, i, self._bounds(i, choice), table, chosen, problem.demands)
        use = found.use.max(1)
        kept = use <= 1 + WITHIN
        if not kept.any():
            k = int(use.argmin())
            name = self.loads.reference.names[i]
            self.misses.append(_Miss(DriveRow.of(name, table.pairs[chosen[k]], found, k), choice))
            return None
        return _Open(chosen[kept], problem.costs(i, found, chosen)[kept])

    def _tightened(self, node: _Node) -> _Node | None:
        """The node with its last choice known to the joints that depend on it."""
        self.nodes += 1
        self.update(min(1.0, self.nodes / self.most))
        last = self.order[node.depth - 1]
        left = list(node.left)
        for i in range(self.k):
            if i == last or self.loads.depends[i, last]:
                found = self._left(i, node.choice, left[i].chosen)
                if found is None:
                    return None
                left[i] = found
        slack = self.cutoff - sum(x.least for x in left)
        if slack < 0:
            return None
        if np.isfinite(slack):
            left = [x.cut(x.least + slack) for x in left]
        return _Node(node.choice, tuple(left), True, node.depth)

    def _children(self, node: _Node) -> Iterator[_Node]:
        i = self.order[node.depth]
        for pair, cost in zip(node.left[i].chosen, node.left[i].costs, strict=True):
            choice = (*node.choice[:i], int(pair), *node.choice[i + 1 :])
            one = _Open(np.array([pair]), np.array([cost]))
            yield _Node(choice, (*node.left[:i], one, *node.left[i + 1 :]), False, node.depth + 1)

    def _dive(self, nodes: list[_Node], count: int, most: int) -> list[tuple[float, Choice]]:
        """Up to `count` assignments with their objectives, sorted, down from the deepest nodes."""

        def rank(node: _Node) -> tuple[int, float]:
            return -node.depth, node.least

        stack, found = sorted(nodes, key=rank, reverse=True), list[tuple[float, Choice]]()
        for _ in range(most):
            if not stack or len(found) == count:
                break
            node: _Node | None = stack.pop()
            if node is not None and not node.tight:
                node = self._tightened(node)
            if node is None:
                continue
            if node.depth == self.k:
                found.append((node.least, node.choice))
            else:
                stack += sorted(self._children(node), key=rank, reverse=True)
        return sorted(found)


def _pieces(phi: np.ndarray) -> list[np.ndarray]:
    """Some hundred pairs at a time, so that large catalogues take no more memory."""
    return [phi[k : k + AT_ONCE] for k in range(0, len(phi), AT_ONCE)]


# ------------------------------------------------------------------------------------------------------------
# The verb.


def size_drives(
    robot: Robot,
    cycles: Any,
    catalogue: Any = "example_drives",
    *,
    objective: Objective = "mass",
    joints: Sequence[str] | None = None,
    only: Mapping[str, Sequence[str]] | None = None,
    stages: Mapping[str, float] | None = None,
    voltage: float | None = None,
    life: float = 10_000.0,
    inertia_ratio: float | None = None,
    holding: Literal["brake", "motor"] | None = None,
    shares: Sequence[float] | None = None,
    wrench: Any = None,
    count: int = 5,
    nodes: int = 2_000,
    points: int = 1000,
    feedback: bool = True,
    progress: bool | Update | None = None,
) -> Sizing:
    """The motors and gears of a catalogue with which an arm carries its cycles, the best `count` first.

    `cycles`: a Trajectory, a cycle (a bundled name, a path, a table), or a list of them; each is repeated for
    ever, and `shares` are their parts of the operating time. `objective`: the drives' "mass", their "cost",
    the "energy" that they draw (mean power), or "time": the highest pace of the cycles that any drives bear,
    then the least mass. `joints`: those whose drives are chosen, by default all; `only` allows some motors
    and gears, by joint. A drive sits where the robot's motor sat, or on the joint's parent; `stages` are
    turns of the gear's output for one of the joint, or for a metre [rad/m].

    `voltage` [V] of the bus, by default the catalogue's; `life` [h] of gears; `inertia_ratio`, at most, of
    load and motor; `holding`: whether brakes, or the motors for ever, hold every posture of the cycles.
    `nodes`: the search stops after so many, and says how far from the best it may be. `points`: samples of
    each cycle at most. `feedback=False` is the way by hand: each joint with the loads of the arm without
    drives.
    """
    check.robot(robot)
    check.one_of("objective", objective, *UNITS)
    if holding is not None:
        check.one_of("holding", holding, "brake", "motor")
    found = load_catalogue(catalogue)
    motions = _motions(robot, cycles)
    reference = Reference.of(robot, [joints] if isinstance(joints, str) else joints, stages)
    demands = Demands(
        _positive("voltage", found.voltage if voltage is None else voltage),
        _life(life),
        _positive("inertia_ratio", np.inf if inertia_ratio is None else inertia_ratio),
        holding or "",
    )
    tables = _tables(reference, found, only, holding == "brake")
    parts = _shares(shares, len(motions))
    most, best = check.whole_number("nodes", nodes, 1), check.whole_number("count", count, 1)
    samples = check.whole_number("points", points, 10)
    h = steady_wrench(robot, wrench)

    def made(rate: float) -> Problem:
        loads = [
            DriveLoads(reference, motions, parts, wrench=h, points=samples, rate=rate, feedback=x)
            for x in ((True,) if feedback else (True, False))
        ]
        return Problem(loads[0], loads[-1], tables, demands, objective)

    with progress_bar("drives", progress) as update:
        rate = 1.0 if objective != "time" else _fastest(made, most, update)
        problem = made(rate)
        search = _Search(problem, most, update)
        choices, bound = search.run(best)
    if not choices:
        raise StudyError(_why_none(search))
    assignments = [
        problem.assignment([table.pairs[k] for table, k in zip(tables, choice, strict=True)], feedback)
        for choice in choices
    ]
    return Sizing(
        found,
        objective,
        tuple(assignments),
        min(bound, assignments[0].objective),
        search.nodes,
        rate,
        problem,
    )


def _fastest(made: Any, most: int, update: Update) -> float:
    """The highest pace of the cycles, in parts of the given one, that some assignment bears, to 0.1 %."""

    def bears(rate: float) -> _Search | None:
        search = _Search(made(rate), most, update)
        return None if search.run(1)[0] else search

    low, high = 1.0, 1.0
    failed = bears(1.0)
    if failed is None:
        while bears(high := 1.5 * low) is None:
            low = high
            if low > FASTEST:
                raise StudyError(f"no limit is reached at {low:.3g} times the pace of the cycles")
    else:
        while failed is not None:
            low = high / 1.5
            if low < SLOWEST:
                raise StudyError(f"even {1 / high:.3g} times as slow: {_why_none(failed)}")
            failed = bears(low)
            high = high if failed is None else low
    while high / low > 1 + RATE:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if bears(middle) is None else (low, middle)
    return low


def _why_none(search: _Search) -> str:
    """Which joint no pair of the catalogue carries, and by how much the closest one fails."""
    if search.nodes >= search.most and not search.misses:
        return f"nodes: none of the assignments among the first {search.most} nodes carries the cycles"
    names, beside = search.loads.reference.names, ""
    if whole := [one for one in search.misses if max(one.choice) < 0]:  # whatever the others are
        miss = max(whole, key=lambda one: one.use)
    else:
        miss = min(search.misses, key=lambda one: one.use)
        others = [
            f"{quoted(names[j])} with {search.problem.tables[j].pairs[k].name}"
            for j, k in enumerate(miss.choice)
            if k >= 0 and names[j] != miss.row.joint
        ]
        beside = f", beside {', '.join(others)}" if others else ""
    text = limit_text(miss.row, miss.row.tightest)
    stopped = " (the search stopped early)" if search.nodes >= search.most else ""
    return (
        f"joint {quoted(miss.row.joint)}: no pair of the catalogue carries the cycle{stopped}; the closest, "
        f"{miss.row.pair.name}{beside}, takes {text}"
    )


# ---- arguments ---------------------------------------------------------------------------------------------


def _motions(robot: Robot, cycles: Any) -> list[Trajectory]:
    several = cycles if isinstance(cycles, list | tuple) else [cycles]
    if not several:
        raise StudyError("cycles: found none; give one or more")
    found = []
    for x in several:
        if isinstance(x, str | Path | Mapping):
            x = load_cycle(robot, x)
        if not isinstance(x, Trajectory):
            raise StudyError(f"cycles: expected a Trajectory or a cycle, found {shown(x)}")
        found.append(x)
    return found


def _shares(shares: Sequence[float] | None, count: int) -> np.ndarray:
    if shares is None:
        return np.full(count, 1 / count)
    found = check.numbers("shares", shares)
    if found.shape != (count,) or not (found > 0).all():
        raise StudyError(f"shares: found {shown(shares)}; a positive number for each of {count} cycles")
    return np.asarray(found / found.sum())


def _positive(name: str, x: Any) -> float:
    found = check.number(name, x)
    if not found > 0:
        raise StudyError(f"{name}: found {found:g}; a positive number is expected")
    return found


def _life(x: Any) -> float:
    found = _positive("life", x)
    if np.isinf(found):
        raise StudyError("life: found inf; hours are expected, as no gear lasts for ever")
    return found


def _tables(
    reference: Reference, catalogue: Catalogue, only: Mapping[str, Sequence[str]] | None, brakes: bool
) -> tuple[PairTable, ...]:
    """The pairs that each joint may have."""
    model = reference.robot.model
    pairs = [Pair(x.motor, x.gear, brakes) for x in catalogue.pairs if not brakes or x.motor.brake_torque > 0]
    if not pairs:
        raise StudyError(f"holding: no motor of {quoted(catalogue.name)} has a brake")
    everything = PairTable(pairs)
    allowed = by_joint(model, only or {}, "only")
    if other := sorted(set(allowed) - {link.name for link in reference.links}):
        raise StudyError(f"only: no drive of {quoted(other[0])} is sized")
    found = []
    for link in reference.links:
        names = allowed.get(link.name)
        if names is None:
            found.append(everything)
            continue
        names = [names] if isinstance(names, str) else names
        if not isinstance(names, list | tuple) or not names:
            raise StudyError(
                f"only: {quoted(link.joint_label)}: found {shown(names)}; names of motors and gears are "
                "expected"
            )
        motors, gears = {x.name for x in catalogue.motors}, {x.name for x in catalogue.gears}
        if unknown := [x for x in names if x not in motors | gears]:
            raise StudyError(
                f"only: {shown(unknown[0])} is no motor and no gear of {quoted(catalogue.name)}; motors: "
                f"{listed(sorted(motors))}; gears: {listed(sorted(gears))}"
            )
        kept = [
            pair
            for pair in pairs
            if (not motors & set(names) or pair.motor.name in names)
            and (not gears & set(names) or pair.gear.name in names)
        ]
        if not kept:
            raise StudyError(f"only: no pair of {listed(names)} for {quoted(link.joint_label)} fits together")
        found.append(PairTable(kept))
    return tuple(found)
