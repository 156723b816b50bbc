"""Golden messages (tests/helpers/golden_messages.py) belong to tests that exist, and are sorted."""

from pathlib import Path

import pytest

from golden_messages import FOLDER, lines

TESTS = Path(__file__).resolve().parents[1]
FILES = sorted(FOLDER.glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_line_belongs_to_a_test(path):
    folder = TESTS if path.stem == "tests" else TESTS / path.stem
    for scenario in lines(path):
        module, name = scenario.split("::", 1)
        name = name.split("[")[0].split(" #")[0]
        assert f"def {name}(" in (folder / module).read_text("utf-8"), f"{scenario}: there is no such test"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_lines_are_sorted_and_name_no_folder_of_this_computer(path):
    text = path.read_text("utf-8")
    assert list(lines(path)) == sorted(lines(path))
    assert str(TESTS) not in text
    assert str(Path.home()) + "/" not in text
