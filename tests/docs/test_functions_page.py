"""docs/functions.md says what the table of functions says."""

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_up_to_date():
    """If not: python docs/functions.py"""
    page = _page()
    assert (DOCS / "functions.md").read_text("utf-8") == page.text()


def test_the_page_lists_arguments_as_methods_take_them():
    """A moving base is one argument, and the functions of a frame take a link."""
    rows = {line.split("`")[1]: line for line in _page().text().splitlines() if line.startswith("| `")}
    assert "| `wrench`, `base`, `parameters` |" in rows["inverse_dynamics"]
    assert "| `wrench`, `base`, `parameters` |" in rows["forward_dynamics"]
    assert "| `link` |" in rows["pose"]
    assert all("| `link`, `at` |" in rows[name] for name in ("jacobian", "jacobian_dot"))


def _page():
    specification = importlib.util.spec_from_file_location("functions_page", DOCS / "functions.py")
    page = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(page)
    return page
