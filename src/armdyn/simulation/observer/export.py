"""The observer as C99 that needs libm only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from armdyn.kernels.c import CSource, identifier, initializer
from armdyn.kernels.c_loop import loop_source
from armdyn.robot.functions import MEANINGS, PAYLOAD
from armdyn.simulation.control.laws import ALL_POSITIONS
from armdyn.simulation.errors import SimulationError, check
from armdyn.simulation.export import payload_is_input
from armdyn.simulation.observer.law import Observed, observer_loop
from armdyn.simulation.observer.observer import MomentumObserver


def observer_source(
    observer: MomentumObserver, prefix: str | None = None, scalar: str = "double", inputs: Sequence[str] = ()
) -> CSource:
    """`PREFIX_observer(rows, settings, q, qd, tau, state, residual, joint)`, in "double" or "float".

    With rows = 1 it takes one sample: call it in each cycle of a controller, with one `state` that was zero
    before the first. With more rows it runs over a recording. The header has macros: `PREFIX_SETTINGS`,
    gains, step and thresholds of this observer as an initializer, and `PREFIX_STATE`, the size of `state`.

    With inputs=["payload"] the function takes, after `tau`, what the tip carries from each sample on: ten
    numbers, mass, centre of mass and the tensor about it. So it does where the observer knows a robot with
    loads: C does not know the time, so the caller says which of them is carried.
    """
    if not isinstance(observer, MomentumObserver):
        raise SimulationError(f"observer: expected a MomentumObserver, found {type(observer).__name__}")
    check.one_of("scalar", scalar, "double", "float")
    told = payload_is_input(inputs)
    robot, n = observer.robot, observer.robot.n
    observed = Observed(robot, observer.held, observer.links or ((None,) if told else ()))
    meanings = {name: f"of each sample, {MEANINGS[name]}" for name in ("q", "qd", "tau")}
    if robot.model.loops:
        meanings["q"] = f"of each sample, {ALL_POSITIONS}"
    if observer.held:
        meanings["tau"] += ", held until the next sample"
    meanings |= {
        "rows": "samples",
        "settings": f"1/step [1/s]; 1 - exp(-gain*step) ({n}); 1/threshold, 0 for none ({n})",
        "state": "zeros before the first sample; then for the next call: "
        f"1, momenta ({n}), other torques ({n}), joint torques ({n}), residuals ({n})"
        + f", payload ({observed.payload})"
        * bool(observed.links),
        "payload": _payload_means(observed.links),
        "residual": "of each sample, torques from outside [N m or N], filtered",
        "joint": "of each sample, the joint furthest over its threshold, counted from 1, or 0; "
        "a residual that is not a number counts as over it",
    }
    name = identifier(prefix or robot.name)
    title = f"Momentum observer of {robot.name}"
    found = loop_source(title, name, observer_loop(observed), scalar, meanings)
    size = f"#define {name.upper()}_STATE {observed.state} /* numbers of the state */\n"
    numbers = initializer(name, "settings", observer.settings, scalar, "settings of this observer")
    body, end, _ = found.header.rpartition("\n#endif")
    return replace(found, header=f"{body}\n{size}{numbers}{end}\n")


def _payload_means(links: Sequence[str | None]) -> str:
    """Whose payload it is."""
    if list(links) == [None]:
        return f"from each sample on, {MEANINGS[PAYLOAD]}"
    where = ", ".join("the tip" if link is None else f"link '{link}'" for link in links)
    return f"from each sample on, for {where}, ten numbers each: {MEANINGS[PAYLOAD]}"
