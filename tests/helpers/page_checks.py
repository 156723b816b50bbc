"""Reading a report: its elements, pictures and formulas."""

import re
import xml.etree.ElementTree as ET
from base64 import b64decode
from html.parser import HTMLParser

VOID = {"img", "meta", "br", "source"}
PICTURE = "data:image/svg+xml;base64,"


class Elements(HTMLParser):
    """Elements of a page in order; complains about what is not closed in turn."""

    def __init__(self, text):
        super().__init__()
        self.open, self.found, self.ids, self.text = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.ids += [value for key, value in attributes if key == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open, f"closed but not open: {tag}"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not (self.open and self.open[-1] == "style"):
            self.text.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.found if name == tag]

    @property
    def sections(self):
        """Their ids."""
        return [attributes["id"] for attributes in self.all("section")]

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


def check_page(text):
    """What holds for every report; gives its elements."""
    assert text.startswith("<!doctype html>\n")
    page = Elements(text)
    tags = {tag for tag, _ in page.found}
    assert not tags & {"script", "link", "iframe", "object", "embed", "base", "svg", "form"}
    assert len(page.ids) == len(set(page.ids)), "ids are not unique"
    for attributes in page.all("a"):
        assert attributes["href"].startswith("#")
        assert attributes["href"][1:] in page.ids
    for _, attributes in page.found:
        assert not any(key.startswith("on") for key in attributes)
        for address in (attributes.get("src", PICTURE), attributes.get("srcset", PICTURE)):
            assert address.startswith(PICTURE)
    check_references(text)
    pictures = [check_picture(attributes["src"]) for attributes in page.all("img")]
    for attributes in page.all("img"):
        assert attributes["alt"]
        assert int(attributes["width"]) > 300
    for attributes in page.all("source"):  # for narrow screens
        check_picture(attributes["srcset"])
    assert len(pictures) == len(page.all("figure")) == len(page.all("figcaption"))
    for formula in re.findall(r"<math.*?</math>", text, re.DOTALL):
        ET.fromstring(formula)
    return page


def check_references(text):
    """No address of the network; the maths font is in the page."""
    assert not re.search(r"(https?:)?//[\w-]+\.\w", text)
    assert "@import" not in text
    addresses = re.findall(r"url\((.{30})", text)
    assert all(address.startswith('"data:font/woff2;base64,') for address in addresses)
    assert len(addresses) <= 1


def check_picture(address):
    """A picture inside the page: an SVG that refers to nothing but itself."""
    svg = b64decode(address.removeprefix(PICTURE), validate=True).decode()
    namespaces = ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink")
    for address in re.findall(r"https?://[^\s\"'<>]*", svg):
        assert address in namespaces
    root = ET.fromstring(svg)
    for node in root.iter():
        for key, value in node.attrib.items():
            if key.endswith("href"):
                assert value.startswith("#")
    assert any(node.tag.endswith("path") for node in root.iter())
    return root


def check_card(text, pictures):
    """What holds for every card of a notebook: one element that needs nothing else; gives its elements."""
    assert text is not None, "nothing is shown"
    found = Elements(text)
    assert found.found[0] == ("div", {"class": "armdyn-card"})
    assert not {tag for tag, _ in found.found} & {
        "script",
        "link",
        "iframe",
        "object",
        "embed",
        "base",
        "form",
    }
    check_references(text)
    (style,) = re.findall(r"<style>(.*?)</style>", text)
    for rule in style.split("}")[:-1]:
        assert all(x.strip().startswith(".armdyn-card") for x in rule.split("{")[0].split(",")), rule
    images = found.all("img")
    assert len(images) == pictures
    for attributes in images:
        assert attributes["alt"]
        ET.fromstring(b64decode(attributes["src"].removeprefix(PICTURE), validate=True).decode())
    assert len(text) < 300_000
    assert "nan" not in found.words.lower().split()
    return found
