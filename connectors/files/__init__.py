"""Replay formats in, JSON lines out."""
