"""The loop that answers: poll, fold, publish, commit."""
