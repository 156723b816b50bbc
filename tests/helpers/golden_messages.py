"""Messages for people, kept in tests/golden/messages/ and compared word for word.

    with golden_error(ModelError):
        robot.inertia("x")

A file for each folder of tests, a line for each message that a test meets: the test, then what was said.
Where a sentence is meant to change, run the tests with ARMDYN_UPDATE_GOLDEN=1 and read the difference: no
test is edited. A message whose number must be right is matched in its test (`pytest.raises(…, match=…)`).
"""

import os
import re
import tempfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "messages"
UPDATE = bool(os.environ.get("ARMDYN_UPDATE_GOLDEN"))
# What differs from run to run or from machine to machine: folders that pytest makes for a test, files
# while they are written, addresses, and digits of what was computed.
VARYING = re.compile(
    re.escape(tempfile.gettempdir())
    + r"[/\\]pytest-of-[^/\\]+[/\\]pytest-\d+[/\\](popen-gw\d+[/\\])?[^/\\'\"]+"
    r"|\.armdyn-\w+|0x[0-9a-f]{6,}|\d+\.\d{4,}(e[-+]\d+)?|\d\.\d+e[-+]\d+"
)
BETWEEN = " => "

_met = {}  # the messages that the running test has met, by its name


@contextmanager
def golden_error(error):
    """`pytest.raises(error)` whose message, with the name of the error's class, is the golden one."""
    with pytest.raises(error) as caught:
        yield caught
    _compare(f"{type(caught.value).__name__}: {caught.value}")


@contextmanager
def golden_warning(category):
    """`pytest.warns(category)` whose warnings of that category are the golden ones."""
    with pytest.warns(category) as caught:
        yield caught
    told = [w for w in caught.list if issubclass(w.category, category)]
    _compare(" | ".join(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in told)))


def lines(path):
    """Messages of a golden file by scenario."""
    if not path.exists():
        return {}
    return dict(line.split(BETWEEN, 1) for line in path.read_text("utf-8").splitlines())


def _compare(text):
    test = os.environ["PYTEST_CURRENT_TEST"].removesuffix(" (call)").removeprefix("tests/")
    folder, name = test.split("/", 1) if "/" in test.split("::")[0] else ("tests", test)
    text = _one_line(VARYING.sub("…", text))
    if test not in _met:
        _met.clear()
    met = _met.setdefault(test, [])
    if text in met:
        return
    met.append(text)
    scenario = _one_line(name if len(met) == 1 else f"{name} #{len(met)}")
    path = FOLDER / f"{folder}.txt"
    if UPDATE:
        _renew(path, _one_line(name), scenario, text, first=len(met) == 1)
    else:
        kept = _kept(path).get(scenario, "nothing yet")
        assert text == kept, f"\nsaid:   {text}\ngolden: {kept}\n(ARMDYN_UPDATE_GOLDEN=1 renews {path.name})"


def _one_line(text):
    """Text with what would break its line, or the line in two, written as in Python."""
    return text.encode("unicode_escape").decode() if not text.isprintable() else text


_kept = cache(lines)


def _renew(path, name, scenario, text, first):
    """Write one line anew; with the first message of a test its others go."""
    import fcntl  # messages are renewed where there is one

    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = lines(path)
        if first:
            kept = {k: v for k, v in kept.items() if k != name and not k.startswith(f"{name} #")}
        kept[scenario] = text
        path.write_text("".join(f"{k}{BETWEEN}{v}\n" for k, v in sorted(kept.items())), "utf-8")
