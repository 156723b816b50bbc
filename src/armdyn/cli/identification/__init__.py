"""Verbs of identification."""
