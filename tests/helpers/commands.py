"""Commands as a user types them, for the tests of the command line."""

import sys

import pytest
from typer.testing import CliRunner

from armdyn.cli import app, main


def run(*arguments):
    """What a command that succeeds prints."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def refused(monkeypatch, capsys, *arguments):
    """The one line on stderr with which `armdyn …` stops, exit code 2."""
    monkeypatch.setattr(sys, "argv", ["armdyn", *(str(a) for a in arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert len(lines) == 1, captured.err
    assert lines[0].startswith("error: ")
    return lines[0]


def rows(text):
    """The rows of the tables in an output, as lists of cells."""
    lines = [line for line in text.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]
