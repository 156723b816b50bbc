"""Explicit Runge–Kutta steps of an integrand, written as loops: the parts that both methods share.

A state x is q, q̇, modes and works; its rate k has the same columns: q̇, q̈, held (in place of modes, which do
not change within a step) and powers. In closed chains the positions that follow stand after q̇, and after the
modes the side of singular postures, which has no rate (`integrand.py`). Stage i computes the rate k_i at
x + h Σ_j a_ij k_j.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

from armdyn.program import Program, record
from armdyn.program.loops import Argument, Ask, Block, Call, Copy, Fetch, If, Int, Local, Set, Slice, While
from armdyn.simulation.integrand import Integrand, Sizes, closed, width
from armdyn.simulation.laws import Scalars

Weights: TypeAlias = Sequence[float]


def total(x: Any, h: Any, weights: Iterable[float], rates: Iterable[Any]) -> Any:
    """x + h Σ w k"""
    terms: Any = 0
    for weight, rate in zip(weights, rates, strict=True):
        terms = terms + float(weight) * rate
    return x + h * terms


@dataclass(frozen=True, eq=False)
class Stepping:
    """Local arrays, and the statements around them, for stages of an integrand."""

    integrand: Integrand
    more: int = 0  # columns of a state that only one method has
    h: ClassVar[Local] = Local("h", 1)

    # ---- columns ---------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        return self.integrand.n

    @cached_property
    def modes_at(self) -> int:
        """Column at which modes begin: after q, q̇ and the positions that follow."""
        return 2 * self.n + self.integrand.followers

    @cached_property
    def side_at(self) -> int:
        """Column at which modes end; with closed chains, that of the side of singular postures."""
        return self.modes_at + len(self.integrand.surfaces)

    @cached_property
    def works_at(self) -> int:
        """Column at which works begin."""
        return self.side_at + bool(self.integrand.followers)

    @cached_property
    def followers(self) -> slice:
        return slice(2 * self.n, self.modes_at)

    @cached_property
    def modes(self) -> slice:
        return slice(self.modes_at, self.side_at)

    @cached_property
    def width(self) -> int:
        """Number of columns of a state."""
        return self.works_at + len(self.integrand.works)

    @cached_property
    def moving(self) -> list[int]:
        """The columns of a state that have a rate: all but modes and side."""
        return [*range(self.modes_at), *range(self.works_at, self.width)]

    # ---- local arrays ----------------------------------------------------------------------------------

    @cached_property
    def x(self) -> Local:
        return Local("x", self.width + self.more)

    @cached_property
    def at(self) -> Local:
        """Inputs of `rate`, side by side."""
        return Local("at", width(self.integrand.inputs))

    @cached_property
    def given(self) -> dict[str, Slice]:
        parts, start = {}, 0
        for name, size in self.integrand.inputs:
            parts[name] = self.at[start : start + size]
            start += size
        return parts

    def columns(self, names: Sizes) -> Slice:
        """Adjacent columns of the inputs, by name."""
        start = self.given[names[0][0]].start if names else 0
        return Slice(self.at, start, width(names))

    @property
    def numbers(self) -> tuple[Slice, ...]:
        """Numbers of the robot, where programs are given them."""
        return tuple(self.given[name] for name, _ in self.integrand.numbers)

    @property
    def closing(self) -> Sizes:
        """Numbers of the robot for `close`, where it has closed chains and programs are given them."""
        return self.integrand.numbers if self.integrand.followers else ()

    def close(self, x: Scalars, numbers: Sequence[Scalars]) -> None:
        """Close the chains of a new state, and note its side; without closed chains nothing is done."""
        if not self.integrand.followers:
            return
        mechanism = self.integrand.recorded(*numbers or (None,))
        x[self.followers], x[self.side_at] = closed(mechanism, x[: self.n], x[self.followers])

    def k(self, i: int) -> Local:
        return Local(f"k{i}", self.width)

    @property
    def constants(self) -> Argument:
        return Argument("constants", width(self.integrand.drive.constants))

    @property
    def signals(self) -> Argument:
        return Argument("signals", width(self.integrand.drive.signals))

    # ---- statements ------------------------------------------------------------------------------------

    def load_constants(self) -> Block:
        target = self.columns(self.integrand.drive.constants)
        return (Fetch(target, self.constants),) if target.size else ()

    def give(self, row: Int, again: bool = False) -> Block:
        """Statements that read a row of the signals (unless `again` the same), and ask the caller."""
        signals = self.columns(self.integrand.drive.signals)
        loaded: Block = (Fetch(signals, self.signals, row),) if signals.size and not again else ()
        state = (self.given["q"], self.given["qd"])
        return (*loaded, *(Ask(name, row, state, self.given[name]) for name, _ in self.integrand.drive.asked))

    def begin(self, x: Local) -> Block:
        """Statements that put a state where rates are computed."""
        return (Copy(self.at[: self.side_at], x[: self.side_at]),)

    def rate(self, i: int) -> Block:
        """Statements that compute k_i at the inputs given."""
        n, k = self.n, self.k(i)
        ends = [n, 2 * n, self.modes_at, self.side_at]
        outputs = tuple(k[a:b] for a, b in (*pairwise(ends), (self.works_at, self.width)) if b > a)
        inputs = tuple(self.given.values())
        return (Call("rate", inputs, outputs), Copy(k[:n], self.given["qd"]))

    def decide(self) -> Block:
        """k_0 in modes that fit it; these go into the state. After too many rounds, in the last modes."""
        if not (e := len(self.integrand.surfaces)):
            return self.rate(0)
        changed, rounds, k, n = Local("changed", 1), Local("rounds", 1), self.k(0), self.n
        modes = self.given["modes"]
        inputs = (self.given["qd"], modes, k[n : 2 * n], k[self.modes], rounds.all, *self.numbers)
        again = (
            Call("decide", inputs, (modes, changed.all, rounds.all)),
            If(changed.all, self.rate(0)),
        )
        start = (Set(changed.all, 1), Set(rounds.all, 0))
        return (*self.rate(0), *start, While(changed.all, again, 4 * e + 8), Copy(self.x[self.modes], modes))

    def stages(self, tableau: Mapping[int, Weights], row: Callable[[int], Int] = int) -> Block:
        """States x + h Σ w_j k_j of stages i and the rates there; `row`: that of their signals."""
        block: Block = ()
        size, before = self.modes_at, None
        for i, weights in tableau.items():
            rates = (self.k(j)[:size] for j, w in enumerate(weights) if w)
            block += (Call(f"stage{i}", (self.x[:size], self.h.all, *rates), (self.at[:size],)),)
            block += (*self.give(row(i), again=row(i) == before), *self.rate(i))
            before = row(i)
        return block

    def stage_programs(self, tableau: Mapping[int, Weights]) -> dict[str, Program]:
        """The programs of stages, by their weights."""
        return {f"stage{i}": self._stage(list(filter(None, weights))) for i, weights in tableau.items()}

    def _stage(self, weights: Weights) -> Program:
        size = self.modes_at

        def function(x: Scalars, h: Scalars, *rates: Scalars) -> Scalars:
            return [total(x[c], h[0], weights, [k[c] for k in rates]) for c in range(size)]

        inputs = [("x", size), ("h", 1), *((f"k{j}", size) for j in range(len(weights)))]
        return record(function, inputs, [("x", (size,))])
