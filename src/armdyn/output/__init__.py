"""What leaves the program: files that are replaced whole or not at all, names that are safe to print, values
as notebooks show them, and what is being done while a call takes long."""

from armdyn.output.display import Shown, shown_or_none
from armdyn.output.files import write_files, write_whole
from armdyn.output.names import file_stem, one_line
from armdyn.output.progress import hide_progress, progress_bar, stage

__all__ = [
    "Shown",
    "file_stem",
    "hide_progress",
    "one_line",
    "progress_bar",
    "shown_or_none",
    "stage",
    "write_files",
    "write_whole",
]
