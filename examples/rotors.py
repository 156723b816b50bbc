"""What exact rotors change: the gear-driven elbow arm, whose motors do not lie along the joints they drive.

Most tools add k² Im to the diagonal of the inertia matrix. That is exact only where the spin axis z_m of a
rotor is at right angles to the angular velocity ω of the link that carries it: L. Sciavicco, B. Siciliano,
L. Villani, "On dynamic modelling of gear-driven rigid robot manipulators", SYROCO 1994. The arm is theirs.
"""

import numpy as np

from armdyn import Robot


def main() -> None:
    exact = Robot.load("elbow")
    reflected = exact.with_rotors("reflected")  # what others compute
    bare = exact.with_rotors("none")

    print("z_m · ω of the link that carries each motor, and whether the diagonal is exact:")
    for motor in exact.equations().rotor_couplings():
        verdict = "exact" if motor.diagonal_is_exact else "not exact"
        print(f"  motor of {motor.link}, on {motor.carrier}: {motor.speed}, {verdict}")

    for name, robot in (("exact", exact), ("reflected", reflected)):
        print(f"row 1 of B, {name}:")
        for j, entry in enumerate(robot.equations().B[0]):
            print(f"  b1{j + 1} = {entry}")

    q, qd, qdd = np.array([0.3, 0.8, -0.6]), np.array([1.0, 1.5, -2.0]), np.array([3.0, -4.0, 6.0])
    for name, robot in (("exact", exact), ("reflected", reflected), ("none", bare)):
        print(f"torques with rotors {name:>9}:", np.round(robot.inverse_dynamics(q, qd, qdd), 4))
    lost = exact.inverse_dynamics(q, qd, qdd) - reflected.inverse_dynamics(q, qd, qdd)
    print("what the diagonal leaves out [N m]:", np.round(lost, 4))


if __name__ == "__main__":
    main()
