"""Your own arm: a Denavit–Hartenberg table with motors, from Python and from a robot file.

Numbers may be numbers or expressions in named symbols. Symbols stay symbols in the equations; their values
are used where numbers are computed.
"""

import tempfile
from pathlib import Path

from armdyn import DescriptionError, Robot

# From Python: the keys are those of the robot file. An arm in a vertical plane (y up) whose second motor sits
# on the first link, at the elbow, and turns 80 times as fast as the joint.
TABLE = {
    "name": "shoulder and elbow",
    "convention": "dh",
    "gravity": [0, "-g", 0],
    "symbols": {"g": 9.81, "L1": 0.4, "L2": 0.3, "m1": 4.0, "m2": 2.5, "Im": 2e-4},
    "link": [
        {
            "name": "upper arm",
            "joint": "revolute",
            "a": "L1",
            "alpha": 0,
            "d": 0,
            "mass": "m1",
            "com": ["-L1/2", 0, 0],  # in the link's own frame, which standard DH puts at the far end
            "inertia": {"yy": "m1*L1**2/12", "zz": "m1*L1**2/12"},
            "motor": {"gear": 100, "inertia": "Im", "mass": 0.8},
        },
        {
            "name": "forearm",
            "joint": "revolute",
            "a": "L2",
            "alpha": 0,
            "d": 0,
            "mass": "m2",
            "com": ["-L2/2", 0, 0],
            "inertia": {"yy": "m2*L2**2/12", "zz": "m2*L2**2/12"},
            "friction": {"viscous": 0.2, "coulomb": 0.5},
            "motor": {"gear": 80, "inertia": "Im", "mass": 0.8},
        },
    ],
}

# The same arm as a robot file. Text is fine wherever a number is, and 0.2 is exactly 1/5.
FILE = """
name = "shoulder and elbow"
convention = "dh"
gravity = [0, "-g", 0]

[symbols]
g = 9.81
L1 = 0.4
L2 = 0.3
m1 = 4.0
m2 = 2.5
Im = 2e-4

[[link]]
name = "upper arm"
joint = "revolute"
a = "L1"
alpha = 0
d = 0
mass = "m1"
com = ["-L1/2", 0, 0]
inertia = { yy = "m1*L1**2/12", zz = "m1*L1**2/12" }
motor = { gear = 100, inertia = "Im", mass = 0.8 }

[[link]]
name = "forearm"
joint = "revolute"
a = "L2"
alpha = 0
d = 0
mass = "m2"
com = ["-L2/2", 0, 0]
inertia = { yy = "m2*L2**2/12", zz = "m2*L2**2/12" }
friction = { viscous = 0.2, coulomb = 0.5 }
motor = { gear = 80, inertia = "Im", mass = 0.8 }
"""


def main() -> None:
    robot = Robot.from_dict(TABLE)
    print(robot)
    print("b11 =", robot.equations().B[0, 0])
    print("b12 =", robot.equations().B[0, 1])
    print("torques that hold it stretched out, level:", robot.inverse_dynamics([0, 0], [0, 0], [0, 0]))

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.toml"
        path.write_text(FILE, "utf-8")
        print("the file describes the same robot:", Robot.load(path) == robot)

        # A file that is wrong gets one message with the file, the key, what was found and what is allowed.
        path.write_text(FILE.replace('mass = "m2"', 'mass = "m3"'), "utf-8")
        try:
            Robot.load(path)
        except DescriptionError as error:
            print("a slip is refused:", str(error).replace(str(path), path.name))


if __name__ == "__main__":
    main()
