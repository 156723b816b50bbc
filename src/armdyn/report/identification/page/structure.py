"""What torques can show at all, and what is not known."""

from __future__ import annotations

from armdyn.report.identification.subject import FitSubject
from armdyn.report.identification.unknown import Advice, UnknownFinding
from armdyn.report.page.page import (
    Amount,
    Markup,
    Part,
    code,
    folded,
    items,
    join,
    paragraph,
    table,
    tag,
    warning,
)
from armdyn.report.page.tables import Heading, TableCell

_MANY = 3  # parameters in an example of a command


def write_structure(subject: FitSubject) -> list[Part]:
    base = subject.fit.base
    count = len(base.grouping.considered)
    parts: list[Part] = [
        paragraph(
            f"The model has {count} parameters. Torques depend on {len(base)} combinations of them, the base "
            f"parameters: {len(base.alone)} parameters stand alone, {len(base.combined)} appear only in "
            f"combinations, {len(base.absent)} never appear. A base parameter is named by the first "
            "parameter of its combination. No motion tells the parts of a combination from one another."
        )
    ]
    if base.absent:
        parts.append(paragraph("No torque depends on ", _names(base.absent), "."))
    pairs = zip(base.leading, base.combinations, strict=True)
    lines = [tag("li", code(name), " : ", code(text)) for name, text in pairs if name != text]
    if lines:
        parts.append(folded(f"{len(lines)} combinations of more than one parameter", tag("ul", *lines)))
    if subject.fit.added:
        added = _names(subject.fit.added)
        parts.append(paragraph("Terms that the description does not have and that were added: ", added, "."))
    return parts


def _names(names: tuple[str, ...]) -> Markup:
    return join((code(name) for name in names), ", ")


def write_unknown(found: UnknownFinding) -> list[Part]:
    """What these data leave open, and which motion would show it."""
    if not found.advice:
        return [paragraph("These data show every base parameter to 30 % of its size or better.")]
    lost = [x for x in found.advice if not x.shown]
    poor = [x for x in found.advice if x.shown]
    texts = []
    if lost:
        text = f"{len(lost)} of {len(found.fit.base)} base parameters are not shown by these data at all; "
        texts.append(f"{text}they stay as near to the description as the data allow.")
    if poor:
        text = f"{len(poor)} of {len(found.fit.base)} base parameters have a standard error above "
        texts.append(f"{text}30 % of their size, the greater of estimate and description.")
    parts: list[Part] = [
        paragraph(" ".join(texts)),
        paragraph(
            "For each motion below the table says what the standard error would become after a further "
            "recording of 400 independent samples. Joints move within their limits where the description "
            "has them, otherwise as in the log or a little more."
        ),
    ]
    helped = [x for x in found.advice if x.helps]
    for joint in (*range(found.fit.robot.n), None):
        those = [x for x in helped if x.joint == joint]
        if those:
            parts += [tag("h3", found.motion(joint).capitalize()), _table(those)]
    hopeless = [x for x in found.advice if not x.helps]
    if hopeless:
        names = _names(tuple(x.name for x in hopeless))
        text = "Too small to be seen beside the noise by any of these motions: "
        parts.append(paragraph(text, names, ". For torques they hardly matter."))
    if helped:
        parts.append(_command(found, helped))
    if any(x for x in lost if not x.helps):
        parts.append(
            warning("What is not shown rests on the description: check those values where they matter.")
        )
    return parts


def _table(those: list[Advice]) -> Markup:
    rows = []
    for x in those:
        now = _error(x.now, x.size) if x.shown else ("not shown", "")
        rows.append((code(x.name), Amount(x.size, 3), *now, *_error(x.then, x.size)))
    headings: list[Heading] = ["base parameter", "size"]
    for when in ("standard error now", "after the motion"):
        headings += [(when, "±"), (when, "of the size")]
    return table(headings, rows)


def _error(error: float, size: float) -> tuple[TableCell, TableCell]:
    part = 100 * error / size if size else float("inf")
    return Amount(error, 2), Amount(round(part), 6, "%") if part >= 1 else "< 1"


def _command(found: UnknownFinding, helped: list[Advice]) -> Markup:
    described = [x for x in helped if x.name in found.fit.described.parameter_names and x.size]
    names = [x.name for x in sorted(described, key=lambda x: -x.now / x.size)][:_MANY]
    some = "".join(f" --parameters {name}" for name in names)
    commands = [join([code("armdyn excite ROBOT -o excitation.csv"), " for all parameters"])]
    if names:
        commands.append(join([code(f"armdyn excite ROBOT{some} -o excitation.csv"), " for the least known"]))
    return tag(
        "div",
        paragraph("Such motions, within all limits of the robot, are found by"),
        items(commands),
        class_="note",
    )
