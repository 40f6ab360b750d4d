"""Logs, metrics and health of the long-lived processes."""
