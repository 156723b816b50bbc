"""Rooms: folders small enough to look through, files short enough to read."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "armdyn"
MOST_MODULES = 14
MOST_LINES = 400


def test_no_folder_has_too_many_modules() -> None:
    folders = [folder for folder in PACKAGE.rglob("*") if folder.is_dir()]
    counts = {folder.relative_to(PACKAGE).as_posix(): len(list(folder.glob("*.py"))) for folder in folders}
    assert counts
    assert {name: n for name, n in counts.items() if n > MOST_MODULES} == {}


def test_no_file_is_too_long() -> None:
    lines = {
        path.relative_to(PACKAGE).as_posix(): len(path.read_text("utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
    }
    assert lines
    assert {name: n for name, n in lines.items() if n > MOST_LINES} == {}
