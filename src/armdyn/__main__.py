"""python -m armdyn."""

from armdyn.cli import main

main()
