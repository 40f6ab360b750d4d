"""Protocols of models, prompts, and the signals that are computed with them."""
