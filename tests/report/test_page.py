"""The page itself: tables, numbers in columns, its date, its style."""

from datetime import date, datetime
from fractions import Fraction

import pytest

from armdyn import ArmdynError, Robot
from armdyn.expression import Expression
from armdyn.report.page import Amount, Made, Page, column, number, robot_table, stylesheet, table
from armdyn.report.robot_tables import RobotTable, Values, limits_table, links_table
from golden_messages import golden_error
from page_checks import Elements, check_page

DAY = date(2026, 11, 16)


def cells(markup):
    """Rows of a table: text and attributes of each cell."""
    page = Rows(markup)
    return page.rows


class Rows(Elements):
    """Elements, and the cells of tables row by row."""

    def __init__(self, text):
        self.rows = []
        super().__init__(text)

    def handle_starttag(self, tag, attributes):
        super().handle_starttag(tag, attributes)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append(["", dict(attributes)])

    def handle_data(self, data):
        super().handle_data(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1][0] += data


def texts(row):
    return [" ".join(text.split()) for text, _ in row]


def test_points_of_a_column_stand_below_each_other():
    shown = column([Amount(17.4), Amount(0.82), Amount(-3), Amount(0)])
    assert shown == [("17.4", "0"), ("0.82", ""), ("−3", ".00"), ("0", ".00")]
    lengths = {len((text + pad).partition(".")[2]) for text, pad in shown}
    assert lengths == {2}


def test_small_numbers_beside_larger_ones_need_no_power_of_ten():
    assert [text for text, _ in column([Amount(0.0002), Amount(3.3e-5)])] == ["0.0002", "0.000033"]
    far_apart = [Amount(1.23456e-9), Amount(2.5)]
    assert column(far_apart) == [(number(1.23456e-9), ""), ("2.5", "")]
    assert column([Amount(12345678), Amount(5)]) == [("12345678", ""), ("5", "")]  # a count


def test_what_is_not_finite_is_a_dash():
    assert [text for text, _ in column([Amount(float("inf")), Amount(1.5)])] == ["–", "1.5"]


def test_a_common_unit_stands_in_the_head_and_others_beside_the_numbers():
    same = cells(table(("joint", "torque"), [("1", Amount(5, 3, "N m")), ("2", Amount(0.25, 3, "N m"))]))
    assert texts(same[0]) == ["joint", "torque [N m]"]
    assert texts(same[1]) == ["1", "5"]
    assert same[1][1][1] == {"class": "n", "data-pad": ".00"}
    mixed = cells(table(("joint", "torque"), [("1", Amount(5, 3, "N m")), ("2", Amount(0.25, 3, "N"))]))
    assert texts(mixed[0]) == ["joint", "torque"]
    assert mixed[0][1][1]["colspan"] == "2"
    assert [texts(row) for row in mixed[1:]] == [["1", "5", "N m"], ["2", "0.25", "N"]]


def test_words_stand_to_the_left_and_numbers_and_their_head_to_the_right():
    head, row = cells(table(("a", "b", "c"), [("x", "word", Amount(2))]))
    assert [kind.get("class") for _, kind in head] == [None, None, "n"]
    assert [kind.get("class") for _, kind in row] == [None, None, "n"]
    assert row[0][1]["scope"] == "row"


def test_a_vector_gets_a_column_for_each_number_and_all_rows_are_as_wide_as_the_head():
    def vector(*entries):
        return Values(tuple(("", Expression.of(x)) for x in entries))

    found = RobotTable(("link", "com [m]"), (("a", vector(1, 0, Fraction(1, 4))), ("b", "")))
    upper, lower, first, second = cells(robot_table(found))
    assert upper[1] == ["com [m]", {"scope": "colgroup", "class": "group start", "colspan": "3"}]
    assert texts(lower) == ["x", "y", "z"]
    assert texts(first) == ["a", "1", "0", "0.25"]
    assert texts(second) == ["b", "", "", ""]


def test_named_numbers_get_columns_in_their_own_order():
    def named(**entries):
        return Values(tuple((name, Expression.of(x)) for name, x in entries.items()))

    found = RobotTable(("link", "tensor"), (("a", named(yy=2)), ("b", named(xx=1, yy=2, zz=3))))
    _, lower, first, second = cells(robot_table(found))
    assert texts(lower) == ["xx", "yy", "zz"]
    assert texts(first) == ["a", "", "2", ""]
    assert texts(second) == ["b", "1", "2", "3"]


@pytest.mark.parametrize("name", ["planar", "stanford", "puma560"])
def test_every_row_of_a_description_is_as_wide_as_its_head(name):
    model = Robot.load(name).model
    for found in (links_table(model), limits_table(model)):
        rows = cells(robot_table(found))
        width = sum(int(kind.get("colspan", 1)) for _, kind in rows[0])
        body = [row for row in rows if row[0][1].get("scope") == "row"]
        assert len(body) == len(found.rows)
        assert {len(row) for row in body} == {width}


def test_limits_of_unlike_joints_have_units_beside_them_in_the_terminal_too():
    stanford, puma = (limits_table(Robot.load(name).model) for name in ("stanford", "puma560"))
    assert stanford.headings[1] == "position"
    assert str(stanford.rows[2][1]).endswith(" m")
    assert puma.headings[1] == "position [rad]"
    assert str(puma.rows[0][1]) == "-2.79253 … 2.79253"


def test_the_folders_that_a_file_lies_in_stay_private(tmp_path):
    Robot.load("planar").save(tmp_path / "arm.toml")
    assert Made.of(Robot.load(tmp_path / "arm.toml"), DAY) == Made(DAY, "arm.toml")


@pytest.mark.parametrize("day", ["2026-11-16", DAY, datetime(2026, 11, 16, 23, 59)])
def test_a_date_is_taken_as_it_is_given(day):
    assert Made.of(Robot.load("planar"), day) == Made(DAY, "planar")


def test_without_a_date_that_of_the_build_or_today_is_taken(monkeypatch):
    robot = Robot.load("planar")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1794873599")
    assert Made.of(robot, None).day == date(2026, 11, 16)
    assert Made.of(robot, "2020-02-29").day == date(2020, 2, 29)
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    before = date.today()
    assert before <= Made.of(robot, None).day <= date.today()


@pytest.mark.parametrize("day", ["16.11.2026", 20261116, ["2026-11-16"]])
def test_what_is_no_date_is_refused(day):
    with pytest.raises(ArmdynError, match=r"date: found .*; a date such as '2026-11-16' is expected"):
        Made.of(Robot.load("planar"), day)


@pytest.mark.parametrize("text", ["soon", "1e9", "9" * 30])
def test_a_wrong_epoch_is_refused_by_its_name(text, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", text)
    with golden_error(ArmdynError):
        Made.of(Robot.load("planar"), None)


def test_a_robot_from_a_program_names_no_file():
    link = {"name": "rod", "joint": "revolute", "a": 1, "alpha": 0, "d": 0, "mass": 1, "inertia": {"zz": 1}}
    table = {"name": "a.b/c <arm>", "convention": "dh", "gravity": [0, 0, 0], "link": [link]}
    page = Page("t", "s", Made.of(Robot.from_dict(table), DAY))
    assert "from" not in check_page(page.html()).words
    assert "a.b/c <arm>" in check_page(Page("t", "s", Made(DAY, "a.b/c <arm>")).html()).words


def test_the_style_has_the_font_dark_colours_and_paper():
    style = stylesheet()
    assert 20_000 < len(style) < 45_000
    for wanted in ("font/woff2;base64", "prefers-color-scheme: dark", "@media print", "max-width: 40rem"):
        assert wanted in style
    assert "</" not in style
