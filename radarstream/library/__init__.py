"""The names that `from radarstream import …` offers."""
