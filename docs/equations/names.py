# ruff: noqa: F401, I001
"""The names that calls use. The page shows this file."""

import numpy as np

from armdyn import BaseMotion, Log, Robot, Trajectory, box, contributions, cylinder
from armdyn import dynamic_manipulability, hollow_cylinder, identify, operational, retime
from armdyn import scale_to_limits, simulate

load = Robot.load
pendulum, cartesian, planar, planar3 = map(load, ("pendulum", "cartesian", "planar", "planar3"))
pr, rp, rmit2r, parallelogram = map(load, ("pr", "rp", "rmit2r", "parallelogram"))
scara, elbow, puma = map(load, ("scara", "elbow", "puma560"))
stanford = load("stanford").with_rotors("exact")  # joint 3, of the boom, slides

eq = planar.equations()  # of the two-link arm
link1 = eq.augmented_link("link 1")  # with the motor of joint 2
arm = planar.with_rotors("none")  # the two-link arm without motors
asada = arm.equations().substitute(
    {"a1": "l1", "a2": "l2", "l1": "lc1", "l2": "lc2"} | {"ml1": "m1", "ml2": "m2", "Il1": "I1", "Il2": "I2"}
)  # its equations in the names of Asada and Slotine
motor = {"gear": 1, "inertia": 0, "mass": 0}
chain = motor | {"carrier": "base", "axis": [0, 0, 1], "coupling": {"link 1": 1}}
remote = planar.with_motors({"link 1": motor, "link 2": chain})  # driven from the base
craig = stanford.with_rotors("none").in_dh("mdh")  # in Craig's frames
slide = {"joint": "prismatic", "origin": {"xyz": [0, 0, 0]}, "axis": [1, 0, 0], "mass": "m"}
slide |= {"friction": {"viscous": "b"}, "spring": {"stiffness": "k", "rest": 0}}
table = {"name": "oscillator", "convention": "frames", "gravity": [0, 0, 0], "link": [slide]}
oscillator = Robot.from_dict({**table, "symbols": {"m": 2, "b": 3, "k": 80}})

q = np.array([0.4, 0.9, -0.7, 0.3, 1.1, -0.5])  # a state; arms of two joints take q[:2]
qd = np.array([0.8, -0.6, 0.5, 1.2, -0.9, 0.4])
qdd = np.array([1.5, -2.0, 0.7, -1.1, 2.4, 0.6])
tau = np.array([60.0, -80.0, 40.0, 3.0, -2.0, 1.0])  # torques
h = np.array([20.0, -10.0, 15.0, 1.0, 2.0, -3.0])  # force and moment that the tip exerts

motion = Trajectory.through([[0, 0], [1, 2], [2, -1], [0, 1]], [0, 0.5, 1, 1.5])
law = Trajectory.quintic([0], [motion.duration], 3.0)  # another timing r(t)
softer = retime(planar, motion, law)
at = motion.samples()
log = Log(at.t, at.q, planar.inverse_dynamics(at.q, at.qd, at.qdd), qd=at.qd, qdd=at.qdd)

tip = operational(planar3, q[:3], qd[:3], rows=(0, 1), wrench=h)  # with a redundant joint
tip2 = operational(planar, q[:2], qd[:2])
ellipse = dynamic_manipulability(planar3, q[:3])


def acceleration(robot, link=None):
    """Of the tip or of a link's frame: linear over angular."""
    n = robot.n
    return robot.jacobian(q[:n], link) @ qdd[:n] + robot.jacobian_dot(q[:n], qd[:n], link) @ qd[:n]
