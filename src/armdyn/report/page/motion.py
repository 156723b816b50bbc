"""A motion, the torques it needs, and what they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from armdyn.analysis.contributions import Contributions, contributions
from armdyn.analysis.limits import joint_limits, torque_unit
from armdyn.motion.trajectories.ranges import beyond_limits
from armdyn.motion.trajectories.trajectory import Samples, Trajectory
from armdyn.report.figures.arm import plot_strobe
from armdyn.report.figures.motion import plot_contributions, plot_tip, plot_trajectory
from armdyn.report.findings.quantities import tip_motion
from armdyn.report.page.page import Page, cell_number, join, number, paragraph, table, tag, warning
from armdyn.robot import Robot


def add_motion(page: Page, robot: Robot, trajectory: Trajectory, text: str, wrench: Any) -> None:
    """The motion: postures, joints over time, the tip."""
    section = page.section("motion", "A motion")
    samples = trajectory.samples()
    section.add(paragraph(text))
    if beyond := beyond_limits(robot, samples):
        section.add(warning(f"The motion goes beyond the limits of position: {'; '.join(beyond)}."))
    position, velocity, acceleration = tip_motion(robot, samples)
    path = float(np.linalg.norm(np.diff(position, axis=0), axis=1).sum())
    speed, pull = (np.linalg.norm(x, axis=1) for x in (velocity, acceleration))
    section.add(
        page.figure(
            plot_strobe(robot, trajectory),
            "the robot in several postures along the motion",
            f"Seven postures, {trajectory.duration / 6:.3g} s apart, the last one in full. The dashed line "
            "is the path of the tip, ",
            number(path, 3),
            " m long.",
            drawing=True,
        ),
        page.figure(
            plot_trajectory(robot, trajectory, wrench),
            "positions, velocities, accelerations and torques of the joints over time",
            *_trajectory_caption(robot, samples, wrench),
        ),
    )
    if path > 0:
        section.add(
            page.figure(
                plot_tip(robot, trajectory),
                "position, velocity and acceleration of the tip over time",
                "The tip in the base frame: at most ",
                number(speed.max(), 3),
                " m/s (at ",
                number(samples.t[int(speed.argmax())], 3),
                " s) and ",
                number(pull.max(), 3),
                " m/s² (at ",
                number(samples.t[int(pull.argmax())], 3),
                " s).",
            )
        )


def _trajectory_caption(robot: Robot, samples: Samples, wrench: Any) -> list[str]:
    tau = np.abs(np.asarray(robot.inverse_dynamics(samples.q, samples.qd, samples.qdd, wrench)))
    sample, i = np.unravel_index(int(tau.argmax()), tau.shape)
    caption: list[str] = ["Positions, velocities, accelerations and torques of the joints over time. "]
    caption += [f"The largest torque is that of joint {i + 1}, ", number(tau[sample, i])]
    caption += [f" {torque_unit(robot, int(i))} at ", number(samples.t[sample], 3), " s."]
    if wrench is not None:
        caption.append(" The tip presses on its surroundings all along.")
    return caption


def add_torques(page: Page, robot: Robot, trajectory: Trajectory, wrench: Any) -> None:
    """The torques: largest values against the limits, and by what causes them."""
    section = page.section("torques", "Torques and what they are made of")
    samples = trajectory.samples()
    parts = contributions(robot, samples.q, samples.qd, samples.qdd, wrench)
    section.add(_peaks(robot, samples, parts.total))
    section.add(
        page.figure(
            plot_contributions(robot, trajectory, wrench),
            "torque contributions of each joint over time",
            *_contributions_caption(robot, parts),
        ),
        tag("h3", "Largest magnitude of each part"),
        _parts_table(robot, parts),
    )


def _peaks(robot: Robot, samples: Samples, tau: np.ndarray) -> str:
    limits = joint_limits(robot)
    columns = ("joint", "velocity", "acceleration", "torque", "at [s]", "torque, rms", "limit", "share of it")
    limited = bool(np.isfinite(limits.torque).any())
    rows = []
    for i, link in enumerate(robot.model.moving):
        worst = int(np.abs(tau[:, i]).argmax())
        largest = float(abs(tau[worst, i]))
        mean = float(np.sqrt(np.trapezoid(tau[:, i] ** 2, samples.t) / samples.t[-1]))
        length, effort = ("rad", "N m") if link.joint == "revolute" else ("m", "N")
        row = [
            f"{i + 1}, {link.name}",
            join([number(np.abs(samples.qd[:, i]).max(), 3), f" {length}/s"]),
            join([number(np.abs(samples.qdd[:, i]).max(), 3), f" {length}/s²"]),
            join([number(largest), f" {effort}"]),
            number(samples.t[worst], 3),
            join([number(mean), f" {effort}"]),
            cell_number(limits.torque[i]),
            "–" if not np.isfinite(limits.torque[i]) else f"{100 * largest / limits.torque[i]:.0f} %",
        ]
        rows.append(row if limited else row[:6])
    return table(columns if limited else columns[:6], rows)


def _contributions_caption(robot: Robot, parts: Contributions) -> list[str]:
    largest = {name: np.abs(part).max(0) for name, part in parts.parts.items()}
    name = max(largest, key=lambda x: float(largest[x].max()))
    i = int(largest[name].argmax())
    caption: list[str] = ["What the torque of each joint (pale line) is made of; the parts add up to it. "]
    if largest[name][i] > 0:
        caption += [f"The largest part in this motion is {name} at joint {i + 1}, up to "]
        caption += [number(largest[name][i]), f" {torque_unit(robot, i)}."]
    if largest["rotor coupling"].any():
        caption.append(
            " Rotor coupling is what exact rotors add to the diagonal model, in which a motor is k²Iₘ at its "
            "joint."
        )
    return caption


def _parts_table(robot: Robot, parts: Contributions) -> str:
    """What is there but for rounding."""
    whole = np.abs(parts.total).max()
    largest = {name: np.abs(part).max(0) for name, part in parts.parts.items()}
    largest = {
        name: np.where(x > 1e-9 * whole, x, 0.0) for name, x in largest.items() if x.max() > 1e-9 * whole
    }
    rows = []
    for i, link in enumerate(robot.model.moving):
        values = [number(float(x[i]), 3) for x in largest.values()]
        rows.append((f"{i + 1}, {link.name}", torque_unit(robot, i), *values))
    return table(("joint", "unit", *largest), rows)
