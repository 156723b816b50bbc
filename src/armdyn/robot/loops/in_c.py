"""The assembly of a robot with loops as C: what its other functions take as q."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from armdyn.kernels.c import Further, Words, comment_block, constant_array
from armdyn.kernels.c_loop import loop_parts
from armdyn.robot.loops.assembly import Assembly
from armdyn.robot.loops.closing import Closed
from armdyn.robot.loops.postures import random_postures
from armdyn.robot.loops.steps import FINE, assembly_loop

ROUGH = 1e-4  # in single precision: what a last correction may be


def assembly_in_c(assembly: Assembly, prefix: str, scalar: str) -> Further:
    """`PREFIX_assemble` and the posture `PREFIX_posture` to begin with; other functions are tested closed."""
    model = assembly.model
    fine = FINE if scalar == "double" else ROUGH
    loop = assembly_loop(Closed.of(model), fine)
    meanings = {
        "x": "positions of the coordinates [rad or m]",
        "start": f"a posture near by in which the loops are closed, such as {prefix}_posture",
        "y": "positions of all joints listed above: the q of the other functions",
        "state": "0 where the loops are closed, 1 where they stay open; the least squared sine of a joint "
        "that follows against the others, nearly 0 in singular postures; how many steps gaped",
    }
    declaration, functions = loop_parts(prefix, replace(loop, name="assemble"), scalar, meanings)
    assert model.choice is not None
    posture = np.array(model.choice.posture)
    name = f"{prefix}_posture"
    origin = comment_block(["positions of all joints in which the loops are closed [rad or m]"])
    x = random_postures(assembly, np.random.default_rng(7), 1)[0]
    return Further(
        [f"{origin}extern const {scalar} {name}[{len(posture)}];\n", declaration],
        [f"{constant_array(scalar, name, posture, 'const')}\n", *functions],
        _test_block(prefix, scalar, x, assembly(x)),
        {"q": assembly(x)},
    )


def _test_block(prefix: str, scalar: str, x: np.ndarray, y: np.ndarray) -> str:
    lines = [
        "    {",
        f"        {constant_array(scalar, 'x', x)}",
        f"        {constant_array(scalar, 'y_expected', y)}",
        f"        {scalar} y[{len(y)}];",
        f"        {scalar} state[3];",
        f"        {prefix}_assemble(x, {prefix}_posture, y, state);",
        f'        bad |= state[0] > 0 || differs("assemble y", y, y_expected, {len(y)});',
        "    }",
        "",
    ]
    return "\n".join(lines)


def words_with_loops(words: Words, prefix: str) -> Words:
    """The meanings of inputs, where q has all positions and the rest belongs to coordinates."""
    of = "of the coordinates"
    inputs = dict(words.inputs)
    inputs |= {
        "q": f"positions of all joints listed above, loops closed: what {prefix}_assemble gives [rad or m]",
        "qd": f"velocities {of} [rad/s or m/s]",
        "qdd": f"accelerations {of} [rad/s^2 or m/s^2]",
        "tau": f"torques {of} [N m or N]",
    }
    return Words(inputs, words.results)


def positions_described(assembly: Assembly) -> list[str]:
    """The positions in their order: the link, what its joint does, and whether it is a coordinate."""
    free = list(assembly.model.mechanism.free)
    return [
        f"{link.joint_label} ({link.joint}), "
        + (f"coordinate {free.index(i) + 1}" if i in free else "follows")
        for i, link in enumerate(assembly.model.positions)
    ]
