"""Motions of the joints over time: profiles, via points, samples, files."""
