"""Complaints about answers, incidents, and texts in quarantine."""
