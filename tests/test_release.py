"""The wheel: what is in it, whose it is, and that two builds of it are one."""

import email
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from armdyn import __version__

ROOT = Path(__file__).resolve().parents[1]
OURS = {".c", ".css", ".js", ".py", ".toml", ".typed"}  # kinds of files that the package's authors wrote


def files(folder):
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def build(source, target):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run(command, cwd=source, env=environment, check=True, capture_output=True)
    (wheel,) = target.glob("*.whl")
    return wheel


def test_two_builds_are_one_wheel_with_all_that_it_needs(tmp_path):
    pytest.importorskip("hatchling", reason="hatchling is not installed: the wheel was not built")
    first, source = build(ROOT, tmp_path / "first"), tmp_path / "source"
    shutil.copytree(
        ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"), copy_function=shutil.copy
    )
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE", ".gitignore"):
        shutil.copy(ROOT / name, source)
    for path in (source / "src").rglob("*.*"):
        path.chmod(0o600 if path.is_file() else 0o700)  # other rights, other times
    assert build(source, tmp_path / "second").read_bytes() == first.read_bytes()
    with zipfile.ZipFile(first) as wheel:
        names = wheel.namelist()
        about = email.message_from_bytes(
            wheel.read(next(name for name in names if name.endswith("/METADATA")))
        )
    assert {name.removeprefix("armdyn/") for name in names if name.startswith("armdyn/")} == files(
        ROOT / "src" / "armdyn"
    )
    licences = {name.split("/licenses/")[1] for name in names if "/licenses/" in name}
    assert licences == {
        "LICENSE",
        "NOTICE",
        "src/armdyn/report/fonts/OFL.txt",
        "src/armdyn/simulation/fmi/license.txt",
    }
    assert about["Version"] == __version__
    assert about["License-Expression"] == "BSD-3-Clause AND BSD-2-Clause AND OFL-1.1"


def test_what_others_made_is_named_in_the_notice():
    package, notice = ROOT / "src" / "armdyn", (ROOT / "NOTICE").read_text("utf-8")
    for name in files(package):
        if Path(name).suffix not in OURS:
            assert f"src/armdyn/{name}" in notice
    for name in re.findall(r"src/armdyn/[\w./]*\w", notice):
        assert (ROOT / name).exists()


def test_the_citation_is_of_this_version():
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(r"^version: (\S+)$", text, re.MULTILINE)[1] == __version__
