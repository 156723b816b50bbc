"""A robot with another geometry is drawn anew, and with it what hangs on it. Without a browser."""

from dataclasses import replace

import numpy as np
import pytest

from armdyn import Robot
from armdyn.drawing.solids import solids
from armdyn.workbench.scene.arm import DrawnArm
from armdyn.workbench.scene.marks import Marks, frames, named_frames, names, numbers
from arms import slowly
from waiting import wait_until


def handles(arm):
    return [piece for _, piece in arm.pieces]


def edited(bench, **symbols):
    """The state with other values of symbols."""
    robot = bench.given.with_symbols(**symbols)
    return replace(bench.moment, subject=bench.moment.subject.changed(robot))


@pytest.mark.parametrize("value", [pytest.param(0.4, marks=pytest.mark.slow), 2.5])
def test_another_length_is_drawn(opened, value):
    bench = opened("planar")
    arm = DrawnArm(bench)
    arm.show(("motor",), False)
    before, size = handles(arm), arm.size
    moment = edited(bench, a1=value)
    arm.follow(moment)
    wanted = solids(moment.robot)
    assert arm.size == wanted.size != size
    found = [np.asarray(piece.vertices, float) for piece in handles(arm)]
    for solid in wanted.solids:
        assert any(x.shape == solid.vertices.shape and np.allclose(x, solid.vertices) for x in found)
    assert all(piece.visible == (solid.kind != "motor") for solid, piece in arm.pieces)
    assert not set(map(id, before)) & set(map(id, handles(arm)))


def test_what_looks_the_same_is_not_drawn_again(opened):
    bench = opened("planar")
    arm, news = DrawnArm(bench), []
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
    [slowly(frames, "pr", "L2"), slowly(names, "pr", "L2"), (numbers, "planar", "a1")],
)
def test_marks_go_along(opened, kind, name, symbol):
    bench = opened(name)
    marks = Marks(bench, 1.0, kind)
    marks.show(True)
    before = sorted(tuple(handle.position) for handle in marks.handles)
    bench.change(subject=edited(bench, **{symbol: 2.5}).subject)
    marks.renew(2.0)
    after = sorted(tuple(handle.position) for handle in marks.handles)
    assert len(after) == len(before)
    assert after != before
    if kind is frames:
        wanted = [pose[:3, 3] for _, (_, pose) in named_frames(bench.robot)]
        assert np.allclose(after, sorted(map(tuple, wanted)))
    marks.show(False)
    marks.renew(1.0)
    assert not marks.handles  # drawn when they are asked for again


def test_the_workbench_redraws_arm_ground_and_handle(opened):
    bench = opened("planar")
    scene = bench.scene._handle_from_node_name
    width, scale = scene["/ground"].width, scene["/tip/handle"].scale
    bench.change(subject=edited(bench, a1=2.5).subject)
    wait_until(lambda: scene["/ground"].width > 1.3 * width)
    wait_until(lambda: scene["/tip/handle"].scale > 1.3 * scale)
    wanted = {solid.vertices.astype(np.float32).tobytes() for solid in solids(bench.robot).solids}

    def drawn():
        found = [x for name, x in list(scene.items()) if name.startswith("/arm") and hasattr(x, "vertices")]
        return {np.asarray(x.vertices).tobytes() for x in found}

    wait_until(lambda: drawn() == wanted)


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

    wait_until(there)
