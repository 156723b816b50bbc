"""viser's page with a script of ours at its head.

It makes the page quicker: what a slider says is sent up to 60 times a second instead of 20. And a page that
draws without a graphics card says so: then pictures come less often, so that numbers keep up.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

UNAIDED = "/armdyn/unaided"  # what a page asks for that draws without a graphics card

# viser's page waits 50 ms between messages of its fields and handles; nothing in viser sets this. The same
# wait is used nowhere else there, so timers of 50 ms are made shorter. The names are those of programs that
# draw on the processor; smooth edges cost it a quarter of its time.
SCRIPT = b"""<head><script>{
const later = window.setTimeout;
window.setTimeout = (run, wait, ...more) => later(run, wait === 50 ? 16 : wait, ...more);
const gl = document.createElement("canvas").getContext("webgl2");
const said = gl && gl.getExtension("WEBGL_debug_renderer_info");
const name = said ? gl.getParameter(said.UNMASKED_RENDERER_WEBGL) : "";
if (/swiftshader|llvmpipe|softpipe|software|basic render/i.test(name)) {
  const plain = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (kind, options) {
    return plain.call(this, kind, /^webgl/.test(kind) ? { ...options, antialias: false } : options);
  };
  fetch("UNAIDED");
}
if (gl) gl.getExtension("WEBGL_lose_context")?.loseContext();
}</script>""".replace(b"UNAIDED", UNAIDED.encode())


def quicker(handle: Callable[..., Any]) -> Callable[..., Any]:
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
