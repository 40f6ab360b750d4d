"""One round: snapshots and memories in, events and memories out; `pipeline` has its order."""
