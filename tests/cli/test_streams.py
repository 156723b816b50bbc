"""Streams that are closed or full, readers that go away, memory that runs out: no traceback, a sound code."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import typer

from armdyn.cli.running import run
from arms import slowly

FULL = Path("/dev/full")
ARMDYN = f'"{sys.executable}" -m armdyn'
NO_TEXT = "error: a text that is read or written has other characters than it may have: "
NOT_ASCII = " in position 0: ordinal not in range(128)\n"
LONE = " in position 0: surrogates not allowed\n"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="streams and limits of Linux")


def shell(command, **environment):
    """Exit code, stdout and stderr of a command line."""
    result = subprocess.run(
        ["/bin/sh", "-c", command],
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, **environment},
    )
    assert "Traceback" not in result.stderr
    return result.returncode, result.stdout, result.stderr


@LINUX
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("robots >&-", (0, "", "")),
        slowly("show planar <&- >&- 2>&-", (0, "", "")),
        slowly("show nosuch >&- 2>&-", (2, "", "")),
        slowly("show nosuch 2>&-", (2, "", "")),
        ("show nosuch 2>/dev/full", (2, "", "")),
        slowly("show planar >/dev/full 2>&1", (2, "", "")),
        ("show planar >/dev/full", (2, "", "error: [Errno 28] No space left on device\n")),
        slowly("bogus 2>/dev/full", (2, "", "")),
    ],
)
def test_streams_that_are_closed_or_full(command, expected):
    assert shell(f"{ARMDYN} {command}") == expected


@pytest.mark.slow
@LINUX
def test_a_closed_stream_does_not_spill_into_a_file(tmp_path):
    """Without a stdout the first file opened would get its number."""
    path = tmp_path / "motion.csv"
    law = "--to 1,1 --profile cubic --duration 1 --step 0.1"
    assert shell(f"{ARMDYN} trajectory planar {law} -o {path} >&-") == (0, "", "")
    lines = path.read_text("utf-8").splitlines()
    assert lines[0] == "t,q1,q2,qd1,qd2,qdd1,qdd2"
    assert len(lines) == 12


@LINUX
@pytest.mark.parametrize("command", ["robots", slowly("derive puma560")])
def test_a_reader_that_goes_away_is_no_error(command):
    """In the middle of a table, and of a long text."""
    code, _, errors = shell(f"{{ {ARMDYN} {command}; echo code $? >&2; }} | true")
    assert (code, errors) == (0, "code 0\n")


def verb_that(act):
    """An app with one verb that does this."""
    app = typer.Typer()
    app.command()(act)
    return app


def out_of_memory():
    raise MemoryError


def interrupted():
    raise KeyboardInterrupt


def read_bytes_that_are_no_text():
    b"\xff".decode("ascii")


def write_a_lone_surrogate():
    "\udcff".encode()


def stopped():
    raise typer.Exit(1)


@pytest.mark.parametrize(
    ("act", "code", "line"),
    [
        (out_of_memory, 2, "error: there is not enough memory for this\n"),
        (read_bytes_that_are_no_text, 2, f"{NO_TEXT}'ascii' codec can't decode byte 0xff{NOT_ASCII}"),
        (write_a_lone_surrogate, 2, f"{NO_TEXT}'utf-8' codec can't encode character '\\udcff'{LONE}"),
        (interrupted, 130, ""),
        (stopped, 1, ""),
        (lambda: None, 0, ""),
    ],
)
def test_what_goes_wrong_in_a_verb_has_a_code_and_at_most_one_line(capsys, act, code, line):
    assert run(verb_that(act), []) == code
    assert capsys.readouterr() == ("", line)


@pytest.mark.filterwarnings("always")
def test_a_warning_is_one_line_without_the_place_in_the_program(capsys):
    def warn():
        warnings.warn("link 'a\x1b[31m\nb': odd", UserWarning, stacklevel=1)

    before = warnings.showwarning
    assert run(verb_that(warn), []) == 0
    assert capsys.readouterr() == ("", "warning: link 'a\N{REPLACEMENT CHARACTER}[31m b': odd\n")
    assert warnings.showwarning is before


MEMORY = """
import resource, sys
import armdyn.cli.motion
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 200_000_000,) * 2)
armdyn.cli.main()
"""


@pytest.mark.slow
@LINUX
def test_running_out_of_memory_is_one_line(tmp_path):
    """Ten million samples in 200 MB."""
    law = ["--to", "1, 1", "--profile", "cubic", "--duration", "1000", "--step", "1e-4"]
    path = tmp_path / "motion.csv"
    command = [sys.executable, "-c", MEMORY, "trajectory", "planar", *law, "-o", str(path)]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert result.returncode == 2
    assert result.stdout in ("", "timing law: cubic\n")  # memory may be left for that
    assert result.stderr == "error: there is not enough memory for this\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["nonsense", "module://nowhere"])
def test_a_report_needs_no_backend(tmp_path, backend):
    path = tmp_path / "report.html"
    command = [sys.executable, "-m", "armdyn", "report", "pendulum", "-o", str(path)]
    environment = {**os.environ, "MPLBACKEND": backend}
    result = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, env=environment)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"wrote {path}\n", "")
