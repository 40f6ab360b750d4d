"""Model backends; each loads its heavy dependency on first use."""
