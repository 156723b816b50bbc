"""Rows and columns: stretches of them, and how notes name them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_MOST = 3  # numbers that are listed


def runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """Stretches of True, as start and stop."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def rows_text(rows: Sequence[int] | np.ndarray, word: str = "row") -> str:
    """ "row 7", "rows 7 and 9", "rows 7, 9, 12 and 35 others"; stretches as "rows 7 to 20"."""
    rows = [int(row) for row in rows]
    if len(rows) == 1:
        return f"{word} {rows[0]}"
    if len(rows) > 2 and rows[-1] - rows[0] == len(rows) - 1:
        return f"{word}s {rows[0]} to {rows[-1]}"
    if len(rows) <= _MOST:
        return f"{word}s {', '.join(map(str, rows[:-1]))} and {rows[-1]}"
    others = len(rows) - _MOST
    return f"{word}s {', '.join(map(str, rows[:_MOST]))} and {others} other{'s' * (others > 1)}"


def counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def column_text(channel: str, column: int) -> str:
    """How messages call a column: the channel and the joint or motor, counted from one."""
    return f"{channel} of {'motor' if 'motor' in channel or channel == 'current' else 'joint'} {column + 1}"
