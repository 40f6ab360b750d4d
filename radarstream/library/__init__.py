"""What `from radarstream import …` offers: the pipeline's own parts behind a small interface."""
