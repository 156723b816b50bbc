"""The site's settings with the navigation as it is today: folders filled in."""

from __future__ import annotations

import json
import posixpath
import re
import tomllib
from pathlib import Path
from typing import Any

from website.links import links, sections
from website.pages import Pages, SiteError

SETTINGS = Path(__file__).resolve().parents[1] / "zensical.toml"
FOLDER = re.compile(r'"(?P<name>[\w-]+)/\*",?')
LARGE = 20  # pages of a folder that the navigation can show in one list


def settings(pages: Pages) -> str:
    """The text of docs/zensical.toml with every "folder/*" replaced by the pages of that folder."""
    return FOLDER.sub(lambda found: _listed(found["name"], pages), SETTINGS.read_text("utf-8"))


def navigation(text: str) -> list[str]:
    """The places that the navigation of settings has, in its order."""
    return list(_places(tomllib.loads(text)["project"]["nav"]))


def check(pages: Pages, text: str) -> None:
    """Raises SiteError unless every page is in the navigation, once."""
    found = navigation(text)
    missing = sorted(set(pages.pages) - set(found))
    unknown = sorted(set(found) - set(pages.pages))
    twice = sorted({place for place in found if found.count(place) > 1})
    for places, what in (
        (missing, "not in the navigation (docs/zensical.toml, nav)"),
        (unknown, "in the navigation, but there is no such page"),
        (twice, "in the navigation more than once"),
    ):
        if places:
            raise SiteError(f"{', '.join(places)}: {what}")


def _listed(folder: str, pages: Pages) -> str:
    """An entry of the navigation: the pages of a folder; of a large one, by the headings of its index."""
    index = f"{folder}/index.md"
    inside = sorted(place for place in pages.pages if place.startswith(f"{folder}/"))
    if not inside:
        return ""
    if index not in inside:
        return f"{{ {json.dumps(folder.capitalize())} = [{_quoted(inside)}] }},"
    groups = _groups(folder, pages.pages[index].text, inside)
    if len(inside) <= LARGE:
        groups = {"": [place for group in groups.values() for place in group]}
    alone = [index, *groups.pop("", [])]
    entries = [f"{{ {json.dumps(title)} = [{_quoted(places)}] }}," for title, places in groups.items()]
    return f"{{ {json.dumps(pages.pages[index].title)} = [{_quoted(alone)} {' '.join(entries)}] }},"


def _groups(folder: str, text: str, inside: list[str]) -> dict[str, list[str]]:
    """The pages of a folder without its index, by the heading under which the index first links to them.

    Those that it does not link to come last, under no heading ("").
    """
    found: dict[str, list[str]] = {}
    left = dict.fromkeys(place for place in inside if place != f"{folder}/index.md")
    for title, part in sections(text):
        for target in links(part):
            place = posixpath.normpath(f"{folder}/{target.partition('#')[0]}")
            if place in left:
                del left[place]
                found.setdefault(title, []).append(place)
    if left:
        found[""] = [*found.pop("", []), *left]
    return found


def _quoted(places: Any) -> str:
    return " ".join(f"{json.dumps(place)}," for place in places)


def _places(items: list[Any]):
    for item in items:
        if isinstance(item, str):
            yield item
        else:
            for inner in item.values():
                yield from _places(inner if isinstance(inner, list) else [inner])
