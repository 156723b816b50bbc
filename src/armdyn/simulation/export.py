"""Controllers, simulation steps and observers as C99 that needs libm only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from armdyn.expression import shown
from armdyn.kernels.c import Words, identifier, initializer
from armdyn.kernels.c_package import (
    CSource,
    CState,
    Further,
    Language,
    ReferenceVectors,
    c_source,
    loop_function,
    loop_state,
    package,
    rounding,
)
from armdyn.program.evaluate import evaluate, evaluate_loop
from armdyn.program.loops import Loop
from armdyn.program.program import Program
from armdyn.robot import Robot
from armdyn.robot.functions import MEANINGS, PAYLOAD
from armdyn.robot.in_languages import EXAMPLE_PAYLOAD
from armdyn.robot.joints import joint_descriptions
from armdyn.robot.postures import random_postures
from armdyn.simulation.actuation import Actuation, actuation
from armdyn.simulation.controller import Controller
from armdyn.simulation.errors import SimulationError, check
from armdyn.simulation.fixed_steps import many_steps
from armdyn.simulation.integrand import Integrand, Sizes, check_friction, law_program, split
from armdyn.simulation.laws import ALL_POSITIONS, FOLLOWERS
from armdyn.simulation.limits import Watch
from armdyn.simulation.observer import MomentumObserver, Observed, observer_loop
from armdyn.simulation.steps import Stepping
from armdyn.simulation.trace import SPEED_LIMIT

SAMPLES = 8  # that a step is tested with
STEPPED = (3, 2)  # rows that simulation steps are tested with, and steps to each
FOLLOWERS_MEAN = "positions that follow because of loops, in their order [rad or m]"


def controller_source(
    controller: Controller,
    prefix: str | None = None,
    scalar: str = "double",
    inputs: Sequence[str] = (),
    libm: bool = True,
) -> CSource:
    """`PREFIX_torques(q, qd, constants, signals, out)`: the law of a controller, in "double" or "float".

    `constants` are its gains and set points, `signals` its targets at the present time; the header lists
    their entries. A law with a memory is `PREFIX_torques(q, qd, constants, signals, memory, out1, out2)`: it
    is called once a sampling period, and out2 is the memory of the next call. `.write(folder)` writes header,
    source and a test program. Where the model has loops, the positions that follow are given after qd. With
    inputs=["payload"] what the tip carries is given after the signals, in laws that compute with it: ten
    numbers, mass, centre of mass and the tensor about it.
    """
    if not isinstance(controller, Controller):
        raise SimulationError(f"controller: expected a Controller, found {type(controller).__name__}")
    check.one_of("scalar", scalar, "double", "float")
    constants, signals = controller.sizes
    words = {**MEANINGS, "constants": _entries(constants), "signals": _entries(signals)}
    words[FOLLOWERS] = FOLLOWERS_MEAN
    words["memory"] = f"memory of the controller{_sampled(controller)}"
    robot = controller.robot
    name = identifier(prefix or robot.name)
    title = f"{type(controller).__name__} of {robot.name}"
    program = controller.kernel.program
    if payload_is_input(inputs):
        program = law_program(robot, controller.law, *controller.sizes, controller.remembered, payload=10)
        start = sum(size for _, size in program.inputs[: [x for x, _ in program.inputs].index(PAYLOAD)])
        if not {("input", k) for k in range(start, start + 10)} & set(program.nodes):
            raise SimulationError(
                f"inputs: the law of {type(controller).__name__} does not compute with what the tip carries; "
                "leave out 'payload'"
            )
    results = [MEANINGS["tau"], "memory at the next sample"][: len(program.outputs)]
    meanings = Words(words, {"torques": results})
    language = Language(scalar, libm)
    state = _law_state(controller, name, program, language, words)
    further = Further(state=state, inputs={PAYLOAD: np.array(EXAMPLE_PAYLOAD)})
    joints = joint_descriptions(robot)
    return c_source(title, name, {"torques": program}, joints, language, meanings, further)


def _law_state(
    controller: Controller, prefix: str, program: Program, language: Language, words: Mapping[str, str]
) -> CState | None:
    """The gains, set points and memory of a controller of one arm, tested over a few samples."""
    constants = [language.rounded(x) for x in controller.checked_constants.values()]
    members = {"constants": np.concatenate([np.zeros(0), *(np.ravel(x) for x in constants)])}
    members["memory"] = np.ravel(controller.first_memory)
    sizes = dict(program.inputs)
    members = {name: x for name, x in members.items() if name in sizes}
    if any(len(x) != sizes[name] for name, x in members.items()):
        return None  # of many arms at once
    rng, t = np.random.default_rng(7), np.arange(SAMPLES) * (controller.period or 1e-3)
    signals = [np.reshape(x, (len(t), -1)) for x in controller.signals(t).values()]
    given = {name: rng.uniform(-1.0, 1.0, (len(t), size)) for name, size in sizes.items()}
    given |= {PAYLOAD: np.tile(EXAMPLE_PAYLOAD, (len(t), 1))} if PAYLOAD in sizes else {}
    given |= {"signals": np.concatenate(signals, axis=1)} if "signals" in sizes else {}
    given = {name: language.rounded(x) for name, x in given.items()}
    given |= {name: np.tile(language.rounded(x), (len(t), 1)) for name, x in members.items()}
    torques = []
    for k in range(len(t)):
        found = evaluate(program, *(given[name][k] for name in sizes))
        torques.append(found[0])
        if controller.remembered and k + 1 < len(t):
            given["memory"][k + 1] = found[1]
    bound = 2 * rounding(program, [given[name] for name in sizes], language)[0]
    called = [f"state->{x}" if x in members else x for x in sizes]
    call = f"{prefix}_torques({', '.join(called)}, tau"
    lines = [f"{call});"]
    if m := controller.remembered:
        lines = [f"{language.scalar} next[{m}];", "int k;", f"{call}, next);"]
        lines += [f"for (k = 0; k < {m}; ++k) {{", "    state->memory[k] = next[k];", "}"]
    inputs = [(x, size) for x, size in sizes.items() if x not in members]
    results = [("tau", controller.robot.n)]
    allowed = bound * (len(t) if controller.remembered else 1)
    vectors = ReferenceVectors({x: given[x] for x, _ in inputs}, {"tau": np.array(torques)}, {"tau": allowed})
    return CState(members, inputs, results, {**words, "tau": MEANINGS["tau"]}, lines, "torques", vectors)


def payload_is_input(inputs: Sequence[str]) -> bool:
    """True if "payload" is among the inputs, which can be nothing else."""
    if not isinstance(inputs, list | tuple) or list(inputs) not in ([], [PAYLOAD]):
        raise SimulationError(f"inputs: found {shown(inputs)}; allowed: [] or ['payload']")
    return bool(inputs)


def steps_source(
    robot: Robot,
    torque: Any = None,
    prefix: str | None = None,
    scalar: str = "double",
    libm: bool = True,
) -> CSource:
    """`PREFIX_integration(rows, every, …)`: fixed Runge–Kutta steps of an arm, as `simulate` takes them.

    `torque` is what `simulate` takes, without functions: None, torques (n,), torques over time (T, n) or a
    controller. Dry friction sticks. The header says what the arrays hold; limits are not watched. In a robot
    with closed chains the first state must close them (`robot.assembly`); every step does.
    """
    check.robot(robot)
    check_friction(robot)
    check.one_of("scalar", scalar, "double", "float")
    driven = actuation(robot, (), 1.0, torque, None)
    drive = driven.drive()
    if drive.asked:
        raise SimulationError("torque: C code cannot call a function of Python; give torques or a controller")
    integrand = Integrand.of(robot, drive)
    columns = Stepping(integrand)
    followers, side = (f"{FOLLOWERS} ({integrand.followers}), ", "side of singular postures (0 at first), ")
    state = f"q ({robot.n}), qd ({robot.n}), {followers * bool(integrand.followers)}"
    state += f"modes of friction ({len(integrand.surfaces)}), {side * bool(integrand.followers)}works of "
    state += f"{', '.join(integrand.works) or 'nothing'}"
    held = drive.held
    more = ["1 while the arm goes on", "steps taken"]
    if held:
        more += [f"memory of the controller ({held.memory})"] * bool(held.memory) + ["torques that are held"]
    meanings = {
        "rows": "states to save",
        "every": "steps from one saved state to the next",
        "settings": "step [s], largest speed before it counts as divergence",
        "constants": _entries(drive.constants),
        "signals": f"at the start, middle and end of every step: {_entries(drive.signals)}",
        "state": f"{state}; then {', '.join(more)}",
        "saved": f"states, the first {columns.width} numbers",
        "gains": _entries(held.constants if held else ()),
        "targets": f"for every step: {_entries(held.signals if held else ())}",
        "due": "for every step, 1 where the controller is sampled, else 0",
        "held": "torques at the beginning of each row [N m or N]",
        "remembered": "memory of the controller at the end of each row",
    }
    name = identifier(prefix or robot.name)
    language, title = Language(scalar, libm), f"Simulation of {robot.name}"
    loop = many_steps(integrand, Watch())
    vectors = _steps_vectors(robot, driven, loop, columns, language)
    function = loop_function(name, loop, language, meanings, vectors)
    return package(title, name, joint_descriptions(robot), language, [function])


def _steps_vectors(
    robot: Robot, driven: Actuation, loop: Loop, columns: Stepping, language: Language
) -> ReferenceVectors | None:
    """A few steps from a random state, so short that errors of its speeds hardly grow; None if they do."""
    n, w, rng = robot.n, columns.width, np.random.default_rng(7)
    q = random_postures(robot.assembly, rng, 1)[0] if robot.model.loops else rng.uniform(-1.0, 1.0, n)
    qd = rng.uniform(1.0, 2.0, n) * rng.choice([-1.0, 1.0], n)
    if columns.integrand.surfaces:
        qd[-1] = 0.0  # friction may hold this joint
    state = np.zeros(next(x.columns for x in loop.arguments if x.name == "state"))
    state[:n], state[columns.followers] = split(robot, robot.assembly(q) if robot.model.loops else q)
    state[n : 2 * n], state[columns.modes], state[w] = qd, columns.integrand.directions(qd), 1.0
    if memory := driven.memory[0].size:
        state[-n - memory : -n] = driven.memory[0]
    rows, every = STEPPED
    counts = {"rows": rows, "every": every}
    for halvings in range(7, 24):
        h = 0.5**halvings
        times = np.arange(2 * rows * every + 1) * (h / 2)
        given = {"settings": np.array([[[h, SPEED_LIMIT]]]), "state": state[None, None]}
        given |= {"constants": driven.constants()[None], "signals": driven.signals(times)}
        if (law := driven.law) is not None:
            due = np.resize([1.0, 0.0], rows * every)[:, None, None]
            given |= {"gains": law.rows[None], "targets": law.targets(times[:-1:2])[:, None], "due": due}
        sizes = {"saved": w, "held": n, "remembered": memory}
        given |= {name: np.zeros((rows, 1, size)) for name, size in sizes.items()}
        given = {x.name: language.rounded(given[x.name]) for x in loop.arguments}
        found, near = ({name: x.copy() for name, x in given.items()} for _ in range(2))
        near["state"][..., n : 2 * n] *= 1.0 + 1e-6 * rng.uniform(-1.0, 1.0, n)
        for arguments in (found, near):
            evaluate_loop(loop, 1, counts, arguments)
        gap = abs(near["state"] - found["state"])[..., : 2 * n].max()
        if found["state"][0, 0, w] == 1.0 and gap < 1e-5:
            break
    else:
        return None
    close = 1e-12 if language.scalar == "double" else 1e-4
    written = [x.name for x in loop.arguments if x.written]
    expected = {name: found[name].reshape(1, -1) for name in written}
    return ReferenceVectors(
        {name: x.ravel() for name, x in given.items() if name not in written},
        expected,
        {name: close * max(1.0, float(abs(x).max())) for name, x in expected.items()},
        [*(f"{count}L" for count in counts.values()), *given],
        {"state": given["state"].ravel()},
    )


def _sampled(controller: Controller) -> str:
    return "" if controller.period is None else f", which is sampled every {controller.period:.9g} s"


def _entries(sizes: Sizes) -> str:
    """Names and sizes, in their order."""
    return ", ".join(f"{name.replace('_', ' ')} ({size})" for name, size in sizes) or "none"


# ------------------------------------------------------------------------------------------------------------
# The observer.


def observer_source(
    observer: MomentumObserver,
    prefix: str | None = None,
    scalar: str = "double",
    inputs: Sequence[str] = (),
    libm: bool = True,
) -> CSource:
    """`PREFIX_observer(rows, settings, q, qd, tau, state, residual, joint)`, in "double" or "float".

    With rows = 1 it takes one sample: call it in each cycle of a controller, with one `state` that was zero
    before the first. With more rows it runs over a recording. The header has macros: `PREFIX_SETTINGS`,
    gains, step and thresholds of this observer as an initializer, and `PREFIX_STATE`, the size of `state`.

    With inputs=["payload"] the function takes, after `tau`, what the tip carries from each sample on: ten
    numbers, mass, centre of mass and the tensor about it. So it does where the observer knows a robot with
    loads: C does not know the time, so the caller says which of them is carried.
    """
    if not isinstance(observer, MomentumObserver):
        raise SimulationError(f"observer: expected a MomentumObserver, found {type(observer).__name__}")
    check.one_of("scalar", scalar, "double", "float")
    told = payload_is_input(inputs)
    robot, n = observer.robot, observer.robot.n
    observed = Observed(robot, observer.held, observer.links or ((None,) if told else ()))
    meanings = {name: f"of each sample, {MEANINGS[name]}" for name in ("q", "qd", "tau")}
    if robot.model.loops:
        meanings["q"] = f"of each sample, {ALL_POSITIONS}"
    if observer.held:
        meanings["tau"] += ", held until the next sample"
    meanings |= {
        "rows": "samples",
        "settings": f"1/step [1/s]; 1 - exp(-gain*step) ({n}); 1/threshold, 0 for none ({n})",
        "state": "zeros before the first sample; then for the next call: "
        f"1, momenta ({n}), other torques ({n}), joint torques ({n}), residuals ({n})"
        + f", payload ({observed.payload})"
        * bool(observed.links),
        "payload": _payload_means(observed.links),
        "residual": "of each sample, torques from outside [N m or N], filtered",
        "joint": "of each sample, the joint furthest over its threshold, counted from 1, or 0; "
        "a residual that is not a number counts as over it",
    }
    name = identifier(prefix or robot.name)
    title = f"Momentum observer of {robot.name}"
    language = Language(scalar, libm)
    loop = observer_loop(observed)
    function = loop_function(name, loop, language, meanings)
    macros = [
        f"#define {name.upper()}_STATE {observed.state} /* numbers of the state */\n",
        initializer(name, "settings", observer.settings, scalar, "settings of this observer"),
    ]
    kept = {"settings": ("settings", observer.settings), "state": ("memory", np.zeros(observed.state))}
    rng, columns = np.random.default_rng(7), {x.name: x.columns for x in loop.arguments if not x.written}
    samples = {x: rng.uniform(-1.0, 1.0, (SAMPLES, size)) for x, size in columns.items() if x not in kept}
    if PAYLOAD in samples:
        samples[PAYLOAD] = np.tile(EXAMPLE_PAYLOAD, (SAMPLES, columns[PAYLOAD] // 10))
    state = loop_state(name, loop, language, kept, samples, {x: _one(text) for x, text in meanings.items()})
    return package(title, name, joint_descriptions(robot), language, [function], macros, state)


def _one(text: str) -> str:
    """A meaning of many samples as that of one."""
    return text.removeprefix("of each sample, ").replace("from each sample on", "from this sample on")


def _payload_means(links: Sequence[str | None]) -> str:
    """Meaning of the payload, with the links that carry it."""
    if list(links) == [None]:
        return f"from each sample on, {MEANINGS[PAYLOAD]}"
    where = ", ".join("the tip" if link is None else f"link '{link}'" for link in links)
    return f"from each sample on, for {where}, ten numbers each: {MEANINGS[PAYLOAD]}"
