"""The panels in a browser: payload, gears, friction, motors, wrench, equations; names that are no names."""

import numpy as np
import pytest

from armdyn import Robot
from arms import quietly


def at_rest(page, robot, wrench=None):
    zeros = np.zeros(robot.n)
    return robot.inverse_dynamics(page.bench.q, zeros, zeros, wrench)


def open_folder(page, title):
    page.page.get_by_text(title, exact=True).first.evaluate("title => title.click()")


@pytest.mark.slow
def test_payload_friction_and_reset(workbench):
    robot = quietly(lambda: Robot.load("puma560"))
    page = workbench("puma560")
    page.tab("Robot")
    page.fill("mass [kg]", 2.5)
    page.wait_for_torques(at_rest(page, robot.with_payload(2.5)))
    zeros, speeds = np.zeros(6), np.full(6, 0.5)
    page.bench._bench.change(qd=speeds)
    open_folder(page, "Viscous friction [N m s/rad]")
    page.fill("1 waist", 7.5)
    table = robot.to_dict()
    table["link"][0].setdefault("friction", {})["viscous"] = 7.5
    edited = quietly(lambda: Robot.from_dict(table)).with_payload(2.5)
    page.wait_for_torques(edited.inverse_dynamics(page.bench.q, speeds, zeros))
    assert page.bench.robot == edited
    page.button("Reset")
    page.wait_for_torques(robot.inverse_dynamics(page.bench.q, speeds, zeros))
    page.wait(lambda: page.field("1 waist").input_value() == "0", "the field")


@pytest.mark.slow
def test_gears_are_compiled_anew_and_impossible_masses_go_back(workbench):
    robot = Robot.load("planar")
    page = workbench("planar")
    page.bench._bench.change(qdd=np.ones(2))
    page.tab("Robot")
    open_folder(page, "Gear ratios [motor per joint]")
    page.fill("1 link 1", 37.5)
    geared = robot.with_symbols(kr1=37.5)
    page.wait_for_torques(geared.inverse_dynamics(page.bench.q, np.zeros(2), np.ones(2)))
    page.wait(lambda: "Compiled anew in" in page.page.inner_text("[data-armdyn=robot]"), "the note")
    page.fill("mass [kg]", -3)
    page.page.get_by_text("a mass is zero or positive").wait_for()
    page.wait(lambda: page.field("mass [kg]").input_value() == "0", "the field")
    assert page.bench.robot == geared


@pytest.mark.slow
def test_motor_side_and_wrench(workbench):
    robot = Robot.load("planar")
    page = workbench("planar")
    open_folder(page, "Wrench at the tip")
    row = page.field("force [N]").locator("xpath=ancestor::div[contains(@class, 'mantine-Flex-root')][1]")
    row.locator("input").nth(0).fill("12.5")
    row.locator("input").nth(0).press("Enter")
    expected = at_rest(page, robot, np.array([12.5, 0, 0, 0, 0, 0]))
    page.wait_for_torques(expected)
    page.pick("Torques at", "Motors")

    def shown():
        return page.page.eval_on_selector_all(
            "[data-armdyn=torques] [data-torque]", "rows => rows.map(row => +row.dataset.torque)"
        )

    page.wait(lambda: len(shown()) == 2, "the motors")
    assert np.abs(np.array(shown()) - np.linalg.solve(robot.transmission.T, expected)).max() < 1e-9


@pytest.mark.slow
def test_equations_are_typeset(workbench):
    page = workbench("planar")
    page.tab("Equations")
    formula = "[data-armdyn=equations] math"
    page.page.wait_for_selector(formula)
    height = page.page.eval_on_selector(formula, "e => e.getBoundingClientRect().height")
    assert height > 60  # two rows of torques, not a line of letters
    assert page.page.evaluate(
        "() => document.fonts.load('16px \"Armdyn Maths\"').then(found => found.length)"
    )
    page.pick("Show", "B[1, 2]")
    page.wait(lambda: page.page.locator(formula).text_content().strip().startswith("b"), "the entry")
    page.page.get_by_role("checkbox").locator("visible=true").first.evaluate("box => box.click()")
    page.wait(lambda: "B(q)" in page.page.locator("[data-armdyn=equations]").last.inner_text(), "the numbers")
    cells = page.page.locator("[data-armdyn=equations] td").all_inner_texts()
    B = page.bench.robot.inertia(page.bench.q)
    assert cells[:2] == [f"{x:.4g}" for x in B[0]]


EVIL = ("<script>window.evil = 1</script>", '<img src=x onerror="window.evil = 1">')


@pytest.mark.slow
def test_names_run_nothing(workbench):
    table = Robot.load("planar").to_dict()
    table["name"] = f"arm {EVIL[0]} {EVIL[1]}"
    for link, name in zip(table["link"], EVIL, strict=True):
        link["name"] = name
    page = workbench(Robot.from_dict(table))
    page.page.get_by_text(EVIL[0]).first.wait_for()
    page.pick("Torques at", "Motors")
    page.tab("Robot")
    page.fill("mass [kg]", 1)
    for title in ("Masses [kg]", "Gear ratios [motor per joint]", "Symbols of the description"):
        open_folder(page, title)
    page.wait(lambda: "with payload" in page.page.inner_text("[data-armdyn=robot]"), "the payload")
    page.fill("mass [kg]", -1)
    page.page.get_by_text("a mass is zero or positive").wait_for()
    page.tab("Equations")
    page.page.wait_for_timeout(500)
    text = page.page.inner_text("body")
    assert EVIL[0] in text
    assert EVIL[1] in text
    assert page.page.evaluate("() => window.evil === undefined")
    assert not page.page.locator("img[src=x]").count()
