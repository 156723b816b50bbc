"""The live part of a report: its numbers are those of Python, and the page does what it shows."""

import re
from html import escape

import numpy as np
import pytest

from armdyn import Robot, Trajectory, contributions
from armdyn.description.source import bundled_table
from armdyn.drawing.errors import ReportError
from armdyn.report import write_report
from armdyn.report.page import POLICY, Page
from armdyn.report.sections.live import live_data, write_live
from armdyn.report.subject import Subject
from arms import quietly, state

NASTY = "</script><script>window.x=1</script><!--"
URDF = """<robot name="imported">
  <link name="base"/>
  <link name="turn"><inertial><origin xyz="0.1 0.02 0.3" rpy="0.1 0.2 0.3"/><mass value="4"/>
    <inertia ixx="0.1" iyy="0.12" izz="0.05" ixy="0.01" ixz="0.002" iyz="-0.003"/></inertial></link>
  <link name="slide"><inertial><origin xyz="0 0.1 0"/><mass value="2.5"/>
    <inertia ixx="0.03" iyy="0.02" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="wrist"><inertial><origin xyz="0.05 0 0.1"/><mass value="1.2"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.005" ixy="0" ixz="0.001" iyz="0"/></inertial></link>
  <link name="finger"><inertial><mass value="0.2"/>
    <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j1" type="revolute"><parent link="base"/><child link="turn"/>
    <origin xyz="0 0 0.3" rpy="0 0.4 0"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" effort="90" velocity="3"/>
    <dynamics damping="0.7" friction="0.4"/></joint>
  <joint name="j2" type="prismatic"><parent link="turn"/><child link="slide"/><origin xyz="0.4 0 0"/>
    <axis xyz="1 0 0"/><limit lower="0" upper="0.6" effort="200" velocity="1"/></joint>
  <joint name="j3" type="revolute"><parent link="slide"/><child link="wrist"/>
    <origin xyz="0.2 0 0" rpy="1 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="30" velocity="5"/></joint>
  <joint name="j4" type="revolute"><parent link="wrist"/><child link="finger"/><origin xyz="0 0 0.2"/>
    <axis xyz="1 0 0"/><limit lower="-3" upper="3" effort="5" velocity="5"/>
    <mimic joint="j3" multiplier="-0.5"/></joint>
</robot>"""
ROBOTS = ("planar", "puma560", "panda", "imported", "four_bar")
RUN = """([q, qd, qdd]) => q.map((x, k) => {
  const found = armdyn.torques(x, qd[k], qdd[k]);
  return [[...found.parts], [...found.total], [...armdyn.poses(x)]];
})"""


def load(name, folder):
    if name != "imported":
        return Robot.load(name)
    path = folder / "imported.urdf"
    path.write_text(URDF)
    return quietly(lambda: Robot.load(path))


def live_page(robot, path, trajectory=None, wrench=None):
    """A page with the live part alone: a whole report takes longer."""
    page = Page(robot.name, "live")
    page.live = write_live(Subject.of(robot, trajectory, wrench))
    path.write_text(page.html(), "utf-8")
    return path


def assert_row(found, expected):
    """Equal up to 1e-12 of the row's largest entry."""
    found, expected = np.array(found, float), np.asarray(expected, float)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()


def assert_agrees(page, robot, states, wrench=None):
    rows = page.evaluate(RUN, [x.tolist() for x in states])
    for k, (parts, total, poses) in enumerate(rows):
        q, qd, qdd = (x[k] for x in states)
        assert_row(total, robot.inverse_dynamics(q, qd, qdd, wrench))
        expected = contributions(robot, q, qd, qdd, wrench).parts
        assert page.evaluate("armdyn.data.parts") == list(expected)
        assert_row(parts, np.ravel(list(expected.values())))
        assert_row(poses, robot.poses(q).ravel())


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=() if x == "planar" else pytest.mark.slow) for x in ROBOTS]
)
def test_javascript_agrees_with_python(name, tab, tmp_path):
    robot, one = load(name, tmp_path), tab()
    page = one.open(live_page(robot, tmp_path / "page.html"))
    assert_agrees(page, robot, state(robot, np.random.default_rng(11), (20,)))
    assert one.messages == []


@pytest.mark.parametrize("limits", [(3000, 1500), (300, 1500), (None, None)])
def test_lengths_of_bars_can_be_compared(limits, tab, tmp_path):
    """As parts of limits, which stand at one place, also where one is exceeded; without them, as torques."""
    table = Robot.load("planar").to_dict()
    for link, limit in zip(table["link"], limits, strict=True):
        link["limits"] = {} if limit is None else {"torque": limit}
    page = tab().open(live_page(Robot.from_dict(table), tmp_path / "page.html"))
    frame(page)
    script = """() => [...document.querySelectorAll("#live .track")].map(track =>
        [".limit:last-of-type", ".total"].map(mark => parseFloat(track.querySelector(mark).style.left)))"""
    ends, sums = np.array(page.evaluate(script)).T - 50
    shares = np.array(bars(page)) / (limits if limits[0] else 1.0)
    assert np.ptp(np.abs(shares)) > 0.1 * np.abs(shares).max() > 0
    assert np.ptp(ends) < 1e-3  # Chromium writes six digits
    assert (
        np.abs(sums * np.abs(shares).max() - shares * np.abs(sums).max()).max() < 1e-3 * np.abs(shares).max()
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["delta", "stanford", "palletizer", "gripper", "elastic_link", "tx40", "so101"]
)
def test_other_robots_agree_with_python_too(name, tab, tmp_path):
    robot = Robot.load(name)
    page = tab().open(live_page(robot, tmp_path / "page.html"))
    assert_agrees(page, robot, state(robot, np.random.default_rng(11), (10,)))


@pytest.mark.slow
def test_a_wrench_and_what_the_arm_carries_are_counted(tab, tmp_path):
    robot, wrench = Robot.load("puma560"), np.array([1.0, -2, 30, 0.1, 0.2, 0.3])
    page = tab().open(live_page(robot, tmp_path / "page.html", wrench=wrench))
    assert_agrees(page, robot, state(robot, np.random.default_rng(2), (5,)), wrench)
    by_link = {"forearm": wrench}
    page = tab().open(live_page(robot, tmp_path / "links.html", wrench=by_link))
    assert_agrees(page, robot, state(robot, np.random.default_rng(2), (5,)), by_link)


@pytest.mark.slow
def test_torques_along_the_motion_are_those_of_the_report(tab, tmp_path):
    """With a load that the arm takes up on its way."""
    robot = Robot.load("planar")
    there, back = ([0, 0.3], [1, -0.5]), ([1, -0.5], [0, 0.3])
    parts = [Trajectory.quintic(*there, 0.6), Trajectory.quintic(*back, 0.4).carrying(5.0)]
    motion = Trajectory.sequence(parts)
    subject = Subject.of(robot, motion)
    page = tab().open(live_page(robot, tmp_path / "page.html", motion))
    found = page.evaluate(
        """() => armdyn.data.motion.t.map((_, k) => { const m = armdyn.data.motion;
        return [...armdyn.torques(m.q[k], m.qd[k], m.qdd[k], m.load[k]).total]; })"""
    )
    times = np.array(page.evaluate("armdyn.data.motion.t"))
    loaded = subject.trajectory.loaded(robot)
    states = subject.trajectory(times)
    for k in range(0, len(times) - 1, 20):
        heavier = loaded.robots[int(loaded.index(times[k : k + 1])[0])]
        assert_row(found[k], heavier.inverse_dynamics(*(x[k] for x in states)))
    assert len(set(page.evaluate("armdyn.data.motion.load"))) == 2


def bars(page):
    return [float(x.get_attribute("data-value")) for x in page.locator("#live .torque").all()]


def frame(page):
    """Wait until what was asked for is drawn."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_sliders_move_the_torques_and_the_motion_scrubs(tab, tmp_path):
    robot, one = Robot.load("planar"), tab(viewport={"width": 1200, "height": 900})
    page = one.open(live_page(robot, tmp_path / "page.html"))
    assert page.locator("#live").is_visible()
    page.get_by_role("button", name="Set all velocities").click()
    entries = page.locator("#live .entry")
    for k, value in enumerate((0.4, -0.9)):
        entries.nth(k).fill(str(value))
        entries.nth(k).press("Tab")
    frame(page)
    assert_row(bars(page), robot.inverse_dynamics([0.4, -0.9], [0, 0], [0, 0]))
    before = bars(page)
    page.locator("#live .slider").first.focus()
    page.keyboard.press("ArrowRight")
    frame(page)
    assert bars(page) != before
    page.get_by_text("Velocity", exact=True).click()
    entries.nth(1).fill("1.5")
    entries.nth(1).press("Tab")
    frame(page)
    assert bars(page)[1] != before[1]
    scrub = page.locator("#live .scrub")
    scrub.fill("60")
    frame(page)
    motion = page.evaluate("armdyn.data.motion")
    assert_row(bars(page), robot.inverse_dynamics(*(motion[x][60] for x in ("q", "qd", "qdd"))))
    assert page.locator("#live .clock").inner_text() == f"{motion['t'][60]:.2f} s"
    page.get_by_role("button", name="Play the motion").click()
    page.wait_for_function("() => Number(document.querySelector('#live .scrub').value) > 60")
    assert one.messages == []
    assert one.asked == []


def picture(page):
    """What the arm's canvas shows."""
    frame(page)
    return page.evaluate("document.querySelector('#live .scene').toDataURL()")


@pytest.mark.slow
def test_mouse_and_keys_turn_the_picture_and_themes_change_it(tab, tmp_path):
    page = tab(viewport={"width": 1200, "height": 900}).open(
        live_page(Robot.load("planar"), tmp_path / "page.html")
    )
    seen = [picture(page)]
    box = page.locator("#live .scene").bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 180, box["y"] + 130)
    page.mouse.up()
    seen.append(picture(page))
    page.locator("#live .scene").focus()
    for key in ("ArrowLeft", "ArrowUp", "+"):
        page.keyboard.press(key)
        seen.append(picture(page))
    page.emulate_media(color_scheme="dark")
    seen.append(picture(page))
    assert len(set(seen)) == len(seen)
    page.emulate_media(color_scheme="light")
    page.keyboard.press("Home")
    assert picture(page) == seen[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["puma560", "gripper"])
def test_random_interactions_leave_the_page_alive(name, tab, tmp_path):
    one = tab(viewport={"width": 1200, "height": 900})
    page, rng = one.open(live_page(Robot.load(name), tmp_path / "page.html")), np.random.default_rng(6)
    nodes = page.locator("#live :is(button, input)").all()
    for _ in range(200):
        node = nodes[rng.integers(len(nodes))]
        kind = node.get_attribute("type")
        if kind == "number":
            node.fill(rng.choice(["", "0", "-1e9", "1e-3", "0.7"]))
            node.press("Tab")
        elif kind == "range":
            node.focus()
            page.keyboard.press(rng.choice(["ArrowLeft", "PageUp", "Home", "End"]))
        elif kind == "radio":
            node.locator("xpath=..").click()
        else:
            node.click()
    frame(page)
    assert np.isfinite(bars(page)).all()
    assert one.messages == []


@pytest.mark.slow
def test_a_value_beyond_its_limits_is_refused_and_the_limits_are_said(tab, tmp_path):
    page = tab().open(live_page(Robot.load("four_bar"), tmp_path / "page.html"))
    frame(page)
    before, entry, message = bars(page), page.locator("#live .entry").first, page.locator("#live .message")
    shown = entry.input_value()
    for typed, said in (("1e9", "1000000000 rad is out of range"), ("", "no number was given")):
        entry.fill(typed)
        entry.press("Tab")
        frame(page)
        assert bars(page) == before
        assert entry.input_value() == shown
        assert message.inner_text() == f"Position of joint 1: {said}; −3.1416 to 3.1416 rad is allowed."
    entry.fill("1")
    entry.press("Tab")
    frame(page)
    assert message.inner_text() == ""
    assert bars(page) != before


@pytest.mark.slow
def test_fields_at_the_ends_of_their_ranges_are_valid_and_can_be_typed_again(tab, tmp_path):
    """The field of -π has -3.1416, which is beyond."""
    robot = Robot.load("scara")
    page = tab().open(live_page(robot, tmp_path / "page.html"))
    page.get_by_role("button", name="Set all velocities").click()
    slider, entry = page.locator("#live .slider").first, page.locator("#live .entry").first
    slider.focus()
    page.keyboard.press("Home")
    frame(page)
    assert entry.input_value() == "-3.1416"
    assert page.locator("#live .entry:invalid").count() == 0
    before = bars(page)
    for value in ("0.5", "-3.1416"):
        entry.fill(value)
        entry.press("Tab")
        frame(page)
    assert page.locator("#live .message").inner_text() == ""
    assert bars(page) == before


@pytest.mark.slow
def test_loops_that_cannot_be_closed_leave_the_arm_where_it_is(tab, tmp_path):
    """They are the same in Python and in the page."""
    table = bundled_table("gripper")
    for link in table["link"]:
        link.pop("limits", None)
    robot = quietly(lambda: Robot.from_dict(table))
    page = tab().open(live_page(robot, tmp_path / "page.html"))
    q = np.linspace(-3, 3, 40)[:, None]
    closes = robot.assembly.closes(q)
    assert 5 < closes.sum() < 35
    found = page.evaluate("q => q.map(x => armdyn.torques(x, [0], [0]) !== null)", q.tolist())
    assert found == closes.tolist()
    frame(page)
    before = bars(page)
    entry = page.locator("#live .entry")
    entry.fill(str(q[~closes][0, 0]))
    entry.press("Tab")
    frame(page)
    assert bars(page) == before
    assert "cannot be closed there" in page.locator("#live .message").inner_text()


def named(name):
    table = bundled_table("planar")
    table["name"] = name
    table["link"][0]["name"] = name
    return quietly(lambda: Robot.from_dict(table))


def test_a_name_with_a_script_gets_nowhere(tab, tmp_path):
    one = tab()
    path = live_page(named(NASTY), tmp_path / "page.html")
    page = one.open(path)
    assert page.evaluate("typeof window.x") == "undefined"
    assert page.locator("#live .pick").first.inner_text().endswith(NASTY)
    assert one.messages == []
    text = path.read_text("utf-8")
    assert len(re.findall("<script", text)) == 2
    data = re.search(r'<script type="application/json" id="live-data">(.*?)</script>', text)[1]
    assert "<" not in data


@pytest.mark.slow
def test_only_the_script_of_the_page_may_run(tab, tmp_path):
    path = live_page(Robot.load("planar"), tmp_path / "page.html")
    text = path.read_text("utf-8")
    path.write_text(text.replace("</body>", "<script>window.x = 1</script></body>"), "utf-8")
    one = tab()
    assert one.open(path).evaluate("typeof window.x") == "undefined"
    assert len(one.messages) == 1
    assert "Content Security Policy" in one.messages[0]


@pytest.mark.slow
def test_without_javascript_and_in_print_nothing_of_it_is_seen(tab, tmp_path):
    path = live_page(Robot.load("planar"), tmp_path / "page.html")
    page = tab(java_script_enabled=False).open(path)
    assert not page.locator("#live").is_visible()
    assert not page.locator("#live-link").is_visible()
    page = tab().open(path)
    page.emulate_media(media="print")
    assert not page.locator("#live").is_visible()


def test_a_robot_without_numbers_says_so(tmp_path):
    table = bundled_table("planar")
    table["symbols"]["ml1"] = "free"
    robot = quietly(lambda: Robot.from_dict(table))
    text = write_report(robot, tmp_path / "page.html", live=True).read_text("utf-8")
    assert "A live part is not possible here: symbols without a value: ml1" in text
    assert "<script" not in text
    assert escape(POLICY) in text


@pytest.mark.slow
def test_torques_that_take_too_many_operations_are_refused(monkeypatch):
    monkeypatch.setattr("armdyn.report.sections.live._LONGEST", 100)
    with pytest.raises(ReportError, match=r"take 140 operations, too many for a page; at most 100 are"):
        live_data(Subject.of(Robot.load("planar")))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["puma560", "panda"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_a_whole_report_opens_without_messages_and_fits(name, scheme, width, tab, reports):
    path = reports(name)
    assert path.stat().st_size < 3_000_000
    one = tab(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = one.open(path)
    frame(page)
    root = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert root[0] <= root[1], "the page is wider than the window"
    assert one.messages == []
    assert one.asked == []
    drawn = page.evaluate(
        """() => { const c = document.querySelector("#live .scene");
        const all = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
        return all.filter((x, k) => k % 4 === 3 && x > 0).length; }"""
    )
    assert drawn > 2000


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("reports"), {}

    def make(name):
        if name not in made:
            made[name] = write_report(Robot.load(name), folder / f"{name}.html", live=True)
        return made[name]

    return make


@pytest.mark.slow
def test_a_live_report_is_the_report_with_a_live_part(tmp_path):
    """The rest of the page is the same, and the same input gives the same bytes."""
    robot = Robot.load("planar")
    plain, live, again = (
        write_report(robot, tmp_path / f"{k}.html", date="2026-11-16", live=k > 0).read_text("utf-8")
        for k in range(3)
    )
    assert live == again
    start, end = live.index('<section id="live"'), live.index('<section id="robot"')
    rest = live[:start] + live[end:]
    rest = re.sub(r'<p id="live-link".*?</p>', "", rest)
    body = rest[rest.index("<body") :]
    assert body == plain[plain.index("<body") :]
