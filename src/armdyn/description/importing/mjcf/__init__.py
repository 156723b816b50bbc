"""MJCF, MuJoCo's format, through the package mujoco."""
