"""Who gets into the workbench: its own pages. Everyone else is refused, whatever a request looks like."""

import gzip
import socket
import urllib.request

import pytest
import viser
from websockets.datastructures import Headers

import armdyn
from armdyn.workbench.moment import ViewError
from armdyn.workbench.server import SCRIPT, Gate, checked_origins
from golden_messages import golden_error

PORT = 8765
HUB = "https://hub.example.org"
KEY = "dGhlIHNhbXBsZSBub25jZQ=="


def headers(*pairs, **named):
    found = Headers()
    for name, value in (*pairs, *named.items()):
        found[name] = value
    return found


def refused(gate, *pairs, port=PORT, **named):
    return gate.refusal(headers(*pairs, **named), port) is not None


OWN = [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"LOCALHOST:{PORT}", f"[::1]:{PORT}"]
FOREIGN = [
    "",
    "127.0.0.1",
    "127.0.0.1:80",
    f"127.0.0.1:{PORT + 1}",
    f"stranger.example:{PORT}",
    f"127.0.0.1.stranger.example:{PORT}",
    f"stranger.example/127.0.0.1:{PORT}",
    f"stranger@127.0.0.1:{PORT}",
    f"192.0.2.7:{PORT}",
    f"localhost.:{PORT}",
    "127.0.0.1:x",
]


@pytest.mark.parametrize("host", OWN)
def test_own_pages_come_in(host):
    gate = Gate("127.0.0.1")
    assert not refused(gate, Host=host)
    assert not refused(gate, Host=host, Origin=f"http://{host}", Upgrade="websocket")
    assert not refused(gate, Host=host.upper(), Origin=f"HTTP://{host}", Upgrade="websocket")


@pytest.mark.parametrize("host", FOREIGN)
def test_a_foreign_host_is_refused(host):
    """So a name that is made to point at 127.0.0.1 (DNS rebinding) is of no use."""
    gate = Gate("127.0.0.1")
    assert refused(gate, Host=host)
    assert refused(gate, Host=host, Origin=f"http://{host}", Upgrade="websocket")
    assert refused(gate)


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "http://stranger.example",
        f"http://stranger.example:{PORT}",
        "http://127.0.0.1",
        f"http://127.0.0.1:{PORT + 1}",
        f"https://127.0.0.1:{PORT}",
        f"http://127.0.0.1:{PORT}/",
        f"http://127.0.0.1:{PORT}.stranger.example",
        f"http://localhost:{PORT}",  # a page of another address, even if it is this machine
        f" http://127.0.0.1:{PORT} http://stranger.example",
    ],
)
def test_a_foreign_origin_is_refused(origin):
    for more in ({}, {"Upgrade": "websocket"}):
        assert refused(Gate("127.0.0.1"), Host=f"127.0.0.1:{PORT}", Origin=origin, **more)
        assert refused(Gate("127.0.0.1", (HUB,)), Host=f"127.0.0.1:{PORT}", Origin=origin, **more)


@pytest.mark.parametrize("upgrade", ["websocket", "WebSocket", "h2c", "websocket, h2c"])
def test_a_websocket_needs_an_origin(upgrade):
    assert refused(Gate("127.0.0.1"), Host=f"127.0.0.1:{PORT}", Upgrade=upgrade)


@pytest.mark.parametrize("name", ["Host", "Origin", "Upgrade"])
def test_a_header_twice_is_refused(name):
    right = {"Host": f"127.0.0.1:{PORT}", "Origin": f"http://127.0.0.1:{PORT}", "Upgrade": "websocket"}
    assert not refused(Gate("127.0.0.1"), *right.items())
    assert refused(Gate("127.0.0.1"), *right.items(), (name, right[name]))
    assert refused(Gate("127.0.0.1"), *right.items(), (name.upper(), ""))


def test_a_proxy_comes_in():
    gate = Gate("127.0.0.1", checked_origins(HUB))
    for host in (f"127.0.0.1:{PORT}", "hub.example.org", "HUB.example.org"):
        assert not refused(gate, Host=host, Origin=HUB, Upgrade="websocket")
    assert refused(gate, Host="hub.example.org", Origin="http://hub.example.org")  # not the one named
    assert refused(gate, Host="hub.example.org:444", Origin=HUB)
    assert refused(gate, Host="other.example.org", Origin=HUB)
    assert refused(gate, Host="hub.example.org", Origin=f"http://127.0.0.1:{PORT}")
    assert HUB in gate.policy("hub.example.org")


def test_a_server_at_all_addresses_is_called_by_number():
    gate = Gate("0.0.0.0")
    for host in (f"192.0.2.7:{PORT}", f"[2001:db8::1]:{PORT}", f"{socket.gethostname()}:{PORT}"):
        assert not refused(gate, Host=host, Origin=f"http://{host.lower()}", Upgrade="websocket")
    for host in (
        "192.0.2.7",
        f"name.example:{PORT}",
        f"[fe80::1%;x]:{PORT}",
        f"192.0.2.7.x:{PORT}",
        f":{PORT}",
    ):
        assert refused(gate, Host=host)
    assert not refused(gate, port=80, Host="192.0.2.7")
    assert not refused(Gate("::1"), port=80, Host="[::1]", Origin="http://[::1]")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (HUB, HUB),
        ([f"{HUB}/"], HUB),
        (("https://HUB.example.org:443",), HUB),
        (["http://hub:8000"], "http://hub:8000"),
        (["http://[::1]:80"], "http://[::1]"),
    ],
)
def test_origins_are_read_as_browsers_write_them(given, meant):
    assert checked_origins(given) == (meant,)


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "*",
        "https://*.x.org",
        "hub.example.org",
        "ftp://x",
        "https://",
        "https://x/path",
        "https://x?y",
        "null",
        "https://me@x",
        "https://x:99999",
        "https://x:0",
        "https://x:y",
        "https://[x",
        "https://é.org",
        5,
        None,
        b"x",
    ],
)
def test_other_origins_are_refused_by_name(origin):
    with golden_error(ViewError):
        checked_origins([origin])


@pytest.mark.parametrize("origins", [5, None])
def test_what_is_no_list_of_origins(origins):
    with golden_error(ViewError):
        checked_origins(origins)


# ---- over the wire -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bench():
    with armdyn.view("planar", port=0, browser=False) as opened:
        yield opened


def answer(bench, request):
    """The first bytes of what the server answers to raw bytes."""
    port = int(bench.url.rstrip("/").rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        try:
            line.sendall(request.replace(b"PORT", str(port).encode()))
            found = b""
            while part := line.recv(65536):
                found += part
                if b"\r\n\r\n" in found:
                    break
        except ConnectionError:
            return b""
    return found


def get(path="/", *lines, host="127.0.0.1:PORT"):
    return "\r\n".join((f"GET {path} HTTP/1.1", f"Host: {host}", *lines, "", "")).encode()


def upgrade(*lines, host="127.0.0.1:PORT", kinds=("websocket",)):
    rest = ("Connection: Upgrade", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {KEY}")
    return get("/", *(f"Upgrade: {kind}" for kind in kinds), *rest, *lines, host=host)


OURS = "Origin: http://127.0.0.1:PORT"


def test_the_page_and_its_policy(bench):
    found = answer(bench, get())
    assert found.startswith(b"HTTP/1.1 200")
    head = found.partition(b"\r\n\r\n")[0].decode()
    port = bench.url.rstrip("/").rpartition(":")[2]
    assert f"connect-src 'self' ws://127.0.0.1:{port} wss://127.0.0.1:{port} data: blob:" in head
    assert "Content-Security-Policy: default-src 'self'" in head
    assert "frame-ancestors 'self'" in head
    assert "X-Content-Type-Options: nosniff" in head


@pytest.mark.parametrize("accepted", ["identity", "gzip"])
def test_the_page_has_the_script_that_makes_it_quick(bench, accepted):
    request = urllib.request.Request(bench.url, headers={"Accept-Encoding": accepted})
    for _ in range(2):  # the second time as it was kept
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            request, timeout=10
        ) as answer_:
            body = answer_.read()
            assert answer_.headers.get_all("Content-Length") == [str(len(body))]
        text = gzip.decompress(body) if accepted == "gzip" else body
        assert text.count(SCRIPT) == 1
        assert text.endswith(b"</html>\n")


def test_an_own_page_connects(bench):
    version = f"Sec-WebSocket-Protocol: viser-v{viser.__version__}"  # without it viser prints a complaint
    assert answer(bench, upgrade(OURS, version)).startswith(b"HTTP/1.1 101")


@pytest.mark.parametrize(
    "request_",
    [
        get("/", "Origin: http://stranger.example"),
        get("/", "Origin: null"),
        get(host="stranger.example:PORT"),
        get(host="127.0.0.1:1"),
        get("/", "Host: 127.0.0.1:PORT"),
        upgrade(),
        upgrade("Origin: null"),
        upgrade("Origin: http://stranger.example"),
        upgrade("Origin: http://127.0.0.1:1"),
        upgrade(OURS, "Origin: http://stranger.example"),
        upgrade(OURS, host="stranger.example:PORT"),
        upgrade(kinds=("WebSocket",)),
        upgrade(kinds=("", "websocket")),
        upgrade(OURS, kinds=("websocket", "h2c")),
    ],
)
def test_others_get_no_further_than_the_door(bench, request_):
    assert answer(bench, request_).startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize("kinds", [("WEBSOCKET",), ("websocket, h2c",), ("h2c",), ("",), (" ",)])
def test_odd_upgrades_open_no_websocket(bench, kinds):
    assert not answer(bench, upgrade(OURS, kinds=kinds)).startswith(b"HTTP/1.1 101")
    assert not answer(bench, upgrade(kinds=kinds)).startswith(b"HTTP/1.1 101")


@pytest.mark.parametrize(
    "path",
    [
        "/../../_messages.py",
        "/%2e%2e/%2e%2e/_messages.py",
        "/..%2f..%2f_messages.py",
        "/..\\..\\_messages.py",
        "//etc/passwd",
        "/assets",
        "/nothing",
        "/%00",
        "/%ff",
        "http://stranger.example/",
    ],
)
def test_no_other_files_are_served(bench, path):
    assert not answer(bench, get(path)).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "garbage",
    [
        b"\r\n\r\n",
        bytes(range(256)) * 8 + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        get("/", "X: " + "a" * 100_000),
        get("/", *(f"X-{k}: 1" for k in range(500))),
        get("/" + "a" * 100_000),
        get("/", "Content-Length: 99999999999"),
    ],
)
def test_garbage_does_no_harm(bench, garbage, capfd):
    assert (
        not answer(bench, garbage).startswith((b"HTTP/1.1 200", b"HTTP/1.1 101"))
        or b"Content-Length" in garbage
    )
    assert answer(bench, get()).startswith(b"HTTP/1.1 200")
    assert capfd.readouterr() == ("", "")
