"""The reference: which public names stand on which page. Signatures and texts come from the code itself."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from inspect import getattr_static, getdoc, isclass
from pathlib import Path
from typing import Any

from armdyn.robot.functions import FUNCTIONS

SOURCE = Path(__file__).resolve().parents[2] / "src"
FACES = ("armdyn", "armdyn.robot", "armdyn.analysis", "armdyn.motion", "armdyn.simulation")
FACES += ("armdyn.exact", "armdyn.identification", "armdyn.studies", "armdyn.report", "armdyn.workbench")


@dataclass(frozen=True)
class Group:
    """A page of the reference: its names stand in this order, spelled as users import them."""

    file: str
    title: str
    lead: str
    names: tuple[str, ...]
    brief: bool = False  # without members: errors and warnings have none of their own

    def has_page_for(self, name: str) -> bool:
        """Whether it is a class with a page of its own; that of Robot is the page of its group."""
        return not self.brief and name != "armdyn.Robot" and isclass(_object(name))

    def file_of(self, name: str) -> str:
        """The page of a class."""
        return f"{self.file.removesuffix('.md')}-{name.rpartition('.')[2].lower()}.md"


def _of(module: str, names: str) -> tuple[str, ...]:
    return tuple(f"{module}.{name}" for name in names.split())


# The members of Robot, which are many, by what they are for: a page for each row.
KINEMATICS = "pose poses jacobian jacobian_dot com_position rotor_jacobian"
DERIVATIVES = [name for name in FUNCTIONS if name.endswith(("_derivatives", "_hessian_product"))]
ROBOT = {
    "Make one": "load from_dict from_toml",
    "Dynamics": " ".join(x for x in FUNCTIONS if x not in [*KINEMATICS.split(), *DERIVATIVES]),
    "Kinematics": KINEMATICS,
    "Derivatives": " ".join(DERIVATIVES),
    "Equations and parameters": "equations symbolic base_parameters parameters parameter_names symbols",
    "What it is": "name n coordinates joints bodies actuated drives transmission dh_table warnings "
    "model mechanism",
    "Change it": "locked without with_payload with_tip with_motors with_friction with_limits with_symbols "
    "with_parameters with_rotors with_gravity with_rigid_joints in_dh",
    "Save and compare": "save to_toml to_dict diff",
    "Closed chains": "joint_positions joint_velocities assembly assembly_modes with_posture opened "
    "loop_wrenches actuator_torques",
    "Code": "compile program jax casadi export_c export_matlab export_fmu",
}

GROUPS = (
    Group(
        "robot.md",
        "Robot",
        "A robot, all of its numeric functions, and how it is changed. [Numeric functions](../functions.md) "
        "has the same as one table; [robots](../robots.md) says how one is described.",
        _of("armdyn", "Robot BaseMotion bundled_robots") + _of("armdyn.robot", "Drives ShaftLimits"),
    ),
    Group(
        "bodies.md",
        "Bodies and numbers",
        "Inertias of solids for links and payloads, and numbers that may be symbols.",
        _of("armdyn", "Inertia box cylinder hollow_cylinder sphere rod point_mass Expression"),
    ),
    Group(
        "equations.md",
        "Equations",
        "What `robot.equations()` and `robot.base_parameters()` give. "
        "[A first session](../first-session.md) uses them; [derivations](../derivations.md) has Jacobians, "
        "energies and augmented links.",
        _of("armdyn", "Equations Proof BaseParameters")
        + _of("armdyn.exact", "Array NamedArray Jacobian AnalyticalJacobian Energy AugmentedLink"),
    ),
    Group(
        "analysis.md",
        "Analysis",
        "What the model tells about a state: [torques](../torques.md), "
        "[operational space](../operational-space.md), [manipulability](../manipulability.md), "
        "[linear systems](../simulation.md#near-a-state-linear).",
        _of("armdyn", "contributions")
        + _of("armdyn.analysis", "Contributions")
        + _of("armdyn", "rotor_error")
        + _of("armdyn.analysis", "RotorError RotorErrorRow")
        + _of("armdyn", "joint_limits")
        + _of("armdyn.analysis", "JointLimits")
        + _of("armdyn", "operational")
        + _of("armdyn.analysis", "Operational")
        + _of("armdyn", "dynamic_manipulability velocity_ellipsoid force_ellipsoid manipulability")
        + _of("armdyn.analysis", "Ellipsoid")
        + _of("armdyn", "linearize")
        + _of("armdyn.analysis", "LinearSystem DiscreteSystem"),
    ),
    Group(
        "motion.md",
        "Motion",
        "[Trajectories](../trajectories.md), [cycles](../pick-and-place.md), [other timings](../scaling.md), "
        "and [loads of the motors](../motors.md).",
        _of("armdyn", "Trajectory")
        + _of("armdyn.motion", "Samples")
        + _of("armdyn", "inverse_kinematics load_cycle bundled_cycles scale_to_limits")
        + _of("armdyn.motion", "Scaled")
        + _of("armdyn", "retime")
        + _of("armdyn.motion", "Retimed motion_parts")
        + _of("armdyn", "time_optimal")
        + _of("armdyn.motion", "TimeOptimal")
        + _of("armdyn", "exceeded_limits")
        + _of("armdyn.motion", "Exceeded")
        + _of("armdyn", "motor_loads MotorLoads elastic_feedforward ElasticFeedforward"),
    ),
    Group(
        "simulation.md",
        "Simulation and control",
        "[Simulation](../simulation.md), [controllers](../control.md), observers, and the same as C.",
        _of("armdyn", "simulate")
        + _of("armdyn.simulation", "Run Event LimitPassed Controller")
        + _of("armdyn", "learn_torques")
        + _of("armdyn.simulation", "LearnedTorques")
        + _of("armdyn", "PDGravity ComputedTorque OperationalControl")
        + _of("armdyn.simulation", "TipPoint TipLine")
        + _of("armdyn", "AdaptiveControl GravityCompensation FrictionCompensation MotorPD MomentumObserver")
        + _of("armdyn.simulation", "Observation Collision controller_source observer_source steps_source"),
    ),
    Group(
        "identification.md",
        "Identification",
        "[Logs](../logs.md), [motions for identification](../excitation.md), "
        "[estimates](../identification.md) and [payloads](../payload.md).",
        _of("armdyn", "Log")
        + _of("armdyn.identification", "LogFile Record")
        + _of("armdyn", "excite Excitation Workspace identify Fit identify_fleet")
        + _of(
            "armdyn.identification",
            "look Look Covers Prediction Friction drift Drift Delay estimate_delay consistent Consistent",
        )
        + _of("armdyn", "identify_payload payload_from_sensor Payload OnlineFit")
        + _of("armdyn.identification", "Estimates online_source"),
    ),
    Group(
        "studies.md",
        "Designs compared and chosen",
        "Tables of cases run, values of a robot's symbols for which an objective is least, and motors and "
        "gears chosen: [a thousand designs](../studies.md), [choose your motors](../drives.md).",
        _of("armdyn", "study optimise size_drives")
        + _of(
            "armdyn.studies",
            "Cases Study Row Rows StudyFile pareto_front best_rows rank_correlations RankCorrelations "
            "sobol_indices SobolIndices "
            "Sizing DriveAssignment DriveRow NextDown load_catalogue Catalogue Pair bundled_catalogues "
            "Optimum Active Measure Constraint TipMotion rms_torque peak_torque "
            "peak_speed energy torque speed along potential_spread manipulability_measure isotropy mass "
            "formula StudyError",
        ),
    ),
    Group(
        "report.md",
        "Pictures and reports",
        "[Reports and pictures](../reports.md) and [exercises](../exercises.md) show them at work.",
        _of(
            "armdyn.report",
            "write_report write_fit_report write_look_report write_study_report exercise Exercise random_arm "
            "default_motion plot_arm plot_strobe "
            "plot_trajectory plot_tip plot_contributions plot_rotor_error plot_motor_loads plot_scaling "
            "plot_path_speed plot_run "
            "plot_energy plot_ellipsoids plot_dynamic_ellipsoid plot_log plot_signals plot_cutoffs "
            "plot_prediction plot_residuals plot_friction plot_estimates plot_correlation "
            "plot_singular_values plot_look plot_speeds plot_noise plot_sizing",
        ),
    ),
    Group(
        "workbench.md",
        "Workbench",
        "[The workbench](../workbench.md) in the browser; `armdyn view ROBOT` in a terminal opens it, too.",
        _of("armdyn", "view") + _of("armdyn.workbench", "Workbench"),
    ),
    Group(
        "computing.md",
        "Threads and backends",
        "How functions run; [everything at a glance](../overview.md#arrays-and-compiled-code) says when that "
        "matters.",
        _of("armdyn", "set_threads get_threads backend set_backend"),
    ),
    Group(
        "errors.md",
        "Errors and warnings",
        "What armdyn refuses is an `ArmdynError`, which is a `ValueError`; an argument of a wrong type is a "
        "`TypeError`. Warnings are Python's: `warnings.simplefilter` turns them off or into errors.",
        _of("armdyn", "ArmdynError DescriptionError MotionError IdentificationError")
        + _of("armdyn.exact", "ProofError SizeError SpringError")
        + _of("armdyn.analysis", "AnalysisError")
        + _of("armdyn.simulation", "SimulationError")
        + _of("armdyn.report", "ReportError")
        + _of("armdyn.workbench", "ViewError")
        + _of("armdyn", "PhysicsWarning ExportWarning BaseParameterWarning CacheWarning MotionWarning")
        + _of("armdyn", "CompileWarning")
        + _of("armdyn", "SimulationWarning IdentificationWarning")
        + _of("armdyn.analysis", "OperationalWarning"),
        brief=True,
    ),
)

HEAD = """# Python reference

Every public name, with its signature and what its docstring says. The search finds these names, too. A page
for each task is quicker to learn from: [everything at a glance](../overview.md) leads there.

In signatures, `Numbers` is whatever NumPy makes an array of, and arrays on a GPU and of other libraries;
`Floats` is the array that comes back, `Scalars` one number for each state. Shapes and units are in the texts.
What is not possible raises an `ArmdynError` or one of [its kinds](errors.md), whose message says what was
found, where, and what is allowed.
"""


def public_names() -> set[str]:
    """What the faces promise, each name where the first face has it."""
    found: dict[str, str] = {}
    for face in FACES:
        text = (SOURCE / face.replace(".", "/") / "__init__.py").read_text("utf-8")
        (names,) = re.findall(r"^__all__ = (\[[^\]]*\])", text, re.MULTILINE)
        for name in ast.literal_eval(names):
            found.setdefault(name, f"{face}.{name}")
    return set(found.values())


def pages() -> dict[str, str]:
    """The pages of the reference by place: their entries are directives for mkdocstrings.

    A class has a page of its own, below that of its group; Robot has several; errors stand together.
    """
    found, lines = {}, [HEAD]
    for title, members in ROBOT.items():
        entries = "\n".join(f"::: armdyn.Robot.{member}\n" for member in members.split())
        found[f"reference/{_robot_file(title)}"] = (
            f"# Robot: {title.lower()}\n\n[Robot](robot.md)\n\n{entries}"
        )
    for group in GROUPS:
        found[f"reference/{group.file}"] = _page(group)
        for name in filter(group.has_page_for, group.names):
            own = name.rpartition(".")[2]
            found[f"reference/{group.file_of(name)}"] = (
                f"# {own}\n\n[{group.title}]({group.file})\n\n{_entry(name)}"
            )
        lines.append(f"## {group.title}\n\n[{group.title}]({group.file}): {_list(group, group.names)}\n")
        if group.file == "robot.md":
            parts = ", ".join(f"[{title.lower()}]({_robot_file(title)})" for title in ROBOT)
            lines.append(f"What a robot has and does: {parts}.\n")
    found["reference/index.md"] = "\n".join(lines)
    return found


def _page(group: Group) -> str:
    """What is no class, below links to the classes."""
    classes = [name for name in group.names if group.has_page_for(name)]
    listed = f"Classes: {_list(group, classes)}.\n\n" if classes else ""
    entries = "\n".join(_entry(name, group.brief) for name in group.names if name not in classes)
    return f"# {group.title}\n\n{group.lead}\n\n{listed}{entries}"


def _entry(name: str, brief: bool = False) -> str:
    """A directive for mkdocstrings. Below that of Robot stand lists of its members."""
    if brief:
        return f"::: {name}\n    options:\n      members: false\n"
    if name != "armdyn.Robot":
        base, members = _inherited(name)
        also = f"It has all that [`{base}`][{base}] has, too.\n\n" if base else ""
        return f"{also}::: {identifier(name)}\n    options:\n      inherited_members: {json.dumps(members)}\n"
    lines = ["::: armdyn.Robot\n    options:\n      members: false\n      inherited_members: false\n"]
    for title, members in ROBOT.items():
        rows = [f"| [`{member}`][armdyn.Robot.{member}] | {_said(member)} |" for member in members.split()]
        more = f"[Their parameters, results and errors]({_robot_file(title)})"
        lines += [f"## {title}\n", "| | |", "|---|---|", *rows, f"\n{more}\n"]
    return "\n".join(lines)


def _robot_file(title: str) -> str:
    """The page of some of Robot's members."""
    return f"robot-{title.lower().replace(' ', '-')}.md"


def _said(member: str) -> str:
    """The first paragraph that a docstring of Robot has, as a cell of a table."""
    found = getattr_static(_object("armdyn.Robot"), member)
    text = getdoc(found.fget if isinstance(found, property) else found) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")


def identifier(name: str) -> str:
    """What mkdocstrings calls it: a function in a module of the same name is not that module."""
    module = (SOURCE / name.replace(".", "/")).with_suffix(".py")
    return f"{name}.{name.rpartition('.')[2]}" if module.is_file() else name


def _inherited(name: str) -> tuple[str, list[str]]:
    """The class of the reference that a class extends, if any, and what it inherits from others."""
    found = _object(name)
    if not isclass(found):
        return "", []
    public = {_object(other): other for group in GROUPS for other in group.names if isclass(_object(other))}
    bases = [base for base in found.__mro__[1:] if base.__module__.startswith("armdyn")]
    shown = [base for base in bases if base in public]
    members = {member for base in bases if base not in public for member in vars(base)}
    members -= {member for base in shown for member in dir(base)}
    return public[shown[0]] if shown else "", sorted(x for x in members if not x.startswith("_"))


def _object(name: str) -> Any:
    module, _, own = name.rpartition(".")
    return getattr(import_module(module), own)


def _list(group: Group, names: Iterable[str]) -> str:
    """Names with links: of a class to its page, of others to where they stand."""
    found = []
    for name in names:
        own = name.rpartition(".")[2]
        target = f"({group.file_of(name)})" if group.has_page_for(name) else f"[{identifier(name)}]"
        found.append(f"[`{own}`]{target}")
    return ", ".join(found)
