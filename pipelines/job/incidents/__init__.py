"""Complaints about answers: taking them in, finding who taught the answer, settling it."""
