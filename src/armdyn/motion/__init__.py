"""Trajectories and what they cost: profiles, paths of the tip, scaling to limits, least time, motor loads.

Order: errors, loads, motion, profiles, csv_files, sequences, inverse_kinematics, tip_motions,
trajectory, elastic, torques, timing/, cycles, motor_loads.
"""

from armdyn.motion.cycles import bundled_cycles, load_cycle
from armdyn.motion.elastic import ElasticFeedforward, elastic_feedforward
from armdyn.motion.errors import MotionError, MotionWarning
from armdyn.motion.inverse_kinematics import inverse_kinematics
from armdyn.motion.motor_loads import MotorLoads, motor_loads
from armdyn.motion.timing.exceeded import Exceeded, exceeded_limits
from armdyn.motion.timing.retime import Retimed, motion_parts, retime
from armdyn.motion.timing.scaling import Scaled, scale_to_limits
from armdyn.motion.timing.time_optimal import TimeOptimal, time_optimal
from armdyn.motion.trajectory import Samples, Trajectory

__all__ = [
    "ElasticFeedforward",
    "Exceeded",
    "MotionError",
    "MotionWarning",
    "MotorLoads",
    "Retimed",
    "Samples",
    "Scaled",
    "TimeOptimal",
    "Trajectory",
    "bundled_cycles",
    "elastic_feedforward",
    "exceeded_limits",
    "inverse_kinematics",
    "load_cycle",
    "motion_parts",
    "motor_loads",
    "retime",
    "scale_to_limits",
    "time_optimal",
]
