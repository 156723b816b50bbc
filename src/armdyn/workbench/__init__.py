"""The workbench in the browser: `armdyn view ROBOT`, or `armdyn.view(robot)`.

The page is viser's, a three.js viewer with fields beside it; it needs the extra `view`. In the order of the
flow: `moment` (a robot at one instant) → `server` (behind a gate), `fields`, `charts`, `player` → `bench`
(the state, and who is told of it) → `scene` (the arm in 3-D) → `tabs` (one file each) → `opening` (the lists
of tabs).

Order: moment, fields, charts, player, bench, scene/, server, tabs/, opening.
"""

from __future__ import annotations

from armdyn.workbench.moment import ViewError
from armdyn.workbench.opening import Workbench, view

__all__ = ["ViewError", "Workbench", "view"]
