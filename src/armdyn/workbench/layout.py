"""Where things stand: the arm in the middle, controls at the right, what is computed at the left."""

from __future__ import annotations

from importlib.resources import files

from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.bench.motions import Motions
from armdyn.workbench.exporting import panel as export
from armdyn.workbench.panels import (
    equations,
    parameters,
    pose,
    show,
    torques,
    wrench,
)
from armdyn.workbench.panels.moving import curves, data, motion, simulation
from armdyn.workbench.scene import arm, ground, springs

_LEFT, _RIGHT = 400, 420  # pixels


def lay_out(bench: Bench) -> None:
    drawn = arm.add(bench)
    springs.add(bench, drawn)
    floor = ground.add(bench, drawn)
    ground.light(bench)
    gui = bench.gui
    gui.main_panel.dock_right()
    gui.main_panel.set_width(_RIGHT)
    style = files("armdyn.workbench.panels").joinpath("panels.css").read_text(encoding="utf-8")
    gui.add_html(f"<style>{style}</style>{bench.fields.html}")
    motions = Motions(bench)
    readings = gui.add_panel()
    with readings.add_tab("Torques"):
        torques.add(bench)
    with readings.add_tab("Curves"):
        curves.add(bench)
    with readings.add_tab("Equations"):
        equations.add(bench)
    readings.dock_left()
    readings.set_width(_LEFT)
    motion.transport(bench, motions)
    controls = gui.add_tab_group()
    with controls.add_tab("Pose"):
        pose.add(bench)
        wrench.add(bench)
    with controls.add_tab("Robot"):
        parameters.add(bench)
    with controls.add_tab("Motion"):
        motion.add(bench, motions)
    with controls.add_tab("Simulate"):
        simulation.add(bench, motions)
    with controls.add_tab("Data"):
        data.add(bench, motions)
    with controls.add_tab("Show"):
        show.add(bench, drawn, floor)
    with controls.add_tab("Export"):
        export.add(bench)
