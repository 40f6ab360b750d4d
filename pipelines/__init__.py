"""The pipeline: guard, settings, wiring, command line."""
