"""Tables of queries: memory, unsent events, watchlist."""
