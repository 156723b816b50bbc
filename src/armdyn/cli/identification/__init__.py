"""Verbs for parameters from data."""
