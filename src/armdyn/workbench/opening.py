"""The workbench opened: a page in the browser with the arm in 3-D and what there is to know of its state."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any
from uuid import uuid4

from armdyn.drawing.style import cause_variables
from armdyn.identification import Fit, Log
from armdyn.motion import load_cycle
from armdyn.motion.torques import check_robot
from armdyn.motion.trajectory import Trajectory
from armdyn.names import one_line
from armdyn.robot import Robot
from armdyn.workbench.bench import Bench
from armdyn.workbench.moment import ViewError
from armdyn.workbench.server import EVERYWHERE, Gate, checked_origins, open_browser, start_server, stop_server
from armdyn.workbench.tabs import (
    curves,
    data,
    equations,
    export,
    motion,
    others,
    parameters,
    pose,
    show,
    simulation,
    torques,
)

# Pixels of a window's width at least, and of the panels at its left and right; the last folds the left one.
_WIDTHS = ((1250, 400, 420), (900, 310, 340), (0, 300, 330))


Add = Callable[[Bench], Any]  # makes the fields of a tab and has itself told of the state


def robot_tab(bench: Bench) -> None:
    others.add(bench)
    parameters.add(bench)


READINGS: dict[str, Add] = {  # at the left: what is computed
    "Torques": torques.add,
    "Curves": curves.add,
    "Equations": equations.add,
}
CONTROLS: dict[str, Add] = {  # at the right
    "Pose": pose.add,
    "Robot": robot_tab,
    "Motion": motion.add,
    "Simulate": simulation.add,
    "Data": data.add,
    "Show": show.add,
    "Export": export.add,
}


def lay_out(bench: Bench) -> None:
    """The arm in the middle, readings at the left, the player and controls at the right."""
    gui = bench.gui
    gui.main_panel.dock_right()
    causes = f':root{{{cause_variables()}}}[data-mantine-color-scheme="dark"]{{{cause_variables(True)}}}\n'
    style = causes + files("armdyn.workbench").joinpath("panels.css").read_text(encoding="utf-8")
    gui.add_html(f"<style>{style}</style>{bench.fields.html}")
    readings = gui.add_panel()
    _add(readings, READINGS, bench)
    readings.dock_left()
    motion.transport(bench)
    _add(gui.add_tab_group(), CONTROLS, bench)
    _, left, right = _WIDTHS[0]
    readings.set_width(left)
    gui.main_panel.set_width(right)

    def narrow(client: Any, window: float) -> None:
        """Panels of one page, whose window has a width: viser has one width for all pages."""
        from viser import _messages

        least, *widths = next(row for row in _WIDTHS if window >= row[0])
        say = client.gui._websock_interface.queue_message
        stamp: Any = {"counter": 1, "run_id": uuid4().hex}  # as from another server: always taken
        for panel, width in zip((readings, gui.main_panel), widths, strict=True):
            say(_messages.GuiSetPanelWidthMessage(panel._placement_uuid, width, **stamp))
        say(_messages.GuiSetPanelCollapsedMessage(readings._placement_uuid, least == 0, **stamp))

    bench.fields.hear("window", narrow)


def _add(group: Any, tabs: dict[str, Add], bench: Bench) -> None:
    for title, add in tabs.items():
        with group.add_tab(title) as bench.places[title]:
            add(bench)


PORT = 8765
_PATIENCE = 3.0  # s: how long a page may be away
_LOADING = 20.0  # s: how long it may take to load


class Workbench:
    """An open workbench: `url` is its page, `wait()` returns when all pages are closed, `close()` ends it."""

    def __init__(self, bench: Bench, gate: Gate) -> None:
        self._bench, self._gate = bench, gate
        self._take(bench)
        atexit.register(self.close)  # before viser's own, which prints

    @property
    def url(self) -> str:
        host = EVERYWHERE.get(self._gate.host, self._gate.host)
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self._bench.server.get_port()}/"

    @property
    def robot(self) -> Robot:
        """The robot as it is edited in the page."""
        return self._bench.robot

    @property
    def q(self) -> Any:
        """(n,): the posture shown [rad or m]. Assign to it to move the arm."""
        return self._bench.moment.q.copy()

    @q.setter
    def q(self, q: Any) -> None:
        from armdyn.drawing.errors import check

        self._bench.change(q=check.posture("q", q, self._bench.robot.n), time=None)

    @property
    def python(self) -> str:
        """The Python lines that reproduce what is seen."""
        return self._bench.python()

    @property
    def closed(self) -> bool:
        return self._bench.closed

    def open(self) -> None:
        """Open the page in the system's browser, where there is one with windows."""
        open_browser(self.url)

    def _take(self, bench: Bench) -> None:
        self._gate.on_unaided, bench.open_robot = bench.draw_plainly, self._open_robot

    def _open_robot(self, robot: Robot, source: str | None) -> None:
        """Show another robot in place of the one that is shown, in every page."""
        loaded, _ = _loaded(robot)
        old, server = self._bench, self._bench.server
        old.close()
        with server.atomic():
            server.gui.reset()
            server.scene.reset()
            server.gui.set_panel_label(one_line(loaded.name))
            bench = Bench(server, loaded, source)
            bench.unaided = self._gate.unaided
            lay_out(bench)
        self._bench = bench
        self._take(bench)
        bench.start()

    def wait(self, *, stay: bool = False) -> None:
        """Wait until every page that was open is closed; with `stay`, until `close` or Ctrl-C."""
        seen, last = False, 0.0
        while not self.closed:
            time.sleep(0.1)
            if self._bench.server.get_clients() or self._gate.loading(_LOADING):
                seen, last = True, time.monotonic()  # a page that is being loaded again comes back
            elif seen and not stay and time.monotonic() - last >= _PATIENCE:
                return

    def close(self) -> None:
        """End it: the page says that it lost its server. Closing twice does nothing."""
        atexit.unregister(self.close)
        if not self._bench.closed:
            self._bench.close()
            stop_server(self._bench.server)

    def __enter__(self) -> Workbench:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else self.url
        return f"<Workbench of '{one_line(self._bench.given.name)}': {state}>"

    def _repr_html_(self) -> str:
        """In a notebook: the page itself."""
        if self.closed:
            return "<p>This workbench is closed.</p>"
        return f'<iframe src="{self.url}" width="100%" height="640" style="border:1px solid #ccc"></iframe>'


def view(
    robot: Robot | str | Path,
    motion: Trajectory | str | Path | None = None,
    *,
    fit: Fit | None = None,
    log: Log | None = None,
    source: str | None = None,
    host: str = "127.0.0.1",
    port: int = PORT,
    origins: Iterable[str] = (),
    browser: bool = True,
) -> Workbench:
    """Open the workbench for a robot: a page with the arm in 3-D, its torques, motions, simulations.

        >>> bench = armdyn.view(Robot.load("puma560"))  # opens the browser
        >>> bench.wait()  # in a script: until the page is closed

    `motion` is shown to play and scrub: a trajectory, the path of a CSV file or of a cycle file, or the name
    of a bundled cycle. `fit` and `log` show measured and predicted torques. The page is
    served at `host`, this machine only unless told otherwise, on `port` or the next one that is free (0:
    any). Pages of other origins are refused; `origins` are addresses of proxies in front of it. With
    browser=False nothing is opened: `bench.url` is the address. In a notebook the page stands in the cell.
    `source` is the file or name that a robot given as an object came from: the page's Python lines load it.
    """
    loaded, path = _loaded(robot)
    made, spelt = _moved(loaded, motion)
    _check_kind("fit", fit, Fit)
    _check_kind("log", log, Log)
    gate = Gate(host, checked_origins(origins))
    server = start_server(gate, port, one_line(loaded.name))
    try:
        bench = Bench(server, loaded, source or path, made, spelt, fit, log)
        lay_out(bench)
    except BaseException:
        stop_server(server)
        raise
    bench.start()
    shown = Workbench(bench, gate)
    if browser and not _in_notebook():
        shown.open()
    return shown


def _loaded(robot: Any) -> tuple[Robot, str | None]:
    loaded = robot if isinstance(robot, Robot) else Robot.load(robot)
    free = [name for name, value in loaded.symbols.items() if value is None]
    if free:
        raise ViewError(
            f"{one_line(loaded.name)}: the workbench needs numbers; give values to {', '.join(free)}"
        )
    if not loaded.n:
        raise ViewError(f"{one_line(loaded.name)}: it has no moving joints")
    return loaded, None if isinstance(robot, Robot) else str(robot)


def _moved(robot: Robot, motion: Any) -> tuple[Trajectory | None, tuple[str, ...]]:
    """The motion, and the line of Python that makes it where it is known."""
    if motion is None:
        return None, ()
    line: tuple[str, ...] = ()
    if isinstance(motion, str | Path):
        kind = Path(motion).suffix.lower()
        if kind == ".csv" or (isinstance(motion, Path) and kind not in (".toml", ".json")):
            line = (f"motion = Trajectory.from_csv({str(motion)!r})",)
            motion = Trajectory.from_csv(motion)
        else:
            line = (f"motion = load_cycle(robot, {str(motion)!r})",)
            motion = load_cycle(robot, motion)
    check_robot(robot, motion)
    return motion, line


def _check_kind(name: str, given: Any, kind: type) -> None:
    if given is not None and not isinstance(given, kind):
        raise ViewError(f"{name}: expected a {kind.__name__}, found {type(given).__name__}")


def _in_notebook() -> bool:
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    return getattr(get_ipython(), "kernel", None) is not None
