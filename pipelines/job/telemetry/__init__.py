"""What the job tells about itself: logs, metrics, health."""
