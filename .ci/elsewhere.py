"""The package on other machines than this one: other Pythons, dependencies, processors; and as a release.

    python .ci/elsewhere.py release                 # build/dist: wheel and sdist, built twice: one hash
    python .ci/elsewhere.py wheel                   # the wheel in an empty environment, outside of the repository
    python .ci/elsewhere.py python python3.13       # the tests marked `portable` with another Python
    python .ci/elsewhere.py oldest                  # … with the oldest version of every dependency
    python .ci/elsewhere.py debian trixie arm64     # … in a Debian of another release or processor (as root)
    python .ci/elsewhere.py cpu Nehalem             # … on another x86-64 processor, which QEMU imitates

What follows goes to pytest: `… python python3.13 -n 2 tests/kernels`. Everything is kept under build/elsewhere.
Needs pip; `debian` needs debootstrap and root, other processors qemu-user-static. docs/platforms.md has what came out.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
PLACE = BUILD / "elsewhere"
MARKED = ("-m", "portable and not slow")
EXTRAS = "dev,parquet,view,dask"  # what the marked tests use where it is there
MIRROR = "http://deb.debian.org/debian"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


def run(*command, **options):
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, **options)


def python_of(folder):
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def environment(name, python, *wanted):
    """A virtual environment with what is wanted; its interpreter."""
    folder = PLACE / name
    if not python_of(folder).exists():
        run(python, "-m", "venv", folder)
    run(python_of(folder), "-m", "pip", "install", "--quiet", *wanted)
    return python_of(folder)


def tests(*python, more, **options):
    run(*python, "-m", "pytest", "-q", *(() if "-m" in more else MARKED), *more, cwd=ROOT, **options)


# ---- a release ------------------------------------------------------------------------------------------------


def release():
    """Wheel and sdist from the files that git knows, in two folders with other rights; both must be one."""
    builder = environment("build", sys.executable, "build", "hatchling>=1.27")
    found = []
    for mask in (0o022, 0o077):
        with tempfile.TemporaryDirectory() as folder:
            source, made = Path(folder, "source"), Path(folder, "made")
            before = os.umask(mask)
            copy(source)
            os.umask(before)
            epoch = {"SOURCE_DATE_EPOCH": git("log", "-1", "--format=%ct").strip()}
            command = (builder, "-m", "build", "--no-isolation", "--outdir", made, source)
            run(*command, env={**os.environ, **epoch}, stdout=subprocess.DEVNULL)
            found.append({file.name: file.read_bytes() for file in sorted(made.iterdir())})
    hashes = [{name: hashlib.sha256(data).hexdigest() for name, data in files.items()} for files in found]
    if hashes[0] != hashes[1]:
        sys.exit(f"two builds differ: {hashes}")
    dist = BUILD / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir(parents=True)
    for name, data in found[0].items():
        (dist / name).write_bytes(data)
        print(f"{hashes[0][name]}  build/dist/{name} (twice)")
    return dist


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def copy(target):
    """The files that git knows, as they are now."""
    for name in git("ls-files").splitlines():
        if (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes((ROOT / name).read_bytes())


NOTEBOOK = """
import nbformat, nbclient
book = nbformat.read("first_look.ipynb", as_version=4)
nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
print("notebook:", sum(cell.cell_type == "code" for cell in book.cells), "cells ran")
"""


def wheel():
    """What users do first, with the wheel alone, in an empty environment and folder; then every extra is resolved."""
    (made,) = release().glob("*.whl")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run(sys.executable, "-m", "venv", place / "venv")
        python = python_of(place / "venv")
        away = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "ARMDYN"))}
        options = {"cwd": place, "env": {**away, "ARMDYN_CACHE": str(place / "cache")}}
        pip = (python, "-m", "pip", "install", "--quiet")
        run(*pip, made, **options)
        armdyn = python.with_name("armdyn")
        run(armdyn, "doctor", **options)
        run(armdyn, "report", "planar", "-o", "planar.html", **options)
        run(armdyn, "view", "--help", stdout=subprocess.DEVNULL, **options)
        run(*pip, f"{made}[notebooks]", **options)
        shutil.copy(ROOT / "examples" / "first_look.ipynb", place)
        run(python, "-c", NOTEBOOK, **options)
        for extra in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]:
            run(*pip, "--dry-run", f"{made}[{extra}]", **options)


# ---- other Pythons, other versions of dependencies ----------------------------------------------------------------


def python(interpreter, *more):
    version = subprocess.run([interpreter, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    tests(environment(f"python{version}", interpreter, "--editable", f"{ROOT}[{EXTRAS}]"), more=more)


def oldest(*more):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(x for extra in EXTRAS.split(",") for x in extras[extra])]
    least = [re.match(r"([\w.-]+)[^>]*>=([\w.]+)", requirement) for requirement in wanted]
    PLACE.mkdir(parents=True, exist_ok=True)
    bounds = PLACE / "oldest.txt"
    bounds.write_text("".join(f"{found[1]}=={found[2]}\n" for found in least if found), "utf-8")
    tests(
        environment("oldest", sys.executable, "--constraint", bounds, "--editable", f"{ROOT}[{EXTRAS}]"),
        more=more,
    )


# ---- other systems, other processors -------------------------------------------------------------------------------


def debian(suite, arch="amd64", *more):
    """A Debian in a folder. One of another processor is only unpacked, and QEMU runs its Python.

    Wheels come by the pip of a Debian of the same release that runs here; QEMU is made known to the kernel in a
    namespace of its own (Linux 6.7 or newer), so that Python can start Python.
    """
    native = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()
    host = bootstrapped(suite, native)
    if arch == native:
        folder = host
        requirements = Path("armdyn") / f".[{EXTRAS}]"
    raise SystemExit(f"{folder} {requirements}")


def bootstrapped(suite, arch):
    raise NotImplementedError


def cpu(model, *more):
    """Only this process is imitated; what it starts runs on the processor that is there."""
    tests("qemu-x86_64-static", "-cpu", model, sys.executable, more=("-p", "no:xdist", *more))


if __name__ == "__main__":
    verbs = {f.__name__: f for f in (release, wheel, python, oldest, debian, cpu)}
    if len(sys.argv) < 2 or sys.argv[1] not in verbs:
        sys.exit(__doc__)
    verbs[sys.argv[1]](*sys.argv[2:])
