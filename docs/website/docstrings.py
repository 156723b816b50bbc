"""An extension of griffe: comments beside fields are their texts; pages that docstrings name are links."""

from __future__ import annotations

import re
from typing import Any

from griffe import Docstring, Extension, Object

PAGE = re.compile(r"(?<![\w/(\[])docs/([\w-]+)\.md\b")
COMMENT = re.compile(r"""^[^"'#]*#\s*(?!type:|noqa)(?P<said>.+)$""")


class Texts(Extension):
    """Completes what griffe reads. The reference lies one folder below the pages."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.is_attribute and obj.docstring is None and obj.lineno == obj.endlineno:
            found = COMMENT.match(obj.source)
            if found:
                obj.docstring = Docstring(found["said"], parent=obj, lineno=obj.lineno)
        if obj.docstring:
            obj.docstring.value = PAGE.sub(r"[docs/\1.md](../\1.html)", obj.docstring.value)
