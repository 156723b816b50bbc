"""Loops around programs as functions of arrays; integration."""
