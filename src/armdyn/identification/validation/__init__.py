"""Validation: what a fit predicts on other data, and whether that is a test at all."""
