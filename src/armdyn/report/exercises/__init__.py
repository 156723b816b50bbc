"""Exercises: a sheet with questions about an arm, and its solution with the steps.

In the order of the flow: `arms` (drawn at random) → `questions` (what is asked and solved) → `exercise` (the
documents, as HTML and Markdown).
"""
