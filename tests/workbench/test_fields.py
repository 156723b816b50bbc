"""Number fields: what is typed by hand is what is computed with, and the field shows it."""

import math

import numpy as np
import pytest

from armdyn import Robot
from armdyn.workbench.moment import ViewError
from arms import quietly


def typed(page, label, text, key="Enter", place=-1):
    """Replace the text of a field, key by key, and press `key`; "click" leaves it by the mouse instead."""
    page.field(label).wait_for()
    row = page.field(label).locator("xpath=ancestor::div[.//label][1]")
    fields = row.locator("input.mantine-NumberInput-input")
    field = fields.nth(place % fields.count())
    field.focus()  # a folder that is being opened moves: the mouse would miss
    page.page.keyboard.press("Control+a")
    page.page.keyboard.press("Delete") if not text else page.page.keyboard.type(text)
    if key == "click":
        page.page.mouse.click(640, 500)
    else:
        page.page.keyboard.press(key)
    return field


def number(field):
    return float(field.input_value())


def test_a_field_shows_what_it_took(opened):
    """Read, brought within its limits, or refused; a slider without limits grows."""
    bench, taken, notes = opened("pendulum"), [], []
    bench.tell = lambda title, text, colour="blue": notes.append(f"{title}: {text}")

    def change(value):
        if value == 3:
            raise ViewError("three is not possible")
        taken.append(value)

    vector = bench.fields.add(bench.gui.add_vector3("centre", (0.0, 0.0, 0.0)), "m", change)
    for place, text in enumerate(("-0.5", "1/3", "0,25")):
        vector.type(place, text)
    assert taken.pop() == vector.value == (-0.5, 1 / 3, 0.25)
    length = bench.fields.add(bench.gui.add_number("length", 1.0, min=0.5, max=4.0), "m", change)
    for text in ("3", "x", "90deg", "1 2", "1,2,3", "1e999", "__import__('os')", ""):
        with pytest.raises(ViewError):
            length.type(0, text)
        assert length.value == 1
    length.type(0, "1e-3")
    assert (taken.pop(), length.value) == (0.5, 0.5)
    assert notes == ["length: 0.001 m is beyond 0.5 m, the limit: set to that."]
    small = bench.fields.add(bench.gui.add_number("inertia", 0.0), "kg m²", change)
    small.type(0, "1.234e-12")
    assert small.handle.precision == 16
    handle = bench.gui.add_slider("q", min=-1.0, max=1.0, step=0.01, initial_value=0.0)
    free = bench.fields.add(handle, "rad", change, lambda: (-math.inf, math.inf))
    free.type(0, "-180°")
    assert (free.value, handle.min, handle.max) == (-math.pi, -math.pi, 1.0)
    free.show(0.5)
    assert (handle.min, handle.max) == (-1.0, 1.0)


def test_rounding_is_zero_in_sliders_and_lines(opened):
    """Of a position such as -3e-16; a small number of another field stays."""
    bench = opened("pendulum")
    slider = bench.gui.add_slider("q", min=-3.0, max=3.0, step=1e-3, initial_value=1.0)
    field = bench.fields.add(slider, "rad", limits=lambda: (-3.0, 3.0))
    for value, shown in ((-3.3e-16, 0.0), (1e-9, 1e-9), (-0.5, -0.5)):
        field.show(value)
        assert slider.value == shown
    inertia = bench.fields.add(bench.gui.add_number("I", 1.0), "kg m²")
    inertia.show(3.3e-16)
    assert inertia.handle.value == 3.3e-16
    bench.change(q=[-3.3e-16], qd=[1e-9])
    lines = bench.python()
    assert "q = np.array([0.0])" in lines
    assert "qd = np.array([1e-09])" in lines


@pytest.mark.slow
def test_what_is_typed_is_what_is_computed(workbench):
    """Signs, powers, fractions of pi, degrees, commas; limits, rubbish and nothing at all."""
    robot, zeros = quietly(lambda: Robot.load("puma560")), np.zeros(6)
    page = quietly(lambda: workbench("puma560"))
    high = float(page.bench._bench.limits.upper[1])
    assert 1.6 < high < 90
    before = page.bench.q[1]
    expected = [
        ("-0.5", "Enter", -0.5),
        ("0,25", "Tab", 0.25),
        ("-0.05", "click", -0.05),
        ("1e-3", "Enter", 1e-3),
        ("pi/2", "Tab", math.pi / 2),
        ("-30°", "Enter", -math.pi / 6),
        ("60deg", "click", math.pi / 3),
        ("", "Tab", math.pi / 3),
        ("wrong", "Enter", math.pi / 3),
        ("0.7", "Escape", math.pi / 3),
        ("90", "Enter", high),
        ("−0.7", "Enter", -0.7),
        ("–0.75", "Enter", -0.75),
    ]
    field = page.field("2 upper arm")
    for text, key, value in expected:
        typed(page, "2 upper arm", text, key)
        near = [lambda goal=value: abs(page.bench.q[1] - goal) < 1e-12]
        near += [lambda goal=value: abs(number(field) - goal) < 1e-9]
        page.wait(lambda near=near: all(x() for x in near), f"{value} for {text!r}")
        q = np.array([*page.bench.q[:1], number(field), *page.bench.q[2:]])
        page.wait_for_torques(robot.inverse_dynamics(q, zeros, zeros), 1e-8)
    assert abs(before + 0.75) > 1e-3
    text = page.page.inner_text("body")
    assert "2 upper arm: expected a number such as -0.5, 1e-3, pi/2 or 90deg, found 'wrong'" in text
    assert f"90 rad is beyond {high:.6g} rad, the limit: set to that. Degrees are written 90deg." in text


@pytest.mark.slow
def test_six_fields_at_once_lose_nothing(workbench, chromium):
    """Typed without a pause; by script faster still; and a second page shows the same."""
    robot, zeros = quietly(lambda: Robot.load("puma560")), np.zeros(6)
    page = quietly(lambda: workbench("puma560", width=1000, height=600))
    names = [f"{i + 1} {link.name}" for i, link in enumerate(robot.model.coordinates)]
    page.field(names[0]).click(force=True)
    goal = np.array([-0.5, -0.25, 0.125, -0.375, 0.0625, -0.75])
    for value in goal:
        page.page.keyboard.press("Control+a")
        page.page.keyboard.type(f"{value}")
        page.page.keyboard.press("Tab")  # to the thumb of the next slider
        page.page.keyboard.press("Tab")
    page.wait(lambda: np.array_equal(page.bench.q, goal), "six positions")
    page.wait_for_torques(robot.inverse_dynamics(goal, zeros, zeros))
    other_goal = -0.5 * goal
    context = chromium.new_context(viewport={"width": 1000, "height": 600})
    try:
        other = type(page)(page.bench, context.new_page())
        for name, value in zip(names, other_goal, strict=True):
            page.fill(name, value)
        for view in (page, other):
            view.wait(lambda view=view: [number(view.field(x)) for x in names] == [*other_goal], "the fields")
        assert np.array_equal(page.bench.q, other_goal)
        other.wait_for_torques(robot.inverse_dynamics(other_goal, zeros, zeros))
        other.check()
    finally:
        context.close()


@pytest.mark.slow
def test_a_draft_stays_while_the_arm_moves_and_sliders_stay_in_step(workbench):
    """What is typed is not overwritten by a motion; arrows and the slider start from what holds."""
    page = workbench("planar")
    page.button("Play")
    field = page.field("1 link 1")
    seen = set()
    page.wait(lambda: len(seen) > 3 or seen.add(field.input_value()), "the field to follow the motion")
    field.click(force=True)
    page.page.keyboard.press("Control+a")
    for letter in "-0.625":
        page.page.keyboard.press(letter)
        page.page.wait_for_timeout(150)  # sliders follow ten times a second
    assert field.input_value() == "-0.625"
    page.page.keyboard.press("Enter")
    page.wait(lambda: page.bench.q[0] == -0.625, "the position")  # posed by hand, it stands still
    page.wait(lambda: number(field) == -0.625, "the field")
    page.button("Play")
    page.wait(lambda: abs(page.bench.q[0] + 0.625) > 1e-3, "the arm to move on")
    field.click(force=True)
    shown = field.input_value()
    page.wait(lambda: abs(page.bench.q[0] - float(shown)) > 1e-3, "the arm to move on")
    page.page.keyboard.press("Control+a")
    page.page.keyboard.type(shown)  # what stood there already, and no longer holds
    page.page.keyboard.press("Enter")
    page.wait(lambda: page.bench.q[0] == float(shown), "the position that was shown")
    typed(page, "1 link 1", "-0.625")
    page.wait(lambda: number(field) == -0.625, "the field")
    row = field.locator("xpath=ancestor::div[.//label][1]")
    thumb = row.locator("[role=slider]")
    page.wait(lambda: abs(float(thumb.get_attribute("aria-valuenow")) + 0.625) < 1e-9, "the slider")
    thumb.focus()
    page.page.keyboard.press("ArrowRight")
    page.wait(lambda: page.bench.q[0] > -0.625, "a step of the slider")
    page.wait(lambda: abs(number(field) - page.bench.q[0]) < 1e-9, "the field to follow the slider")


@pytest.mark.slow
def test_fields_of_all_tabs(workbench):
    """Vectors, masses, symbols that are compiled, durations: read alike, clipped or refused with a word."""
    robot, zeros = Robot.load("planar"), np.zeros(2)
    page = workbench("planar")
    bench = page.bench._bench
    page.page.get_by_text("Wrench at the tip", exact=True).first.evaluate("title => title.click()")
    for place, text in enumerate(("-0.5", "1e1", "10/4")):
        typed(page, "force [N]", text, "Tab", place)
    wrench = np.array([-0.5, 10, 2.5, 0, 0, 0])
    page.wait(lambda: np.array_equal(bench.moment.wrench, wrench), "the force")
    page.wait_for_torques(robot.inverse_dynamics(page.bench.q, zeros, zeros, wrench))
    page.tab("Robot")
    page.page.get_by_text("Symbols of the description", exact=True).first.evaluate("title => title.click()")
    typed(page, "kr1", "5e1", "Tab")  # compiled anew
    typed(page, "ml1", "61,25", "Tab")  # typed while the other waits
    edited = robot.with_symbols(kr1=50.0, ml1=61.25)
    page.wait(lambda: page.bench.robot == edited, "both symbols")
    mass = typed(page, "mass [kg]", "-3")
    page.page.get_by_text("a mass is zero or positive").wait_for()
    page.wait(lambda: mass.input_value() == "0", "the mass to go back")
    typed(page, "mass [kg]", "90°")
    page.page.get_by_text("mass [kg]: expected a number in kg, found the angle '90°'").wait_for()
    page.tab("Simulate")
    field = typed(page, "Duration", "100000")
    page.page.get_by_text("100000 s is beyond 600 s, the limit: set to that.").wait_for()
    page.wait(lambda: field.input_value() == "600", "the duration")
