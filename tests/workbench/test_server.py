"""The server starts where it is told, survives what pages send, and ends without a trace."""

import builtins
import logging
import os
import random
import socket
import stat
import struct
import subprocess
import sys
import threading
import time

import msgspec
import numpy as np
import pytest
import viser
from websockets.asyncio import server as websockets_server
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

import armdyn
from armdyn import Robot
from armdyn.workbench import server
from armdyn.workbench.moment import ViewError
from golden_messages import golden_error
from waiting import wait_until


def opened(**options):
    return armdyn.view("planar", browser=False, **{"port": 0, **options})


def port_of(bench):
    return int(bench.url.rstrip("/").rpartition(":")[2])


def page(bench, **options):
    """A connection such as a page opens."""
    return connect(
        bench.url.replace("http", "ws"),
        origin=bench.url.rstrip("/"),
        subprotocols=[f"viser-v{viser.__version__}"],
        proxy=None,
        **options,
    )


def answers(bench):
    with page(bench) as line:
        return len(line.recv(timeout=60)) > 0


# ---- where it listens --------------------------------------------------------------------------------------


def test_it_listens_at_this_machine_only():
    """127.0.0.2 is an address of this machine, too, but not the one listened at."""
    with opened() as bench:
        assert [s.getsockname()[0] for s in _sockets(bench)] == ["127.0.0.1"]
        if sys.platform == "linux":
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.2", port_of(bench)), timeout=5)


def _sockets(bench):
    """The sockets that its event loop listens at."""
    watched = bench._bench.server.get_event_loop()._selector.get_map().values()
    for key in watched:
        if stat.S_ISSOCK(os.fstat(key.fd).st_mode):
            with socket.socket(fileno=os.dup(key.fd)) as found:
                inet = found.family in (socket.AF_INET, socket.AF_INET6)
                if inet and found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    yield found


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
def test_ipv6():
    try:
        bench = opened(host="::1")
    except ViewError as error:
        pytest.skip(str(error))
    with bench:
        assert bench.url.startswith("http://[::1]:")
        assert answers(bench)


def test_the_next_port_if_one_is_taken():
    with opened() as first, opened(port=port_of(first)) as second:
        assert port_of(second) != port_of(first)
        first.q, second.q = [0.1, 0.2], [0.3, 0.4]
        assert np.array_equal(first.q, [0.1, 0.2])
        assert np.array_equal(second.q, [0.3, 0.4])
        assert answers(first)
        assert answers(second)


def test_pages_of_one_workbench_do_not_get_into_another():
    with opened() as first, opened() as second, pytest.raises(InvalidStatus):
        connect(first.url.replace("http", "ws"), origin=second.url.rstrip("/"), proxy=None)


@pytest.mark.parametrize("port", [-1, 64536, 10**6, 80.0, "8765", None, True])
def test_bad_ports(port):
    with pytest.raises(ViewError, match=r"^port: expected a whole number from 0 to 64535, found"):
        opened(port=port)


@pytest.mark.parametrize("host", ["", "no such host", "198.51.100.7", "a" * 300, "x..y", "\0", 5, None])
def test_bad_hosts(host):
    with golden_error(ViewError):
        opened(host=host)


def test_bad_origins_start_nothing():
    before = set(threading.enumerate())
    with golden_error(ViewError):
        opened(origins=["nowhere"])
    wait_until(lambda: set(threading.enumerate()) <= before, "no thread to be left")


def test_without_viser(monkeypatch):
    plain = builtins.__import__

    def missing(name, *arguments, **options):
        if name.partition(".")[0] == "viser":
            raise ImportError("No module named 'viser'")
        return plain(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    with golden_error(ViewError):
        opened()


def test_what_is_replaced_while_it_starts_is_put_back(monkeypatch):
    plain = websockets_server.serve
    with opened():
        assert websockets_server.serve is plain

    def fails(*_arguments, **_options):
        raise RuntimeError("no server today")

    monkeypatch.setattr(viser, "ViserServer", fails)
    with pytest.raises(RuntimeError, match="today"):
        opened()
    assert websockets_server.serve is plain


def test_a_viser_that_cannot_be_guarded_is_not_used(monkeypatch):
    """Were viser to start its server in another way, nothing would be served."""
    from contextlib import nullcontext

    from armdyn.workbench import server

    before = set(threading.enumerate())  # those of other tests may end meanwhile
    monkeypatch.setattr(server, "_gated", lambda gate: nullcontext())
    with golden_error(ViewError):
        opened()
    wait_until(lambda: set(threading.enumerate()) <= before, "its threads to end")


# ---- what pages send ---------------------------------------------------------------------------------------

PACKED = [
    None,
    5,
    [],
    {},
    {"type": "NoSuchMessage"},
    {"type": 5},
    {"type": "GuiUpdateMessage"},
    {"type": "GuiUpdateMessage", "uuid": 5, "updates": 5},
    {"type": "GuiUpdateMessage", "uuid": "x", "updates": {"value": 1}, "more": 1},
    {"type": "ViewerCameraMessage", "wxyz": "x"},
    {"type": "ScenePointerMessage"},
    {
        "type": "FileTransferPart",
        "source_component_uuid": "x",
        "transfer_uuid": "x",
        "part_index": -1,
        "content": 5,
    },
    {"type": "GuiButtonHoldMessage", "uuid": {}, "frequency": []},
    {"type": "CommandTriggerMessage", "uuid": []},
]


def test_malformed_messages(capfd):
    """A page that sends nonsense loses its connection at most; the workbench goes on and prints nothing."""
    chance = random.Random(7)
    rubbish = [chance.randbytes(chance.randrange(0, 400)) for _ in range(10)]
    rubbish += [msgspec.msgpack.encode(message) for message in PACKED]
    with opened() as bench:
        for raw in [*rubbish, "text instead of bytes"]:
            with page(bench) as line:
                _send(line, raw)
        assert answers(bench)
        bench.q = [0.5, 0.5]
        wait_until(lambda: np.array_equal(bench.q, [0.5, 0.5]))
    out = capfd.readouterr()
    assert out == ("", "")


def _send(line, raw):
    try:
        line.send(raw)
        line.ping().wait(0.3)
    except ConnectionClosed:
        pass


HANDSHAKE = (
    "GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    "Sec-WebSocket-Protocol: viser-v{version}\r\n\r\n"
)


def test_a_browser_that_vanishes_leaves_no_word(monkeypatch, caplog):
    """asyncio would complain of every message sent after it; other threads still hear of theirs."""
    lines, mended = [], server.mended

    def said():
        return [record.message for record in caplog.records if record.name == "asyncio"]

    def keeping(handle):
        return lambda line, request: lines.append(line) or mended(handle)(line, request)

    monkeypatch.setattr(server, "mended", keeping)
    with opened() as bench:
        with socket.create_connection(("127.0.0.1", port_of(bench))) as client:
            client.sendall(HANDSHAKE.format(port=port_of(bench), version=viser.__version__).encode())
            assert client.recv(4000).startswith(b"HTTP/1.1 101")
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # It is closed with a reset, without a goodbye.
        sent = threading.Event()

        def send():
            for _ in range(20):
                lines[-1].transport.write(b"0123456789")
            sent.set()

        bench._bench.server.get_event_loop().call_soon_threadsafe(send)
        assert sent.wait(60)
        assert said() == []
        logging.getLogger("asyncio").warning("socket.send() raised exception.")
        assert said() == ["socket.send() raised exception."]


CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": [1, 0, 0, 0],
    "position": [1, 1, 1],
    "fov": 1,
    "near": 0.1,
    "far": 10,
    "image_height": 100,
    "image_width": 100,
    "look_at": [0, 0, 0],
    "up_direction": [0, 0, 1],
}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "x", [1], {}, 1e308])
def test_values_of_a_slider_that_are_none(value, capfd):
    with opened() as bench:
        handles = bench._bench.gui._gui_input_handle_from_uuid
        slider = next(handle for handle in handles.values() if handle.label == "1 link 1")
        q = bench.q
        with page(bench) as line:
            line.send(msgspec.msgpack.encode(CAMERA))
            wait_until(bench._bench.server.get_clients, "the page")
            message = {"type": "GuiUpdateMessage", "uuid": slider._impl.uuid, "updates": {"value": value}}
            line.send(msgspec.msgpack.encode(message))
            line.ping().wait(5)
            time.sleep(0.1)
        assert np.all(np.isfinite(bench.q))
        assert value == 1e308 or np.array_equal(bench.q, q)
        assert answers(bench)


def test_nobody_is_invited(monkeypatch):
    """viser's tunnel to a public address stays shut, whatever a page asks for."""
    asked = []
    monkeypatch.setattr(viser._viser, "ViserTunnel", lambda *a, **k: asked.append(a))
    with opened() as bench:
        monkeypatch.setattr(bench._bench.server, "request_share_url", lambda *a, **k: asked.append(a))
        with page(bench) as line:
            for kind in ("ShareUrlRequest", "ShareUrlDisconnect"):
                line.send(msgspec.msgpack.encode({"type": kind}))
            line.ping().wait(5)
            time.sleep(0.1)
        assert answers(bench)
    assert not asked


# ---- how it ends -------------------------------------------------------------------------------------------


def test_it_ends_without_a_trace(capfd, caplog):
    before = set(threading.enumerate())
    bench = opened()
    port, line = port_of(bench), page(bench)
    line.recv(timeout=60)
    bench.close()
    bench.close()
    assert bench.closed
    wait_until(lambda: set(threading.enumerate()) <= before, "its threads to end")
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))
        again.listen()
    line.close()
    assert capfd.readouterr() == ("", "")
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_other_threads_print_while_it_ends(capsys):
    bench = opened()
    said, done = threading.Event(), threading.Event()

    def talk():
        while not done.is_set():
            print("still here")
            said.set()
            time.sleep(0.001)

    talker = threading.Thread(target=talk)
    talker.start()
    said.wait(5)
    bench.close()
    done.set()
    talker.join()
    assert set(capsys.readouterr().out.splitlines()) == {"still here"}


SCRIPT = "import armdyn; bench = armdyn.view('planar', port=0, browser=False); print(bench)"


@pytest.mark.slow
def test_a_script_that_forgets_to_close():
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120, check=True
    )
    assert run.stdout.startswith("<Workbench of 'two-link planar arm': http://127.0.0.1:")
    assert len(run.stdout.splitlines()) == 1
    assert run.stderr == ""


def test_robots_that_cannot_be_shown():
    free = Robot.load("planar").with_symbols(a1=None)
    with golden_error(ViewError):
        armdyn.view(free, browser=False)


# ---- the browser -------------------------------------------------------------------------------------------


def test_no_browser(monkeypatch, capfd):
    monkeypatch.setattr(server.webbrowser, "_tryorder", [])
    with opened() as bench:
        bench.open()
    assert capfd.readouterr() == ("", "")


def test_a_browser_that_stays_holds_up_nothing(monkeypatch):
    seen, done = [], threading.Event()
    monkeypatch.setattr(server.webbrowser, "open", lambda url: seen.append(url) or done.wait(60))
    with opened() as bench:
        bench.open()
        wait_until(lambda: seen == [bench.url])
        assert answers(bench)
    done.set()
