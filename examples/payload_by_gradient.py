"""A payload found by gradient descent through a simulation: mass and centre of mass from how an arm moved.

Needs PyTorch: pip install "armdyn[torch]".
"""

import importlib.util

import numpy as np

from armdyn import Robot

MASS, COM = 2.5, (0.03, -0.05, 0.12)  # what is to be found [kg, m in the tip frame]
STEP, STEPS, ARMS = 0.01, 40, 16  # s; how many; simulated at once
TEN = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


def main() -> None:
    if importlib.util.find_spec("torch") is None:
        print('PyTorch is not installed: pip install "armdyn[torch]"')
        return
    import torch

    robot = Robot.load("puma560")
    last = [robot.parameter_names.index(f"{name}{robot.n}") for name in TEN]
    own = torch.tensor(robot.parameters)

    def loaded(mass, moment):
        """The robot's parameters with a point mass near its tip, at moment / mass: the last link's grow."""
        x, y, z = moment / mass
        tensor = [y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y]
        return own.index_add(0, torch.tensor(last), torch.stack([mass, *moment, *(mass * x for x in tensor)]))

    true = loaded(torch.tensor(MASS, dtype=torch.float64), MASS * torch.tensor(COM, dtype=torch.float64))
    print("parameters as with_payload has them:", np.allclose(true, robot.with_payload(MASS, COM).parameters))

    # Arms start at random postures, under torques that hold the arm without its load, and a little more.
    rng = np.random.default_rng(1)
    q0 = torch.tensor(rng.uniform(-1, 1, (ARMS, robot.n)))
    push = torch.tensor(rng.uniform(-1, 1, (ARMS, robot.n)) * [20, 20, 10, 1, 1, 1])

    def moved(parameters):
        """Positions (STEPS, ARMS, n) over time: velocities first, then positions with the new ones."""
        q, qd, path = q0, torch.zeros_like(q0), []
        for k in range(STEPS):
            tau = robot.gravity(q) + push * np.cos(10 * STEP * k)
            qd = qd + STEP * robot.forward_dynamics(q, qd, tau, parameters=parameters)
            q = q + STEP * qd
            path.append(q)
        return torch.stack(path)

    measured = moved(true)
    mass = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    moment = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    rates = [{"params": [mass], "lr": 0.1}, {"params": [moment], "lr": 0.02}]
    descent = torch.optim.Adam(rates, betas=(0.8, 0.99))
    slower = torch.optim.lr_scheduler.ExponentialLR(descent, 0.98)
    for k in range(101):
        descent.zero_grad()
        loss = (moved(loaded(mass, moment)) - measured).square().mean()
        loss.backward()
        if k % 20 == 0:
            print(f"step {k:3}: loss {loss.item():.1e} rad², {mass.item():.3f} kg")
        descent.step()
        slower.step()
    print(f"found: {mass.item():.3f} kg at", np.round((moment / mass).detach().numpy(), 3))
    print(f"true:  {MASS:.3f} kg at", np.round(COM, 3))


if __name__ == "__main__":
    main()
