"""Regression: from logs to the least-squares problem that a fit solves, in blocks of any size."""
