"""Where the public URDF files lie that tests read; tests skip, saying why, where they are absent."""

import os
import warnings
from pathlib import Path

import pytest

from armdyn import PhysicsWarning, Robot

DATA = Path(os.environ.get("ARMDYN_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
FOLDER = DATA / "urdf"
needs_files = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no URDF files at {FOLDER} (ARMDYN_DATA)")


def urdf_files() -> list[str]:
    """The names of the files that are to load as they are."""
    return sorted(path.name for path in FOLDER.glob("*.urdf"))


def quiet_load(path, **options) -> Robot:
    """A robot, without the warnings about what looks wrong in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PhysicsWarning)
        return Robot.load(path, **options)
