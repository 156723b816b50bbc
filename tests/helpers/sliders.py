"""Arms the tests of simulation share: a carriage on a rail, and robots without friction."""

from armdyn import Robot


def slider(mass=2.0, coulomb=3.0, viscous=0.0, gravity=0.0, offset=0.0):
    """One prismatic joint along x."""
    link = {
        "name": "carriage",
        "joint": "prismatic",
        "origin": {"xyz": [0, 0, 0]},
        "axis": [1, 0, 0],
        "mass": mass,
        "friction": {"coulomb": coulomb, "viscous": viscous, "offset": offset},
    }
    table = {"name": "slider", "convention": "frames", "gravity": [gravity, 0, 0], "link": [link]}
    return Robot.from_dict(table)


def without_friction(robot):
    """The robot with Fv, Fs and further friction parameters zero; rotors as they are."""
    values = robot.parameters.copy()
    for k, name in enumerate(robot.parameter_names):
        if name.startswith("F"):
            values[k] = 0.0
    return robot.with_parameters(values)


def coupled(F1=1.0, F2=2.0, Fm=0.05, k1=5.0, k2=20.0):
    """Two joints; the motor of the second turns with both, and all three rub."""

    def link(name, place, **more):
        inertia = {"xx": 0.05, "yy": 0.1, "zz": 0.1}
        body = {"mass": 2, "com": [0.25, 0, 0], "inertia": inertia}
        return (
            {"name": name, "joint": "revolute", "origin": {"xyz": [place, 0, 0]}, "axis": [0, 0, 1]}
            | body
            | more
        )

    motor = {
        "gear": k2,
        "inertia": 1e-4,
        "carrier": "base",
        "axis": [0, 0, 1],
        "coupling": {"one": k1},
        "friction": {"coulomb": Fm},
    }
    links = [
        link("one", 0, friction={"coulomb": F1}),
        link("two", 0.5, friction={"coulomb": F2}, motor=motor),
    ]
    return Robot.from_dict({"name": "coupled", "convention": "frames", "gravity": [0, 0, 0], "link": links})
