"""The algorithms of the book, each once, over any scalar."""

from armdyn.dynamics.adaptive import adaptive_regressor
from armdyn.dynamics.closure_forces import actuator_torques, loop_wrenches, wrenches_in_joints
from armdyn.dynamics.coriolis import coriolis_matrix
from armdyn.dynamics.derivatives import torque_derivatives
from armdyn.dynamics.energy import (
    kinetic_energy,
    kinetic_regressor,
    potential_energy,
    potential_regressor,
)
from armdyn.dynamics.forward import articulated_is_possible, forward_dynamics, forward_dynamics_articulated
from armdyn.dynamics.friction import friction_torques
from armdyn.dynamics.inertia_matrix import (
    inertia_by_jacobians,
    inertia_by_unit_accelerations,
    inertia_matrix,
)
from armdyn.dynamics.newton_euler import (
    CAUSES,
    BaseMotion,
    NewtonEuler,
    contributions,
    gravity_torques,
    holding_torques,
    inverse_dynamics,
    joint_wrenches,
    newton_euler,
    rigid_torques,
)
from armdyn.dynamics.regressor import regressor
from armdyn.dynamics.springs import spring_torques
from armdyn.dynamics.tip import jacobian, jacobian_at_rotor, jacobian_dot, pose, poses

__all__ = [
    "CAUSES",
    "BaseMotion",
    "NewtonEuler",
    "actuator_torques",
    "adaptive_regressor",
    "articulated_is_possible",
    "contributions",
    "coriolis_matrix",
    "forward_dynamics",
    "forward_dynamics_articulated",
    "friction_torques",
    "gravity_torques",
    "holding_torques",
    "inertia_by_jacobians",
    "inertia_by_unit_accelerations",
    "inertia_matrix",
    "inverse_dynamics",
    "jacobian",
    "jacobian_at_rotor",
    "jacobian_dot",
    "joint_wrenches",
    "kinetic_energy",
    "kinetic_regressor",
    "loop_wrenches",
    "newton_euler",
    "pose",
    "poses",
    "potential_energy",
    "potential_regressor",
    "regressor",
    "rigid_torques",
    "spring_torques",
    "torque_derivatives",
    "wrenches_in_joints",
]
