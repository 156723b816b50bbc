"""The notebooks of examples/: stored with their outputs, clean, and the code gives what is stored."""

import contextlib
import io
import json
import re
import sys
from base64 import b64decode
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
from notebooks import ABOUT, lines, stored_text  # noqa: E402

NAMES = ("first_look", "identify", "your_urdf")
LARGEST = 400_000  # bytes
NEEDS = {"identify": "clarabel"}
# Folders of a computer, addresses of objects, colours of a terminal: none belongs into a stored output.
OWN = re.compile(r"(?<![\w.])/(?:home|root|tmp|work|usr|Users)/|[A-Z]:\\|\b0x[0-9a-f]{6,}|\x1b\[")


def notebook(name):
    return json.loads((ROOT / "examples" / f"{name}.ipynb").read_text("utf-8"))


def cells(name, kind):
    return [cell for cell in notebook(name)["cells"] if cell["cell_type"] == kind]


def printed(cell):
    return "".join("".join(o["text"]) for o in cell["outputs"] if o["output_type"] == "stream")


def test_there_are_these_notebooks():
    assert sorted(path.stem for path in (ROOT / "examples").glob("*.ipynb")) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_stored_form_is_that_of_the_script(name):
    """Format 4.5, nothing of the run; `make notebooks` changes no byte that it need not."""
    text = (ROOT / "examples" / f"{name}.ipynb").read_text("utf-8")
    found = json.loads(text)
    assert stored_text(found) == text
    assert (found["nbformat"], found["nbformat_minor"], found["metadata"]) == (4, 5, ABOUT)
    assert [cell["id"] for cell in found["cells"]] == [f"cell-{k + 1}" for k in range(len(found["cells"]))]
    assert all(cell["metadata"] == {} and cell["source"] for cell in found["cells"])
    assert all(lines("".join(cell["source"])) == cell["source"] for cell in found["cells"])
    assert len(text.encode()) < LARGEST


@pytest.mark.parametrize("name", NAMES)
def test_every_code_cell_ran_once_in_order_and_shows_something(name):
    code = cells(name, "code")
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert [cell["source"] for cell in code if not cell["outputs"]] == []
    kinds = {output["output_type"] for cell in code for output in cell["outputs"]}
    assert kinds == {"stream", "execute_result"}  # no errors
    assert {o["name"] for cell in code for o in cell["outputs"] if "name" in o} == {"stdout"}


@pytest.mark.parametrize("name", NAMES)
def test_outputs_hold_pictures_and_nothing_of_the_computer_they_were_made_on(name):
    pictures = []
    for cell in cells(name, "code"):
        for output in cell["outputs"]:
            data = dict(output.get("data", {"text/plain": output.get("text")}))
            if picture := data.pop("image/png", None):
                pictures.append(picture)
            texts = ["".join(text) for text in data.values()]
            drawn = re.findall(r"base64,([\w+/=]+)", "".join(texts))
            texts = [re.sub(r"base64,[\w+/=]+", "", text) for text in texts]
            assert [x for x in texts + [b64decode(x).decode() for x in drawn] if OWN.search(x)] == []
    assert len(pictures) >= 2
    assert all(b64decode(picture).startswith(b"\x89PNG") for picture in pictures)


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name):
    text = "".join("".join(cell["source"]) + "\n" for cell in cells(name, "markdown"))
    targets = [t for t in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in t]
    assert targets
    assert [t for t in targets if not (ROOT / "examples" / t).exists()] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_code_prints_what_is_stored(name, tmp_path, monkeypatch):
    """Cell by cell, as a reader runs it, but without Jupyter: cards and pictures are not compared."""
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is not installed")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": name}
    for k, cell in enumerate(cells(name, "code"), 1):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile("".join(cell["source"]), f"{name}, cell {k}", "exec"), namespace)
        assert out.getvalue() == printed(cell), f"cell {k}"
