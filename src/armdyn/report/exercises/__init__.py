"""Exercises: a sheet with questions about an arm, and its solution with the steps.

In the order of the flow: `case` (an arm, given or drawn at random, a state, a pen for its formulas)
→ `questions` (what is asked and solved) → `exercise` (the tables of the arm, the documents).
"""
