"""Cards of motions that were scaled to limits or made as fast as they allow."""

from __future__ import annotations

import numpy as np

from armdyn.motion.least_time.time_optimal import TimeOptimal
from armdyn.motion.timing.scaling import Scaled
from armdyn.report.notebook.cards import framed, picture
from armdyn.report.notebook.curves import joint_curves, labelled
from armdyn.report.page.markup import Markup, facts, join
from armdyn.report.page.numbers import number


def scaled_card(scaled: Scaled) -> Markup:
    entries: list[tuple[str, str]] = [
        ("duration", join([number(scaled.trajectory.duration), " s"])),
        ("factor c", number(scaled.factor)),
    ]
    limit = scaled.limited_by
    if limit is not None and scaled.instant is not None:
        owner = "motor" if limit.of_motor else "follower" if limit.of_follower else "joint"
        text = f"{limit.quantity} of {owner} {limit.index + 1} at "
        where = join([text, number(scaled.instant, 3), " s"])
        entries.append(("limited by", where))
    else:
        entries.append(("limited by", "nothing: the motion was within its limits"))
    return framed("Scaled motion", scaled.trajectory.motion.label, _torques(scaled), facts(entries))


def time_optimal_card(fastest: TimeOptimal) -> Markup:
    entries: list[tuple[str, str]] = [
        ("duration", join([number(fastest.duration), " s"])),
        ("intervals of the path", str(len(fastest.acceleration))),
    ]
    if fastest.excess > 0:
        entries.append(
            ("beyond a limit", join([number(100 * fastest.excess, 2), " % of it, between points"]))
        )
    return framed("Motion in least time", fastest.trajectory.motion.label, _torques(fastest), facts(entries))


def _torques(found: Scaled | TimeOptimal) -> Markup:
    """Positions and torques; torques in percent of their limits where all joints have one."""
    limit = found.limits.torque
    bounded = bool(np.isfinite(limit).all() and (limit > 0).all())
    torque = 100 * found.torque / limit if bounded else found.torque
    label = "torque [% of its limit]" if bounded else labelled("torque", ("N m", "N"))
    q = found.trajectory(found.t)[0]
    figure = joint_curves(found.t, [(labelled("position", ("rad", "m")), q), (label, torque)])
    return picture(figure, "positions and torques over time", 36)
