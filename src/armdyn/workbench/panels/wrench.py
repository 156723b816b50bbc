"""What the tip exerts on its surroundings: a force and a moment as fields."""

from __future__ import annotations

from typing import Any

import numpy as np

from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.bench.moment import Moment

_HINT = "What the tip exerts on its surroundings, in the axes of the world"


def add(bench: Bench) -> None:
    zeros = (0.0, 0.0, 0.0)
    with bench.gui.add_folder("Wrench at the tip", expand_by_default=False):
        rows = (
            (bench.gui.add_vector3(f"{name} [{unit}]", zeros, step=1.0, hint=f"{_HINT} [{unit}]"), unit)
            for name, unit in (("force", "N"), ("moment", "N m"))
        )
        fields = [bench.fields.add(handle, unit, lambda _: changed()) for handle, unit in rows]
        button = bench.gui.add_button("No wrench")
    typed: np.ndarray | None = None  # what the fields last gave

    def changed() -> None:
        nonlocal typed
        found = np.array([x for field in fields for x in field.value], float)
        typed = found if found.any() else None
        bench.change(wrench=typed)

    @button.on_click
    def _(_event: Any) -> None:
        nonlocal typed
        typed = np.zeros(6)  # not None: the fields have to follow
        bench.change(wrench=None)

    def follow(shown: Moment) -> None:
        """Fields show wrenches that came from elsewhere; what is being typed stays as it is."""
        if shown.wrench is typed or shown.wrench is not bench.moment.wrench:
            return
        wrench = np.zeros(6) if shown.wrench is None else shown.wrench
        for field, part in zip(fields, (wrench[:3], wrench[3:]), strict=True):
            values = tuple(float(x) for x in part)
            if tuple(field.value) != values:
                field.show(values)

    bench.on_moment(follow)
