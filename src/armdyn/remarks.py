"""Remarks to the user: what was changed, left out or looks wrong, carried as data and told as warnings."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from armdyn.names import one_line


@dataclass(frozen=True)
class Remark:
    """A sentence for the user; `kind` says whether it is also a warning, `place` which file it is about."""

    text: str
    kind: Literal["note", "warning"] = "note"
    place: str = ""

    def __str__(self) -> str:
        return f"{one_line(self.place)}: {self.text}" if self.place else self.text


def notes_of(remarks: Iterable[Remark]) -> tuple[str, ...]:
    """Their texts."""
    return tuple(remark.text for remark in remarks)


def warn(remarks: Iterable[Remark], category: type[Warning], stacklevel: int) -> None:
    """Tell those that are warnings; `stacklevel` counts from the function that calls this one."""
    for remark in remarks:
        if remark.kind == "warning":
            warnings.warn(str(remark), category, stacklevel=stacklevel + 1)
