"""Motions of the tip: paths, inverse kinematics, the joints that follow."""
