"""Loops around programs: integration, and the passes of least time."""
