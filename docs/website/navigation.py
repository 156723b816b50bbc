"""The site's settings with the navigation as it is today: folders filled in."""

from __future__ import annotations

import json
import posixpath
import re
import tomllib
from pathlib import Path
from typing import Any

from website.links import links
from website.pages import Pages, SiteError

SETTINGS = Path(__file__).resolve().parents[1] / "zensical.toml"
FOLDER = re.compile(r'"(?P<name>[\w-]+)/\*",?')


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
    index = f"{folder}/index.md"
    inside = sorted(place for place in pages.pages if place.startswith(f"{folder}/"))
    linked: list[str] = []
    if index in pages.pages:
        linked = [
            posixpath.normpath(f"{folder}/{target.partition('#')[0]}")
            for target in links(pages.pages[index].text)
        ]
    order = [index, *linked, *inside]
    listed = dict.fromkeys(place for place in order if place in inside)
    if not listed:
        return ""
    title = pages.pages[index].title if index in listed else folder.capitalize()
    return f"{{ {json.dumps(title)} = [{_quoted(listed)}] }},"


def _quoted(places: Any) -> str:
    return " ".join(f"{json.dumps(place)}," for place in places)


def _places(items: list[Any]):
    for item in items:
        if isinstance(item, str):
            yield item
        else:
            for inner in item.values():
                yield from _places(inner if isinstance(inner, list) else [inner])
