"""What is seen, to take away: pictures, tables, the robot, the report, and the Python lines for it."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

from armdyn.report.page.markup import Markup, tag
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.bench.moment import Moment
from armdyn.workbench.exporting import files as exported
from armdyn.workbench.exporting.files import Exported
from armdyn.workbench.panels.reading import Reading

_WAIT = 0.5  # s: how often the lines are written anew, at most


def add(bench: Bench) -> None:
    gui = bench.gui
    _button(bench, "Picture (.png)", lambda client: exported.picture(bench, client))
    with gui.add_folder("Table (.csv)"):
        options = (exported.SHOWN, exported.MOTION, exported.SIMULATION, exported.STATE)
        what = gui.add_dropdown("Of", options, hint="t, q, q̇, q̈ and torques, in seconds and SI units")
        _button(bench, "Save table", lambda _: exported.table(bench, str(what.value)))
    with gui.add_folder("Robot, as edited"):
        form = gui.add_dropdown("As", tuple(exported.FORMATS))
        _button(bench, "Save robot", lambda _: exported.robot_file(bench, exported.FORMATS[form.value]))
    with gui.add_folder("Report (.html)"):
        live = gui.add_checkbox("With sliders in it", False, hint="The arm in 3-D, computed in the report")
        _button(bench, "Save report", lambda _: exported.report_file(bench, bool(live.value)), long=True)
    with gui.add_folder("Python"):
        _button(bench, "Save lines (.py)", lambda _: exported.python_file(bench))
        Lines(bench)


def _button(bench: Bench, label: str, make: Callable[[Any], Exported], *, long: bool = False) -> None:
    """A button whose file goes to the page that asked for it."""
    button = bench.gui.add_button(label)

    @button.on_click
    def _(event: Any) -> None:
        client = event.client
        if client is None:
            return
        if long:
            bench.tell(label, "It is being written; the download follows.")
            bench.job(label, lambda: make(client), lambda file: _send(bench, client, file))
        else:
            bench.guard(lambda: _send(bench, client, make(client)))


def _send(bench: Bench, client: Any, file: Exported) -> None:
    if client.client_id not in bench.server.get_clients():
        return  # the page was closed while the file was written
    client.send_file_download(file.name, file.content, save_immediately=True)
    for note in file.notes[:3]:
        bench.tell(file.name, note, "orange")
    if len(file.notes) > 3:
        bench.tell(file.name, f"It cannot say {len(file.notes) - 3} more things.", "orange")


class Lines:
    """The Python lines, written anew some time after the state changed, so that sliders stay quick."""

    def __init__(self, bench: Bench) -> None:
        self._bench, self._reading = bench, Reading(bench)
        self._waiting = threading.Event()
        bench.on_moment(self._changed)

    def _changed(self, _moment: Moment) -> None:
        if not self._waiting.is_set():
            self._waiting.set()
            later = threading.Timer(_WAIT, self._bench.guard, [self._show])
            later.daemon = True
            later.start()

    def _show(self) -> None:
        self._waiting.clear()
        if not self._bench.closed:
            self._reading.show(listing(self._bench.python()))


def listing(text: str) -> Markup:
    """Lines to read and to copy: every blank stays one, also before a percent sign."""
    return tag("pre", *re.split("(?<= )(?=%)", text), class_="ad-lines", data_armdyn="python")
