"""Attacks on snapshots."""
