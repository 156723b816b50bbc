"""An extension of griffe: what docstrings say of pages ("docs/robots.md") leads there."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object


class LinkedPages(Extension):
    """Names of pages in docstrings become links. The reference lies one folder below the pages."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = re.sub(
                r"(?<![\w/(\[])docs/([\w-]+)\.md\b", r"[docs/\1.md](../\1.html)", obj.docstring.value
            )
