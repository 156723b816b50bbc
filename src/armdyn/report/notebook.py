"""Values in notebooks: `card(value)`, a small page with a title, facts, a table or a picture.

Classes ask for theirs by `armdyn.display.Shown`. What each shows is a row of `CARDS`: a function of the value
that gives the card's title, what stands beside it, and its parts.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from matplotlib.figure import Figure

from armdyn.analysis.manipulability import Ellipsoid
from armdyn.drawing.curves import curve
from armdyn.drawing.style import GREY, styled, svg
from armdyn.drawing.views import Posture
from armdyn.exact.proof import Proof
from armdyn.expression import ArmdynError, Expression
from armdyn.identification.fit import Fit, filtered_text
from armdyn.motion.motor_loads import MotorLoads
from armdyn.motion.timing.scaling import Scaled
from armdyn.motion.timing.time_optimal import TimeOptimal
from armdyn.motion.trajectory import Trajectory
from armdyn.report.page import (
    Amount,
    Heading,
    Markup,
    TableCell,
    code,
    expression,
    facts,
    join,
    number,
    robot_table,
    table,
    tag,
)
from armdyn.report.robot_tables import Cell, RobotTable, limits_table
from armdyn.report.sections.equations import spelled
from armdyn.report.sections.motors import loads_table, plot_motor_loads, plot_sizing
from armdyn.report.sections.robot import plot_arm, subtitle
from armdyn.report.subject import shown_posture
from armdyn.robot import Robot
from armdyn.robot.base_parameters import BaseParameters
from armdyn.robot.joints import UNITS, joint_units
from armdyn.simulation.run import Run
from armdyn.studies.size_drives import Sizing

Card: TypeAlias = tuple[str, ...]  # its title, what stands beside it, and its parts
ROWS = 14  # of a table in a card; the rest is counted

# Colours are those of the notebook, light or dark. The doubled class outweighs the notebook's own rules.
_STYLE = """
.armdyn-card { max-width: 60rem; font-size: 13px; line-height: 1.45; margin: .3rem 0; }
.armdyn-card .head { margin: 0 0 .4rem; }
.armdyn-card .head span { opacity: .7; margin-left: .6em; }
.armdyn-card .body { display: flex; flex-wrap: wrap; gap: .6rem 1.6rem; align-items: flex-start; }
.armdyn-card .scroll { overflow-x: auto; max-width: 100%; }
.armdyn-card table { border-collapse: collapse; margin: 0; font-size: 12px; }
.armdyn-card.armdyn-card th, .armdyn-card.armdyn-card td { padding: .15rem .55rem; text-align: left; }
.armdyn-card th, .armdyn-card td { white-space: nowrap; }
.armdyn-card th, .armdyn-card td { background: none; }
.armdyn-card thead th { font-weight: 600; vertical-align: bottom; }
.armdyn-card thead tr:last-child > *, .armdyn-card thead [rowspan] { border-bottom: 1px solid #8888; }
.armdyn-card.armdyn-card thead .group { text-align: center; }
.armdyn-card tbody th { font-weight: 500; }
.armdyn-card.armdyn-card .n { text-align: right; font-variant-numeric: tabular-nums; }
.armdyn-card .n[data-pad]::after { content: attr(data-pad); visibility: hidden; }
.armdyn-card.armdyn-card td.unit { padding-left: 0; }
.armdyn-card dl { margin: 0; display: grid; grid-template-columns: max-content auto; gap: .1rem .9rem; }
.armdyn-card dl div { display: contents; }
.armdyn-card.armdyn-card dt { opacity: .7; font-weight: 400; white-space: nowrap; float: none; width: auto; }
.armdyn-card dd { margin: 0; overflow-wrap: anywhere; }
.armdyn-card img { width: 100%; height: auto; border-radius: 3px; background: #fff; }
.armdyn-card p, .armdyn-card ul { margin: .2rem 0; }
""".replace("\n", "")


def _picture(figure: Figure, alternative: str, width: float) -> Markup:
    """A figure on white, whatever the notebook's colours; its greatest width is in rem."""
    data = b64encode(svg(figure).encode()).decode()
    image = tag("img", src=f"data:image/svg+xml;base64,{data}", alt=alternative)
    return tag("div", image, style=f"flex: 1 1 {width}rem; max-width: {width}rem; min-width: 14rem")


def _notes(texts: Iterable[str]) -> Markup:
    """Remarks, one a line."""
    return tag("ul", *(tag("li", text) for text in texts))


def _more(count: int) -> list[Markup]:
    """What is said below a table that was cut."""
    return [tag("p", f"and {count - ROWS} more")] if count > ROWS else []


_NAMED = 12  # curves up to which a legend names them


@styled
def _joint_curves(t: np.ndarray, panels: Sequence[tuple[str, np.ndarray]]) -> Figure:
    """One panel for each (label, (N, n)) beside the others; joints are numbered from 1."""
    figure = Figure(figsize=(3.1 * len(panels), 2.3), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, (label, values) in zip(axes, panels, strict=True):
        for k in range(values.shape[1]):
            curve(axis, t, values[:, k], k, str(k + 1))
        axis.set_xlabel("time [s]")
        axis.set_ylabel(label)
    joints = panels[0][1].shape[1]
    if 1 < joints <= _NAMED:
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", title="joint")
    return figure


def _labelled(what: str, units: Sequence[str]) -> str:
    """What an axis shows, with the units of the joints."""
    return f"{what} [{' or '.join(dict.fromkeys(units))}]"


_AROUND = np.linspace(0, 2 * np.pi, 181)
_PLANES = 3  # that are drawn


def _ellipsoid(e: Ellipsoid) -> Card:
    """Of several, shapes and the range of their axes; of one, the numbers and a picture."""
    title = f"Ellipsoid, {e.kind.replace('_', ' ')}"
    if e.lengths.ndim > 1:
        finite = e.lengths[np.isfinite(e.lengths)]
        spread = f"{finite.min():.3g} to {finite.max():.3g}" if finite.size else "infinite"
        entries = [("ellipsoids", f"{e.lengths.shape[:-1]}, {', '.join(e.names)}"), ("semi-axes", spread)]
        return (title, e.description, facts(entries))
    parts = [_axes(e)]
    if e.m > 1 and np.isfinite(e.lengths).all():
        planes = list(combinations(range(e.m), 2))[:_PLANES]
        parts.insert(0, _picture(_projections(e, planes), "the ellipsoid's outline", 12 * len(planes)))
    return (title, e.description, *parts)


def _axes(e: Ellipsoid) -> Markup:
    headings: list[Heading] = ["", "length", *(("direction", name) for name in e.names)]
    rows: list[tuple[TableCell, ...]] = [("centre", "", *(Amount(float(x), 3) for x in e.centre))]
    for k in range(e.m):
        direction = (Amount(float(x), 3) for x in e.axes[:, k])
        rows.append((f"semi-axis {k + 1}", Amount(float(e.lengths[k]), 3), *direction))
    return table(headings, rows)


@styled
def _projections(e: Ellipsoid, planes: Sequence[tuple[int, int]]) -> Figure:
    """The ellipsoid seen along each axis: its shadow on the plane of the two others."""
    figure = Figure(figsize=(2.4 * len(planes), 2.4), layout="constrained")
    shape = (e.axes * e.lengths**2) @ e.axes.T
    for axis, (i, j) in zip(figure.subplots(1, len(planes), squeeze=False)[0], planes, strict=True):
        values, vectors = np.linalg.eigh(shape[np.ix_((i, j), (i, j))])
        half = vectors * np.sqrt(np.clip(values, 0, None))
        edge = e.centre[[i, j], None] + half @ np.array([np.cos(_AROUND), np.sin(_AROUND)])
        curve(axis, edge[0], edge[1], 1, linestyle="-")
        axis.plot(*e.centre[[i, j]], marker="+", color=GREY)
        axis.set_aspect("equal", adjustable="datalim")
        axis.set_xlabel(e.names[i])
        axis.set_ylabel(e.names[j])
    return figure


_SAMPLES = 2000  # that a picture of a motion is drawn from
_EITHER = ("rad", "m")  # a trajectory does not know which joints turn


def _trajectory(trajectory: Trajectory) -> Card:
    step = max(trajectory.step, trajectory.duration / _SAMPLES)
    at = trajectory.with_step(step).samples()
    panels = [
        (_labelled("position", _EITHER), at.q),
        (_labelled("velocity", [f"{unit}/s" for unit in _EITHER]), at.qd),
        (_labelled("acceleration", [f"{unit}/s²" for unit in _EITHER]), at.qdd),
    ]
    drawn = _picture(_joint_curves(at.t, panels), "positions, velocities and accelerations over time", 50)
    joints = "1 joint" if trajectory.n == 1 else f"{trajectory.n} joints"
    text = join([trajectory.motion.label, f", {joints}, ", number(trajectory.duration), " s"])
    return ("Trajectory", text, drawn)


def _run(run: Run) -> Card:
    """Of a batch, the first arm is drawn."""
    batch = run.q.shape[1:-1]
    first: tuple[slice | int, ...] = (slice(None), *(0 for _ in batch))
    units = [joint_units(run.robot, j) for j in range(run.robot.n)]
    panels = [
        (_labelled("position", [u.position for u in units]), run.q[first]),
        (_labelled("velocity", [u.velocity for u in units]), run.qd[first]),
        (_labelled("torque", [u.torque for u in units]), run.tau[first]),
    ]
    entries: list[tuple[str, str]] = [
        ("time", join([number(float(run.t[-1])), f" s in {len(run.t)} instants"])),
        ("state", "completed" if run.completed else run.message),
        ("energy at the end", join([number(float(run.energy[first][-1]), 3), " J"])),
        ("taken by friction", join([number(float(run.dissipated[first][-1]), 3), " J"])),
    ]
    if batch:
        entries.insert(0, ("arms", f"{batch}; the first is shown"))
    if run.events:
        entries.append(("sticks, slips, turns", str(len(run.events))))
    drawn = _picture(_joint_curves(run.t, panels), "positions, velocities and torques over time", 50)
    said = [*(x.text for x in run.limits_passed[:5]), *run.notes]
    return (f"Run of {run.robot.name}", "simulated", drawn, facts(entries), *([_notes(said)] if said else []))


def _motor_loads(loads: MotorLoads) -> Card:
    """Of a batch, a line of text: one arm has a card."""
    if loads.torque.ndim > 2:
        return ("Motor loads", repr(loads))
    drawn = _picture(plot_motor_loads(loads), "torque over speed at the shaft of each motor", 36)
    subtitle = f"{loads.robot.name}, {loads.duration:.6g} s"
    said = [one.text for one in loads.exceeded]
    return ("Motor loads", subtitle, drawn, loads_table(loads), *([_notes(said)] if said else []))


def _sizing(sizing: Sizing) -> Card:
    headings, rows = sizing.cells()
    drawn = _picture(plot_sizing(sizing), "torque over speed of each motor chosen", 36)
    said = [*sizing.sentences(), *(f"one size down: {one}" for one in sizing.next_down())]
    robot = sizing.problem.loads.reference.robot
    return (
        f"Drives of {robot.name}",
        f"least {sizing.objective}",
        drawn,
        table(headings, rows),
        _notes(said),
    )


def _base(base: BaseParameters) -> Card:
    free = any(value is None for value in base.robot.symbols.values())
    rows: list[tuple[TableCell, ...]] = []
    for k in range(min(len(base), ROWS)):
        value = () if free else (Amount(float(base.values[k])),)
        rows.append((base.names[k], *value, code(base.combinations[k])))
    text = f"{len(base)} of {len(base.grouping.considered)} parameters, found in {_ROUTES[base.route]}"
    headings = ("", "combination") if free else ("", "value", "combination")
    parts = [tag("div", table(headings, rows), *_more(len(base)))] if rows else []
    if base.absent:
        parts.append(tag("p", "No torque depends on ", join(map(code, base.absent), ", ")))
    return (f"Base parameters of {base.robot.name}", text, *parts)


_ROUTES = {"exact": "exact arithmetic", "numeric": "numbers"}


def _fit(fit: Fit) -> Card:
    entries: list[tuple[str, str]] = [
        ("error in training", join([number(100 * fit.training_error, 3), " %"])),
        ("base parameters", f"{len(fit.base)}, {int(fit.essential.sum())} known to 30 % or better"),
        ("condition number", number(fit.condition, 3)),
    ]
    if fit.validation is not None:
        entries.insert(1, ("error in validation", join([number(100 * fit.validation.error, 3), " %"])))
    if fit.model.problem.cutoff is not None:
        entries.insert(-2, ("of filtered torques", filtered_text(fit)))
    rows: list[tuple[TableCell, ...]] = []
    for row in fit.table()[:ROWS]:
        error: TableCell = Amount(row.standard_error, 2) if row.shown else "not shown"
        rows.append((row.label, Amount(row.estimate), error, Amount(row.nominal), row.unit))
    estimates = table(("parameter", "estimate", "std. error", "described", "unit"), rows)
    parts = [facts(entries), tag("div", estimates, *_more(len(fit.base)))]
    return (f"Fit of {fit.robot.name}", fit.method, *parts)


def _proof(proof: Proof) -> Card:
    lines = [f"{spelled(s.text)} ({s.terms} terms compared)" for s in proof.statements]
    return (f"Proved for {proof.robot}", "for every posture, motion and parameter", _notes(lines))


def _robot(robot: Robot) -> Card:
    free = [name for name, value in robot.model.symbols if value is None]
    text = f"{subtitle(robot)}, rotors {robot.model.rotors}"
    parts = [tag("div", _joints(robot), *_more(len(robot.joints)))]
    if free:
        parts.append(tag("p", f"Without a value: {', '.join(free)}"))
    else:
        parts.insert(0, _picture(_arm(robot), f"{robot.name} in a posture", 24))
    return (robot.name, text, *parts)


_ARM = 4.0  # inches, of the picture of an arm
_AXES = (0.66, 0.1, 0.44, 0.08)  # inches beside, below and above one with axes


@styled
def _arm(robot: Robot) -> Figure:
    """The arm as wide as its place in the card, so that its labels can be read."""
    posture = Posture.of(robot, shown_posture(robot))
    own, height = plot_arm(robot, posture.q).get_size_inches()
    height *= _ARM / own
    left, right, bottom, top = _AXES if posture.view.planar else (0.0, 0.0, 0.0, 0.0)
    place = (left / _ARM, bottom / height, 1 - (left + right) / _ARM, 1 - (bottom + top) / height)
    figure = Figure(figsize=(_ARM, height))
    plot_arm(robot, posture.q, ax=figure.add_axes(place))
    return figure


def _joints(robot: Robot) -> Markup:
    limits = limits_table(robot.model)
    rows: list[tuple[Cell, ...]] = []
    for i, link in enumerate(robot.model.moving[:ROWS]):
        own: tuple[Cell, ...] = limits.rows[i][1:] if limits.rows else ("",) * (len(limits.headings) - 1)
        mass = _with_value(robot, Expression.of(link.inertia.mass))
        rows.append((link.joint_label, link.joint, UNITS[link.joint].position, mass, *own))
    return robot_table(RobotTable(("joint", "kind", "unit", "mass [kg]", *limits.headings[1:]), tuple(rows)))


def _with_value(robot: Robot, x: Expression) -> Cell:
    """A number; an expression with what it comes to, where its symbols have values."""
    values = dict(robot.model.symbols)
    if not x.symbols() or any(values[name] is None for name in x.symbols()):
        return x
    return join([expression(x), " = ", number(robot.model.number(x), 6)])


def _scaled(scaled: Scaled) -> Card:
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
    return ("Scaled motion", scaled.trajectory.motion.label, _torques(scaled), facts(entries))


def _time_optimal(fastest: TimeOptimal) -> Card:
    entries: list[tuple[str, str]] = [
        ("duration", join([number(fastest.duration), " s"])),
        ("intervals of the path", str(len(fastest.acceleration))),
    ]
    if fastest.excess > 0:
        entries.append(
            ("beyond a limit", join([number(100 * fastest.excess, 2), " % of it, between points"]))
        )
    return ("Motion in least time", fastest.trajectory.motion.label, _torques(fastest), facts(entries))


def _torques(found: Scaled | TimeOptimal) -> Markup:
    """Positions and torques; torques in percent of their limits where all joints have one."""
    limit = found.limits.torque
    bounded = bool(np.isfinite(limit).all() and (limit > 0).all())
    torque = 100 * found.torque / limit if bounded else found.torque
    label = "torque [% of its limit]" if bounded else _labelled("torque", ("N m", "N"))
    q = found.trajectory(found.t)[0]
    figure = _joint_curves(found.t, [(_labelled("position", ("rad", "m")), q), (label, torque)])
    return _picture(figure, "positions and torques over time", 36)


CARDS: dict[str, Callable[[Any], Card]] = {  # by the name of the class
    "Robot": _robot,
    "Trajectory": _trajectory,
    "Run": _run,
    "Scaled": _scaled,
    "TimeOptimal": _time_optimal,
    "MotorLoads": _motor_loads,
    "Sizing": _sizing,
    "Ellipsoid": _ellipsoid,
    "BaseParameters": _base,
    "Fit": _fit,
    "Proof": _proof,
}


def card(value: Any) -> str:
    """HTML that shows a value and needs nothing else."""
    for kind in type(value).__mro__:
        if kind.__name__ in CARDS and kind.__module__.startswith("armdyn."):
            title, beside, *parts = CARDS[kind.__name__](value)
            head = tag("p", tag("strong", title), tag("span", beside), class_="head")
            body = tag("div", *parts, class_="body")
            return str(tag("div", tag("style", Markup(_STYLE)), head, body, class_="armdyn-card"))
    raise ArmdynError(f"there is no card for a {type(value).__name__}")
