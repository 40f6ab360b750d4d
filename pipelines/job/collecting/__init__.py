"""Fetches the watched queries when they are due."""
