"""viser's server, started so that it listens where it is told, lets in whom it should, and tells nothing."""

from __future__ import annotations

import contextlib
import errno
import logging
import socket
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from armdyn.workbench.errors import ViewError
from armdyn.workbench.server.gate import EVERYWHERE, Gate
from armdyn.workbench.server.page import mended
from armdyn.workbench.server.theme import set_theme

if TYPE_CHECKING:
    import viser

_STARTING = threading.Lock()
_TRIALS = 1000  # ports that viser tries, one after the other
_LOG = logging.getLogger("armdyn.workbench.server")
_LOG.addHandler(logging.NullHandler())
_LOG.propagate = False  # anyone may send garbage to a port: nothing that a terminal should show


def start_server(gate: Gate, port: int, label: str) -> viser.ViserServer:
    """A server that listens at `gate.host` on `port`, or on the next one that is free; 0: any free port."""
    viser = _viser()
    address = _address(gate.host, port)
    with _STARTING, _gated(gate), _silent(threading.current_thread()):  # viser prints a frame
        server: Any = viser.ViserServer(host=address, port=port, label=label, verbose=False)
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
