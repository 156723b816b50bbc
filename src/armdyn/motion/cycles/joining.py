"""What motions have that are put together: the part of `Trajectory` for sequences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from armdyn.expression import shown
from armdyn.motion.checks import check
from armdyn.motion.cycles.backwards import backwards
from armdyn.motion.cycles.blends import blended, radii
from armdyn.motion.cycles.chains import MOST_PARTS, Part, chained
from armdyn.motion.errors import MotionError
from armdyn.motion.trajectories.loads import Carried
from armdyn.motion.trajectories.motion import STEP, Motion
from armdyn.motion.trajectories.piecewise import rest, together
from armdyn.robot import Robot

if TYPE_CHECKING:
    from armdyn.motion.trajectories.trajectory import Trajectory


class Joining:
    """Motions one after the other, backwards, again and again, and rests between them."""

    motion: Motion
    step: float

    @staticmethod
    def _made(motion: Motion, step: float) -> Trajectory:
        raise NotImplementedError

    @classmethod
    def sequence(
        cls, motions: Iterable[Trajectory], *, blend: Any = None, robot: Robot | None = None
    ) -> Trajectory:
        """Motions one after the other, each beginning where the one before it ends.

        Without a `blend` the arm stops between them, or passes at the velocity both have there. A blend is a
        radius around each corner, or one for each of them (0 or None for a stop), within which the corner is
        rounded off: of the tip of the `robot` [m] or, without a robot, in joint space, the displacement of
        each joint [rad or m]. Velocity and acceleration are continuous along it. Samples are the shortest
        step of the motions apart.
        """
        several: Any = motions
        given = list(several) if isinstance(several, Iterable) else []
        if not given or not all(isinstance(x, Joining) for x in given):
            raise MotionError(f"sequence: expected a list of trajectories, found {shown(motions)}")
        if robot is not None and check.robot(robot).n != given[0].motion.n:
            raise MotionError(
                f"sequence: the motions move {given[0].motion.n} joints, but {robot.name} has {robot.n}"
            )
        step, corners = min(one.step for one in given), radii(blend, len(given) - 1)
        if len(given) == 1:
            return cls._made(given[0].motion, step)
        label = f"sequence of {len(given)} motions"
        return cls._made(blended([one.motion for one in given], corners, robot, label), step)

    @classmethod
    def resting(cls, q: Any, duration: float, *, step: float = STEP) -> Trajectory:
        """A dwell: the arm rests at q (n,) for a duration [s], which timing keeps."""
        time = check.positive_time("duration", duration)
        made = together([rest(float(x), time) for x in check.posture("q", q)], "rest")
        return cls._made(replace(made, dwells=((0.0, time),)), step)

    def rest(self, duration: float) -> Trajectory:
        """The motion followed by a dwell of a duration [s]; it has to end at rest.

        What the arm carries at the end, it holds meanwhile: `a.carrying(2).rest(0.3)` puts the load down
        after the dwell, `a.carrying(2) + Trajectory.resting(q, 0.3)` before it.
        """
        end = Part.whole(self.motion).last[0][0]
        dwell = self.resting(end, duration, step=self.step).motion
        held = (one.load for one in self.motion.loads if one.end == self.motion.duration)
        loads = tuple(Carried(0.0, dwell.duration, load) for load in held)
        return self + self._made(replace(dwell, loads=loads), self.step)

    def reversed(self) -> Trajectory:
        """The same path backwards in the same time; loads and dwells are where they were on the path."""
        return self._made(backwards(self.motion), self.step)

    def repeated(self, times: int) -> Trajectory:
        """The motion several times, one after the other; it has to end where it begins."""
        count = check.whole_number("times", times, least=1)
        if count > MOST_PARTS:
            raise MotionError(f"times: found {count}; at most {MOST_PARTS} are possible")
        if count == 1:
            return self._made(self.motion, self.step)
        label = f"{self.motion.label}, {count} times"
        return self._made(chained([Part.whole(self.motion)] * count, label), self.step)

    def __add__(self, other: Any) -> Trajectory:
        """This motion and then the other, as `sequence` without blends."""
        if not isinstance(other, Joining):
            return NotImplemented
        given: list[Any] = [self, other]
        return self.sequence(given)
