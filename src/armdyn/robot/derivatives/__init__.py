"""Derivatives as programs put together from several, and as loops around programs."""
