"""What the job's driver needs from outside; connectors and tests match structurally."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from radarstream.schemas.events import AnswerEvent, DeadLetter
from radarstream.schemas.records import RawRecord

Outcome = AnswerEvent | DeadLetter
# The graph: folds records into the state table and the outbox, and returns what happened.
# All or nothing per query; calling it again with the same records folds nothing twice.
Batch = Callable[[Sequence[RawRecord]], list[Outcome]]
# Sends the unsent events of some lanes of the outbox, and returns how many.
Publish = Callable[[frozenset[int]], int]


class SnapshotLog(Protocol):
    """A partitioned log of snapshot records that can be read again from the last commit."""

    def poll(self, *, max_records: int, max_bytes: int, timeout_s: float) -> list[RawRecord]:
        """New records with their `log` positions, offsets ascending within a partition; none after
        the time-out. One record may exceed `max_bytes`. Raises BrokerError, and goes on at the next
        call.
        """

    def partitions(self) -> frozenset[int]:
        """Partitions read at present; may change in `poll` when workers share the topic."""

    def commit(self, next_offsets: Mapping[int, int]) -> None:
        """Remember per partition where to read on after a restart. Raises BrokerError."""

    def unread(self) -> dict[int, int]:
        """Records per partition that were not yet polled, as far as the last poll could tell."""
