"""The answer on top, what-if edits with undo, units, what is in view, another robot in the same page."""

import re

import numpy as np
import pytest

from armdyn import Robot, scale_to_limits, time_optimal
from armdyn.report import default_motion
from armdyn.robot.joints import joint_limits
from armdyn.workbench.charts import motion_charts
from armdyn.workbench.fields import CHOICES, FieldUnits
from armdyn.workbench.moment import EditedRobot, ViewError
from armdyn.workbench.scene.arm import fitted, reached
from armdyn.workbench.scene.marks import carried
from armdyn.workbench.tabs.motion import least_text, share_text
from armdyn.workbench.tabs.parameters import Editor, TipPayload, value_of
from arms import generators, law, quietly, robots, slowly, state
from waiting import wait_until

# ---- the answer --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["puma560", slowly("panda"), slowly("five_bar")])
def test_the_share_is_what_scaling_must_make_of_it(name):
    """A motion that is linearly scaled to its limits uses all of one: by another route."""
    robot = quietly(lambda: Robot.load(name))
    motion = default_motion(robot).trajectory
    found = share_text(EditedRobot.of(robot), motion, None)
    tau = robot.inverse_dynamics(*(getattr(motion.samples(), x) for x in ("q", "qd", "qdd")))
    own = float((np.abs(tau) / joint_limits(robot).torque).max())
    assert found.part >= own - 1e-12
    assert ("beyond" in found.text) == (found.part > 1 + 1e-6)
    scaled = quietly(lambda: scale_to_limits(robot, motion, faster=True)).trajectory
    assert abs(share_text(EditedRobot.of(robot), scaled, None).part - 1) < 2e-2


def test_the_least_time_is_that_of_time_optimal():
    robot = Robot.load("planar")
    motion = default_motion(robot).trajectory
    best = time_optimal(robot, motion).duration
    assert least_text(EditedRobot.of(robot), motion, None).startswith(f"least time {best:.3g} s")
    free = Robot.from_dict({**robot.to_dict(), "link": [_without_limits(x) for x in robot.to_dict()["link"]]})
    assert least_text(EditedRobot.of(free), motion, None) == ""
    assert "No limits" in share_text(EditedRobot.of(free), motion, None).text


def _without_limits(link):
    return {key: value for key, value in link.items() if key != "limits"}


# ---- what if -----------------------------------------------------------------------------------------------


def test_more_torque_is_less_of_the_limit_and_can_be_undone(opened):
    bench = opened("puma560")
    given, runs = bench.robot, bench.moment.subject.runs
    editor = Editor(bench)
    before = share_text(bench.moment.subject, bench.motion, None).part
    for joint in range(given.n):
        old = value_of(given, joint, "torque limit")
        editor.change(lambda e, j=joint, x=old: e.with_entry(given, j, "torque limit", 1.25 * x))
    assert bench.moment.subject.runs is runs  # nothing was compiled
    assert np.allclose(bench.limits.torque, 1.25 * joint_limits(given).torque, rtol=1e-12)
    assert abs(share_text(bench.moment.subject, bench.motion, None).part * 1.25 - before) < 1e-12
    edited = bench.robot
    for _ in range(given.n):
        editor.undo()
    assert bench.robot == given
    for _ in range(given.n):
        editor.redo()
    assert bench.robot == edited
    with pytest.raises(ViewError, match="nothing to redo"):
        editor.redo()


def test_no_limit_is_zero(opened):
    bench = opened("puma560")
    editor = Editor(bench)
    editor.change(lambda e: e.with_entry(bench.given, 0, "torque limit", 0.0))
    assert not np.isfinite(bench.limits.torque[0])
    assert value_of(bench.robot, 0, "torque limit") == 0.0
    editor.change(lambda e: e.with_entry(bench.given, 0, "speed limit", 2.0))
    assert bench.limits.velocity[0] == 2.0
    found = {"robot": bench.given, "Robot": Robot}
    quietly(lambda: exec("\n".join(editor.edits.lines(bench.given)), found))
    assert found["robot"] == bench.robot


@law(robots((1, 3)), generators(), examples=1, thorough=20)
def test_the_ball_of_a_payload_is_where_its_mass_is(robot, rng):
    mass, centre = float(rng.uniform(0.5, 3)), rng.normal(size=3)
    laden = TipPayload(mass, tuple(centre)).on(robot)
    ((body, found, place),) = carried(laden, robot)
    assert abs(found - mass) < 1e-9
    q = state(robot, rng)[0]
    pose, tip = robot.poses(q)[body], robot.pose(q)
    there = pose[:3, :3] @ place + pose[:3, 3]
    assert np.abs(there - (tip[:3, :3] @ centre + tip[:3, 3])).max() < 1e-9
    assert carried(robot, robot) == []


# ---- units -------------------------------------------------------------------------------------------------


def test_fields_in_degrees_and_millimetres(opened):
    """What is shown and typed is in the unit of the page; what is computed with stays in SI."""
    bench = opened("scara")
    angle = bench.fields.add(
        bench.gui.add_slider("a [rad]", min=-3.0, max=3.0, step=2e-3, initial_value=0.5),
        "rad",
        limits=lambda: (-3.0, 3.0),
    )
    length = bench.fields.add(bench.gui.add_number("l [m]", 0.25), "m")
    mass = bench.fields.add(bench.gui.add_number("m [kg]", 2.0), "kg")
    bench.fields.switch(CHOICES["degrees, millimetres"])
    assert abs(angle.handle.value - np.degrees(0.5)) < 1e-12
    assert (angle.handle.label, length.handle.label, mass.handle.label) == ("a [°]", "l [mm]", "m [kg]")
    assert (length.handle.value, mass.handle.value) == (250.0, 2.0)
    for text, value in (("30", np.pi / 6), ("-90°", -np.pi / 2), ("pi/4", np.pi / 4), ("400", 3.0)):
        angle.type(0, text)
        assert abs(angle.value - value) < 1e-12
        assert abs(angle.handle.value - np.degrees(value)) < 1e-9
    length.type(0, "12.5")
    assert abs(length.value - 0.0125) < 1e-15
    bench.fields.switch(FieldUnits())
    assert (angle.handle.value, angle.handle.max, angle.handle.step) == (3.0, 3.0, 2e-3)
    assert abs(length.handle.value - 0.0125) < 1e-15


def test_curves_in_degrees(opened):
    bench = opened("scara")
    for title in ("Positions", "Velocities", "Torques"):
        chart = motion_charts(bench.robot, [("before", bench.motion)])[title](bench.moment.subject, 0, None)
        shown = chart.in_units(FieldUnits(degrees=True, millimetres=True))
        for one, other in zip(chart.panels, shown.panels, strict=True):
            factor = {"rad": 180 / np.pi, "m": 1000.0}.get(one.unit.removesuffix("/s"), 1.0)
            assert np.allclose(other.lines[0].y, factor * one.lines[0].y, rtol=1e-12)
            assert np.allclose(other.bounds, factor * np.array(one.bounds), rtol=1e-12)
    assert {panel.unit for panel in shown.panels} == {"N m", "N"}


# ---- what is in view ---------------------------------------------------------------------------------------


@law(robots((1, 3)), generators(), examples=1, thorough=20)
def test_the_whole_arm_is_in_view_in_other_postures(robot, rng):
    """Points of random postures, seen through a camera of another making."""
    from armdyn.drawing.skeleton import skeleton
    from armdyn.drawing.solids import solids

    limits, q = joint_limits(robot), np.zeros(robot.n)
    seen = reached(robot, limits, q, solids(robot))
    up, towards = np.array([0.0, 0.0, 1.0]), np.array([0.6, -0.7, 0.4])
    towards /= np.linalg.norm(towards)
    for aspect, covered in ((0.3, 0.0), (1.0, 0.0), (2.5, 0.0), (1.1, 0.15), (2.5, 0.2)):
        position, target = fitted(seen, towards, up, 0.75, aspect, covered)
        ahead = (target - position) / np.linalg.norm(target - position)
        right = np.cross(ahead, up) / np.linalg.norm(np.cross(ahead, up))
        for _ in range(20):
            low = np.where(np.isfinite(limits.lower), limits.lower, -0.4)
            high = np.where(np.isfinite(limits.upper), limits.upper, 0.4)
            points = skeleton(robot, rng.uniform(low, high)).points - position
            depth = points @ ahead
            assert depth.min() > 0
            height = points @ np.cross(right, ahead) / depth / np.tan(0.375)
            assert height.max() < 1
            assert height.min() > 2 * covered - 1
            assert np.abs(points @ right / depth).max() < np.tan(0.375) * aspect


# ---- another robot -----------------------------------------------------------------------------------------


def test_another_robot_in_the_same_page():
    import armdyn

    with armdyn.view("planar", port=0, browser=False) as bench:
        url, first = bench.url, bench._bench
        first.open_robot(Robot.load("pendulum"), "pendulum")
        assert (bench.url, bench.robot) == (url, Robot.load("pendulum"))
        assert first.closed
        assert not bench.closed
        assert "Robot.load('pendulum')" in bench.python
        bench.q = [0.25]
        wait_until(lambda: bench._bench.moment.q[0] == 0.25)


def test_what_no_script_of_ours_says_is_not_heard(opened):
    bench = opened("planar")
    heard = []
    bench.fields.hear("such", lambda client, x: heard.append(x))
    line = bench.fields._line

    class Event:
        client = object()

    import asyncio
    import json

    for said in (
        ["such", 2.5, 0],
        ["such", 0],
        ["such", 1, 2, 0],
        ["such", "x", 0],
        ["other", 1, 0],
        {},
        3,
        [],
    ):
        line.value = json.dumps(said)
        asyncio.run(bench.fields._heard(Event()))
    wait_until(lambda: heard == [2.5])


# ---- in the page -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_answer_follows_the_robot(workbench):
    page = workbench("puma560")
    answer = page.page.locator("[data-armdyn=answer]")
    page.wait(lambda: "within its limits: 82 %" in answer.inner_text().replace("\xa0", " "), "the answer", 60)
    page.wait(lambda: "least time 0.53" in answer.inner_text(), "the least time", 60)
    assert answer.inner_text().startswith("Example motion")
    page.fill("+ payload [kg]", 5)
    page.wait(lambda: "beyond its limits" in answer.inner_text(), "the answer with a payload", 60)
    page.fill("torque limits [%]", 200)
    page.wait(lambda: "within its limits" in answer.inner_text(), "the answer with larger motors", 60)
    page.page.keyboard.press("Control+z")
    page.wait(lambda: "beyond its limits" in answer.inner_text(), "the change to be undone", 60)


@pytest.mark.slow
def test_a_click_on_curves_goes_there_and_a_drag_enlarges(workbench):
    page = workbench("planar")
    page.tab("Curves")
    area = page.page.locator(".ad-plot-area").first
    area.wait_for()
    duration = page.bench._bench.motion.duration
    box = area.bounding_box()
    middle = box["y"] + box["height"] / 2
    at = lambda part: box["x"] + part * box["width"]  # noqa: E731
    page.page.mouse.click(at(0.5), middle)
    page.wait(lambda: abs((page.bench._bench.moment.time or 0) - duration / 2) < 0.01, "the middle")
    page.page.mouse.move(at(0.25), middle)
    tip = page.page.locator(".ad-tip")
    page.wait(lambda: re.match(r"0\.12\d* s", tip.inner_text()) is not None, "the value under the mouse")
    page.page.mouse.down()
    page.page.mouse.move(at(0.75), middle, steps=3)
    page.page.mouse.up()
    page.page.mouse.click(at(0.5), middle)
    page.wait(lambda: abs((page.bench._bench.moment.time or 0) - duration / 2) < 0.01, "the same middle")
    page.page.mouse.click(at(0.01), middle)
    page.wait(lambda: abs((page.bench._bench.moment.time or 0) - duration / 4) < 0.02, "the first quarter")


@pytest.mark.slow
def test_every_field_has_a_name_and_the_page_its_own(workbench):
    page = workbench("puma560")
    nameless = """() => [...document.querySelectorAll("input, [role=slider]")].filter(e => e.type !== "hidden"
      && e.type !== "file" && e.checkVisibility() && !e.ariaLabel && !e.labels?.length).length"""
    for name in ("Pose", "Robot", "Motion", "Simulate", "Data", "Show", "Export"):
        page.tab(name)
        page.wait(lambda: page.page.evaluate(nameless) == 0, f"names of all fields of {name}", 60)
    assert page.page.title() == "PUMA 560 – armdyn"


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_telephone_shows_the_picture_and_torques_beside_sliders(chromium, scheme):
    import armdyn

    with armdyn.view("planar", port=0, browser=False) as bench:
        size = {"width": 390, "height": 844}
        context = chromium.new_context(viewport=size, color_scheme=scheme)
        try:
            page = context.new_page()
            page.goto(bench.url)
            page.wait_for_selector("[data-armdyn=torques]", timeout=60_000, state="attached")
            page.wait_for_selector("label[data-torque]", timeout=60_000)
            above = """() => document.querySelector("canvas[data-engine]").getBoundingClientRect().bottom
              < document.querySelector("[role=slider]").getBoundingClientRect().top"""
            page.wait_for_function(above, timeout=60_000)
            found = page.evaluate("""() => {
              const canvas = document.querySelector("canvas[data-engine]").getBoundingClientRect();
              const slider = document.querySelector("[role=slider]").getBoundingClientRect();
              return { picture: canvas.bottom, slider: slider.top, wide: document.documentElement.scrollWidth,
                scheme: document.documentElement.dataset.mantineColorScheme }; }""")
            assert found["picture"] < found["slider"]
            assert found["wide"] == 390
            assert found["scheme"] == scheme
            tau = bench._bench.moment.tau
            text = page.locator("label[data-torque]").first.get_attribute("data-torque")
            assert abs(float(text.split(" N m")[0].replace("−", "-")) - tau[0]) < 1e-2 * abs(tau[0]) + 1e-3
        finally:
            context.close()


@pytest.mark.slow
def test_b_of_six_joints_is_read_whole(workbench):
    page = workbench("puma560", width=1024)
    page.tab("Equations")
    page.page.get_by_text("In numbers").click(force=True)
    page.page.locator(".ad-matrix").first.wait_for(timeout=60_000)
    cut = """() => [...document.querySelectorAll(".ad-maths .scroll")]
      .filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).length"""
    page.wait(lambda: page.page.evaluate(cut) == 0, "the columns of B to fit")


@pytest.mark.slow
def test_what_a_field_says_of_itself_covers_no_other(workbench):
    page = workbench("planar")
    page.tab("Motion")
    page.field("Duration").hover(force=True)
    tip = page.page.locator(".mantine-Tooltip-tooltip[data-aside]")
    tip.wait_for(timeout=60_000)
    panel = page.field("Duration").evaluate(
        "e => e.closest('.mantine-Paper-root').getBoundingClientRect().left"
    )
    page.wait(lambda: (box := tip.bounding_box()) and box["x"] + box["width"] <= panel, "the tip beside")


@pytest.mark.slow
def test_another_robot_beside_has_the_torques_of_its_own(workbench):
    """With its least time, which is looked for while sliders go on answering."""
    robot, other = Robot.load("planar"), quietly(lambda: Robot.load("rmit2r"))
    page = workbench(robot)
    page.tab("Robot")
    page.page.get_by_text("Beside it").click(force=True)
    page.pick("Robot", "rmit2r")
    table = page.page.locator("[data-armdyn=beside]")
    table.wait_for(timeout=60_000)
    q = np.array([0.9, 1.9])
    page.bench.q = q
    page.wait_for_torques(robot.inverse_dynamics(q, 0 * q, 0 * q))
    for column, one in ((1, robot), (2, other)):
        wanted = [f"{x:.4g}".replace("-", "−") for x in one.inverse_dynamics(q, 0 * q, 0 * q)]
        cells = f"rows => rows.slice(1).map(row => row.children[{column}].textContent)"
        page.wait(lambda x=cells, w=wanted: table.locator("tr").evaluate_all(x) == w, "the torques", 60)
    motion = page.bench._bench.motion
    for name, one in (("this one", robot), ("beside it", other)):
        said, least = page.page.get_by_text(f"{name}:"), least_text(EditedRobot.of(one), motion, None)
        page.wait(lambda text=least, at=said: text in at.inner_text(), f"the least time of {name}", 60)
    page.pick("Robot", "none")
    table.wait_for(state="detached", timeout=60_000)


@pytest.mark.slow
def test_a_server_that_is_gone_is_a_sentence(chromium):
    import armdyn

    bench = armdyn.view("planar", port=0, browser=False)
    page = chromium.new_page()
    page.goto(bench.url)
    page.wait_for_selector("[data-armdyn=torques]", timeout=60_000)
    bench.close()
    page.wait_for_selector(".ad-gone", timeout=30_000)
    assert "Open it again with armdyn view" in page.inner_text(".ad-gone")
    page.close()
