"""How the arm moves when its motors are switched off."""

from __future__ import annotations

import numpy as np

from armdyn.report.figures.energy import plot_energy
from armdyn.report.findings.fall import FallFinding
from armdyn.report.page.page import Markup, Part, Picture, join, number, tag


def write_fall(found: FallFinding) -> list[Part]:
    run = found.run
    text: list[str] = ["The motors are switched off half-way through the motion and the arm moves by itself "]
    text.append(f"for {run.t[-1]:g} s. ")
    if found.taken:
        text += ["Friction takes ", number(found.taken, 3), " J. "]
    elif found.moved:
        text.append("Without friction its energy stays constant. ")
    else:
        text.append("It stays where it is. ")
    text += ["The simulation accounts for all energy to ", _power_of_ten(found.drift)]
    text.append(" of the largest kinetic energy.")
    if not run.completed:
        text.append(f" It was not completed: {run.message}.")
    return [Picture(plot_energy(run), "energies of the simulated arm over time", text)]


def _power_of_ten(x: float) -> Markup:
    """An upper bound that does not depend on the last bits of an integration."""
    exponent = int(np.ceil(np.log10(max(x, 1e-15))))
    return join(["better than 10", tag("sup", f"−{-exponent}" if exponent < 0 else str(exponent))])
