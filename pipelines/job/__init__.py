"""The continuous job around the graph: driving, collecting, watching over and telling about it."""
