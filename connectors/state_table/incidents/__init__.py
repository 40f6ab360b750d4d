"""Complaints about answers, what was found out about them, and texts in quarantine."""
