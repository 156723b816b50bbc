"""viser's server, started so that it listens where it is told, lets in whom it should, and tells nothing."""

from __future__ import annotations

import contextlib
import io
import socket
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from armdyn.workbench.errors import ViewError
from armdyn.workbench.server.gate import EVERYWHERE, Gate
from armdyn.workbench.server.theme import set_theme

if TYPE_CHECKING:
    import viser

_STARTING = threading.Lock()
_TRIALS = 1000  # ports that viser tries, one after the other


def start_server(gate: Gate, port: int, label: str) -> viser.ViserServer:
    """A server that listens at `gate.host` on `port`, or on the next one that is free; 0: any free port."""
    viser = _viser()
    _check_address(gate.host, port)
    with _STARTING, _gated(gate), contextlib.redirect_stdout(io.StringIO()):  # viser prints a frame
        server: Any = viser.ViserServer(host=gate.host, port=port, label=label, verbose=False)
    _without_sharing(server)
    if not refuses_strangers(gate.host, server.get_port()):
        stop_server(server)
        raise ViewError(f"viser {viser.__version__} cannot be guarded against other pages; use viser 1.1")
    return server  # type: ignore[no-any-return]


def stop_server(server: viser.ViserServer) -> None:
    with contextlib.redirect_stdout(io.StringIO()):  # viser says that it stopped
        server.stop()


def _viser() -> Any:
    try:
        import viser
    except ImportError as error:
        raise ViewError(f'the workbench needs viser: pip install "armdyn[view]" ({error})') from None
    return viser


def _check_address(host: str, port: int) -> None:
    """viser would try a thousand ports at a host that is not there, and then wait for ever."""
    if type(port) is not int or not 0 <= port < 65536 - _TRIALS:
        raise ViewError(f"port: expected a whole number from 0 to {65535 - _TRIALS}, found {port!r}")
    try:
        family, *_, address = socket.getaddrinfo(
            host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.bind(address)
    except OSError as error:
        raise ViewError(f"host: cannot listen at {host!r}: {error.strerror or error}") from None


@contextlib.contextmanager
def _gated(gate: Gate) -> Iterator[None]:
    """viser has no setting for it, so what it starts its server with is replaced while it starts."""
    from websockets.asyncio import server as websockets_server

    plain = websockets_server.serve

    def serve(*arguments: Any, **options: Any) -> Any:
        handle = options.pop("process_request", None) or (lambda *_: None)
        return plain(*arguments, process_request=gate.before(handle), **options)

    websockets_server.serve = serve  # type: ignore[assignment, misc]
    try:
        yield
    finally:
        websockets_server.serve = plain  # type: ignore[misc]


def _without_sharing(server: Any) -> None:
    """viser can open a tunnel to a public address when a page asks for it. This one does not."""
    from viser import _messages

    for message in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        server._websock_server._incoming_handlers.pop(message, None)
    set_theme(server.gui)


def refuses_strangers(host: str, port: int) -> bool:
    """Whether a WebSocket from another page is refused at the door."""
    request = (
        f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Origin: http://stranger.example\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: c3RyYW5nZXIsIHN0cmFuZ2U=\r\n\r\n"
    )
    address = "127.0.0.1" if host in EVERYWHERE else host
    with socket.create_connection((address, port), timeout=10) as line:
        line.sendall(request.encode())
        return line.recv(64).startswith(b"HTTP/1.1 403")
