"""Motions of arms with elastic joints: what the motors have to do so that the links move as wanted."""
