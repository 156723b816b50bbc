"""What is shown on a terminal while a call takes long: stages, and nothing left behind."""

import io
import os
import re
import sys
import threading
from time import sleep

import pytest

from armdyn import progress, study
from armdyn.cli import app
from armdyn.cli.running import run
from armdyn.progress import hide_progress, progress_bar, stage

pytestmark = pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no pseudo-terminals")
CLEARED = "\x1b[2K"  # what rich writes to take a line away


class Screen:
    """A terminal: what is written to `stream` comes out as `text`."""

    def __init__(self):
        self.reading, writing = os.openpty()
        self.stream, self.text = os.fdopen(writing, "w", encoding="utf-8"), ""
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        found = b""
        while True:
            try:
                part = os.read(self.reading, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            found += part
        self.text = found.decode()

    def close(self):
        self.stream.close()
        self.reader.join()
        os.close(self.reading)
        return self.text


def plain(text):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r\n", "\n")


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.setattr(progress, "AFTER", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return Screen()


DERIVE = ("derive", "planar", "--prove")


def untimed(text):
    return re.sub(r"\d\.\d\d s", "", text)


@pytest.mark.parametrize("both", [False, True], ids=["stderr on it", "stdout too"])
def test_a_verb_shows_its_stages_and_takes_them_away(both, screen, monkeypatch, capsys):
    assert run(app, DERIVE) == 0
    expected = untimed(capsys.readouterr().out)
    monkeypatch.setattr(sys, "stderr", screen.stream)
    out = screen.stream if both else io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    assert run(app, DERIVE) == 0
    assert sys.stdout is out
    shown = screen.close()
    for name in ("derive: equations ", "derive: proof 1 of 5 ", "derive: proof 5 of 5 "):
        assert name in plain(shown)
    assert re.search(r"0:00:0\d", shown)
    if both:
        display, _, printed = shown.rpartition(CLEARED)
        assert untimed(plain(printed)) == expected
        assert expected.splitlines()[0] not in display
    else:
        assert untimed(out.getvalue()) == expected
        assert shown.endswith(CLEARED)


def test_nothing_is_shown_where_stderr_is_no_terminal(monkeypatch, capsys):
    monkeypatch.setattr(progress, "AFTER", 0.0)
    assert run(app, DERIVE) == 0
    assert capsys.readouterr().err == ""


def test_bars_within_a_display_are_stages_of_it(screen, monkeypatch):
    monkeypatch.setattr(sys, "stderr", screen.stream)
    told = []
    with progress_bar("outer", None), stage("middle"):
        with progress_bar("inner", None) as update:
            update(0.25)
            sleep(0.3)  # it is drawn ten times a second
        with progress_bar("silent", False) as update:
            update(0.5)
        with progress_bar("mine", told.append) as update:
            update(0.75)
        hide_progress()
        with stage("too late"):
            pass
    shown = plain(screen.close())
    assert "outer: middle: inner " in shown
    assert " 25 %" in shown
    assert not any(word in shown for word in ("silent", "mine", "too late"))
    assert told == [0.75]


def test_a_study_says_how_fast_it_goes_and_how_long_it_will_take(screen, monkeypatch):
    monkeypatch.setattr(sys, "stderr", screen.stream)

    def slow(row):
        sleep(0.02)
        return {"y": row["x"]}

    study(slow, {"x": [float(k) for k in range(60)]}, workers=1, batch=5)
    assert re.search(r"study .* \d+ %  [\d.]+ cases/s, \d s left", plain(screen.close()))
