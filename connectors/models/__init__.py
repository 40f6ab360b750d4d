"""Model backends; each imports its large libraries on first use."""
