"""The observer as C99 that needs libm only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from armdyn.kernels.c import CSource, identifier, initializer
from armdyn.kernels.c_loop import loop_source
from armdyn.robot.functions import MEANINGS
from armdyn.simulation.control.laws import ALL_POSITIONS
from armdyn.simulation.errors import SimulationError, check
from armdyn.simulation.observer.law import observer_loop, state_size
from armdyn.simulation.observer.observer import MomentumObserver


def observer_source(observer: MomentumObserver, prefix: str | None = None, scalar: str = "double") -> CSource:
    """`PREFIX_observer(rows, settings, q, qd, tau, state, residual, joint)`, in "double" or "float".

    With rows = 1 it takes one sample: call it in each cycle of a controller, with one `state` that was zero
    before the first. With more rows it runs over a recording. The header has macros: `PREFIX_SETTINGS`,
    gains, step and thresholds of this observer as an initializer, and `PREFIX_STATE`, the size of `state`.
    """
    if not isinstance(observer, MomentumObserver):
        raise SimulationError(f"observer: expected a MomentumObserver, found {type(observer).__name__}")
    check.one_of("scalar", scalar, "double", "float")
    robot, n = observer.robot, observer.robot.n
    meanings = {name: f"of each sample, {MEANINGS[name]}" for name in ("q", "qd", "tau")}
    if robot.model.loops:
        meanings["q"] = f"of each sample, {ALL_POSITIONS}"
    if observer.held:
        meanings["tau"] += ", held until the next sample"
    meanings |= {
        "rows": "samples",
        "settings": f"1/step [1/s]; 1 - exp(-gain*step) ({n}); 1/threshold, 0 for none ({n})",
        "state": "zeros before the first sample; then for the next call: "
        f"1, momenta ({n}), other torques ({n}), joint torques ({n}), residuals ({n})",
        "residual": "of each sample, torques from outside [N m or N], filtered",
        "joint": "of each sample, the joint furthest over its threshold, counted from 1, or 0; "
        "a residual that is not a number counts as over it",
    }
    name = identifier(prefix or robot.name)
    title = f"Momentum observer of {robot.name}"
    found = loop_source(title, name, observer_loop(robot, observer.held), scalar, meanings)
    return replace(found, header=_with_settings(found.header, name, observer.settings, scalar))


def _with_settings(header: str, prefix: str, settings: np.ndarray, scalar: str) -> str:
    """The header with the numbers of this observer, as macros: a constant that nobody uses is a warning."""
    count = (len(settings) - 1) // 2
    size = f"#define {prefix.upper()}_STATE {state_size(count)} /* numbers of the state */\n"
    numbers = initializer(prefix, "settings", settings, scalar, "settings of this observer")
    body, end, _ = header.rpartition("\n#endif")
    return f"{body}\n{size}{numbers}{end}\n"
