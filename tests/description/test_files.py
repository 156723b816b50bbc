"""Robot files as files: encodings, size, depth, numbers too long to read; bombs are refused at once."""

import subprocess
import sys
import textwrap
import tomllib

import pytest

from armdyn import DescriptionError, Robot
from armdyn.description.source import MAX_BYTES, parse_toml

FILE = """
name = "arm"
convention = "dh"
gravity = [0, 0, -9.81]

[[link]]
name = "upper arm"
joint = "revolute"
a = 0.5
alpha = 0
d = 0
mass = 2
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
"""


def write(folder, content):
    path = folder / "robot.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(path):
    with pytest.raises(DescriptionError) as caught:
        Robot.load(path)
    text = str(caught.value)
    assert text.startswith(str(path))
    assert "\n" not in text
    return text.removeprefix(str(path))


# ---- encodings ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_byte_order_mark_and_none(tmp_path, encoding, end):
    text = FILE.replace("arm", "Ärmchen").replace("\n", end)
    robot = Robot.load(write(tmp_path, text.encode(encoding)))
    assert robot.name == "Ärmchen"
    assert robot == Robot.load(write(tmp_path, FILE.replace("arm", "Ärmchen")))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-16-le", "latin-1"])
def test_other_encodings_are_refused(tmp_path, encoding):
    assert "TOML" in refusal(write(tmp_path, FILE.replace("arm", "Ärmchen").encode(encoding)))


# ---- size and depth ----------------------------------------------------------------------------------------


def test_the_largest_file_and_one_byte_more(tmp_path):
    room = MAX_BYTES - len(FILE.encode())
    assert Robot.load(write(tmp_path, FILE + "#" * room)).n == 1
    assert "larger than 500000 bytes" in refusal(write(tmp_path, FILE + "#" * (room + 1)))


def test_more_links_than_any_arm_has(tmp_path):
    row = '[[link]]\njoint = "revolute"\na = 0\nalpha = 0\nd = 0\n'
    text = FILE.partition("[[link]]")[0] + row * 501
    assert "found 501 links; up to 500 are allowed" in refusal(write(tmp_path, text))


DEEP = {
    "a dotted key": "a." * 50_000 + "a = 1",
    "a dotted key with blanks": "a . " * 25_000 + "a = 1",
    "a dotted key in quotes": '"a".' * 25_000 + "a = 1",
    "a dotted key in other quotes": "'a'\t." * 20_000 + "a = 1",
    "a table's name": "[" + "a." * 50_000 + "a]",
    "a table's name in a list": "[[" + "a." * 50_000 + "a]]",
    "lists": "a = " + "[" * 50_000,
    "closed lists": "a = " + "[" * 50_000 + "]" * 50_000,
    "tables in line": "a = " + "{a = " * 50_000,
    "lists and tables": "a = " + "[{a = " * 20_000,
    "a dotted key after a text": 'b = """ \\""" """\nc = \'\'\'\'x\'\'\'\n' + "a." * 50_000 + "a = 1",
    "lists after a quote in quotes": 'a = [""" """", ' + "[" * 50_000,
    "a dotted key after two quotes in quotes": "a = {b = ''' ''''', " + "a." * 50_000 + "a = 1}",
    "a dotted key after two quotes in other quotes": 'a = {b = """ """"", ' + "a." * 50_000 + "a = 1}",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP.keys())
def test_depth(tmp_path, text):
    assert "nested more than 16 deep" in refusal(write(tmp_path, FILE + text))


SHALLOW = {
    "dots and brackets in texts": f"s = '{'a.' * 200}' # {'[' * 50}\nt = \"{'[{' * 50}\"",
    "dots and brackets in long texts": f's = """\n{"a." * 200}\n\\"{"[" * 50}"""\nt = \'\'\'{"{" * 50}\'\'\'',
    "dots in comments": f'# {"a." * 200}\n# """ {"[" * 50}',
    "quotes in quotes": f"s = '\"'\nt = \"'\" # '\nu = '{'[' * 50}'",
    "an escaped quote": 's = "\\\\" # "\nt = "\\"' + "[" * 50 + '"',
    "quotes at the end of long texts": 's = ["""\'""""", \'\'\'"\'\'\'\', """\\""""]\nt = \''
    + "[" * 50
    + "'",
    "a list over many lines": "s = [\n" + "[1.5, 2.5], # [\n" * 100 + "]",
    "depth of sixteen": "a." * 15 + "a = " + "[" * 16 + "]" * 16,
}


@pytest.mark.parametrize("text", SHALLOW.values(), ids=SHALLOW.keys())
def test_what_only_looks_deep(text):
    """Texts and comments hold what they like: the file is read as TOML reads it."""
    assert parse_toml(text, "test") == tomllib.loads(text)


def test_bombs_take_neither_memory_nor_time(tmp_path):
    """All of them in one process with little memory, which would be gone at the first that is read."""
    pytest.importorskip("resource")
    code = """
        import resource, sys
        from armdyn import DescriptionError, Robot
        resource.setrlimit(resource.RLIMIT_AS, (3 * 10**9, 3 * 10**9))
        for path in sys.argv[1:]:
            try:
                Robot.load(path)
            except DescriptionError:
                print("refused")
    """
    bombs = [
        *DEEP.values(),
        "a." * 499_000 + "a = 1",
        *(quote * 150_000 for quote in ("'", '"', '\\"', "a", " ", "#")),
        'a = "' + '\\"' * 75_000,
        "a" + " " * 150_000 + ".",
        "[[link]]\n" * 15_000,
    ]
    paths = []
    for i, text in enumerate(bombs):
        paths.append(tmp_path / f"{i}.toml")
        paths[-1].write_text(text)
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["refused"] * len(bombs)


def test_a_device_that_never_ends():
    pytest.importorskip("resource")
    with pytest.raises(DescriptionError, match="larger than 500000 bytes"):
        Robot.load("/dev/zero")


# ---- numbers -----------------------------------------------------------------------------------------------

NINES = "9" * 10_000


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("mass = 2", f"mass = {NINES}", ["line 12: mass", "1e300", "digits"]),
        ("mass = 2", f"mass = -{NINES}", ["line 12: mass", "digits"]),
        ("mass = 2", f"mass = 1_{NINES}", ["line 12: mass", "digits"]),
        ("mass = 2", f"mass = 0x{NINES}", ["'upper arm'.mass", "at most 14000 bits"]),
        ("mass = 2", f"mass = {NINES}.5", ["'upper arm'.mass", "1e300"]),
        ("mass = 2", f"mass = '{NINES}'", ["'upper arm'.mass", "too many digits"]),
        ("mass = 2", f"mass = {NINES[:4000]}", ["'upper arm'.mass", "1e300"]),
        ('name = "arm"', f"name = {NINES}", ["line 2: name", "digits"]),
        ('name = "arm"', f"name = 0x{NINES}", ["name", "expected a text", "12042 digits"]),
        ('name = "arm"', "name = 1e999", ["name", "expected a text"]),
        ("zz = 0.1", f"zz = {NINES}", ["line 13: inertia", "digits"]),
        ("[0, 0, -9.81]", f"[0, 0,\n{NINES}]", ["digits"]),
    ],
    ids=lambda x: str(x)[:12],
)
def test_numbers_of_ten_thousand_digits(tmp_path, old, new, parts):
    assert old in FILE
    text = refusal(write(tmp_path, FILE.replace(old, new, 1)))
    for part in parts:
        assert part in text, text
