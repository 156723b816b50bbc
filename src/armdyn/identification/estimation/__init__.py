"""Estimation: parameters by least squares, which terms friction needs, and what the estimates are worth."""
