"""What it costs to compute the robot's dynamics."""

from __future__ import annotations

from armdyn.report.findings.tables import Grid
from armdyn.report.page.page import Part, grid, paragraph


def write_operations(found: Grid) -> list[Part]:
    return [
        paragraph(
            "Additions, multiplications and so on in the straight-line programs that are compiled for this "
            "robot, after common parts are shared and constants folded."
        ),
        grid(found),
    ]
