"""Fewer points for drawing, with every extreme kept."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

MOST = 600  # points of a curve


def thinned(t: np.ndarray, y: np.ndarray, most: int = MOST) -> tuple[np.ndarray, np.ndarray]:
    """At most `most` of the points (N,): of each stretch the least and the greatest, and both ends.

    The greatest and least of all points are among them. Gaps (NaN) stay where a stretch has nothing else.
    """
    count = len(t)
    if count <= most:
        return t, y
    each = 2 if np.isfinite(y).all() else 3  # of a stretch
    edges = np.linspace(1, count - 1, (most - 2) // each + 1).astype(int)
    kept = [0, count - 1]
    for a, b in pairwise(edges.tolist()):
        if b <= a:
            continue
        part = y[a:b]
        known = np.flatnonzero(np.isfinite(part))
        if len(known):
            kept += [a + int(known[part[known].argmin()]), a + int(known[part[known].argmax()])]
        if len(known) < len(part):
            kept.append(a + int(np.flatnonzero(~np.isfinite(part))[0]))
    rows = np.unique(kept)
    return t[rows], y[rows]
