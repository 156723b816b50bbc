"""What an integrator works on: the programs of a step, the columns of a state, the fields of a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from armdyn.program.program import Program

# What a call is told, eight bytes each; `h` and `limit` are doubles.
FIELDS = (
    "first",  # the arms from `first` to before `last`
    "last",
    "steps",
    "every",  # steps from one saved state to the next
    "h",
    "limit",  # a speed beyond it counts as divergence
    "state",  # (arms, state columns), read and written
    "constants",  # rows of constants, `constants_step` bytes from arm to arm
    "constants_step",
    "signal",  # rows of signals, `time_step` bytes from instant to instant, `signal_step` from arm to arm
    "time_step",
    "signal_step",
    "halves",  # 1: there is a row for the middle of each step too; 0: the middle is the mean
    "saved",  # (saved states, arms, saved columns), `saved_step` bytes from one state to the next
    "saved_step",
)


class Watched(NamedTuple):
    """A joint whose position is watched, and its limits."""

    joint: int
    lower: float
    upper: float


@dataclass(frozen=True)
class Watch:
    """The joints that are watched, and whether an arm stops after the step in which one leaves its range."""

    joints: tuple[Watched, ...] = ()
    stops: bool = False


@dataclass(frozen=True)
class Layout:
    """How many columns there are of what.

    State: q, q̇ (n each), modes, quadratures (integrals of rates), then the loop's own columns: 1 while the
    arm goes on (it has not diverged or been stopped), the number of its steps, and for each watched joint 0,
    or 1 + the number of steps (with a fraction) until it first left its range, negative where it fell below
    the lower limit. Saved: the same without the loop's own columns.
    """

    n: int
    modes: int
    rates: int
    constants: int
    signal: int
    watch: Watch = Watch()

    @property
    def saved(self) -> int:
        return 2 * self.n + self.modes + self.rates

    @property
    def state(self) -> int:
        return self.passed + len(self.watch.joints)

    @property
    def passed(self) -> int:
        """The first column of the instants at which joints left their ranges."""
        return self.saved + 2

    @property
    def quadratures(self) -> int:
        """Where they begin."""
        return 2 * self.n + self.modes


@dataclass(frozen=True)
class Programs:
    """What is done in a step.

    `rate`: q, q̇, modes, constants, signal -> q̈, held (one a mode), rates. With modes, `decide`: q̇, modes,
    q̈, held, one number -> modes, whether any changed; before the first stage it is repeated until none does,
    and its last input is positive after a number of `rounds`. `settle`: q̇, modes -> q̇, modes after the step.
    """

    rate: Program
    decide: Program | None = None
    settle: Program | None = None

    @property
    def all(self) -> dict[str, Program]:
        found = {"rate": self.rate, "decide": self.decide, "settle": self.settle}
        return {name: program for name, program in found.items() if program is not None}


def rounds(layout: Layout) -> tuple[int, int]:
    """After how many rounds of `decide` modes change one at a time, and after how many it gives up."""
    return layout.modes + 2, 4 * layout.modes + 8
