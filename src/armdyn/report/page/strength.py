"""What the tip can do, what the diagonal rotor model costs, and how the arm moves when let go."""

from __future__ import annotations

from typing import Any

import numpy as np

from armdyn.analysis.ellipsoid import Ellipsoid
from armdyn.analysis.limits import joint_limits
from armdyn.analysis.manipulability import dynamic_manipulability, force_ellipsoid, velocity_ellipsoid
from armdyn.analysis.rotor_error import rotor_error
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.report.figures.comparison import plot_energy, plot_rotor_error
from armdyn.report.figures.ellipsoids import plot_dynamic_ellipsoid, plot_ellipsoids
from armdyn.report.page.page import Markup, Page, cell_number, join, number, paragraph, table, tag
from armdyn.robot import Robot
from armdyn.simulation import simulate

_FALL = 1.5  # s


def add_ellipsoids(page: Page, robot: Robot, trajectory: Trajectory) -> None:
    """Acceleration, velocity and force ellipsoids half-way along the motion."""
    section = page.section("ellipsoids", "What the tip can do")
    q = trajectory(trajectory.duration / 2)[0]
    weights, strength = _strength(robot, trajectory)
    shifted = dynamic_manipulability(robot, q, weights=weights)
    velocity, force = velocity_ellipsoid(robot, q), force_ellipsoid(robot, q)
    found = {"acceleration [m/s²]": shifted, "velocity [m/s]": velocity, "force [N]": force}
    redundant = robot.n > shifted.m
    if redundant:
        reach = dynamic_manipulability(robot, q, weights=weights, kind="reachable")
        found = {"reachable acceleration [m/s²]": reach, **found}
    section.add(
        paragraph(
            "Half-way along the motion, at rest: the accelerations that the joints can give the tip, and its "
            "velocities and forces for joint velocities and torques of unit norm. Far from the tip an "
            "ellipsoid means easy, near it means hard."
        ),
        page.figure(
            plot_dynamic_ellipsoid(robot, q, weights),
            "the dynamic manipulability ellipsoid at the tip",
            *_dynamic_caption(shifted, strength, redundant),
            drawing=True,
        ),
        page.figure(
            plot_ellipsoids(robot, q),
            "velocity and force ellipsoids at the tip",
            *_kinematic_caption(velocity, force),
            drawing=True,
        ),
        _axes_table(found),
    )


def _strength(robot: Robot, trajectory: Trajectory) -> tuple[Any, str]:
    """The torques that count as one unit: the limits, or else the largest of the motion."""
    if np.isfinite(joint_limits(robot).torque).all():
        return "torque_limits", "torques of unit norm when each is divided by its limit"
    samples = trajectory.samples()
    tau = np.abs(np.asarray(robot.inverse_dynamics(samples.q, samples.qd, samples.qdd))).max(0)
    if not tau.max() > 0:
        return None, "torques of unit norm"
    return (
        np.maximum(tau, 1e-3 * tau.max()),
        "torques of unit norm when each is divided by its largest value in the motion above",
    )


def _dynamic_caption(shifted: Ellipsoid, strength: str, redundant: bool) -> list[str]:
    size = float(np.linalg.norm(shifted.centre))
    caption: list[str] = [f"Accelerations of the tip at rest for {strength}: from "]
    caption += [number(shifted.lengths.min(), 3), " to ", number(shifted.lengths.max(), 3), " m/s². "]
    if size > 0:
        caption += ["Gravity shifts the whole ellipsoid by ", number(size, 3), " m/s² (arrow)."]
    else:
        caption.append("Gravity does not shift it in this posture.")
    if redundant:
        caption.append(
            " There are more joints than directions of the tip: the solid ellipsoid (7.148) holds for joint "
            "accelerations of least norm, the dashed one for everything the torques reach."
        )
    return caption


def _kinematic_caption(velocity: Ellipsoid, force: Ellipsoid) -> list[str]:
    longest, shortest = velocity.lengths.max(), velocity.lengths.min()
    if np.isfinite(force.lengths).all():
        caption: list[str] = ["Velocity (solid) and force (dashed) ellipsoids, each to its own scale. "]
        caption.append("They share their axes: where the tip is quick it is weak. ")
    else:
        caption = ["Velocity ellipsoid. "]
    if shortest > 0:
        caption += ["The tip is ", number(longest / shortest, 3), " times as quick one way as another."]
    else:
        caption.append("There are directions the tip cannot move in from this posture.")
    if not np.isfinite(force.lengths).all():
        caption.append(" The structure bears some forces by itself, so that no force ellipsoid is drawn.")
    return caption


def _axes_table(found: dict[str, Ellipsoid]) -> Markup:
    """Centre and semi-axes of the ellipsoids."""
    first = next(iter(found.values()))
    axes = (f"semi-axis {k + 1}" for k in range(first.m))
    rows = []
    for name, e in found.items():
        centre = join(["(", join((number(x, 3) for x in e.centre), ", "), ")"])
        rows.append((name, centre, *(cell_number(x, 3) for x in e.lengths)))
    return table(("ellipsoid", f"centre ({', '.join(first.names)})", *axes), rows)


def add_rotors(page: Page, robot: Robot, trajectory: Trajectory) -> None:
    """Exact rotors against the diagonal model along the motion."""
    section = page.section("rotors", "What the diagonal rotor model costs")
    samples = trajectory.samples()
    found = rotor_error(robot, samples.q, samples.qd, samples.qdd)
    if found.note:
        section.add(paragraph(f"{found.note}."))
        return
    section.add(
        paragraph(
            "Many programs put k²Iₘ of each motor on the diagonal of the inertia matrix and leave it there. "
            "The exact model also has the rotor's inertia in the link that carries it, and the torques "
            "between the spinning rotor and the turning carrier. Here is the difference along the motion "
            "above."
        )
    )
    if robot.model.rotors != "exact":
        section.add(
            paragraph(
                f"The description asks for rotors {robot.model.rotors!r}, and so the rest of this report has "
                "them; here both models are made from its motors all the same."
            )
        )
    if any(link.motor and link.motor.coupling for link in robot.model.links):
        section.add(
            paragraph(
                "Motors that turn with several joints count in the diagonal model as Kᵀ diag(Iₘ) K, with its "
                "entries off the diagonal."
            )
        )
    if not found.largest.any():
        section.add(paragraph("For this motion there is none: the diagonal model is exact."))
        return
    worst = int(found.percent.argmax())
    caption: list[str] = [f"Exact minus diagonal. Joint {worst + 1} is off most for its size: "]
    caption += [number(found.largest[worst], 3), f" {found.units[worst]}, "]
    caption += [number(found.percent[worst], 2), " % of its largest torque."]
    section.add(
        page.figure(
            plot_rotor_error(robot, trajectory),
            "torques that the diagonal rotor model misses over time",
            *caption,
        )
    )
    rows = []
    for i, row in enumerate(found.table()):
        name = f"{i + 1}, {robot.model.moving[i].name}"
        values = (row.largest_torque, row.largest_error, row.rms_error)
        cells = (join([number(x), f" {row.unit}"]) for x in values)
        rows.append((name, *cells, join([number(row.percent, 3), " %"])))
    section.add(
        table(("joint", "largest torque", "largest error", "rms error", "of the largest torque"), rows)
    )


def add_fall(page: Page, robot: Robot, trajectory: Trajectory) -> None:
    """The motors switched off half-way: a simulation, judged by its energy."""
    section = page.section("simulation", "Let go")
    q, qd, _ = trajectory(trajectory.duration / 2)
    # A falling arm passes its limits; this section is about energies.
    run = simulate(robot, q, qd, _FALL, output=_FALL / 300, limits="ignore", progress=False)
    drift = float(np.abs(run.balance).max()) / max(float(run.kinetic.max()), 1e-12)
    text: list[str] = ["The motors are switched off half-way along the motion and the arm moves by itself "]
    text.append(f"for {run.t[-1]:g} s. ")
    if run.dissipated.any():
        text += ["Friction takes ", number(float(run.dissipated[-1]), 3), " J. "]
    elif np.ptp(run.q, axis=0).any():
        text.append("Without friction its energy stays what it was. ")
    else:
        text.append("It stays where it is. ")
    text += ["The simulation accounts for all energy to ", _power_of_ten(drift)]
    text.append(" of the largest kinetic energy.")
    if not run.completed:
        text.append(f" It is not complete: {run.message}.")
    section.add(page.figure(plot_energy(run), "energies of the simulated arm over time", *text))


def _power_of_ten(x: float) -> Markup:
    """An upper bound that does not depend on the last bits of an integration."""
    exponent = int(np.ceil(np.log10(max(x, 1e-15))))
    return join(["better than 10", tag("sup", f"−{-exponent}" if exponent < 0 else str(exponent))])
