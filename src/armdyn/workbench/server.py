"""viser's server, started so that it listens where it is told, lets in whom it should, and tells nothing.

Any page that a browser shows may send requests to 127.0.0.1. A request names the page it comes from (Origin)
and the host that the browser believes to talk to (Host). The gate lets a request in if its Host is an address
of this server, and if its Origin, where there is one, is that same address. A WebSocket must have an Origin:
every browser sends it. Other addresses, such as that of a proxy, must be named when the server starts.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import logging
import re
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from importlib.resources import files
from ipaddress import ip_address
from math import inf
from socket import gethostname
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from armdyn.workbench.moment import ViewError

if TYPE_CHECKING:
    import viser

# ---- viser's page with a script of ours at its head, `page.js` --------------------------------------------
#
# What is typed into a number field is sent when it is meant, and nothing that fields say is lost. A page
# that draws without a graphics card says so: then pictures come less often, so that numbers keep up. The
# page has the name of the robot, and an icon of its own.


UNAIDED = "/armdyn/unaided"  # what a page asks for that draws without a graphics card
_TEXT = files("armdyn.workbench").joinpath("page.js").read_text(encoding="utf-8")
SCRIPT = f"<head><script>{_TEXT.replace('UNAIDED', UNAIDED)}</script>".encode()
_ICON = """<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32' fill='none' stroke-width='4'>
<path d='M6 28h12M12 28V17L24 7' stroke='%231c7ed6' stroke-linecap='round' stroke-linejoin='round'/>
<g fill='white' stroke='%23343a40' stroke-width='2.5'><circle cx='12' cy='17' r='3.2'/>
<circle cx='24' cy='7' r='3.2'/></g></svg>"""
_HREF = "data:image/svg+xml," + _ICON.replace("\n", "").replace("<", "%3C").replace(">", "%3E")


def mended(handle: Callable[..., Any]) -> Callable[..., Any]:
    """The handler of requests, with the script at the head of the page that it sends, and a title."""
    made: dict[bytes, bytes] = {}

    def answer(connection: Any, request: Any) -> Any:
        if request.path == UNAIDED and "Upgrade" not in request.headers:
            return connection.respond(HTTPStatus.OK, "")
        response = handle(connection, request)
        if response is None or not response.headers.get("Content-Type", "").startswith("text/html"):
            return response
        if response.body not in made:
            made[response.body] = _ours(response.body, response.headers.get("Content-Encoding"))
        response.body = made[response.body]
        del response.headers["Content-Length"]
        response.headers["Content-Length"] = str(len(response.body))
        return response

    return answer


def _ours(body: bytes, encoding: str | None) -> bytes:
    if encoding == "gzip":
        return gzip.compress(_ours(gzip.decompress(body), None))
    body = re.sub(rb"<title>.*?</title>", b"<title>armdyn</title>", body, count=1)
    body = re.sub(rb'(?s)(rel="icon"\s+href=")[^"]*', rb"\1" + _HREF.encode(), body, count=1)
    return body.replace(b"<head>", SCRIPT, 1)


# ---- who may talk to the workbench: pages that it served itself, and no others ----------------------------


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


class Gate:
    """What is let in at a host, for which `origins` beside the server's own addresses; and who came."""

    def __init__(self, host: str, origins: tuple[str, ...] = ()) -> None:
        self.host, self.origins = host, origins
        self.unaided = False  # whether a page said that it draws without a graphics card
        self.on_unaided: Callable[[], None] = lambda: None  # called when the first page says so
        self._page = self._line = -inf  # s: when the page was last asked for, and a WebSocket let in

    def _note(self, path: str, is_line: bool) -> None:
        if is_line:
            self._line = monotonic()
        elif path == UNAIDED:
            first, self.unaided = not self.unaided, True
            if first:
                self.on_unaided()
        elif path.partition("?")[0] in ("/", "/index.html"):
            self._page = monotonic()

    def loading(self, patience: float) -> bool:
        """Whether a page was asked for in the last `patience` seconds that has not connected yet."""
        return self._line < self._page and monotonic() - self._page < patience

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
            self._note(request.path, response is None)
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


# ---- the system's browser; the theme; the server ----------------------------------------------------------


def open_browser(url: str) -> None:
    """Open a page in the system's browser, if there is one; some take as long to return as they are open."""
    threading.Thread(target=webbrowser.open, args=(url,), name="armdyn view: browser", daemon=True).start()


def set_theme(gui: Any) -> None:
    """Without viser's logo and without a button that would share the page; a page knows if it is dark."""
    gui.configure_theme(show_share_button=False, show_logo=False)


_STARTING = threading.Lock()
_TRIALS = 1000  # ports that viser tries, one after the other
_LOG = logging.getLogger("armdyn.workbench.server")
_LOG.addHandler(logging.NullHandler())
_LOG.propagate = False  # anyone may send garbage to a port: nothing that a terminal should show


class _Departed(logging.Filter):
    """Drops what asyncio says, for every message, of a browser that went away without a word.

    Only in the threads of workbenches: other programs in this process hear of theirs.
    """

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int | None] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        return record.thread not in self.threads or record.msg != "socket.send() raised exception."


_DEPARTED = _Departed()


def start_server(gate: Gate, port: int, label: str) -> viser.ViserServer:
    """A server that listens at `gate.host` on `port`, or on the next one that is free; 0: any free port."""
    viser = _viser()
    address = _address(gate.host, port)
    with _STARTING, _gated(gate), _silent(threading.current_thread()):  # viser prints a frame
        server: Any = viser.ViserServer(host=address, port=port, label=label, verbose=False)
    _DEPARTED.threads.add(server._websock_server._server_thread.ident)
    logging.getLogger("asyncio").addFilter(_DEPARTED)
    try:
        server.get_event_loop().set_exception_handler(_note)
        _without_sharing(server)
        if not refuses_strangers(address, server.get_port()):
            raise ViewError(f"viser {viser.__version__} cannot be guarded against other pages; use viser 1.1")
    except BaseException:
        stop_server(server)
        raise
    return server  # type: ignore[no-any-return]


def stop_server(server: viser.ViserServer) -> None:
    """End it; the port is free again. Stopping twice does nothing."""
    thread = server._websock_server._server_thread
    if thread is None or not thread.is_alive():
        return
    with _silent(thread):  # viser says that it stopped
        server.stop()
    _DEPARTED.threads.discard(thread.ident)


def _note(_loop: Any, context: dict[str, Any]) -> None:
    """What a page's message broke, such as one of a wrong shape, goes to the log, not to the terminal."""
    _LOG.error(context.get("message"), exc_info=context.get("exception"))


def _viser() -> Any:
    try:
        import viser
    except ImportError as error:
        raise ViewError(f'the workbench needs viser: pip install "armdyn[view]" ({error})') from None
    return viser


def _address(host: str, port: int) -> str:
    """The one address to listen at, as a number. viser would wait for ever if it cannot listen there."""
    if type(port) is not int or not 0 <= port <= 65535 - _TRIALS:
        raise ViewError(
            f"port: expected a whole number from 0 to {65535 - _TRIALS}, found {port!r} "
            f"(the next {_TRIALS} are tried where it is taken)"
        )
    found: object = host  # it comes from users
    if not isinstance(found, str) or not host:
        raise ViewError(f"host: expected an address such as '127.0.0.1', found {host!r}")
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.bind(address)
    except (OSError, UnicodeError) as error:
        if not isinstance(error, OSError) or error.errno != errno.EADDRINUSE:  # then the next port is tried
            why = getattr(error, "strerror", None) or error
            raise ViewError(f"host: cannot listen at {host!r}, port {port}: {why}") from None
    return str(address[0])


@contextlib.contextmanager
def _gated(gate: Gate) -> Iterator[None]:
    """viser has no setting for it, so what it starts its server with is replaced while it starts."""
    from websockets.asyncio import server as websockets_server

    plain = websockets_server.serve

    def serve(*arguments: Any, **options: Any) -> Any:
        handle = options.pop("process_request", None) or (lambda *_: None)
        return plain(*arguments, process_request=gate.before(mended(handle)), logger=_LOG, **options)

    websockets_server.serve = serve  # type: ignore[assignment, misc]
    try:
        yield
    finally:
        websockets_server.serve = plain  # type: ignore[misc]


class _Muted:
    """A stream that drops what one thread writes, and passes on the rest."""

    def __init__(self, stream: Any, thread: threading.Thread | None) -> None:
        self._stream, self._thread = stream, thread

    def write(self, text: str) -> int:
        if threading.current_thread() is self._thread:
            return len(text)
        return int(self._stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def _silent(thread: threading.Thread | None) -> Iterator[None]:
    """While it lasts, what `thread` prints is not shown."""
    with contextlib.redirect_stdout(_Muted(sys.stdout, thread)):
        yield


def _without_sharing(server: Any) -> None:
    """viser can open a tunnel to a public address when a page asks for it. This one does not."""
    from viser import _messages

    for message in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        server._websock_server._incoming_handlers.pop(message, None)
    set_theme(server.gui)


def refuses_strangers(address: str, port: int) -> bool:
    """Whether a WebSocket from another page is refused at the door."""
    request = (
        f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Origin: http://stranger.example\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    try:
        with socket.create_connection((EVERYWHERE.get(address, address), port), timeout=10) as line:
            line.sendall(request.encode())
            return line.recv(64).startswith(b"HTTP/1.1 403")
    except OSError as error:
        raise ViewError(f"host: nothing answers at {address}, port {port}: {error}") from None
