"""Who may talk to the workbench: pages that it served itself, and no others.

Any page that a browser shows may send requests to 127.0.0.1. A request names the page it comes from (Origin)
and the host that the browser believes to talk to (Host). The gate lets a request in if its Host is an address
of this server, and if its Origin, where there is one, is that same address. A WebSocket must have an Origin:
every browser sends it. Other addresses, such as that of a proxy, must be named when the server starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import ip_address
from socket import gethostname
from typing import Any
from urllib.parse import urlsplit

from armdyn.workbench.errors import ViewError

_LOCAL = ("127.0.0.1", "localhost", "[::1]")
EVERYWHERE = ("0.0.0.0", "::", "")

# A page may load nothing but what the server sends; pages of this machine (notebooks) may frame it.
POLICY = "; ".join(
    (
        "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:",
        "connect-src 'self' ws: wss: data: blob:",
        "frame-ancestors 'self' http://localhost:* http://127.0.0.1:* vscode-webview:",
        "form-action 'none'",
        "base-uri 'none'",
        "object-src 'none'",
    )
)


def checked_origins(origins: Iterable[str]) -> tuple[str, ...]:
    """Origins as browsers write them: scheme, host and, unless it is the usual one, port."""
    if isinstance(origins, str):
        origins = (origins,)
    return tuple(_checked(origin) for origin in origins)


def _checked(origin: Any) -> str:
    found = origin.rstrip("/") if isinstance(origin, str) else ""
    parts = urlsplit(found)
    if (
        parts.scheme not in ("http", "https")
        or not parts.netloc
        or f"{parts.scheme}://{parts.netloc}" != found
    ):
        raise ViewError(f"origins: expected such as 'https://hub.example.org', found {origin!r}")
    return found.lower()


@dataclass(frozen=True)
class Gate:
    """What is let in at a host, for which `origins` beside the server's own addresses."""

    host: str
    origins: tuple[str, ...] = ()

    def refusal(self, headers: Any, port: int) -> str | None:
        """Why a request is refused; None if it may come in."""
        host, origin = headers.get("Host", "").lower(), headers.get("Origin")
        if host not in self._hosts(port) and not self._is_number(host, port):
            return "this address is not the workbench's"
        if origin is None:
            return "a WebSocket without an Origin" if headers.get("Upgrade") else None
        allowed = {f"http://{host}", *self.origins}
        return None if origin.lower() in allowed else "a page of another origin"

    def _is_number(self, host: str, port: int) -> bool:
        """Whether a server at all of a machine's addresses is called by number: a name could be anyone's."""
        name, _, at = host.rpartition(":")
        if self.host not in EVERYWHERE or at != str(port):
            return False
        try:
            ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True

    def _hosts(self, port: int) -> set[str]:
        own = gethostname() if self.host in EVERYWHERE else self.host
        names = {*_LOCAL, f"[{own}]" if ":" in own else own.lower()}
        ours = {f"{name}:{port}" for name in names} | (names if port == 80 else set())
        return ours | {urlsplit(origin).netloc for origin in self.origins}

    def before(self, handle: Callable[..., Any]) -> Callable[..., Any]:
        """The handler of requests with the gate before it, for `process_request` of websockets."""
        from websockets.datastructures import Headers
        from websockets.http11 import Response

        def process(connection: Any, request: Any) -> Any:
            port = connection.local_address[1]
            if (why := self.refusal(request.headers, port)) is not None:
                text = f"Refused: {why}.\n".encode()
                headers = Headers({"Content-Type": "text/plain", "Content-Length": str(len(text))})
                return Response(HTTPStatus.FORBIDDEN, "Forbidden", headers, text)
            response = handle(connection, request)
            if response is not None:
                response.headers["Content-Security-Policy"] = POLICY
                response.headers["X-Content-Type-Options"] = "nosniff"
                response.headers["Referrer-Policy"] = "no-referrer"
            return response

        return process
