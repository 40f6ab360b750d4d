"""Tables of the service: users, sessions, accounts, the action log, and kept events."""
