"""What is drawn: solids or meshes, frames, masses, handle and ellipsoids at the tip, ground, light."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from armdyn.drawing.solids import Kind
from armdyn.names import one_line
from armdyn.report.page import Markup, join, tag
from armdyn.workbench.bench import Bench
from armdyn.workbench.fields import Reading, note
from armdyn.workbench.moment import Moment
from armdyn.workbench.scene.arm import DrawnArm, Ground, add_arm, add_ground, add_light, add_springs
from armdyn.workbench.scene.marks import Marks, Masses, PayloadBall, TipTrace, frames, names, numbers
from armdyn.workbench.scene.meshes import VisualMeshes
from armdyn.workbench.scene.tip import (
    COLOURS,
    UNITS,
    Drawn,
    Handle,
    Name,
    TipEllipsoids,
    freedom_of,
    has_ellipsoids,
    round_bar,
)

_SOLIDS: tuple[Kind, ...] = ("base", "link", "joint", "closing")
_HINTS: dict[Name, str] = {
    "velocity": "Velocities of the tip for joint velocities of norm 1",
    "force": "Forces that the tip can exert at rest, gravity left out, for {unit}",
    "acceleration": "Accelerations of the tip at rest for {unit} (7.148); gravity shifts the centre",
}


def add(bench: Bench) -> None:
    arm = add_arm(bench)
    add_springs(bench, arm)
    ground = add_ground(bench, arm)
    add_light(bench)
    with bench.gui.add_folder("Arm"):
        _arm(bench, arm)
    with bench.gui.add_folder("Marks"):
        _marks(bench, arm)
    with bench.gui.add_folder("Tip"):
        _handle(bench, arm)
    if has_ellipsoids(bench.robot):
        with bench.gui.add_folder("Ellipsoids at the tip"):
            _ellipsoids(bench, arm)
    with bench.gui.add_folder("View"):
        _view(bench, ground)


def _arm(bench: Bench, arm: DrawnArm) -> None:
    meshes = VisualMeshes(bench, arm)
    if meshes.any:
        bench.switch("Meshes", "What the URDF says its links look like", True, meshes.show)
    if meshes.any or meshes.notes:
        reading = Reading(bench, note("Reading meshes …"))
        meshes.start(lambda: reading.show(join([note(x, data_armdyn="meshes") for x in meshes.notes])))
    hint = "Links as rods, joints as cylinders and boxes; a mesh that is drawn takes their place"
    bench.switch("Solids", hint, True, lambda visible: arm.show(_SOLIDS, visible))
    if any(solid.kind == "motor" for solid in arm.drawn.solids):
        with_motors = "Motors where they sit, in dark"
        bench.switch("Motors", with_motors, True, lambda visible: arm.show(("motor",), visible))


def _marks(bench: Bench, arm: DrawnArm) -> None:
    marks = [Marks(bench, arm.size, make) for make in (numbers, frames, names)]
    masses = Masses(bench, arm.size)

    def renew() -> None:
        for one in marks:
            one.renew(arm.size)
        masses.resize(arm.size)

    arm.on_redrawn(renew)
    balls, shells = partial(masses.show, "balls"), partial(masses.show, "shells")
    of_frames = "Axes of every link, the base and the tip: x red, y green, z blue"
    of_balls = "Of every link, without motors; the volume of a ball is in proportion to the mass"
    of_shells = "The homogeneous solid ellipsoid with the link's mass and its principal moments about the "
    of_shells += "centre of mass; none where no body can have these moments"
    bench.switch("Joint numbers", "The numbers joints have in every table", False, marks[0].show)
    bench.switch("Frames", of_frames, False, marks[1].show)
    bench.switch("Names", "Names of links at the origins of their frames", False, marks[2].show)
    payload, way = PayloadBall(bench, arm.size), TipTrace(bench)
    bench.switch("Path of the tip", "Along the motion, the simulation or the log", True, way.show)
    of_loads = "What the arm carries, as a ball of aluminium with its mass"
    bench.switch("Payload", of_loads, True, payload.show)
    bench.switch("Centres of mass", of_balls, False, balls)
    bench.switch("Inertia ellipsoids", of_shells, False, shells)
    reading = Reading(bench)

    def say(_moment: Moment) -> None:
        without = ", ".join(one_line(name) for name in masses.without)
        text = f"No ellipsoid: no body can have the inertia that is given for {without}"
        reading.show(note(text, data_armdyn="no-ellipsoid") if without else Markup(""))

    bench.on_picture(say)


def _handle(bench: Bench, arm: DrawnArm) -> None:
    freedom = freedom_of(bench.robot)
    if not freedom.position_rank:
        Reading(bench, note("The joints do not move the tip."))
        return
    handle = Handle(bench, arm.size, freedom)
    arm.on_redrawn(lambda: handle.resize(arm.size))
    hint = "Drag the arrows, the squares or the middle at the tip: the arm follows, within its limits"
    bench.switch("Drag the tip", hint, True, handle.show)
    if freedom.keeps_orientation and freedom.orientation_rank > 0:
        hint = "The tip keeps its orientation, and rings at the handle turn it"
        bench.switch("Turn too", hint, False, handle.turn_too)


def _ellipsoids(bench: Bench, arm: DrawnArm) -> None:
    ellipsoids = TipEllipsoids(bench, arm.size)
    arm.on_redrawn(lambda: ellipsoids.resize(arm.size))
    for name in COLOURS:
        hint = _HINTS[name].format(unit=ellipsoids.unit)
        bench.switch(name.capitalize(), hint, False, partial(ellipsoids.show, name))
    reading = Reading(bench)

    def show(_moment: Moment) -> None:
        reasons = [f"No {name} ellipsoid: {one_line(why)}" for name, why in ellipsoids.refused.items()]
        table = axes_table(ellipsoids.drawn, ellipsoids.unit)
        reading.show(join([table, *(note(reason) for reason in reasons)]))

    bench.on_picture(show)


def axes_table(drawn: dict[Name, Drawn], unit: str) -> Markup:
    """Semi-axes, how large they are drawn, and what gravity shifts."""
    if not drawn:
        return Markup("")
    rows = [_axes_row(name, one) for name, one in drawn.items()]
    strong = [] if set(drawn) == {"velocity"} else [note(f"For {unit}.")]
    return tag("div", *rows, *strong, data_armdyn="ellipsoids")


def _axes_row(name: Name, drawn: Drawn) -> Markup:
    found, unit = drawn.ellipsoid, UNITS[name]
    axes = " × ".join(f"{x:.3g}" for x in found.lengths)
    said = [f"semi-axes {axes} {unit}"]
    shift = float(np.linalg.norm(found.centre))
    if shift > 1e-9 * float(found.lengths.max()):
        said.append(f"gravity shifts it by {shift:.3g} {unit}")
    if drawn.scale > 0:
        value = round_bar(drawn)
        said.append(f"drawn: {value:g} {unit} is {_length(value * drawn.scale)}")
    elif np.isinf(found.lengths).any():
        ends = "the structure bears a force by itself" if name == "force" else "it has no end"
        said.append(f"{ends}: not drawn")
    colour = "#{:02x}{:02x}{:02x}".format(*COLOURS[name])
    head = tag("b", tag("i", style=f"background:{colour}"), name.capitalize())
    return tag(
        "div",
        head,
        tag("div", "; ".join(said)),
        class_="ad-ellipsoid",
        data_name=name,
        data_axes=" ".join(repr(float(x)) for x in found.lengths),
    )


def _length(metres: float) -> str:
    return f"{metres:.3g} m" if metres >= 0.1 else f"{100 * metres:.3g} cm"


def _view(bench: Bench, ground: Ground) -> None:
    def visible(on: bool) -> None:
        ground.grid.visible = on

    bench.switch("Ground", "A grid below the base", True, visible)
    hint = "Shadows of the arm; they cost more than all the rest of the picture"
    bench.switch("Shadows", hint, False, lambda on: bench.scene.configure_default_lights(cast_shadow=on))
    buttons = bench.gui.add_button_group(
        "Camera", tuple(ground.sides), hint="From where this page looks at the arm"
    )

    @buttons.on_click
    def _(event: Any) -> None:
        if event.client is not None:
            bench.guard(ground.look, event.client, str(buttons.value))
