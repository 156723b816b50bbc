"""Kernels on the arrays of other libraries: a module for each, imported when the first such array comes."""
