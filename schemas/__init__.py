"""Frozen value types, their wire codec and the error tree."""
