"""One round: from snapshots and memories to events and memories, in the order of `pipeline`."""
