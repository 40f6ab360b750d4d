"""Reads the output topics and sends alerts about changed answers."""
