"""What the source ledger is worth: a patient attacker, met with and without it."""
