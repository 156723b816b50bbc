"""The steps of assembly, as a loop that is compiled or written in C: from a closed posture to coordinates."""

from __future__ import annotations

from typing import Any

from armdyn.dynamics.constraints.loops import Following
from armdyn.dynamics.constraints.orthogonal import turned
from armdyn.expression.functions import larger, select, sqrt
from armdyn.program import Program, record
from armdyn.program.loops import Argument, Call, Load, Local, Loop, Save, Set, While
from armdyn.robot.loops.closing import Closed

STEP = 0.3  # the most that a position moves in a step [rad, or of the robot's size]
LEAST = 1e-6  # part of a step: shorter ones end it
FALL = 0.25  # of the squared sine of a joint's column: to less than this it may not fall in a step
BACK, ON = 0.3, 1.5  # what a step taken back has of its length, and how others grow
TRUST = 0.2  # what closing a posture may take, of the sine of a joint's column against the others
MOST = 400  # steps
TOO_MANY = 40  # steps in which the loops gape too far to be closed at once: there is no way
FINE = 1e-8  # a last correction of this size leaves an error of its square
OPEN = 100  # times that, in rad or of the robot's size: a row that gapes further is open


def assembly_loop(closed: Closed, fine: float = FINE) -> Loop:
    """Coordinates x to positions y; a last correction of at most `fine` ends it.

    `state` is 1 where loops stay open, the least squared sine of a joint that follows against the others, and
    how many steps gaped. Where no way leads to x, y is the last posture on it.
    """
    n, positions = closed.model.mechanism.n, closed.positions
    x, y, state, going = Local("x", n), Local("y", positions), Local("state", 3), Local("going", 1)
    good, trust = Local("good", positions), Local("trust", 2)
    X, START = Argument("x", n), Argument("start", positions)
    Y, STATE = Argument("y", positions, written=True), Argument("state", 3, written=True)
    step = Call(
        "step",
        (y.all, x.all, state[2], good.all, trust.all),
        (y.all, state.all, good.all, trust.all, going.all),
    )
    body = (
        Load(x.all, X),
        Load(y.all, START),
        Load(good.all, START),
        Set(trust[0], 0),
        Set(trust[1], 1),
        Set(going.all, 1),
        While(going.all, (step,), MOST),
        Call("checked", (y.all, state[0]), (state[0],)),
        Save(Y, 0, y.all),
        Save(STATE, 0, state.all),
    )
    programs = {"step": _step(closed, fine), "checked": _checked(closed, fine)}
    return Loop("assembly", (), (X, START, Y, STATE), body, programs)


def _checked(closed: Closed, fine: float) -> Program:
    """1 where a loop is open after all: by the rows left out, or upside down."""

    def function(y: list[Any], open_loops: list[Any]) -> Any:
        gap, upright = closed.gaps(Following(closed.mechanism, y))
        off = _largest([abs(g) * float(1 / scale) for g, scale in zip(gap, closed.scales, strict=True)])
        found = select(off - OPEN * fine, 1, open_loops[0])
        for x in upright:
            found = select(-x, 1, found)
        return [found]

    return record(function, [("y", closed.positions), ("open", 1)], [("open", (1,))])


def _step(closed: Closed, fine: float) -> Program:
    """One step from positions y towards coordinates x: the new positions, the state, whether to go on.

    A posture is trusted if closing its loops takes less than `TRUST` of the way to another mode, and if det
    A_d keeps its sign and A_d does not come much nearer to being singular. Otherwise the step is taken back
    to the last `good` posture, and made again with a part of its length. So steps end at a singular posture
    that they meet. (Two loops that turn over within one step keep the sign and are not seen.) `trust` is the
    squared sine of the last posture trusted with the sign of det A_d, 0 as long as there is none, and the
    part of its length that a step has.
    """
    mechanism, weights = closed.model.mechanism, [float(1 / unit) for unit in closed.units]

    def function(y: list[Any], x: list[Any], gaping: list[Any], good: list[Any], trust: list[Any]) -> Any:
        following = Following(mechanism, y)
        left = [goal - y[i] for goal, i in zip(x, mechanism.free, strict=True)]
        moved = following.velocities(left)
        correction = following.factor.solve([-gap for gap in following.gaps])
        far = _largest([abs(w * m) for w, m in zip(weights, moved, strict=True)])
        off = _largest([abs(weights[d] * c) for d, c in zip(following.dependent, correction, strict=True)])
        margin = -_largest([-x for x in following.factor.margins])
        # columns at an angle β part by about β from another mode
        astray, side = select(off - TRUST * sqrt(margin), 1, 0), margin * turned(following.columns)
        before, part = trust
        fallen = select(FALL * abs(before) - side * select(before, 1, -1), 1, 0)
        back = select(abs(before), select(fallen, 1, astray), 0)
        before = select(back, before, select(astray, 0, side))
        part = select(back, BACK * part, -larger(-1, -ON * part))
        step = STEP * part
        share, mend = step / larger(far, step), STEP / larger(off, STEP)
        new = [a + share * m for a, m in zip(y, moved, strict=True)]
        for d, c in zip(following.dependent, correction, strict=True):
            new[d] = new[d] + mend * c
        for i, goal in zip(mechanism.free, x, strict=True):
            new[i] = select(far - step, new[i], goal)
        new = [select(back, a, b) for a, b in zip(good, new, strict=True)]
        count = gaping[0] + select(off - STEP, 1, 0)
        still_open = select(back, 1, select(far, 1, select(off - fine, 1, 0)))
        going = select(LEAST - part, 0, select(count - TOO_MANY, 0, still_open))
        kept = [select(back, a, b) for a, b in zip(good, y, strict=True)]
        return new, [still_open, margin, count], kept, [before, part], [going]

    positions = mechanism.positions
    inputs = [("y", positions), ("x", mechanism.n), ("gaping", 1), ("good", positions), ("trust", 2)]
    outputs = [("y", (positions,)), ("state", (3,)), ("good", (positions,)), ("trust", (2,)), ("going", (1,))]
    return record(function, inputs, outputs)


def _largest(values: list[Any]) -> Any:
    found = values[0]
    for x in values[1:]:
        found = larger(found, x)
    return found
