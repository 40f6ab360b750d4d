"""Intervals and tests for rates whose steps share questions."""
