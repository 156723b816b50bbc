"""Where things stand: the arm in the middle, controls at the right, what is computed at the left."""

from __future__ import annotations

from importlib.resources import files

from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.panels import export, pose, torques
from armdyn.workbench.scene import arm, ground

_LEFT, _RIGHT = 400, 360  # pixels


def lay_out(bench: Bench) -> None:
    drawn = arm.add(bench)
    ground.add(bench, drawn.size)
    bench.scene.configure_default_lights(cast_shadow=False)  # shadows cost more than all the rest
    gui = bench.gui
    gui.main_panel.dock_right()
    gui.main_panel.set_width(_RIGHT)
    style = files("armdyn.workbench.panels").joinpath("panels.css").read_text(encoding="utf-8")
    gui.add_html(f"<style>{style}</style>")
    readings = gui.add_panel()
    with readings.add_tab("Torques"):
        torques.add(bench)
    readings.dock_left()
    readings.set_width(_LEFT)
    controls = gui.add_tab_group()
    with controls.add_tab("Pose"):
        pose.add(bench)
    with controls.add_tab("Export"):
        export.add(bench)
