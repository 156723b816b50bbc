"""The data of a kernel: named inputs and outputs, the program between them, and what identifies it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armdyn.program.loops import Loop
from armdyn.program.program import Program, Shape


@dataclass(frozen=True)
class Specification:
    """A function of arrays: inputs (..., size) by name, outputs (..., *shape).

    `record` makes the program when it is needed; `identity` is a text with all that the program depends on.
    `loop`, if there is one, makes the same function as a loop around programs, where one program would be too
    long: that is then recorded only for those who ask for it. The loop has no counts; its arguments, with one
    row each, are the inputs and then the outputs. `shared` is the same function in a form that other robots
    can use too.
    """

    name: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[Shape, ...]
    record: Callable[[], Program]
    identity: str
    shared: Shared | None = None
    loop: Callable[[], Loop] | None = None

    @cached_property
    def program(self) -> Program:
        """The program, recorded when it is first needed."""
        return self.record()

    @cached_property
    def body(self) -> Program | Loop:
        """The code to run: the loop if there is one, else the program."""
        return self.loop() if self.loop else self.program


@dataclass(frozen=True)
class Shared:
    """A function that takes its constants as a vector, its first input, and this vector of a robot.

    Robots that differ only in numbers have the same specification here, and so the same machine code.
    """

    specification: Specification
    numbers: np.ndarray
