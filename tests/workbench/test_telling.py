"""Who is told of a state, and when."""

import socket
import time

import pytest

import armdyn
from armdyn.workbench import bench as bench_module
from armdyn.workbench.server import UNAIDED
from armdyn.workbench.tabs import pose
from armdyn.workbench.tabs.pose import FollowingSliders
from waiting import wait_until


@pytest.fixture
def bench():
    with armdyn.view("planar", port=0, browser=False) as opened:
        yield opened._bench


def told(bench):
    """Positions of joint 1 that a listener and a painter are told of."""
    heard, painted = [], []
    bench.on_moment(lambda moment: heard.append(moment.q[0]))
    bench.on_picture(lambda moment: painted.append(moment.q[0]))
    for k in range(30):
        bench.change(q=[k / 100, 0.5])
        time.sleep(0.01)
    wait_until(lambda: heard and painted and heard[-1] == painted[-1] == 0.29, "the last state")
    return heard, painted


def test_pictures_come_with_every_state(bench):
    heard, painted = told(bench)
    assert len(painted) > len(heard) / 2


def test_without_a_graphics_card_they_come_less_often_but_the_last_one_comes(bench, monkeypatch):
    monkeypatch.setattr(bench_module, "_UNAIDED_PACE", 1.0)  # longer than a busy machine needs for a state
    bench.unaided = lambda: True
    heard, painted = told(bench)
    assert len(painted) < len(heard)


def test_a_page_says_that_it_has_no_graphics_card(bench):
    assert not bench.unaided
    port = bench.server.get_port()
    with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        line.sendall(f"GET {UNAIDED} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        assert line.recv(64).startswith(b"HTTP/1.1 200")
    assert bench.unaided


def slider(bench):
    return bench.fields.add(bench.gui.add_slider("q", min=-4.0, max=4.0, step=0.01, initial_value=0.0))


def test_a_slider_in_somebodys_hand_is_left_alone_until_it_rests(bench, monkeypatch):
    now = 100.0
    monkeypatch.setattr(pose, "monotonic", lambda: now)
    following = FollowingSliders(bench)
    held, free = slider(bench), slider(bench)
    following.sliders = {("q", 0): held, ("q", 1): free}
    following.touch("q", 0)
    bench.on_calm(following)
    bench.change(q=[0.3, 0.4])
    wait_until(lambda: free.value == 0.4, "the other slider")
    assert held.value == 0.0
    now += 1.0
    wait_until(lambda: held.value, "the slider")
    assert held.value == 0.3


def test_following_sliders_end_where_the_arm_does(bench):
    following = FollowingSliders(bench)
    one = slider(bench)
    following.sliders = {("q", 0): one}
    shown = []
    bench.on_calm(following)
    bench.on_calm(lambda moment: shown.append(moment.q[0]))
    for k in range(50):
        bench.change(q=[k / 50, 0.5])
        time.sleep(0.01)
    wait_until(lambda: one.value == shown[-1] == 0.98, "the slider")
    assert len(shown) < 30
