"""The package on other machines than this one: other Pythons, dependencies, processors; and as a release.

    python .ci/elsewhere.py release                 # build/dist: wheel and sdist, built twice: one hash
    python .ci/elsewhere.py wheel                   # the wheel alone, in an empty environment
    python .ci/elsewhere.py python python3.13       # the tests marked `portable` with another Python
    python .ci/elsewhere.py oldest                  # … with the oldest version of every dependency
    python .ci/elsewhere.py debian sid              # … in another release of Debian, as root
    python .ci/elsewhere.py debian trixie arm64     # … on another processor, which QEMU imitates
    python .ci/elsewhere.py cpu Nehalem             # … on another x86-64 processor, likewise

What follows goes to pytest: `… python python3.13 -n 2 tests/kernels`. Environments stay in build/elsewhere.
`debian` needs debootstrap, other processors qemu-user-static. docs/platforms.md has what came out.
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "build" / "elsewhere"
MARKED = ("-m", "portable and not slow")
EXTRAS = "dev,parquet,view,dask"  # what the marked tests use where it is there
USED = ("cvxpy", "dask[distributed]", "hypothesis", "pandas", "pytest", "pytest-xdist")  # of the extra `dev`
MIRROR = "http://deb.debian.org/debian"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


def run(*command, **options):
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, **options)


def said(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def python_of(folder):
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def environment(name, interpreter, *wanted):
    """A virtual environment with what is wanted; its interpreter."""
    inside = python_of(PLACE / name)
    if not inside.exists():
        run(interpreter, "-m", "venv", PLACE / name)
    if wanted:
        run(inside, "-m", "pip", "install", "--quiet", *wanted)
    return inside


def chosen(more):
    return ("-q", *(() if "-m" in more else MARKED), *more)


def copy(target):
    """The files that git knows, as they are now."""
    for name in said("git", "ls-files").splitlines():
        if (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes((ROOT / name).read_bytes())


# ---- a release ---------------------------------------------------------------------------------------------


def release():
    """Wheel and sdist of the files that git knows, built twice with other rights: they must be equal."""
    builder = environment("build", sys.executable, "build", "hatchling>=1.27")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        copy(Path(folder, "files"))
        for mask in (0o022, 0o077):
            source, made = Path(folder, f"source{mask}"), Path(folder, f"made{mask}")
            before = os.umask(mask)
            shutil.copytree(Path(folder, "files"), source, copy_function=shutil.copyfile)
            os.umask(before)
            own = {**os.environ, "SOURCE_DATE_EPOCH": said("git", "log", "-1", "--format=%ct").strip()}
            command = (builder, "-m", "build", "--no-isolation", "--outdir", made, source)
            run(*command, env=own, stdout=subprocess.DEVNULL)
            found.append({file.name: file.read_bytes() for file in sorted(made.iterdir())})
    hashes = [{name: hashlib.sha256(data).hexdigest() for name, data in files.items()} for files in found]
    if hashes[0] != hashes[1]:
        sys.exit(f"two builds differ: {hashes}")
    dist = ROOT / "build" / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir(parents=True)
    for name, data in found[0].items():
        (dist / name).write_bytes(data)
        print(f"{hashes[0][name]}  build/dist/{name} (twice)")
    return dist


NOTEBOOK = """
import nbclient, nbformat
book = nbformat.read("first_look.ipynb", as_version=4)
nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
print("notebook:", sum(cell.cell_type == "code" for cell in book.cells), "cells ran")
"""


def wheel():
    """What users do first, with the wheel alone, in an empty environment; then every extra is resolved."""
    (made,) = release().glob("*.whl")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run(sys.executable, "-m", "venv", place / "venv")
        python = python_of(place / "venv")
        own = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "ARMDYN"))}
        options = {"cwd": place, "env": {**own, "ARMDYN_CACHE": str(place / "cache")}}
        pip, armdyn = (python, "-m", "pip", "install", "--quiet", "--no-compile"), python.with_name("armdyn")
        run(*pip, made, **options)
        run(armdyn, "doctor", **options)
        run(armdyn, "report", "planar", "-o", "planar.html", **options)
        run(armdyn, "view", "--help", stdout=subprocess.DEVNULL, **options)
        run(*pip, f"{made}[notebooks]", **options)
        shutil.copy(ROOT / "examples" / "first_look.ipynb", place)
        run(python, "-c", NOTEBOOK, **options)
        uv = environment("build", sys.executable, "uv").with_name("uv")
        for extra in project()["optional-dependencies"]:  # pip would fetch gigabytes to read what they need
            resolve = (uv, "pip", "install", "--quiet", "--dry-run", "--python", python)
            run(*resolve, f"{made}[{extra}]", **options)
        print("every extra resolves:", *project()["optional-dependencies"])


# ---- other Pythons, other versions of dependencies ---------------------------------------------------------


def python(interpreter, *more):
    name = "python" + said(interpreter, "--version").split()[1]
    inside = environment(name, interpreter, "--editable", f"{ROOT}[{EXTRAS}]")
    run(inside, "-m", "pytest", *chosen(more), cwd=ROOT)


def oldest(*more):
    """uv finds the oldest versions that pyproject.toml allows of what the package and its extras name.

    These warn of newer versions of what they need themselves: that is not our concern.
    """
    uv = environment("build", sys.executable, "uv").with_name("uv")
    inside = environment("oldest", sys.executable)
    install = (uv, "pip", "install", "--quiet", "--python", inside)
    run(*install, "--resolution", "lowest-direct", "--editable", f"{ROOT}[parquet,view,dask]")
    run(*install, "--editable", f"{ROOT}[dev]")
    run(inside, "-m", "pytest", "-W", "ignore::DeprecationWarning", *chosen(more), cwd=ROOT)


# ---- other systems, other processors -----------------------------------------------------------------------

MACHINES = {"arm64": "aarch64"}  # Debian's name, and everyone else's
# OpenBLAS, in NumPy, takes processors of QEMU for newer ones: products of matrices are wrong, or it crashes.
BLAS = {"aarch64": "ARMV8", "x86_64": "Nehalem"}
ELF = {  # the first bytes of a program, and which of their bits count
    "aarch64": (
        r"\x7fELF\x02\x01\x01" + r"\x00" * 9 + r"\x02\x00\xb7\x00",
        r"\xff" * 7 + r"\x00" + r"\xff" * 8 + r"\xfe\xff\xff\xff",
    )
}


def debian(suite, *more):
    """A Debian in a folder: of this processor, or of another one, whose programs QEMU runs."""
    native = said("dpkg", "--print-architecture").strip()
    arch, more = (more[0], more[1:]) if more[:1] and more[0] in MACHINES else (native, more)
    tests, home = shlex.join(chosen(more)), bootstrapped(suite, native)
    pip = "/venv/bin/python -m pip install --quiet --no-compile"
    enter(home, "test -x /venv/bin/python || python3 -m venv /venv")
    if arch == native:
        enter(home, f"{pip} --editable '.[{EXTRAS}]'; /venv/bin/python -m pytest {tests}")
        return
    other = bootstrapped(suite, arch, "--foreign")
    for package in other.glob("var/cache/apt/archives/*.deb"):
        run("dpkg-deb", "--extract", package, other)
    wanted = project()["dependencies"]
    wanted += [x for x in project()["optional-dependencies"]["dev"] if x.split(">")[0] in USED]
    tags = " ".join(f"--platform manylinux_2_{k}_{MACHINES[arch]}" for k in range(40, 16, -1))
    site = "/site-packages"  # the name by which Hypothesis knows what it need not read: it took minutes there
    for place in (home, other):
        Path(f"{place}{site}").mkdir(exist_ok=True)
    bind = f"mount --bind {other}{site} {home}{site}"
    enter(home, f"{pip} --upgrade --target {site} {tags} --only-binary=:all: {shlex.join(wanted)}", bind)
    own = f"OPENBLAS_CORETYPE={BLAS[MACHINES[arch]]} PYTHONPATH=/armdyn/src:{site}"
    enter(other, f"{own} python3 -m pytest {tests}", emulator=MACHINES[arch])


def bootstrapped(suite, arch, *options):
    """The folder of a Debian with Python, this repository's files in its /armdyn."""
    folder = PLACE / f"{suite}-{arch}"
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        packages = "--include=python3,python3-venv,ca-certificates"
        run("debootstrap", f"--arch={arch}", "--variant=minbase", packages, *options, suite, folder, MIRROR)
        (folder / "ready").touch()
    for file in (CERTIFICATES, Path("/etc/resolv.conf")):
        inside = folder / file.relative_to("/")
        inside.parent.mkdir(parents=True, exist_ok=True)
        inside.write_bytes(file.read_bytes())
    shutil.rmtree(folder / "armdyn", ignore_errors=True)
    copy(folder / "armdyn")
    return folder


def enter(folder, command, *mounts, emulator=""):
    """Run a command in the system of a folder, in namespaces of its own: what is mounted goes with it.

    With an emulator, the kernel of this namespace uses it for that processor's programs (Linux 6.7 or newer).
    """
    lines = list(mounts)
    if emulator:
        magic, mask = ELF[emulator]
        known = f":{emulator}:M::{magic}:{mask}:/usr/bin/qemu-{emulator}-static:F"
        registry = "/proc/sys/fs/binfmt_misc"
        lines.append(f"mount -t binfmt_misc binfmt_misc {registry}")
        lines.append(f"printf %s {shlex.quote(known)} > {registry}/register")
    lines += [f"mount --rbind {place} {folder}{place}" for place in ("/proc", "/dev")]
    lines.append(f"mount -t tmpfs tmpfs {folder}/tmp")
    clean = f"env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LANG=C.UTF-8 PIP_CERT={CERTIFICATES}"
    inside = shlex.quote(f"cd /armdyn; {command}")
    lines.append(f"exec chroot {folder} {clean} sh -ec {inside}")
    namespaces = ("--mount", *(["--map-root-user"] if emulator else []))
    run("unshare", *namespaces, "sh", "-ec", "\n".join(lines))


def cpu(model, *more):
    """Only this process is imitated; what it starts runs on the processor that is there."""
    inside = environment("cpu", sys.executable, "--editable", f"{ROOT}[{EXTRAS}]")
    imitated = ("qemu-x86_64-static", "-cpu", model, inside, "-m", "pytest", "-p", "no:xdist")
    run(*imitated, *chosen(more), cwd=ROOT, env={**os.environ, "OPENBLAS_CORETYPE": BLAS["x86_64"]})


if __name__ == "__main__":
    verbs = {verb.__name__: verb for verb in (release, wheel, python, oldest, debian, cpu)}
    if len(sys.argv) < 2 or sys.argv[1] not in verbs:
        sys.exit(__doc__)
    verbs[sys.argv[1]](*sys.argv[2:])
