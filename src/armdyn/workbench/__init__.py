"""The workbench in the browser: `armdyn view ROBOT`, or `armdyn.view(robot)`.

The page is viser's, a three.js viewer with fields beside it; it needs the extra `view`. `server` starts it
behind a gate, `bench` holds the state, `scene` draws the arm, `panels` are the fields and readings beside it.
"""

from __future__ import annotations

from armdyn.workbench.errors import ViewError
from armdyn.workbench.opening import Workbench, view

__all__ = ["ViewError", "Workbench", "view"]
