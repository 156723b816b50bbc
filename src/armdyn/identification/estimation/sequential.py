"""The sequential procedure of section 7.4: parameters joint by joint, from the last to the first.

The regressor (7.80) is block triangular: a joint feels the links beyond it only. The torque of the last joint
is solved for the parameters that it shows; they are held while the joint before it is solved for what it
shows beyond them, and so on. Errors are handed on to the joints before: the covariance counts that, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.identification.regression.factor import Factors
from armdyn.identification.regression.solve import RANK


@dataclass(frozen=True)
class Sequence:
    """Estimates x (p,), whose error is Σ_j gains_j Y_jᵀ e_j for noise e_j in the rows of joint j."""

    x: np.ndarray
    gains: tuple[np.ndarray, ...]
    open: np.ndarray  # (p, k) directions that no joint determines
    shown: tuple[int, ...]  # how many combinations each joint's torque gave, joint by joint


def joint_by_joint(factors: Factors, prior: np.ndarray, free: np.ndarray) -> Sequence:
    """From the factors of the joints' rows; what is not `free` (p,) keeps its prior value."""
    p, n = len(prior), len(factors.R)
    x, gains, shown = prior.copy(), [np.zeros((p, p))] * n, [0] * n
    unknown = np.eye(p)[:, free] / _lengths(factors)[free]
    for j in reversed(range(n)):
        A = factors.R[j][:, :p]
        residual = factors.R[j][:, p] - A @ x
        U, s, Vt = np.linalg.svd(A @ unknown, full_matrices=True)
        s = np.pad(s, (0, unknown.shape[1] - len(s)))
        kept = s > RANK * max(float(s.max(initial=0.0)), 1e-300)
        found = unknown @ Vt[kept].T
        x = x + found @ ((U[:, : kept.sum()].T @ residual) / s[kept])
        gain = (found / s[kept] ** 2) @ found.T
        gains = [old - gain @ (A.T @ (A @ old)) for old in gains]
        gains[j] = gain
        unknown, shown[j] = unknown @ Vt[~kept].T, int(kept.sum())
    return Sequence(x, tuple(gains), unknown, tuple(shown))


def _lengths(factors: Factors) -> np.ndarray:
    """Of the columns, all joints together; 1 for those that are zero."""
    squares = sum(np.square(R[:, :-1]).sum(0) for R in factors.R)
    return np.asarray(np.where(squares > 0, np.sqrt(np.maximum(squares, 1e-300)), 1.0))
