"""Build the documentation site: python docs/make_site.py   (`make docs` installs what it needs)

Pages are put together under build/pages, then Zensical makes build/site of them. Any warning is an error.
Open build/site/index.html: the site needs no server and no network.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from website.hero import with_live_report
from website.maths import with_maths
from website.navigation import check, settings
from website.pages import ROOT, SiteError, collect, with_large_pictures, with_sources
from website.typeset import typeset

from armdyn import __version__

BUILD = ROOT / "build"


def assemble(folder: Path) -> Path:
    """Pages, and the settings beside them, as Zensical takes them; gives the path of the settings."""
    pages = collect()
    faults = pages.faults()
    if faults:
        raise SiteError("links that lead nowhere:\n  " + "\n  ".join(faults))
    text = settings(pages)
    check(pages, text)
    pages = with_live_report(pages.changed(typeset).changed(with_maths))
    with_sources(with_large_pictures(pages)).write(folder / "pages")
    for name in ("src", "docs/website/docstrings.py"):
        text = text.replace(f'"{name}"', json.dumps((ROOT / name).as_posix()))
    text = text.replace('copyright = "', f'copyright = "armdyn {__version__}, ', 1)
    text = text.replace("[project]\n", '[project]\ndocs_dir = "pages"\nsite_dir = "site"\n', 1)
    path = folder / "zensical.toml"
    path.write_text(text, "utf-8")
    return path


def build(folder: Path) -> str:
    """The site under `folder`/site; gives what Zensical printed. Raises SiteError where it warns."""
    path = assemble(folder)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", str(path)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    printed = re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr)  # without colours
    if done.returncode or "warning" in printed.lower():
        said = printed.partition("Traceback")[0] if "issues found" in printed else printed
        raise SiteError(f"Zensical finds fault:\n{said.rstrip()}")
    # Zensical's own leads to the root of a server, where the site need not lie.
    shutil.copyfile(ROOT / "docs" / "website" / "404.html", folder / "site" / "404.html")
    return printed


def main() -> int:
    if find_spec("zensical") is None:
        print('Zensical is not installed: pip install "armdyn[docs]", or run make docs', file=sys.stderr)
        return 2
    BUILD.mkdir(exist_ok=True)
    try:
        print(build(BUILD), end="")
    except SiteError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"Built {BUILD / 'site' / 'index.html'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
