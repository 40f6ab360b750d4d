"""Replays search histories into a directory, and reads the results from it."""
