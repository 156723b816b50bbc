"""What stands on top of a report: how near the motion comes to a limit, least time, energy, warnings."""

from __future__ import annotations

from armdyn.description.plausibility import gathered
from armdyn.expression import ArmdynError
from armdyn.motion.motor_loads import energy_of
from armdyn.motion.timing.exceeded import WITHIN, sentences
from armdyn.motion.timing.limits import limits_for
from armdyn.report.page import KeyFigure, Markup, code, items, join, number, paragraph, tag
from armdyn.report.subject import Subject

_FIRST = 3  # warnings about the description that stand on top


def answers(subject: Subject) -> list[KeyFigure]:
    """Four figures of the motion; none where symbols have no value. A dash where its section says why."""
    if subject.free_symbols:
        return []
    found = []
    for name, write in ANSWERS.items():
        try:
            found.append(write(subject))
        except ArmdynError:
            found.append(KeyFigure(name, "–", "not possible here"))
    return found


def _share(subject: Subject) -> KeyFigure:
    """Of all limits of torque, velocity and acceleration, of joints, followers and motors."""
    robot, at, limits = subject.robot, subject.samples, limits_for(subject.robot)
    if not limits.any:
        return KeyFigure(SHARE, "–", "the description gives no limits", "description")
    share, limit, sample = limits.largest(at.q, at.qd, at.qdd, subject.torque)
    remark = f"{limit.quantity} of {limit.name(robot).rstrip(',')} at {at.t[sample]:.3g}\N{NO-BREAK SPACE}s"
    where = "motors" if limit.of_motor else "torques" if limit.quantity == "torque" else "motion"
    return KeyFigure(SHARE, join([number(100 * share, 3), " %"]), remark, where, share > 1 + WITHIN)


def _least_time(subject: Subject) -> KeyFigure:
    found, given = subject.optimal, f"{subject.trajectory.duration:.4g}\N{NO-BREAK SPACE}s"
    if found is None:
        return KeyFigure(LEAST_TIME, "–", f"nothing limits the speed; the motion takes {given}", "scaling")
    if isinstance(found, ArmdynError):
        return KeyFigure(LEAST_TIME, "–", f"not found; the motion takes {given}", "scaling")
    value = join([number(found.duration), " s"])
    return KeyFigure(LEAST_TIME, value, f"for this path; the motion takes {given}", "scaling")


def _energy(subject: Subject) -> KeyFigure:
    loads = subject.loads
    whose = "motors" if all(loads.geared) else "motors and joints" if any(loads.geared) else "joints"
    energy = energy_of(loads)
    back = ": braking gives back more than driving takes" if energy < 0 else ""
    lost = join(
        [f"at the {whose}{back}; ", number(float(loads.total_drawn), 3), " J if braking gives nothing back"]
    )
    value = join([number(energy, 3), " J"])
    return KeyFigure(ENERGY, value, lost, "motors" if any(loads.geared) else "motion")


def _warnings(subject: Subject) -> KeyFigure:
    beyond = len(sentences(subject.exceeded))
    described = len(subject.robot.warnings)
    parts = [f"{beyond} {'limit' if beyond == 1 else 'limits'} exceeded"] if beyond else []
    parts += [f"{described} in the description"] if described else []
    where, count = "motion" if beyond else "description", beyond + described
    remark = ", ".join(parts) or "no limit exceeded, nothing odd in the description"
    if not any(subject.robot.drives.geared):
        remark += "; no motors described"
    return KeyFigure(WARNINGS, str(count) if count else "none", remark, where, bool(count))


def beneath(subject: Subject) -> list[Markup]:
    """Of which motion the figures are, and what looks wrong in the description: the first of it."""
    found = []
    if not subject.free_symbols and subject.given is not None:
        found.append(paragraph("These figures are of the motion given."))
    elif not subject.free_symbols:
        which = "These figures are of an example motion that armdyn chose, as none was given: "
        yours = (code("--trajectory"), " or ", code("--cycle"), ".")
        found.append(paragraph(which, code("armdyn report"), " takes yours with ", *yours))
    if warnings := subject.robot.warnings:
        count = "1 thing looks" if len(warnings) == 1 else f"{len(warnings)} things look"
        heading = tag("strong", f"{count} wrong in the description")
        said = gathered(warnings)
        shown = [*said[:_FIRST], *(["and more, listed with the description"] if len(said) > _FIRST else [])]
        found.append(tag("div", paragraph(heading), items(shown), class_="warning"))
    return found


SHARE, LEAST_TIME, ENERGY, WARNINGS = "largest share of a limit", "least time", "energy", "warnings"
ANSWERS = {SHARE: _share, LEAST_TIME: _least_time, ENERGY: _energy, WARNINGS: _warnings}
