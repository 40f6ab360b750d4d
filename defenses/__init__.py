"""Defences: pure methods over evidence and state, and their numerical kernels."""
