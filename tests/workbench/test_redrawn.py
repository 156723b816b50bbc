"""A robot with another geometry is drawn anew, and with it what hangs on it. Without a browser."""

import time
from dataclasses import replace

import numpy as np
import pytest

from armdyn import Robot
from armdyn.drawing.solids import solids
from armdyn.workbench.scene.arm import Arm
from armdyn.workbench.scene.marks import Frames, Names, Numbers, named_frames
from arms import slowly


def wait(condition, seconds=60):
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("waited in vain")


def handles(arm):
    return [piece for pieces in arm.pieces.values() for piece in pieces]


def edited(bench, **symbols):
    """The state with other values of symbols."""
    robot = bench.given.with_symbols(**symbols)
    return replace(bench.moment, subject=bench.moment.subject.changed(robot))


@pytest.mark.parametrize("value", [pytest.param(0.4, marks=pytest.mark.slow), 2.5])
def test_another_length_is_drawn(opened, value):
    bench = opened("planar")
    arm = Arm(bench)
    arm.show(("motor",), False)
    before, size = handles(arm), arm.size
    moment = edited(bench, a1=value)
    arm.follow(moment)
    wanted = solids(moment.robot)
    assert arm.size == wanted.size != size
    found = [np.asarray(piece.vertices, float) for piece in handles(arm)]
    for solid in wanted.solids:
        assert any(x.shape == solid.vertices.shape and np.allclose(x, solid.vertices) for x in found)
    assert not any(piece.visible for piece in arm.pieces["motor"])
    assert all(piece.visible for piece in arm.pieces["link"])
    assert not set(map(id, before)) & set(map(id, handles(arm)))


def test_what_looks_the_same_is_not_drawn_again(opened):
    bench = opened("planar")
    arm, news = Arm(bench), []
    arm.on_redrawn(lambda: news.append(1))
    pieces = arm.pieces
    for symbols in ({"ml1": 7.0}, {"kr1": 50.0}, {"g": 1.62}):
        arm.follow(edited(bench, **symbols))
    assert arm.pieces is pieces
    assert not news
    arm.follow(edited(bench, a2=1.5))
    assert news == [1]


@pytest.mark.parametrize(
    ("kind", "name", "symbol"),
    [slowly(Frames, "pr", "L2"), slowly(Names, "pr", "L2"), (Numbers, "planar", "a1")],
)
def test_marks_go_along(opened, kind, name, symbol):
    bench = opened(name)
    marks = kind(bench, 1.0)
    marks.show(True)
    before = sorted(tuple(handle.position) for handle in marks._handles)
    bench.change(subject=edited(bench, **{symbol: 2.5}).subject)
    marks.renew(2.0)
    after = sorted(tuple(handle.position) for handle in marks._handles)
    assert len(after) == len(before)
    assert after != before
    if kind is Frames:
        wanted = [pose[:3, 3] for _, (_, pose) in named_frames(bench.robot)]
        assert np.allclose(after, sorted(map(tuple, wanted)))
    marks.show(False)
    marks.renew(1.0)
    assert not marks._handles  # drawn when they are asked for again


def test_the_workbench_redraws_arm_ground_and_handle(opened):
    bench = opened("planar")
    scene = bench.scene._handle_from_node_name
    width, scale = scene["/ground"].width, scene["/tip/handle"].scale
    bench.change(subject=edited(bench, a1=2.5).subject)
    wait(lambda: scene["/ground"].width > 1.3 * width)
    wait(lambda: scene["/tip/handle"].scale > 1.3 * scale)
    wanted = {solid.vertices.astype(np.float32).tobytes() for solid in solids(bench.robot).solids}

    def drawn():
        found = [x for name, x in list(scene.items()) if name.startswith("/arm") and hasattr(x, "vertices")]
        return {np.asarray(x.vertices).tobytes() for x in found}

    wait(lambda: drawn() == wanted)


SPRUNG = """
name = "sprung"
convention = "frames"
gravity = [0, 0, -9.81]
[symbols]
h = 1.5
[[link]]
name = "arm"
joint = "revolute"
axis = [0, 1, 0]
origin = { xyz = [0, 0, 0], rpy = [0, 0, 0] }
mass = 2
com = [0.5, 0, 0]
[[spring]]
between = ["base", "arm"]
at = [[0, 0, "h"], [0.4, 0, 0.1]]
stiffness = 300
"""


def test_springs_go_along(opened):
    bench = opened(Robot.from_toml(SPRUNG))
    bench.change(subject=edited(bench, h=0.8).subject)

    def there():
        coil = bench.scene._handle_from_node_name.get("/springs/1")  # there is none while it is drawn anew
        return coil is not None and np.allclose(coil.position, [0, 0, 0.8])

    wait(there)
