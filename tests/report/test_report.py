"""Reports: whole, self-contained, escaped, the same every time, for every robot."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import armdyn
from armdyn import (
    ArmdynError,
    PhysicsWarning,
    Robot,
    Trajectory,
    bundled_robots,
    exceeded_limits,
    motor_loads,
    time_optimal,
)
from armdyn.report import write_report
from armdyn.report.page import Page, cited, paragraph
from armdyn.report.report import SECTIONS, Section
from armdyn.report.robot_tables import links_table, motors_table
from armdyn.report.sections.equations import write_equations
from armdyn.report.sections.motion import write_torques
from armdyn.report.sections.motors import write_motors
from armdyn.report.sections.robot import write_description
from armdyn.report.sections.summary import answers, beneath
from armdyn.report.subject import Subject
from armdyn.robot.joints import joint_limits
from arms import quietly, slowly
from commands import run
from golden_messages import golden_error
from page_checks import Elements, check_page

NUMERIC = ["robot", "description", "equations", "motion", "torques", "scaling"]
NUMERIC += ["ellipsoids", "rotors", "simulation", "operations"]


DAY = "2026-11-16"
PERCENT = "\N{NO-BREAK SPACE}%"


def written(robot, folder, *arguments, **options):
    path = write_report(robot, folder / "report.html", *arguments, date=DAY, **options)
    return path.read_text("utf-8")


@pytest.fixture
def only(monkeypatch):
    """`only(key, …)`: reports have these sections and no others."""

    def leave(*keys):
        kept = tuple(section for section in SECTIONS if section.key in keys)
        assert len(kept) == len(keys)
        monkeypatch.setattr("armdyn.report.report.SECTIONS", kept)

    return leave


@pytest.fixture(scope="module")
def planar_page(tmp_path_factory):
    return written(Robot.load("planar"), tmp_path_factory.mktemp("report"))


def arm(*links, **top):
    zeros = {"a": 0, "alpha": 0, "d": 0, "theta": 0}
    table = {"name": "arm", "convention": "dh", "gravity": [0, -9.81, 0], **top}
    return {**table, "link": [{**zeros, **link} for link in links]}


LINK = {
    "name": "rod",
    "joint": "revolute",
    "a": 1,
    "mass": 2,
    "com": [-0.5, 0, 0],
    "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.1},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", bundled_robots())
def test_every_report_is_whole_and_needs_nothing_else(name, tmp_path):
    robot = Robot.load(name)
    check_whole(robot, written(robot, tmp_path))


def sections_of(robot):
    """The sections of its report: that of the motors is left out where there are none."""
    motors = ["motors"] if any(link.motor for link in robot.model.links) else []
    return [*NUMERIC[:5], *motors, *NUMERIC[5:]]


def check_whole(robot, text):
    page = check_page(text)
    assert page.sections == sections_of(robot)
    assert len(text) < 3_000_000
    assert len(page.all("img")) >= 7
    assert robot.name in page.words
    assert "This is not possible here" not in page.words
    assert "nan" not in page.words.lower().split()


def test_report_of_the_planar_arm_gives_the_numbers_of_the_book(planar_page):
    check_whole(Robot.load("planar"), planar_page)
    page = check_page(planar_page)
    assert "c² = 2.1549" in page.words  # problem 7.9
    assert "0.734 s instead of 0.5 s" in page.words
    assert "terms compared" in page.words
    assert len(page.all("math")) > 20


def test_the_summary_has_the_numbers_of_the_verbs(tmp_path, only):
    """The largest share of a limit, least time, energy and warnings, each found by its own verb."""
    robot = Robot.load("puma560")
    motion = Trajectory.quintic([0.0, 0.5, -0.4, 0.1, 0.3, 0], [1.2, 1.1, 0.5, -0.8, 0.9, 1], duration=0.6)
    share, least, energy, warned = answers(Subject.of(robot, motion))
    at = motion.with_step(0.6 / 400).samples()
    torque, limits = robot.inverse_dynamics(at.q, at.qd, at.qdd), joint_limits(robot)
    ratios = np.hstack([np.abs(torque) / limits.torque, np.abs(at.qd) / limits.velocity])
    _, column = np.unravel_index(int(ratios.argmax()), ratios.shape)
    assert column < robot.n
    assert share.value == f"{100 * ratios.max():.3g}{PERCENT}"
    assert share.remark.startswith(f"torque of joint {column + 1} (")
    assert share.alarming == (ratios.max() > 1)
    assert least.value == f"{time_optimal(robot, motion).duration:.4g} s"
    assert energy.value == f"{float(motor_loads(robot, motion).total_energy):.3g} J"
    beyond = len(exceeded_limits(robot, motion))
    assert warned.value == str(beyond + len(robot.warnings))
    assert (f"{beyond} limit" in warned.remark) == bool(beyond)
    only("robot", "torques")
    page = written(robot, tmp_path, motion)
    assert f'<a href="#torques">{share.value}</a>' in page
    assert page.index('class="answers"') < page.index("<main")


def test_a_faulty_description_alarms_on_top_and_on_the_command_line(tmp_path, only):
    """No limit is exceeded, yet four links' bodies are impossible: three stand on top, all of them below."""
    only("robot", "description")
    links = [LINK | {"name": f"rod {i}", "inertia": {"xx": 0.1, "yy": 0.1, "zz": 8 + i}} for i in range(4)]
    robot = quietly(lambda: Robot.from_dict(arm(*links)))
    assert len(robot.warnings) == 4
    *_, warned = answers(Subject.of(robot))
    assert (warned.value, warned.alarming) == ("4", True)
    page = check_page(written(robot, tmp_path))
    head = page.words[: page.words.index("What it is made of")]
    assert "4 things look wrong in the description" in head
    assert [f"link 'rod {i}': principal moments" in head for i in range(4)] == [True, True, True, False]
    assert all(f"link 'rod {i}': principal moments" in page.words for i in range(4))
    robot.save(tmp_path / "arm.toml")
    said = run("report", tmp_path / "arm.toml", "-o", tmp_path / "arm.html").splitlines()
    assert said[1] == (
        f"4 things look wrong in the description, the first 3 here; `armdyn show {tmp_path / 'arm.toml'}` "
        "lists all"
    )
    assert [line.split(":")[:2] for line in said[2:]] == [["warning", f" link 'rod {i}'"] for i in range(3)]


def test_the_summary_says_whose_motion_it_is():
    robot = Robot.load("pendulum")
    chosen, given = Subject.of(robot), Subject.of(robot, Trajectory.quintic([0.1], [0.45], 2.5))
    (said,) = beneath(chosen)
    assert "These figures are of an example motion that armdyn chose, as none was given" in said
    assert chosen.text.startswith("No motion was given: this one is an example")
    assert beneath(given) == ["<p>These figures are of the motion given.</p>"]
    assert given.text == "The motion given takes 2.5 s (quintic)."


def test_energy_that_comes_back_is_said_in_words():
    robot = Robot.from_dict(arm(LINK))
    down, up = (answers(Subject.of(robot, Trajectory.quintic(*x, 1.0)))[2] for x in ([1, -1], [-1, 1]))
    assert down.value.startswith("−")
    assert "braking gives back more than driving takes" in down.remark
    assert "gives back more" not in up.remark
    level = answers(Subject.of(Robot.load("pr")))[2]  # without gravity and friction, from rest to rest
    assert level.value == "0 J"


@pytest.mark.slow
def test_a_posture_has_no_rounding_and_a_stop_no_list(tmp_path, only):
    only("robot", "simulation")
    motion = Trajectory.quintic([-0.3 - 2e-16, 0.5], [0.3, 0.7], 1.0)
    assert motion(0.5)[0][0]  # not quite zero
    page = check_page(written(Robot.load("planar"), tmp_path, motion))
    assert "at q = (0, 0.6) rad" in page.words
    delta = check_page(written(Robot.load("delta"), tmp_path))
    assert "It was not completed: it comes to a singular posture" in delta.words
    assert "[" not in delta.words


def test_bundled_numbers_say_where_they_come_from(planar_page):
    """What the robot file begins with: of the limits, too."""
    assert "torque limits of problem 7.9" in check_page(planar_page).words
    assert '<a href="#book">section 7.3.2</a>' in planar_page
    assert "torque limits of problem 7.9" in " ".join(run("show", "planar").split())


def test_headings_of_equations_have_the_letter_and_number_of_the_book(planar_page):
    words = check_page(planar_page).words
    for title in ("Equations of motion (7.42)", "Inertia matrix B (7.32)", "Coriolis matrix C (7.44)"):
        assert title in words


def test_numbers_of_the_book_lead_to_its_name(planar_page):
    page = check_page(planar_page)
    assert [a for a in page.all("a") if a["href"] == "#book"]
    assert page.words.count("doi:10.1007/978-1-84628-642-1") == 1
    assert cited("as (7.42) & figure 7.6") == (
        'as <a href="#book">(7.42)</a> &amp; <a href="#book">figure 7.6</a>'
    )


def test_dry_friction_of_two_directions_is_written_as_two_numbers():
    """Each is the torque of friction there, without what grows with speed."""
    robot = Robot.load("puma560")
    text = "".join(str(part) for part in write_equations(Subject.of(robot)))
    start = text.index("Friction torques")
    found = re.findall(r"<mn>([−\d.]+)</mn></mtd><mtd>.*?<mo>&(gt|lt);", text[start:])
    v = 1e-9
    for sign, kind in ((1, "gt"), (-1, "lt")):
        tau = robot.friction(sign * v * np.ones(6))
        shown = [float(number.replace("−", "-")) for number, side in found if side == kind]
        np.testing.assert_allclose(shown, tau, rtol=6e-5)
    assert "sgn" not in text[start : text.index("What was proved")]


def test_links_that_are_frames_only_are_folded():
    links = [{**LINK, "name": "rod"}]
    helpers = [{"name": f"frame {k}", "joint": "fixed", "parent": "rod"} for k in range(4)]
    robot = quietly(lambda: Robot.from_dict(arm(*links, *helpers)))
    text = "".join(str(part) for part in write_description(Subject.of(robot)))
    summary = "<summary>3 links without mass that are fixed to others</summary>"  # the fourth is the tip
    assert text.count(summary) == 2
    page = Elements(text)
    assert len(page.all("details")) == 2


def test_the_head_says_when_with_what_and_from_which_file(planar_page, tmp_path, only):
    page = check_page(planar_page)
    assert page.all("time") == [{"datetime": DAY}]
    assert f"16 November 2026 · armdyn {armdyn.__version__} · from planar" in page.words
    file = Robot.load("rp").save(tmp_path / "my arm.toml")
    only("robot")
    words = check_page(written(Robot.load(file), tmp_path)).words
    assert "from my arm.toml" in words
    assert str(tmp_path) not in words  # a page is shared


@pytest.mark.slow
def test_two_reports_are_the_same_bytes(planar_page, tmp_path):
    assert written(Robot.load("planar"), tmp_path) == planar_page


SCRIPT = """
import sys
from armdyn import Robot
from armdyn.report.report import report
sys.stdout.buffer.write(report(Robot.load("planar"), date="2026-11-16").encode())
"""


@pytest.mark.slow
def test_two_processes_write_the_same_bytes(planar_page):
    """Whatever the order in which they hash."""
    for seed in ("0", "12345"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=True, env=environment)
        assert run.stdout.decode() == planar_page


@pytest.mark.parametrize(
    "sections", [("robot", "description", "equations", "torques", "scaling"), slowly(tuple(NUMERIC))]
)
def test_names_are_escaped(sections, tmp_path, only):
    only(*sections)
    nasty = '<script>alert("1")</script> & $a_1$ 臂'
    first = {**LINK, "name": nasty}
    second = {**LINK, "name": "<b>bold</b>", "motor": {"gear": 50, "inertia": 0.001}}
    text = written(Robot.from_dict(arm(first, second, name=f"robot {nasty}", tip="<b>bold</b>")), tmp_path)
    page = check_page(text)
    assert nasty in page.words
    assert "<b>bold</b>" in page.words
    assert not page.all("b")


def test_robots_with_free_symbols_get_equations_and_a_word_about_numbers(tmp_path):
    robot = Robot.from_dict(
        arm({**LINK, "mass": "m1"}, symbols={"m1": "free", "g": 9.81}, gravity=[0, "-g", 0])
    )
    page = check_page(written(robot, tmp_path))
    assert page.ids == ["robot", "description", "equations", "book"]
    assert "Without a value" in page.words
    assert not page.all("img")
    assert len(page.all("math")) > 5


@pytest.mark.parametrize("sections", [["robot", "description", "scaling", "rotors"], slowly(NUMERIC)])
def test_impossible_torques_and_warnings_are_said_and_the_rest_is_there(sections, tmp_path, only):
    only(*sections)
    with pytest.warns(PhysicsWarning):
        robot = Robot.from_dict(
            arm({**LINK, "limits": {"torque": 1}, "inertia": {"xx": 0.1, "yy": 0.1, "zz": 1}})
        )
    page = check_page(written(robot, tmp_path))
    assert "Scaling the motion linearly is not possible: joint 1 ('rod')" in page.words
    assert page.sections == sections
    assert "What looks wrong in the description" in page.words
    assert robot.warnings[0] in page.words


@pytest.mark.parametrize(
    "link", [{"name": "point", "joint": "revolute"}, slowly({"name": "s", "joint": "prismatic"})]
)
def test_degenerate_robots_get_a_report_that_says_what_is_impossible(link, tmp_path):
    page = check_page(written(quietly(lambda: Robot.from_dict(arm(link))), tmp_path))
    assert "This is not possible here" in page.words
    assert page.sections == NUMERIC


def test_friction_of_joints_and_motors_is_listed_with_the_same_names():
    friction = {"viscous": 2, "coulomb": [3, -1]}
    link = {"name": "arm", "joint": "revolute", "a": 1, "alpha": 0, "d": 0, "mass": 1, "friction": friction}
    motor = {"gear": 10, "inertia": 0.01, "friction": friction}
    table = {"name": "r", "convention": "dh", "gravity": [0, 0, 0], "link": [link | {"motor": motor}]}
    model = quietly(lambda: Robot.from_dict(table)).model
    tables = links_table(model), motors_table(model)
    (of_joint,), (of_motor,) = ([row[x.headings.index("friction")] for row in x.rows] for x in tables)
    assert of_motor == of_joint
    assert dict(of_motor.items).keys() == {"viscous", "coulomb+", "coulomb-"}


@pytest.mark.slow
def test_a_given_motion_is_the_one_reported(tmp_path):
    robot = Robot.load("pendulum")
    motion = Trajectory.quintic([0.1], [0.45], 2.5)
    page = check_page(written(robot, tmp_path, motion, wrench=[10, 0, 0, 0, 0, 0]))
    assert "The motion given takes 2.5 s (quintic)." in page.words
    assert "The arm exerts the given wrench on its surroundings all along." in page.words
    assert "tip wrench" in page.words
    assert "at q = (0.275) rad" in page.words


@pytest.mark.slow
def test_numbers_do_not_depend_on_how_a_motion_is_sampled(tmp_path):
    """Two samples would say that nothing moves, a million would not fit in memory."""
    robot = Robot.from_dict(arm(LINK))
    fine = Trajectory.quintic([0.1], [0.9], 1.0)
    page = written(robot, tmp_path, fine)
    assert "at most 1.5 m/s (at 0.5 s)" in check_page(page).words
    coarse = check_page(written(robot, tmp_path, fine.with_step(1.0))).words
    assert "at most 1.5 m/s (at 0.5 s)" in coarse
    dense = check_page(written(robot, tmp_path, fine.with_step(1e-6))).words
    assert "at most 1.5 m/s (at 0.5 s)" in dense


@pytest.mark.slow
def test_a_motion_at_rest_is_reported_as_one(tmp_path):
    """Held by dry friction: what the text says of limits, friction and energy must not be said of a fall."""
    limits = {"torque": 100, "position": [-1, 0.2]}
    robot = Robot.from_dict(arm({**LINK, "friction": {"coulomb": 50}, "limits": limits}))
    page = check_page(written(robot, tmp_path, Trajectory.cubic([0.3], [0.3], 1.0)))
    assert "The motion stands still" in page.words
    assert "It stays where it is" in page.words
    assert "Without friction" not in page.words
    assert "leaves its range of -1 to 0.2 rad at 0 s and goes to 0.3 rad" in page.words


@pytest.mark.slow
def test_limits_of_acceleration_alone_are_shown_and_no_others(tmp_path):
    robot = Robot.from_dict(arm({**LINK, "limits": {"acceleration": 4}}))
    page = check_page(written(robot, tmp_path))
    assert "limits of acceleration [rad/s²] rod 4" in page.words
    assert "gives no limits" not in page.words
    assert "Grey lines are the limits" not in page.words


@pytest.mark.slow
def test_an_arm_with_one_joint_has_no_force_ellipsoid_and_none_is_announced(tmp_path):
    page = check_page(written(Robot.from_dict(arm(LINK)), tmp_path))
    assert "Velocity ellipsoid." in page.words
    assert "force (dashed)" not in page.words


@pytest.mark.slow
def test_long_names_may_be_broken(tmp_path):
    robot = Robot.from_dict(arm(LINK, {**LINK, "name": "a name " * 12}))
    page = check_page(written(robot, tmp_path))
    kinds = {attributes.get("class") for attributes in page.all("th") if attributes["scope"] == "row"}
    assert kinds == {None, "long"}


def test_a_motion_of_another_robot_is_refused(tmp_path):
    motion = Trajectory.quintic(np.zeros(3), np.ones(3), 1.0)
    with golden_error(ArmdynError):
        write_report(Robot.load("planar"), tmp_path / "report.html", motion)


def test_a_path_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("armdyn.report.report.SECTIONS", SECTIONS[:1])
    (tmp_path / "file").write_text("")
    with golden_error(ArmdynError):
        write_report(Robot.load("pendulum"), tmp_path / "file" / "report.html")


def test_long_equations_are_outlined():
    """Seven joints: sizes, the shortest entries, and where to find the rest."""
    page = Page("panda", "")
    page.add("equations", "Equations of motion", write_equations(Subject.of(Robot.load("panda"))))
    found = check_page(page.html())
    assert "armdyn derive" in found.words
    assert "terms, too many to read here" in found.words
    assert "skew-symmetric" in found.words
    assert len(page.html()) < 100_000


def test_each_quantity_is_computed_once(tmp_path, monkeypatch):
    """Sections share the samples, the torques and the posture of their subject."""
    calls = []

    def counted(name):
        real = getattr(Robot, name)

        def call(self, *arguments, **options):
            if len(arguments[0]) > 100 and self == robot:
                calls.append(name)
            return real(self, *arguments, **options)

        return call

    robot = Robot.load("rp")  # without motors: no second rotor model
    subject = Subject.of(robot)
    for name in ("inverse_dynamics", "jacobian_dot", "contributions"):
        monkeypatch.setattr(Robot, name, counted(name))
    sections = {section.key: section for section in SECTIONS}
    for key in ("robot", "motion", "torques", "scaling", "ellipsoids"):
        assert sections[key].write(subject)
    assert sorted(calls) == ["contributions", "inverse_dynamics", "jacobian_dot"]


@pytest.mark.slow
def test_a_section_is_one_row_of_the_list(tmp_path, monkeypatch):
    """What a new section needs: a title, and a function that writes it."""
    row = Section("mass", "Joints", lambda subject: [paragraph(f"{subject.robot.n} of them")])
    monkeypatch.setattr("armdyn.report.report.SECTIONS", (*SECTIONS, row))
    robot = Robot.load("pendulum")
    page = check_page(written(robot, tmp_path))
    assert page.sections == [*sections_of(robot), "mass"]
    assert "12 Joints 1 of them" in page.words


def test_motors_are_shown_at_their_shafts_against_their_limits():
    """Example 7.2's motion: tests/textbook/test_motor_torques.py has its torques; 30 N m are 3000/k_r."""
    plain = Robot.load("planar")
    robot = plain.with_motors(
        {name: {"limits": {"torque": 30, "velocity": 700}} for name in ("link 1", "link 2")}
    )
    page = Page("planar", "")
    page.add("motors", "At the motors", write_motors(Subject.of(robot)))
    words = check_page(page.html()).words
    said = "motor 1 ('link 1'): torque 60.4476 N m at 0.25 s, 201.5 % of its limit of 30 N m"
    assert f"The motion exceeds limits: {said}; motor 2" in words
    assert "60.45" in words  # its peak torque is 60.448 N m
    assert "Dashed lines are limits" in words
    assert "All motors together take 371.3 J if what comes back from braking is used again, 5713 J" in words
    assert write_motors(Subject.of(Robot.load("rp"))) == []


def test_limits_of_any_size_are_written():
    """Such as those that somebody typed by mistake: a share that no whole number of a machine holds."""
    table = Robot.load("planar").to_dict()
    for link, limit in zip(table["link"], (1e-30, 1e30), strict=True):
        link["limits"] = {"torque": limit}
    robot = quietly(lambda: Robot.from_dict(table))
    text = "".join(map(str, write_torques(Subject.of(robot))))
    assert "%" in text
