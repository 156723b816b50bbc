"""Signals: filters and derivatives of what was recorded."""
