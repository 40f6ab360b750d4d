"""Numerical kernels: arrays in, arrays out."""
