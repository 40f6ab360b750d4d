"""One question from a user to a defended answer: retrieval, hooks, the round, the audit."""
