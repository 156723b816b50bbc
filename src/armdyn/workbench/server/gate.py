"""Who may talk to the workbench: pages that it served itself, and no others.

Any page that a browser shows may send requests to 127.0.0.1. A request names the page it comes from (Origin)
and the host that the browser believes to talk to (Host). The gate lets a request in if its Host is an address
of this server, and if its Origin, where there is one, is that same address. A WebSocket must have an Origin:
every browser sends it. Other addresses, such as that of a proxy, must be named when the server starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from ipaddress import ip_address
from socket import gethostname
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from armdyn.workbench.errors import ViewError
from armdyn.workbench.server.page import UNAIDED

_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_ONCE = ("Host", "Origin", "Upgrade")  # headers of which there may be one at most
_USUAL = {"http": ":80", "https": ":443"}  # ports that browsers leave out
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # all of a machine's addresses, and where it calls itself


def checked_origins(origins: Iterable[str]) -> tuple[str, ...]:
    """Origins as browsers write them: scheme, host and, unless it is the usual one, port."""
    if isinstance(origins, str):
        origins = (origins,)
    if not isinstance(origins, Iterable):
        raise ViewError(f"origins: expected a list such as ['https://hub.example.org'], found {origins!r}")
    return tuple(_checked(origin) for origin in origins)


def _checked(origin: Any) -> str:
    found = origin.removesuffix("/").lower() if isinstance(origin, str) else ""
    try:
        parts = urlsplit(found)
        right = parts.scheme in _USUAL and parts.hostname and parts.username is None and parts.port != 0
    except ValueError:  # a port that is none, brackets that do not match
        right = False
    if not right or f"{parts.scheme}://{parts.netloc}" != found or not found.isascii() or "*" in found:
        raise ViewError(f"origins: expected such as 'https://hub.example.org', found {origin!r}")
    return found.removesuffix(_USUAL[parts.scheme])


@dataclass
class Visits:
    """When pages came: seconds of `time.monotonic`; None: never."""

    page: float | None = None  # the last time that the page itself was asked for
    line: float | None = None  # the last time that a WebSocket was let in
    unaided: bool = False  # whether a page said that it draws without a graphics card

    def note(self, path: str, is_line: bool) -> None:
        if is_line:
            self.line = monotonic()
        elif path == UNAIDED:
            self.unaided = True
        elif path.partition("?")[0] in ("/", "/index.html"):
            self.page = monotonic()

    def loading(self, patience: float) -> bool:
        """Whether a page was asked for in the last `patience` seconds that has not connected yet."""
        return (
            self.page is not None
            and (self.line is None or self.line < self.page)
            and monotonic() - self.page < patience
        )


@dataclass(frozen=True)
class Gate:
    """What is let in at a host, for which `origins` beside the server's own addresses."""

    host: str
    origins: tuple[str, ...] = ()
    visits: Visits = field(default_factory=Visits)

    def refusal(self, headers: Any, port: int) -> str | None:
        """Why a request is refused; None if it may come in."""
        if any(len(headers.get_all(name)) > 1 for name in _ONCE):
            return "a header that may be there once is there twice"
        host, origin = headers.get("Host", "").lower(), headers.get("Origin")
        own = host in self._hosts(port) or self._is_number(host, port)
        if not own and host not in {urlsplit(origin).netloc for origin in self.origins}:
            return "this address is not the workbench's"
        if origin is None:
            return "a WebSocket without an Origin" if headers.get("Upgrade") else None
        allowed = {*self.origins, f"http://{host}"} if own else set(self.origins)
        return None if origin.lower() in allowed else "a page of another origin"

    def _is_number(self, host: str, port: int) -> bool:
        """Whether a server at all of a machine's addresses is called by number: a name could be anyone's."""
        name = host.removesuffix(f":{port}")
        if self.host not in EVERYWHERE or (name == host and port != 80) or "%" in name:
            return False
        try:
            found = ip_address(name.strip("[]"))
        except ValueError:
            return False
        return name == (f"[{found}]" if found.version == 6 else str(found))

    def _hosts(self, port: int) -> set[str]:
        own = gethostname() if self.host in EVERYWHERE else self.host
        names = {*_LOCAL, f"[{own}]" if ":" in own else own.lower()}
        return {f"{name}:{port}" for name in names} | (names if port == 80 else set())

    def policy(self, host: str) -> str:
        """What the page may load: what this server sends, and nothing else. Notebooks may frame it."""
        framed = " ".join(("'self'", "http://localhost:*", "http://127.0.0.1:*", *self.origins))
        rules = (
            "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:",
            f"connect-src 'self' ws://{host} wss://{host} data: blob:",
            f"frame-ancestors {framed} vscode-webview:",
            "form-action 'none'",
            "base-uri 'none'",
            "object-src 'none'",
        )
        return "; ".join(rules)

    def before(self, handle: Callable[..., Any]) -> Callable[..., Any]:
        """The handler of requests with the gate before it, for `process_request` of websockets.

        What it returns is sent; None lets the handshake of a WebSocket go on. So a request that `handle`
        takes for a WebSocket must have an Origin, whatever its headers look like.
        """

        def process(connection: Any, request: Any) -> Any:
            headers = request.headers
            if (why := self.refusal(headers, connection.local_address[1])) is not None:
                return _forbidden(why)
            response = handle(connection, request)
            if response is None and "Origin" not in headers:
                return _forbidden("a WebSocket without an Origin")
            self.visits.note(request.path, response is None)
            if response is not None:
                response.headers["Content-Security-Policy"] = self.policy(headers["Host"].lower())
                response.headers["X-Content-Type-Options"] = "nosniff"
                response.headers["Referrer-Policy"] = "no-referrer"
            return response

        return process


def _forbidden(why: str) -> Any:
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    text = f"Refused: {why}.\n".encode()
    headers = Headers({"Content-Type": "text/plain", "Content-Length": str(len(text))})
    return Response(HTTPStatus.FORBIDDEN, "Forbidden", headers, text)
