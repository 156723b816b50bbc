"""All pages of the site as Markdown: those of docs/, the examples, the reference, files of the root."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from website import reference
from website.links import anchors, is_external, links, rewritten, title
from website.notebooks import converted

ROOT = Path(__file__).resolve().parents[2]
AT_THE_ROOT = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}
LEFT_OUT = {".py", ".pyc"}  # of docs/: what makes pages and is not one


class SiteError(Exception):
    """Something that keeps the site from being built."""


@dataclass(frozen=True)
class Page:
    """A page: its place in the site, its text, and the file it comes from (None: it is written here)."""

    place: str
    text: str
    source: str | None = None
    files: dict[str, bytes] = field(default_factory=dict)  # pictures that come with it, by place

    @property
    def title(self) -> str:
        return title(self.text) or self.place


@dataclass(frozen=True)
class Pages:
    """Pages by place, and the files beside them (figures, styles) by place."""

    pages: dict[str, Page]
    files: dict[str, Path]

    def changed(self, change: Callable[[str], str]) -> Pages:
        """The same pages with their texts changed."""
        pages = {place: replace(page, text=change(page.text)) for place, page in self.pages.items()}
        return replace(self, pages=pages)

    def write(self, folder: Path) -> None:
        """All of it into a folder, which is emptied of what an earlier build left there."""
        wanted = {folder / place for place in (*self.pages, *self.files)}
        wanted |= {folder / place for page in self.pages.values() for place in page.files}
        for path in folder.rglob("*"):
            if path.is_file() and path not in wanted:
                path.unlink()
        for place, page in self.pages.items():
            _write(folder / place, page.text.encode("utf-8"))
            for beside, data in page.files.items():
                _write(folder / beside, data)
        for place, path in self.files.items():
            _write(folder / place, path.read_bytes())

    def faults(self) -> list[str]:
        """Links that lead nowhere, each as `page: target`; links to headings that are not there too."""
        known = {*self.files, *(place for page in self.pages.values() for place in page.files)}
        marks = {place: anchors(page.text) for place, page in self.pages.items()}
        found = []
        for place, page in self.pages.items():
            for target in links(page.text):
                path, _, anchor = target.partition("#")
                there = posixpath.normpath(posixpath.join(posixpath.dirname(place), path)) if path else place
                if is_external(target) or (there in known and not anchor):
                    continue
                if there not in marks or (anchor and anchor not in marks[there]):
                    found.append(f"{page.source or place}: {target}")
        return found


def with_sources(pages: Pages, root: Path = ROOT) -> Pages:
    """The pages with a link to the file that each comes from, which the site has beside them."""
    found = {}
    for place, page in pages.pages.items():
        if page.source and (root / page.source).is_file():
            beside = f"sources/{page.source}" + (".txt" if page.source.endswith(".md") else "")
            target = posixpath.relpath(beside, posixpath.dirname(place) or ".")
            text = f'{page.text}\n<p class="source">Source: <a href="{target}">{page.source}</a></p>\n'
            files = {**page.files, beside: (root / page.source).read_bytes()}
            page = replace(page, text=text, files=files)
        found[place] = page
    return replace(pages, pages=found)


def with_large_pictures(pages: Pages) -> Pages:
    """Pictures that stand alone lead to themselves: a reader opens one and enlarges it.

    Of a picture.png with a picture-dark.png beside it, readers see that for their colours.
    """
    alone = re.compile(r"^!\[([^\]]*)\]\(([^)\s]+)\)$", re.MULTILINE)

    def linked(found: re.Match[str]) -> str:
        said, target = found.groups()
        dark = target.replace(".png", "-dark.png")
        if dark == target or posixpath.normpath(dark) not in pages.files:
            return f"[![{said}]({target})]({target})"
        return f"[![{said}]({target}#only-light)]({target}) [![{said}]({dark}#only-dark)]({dark})"

    return pages.changed(lambda text: alone.sub(linked, text))


def place_of(source: str) -> str | None:
    """Where the site has a file of the repository; None where it has not."""
    if source in AT_THE_ROOT:
        return AT_THE_ROOT[source]
    folder, _, rest = source.partition("/")
    path = Path(rest)
    if folder == "docs" and path.suffix not in LEFT_OUT and path.parts[:1] != ("website",):
        return rest or "index.md"
    if folder == "examples":
        if not rest:
            return "examples/index.md"
        if path.suffix in (".py", ".ipynb"):
            return ("examples/" if path.suffix == ".py" else "notebooks/") + path.with_suffix(
                ".md"
            ).as_posix()
    return None


def collect(root: Path = ROOT) -> Pages:
    """Everything, with links turned to the places of the site. Raises SiteError for what cannot be linked."""
    pages = [_moved(page, root) for page in (*_written(root), *_examples(root), *_notebooks(root))]
    pages += [Page(place, text) for place, text in reference.pages().items()]
    files = {
        place: path
        for path in sorted((root / "docs").rglob("*"))
        if path.is_file() and path.suffix not in {*LEFT_OUT, ".md"}
        if (place := place_of(path.relative_to(root).as_posix()))
    }
    assets = root / "docs" / "website" / "assets"
    fonts = root / "src" / "armdyn" / "report" / "fonts"
    files |= {f"assets/{path.name}": path for path in sorted([*assets.iterdir(), *fonts.iterdir()])}
    return Pages({page.place: page for page in pages}, files)


def _written(root: Path) -> list[Page]:
    paths = [root / name for name in AT_THE_ROOT if name != "README.md"]
    paths += [path for path in sorted((root / "docs").rglob("*.md")) if "website" not in path.parts]
    found = []
    for path in paths:
        source = path.relative_to(root).as_posix()
        found.append(Page(place_of(source) or source, path.read_text("utf-8"), source))
    return found


def _examples(root: Path) -> list[Page]:
    """A page for each script, with the first paragraph of its docstring above it, and a list of all."""
    found, rows = [], []
    for path in sorted((root / "examples").glob("*.py")):
        text = path.read_text("utf-8")
        head, _, rest = (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")
        name, _, said = " ".join(head.split()).rstrip(".").partition(": ")
        body = text.split('"""', 2)[2].strip("\n")
        place = f"examples/{path.stem}.md"
        code = f"```python title='examples/{path.name}'\n{body}\n```\n"
        page = f"# {name}\n\n{_sentence(said)}\n\n{rest}\n\n{code}"
        found.append(Page(place, page, f"examples/{path.name}"))
        rows.append(f"- [{name}]({path.name})" + (f": {said}" if said else ""))
    notebooks = sorted((root / "examples").glob("*.ipynb"))
    lines = ["# Examples", "", "Scripts of `examples/`: each runs as it is.", "", *rows]
    if notebooks:
        lines += ["", "## Notebooks", "", "With what they show, to read here or to run.", ""]
        lines += [f"- [{title(converted(path)[0]) or path.stem}]({path.name})" for path in notebooks]
    return [*found, Page("examples/index.md", "\n".join(lines) + "\n", "examples/index")]


def _notebooks(root: Path) -> list[Page]:
    found = []
    for path in sorted((root / "examples").glob("*.ipynb")):
        text, pictures = converted(path)
        files = {f"notebooks/{name}": data for name, data in pictures.items()}
        found.append(Page(f"notebooks/{path.stem}.md", text, f"examples/{path.name}", files))
    return found


def _moved(page: Page, root: Path) -> Page:
    """The page with its links, which are relative to its file, made relative to its place."""
    here = posixpath.dirname(page.source or page.place)

    def change(target: str) -> str:
        path, mark, anchor = target.partition("#")
        if not path:
            return target
        there = posixpath.normpath(posixpath.join(here, path))
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(page.place), path))
        if beside in page.files:
            return target
        place = place_of(there)
        if place is None or not (root / there).exists():
            why = "the site does not have that file" if (root / there).exists() else "there is no such file"
            raise SiteError(f"{page.source}: link to {target}, but {why}")
        return posixpath.relpath(place, posixpath.dirname(page.place) or ".") + mark + anchor

    return replace(page, text=rewritten(page.text, change))


def _sentence(text: str) -> str:
    """Text that came after a colon, as a sentence of its own."""
    return text and f"{text[0].upper()}{text[1:]}."


def _write(path: Path, data: bytes) -> None:
    """Write, unless it is there already: tools that watch times see what has changed."""
    if path.is_file() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
