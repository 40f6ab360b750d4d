"""One module for each outside system."""
