"""Integrators: many arms through many steps of fourth-order Runge–Kutta in one call.

What an arm does is a program that gives the rates of a state; the loop over steps is compiled around it, W
arms to a register and slices of arms to threads. With the "evaluator" backend the same steps are taken by
NumPy.
"""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from armdyn.kernels import cache
from armdyn.kernels.backends import get_backend
from armdyn.kernels.kernel import Kernel
from armdyn.kernels.llvm.machine import (
    compile_ir,
    load_object,
    loaded,
    lock,
    toolchain,
    vector_bytes,
)
from armdyn.kernels.loops.integrator_ir import integrator_ir
from armdyn.kernels.loops.integrator_layout import FIELDS, Layout, Programs
from armdyn.kernels.loops.stepping import At, Body, take_steps
from armdyn.kernels.threads import call_on_ranges, get_threads
from armdyn.program.program import Program

MINIMUM_WORK = 2_000_000  # operations per thread: below this, starting a thread costs more than it saves


@dataclass(frozen=True)
class Signals:
    """What the steps are given beyond the state.

    `constants` (arms or 1, columns). `signal` (instants, arms or 1, columns): at the start of every step and
    the end of the last; with `halves` at the middle of every step as well, else linear in between.
    """

    constants: np.ndarray
    signal: np.ndarray
    halves: bool = False


class Integrator:
    """Programs and the layout of their columns, compiled when first used.

    A state is (arms, layout.state): q, q̇, modes, quadratures, 1 while the arm goes on, the number of steps
    it has taken, and when the watched joints left their ranges.
    """

    def __init__(self, programs: Programs, layout: Layout) -> None:
        self.programs, self.layout = programs, layout

    def start(self, q: np.ndarray, qd: np.ndarray, modes: np.ndarray | None = None) -> np.ndarray:
        """The state of arms at positions and velocities (arms, n), their modes (arms, modes)."""
        layout, n = self.layout, self.layout.n
        state = np.zeros((len(q), layout.state))
        state[:, :n], state[:, n : 2 * n] = q, qd
        if modes is not None:
            state[:, 2 * n : layout.quadratures] = modes
        state[:, layout.saved] = 1.0
        for k, (joint, lower, upper) in enumerate(layout.watch.joints, layout.passed):
            state[:, k] = 1.0 * (q[:, joint] > upper) - (q[:, joint] < lower)
        return state

    def advance(
        self,
        state: np.ndarray,
        signals: Signals,
        saved: np.ndarray,
        every: int,
        h: float,
        limit: float,
    ) -> None:
        """Take every · len(saved) steps of h from `state`, in place; every `every`-th state goes to `saved`.

        `saved` is (states, arms, layout.saved), contiguous; an arm with a speed beyond `limit`, or not a
        number, keeps its last state and is saved as NaN from then on; so is one that the watch stops, in the
        state after that step.
        """
        if get_backend() == "evaluator":
            at = signals_at(signals)
            take_steps(self.bodies, self.layout, state, at, saved, every, h, limit)
            return
        self._compiled(state, signals, saved, every, h, limit)

    @cached_property
    def bodies(self) -> dict[str, Body]:
        """The programs as array functions of columns (..., inputs) and (..., outputs)."""
        return {name: _body(name, program) for name, program in self.programs.all.items()}

    # ---- compiled --------------------------------------------------------------------------------------

    def _compiled(
        self, state: np.ndarray, signals: Signals, saved: np.ndarray, every: int, h: float, limit: float
    ) -> None:
        constants, signal = (np.ascontiguousarray(x, float) for x in (signals.constants, signals.signal))
        arms, function = len(state), self._function
        values: dict[str, Any] = {
            "steps": every * len(saved),
            "every": every,
            "h": _bits(h),
            "limit": _bits(limit),
            "state": state.ctypes.data,
            "constants": constants.ctypes.data,
            "constants_step": constants.strides[0] if len(constants) > 1 else 0,
            "signal": signal.ctypes.data,
            "time_step": signal.strides[0] if len(signal) > 1 else 0,
            "signal_step": signal.strides[1] if signal.shape[1] > 1 else 0,
            "halves": int(signals.halves),
            "saved": saved.ctypes.data,
            "saved_step": saved.strides[0],
        }

        def part(first: int, last: int) -> None:
            told = {**values, "first": first, "last": last}
            if function((ctypes.c_int64 * len(FIELDS))(*(told[name] for name in FIELDS))):
                raise MemoryError("integration: not enough memory")

        call_on_ranges(part, self._edges(arms, every * len(saved)))

    def _edges(self, arms: int, steps: int) -> list[int]:
        """Where the arms are cut into slices for threads: at full registers."""
        width = vector_bytes() // 8
        registers = -(-arms // width)
        work = 4 * steps * registers * self.programs.rate.operations
        threads = max(1, min(get_threads(), registers, work // MINIMUM_WORK))
        return [min(arms, width * (registers * k // threads)) for k in range(threads + 1)]

    @cached_property
    def _function(self) -> Any:
        """The compiled function, without the interpreter's lock while it runs."""
        text = "\n".join(f"{name} {program}" for name, program in self.programs.all.items())
        key = cache.digest_of("integrator", text, repr(self.layout), cache.code_digest(), toolchain())
        name = key[:24]
        names = [f"advance_{name}"]
        with lock():
            addresses = loaded(names)
            if addresses is None:
                code = cache.read(key)
                if code is None:
                    code = compile_ir(integrator_ir(self.programs, self.layout, vector_bytes() // 8, name))
                    cache.write(key, code)
                addresses = load_object(code, names)
        return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(addresses[0])


def _bits(x: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", x))[0])


def signals_at(signals: Signals) -> At:
    """Constants and signal side by side, 0, 1 or 2 half steps from the start of a step."""
    constants, signal, halves = signals.constants, signals.signal, signals.halves

    def at(step: int, half: int, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        if len(signal) == 1:
            now = signal[0]
        elif halves:
            now = signal[2 * step + half]
        else:
            now = signal[step + half // 2] if half != 1 else (signal[step] + signal[step + 1]) * 0.5
        arms = len(q)
        shown = [np.broadcast_to(x, (arms, x.shape[-1])) for x in (constants, now)]
        return np.concatenate(shown, axis=-1)

    return at


def _body(name: str, program: Program) -> Body:
    """A program as a function of all its input columns that gives all its output columns."""
    columns = (("columns", sum(size for _, size in program.inputs)),)
    results = (("columns", (len(program.results),)),)
    flat = Program(columns, results, program.nodes, program.results)
    return Kernel.of(name, flat)
