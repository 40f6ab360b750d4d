"""What the service keeps: users, sessions, accounts, the action log, and events to show."""
