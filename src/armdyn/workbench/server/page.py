"""viser's page with a script of ours at its head, `page.js`.

What is typed into a number field is sent when it is meant, and nothing that fields say is lost. A page that
draws without a graphics card says so: then pictures come less often, so that numbers keep up.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from http import HTTPStatus
from importlib.resources import files
from typing import Any

UNAIDED = "/armdyn/unaided"  # what a page asks for that draws without a graphics card
_TEXT = files("armdyn.workbench.server").joinpath("page.js").read_text(encoding="utf-8")
SCRIPT = f"<head><script>{_TEXT.replace('UNAIDED', UNAIDED)}</script>".encode()


def mended(handle: Callable[..., Any]) -> Callable[..., Any]:
    """The handler of requests, with the script at the head of the page that it sends."""
    made: dict[bytes, bytes] = {}

    def answer(connection: Any, request: Any) -> Any:
        if request.path == UNAIDED and "Upgrade" not in request.headers:
            return connection.respond(HTTPStatus.OK, "")
        response = handle(connection, request)
        if response is None or not response.headers.get("Content-Type", "").startswith("text/html"):
            return response
        if response.body not in made:
            made[response.body] = _with_script(response.body, response.headers.get("Content-Encoding"))
        response.body = made[response.body]
        del response.headers["Content-Length"]
        response.headers["Content-Length"] = str(len(response.body))
        return response

    return answer


def _with_script(body: bytes, encoding: str | None) -> bytes:
    if encoding == "gzip":
        return gzip.compress(_with_script(gzip.decompress(body), None))
    return body.replace(b"<head>", SCRIPT, 1)
