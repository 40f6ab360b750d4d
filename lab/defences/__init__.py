"""Every defence on the same evidence: conditions, contenders, rows, tables."""
