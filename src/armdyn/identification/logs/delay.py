"""A constant delay between positions and torques, taken out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from armdyn.identification.logs.record import Record


def shifted(record: Record, delay: float) -> Record:
    """Torques as they were `delay` seconds later, linear between samples; not used where there are none."""
    tau, usable = record.tau.copy(), np.zeros_like(record.usable)
    for part in record.segments:
        t = record.t[part]
        at = t + delay
        k = np.clip(np.searchsorted(t, at, "right") - 1, 0, len(t) - 2)
        inside = (at >= t[0]) & (at <= t[-1])
        for j in range(record.n):
            good = record.usable[part, j]
            tau[part, j] = np.interp(at, t, record.tau[part, j])
            usable[part, j] = inside & good[k] & good[k + 1]
    note = f"the torques were recorded {1e3 * delay:.4g} ms after the positions; this was taken out"
    return replace(record, tau=tau, usable=usable, notes=(*record.notes, note), delay=record.delay + delay)
