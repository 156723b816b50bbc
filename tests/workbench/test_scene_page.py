"""What is drawn, in a page: switches, meshes, the tip dragged with the mouse, closed chains."""

import re

import numpy as np
import pytest

from armdyn import Robot, dynamic_manipulability
from armdyn.robot.closing import Closed
from armdyn.robot.joints import joint_limits
from armdyn.workbench.scene.arm import rotation
from mesh_files import meshed

pytestmark = pytest.mark.slow


def switch(page, label):
    """Click a checkbox, and wait until the workbench knows: viser drops all but one of many quick clicks."""
    inputs = page.bench._bench.gui._gui_input_handle_from_uuid.values()
    same = [one for one in inputs if getattr(one, "label", None) == label]
    known = next(one for one in same if isinstance(one.value, bool))  # a push has a field "Force" too
    wanted = not known.value
    exactly = re.compile(f"^{re.escape(label)}$")
    name = page.page.locator("label").filter(has_text=exactly).locator("visible=true").first
    row = name.locator("xpath=ancestor::div[contains(@class, 'mantine-Flex-root')][1]")
    box = row.locator("input[type=checkbox]")  # which moves when tables appear above it: no mouse
    page.wait(lambda: box.is_checked() != wanted, f"{label} as it was")
    box.evaluate("box => box.click()")
    page.wait(lambda: known.value == wanted, label)


def pixel(page, point):
    """Where a point (3,) of the scene is on the screen."""
    (client,) = page.bench._bench.server.get_clients().values()
    camera = client.camera
    x, y, z = rotation(camera.wxyz).T @ (point - camera.position)  # x right, y down, z away
    box = page.page.locator("canvas").first.bounding_box()
    scale = box["height"] / 2 / np.tan(camera.fov / 2)
    return (
        np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]) + scale * np.array([x, y]) / z
    )


def drag(page, start, end, steps=12):
    mouse = page.page.mouse
    mouse.move(*start)
    page.page.wait_for_timeout(400)  # the handle lights up
    mouse.down()
    for share in np.linspace(0, 1, steps):
        mouse.move(*(start + share * (end - start)))
        page.page.wait_for_timeout(60)
    page.page.wait_for_timeout(600)
    mouse.up()


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)], ids=lambda x: f"{x}")
def test_the_last_state_is_what_is_drawn(workbench, width, height):
    """Pages without a graphics card draw a frame for each change, and no more; it must be the last one."""
    page = workbench("puma560")
    page.page.set_viewport_size({"width": width, "height": height})
    canvas = page.page.locator("canvas[data-engine]")

    def at_rest():
        one = canvas.screenshot()
        page.page.wait_for_timeout(700)
        return one == canvas.screenshot() and one

    page.page.wait_for_timeout(2000)
    page.wait(at_rest, "the first picture", 60)
    before = canvas.screenshot()
    for k in range(20):
        page.bench.q = page.bench.q + np.array([0.02, -0.01, 0.03, 0, 0, 0])
        page.page.wait_for_timeout(10 * (k % 4))
    page.wait(lambda: canvas.screenshot() != before and at_rest(), "the last picture", 60)
    last = canvas.screenshot()
    page.page.evaluate("__viserMutable.requestRender()")
    page.page.wait_for_timeout(1500)
    assert canvas.screenshot() == last


@pytest.mark.parametrize("name", ["puma560", "planar", "delta"])
def test_the_tip_is_dragged_with_the_mouse(workbench, name):
    robot = Robot.load(name)
    page = workbench(robot)
    core, q = page.bench._bench, page.bench.q
    page.wait(lambda: len(core.server.get_clients()) == 1, "the page")
    page.page.wait_for_timeout(3000)
    core.change(qd=np.full(robot.n, 0.2))
    handle = core.scene._handle_from_node_name["/tip/handle"]
    tip = np.array(robot.pose(q)[:3, 3])
    axis = np.eye(3)[1 if name == "planar" else 2]
    start, end = (pixel(page, tip + share * handle.scale * axis) for share in (0.7, 1.6))
    drag(page, start, end)
    page.wait(lambda: np.linalg.norm(robot.pose(page.bench.q)[:3, 3] - tip) > 0.3 * handle.scale, "the arm")
    moved = robot.pose(page.bench.q)[:3, 3] - tip
    assert moved @ axis > 0.3 * handle.scale  # along the arrow that was dragged, and not aside
    assert np.linalg.norm(moved - axis * (moved @ axis)) < 0.02 * np.linalg.norm(moved)
    limits = joint_limits(robot)
    assert (page.bench.q >= limits.lower).all()
    assert (page.bench.q <= limits.upper).all()
    assert np.allclose(core.moment.qd, 0.2)
    page.wait(lambda: np.allclose(handle.position, robot.pose(page.bench.q)[:3, 3], atol=1e-9), "the handle")
    moment = core.moment
    page.wait_for_torques(robot.inverse_dynamics(moment.q, moment.qd, moment.qdd))


def test_everything_can_be_shown(workbench):
    robot = Robot.load("puma560")
    page = workbench(robot)
    page.tab("Show")
    core = page.bench._bench
    for label in ("Joint numbers", "Frames", "Names", "Centres of mass", "Inertia ellipsoids"):
        switch(page, label)
    for label in ("Velocity", "Force", "Acceleration", "Turn too", "Shadows", "Solids", "Motors"):
        switch(page, label)
    nodes = core.scene._handle_from_node_name
    page.wait(lambda: "/tip/acceleration" in nodes and nodes["/tip/acceleration"].visible, "an ellipsoid")
    page.wait(lambda: "/arm/body_2/shells_1" in nodes, "an inertia ellipsoid")
    said = page.page.inner_text("[data-armdyn=no-ellipsoid]")  # of the forearm as it was measured
    assert said == "No ellipsoid: no body can have the inertia that is given for forearm"
    core.change(q=core.moment.q + 0.1)
    expected = dynamic_manipulability(robot, page.bench.q, weights=joint_limits(robot).torque).lengths

    def axes():
        text = page.page.get_attribute("[data-armdyn=ellipsoids] [data-name=acceleration]", "data-axes") or ""
        return np.array([float(x) for x in text.split()])

    page.wait(lambda: axes().shape == (3,) and np.allclose(axes(), expected, rtol=1e-9), "its axes")
    assert not any(node.visible for path, node in nodes.items() if re.match(r".*/(link|motor)_\d+$", path))
    for label in ("Velocity", "Frames", "Drag the tip", "Ground"):
        switch(page, label)
    page.wait(lambda: not nodes["/tip/velocity"].visible and not nodes["/ground"].visible, "switches")
    for name in ("Front", "Side", "Top", "Home"):
        page.button(name)
    page.page.wait_for_timeout(500)


def test_meshes_and_odd_names(workbench, tmp_path):
    file = meshed(tmp_path)
    odd = '&lt;script&gt;alert(1)&lt;/script&gt; "链接" связь'
    file.write_text(file.read_text().replace('"arm"', f'"{odd.replace(chr(34), "")}"'))
    page = workbench(Robot.load(file))
    nodes = page.bench._bench.scene._handle_from_node_name
    page.wait(lambda: sum("/mesh_" in path for path in nodes) == 5, "meshes")
    assert "/arm/base/mesh_0" in nodes
    assert "/arm/body_1/mesh_2" in nodes
    page.tab("Show")
    page.page.wait_for_selector("[data-armdyn=meshes]")
    assert "2 mesh files are not there" in page.page.inner_text("body")
    for label in ("Names", "Frames", "Meshes"):
        switch(page, label)
    page.wait(lambda: not nodes["/arm/base/mesh_0"].visible, "the switch")
    page.page.wait_for_timeout(1500)


def test_a_closed_chain_stays_closed(workbench):
    robot = Robot.load("gripper")
    page = workbench(robot)
    name = f"1 {robot.model.coordinates[0].joint_label}"
    limits = joint_limits(robot)
    for value in np.linspace(page.bench.q[0], page.bench.q[0] + 3, 6):
        page.fill(name, float(np.clip(value, limits.lower[0], limits.upper[0])))
        page.page.wait_for_timeout(150)
    gap, _, upright = Closed.of(robot.model)(robot.assembly(page.bench.q))
    assert np.abs(gap).max() < 1e-9
    assert (upright > 0).all()
    moment = page.bench._bench.moment
    page.wait_for_torques(robot.inverse_dynamics(moment.q, moment.qd, moment.qdd))
    # The slider was in a hand until now: it follows once it rests.
    page.wait(lambda: abs(float(page.field(name).input_value()) - page.bench.q[0]) < 1e-3, "the slider")
