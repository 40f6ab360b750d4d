"""Following the output topics, and alerts about answers that changed."""
