"""Writes gallery/by-equation.md from the tables of equations/: python docs/by_equation.py"""

import re
from pathlib import Path

from equations import Row, Table
from equations.tables import TABLES

HERE = Path(__file__).parent
HEAD = """# Every equation by its number

*The five texts.* Every numbered equation of them: what it is, and the call that gives it. Look for a number
with the search of your browser. With the names below, each call can be pasted as it stands.

Tests run every call and compare what it gives with the printed formula, as an identity in all symbols, or
with numbers that share no code with armdyn: sums over particles, differences, Lagrange's equations in SymPy,
the recursion of Newton and Euler in NumPy. The comparisons stand beside the calls in `docs/equations/`. Where
our copies of the texts have a slip, the derived formula is meant; the pages of the [gallery](index.md) say
where.

## Names

```python
{names}
```
"""
FOOT = "[Gallery](index.md) · [Notation](../notation.md) · [Everything at a glance](../overview.md)"
NUMBER = re.compile(r"\d+([.-]\d+)?")


def text() -> str:
    names = (HERE / "equations" / "names.py").read_text("utf-8").split('"""', 2)[2]
    lines = [HEAD.format(names=names.strip())]
    for table in TABLES.values():
        lines += [f"## {table.title}", "", table.about, "", *_sections(table)]
    return "\n".join([*lines, FOOT]) + "\n"


def _sections(table: Table) -> list[str]:
    lines = []
    for title, rows in table.sections.items():
        lines += [f"### {title}", "", '<div class="equations" markdown>', ""]
        head = [f"| {table.counted} | what it is | call |", "|---|---|---|"]
        lines += [*head, *map(_line, rows), "", "</div>", ""]
    return lines


def _line(row: Row) -> str:
    number = f"({row.number})" if NUMBER.fullmatch(row.number) else row.number
    assert "|" not in row.what + row.call, row.number
    return f"| {number} | {row.what} | `{row.call}` |"


if __name__ == "__main__":
    (HERE / "gallery" / "by-equation.md").write_text(text(), encoding="utf-8")
