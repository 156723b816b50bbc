"""Logs of real robots, where the folder with data is there, and how fits of them are scored."""

import importlib.util
import os
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from armdyn import Fit, IdentificationWarning, Log, Robot

DATA = Path(os.environ.get("ARMDYN_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
FOLDER = DATA / "identification"
needs_logs = pytest.mark.skipif(
    not (FOLDER / "protocol.py").is_file(), reason=f"no logs of real robots at {FOLDER} (ARMDYN_DATA)"
)
ROBOTS = {"tx40": "tx40", "ur10": "ur10", "panda": "panda", "kuka_13_2": "lwr4", "kuka_3_1": "lwr4"}


@cache
def protocol() -> ModuleType:
    """The file beside the logs that says which samples train and which validate."""
    spec = importlib.util.spec_from_file_location("protocol", FOLDER / "protocol.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass
class RealLogs:
    """The files of one row of the protocol."""

    name: str
    robot: Robot
    logs: list[Log]
    train: list[np.ndarray]  # a mask for each log
    bar: float  # the score to reach [%]

    @property
    def training(self) -> tuple[list[Log], list[np.ndarray]]:
        """The logs that have samples to train on, and these samples."""
        chosen = [(log, mask) for log, mask in zip(self.logs, self.train, strict=True) if mask.any()]
        return [log for log, _ in chosen], [mask for _, mask in chosen]

    def score(self, fit: Fit) -> float:
        """Error of predictions on the validation samples [%]."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IdentificationWarning)  # some validation is beyond the training
            predicted = np.concatenate([fit.predict(log) for log in self.logs])
        return float(protocol().score(protocol().load(self.name), predicted))


def real_logs(name: str) -> RealLogs:
    found = protocol().load(name)
    parts = [slice(*pair) for pair in zip(found.starts, [*found.starts[1:], len(found.t)], strict=True)]
    logs = [Log(t=found.t[at], q=found.q[at], tau=found.tau[at], name=name) for at in parts]
    bar = protocol().LOGS[name][3]
    return RealLogs(name, Robot.load(ROBOTS[name]), logs, [found.train[at] for at in parts], bar)
