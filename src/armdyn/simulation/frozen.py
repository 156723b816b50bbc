"""What is handed to code of others."""

from __future__ import annotations

import numpy as np


def frozen(x: np.ndarray) -> np.ndarray:
    """A copy for a function of the user: it can be kept but not written to, and never changes."""
    own = np.array(x)
    own.setflags(write=False)
    return own
