"""Cosines and sines of sums of angles: the shortest way to write a polynomial in them."""
