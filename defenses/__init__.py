"""Defences: pure methods over evidence and state, and the kernels they share."""
