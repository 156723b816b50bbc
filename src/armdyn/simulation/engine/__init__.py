"""Integration in time, fixed and adaptive, with joints that stick and slip."""
