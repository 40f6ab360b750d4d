"""Attacks on a service that answers questions: what an attacker asks and plants, in order."""
