"""Names of robots and links are any text: on terminals and in files they are text, and nothing else."""

import ast
import json
import re
import sys
from html.parser import HTMLParser

import pytest
import sympy

from armdyn import Robot, Trajectory
from armdyn.cli import main
from armdyn.exact.printing.styles import latex_text, markdown_text
from armdyn.names import one_line
from commands import refused

NASTY = [
    "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "\x9b31m \x7f \x00",
    "line\nbreak\n\nparagraph",
    "\rover\x08\x08",
    "tab\tand\x0bmore",
    "<script>alert(1)</script>",
    "<b onclick='x'>\"quoted\" & &lt;",
    "# heading\n## another",
    "[link](javascript:alert(1)) ![image](x) <http://a.b>",
    "https://example.com and www.example.com",
    "a | b",
    "`code` ``` ~~~",
    "$x^2$ $$y$$ \\(z\\)",
    "**bold** _em_ ~~gone~~",
    "\\input{/etc/passwd} \\\\",
    "\n\n\\end{document}",
    "50 % _ ^ ~ { } # & ^^41",
    "ends in a backslash \\",
    "three \"\"\" quotes ''' and one '; import os",
    "# -*- coding: utf-7 -*- +AAo-import os",
    "\u202eturned \u2066 \u200b \u2028 \u2029 \ufeff \xa0 \x85",
    "*/ /* ??/ //",
    "臂 αβ é ñ ü ş ß Ł µ ² 🦾",
    "[red]markup[/red] [/b] :smile:",
    "=1+1,2;3",
    "n" * 300,
]
LINK = "joint = {kind}\nalpha = 0\nd = 0\ntheta = 0\na = 1\n"
BODY = "mass = 1\ninertia = { xx = 0.1, yy = 0.1, zz = 0.1 }\n"
BODY += "limits = { torque = 1000, position = [-0.1, 0.1] }\n"


def toml(text):
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def robot_file(names, title):
    """Two moving joints on motors, and a fixed link for every name after the second."""
    found = [f"name = {toml(title)}\nconvention = 'dh'\ngravity = [0, '-g', 0]\n[symbols]\ng = 9.81\n"]
    for i, name in enumerate(names):
        moving = i < 2
        found.append(f"[[link]]\nname = {toml(name)}\n")
        found.append(LINK.format(kind="'revolute'" if moving else "'fixed'"))
        found.append(BODY + "motor = { gear = 10, inertia = 0.001 }\n" if moving else "")
    return "".join(found)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files in which every nasty name is a link's, and each verb's moving joints have all of them."""
    path = tmp_path_factory.mktemp("names")
    joints = ["".join(NASTY), "".join(reversed(NASTY))]
    (path / "arm.toml").write_text(robot_file([*joints, *NASTY], "".join(NASTY)), "utf-8")
    Trajectory.cubic([0, 0], [1, 1], 1.0).to_csv(path / "motion.csv")
    return path


def printed(monkeypatch, capsys, folder, *arguments):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["armdyn", *arguments])
    main()
    captured = capsys.readouterr()
    assert captured.err == ""
    assert [c for c in captured.out if not (c.isprintable() or c == "\n")] == []
    return captured.out


COMMANDS = [
    "show arm.toml",
    "derive arm.toml",
    "derive arm.toml --prove",
    "derive arm.toml --steps",
    "derive arm.toml --latex --prove",
    "derive arm.toml --latex --steps",
    "derive arm.toml --markdown --prove",
    "derive arm.toml --markdown --steps",
    "derive arm.toml --sympy --prove",
    "torque arm.toml --q 1,2 --qd 1,2",
    "trajectory arm.toml --to 1,1 --profile cubic --duration 1 -o m.csv",
    "torque arm.toml --trajectory motion.csv -o tau.csv",
    "scale arm.toml motion.csv -o scaled.csv",
    "simulate arm.toml --duration 0.01 -o run.csv",
    "export c arm.toml --prefix arm -o c",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_but_text_reaches_the_terminal(monkeypatch, capsys, folder, command):
    """Each verb with a robot and links that have every nasty name; also the warnings of `trajectory`."""
    shown = printed(monkeypatch, capsys, folder, *command.split())
    assert shown
    for path in folder.glob("*.csv"):
        assert re.fullmatch(r"t(,(q|qd|qdd|tau)[12])*(,energy)?", path.read_text("utf-8").splitlines()[0])


@pytest.mark.parametrize("name", NASTY)
def test_errors_are_one_line_of_text(monkeypatch, capsys, tmp_path, name):
    path = tmp_path / "arm.toml"
    path.write_text(robot_file(["a", "b", name], name).replace("'fixed'", "'bent'"), "utf-8")
    wrong = [
        ("show", path),
        ("show", "no\x1b[31msuch\nfile" + name.replace("\x00", "")),
        ("derive", "planar", "-o", "\x1b[31mno\nfolder/x"),
        ("torque", "planar", "--q", name.replace("\x00", "")),
        ("derive", "planar", "--notation", name.replace("\x00", "")),
    ]
    for command in wrong:
        assert refused(monkeypatch, capsys, *command).isprintable()


def test_a_path_with_control_characters_is_shown_without(monkeypatch, capsys, tmp_path):
    shown = printed(monkeypatch, capsys, tmp_path, "derive", "planar", "-o", "a\x1b[31m\nb.txt")
    assert shown == "wrote a\N{REPLACEMENT CHARACTER}[31m b.txt\n"
    assert (tmp_path / "a\x1b[31m\nb.txt").exists()


# ---- Markdown ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NASTY)
def test_a_name_in_markdown_shows_as_it_is(name):
    markdown_it = pytest.importorskip("markdown_it")
    heading, *rest = (
        markdown_it.MarkdownIt("commonmark")
        .enable(["table", "strikethrough"])
        .parse(f"# {markdown_text(name)}\n\nNext.\n")
    )
    inline = rest[0]
    assert (heading.tag, inline.type) == ("h1", "inline")
    assert {token.type for token in inline.children} <= {"text", "text_special"}
    assert "".join(token.content for token in inline.children) == one_line(name)
    assert [token.type for token in rest[2:]] == ["paragraph_open", "inline", "paragraph_close"]


@pytest.mark.parametrize("name", NASTY)
def test_signs_of_formulas_tables_and_addresses_are_escaped_in_markdown(name):
    text = markdown_text(name)
    assert not re.search(r"(?<!\\)(\\\\)*[$|<`*_#\[~&]", text)
    assert not re.search(r"[^\\]://|www\.", text)


def test_a_whole_markdown_document_has_the_headings_of_the_equations(tmp_path):
    markdown_it = pytest.importorskip("markdown_it")
    path = tmp_path / "arm.toml"
    path.write_text(robot_file(["".join(NASTY), "b"], "".join(NASTY)), "utf-8")
    tokens = markdown_it.MarkdownIt("commonmark").parse(Robot.load(path).equations().steps("markdown"))
    headings = [tokens[i + 1].content for i, token in enumerate(tokens) if token.type == "heading_open"]
    assert len(headings) == 6  # the title, the start, forward and backward for two links
    assert {token.type for token in tokens} == {
        *("heading_open", "inline", "heading_close", "paragraph_open", "paragraph_close")
    }


# ---- LaTeX -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NASTY)
def test_a_name_in_latex_is_one_line_that_any_engine_takes(name):
    text = latex_text(name)
    assert text.isascii()
    assert text.isprintable()
    commands = set(re.findall(r"\\([A-Za-z]+|.)", text))
    assert commands <= {
        *("textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater", "textbar"),
        *("ensuremath", "mu", "ss", "l", "L", "c", *"&%$#_{}'~\""),
    }
    bare = re.sub(r"\\([A-Za-z]+|.)|\{\^2\}", "", text)
    assert not set(bare) & set("%$#&_^~\\|<>")
    assert bare.count("{") == bare.count("}")


def test_letters_with_accents_and_signs_are_spelled_in_latex():
    assert latex_text("Bras à 50 % – Müller") == r"Bras {\`a} 50 \% -- M{\"u}ller"
    assert latex_text("Łódź, ñ, ı, í") == r"{\L}{\'o}d{\'z}, {\~n}, {\i}, {\'\i}"
    assert latex_text("µ² 臂") == r"\ensuremath{\mu}\ensuremath{^2} [U+81C2]"


@pytest.mark.parametrize("symbol", ["_", "_a_b", "__", "a__b", "a_", "l_1", "_1"])
def test_symbols_with_underscores_typeset(symbol):
    """No subscript of a subscript, which stops TeX."""
    robot = Robot.from_dict(
        {
            "name": "slider",
            "convention": "dh",
            "gravity": [0, 0, 0],
            "symbols": {symbol: 1},
            "link": [{"joint": "prismatic", "a": 0, "alpha": 0, "theta": 0, "mass": symbol}],
        }
    )
    formula = robot.equations().B[0, 0].latex()
    assert not re.search(r"(?<!\\)_([^{]|\{[^}]*(?<!\\)_|$)|(^|[ {])_", formula), formula


# ---- Python ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NASTY)
def test_a_name_in_the_sympy_script_is_a_comment(tmp_path, name):
    path = tmp_path / "arm.toml"
    path.write_text(robot_file(["a"], name), "utf-8")
    source = Robot.load(path).equations().sympy_source()
    assert one_line(name) in source
    expected = Robot.load("pendulum").equations().sympy_source()
    statements = [type(x).__name__ for x in ast.parse(source.encode()).body]  # bytes: "coding:" would count
    assert statements == ["ImportFrom", *["Assign"] * (len(statements) - 1)]
    assert source.splitlines()[:2] == expected.splitlines()[:2]


def test_symbols_that_the_script_needs_itself_get_names_of_their_own():
    masses = ["inertia", "inertia_", "Matrix", "Matrix__", "Matrix_"]
    robot = Robot.from_dict(
        {
            "name": "sliders",
            "convention": "dh",
            "gravity": [0, 0, 0],
            "symbols": dict.fromkeys(masses, 1),
            "link": [
                {"joint": "prismatic", "a": 0, "alpha": "pi/2", "theta": 0, "mass": mass} for mass in masses
            ],
        }
    )
    equations = robot.equations()
    script: dict[str, object] = {}
    exec(equations.sympy_source(), script)
    assert sympy.simplify(script["inertia"] - equations.sympy().B) == sympy.zeros(5, 5)


# ---- HTML --------------------------------------------------------------------------------------------------


class Texts(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tag, self.tags, self.texts = "", set(), {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.tag = tag
        assert not [key for key, _ in attributes if key.startswith("on")]

    def handle_data(self, data):
        self.texts[self.tag] = self.texts.get(self.tag, "") + data


@pytest.mark.parametrize("name", NASTY)
def test_a_name_in_html_is_text(tmp_path, name):
    path = tmp_path / "arm.toml"
    path.write_text(robot_file(["a"], name), "utf-8")
    found = Texts(Robot.load(path).equations().mathml())
    assert one_line(found.texts["h1"]) == one_line(name)
    assert not found.tags & {"script", "b", "a", "img"}


@pytest.mark.slow
def test_a_report_has_names_as_text_only(monkeypatch, capsys, folder):
    """In its title, headings, tables, captions and the texts for those who do not see the pictures."""
    printed(monkeypatch, capsys, folder, "report", "arm.toml", "-o", "page.html")
    text = (folder / "page.html").read_text("utf-8")
    found = Texts(text)
    title = one_line("".join(NASTY))
    assert [one_line(found.texts[tag]) for tag in ("title", "h1")] == [title, title]
    assert not found.tags & {"script", "b"}
    operators = "\N{INVISIBLE TIMES}\N{FUNCTION APPLICATION}"
    assert {c for c in text if not (c.isprintable() or c.isspace())} <= set(operators)
