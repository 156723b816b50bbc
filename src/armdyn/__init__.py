"""armdyn: the dynamics of robot manipulators, exact to read and fast to run.

    >>> from armdyn import Robot
    >>> robot = Robot.load("planar")  # a bundled robot, or a path: TOML, URDF, MJCF
    >>> robot.inertia([0.3, 0.5]).shape  # numbers: B(q), for one posture or a million
    (2, 2)
    >>> print(robot.equations().g[1])  # formulas: exact, and proved by .prove()
    ml2*l2*g*c12

Start with `help(armdyn.Robot)`. Positions `q`, velocities `qd`, accelerations `qdd` and torques `tau` are
arrays (..., n) over the n moving joints, in SI units and radians. What is done with a robot are functions:
`Trajectory`, `load_cycle`, `scale_to_limits` and `time_optimal` for motions, `motor_loads`, `simulate` and
controllers for it, `linearize`, `identify`, `contributions`, `operational`, `manipulability`; pictures and
`write_report` are in `armdyn.report`. The pages of docs/ lead through them, first-session.md first;
notation.md says what every symbol means. `armdyn --help` in a terminal lists the same work as commands.

The folders, in the order of the flow: `expression` (exact numbers with symbols) → `model` (what a robot is)
→ `dynamics` (the book's algorithms, once, over any scalar) → `description` (text to model) → `exact` (closed
form and proofs) → `program` (algorithms as straight-line code) → `kernels` (compiled array functions, C) →
`robot` (the front door) → `analysis` (what the model tells about a state) → `motion` (trajectories and their
timing) → `simulation` → `identification` (parameters from data) → `studies` (designs compared and
chosen) → `drawing` (what pictures are drawn with) → `report` (pictures, and all of it on one page) →
`workbench` (a page in the browser) → `cli`.
"""

__version__ = "1.0.0"

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armdyn import analysis as analysis
    from armdyn import motion as motion
    from armdyn import report as report
    from armdyn import simulation as simulation
    from armdyn import studies as studies
    from armdyn.analysis.contributions import contributions
    from armdyn.analysis.linearization import linearize
    from armdyn.analysis.manipulability import (
        dynamic_manipulability,
        force_ellipsoid,
        manipulability,
        velocity_ellipsoid,
    )
    from armdyn.analysis.operational import operational
    from armdyn.analysis.rotor_error import rotor_error
    from armdyn.description import DescriptionError, ExportWarning, bundled_robots
    from armdyn.exact import Equations, Proof
    from armdyn.expression import ArmdynError, Expression
    from armdyn.identification import (
        Fit,
        IdentificationError,
        IdentificationWarning,
        Log,
        OnlineFit,
        identify_fleet,
    )
    from armdyn.identification.excitation.bounds import Workspace
    from armdyn.identification.excitation.excite import Excitation, excite
    from armdyn.identification.identify import identify
    from armdyn.identification.payload import Payload, identify_payload, payload_from_sensor
    from armdyn.kernels import CacheWarning, CompileWarning, backend, get_threads, set_backend, set_threads
    from armdyn.model import (
        Inertia,
        PhysicsWarning,
        box,
        cylinder,
        hollow_cylinder,
        point_mass,
        rod,
        sphere,
    )
    from armdyn.motion.cycles import bundled_cycles, load_cycle
    from armdyn.motion.elastic import ElasticFeedforward, elastic_feedforward
    from armdyn.motion.errors import MotionError, MotionWarning
    from armdyn.motion.inverse_kinematics import inverse_kinematics
    from armdyn.motion.motor_loads import MotorLoads, motor_loads
    from armdyn.motion.timing.exceeded import exceeded_limits
    from armdyn.motion.timing.retime import retime
    from armdyn.motion.timing.scaling import scale_to_limits
    from armdyn.motion.timing.time_optimal import time_optimal
    from armdyn.motion.trajectory import Trajectory
    from armdyn.robot import BaseMotion, Robot
    from armdyn.robot.base_parameters import BaseParameters, BaseParameterWarning
    from armdyn.robot.joints import joint_limits
    from armdyn.simulation import (
        AdaptiveControl,
        ComputedTorque,
        FrictionCompensation,
        GravityCompensation,
        MomentumObserver,
        MotorPD,
        OperationalControl,
        PDGravity,
        SimulationWarning,
        learn_torques,
        simulate,
    )
    from armdyn.studies.optimise import optimise
    from armdyn.studies.size_drives import size_drives
    from armdyn.studies.study import study
    from armdyn.workbench.opening import view

# Every name is found when it is first used: nobody waits for what they do not use.
_HOMES = {
    "ArmdynError": "expression",
    "Expression": "expression",
    "Inertia": "model",
    "PhysicsWarning": "model",
    "box": "model",
    "cylinder": "model",
    "hollow_cylinder": "model",
    "point_mass": "model",
    "rod": "model",
    "sphere": "model",
    "DescriptionError": "description",
    "ExportWarning": "description",
    "bundled_robots": "description",
    "Equations": "exact",
    "Proof": "exact",
    "CacheWarning": "kernels",
    "CompileWarning": "kernels",
    "backend": "kernels",
    "get_threads": "kernels",
    "set_backend": "kernels",
    "set_threads": "kernels",
    "BaseMotion": "robot",
    "BaseParameterWarning": "robot.base_parameters",
    "BaseParameters": "robot.base_parameters",
    "Robot": "robot",
    "contributions": "analysis",
    "dynamic_manipulability": "analysis",
    "force_ellipsoid": "analysis",
    "joint_limits": "robot.joints",
    "linearize": "analysis",
    "manipulability": "analysis",
    "operational": "analysis",
    "rotor_error": "analysis",
    "velocity_ellipsoid": "analysis",
    "Fit": "identification",
    "identify": "identification",
    "identify_fleet": "identification",
    "Payload": "identification.payload",
    "identify_payload": "identification.payload",
    "payload_from_sensor": "identification.payload",
    "Excitation": "identification.excitation",
    "Workspace": "identification.excitation",
    "excite": "identification.excitation",
    "ElasticFeedforward": "motion",
    "MotionError": "motion",
    "MotionWarning": "motion",
    "MotorLoads": "motion",
    "Trajectory": "motion",
    "bundled_cycles": "motion",
    "elastic_feedforward": "motion",
    "exceeded_limits": "motion",
    "inverse_kinematics": "motion",
    "load_cycle": "motion",
    "motor_loads": "motion",
    "retime": "motion",
    "scale_to_limits": "motion",
    "time_optimal": "motion",
    "AdaptiveControl": "simulation",
    "ComputedTorque": "simulation",
    "FrictionCompensation": "simulation",
    "GravityCompensation": "simulation",
    "MomentumObserver": "simulation",
    "MotorPD": "simulation",
    "OperationalControl": "simulation",
    "PDGravity": "simulation",
    "SimulationWarning": "simulation",
    "learn_torques": "simulation",
    "simulate": "simulation",
    "IdentificationError": "identification",
    "IdentificationWarning": "identification",
    "Log": "identification",
    "OnlineFit": "identification",
    "optimise": "studies",
    "size_drives": "studies",
    "study": "studies",
    "view": "workbench",
}

_FOLDERS = (
    *("expression", "model", "dynamics", "description", "exact", "program", "kernels", "robot"),
    *("analysis", "motion", "simulation", "identification", "studies", "report", "workbench"),
)

__all__ = [
    "AdaptiveControl",
    "ArmdynError",
    "BaseMotion",
    "BaseParameterWarning",
    "BaseParameters",
    "CacheWarning",
    "CompileWarning",
    "ComputedTorque",
    "DescriptionError",
    "ElasticFeedforward",
    "Equations",
    "Excitation",
    "ExportWarning",
    "Expression",
    "Fit",
    "FrictionCompensation",
    "GravityCompensation",
    "IdentificationError",
    "IdentificationWarning",
    "Inertia",
    "Log",
    "MomentumObserver",
    "MotionError",
    "MotionWarning",
    "MotorLoads",
    "MotorPD",
    "OnlineFit",
    "OperationalControl",
    "PDGravity",
    "Payload",
    "PhysicsWarning",
    "Proof",
    "Robot",
    "SimulationWarning",
    "Trajectory",
    "Workspace",
    "backend",
    "box",
    "bundled_cycles",
    "bundled_robots",
    "contributions",
    "cylinder",
    "dynamic_manipulability",
    "elastic_feedforward",
    "exceeded_limits",
    "excite",
    "force_ellipsoid",
    "get_threads",
    "hollow_cylinder",
    "identify",
    "identify_fleet",
    "identify_payload",
    "inverse_kinematics",
    "joint_limits",
    "learn_torques",
    "linearize",
    "load_cycle",
    "manipulability",
    "motor_loads",
    "operational",
    "optimise",
    "payload_from_sensor",
    "point_mass",
    "retime",
    "rod",
    "rotor_error",
    "scale_to_limits",
    "set_backend",
    "set_threads",
    "simulate",
    "size_drives",
    "sphere",
    "study",
    "time_optimal",
    "velocity_ellipsoid",
    "view",
]


def __getattr__(name: str) -> Any:
    if name in _FOLDERS:
        return _import_module(f"armdyn.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'armdyn' has no attribute '{name}'")
    found = globals()[name] = getattr(_import_module(f"armdyn.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    """The public face; what else is in here serves only to find it."""
    own = (name for name in globals() if name.startswith("__") and name.endswith("__"))
    return sorted({*own, *__all__, *_FOLDERS})
