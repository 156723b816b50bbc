"""What the program writes: files that are replaced whole or not at all, and names that are safe to print."""

from armdyn.output.files import write_files, write_whole
from armdyn.output.names import one_line

__all__ = ["one_line", "write_files", "write_whole"]
