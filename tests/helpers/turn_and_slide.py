"""An arm that turns and slides, with every kind of friction, and motors with limits at their shafts."""

from armdyn import Robot

_TURNS = {"viscous": "fv", "coulomb": 1.5, "stribeck": {"level": 0.4, "velocity": 0.1}}
_SLIDES = {"viscous": 12, "coulomb": 4, "offset": 0.5}


def turn_and_slide() -> Robot:
    arm = {
        "name": "arm",
        "joint": "revolute",
        "a": 0,
        "alpha": "pi/2",
        "d": 0,
        "theta": "pi/2",
        "mass": 6,
        "com": [0, 0, 0.25],
        "inertia": {"yy": 0.15},
        "friction": _TURNS,
        "limits": {"torque": 200},
        "motor": {
            "carrier": "base",
            "gear": 50,
            "inertia": 1e-4,
            "torque_constant": 0.05,
            "limits": {"torque": 2, "velocity": 300, "current": 30},
            "friction": {"viscous": 1e-5},
        },
    }
    slider = {
        "name": "slider",
        "joint": "prismatic",
        "a": 0,
        "alpha": 0,
        "d": 0,
        "theta": 0,
        "mass": 3,
        "com": [0, 0, 0],
        "inertia": {"yy": 0.05},
        "friction": _SLIDES,
        "limits": {"torque": 300},
        "motor": {"carrier": "arm", "gear": 400, "inertia": 1e-5, "limits": {"torque": 0.6, "velocity": 300}},
    }
    table = {"name": "turn and slide", "convention": "dh", "gravity": [0, "-g", 0]}
    return Robot.from_dict({**table, "symbols": {"g": 9.81, "fv": 0.2}, "link": [arm, slider]})
