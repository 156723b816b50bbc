"""What leaves the program: files that are replaced whole or not at all, names that are safe to print, and
values as notebooks show them."""

from armdyn.output.display import Shown, shown_or_none
from armdyn.output.files import write_files, write_whole
from armdyn.output.names import file_stem, one_line

__all__ = ["Shown", "file_stem", "one_line", "shown_or_none", "write_files", "write_whole"]
