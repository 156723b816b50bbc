"""docs/functions.md says what the table of functions says."""

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def test_the_page_is_up_to_date():
    """If not: python docs/functions.py"""
    specification = importlib.util.spec_from_file_location("functions_page", DOCS / "functions.py")
    page = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(page)
    assert (DOCS / "functions.md").read_text("utf-8") == page.text()
