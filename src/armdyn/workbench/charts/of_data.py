"""The charts of a log: measured torques against predicted ones, residuals, positions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from armdyn.identification import Fit, Log
from armdyn.identification.signals.kinematics import Kinematics, kinematics
from armdyn.report.identification.checks import compared
from armdyn.robot import Robot
from armdyn.robot.joints import joint_units
from armdyn.workbench.bench.clip import Clip, of_samples
from armdyn.workbench.bench.moment import Subject
from armdyn.workbench.charts.chart import BLUE, GREY, ORANGE, Chart, Line, Panel
from armdyn.workbench.charts.of_motion import joint_title, torque_bounds


@dataclass(frozen=True, eq=False)
class Data:
    """A log at the joints, M samples from the time 0 on, with what was measured and what a fit predicts."""

    name: str
    t: np.ndarray  # (M,) s
    motion: Kinematics  # (M, n) each, filtered
    measured: np.ndarray  # (M, n) N m or N; NaN where nothing was measured or is not used
    fitted: np.ndarray | None  # (M, n) what a fit predicts
    notes: tuple[str, ...] = ()

    def predicted(self, subject: Subject) -> np.ndarray:
        """(M, n): what the robot as it is edited needs for the motion."""
        own, at = subject.bare, self.motion
        return np.asarray(own.runs.inverse_dynamics(at.q, at.qd, at.qdd, parameters=own.parameters))

    def residual_rms(self, predicted: np.ndarray) -> np.ndarray:
        """(n,) of measured minus predicted [N m or N]; NaN where nothing was measured."""
        return rms(self.measured - predicted)


def rms(x: np.ndarray) -> np.ndarray:
    """(n,): root of the mean square over samples (M, n) that are known."""
    known = np.isfinite(x)
    count = known.sum(0)
    total = np.where(known, x, 0.0)
    return np.where(count > 0, np.sqrt((total**2).sum(0) / np.maximum(count, 1)), np.nan)


def data_of(robot: Robot, log: Log, fit: Fit | None, cutoff: float | None) -> Data:
    """With a fit its filter and its predictions; without one positions are low-passed at `cutoff` [Hz]."""
    if fit is None:
        record = log.at_joints(robot)
        measured = np.where(record.usable, record.tau, np.nan)
        found = kinematics(record, cutoff)
        return Data(record.name, record.t - record.t[0], found, measured, None, record.notes)
    pieces, start = compared(fit, log), 0.0
    times = []
    for piece in pieces:
        t = piece.record.t - piece.record.t[0]
        times.append(start + t)
        start += float(t[-1]) + float(t[1] - t[0])
    motion = Kinematics(
        *(np.concatenate([getattr(piece.motion, x) for piece in pieces]) for x in ("q", "qd", "qdd"))
    )
    measured = np.concatenate([np.where(x.use, x.record.tau, np.nan) for x in pieces])
    fitted = np.concatenate([x.predicted for x in pieces])
    notes = tuple(dict.fromkeys(note for piece in pieces for note in piece.record.notes))
    return Data(log.name, np.concatenate(times), motion, measured, fitted, notes)


def data_clip(robot: Robot, data: Data) -> Clip:
    at = of_samples(data.t, data.motion.q, data.motion.qd, data.motion.qdd)
    charts: dict[str, Callable[..., Chart]] = {
        "Measured and predicted": lambda subject, *_: _torques(data, subject),
        "Residuals": lambda subject, *_: _residuals(data, subject),
        "Positions": lambda subject, *_: _states(data, subject, 0),
        "Velocities": lambda subject, *_: _states(data, subject, 1),
    }
    return Clip(data.name, float(data.t[-1]), at, charts)


def _predictions(data: Data, subject: Subject) -> list[tuple[str, np.ndarray, str, bool]]:
    own = data.predicted(subject)
    if data.fitted is None:
        return [("predicted by the robot", own, BLUE, False)]
    return [("predicted by the fit", data.fitted, BLUE, False), ("by the robot shown", own, ORANGE, True)]


def _torques(data: Data, subject: Subject) -> Chart:
    robot, bounds = subject.bare.robot, torque_bounds(subject.bare.robot)
    found = _predictions(data, subject)
    panels = []
    for j in range(robot.n):
        lines = [Line(data.t, tau[:, j], label, colour, dashed, 1.4) for label, tau, colour, dashed in found]
        lines.append(Line(data.t, data.measured[:, j], "measured", GREY, width=1.2))
        bound = float(bounds[j])
        panels.append(
            Panel(joint_title(robot, j), joint_units(robot, j).torque, tuple(lines), (-bound, bound))
        )
    return Chart(tuple(panels), float(data.t[-1]))


def _residuals(data: Data, subject: Subject) -> Chart:
    robot = subject.bare.robot
    found = _predictions(data, subject)
    panels = [
        Panel(
            joint_title(robot, j),
            joint_units(robot, j).torque,
            tuple(
                Line(data.t, (data.measured - tau)[:, j], f"measured − {label}", colour, False, 1.2)
                for label, tau, colour, _ in found
            ),
        )
        for j in range(robot.n)
    ]
    return Chart(tuple(panels), float(data.t[-1]))


def _states(data: Data, subject: Subject, kind: int) -> Chart:
    robot = subject.bare.robot
    x = (data.motion.q, data.motion.qd)[kind]
    panels = [
        Panel(joint_title(robot, j), list(joint_units(robot, j))[kind], (Line(data.t, x[:, j], "log"),))
        for j in range(robot.n)
    ]
    return Chart(tuple(panels), float(data.t[-1]))
