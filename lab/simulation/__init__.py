"""A simulated web that changes over the years: facts, page genres and yearly search histories."""
