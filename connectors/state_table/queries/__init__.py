"""What is kept per query: memory, unsent events, watchlist; how to forget it."""
