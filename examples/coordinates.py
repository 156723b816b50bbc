"""Other coordinates and other parameters: absolute angles, motor angles, a remote drive, combinations."""

from armdyn import Robot

# H. Asada, J.-J. E. Slotine, "Robot Analysis and Control" (Wiley, 1986), example 5-3: the second motor stands
# on the base and drives joint 2 by a chain, so it turns by θ1 + θ2.
REMOTE = {
    "name": "remotely driven arm",
    "convention": "dh",
    "gravity": [0, "-g", 0],
    "symbols": dict.fromkeys(("g", "l1", "l2", "m1", "m2"), "free"),
    "link": [
        {
            "name": "link 1",
            "joint": "revolute",
            "a": "l1",
            "alpha": 0,
            "d": 0,
            "mass": "m1",
            "motor": {"gear": 1, "inertia": 0},
        },
        {
            "name": "link 2",
            "joint": "revolute",
            "a": "l2",
            "alpha": 0,
            "d": 0,
            "mass": "m2",
            "motor": {
                "gear": 1,
                "inertia": 0,
                "carrier": "base",
                "axis": [0, 0, 1],
                "coupling": {"link 1": 1},
            },
        },
    ],
}

# L. Sciavicco, B. Siciliano, L. Villani, "On dynamic modelling of gear-driven rigid robot manipulators",
# SYROCO 1994, section 7: the nine combinations of parameters that the elbow arm depends on.
COMBINATIONS = {
    "pi1": "I1yy + I2yy + I3yy + a2**2*m3 + kr1**2*Im1",
    "pi2": "m2*lc2 + a2*m3",
    "pi3": "I2xx - I2yy - a2**2*m3",
    "pi4": "I2zz + kr2**2*Im2 + a2**2*m3",
    "pi5": "I3xx - I3yy",
    "pi6": "m3*lc3",
    "pi7": "I3zz",
    "pi8": "Im2",
    "pi9": "Im3",
}


def main() -> None:
    # Absolute angles p1 = q1, p2 = q1 + q2, that is dp = J dq. Gravity then acts on each alone, and no
    # product qd1*qd2 is left in C qd.
    absolute = Robot.load("planar").equations().in_coordinates([[1, 0], [1, 1]])
    print("planar arm in absolute angles:")
    print("  g =", absolute.g[0], "and", absolute.g[1])
    print("  C =", absolute.C)

    # The pendulum seen from its motor: everything divided by the square of the gear.
    pendulum = Robot.load("pendulum").equations()
    motor = pendulum.in_motor_coordinates()
    print("pendulum at the motor: B =", motor.B[0, 0], "and g =", motor.g[0], "with q1 =", motor.angles[0])

    # What the motors have to give for a motion of the joints. With the remote drive: τ1* = Q1 − Q2, τ2* = Q2.
    remote = Robot.from_dict(REMOTE).equations()
    star = remote.motor_torques()
    print("remote drive, motor 1:", star[0])
    print("remote drive, motor 2:", star[1])

    # The elbow arm in its nine combinations: the other symbols cancel.
    elbow = Robot.load("elbow").equations().in_terms_of(COMBINATIONS)
    print("elbow arm:")
    for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        print(f"  b{i + 1}{j + 1} =", elbow.B[i, j])


if __name__ == "__main__":
    main()
