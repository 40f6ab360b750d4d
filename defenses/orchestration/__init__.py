"""Adaptive defence of a service: signals, risks, plans and audits. Pure methods."""
