"""Verbs for the motor side."""
