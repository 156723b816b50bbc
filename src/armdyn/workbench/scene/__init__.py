"""The arm in three dimensions, and what is drawn at it."""
