"""The state database: opens, creates, copies and inspects it."""
