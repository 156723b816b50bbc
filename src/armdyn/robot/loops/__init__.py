"""Robots with loops: which joints are coordinates, and what the others do."""
