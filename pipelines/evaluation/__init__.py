"""Simulated histories, attacks, metrics and reports."""
