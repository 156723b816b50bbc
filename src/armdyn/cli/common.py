"""Parts that verbs share: tables, arguments, reading of numbers, files."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import numpy as np
import typer

from armdyn.cli.running import ROBOT_PANEL, tell
from armdyn.description import bundled_robots
from armdyn.description.plausibility import gathered
from armdyn.description.writing import SUFFIXES
from armdyn.expression import ArmdynError, Expression, parse
from armdyn.model import PhysicsWarning
from armdyn.model.edit import by_joint
from armdyn.model.parts import MotorLimits
from armdyn.names import listed, one_line, quoted
from armdyn.progress import stage
from armdyn.robot import Robot

if TYPE_CHECKING:
    from armdyn.motion import Trajectory
    from armdyn.motion.timing.exceeded import Exceeded
    from armdyn.simulation.run import Run


FIRST = 3  # warnings about a description that a verb says


class Rotors(StrEnum):
    exact = "exact"
    reflected = "reflected"
    none = "none"


OutputOption = Annotated[Path, typer.Option("--output", "-o", help="CSV file to write, or MAT file (.mat).")]
MotionOption = Annotated[
    Path | None, typer.Option(help="A motion, as `armdyn trajectory` writes it; default: one is chosen.")
]
WrenchOption = Annotated[
    str | None, typer.Option(help="Force and moment of the tip on its surroundings, world axes, 6 numbers.")
]
CycleOption = Annotated[
    str | None,
    typer.Option(help="A motion as a cycle file: a path, or a bundled one, such as planar_triangular."),
]


def _option(text: str, *names: str, **more: Any) -> Any:
    """An option that all verbs with a robot have."""
    return typer.Option(*names, help=text, rich_help_panel=ROBOT_PANEL, **more)


@dataclass(frozen=True)
class GivenRobot:
    """A robot as it stands on the command line: a verb's parameter of this type, under `@takes_robot`.

    Its fields after the first are the options that every such verb has.
    """

    source: str  # a bundled name or a path
    tip: Annotated[
        str | None,
        _option("The link that ends the chain; joints beside it are locked at 0."),
    ] = None
    lock: Annotated[
        list[str] | None, _option("Lock a joint at a position; may be repeated.", metavar="JOINT=POSITION")
    ] = None
    payload: Annotated[
        str | None,
        _option(
            "A body at the tip: its mass [kg]; then also its centre of mass x, y, z [m]; then also its "
            "tensor about that, xx, xy, xz, yy, yz, zz [kg m²].",
            metavar="NUMBERS",
        ),
    ] = None
    gear: Annotated[
        list[str] | None,
        _option(
            "Another gear, with its sign, behind the same motor; its rotor, friction and limits stay; may be "
            "repeated.",
            metavar="JOINT=RATIO",
        ),
    ] = None
    link: Annotated[
        str | None, _option("A link whose frame takes the place of the tip; no joint is locked.")
    ] = None
    rotors: Annotated[Rotors | None, _option("Rotor model; default: what the file says.")] = None
    base: Annotated[str | None, _option("URDF, MJCF: the link to stand on.")] = None
    repair: Annotated[
        bool, _option("URDF, MJCF: mend what can be mended safely, and say what.", "--repair")
    ] = False
    snap: Annotated[
        bool, _option("URDF, MJCF: make rounded angles and axes exact, and say which.", "--snap")
    ] = False

    @property
    def is_changed(self) -> bool:
        """True if an option asks for another robot than the file's."""
        return self != GivenRobot(self.source)

    def load(self) -> Robot:
        """The robot, with what the options ask for."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PhysicsWarning)  # `show` says what looks wrong
            robot = Robot.load(
                self.source,
                base=self.base,
                tip=self.tip,
                lock=_numbers_of("--lock", "POSITION", self.lock),
                repair=self.repair,
                snap=self.snap,
            )
        if self.rotors is not None:
            robot = robot.with_rotors(self.rotors.value)
        if self.gear:
            robot = _geared(robot, _numbers_of("--gear", "RATIO", self.gear))
        if self.link is not None:
            robot = robot.with_tip(self.link)
        return robot if self.payload is None else robot.with_payload(**_payload(self.payload))


_ROBOT = typer.Argument(help="A bundled robot's name, or a path to a robot file, a URDF or an MJCF file.")


def takes_robot(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb with the options of robots behind its own; its parameters of type `GivenRobot` know them."""
    hints = get_type_hints(verb, include_extras=True)
    robots = [name for name, hint in hints.items() if getattr(hint, "__origin__", hint) is GivenRobot]
    options = get_type_hints(GivenRobot, include_extras=True)
    del options["source"]

    @wraps(verb)
    def run(**arguments: Any) -> None:
        asked = {name: arguments.pop(name) for name in options}
        verb(**{name: GivenRobot(x, **asked) if name in robots else x for name, x in arguments.items()})

    for name in robots:  # what typer reads is a text, with the help of the verb or of all verbs
        hints[name] = Annotated[str, *getattr(hints[name], "__metadata__", (_ROBOT,))]
    own = [x.replace(annotation=hints[x.name]) for x in inspect.signature(verb).parameters.values()]
    further = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, annotation=hint, default=getattr(GivenRobot, name)
        )
        for name, hint in options.items()
    ]
    signature = inspect.Signature([*own, *further])
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {x.name: x.annotation for x in signature.parameters.values()}
    return run


def _payload(text: str) -> dict[str, Any]:
    """The arguments of `with_payload` from the option --payload."""
    entries = _entries_of(text, 10)
    if len(entries) not in (1, 4, 10):
        raise ArmdynError(
            "--payload: expected 1, 4 or 10 numbers separated by commas (mass; x, y, z; xx, xy, xz, yy, "
            f"yz, zz), found {len(entries)}: '{text}'"
        )
    try:
        values = [parse(x, ()) for x in entries]
    except ArmdynError as error:
        raise ArmdynError(f"--payload: {error}") from None
    named = {"mass": values[0], "com": values[1:4], "inertia": values[4:]}
    return {name: x for name, x in named.items() if not isinstance(x, list) or x}


def by_joint_of(option: str, what: str, given: Sequence[str] | None) -> dict[str, str]:
    """All of an option JOINT=…, by joint. Names may have "=" in them, what follows may not."""
    found: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.rpartition("=")
        if not equals or not name:
            raise ArmdynError(f"{option}: expected JOINT={what}, found '{text}'")
        if name in found:
            raise ArmdynError(f"{option}: joint '{name}' is given twice")
        found[name] = value
    return found


def _numbers_of(option: str, what: str, given: Sequence[str] | None) -> dict[str, Expression]:
    """All of an option JOINT=NUMBER, by joint."""
    texts = by_joint_of(option, what, given)
    try:
        return {name: parse(text, ()) for name, text in texts.items()}
    except ArmdynError as error:
        raise ArmdynError(f"{option}: {error}") from None


def _geared(robot: Robot, gears: dict[str, Expression]) -> Robot:
    """The robot with other gears behind its motors, and a note where no limit follows them."""
    model, tables, unmoved = robot.model, dict[str, dict[str, Any]](), list[str]()
    for name, gear in gears.items():
        link = model.links[model.index[next(iter(by_joint(model, {name: gear}, "--gear")))]]
        joint, motor = f"joint {quoted(link.joint_label)}", link.motor
        if motor is None:
            raise ArmdynError(
                f"--gear: {joint} has no motor; `motor` in a robot file and with_motors give one"
            )
        if model.rotors == "reflected" and model.number(motor.gear) == 1:
            raise ArmdynError(
                f"--gear: the file gives the rotor of {joint} as it counts at the joint, without its gear; "
                "with_motors takes both"
            )
        tables[name] = {"gear": gear, "inertia": {"axial": motor.axial, "transverse": motor.transverse}}
        if motor.limits == MotorLimits() and any((link.limits.torque, link.limits.velocity)):
            unmoved.append(joint)
    try:
        geared = robot.with_motors(tables, rotors=model.rotors)
    except ArmdynError as error:
        raise ArmdynError(f"--gear: {str(error).removeprefix('with_motors: ')}") from None
    if unmoved:
        where = f"{listed(unmoved)} are given there and not at the motor"
        tell(f"note: --gear: limits of {where}: no gear changes them")
    said = ", ".join(f"gear {gear} at {quoted(name)}" for name, gear in gears.items())
    return Robot(replace(geared.model, name=f"{robot.name}, {said if len(gears) < 3 else 'other gears'}"))


def motion_of(
    robot: Robot, trajectory: Path | None, cycle: str | None, step: float | None = None
) -> Trajectory | None:
    """The motion of --trajectory or --cycle; None where neither is given."""
    from armdyn.motion import Trajectory, load_cycle  # bring SciPy: only when asked for

    if trajectory is not None and cycle is not None:
        raise ArmdynError("give either a file with a motion or --cycle")
    if cycle is not None:
        try:
            with stage("the motion of the cycle"):
                return load_cycle(robot, cycle, **({} if step is None else {"step": step}))
        except ArmdynError as error:
            text = str(error)
            raise ArmdynError(text if text.startswith("step: ") else f"--cycle: {text}") from None
    if trajectory is None:
        return None
    motion = Trajectory.from_csv(trajectory)
    if motion.n != robot.n:
        raise ArmdynError(f"{trajectory}: it moves {motion.n} joints, but {robot.name} has {robot.n}")
    return motion


def say(text: str) -> None:
    """Print one line, without control characters from names and paths that could act on the terminal."""
    print(one_line(text))


def say_warnings(robot: Robot, source: str) -> None:
    """How many things look wrong in a description, and the first of them."""
    if not (found := robot.warnings):
        return
    said = gathered(found)
    count = "1 thing looks" if len(found) == 1 else f"{len(found)} things look"
    more = f", the first {FIRST} here; `armdyn show {source}` lists all" if len(said) > FIRST else ""
    say(f"{count} wrong in the description{more}")
    for text in said[:FIRST]:
        say(f"warning: {text}")


def say_exceeded(found: Sequence[Exceeded]) -> None:
    """A line for each limit that a motion exceeds."""
    from armdyn.motion.timing.exceeded import sentences

    for text in sentences(found):
        say(f"warning: {text}")


def check_output(output: Path | None, *inputs: str | Path | None, option: str = "--output: ") -> None:
    """Refuse, before the work begins, an output file that cannot be written or that is also an input."""
    if output is None:
        return
    if output.is_dir():
        raise ArmdynError(f"{option}cannot write '{output}': it is a folder")
    if not output.parent.is_dir():
        raise ArmdynError(f"{option}cannot write '{output}': there is no folder '{output.parent}'")
    if any(is_read(output, given) for given in inputs if given is not None):
        raise ArmdynError(f"{option}'{output}' is also an input; choose another file")


def write_samples(made: Trajectory | Run, output: Path) -> None:
    """Write a motion or a run: a MAT file where the name says so, else CSV."""
    (made.to_mat if output.suffix.lower() == ".mat" else made.to_csv)(output)
    say(f"wrote {output}")


def check_folder(output: Path, option: str = "--output: ") -> None:
    """Refuse, before the work begins, a folder that cannot be made."""
    if output.exists() and not output.is_dir():
        raise ArmdynError(f"{option}cannot write to '{output}': it is not a folder")
    if not output.parent.is_dir():
        raise ArmdynError(f"{option}cannot write to '{output}': there is no folder '{output.parent}'")


def check_robot_file(output: Path | None, *inputs: str | Path | None) -> None:
    """The same of a robot file, whose name says one of the formats that can be written."""
    check_output(output, *inputs)
    if output is not None and output.suffix.lower() not in SUFFIXES:
        allowed = ", ".join(SUFFIXES)
        raise ArmdynError(f"--output: cannot write '{output}': a robot file's name ends with {allowed}")


def is_read(output: Path, given: str | Path) -> bool:
    """True if two paths lead to one regular file. Devices may be both, and bundled robots are not files."""
    if given in bundled_robots() or not output.is_file():
        return False
    return Path(given).exists() and output.samefile(given)


def start_of(robot: Robot, text: str | None) -> np.ndarray:
    """The positions of --from; default zeros, in closed chains the posture that was first closed."""
    if text is None and robot.model.loops:
        return robot.assembly.reference
    return numbers(text, "--from", robot.n)


def numbers(text: str | None, option: str, count: int) -> np.ndarray:
    """`count` numbers of an option, zeros where it is not given."""
    if text is None:
        return np.zeros(count)
    entries = _entries_of(text, count)
    if len(entries) != count:
        raise ArmdynError(
            f"{option}: expected {count} numbers separated by commas, found {len(entries)}: '{text}'"
        )
    return _values(entries, option)


def wrench_of(text: str | None) -> np.ndarray | None:
    """h_e of the option --wrench; None where it is not given."""
    return None if text is None else numbers(text, "--wrench", 6)


def name_list(text: str) -> list[str]:
    """Names between commas."""
    return [x.strip() for x in text.split(",") if x.strip()]


def number_lists(**given: str | None) -> dict[str, Any]:
    """What options give by `number_list`, by the names of their parameters (`max_jerk` for --max-jerk)."""
    return {name: number_list(text, f"--{name.replace('_', '-')}") for name, text in given.items()}


def number_list(text: str | None, option: str) -> float | np.ndarray | None:
    """One number, or an array of several, of an option; None where it is not given."""
    if text is None:
        return None
    entries = _entries_of(text, 2)
    if not entries:
        raise ArmdynError(f"{option}: expected a number, or several separated by commas, found '{text}'")
    values = _values(entries, option)
    return float(values[0]) if len(values) == 1 else values


def _entries_of(text: str, count: int) -> list[str]:
    """Entries between commas; a comma at the end adds nothing, an empty place between two is an entry."""
    entries = text.replace(";", ",").split(",")
    if not entries[-1].strip():
        entries.pop()
    return text.split() if len(entries) == 1 and count > 1 else entries


def _values(entries: list[str], option: str) -> np.ndarray:
    try:
        return np.array([parse(x, ()).value() for x in entries])
    except ArmdynError as error:
        raise ArmdynError(f"{option}: {error}") from None
