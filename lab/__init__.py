"""Studies: attacks, simulated histories, baselines, and what each defence buys."""
