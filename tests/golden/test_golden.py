"""What armdyn writes, kept as files and compared byte for byte.

Where a change is meant, run `ARMDYN_UPDATE_GOLDEN=1 pytest tests/golden` and read the difference.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from armdyn import Robot

FOLDER = Path(__file__).parent
# Sciavicco, Siciliano, Villani, "On dynamic modelling of gear-driven rigid robot manipulators", SYROCO 1994,
# section 7.
ELBOW = {
    "pi1": "I1yy + I2yy + I3yy + a2**2*m3 + kr1**2*Im1",
    "pi2": "m2*lc2 + a2*m3",
    "pi3": "I2xx - I2yy - a2**2*m3",
    "pi4": "I2zz + kr2**2*Im2 + a2**2*m3",
    "pi5": "I3xx - I3yy",
    "pi6": "m3*lc3",
    "pi7": "I3zz",
    "pi8": "Im2",
    "pi9": "Im3",
}


def equations(name):
    return Robot.load(name).equations()


def elbow():
    return equations("elbow").in_terms_of(ELBOW)


def pushed_pendulum(form):
    symbols = ["fx", "fy", "fz", "mux", "muy", "muz"]
    symbols += [f"{x}0{axis}" for x in ("w", "wd", "pdd") for axis in "xyz"]
    at = {"q": ["pi/3"], "qd": [2], "qdd": [-1.5]} | {name: i - 7 for i, name in enumerate(symbols)}
    return Robot.load("pendulum").equations(wrench=True).steps(form, base=True, at=at)


def first_lines(text, count):
    return "".join(text.splitlines(keepends=True)[:count])


WRITTEN = {
    "planar.txt": lambda: equations("planar").text(),  # (7.82) of Siciliano et al.
    "planar.tex": lambda: equations("planar").latex(),
    "planar.md": lambda: equations("planar").markdown(),
    "planar_mathml.html": lambda: equations("planar").mathml(),
    "pr_mathml.html": lambda: equations("pr").mathml("craig"),  # a prismatic joint, V and G
    "rmit2r_craig.txt": lambda: equations("rmit2r").text("craig"),  # Craig, chapter 6, with his M, V, G
    "planar_steps.txt": lambda: equations("planar").steps(),  # 7.5.3 of Siciliano et al.
    "planar_steps.tex": lambda: equations("planar").steps("latex"),
    "rmit2r_steps.txt": lambda: equations("rmit2r").steps(),  # the same, link by link
    "rmit2r_steps_craig.txt": lambda: equations("rmit2r").steps(notation="craig"),  # with F and N
    "planar_steps_base.txt": lambda: equations("planar").steps(frame="base"),  # (7.93)-(7.106)
    "pendulum_steps_at.md": lambda: pushed_pendulum("markdown"),  # a tip force, a moving base, numbers
    "pendulum_steps_at_mathml.html": lambda: pushed_pendulum("mathml"),
    "elbow.txt": lambda: elbow().text(),
    "elbow.tex": lambda: elbow().latex(),
    "puma560.txt": lambda: first_lines(equations("puma560").text(), 40),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_is_the_golden_file(name):
    path = FOLDER / name
    text = WRITTEN[name]()
    if os.environ.get("ARMDYN_UPDATE_GOLDEN") == "1":
        path.write_bytes(text.encode())
    assert path.exists(), f"no {path.name} yet; write it with ARMDYN_UPDATE_GOLDEN=1"
    assert text == path.read_bytes().decode(), "changed; if intended, rewrite it with ARMDYN_UPDATE_GOLDEN=1"


def test_every_golden_file_is_compared():
    files = {path.name for path in FOLDER.iterdir() if path.suffix in (".txt", ".tex", ".md", ".html")}
    assert files == {*WRITTEN, "public_face.txt"}  # the last is compared in test_public_face.py


def test_planar_arm_reads_as_the_book_has_it():
    """The rows of (7.82), term by term in the order of the book."""
    text = (FOLDER / "planar.txt").read_text("utf-8")
    rows = " ".join(text.split("Inertia matrix")[0].split())
    order = [
        "tau[1] = (Il1 + ml1*l1**2 + kr1**2*Im1",
        "+ Il2 + ml2*(a1**2 + l2**2 + 2*a1*l2*c2) + Im2 + mm2*a1**2)*qdd1",
        "+ (Il2 + ml2*(l2**2 + a1*l2*c2) + kr2*Im2)*qdd2",
        "- 2*ml2*a1*l2*s2*qd1*qd2 - ml2*a1*l2*s2*qd2**2",
        "*g*c1 + ml2*l2*g*c12",
        "tau[2] = (Il2 + ml2*(l2**2 + a1*l2*c2) + kr2*Im2)*qdd1 + (Il2 + ml2*l2**2 + kr2**2*Im2)*qdd2",
        "+ ml2*a1*l2*s2*qd1**2 + ml2*l2*g*c12",
    ]
    places = [rows.index(part) for part in order]
    assert places == sorted(places)


def test_symbols_that_the_combinations_replace_are_gone():
    text = (FOLDER / "elbow.txt").read_text("utf-8")
    replaced = [name for name in Robot.load("elbow").model.values if name not in ("g", "a2", "kr2", "kr3")]
    assert [name for name in replaced if name in text] == []


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from test_golden import WRITTEN
sys.stdout.buffer.write("".join(write() for write in WRITTEN.values()).encode())
"""


@pytest.mark.slow
def test_two_processes_write_the_same_bytes():
    """Whatever the order in which they hash."""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(FOLDER)],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "12345")
    }
    assert len(outputs) == 1
    assert len(outputs.pop()) > 10_000
