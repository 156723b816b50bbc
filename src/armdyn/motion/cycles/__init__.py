"""Motions put together: sequences with stops or blends, motions backwards, cycles as files."""
