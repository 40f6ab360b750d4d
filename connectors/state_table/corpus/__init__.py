"""The documents that questions can be answered from, and their vectors."""
