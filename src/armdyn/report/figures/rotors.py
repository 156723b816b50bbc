"""What the diagonal rotor model misses, over time."""

from __future__ import annotations

from matplotlib.figure import Figure

from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.report.figures.drawing import Given, curve, end_labels, framed, sheet, styled
from armdyn.report.figures.labels import joint_kinds, joint_label
from armdyn.report.findings.rotors import RotorsFinding, find_rotors
from armdyn.report.findings.subject import Subject
from armdyn.robot import Robot


def plot_rotor_error(robot: Robot, trajectory: Trajectory, *, ax: Given = None) -> Figure:
    """What the diagonal rotor model misses along a motion: torques, and in percent of the largest torque.

    `ax` takes 2 axes, or 3 of a robot with both kinds of joints.
    """
    return draw_rotor_error(find_rotors(Subject.of(robot, trajectory)), ax=ax)


@styled
def draw_rotor_error(found: RotorsFinding, *, ax: Given = None) -> Figure:
    robot, t, error, share = found.robot, found.t, found.error.error, found.share
    kinds = joint_kinds(robot)
    paper = sheet(2.6, 1, len(kinds) + 1, ax=ax)
    for panel, kind in zip(paper.panels, kinds, strict=False):
        lines = [curve(panel, t, error[:, j], j, joint_label(robot, j)) for j in kind.joints]
        framed(panel, f"exact − diagonal [{kind.units.torque}]", f"{kind.units.effort}s")
        end_labels(panel, lines)
    panel = paper.panels[-1]
    lines = [curve(panel, t, share[:, j], j, joint_label(robot, j)) for j in range(robot.n)]
    framed(panel, "error [%]", "of the joint's largest torque")
    end_labels(panel, lines)
    paper.under("time [s]")
    return paper.figure
