"""Replays of search histories: run in a directory, and read back from it."""
