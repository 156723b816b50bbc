"""Curves over time: what is drawn, as data, and how it is drawn in the page."""
