"""Fetching the watched queries when they are due."""
