"""What a caller may ask of an import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from armdyn.expression import shown


@dataclass(frozen=True)
class Options:
    """What a caller asks of an import; see `Robot.load`."""

    base: str | None = None
    tip: str | None = None
    lock: Mapping[str, object] | None = None
    repair: bool = False
    snap: bool = False

    def __post_init__(self) -> None:
        for name in ("base", "tip"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise TypeError(f"{name}: expected the name of a link, found {shown(value)}")
        if self.lock is not None and not isinstance(self.lock, Mapping):
            raise TypeError(f"lock: expected a table such as {{'joint': position}}, found {shown(self.lock)}")
        for name in ("repair", "snap"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name}: expected True or False, found {shown(getattr(self, name))}")

    @property
    def given(self) -> list[str]:
        """The names of those that are not as by default."""
        return [name for name in ("base", "tip", "lock", "repair", "snap") if getattr(self, name)]
