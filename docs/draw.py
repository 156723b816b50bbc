"""Draw the figures of the pages again: runs the Python blocks of each page in this folder. `make figures`."""

import os
import re
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BLOCK = re.compile(r"^```(python|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def draw(page: Path) -> None:
    """The page's blocks, in order, in a folder of their own whose `figures` is ours."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("figures").symlink_to(HERE / "figures")
        namespace: dict[str, object] = {"__name__": page.stem}
        for language, text in BLOCK.findall(page.read_text("utf-8")):
            if language == "toml":
                Path("my_arm.toml").write_text(text, "utf-8")
            else:
                exec(compile(text, page.name, "exec"), namespace)
        os.chdir(HERE)


if __name__ == "__main__":
    os.environ["SOURCE_DATE_EPOCH"] = "0"  # the same picture is the same file
    import matplotlib

    matplotlib.rcParams["svg.hashsalt"] = "armdyn"
    for page in sorted(HERE.glob("*.md")):
        print(f"--- {page.name}")
        draw(page)
