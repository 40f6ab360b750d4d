"""Trustworthy answers from web search that changes and lies."""
