"""Derivatives of long chains, which are too long as one program."""
