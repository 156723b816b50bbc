"""The functions that are timed, and what they should reach against a peer (with 7 joints, if not said)."""

from __future__ import annotations

NESTED = "armdyn, nested"  # tangents of the first derivatives
INPUTS = {  # how many of q, q̇, q̈ (or τ) each takes
    "inverse_dynamics": 3,
    "forward_dynamics": 3,
    "inertia": 1,
    "coriolis": 2,
    "inverse_dynamics_derivatives": 3,
    "forward_dynamics_derivatives": 3,
    "inverse_dynamics_second_derivatives": 3,
    "forward_dynamics_second_derivatives": 3,
    "regressor": 3,
    "gravity": 1,
    "jacobian": 1,
}
SINGLE_AT_MOST = {  # our time over the peer's
    ("inverse_dynamics", "Pinocchio"): 0.36,
    ("forward_dynamics", "Pinocchio"): 0.6,
    ("inverse_dynamics_derivatives", "Pinocchio"): 0.6,
    ("forward_dynamics_derivatives", "Pinocchio"): 0.6,
    ("inverse_dynamics_second_derivatives", "Pinocchio"): 1.0,
    ("inverse_dynamics_second_derivatives", NESTED): 1.0,
    ("forward_dynamics_second_derivatives", NESTED): 1.0,
    ("inertia", "Pinocchio"): 1.0,
}
SINGLE_30_JOINTS_AT_MOST = {
    ("inverse_dynamics_derivatives", "Pinocchio"): 1.0,
    ("forward_dynamics_derivatives", "Pinocchio"): 1.3,
}
BATCH_AT_LEAST = {  # the peer's time over ours, one thread
    ("inverse_dynamics", "Pinocchio"): 20.0,
    ("inverse_dynamics", "CasADi"): 6.0,
    ("forward_dynamics", "Pinocchio"): 8.0,
    ("inertia", "Pinocchio"): 8.0,
    ("coriolis", "Pinocchio"): 8.0,
    ("inverse_dynamics_derivatives", "Pinocchio"): 25.0,
    ("inverse_dynamics_second_derivatives", "Pinocchio"): 5.0,
    ("inverse_dynamics_second_derivatives", NESTED): 1.0,
    ("forward_dynamics_second_derivatives", NESTED): 1.0,
    ("regressor", "Pinocchio"): 5.0,
}
FIRST_USE = {  # seconds, 7 joints
    "inverse_dynamics": 0.5,
    "inertia": 0.5,
    "gravity": 0.5,
    "inverse_dynamics_derivatives": 2.0,
    "forward_dynamics_derivatives": 2.0,
}
FIRST_USE_30_JOINTS = {  # several functions, one after the other in one process: joined by "+"
    "inverse_dynamics": 3.0,
    "inverse_dynamics_derivatives": 5.0,
    "forward_dynamics_derivatives": 5.0,
    "inverse_dynamics_derivatives+forward_dynamics_derivatives": None,
}
FROM_CACHE = 0.03
VARIANTS = 3.0  # seconds for all
COMMAND = 0.4
IMPORT = 0.1
PER_JOINT_WITHIN = 1.5  # most over least time a joint, 5 to 50 joints
TWO_THREADS = 0.9  # of the gain of pure arithmetic
TREE_WITHIN = {
    "inverse_dynamics": 1.1,
    "forward_dynamics": 1.1,
    "gravity": 1.1,
}  # a joint's time, over a chain's
