"""The ledger of sources: what speaks for and against a domain."""
