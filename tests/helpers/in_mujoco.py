"""A robot in MuJoCo, compared with ours joint by joint. Callers skip where mujoco is not installed."""

import numpy as np


class MuJoCo:
    """A compiled model without constraints: neither equalities nor frictionloss, contacts nor limits act."""

    def __init__(self, text=None, model=None):
        import mujoco

        self.mj = mujoco
        self.model = mujoco.MjModel.from_xml_string(text) if model is None else model
        off = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        self.model.opt.disableflags |= off
        self.data = mujoco.MjData(self.model)
        joints = range(self.model.njnt)
        self.bodies = [self.model.body(b).name for b in range(1, self.model.nbody)]
        self.names = [self.model.joint(j).name for j in joints]

    def order(self, joints):
        """For each of these joints, by name, its place in MuJoCo's vectors."""
        return [self.names.index(name) for name in joints]

    def at(self, order, q, qd=None, qdd=None):
        """Set a state given in the order of the joints."""
        n = self.model.nv
        for target, values in (("qpos", q), ("qvel", qd), ("qacc", qdd)):
            full = np.zeros(n)
            full[order] = 0 if values is None else values
            getattr(self.data, target)[:] = full
        self.mj.mj_inverse(self.model, self.data)

    def inertia(self, order):
        M = np.zeros((self.model.nv, self.model.nv))
        try:
            self.mj.mj_fullM(self.model, M, self.data.qM)
        except (TypeError, AttributeError):  # the signature of later versions
            self.mj.mj_fullM(self.model, self.data, M)
        return M[np.ix_(order, order)]

    def inverse_dynamics(self, order):
        """Torques without dry friction."""
        return self.data.qfrc_inverse[order]

    def bias(self, order):
        return self.data.qfrc_bias[order]

    def pose(self, body):
        T = np.eye(4)
        found = self.data.body(body)
        T[:3, :3], T[:3, 3] = found.xmat.reshape(3, 3), found.xpos
        return T

    def jacobian(self, body, order):
        J = np.zeros((6, self.model.nv))
        self.mj.mj_jacBody(self.model, self.data, J[:3], J[3:], self.model.body(body).id)
        return J[:, order]
