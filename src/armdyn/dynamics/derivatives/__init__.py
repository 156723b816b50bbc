"""The derivatives of inverse dynamics, by a recursion of their own."""
