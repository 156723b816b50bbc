"""Pages come and go: several at once, loaded again, closed; `armdyn view` ends with the last of them."""

import functools
import http.server
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import viser
from websockets.sync.client import connect

import armdyn
from armdyn import Robot

QUIET = functools.partial(subprocess.Popen, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def command():
    """`command(option, …)`: a running `armdyn view planar` and the address that it prints.

    It hears SIGINT also where the tests run in the background with it ignored.
    """
    started, before = [], signal.signal(signal.SIGINT, signal.default_int_handler)

    def start(*options):
        line = [sys.executable, "-m", "armdyn", "view", "planar", "--no-browser", "--port", "0", *options]
        run = QUIET(line)
        started.append(run)
        said = run.stdout.readline() + run.stdout.readline()
        hint = "Press Ctrl-C to end." if "--stay" in options else "Close the page or press Ctrl-C to end."
        found = re.fullmatch(rf"two-link planar arm: (http://127\.0\.0\.1:\d+/)\n{hint}\n", said)
        assert found, said
        return run, found[1]

    yield start
    signal.signal(signal.SIGINT, before)
    for run in started:
        if run.poll() is None:
            run.kill()
        run.communicate()


def ended(run, seconds=60):
    """The exit code, and what was printed after the first two lines."""
    out, errors = run.communicate(timeout=seconds)
    return run.returncode, out, errors


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send")
def test_ctrl_c_ends_it(command):
    """Also while a page is connected."""
    run, url = command()
    protocols = [f"viser-v{viser.__version__}"]
    with connect(url.replace("http", "ws"), origin=url.rstrip("/"), subprotocols=protocols, proxy=None):
        run.send_signal(signal.SIGINT)
        assert ended(run) == (0, "", "")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send")
def test_a_port_that_is_taken_is_said(command):
    _, url = command()
    port = url.split(":")[2].rstrip("/")
    line = [sys.executable, "-m", "armdyn", "view", "planar", "--no-browser", "--port", port]
    with QUIET(line) as run:
        said = run.stdout.readline(), run.stdout.readline()
        run.send_signal(signal.SIGINT)
    assert url not in said[0]
    assert said[1] == f"Port {port} is taken by another program; this is the next free one.\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send")
def test_a_page_closed_ends_it_unless_it_stays(command, chromium):
    first, url = command()
    staying, other = command("--stay")
    for run, at in ((staying, other), (first, url)):
        context = chromium.new_context(viewport={"width": 900, "height": 400})
        page = context.new_page()
        page.goto(at)
        page.wait_for_selector("[data-armdyn=torques]", timeout=120_000)
        if run is first:
            page.reload()
            page.wait_for_selector("[data-armdyn=torques]", timeout=120_000)
            time.sleep(4)
            assert run.poll() is None  # loading again is not closing
        context.close()
    assert ended(first) == (0, "", "")
    assert staying.poll() is None
    staying.send_signal(signal.SIGINT)
    assert ended(staying) == (0, "", "")


@pytest.mark.slow
def test_two_pages_show_one_arm(workbench, chromium):
    robot = Robot.load("planar")
    page = workbench(robot, width=900, height=500)
    context = chromium.new_context(viewport={"width": 900, "height": 500})
    try:
        other = type(page)(page.bench, context.new_page())
        page.fill("1 link 1", 0.31)
        page.wait(lambda: abs(page.bench.q[0] - 0.31) < 1e-3, "the posture")
        tau = robot.inverse_dynamics(page.bench.q, np.zeros(2), np.zeros(2))
        page.wait_for_torques(tau)
        other.wait_for_torques(tau)
        other.wait(lambda: abs(float(other.field("1 link 1").input_value()) - 0.31) < 1e-3, "the slider")
        other.fill("2 link 2", -0.2)
        page.wait(lambda: abs(page.bench.q[1] + 0.2) < 1e-3, "the posture")
        page.wait_for_torques(robot.inverse_dynamics(page.bench.q, np.zeros(2), np.zeros(2)))
        other.check()
    finally:
        context.close()
    page.fill("1 link 1", -0.4)  # the other one closed: nothing is lost
    page.wait(lambda: abs(page.bench.q[0] + 0.4) < 1e-3, "the posture")


# A page of another server of this machine that tries every way in.
STRANGER = """<!doctype html><script>
const found = [], target = "TARGET", done = new Set();
const note = (way, what) => { found.push(way + ": " + what); };
async function tries() {
  for (const protocols of [[], ["viser-vVERSION"]]) {
    await new Promise(next => {
      const line = new WebSocket(target.replace("http", "ws"), protocols);
      line.onopen = () => { note("websocket", "open"); next(); };
      line.onmessage = () => note("websocket", "message");
      line.onerror = () => { note("websocket", "refused"); next(); };
    });
  }
  for (const mode of ["cors", "no-cors"]) {
    try {
      const answer = await fetch(target, { mode });
      note("fetch " + mode, answer.type + " " + (await answer.text()).length);
    } catch { note("fetch " + mode, "refused"); }
  }
  window.found = found;
}
tries();
</script>"""


@pytest.fixture
def stranger():
    """`stranger(text)`: the address of another server, whose page is `text`."""
    servers = []

    def serve(text):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.slow
def test_a_page_of_another_server_gets_nowhere(chromium, stranger):
    with armdyn.view("planar", port=0, browser=False) as bench:
        text = STRANGER.replace("TARGET", bench.url).replace("VERSION", viser.__version__)
        context = chromium.new_context()
        try:
            page = context.new_page()
            page.goto(stranger(text))
            page.wait_for_function("window.found", timeout=60_000)
            assert page.evaluate("window.found") == [
                "websocket: refused",
                "websocket: refused",
                "fetch cors: refused",
                "fetch no-cors: opaque 0",
            ]
            assert not bench._bench.server.get_clients()
        finally:
            context.close()
