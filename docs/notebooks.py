"""Run the notebooks of examples/ and store their outputs: `make notebooks`, or

    python docs/notebooks.py [NAME …]

A notebook runs in an empty folder; a warning in it is an error. What depends on the run is left out (times,
names of cells), so that the same outputs give the same bytes. Pictures are stored with 64 colours, at a third
of their size. It needs `pip install "armdyn[notebooks]"`.
"""

from __future__ import annotations

import json
import os
import sys
from base64 import b64decode, b64encode
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

EXAMPLES = Path(__file__).parent.parent / "examples"
COLOURS = 64
ABOUT = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def execute(path: Path) -> None:
    """Run a notebook and replace it by itself with its outputs."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    notebook = nbformat.read(path, as_version=4)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # the kernel's: sums in one order
    with TemporaryDirectory() as folder:
        options = {"record_timing": False, "coalesce_streams": True, "timeout": 300}
        options["extra_arguments"] = ["--log-level=ERROR"]  # not a word on how the kernel is reached
        resources = {"metadata": {"path": folder}}
        try:
            NotebookClient(notebook, kernel_name="python3", resources=resources, **options).execute()
        except CellExecutionError as error:
            raise SystemExit(f"{path.name}: {error}") from None
    stored = plain(notebook)
    nbformat.validate(nbformat.from_dict(stored))
    path.write_text(stored_text(stored), "utf-8")


def stored_text(notebook: dict[str, Any]) -> str:
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def plain(notebook: Any) -> dict[str, Any]:
    """A notebook without anything that differs from run to run."""
    cells = []
    for k, cell in enumerate(notebook.cells, 1):
        one = {"cell_type": cell.cell_type, "id": f"cell-{k}", "metadata": {}, "source": lines(cell.source)}
        if cell.cell_type == "code":
            outputs = [plain_output(output, k) for output in cell.outputs]
            one |= {"execution_count": cell.execution_count, "outputs": outputs}
        cells.append(one)
    return {"cells": cells, "metadata": ABOUT, "nbformat": 4, "nbformat_minor": 5}


def plain_output(output: Any, k: int) -> dict[str, Any]:
    if output.output_type == "stream":
        if output.name != "stdout":
            raise SystemExit(f"cell {k} wrote to {output.name}: {output.text}")
        return {"output_type": "stream", "name": "stdout", "text": lines(output.text)}
    data = {kind: lines(value) for kind, value in output.data.items()}
    if "image/png" in data:
        data["image/png"] = lighter(output.data["image/png"])
    sizes = {kind: size for kind, size in output.metadata.items() if kind in data}
    kept = {"output_type": output.output_type, "data": data, "metadata": sizes}
    return kept | ({"execution_count": output.execution_count} if "execution_count" in output else {})


def lines(text: str) -> list[str]:
    """A text as notebooks keep it: a list of lines, for differences that can be read."""
    return text.splitlines(keepends=True)


def lighter(picture: str) -> str:
    """A PNG in base64 with few colours."""
    from PIL import Image

    image = Image.open(BytesIO(b64decode(picture))).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    stream = BytesIO()
    image.save(stream, "png", optimize=True)
    return b64encode(stream.getvalue()).decode()


def main(names: list[str]) -> None:
    known = {path.stem: path for path in sorted(EXAMPLES.glob("*.ipynb"))}
    if wrong := [name for name in names if name not in known]:
        raise SystemExit(f"no notebook {', '.join(map(repr, wrong))}; there are {', '.join(known)}")
    for name in names or known:
        execute(known[name])
        print(f"examples/{name}.ipynb: {known[name].stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
