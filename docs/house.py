"""Figures of the house: its files and folders, who imports whom, how many rooms a walk enters.

    python docs/house.py            # all tables; the walks take a minute
    python docs/house.py --quick    # without the walks

It fails nothing. A name "pulls in" the modules that are loaded with its own. A walk "enters" a module when
one of its functions is called; of long walks only the rooms named below count. Modules that a table registers
(sections, tabs, verbs) do not count as having one importer.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "armdyn"
REGISTERED = ("cli", "report.sections", "report.fit", "workbench.tabs")  # folders whose modules a table names
PULLED_IN = {  # where public names live
    "Robot": "robot.robot",
    "identify": "identification.identify",
    "write_report": "report.report",
    "view": "workbench.opening",
}
LAYOUT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


# ---- what stands where -------------------------------------------------------------------------------------


def modules(package: Path) -> dict[str, Path]:
    """Paths of all modules by dotted name below armdyn; the package itself is ''."""
    names = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def code_lines(text: str) -> int:
    """Lines that hold code: blank lines, comments and docstrings do not count."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            first = node.body[0]
            documented.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documented)


def imported(tree: ast.AST, path: Path, name: str, known: dict[str, Path]) -> Iterator[str]:
    """Modules of armdyn that the statements of a module import, also inside functions."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                kept = ["armdyn", *package.split(".")][: len(package.split(".")) + 2 - node.level]
                base = ".".join([*kept, *([node.module] if node.module else [])])
            found = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for full in found:
            if full.split(".")[0] == "armdyn":
                dotted = full.removeprefix("armdyn").removeprefix(".")
                yield dotted if dotted in known else dotted.rpartition(".")[0]


def graph(known: dict[str, Path]) -> dict[str, set[str]]:
    """Which modules each module imports."""
    return {
        name: set(imported(ast.parse(path.read_text("utf-8")), path, name, known)) - {name}
        for name, path in known.items()
    }


def one_importer(known: dict[str, Path], imports: dict[str, set[str]]) -> list[str]:
    """Modules that exactly one other imports, as lines `module <- importer`."""
    readers = defaultdict(set)
    for name, others in imports.items():
        for other in others:
            readers[other].add(name)
    return [
        f"{name} <- {next(iter(readers[name])) or 'armdyn'}"
        for name, path in known.items()
        if path.name != "__init__.py" and len(readers[name]) == 1 and not name.startswith(REGISTERED)
    ]


def twice(known: dict[str, Path]) -> dict[str, list[str]]:
    """Class names that exist more than once, with the modules that have them."""
    found = defaultdict(list)
    for name, path in known.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(name)
    return {name: places for name, places in sorted(found.items()) if len(places) > 1}


# ---- what is loaded and entered ----------------------------------------------------------------------------


def loaded(path: Path, name: str, known: dict[str, Path]) -> set[str]:
    """Modules that a module loads when it is loaded: imports at its top, without those for type checkers."""
    tree = ast.parse(path.read_text("utf-8"))
    tree.body = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    return set(imported(tree, path, name, known))


def pulled_in(start: str, known: dict[str, Path]) -> int:
    """How many modules are loaded with one, itself included; files __init__.py do not count."""
    seen, waiting = set(), [start]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += loaded(known[name], name, known)
    return sum(known[name].name != "__init__.py" for name in seen)


WALKS = {
    "TOML to machine code": """
from armdyn import Robot
with watching():
    Robot.load("puma560").inverse_dynamics([0.1] * 6, [0.2] * 6, [0.3] * 6)
""",
    "log to fit": """
from armdyn import Log, Robot, identify
robot = Robot.load("planar")
t = np.arange(0, 6, 0.004)
q = np.outer(np.sin(t), [0.5, 0.3]) + np.outer(np.sin(2.3 * t), [0.2, 0.4])
qd = np.outer(np.cos(t), [0.5, 0.3]) + 2.3 * np.outer(np.cos(2.3 * t), [0.2, 0.4])
qdd = -np.outer(np.sin(t), [0.5, 0.3]) - 2.3**2 * np.outer(np.sin(2.3 * t), [0.2, 0.4])
tau = robot.inverse_dynamics(q, qd, qdd) + np.random.default_rng(1).normal(0, 0.1, q.shape)
with watching("identification"):
    identify(robot, Log(t, q, tau))
""",
    "motion to least time": """
from armdyn import Robot, Trajectory, time_optimal
robot = Robot.load("puma560")
with watching("motion"):
    time_optimal(robot, Trajectory.smooth([0.0] * 6, [0.5] * 6, 2.0))
""",
    "robot to report": """
from tempfile import TemporaryDirectory
from armdyn import Robot
from armdyn.report import write_report
robot = Robot.load("planar")
with TemporaryDirectory() as folder, watching("report", "drawing"):
    write_report(robot, folder + "/planar.html")
""",
    "closed chain to simulation": """
from armdyn import Robot, simulate
robot = Robot.load("five_bar")
q = [0.0] * robot.n
with watching("robot", "simulation"):
    simulate(robot, q, q, 0.05)
""",
}
WATCHING = """
import sys, warnings
import numpy as np
from contextlib import contextmanager
from pathlib import Path
import armdyn
home = Path(armdyn.__file__).parent
warnings.simplefilter("ignore")
@contextmanager
def watching(*folders):
    files = set()
    def see(frame, event, argument):
        if event == "call" and frame.f_code.co_name != "<module>":
            files.add(frame.f_code.co_filename)
    sys.setprofile(see)
    try:
        yield
    finally:
        sys.setprofile(None)
        paths = [Path(x).relative_to(home) for x in files if x.startswith(str(home))]
        print(sum(not folders or p.parts[0].removesuffix(".py") in folders for p in paths))
"""


def entered(walk: str) -> str:
    """How many modules a walk enters, where nothing is compiled yet."""
    with TemporaryDirectory() as empty:
        done = subprocess.run(
            [sys.executable, "-c", WATCHING + walk],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"ARMDYN_CACHE": empty},
        )
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


# ---- the tables --------------------------------------------------------------------------------------------


def print_table(title: str, rows: list[tuple[str, object]]) -> None:
    print(f"\n{title}")
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"  {name:<{width}}  {value}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Figures of the house.")
    parser.add_argument("--quick", action="store_true", help="without what modules pull in and walks enter")
    parser.add_argument("--names", action="store_true", help="name the modules with one importer, too")
    options = parser.parse_args()
    known = modules(PACKAGE)
    imports = graph(known)
    by_package: Counter[str] = Counter()
    for name, path in known.items():
        by_package[name.split(".")[0] or "armdyn"] += code_lines(path.read_text("utf-8"))
    alone, doubled = one_importer(known, imports), twice(known)
    print_table(
        "The house",
        [
            ("files", len(known)),
            ("folders", sum(path.name == "__init__.py" for path in known.values())),
            ("code lines", sum(by_package.values())),
            ("modules with one importer", len(alone)),
            ("class names that exist twice", len(doubled)),
        ],
    )
    print_table("Code lines by package", list(by_package.items()))
    if doubled:
        print_table("Class names that exist twice", [(k, ", ".join(v)) for k, v in doubled.items()])
    if options.names:
        print("\nModules with one importer\n  " + "\n  ".join(alone))
    if not options.quick:
        print_table("Modules that a name pulls in", [(k, pulled_in(v, known)) for k, v in PULLED_IN.items()])
        print_table("Modules that a walk enters", [(k, entered(v)) for k, v in WALKS.items()])


if __name__ == "__main__":
    main()
