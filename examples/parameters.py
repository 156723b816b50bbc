"""The regressor and its parameters: tau = Y @ pi, robots from parameters, and payloads."""

import numpy as np

from armdyn import Robot, box


def main() -> None:
    robot = Robot.load("planar")
    rng = np.random.default_rng(3)
    q, qd, qdd = rng.uniform(-1, 1, (3, 200, robot.n))

    # Ten inertial parameters, rotor inertia and two friction parameters a joint; see docs/notation.md.
    Y, pi = robot.regressor(q, qd, qdd), robot.parameters
    tau = robot.inverse_dynamics(q, qd, qdd)
    print("regressor", Y.shape, "parameters", pi.shape, "tau = Y @ pi:", np.allclose(Y @ pi, tau))
    nonzero = {name: float(x) for name, x in zip(robot.parameter_names, pi, strict=True) if x}
    print("parameters that are not zero:", nonzero)

    # Each column in closed form: how the torques depend on one parameter.
    column = robot.parameter_names.index("Im2")
    print("column of Im2:", [str(y[column]) for y in robot.equations().regressor])

    # Least squares finds parameters that explain the torques; only combinations of them can be known.
    found, _, rank, _ = np.linalg.lstsq(Y.reshape(-1, len(pi)), tau.reshape(-1), rcond=None)
    residual = abs(Y @ found - tau).max()
    print(f"{rank} independent combinations of {len(pi)} parameters, residual {residual:.0e}")

    heavier = robot.with_parameters(1.1 * pi)
    print("ten per cent more of everything:", np.allclose(heavier.inverse_dynamics(q, qd, qdd), 1.1 * tau))

    # A payload: a steel cube of 10 cm in the tip frame, 5 cm ahead. A payload of nothing changes nothing.
    cube = box(7.8, (0.1, 0.1, 0.1))
    xx, _, _, yy, _, zz = cube.tensor
    loaded = robot.with_payload(cube.mass, com=[0.05, 0, 0], inertia={"xx": xx, "yy": yy, "zz": zz})
    print("holding the arm out level:", robot.gravity([0, 0]), "with the cube:", loaded.gravity([0, 0]))
    print("payload of nothing:", robot.with_payload(0) == robot)

    # With a symbol for its mass the payload appears in the equations.
    print("g2 with payload mp:", robot.with_payload("mp").equations().g[1])


if __name__ == "__main__":
    main()
