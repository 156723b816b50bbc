"""The watch over spoiled input sees what it is there for."""

import os
import signal
import time
import warnings

import pytest

pytest.importorskip("resource")

from armdyn import ArmdynError
from fuzz import watch


def case(number):
    match number:
        case 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        case 2:
            time.sleep(60)
        case 3:
            raise KeyError("foreign")
        case 4:
            os._exit(0)
        case 5:
            bytearray(watch.MEMORY)
        case 6:
            raise KeyboardInterrupt
        case 7:
            return "no such kind"
        case 8:
            warnings.warn("overflow", RuntimeWarning, stacklevel=1)
        case 9:
            raise ArmdynError("refused")
        case 10:
            return "impossible body: 7"
    return "accepted"


def test_crashes_hangs_and_foreign_exceptions_are_seen(monkeypatch):
    monkeypatch.setattr(watch, "PATIENCE", 0.5)
    tally = watch.watch(case, 12)
    assert dict(tally.counts) == {
        "accepted": 2,
        "refused": 1,
        "crash": 3,
        "hang": 1,
        "foreign exception": 3,
        "no such kind": 1,
        "impossible body": 1,
    }
    assert tally.tried == 12
    assert tally.bad == 9
    assert [int(finding.partition(":")[0]) for finding in tally.findings] == [1, 2, 3, 4, 5, 6, 7, 8, 10]
