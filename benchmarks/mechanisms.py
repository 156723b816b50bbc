"""Closed chains against MuJoCo: forward dynamics of many five-bars, and of one.

Ours closes the loop exactly and finds where the passive joints are, from the driven ones alone. MuJoCo is
given all joints, the loop already closed, and makes one step of simulation with the loop as a soft `connect`
(`rollout`). It leaves out how the loop's rows change with speed, so that both are compared at rest.
"""

from __future__ import annotations

import copy
import json
import os
import xml.etree.ElementTree as ET
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from run import provenance
from timing import Call, Figure, race

from armdyn import Robot, set_threads
from armdyn.description.source import bundled_table
from armdyn.description.writing import export

TITLE = "Closed chains"
ROWS = 4096
AT_LEAST = 10.0  # times MuJoCo's throughput
ONE_AT_LEAST = 1.1  # times MuJoCo's, one call from Python with a posture to begin with
SINCE = 1e-3  # s, since the robot was there
STEP = 1e-4  # s, of MuJoCo's; does not change its time
SPREAD = 0.6  # rad, of the driven joints about where the loop is described
AGREEMENT = 1e-3  # at rest, relative to the largest acceleration: MuJoCo's loops are soft


def five_bar() -> Robot:
    """The bundled one without friction and limits, its rotors as armature."""
    table = copy.deepcopy(bundled_table("five_bar"))
    for link in table["link"]:
        link.pop("friction", None)
        link.pop("limits", None)
    return Robot.from_dict({**table, "rotors": "reflected"})


def states(robot: Robot, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    choice = robot.model.choice
    assert choice is not None
    middle = np.array(choice.posture)[list(choice.free)]
    rng = np.random.default_rng(7)
    q, qd, tau = (rng.uniform(-limit, limit, (rows, robot.n)) for limit in (SPREAD, 2.0, 3.0))
    return middle + q, qd, tau


class MuJoCo:
    """The same five-bar; one `connect`, as two would only cost it more."""

    def __init__(self, robot: Robot) -> None:
        import mujoco

        self.mujoco, self.robot = mujoco, robot
        root = ET.fromstring(export(robot.model, ".xml").text)
        root.remove(root.find("actuator"))
        equality = root.find("equality")
        for tie in list(equality)[1:]:
            equality.remove(tie)
        equality[0].set("solimp", "0.9999 0.9999 0.001 0.5 2")
        option = root.find("option")
        option.set("timestep", repr(STEP))
        option.set("integrator", "Euler")
        ET.SubElement(
            option, "flag", contact="disable", limit="disable", eulerdamp="disable", autoreset="disable"
        )
        self.model = mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))
        names = [self.model.joint(k).name.removesuffix("_joint") for k in range(self.model.njnt)]
        joints = [link.name for link in robot.model.moving]
        self.order = [joints.index(name) for name in names]
        self.driven = [names.index(link.name) for link in robot.model.coordinates]

    def state(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, ...]:
        """Of all joints, (rows, joints), in MuJoCo's order."""
        y = self.robot.joint_positions(q)[..., self.order]
        yd = self.robot.joint_velocities(qd, q=q)[..., self.order]
        torque = np.zeros_like(y)
        torque[..., self.driven] = tau
        return y, yd, torque

    def batch(self, given: tuple[np.ndarray, ...], threads: int) -> Call:
        from mujoco import rollout

        y, yd, torque = self.state(*given)
        rows = len(y)
        first = np.hstack([np.zeros((rows, 1)), y, yd])
        last, sensors = np.empty((rows, 1, first.shape[1])), np.empty((rows, 1, 0))
        data = [self.mujoco.MjData(self.model) for _ in range(threads)]
        pool = rollout.Rollout(nthread=threads if threads > 1 else 0)
        applied = self.mujoco.mjtState.mjSTATE_QFRC_APPLIED.value

        def step() -> np.ndarray:
            pool.rollout(
                self.model,
                data,
                first,
                torque[:, None, :],
                control_spec=applied,
                state=last,
                sensordata=sensors,
            )
            return last

        return Call(step, (), rows=rows, note="rollout, one step")

    def single(self, given: tuple[np.ndarray, ...]) -> Call:
        y, yd, torque = (x[0] for x in self.state(*(x[None] for x in given)))
        model, data, forward = self.model, self.mujoco.MjData(self.model), self.mujoco.mj_forward
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = y, yd, torque
        return Call(lambda: forward(model, data), (), note="mj_forward")

    def accelerations(self, last: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """From velocities after a step."""
        return (last[:, 0, 1 + len(self.order) :][:, self.driven] - qd) / STEP


def check(robot: Robot, peer: MuJoCo) -> float:
    """How far the two are apart at rest; stops if that is much."""
    q, qd, tau = states(robot, 64)
    ours = robot.forward_dynamics(q, 0 * qd, tau)
    theirs = peer.accelerations(peer.batch((q, 0 * qd, tau), 1)(), 0 * qd)
    apart = float(np.abs(ours - theirs).max() / np.abs(ours).max())
    if apart > AGREEMENT:
        raise AssertionError(f"five-bar at rest: {apart:.1e} from MuJoCo")
    return apart


def figures(robot: Robot, peer: MuJoCo, rounds: int) -> list[Figure]:
    given = states(robot, ROWS)
    everything = os.cpu_count() or 1
    found = []
    for count in dict.fromkeys((1, everything)):
        calls = [Call(robot.forward_dynamics, given, rows=ROWS), peer.batch(given, count)]
        try:
            ours, theirs = race(calls, rounds, before=[partial(set_threads, count)] * 2)
        finally:
            set_threads(None)
        what = f"{ROWS} five-bars, {count} thread{'s' if count > 1 else ''}"
        target = AT_LEAST if count == everything else None
        found.append(Figure(what, ours, "MuJoCo", theirs, target, calls[1].note))
    one = tuple(x[0].copy() for x in given)
    before = robot.assembly(one[0] - SINCE * one[1])
    kinds = {
        "one five-bar": (robot.forward_dynamics, one),
        "one five-bar, near a posture 1 ms ago": (partial(robot.forward_dynamics, near=before), one),
        "one five-bar, all positions given": (robot.forward_dynamics, (robot.assembly(one[0]), *one[1:])),
    }
    calls = [*(Call(*call) for call in kinds.values()), peer.single(one)]
    *ours, theirs = race(calls, rounds)
    note = calls[-1].note
    return found + [
        Figure(what, ns, "MuJoCo", theirs, ONE_AT_LEAST if "near" in what else None, note)
        for what, ns in zip(kinds, ours, strict=True)
    ]


def run(console: Console, folder: Path, quick: bool) -> int:
    """Measure, print, save; how many targets were missed."""
    robot = five_bar()
    try:
        peer = MuJoCo(robot)
    except ImportError:
        console.print(f"{TITLE}: MuJoCo is not installed")
        return 0
    apart = check(robot, peer)
    found = figures(robot, peer, 3 if quick else 9)
    table = Table("what", "armdyn", "MuJoCo", "ratio", "target", "note", title=TITLE)
    for f in found:
        target = "" if f.target is None else f"{f.target:g}"
        style = "red" if f.met is False else None
        row = (f.what, f"{f.ours:.0f} ns", f"{f.theirs:.0f} ns", f"{f.ratio:.1f}", target, f.note)
        table.add_row(*row, style=style)
    console.print(table)
    console.print(f"Accelerations at rest differ by {apart:.0e} of the largest: MuJoCo's loops are soft.")
    record: dict[str, Any] = {
        "benchmark": TITLE,
        **provenance(),
        "figures": [{**asdict(f), "ratio": f.ratio, "met": f.met} for f in found],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mechanisms.json").write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    return sum(f.met is False for f in found)
