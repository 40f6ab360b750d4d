"""The state database: one small row per query, the outbox of unsent events, the response cache."""
