"""Layers: a module imports only its own layer and the layers before it.

In a folder with sub-folders, the docstring of the package names these and its modules in an order
("Order: …"). Imports from or into a sub-folder go back in that order.

The modules are parsed, not imported, so an import inside a function or under `if TYPE_CHECKING` counts too.
A module that is found by a name given as text escapes this: only those of `BY_NAME` may do that.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "armdyn"

LAYERS = (
    "names",
    "expression",
    "files",
    "tables",
    "remarks",
    "display",
    "progress",
    "model",
    "dynamics",
    "description",
    "exact",
    "program",
    "kernels",
    "robot",
    "analysis",
    "motion",
    "simulation",
    "identification",
    "studies",
    "drawing",
    "report",
    "workbench",
    "cli",
    "__main__",
)

# What a layer must not import whatever the order. The algorithms run over any scalar: they know neither
# arrays nor what their scalars are good for.
FORBIDDEN = {"dynamics": ("numpy", "armdyn.exact", "armdyn.program", "armdyn.kernels")}


# Modules that call `import_module`, and what they find so.
BY_NAME = {
    "__init__.py": "every layer: this is the package's face",
    "cli/__init__.py": "its own modules",
    "description/writing/__init__.py": "its own modules",
    "kernels/kernel.py": "modules of its own layer, for the arrays of other libraries",
    "display.py": "armdyn.report.notebook, when a notebook asks: it draws what the layers hold; and "
    "armdyn.exact.augmented, which typesets bodies",
    "report/__init__.py": "its own modules, and matplotlib",
    "robot/robot.py": "armdyn.simulation.fmu, when a robot is saved as an FMU: it simulates",
    "studies/study_file.py": "a file of the user's, with a function",
}


@cache
def imports(source: str) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """The imports in the text of a module, wherever they stand; each text is parsed once."""
    return tuple(x for x in ast.walk(ast.parse(source)) if isinstance(x, ast.Import | ast.ImportFrom))


def imported_names(path: Path, package: tuple[str, ...]) -> list[tuple[int, str]]:
    """Line and full dotted name of every import in a module that lives in `package`."""
    found = []
    for node in imports(path.read_text(encoding="utf-8")):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        else:
            base = package[: len(package) - node.level + 1] if node.level else ()
            base += tuple(node.module.split(".")) if node.module else ()
            names = [base if alias.name == "*" else (*base, alias.name) for alias in node.names]
            found += [(node.lineno, ".".join(name)) for name in names]
    return found


def is_within(name: str, module: str) -> bool:
    return name == module or name.startswith(module + ".")


def objection(layer: str, name: str) -> str | None:
    """Why a module of `layer` may not import `name`; None where it may."""
    for module in FORBIDDEN.get(layer, ()):
        if is_within(name, module):
            return f"{layer} must not know {module}"
    if not is_within(name, "armdyn"):
        return None
    target = name.split(".")[1] if "." in name else ""
    if target not in LAYERS:  # `import armdyn`, `from armdyn import Robot`: these import every layer
        return None if layer in ("cli", "__main__") else "only the command line imports the package's face"
    if LAYERS.index(target) > LAYERS.index(layer):
        return f"{target} comes after {layer}"
    return None


def offences(package: Path) -> list[str]:
    """One line `file:line: what is imported, and why not` for each import against the order of the layers."""
    found = []
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if place == Path("__init__.py"):  # the package's face may import everything
            continue
        shown = path.relative_to(package.parents[1]).as_posix()
        layer = place.with_suffix("").parts[0]
        if layer not in LAYERS:
            found.append(f"{shown}:1: {layer} is not a layer; the layers are {', '.join(LAYERS)}")
            continue
        for line, name in sorted(imported_names(path, ("armdyn", *place.parent.parts))):
            if reason := objection(layer, name):
                found.append(f"{shown}:{line}: imports {name}, but {reason}")
    return found


def test_every_module_imports_only_layers_before_its_own() -> None:
    assert list(PACKAGE.rglob("*.py")), f"no modules found under {PACKAGE}"
    if found := offences(PACKAGE):
        pytest.fail("imports against the order of the layers:\n  " + "\n  ".join(found), pytrace=False)


def test_only_known_modules_find_others_by_a_name_in_text() -> None:
    finding = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if finds_by_name(path.read_text(encoding="utf-8"))
    }
    assert finding == set(BY_NAME)


def finds_by_name(source: str) -> bool:
    words = ("import_module", "__import__", "spec_from_file_location")
    return any(word in source for word in words)


def stated_order(package: Path) -> list[str]:
    """Modules and sub-folders of a package as the line "Order: a, b, c/." of its docstring names them."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    found = re.search(r"^Order: (.*?)\.$", text, re.MULTILINE | re.DOTALL)
    return re.split(r",\s+", found[1]) if found else []


def units(package: Path) -> set[str]:
    """Modules of a folder, and its sub-folders with a slash."""
    modules = {path.stem for path in package.glob("*.py") if path.stem != "__init__"}
    return modules | {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}


def disorder(package: Path, dotted: str) -> list[str]:
    """One line for each import from or into a sub-folder that goes against the stated order."""
    order = stated_order(package)
    here = units(package)
    if sorted(order) != sorted(here):
        left, extra = sorted(here - set(order)), sorted(set(order) - here)
        return [f"{dotted}: the line 'Order: …' of its docstring lacks {left} and has {extra} too much"]
    place = {name.removesuffix("/"): (k, name.endswith("/")) for k, name in enumerate(order)}
    found = []
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        if parts == ("__init__",):
            continue
        k, folder = place[parts[0]]
        for line, name in imported_names(path, ()):
            target = name.removeprefix(f"{dotted}.").split(".")[0] if is_within(name, dotted) else ""
            if target in place and place[target][0] > k and (folder or place[target][1]):
                found.append(f"{dotted}: {'/'.join(parts)}.py:{line} imports {name}, which comes later")
    return found


FOLDED = sorted({path.parent.parent for path in PACKAGE.glob("*/*/__init__.py")})


@pytest.mark.parametrize("package", FOLDED, ids=lambda path: path.name)
def test_sub_folders_import_each_other_one_way(package: Path) -> None:
    dotted = ".".join(("armdyn", *package.relative_to(PACKAGE).parts))
    if found := disorder(package, dotted):
        pytest.fail("imports against the order of a folder:\n  " + "\n  ".join(found), pytrace=False)


def test_an_import_against_the_order_of_a_folder_is_found(tmp_path: Path) -> None:
    package = package_with(tmp_path, "motion/tip/paths.py", "from armdyn.motion.cycles import Cycle")
    (package / "motion" / "tip" / "__init__.py").touch()
    (package / "motion" / "cycles.py").write_text("from armdyn.motion.tip import paths")
    (package / "motion" / "__init__.py").write_text('"""Motions.\n\nOrder: tip/, cycles.\n"""')
    (found,) = disorder(package / "motion", "armdyn.motion")
    assert found == "armdyn.motion: tip/paths.py:1 imports armdyn.motion.cycles.Cycle, which comes later"
    (package / "motion" / "profiles.py").touch()
    (found,) = disorder(package / "motion", "armdyn.motion")
    assert "lacks ['profiles']" in found


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("model/link.py", "import armdyn.dynamics.energy", "1: imports armdyn.dynamics.energy, but dynamics"),
        ("model/link.py", "\nfrom armdyn.robot import Robot", "2: imports armdyn.robot.Robot, but robot"),
        ("model/link.py", "from armdyn import dynamics", "1: imports armdyn.dynamics, but dynamics comes"),
        ("model/link.py", "from armdyn import Robot", "1: imports armdyn.Robot, but only the command line"),
        ("model/link.py", "from armdyn.exact import *", "1: imports armdyn.exact, but exact comes after"),
        ("model/link.py", "from ..exact import ring", "1: imports armdyn.exact.ring, but exact comes after"),
        ("model/link.py", "from .. import exact", "1: imports armdyn.exact, but exact comes after model"),
        ("model/__init__.py", "from ..exact import ring", "1: imports armdyn.exact.ring, but exact comes"),
        ("robot.py", "from .cli import main", "1: imports armdyn.cli.main, but cli comes after robot"),
        ("model/link.py", "def f():\n    from armdyn import cli", "2: imports armdyn.cli, but cli comes"),
        ("dynamics/energy.py", "import numpy as np", "1: imports numpy, but dynamics must not know numpy"),
        ("dynamics/energy.py", "from numpy.linalg import inv", "1: imports numpy.linalg.inv, but dynamics"),
        ("dynamics/energy.py", "from armdyn import exact", "1: imports armdyn.exact, but dynamics must not"),
        ("dynamics/energy.py", "from ..program.tape import Tape", "1: imports armdyn.program.tape.Tape, but"),
        ("gadgets.py", "", "1: gadgets is not a layer"),
    ],
)
def test_an_import_against_the_order_is_found(
    tmp_path: Path, module: str, source: str, complaint: str
) -> None:
    (found,) = offences(package_with(tmp_path, module, source))
    assert found.startswith(f"src/armdyn/{module}:{complaint}")


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("__init__.py", "from armdyn.cli import main\nfrom .robot import Robot"),
        ("model/link.py", "import math\nimport numpy\nfrom armdyn.expression import Expression"),
        ("model/link.py", "from . import joint\nfrom .joint import Joint\nfrom ..expression import parser"),
        ("model/solids/box.py", "from ..joint import Joint\nfrom ...expression import parser"),
        ("dynamics/energy.py", "import math\nfrom numpydoc import x\nfrom armdyn.model import Link"),
        ("cli.py", "from armdyn import Robot, __version__\nfrom armdyn.robot import Robot"),
    ],
)
def test_an_import_in_order_is_accepted(tmp_path: Path, module: str, source: str) -> None:
    assert offences(package_with(tmp_path, module, source)) == []


def package_with(root: Path, module: str, source: str) -> Path:
    package = root / "src" / "armdyn"
    path = package / module
    path.parent.mkdir(parents=True)
    path.write_text(source, encoding="utf-8")
    return package
