"""Trajectories and what they cost: profiles, paths of the tip, scaling to limits, least time, motor loads."""

from armdyn.motion.cycles.cycle import load_cycle
from armdyn.motion.cycles.cycle_file import bundled_cycles
from armdyn.motion.elastic.feedforward import ElasticFeedforward, elastic_feedforward
from armdyn.motion.errors import MotionError, MotionWarning
from armdyn.motion.least_time.time_optimal import TimeOptimal, time_optimal
from armdyn.motion.motors.loads import MotorLoads, motor_loads
from armdyn.motion.timing.exceeded import Exceeded, exceeded_limits
from armdyn.motion.timing.retime import Retimed, motion_parts, retime
from armdyn.motion.timing.scaling import Scaled, scale_to_limits
from armdyn.motion.tip.inverse_kinematics import inverse_kinematics
from armdyn.motion.trajectories.trajectory import Samples, Trajectory

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
