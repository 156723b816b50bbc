"""`Drawing`: a matplotlib figure that shows itself in windows and notebooks; pyplot does not keep it."""

from __future__ import annotations

import sys
import warnings
from io import BytesIO
from typing import Any

import matplotlib as mpl
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from armdyn.report.figures.paper.style import STYLE

_SHARP = 2  # pixels of a notebook's picture for each pixel of its place


class Drawing(Figure):
    """A figure as the plots of armdyn return it.

    pyplot knows it only while its window is open: thousands can be made, and none has to be closed.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        FigureCanvasSVG(self)

    def show(self, warn: bool = True, *, block: bool | None = None) -> None:
        """Show the figure: in a window of matplotlib's backend, or below the cell of a notebook.

        As `matplotlib.pyplot.show`, this waits in a script until the windows are closed; `block=False` goes
        on at once. Without a backend that has windows, it warns (unless `warn` is False) and does nothing.
        """
        from matplotlib import pyplot  # loads a backend: only when something is to be shown

        backend = _backend(pyplot)
        if _has_windows(backend):
            self._open(backend)
            pyplot.show(block=block)
        elif not _shown_in_notebook(self) and warn:
            name = mpl.get_backend()
            hint = "matplotlib.use('qtagg') or another of its backends opens windows; savefig writes a file"
            warnings.warn(f"the backend '{name}' of matplotlib has no windows: {hint}", stacklevel=2)

    def _open(self, backend: Any) -> None:
        """A window of its own, which pyplot lists until it is closed."""
        from matplotlib._pylab_helpers import Gcf

        if self.canvas.manager is None or self.canvas.manager not in Gcf.figs.values():
            manager = backend.FigureCanvas.new_manager(self, max(Gcf.figs, default=0) + 1)
            Gcf._set_new_active_manager(manager)
        manager = self.canvas.manager
        if manager is not None:
            manager.show()

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """How notebooks show it: an image and its size on the page."""
        width, height = (round(96 * x) for x in self.get_size_inches())
        stream = BytesIO()
        with mpl.rc_context(rc=STYLE):
            self.savefig(stream, format="png", dpi=96 * _SHARP)
        return stream.getvalue(), {"width": width, "height": height}


def _backend(pyplot: Any) -> Any:
    """The module of the backend in use; the first call chooses one, as pyplot does."""
    from matplotlib.backends.registry import backend_registry

    pyplot.get_backend()
    return backend_registry.load_backend_module(mpl.get_backend())  # type: ignore[no-untyped-call]


def _has_windows(backend: Any) -> bool:
    manager = getattr(getattr(backend, "FigureCanvas", None), "manager_class", FigureManagerBase)
    return bool(manager.show is not FigureManagerBase.show)


def _shown_in_notebook(figure: Figure) -> bool:
    """Below the cell, where this is a notebook; whether it is."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return False
    from IPython.display import display

    display(figure)
    return True
