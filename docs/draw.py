"""Draw the figures of the pages again: runs the Python blocks of each page in this folder. `make figures`."""

import os
import re
import shutil
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
README = HERE.parent / "README.md"
GALLERY = HERE / "gallery"  # its pages save pictures where they run; those go to figures/gallery
BLOCK = re.compile(r"^```(python|toml|xml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = {"toml": "my_arm.toml", "xml": "my_arm.urdf"}  # what the pages call the files that they show


def run(page: Path) -> dict[str, object]:
    """Run the page's blocks, in order, in a folder of their own whose `figures` is ours; gives its names."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("figures").symlink_to(HERE / "figures")
        namespace: dict[str, object] = {"__name__": page.stem}
        for language, text in BLOCK.findall(page.read_text("utf-8")):
            if language == "toml" and "[[move]]" in text:
                Path("my_cycle.toml").write_text(text, "utf-8")
            elif language == "toml" and "[[gear]]" in text:
                Path("my_drives.toml").write_text(text, "utf-8")
            elif language in FILES:
                Path(FILES[language]).write_text(text, "utf-8")
            else:
                exec(compile(text, page.name, "exec"), namespace)
        for picture in Path().glob("*.svg") if page.parent == GALLERY else ():
            shutil.copyfile(picture, HERE / "figures" / "gallery" / picture.name)
        os.chdir(HERE)
    return namespace


def draw_readme(robot, motion, path: Path) -> None:
    """The picture of the README: an arm along a motion, beside the torques of its joints."""
    from armdyn.drawing.style import svg
    from armdyn.report import plot_contributions, plot_strobe

    arm, torques = svg(plot_strobe(robot, motion)), svg(plot_contributions(robot, motion))
    (width, height), (beside, full) = _size(arm), _size(torques)
    scale = full / height
    arm = _placed(arm, 0, 0, width * scale, full, f"0 0 {width:.2f} {height:.2f}")
    torques = _placed(torques, width * scale, 0, beside, full, f"0 0 {beside:.2f} {full:.2f}")
    box = f'viewBox="0 0 {width * scale + beside:.2f} {full:.2f}"'
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    path.write_text(f"<svg {names} {box}>\n{arm}{torques}</svg>\n", "utf-8")


def _size(text: str) -> tuple[float, float]:
    _, _, width, height = re.search(r'viewBox="([^"]+)"', text)[1].split()
    return float(width), float(height)


def _placed(text: str, x: float, y: float, width: float, height: float, box: str) -> str:
    """An SVG as an element of another one."""
    place = f'<svg x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" viewBox="{box}">'
    return place + text[text.index(">") + 1 :]


if __name__ == "__main__":
    os.environ["SOURCE_DATE_EPOCH"] = "0"  # the same picture is the same file
    import matplotlib

    matplotlib.rcParams["svg.hashsalt"] = "armdyn"
    pages = [*sorted(HERE.glob("*.md")), *sorted(GALLERY.glob("*.md"))]
    drawn = [page for page in pages if "savefig" in page.read_text("utf-8")]
    for page in (README, *drawn):
        print(f"--- {page.name}")
        found = run(page)
        if page == README:
            draw_readme(found["robot"], found["motion"], HERE / "figures" / "readme.svg")
