"""Reads the formats of replays, and writes JSON lines."""
