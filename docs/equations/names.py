# ruff: noqa: F401, I001
"""The names that calls use. The page shows this file."""

import numpy as np

from armdyn import BaseMotion, Log, Robot, Trajectory, box, contributions, cylinder
from armdyn import dynamic_manipulability, hollow_cylinder, identify, operational
from armdyn import retime, scale_to_limits, simulate

pendulum, cartesian = Robot.load("pendulum"), Robot.load("cartesian")
planar, planar3 = Robot.load("planar"), Robot.load("planar3")
pr, rp, rmit2r = Robot.load("pr"), Robot.load("rp"), Robot.load("rmit2r")
parallelogram, scara = Robot.load("parallelogram"), Robot.load("scara")
tree = parallelogram.opened().equations()  # joints 1', 2', 3', 1''; a1pp is a_2'
elbow, puma = Robot.load("elbow"), Robot.load("puma560")
stanford = Robot.load("stanford").with_rotors("exact")  # joint 3 slides

eq = planar.equations()  # of the two-link arm
link1 = eq.augmented_link("link 1")  # with the motor of joint 2
arm = planar.with_rotors("none")  # the two-link arm without motors
rename = {"a1": "l1", "a2": "l2", "l1": "lc1", "l2": "lc2"}
rename |= {"ml1": "m1", "ml2": "m2", "Il1": "I1", "Il2": "I2"}
asada = arm.equations().substitute(rename)  # in its names
motor = {"gear": 1, "inertia": 0, "mass": 0}
chain = motor | {"carrier": "base", "axis": [0, 0, 1], "coupling": {"link 1": 1}}
remote = planar.with_motors({"link 1": motor, "link 2": chain})  # belt drive
rotor = {"inertia": {"axial": "Im2", "transverse": 0.006}}
thick = planar.with_motors({"link 2": rotor})
craig = stanford.with_rotors("none").in_dh("mdh")  # in Craig's frames
mass = {"joint": "prismatic", "origin": {"xyz": [0, 0, 0]}, "axis": [1, 0, 0]}
mass |= {"mass": "m", "friction": {"viscous": "b"}, "spring": {"stiffness": "k"}}
table = {"name": "oscillator", "convention": "frames", "gravity": [0, 0, 0]}
table |= {"link": [mass], "symbols": {"m": 2, "b": 3, "k": 80}}
oscillator = Robot.from_dict(table)

q = np.array([0.4, 0.9, -0.7, 0.3, 1.1, -0.5])  # arms of two joints take q[:2]
qd = np.array([0.8, -0.6, 0.5, 1.2, -0.9, 0.4])
qdd = np.array([1.5, -2.0, 0.7, -1.1, 2.4, 0.6])
spin = stanford.parameters * [x == "Im3" for x in stanford.parameter_names]
tau = np.array([60.0, -80.0, 40.0, 3.0, -2.0, 1.0])  # torques
h = np.array([20.0, -10.0, 15.0, 1.0, 2.0, -3.0])  # what the tip exerts

motion = Trajectory.through([[0, 0], [1, 2], [2, -1], [0, 1]], [0, 0.5, 1, 1.5])
law = Trajectory.quintic([0], [motion.duration], 3.0)  # another timing r(t)
softer = retime(planar, motion, law)
at = motion.samples()
torques = planar.inverse_dynamics(at.q, at.qd, at.qdd)
log = Log(at.t, at.q, torques, qd=at.qd, qdd=at.qdd)

tip = operational(planar3, q[:3], qd[:3], rows=(0, 1), wrench=h)  # redundant
tip2 = operational(planar, q[:2], qd[:2])
ellipse = dynamic_manipulability(planar3, q[:3])


def acceleration(robot, link=None):
    """Of the tip or of a link's frame: linear over angular."""
    state = q[: robot.n], qd[: robot.n]
    slope = robot.jacobian_dot(*state, link) @ state[1]
    return robot.jacobian(state[0], link) @ qdd[: robot.n] + slope
