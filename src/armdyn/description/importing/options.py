"""What a caller may ask of a file that is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from armdyn.description.errors import DescriptionError
from armdyn.expression import ArmdynError, shown
from armdyn.model.robot_model import RobotModel
from armdyn.model.surgery import chain_to, locked


@dataclass(frozen=True)
class Options:
    """What a caller asks of a file; see `Robot.load`. For robot files, `tip` and `lock` alone."""

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


def shaped(model: RobotModel, tip: str | None, lock: Mapping[str, object] | None, source: str) -> RobotModel:
    """The robot that was read, as `tip` and `lock` want it: `model.surgery` does it, errors name the file."""
    try:
        if tip is not None:
            return chain_to(model, tip, lock)
        return locked(model, lock or {})
    except ArmdynError as error:
        option, colon, reason = str(error).partition(": ")
        known = colon and option in ("lock", "tip")
        raise DescriptionError(
            f"{option}: {source}: {reason}" if known and not reason.startswith("joint ") else str(error)
        ) from None
